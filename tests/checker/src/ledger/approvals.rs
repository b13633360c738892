//! Requests to a person in the ledger: approvals, with their bytes and their outcome; and questions.

use super::{CheckLedger, LedgerStep};
use crate::record::RecordHash;

/// A request for approval of a call's payload.
#[derive(Debug)]
pub(crate) struct LedgerApproval {
    pub(crate) id: String,
    /// When it expires, as written in the record.
    pub(crate) expires: String,
    /// A person's replacement for the waiting bytes.
    pub(crate) amendment: Option<RecordHash>,
    /// Its outcome.
    pub(crate) outcome: Option<String>,
    /// Whether it is about one more attempt at a turn that was already out.
    pub(crate) of_attempt: bool,
}

/// An item's question to a person.
#[derive(Debug)]
pub(crate) struct LedgerQuestion {
    pub(crate) id: String,
    /// When it expires, as written in the record.
    pub(crate) expires: String,
    /// The possible answers, as written in the record.
    pub(crate) choices: Vec<String>,
}

impl LedgerApproval {
    /// Whether it lets the call move.
    pub(crate) fn lets_go(&self) -> bool {
        matches!(self.outcome.as_deref(), Some("approved" | "amended"))
    }
}

impl CheckLedger {
    /// The position of an earlier request with the same id.
    pub(crate) fn first_approval(&self, id: &str) -> Option<u64> {
        self.firsts.get(&["approval", id])
    }

    pub(super) fn note_request(&mut self, step: &LedgerStep<'_>, call: &str) {
        let Some(tag) = step.core_named("approval-requested") else { return };
        let text = |name| tag.find_attribute(name).unwrap_or_default().to_owned();
        let (id, expires) = (text("id"), text("expires"));
        self.firsts.put(&["approval", &id], step.record.position);
        let of_attempt = tag.find_attribute("unknown").is_some();
        self.with_call(&step.record.thread, call, |call| {
            // For one call, several attempts may be asked about, one after another.
            if of_attempt {
                call.approval = None;
            }
            let (amendment, outcome) = (None, None);
            call.approval.get_or_insert(LedgerApproval { id, expires, amendment, outcome, of_attempt });
        });
    }

    pub(super) fn note_question(&mut self, step: &LedgerStep<'_>, caller: &str, turn: u32, ordinal: u32) {
        let Some(tag) = step.core_named("person-asked") else { return };
        let text = |name| tag.find_attribute(name).unwrap_or_default().to_owned();
        let (id, expires) = (text("id"), text("expires"));
        self.firsts.put(&["approval", &id], step.record.position);
        let pieces = tag.inside.split("<choice>").skip(1);
        let choices =
            pieces.filter_map(|piece| piece.split_once("</choice>")).map(|(choice, _)| choice.to_owned());
        let question = LedgerQuestion { id, expires, choices: choices.collect() };
        self.with_call(&step.record.thread, caller, |call| {
            if let Some(item) = call.item_mut(turn, ordinal) {
                item.question.get_or_insert(question);
            }
        });
    }

    pub(super) fn note_amendment(&mut self, step: &LedgerStep<'_>, call: &str) {
        self.with_call(&step.record.thread, call, |call| {
            if let Some(approval) = &mut call.approval {
                approval.amendment = Some(RecordHash::hash_bytes(&step.record.body));
            }
        });
    }

    pub(super) fn note_decision(&mut self, step: &LedgerStep<'_>, call: &str) {
        self.with_call(&step.record.thread, call, |call| {
            if let Some(approval) = &mut call.approval {
                approval.outcome = approval.outcome.take().or_else(|| step.record.code.clone());
            }
        });
    }
}
