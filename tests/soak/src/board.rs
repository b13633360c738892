//! Tells clients which life of the organism can be reached, and what they should do. It does not know
//! what they send.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::dice::SeededDice;
use systole_organism::runfile::RunFile;

/// Threads to remember for other clients: those that may still have work.
const THREADS: usize = 48;

/// What clients should do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Wanted {
    /// Send messages, one after another.
    #[default]
    Messages,
    /// Only collect what is still owed: an acknowledgement, an answer.
    Rest,
    /// Nothing: the run is given up.
    Nothing,
}

/// The board.
#[derive(Default)]
pub struct NoticeBoard {
    notices: Mutex<Notices>,
    changed: Condvar,
}

#[derive(Default)]
struct Notices {
    /// Counts lives, so that a client sees whether the life it used was followed by another.
    life: u64,
    run: Option<RunFile>,
    wanted: Wanted,
    acknowledged: u64,
    /// The most recently opened roots, with the name of the opener.
    threads: VecDeque<(&'static str, String)>,
}

/// A life that can be reached.
pub(crate) struct Reachable {
    /// The number of the life.
    pub(crate) life: u64,
    /// Its run file.
    pub(crate) run: RunFile,
}

impl NoticeBoard {
    fn notices(&self) -> MutexGuard<'_, Notices> {
        // Every change is one assignment, so a poisoned board is still consistent.
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Notices)) {
        change(&mut self.notices());
        self.changed.notify_all();
    }

    /// Announces a running life.
    pub fn post(&self, run: Option<RunFile>) {
        self.change(|notices| {
            notices.life += 1;
            notices.run = run;
        });
    }

    /// Announces that it is over.
    pub fn take_down(&self) {
        self.change(|notices| notices.run = None);
    }

    /// Asks for no new messages.
    pub(crate) fn rest(&self) {
        self.change(|notices| notices.wanted = Wanted::Rest);
    }

    /// Gives the run up.
    pub(crate) fn give_up(&self) {
        self.change(|notices| notices.wanted = Wanted::Nothing);
    }

    /// Whether another message is wanted.
    pub(crate) fn wants_messages(&self) -> bool {
        self.notices().wanted == Wanted::Messages
    }

    /// The number of messages acknowledged to all clients so far.
    pub fn acknowledged(&self) -> u64 {
        self.notices().acknowledged
    }

    /// Counts one, and wakes those who wait for a number.
    pub(crate) fn count_acknowledged(&self) {
        self.change(|notices| notices.acknowledged += 1);
    }

    /// Announces a root.
    pub(crate) fn tell_of(&self, opener: &'static str, thread: &str) {
        self.change(|notices| {
            if notices.threads.len() == THREADS {
                notices.threads.pop_front();
            }
            notices.threads.push_back((opener, thread.to_owned()));
        });
    }

    /// One of the most recently opened roots of another client.
    pub(crate) fn thread_of_another(&self, name: &str, dice: &mut SeededDice) -> Option<String> {
        let notices = self.notices();
        let others: Vec<&String> =
            notices.threads.iter().filter(|(opener, _)| *opener != name).map(|(_, thread)| thread).collect();
        dice.one_of(&others).map(|thread| (*thread).clone())
    }

    /// Whether the run is over or given up.
    pub(crate) fn wants_nothing(&self) -> bool {
        self.notices().wanted == Wanted::Nothing
    }

    /// Waits until that many messages were acknowledged, for at most that long; returns whether they
    /// were.
    pub fn acknowledges(&self, count: u64, within: Duration) -> bool {
        let lacks = |notices: &mut Notices| notices.acknowledged < count;
        let waited = self.changed.wait_timeout_while(self.notices(), within, lacks);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Waits for a life that can be reached; `None` once the run is given up. If it is the life seen
    /// last, it waits a moment first: that life may be about to die, and otherwise it is tried again.
    pub(crate) fn reach(&self, seen: Option<u64>) -> Option<Reachable> {
        if seen.is_some() {
            let same =
                |n: &mut Notices| n.run.is_some() && Some(n.life) == seen && n.wanted != Wanted::Nothing;
            // However the wait ended, the current state is read below.
            drop(self.changed.wait_timeout_while(self.notices(), A_MOMENT, same));
        }
        let absent = |n: &mut Notices| n.run.is_none() && n.wanted != Wanted::Nothing;
        let notices = self.changed.wait_while(self.notices(), absent).unwrap_or_else(PoisonError::into_inner);
        let given_up = notices.wanted == Wanted::Nothing;
        let run = notices.run.clone().filter(|_| !given_up)?;
        Some(Reachable { life: notices.life, run })
    }

    /// Waits that long, unless the run is given up.
    pub(crate) fn pause(&self, time: Duration) {
        let goes_on = |n: &mut Notices| n.wanted != Wanted::Nothing;
        drop(self.changed.wait_timeout_while(self.notices(), time, goes_on));
    }
}

/// How long a client that got no answer waits before it tries the same life again.
const A_MOMENT: Duration = Duration::from_millis(200);
