//! Recording a request to a person, of either kind: its number, its record, the news for its listeners and its expiry.

use std::sync::Arc;

use super::decision_builder::{DecisionBuilder, Fact};
use super::event::Effect;
use crate::types::composition::ApprovalRule;
use crate::types::flow::Refused;
use crate::types::ids::{CallPath, Digest, MessageId, Name, ThreadId};
use crate::types::person::PersonRequestId;
use crate::types::record::{ApprovalEffect, MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// A request that is about to be recorded.
pub(super) struct Asking<'a> {
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
    PersonRequestId(made(d) + 1)
}

/// How many requests there were in this log.
pub(super) fn made(d: &DecisionBuilder<'_>) -> u64 {
    d.thread(&ThreadId::sys()).map_or(0, |sys| sys.person_requests)
}

/// Records a request, counts it in `sys`, sends the news to its listeners, and waits for its expiry.
pub(super) fn request(d: &mut DecisionBuilder<'_>, id: PersonRequestId, asking: Asking<'_>) {
    let Asking { thread, call, place, what, config, cause, rule, expires_ms, is_first, body } = asking;
    let fact = || {
        Fact::core(RecordKind::Approval, RecordCode::Approving(what), body.clone())
            .to(&Name::person())
            .under(config)
    };
    let (seq, asked) = d.record(thread, fact().on(place).because(cause));
    d.record(&ThreadId::sys(), fact().because(asked));
    let first = if is_first { 0 } else { u32::try_from(seq).unwrap_or(u32::MAX) };
    for (ordinal, listener) in (first..).zip(&rule.tell) {
        // Turn 0 has no items, so the outcome of this call answers no one.
        let tell = Fact::core(RecordKind::Message, RecordCode::Role(MessageRole::Tell), body.clone())
            .to(listener)
            .on(&call.item(0, ordinal))
            .because(asked)
            .under(config);
        d.record(thread, tell);
    }
    let (thread, place, at) = (thread.clone(), place.clone(), d.at().plus(expires_ms));
    d.effect(Effect::Expires { thread, place, request: id, at, most_ms: expires_ms });
}

pub(super) fn bare(refusal: Refusal) -> Refused {
    Refused { refusal, kept: None }
}
