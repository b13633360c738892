//! The core payloads about approvals and pauses, and the functions that read them. Like all core
//! payloads, they are written through the kit's writer and are valid under `core.xsd`.

use std::sync::Arc;

use super::core_payload::{attributes, written};
use crate::types::ids::{CallPath, Digest, Name, ThreadId};
use crate::types::person::{ApprovalOutcome, ApprovalRequest, PersonRequestId};
use crate::types::time::Millis;

/// `<approval-requested>`: a payload waits for a person.
pub fn requested(request: &ApprovalRequest) -> Arc<[u8]> {
    written("approval-requested", |requested| {
        requested
            .attr("id", &request.id.to_string())
            .attr("hash", &request.hash.to_string())
            .attr("expires", &request.expires.to_string())
            .attr("thread", request.thread.as_str())
            .attr("call", request.call.as_str())
            .attr("to", request.to.as_str())
            .attr("element", &request.element)
            .attr_if("unknown", request.unknown.as_deref())
            .empty();
    })
}

/// `<approval-decided>`: the outcome, and who decided. `hash` is the hash of the payload that goes out.
pub fn decided(
    id: PersonRequestId,
    outcome: ApprovalOutcome,
    by: &Name,
    hash: Option<Digest>,
    note: Option<&str>,
) -> Arc<[u8]> {
    let hash = hash.map(|hash| hash.to_string());
    written("approval-decided", |decided| {
        decided
            .attr("id", &id.to_string())
            .attr("outcome", outcome.as_str())
            .attr("by", by.as_str())
            .attr_if("hash", hash.as_deref())
            .attr_if("note", note)
            .empty();
    })
}

/// `<paused>`: no new deliveries go out for this thread, or for all threads.
pub fn paused(by: &Name, note: Option<&str>) -> Arc<[u8]> {
    written("paused", |paused| paused.attr("by", by.as_str()).attr_if("note", note).empty())
}

/// `<resumed>`: deliveries go out again.
pub fn resumed(by: &Name) -> Arc<[u8]> {
    written("resumed", |resumed| resumed.attr("by", by.as_str()).empty())
}

/// The id, hash and expiry of an `<approval-requested>`.
pub fn read_requested(body: &[u8]) -> Option<(PersonRequestId, Digest, Millis)> {
    let [id, hash, expires] = attributes(body, "approval-requested", ["id", "hash", "expires"])?;
    Some((PersonRequestId::parse(&id?)?, Digest::parse(&hash?).ok()?, Millis::parse(&expires?)?))
}

/// Reads a whole `<approval-requested>`.
pub fn read_request(body: &[u8]) -> Option<ApprovalRequest> {
    let (id, hash, expires) = read_requested(body)?;
    let [thread, call, to, element, unknown] =
        attributes(body, "approval-requested", ["thread", "call", "to", "element", "unknown"])?;
    Some(ApprovalRequest {
        id,
        hash,
        expires,
        thread: ThreadId::parse(&thread?).ok()?,
        call: CallPath::parse(&call?).ok()?,
        to: Name::parse(&to?).ok()?,
        element: element?,
        unknown,
    })
}

/// The element of the payload that an `<approval-requested>` is about.
pub fn element(body: &[u8]) -> Option<String> {
    let [element] = attributes(body, "approval-requested", ["element"])?;
    element
}

/// The part of an earlier attempt that an `<approval-requested>` calls unknown. `None` if nothing of the
/// call went out before.
pub fn unknown(body: &[u8]) -> Option<String> {
    let [unknown] = attributes(body, "approval-requested", ["unknown"])?;
    unknown
}

/// The content of an `<approval-decided>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApprovalDecided {
    /// The request.
    pub id: PersonRequestId,
    /// The outcome.
    pub outcome: String,
    /// Who decided.
    pub by: String,
    /// The hash of the payload that goes out, if one does.
    pub hash: Option<String>,
    /// The reason.
    pub note: Option<String>,
}

/// Reads an `<approval-decided>`.
pub fn read_decided(body: &[u8]) -> Option<ApprovalDecided> {
    let [id, outcome, by, hash, note] =
        attributes(body, "approval-decided", ["id", "outcome", "by", "hash", "note"])?;
    Some(ApprovalDecided { id: PersonRequestId::parse(&id?)?, outcome: outcome?, by: by?, hash, note })
}

/// Who paused or resumed, and why.
pub fn read_steering(body: &[u8]) -> Option<(String, Option<String>)> {
    let [by, note] =
        attributes(body, "paused", ["by", "note"]).or_else(|| attributes(body, "resumed", ["by", "note"]))?;
    Some((by?, note))
}
