//! The ports of a pump that replays: its clock shows recorded times, its deliveries are kept for the replay, and its
//! tokens and ids are the same in every replay.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use systole_core::types::fast_maps::FastMap;
use systole_core::types::flow::{Receipt, Ticket};
use systole_core::types::ids::{AttemptId, CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{
    CallBack, CallMark, Carrier, Clock, Delivery, Lease, LeaseToken, Position, Seed, Seeds, TokenMaker,
    WaitingSenders,
};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_kit::pump_documents::PumpAnswer;

/// What the pump sends out.
#[derive(Debug)]
pub(super) enum PumpOutput {
    /// A delivery for a listener.
    Handed(Delivery),
    /// A delivery is no longer wanted.
    CalledBack(LeaseToken),
    /// The answer to a journal entry or a question.
    Answered(PumpAnswer),
    /// A worker on another machine may have a delivery of an earlier life of the pump.
    Expected(Lease),
    /// An input from outside is refused.
    Refused(Refusal),
}

/// The ports, over all starts of one replay.
pub(super) struct ReplayPorts {
    now: AtomicU64,
    ticks: AtomicU64,
    drawn: AtomicU64,
    marks: FastMap<(ThreadId, CallPath), CallMark>,
    sent: Mutex<Vec<PumpOutput>>,
}

impl ReplayPorts {
    /// Ports whose clock shows that time, with the marks that the recorded calls had.
    pub(super) fn new(began: Millis, marks: FastMap<(ThreadId, CallPath), CallMark>) -> ReplayPorts {
        ReplayPorts {
            now: AtomicU64::new(began.0),
            ticks: AtomicU64::new(began.0),
            drawn: AtomicU64::new(0),
            marks,
            sent: Mutex::default(),
        }
    }

    /// Moves the wall clock to a recorded time. The monotonic clock never goes back.
    pub(super) fn move_clock(&self, now: Millis) {
        self.now.store(now.0, Ordering::Relaxed);
        self.ticks.fetch_max(now.0, Ordering::Relaxed);
    }

    /// What was sent out since the last call.
    pub(super) fn take_outputs(&self) -> Vec<PumpOutput> {
        std::mem::take(&mut *self.sent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn send(&self, output: PumpOutput) {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(output);
    }
}

impl Clock for ReplayPorts {
    fn now(&self) -> Millis {
        Millis(self.now.load(Ordering::Relaxed))
    }

    fn ticks(&self) -> Millis {
        Millis(self.ticks.load(Ordering::Relaxed))
    }
}

impl Seeds for ReplayPorts {
    fn draw_seed(&self) -> Seed {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed);
        Seed(u128::from(number).to_be_bytes())
    }
}

impl TokenMaker for ReplayPorts {
    fn make_token(&self, AttemptId { thread, call, turn, attempt }: &AttemptId) -> LeaseToken {
        LeaseToken(format!("{thread} {call} {turn} {attempt}").into())
    }

    fn make_mark(&self, thread: &ThreadId, call: &CallPath) -> CallMark {
        let known = self.marks.get(&(thread.clone(), call.clone())).copied();
        known.unwrap_or_else(|| {
            let [a, b, c, d, ..] = Digest::hash_bytes(format!("{thread} {call}").as_bytes()).0;
            CallMark([a, b, c, d])
        })
    }
}

impl Carrier for ReplayPorts {
    fn send_delivery(&self, delivery: Delivery) {
        self.send(PumpOutput::Handed(delivery));
    }

    fn call_back(&self, token: &LeaseToken, _: CallBack) {
        self.send(PumpOutput::CalledBack(token.clone()));
    }

    fn send_answer(&self, _: &Name, answer: PumpAnswer) {
        self.send(PumpOutput::Answered(answer));
    }

    fn expect_reply(&self, lease: &Lease) {
        self.send(PumpOutput::Expected(lease.clone()));
    }
}

impl WaitingSenders for ReplayPorts {
    fn send_receipt(&self, _: Ticket, _: Receipt, _: Option<Position>) {}

    fn send_refusal(&self, _: Ticket, refusal: Refusal) {
        self.send(PumpOutput::Refused(refusal));
    }

    fn finish_sender(&self, _: Ticket) {}
}
