//! The core payloads about a listener's view of its call, and the functions with which the fold reads
//! them. All are written through the kit's writer and are valid under `core.xsd`.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use systole_wire::gate::{GateStep, XmlGate};
use systole_wire::{DocumentLimits, namespaces};

use super::core_payload::{read_attributes, write_element};
use crate::types::codes::Code;
use crate::types::ids::{Digest, Name};
use crate::types::refusal::Refusal;

/// The effect of a `<clear-context>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClearedView {
    /// Messages that are still shown.
    pub kept: u64,
    /// The first and the last cleared message; 0 and 0 if none was cleared. The request of the call is
    /// never cleared, though its number may be in between.
    pub range: (u64, u64),
    /// The digest of the cleared messages.
    pub digest: Digest,
}

/// `<context-cleared>`: these messages are no longer shown.
pub fn view_cleared(cleared: &ClearedView) -> Arc<[u8]> {
    write_element("context-cleared", |start| {
        start
            .number("kept_messages", cleared.kept)
            .number("from_seq", cleared.range.0)
            .number("to_seq", cleared.range.1)
            .attr("digest", &cleared.digest.to_string())
            .empty();
    })
}

/// The first and the last message that a `<context-cleared>` names as cleared; 0 and 0 for none.
pub fn cleared_range(body: &[u8]) -> Option<(u64, u64)> {
    read_range(body, "context-cleared")
}

/// The first and the last message that a `<recalled>` shows, in whole or in part.
pub fn recalled_range(body: &[u8]) -> Option<(u64, u64)> {
    read_range(body, "recalled")
}

fn read_range(body: &[u8], name: &str) -> Option<(u64, u64)> {
    let [from, to] = read_attributes(body, name, ["from_seq", "to_seq"])?;
    Some((from?.parse().ok()?, to?.parse().ok()?))
}

/// The digest of records: SHA-256 over 0x06 and their leaves, in the given order.
pub fn hash_leaves(leaves: impl IntoIterator<Item = Digest>) -> Digest {
    let hash =
        leaves.into_iter().fold(Sha256::new().chain_update([0x06]), |hash, leaf| hash.chain_update(leaf.0));
    Digest(hash.finalize().into())
}

/// A part of the text of some messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecallPart {
    /// The numbers of the first and the last message.
    pub range: (u64, u64),
    /// Characters of all these messages together.
    pub total: u64,
    /// Characters before this part.
    pub offset: u64,
    /// Characters before the next part. `None` if this is the last part.
    pub next: Option<u64>,
    /// The shown messages: number, sender, and the part of the text.
    pub messages: Vec<(u64, Name, String)>,
}

/// `<recalled>`: parts of messages as escaped text, which a parser sees only as text.
pub fn write_recalled(part: &RecallPart) -> Arc<[u8]> {
    let next = part.next.map(|next| next.to_string());
    write_element("recalled", |start| {
        let start = start.number("from_seq", part.range.0).number("to_seq", part.range.1);
        let start = start.number("total", part.total).number("offset", part.offset);
        start.attr_if("next", next.as_deref()).content(|inside| {
            for (number, from, text) in &part.messages {
                inside.open("message").number("seq", *number).attr("from", from.as_str()).text(text);
            }
        });
    })
}

/// The hash of the refused bytes that a `<system-error>` names, alone or as the end of a child.
pub fn refused_bytes(body: &[u8]) -> Option<Digest> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let mut tag = core_tag(&mut gate)?;
    if tag == "thread-finished" {
        tag = core_tag(&mut gate)?;
    }
    let hash = gate.find_attribute("hash").filter(|_| tag == "system-error")?;
    Digest::parse(&hash).ok()
}

/// The name of the next opening element, if it belongs to the core.
fn core_tag<'d>(gate: &mut XmlGate<'d>) -> Option<&'d str> {
    match gate.read_step() {
        Ok(GateStep::Open(tag)) if gate.find_namespace(&tag) == Some(namespaces::CORE) => Some(tag.local),
        _ => None,
    }
}

/// The refusal for a document that is not shown. The text is the same for every reason.
pub fn no_such_blob() -> Refusal {
    Refusal::new(Code::Invalid, "no document of this hash is named in your view")
        .of_element("blob")
        .with_expected("a hash that a refusal or a file in your view names")
}

/// The refusal for a position past the end of the bytes.
pub fn past_the_end(from: u64, bytes: usize) -> Refusal {
    let (from, bytes) = (from.to_string(), bytes.to_string());
    Refusal::new(Code::Invalid, format!("from: {from} is past the end of these {bytes} bytes"))
}
