//! The model requests of a thread and everything below it, and their cost, by listener and model.
//!
//! It reads only the journal, which was written before the answers were used. Unknown amounts are counted as unknown,
//! never as zero. A thread comes in; rows and their sum, as lines or JSON, go out.

mod groups;
mod tree;

pub use groups::{CostFilter, CostGroup, grouped, grouped_json};
pub use tree::CountedTrees;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use systole_kit::journal::{EarlierEntry, JournalEntry, ModelCallOutcome};
use systole_kit::money::{Currency, Money};

use super::search::SearchHit;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::RecordKind;
use systole_core::types::time::Millis;
use systole_log::search::{LogQuery, SearchField, SearchTerm};
use systole_show::columns::{counted, cut, plain, wrapped};
use tree::TreeCost;

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

/// Reads the model requests of a thread and everything below it.
pub fn read(reader: &dyn LogReader, thread: &ThreadId) -> Result<CostRows, LogFault> {
    let mut tree = TreeCost::of(reader, thread)?;
    let mut left = usize::MAX;
    tree.read(reader, &mut left)?;
    Ok(tree.rows())
}

/// The same for each of these threads, with its own requests only.
pub fn by_thread(reader: &dyn LogReader, thread: &ThreadId) -> Result<BTreeMap<ThreadId, CostRow>, LogFault> {
    TreeCost::of_each(reader, thread)
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

    /// Its tokens, with a plus if some are not known; empty without a request.
    pub fn tokens(&self) -> String {
        let more = if self.uncounted + self.unknown > 0 { "+" } else { "" };
        match self.requests {
            0 => String::new(),
            _ => format!("{}{more}", self.tokens_in + self.tokens_out),
        }
    }

    /// Its money, with a plus if some is not known; empty without an amount.
    pub fn money_known(&self) -> String {
        let amounts = self.amounts().join(", ");
        let more = if amounts.is_empty() || self.unpriced + self.unknown == 0 { "" } else { "+" };
        format!("{amounts}{more}")
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

    /// The row for programs.
    pub fn as_json(&self) -> Value {
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
