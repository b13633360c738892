//! Where askers wait for their receipt, and carriers for what became of a listener's word: a ticket each, and one
//! answer to it. It decides nothing and keeps nothing that was answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::edges::delivery::{self, NoReceipt, Receipts};
use systole_core::rules::core_payload;
use systole_core::types::flow::{Receipt, Taken, Ticket};
use systole_core::types::ports::{Askers, Position};
use systole_core::types::refusal::Refusal;

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

/// Who waits.
enum Asker {
    /// Somebody outside.
    Outside(oneshot::Sender<Reply>),
    /// A listener that waits for its receipt.
    Listener(oneshot::Sender<Result<Taken, NoReceipt>>),
}

/// Those who wait, and whether anybody may still come.
#[derive(Default)]
struct Waiting {
    askers: HashMap<Ticket, Asker>,
    closed: bool,
}

impl WaitingRoom {
    /// A ticket, and where its answer comes.
    pub fn enter(&self) -> (Ticket, oneshot::Receiver<Reply>) {
        let (sender, receiver) = oneshot::channel();
        (self.seat(Asker::Outside(sender)), receiver)
    }

    fn seat(&self, asker: Asker) -> Ticket {
        let ticket = Ticket(self.next.fetch_add(1, Ordering::Relaxed));
        let mut waiting = self.lock();
        // In a closed room the sender is dropped here, and the receiver says so at once.
        if !waiting.closed {
            waiting.askers.insert(ticket, asker);
        }
        ticket
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
        // An asker that hung up loses nothing: the same key, or the same delivery, meets the receipt again.
        match waiting {
            Some(Asker::Outside(sender)) => drop(sender.send(reply)),
            Some(Asker::Listener(sender)) => drop(sender.send(match reply {
                Reply::Done | Reply::Receipt(..) => Ok(Taken::default()),
                Reply::Refused(refusal) => {
                    Err(NoReceipt::Refused(refusal.code, core_payload::system_error(&refusal)))
                }
            })),
            None => {}
        }
    }
}

impl Receipts for WaitingRoom {
    fn draw(&self) -> (Ticket, delivery::Receipt) {
        let (sender, receiver) = oneshot::channel();
        let receipt = async move { receiver.await.unwrap_or(Err(NoReceipt::Unknown)) };
        (self.seat(Asker::Listener(sender)), Box::pin(receipt))
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

    fn taken(&self, ticket: Ticket, taken: Taken) {
        let waiting = self.lock().askers.remove(&ticket);
        match waiting {
            Some(Asker::Listener(sender)) => drop(sender.send(Ok(taken))),
            Some(Asker::Outside(sender)) => drop(sender.send(Reply::Done)),
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
        // A second answer finds nobody.
        room.done(second);
        assert_eq!(taken.await, Ok(Taken::default()));
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
