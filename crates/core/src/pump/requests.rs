//! Recording a request to a person, of either kind: its number, its record, the news for its listeners and its expiry.

use std::sync::Arc;

use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::Effect;
use crate::types::composition::ApprovalRule;
use crate::types::flow::Refused;
use crate::types::ids::{CallPath, Digest, MessageId, Name, ThreadId};
use crate::types::person::PersonRequestId;
use crate::types::record::{ApprovalEffect, MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// A request that is about to be recorded.
pub(super) struct PersonAsking<'a> {
    pub(super) thread: &'a ThreadId,
    /// The call that waits.
    pub(super) call: &'a CallPath,
    /// The place of the request: that call, or its item that asks.
    pub(super) place: &'a CallPath,
    pub(super) what: ApprovalEffect,
    pub(super) config: Digest,
    pub(super) cause: MessageId,
    /// Says which listeners get the news.
    pub(super) rule: &'a ApprovalRule,
    /// How long it waits.
    pub(super) expires_ms: u64,
    /// Whether this is the first news below that call. For later requests of the same call, the seq of the record
    /// that asks tells them apart.
    pub(super) is_first: bool,
    /// The payload that asks, with the id of the request.
    pub(super) body: Arc<[u8]>,
}

/// The id of the next request.
pub(super) fn next_id(d: &DecisionBuilder<'_>) -> PersonRequestId {
    PersonRequestId(count_made(d) + 1)
}

/// How many requests there were in this log.
pub(super) fn count_made(d: &DecisionBuilder<'_>) -> u64 {
    d.find_thread(&ThreadId::new_sys()).map_or(0, |sys| sys.person_requests)
}

/// Records a request, counts it in `sys`, sends the news to its listeners, and waits for its expiry.
pub(super) fn open_request(d: &mut DecisionBuilder<'_>, id: PersonRequestId, asking: PersonAsking<'_>) {
    let PersonAsking { thread, call, place, what, config, cause, rule, expires_ms, is_first, body } = asking;
    let fact = || {
        RecordFact::from_core(RecordKind::Approval, RecordCode::Approving(what), body.clone())
            .with_addressee(&Name::new_person())
            .with_config(config)
    };
    let (seq, asked) = d.add_record(thread, fact().with_call(place).with_cause(cause));
    d.add_record(&ThreadId::new_sys(), fact().with_cause(asked));
    let first = if is_first { 0 } else { u32::try_from(seq).unwrap_or(u32::MAX) };
    for (ordinal, listener) in (first..).zip(&rule.tell) {
        // Turn 0 has no items, so the outcome of this call answers no one.
        let tell =
            RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Tell), body.clone())
                .with_addressee(listener)
                .with_call(&call.append_item(0, ordinal))
                .with_cause(asked)
                .with_config(config);
        d.add_record(thread, tell);
    }
    let (thread, place, at) = (thread.clone(), place.clone(), d.at().add_ms(expires_ms));
    d.add_effect(Effect::Expires { thread, place, request: id, at, most_ms: expires_ms });
}

pub(super) fn to_refused(refusal: Refusal) -> Refused {
    Refused { refusal, kept: None }
}
