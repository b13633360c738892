//! The content of a reply: its items, or the one failure or `again` that replaces them.
//!
//! A fault inside an item refuses only that item. Only a fault that breaks the structure of the document ends the
//! reading. A gate that has just opened `<reply>` comes in; the content of the reply goes out.

use super::super::required_attributes::require_attribute;
use super::{Item, ReplyContent};
use crate::envelope::{EnvelopeParts, StampRule};
use crate::gate::{GateStep, XmlGate, XmlTag};
use crate::place::Fault;
use crate::{Payload, codes, namespaces};

/// Reads the items to the end of the reply.
pub(super) fn read_items(gate: &mut XmlGate<'_>) -> Result<ReplyContent, Fault> {
    let mut items = Vec::with_capacity(1);
    let mut instead = None;
    // Consecutive parts of one stray text are one fault, not one fault for each reference in it.
    let mut in_stray_text = false;
    loop {
        let step = gate.read_step()?;
        let most = gate.limits().items;
        if items.len() > most {
            let offset = gate.offset();
            let message = format!("the reply has more than {most} items");
            return Err(gate
                .make_fault(codes::TOO_MANY_ITEMS, message, offset)
                .with_expected(format!("at most {most} items"))
                .with_fix(format!("send {most} items at most, and the others in the next turn")));
        }
        match step {
            GateStep::Close | GateStep::Done => break,
            GateStep::Text(text) => {
                if !text.is_blank() && !in_stray_text {
                    items.push(Item::from_fault(gate.stray_text()));
                    in_stray_text = true;
                }
                continue;
            }
            GateStep::Instruction => items.extend(gate.take_fault().map(Item::from_fault)),
            GateStep::Open(tag) => match read_item(gate, tag)? {
                ReplyEntry::Item(item) => items.push(item),
                ReplyEntry::Instead(said, fault) => {
                    if items.is_empty() && instead.is_none() {
                        instead = Some((said, fault));
                    } else {
                        items.push(Item::from_fault(fault));
                    }
                }
            },
        }
        in_stray_text = false;
    }
    match instead {
        None => Ok(ReplyContent::Items(items)),
        Some((said, _)) if items.is_empty() => Ok(said),
        Some((_, fault)) => {
            items.insert(0, Item::from_fault(fault));
            Ok(ReplyContent::Items(items))
        }
    }
}

/// One element of a reply.
enum ReplyEntry {
    Item(Item),
    /// A failure or `again`, and the fault to report if there are items beside it.
    Instead(ReplyContent, Fault),
}

fn read_item<'d>(gate: &mut XmlGate<'d>, tag: XmlTag<'d>) -> Result<ReplyEntry, Fault> {
    let depth = gate.depth();
    let entry = match gate.find_namespace(&tag) {
        Some(namespaces::ENVELOPE) => EnvelopeParts::from_tag(gate, tag, StampRule::Ignored).map(|parts| {
            let EnvelopeParts { from, to, thread, payload, .. } = parts;
            ReplyEntry::Item(Item { from, to, thread, payload: Ok(payload) })
        }),
        Some(namespaces::LISTENER) => read_instead(gate, tag),
        _ => Payload::cut_from(gate, tag).map(|payload| ReplyEntry::Item(Item::plain(payload))),
    };
    match entry {
        Err(fault) if gate.is_broken() => Err(fault),
        Err(fault) => {
            gate.skip_out_of(depth)?;
            gate.take_fault();
            Ok(ReplyEntry::Item(Item::from_fault(fault)))
        }
        Ok(entry) => Ok(entry),
    }
}

fn read_instead<'d>(gate: &mut XmlGate<'d>, tag: XmlTag<'d>) -> Result<ReplyEntry, Fault> {
    let said = match tag.local {
        "failure" => {
            let code = require_attribute(gate, &tag, "code")?;
            let retry = match gate.find_attribute("retry").as_deref() {
                None | Some("false" | "0") => false,
                Some("true" | "1") => true,
                Some(other) => {
                    let message = "attribute retry of <failure> is neither true nor false";
                    return Err(gate.make_fault(codes::INVALID, message, tag.offset).with_received(other));
                }
            };
            let outage = gate.find_attribute("outage").map(std::borrow::Cow::into_owned);
            if outage.as_deref() == Some("") {
                let message = "attribute outage of <failure> is empty";
                let fault = gate.make_fault(codes::INVALID, message, tag.offset);
                return Err(fault.with_expected("one word that says who is away"));
            }
            let first_code = gate.find_attribute("first-code").map(std::borrow::Cow::into_owned);
            let words = gate.text_inside()?;
            match outage {
                Some(outage) => ReplyContent::Away { outage, code, retry, words },
                None => ReplyContent::Failure { code, first_code, retry, words },
            }
        }
        "again" => {
            ReplyContent::Again { code: require_attribute(gate, &tag, "code")?, words: gate.text_inside()? }
        }
        other @ ("journal" | "ask" | "notice" | "progress") => {
            let message = format!("<{other}> of the listener protocol is inside a reply");
            let fault = gate.make_fault(codes::INVALID, message, tag.offset);
            let fault = fault.with_expected(format!("<{other}> as a document of its own, before the reply"));
            return Err(fault.with_fix(
                "leave it out if the program runs once for each message: only one that stays can send it",
            ));
        }
        other => {
            let message = format!("<{other}> of the listener protocol is in place of an item");
            let fault = gate
                .make_fault(codes::INVALID, message, tag.offset)
                .with_expected("a payload or an envelope");
            // The usual cause is a missing xmlns, so that the reply's own xmlns applied.
            let fault = fault.with_path(format!("/{other}"));
            return Err(
                fault.with_fix(format!("write <{other} xmlns=\"…\"> with the namespace of the payload"))
            );
        }
    };
    if let Some(fault) = gate.take_fault() {
        return Err(fault);
    }
    let message = format!("<{}> is beside other items of a reply", tag.local);
    let fault = gate.make_fault(codes::INVALID, message, tag.offset);
    Ok(ReplyEntry::Instead(said, fault.with_expected(format!("<{}> alone", tag.local))))
}
