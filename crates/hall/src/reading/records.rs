//! Records of a thread: a page of them, one, or the bytes of one. Payloads are never cut.

use axum::Json;
use serde::Serialize;

use super::answers::{StoredBytes, find_thread};
use super::query::QueryFields;
use super::refusals::{ReadRefusal, ReadResult};
use crate::limits::{ENTRIES, MOST_ENTRIES, PART_BYTES};
use crate::log_view::LogMoment;
use systole_api::types::ApiRecord;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::PlacedRecord;
use systole_queries::causes;

/// A page of a thread's records.
#[derive(Serialize)]
pub(crate) struct RecordPage {
    thread: String,
    records: Vec<ApiRecord>,
    /// The number of the record with which the next page begins, if there is one.
    next: Option<u64>,
}

/// A page of records.
pub(crate) fn list_records(moment: &LogMoment, fields: &QueryFields) -> ReadResult<Json<RecordPage>> {
    let id = find_thread(moment, fields)?;
    let (from, limit) = (fields.ordinal("from")?.unwrap_or(1), fields.limit(ENTRIES, MOST_ENTRIES)?);
    Ok(Json(page(moment, &id, from, limit)?))
}

fn page(moment: &LogMoment, id: &ThreadId, from: u64, limit: usize) -> ReadResult<RecordPage> {
    let (mut records, mut bytes, mut next) = (Vec::new(), 0, from);
    for placed in moment.reader.records_of(id, from) {
        let (position, record) = placed?;
        if records.len() == limit || (bytes > 0 && bytes + record.body.len() > PART_BYTES) {
            return Ok(RecordPage { thread: id.to_string(), records, next: Some(next) });
        }
        bytes += record.body.len();
        next = record.header.seq.saturating_add(1);
        records.push(ApiRecord::from_record(position, &record));
    }
    Ok(RecordPage { thread: id.to_string(), records, next: None })
}

/// One record.
pub(crate) fn show_record(moment: &LogMoment, fields: &QueryFields) -> ReadResult<Json<ApiRecord>> {
    let (position, record) = find_numbered(moment, fields)?;
    Ok(Json(ApiRecord::from_record(position, &record)))
}

/// The payload of one record, byte for byte.
pub(crate) fn show_bytes(moment: &LogMoment, fields: &QueryFields) -> ReadResult<StoredBytes> {
    let (_, record) = find_numbered(moment, fields)?;
    Ok(StoredBytes(record.body.to_vec()))
}

/// The record of that number, or the thread's last one without a number.
pub(crate) fn of_number(moment: &LogMoment, id: &ThreadId, seq: Option<u64>) -> ReadResult<PlacedRecord> {
    let Some(last) = causes::last(&*moment.reader, id)? else {
        return Err(ReadRefusal::unknown_thread().into());
    };
    let Some(seq) = seq else { return Ok(last) };
    match causes::at(&*moment.reader, id, seq)? {
        Some(placed) if seq > 0 => Ok(placed),
        _ => Err(no_record(id, seq, last.1.header.seq).into()),
    }
}

/// The refusal of a number that no record of a thread has.
pub(crate) fn no_record(id: &ThreadId, seq: u64, last: u64) -> ReadRefusal {
    let words = format!("thread {id} has no record {seq}; its last is {last}");
    ReadRefusal::missing(words, format!("GET /v1/threads/{id}/records"))
}

fn find_numbered(moment: &LogMoment, fields: &QueryFields) -> ReadResult<PlacedRecord> {
    let id = find_thread(moment, fields)?;
    match fields.text("seq").unwrap_or_default().parse() {
        Ok(seq) => of_number(moment, &id, Some(seq)),
        Err(_) => {
            let words = "a record is named by its number in the thread, a whole number".to_owned();
            Err(ReadRefusal::missing(words, format!("GET /v1/threads/{id}/records")).into())
        }
    }
}
