//! The model requests of a thread and everything below it, and their cost, by listener and model.
//!
//! It reads only the journal, which was written before the answers were used. Unknown amounts are counted as unknown,
//! never as zero. A thread comes in; rows and their sum, as lines or JSON, go out.

mod groups;

pub use groups::{CostFilter, CostGroup, grouped, grouped_json};

use std::collections::BTreeMap;

use serde_json::{Value, json};
use systole_kit::journal::{EarlierEntry, JournalEntry, ModelCallOutcome};
use systole_kit::money::{Currency, Money};

use super::columns::{counted, cut, plain, wrapped};
use super::search::SearchHit;
use crate::edges::log::search::{LogQuery, SearchField, SearchTerm};
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{Record, RecordKind};
use systole_core::types::time::Millis;

/// Records per read.
const PAGE: usize = 64;
/// Most threads of one tree to read.
const THREADS: usize = 100_000;

/// The requests of one listener to one model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostRow {
    /// Requests sent.
    pub requests: u64,
    /// Requests without a recorded result: they may have been paid.
    pub unknown: u64,
    /// Tokens that were read, if known.
    pub tokens_in: u64,
    /// Tokens that were written, if known.
    pub tokens_out: u64,
    /// Money by currency.
    pub money: BTreeMap<Currency, u64>,
    /// Results with unknown tokens.
    pub uncounted: u64,
    /// Results without a price.
    pub unpriced: u64,
}

/// The rows by listener and model.
pub type CostRows = BTreeMap<(Name, String), CostRow>;

/// A start that waits for its result: call, turn, attempt and entry.
type Start = (Option<CallPath>, Option<u32>, u32, u64);

/// Reads the model requests of a thread and everything below it.
pub fn read(reader: &dyn LogReader, thread: &ThreadId) -> Result<CostRows, LogFault> {
    let mut rows = CostRows::new();
    let below = format!("{}.", thread.as_str());
    let children = reader.threads_like(&below, THREADS)?;
    for thread in std::iter::once(thread).chain(&children) {
        let mut open = BTreeMap::new();
        let mut from = 1;
        loop {
            let page = reader.of_thread(thread, from, PAGE)?;
            let Some((_, last)) = page.last() else { break };
            from = last.header.seq + 1;
            page.iter().for_each(|(_, record)| take(&mut rows, &mut open, record));
        }
        for key in open.into_values() {
            rows.entry(key).or_default().unknown += 1;
        }
    }
    Ok(rows)
}

/// Reads the model requests that began in a period, of all threads, or of one listener.
///
/// `newest` shows the messages that fit a query, newest first: the result of a request is seen before its start.
pub fn period<F>(
    listener: Option<&str>,
    (since, until): (Option<Millis>, Option<Millis>),
    newest: impl FnOnce(&LogQuery, &mut dyn FnMut(SearchHit) -> bool) -> Result<(), F>,
) -> Result<CostRows, F> {
    let kind = SearchTerm::new(SearchField::Kind, RecordKind::Journal.as_str());
    let from = listener.map(|listener| SearchTerm::new(SearchField::From, listener));
    let terms = [kind].into_iter().chain(from).collect();
    // A result may come after the period.
    let query = LogQuery { terms, since, ..LogQuery::default() };
    let (mut rows, mut results) = (CostRows::new(), BTreeMap::new());
    newest(&query, &mut |hit| {
        let (_, record) = hit.placed;
        let h = record.header;
        let Ok(EarlierEntry { attempt, id, entry }) = EarlierEntry::read(&record.body) else { return true };
        match entry {
            JournalEntry::Result(outcome) => {
                results.insert((h.thread, h.call, h.turn, attempt, outcome.of), outcome);
            }
            JournalEntry::Started(started) => {
                let result = results.remove(&(h.thread, h.call, h.turn, attempt, id));
                if until.is_none_or(|until| h.time < until) {
                    rows.entry((h.from, started.model)).or_default().count(result.as_ref());
                }
            }
        }
        true
    })?;
    Ok(rows)
}

fn take(rows: &mut CostRows, open: &mut BTreeMap<Start, (Name, String)>, record: &Record) {
    let h = &record.header;
    if h.kind != RecordKind::Journal {
        return;
    }
    let Ok(EarlierEntry { attempt, id, entry }) = EarlierEntry::read(&record.body) else { return };
    match entry {
        JournalEntry::Started(started) => {
            let key = (h.from.clone(), started.model);
            rows.entry(key.clone()).or_default().requests += 1;
            open.insert((h.call.clone(), h.turn, attempt, id), key);
        }
        JournalEntry::Result(outcome) => {
            let Some(key) = open.remove(&(h.call.clone(), h.turn, attempt, outcome.of)) else { return };
            rows.entry(key).or_default().add(&outcome);
        }
    }
}

impl CostRow {
    /// Counts a request with its result, if it has one.
    fn count(&mut self, result: Option<&ModelCallOutcome>) {
        self.requests += 1;
        match result {
            Some(outcome) => self.add(outcome),
            None => self.unknown += 1,
        }
    }

    fn add(&mut self, outcome: &ModelCallOutcome) {
        self.uncounted += u64::from(outcome.tokens_in.is_none() || outcome.tokens_out.is_none());
        self.tokens_in += outcome.tokens_in.unwrap_or(0);
        self.tokens_out += outcome.tokens_out.unwrap_or(0);
        match outcome.money {
            Some(money) => *self.money.entry(money.currency).or_default() += money.micros,
            None if outcome.tokens() == Some(0) => {}
            None => self.unpriced += 1,
        }
    }

    pub(super) fn join(&mut self, other: &CostRow) {
        self.requests += other.requests;
        self.unknown += other.unknown;
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
        self.uncounted += other.uncounted;
        self.unpriced += other.unpriced;
        for (currency, micros) in &other.money {
            *self.money.entry(*currency).or_default() += micros;
        }
    }

    /// Its money, an amount for each currency.
    pub fn amounts(&self) -> Vec<String> {
        self.money
            .iter()
            .map(|(currency, micros)| Money { micros: *micros, currency: *currency }.to_string())
            .collect()
    }

    fn words(&self) -> String {
        let is_counted = self.uncounted < self.requests.saturating_sub(self.unknown);
        let mut words = counted(self.requests, "request");
        if is_counted || self.tokens_in + self.tokens_out > 0 {
            let (tokens_in, tokens_out) = (self.tokens_in.to_string(), self.tokens_out.to_string());
            words.extend([", ", &tokens_in, " tokens in, ", &tokens_out, " out"]);
        }
        if self.uncounted > 0 {
            words.extend([", ", &self.uncounted.to_string(), " uncounted"]);
        }
        for amount in self.amounts() {
            words.extend([", ", &amount]);
        }
        if self.unpriced > 0 {
            words.extend([", ", &self.unpriced.to_string(), " unpriced"]);
        }
        if self.unknown > 0 {
            words.extend([", ", &self.unknown.to_string(), " of unknown outcome"]);
        }
        words
    }

    fn as_json(&self) -> Value {
        json!({
            "requests": self.requests,
            "unknown": self.unknown,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "money": self.amounts(),
            "uncounted": self.uncounted,
            "unpriced": self.unpriced,
        })
    }
}

/// The sum of all rows.
pub fn sum(rows: &CostRows) -> CostRow {
    joined(rows.values())
}

/// The sum of some rows.
pub fn joined<'r>(rows: impl IntoIterator<Item = &'r CostRow>) -> CostRow {
    let mut all = CostRow::default();
    rows.into_iter().for_each(|row| all.join(row));
    all
}

/// The rows as lines for a terminal, and their sum if there are several.
pub fn lines(rows: &CostRows) -> Vec<String> {
    let mut lines: Vec<String> = rows
        .iter()
        .flat_map(|((listener, model), row)| {
            let lead = format!("{}  {}  ", cut(listener.as_str(), 24), cut(&plain(model), 24));
            wrapped(&lead, 4, &row.words())
        })
        .collect();
    if rows.len() > 1 {
        lines.extend(wrapped("all  ", 4, &sum(rows).words()));
    }
    lines
}

/// The rows for programs.
pub fn as_json(thread: Option<&ThreadId>, rows: &CostRows) -> Value {
    let each: Vec<Value> = rows
        .iter()
        .map(|((listener, model), row)| {
            json!({ "listener": listener.as_str(), "model": model, "used": row.as_json() })
        })
        .collect();
    json!({ "thread": thread.map(ThreadId::as_str), "rows": each, "all": sum(rows).as_json() })
}
