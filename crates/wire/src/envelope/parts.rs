//! The parts of an envelope in a document from outside, from a listener, or from the pump.
//!
//! This module does not decide which parts are required: that depends on the door. A gate that has just opened
//! `<message>` comes in; the parts, or the first error in them, go out.

use super::EnvelopeStamp;
use crate::gate::{XmlGate, XmlTag};
use crate::place::Fault;
use crate::{Payload, codes, namespaces};

/// Whether to read a stamp in the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StampRule {
    /// Only the pump's stamp counts; any other is ignored, like every foreign extra.
    Ignored,
    /// From the pump.
    Read,
}

/// The parts of an envelope.
#[derive(Debug)]
pub(crate) struct EnvelopeParts {
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
    pub(crate) thread: Option<String>,
    pub(crate) stamp: Option<EnvelopeStamp>,
    pub(crate) payload: Payload,
}

/// The parts of `meta`.
#[derive(Debug, Default)]
struct EnvelopeMeta {
    from: Option<String>,
    to: Option<String>,
    thread: Option<String>,
    stamp: Option<EnvelopeStamp>,
}

impl EnvelopeParts {
    /// Reads the envelope that `gate` has just opened, to its end.
    pub(crate) fn from_tag<'d>(
        gate: &mut XmlGate<'d>,
        tag: XmlTag<'d>,
        stamping: StampRule,
    ) -> Result<Self, Fault> {
        if tag.local != "message" {
            let message = format!("<{}> is not an element of the envelope", tag.local);
            let fault = gate.make_fault(codes::INVALID, message, tag.offset).with_expected("<message>");
            return Err(
                fault.with_fix("write <message> around <meta> and the payload, or send the payload alone")
            );
        }
        let meta = match gate.read_child()? {
            Some(meta) if is_own(gate, &meta) && meta.local == "meta" => {
                EnvelopeMeta::from_gate(gate, stamping)?
            }
            other => {
                let offset = other.map_or(gate.offset(), |tag| tag.offset);
                let fault =
                    gate.make_fault(codes::INVALID, "the envelope does not begin with <meta>", offset);
                return Err(fault
                    .with_expected("<meta>, then one payload")
                    .with_fix("begin with <meta>, or send the payload alone"));
            }
        };
        let Some(first) = gate.read_child()? else {
            let offset = gate.offset();
            let fault = gate.make_fault(codes::INVALID, "the envelope holds no payload", offset);
            return Err(fault
                .with_expected("one payload after </meta>")
                .with_fix("write the payload after </meta>"));
        };
        if is_own(gate, &first) {
            let message = format!("<{}> of the envelope's namespace is in place of a payload", first.local);
            let fault = gate.make_fault(codes::FORBIDDEN_NAMESPACE, message, first.offset);
            return Err(fault
                .with_expected("a payload in the namespace of its taker")
                .with_fix("write the payload with an xmlns of its own"));
        }
        let payload = Payload::cut_from(gate, first)?;
        if let Some(second) = gate.read_child()? {
            let message = format!("<{}> is a second payload in one envelope", second.local);
            let fault = gate.make_fault(codes::INVALID, message, second.offset).with_expected("one payload");
            return Err(fault.with_fix("send each payload in an envelope of its own"));
        }
        Ok(Self { from: meta.from, to: meta.to, thread: meta.thread, stamp: meta.stamp, payload })
    }
}

impl EnvelopeMeta {
    fn from_gate(gate: &mut XmlGate<'_>, stamping: StampRule) -> Result<Self, Fault> {
        let mut meta = Self::default();
        while let Some(tag) = gate.read_child()? {
            match gate.find_namespace(&tag) {
                Some(namespaces::ENVELOPE) => meta.read_own(gate, tag)?,
                Some(namespaces::STAMP) if stamping == StampRule::Read && tag.local == "stamp" => {
                    meta.stamp = Some(EnvelopeStamp::from_gate(gate, tag.offset)?);
                    gate.skip_content()?;
                }
                Some(_) => gate.skip_content()?,
                None => return Err(refuse_unknown(gate, &tag)),
            }
        }
        Ok(meta)
    }

    fn read_own<'d>(&mut self, gate: &mut XmlGate<'d>, tag: XmlTag<'d>) -> Result<(), Fault> {
        let slot = match tag.local {
            "from" => &mut self.from,
            "to" => &mut self.to,
            "thread" => &mut self.thread,
            _ => return Err(refuse_unknown(gate, &tag)),
        };
        if slot.is_some() {
            let message = format!("<{}> appears twice in meta", tag.local);
            return Err(gate
                .make_fault(codes::INVALID, message, tag.offset)
                .with_fix("leave one of them out"));
        }
        let text = gate.text_inside()?;
        let word = text.trim_matches(crate::characters::is_white);
        if word.is_empty() {
            let message = format!("<{}> is empty", tag.local);
            return Err(gate
                .make_fault(codes::INVALID, message, tag.offset)
                .with_expected("a name or an id"));
        }
        *slot = Some(word.to_owned());
        Ok(())
    }
}

fn is_own<'d>(gate: &XmlGate<'d>, tag: &XmlTag<'d>) -> bool {
    gate.find_namespace(tag) == Some(namespaces::ENVELOPE)
}

fn refuse_unknown<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Fault {
    gate.make_fault(codes::INVALID, format!("<{}> is not known in meta", tag.local), tag.offset)
        .with_expected("from, to, thread, or elements of another namespace")
}
