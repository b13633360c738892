//! What listeners say of their work while it goes on, for whoever watches. It is recorded nowhere and nobody is waited
//! for: who falls behind hears less. The newest words are kept for a moment, so that whoever opened a thread still
//! hears how the work on it began.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use systole_core::types::flow::{Judged, Said};
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::Position;

/// Words that are kept, for the slowest who watches and for who comes a little late.
const KEPT: usize = 256;

/// One thing that was said.
#[derive(Clone, Debug)]
pub struct Spoken {
    /// By whom.
    pub listener: Name,
    /// In which thread.
    pub thread: ThreadId,
    /// In which call.
    pub call: CallPath,
    /// The words.
    pub words: String,
    /// Whether they stand for themselves. Those of a model go on with what it said before.
    pub whole: bool,
    /// In which turn of the call.
    pub turn: u32,
    /// In which attempt at that turn.
    pub attempt: u32,
    /// How far the log went by then.
    at: Position,
}

/// The newest words.
#[derive(Debug, Default)]
struct Kept {
    /// How many were said before them.
    before: u64,
    words: VecDeque<Spoken>,
}

impl Kept {
    fn end(&self) -> u64 {
        self.before.saturating_add(u64::try_from(self.words.len()).unwrap_or(u64::MAX))
    }
}

/// A change of it is one word more: who panicked with it in hand left it whole.
fn locked(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where it is said.
#[derive(Clone, Debug)]
pub(super) struct Voice {
    kept: Arc<Mutex<Kept>>,
    /// How many words there were.
    said: watch::Sender<u64>,
    tail: watch::Receiver<Position>,
}

impl Voice {
    /// A voice beside a log, which tells how far it goes.
    pub(super) fn beside(tail: watch::Receiver<Position>) -> Voice {
        Voice { kept: Arc::default(), said: watch::channel(0).0, tail }
    }

    /// Passes on what is for the live view alone.
    pub(super) fn pass(&self, judged: &Judged, whole: bool) {
        if let Said::Progress { words } = &judged.said {
            let lease = &judged.lease;
            let (listener, thread, call) = (lease.listener.clone(), lease.thread.clone(), lease.call.clone());
            let (turn, attempt, words) = (lease.turn, lease.attempt, words.clone());
            self.say(Spoken { listener, thread, call, words, whole, turn, attempt, at: *self.tail.borrow() });
        }
    }

    fn say(&self, spoken: Spoken) {
        let mut kept = locked(&self.kept);
        if kept.words.len() == KEPT {
            kept.words.pop_front();
            kept.before = kept.before.saturating_add(1);
        }
        kept.words.push_back(spoken);
        let end = kept.end();
        drop(kept);
        self.said.send_replace(end);
    }

    /// Hears what is said in a thread and below it, or in all: what is still kept of what was said since the log went as
    /// far as `from`, or else from now on.
    pub(super) fn hear(&self, from: Option<Position>, thread: Option<ThreadId>) -> Hearing {
        let next = if from.is_some() { 0 } else { locked(&self.kept).end() };
        let said = self.said.subscribe();
        Hearing { kept: self.kept.clone(), said, next, from: from.unwrap_or_default(), thread }
    }
}

/// Somebody who hears. Nobody waits for it.
#[derive(Debug)]
pub struct Hearing {
    kept: Arc<Mutex<Kept>>,
    said: watch::Receiver<u64>,
    /// How many words were said before the next that it hears.
    next: u64,
    from: Position,
    thread: Option<ThreadId>,
}

impl Hearing {
    /// The next words; none once there is nobody left who could say any. May be dropped while it waits: nothing is
    /// lost by that.
    pub async fn next(&mut self) -> Option<Spoken> {
        loop {
            if let Some(spoken) = self.kept() {
                return Some(spoken);
            }
            self.said.changed().await.ok()?;
        }
    }

    /// The next of those that are kept.
    fn kept(&mut self) -> Option<Spoken> {
        let kept = locked(&self.kept);
        let first = usize::try_from(self.next.saturating_sub(kept.before)).unwrap_or(usize::MAX);
        let wanted = |spoken: &Spoken| {
            spoken.at >= self.from && self.thread.as_ref().is_none_or(|own| spoken.thread.is_within(own))
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

    const ONE: &str = "sess-0000000000a1";
    const TWO: &str = "sess-0000000000b2";

    fn spoken(thread: &str, words: &str, at: u64) -> Spoken {
        let (listener, call) = (Name::parse("helper").unwrap(), CallPath::parse("1").unwrap());
        let thread = ThreadId::parse(thread).unwrap();
        Spoken {
            listener,
            thread,
            call,
            words: words.to_owned(),
            whole: false,
            turn: 1,
            attempt: 1,
            at: Position(at),
        }
    }

    fn voice() -> Voice {
        Voice::beside(watch::channel(Position(0)).1)
    }

    fn heard(hearing: &mut Hearing) -> Vec<String> {
        std::iter::from_fn(|| hearing.kept()).map(|spoken| spoken.words).collect()
    }

    #[test]
    fn each_hears_its_own_thread_since_its_place_in_the_log() {
        let voice = voice();
        let words = [(ONE, "before", 3), (ONE, "own", 4), (TWO, "other", 4)];
        words.iter().for_each(|(thread, words, at)| voice.say(spoken(thread, words, *at)));
        let own = || ThreadId::parse(ONE).ok();
        let mut late = voice.hear(Some(Position(4)), own());
        let mut now = voice.hear(None, own());
        let mut all = voice.hear(Some(Position(0)), None);
        voice.say(spoken(&format!("{ONE}.work"), "below", 5));
        assert_eq!(heard(&mut late), ["own", "below"]);
        assert_eq!(heard(&mut now), ["below"]);
        assert_eq!(heard(&mut all), ["before", "own", "other", "below"]);
        assert_eq!(heard(&mut all), [""; 0], "nothing is heard twice");
    }

    #[test]
    fn who_falls_behind_hears_the_newest_and_no_more_is_kept() {
        let voice = voice();
        let mut slow = voice.hear(None, None);
        for n in 0..3 * KEPT {
            voice.say(spoken(ONE, &n.to_string(), 1));
        }
        let heard = heard(&mut slow);
        assert_eq!(heard.len(), KEPT);
        let newest: Vec<String> = (2 * KEPT..3 * KEPT).map(|n| n.to_string()).collect();
        assert_eq!(heard, newest);
    }
}
