//! What became of requests to persons: the newest requests of a log with their outcomes.
//!
//! A reader comes in; the requests go out, newest first, each with who decided, how and why. `sys` counts every
//! request, so the newest are found without reading the whole log.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::causes;
use super::columns::plain;
use systole_core::rules::{approval_payload, question};
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::person::{PersonRequestId, RequestKind};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{ApprovalEffect, Record, RecordCode, RecordKind};
use systole_core::types::time::Millis;

/// Records per read.
const PAGE: usize = 256;
/// Records of a thread that are searched for an outcome.
const SEARCHED: usize = 4_096;

/// A request that has its outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecidedRequest {
    /// The request.
    pub id: PersonRequestId,
    /// Whether a payload waited, or a question.
    pub kind: RequestKind,
    /// The thread of the call.
    pub thread: ThreadId,
    /// The call whose payload waited, or the item of the question.
    pub call: CallPath,
    /// The receiver of the payload, or the asking listener.
    pub listener: Name,
    /// The payload's root element, or the question.
    pub about: String,
    /// When a person was asked.
    pub asked: Millis,
    /// `approved`, `amended`, `rejected`, `expired` or `chosen`, with the choice behind it.
    pub outcome: String,
    /// Who decided; `None` if no person did.
    pub by: Option<String>,
    /// The note.
    pub note: Option<String>,
    /// When it was decided.
    pub at: Millis,
    /// The record of the decision in its thread.
    pub seq: u64,
}

/// A request as `sys` has it.
struct Asked {
    id: PersonRequestId,
    kind: RequestKind,
    thread: ThreadId,
    call: CallPath,
    listener: Name,
    about: String,
    asked: Millis,
}

/// The newest requests that have their outcome, at most `limit`, newest first. Among the newest requests that are
/// looked at, those that still wait are passed over.
pub fn newest(reader: &dyn LogReader, limit: usize) -> Result<Vec<DecidedRequest>, LogFault> {
    let sys = ThreadId::sys();
    let Some((_, last)) = causes::last(reader, &sys)? else { return Ok(Vec::new()) };
    let mut asked = Vec::new();
    causes::back(reader, &sys, last.header.seq + 1, |record| {
        asked.extend(Asked::of(record));
        if asked.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let mut decided = Vec::new();
    for one in asked {
        decided.extend(one.outcome(reader)?);
    }
    Ok(decided)
}

impl Asked {
    fn of(record: &Record) -> Option<Asked> {
        let asked = record.header.time;
        match (record.header.kind, record.header.code) {
            (RecordKind::Approval, Some(RecordCode::Approving(ApprovalEffect::Requested))) => {
                let request = approval_payload::read_request(&record.body)?;
                Some(Asked {
                    id: request.id,
                    kind: RequestKind::Approval,
                    thread: request.thread,
                    call: request.call,
                    listener: request.to,
                    about: request.element,
                    asked,
                })
            }
            (RecordKind::Approval, Some(RecordCode::Approving(ApprovalEffect::Asked))) => {
                let request = question::read_asked(&record.body)?;
                Some(Asked {
                    id: request.id,
                    kind: RequestKind::Question,
                    thread: request.thread,
                    call: request.call,
                    listener: request.from,
                    about: request.words,
                    asked,
                })
            }
            _ => None,
        }
    }

    /// The outcome, from the thread's records since the request.
    fn outcome(self, reader: &dyn LogReader) -> Result<Option<DecidedRequest>, LogFault> {
        let is_before = |seq| {
            let found = reader.of_thread(&self.thread, seq, 1)?;
            Ok(found.first().is_some_and(|(_, record)| record.header.time < self.asked))
        };
        let mut from = causes::first_after(is_before)?;
        let mut left = SEARCHED;
        while left > 0 {
            let page = reader.of_thread(&self.thread, from, PAGE)?;
            if let Some(found) = page.iter().find_map(|(_, record)| self.decided_by(record)) {
                return Ok(Some(found));
            }
            if page.len() < PAGE {
                break;
            }
            (from, left) = (from + PAGE as u64, left.saturating_sub(PAGE));
        }
        Ok(None)
    }

    fn decided_by(&self, record: &Record) -> Option<DecidedRequest> {
        let (outcome, by, note) = match self.kind {
            RequestKind::Approval => {
                let decided = approval_payload::read_decided(&record.body)?;
                (decided.id == self.id).then_some((decided.outcome, Some(decided.by), decided.note))?
            }
            RequestKind::Question => {
                let said = question::read_said(&record.body)?;
                let is_its = record.header.call.as_ref() == Some(&self.call);
                let outcome = match said.choice {
                    Some(choice) => format!("{}: {choice}", said.outcome),
                    None => said.outcome,
                };
                is_its.then_some((outcome, said.by, Some(said.note).filter(|note| !note.is_empty())))?
            }
        };
        Some(DecidedRequest {
            id: self.id,
            kind: self.kind,
            thread: self.thread.clone(),
            call: self.call.clone(),
            listener: self.listener.clone(),
            about: self.about.clone(),
            asked: self.asked,
            outcome,
            // The core itself decides about what expires.
            by: by.filter(|by| *by != Name::core().as_str()),
            note,
            at: record.header.time,
            seq: record.header.seq,
        })
    }
}

impl DecidedRequest {
    /// Who decided, on one line.
    pub fn told(&self) -> String {
        match &self.by {
            Some(by) => format!("{} by {}", plain(&self.outcome), plain(by)),
            None => plain(&self.outcome),
        }
    }

    /// The request for programs.
    pub fn as_json(&self) -> Value {
        json!({
            "id": self.id.to_string(),
            "kind": self.kind.as_str(),
            "thread": self.thread.as_str(),
            "call": self.call.as_str(),
            "listener": self.listener.as_str(),
            "about": self.about,
            "asked": self.asked.to_string(),
            "outcome": self.outcome,
            "by": self.by,
            "note": self.note,
            "at": self.at.to_string(),
            "seq": self.seq,
        })
    }
}
