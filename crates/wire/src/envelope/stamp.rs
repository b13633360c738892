//! The pump's stamp on an envelope: the piece of work, and the attempt at it.
//!
//! This module does not check whether a stamp is genuine: a delivery proves itself to the pump. Attributes come in,
//! a value goes out, or the other way round.

use std::str::FromStr;

use crate::gate::XmlGate;
use crate::place::Fault;
use crate::writer::XmlWriter;
use crate::{codes, namespaces};

/// The pump's stamp on a delivery. The fields that `<answers>`, which is not a record, does not have are optional.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvelopeStamp {
    /// The record's id.
    pub id: Option<String>,
    /// The record's place in its thread.
    pub seq: Option<u64>,
    /// When it was recorded (RFC 3339, milliseconds, UTC).
    pub at: Option<String>,
    /// The call's path in its thread.
    pub call: String,
    /// The turn of the call, from 1.
    pub turn: u32,
    /// The record that caused it.
    pub cause: Option<String>,
    /// Names this attempt and cannot be guessed; a reply repeats it.
    pub delivery: String,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Names the work and is the same for every attempt: the key for effects outside.
    pub key: String,
    /// When this attempt ends at the latest.
    pub deadline: Option<String>,
    /// The hash of the stored payload.
    pub sha256: Option<String>,
    /// How many journal entries earlier attempts of this turn left.
    pub journal: Option<u32>,
    /// The seq of the request that the call answers: the same in every turn of the call.
    pub request: Option<u64>,
}

impl EnvelopeStamp {
    /// Reads the stamp that `gate` has just opened.
    pub(super) fn from_gate(gate: &mut XmlGate<'_>, offset: usize) -> Result<Self, Fault> {
        Ok(Self {
            id: read_text(gate, "id"),
            seq: read_number(gate, "seq", offset)?,
            at: read_text(gate, "at"),
            call: require_text(gate, "call", offset)?,
            turn: read_number(gate, "turn", offset)?.unwrap_or(1),
            cause: read_text(gate, "cause"),
            delivery: require_text(gate, "delivery", offset)?,
            attempt: read_number(gate, "attempt", offset)?.unwrap_or(1),
            key: require_text(gate, "key", offset)?,
            deadline: read_text(gate, "deadline"),
            sha256: read_text(gate, "sha256"),
            journal: read_number(gate, "journal", offset)?,
            request: read_number(gate, "request", offset)?,
        })
    }

    pub(super) fn write_to(&self, meta: &mut XmlWriter) {
        let journal = self.journal.map(|entries| entries.to_string());
        let seq = self.seq.map(|seq| seq.to_string());
        let request = self.request.map(|seq| seq.to_string());
        meta.open("stamp")
            .xmlns(namespaces::STAMP)
            .attr_if("id", self.id.as_deref())
            .attr_if("seq", seq.as_deref())
            .attr_if("at", self.at.as_deref())
            .attr("call", &self.call)
            .number("turn", u64::from(self.turn))
            .attr_if("cause", self.cause.as_deref())
            .attr("delivery", &self.delivery)
            .number("attempt", u64::from(self.attempt))
            .attr("key", &self.key)
            .attr_if("deadline", self.deadline.as_deref())
            .attr_if("sha256", self.sha256.as_deref())
            .attr_if("journal", journal.as_deref())
            .attr_if("request", request.as_deref())
            .empty();
    }
}

fn read_text(gate: &XmlGate<'_>, name: &str) -> Option<String> {
    gate.find_attribute(name).map(std::borrow::Cow::into_owned)
}

fn require_text(gate: &mut XmlGate<'_>, name: &str, offset: usize) -> Result<String, Fault> {
    read_text(gate, name)
        .ok_or_else(|| gate.make_fault(codes::INVALID, format!("the stamp has no attribute {name}"), offset))
}

fn read_number<N: FromStr>(gate: &mut XmlGate<'_>, name: &str, offset: usize) -> Result<Option<N>, Fault> {
    let Some(value) = read_text(gate, name) else { return Ok(None) };
    match value.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => {
            let message = format!("attribute {name} of the stamp is not a whole number in range");
            Err(gate.make_fault(codes::INVALID, message, offset).with_received(&value))
        }
    }
}
