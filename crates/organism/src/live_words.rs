//! What each call that is at work says now: the last characters of its words, for who looks at any moment.
//!
//! Live messages come in; texts go out. The words of a later attempt take the place of those before, and calls that spoke
//! last are kept. Nothing here is recorded, and whether a call is still open is for the log to say.

use std::collections::{BTreeSet, HashMap};

use systole_core::types::ids::{AttemptId, CallPath, Name, ThreadId};
use systole_kit::reply::AnswerPart;

use crate::limits;

/// The words of one attempt.
#[derive(Clone, Debug)]
pub struct CallWords {
    /// The listener.
    pub listener: Name,
    /// The attempt that it works on.
    pub id: AttemptId,
    /// Its words, or some of them before the last ones.
    text: String,
    /// Whether words before them are not kept.
    is_cut: bool,
    /// The bytes of its answer so far.
    answer_bytes: u64,
    /// The number of its last message among all.
    last: u64,
    /// Whether its reply came. Its record may still be on its way.
    is_over: bool,
}

impl CallWords {
    fn begin(listener: &Name, id: &AttemptId) -> CallWords {
        CallWords {
            listener: listener.clone(),
            id: id.clone(),
            text: String::new(),
            is_cut: false,
            answer_bytes: 0,
            last: 0,
            is_over: false,
        }
    }

    /// The last characters, and whether there were more before them.
    pub fn read_end(&self) -> (&str, bool) {
        let start = find_end(&self.text);
        (self.text.get(start..).unwrap_or_default(), self.is_cut || start > 0)
    }

    fn add(&mut self, words: &str, whole: bool) {
        // A report of a program stands on a line of its own.
        if whole && !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(words);
        if self.text.len() > limits::LIVE_BYTES {
            let end = find_end(&self.text);
            self.text.drain(..end);
            self.is_cut = true;
        }
    }
}

/// Where the last characters of a text begin.
fn find_end(text: &str) -> usize {
    text.char_indices().rev().nth(limits::LIVE_CHARACTERS - 1).map_or(0, |(start, _)| start)
}

/// The calls that spoke, each with the words of its newest attempt.
#[derive(Debug, Default)]
pub(super) struct SpeakingCalls(HashMap<(ThreadId, CallPath), CallWords>);

impl SpeakingCalls {
    /// Takes the message of that number. `whole` words are a report of a program. Late words of an earlier attempt are
    /// left out. If they go on with an answer, returns how many bytes of it the attempt said before.
    pub(super) fn add(
        &mut self,
        (listener, id): (&Name, &AttemptId),
        (part, words, whole): (Option<AnswerPart>, &str, bool),
        number: u64,
    ) -> Option<u64> {
        let AttemptId { thread, call, turn, attempt } = id;
        let place = (thread.clone(), call.clone());
        if !self.0.contains_key(&place) {
            self.make_room();
        }
        let known = self.0.entry(place).or_insert_with(|| CallWords::begin(listener, id));
        match (known.id.turn, known.id.attempt).cmp(&(*turn, *attempt)) {
            std::cmp::Ordering::Greater => return None,
            std::cmp::Ordering::Less => *known = CallWords::begin(listener, id),
            std::cmp::Ordering::Equal => {}
        }
        known.add(words, whole);
        known.last = number;
        let before = known.answer_bytes;
        (part == Some(AnswerPart::Answer)).then(|| {
            let bytes = u64::try_from(words.len()).unwrap_or(u64::MAX);
            known.answer_bytes = before.saturating_add(bytes);
            before
        })
    }

    /// The reply of an attempt came.
    pub(super) fn end(&mut self, id: &AttemptId) {
        // Most calls never speak before they reply.
        if self.0.is_empty() {
            return;
        }
        let words = self.0.get_mut(&(id.thread.clone(), id.call.clone()));
        if let Some(words) = words.filter(|words| words.id == *id) {
            words.is_over = true;
        }
    }

    /// Forgets calls whose reply came, and among too many the one that has been silent for the longest time.
    fn make_room(&mut self) {
        self.0.retain(|_, words| !words.is_over);
        if self.0.len() >= limits::SPEAKING {
            let silent = self.0.iter().min_by_key(|(_, words)| words.last).map(|(place, _)| place.clone());
            silent.and_then(|place| self.0.remove(&place));
        }
    }

    /// The words of the calls in a thread and below it.
    pub(super) fn list_within(&self, thread: &ThreadId) -> Vec<CallWords> {
        self.0.values().filter(|words| words.id.thread.is_within(thread)).cloned().collect()
    }

    /// The roots in which something was said after the message of that number.
    pub(super) fn list_roots(&self, after: u64) -> BTreeSet<ThreadId> {
        let newer = self.0.values().filter(|words| words.last > after);
        newer.map(|words| words.id.thread.root_of()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "sess-0000000000a1";
    const TWO: &str = "sess-0000000000b2";

    fn id(thread: &str, call: u32, (turn, attempt): (u32, u32)) -> AttemptId {
        AttemptId { thread: ThreadId::parse(thread).unwrap(), call: CallPath::new_top(call), turn, attempt }
    }

    fn say(calls: &mut SpeakingCalls, id: &AttemptId, (words, whole): (&str, bool), number: u64) {
        calls.add((&Name::parse("helper").unwrap(), id), (None, words, whole), number);
    }

    fn texts(calls: &SpeakingCalls, thread: &str) -> Vec<String> {
        let mut found = calls.list_within(&ThreadId::parse(thread).unwrap());
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found.iter().map(|words| words.read_end().0.to_owned()).collect()
    }

    #[test]
    fn b18_words_of_a_retried_attempt_replace_those_before_and_late_ones_are_left_out() {
        let mut calls = SpeakingCalls::default();
        for (number, (attempt, words)) in
            [((1, 1), "one "), ((1, 1), "two"), ((1, 2), "again"), ((1, 1), "late")].into_iter().enumerate()
        {
            say(&mut calls, &id(ONE, 1, attempt), (words, false), number as u64 + 1);
            if number == 1 {
                assert_eq!(texts(&calls, ONE), ["one two"]);
            }
        }
        assert_eq!(texts(&calls, ONE), ["again"]);
        say(&mut calls, &id(&format!("{ONE}.work"), 1, (1, 1)), ("below", true), 5);
        say(&mut calls, &id(&format!("{ONE}.work"), 1, (1, 1)), ("on", true), 6);
        say(&mut calls, &id(TWO, 1, (1, 1)), ("other", false), 7);
        assert_eq!(texts(&calls, ONE), ["again", "below\non"], "a report has its own line");
        let roots = |after| calls.list_roots(after).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!((roots(0), roots(6), roots(7)), (vec![ONE.into(), TWO.into()], vec![TWO.into()], vec![]));
    }

    #[test]
    fn b18_words_of_an_answer_say_how_much_of_it_came_before() {
        let mut calls = SpeakingCalls::default();
        let mut add = |attempt, part, words| {
            let helper = Name::parse("helper").unwrap();
            calls.add((&helper, &id(ONE, 1, (1, attempt))), (part, words, false), 1)
        };
        let answer = Some(AnswerPart::Answer);
        assert_eq!(add(1, Some(AnswerPart::Thinking), "hm"), None);
        assert_eq!(
            (add(1, answer, "gr\u{fc}n"), add(1, None, "</x>"), add(1, answer, "er")),
            (Some(0), None, Some(5))
        );
        assert_eq!(
            (add(2, answer, "blau"), add(1, answer, "late"), add(2, answer, "!")),
            (Some(0), None, Some(4))
        );
    }

    #[test]
    fn b18_the_last_characters_of_much_are_kept_and_of_many_calls_those_that_spoke_last() {
        let mut calls = SpeakingCalls::default();
        let letter = "\u{1F600}".repeat(7);
        for number in 0..3_000 {
            say(&mut calls, &id(ONE, 1, (1, 1)), (&letter, false), number);
        }
        let words = calls.list_within(&ThreadId::parse(ONE).unwrap()).pop().unwrap();
        let (text, is_cut) = words.read_end();
        assert_eq!((text.chars().count(), is_cut), (limits::LIVE_CHARACTERS, true));
        assert!(words.text.len() <= limits::LIVE_BYTES, "{}", words.text.len());
        for call in 2..=u32::try_from(limits::SPEAKING).unwrap() + 1 {
            say(&mut calls, &id(ONE, call, (1, 1)), ("x", false), 3_000 + u64::from(call));
        }
        assert_eq!(calls.0.len(), limits::SPEAKING);
        assert!(!calls.0.contains_key(&(ThreadId::parse(ONE).unwrap(), CallPath::new_top(1))));
        calls.end(&id(ONE, 2, (1, 2)));
        calls.end(&id(ONE, 3, (1, 1)));
        say(&mut calls, &id(TWO, 1, (1, 1)), ("new", false), 9_000);
        let has = |call| calls.0.contains_key(&(ThreadId::parse(ONE).unwrap(), CallPath::new_top(call)));
        assert_eq!((has(2), has(3)), (true, false), "only the call whose own attempt is over is forgotten");
    }
}
