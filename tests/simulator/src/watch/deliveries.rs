//! Checks deliveries: they are recorded before they go out, stay within their listener's slots, are equal
//! over their attempts, belong to one conversation, and are never silently repeated where that is
//! forbidden.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use systole_core::pump::state::Thread;
use systole_core::types::composition::{Listener, OnUnknown};
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{Delivery, Lease, LeaseToken};

use crate::cast;

/// A turn of a call.
type Turn = (ThreadId, CallPath, u32);

/// The way of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// To a listener that dies with the pump.
    Here,
    /// To the broker, which may have had it before.
    Elsewhere,
    /// It is in the stream since an earlier life.
    TakenUp,
}

/// The number of an attempt, and whether it went to a listener that dies with the pump.
type Lent = (u32, bool);

/// The deliveries so far.
#[derive(Default)]
pub(crate) struct Deliveries {
    /// The content of each turn.
    shown: HashMap<Turn, Digest>,
    /// The token of each call.
    tokens: HashMap<(ThreadId, CallPath), String>,
    /// Turns whose last attempt went to a listener with attempts that may not be repeated: the attempt, and
    /// whether it failed openly.
    careful: HashMap<Turn, (Lent, bool)>,
    /// Deliveries that are out in this life, by listener.
    out: BTreeMap<Name, BTreeSet<LeaseToken>>,
    /// Attempts that go on after a wait, by the log.
    promised: HashSet<LeaseToken>,
    /// Every delivery of every life: a number belongs to one hand-out.
    handed: HashSet<LeaseToken>,
}

fn turn_of(lease: &Lease) -> Turn {
    (lease.id.thread.clone(), lease.id.call.clone(), lease.id.turn)
}

impl Deliveries {
    /// Nothing of the earlier life is out.
    pub(crate) fn new_life(&mut self) {
        self.out.clear();
    }

    /// The slot of a delivery is free again.
    pub(crate) fn over(&mut self, token: &LeaseToken) {
        let _was_out = self.out.values_mut().any(|out| out.remove(token));
    }

    /// The log says that an attempt goes on after a wait.
    pub(crate) fn promises(&mut self, token: LeaseToken) {
        self.promised.insert(token);
    }

    pub(crate) fn is_promised(&self, token: &LeaseToken) -> bool {
        self.promised.contains(token)
    }

    /// The pump learned that an attempt failed: its outcome is known.
    pub(crate) fn failed_openly(&mut self, lease: &Lease) {
        if let Some(known) = self.careful.get_mut(&turn_of(lease)) {
            known.1 = true;
        }
    }

    /// A delivery goes out, while the disk has this state of its thread. `seated` is its listener as the
    /// pump has it now, `pinned` as it was when the call began. `way` says whether workers elsewhere get it.
    pub(crate) fn goes_out(
        &mut self,
        delivery: &Delivery,
        on_disk: Option<&Thread>,
        (seated, pinned): (Option<&Listener>, Option<&Listener>),
        way: Way,
    ) -> Vec<(&'static str, String)> {
        let lease = &delivery.lease;
        let token = &lease.token.0;
        let mut wrong = Vec::new();
        let call = on_disk.and_then(|thread| thread.calls.get(&lease.id.call));
        if !call.is_some_and(|call| call.is_due(lease.id.turn, lease.id.attempt)) {
            wrong.push(("recorded", format!("{token} goes out, and on disk it is not due")));
        }
        if call.and_then(|call| call.waits.as_ref()).is_some_and(|wait| !wait.is_sent) {
            wrong.push(("waits", format!("{token} goes out, and on disk it waits")));
        }
        // The broker knows what it had.
        if !self.handed.insert(lease.token.clone()) && way == Way::Here {
            wrong.push(("once-out", format!("{token} goes out twice under one number")));
        }
        let out = self.out.entry(lease.listener.clone()).or_default();
        out.insert(lease.token.clone());
        let (out, slots) = (out.len(), seated.map_or(0, |l| l.in_flight));
        // What is out already keeps its slot, even if the listener has fewer now.
        if out > slots && way != Way::TakenUp {
            wrong.push((
                "slots",
                format!("{out} deliveries are out to {}, which has {slots}", lease.listener),
            ));
        }
        let shown = delivery.envelope().ok();
        if shown.is_none() {
            wrong.push(("shown", format!("{token} shows a record that holds no payload")));
        }
        let body = shown.as_ref().map_or(&[][..], |shown| shown.payload.bytes());
        let digest = Digest::hash_bytes(body);
        if *self.shown.entry(turn_of(lease)).or_insert(digest) != digest {
            wrong.push(("shown", format!("{token} shows other bytes than an attempt before it")));
        }
        wrong.extend(self.one_conversation(lease, body));
        let lent = (lease.id.attempt, way == Way::Here);
        // A client let the call go on although its effects may happen again.
        let is_reopened = call.is_some_and(|call| call.before_retry.checked_add(1) == Some(lease.id.attempt));
        if pinned.is_some_and(|l| l.on_unknown == OnUnknown::Fail)
            && let Some((before, false)) = self.careful.insert(turn_of(lease), (lent, false))
            && (before != lent || way == Way::Here)
            && !is_reopened
        {
            wrong.push(("repeated", format!("{token} repeats an attempt with an unknown outcome")));
        }
        wrong
    }

    fn one_conversation(&mut self, lease: &Lease, body: &[u8]) -> Option<(&'static str, String)> {
        let place = (lease.id.thread.clone(), lease.id.call.clone());
        for token in cast::tokens(body) {
            let own = self.tokens.entry(place.clone()).or_insert_with(|| token.to_owned());
            if own != token {
                let words = format!("{} is about {own}, and shows {token}", lease.token.0);
                return Some(("conversation", words));
            }
        }
        // Recalled text may belong to an earlier call of the same thread.
        let is_known = |token: &str| {
            self.tokens.iter().any(|((thread, _), own)| *thread == lease.id.thread && own == token)
        };
        let strange = cast::recalled_tokens(body).find(|token| !is_known(token))?;
        Some(("conversation", format!("{} recalls {strange}, which is of another thread", lease.token.0)))
    }
}
