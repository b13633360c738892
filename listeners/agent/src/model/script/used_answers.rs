//! Which answers of a script a call has used already, according to its journal.
//!
//! A call begins at the top of the list. Every answer that its model gave is looked up in the list, so it does not
//! matter which process gave it. The list and the history of a call come in; counts go out.

use std::collections::HashMap;

use super::super::{CallHistory, MessagePart};
use super::ScriptedReply;
use crate::limits;

/// The calls for which the model was asked.
#[derive(Debug, Default)]
pub(super) struct CallUses(HashMap<String, CallUse>);

/// The use of a call, as of one delivery.
#[derive(Debug)]
pub(super) struct CallUse {
    delivery: String,
    /// How often each answer of the list was given.
    times: Vec<usize>,
}

impl CallUses {
    /// The use of a call. Within a delivery it is counted here. A new delivery works it out again from the call's
    /// history, since an answer that never reached the journal counts as not given.
    pub(super) fn find_use(&mut self, list: &[ScriptedReply], course: &CallHistory) -> &mut CallUse {
        if self.0.len() >= limits::SCRIPT_CALLS {
            self.0.retain(|call, _| *call == course.call);
        }
        let used = self.0.entry(course.call.clone()).or_insert_with(|| CallUse::from_history(list, course));
        if used.delivery != course.delivery {
            *used = CallUse::from_history(list, course);
        }
        used
    }
}

impl CallUse {
    fn from_history(list: &[ScriptedReply], course: &CallHistory) -> CallUse {
        let mut used = CallUse { delivery: course.delivery.clone(), times: vec![0; list.len()] };
        let mut is_found = false;
        for said in &course.said {
            match said {
                Some(parts) => is_found |= used.count_answer(list, parts),
                // There was no answer, so it is unknown which one it was. Most likely it was a cut one.
                None => used.count_first(list, |reply| reply.cut),
            }
        }
        // Turns that the agent no longer sees came first. Finding the first visible answer skips them.
        if !is_found {
            for _ in course.said.len()..course.turns {
                used.count_first(list, |reply| reply.error.is_none());
            }
        }
        for _ in 0..course.failed {
            used.count_first(list, |reply| reply.error.is_some() || reply.cut);
        }
        used
    }

    /// Counts the answer that the model gave. Earlier answers without a condition must have been used up, or they
    /// would have been given.
    fn count_answer(&mut self, list: &[ScriptedReply], parts: &[MessagePart]) -> bool {
        let left = || list.iter().enumerate().filter(|(at, reply)| self.is_left(*at, reply));
        let whole = left().find(|(_, reply)| is_answer(reply, parts));
        let Some((at, _)) = whole.or_else(|| left().find(|(_, reply)| is_begun(reply, parts))) else {
            return false;
        };
        let passed = self.times.iter_mut().zip(list).take(at);
        for (times, reply) in passed.filter(|(_, reply)| !reply.has_condition()) {
            *times = reply.times;
        }
        self.count_use(at);
        true
    }

    /// Counts the next answer without a condition, if it is of that kind.
    fn count_first(&mut self, list: &[ScriptedReply], is_kind: impl Fn(&ScriptedReply) -> bool) {
        let plain =
            |(at, reply): &(usize, &ScriptedReply)| self.is_left(*at, reply) && !reply.has_condition();
        if let Some((at, _)) = list.iter().enumerate().find(plain).filter(|(_, reply)| is_kind(reply)) {
            self.count_use(at);
        }
    }

    fn is_left(&self, at: usize, reply: &ScriptedReply) -> bool {
        self.times.get(at).is_some_and(|times| *times < reply.times)
    }

    /// The first remaining answer whose conditions hold.
    pub(super) fn find_next(&self, list: &[ScriptedReply], shown: &str, asked: &str) -> Option<usize> {
        let is_next =
            |(at, reply): &(usize, &ScriptedReply)| self.is_left(*at, reply) && reply.fits(shown, asked);
        list.iter().enumerate().find(is_next).map(|(at, _)| at)
    }

    pub(super) fn count_use(&mut self, at: usize) {
        if let Some(times) = self.times.get_mut(at) {
            *times += 1;
        }
    }

    /// The number of remaining answers. Each has a condition that does not hold.
    pub(super) fn count_conditional(&self, list: &[ScriptedReply]) -> usize {
        list.iter().enumerate().filter(|(at, reply)| self.is_left(*at, reply)).count()
    }
}

/// Whether the model's answer is exactly this one.
fn is_answer(reply: &ScriptedReply, said: &[MessagePart]) -> bool {
    !said.is_empty() && said.iter().map(read_words).eq(reply.parts.iter().map(read_words))
}

/// Whether the model's answer is the beginning of this one: the rest of a cut answer was not read.
fn is_begun(reply: &ScriptedReply, said: &[MessagePart]) -> bool {
    match (said, reply.parts.first()) {
        ([MessagePart::Text(text)], Some(MessagePart::Text(whole))) => {
            !text.is_empty() && whole.starts_with(text.as_str())
        }
        _ => false,
    }
}

/// The content of a part. The ids of calls are left out, since each display generates new ones.
fn read_words(part: &MessagePart) -> (&str, &str) {
    match part {
        MessagePart::Text(text) => ("", text),
        MessagePart::Call(call) => (&call.name, &call.arguments),
        MessagePart::Result { .. } | MessagePart::File(_) | MessagePart::Reasoning(_) => ("", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Script;
    use super::*;

    fn list(text: &str) -> Vec<ScriptedReply> {
        let mut script = Script::from_text(&format!("a:\n{text}")).unwrap();
        script.agents.remove("a").unwrap()
    }

    fn said(texts: &[&str]) -> CallHistory {
        let said: Vec<_> =
            texts.iter().map(|text| Some(vec![MessagePart::Text((*text).to_owned())])).collect();
        CallHistory { turns: said.len(), said, ..CallHistory::default() }
    }

    fn next(list: &[ScriptedReply], course: &CallHistory, shown: &str) -> Option<usize> {
        CallUses::default().find_use(list, course).find_next(list, shown, "")
    }

    #[test]
    fn a_call_begins_at_the_top_and_goes_on_behind_what_its_journal_shows() {
        let list = list("  - say: one\n  - say: two\n    times: 2\n  - say: three\n");
        for (course, wanted) in [
            (said(&[]), Some(0)),
            (said(&["one"]), Some(1)),
            (said(&["one", "two"]), Some(1)),
            (said(&["one", "two", "two"]), Some(2)),
            (said(&["three"]), None),
            (CallHistory { turns: 1, ..CallHistory::default() }, Some(1)),
        ] {
            assert_eq!(next(&list, &course, ""), wanted, "{course:?}");
        }
    }

    #[test]
    fn a_condition_that_did_not_hold_is_left_for_later() {
        let list = list("  - {if: rain, say: umbrella}\n  - say: walk\n  - say: home\n");
        assert_eq!(next(&list, &said(&[]), "sun"), Some(1));
        assert_eq!(next(&list, &said(&["walk"]), "rain"), Some(0));
        assert_eq!(next(&list, &said(&["walk", "umbrella"]), "rain"), Some(2));
    }

    #[test]
    fn a_condition_may_be_a_list_of_which_all_must_be_there() {
        let list = list("  - {if: [rain, wind], say: stay}\n  - say: walk\n");
        for (shown, wanted) in [("rain", 1), ("wind", 1), ("wind and rain", 0), ("", 1)] {
            assert_eq!(next(&list, &said(&[]), shown), Some(wanted), "{shown}");
        }
    }

    #[test]
    fn an_answer_may_depend_on_the_message_that_began_the_call() {
        let list = list(
            "  - {asked: [rain, wind], say: stay}\n  - {asked: rain, if: home, say: dry}\n  - say: walk\n",
        );
        for (asked, shown, wanted) in
            [("wind and rain", "", 0), ("rain", "", 2), ("rain", "home", 1), ("", "rain", 2)]
        {
            let next = CallUses::default().find_use(&list, &said(&[])).find_next(&list, shown, asked);
            assert_eq!(next, Some(wanted), "{asked}, {shown}");
        }
        // Passing it over leaves it for later.
        assert_eq!(
            CallUses::default().find_use(&list, &said(&["walk"])).find_next(&list, "home", "rain"),
            Some(1)
        );
    }

    #[test]
    fn calls_do_not_use_up_one_anothers_answers_and_failures_count_within_a_turn() {
        let list = list("  - error: {status: 429}\n  - say: one\n");
        let mut calls = CallUses::default();
        let course = |call: &str| CallHistory { call: call.to_owned(), ..CallHistory::default() };
        for call in ["1/1.0", "1/1.1"] {
            for wanted in [0, 1] {
                let used = calls.find_use(&list, &course(call));
                assert_eq!(used.find_next(&list, "", ""), Some(wanted), "{call}");
                used.count_use(wanted);
            }
        }
        let again = CallHistory { failed: 1, delivery: "d2".to_owned(), ..course("1/1.0") };
        assert_eq!(calls.find_use(&list, &again).find_next(&list, "", ""), Some(1));
    }

    #[test]
    fn a_cut_answer_and_one_that_was_enough_are_known_again() {
        let list = list("  - {say: half, cut: true}\n  - say: <go/> and more\n  - say: end\n");
        let cut = CallHistory { turns: 1, said: vec![None], ..CallHistory::default() };
        assert_eq!(next(&list, &cut, ""), Some(1));
        let enough = CallHistory {
            turns: 2,
            said: vec![None, said(&["<go/>"]).said[0].clone()],
            ..CallHistory::default()
        };
        assert_eq!(next(&list, &enough, ""), Some(2));
    }
}
