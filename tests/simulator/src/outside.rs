//! The ports of an engine: clock, seeds, tokens, listeners and clients of a simulated world. The output
//! of the engine is stored, in order, until the world takes it.
//!
//! A pump dies at a step by falling silent there: from then on it has no effect, and the world removes it
//! as soon as the call returns. So a kill can happen inside any call, including recovery.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use systole_core::types::flow::{Receipt, Ticket};
use systole_core::types::ids::{AttemptId, CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{
    CallBack, CallMark, Carrier, Clock, Delivery, Lease, LeaseToken, Position, PumpStep, Seed, Seeds,
    StepObserver, TokenMaker, WaitingSenders,
};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_kit::pump_documents::PumpAnswer;

/// An output of an engine.
#[derive(Debug)]
pub(crate) enum Sent {
    Handed(Delivery),
    CalledBack(LeaseToken, CallBack),
    /// A worker on another machine may have this delivery from an earlier life.
    Expected(Name, LeaseToken),
    /// The end of a delivery that was reported gone is on disk.
    LetGo(Name, LeaseToken),
    Answered(PumpAnswer),
    Receipt(Ticket, Receipt, Option<Position>),
    Refused(Ticket, Refusal),
    Done(Ticket),
}

impl Sent {
    /// Its kind and receiver, to tell two runs apart by their outputs.
    pub(crate) fn name(&self) -> String {
        match self {
            Sent::Handed(delivery) => format!("handed {}", delivery.lease.token.0),
            Sent::CalledBack(token, _) => format!("called back {}", token.0),
            Sent::Expected(_, token) => format!("expected {}", token.0),
            Sent::LetGo(_, token) => format!("let go {}", token.0),
            Sent::Answered(answer) => format!("answered {} {}", answer.delivery, answer.id),
            Sent::Receipt(ticket, receipt, _) => {
                format!("receipt {}{}", ticket.0, receipt.thread.as_str())
            }
            Sent::Refused(ticket, refusal) => {
                format!("refused {}{}", ticket.0, refusal.code.as_str())
            }
            Sent::Done(ticket) => format!("done {}", ticket.0),
        }
    }
}

/// The beginning of simulated time, in milliseconds since 1970.
const BEGINNING_MS: u64 = 1_767_225_600_000;

/// The outside as pumps see it, over all lives of a run.
pub(crate) struct SimulatedPorts {
    seed: u64,
    drawn: AtomicU64,
    ticks_ms: AtomicU64,
    /// How far the wall clock is ahead of simulated time.
    set_by_ms: AtomicI64,
    /// Steps until the pump dies; none if it lives on.
    steps_left: AtomicI64,
    dead: AtomicBool,
    sent: Mutex<Vec<Sent>>,
}

impl SimulatedPorts {
    pub(crate) fn new(seed: u64) -> SimulatedPorts {
        SimulatedPorts {
            seed,
            drawn: AtomicU64::new(0),
            ticks_ms: AtomicU64::new(0),
            set_by_ms: AtomicI64::new(0),
            steps_left: AtomicI64::new(i64::MAX),
            dead: AtomicBool::new(false),
            sent: Mutex::default(),
        }
    }

    /// Begins a life that ends after this many steps.
    pub(crate) fn live(&self, steps: Option<u64>) {
        let steps = steps.map_or(i64::MAX, |steps| i64::try_from(steps).unwrap_or(i64::MAX));
        self.steps_left.store(steps, Ordering::Relaxed);
        self.dead.store(false, Ordering::Relaxed);
        self.take();
    }

    /// This life no longer ends at a step.
    pub(crate) fn spare(&self) {
        self.steps_left.store(i64::MAX, Ordering::Relaxed);
    }

    /// From now on no step counts. Returns how many are left.
    pub(crate) fn pauses_steps(&self) -> i64 {
        self.steps_left.swap(i64::MAX, Ordering::Relaxed)
    }

    /// Steps count again.
    pub(crate) fn resumes_steps(&self, left: i64) {
        self.steps_left.store(left, Ordering::Relaxed);
    }

    /// Whether the pump died at a step.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    pub(crate) fn reach(&self, now_ms: u64) {
        self.ticks_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Sets the wall clock, forward or back.
    pub(crate) fn set_clock(&self, by_ms: i64) {
        self.set_by_ms.fetch_add(by_ms, Ordering::Relaxed);
    }

    /// Takes the outputs since the last call.
    pub(crate) fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut *self.sent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn send(&self, sent: Sent) {
        if !self.is_dead() {
            self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
        }
    }
}

impl Clock for SimulatedPorts {
    fn now(&self) -> Millis {
        let wall = BEGINNING_MS + self.ticks().0;
        Millis(wall.saturating_add_signed(self.set_by_ms.load(Ordering::Relaxed)))
    }

    fn ticks(&self) -> Millis {
        Millis(self.ticks_ms.load(Ordering::Relaxed))
    }
}

impl Seeds for SimulatedPorts {
    fn draw_seed(&self) -> Seed {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed);
        Seed((u128::from(self.seed) << 64 | u128::from(number)).to_be_bytes())
    }
}

impl TokenMaker for SimulatedPorts {
    fn make_token(&self, AttemptId { thread, call, turn, attempt }: &AttemptId) -> LeaseToken {
        let (turn, attempt) = (turn.to_string(), attempt.to_string());
        LeaseToken([thread.as_str(), call.as_str(), &turn, &attempt].join(" ").into())
    }

    fn make_mark(&self, thread: &ThreadId, call: &CallPath) -> CallMark {
        let [a, b, c, d, ..] =
            Digest::hash_bytes(format!("{} {}", thread.as_str(), call.as_str()).as_bytes()).0;
        CallMark([a, b, c, d])
    }
}

impl Carrier for SimulatedPorts {
    fn send_delivery(&self, delivery: Delivery) {
        self.send(Sent::Handed(delivery));
    }

    fn call_back(&self, token: &LeaseToken, why: CallBack) {
        self.send(Sent::CalledBack(token.clone(), why));
    }

    fn send_answer(&self, _: &Name, answer: PumpAnswer) {
        self.send(Sent::Answered(answer));
    }

    fn expect_reply(&self, lease: &Lease) {
        self.send(Sent::Expected(lease.listener.clone(), lease.token.clone()));
    }

    fn let_go(&self, listener: &Name, token: &LeaseToken) {
        self.send(Sent::LetGo(listener.clone(), token.clone()));
    }
}

impl WaitingSenders for SimulatedPorts {
    fn send_receipt(&self, ticket: Ticket, receipt: Receipt, position: Option<Position>) {
        self.send(Sent::Receipt(ticket, receipt, position));
    }

    fn send_refusal(&self, ticket: Ticket, refusal: Refusal) {
        self.send(Sent::Refused(ticket, refusal));
    }

    fn finish_sender(&self, ticket: Ticket) {
        self.send(Sent::Done(ticket));
    }
}

impl StepObserver for SimulatedPorts {
    fn note_step(&self, _: PumpStep) {
        if self.steps_left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.dead.store(true, Ordering::Relaxed);
        }
    }
}
