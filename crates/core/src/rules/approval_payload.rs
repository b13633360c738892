//! The payloads of the core about approvals and pauses, and what is read back out of them. Like all of
//! the core's they are written through the kit's writer and are valid under `core.xsd`.

use std::sync::Arc;

use super::core_payload::{attributes, written};
use crate::types::ids::{CallPath, Digest, Name, ThreadId};
use crate::types::person::{ApprovalRequest, Decided, PersonRequestId};
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

/// `<approval-decided>`: how it ended, and by whose word; `hash` is that of the payload that goes out.
pub fn decided(
    id: PersonRequestId,
    outcome: Decided,
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

/// `<paused>`: nothing new of a thread goes out, or of any.
pub fn paused(by: &Name, note: Option<&str>) -> Arc<[u8]> {
    written("paused", |paused| paused.attr("by", by.as_str()).attr_if("note", note).empty())
}

/// `<resumed>`: it goes on.
pub fn resumed(by: &Name) -> Arc<[u8]> {
    written("resumed", |resumed| resumed.attr("by", by.as_str()).empty())
}

/// What an `<approval-requested>` says: which, of which bytes, and until when.
pub fn read_requested(body: &[u8]) -> Option<(PersonRequestId, Digest, Millis)> {
    let [id, hash, expires] = attributes(body, "approval-requested", ["id", "hash", "expires"])?;
    Some((PersonRequestId::parse(&id?)?, Digest::parse(&hash?).ok()?, Millis::parse(&expires?)?))
}

/// The whole of an `<approval-requested>`.
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

/// What an `<approval-requested>` says is unknown of an attempt; none where nothing of the call was out.
pub fn unknown(body: &[u8]) -> Option<String> {
    let [unknown] = attributes(body, "approval-requested", ["unknown"])?;
    unknown
}

/// What an `<approval-decided>` says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// About which request.
    pub id: PersonRequestId,
    /// How it ended.
    pub outcome: String,
    /// By whose word.
    pub by: String,
    /// What for.
    pub note: Option<String>,
}

/// Reads an `<approval-decided>`.
pub fn read_decided(body: &[u8]) -> Option<Said> {
    let [id, outcome, by, note] = attributes(body, "approval-decided", ["id", "outcome", "by", "note"])?;
    Some(Said { id: PersonRequestId::parse(&id?)?, outcome: outcome?, by: by?, note })
}

/// Who paused or resumed, and why.
pub fn read_steering(body: &[u8]) -> Option<(String, Option<String>)> {
    let [by, note] =
        attributes(body, "paused", ["by", "note"]).or_else(|| attributes(body, "resumed", ["by", "note"]))?;
    Some((by?, note))
}
