//! The log of an organism elsewhere, read through its door. Every view works on it unchanged.
//!
//! Records come with all that their hashes cover, and count only if they fit: a changed one is reported as damage.
//! What was read is kept, up to a limit, because views read the same records again. Reads go in; records, ids and
//! documents come out. Nothing is written.

mod read_cache;
mod search;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;

use super::client::{DoorClient, DoorClientFault};
use crate::limits;
use read_cache::KeptRecords;
use systole_api::log_types::{ApiLogOpening, ApiStoredRecords, ApiThreadIds, ApiThreadRow};
use systole_api::types::ApiRefusal;
use systole_core::types::body_parts::ERASED_TEXT;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{FoldRow, LogFault, LogOpening, LogReader, PlacedRecord, Position};
use systole_core::types::record::Record;
use systole_export::record_line::read_hex;

/// A query of a route.
type RouteFields = Vec<(&'static str, String)>;

/// The log of an organism elsewhere.
pub struct RemoteLog {
    client: Arc<DoorClient>,
    /// The position at which it ends, if it is shown as it was.
    at: Option<Position>,
    kept: Mutex<KeptRecords>,
    /// Why stored documents are not shown to this client.
    no_documents: Arc<Mutex<Option<Box<ApiRefusal>>>>,
}

impl RemoteLog {
    /// The log of the organism that the client reaches.
    pub fn new(client: Arc<DoorClient>) -> RemoteLog {
        RemoteLog { client, at: None, kept: Mutex::default(), no_documents: Arc::default() }
    }

    /// The same as it was at a position.
    pub fn at_position(&self, at: Position) -> RemoteLog {
        let no_documents = self.no_documents.clone();
        RemoteLog { at: Some(at), no_documents, ..RemoteLog::new(self.client.clone()) }
    }

    /// Forgets where the threads end: they may have grown.
    pub fn look_again(&self) {
        self.lock_records().ends.clear();
    }

    /// Why a document was not shown, if one was refused to this client.
    pub fn refused_document(&self) -> Option<Box<ApiRefusal>> {
        self.no_documents.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock_records(&self) -> MutexGuard<'_, KeptRecords> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_route<T: DeserializeOwned>(&self, path: &str, mut fields: RouteFields) -> Result<T, LogFault> {
        fields.extend(self.at.map(|at| ("at", at.0.to_string())));
        match self.client.get(path, &fields) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(refusal)) => Err(refuse_reading(&self.client, &refusal)),
            Err(fault) => Err(report_silence(&self.client, &fault)),
        }
    }

    /// A page of records, each checked against its own hash.
    fn read_page(&self, fields: RouteFields) -> Result<(Vec<PlacedRecord>, Option<u64>), LogFault> {
        let page: ApiStoredRecords = self.ask_route("/v1/log/records", fields)?;
        let read = page.records.iter().map(|line| {
            let position = Position(line.position);
            line.to_record().map(|record| (position, record)).map_err(|why| self.report_damage(position, why))
        });
        Ok((read.collect::<Result<_, _>>()?, page.next))
    }

    /// Reads records of a thread from a number on, and keeps them. They continue the chain, or they are damage.
    fn read_thread(&self, thread: &ThreadId, from: u64, limit: usize) -> Result<(), LogFault> {
        let limit = limit.clamp(limits::LOG_PAGE_FIRST, limits::MOST_ENTRIES);
        let fields =
            vec![("thread", thread.to_string()), ("from", from.to_string()), ("limit", limit.to_string())];
        let (records, next) = self.read_page(fields)?;
        let mut kept = self.lock_records();
        kept.make_room();
        let mut seq = from;
        for placed in records {
            let h = &placed.1.header;
            if h.thread != *thread || h.seq != seq {
                let why = format!("record {seq} of thread {thread} is missing");
                return Err(self.report_damage(placed.0, why));
            }
            kept.add_record(placed).map_err(|(position, why)| self.report_damage(position, why))?;
            seq += 1;
        }
        if next.is_none() || seq == from {
            kept.ends.insert(thread.clone(), seq);
        }
        Ok(())
    }

    fn report_damage(&self, position: Position, why: String) -> LogFault {
        LogFault::Damaged { path: self.client.address().to_owned(), position, why }
    }

    fn report_strange(&self, why: &str) -> LogFault {
        let why = format!("it answers as no organism does: {why}");
        build_fault(&self.client, why, None, DoorClientFault::OTHER_ADDRESS)
    }

    fn row_of(&self, row: &ApiThreadRow) -> Result<FoldRow, LogFault> {
        let thread = ThreadId::parse(&row.thread).map_err(|error| self.report_strange(&error.to_string()))?;
        let bytes = read_hex(&row.state).ok_or_else(|| self.report_strange("a state is not hex"))?;
        Ok(FoldRow { thread, seq: row.seq, working: true, bytes })
    }

    fn read_ids(&self, fields: RouteFields) -> Result<Vec<ThreadId>, LogFault> {
        let found: ApiThreadIds = self.ask_route("/v1/log/threads", fields)?;
        let ids = found.threads.iter().map(|id| ThreadId::parse(id));
        ids.collect::<Result<_, _>>().map_err(|error| self.report_strange(&error.to_string()))
    }
}

impl LogReader for RemoteLog {
    fn read_opening(&self) -> Result<LogOpening, LogFault> {
        let found: ApiLogOpening = self.ask_route("/v1/log", Vec::new())?;
        let rows = found.rows.iter().map(|row| self.row_of(row)).collect::<Result<Vec<_>, _>>()?;
        self.lock_records().rows.extend(rows.iter().map(|row| (row.thread.clone(), row.clone())));
        Ok(LogOpening { last: Position(found.last), rows, ..LogOpening::default() })
    }

    fn read_last(&self) -> Result<Position, LogFault> {
        if let Some(at) = self.at {
            return Ok(at);
        }
        match self.client.read_status() {
            Ok(Ok(status)) => Ok(Position(status.position)),
            Ok(Err(refusal)) => Err(refuse_reading(&self.client, &refusal)),
            Err(fault) => Err(report_silence(&self.client, &fault)),
        }
    }

    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
        // Other threads are folded from their records, which verify.
        Ok(self.lock_records().rows.get(thread).cloned())
    }

    fn of_thread(&self, thread: &ThreadId, seq: u64, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let mut found = Vec::new();
        let mut next = seq.max(1);
        loop {
            let ends = {
                let kept = self.lock_records();
                kept.collect_run(thread, &mut next, limit, &mut found);
                kept.ends.get(thread).is_some_and(|end| next >= *end)
            };
            if found.len() >= limit || ends {
                return Ok(found);
            }
            self.read_thread(thread, next, limit - found.len())?;
        }
    }

    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<PlacedRecord>, LogFault> {
        let mut found = Vec::new();
        let mut at = position.0;
        while found.len() < limit {
            let known = self.lock_records().collect_after(at, limit - found.len(), &mut found);
            if let Some(end) = known {
                at = end;
                continue;
            }
            let most = (limit - found.len()).min(limits::MOST_ENTRIES);
            let fields = vec![("after", at.to_string()), ("limit", most.to_string())];
            let (records, next) = self.read_page(fields)?;
            let end = records.last().map_or(at, |(position, _)| position.0);
            if records.iter().any(|(position, _)| position.0 <= at) || records.len() > most {
                return Err(self.report_strange("it sends other records than those that were asked for"));
            }
            found.extend(records.iter().cloned());
            let mut kept = self.lock_records();
            kept.make_room();
            for placed in records {
                kept.add_record(placed).map_err(|(position, why)| self.report_damage(position, why))?;
            }
            kept.spans.push((at, end));
            if next.is_none() || end == at {
                break;
            }
            at = end;
        }
        Ok(found)
    }

    fn by_key(&self, thread: &ThreadId, sender: &Name, key: &Key) -> Result<Option<PlacedRecord>, LogFault> {
        let is_it =
            |record: &Record| record.header.from == *sender && record.header.key.as_ref() == Some(key);
        let mut from = 1;
        loop {
            let page = self.of_thread(thread, from, limits::MOST_ENTRIES)?;
            let Some((_, last)) = page.last() else { return Ok(None) };
            from = last.header.seq + 1;
            if let Some(found) = page.into_iter().find(|(_, record)| is_it(record)) {
                return Ok(Some(found));
            }
        }
    }

    fn list_threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.read_ids(vec![("limit", limit.clamp(1, limits::MOST_IDS).to_string())])
    }

    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault> {
        self.read_ids(vec![
            ("like", prefix.to_owned()),
            ("limit", limit.clamp(1, limits::MOST_IDS).to_string()),
        ])
    }

    fn read_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        if let Some(known) = self.lock_records().documents.get(&hash) {
            return Ok(known.clone());
        }
        let found = match self.client.read_bytes(&format!("/v1/documents/{hash}")) {
            // What stands in the place of an erased document has another hash everywhere.
            Ok(Ok(bytes)) if Digest::hash_bytes(&bytes) == hash || bytes == ERASED_TEXT.as_bytes() => {
                Some(Arc::from(bytes))
            }
            Ok(Ok(_)) => {
                return Err(self.report_damage(Position(0), format!("document {hash} has other bytes")));
            }
            Ok(Err(refusal)) if Code::parse(&refusal.code) == Some(Code::NoSuchElement) => None,
            // What such a client sees is made without them.
            Ok(Err(refusal)) if Code::parse(&refusal.code) == Some(Code::IngressForbidden) => {
                *self.no_documents.lock().unwrap_or_else(PoisonError::into_inner) = Some(refusal);
                None
            }
            Ok(Err(refusal)) => return Err(refuse_reading(&self.client, &refusal)),
            Err(fault) => return Err(report_silence(&self.client, &fault)),
        };
        let mut kept = self.lock_records();
        kept.make_room();
        kept.add_document(hash, found.clone());
        Ok(found)
    }
}

fn build_fault(client: &DoorClient, why: String, code: Option<Code>, fix: impl Into<String>) -> LogFault {
    LogFault::Elsewhere { address: client.address().to_owned(), why, code, fix: fix.into() }
}

/// A refusal as a fault of the log.
pub(super) fn refuse_reading(client: &DoorClient, refusal: &ApiRefusal) -> LogFault {
    let code = Code::parse(&refusal.code);
    let fix = refusal.fix.clone().or_else(|| code.map(|code| code.fix().to_owned())).unwrap_or_default();
    build_fault(client, format!("{}: {}", refusal.code, refusal.message), code, fix)
}

/// Silence, or another answer, as a fault of the log.
pub(super) fn report_silence(client: &DoorClient, fault: &DoorClientFault) -> LogFault {
    let words = fault.to_string();
    let why = words.strip_prefix(client.address()).map(|rest| rest.trim_start_matches([':', ' ']));
    build_fault(client, why.unwrap_or(&words).to_owned(), None, fault.fix())
}
