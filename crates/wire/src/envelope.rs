//! The envelope around a payload: the form that outsiders may send, and the form that the pump writes for a
//! listener.
//!
//! This module never trusts an outsider's `from`: it passes the value on only so that a receipt can report the
//! replacement. A document comes in and a [`OutsideDocument`] or a [`Delivered`] goes out, or the other way round.

use crate::gate::{GateStep, XmlGate};
use crate::place::Fault;
use crate::writer::XmlWriter;
use crate::{DocumentLimits, Payload, codes, namespaces};

mod parts;
mod stamp;

pub(crate) use parts::{EnvelopeParts, StampRule};
pub use stamp::EnvelopeStamp;

/// A document from an outside sender: a bare payload, or a payload in the plain form of the envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideDocument {
    /// The sender's claimed name; only an envelope has one.
    pub from: Option<String>,
    /// The receiver, if named.
    pub to: Option<String>,
    /// The thread; `new`, or none in a bare payload, opens a root thread.
    pub thread: Option<String>,
    /// The one payload.
    pub payload: Payload,
}

impl OutsideDocument {
    /// Reads a document from outside.
    ///
    /// # Errors
    /// The first error in the document or in the shape of its envelope.
    pub fn parse(document: &[u8], limits: &DocumentLimits) -> Result<Self, Fault> {
        let mut gate = XmlGate::new_strict(document, limits)?;
        let GateStep::Open(tag) = gate.read_step()? else {
            return Err(gate.make_fault(codes::MALFORMED, "the document holds no element", 0));
        };
        let letter = match gate.find_namespace(&tag) {
            Some(namespaces::ENVELOPE) => {
                let parts = EnvelopeParts::from_tag(&mut gate, tag, StampRule::Ignored)?;
                let closed = gate.offset();
                Self {
                    from: Some(require_part(&mut gate, parts.from, "from", closed)?),
                    to: parts.to,
                    thread: Some(require_part(&mut gate, parts.thread, "thread", closed)?),
                    payload: parts.payload,
                }
            }
            Some(ns) if is_nearly_envelope(ns) => {
                let received = ns.to_owned();
                let fault =
                    gate.make_fault(codes::INVALID, "the envelope is in a namespace that is not its own", 0);
                return Err(fault.with_expected(namespaces::ENVELOPE).with_received(&received));
            }
            _ => Self { from: None, to: None, thread: None, payload: Payload::cut_from(&mut gate, tag)? },
        };
        while gate.read_step()? != GateStep::Done {}
        Ok(letter)
    }
}

/// Whether a namespace differs from the envelope's only in its scheme, its version or a slash, and so is a
/// slip.
fn is_nearly_envelope(ns: &str) -> bool {
    let lower = ns.to_ascii_lowercase();
    let tail = lower.split_once("xml-pipeline.org/ns/envelope").map(|(_, tail)| tail);
    tail.is_some_and(|tail| tail.is_empty() || tail.starts_with('/'))
}

fn require_part(
    gate: &mut XmlGate<'_>,
    part: Option<String>,
    name: &str,
    offset: usize,
) -> Result<String, Fault> {
    part.ok_or_else(|| {
        gate.make_fault(codes::INVALID, format!("the envelope has no <{name}>"), offset)
            .with_expected("from, to (may be left out), thread in meta, then one payload")
            .with_fix(format!("add <{name}>…</{name}> to meta"))
    })
}

/// A delivery from the pump to a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The sender, stamped by the pump.
    pub from: String,
    /// The receiving listener, if named.
    pub to: Option<String>,
    /// The thread.
    pub thread: String,
    /// The pump's stamp.
    pub stamp: EnvelopeStamp,
    /// The request; from the second turn on, `<answers>`.
    pub payload: Payload,
}

/// Reads a delivery from the pump. The document must be well-formed and within the pump's own limits.
///
/// # Errors
/// If it is not a stamped envelope, so it did not come from a pump.
pub fn read_delivered(document: &[u8]) -> Result<Delivered, Fault> {
    let mut gate = XmlGate::new_strict(document, &DocumentLimits::FROM_PUMP)?;
    let tag = match gate.read_step()? {
        GateStep::Open(tag) if gate.find_namespace(&tag) == Some(namespaces::ENVELOPE) => tag,
        _ => {
            let fault = gate.make_fault(codes::INVALID, "the delivered document is not an envelope", 0);
            return Err(fault.with_expected(namespaces::ENVELOPE));
        }
    };
    let parts = EnvelopeParts::from_tag(&mut gate, tag, StampRule::Read)?;
    let closed = gate.offset();
    let from = require_part(&mut gate, parts.from, "from", closed)?;
    let thread = require_part(&mut gate, parts.thread, "thread", closed)?;
    let Some(stamp) = parts.stamp else {
        return Err(gate.make_fault(codes::INVALID, "the delivered envelope bears no stamp", closed));
    };
    while gate.read_step()? != GateStep::Done {}
    Ok(Delivered { from, to: parts.to, thread, stamp, payload: parts.payload })
}

/// The sender, the receiver and the thread of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EnvelopeAddress<'a> {
    /// The sender.
    pub from: Option<&'a str>,
    /// The receiver, if named.
    pub to: Option<&'a str>,
    /// The thread.
    pub thread: Option<&'a str>,
}

/// Writes an envelope: the pump's form with a stamp, the plain form without one.
#[must_use]
pub fn write_envelope(
    address: &EnvelopeAddress<'_>,
    stamp: Option<&EnvelopeStamp>,
    payload: &Payload,
) -> Vec<u8> {
    // The wrapping with a full stamp takes about 700 bytes.
    let mut writer = XmlWriter::with_capacity(payload.bytes().len() + 768);
    write_envelope_into(&mut writer, address, stamp, payload);
    writer.finish()
}

pub(crate) fn write_envelope_into(
    writer: &mut XmlWriter,
    address: &EnvelopeAddress<'_>,
    stamp: Option<&EnvelopeStamp>,
    payload: &Payload,
) {
    writer.open("message").xmlns(namespaces::ENVELOPE).content(|message| {
        message.open("meta").content(|meta| {
            if let Some(from) = address.from {
                meta.open("from").text(from);
            }
            if let Some(to) = address.to {
                meta.open("to").text(to);
            }
            if let Some(thread) = address.thread {
                meta.open("thread").text(thread);
            }
            if let Some(stamp) = stamp {
                stamp.write_to(meta);
            }
        });
        message.write_payload(payload);
    });
}
