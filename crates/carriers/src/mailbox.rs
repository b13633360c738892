//! The mailbox of one listener: deliveries that were handed over and are not yet answered. The pump puts
//! deliveries and call-backs on it without waiting; the listener's task takes them off.
//!
//! The mailbox never reads a document and never reports anything. The caller that takes a token off the mailbox owes
//! the pump the one report about it. Each token can be taken off only once, so there is only one report. In:
//! deliveries, call-backs. Out: items for the task, and tokens that are owed a report.
//!
//! The mailbox holds a bounded number of deliveries, and everything else on it belongs to one of them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use systole_kit::pump_documents::PumpAnswer;
use tokio::sync::Notify;
use tokio::time::Instant;

use systole_core::types::fast_maps::FastMap;
use systole_core::types::ports::{CallBack, Delivery, LeaseToken};

use crate::limits;

/// The next thing to bring to the listener.
#[derive(Debug)]
pub(super) enum MailboxItem {
    /// A delivery. It is out from now on.
    Deliver(Delivery),
    /// A note that an answer is no longer wanted.
    Cancel(LeaseToken),
    /// The answer to a journal entry or a question.
    Answer(PumpAnswer),
}

/// Something other than a delivery to bring to the listener.
#[derive(Debug)]
pub(super) enum MailboxSide {
    /// A note that an answer is no longer wanted.
    Cancel(LeaseToken),
    /// The answer to a journal entry or a question.
    Answer(PumpAnswer),
}

impl From<MailboxSide> for MailboxItem {
    fn from(side: MailboxSide) -> MailboxItem {
        match side {
            MailboxSide::Cancel(token) => MailboxItem::Cancel(token),
            MailboxSide::Answer(answer) => MailboxItem::Answer(answer),
        }
    }
}

/// Why a delivery was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RefusedDelivery {
    /// The listener was stopped.
    Closed,
    /// The listener already has as many deliveries as it may have.
    Full,
}

pub(super) struct Mailbox {
    room: usize,
    papers: Mutex<MailboxPapers>,
    arrived: Notify,
    recalled: Notify,
}

#[derive(Default)]
struct MailboxPapers {
    waiting: VecDeque<Delivery>,
    out: FastMap<Arc<str>, Option<RecalledDelivery>>,
    /// Those of them that an earlier life of the pump handed over, until they are found or handed over again.
    expected: HashSet<Arc<str>>,
    cancels: VecDeque<LeaseToken>,
    /// Deliveries that were reported gone, as soon as that is on disk.
    ended: VecDeque<LeaseToken>,
    unsent: VecDeque<(LeaseToken, CallBack)>,
    answers: VecDeque<PumpAnswer>,
    /// Deliveries that ended with an earlier life of the listener. Their asker no longer waits, and the next
    /// life must not get answers that it never asked for.
    dead: VecDeque<Arc<str>>,
    closed: bool,
}

impl MailboxPapers {
    /// How many places are taken at most.
    fn most_places(&self) -> usize {
        self.waiting.len() + self.unsent.len() + self.out.len()
    }

    /// How many places are taken. One that is out already takes no further place, also while it waits to be handed over
    /// again.
    fn count_places(&self) -> usize {
        let takes_place = |one: &&Delivery| {
            let token = &one.lease.token.0;
            !self.out.contains_key(token) || self.expected.contains(token)
        };
        let waiting = self.waiting.iter().filter(takes_place).count();
        waiting + self.unsent.len() + self.out.len() - self.expected.len()
    }
}

#[derive(Clone, Copy)]
struct RecalledDelivery {
    why: CallBack,
    at: Instant,
}

impl Mailbox {
    fn lock_papers(&self) -> MutexGuard<'_, MailboxPapers> {
        // Every change below is complete before anything can panic, so the mailbox is valid even if the lock is
        // poisoned.
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A mailbox for a listener that may have this many deliveries at once.
    pub(super) fn new(in_flight: usize) -> Mailbox {
        // The pump counts slots and hands over no more than that. The extra place is for a pump that counts a
        // slot as free a moment before the mailbox does.
        let room = in_flight.saturating_add(1);
        Mailbox { room, papers: Mutex::default(), arrived: Notify::new(), recalled: Notify::new() }
    }

    /// How many deliveries may be on it.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Puts a delivery on the mailbox.
    pub(super) fn put_delivery(&self, delivery: Delivery) -> Result<(), (Delivery, RefusedDelivery)> {
        let mut papers = self.lock_papers();
        if papers.closed {
            return Err((delivery, RefusedDelivery::Closed));
        }
        // They are counted one by one only if the room could be full.
        if papers.most_places() >= self.room
            && !papers.out.contains_key(&delivery.lease.token.0)
            && papers.count_places() >= self.room
        {
            return Err((delivery, RefusedDelivery::Full));
        }
        papers.waiting.push_back(delivery);
        drop(papers);
        self.arrived.notify_one();
        Ok(())
    }

    /// Calls a delivery back. If it is not on the mailbox, it has been answered.
    pub(super) fn call_back(&self, token: &LeaseToken, why: CallBack) {
        let mut papers = self.lock_papers();
        let waiting = papers.waiting.iter().position(|d| d.lease.token == *token);
        if let Some(place) = waiting {
            papers.waiting.remove(place);
        }
        if waiting.is_some() && !papers.out.contains_key(&token.0) {
            papers.unsent.push_back((token.clone(), why));
        } else if let Some(recall @ None) = papers.out.get_mut(&token.0) {
            *recall = Some(RecalledDelivery { why, at: Instant::now() });
            papers.cancels.push_back(token.clone());
        } else {
            return;
        }
        drop(papers);
        self.arrived.notify_one();
        self.recalled.notify_waiters();
    }

    /// Puts an answer on the mailbox.
    pub(super) fn put_answer(&self, answer: PumpAnswer) {
        let mut papers = self.lock_papers();
        let is_full = papers.answers.len() >= self.room.saturating_mul(limits::ANSWERS);
        if papers.closed || is_full || papers.dead.iter().any(|token| **token == *answer.delivery) {
            return;
        }
        papers.answers.push_back(answer);
        drop(papers);
        self.arrived.notify_one();
    }

    /// The next item; waits for one. May be dropped while it waits: nothing is lost. Only one task may wait.
    pub(super) async fn next(&self) -> MailboxItem {
        loop {
            if let Some(item) = self.next_now() {
                return item;
            }
            self.wait_for_item().await;
        }
    }

    /// Waits until something may have arrived since the last look. Only one task may wait.
    pub(super) async fn wait_for_item(&self) {
        // `notify_one` leaves a permit if no task waits yet, so an arrival between the look and the wait is not
        // missed.
        self.arrived.notified().await;
    }

    /// The next item that is already here.
    pub(super) fn next_now(&self) -> Option<MailboxItem> {
        self.next_aside().map(MailboxItem::from).or_else(|| self.next_delivery().map(MailboxItem::Deliver))
    }

    /// The next thing already here that is no delivery.
    pub(super) fn next_aside(&self) -> Option<MailboxSide> {
        let mut papers = self.lock_papers();
        let cancel = papers.cancels.pop_front().map(MailboxSide::Cancel);
        cancel.or_else(|| papers.answers.pop_front().map(MailboxSide::Answer))
    }

    /// The end of a delivery that was reported gone is on disk.
    pub(super) fn let_go(&self, token: &LeaseToken) {
        self.lock_papers().ended.push_back(token.clone());
        self.arrived.notify_one();
    }

    /// The next delivery whose end is on disk.
    pub(super) fn next_ended(&self) -> Option<LeaseToken> {
        self.lock_papers().ended.pop_front()
    }

    /// The next delivery that is already here. It is out from now on.
    pub(super) fn next_delivery(&self) -> Option<Delivery> {
        let mut papers = self.lock_papers();
        let delivery = papers.waiting.pop_front()?;
        papers.expected.remove(&delivery.lease.token.0);
        papers.out.entry(delivery.lease.token.0.clone()).or_insert(None);
        Some(delivery)
    }

    /// A delivery that an earlier life of the pump may have handed over is out.
    pub(super) fn expect_reply(&self, token: &LeaseToken) {
        let mut papers = self.lock_papers();
        papers.out.insert(token.0.clone(), None);
        papers.expected.insert(token.0.clone());
    }

    /// Of the deliveries that were expected, only these are out. The others are handed over again.
    pub(super) fn note_found(&self, found: &HashMap<Arc<str>, u64>) {
        let mut papers = self.lock_papers();
        for token in std::mem::take(&mut papers.expected) {
            if !found.contains_key(&token) {
                papers.out.remove(&token);
                papers.cancels.retain(|cancelled| cancelled.0 != token);
            }
        }
    }

    /// Whether a delivery is out.
    pub(super) fn is_out(&self, token: &str) -> bool {
        self.lock_papers().out.contains_key(token)
    }

    /// The next delivery that was called back before it left the mailbox. It is taken off the mailbox and owed a
    /// report.
    pub(super) async fn take_unsent(&self) -> (LeaseToken, CallBack) {
        loop {
            let mut changed = pin!(self.recalled.notified());
            // Listening begins before the look, so a call-back in between is not missed.
            changed.as_mut().enable();
            let unsent = self.lock_papers().unsent.pop_front();
            match unsent {
                Some(unsent) => return unsent,
                None => changed.await,
            }
        }
    }

    /// Waits until a delivery is still out `grace` after it was called back.
    pub(super) async fn wait_until_overdue(&self, grace: Duration) {
        loop {
            let mut changed = pin!(self.recalled.notified());
            changed.as_mut().enable();
            let first = self.lock_papers().out.values().flatten().map(|recall| recall.at).min();
            match first {
                None => changed.await,
                Some(at) if at + grace <= Instant::now() => return,
                // The next round does not see deliveries that were answered by then.
                Some(at) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(at + grace) => {}
                },
            }
        }
    }

    /// Waits until this delivery, which is out, is called back.
    pub(super) async fn recall_of(&self, token: &LeaseToken) -> CallBack {
        loop {
            let mut changed = pin!(self.recalled.notified());
            changed.as_mut().enable();
            let recall = self.lock_papers().out.get(&token.0).copied().flatten();
            match recall {
                Some(recall) => return recall.why,
                None => changed.await,
            }
        }
    }

    /// Takes a delivery that is out off the mailbox. A caller that gets `true` owes its report.
    #[must_use = "who takes a delivery off the desk owes its report"]
    pub(super) fn settle_delivery(&self, token: &str) -> bool {
        let mut papers = self.lock_papers();
        papers.cancels.retain(|t| &*t.0 != token);
        papers.expected.remove(token);
        papers.out.remove(token).is_some()
    }

    /// Takes every delivery that is out off the mailbox; each is owed a report.
    #[must_use = "who takes a delivery off the desk owes its report"]
    pub(super) fn settle_all(&self) -> Vec<(LeaseToken, Option<CallBack>)> {
        let mut papers = self.lock_papers();
        papers.cancels.clear();
        papers.answers.clear();
        papers.expected.clear();
        let out: Vec<_> =
            papers.out.drain().map(|(token, recall)| (LeaseToken(token), recall.map(|r| r.why))).collect();
        papers.dead.extend(out.iter().map(|(token, _)| token.0.clone()));
        let surplus = papers.dead.len().saturating_sub(self.room.saturating_mul(limits::DEAD_DELIVERIES));
        papers.dead.drain(..surplus);
        out
    }

    /// Takes all deliveries that have not left the mailbox off it; each is owed a report.
    #[must_use = "who takes a delivery off the desk owes its report"]
    pub(super) fn settle_waiting(&self) -> Vec<LeaseToken> {
        let mut papers = self.lock_papers();
        let waiting = papers.waiting.drain(..).map(|d| d.lease.token.clone()).collect::<Vec<_>>();
        waiting.into_iter().chain(papers.unsent.drain(..).map(|(token, _)| token)).collect()
    }

    /// Waits until a delivery waits on the mailbox. Only one task may wait, and it may not be in `next` at the
    /// same time.
    pub(super) async fn anything_waits(&self) {
        while self.lock_papers().waiting.is_empty() {
            self.wait_for_item().await;
        }
    }

    /// Takes nothing more.
    pub(super) fn close_mailbox(&self) {
        self.lock_papers().closed = true;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use systole_kit::envelope::{Delivered, EnvelopeStamp};
    use systole_kit::{DocumentLimits, Payload};

    use super::*;
    use systole_core::types::delivery::DeliveredTurn;
    use systole_core::types::ids::{AttemptId, CallPath, Digest, Name, ThreadId};
    use systole_core::types::ports::Lease;

    fn delivery(token: &str) -> Delivery {
        let lease = Lease {
            token: LeaseToken(token.into()),
            listener: Name::new_core(),
            id: AttemptId { thread: ThreadId::new_sys(), call: CallPath::new_top(1), turn: 1, attempt: 1 },
            config: Digest::hash_bytes(b""),
        };
        let payload = Payload::parse(b"<ask xmlns=\"urn:test\"/>", &DocumentLimits::default()).unwrap();
        let (from, thread, stamp) = (String::new(), String::new(), EnvelopeStamp::default());
        Delivery {
            lease: Arc::new(lease),
            turn: DeliveredTurn::Composed(Box::new(Delivered { from, to: None, thread, stamp, payload })),
        }
    }

    /// A mailbox with these deliveries, the first `out` of them out.
    fn mailbox(tokens: &[&str], out: usize) -> Mailbox {
        let mailbox = Mailbox::new(tokens.len());
        for token in tokens {
            assert!(mailbox.put_delivery(delivery(token)).is_ok());
        }
        for _ in 0..out {
            assert!(matches!(mailbox.next_now(), Some(MailboxItem::Deliver(_))));
        }
        mailbox
    }

    #[test]
    fn a_delivery_is_taken_off_once() {
        let mailbox = mailbox(&["a", "b", "c"], 2);
        assert!(mailbox.settle_delivery("a") && !mailbox.settle_delivery("a"));
        assert!(!mailbox.settle_delivery("c"), "it is not out yet");
        assert_eq!(mailbox.settle_all(), [(LeaseToken("b".into()), None)]);
        assert_eq!(mailbox.settle_all(), []);
        assert_eq!(mailbox.settle_waiting(), [LeaseToken("c".into())]);
        assert_eq!(mailbox.settle_waiting(), []);
    }

    #[test]
    fn an_answer_that_came_first_spares_the_cancel() {
        let mailbox = mailbox(&["a", "b"], 2);
        for token in ["a", "b"] {
            mailbox.call_back(&LeaseToken(token.into()), CallBack::Cancelled);
        }
        assert!(mailbox.settle_delivery("a"));
        assert!(matches!(mailbox.next_now(), Some(MailboxItem::Cancel(token)) if &*token.0 == "b"));
        assert!(mailbox.next_now().is_none());
    }

    #[test]
    fn an_answer_does_not_outlive_the_life_that_asked() {
        let answer = |delivery: &str| PumpAnswer { delivery: delivery.to_owned(), id: 1, payload: None };
        let mailbox = mailbox(&["a", "b"], 1);
        mailbox.put_answer(answer("a"));
        assert_eq!(mailbox.settle_all(), [(LeaseToken("a".into()), None)]);
        mailbox.put_answer(answer("a"));
        mailbox.put_answer(answer("b"));
        assert!(matches!(mailbox.next_now(), Some(MailboxItem::Answer(answer)) if answer.delivery == "b"));
        assert!(matches!(mailbox.next_now(), Some(MailboxItem::Deliver(_))));
    }

    #[test]
    fn answers_that_nobody_reads_do_not_pile_up() {
        let mailbox = mailbox(&["a"], 1);
        let answer = PumpAnswer { delivery: "a".to_owned(), id: 1, payload: None };
        (0..3 * limits::ANSWERS).for_each(|_| mailbox.put_answer(answer.clone()));
        let mut left = 0;
        while mailbox.next_now().is_some() {
            left += 1;
        }
        assert_eq!(left, 2 * limits::ANSWERS, "the listener may have one delivery, and one more");
    }

    #[test]
    fn a_second_call_back_changes_nothing() {
        let mailbox = mailbox(&["a"], 1);
        mailbox.call_back(&LeaseToken("a".into()), CallBack::Cancelled);
        assert!(mailbox.next_now().is_some());
        mailbox.call_back(&LeaseToken("a".into()), CallBack::TimedOut);
        assert!(mailbox.next_now().is_none());
        assert_eq!(mailbox.settle_all(), [(LeaseToken("a".into()), Some(CallBack::Cancelled))]);
    }

    #[test]
    fn a_desk_has_room_for_one_more_than_its_listener() {
        let mailbox = mailbox(&["a"], 1);
        assert!(mailbox.put_delivery(delivery("b")).is_ok());
        assert!(matches!(mailbox.put_delivery(delivery("c")), Err((_, RefusedDelivery::Full))));
        assert!(mailbox.settle_delivery("a"));
        assert!(mailbox.put_delivery(delivery("c")).is_ok());
        mailbox.close_mailbox();
        assert!(matches!(mailbox.put_delivery(delivery("d")), Err((_, RefusedDelivery::Closed))));
    }

    #[tokio::test]
    async fn what_comes_before_the_wait_is_not_missed() {
        let mailbox = mailbox(&["a", "b"], 1);
        mailbox.call_back(&LeaseToken("b".into()), CallBack::Cancelled);
        assert_eq!(mailbox.take_unsent().await, (LeaseToken("b".into()), CallBack::Cancelled));
        mailbox.call_back(&LeaseToken("a".into()), CallBack::TimedOut);
        assert_eq!(mailbox.recall_of(&LeaseToken("a".into())).await, CallBack::TimedOut);
        mailbox.wait_until_overdue(Duration::ZERO).await;
        assert!(matches!(mailbox.next().await, MailboxItem::Cancel(_)));
    }

    #[test]
    fn what_was_found_to_be_out_takes_one_place_until_it_is_handed_over_again() {
        let mailbox = Mailbox::new(1);
        let found = delivery("a");
        mailbox.expect_reply(&found.lease.token);
        mailbox.note_found(&HashMap::from([(found.lease.token.0.clone(), 1)]));
        assert!(mailbox.put_delivery(found).is_ok());
        assert!(
            mailbox.put_delivery(delivery("b")).is_ok(),
            "the pump counts the slot of a as free a moment before"
        );
        assert!(matches!(mailbox.put_delivery(delivery("c")), Err((_, RefusedDelivery::Full))));
    }
}
