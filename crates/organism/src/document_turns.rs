//! The documents that wait for one validator thread. Senders take turns: however many documents of one wait there, a
//! document of another waits for one of each sender at most. A sender with too many waits, and keeps no other waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits;
use systole_core::types::ids::Name;

/// What one sender has handed in.
struct SenderLine<T> {
    room: Arc<Semaphore>,
    waiting: VecDeque<(T, OwnedSemaphorePermit)>,
}

struct TurnState<T> {
    /// A line stays when it is empty: there are no more than names in the organism's file.
    lines: HashMap<Name, SenderLine<T>>,
    /// The senders with waiting documents, in the order of their turns.
    turns: VecDeque<Name>,
    /// Whether one of the two sides is gone.
    is_over: bool,
}

struct TurnQueue<T> {
    state: Mutex<TurnState<T>>,
    comes: Condvar,
}

impl<T> TurnQueue<T> {
    fn lock(&self) -> MutexGuard<'_, TurnState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where documents are handed in.
pub(super) struct TurnSender<T>(Arc<TurnQueue<T>>);

/// Where the thread takes them.
pub(super) struct TurnReceiver<T>(Arc<TurnQueue<T>>);

/// Opens a queue for one thread.
pub(super) fn open_turns<T>() -> (TurnSender<T>, TurnReceiver<T>) {
    let state = TurnState { lines: HashMap::new(), turns: VecDeque::new(), is_over: false };
    let queue = Arc::new(TurnQueue { state: Mutex::new(state), comes: Condvar::new() });
    (TurnSender(queue.clone()), TurnReceiver(queue))
}

impl<T> TurnSender<T> {
    /// Hands in a document. Waits while too many of the same sender wait. Returns false if the thread is gone.
    pub(super) async fn hand_in(&self, from: &Name, document: T) -> bool {
        let room = {
            let mut state = self.0.lock();
            match state.lines.get(from) {
                _ if state.is_over => return false,
                Some(line) => line.room.clone(),
                None => {
                    let room = Arc::new(Semaphore::new(limits::DOCUMENTS_OF_ONE));
                    let line = SenderLine { room: room.clone(), waiting: VecDeque::new() };
                    state.lines.insert(from.clone(), line);
                    room
                }
            }
        };
        let Ok(place) = room.acquire_owned().await else { return false };
        let mut state = self.0.lock();
        let TurnState { lines, turns, is_over } = &mut *state;
        let Some(line) = lines.get_mut(from).filter(|_| !*is_over) else { return false };
        if line.waiting.is_empty() {
            turns.push_back(from.clone());
        }
        line.waiting.push_back((document, place));
        self.0.comes.notify_one();
        true
    }
}

impl<T> Drop for TurnSender<T> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.comes.notify_one();
    }
}

impl<T> TurnReceiver<T> {
    /// Takes documents, one of each sender in turn, and waits for the first one. Takes none if none will come.
    pub(super) fn take_many(&self, taken: &mut Vec<T>, most: usize) {
        let state = self.0.lock();
        let waits = |state: &mut TurnState<T>| state.turns.is_empty() && !state.is_over;
        let mut state = self.0.comes.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        while taken.len() < most
            && let Some(from) = state.turns.pop_front()
        {
            let Some(line) = state.lines.get_mut(&from) else { continue };
            taken.extend(line.waiting.pop_front().map(|(document, _)| document));
            if !line.waiting.is_empty() {
                state.turns.push_back(from);
            }
        }
    }
}

impl<T> Drop for TurnReceiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_over = true;
        // Who waits for room would wait for ever.
        state.lines.values().for_each(|line| line.room.close());
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    #[tokio::test]
    async fn d12_senders_of_documents_take_turns_and_a_full_line_keeps_no_other_waiting() {
        let (sender, receiver) = open_turns();
        let [ann, ben] = ["ann", "ben"].map(name);
        for n in 0..limits::DOCUMENTS_OF_ONE {
            assert!(sender.hand_in(&ann, n).await);
        }
        let mut full = Box::pin(sender.hand_in(&ann, 1_000));
        assert!((&mut full).now_or_never().is_none());
        assert!(sender.hand_in(&ben, 2_000).await);
        let mut taken = Vec::new();
        receiver.take_many(&mut taken, 3);
        assert_eq!(taken, [0, 2_000, 1]);
        assert!(full.await);
        let mut rest = Vec::new();
        receiver.take_many(&mut rest, usize::MAX);
        assert_eq!(
            (rest.first(), rest.last(), rest.len()),
            (Some(&2), Some(&1_000), limits::DOCUMENTS_OF_ONE - 1)
        );
        drop(sender);
        let mut none = Vec::new();
        receiver.take_many(&mut none, 1);
        assert!(none.is_empty());
    }

    #[tokio::test]
    async fn who_waits_for_room_learns_that_the_thread_is_gone() {
        let (sender, receiver) = open_turns();
        let ann = name("ann");
        for n in 0..limits::DOCUMENTS_OF_ONE {
            assert!(sender.hand_in(&ann, n).await);
        }
        let mut full = Box::pin(sender.hand_in(&ann, 0));
        assert!((&mut full).now_or_never().is_none());
        drop(receiver);
        assert!(!full.await);
        assert!(!sender.hand_in(&name("ben"), 0).await);
    }
}
