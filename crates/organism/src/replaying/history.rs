//! What the records of a tree say about its inputs: what came from outside, and what each listener said in each attempt
//! at a turn. It is derived from the records alone; nothing is decided here.

use std::collections::HashMap;

use systole_core::pump::cancelling::CANCELLED_BY;
use systole_core::rules::core_payload::AttemptState;
use systole_core::rules::{approval_payload, core_payload, question};
use systole_core::types::codes::Code;
use systole_core::types::ids::{AttemptId, CallPath, Name, ThreadId};
use systole_core::types::ports::Position;
use systole_core::types::record::{
    ApprovalEffect, MessageRole, Record, RecordCode, RecordKind, SteerEffect, TimerEffect,
};
use systole_core::types::time::Millis;
use systole_kit::journal::{EarlierEntry, JournalEntry};

use super::equality::is_count;
use super::tree_records::RecordedTree;
use crate::limits;

/// The words of an attempt that was lost because the pump stopped. The pump finds this out itself, at its next start.
const WITH_PUMP: &str = "the pump stopped while the delivery may have been out";
/// The beginning of a failure that the pump adds a remark to, and the end of that remark.
const UNKNOWN: (&str, &str) = ("lost after its model call began", " has no result; ");

/// A position of the log, and the time of its record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct RecordedMoment {
    pub(super) position: Position,
    pub(super) time: Millis,
}

/// A turn of a call.
pub(super) type TurnPlace = (ThreadId, CallPath, u32);

/// What a listener said before its reply.
#[derive(Clone, Debug)]
pub(super) enum SaidBefore {
    /// A journal entry.
    Journal { id: u64, entry: JournalEntry },
    /// A notice.
    Notice { code: String, words: String },
    /// A question that was refused, by the index of its record. Questions that are answered leave no record.
    Refused(usize),
    /// Not said: what happened to the attempt meanwhile.
    State(AttemptState),
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub(super) enum AttemptEnd {
    /// With a reply.
    Replied(RecordedMoment),
    /// Without a reply, or with a failure that may be tried again.
    Failed {
        at: RecordedMoment,
        code: Code,
        /// The code of the first cause, if its listener said one.
        first_code: Option<String>,
        words: String,
        is_last: bool,
        /// Who was away, in one word, if the call waited for it.
        outage: Option<String>,
    },
    /// With the pump, which finds out itself.
    WithPump,
    /// A worker on another machine may have had it, and it was taken for lost, for this reason.
    LostWithPump(String),
}

/// One attempt at a turn.
#[derive(Clone, Debug, Default)]
pub(super) struct AttemptHistory {
    pub(super) said: Vec<(RecordedMoment, SaidBefore)>,
    pub(super) end: Option<AttemptEnd>,
}

/// An input from outside.
#[derive(Clone, Debug)]
pub(super) enum OutsideInput {
    /// A message that opens a call.
    Asked,
    /// A message for the call that is open.
    Steered,
    /// A thread is paused or resumed.
    Paused { halts: bool },
    /// A thread is cancelled.
    Cancelled,
    /// A call that waited is cancelled, by that client.
    CallCancelled(Name),
    /// A top call is stopped, by that client.
    Stopped(Name),
    /// A failed root is tried again.
    Retried,
    /// A root at rest is ended.
    Ended,
    /// A person decides about a request.
    Ruled,
    /// A message from a client that was refused.
    Refused,
    /// A document of a listener for a delivery that was over.
    Late,
    /// An attempt that is not out waits, or goes on.
    Attempted(AttemptId, AttemptState),
}

/// The history of a tree.
#[derive(Default)]
pub(super) struct TreeHistory {
    /// The attempts at each turn, from the first.
    pub(super) turns: HashMap<TurnPlace, Vec<AttemptHistory>>,
    /// The records of the items of each reply, by index.
    pub(super) items: HashMap<TurnPlace, Vec<usize>>,
    /// The sender names that replies claimed.
    pub(super) claims: HashMap<TurnPlace, String>,
    /// The record with the payload of each call, by index.
    pub(super) openings: HashMap<(ThreadId, CallPath), usize>,
    /// The inputs from outside, with the index of their record.
    pub(super) inputs: HashMap<usize, OutsideInput>,
    /// The positions that show that a delivery of a call was out.
    pub(super) deliveries: HashMap<Position, (ThreadId, CallPath)>,
    /// Records that count refusals. A replay does not make them.
    pub(super) counted: usize,
    tracks: HashMap<(ThreadId, CallPath), CallTrack>,
}

/// Where a call is while its records are read.
struct CallTrack {
    turn: u32,
    attempt: u32,
    /// A dead letter whose reason follows.
    dead: Option<(RecordedMoment, u32)>,
    /// Whether its last record was the decision of a person about an attempt.
    was_ruled: bool,
}

impl Default for CallTrack {
    fn default() -> CallTrack {
        CallTrack { turn: 1, attempt: 1, dead: None, was_ruled: false }
    }
}

impl TreeHistory {
    /// The history that these records tell.
    pub(super) fn from_tree(tree: &RecordedTree) -> TreeHistory {
        let mut history = TreeHistory::default();
        for (at, (position, record)) in tree.records.iter().enumerate() {
            history.take_record(tree, at, *position, record);
        }
        history
    }

    /// An attempt at a turn, if it is recorded.
    pub(super) fn find_attempt(&self, place: &TurnPlace, number: u32) -> Option<&AttemptHistory> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.turns.get(place)?.get(index)
    }

    /// Changes an attempt at a turn. A number that a log claims is bounded by the attempts before it.
    fn change_attempt(&mut self, place: &TurnPlace, number: u32, change: impl FnOnce(&mut AttemptHistory)) {
        let attempts = self.turns.entry(place.clone()).or_default();
        let index = usize::try_from(number).unwrap_or(1).saturating_sub(1).min(attempts.len());
        if attempts.len() == index {
            attempts.push(AttemptHistory::default());
        }
        if let Some(attempt) = attempts.get_mut(index) {
            change(attempt);
        }
    }

    fn end_attempt(&mut self, place: &TurnPlace, number: u32, end: AttemptEnd) {
        if let AttemptEnd::Replied(at) | AttemptEnd::Failed { at, .. } = &end {
            self.deliveries.insert(at.position, (place.0.clone(), place.1.clone()));
        }
        self.change_attempt(place, number, |attempt| attempt.end = attempt.end.take().or(Some(end)));
    }

    fn add_words(&mut self, place: &TurnPlace, number: u32, at: RecordedMoment, said: SaidBefore) {
        self.deliveries.insert(at.position, (place.0.clone(), place.1.clone()));
        self.change_attempt(place, number, |attempt| attempt.said.push((at, said)));
    }

    fn take_record(&mut self, tree: &RecordedTree, at: usize, position: Position, record: &Record) {
        let h = &record.header;
        let moment = RecordedMoment { position, time: h.time };
        if let Some(input) = find_outside_input(tree, at, record) {
            self.inputs.insert(at, input);
        }
        let Some(path) = &h.call else {
            self.counted += usize::from(is_count(record));
            return;
        };
        self.open_call(at, record, path);
        let call = (h.thread.clone(), path.clone());
        if let Some((caller, turn)) = find_item(record) {
            let place = (h.thread.clone(), caller, turn);
            self.end_replied(&place, moment);
            self.items.entry(place).or_default().push(at);
            return;
        }
        match (h.kind, h.code) {
            (RecordKind::Refusal, _) => self.take_refused_word(&call, at, moment),
            (RecordKind::Journal, _) => self.take_journal(&call, h.turn, moment, record),
            (RecordKind::Attempt, _) => self.take_attempt(&call, at, moment, record),
            (RecordKind::Approval, Some(RecordCode::Approving(effect))) => {
                self.take_approval(&call, moment, effect, record);
                return;
            }
            (RecordKind::Outcome, Some(RecordCode::DeadLetter)) => {
                let track = self.tracks.entry(call).or_default();
                track.dead = (!track.was_ruled).then_some((moment, track.attempt));
            }
            (RecordKind::Outcome, code) => self.take_outcome(&call, moment, code, record),
            (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Reopened))) => {
                self.take_reopening(&call, h.turn);
            }
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Inbox))) => {
                self.take_inbox(&call, moment, record);
            }
            _ => {}
        }
        if let Some(track) = self.tracks.get_mut(&(h.thread.clone(), path.clone())) {
            track.was_ruled = false;
        }
    }

    /// Notes the record whose payload a call works on.
    fn open_call(&mut self, at: usize, record: &Record, path: &CallPath) {
        let h = &record.header;
        let opened = match (h.code, h.turn, h.ordinal) {
            (Some(RecordCode::Role(MessageRole::Call)), Some(turn), Some(ordinal)) => {
                path.append_item(turn, ordinal)
            }
            (
                Some(
                    RecordCode::Role(
                        MessageRole::Request
                        | MessageRole::Begin
                        | MessageRole::Tell
                        | MessageRole::ToAll
                        | MessageRole::ToFirst,
                    )
                    | RecordCode::Timing(TimerEffect::Opens)
                    | RecordCode::Approving(ApprovalEffect::Amendment),
                ),
                ..,
            ) => path.clone(),
            _ => return,
        };
        self.openings.insert((h.thread.clone(), opened), at);
    }

    /// The turn was replied to, unless its attempt has ended in another way.
    fn end_replied(&mut self, place: &TurnPlace, moment: RecordedMoment) {
        let (thread, path, turn) = place;
        let track = self.tracks.entry((thread.clone(), path.clone())).or_default();
        let number = if track.turn == *turn { track.attempt } else { 1 };
        if track.turn <= *turn {
            (track.turn, track.attempt) = (turn.saturating_add(1), 1);
            self.end_attempt(place, number, AttemptEnd::Replied(moment));
        }
    }

    fn find_due(&mut self, call: &(ThreadId, CallPath)) -> (TurnPlace, u32) {
        let track = self.tracks.entry(call.clone()).or_default();
        ((call.0.clone(), call.1.clone(), track.turn), track.attempt)
    }

    fn take_journal(
        &mut self,
        call: &(ThreadId, CallPath),
        turn: Option<u32>,
        moment: RecordedMoment,
        record: &Record,
    ) {
        let Ok(EarlierEntry { attempt, id, entry }) = EarlierEntry::from_body(&record.body) else { return };
        let place = (call.0.clone(), call.1.clone(), turn.unwrap_or(1));
        self.add_words(&place, attempt, moment, SaidBefore::Journal { id, entry });
    }

    fn take_attempt(
        &mut self,
        call: &(ThreadId, CallPath),
        at: usize,
        moment: RecordedMoment,
        record: &Record,
    ) {
        let turn = record.header.turn;
        if let Some(state) = core_payload::read_attempt_state(&record.body) {
            return self.take_state(call, at, moment, state);
        }
        let Some(next) = core_payload::read_attempt(&record.body) else { return };
        self.deliveries.insert(moment.position, call.clone());
        let track = self.tracks.entry(call.clone()).or_default();
        let (before, was_ruled) = (track.attempt, track.was_ruled);
        track.turn = turn.unwrap_or(track.turn);
        track.attempt = next.number.max(1);
        let place = (call.0.clone(), call.1.clone(), track.turn);
        if let (Some(code), false) = (next.code, next.number <= 1 || was_ruled) {
            self.end_attempt(&place, before, build_end(moment, code, next.words, next.with_pump, false));
        }
    }

    /// What happened to an attempt between its begin and its end. If it was not out then, the pump is given it again.
    fn take_state(
        &mut self,
        call: &(ThreadId, CallPath),
        at: usize,
        moment: RecordedMoment,
        state: AttemptState,
    ) {
        let (place, number) = self.find_due(call);
        match state {
            AttemptState::Waits { outage, after: Some(code), words } => {
                let track = self.tracks.entry(call.clone()).or_default();
                track.attempt = number.saturating_add(1);
                let (is_last, outage) = (false, Some(outage));
                self.end_attempt(
                    &place,
                    number,
                    AttemptEnd::Failed { at: moment, code, first_code: None, words, is_last, outage },
                );
            }
            AttemptState::Waits { ref outage, .. } | AttemptState::GoesOn(ref outage)
                if !limits::is_with_broker(outage) =>
            {
                let (thread, call, turn) = place;
                let id = AttemptId { thread, call, turn, attempt: number };
                self.inputs.insert(at, OutsideInput::Attempted(id, state));
            }
            state => self.add_words(&place, number, moment, SaidBefore::State(state)),
        }
    }

    fn take_approval(
        &mut self,
        call: &(ThreadId, CallPath),
        moment: RecordedMoment,
        effect: ApprovalEffect,
        record: &Record,
    ) {
        let (place, attempt) = self.find_due(call);
        if let Some(unknown) = approval_payload::read_unknown(&record.body) {
            self.deliveries.insert(moment.position, call.clone());
            // `attempt N: CODE: WORDS`
            let parts = unknown.split_once(": ").and_then(|(_, rest)| rest.split_once(": "));
            let (code, words) = parts.unwrap_or(("", ""));
            let code = Code::parse(code).unwrap_or(Code::ListenerLost);
            self.end_attempt(
                &place,
                attempt,
                build_end(moment, code, words.to_owned(), words == WITH_PUMP, false),
            );
        }
        if effect != ApprovalEffect::Requested
            && let Some(track) = self.tracks.get_mut(call)
        {
            track.was_ruled = true;
        }
    }

    /// The record that closes a call.
    fn take_outcome(
        &mut self,
        call: &(ThreadId, CallPath),
        moment: RecordedMoment,
        code: Option<RecordCode>,
        record: &Record,
    ) {
        let (place, attempt) = self.find_due(call);
        let dead = self.tracks.get_mut(call).and_then(|track| track.dead.take());
        if let Some((at, attempt)) = dead {
            self.deliveries.insert(at.position, call.clone());
            let words = core_payload::error_words(&record.body).map(|(_, words)| words).unwrap_or_default();
            // The words begin with the listener, for the caller.
            let words = words.split_once(": ").map_or(words.clone(), |(_, rest)| rest.to_owned());
            let code = match code {
                Some(RecordCode::Code(code)) => code,
                _ => Code::ListenerFailed,
            };
            let with_pump = words.contains(WITH_PUMP);
            let mut end = build_end(at, code, words, with_pump, true);
            if let AttemptEnd::Failed { first_code, .. } = &mut end {
                *first_code = core_payload::read_first_code(&record.body);
            }
            self.end_attempt(&place, attempt, end);
            return;
        }
        let is_empty_reply = match code {
            Some(RecordCode::Handled | RecordCode::Code(Code::ListenerSilent)) => true,
            // The wrap-up turn brought no final. A time that is over closes a call without a reply.
            Some(RecordCode::Code(code)) => {
                record.header.turn.is_some() && code != Code::TimeBudget && code.family() == "budget"
            }
            _ => false,
        };
        if is_empty_reply {
            self.end_replied(&place, moment);
        } else {
            // The call was closed while its listener worked, or before.
            self.end_attempt(&place, attempt, AttemptEnd::WithPump);
        }
    }

    /// A failed call is open again: its turn has the next attempt.
    fn take_reopening(&mut self, call: &(ThreadId, CallPath), turn: Option<u32>) {
        let track = self.tracks.entry(call.clone()).or_default();
        track.turn = turn.unwrap_or(track.turn);
        let place = (call.0.clone(), call.1.clone(), track.turn);
        let made = self.turns.get(&place).map_or(1, Vec::len).max(1);
        (track.attempt, track.dead) = (u32::try_from(made).unwrap_or(u32::MAX).saturating_add(1), None);
    }

    /// A journal entry or a question was refused. The log keeps the entry.
    fn take_refused_word(&mut self, call: &(ThreadId, CallPath), at: usize, moment: RecordedMoment) {
        let (place, attempt) = self.find_due(call);
        self.add_words(&place, attempt, moment, SaidBefore::Refused(at));
    }

    fn take_inbox(&mut self, call: &(ThreadId, CallPath), moment: RecordedMoment, record: &Record) {
        let Some((code, words)) = core_payload::error_words(&record.body) else { return };
        let (place, attempt) = self.find_due(call);
        match Code::parse(&code) {
            None => {
                let notice = SaidBefore::Notice { code, words };
                self.add_words(&place, attempt, moment, notice);
            }
            Some(Code::FalseSender) => {
                let claimed = systole_kit::Payload::from_trusted(record.body.clone());
                let claimed = claimed.ok().and_then(|payload| payload.text_of("received"));
                self.claims.extend(claimed.map(|claimed| (place.clone(), claimed)));
            }
            Some(_) => {}
        }
    }
}

/// How an attempt ended, from the words that are recorded about it.
fn build_end(at: RecordedMoment, code: Code, words: String, with_pump: bool, is_last: bool) -> AttemptEnd {
    if with_pump {
        return AttemptEnd::LostWithPump(words);
    }
    if code == Code::UnknownOutcome
        && words.starts_with(UNKNOWN.0)
        && let Some((_, original)) = words.split_once(UNKNOWN.1)
        && let Some((code, words)) = original.split_once(": ")
        && let Some(code) = Code::parse(code)
    {
        return AttemptEnd::Failed {
            at,
            code,
            first_code: None,
            words: words.to_owned(),
            is_last,
            outage: None,
        };
    }
    AttemptEnd::Failed { at, code, first_code: None, words, is_last, outage: None }
}

/// The call whose reply has this record as an item, and the turn.
fn find_item(record: &Record) -> Option<(CallPath, u32)> {
    let h = &record.header;
    let path = h.call.as_ref()?;
    match path.taker_number() {
        Some(_) if matches!(h.code, Some(RecordCode::Role(MessageRole::ToAll | MessageRole::ToFirst))) => {
            let (caller, turn, _) = path.caller()?;
            Some((caller, turn))
        }
        _ => {
            h.ordinal?;
            Some((path.clone(), h.turn?))
        }
    }
}

/// The input from outside that this record was made from.
fn find_outside_input(tree: &RecordedTree, at: usize, record: &Record) -> Option<OutsideInput> {
    let h = &record.header;
    Some(match (h.kind, h.code?) {
        (RecordKind::Message, RecordCode::Role(MessageRole::Request)) => OutsideInput::Asked,
        (RecordKind::Steer, RecordCode::Steering(SteerEffect::Steered)) if h.key.is_some() => {
            OutsideInput::Steered
        }
        (RecordKind::Refusal, RecordCode::Code(Code::StaleLease)) if h.call.is_none() => OutsideInput::Late,
        (RecordKind::Refusal, _) if h.call.is_none() && !is_count(record) => OutsideInput::Refused,
        (RecordKind::Steer, RecordCode::Steering(SteerEffect::Paused)) => {
            OutsideInput::Paused { halts: true }
        }
        (RecordKind::Steer, RecordCode::Steering(SteerEffect::Resumed)) => {
            OutsideInput::Paused { halts: false }
        }
        (RecordKind::Steer, RecordCode::Steering(SteerEffect::Reopened)) => OutsideInput::Retried,
        (RecordKind::Terminal, RecordCode::Ended) => OutsideInput::Ended,
        (RecordKind::Terminal, _) if is_cancelled_outside(tree, at, record) => OutsideInput::Cancelled,
        (RecordKind::Outcome, RecordCode::Code(Code::CancelledThread)) => find_canceller(record)?,
        (
            RecordKind::Approval,
            RecordCode::Approving(
                ApprovalEffect::Approved | ApprovalEffect::Amended | ApprovalEffect::Rejected,
            ),
        ) => OutsideInput::Ruled,
        (RecordKind::Message, RecordCode::Role(MessageRole::Answer)) => {
            let said = question::read_said(&record.body)?;
            said.by.is_some().then_some(OutsideInput::Ruled)?
        }
        _ => return None,
    })
}

/// The order of a client that cancelled a call.
fn find_canceller(record: &Record) -> Option<OutsideInput> {
    let (_, words) = core_payload::error_words(&record.body)?;
    let by = words.strip_prefix(CANCELLED_BY)?;
    match by.split_once(": ") {
        Some((by, _)) => Name::parse(by).ok().map(OutsideInput::CallCancelled),
        None => Name::parse(by).ok().map(OutsideInput::Stopped),
    }
}

/// Whether an order from outside ended this thread. Otherwise the end of its parent did, or its parent's call.
fn is_cancelled_outside(tree: &RecordedTree, at: usize, record: &Record) -> bool {
    let h = &record.header;
    if h.to.as_ref().is_none_or(|by| *by == Name::new_core()) {
        return false;
    }
    let near = tree
        .records
        .iter()
        .skip(at.saturating_sub(limits::REPLAY_NEAR))
        .take(2 * limits::REPLAY_NEAR)
        .map(|(_, other)| other);
    let mut same_time = near.filter(|other| other.header.time == h.time);
    let is_cause = |other: &Record| {
        let is_above = h.thread != other.header.thread && h.thread.is_within(&other.header.thread);
        let ends = other.header.kind == RecordKind::Terminal && is_above;
        let named = core_payload::read_attributes(&other.body, "cancel-thread", ["id"]);
        let named = named.and_then(|[id]| ThreadId::parse(&id?).ok());
        let names = other.header.code == Some(RecordCode::Role(MessageRole::CancelThread))
            && named.is_some_and(|named| h.thread.is_within(&named));
        ends || names
    };
    !same_time.any(is_cause)
}
