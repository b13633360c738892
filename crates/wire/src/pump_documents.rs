//! The documents that the pump sends to a listener: deliveries, answers to journal entries and questions, receipts
//! for words that came over a broker, and cancellations.
//!
//! It does not decide how to react. A document comes in and a [`PumpDocument`] goes out, or the other way round.

use crate::envelope::{Delivered, read_delivered};
use crate::gate::{GateStep, XmlGate};
use crate::journal::read_count;
use crate::place::Fault;
use crate::writer::XmlWriter;
use crate::{DocumentLimits, Payload, codes, namespaces};

/// One document from the pump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PumpDocument {
    /// A turn to answer.
    Delivery(Box<Delivered>),
    /// The answer to a journal entry or a question.
    Answer(PumpAnswer),
    /// The decision about a word that came over a broker is on disk.
    Receipt(ReplyReceipt),
    /// The answer to a delivery is no longer wanted.
    Cancel {
        /// The delivery.
        delivery: String,
    },
    /// A document that this version does not know. A reader skips it: a newer pump may say more than an older listener
    /// can read.
    Unknown {
        /// The name of its root element, with the namespace in braces.
        name: String,
    },
}

/// The answer to a journal entry or a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PumpAnswer {
    /// The delivery in which the question was asked.
    pub delivery: String,
    /// The number of the entry or question that it answers.
    pub id: u64,
    /// `None` if an entry is on disk; otherwise the requested payload, or the `<system-error>` that refuses it.
    pub payload: Option<Payload>,
}

/// The decision about a reply or a notice is on disk: the sender need not repeat it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplyReceipt {
    /// The delivery that the word named; empty if it named none.
    pub delivery: String,
    /// `None` if the word was accepted, otherwise the `<system-error>` that refuses it.
    pub refusal: Option<Payload>,
    /// Whether another reply to the delivery was accepted before; this one then counts for nothing.
    pub is_superseded: bool,
    /// The refused items of an accepted reply, each by its number in the reply with the payload that answers it.
    pub refused: Vec<(u64, Payload)>,
}

impl ReplyReceipt {
    /// The document for this receipt.
    #[must_use]
    pub fn to_document(&self) -> Vec<u8> {
        let mut writer = XmlWriter::with_capacity(128);
        let start = writer.open("receipt").xmlns(namespaces::LISTENER).attr("delivery", &self.delivery);
        let start = start.attr_if("outcome", self.is_superseded.then_some(SUPERSEDED));
        match &self.refusal {
            Some(refusal) => start.write_payload(refusal),
            None if self.refused.is_empty() => start.empty(),
            None => start.content(|inside| {
                for (ordinal, refusal) in &self.refused {
                    inside.open("refused").number("ordinal", *ordinal).write_payload(refusal);
                }
            }),
        }
        writer.finish()
    }
}

impl PumpAnswer {
    /// The code and the message of the refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<(String, String)> {
        let payload =
            self.payload.as_ref().filter(|it| it.name().is_named(namespaces::CORE, "system-error"))?;
        let told = |name| payload.find_attribute(name).unwrap_or_default();
        Some((told("code"), told("message")))
    }

    /// The document for this answer.
    #[must_use]
    pub fn to_document(&self) -> Vec<u8> {
        let mut writer = XmlWriter::with_capacity(256);
        let start = writer
            .open("answer")
            .xmlns(namespaces::LISTENER)
            .number("id", self.id)
            .attr("delivery", &self.delivery);
        match &self.payload {
            Some(payload) => start.write_payload(payload),
            None => start.empty(),
        }
        writer.finish()
    }
}

/// The outcome of a reply after another reply to its delivery was accepted.
const SUPERSEDED: &str = "superseded";

/// What the pump sends in the namespace of listeners.
const KNOWN: [&str; 3] = ["cancel", "answer", "receipt"];

/// The document that cancels a delivery.
#[must_use]
pub fn write_cancel(delivery: &str) -> Vec<u8> {
    let mut writer = XmlWriter::new();
    writer.open("cancel").xmlns(namespaces::LISTENER).attr("delivery", delivery).empty();
    writer.finish()
}

impl PumpDocument {
    /// Reads one document from the pump.
    ///
    /// # Errors
    /// If it is not a document of the pump.
    pub fn parse(document: &[u8]) -> Result<Self, Fault> {
        let mut gate = XmlGate::new_strict(document, &DocumentLimits::FROM_PUMP)?;
        let GateStep::Open(tag) = gate.read_step()? else {
            return Err(gate.make_fault(codes::MALFORMED, "the document holds no element", 0));
        };
        let namespace = gate.find_namespace(&tag).unwrap_or_default().to_owned();
        if namespace == namespaces::ENVELOPE {
            return read_delivered(document).map(|delivered| Self::Delivery(Box::new(delivered)));
        }
        if namespace != namespaces::LISTENER || !KNOWN.contains(&tag.local) {
            let name = format!("{{{namespace}}}{}", tag.local);
            while gate.read_step()? != GateStep::Done {}
            return Ok(Self::Unknown { name });
        }
        let delivery = super::required_attributes::require_attribute(&mut gate, &tag, "delivery")?;
        let told = match tag.local {
            "cancel" => {
                gate.skip_content()?;
                Self::Cancel { delivery }
            }
            "answer" => {
                let id = read_count(&mut gate, &tag, "id")?.unwrap_or_default();
                let payload = match gate.read_child()? {
                    Some(inside) => Some(Payload::cut_from(&mut gate, inside)?),
                    None => None,
                };
                Self::Answer(PumpAnswer { delivery, id, payload })
            }
            _ => {
                let is_superseded = gate.find_attribute("outcome").as_deref() == Some(SUPERSEDED);
                let mut receipt = ReplyReceipt { delivery, is_superseded, ..ReplyReceipt::default() };
                while let Some(inside) = gate.read_child()? {
                    if gate.find_namespace(&inside) != Some(namespaces::LISTENER) {
                        receipt.refusal = Some(Payload::cut_from(&mut gate, inside)?);
                        continue;
                    }
                    if inside.local != "refused" {
                        gate.skip_content()?;
                        continue;
                    }
                    let ordinal = read_count(&mut gate, &inside, "ordinal")?.unwrap_or_default();
                    while let Some(refused) = gate.read_child()? {
                        receipt.refused.push((ordinal, Payload::cut_from(&mut gate, refused)?));
                    }
                }
                Self::Receipt(receipt)
            }
        };
        while gate.read_step()? != GateStep::Done {}
        Ok(told)
    }
}
