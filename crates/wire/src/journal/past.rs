//! The journal of a turn's earlier attempts, as a later attempt receives it.
//!
//! It does not decide whether a call is made again: it reports what is known. The answer to `<ask><journal/></ask>`
//! comes in; the earlier outcome of each model call that is about to be made goes out.

use super::{EntryLabel, JournalEntry, ModelCallOutcome, ModelStarted, read_count};
use crate::gate::{GateStep, XmlGate};
use crate::place::Fault;
use crate::writer::XmlWriter;
use crate::{DocumentLimits, Payload, QName, codes, namespaces};

/// An entry of an earlier attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierEntry {
    /// The attempt that made it.
    pub attempt: u32,
    /// Its number within that attempt.
    pub id: u64,
    /// The entry itself.
    pub entry: JournalEntry,
}

/// The entries of a turn's earlier attempts, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EarlierEntries {
    /// The entries that no call has claimed yet.
    pub entries: Vec<EarlierEntry>,
    /// The first entry of the next page, if there are more.
    pub next: Option<u64>,
}

/// What is known about a model call that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriorCall {
    /// No earlier attempt made it.
    New,
    /// An earlier attempt bought this answer: use it, do not buy it again.
    Known(ModelCallOutcome),
    /// An earlier attempt made the call and was lost before it had an answer. The call may have been paid.
    Unknown(ModelStarted),
}

impl EarlierEntries {
    /// The outcome of the call with this prompt in an earlier attempt. Each outcome is returned once, so an attempt
    /// that asks the same twice gets the first answer and then the second.
    pub fn prior_call(&mut self, prompt: &str) -> PriorCall {
        let is_it = |recalled: &EarlierEntry| matches!(&recalled.entry, JournalEntry::Started(s) if s.prompt == prompt);
        let Some(at) = self.entries.iter().position(is_it) else { return PriorCall::New };
        let EarlierEntry { attempt, id, entry } = self.entries.remove(at);
        let answers = |recalled: &EarlierEntry| {
            recalled.attempt == attempt && matches!(&recalled.entry, JournalEntry::Result(o) if o.of == id)
        };
        let answer = self.entries.iter().position(answers).map(|at| self.entries.remove(at).entry);
        match (answer, entry) {
            (Some(JournalEntry::Result(outcome)), _) => PriorCall::Known(outcome),
            (_, JournalEntry::Started(started)) => PriorCall::Unknown(started),
            (_, JournalEntry::Result(_)) => PriorCall::New,
        }
    }

    /// The payload of the answer that carries these entries.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let mut writer = XmlWriter::with_capacity(512);
        let next = self.next.map(|next| next.to_string());
        let start = writer.open("entries").xmlns(namespaces::LISTENER).attr_if("next", next.as_deref());
        start.content(|inside| {
            for EarlierEntry { attempt, id, entry } in &self.entries {
                entry.write_to(inside, EntryLabel { id: *id, delivery: None, attempt: Some(*attempt) });
            }
        });
        Payload::from_composed(writer.finish(), QName::new(namespaces::LISTENER, "entries"))
    }

    /// Reads the payload back.
    ///
    /// # Errors
    /// If the payload holds no entries.
    pub fn from_payload(payload: &Payload) -> Result<Self, Fault> {
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP)?;
        let next = match gate.read_step()? {
            GateStep::Open(tag)
                if gate.find_namespace(&tag) == Some(namespaces::LISTENER) && tag.local == "entries" =>
            {
                read_count(&mut gate, &tag, "next")?
            }
            _ => {
                let fault = gate.make_fault(codes::INVALID, "the payload holds no journal entries", 0);
                return Err(fault.with_expected("<entries>"));
            }
        };
        let mut entries = Vec::new();
        while let Some(tag) = gate.read_child()? {
            let recalled = EarlierEntry::from_tag(&mut gate, &tag)?;
            entries.push(recalled);
        }
        Ok(Self { entries, next })
    }
}

impl EarlierEntry {
    /// Reads an entry as the log keeps it.
    ///
    /// # Errors
    /// If the bytes are not a journal entry.
    pub fn from_body(body: &[u8]) -> Result<Self, Fault> {
        let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP)?;
        match gate.read_step()? {
            GateStep::Open(tag) => Self::from_tag(&mut gate, &tag),
            _ => Err(gate.make_fault(codes::INVALID, "the record holds no journal entry", 0)),
        }
    }

    fn from_tag<'d>(gate: &mut XmlGate<'d>, tag: &crate::gate::XmlTag<'d>) -> Result<Self, Fault> {
        if gate.find_namespace(tag) != Some(namespaces::LISTENER) || tag.local != "journal" {
            let fault = gate.make_fault(codes::INVALID, "this is not a journal entry", tag.offset);
            return Err(fault.with_expected("<journal>"));
        }
        let attempt = super::require_count(gate, tag, "attempt")?;
        let id = super::require_count(gate, tag, "id")?;
        let entry = JournalEntry::from_tag(gate, tag)?;
        Ok(Self { attempt: u32::try_from(attempt).unwrap_or(u32::MAX), id, entry })
    }
}
