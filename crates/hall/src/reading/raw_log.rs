//! The log itself, for a command elsewhere that reads it like a file: states of threads, ids of threads, and records
//! with everything that their hashes cover.
//!
//! A query comes in; stored data goes out as it is, cut to what the client may see. Nothing is rendered here.

use axum::Json;

use super::query::QueryFields;
use super::refusals::{ReadRefusal, ReadResult};
use crate::limits;
use crate::log_view::LogMoment;
use crate::request_refusals::describe_unfit_address;
use systole_api::log_types::{ApiLogOpening, ApiStoredRecords, ApiThreadIds, ApiThreadRow};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, PlacedRecord, Position};
use systole_export::record_line::{ExportedRecord, write_hex};
use systole_queries::log_reads::working_threads;

/// The last position, and the states of the threads that are at work.
pub(crate) fn open_log(moment: &LogMoment, _: &QueryFields) -> ReadResult<Json<ApiLogOpening>> {
    let LogOpening { last, rows, .. } = working_threads(&*moment.reader)?;
    let row = |row: FoldRow| ApiThreadRow {
        thread: row.thread.to_string(),
        seq: row.seq,
        state: write_hex(&row.bytes),
    };
    Ok(Json(ApiLogOpening { last: last.0, rows: rows.into_iter().map(row).collect() }))
}

/// Ids of the newest threads, or of those that begin with a text.
pub(crate) fn list_ids(moment: &LogMoment, fields: &QueryFields) -> ReadResult<Json<ApiThreadIds>> {
    let limit = fields.limit(limits::MOST_ENTRIES, limits::MOST_IDS)?;
    let found = match fields.text("like") {
        Some(like) => moment.reader.threads_like(like, limit)?,
        None => moment.reader.list_threads(limit)?,
    };
    Ok(Json(ApiThreadIds { threads: found.iter().map(ToString::to_string).collect() }))
}

/// Records of a thread, or of the log.
pub(crate) fn list_records(moment: &LogMoment, fields: &QueryFields) -> ReadResult<Json<ApiStoredRecords>> {
    let limit = fields.limit(limits::ENTRIES, limits::MOST_ENTRIES)?;
    Ok(Json(match thread_asked(fields)? {
        Some((thread, from)) => {
            pages(from, limit, &|from, most| moment.reader.of_thread(&thread, from, most), &|(_, record)| {
                record.header.seq.saturating_add(1)
            })?
        }
        None => of_log(moment, fields.number("after")?.unwrap_or(0), limit)?,
    }))
}

/// The thread and its first record, if those of a thread are wanted.
fn thread_asked(fields: &QueryFields) -> ReadResult<Option<(ThreadId, u64)>> {
    let (from, after) = (fields.ordinal("from")?, fields.number("after")?);
    let wrong = |words: &'static str, fix: &'static str| {
        let refusal = describe_unfit_address(words);
        Err(ReadRefusal::unfit(refusal.fixed_by(fix)).into())
    };
    match fields.text("thread") {
        None if from.is_some() => {
            wrong("from: it is the number of a record in a thread", "thread=ID with it")
        }
        None => Ok(None),
        Some(_) if after.is_some() => {
            wrong("after: it is a position in the log, and thread names one thread", "from=N with thread=ID")
        }
        Some(typed) => {
            let id = ThreadId::parse(typed).map_err(|_| ReadRefusal::unknown_thread())?;
            Ok(Some((id, from.unwrap_or(1))))
        }
    }
}

fn of_log(moment: &LogMoment, after: u64, limit: usize) -> ReadResult<ApiStoredRecords> {
    pages(after, limit, &|after, most| moment.reader.read_after(Position(after), most), &|(position, _)| {
        position.0
    })
}

/// Reads on from a place until the page is full. `next` is the place after a record.
fn pages(
    mut place: u64,
    limit: usize,
    read: &dyn Fn(u64, usize) -> Result<Vec<PlacedRecord>, LogFault>,
    next: &dyn Fn(&PlacedRecord) -> u64,
) -> ReadResult<ApiStoredRecords> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    loop {
        let most = limits::LOG_PAGE_FIRST.min(limit - records.len());
        if most == 0 {
            return Ok(ApiStoredRecords { records, next: Some(place) });
        }
        let page = read(place, most)?;
        let is_end = page.len() < most;
        for placed in page {
            if bytes > 0 && bytes + placed.1.body.len() > limits::PART_BYTES {
                return Ok(ApiStoredRecords { records, next: Some(place) });
            }
            bytes += placed.1.body.len();
            place = next(&placed);
            records.push(ExportedRecord::from_record(placed.0, &placed.1));
        }
        if is_end {
            return Ok(ApiStoredRecords { records, next: None });
        }
    }
}
