//! The core payloads about approvals and pauses, and the functions that read them. Like all core
//! payloads, they are written through the kit's writer and are valid under `core.xsd`.

use std::sync::Arc;

use super::core_payload::{read_attributes, write_element};
use crate::types::ids::{CallPath, Digest, Name, ThreadId};
use crate::types::person::{ApprovalOutcome, ApprovalRequest, PersonRequestId};
use crate::types::time::Millis;

/// `<approval-requested>`: a payload waits for a person.
pub fn write_request(request: &ApprovalRequest) -> Arc<[u8]> {
    write_element("approval-requested", |requested| {
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
pub fn write_decision(
    id: PersonRequestId,
    outcome: ApprovalOutcome,
    by: &Name,
    hash: Option<Digest>,
    note: Option<&str>,
) -> Arc<[u8]> {
    let hash = hash.map(|hash| hash.to_string());
    write_element("approval-decided", |decided| {
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
pub fn write_pause(by: &Name, note: Option<&str>) -> Arc<[u8]> {
    write_element("paused", |paused| paused.attr("by", by.as_str()).attr_if("note", note).empty())
}

/// `<resumed>`: deliveries go out again.
pub fn write_resume(by: &Name) -> Arc<[u8]> {
    write_element("resumed", |resumed| resumed.attr("by", by.as_str()).empty())
}

/// The id, hash and expiry of an `<approval-requested>`.
pub fn read_requested(body: &[u8]) -> Option<(PersonRequestId, Digest, Millis)> {
    let [id, hash, expires] = read_attributes(body, "approval-requested", ["id", "hash", "expires"])?;
    Some((PersonRequestId::parse(&id?)?, Digest::parse(&hash?).ok()?, Millis::parse(&expires?)?))
}

/// Reads a whole `<approval-requested>`.
pub fn read_request(body: &[u8]) -> Option<ApprovalRequest> {
    let (id, hash, expires) = read_requested(body)?;
    let [thread, call, to, element, unknown] =
        read_attributes(body, "approval-requested", ["thread", "call", "to", "element", "unknown"])?;
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
pub fn read_element(body: &[u8]) -> Option<String> {
    let [element] = read_attributes(body, "approval-requested", ["element"])?;
    element
}

/// The part of an earlier attempt that an `<approval-requested>` calls unknown. `None` if nothing of the
/// call went out before.
pub fn read_unknown(body: &[u8]) -> Option<String> {
    let [unknown] = read_attributes(body, "approval-requested", ["unknown"])?;
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
        read_attributes(body, "approval-decided", ["id", "outcome", "by", "hash", "note"])?;
    Some(ApprovalDecided { id: PersonRequestId::parse(&id?)?, outcome: outcome?, by: by?, hash, note })
}

/// Who paused or resumed a thread, or had it tried again, and why.
pub fn read_steering(body: &[u8]) -> Option<(String, Option<String>)> {
    let read = |element| read_attributes(body, element, ["by", "note"]);
    let [by, note] = ["paused", "resumed", "reopened"].into_iter().find_map(read)?;
    Some((by?, note))
}
