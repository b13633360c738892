//! Finds the record that caused another, by the id in its header, without reading the whole log.
//!
//! A record counts only if it continues the chain of its thread, and a cause only if it comes before its effect. An
//! id contains the millisecond in which its record was made, so a thread is searched by bisection. Only if a clock
//! was set back is it read record by record. Records come in and go out.

use std::ops::ControlFlow;

use systole_core::pump::primitives;
use systole_core::rules::{approval_payload, core_payload, question};
use systole_core::types::ids::{CallPath, MessageId, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord, Position};
use systole_core::types::record::{
    MessageRole, Record, RecordCode, RecordKind, SteerEffect, TimerEffect, head_zero,
};
use systole_core::types::time::Millis;

use crate::limits;

fn make_damage(position: Position, why: String) -> LogFault {
    LogFault::Damaged { path: "the log".to_owned(), position, why }
}

/// A record by its number, checked against the record before it; `None` if the thread has no such record.
pub fn at(reader: &dyn LogReader, thread: &ThreadId, seq: u64) -> Result<Option<PlacedRecord>, LogFault> {
    let mut page = reader.of_thread(thread, seq.saturating_sub(1).max(1), 2)?;
    page.retain(|(_, record)| record.header.seq <= seq);
    let Some((position, record)) = page.pop() else { return Ok(None) };
    if record.header.seq < seq {
        return Ok(None);
    }
    let before = match page.pop() {
        Some((_, before)) => before.head,
        None if seq == 1 => head_zero(thread),
        None => {
            return Err(make_damage(position, format!("the record before #{seq} of {thread} is missing")));
        }
    };
    if !record.is_valid_after(before) {
        let why = format!("record {seq} of thread {thread} does not follow the one before it");
        return Err(make_damage(position, why));
    }
    Ok(Some((position, record)))
}

/// The last record of a thread.
pub fn last(reader: &dyn LogReader, thread: &ThreadId) -> Result<Option<PlacedRecord>, LogFault> {
    let end = first_after(|seq| Ok(!reader.of_thread(thread, seq, 1)?.is_empty()))?;
    at(reader, thread, end.saturating_sub(1))
}

/// The first number for which the condition is false. Once false, the condition must stay false.
pub fn first_after(is_so: impl Fn(u64) -> Result<bool, LogFault>) -> Result<u64, LogFault> {
    let (mut low, mut high) = (1, 2);
    while is_so(high)? {
        (low, high) = (high, high * 2);
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_so(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Shows the records of a thread before a number, newest first, until `look` stops.
pub fn back<T>(
    reader: &dyn LogReader,
    thread: &ThreadId,
    before: u64,
    mut look: impl FnMut(&Record) -> ControlFlow<T>,
) -> Result<Option<T>, LogFault> {
    let mut end = before;
    while end > 1 {
        let from = end.saturating_sub(limits::LOG_PAGE_FIRST as u64).max(1);
        let page = reader.of_thread(thread, from, usize::try_from(end - from).unwrap_or(usize::MAX))?;
        for (_, record) in page.iter().rev().filter(|(_, record)| record.header.seq < end) {
            if let ControlFlow::Break(found) = look(record) {
                return Ok(Some(found));
            }
        }
        end = from;
    }
    Ok(None)
}

/// The record that a record's header names as its cause; `None` if it names none.
pub fn find_named(
    reader: &dyn LogReader,
    (position, record): &PlacedRecord,
) -> Result<Option<PlacedRecord>, LogFault> {
    let h = &record.header;
    let Some(id) = h.cause else { return Ok(None) };
    let threads = likely(record);
    let mut found = None;
    for thread in &threads {
        if found.is_none() {
            found = by_bisection(reader, thread, id)?.map(|seq| (thread.clone(), seq));
        }
    }
    if found.is_none() {
        found = read_through(reader, *position, id)?;
    }
    let cause = match &found {
        Some((thread, seq)) => at(reader, thread, *seq)?.filter(|(before, _)| before < position),
        None => None,
    };
    let why = || format!("the cause of #{} of thread {} is not an earlier record", h.seq, h.thread);
    cause.map(Some).ok_or_else(|| make_damage(*position, why()))
}

/// Threads that may hold the cause of a record, likeliest first.
fn likely(record: &Record) -> Vec<ThreadId> {
    let h = &record.header;
    let elsewhere = match (h.kind, h.code) {
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Begin)))
        | (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Steered))) => h.thread.parent(),
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Inbox))) => {
            core_payload::finished_child(&record.body)
        }
        (RecordKind::Approval, _) if h.thread.is_sys() => {
            let of_approval = approval_payload::read_request(&record.body).map(|request| request.thread);
            of_approval.or_else(|| question::read_asked(&record.body).map(|asked| asked.thread))
        }
        _ => None,
    };
    elsewhere.into_iter().chain([h.thread.clone()]).collect()
}

/// The time at which the record with that id was made.
fn time_of(id: MessageId) -> Millis {
    let [a, b, c, d, e, f, ..] = id.0;
    Millis(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
}

/// The number of the record with that id, if the thread's times are in order.
fn by_bisection(reader: &dyn LogReader, thread: &ThreadId, id: MessageId) -> Result<Option<u64>, LogFault> {
    let moment = time_of(id);
    let low = first_after(|seq| {
        let page = reader.of_thread(thread, seq, 1)?;
        Ok(page.first().is_some_and(|(_, record)| record.header.time < moment))
    })?;
    for placed in reader.records_of(thread, low) {
        let (_, record) = placed?;
        if record.header.id == id {
            return Ok(Some(record.header.seq));
        }
        if record.header.time > moment {
            break;
        }
    }
    Ok(None)
}

/// The record with that id, found by reading the log up to a position: for clocks that were set back.
fn read_through(
    reader: &dyn LogReader,
    until: Position,
    id: MessageId,
) -> Result<Option<(ThreadId, u64)>, LogFault> {
    for placed in reader.records_after(Position(0)).up_to(until) {
        let (_, record) = placed?;
        if record.header.id == id {
            return Ok(Some((record.header.thread, record.header.seq)));
        }
    }
    Ok(None)
}

/// The record that opened a call, before a number of its thread.
pub fn opening(
    reader: &dyn LogReader,
    thread: &ThreadId,
    call: &CallPath,
    before: u64,
) -> Result<Option<PlacedRecord>, LogFault> {
    let seq =
        back(reader, thread, before, |record| match opens(record).is_some_and(|opened| opened == *call) {
            true => ControlFlow::Break(record.header.seq),
            false => ControlFlow::Continue(()),
        })?;
    seq.map_or(Ok(None), |seq| at(reader, thread, seq))
}

/// The call that a record opens.
pub fn opens(record: &Record) -> Option<CallPath> {
    let h = &record.header;
    match (h.kind, h.code) {
        (
            RecordKind::Message,
            Some(RecordCode::Role(
                MessageRole::Request
                | MessageRole::Begin
                | MessageRole::ToAll
                | MessageRole::ToFirst
                | MessageRole::Tell,
            )),
        )
        | (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Opens))) => h.call.clone(),
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Call))) => {
            Some(h.call.as_ref()?.append_item(h.turn?, h.ordinal?))
        }
        _ => None,
    }
}

/// The item that ended a thread, if the thread's last record names no cause: both are in the same commit.
pub fn cancelling(
    reader: &dyn LogReader,
    (position, end): &PlacedRecord,
) -> Result<Option<PlacedRecord>, LogFault> {
    let from = Position(position.0.saturating_sub(limits::COMMIT_RECORDS + 1));
    let page = reader.read_after(from, usize::try_from(position.0 - from.0).unwrap_or(usize::MAX))?;
    let is_it = |record: &Record| {
        let h = &record.header;
        let ending = primitives::find_recorded(h).filter(|one| one.ends_threads && h.time == end.header.time);
        let named = ending.map_or_else(Vec::new, |one| (one.names)(&record.body));
        named.iter().any(|id| end.header.thread.is_within(id))
    };
    match page.iter().rev().find(|(_, record)| is_it(record)) {
        Some((_, item)) => at(reader, &item.header.thread, item.header.seq),
        None => Ok(None),
    }
}
