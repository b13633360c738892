//! The core payloads about a listener's view of its call, and what the fold reads back out of them. Every
//! one is written through the kit's writer and is valid under `core.xsd`.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use systole_wire::gate::{Gate, Step};
use systole_wire::{Limits, namespaces};

use super::core_payload::{attributes, written};
use crate::types::codes::Code;
use crate::types::ids::{Digest, Name};
use crate::types::refusal::Refusal;

/// What a `<clear-context>` cleared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cleared {
    /// Messages that are still shown.
    pub kept: u64,
    /// The first message that was cleared and the last; 0 and 0 for none. The request of the call is none
    /// of them, though its number may lie between.
    pub range: (u64, u64),
    /// Of what was cleared.
    pub digest: Digest,
}

/// `<context-cleared>`: those messages are shown no more.
pub fn view_cleared(cleared: &Cleared) -> Arc<[u8]> {
    written("context-cleared", |start| {
        start
            .number("kept_messages", cleared.kept)
            .number("from_seq", cleared.range.0)
            .number("to_seq", cleared.range.1)
            .attr("digest", &cleared.digest.to_string())
            .empty();
    })
}

/// The first and the last message that a `<context-cleared>` says were cleared; 0 and 0 for none.
pub fn cleared_range(body: &[u8]) -> Option<(u64, u64)> {
    range(body, "context-cleared")
}

/// The first and the last of the messages that a `<recalled>` shows, or shows a part of.
pub fn recalled_range(body: &[u8]) -> Option<(u64, u64)> {
    range(body, "recalled")
}

fn range(body: &[u8], name: &str) -> Option<(u64, u64)> {
    let [from, to] = attributes(body, name, ["from_seq", "to_seq"])?;
    Some((from?.parse().ok()?, to?.parse().ok()?))
}

/// The digest of records: SHA-256 over 0x06 and their leaves, in the order in which they are given.
pub fn digest(leaves: impl IntoIterator<Item = Digest>) -> Digest {
    let hash =
        leaves.into_iter().fold(Sha256::new().chain_update([0x06]), |hash, leaf| hash.chain_update(leaf.0));
    Digest(hash.finalize().into())
}

/// A part of the text of some messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Which messages, by their numbers.
    pub range: (u64, u64),
    /// Characters of all of them.
    pub total: u64,
    /// Characters before this part.
    pub offset: u64,
    /// Characters before the next part; none where this is the last.
    pub next: Option<u64>,
    /// What is shown, of each message its number, its sender and the part of its text.
    pub messages: Vec<(u64, Name, String)>,
}

/// `<recalled>`: a part of messages as escaped text, which means nothing to whoever parses it but text.
pub fn recalled(part: &Part) -> Arc<[u8]> {
    let next = part.next.map(|next| next.to_string());
    written("recalled", |start| {
        let start = start.number("from_seq", part.range.0).number("to_seq", part.range.1);
        let start = start.number("total", part.total).number("offset", part.offset);
        start.attr_if("next", next.as_deref()).content(|inside| {
            for (number, from, text) in &part.messages {
                inside.open("message").number("seq", *number).attr("from", from.as_str()).text(text);
            }
        });
    })
}

/// The hash that a `<system-error>` names as that of the refused bytes, alone or as the end of a child.
pub fn refused_bytes(body: &[u8]) -> Option<Digest> {
    let mut gate = Gate::strict(body, &Limits::FROM_PUMP).ok()?;
    let mut tag = core_tag(&mut gate)?;
    if tag == "thread-finished" {
        tag = core_tag(&mut gate)?;
    }
    let hash = gate.attribute("hash").filter(|_| tag == "system-error")?;
    Digest::parse(&hash).ok()
}

/// The name of the element that opens next, if it is one of the core.
fn core_tag<'d>(gate: &mut Gate<'d>) -> Option<&'d str> {
    match gate.step() {
        Ok(Step::Open(tag)) if gate.ns(&tag) == Some(namespaces::CORE) => Some(tag.local),
        _ => None,
    }
}

/// Why a document is not shown, whatever was wrong with what was asked for.
pub fn no_such_blob() -> Refusal {
    Refusal::new(Code::Invalid, "no document of this hash is named in your view")
        .of_element("blob")
        .expecting("a hash that a refusal in your view names")
}

/// Why nothing of some bytes is shown.
pub fn past_the_end(from: u64, bytes: usize) -> Refusal {
    let (from, bytes) = (from.to_string(), bytes.to_string());
    Refusal::new(Code::Invalid, format!("from: {from} is past the end of these {bytes} bytes"))
}
