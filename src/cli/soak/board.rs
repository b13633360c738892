//! Where clients read which life of the organism can be reached, and what is wanted of them. It knows
//! nothing of what they send.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::dice::Dice;
use crate::runtime::runfile::RunFile;

/// Threads that are remembered for others: those in which something may still be at work.
const THREADS: usize = 48;

/// What is wanted of clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Wanted {
    /// Messages, one after the other.
    #[default]
    Messages,
    /// Only what is still owed: an acknowledgement, an answer.
    Rest,
    /// Nothing: the run is given up.
    Nothing,
}

/// The board.
#[derive(Default)]
pub struct Board {
    notices: Mutex<Notices>,
    changed: Condvar,
}

#[derive(Default)]
struct Notices {
    /// Counts lives, so that a client sees whether the one it spoke to was followed by another.
    life: u64,
    run: Option<RunFile>,
    wanted: Wanted,
    acknowledged: u64,
    /// Roots that were opened last, with the name of who opened them.
    threads: VecDeque<(&'static str, String)>,
}

/// A life that can be reached.
pub(super) struct Reachable {
    /// Which life it is.
    pub(super) life: u64,
    /// Where.
    pub(super) run: RunFile,
}

impl Board {
    fn notices(&self) -> MutexGuard<'_, Notices> {
        // Every change is one assignment, so a poisoned board is in order.
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Notices)) {
        change(&mut self.notices());
        self.changed.notify_all();
    }

    /// A life runs.
    pub fn post(&self, run: Option<RunFile>) {
        self.change(|notices| {
            notices.life += 1;
            notices.run = run;
        });
    }

    /// It is over.
    pub fn take_down(&self) {
        self.change(|notices| notices.run = None);
    }

    /// No new messages.
    pub(super) fn rest(&self) {
        self.change(|notices| notices.wanted = Wanted::Rest);
    }

    /// The run is given up.
    pub(super) fn give_up(&self) {
        self.change(|notices| notices.wanted = Wanted::Nothing);
    }

    /// Whether another message is wanted.
    pub(super) fn wants_messages(&self) -> bool {
        self.notices().wanted == Wanted::Messages
    }

    /// Messages that were acknowledged to all clients so far.
    pub fn acknowledged(&self) -> u64 {
        self.notices().acknowledged
    }

    /// Counts one, and lets whoever waits for a number look again.
    pub(super) fn count_acknowledged(&self) {
        self.change(|notices| notices.acknowledged += 1);
    }

    /// Tells everybody of a root.
    pub(super) fn tell_of(&self, opener: &'static str, thread: &str) {
        self.change(|notices| {
            if notices.threads.len() == THREADS {
                notices.threads.pop_front();
            }
            notices.threads.push_back((opener, thread.to_owned()));
        });
    }

    /// One of the roots that were opened last, by somebody else.
    pub(super) fn thread_of_another(&self, name: &str, dice: &mut Dice) -> Option<String> {
        let notices = self.notices();
        let others: Vec<&String> =
            notices.threads.iter().filter(|(opener, _)| *opener != name).map(|(_, thread)| thread).collect();
        dice.one_of(&others).map(|thread| (*thread).clone())
    }

    /// Whether the run is over or given up.
    pub(super) fn wants_nothing(&self) -> bool {
        self.notices().wanted == Wanted::Nothing
    }

    /// Waits until so many messages were acknowledged, for that long; whether they were.
    pub fn acknowledges(&self, count: u64, within: Duration) -> bool {
        let lacks = |notices: &mut Notices| notices.acknowledged < count;
        let waited = self.changed.wait_timeout_while(self.notices(), within, lacks);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Waits for a life that can be reached; none once the run is given up. The life that was seen last
    /// is waited out for a moment: it may be about to die, and if it is not it is tried again.
    pub(super) fn reach(&self, seen: Option<u64>) -> Option<Reachable> {
        if seen.is_some() {
            let same =
                |n: &mut Notices| n.run.is_some() && Some(n.life) == seen && n.wanted != Wanted::Nothing;
            // However it ended, what stands there now is read below.
            drop(self.changed.wait_timeout_while(self.notices(), A_MOMENT, same));
        }
        let absent = |n: &mut Notices| n.run.is_none() && n.wanted != Wanted::Nothing;
        let notices = self.changed.wait_while(self.notices(), absent).unwrap_or_else(PoisonError::into_inner);
        let given_up = notices.wanted == Wanted::Nothing;
        let run = notices.run.clone().filter(|_| !given_up)?;
        Some(Reachable { life: notices.life, run })
    }

    /// Waits that long, unless the run is given up.
    pub(super) fn pause(&self, time: Duration) {
        let goes_on = |n: &mut Notices| n.wanted != Wanted::Nothing;
        drop(self.changed.wait_timeout_while(self.notices(), time, goes_on));
    }
}

/// How long a client that got no answer waits before it tries the same life again.
const A_MOMENT: Duration = Duration::from_millis(200);
