//! The documents of a listener that are answered one by one: journal entries and questions.
//!
//! A fault in a document leaves its number readable, because the sender waits for the answer. A gate that has just
//! opened such a document comes in; the word goes out.

use super::super::required_attributes::require_attribute;
use super::ListenerDocument;
use crate::ask::PumpQuestion;
use crate::codes;
use crate::gate::{XmlGate, XmlTag};
use crate::journal::JournalEntry;
use crate::place::Fault;

/// Reads a `<journal>` or an `<ask>` to its end.
pub(super) fn read_answered<'d>(
    gate: &mut XmlGate<'d>,
    tag: &XmlTag<'d>,
    delivery: String,
) -> Result<ListenerDocument, Fault> {
    let id = read_number(gate, tag)?;
    if tag.local == "ask" {
        // A text to store may be a prompt that holds several messages.
        let most = gate.limits().reply_bytes;
        let question = read_whole(gate, most, |gate| PumpQuestion::from_tag(gate, tag))?;
        return Ok(ListenerDocument::Ask { delivery, id, question });
    }
    let most = gate.limits().message_bytes;
    let entry = read_whole(gate, most, |gate| JournalEntry::from_tag(gate, tag))?;
    Ok(ListenerDocument::Journal { delivery, id, entry })
}

/// The content of the document, or the fault that affects it alone. Either way the document is read to its end.
fn read_whole<'d, T>(
    gate: &mut XmlGate<'d>,
    most: usize,
    read: impl FnOnce(&mut XmlGate<'d>) -> Result<T, Fault>,
) -> Result<Result<T, Fault>, Fault> {
    let (start, depth) = (gate.offset(), gate.depth());
    let found = read(gate);
    if gate.is_broken() {
        return found.map(Ok);
    }
    gate.skip_out_of(depth)?;
    let length = gate.end().saturating_sub(start);
    let noted = gate.take_fault();
    if length > most {
        let message = format!("the document has {length} bytes, the limit is {most}");
        let fault = gate.make_fault(codes::TOO_LARGE, message, start);
        return Ok(Err(fault.with_expected(format!("at most {most} bytes")).with_fix(crate::gate::SHORTER)));
    }
    Ok(match noted {
        Some(fault) => Err(fault),
        None => found,
    })
}

/// The number that the answer will carry.
pub(super) fn read_number<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<u64, Fault> {
    let value = require_attribute(gate, tag, "id")?;
    value.parse().map_err(|_| {
        let message = format!("attribute id of <{}> is not a whole number", tag.local);
        gate.make_fault(codes::INVALID, message, tag.offset).with_received(&value)
    })
}
