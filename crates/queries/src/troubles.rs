//! What went wrong lately: refusals and failures of the newest records, counted by code and listener.
//!
//! It reads a bounded number of records from the end of the log. A log and a moment come in; counts with the newest
//! example of each go out.

use std::collections::BTreeMap;

use serde::Serialize;

use super::glance::read_error;
use super::{causes, json_text};
use crate::limits;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{Record, RecordCode, RecordKind};
use systole_core::types::time::Millis;

/// The fields of the search that finds the records of a kind of trouble.
pub type TroubleSearch = [(&'static str, String); 3];

/// A kind of trouble at one listener.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TroubleCount {
    /// The code of the refusal or the failure.
    pub code: String,
    /// Whom it was told, or who failed.
    pub listener: String,
    /// How often.
    pub count: u64,
    /// The thread of the newest record of it.
    pub thread: ThreadId,
    /// The number of that record.
    pub seq: u64,
    /// When that was.
    #[serde(serialize_with = "json_text::write_text")]
    pub at: Millis,
    /// What it said.
    pub message: String,
    /// The fields of a search that finds all of them: name and value.
    #[serde(skip)]
    pub search: TroubleSearch,
}

/// The troubles of a time.
#[derive(Clone, Debug, Default)]
pub struct Troubles {
    /// The kinds, most frequent first.
    pub counts: Vec<TroubleCount>,
    /// Whether the time has more records than were read.
    pub is_cut: bool,
}

/// The troubles since a moment.
pub fn since(reader: &dyn LogReader, moment: Millis) -> Result<Troubles, LogFault> {
    let last = reader.read_last()?.0;
    let is_before = |position: u64| {
        let page = reader.read_after(Position(position - 1), 1)?;
        Ok(page.first().is_some_and(|(_, record)| record.header.time < moment))
    };
    let first = if is_before(1)? { causes::first_after(is_before)? } else { 1 };
    let from = first.max((last + 1).saturating_sub(limits::NEWEST_RECORDS));
    let mut troubles = Troubles { counts: Vec::new(), is_cut: from > first };
    let mut found: BTreeMap<(String, String), TroubleCount> = BTreeMap::new();
    for placed in reader.records_after(Position(from.saturating_sub(1))) {
        let (_, record) = placed?;
        let Some((code, listener, search)) = trouble(&record) else { continue };
        let is_known = found.contains_key(&(code.clone(), listener.clone()));
        if !is_known && found.len() == limits::TROUBLE_PAIRS {
            troubles.is_cut = true;
            continue;
        }
        let h = &record.header;
        let message = read_error(&record.body).map_or_else(String::new, |told| told.message);
        let count = found.get(&(code.clone(), listener.clone())).map_or(0, |known| known.count) + 1;
        let key = (code.clone(), listener.clone());
        let (thread, seq, at) = (h.thread.clone(), h.seq, h.time);
        found.insert(key, TroubleCount { code, listener, count, thread, seq, at, message, search });
    }
    troubles.counts = found.into_values().collect();
    troubles.counts.sort_by_key(|one| std::cmp::Reverse((one.count, one.at)));
    Ok(troubles)
}

/// The code of a record that says that something went wrong, the listener, and the search that finds it.
fn trouble(record: &Record) -> Option<(String, String, TroubleSearch)> {
    let h = &record.header;
    let code = h.code?;
    let (field, whom) = match (&h.to, code) {
        (Some(to), _) if !matches!((h.kind, code), (RecordKind::Outcome, RecordCode::Code(_))) => ("to", to),
        _ => ("from", &h.from),
    };
    let words = match (h.kind, code) {
        (RecordKind::Refusal, code) => {
            read_error(&record.body).map_or_else(|| code.as_str().to_owned(), |told| told.code)
        }
        (RecordKind::Outcome, RecordCode::DeadLetter) => "dead letter".to_owned(),
        (RecordKind::Outcome, RecordCode::Code(code)) => code.as_str().to_owned(),
        _ => return None,
    };
    // A listener's own code is not in the search: the code of the record is.
    let known = if RecordCode::parse(&words).is_some() { words.clone() } else { code.as_str().to_owned() };
    let search = [("kind", h.kind.as_str().to_owned()), ("code", known), (field, whom.to_string())];
    Some((words, whom.to_string(), search))
}
