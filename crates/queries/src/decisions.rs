//! What persons decided: who, when, about which payload, with which outcome, and what ran after it.
//!
//! A reader and a period come in; one row for each decided request goes out, the newest request first. `sys` has every
//! request, so nothing else of a log is read than `sys` and the threads of the requests. Every record that counts
//! continues the chain of its thread.

mod decision_lines;
mod question;

pub use question::{DecisionArguments, DecisionQuery};

use std::ops::ControlFlow;

use serde::Serialize;

use super::causes;
use super::glance::glance;
use super::tree::CallEndKind;
use crate::limits::{CLOCK_MS, GLANCE_COLUMNS, LOOKED_AT, WAIT_MOST_MS};
use systole_core::rules::{approval_payload, question as question_payload};
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::person::{PersonRequestId, RequestKind};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{ApprovalEffect, MessageRole, Record, RecordCode, RecordKind};
use systole_core::types::time::Millis;
use systole_show::columns::cut_always;
use systole_show::layout;

/// Decided requests, newest request first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct DecisionList {
    /// The requests that have their outcome.
    pub decisions: Vec<DecidedRequest>,
    /// The request before which the list goes on, if it does.
    pub next: Option<String>,
    /// The moment at which it was read.
    #[serde(skip)]
    pub now: Millis,
    /// Whether a table for a spreadsheet is wanted.
    #[serde(skip)]
    pub is_sheet: bool,
}

/// A request that has its outcome.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DecidedRequest {
    /// The request, as `a17`.
    pub id: String,
    /// `approval` or `question`.
    pub kind: String,
    /// The thread of the call.
    pub thread: String,
    /// The call whose payload waited, or the item of the question.
    pub call: String,
    /// Who wants the payload delivered, or who called the asking listener.
    pub caller: String,
    /// The receiver of the payload, or the asking listener.
    pub listener: String,
    /// The payload's root element, or the question.
    pub about: String,
    /// The payload at a glance, as it was sent if it was amended; empty for a question.
    pub payload: String,
    /// The hash of what the person was shown: the payload, or the question.
    pub hash: String,
    /// The record of it in the thread.
    pub record: u64,
    /// The hash of the payload that went out, if one did.
    pub sent: Option<String>,
    /// What is unknown about the attempt before, if one more attempt was decided about.
    pub unknown: Option<String>,
    /// When a person was asked.
    pub asked: String,
    /// When it was decided.
    pub at: String,
    /// Who decided; `None` if no person did.
    pub by: Option<String>,
    /// `approved`, `amended`, `rejected`, `expired` or `chosen`.
    pub outcome: String,
    /// The choice, for a question that has choices.
    pub choice: Option<String>,
    /// The note.
    pub note: Option<String>,
    /// The record of the decision in the thread.
    pub seq: u64,
    /// What ran after it; `None` if nothing was delivered.
    pub ran: Option<RanCall>,
}

/// What became of the call that went on after a decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RanCall {
    /// The listener that ran.
    pub listener: String,
    /// `answered`, `handled`, `failed`, `open`, or `ended` if its thread was ended first.
    pub state: String,
    /// The element of the answer, or the code of the failure.
    pub what: Option<String>,
    /// When.
    pub at: Option<String>,
    /// The record in the thread.
    pub seq: Option<u64>,
}

/// The newest decisions of a period, at most `most`. `next` is set if there may be more: only so many requests are
/// looked at that no one has decided.
pub fn list(
    reader: &dyn LogReader,
    period: &DecisionArguments,
    most: usize,
) -> Result<DecisionList, LogFault> {
    let sys = ThreadId::new_sys();
    let Some((_, last)) = causes::last(reader, &sys)? else { return Ok(DecisionList::default()) };
    let (mut decisions, mut looked, mut fault, mut next) = (Vec::new(), 0, None, None);
    let mut before: Option<PersonRequestId> = None;
    causes::back(reader, &sys, last.header.seq + 1, |record| {
        let asked = record.header.time;
        let is_before_all = period.since.is_some_and(|since| asked.add_ms(WAIT_MOST_MS + CLOCK_MS) < since);
        if is_before_all {
            return ControlFlow::Break(());
        }
        let Some(request) = DecidableRequest::of(record).filter(|request| request.is_in(period)) else {
            return ControlFlow::Continue(());
        };
        if decisions.len() == most || looked == most.saturating_add(LOOKED_AT) {
            next = before.map(|id| id.to_string());
            return ControlFlow::Break(());
        }
        (before, looked) = (Some(request.id), looked + 1);
        match request.decision(reader) {
            Ok(found) => {
                decisions.extend(found.filter(|(at, _)| period.has(*at)).map(|(_, decision)| decision));
                ControlFlow::Continue(())
            }
            Err(unread) => {
                fault = Some(unread);
                ControlFlow::Break(())
            }
        }
    })?;
    match fault {
        Some(fault) => Err(fault),
        None => Ok(DecisionList { decisions, next, ..DecisionList::default() }),
    }
}

impl DecisionArguments {
    fn has(&self, at: Millis) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at < until)
    }
}

/// A request as `sys` has it.
struct DecidableRequest {
    /// Its record in `sys`.
    seq: u64,
    id: PersonRequestId,
    kind: RequestKind,
    thread: ThreadId,
    call: CallPath,
    listener: Name,
    about: String,
    unknown: Option<String>,
    hash: Digest,
    asked: Millis,
    expires: Millis,
}

impl DecidableRequest {
    fn of(record: &Record) -> Option<DecidableRequest> {
        let h = &record.header;
        match (h.kind, h.code) {
            (RecordKind::Approval, Some(RecordCode::Approving(ApprovalEffect::Requested))) => {
                let request = approval_payload::read_request(&record.body)?;
                Some(DecidableRequest {
                    seq: h.seq,
                    id: request.id,
                    kind: RequestKind::Approval,
                    thread: request.thread,
                    call: request.call,
                    listener: request.to,
                    about: request.element,
                    unknown: request.unknown,
                    hash: request.hash,
                    asked: h.time,
                    expires: request.expires,
                })
            }
            (RecordKind::Approval, Some(RecordCode::Approving(ApprovalEffect::Asked))) => {
                let request = question_payload::read_asked(&record.body)?;
                Some(DecidableRequest {
                    seq: h.seq,
                    id: request.id,
                    kind: RequestKind::Question,
                    thread: request.thread,
                    call: request.call,
                    listener: request.from,
                    about: request.words,
                    unknown: None,
                    hash: Digest::hash_bytes(&record.body),
                    asked: h.time,
                    expires: request.expires,
                })
            }
            _ => None,
        }
    }

    /// Whether it may have been decided in a period.
    fn is_in(&self, period: &DecisionArguments) -> bool {
        period.before.is_none_or(|before| self.id < before)
            && period.since.is_none_or(|since| since <= self.expires.add_ms(CLOCK_MS))
            && period.until.is_none_or(|until| self.asked < until)
    }

    /// The call that goes on after the decision: that of the payload, or the one that asks.
    fn goes_on(&self) -> Option<CallPath> {
        match self.kind {
            RequestKind::Approval => Some(self.call.clone()),
            RequestKind::Question => self.call.caller().map(|(call, ..)| call),
        }
    }

    /// The decision, and when it was; `None` if there is none.
    fn decision(&self, reader: &dyn LogReader) -> Result<Option<(Millis, DecidedRequest)>, LogFault> {
        let Some(counted) = causes::at(reader, &ThreadId::new_sys(), self.seq)? else { return Ok(None) };
        let Some((_, request)) = causes::find_named(reader, &counted)? else { return Ok(None) };
        let Some(call) = self.goes_on() else { return Ok(None) };
        let opened = causes::opening(reader, &self.thread, &call, request.header.seq)?;
        let Some((_, opened)) = opened else { return Ok(None) };
        let mut found: Option<(Millis, DecidedRequest)> = None;
        let mut amended = None;
        each_after(reader, &request, |record| {
            if let Some((_, decision)) = &mut found {
                decision.ran = RanCall::of(record, &call, &self.listener);
                return if decision.ran.is_some() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                };
            }
            let shown =
                if self.kind == RequestKind::Question { request.header.seq } else { opened.header.seq };
            if let Some(decision) = self.decided_by(record, (&opened, shown), amended.as_ref()) {
                let goes_on = self.kind == RequestKind::Question || decision.sent.is_some();
                found = Some((record.header.time, decision));
                return if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            }
            if record.header.code == Some(RecordCode::Approving(ApprovalEffect::Amendment))
                && record.header.call.as_ref() == Some(&self.call)
            {
                amended = Some(record.clone());
            }
            // A question may be withdrawn, and a thread may end before anyone decides.
            let is_over = record.header.kind == RecordKind::Terminal || self.is_answered_by(record);
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if let Some((_, decision)) = &mut found
            && decision.ran.is_none()
            && (self.kind == RequestKind::Question || decision.sent.is_some())
        {
            decision.ran = Some(RanCall::open(&self.listener));
        }
        Ok(found)
    }

    fn is_answered_by(&self, record: &Record) -> bool {
        let answers = record.header.code == Some(RecordCode::Role(MessageRole::Answer));
        answers && self.kind == RequestKind::Question && record.header.call.as_ref() == Some(&self.call)
    }

    fn decided_by(
        &self,
        record: &Record,
        (opened, shown): (&Record, u64),
        amended: Option<&Record>,
    ) -> Option<DecidedRequest> {
        let h = &record.header;
        let (outcome, choice, by, note, sent) = match self.kind {
            RequestKind::Approval if h.kind == RecordKind::Approval => {
                let decided = approval_payload::read_decided(&record.body).filter(|one| one.id == self.id)?;
                (decided.outcome, None, Some(decided.by), decided.note, decided.hash)
            }
            RequestKind::Question if self.is_answered_by(record) => {
                let said = question_payload::read_said(&record.body)?;
                let note = Some(said.note).filter(|note| !note.is_empty());
                (said.outcome, said.choice, said.by, note, None)
            }
            _ => return None,
        };
        let payload = match self.kind {
            // The same wherever it is shown.
            RequestKind::Approval => layout::whole_lines(|| glance(&amended.unwrap_or(opened).body).words),
            RequestKind::Question => String::new(),
        };
        Some(DecidedRequest {
            id: self.id.to_string(),
            kind: self.kind.as_str().to_owned(),
            thread: self.thread.to_string(),
            call: self.call.to_string(),
            caller: opened.header.from.to_string(),
            listener: self.listener.to_string(),
            about: self.about.clone(),
            payload: cut_always(&payload, GLANCE_COLUMNS),
            hash: self.hash.to_string(),
            record: shown,
            sent,
            unknown: self.unknown.clone(),
            asked: self.asked.to_string(),
            at: h.time.to_string(),
            // The core itself decides about what expires.
            by: by.filter(|by| *by != Name::new_core().as_str()),
            outcome,
            choice,
            note,
            seq: h.seq,
            ran: None,
        })
    }
}

/// Shows the records of a thread after one of them, in order, until `look` stops. Each continues the chain.
fn each_after(
    reader: &dyn LogReader,
    start: &Record,
    mut look: impl FnMut(&Record) -> ControlFlow<()>,
) -> Result<(), LogFault> {
    let (thread, mut seq, mut head) = (&start.header.thread, start.header.seq, start.head);
    for placed in reader.records_of(thread, seq + 1) {
        let (position, record) = placed?;
        if record.header.seq != seq + 1 || !record.is_valid_after(head) {
            let why =
                format!("record {} of thread {thread} does not follow the one before it", record.header.seq);
            return Err(LogFault::Damaged { path: "the log".to_owned(), position, why });
        }
        (seq, head) = (record.header.seq, record.head);
        if look(&record).is_break() {
            break;
        }
    }
    Ok(())
}

impl RanCall {
    fn open(listener: &Name) -> RanCall {
        RanCall { listener: listener.to_string(), state: "open".to_owned(), what: None, at: None, seq: None }
    }

    /// What a record says about the end of a call.
    fn of(record: &Record, call: &CallPath, listener: &Name) -> Option<RanCall> {
        let h = &record.header;
        let (state, what) = match CallEndKind::of(record) {
            _ if h.kind == RecordKind::Terminal => ("ended", None),
            Some(_) if h.call.as_ref() != Some(call) => return None,
            Some(CallEndKind::Answered { element, .. }) => ("answered", Some(element)),
            Some(CallEndKind::Reported { element, .. }) => ("failed", Some(element)),
            Some(CallEndKind::Handled) => ("handled", None),
            Some(CallEndKind::Failed { code, .. }) => ("failed", Some(code.to_owned())),
            None => return None,
        };
        let (at, seq) = (Some(h.time.to_string()), Some(h.seq));
        Some(RanCall { state: state.to_owned(), what, at, seq, ..RanCall::open(listener) })
    }
}
