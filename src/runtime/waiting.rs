//! Where senders wait for their receipts, and carriers for the result of a listener's message: each has a ticket
//! and gets one answer. It decides nothing and keeps no answered tickets.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::edges::delivery::{self, NoReceipt, Receipts};
use systole_core::rules::core_payload;
use systole_core::types::flow::{Receipt, TakenReply, Ticket};
use systole_core::types::ports::{Position, WaitingSenders};
use systole_core::types::refusal::Refusal;

/// The answer to a waiting sender.
#[derive(Debug)]
pub enum SenderReply {
    /// The message is on disk.
    Receipt(Receipt, Option<Position>),
    /// It was refused.
    Refused(Box<Refusal>),
    /// The order was carried out.
    Done,
}

/// The waiting senders.
#[derive(Default)]
pub struct WaitingRoom {
    next: AtomicU64,
    waiting: Mutex<Waiting>,
}

/// A waiting sender.
enum Asker {
    /// A sender outside.
    Outside(oneshot::Sender<SenderReply>),
    /// A listener that waits for its receipt.
    Listener(oneshot::Sender<Result<TakenReply, NoReceipt>>),
}

/// The waiting senders, and whether new ones may come.
#[derive(Default)]
struct Waiting {
    askers: HashMap<Ticket, Asker>,
    closed: bool,
}

impl WaitingRoom {
    /// A ticket, and the channel for its answer.
    pub fn enter(&self) -> (Ticket, oneshot::Receiver<SenderReply>) {
        let (sender, receiver) = oneshot::channel();
        (self.seat(Asker::Outside(sender)), receiver)
    }

    fn seat(&self, asker: Asker) -> Ticket {
        let ticket = Ticket(self.next.fetch_add(1, Ordering::Relaxed));
        let mut waiting = self.lock();
        // In a closed room the sender is dropped here, so the receiver returns at once.
        if !waiting.closed {
            waiting.askers.insert(ticket, asker);
        }
        ticket
    }

    /// The pump is gone: everyone who waits now or later learns that no answer will come.
    pub fn close(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        waiting.askers.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, ticket: Ticket, reply: SenderReply) {
        let waiting = self.lock().askers.remove(&ticket);
        // A sender that hung up loses nothing: a repeat of the same key or delivery gets the receipt again.
        match waiting {
            Some(Asker::Outside(sender)) => drop(sender.send(reply)),
            Some(Asker::Listener(sender)) => drop(sender.send(match reply {
                SenderReply::Done | SenderReply::Receipt(..) => Ok(TakenReply::default()),
                SenderReply::Refused(refusal) => {
                    Err(NoReceipt::Refused(refusal.code, core_payload::system_error(&refusal)))
                }
            })),
            None => {}
        }
    }
}

impl Receipts for WaitingRoom {
    fn draw(&self) -> (Ticket, delivery::ReceiptFuture) {
        let (sender, receiver) = oneshot::channel();
        let receipt = async move { receiver.await.unwrap_or(Err(NoReceipt::Unknown)) };
        (self.seat(Asker::Listener(sender)), Box::pin(receipt))
    }
}

impl WaitingSenders for WaitingRoom {
    fn receipt(&self, ticket: Ticket, receipt: Receipt, position: Option<Position>) {
        self.answer(ticket, SenderReply::Receipt(receipt, position));
    }

    fn refused(&self, ticket: Ticket, refusal: Refusal) {
        self.answer(ticket, SenderReply::Refused(Box::new(refusal)));
    }

    fn done(&self, ticket: Ticket) {
        self.answer(ticket, SenderReply::Done);
    }

    fn taken(&self, ticket: Ticket, taken: TakenReply) {
        let waiting = self.lock().askers.remove(&ticket);
        match waiting {
            Some(Asker::Listener(sender)) => drop(sender.send(Ok(taken))),
            Some(Asker::Outside(sender)) => drop(sender.send(SenderReply::Done)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::codes::Code;

    #[tokio::test]
    async fn a_carrier_hears_what_became_of_its_word() {
        let room = WaitingRoom::default();
        let ((first, taken), (second, refused)) = (room.draw(), room.draw());
        let refusal = Refusal::new(Code::StaleLease, "over");
        room.refused(second, refusal.clone());
        room.done(first);
        // No one receives a second answer.
        room.done(second);
        assert_eq!(taken.await, Ok(TakenReply::default()));
        let told = core_payload::system_error(&refusal);
        assert_eq!(refused.await, Err(NoReceipt::Refused(refusal.code, told)));
    }

    #[tokio::test]
    async fn a_caller_that_waits_when_the_pump_ends_or_comes_later_waits_for_nothing() {
        let room = WaitingRoom::default();
        let (_, before) = room.draw();
        room.close();
        let (_, after) = room.draw();
        assert_eq!((before.await, after.await), (Err(NoReceipt::Unknown), Err(NoReceipt::Unknown)));
    }
}
