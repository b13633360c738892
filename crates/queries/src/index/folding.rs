//! What each record changes in an index.
//!
//! A change depends only on the record and on what the index has of the records before it, so an index that grew in many
//! steps is equal to one that was made at once. The rules that open and close calls are those of the fold in the core.

use systole_core::rules::core_payload;
use systole_core::types::ids::CallPath;
use systole_core::types::ports::Position;
use systole_core::types::record::{
    Header, MessageRole, Record, RecordCode, RecordKind, SteerEffect, TimerEffect,
};
use systole_core::types::thread_choice::ThreadName;
use systole_kit::journal::{EarlierEntry, JournalEntry};
use systole_log::index::{
    HourKey, HourSum, IndexBatch, IndexFault, OpenCall, OpenRequest, RequestKey, RootRow, SlowRow,
};
use systole_show::columns::plain;

use super::closing::{ANSWERED, CANCELLED, CallEnd, FAILED};
use crate::anew::claimed_source;
use crate::costs::CostRow;
use crate::glance::glance;
use crate::limits::HOUR_MS;

/// A request to a model without a result.
pub(crate) const UNKNOWN: &str = "unknown";

/// Adds records to an index.
pub(super) struct IndexFold {
    /// Whether the index is made from the first record on, of a log from which everything erased is gone already.
    pub(super) is_from_start: bool,
}

impl IndexFold {
    /// Adds a record.
    pub(super) fn add_record(
        &self,
        batch: &mut IndexBatch<'_>,
        position: Position,
        record: &Record,
    ) -> Result<(), IndexFault> {
        let h = &record.header;
        if h.kind == RecordKind::Refusal {
            count_refusal(batch, record);
        }
        if h.thread.is_sys() {
            if !self.is_from_start && core_payload::read_erased(&record.body).is_some() {
                return Err(IndexFault::Stale("it was made before something was erased".to_owned()));
            }
            return Ok(());
        }
        if h.thread.parent().is_none() {
            note_root(batch, position, record)?;
        }
        match (h.kind, h.code) {
            (RecordKind::Message, Some(RecordCode::Role(role))) => add_message(batch, position, record, role),
            (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Opens))) => {
                open_call(batch, h, h.call.clone(), false)
            }
            (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Reopened))) => reopen_call(batch, h),
            (RecordKind::Outcome, Some(RecordCode::DeadLetter)) => Ok(()),
            (RecordKind::Outcome, _) => close_call(batch, position, record),
            (RecordKind::Terminal, _) => end_thread(batch, position, record),
            (RecordKind::Journal, _) => add_entry(batch, position, record),
            _ => Ok(()),
        }
    }
}

/// Counts a refusal, or those that one record counts.
fn count_refusal(batch: &mut IndexBatch<'_>, record: &Record) {
    let Some(code) = record.header.code else { return };
    let counted = core_payload::read_attributes(&record.body, "throttled", ["count"]);
    let count = counted.and_then(|[count]| count?.parse().ok()).unwrap_or(1);
    batch.add_refusals(code.as_str(), count);
}

/// Adds a root with its first record, and notes when its last one was made and whether it is paused.
fn note_root(batch: &mut IndexBatch<'_>, position: Position, record: &Record) -> Result<(), IndexFault> {
    let h = &record.header;
    if h.seq == 1 {
        let (element, subject) = describe_request(record);
        batch.add_root(RootRow {
            position: position.0,
            thread: h.thread.to_string(),
            client: h.from.to_string(),
            entry: h.to.as_ref().map(ToString::to_string).unwrap_or_default(),
            element,
            subject,
            opened: h.time.0,
            since: h.time.0,
            name: read_name(h),
            source: claimed_source(record).map(|source| source.to_string()).unwrap_or_default(),
            ..RootRow::default()
        });
        return Ok(());
    }
    let Some(root) = batch.find_root(h.thread.as_str())? else { return Ok(()) };
    root.since = h.time.0;
    match h.code {
        Some(RecordCode::Role(MessageRole::Told)) => {
            if let Some(subject) = core_payload::read_subject(&record.body) {
                root.subject = plain(&subject);
            }
        }
        Some(RecordCode::Steering(SteerEffect::Paused)) => root.is_paused = true,
        Some(RecordCode::Steering(SteerEffect::Resumed)) => root.is_paused = false,
        _ => {}
    }
    Ok(())
}

/// The name of a thread, as the key of its first record has it; empty if it has none.
fn read_name(h: &Header) -> String {
    let name = h.key.as_ref().and_then(ThreadName::from_key);
    name.map(|name| name.as_str().to_owned()).unwrap_or_default()
}

/// The element of a request and what it says, without its sensitive values.
fn describe_request(record: &Record) -> (String, String) {
    let seen = glance(&record.hide_sensitive());
    (seen.element, seen.words)
}

fn add_message(
    batch: &mut IndexBatch<'_>,
    position: Position,
    record: &Record,
    role: MessageRole,
) -> Result<(), IndexFault> {
    let h = &record.header;
    match role {
        MessageRole::Request | MessageRole::Begin | MessageRole::ToAll | MessageRole::ToFirst => {
            open_call(batch, h, h.call.clone(), false)
        }
        MessageRole::Call => {
            let item = h.call.as_ref().and_then(|call| Some(call.append_item(h.turn?, h.ordinal?)));
            open_call(batch, h, item, false)
        }
        MessageRole::Tell => open_call(batch, h, h.call.clone(), true),
        MessageRole::Final => close_call(batch, position, record),
        _ => Ok(()),
    }
}

fn open_call(
    batch: &mut IndexBatch<'_>,
    h: &Header,
    path: Option<CallPath>,
    is_tell: bool,
) -> Result<(), IndexFault> {
    let (Some(path), Some(listener)) = (path, h.to.as_ref()) else { return Ok(()) };
    let call = OpenCall { listener: listener.to_string(), opened: h.time.0, is_tell };
    batch.open_call(h.thread.as_str(), path.as_str(), &call)
}

/// Opens the last call of a root again, which had failed: how it ended is open, and it counts once more when it ends.
fn reopen_call(batch: &mut IndexBatch<'_>, h: &Header) -> Result<(), IndexFault> {
    open_call(batch, h, h.call.clone(), false)?;
    let Some(root) = batch.find_root(h.thread.as_str())? else { return Ok(()) };
    root.retries += 1;
    for word in [&mut root.outcome, &mut root.code, &mut root.first_code] {
        word.clear();
    }
    Ok(())
}

/// Closes the call of a record that is its outcome.
fn close_call(batch: &mut IndexBatch<'_>, position: Position, record: &Record) -> Result<(), IndexFault> {
    let h = &record.header;
    let Some(path) = &h.call else { return Ok(()) };
    let Some(call) = batch.close_call(h.thread.as_str(), path.as_str())? else { return Ok(()) };
    end_call(batch, (position, record), path, &call)
}

/// Counts a call that ended, and notes how the last call from outside ended.
fn end_call(
    batch: &mut IndexBatch<'_>,
    (position, record): (Position, &Record),
    path: &CallPath,
    call: &OpenCall,
) -> Result<(), IndexFault> {
    let (h, end) = (&record.header, CallEnd::of(record));
    let took = h.time.0.saturating_sub(call.opened);
    let client = find_client(batch, h)?;
    let key = HourKey {
        hour: h.time.0 / HOUR_MS,
        listener: call.listener.clone(),
        model: String::new(),
        client,
        outcome: end.outcome.to_owned(),
    };
    let took_signed = i64::try_from(took).unwrap_or(i64::MAX);
    let sum = HourSum { count: 1, took: took_signed, longest: took_signed, ..HourSum::default() };
    batch.add_sum(key.clone(), &sum);
    let thread = h.thread.to_string();
    let slow = SlowRow { took, position: position.0, thread, seq: h.seq, call: path.to_string(), key };
    batch.add_slow(slow);
    if path.depth() > 0 || call.is_tell || h.thread.parent().is_some() {
        return Ok(());
    }
    let Some(root) = batch.find_root(h.thread.as_str())? else { return Ok(()) };
    root.took = root.took.saturating_add(took);
    root.outcome = end.outcome.to_owned();
    (root.code, root.first_code) = (end.code, end.first_code);
    Ok(())
}

/// A thread ends with all calls that are open in it.
fn end_thread(batch: &mut IndexBatch<'_>, position: Position, record: &Record) -> Result<(), IndexFault> {
    let h = &record.header;
    for (path, call) in batch.close_calls(h.thread.as_str())? {
        if let Ok(path) = CallPath::parse(&path) {
            end_call(batch, (position, record), &path, &call)?;
        }
    }
    let Some(root) = batch.find_root(h.thread.as_str())? else { return Ok(()) };
    root.is_ended = true;
    if h.code != Some(RecordCode::Ended) {
        root.outcome = CANCELLED.to_owned();
        let end = CallEnd::of(record);
        (root.code, root.first_code) = (end.code, end.first_code);
    }
    Ok(())
}

/// Counts a request to a model, or its result in the hour in which the request began.
fn add_entry(batch: &mut IndexBatch<'_>, position: Position, record: &Record) -> Result<(), IndexFault> {
    let h = &record.header;
    let Ok(EarlierEntry { attempt, id, entry }) = EarlierEntry::from_body(&record.body) else {
        return Ok(());
    };
    let place = |entry| RequestKey {
        thread: h.thread.to_string(),
        path: h.call.as_ref().map(ToString::to_string).unwrap_or_default(),
        turn: h.turn.unwrap_or_default(),
        attempt,
        entry,
    };
    let client = find_client(batch, h)?;
    let key = |request: &OpenRequest, outcome: &str| HourKey {
        hour: request.started / HOUR_MS,
        listener: request.listener.clone(),
        model: request.model.clone(),
        client: client.clone(),
        outcome: outcome.to_owned(),
    };
    let (mut requests, mut unknown, mut used) = (0, 1, Default::default());
    match entry {
        JournalEntry::Started(started) => {
            let (listener, model) = (h.from.to_string(), started.model);
            let request = OpenRequest { listener, model, started: h.time.0 };
            batch.open_request(&place(id), &request)?;
            batch.add_sum(key(&request, UNKNOWN), &HourSum { count: 1, ..HourSum::default() });
            requests = 1;
        }
        JournalEntry::Result(result) => {
            let Some(request) = batch.close_request(&place(result.of))? else { return Ok(()) };
            batch.add_sum(key(&request, UNKNOWN), &HourSum { count: -1, ..HourSum::default() });
            unknown = -1;
            used = CostRow::use_of(&result);
            // The codes of failures have a family, as `model.unavailable`; `end` and `length` have none.
            let key = key(&request, if result.stop.contains('.') { FAILED } else { ANSWERED });
            let took = h.time.0.saturating_sub(request.started);
            let took_signed = i64::try_from(took).unwrap_or(i64::MAX);
            let sum = HourSum { count: 1, took: took_signed, longest: took_signed, used: used.clone() };
            batch.add_sum(key.clone(), &sum);
            let (thread, seq) = (h.thread.to_string(), h.seq);
            batch.add_slow(SlowRow { took, position: position.0, thread, seq, call: String::new(), key });
        }
    }
    if let Some(root) = batch.find_root(h.thread.root_of().as_str())? {
        root.requests += requests;
        root.unknown += unknown;
        root.used.add(&used);
    }
    Ok(())
}

/// The client that opened the root of a record.
fn find_client(batch: &mut IndexBatch<'_>, h: &Header) -> Result<String, IndexFault> {
    let root = batch.find_root(h.thread.root_of().as_str())?;
    Ok(root.map(|root| root.client.clone()).unwrap_or_default())
}
