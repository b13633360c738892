//! Calls that wait for someone who is away, in the ledger.

use super::{CheckLedger, LedgerStep};
use crate::tag::BodyTag;

/// What an attempt waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LedgerOutage {
    /// Who is away, in one word.
    pub(crate) outage: String,
    /// Whether its delivery is with the broker, so that it may be answered all the same.
    pub(crate) is_sent: bool,
}

impl LedgerOutage {
    /// The wait that a record begins, or the one that it ends.
    pub(crate) fn from_tag(tag: &BodyTag<'_>) -> Option<LedgerOutage> {
        let outage = tag.find_attribute("outage")?.to_owned();
        let is_sent = tag.find_attribute("code").is_none() && is_with_broker(&outage);
        Some(LedgerOutage { outage, is_sent })
    }
}

impl LedgerOutage {
    /// Whether it goes on only once no one is away, and not to look.
    fn ends_with_its_outage(&self) -> bool {
        self.outage == "listener" || self.is_in_queue() || is_with_broker(&self.outage)
    }

    /// Whether it waits behind others of its listener, and after that for a slot alone.
    pub(crate) fn is_in_queue(&self) -> bool {
        matches!(&*self.outage, "worker-queue" | "broker-queue")
    }
}

fn is_with_broker(outage: &str) -> bool {
    matches!(outage, "worker" | "broker")
}

impl CheckLedger {
    /// Takes what happens to an attempt. A wait with the code of a failure numbers the next attempt.
    pub(super) fn take_mark(&mut self, step: &LedgerStep<'_>, call: &str) {
        let Some(tag) = step.core_named("attempt") else { return };
        let (thread, time_ms) = (&step.record.thread, step.record.time_ms);
        let next = tag.read_number("number").filter(|_| tag.find_attribute("code").is_some());
        let wait = LedgerOutage::from_tag(tag);
        let is_over = tag.find_attribute("over").is_some();
        self.with_call(thread, call, |call| match wait {
            None => call.waits_no_more(),
            // A model or a program may still be away: the attempt only looks.
            Some(wait) if is_over => {
                call.waits = None;
                call.away_since_ms.take_if(|_| wait.ends_with_its_outage());
            }
            wait => {
                call.waits = wait;
                call.away_since_ms.get_or_insert(time_ms);
            }
        });
        if next.is_some() {
            self.with_call(thread, call, |call| {
                call.attempts = next;
                call.journal.clear();
                call.away += 1;
            });
            self.note_move(thread, call);
        }
    }
}
