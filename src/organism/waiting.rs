//! Where askers wait for their receipt, and carriers for what became of a listener's word: a ticket each, and one
//! answer to it. It decides nothing and keeps nothing that was answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::edges::delivery::{self, NoReceipt, Receipts};
use crate::rules::core_payload;
use crate::words::flow::{Receipt, Ticket};
use crate::words::ports::{Askers, Position};
use crate::words::refusal::Refusal;

/// What an asker gets.
#[derive(Debug)]
pub enum Reply {
    /// The message is on disk.
    Receipt(Receipt, Option<Position>),
    /// It was refused.
    Refused(Box<Refusal>),
    /// The order was carried out.
    Done,
}

/// The askers that wait.
#[derive(Default)]
pub struct WaitingRoom {
    next: AtomicU64,
    waiting: Mutex<Waiting>,
}

/// Those who wait, and whether anybody may still come.
#[derive(Default)]
struct Waiting {
    askers: HashMap<Ticket, oneshot::Sender<Reply>>,
    closed: bool,
}

impl WaitingRoom {
    /// A ticket, and where its answer comes.
    pub fn enter(&self) -> (Ticket, oneshot::Receiver<Reply>) {
        let ticket = Ticket(self.next.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.lock();
        // In a closed room the sender is dropped here, and the receiver says so at once.
        if !waiting.closed {
            waiting.askers.insert(ticket, sender);
        }
        drop(waiting);
        (ticket, receiver)
    }

    /// The pump is gone: whoever waits, and whoever comes later, is told that nobody answers.
    pub fn close(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        waiting.askers.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, ticket: Ticket, reply: Reply) {
        let waiting = self.lock().askers.remove(&ticket);
        if let Some(sender) = waiting {
            // An asker that hung up loses nothing: the same key meets the receipt again.
            drop(sender.send(reply));
        }
    }
}

impl Receipts for WaitingRoom {
    fn draw(&self) -> (Ticket, delivery::Receipt) {
        let (ticket, reply) = self.enter();
        let receipt = async move {
            match reply.await {
                Ok(Reply::Done | Reply::Receipt(..)) => Ok(()),
                Ok(Reply::Refused(refusal)) => {
                    Err(NoReceipt::Refused(refusal.code, core_payload::system_error(&refusal)))
                }
                Err(_) => Err(NoReceipt::Unknown),
            }
        };
        (ticket, Box::pin(receipt))
    }
}

impl Askers for WaitingRoom {
    fn receipt(&self, ticket: Ticket, receipt: Receipt, position: Option<Position>) {
        self.answer(ticket, Reply::Receipt(receipt, position));
    }

    fn refused(&self, ticket: Ticket, refusal: Refusal) {
        self.answer(ticket, Reply::Refused(Box::new(refusal)));
    }

    fn done(&self, ticket: Ticket) {
        self.answer(ticket, Reply::Done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::codes::Code;

    #[tokio::test]
    async fn a_carrier_hears_what_became_of_its_word() {
        let room = WaitingRoom::default();
        let ((first, taken), (second, refused)) = (room.draw(), room.draw());
        let refusal = Refusal::new(Code::StaleLease, "over");
        room.refused(second, refusal.clone());
        room.done(first);
        // A second answer finds nobody.
        room.done(second);
        assert_eq!(taken.await, Ok(()));
        let told = core_payload::system_error(&refusal);
        assert_eq!(refused.await, Err(NoReceipt::Refused(refusal.code, told)));
    }

    #[tokio::test]
    async fn whoever_waits_when_the_pump_ends_or_comes_later_waits_for_nothing() {
        let room = WaitingRoom::default();
        let (_, before) = room.draw();
        room.close();
        let (_, after) = room.draw();
        assert_eq!((before.await, after.await), (Err(NoReceipt::Unknown), Err(NoReceipt::Unknown)));
    }
}
