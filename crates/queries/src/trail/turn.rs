//! The turn in which a listener sent something: the records that it was shown, and the models asked in it.
//!
//! It reads only the part of the thread between the previous turn and the record. A record and its cause come in; the
//! context goes out, as numbers of records of the same thread.

use std::ops::ControlFlow;

use systole_kit::journal::{EarlierEntry, JournalEntry};

use super::CauseKind;
use crate::causes::{back, opens};
use crate::glance::glance;
use systole_core::pump::primitives;
use systole_core::rules::{approval_payload, core_payload};
use systole_core::types::ids::{CallPath, Name};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{
    ApprovalEffect, JournalEffect, MessageRole, Record, RecordCode, RecordKind, SteerEffect, TimerEffect,
};

/// The turn in which a listener sent something.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SenderTurn {
    /// The attempt, if it is not the first.
    pub attempt: Option<u32>,
    /// What else the turn was shown, in order, in addition to the record that opened it.
    pub shown: Vec<ShownRecord>,
    /// The models that were asked, in order.
    pub models: Vec<AskedModel>,
}

/// A record that a turn was shown, or that let it continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShownRecord {
    /// Its number.
    pub seq: u64,
    /// Who sent it.
    pub from: Name,
    /// The element of its payload.
    pub element: String,
}

impl ShownRecord {
    fn of(record: &Record) -> ShownRecord {
        let h = &record.header;
        ShownRecord { seq: h.seq, from: h.from.clone(), element: glance(&record.body).element }
    }
}

/// A model that was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedModel {
    /// The record of its start, for `systole context`.
    pub seq: u64,
    /// The model.
    pub model: String,
    /// The record and the content of its result; `None` if the log has none.
    pub result: Option<AskedModelOutcome>,
    attempt: u32,
    entry: u64,
}

/// The outcome of a model request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedModelOutcome {
    /// The record.
    pub seq: u64,
    /// Why it stopped.
    pub stop: String,
    /// Tokens, if known.
    pub tokens: Option<u64>,
    /// Money, if known.
    pub money: Option<String>,
}

/// The call and the turn in which a listener sent it; `None` for records of the core or of outsiders.
pub(crate) fn said_in(record: &Record) -> Option<(CallPath, u32)> {
    let h = &record.header;
    let call = h.call.as_ref()?;
    match (h.kind, h.code) {
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::ToAll | MessageRole::ToFirst))) => {
            call.caller().map(|(call, turn, _)| (call, turn))
        }
        (
            RecordKind::Message,
            Some(RecordCode::Role(
                MessageRole::Call | MessageRole::Note | MessageRole::Steer | MessageRole::Final,
            )),
        )
        | (RecordKind::Outcome, Some(RecordCode::Handled))
        | (RecordKind::Journal, _) => Some((call.clone(), h.turn?)),
        (RecordKind::Refusal, _) => h.ordinal.and(h.turn).map(|turn| (call.clone(), turn)),
        _ => primitives::find_recorded(h).and(h.turn).map(|turn| (call.clone(), turn)),
    }
}

/// Reads the turn of a record. For a person's amendment it shows the new payload, which is in the record before.
pub(super) fn read(
    reader: &dyn LogReader,
    record: &Record,
    why: &CauseKind,
    cause: Option<&Record>,
) -> Result<Option<SenderTurn>, LogFault> {
    let h = &record.header;
    if h.code == Some(RecordCode::Approving(ApprovalEffect::Amended)) {
        let mut shown = Vec::new();
        back(reader, &h.thread, h.seq, |earlier| {
            let is_it = earlier.header.code == Some(RecordCode::Approving(ApprovalEffect::Amendment));
            shown.extend(is_it.then(|| ShownRecord::of(earlier)));
            ControlFlow::Break(())
        })?;
        return Ok(Some(SenderTurn { shown, ..SenderTurn::default() }));
    }
    let (CauseKind::Turn { call, number, .. }, Some(cause)) = (why, cause) else { return Ok(None) };
    let mut turn = SenderTurn::default();
    if h.code == Some(RecordCode::Journaling(JournalEffect::Result)) {
        turn.during(record, call, *number);
    }
    let opened = cause.header.seq;
    back(reader, &h.thread, h.seq, |earlier| match earlier.header.seq > opened {
        true => {
            turn.during(earlier, call, *number);
            ControlFlow::Continue(())
        }
        false => ControlFlow::Break(()),
    })?;
    if *number > 1 {
        turn.before(reader, cause, call, *number)?;
    }
    turn.shown.sort_by_key(|shown| shown.seq);
    turn.models.sort_by_key(|asked| asked.seq);
    // Starts are read after their results, because results come later in the log.
    turn.models.retain(|asked| !asked.model.is_empty());
    Ok(Some(turn))
}

impl SenderTurn {
    /// Takes a record made during the turn, newest first.
    fn during(&mut self, record: &Record, call: &CallPath, number: u32) {
        let h = &record.header;
        if h.call.as_ref() != Some(call) {
            return;
        }
        match (h.kind, h.code) {
            (RecordKind::Journal, _) if h.turn == Some(number) => self.journal(record),
            (RecordKind::Attempt, _) if h.turn == Some(number) => {
                let attempt = core_payload::next_attempt(&record.body).map(|attempt| attempt.number);
                self.attempt = self.attempt.or(attempt.filter(|attempt| *attempt > 1));
            }
            (
                RecordKind::Approval,
                Some(RecordCode::Approving(ApprovalEffect::Approved | ApprovalEffect::Amended)),
            ) => {
                let by =
                    approval_payload::read_decided(&record.body).and_then(|said| Name::parse(&said.by).ok());
                self.shown.push(ShownRecord {
                    from: by.unwrap_or_else(Name::new_person),
                    ..ShownRecord::of(record)
                });
            }
            _ => {}
        }
    }

    fn journal(&mut self, record: &Record) {
        let seq = record.header.seq;
        let Ok(EarlierEntry { attempt, id, entry }) = EarlierEntry::from_body(&record.body) else { return };
        match entry {
            JournalEntry::Result(outcome) => {
                let (tokens, money) = (outcome.count_tokens(), outcome.money.map(|money| money.to_string()));
                let result = Some(AskedModelOutcome { seq, stop: outcome.stop, tokens, money });
                self.models.push(AskedModel {
                    seq,
                    model: String::new(),
                    result,
                    attempt,
                    entry: outcome.of,
                });
            }
            JournalEntry::Started(started) => {
                let is_its = |asked: &&mut AskedModel| asked.attempt == attempt && asked.entry == id;
                match self.models.iter_mut().find(is_its) {
                    Some(asked) => (asked.seq, asked.model) = (seq, started.model),
                    None => {
                        let model = started.model;
                        self.models.push(AskedModel { seq, model, result: None, attempt, entry: id });
                    }
                }
            }
        }
    }

    /// Collects what the turn was shown: the answers to the items of the previous turn, and what came unasked since
    /// that turn was due. The items of the previous turn name as their cause the record that made it due.
    fn before(
        &mut self,
        reader: &dyn LogReader,
        opened: &Record,
        call: &CallPath,
        number: u32,
    ) -> Result<(), LogFault> {
        let mut until = None;
        back(reader, &opened.header.thread, opened.header.seq + 1, |record| {
            let h = &record.header;
            if opens(record).is_some_and(|opened| opened == *call) || until == Some(h.id) {
                return ControlFlow::Break(());
            }
            if said_in(record).is_some_and(|(said, turn)| said == *call && turn + 1 == number) && number > 2 {
                until = until.or(h.cause);
            }
            if h.seq != opened.header.seq && is_shown(record, call, number) {
                self.shown.push(ShownRecord::of(record));
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }
}

/// Whether a record from before the turn was due is part of what the turn is shown.
fn is_shown(record: &Record, call: &CallPath, number: u32) -> bool {
    let h = &record.header;
    let is_in_inbox = h.call.as_ref() == Some(call);
    let is_item = is_in_inbox && h.turn.is_some_and(|turn| turn + 1 == number) && h.ordinal.is_some();
    let answers = h.call.as_ref().and_then(CallPath::caller);
    let is_answer = answers.is_some_and(|(caller, turn, _)| caller == *call && turn + 1 == number);
    match (h.kind, h.code) {
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Inbox | MessageRole::WrapUp)))
        | (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Fired)))
        | (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Steered))) => is_in_inbox,
        // A refusal is the answer to its item. Recording is the only answer to a note, and its sender sees nothing of
        // it.
        (RecordKind::Refusal, _) => is_item,
        (RecordKind::Outcome, Some(RecordCode::DeadLetter)) => false,
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Answer | MessageRole::Final)))
        | (RecordKind::Outcome, _) => is_answer,
        _ => false,
    }
}
