//! Where senders wait for their receipts, and carriers for the result of a listener's message: each has a ticket
//! and gets one answer. It decides nothing and keeps no answered tickets.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use systole_carriers::{self as delivery, NoReceipt, Receipts};
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

/// What is held for a sender until it is answered, even if it has hung up.
pub type HeldForSender = Option<Box<dyn Any + Send>>;

/// The waiting senders.
#[derive(Default)]
pub struct WaitingRoom {
    next: AtomicU64,
    waiting: Mutex<WaitingAskers>,
}

/// A waiting sender.
enum WaitingAsker {
    /// A sender outside, with what is held for it.
    Outside { sender: oneshot::Sender<SenderReply>, _held: HeldForSender },
    /// A listener that waits for its receipt.
    Listener(oneshot::Sender<Result<TakenReply, NoReceipt>>),
}

/// The waiting senders, and whether new ones may come.
#[derive(Default)]
struct WaitingAskers {
    askers: HashMap<Ticket, WaitingAsker>,
    closed: bool,
}

impl WaitingRoom {
    /// A ticket, and the channel for its answer.
    pub fn enter_asker(&self) -> (Ticket, oneshot::Receiver<SenderReply>) {
        self.enter_holding(None)
    }

    /// The same for a sender for whom something is held.
    pub fn enter_holding(&self, held: HeldForSender) -> (Ticket, oneshot::Receiver<SenderReply>) {
        let (sender, receiver) = oneshot::channel();
        (self.take_seat(WaitingAsker::Outside { sender, _held: held }), receiver)
    }

    fn take_seat(&self, asker: WaitingAsker) -> Ticket {
        let ticket = Ticket(self.next.fetch_add(1, Ordering::Relaxed));
        let mut waiting = self.lock();
        // In a closed room the sender is dropped here, so the receiver returns at once.
        if !waiting.closed {
            waiting.askers.insert(ticket, asker);
        }
        ticket
    }

    /// The pump is gone: everyone who waits now or later learns that no answer will come.
    pub fn close_room(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        waiting.askers.clear();
    }

    fn lock(&self) -> MutexGuard<'_, WaitingAskers> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_ticket(&self, ticket: Ticket, reply: SenderReply) {
        let waiting = self.lock().askers.remove(&ticket);
        // A sender that hung up loses nothing: a repeat of the same key or delivery gets the receipt again.
        match waiting {
            Some(WaitingAsker::Outside { sender, .. }) => drop(sender.send(reply)),
            Some(WaitingAsker::Listener(sender)) => drop(sender.send(match reply {
                SenderReply::Done | SenderReply::Receipt(..) => Ok(TakenReply::default()),
                SenderReply::Refused(refusal) => {
                    Err(NoReceipt::Refused(refusal.code, core_payload::system_error(&refusal)))
                }
            })),
            None => {}
        }
    }
}

/// A ticket that no message has yet. If it never gets one, no one will answer it.
pub(super) struct UnusedTicket<'a> {
    pub(super) room: &'a WaitingRoom,
    pub(super) ticket: Option<Ticket>,
}

impl Drop for UnusedTicket<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = &self.ticket {
            self.room.lock().askers.remove(ticket);
        }
    }
}

impl Receipts for WaitingRoom {
    fn draw_ticket(&self) -> (Ticket, delivery::ReceiptFuture) {
        let (sender, receiver) = oneshot::channel();
        let receipt = async move { receiver.await.unwrap_or(Err(NoReceipt::Unknown)) };
        (self.take_seat(WaitingAsker::Listener(sender)), Box::pin(receipt))
    }
}

impl WaitingSenders for WaitingRoom {
    fn send_receipt(&self, ticket: Ticket, receipt: Receipt, position: Option<Position>) {
        self.answer_ticket(ticket, SenderReply::Receipt(receipt, position));
    }

    fn send_refusal(&self, ticket: Ticket, refusal: Refusal) {
        self.answer_ticket(ticket, SenderReply::Refused(Box::new(refusal)));
    }

    fn finish_sender(&self, ticket: Ticket) {
        self.answer_ticket(ticket, SenderReply::Done);
    }

    fn note_taken(&self, ticket: Ticket, taken: TakenReply) {
        let waiting = self.lock().askers.remove(&ticket);
        match waiting {
            Some(WaitingAsker::Listener(sender)) => drop(sender.send(Ok(taken))),
            Some(WaitingAsker::Outside { sender, .. }) => drop(sender.send(SenderReply::Done)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use systole_core::types::codes::Code;

    #[tokio::test]
    async fn a_carrier_hears_what_became_of_its_word() {
        let room = WaitingRoom::default();
        let ((first, taken), (second, refused)) = (room.draw_ticket(), room.draw_ticket());
        let refusal = Refusal::new(Code::StaleLease, "over");
        room.send_refusal(second, refusal.clone());
        room.finish_sender(first);
        // No one receives a second answer.
        room.finish_sender(second);
        assert_eq!(taken.await, Ok(TakenReply::default()));
        let told = core_payload::system_error(&refusal);
        assert_eq!(refused.await, Err(NoReceipt::Refused(refusal.code, told)));
    }

    #[test]
    fn what_is_held_for_a_sender_is_held_until_its_answer_even_if_it_hangs_up() {
        let (room, held) = (WaitingRoom::default(), Arc::new(()));
        let hold = || Some(Box::new(held.clone()) as Box<dyn Any + Send>);
        let (first, reply) = room.enter_holding(hold());
        drop(reply);
        assert_eq!(Arc::strong_count(&held), 2);
        room.finish_sender(first);
        assert_eq!(Arc::strong_count(&held), 1);

        // Its message was never passed in, so it is never answered.
        let (second, _reply) = room.enter_holding(hold());
        drop(UnusedTicket { room: &room, ticket: Some(second) });
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[tokio::test]
    async fn a_caller_that_waits_when_the_pump_ends_or_comes_later_waits_for_nothing() {
        let room = WaitingRoom::default();
        let (_, before) = room.draw_ticket();
        room.close_room();
        let (_, after) = room.draw_ticket();
        assert_eq!((before.await, after.await), (Err(NoReceipt::Unknown), Err(NoReceipt::Unknown)));
    }
}
