//! The live messages of listeners about their work, for observers. They are not recorded, and no one waits for an
//! observer: one that falls behind misses messages. The newest messages are kept for a moment, so that a client that
//! opened a thread still sees how the work began.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use systole_core::types::flow::{JudgedContent, JudgedDocument};
use systole_core::types::ids::{AttemptId, Name, ThreadId};
use systole_core::types::ports::Position;
use systole_kit::reply::AnswerPart;
use systole_system::watched::read_watched;

use super::live_words::{CallWords, SpeakingCalls};
use crate::limits;

/// One live message.
#[derive(Clone, Debug)]
pub struct LiveMessage {
    /// The listener.
    pub listener: Name,
    /// The attempt that it works on.
    pub id: AttemptId,
    /// The part of the answer that it is, if it is one of a model's answer on its way.
    pub part: Option<AnswerPart>,
    /// How many bytes of the answer the attempt said before, if it goes on with the answer.
    pub before: Option<u64>,
    /// The text.
    pub words: String,
    /// Whether the text is complete. If not, it continues what the model said before.
    pub whole: bool,
    /// The last log position at that time.
    at: Position,
}

/// The newest messages.
#[derive(Debug, Default)]
struct KeptMessages {
    /// How many messages came before them.
    before: u64,
    words: VecDeque<LiveMessage>,
    /// What each call that is at work said so far.
    calls: SpeakingCalls,
}

impl KeptMessages {
    fn end(&self) -> u64 {
        self.before.saturating_add(u64::try_from(self.words.len()).unwrap_or(u64::MAX))
    }
}

/// Each change adds one message, so a panic under the lock leaves the data intact.
fn lock_kept(kept: &Mutex<KeptMessages>) -> MutexGuard<'_, KeptMessages> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sending side.
#[derive(Clone, Debug)]
pub(super) struct LiveVoice {
    kept: Arc<Mutex<KeptMessages>>,
    /// How many messages there were.
    said: watch::Sender<u64>,
    tail: watch::Receiver<Position>,
}

impl LiveVoice {
    /// A voice for the log with this tail.
    pub(super) fn from_tail(tail: watch::Receiver<Position>) -> LiveVoice {
        LiveVoice { kept: Arc::default(), said: watch::channel(0).0, tail }
    }

    /// Passes on a message if it is for the live view only. A reply ends what its attempt says.
    pub(super) fn pass_live(&self, judged: &JudgedDocument, whole: bool) {
        let lease = &judged.lease;
        match &judged.said {
            JudgedContent::Progress { part, words } => {
                let (listener, id, words) = (lease.listener.clone(), lease.id.clone(), words.clone());
                let (part, at) = (*part, read_watched(&self.tail));
                self.say_live(LiveMessage { listener, id, part, before: None, words, whole, at });
            }
            JudgedContent::Notice { .. } | JudgedContent::Journal { .. } | JudgedContent::Ask { .. } => {}
            JudgedContent::Items(_)
            | JudgedContent::Failure { .. }
            | JudgedContent::Away { .. }
            | JudgedContent::Again { .. } => lock_kept(&self.kept).calls.end(&lease.id),
        }
    }

    /// What the calls in a thread and below it say now.
    pub(super) fn list_words(&self, thread: &ThreadId) -> Vec<CallWords> {
        lock_kept(&self.kept).calls.list_within(thread)
    }

    /// How many messages there were, as it changes.
    pub(super) fn count_messages(&self) -> watch::Receiver<u64> {
        self.said.subscribe()
    }

    /// The roots in which something was said after that many messages.
    pub(super) fn list_roots(&self, after: u64) -> BTreeSet<ThreadId> {
        lock_kept(&self.kept).calls.list_roots(after)
    }

    fn say_live(&self, mut spoken: LiveMessage) {
        let mut kept = lock_kept(&self.kept);
        if kept.words.len() == limits::SPOKEN {
            kept.words.pop_front();
            kept.before = kept.before.saturating_add(1);
        }
        let end = kept.end().saturating_add(1);
        let words = (spoken.part, &*spoken.words, spoken.whole);
        spoken.before = kept.calls.add((&spoken.listener, &spoken.id), words, end);
        kept.words.push_back(spoken);
        drop(kept);
        self.said.send_replace(end);
    }

    /// Listens to a thread and the threads below it, or to all. With `from`, it starts with the kept messages since
    /// that log position; without it, it starts now.
    pub(super) fn listen(&self, from: Option<Position>, thread: Option<ThreadId>) -> LiveObserver {
        let next = if from.is_some() { 0 } else { lock_kept(&self.kept).end() };
        let said = self.said.subscribe();
        LiveObserver { kept: self.kept.clone(), said, next, from: from.unwrap_or_default(), thread }
    }
}

/// An observer. No one waits for it.
#[derive(Debug)]
pub struct LiveObserver {
    kept: Arc<Mutex<KeptMessages>>,
    said: watch::Receiver<u64>,
    /// How many messages came before its next one.
    next: u64,
    from: Position,
    thread: Option<ThreadId>,
}

impl LiveObserver {
    /// The next message. `None` when no listener can send any more. Cancel-safe: dropping it loses nothing.
    pub async fn next(&mut self) -> Option<LiveMessage> {
        loop {
            if let Some(spoken) = self.next_kept() {
                return Some(spoken);
            }
            self.said.changed().await.ok()?;
        }
    }

    /// The next kept message.
    fn next_kept(&mut self) -> Option<LiveMessage> {
        let kept = lock_kept(&self.kept);
        let first = usize::try_from(self.next.saturating_sub(kept.before)).unwrap_or(usize::MAX);
        let wanted = |spoken: &LiveMessage| {
            spoken.at >= self.from && self.thread.as_ref().is_none_or(|own| spoken.id.thread.is_within(own))
        };
        let found = kept.words.iter().enumerate().skip(first).find(|(_, spoken)| wanted(spoken));
        let (next, spoken) = match found {
            Some((place, spoken)) => {
                let place = u64::try_from(place).unwrap_or(u64::MAX);
                (kept.before.saturating_add(place).saturating_add(1), Some(spoken.clone()))
            }
            None => (kept.end(), None),
        };
        self.next = next;
        spoken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::ids::CallPath;

    const ONE: &str = "sess-0000000000a1";
    const TWO: &str = "sess-0000000000b2";

    fn spoken(thread: &str, words: &str, at: u64) -> LiveMessage {
        let (thread, call) = (ThreadId::parse(thread).unwrap(), CallPath::new_top(1));
        let id = AttemptId { thread, call, turn: 1, attempt: 1 };
        let listener = Name::parse("helper").unwrap();
        let (words, part, before) = (words.to_owned(), None, None);
        LiveMessage { listener, id, part, before, words, whole: false, at: Position(at) }
    }

    fn voice() -> LiveVoice {
        LiveVoice::from_tail(watch::channel(Position(0)).1)
    }

    fn heard(hearing: &mut LiveObserver) -> Vec<String> {
        std::iter::from_fn(|| hearing.next_kept()).map(|spoken| spoken.words).collect()
    }

    #[test]
    fn each_hears_its_own_thread_since_its_place_in_the_log() {
        let voice = voice();
        let words = [(ONE, "before", 3), (ONE, "own", 4), (TWO, "other", 4)];
        words.iter().for_each(|(thread, words, at)| voice.say_live(spoken(thread, words, *at)));
        let own = || ThreadId::parse(ONE).ok();
        let mut late = voice.listen(Some(Position(4)), own());
        let mut now = voice.listen(None, own());
        let mut all = voice.listen(Some(Position(0)), None);
        voice.say_live(spoken(&format!("{ONE}.work"), "below", 5));
        assert_eq!(heard(&mut late), ["own", "below"]);
        assert_eq!(heard(&mut now), ["below"]);
        assert_eq!(heard(&mut all), ["before", "own", "other", "below"]);
        assert_eq!(heard(&mut all), [""; 0], "nothing is heard twice");
    }

    #[test]
    fn who_falls_behind_hears_the_newest_and_no_more_is_kept() {
        let voice = voice();
        let mut slow = voice.listen(None, None);
        for n in 0..3 * limits::SPOKEN {
            voice.say_live(spoken(ONE, &n.to_string(), 1));
        }
        let heard = heard(&mut slow);
        assert_eq!(heard.len(), limits::SPOKEN);
        let newest: Vec<String> = (2 * limits::SPOKEN..3 * limits::SPOKEN).map(|n| n.to_string()).collect();
        assert_eq!(heard, newest);
    }
}
