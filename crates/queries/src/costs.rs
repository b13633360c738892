//! The model requests of a thread and everything below it, and their cost, by listener and model.
//!
//! It reads only the journal, which was written before the answers were used. Unknown amounts are counted as unknown,
//! never as zero. A thread or a period comes in; rows and their sum go out. `question` is its declaration.

mod tree;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use systole_kit::journal::{EarlierEntry, JournalEntry, ModelCallOutcome};
use systole_kit::money::{Currency, Money};

use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_log::index::ModelSum;
use systole_show::blocks::Fact;
use systole_show::columns::counted;
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

impl CostRow {
    /// Counts a request with its result, if it has one.
    pub(super) fn count(&mut self, result: Option<&ModelCallOutcome>) {
        self.requests += 1;
        match result {
            Some(outcome) => self.add(outcome),
            None => self.unknown += 1,
        }
    }

    /// Counts what a journal entry says of a request to a model. Until its result comes, what it used is unknown.
    pub(crate) fn count_entry(&mut self, body: &[u8]) {
        match EarlierEntry::from_body(body).map(|entry| entry.entry) {
            Ok(JournalEntry::Started(_)) => {
                self.requests += 1;
                self.unknown += 1;
            }
            Ok(JournalEntry::Result(outcome)) => {
                self.unknown = self.unknown.saturating_sub(1);
                self.add(&outcome);
            }
            _ => {}
        }
    }

    /// What an index counted.
    pub fn of_index(requests: i64, unknown: i64, used: &ModelSum) -> CostRow {
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        let amounts = used.money.iter();
        let money =
            amounts.filter_map(|(currency, micros)| Some((Currency::parse(currency)?, count(*micros))));
        CostRow {
            requests: count(requests),
            unknown: count(unknown),
            tokens_in: count(used.tokens_in),
            tokens_out: count(used.tokens_out),
            money: money.collect(),
            uncounted: count(used.uncounted),
            unpriced: count(used.unpriced),
        }
    }

    /// What a result used, as an index counts it.
    pub(crate) fn use_of(outcome: &ModelCallOutcome) -> ModelSum {
        let mut row = CostRow::default();
        row.add(outcome);
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let money = row.money.iter().map(|(currency, micros)| (currency.to_string(), count(*micros)));
        ModelSum {
            tokens_in: count(row.tokens_in),
            tokens_out: count(row.tokens_out),
            uncounted: count(row.uncounted),
            unpriced: count(row.unpriced),
            money: money.collect(),
        }
    }

    fn add(&mut self, outcome: &ModelCallOutcome) {
        self.uncounted += u64::from(outcome.tokens_in.is_none() || outcome.tokens_out.is_none());
        self.tokens_in = self.tokens_in.saturating_add(outcome.tokens_in.unwrap_or(0));
        self.tokens_out = self.tokens_out.saturating_add(outcome.tokens_out.unwrap_or(0));
        match outcome.money {
            Some(money) => {
                let own = self.money.entry(money.currency).or_default();
                *own = own.saturating_add(money.micros);
            }
            None if outcome.count_tokens() == Some(0) => {}
            None => self.unpriced += 1,
        }
    }

    pub(super) fn join(&mut self, other: &CostRow) {
        self.requests += other.requests;
        self.unknown += other.unknown;
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
        self.uncounted += other.uncounted;
        self.unpriced += other.unpriced;
        for (currency, micros) in &other.money {
            let own = self.money.entry(*currency).or_default();
            *own = own.saturating_add(*micros);
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

    /// What it says, in the order of a sentence: requests, tokens in and out, money, and what is not known.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let is_counted = self.uncounted < self.requests.saturating_sub(self.unknown)
            || self.tokens_in + self.tokens_out > 0;
        let said = |count: u64, words: &str| (count > 0).then(|| format!("{count} {words}"));
        let uncounted = said(self.uncounted, "uncounted");
        let unpriced = said(self.unpriced, "unpriced");
        let unknown = said(self.unknown, "of unknown outcome");
        let sentence = |parts: Vec<String>| parts.join(", ");
        let tokens_in = is_counted.then(|| format!("{} tokens in", self.tokens_in));
        let tokens_out = is_counted.then(|| format!("{} out", self.tokens_out));
        let not_known = [&unknown, &uncounted, &unpriced].into_iter().flatten().cloned().collect();
        vec![
            Fact { value: self.requests.to_string(), words: counted(self.requests, "request") },
            Fact { value: self.tokens_in.to_string(), words: tokens_in.unwrap_or_default() },
            Fact {
                value: self.tokens_out.to_string(),
                words: sentence(tokens_out.into_iter().chain(uncounted).collect()),
            },
            Fact {
                value: self.amounts().join(", "),
                words: sentence(self.amounts().into_iter().chain(unpriced).collect()),
            },
            Fact { value: sentence(not_known), words: unknown.unwrap_or_default() },
        ]
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

impl Serialize for CostRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_json().serialize(serializer)
    }
}

/// The sum of all rows.
pub fn sum(rows: &CostRows) -> CostRow {
    join_rows(rows.values())
}

/// The sum of some rows.
pub fn join_rows<'r>(rows: impl IntoIterator<Item = &'r CostRow>) -> CostRow {
    let mut all = CostRow::default();
    rows.into_iter().for_each(|row| all.join(row));
    all
}
