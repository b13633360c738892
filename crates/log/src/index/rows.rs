//! The rows of an index, as they are put in and come out.

use std::collections::BTreeMap;

use rusqlite::Row;
use rusqlite::types::Type;

/// Requests to models, and what they used. A number may be negative in a change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModelSum {
    /// Tokens that were read, if known.
    pub tokens_in: i64,
    /// Tokens that were written, if known.
    pub tokens_out: i64,
    /// Results with unknown tokens.
    pub uncounted: i64,
    /// Results without a price.
    pub unpriced: i64,
    /// Millionths by currency.
    pub money: BTreeMap<String, i64>,
}

impl ModelSum {
    /// Adds another one.
    pub fn add(&mut self, other: &ModelSum) {
        for (own, more) in [
            (&mut self.tokens_in, other.tokens_in),
            (&mut self.tokens_out, other.tokens_out),
            (&mut self.uncounted, other.uncounted),
            (&mut self.unpriced, other.unpriced),
        ] {
            *own = own.saturating_add(more);
        }
        for (currency, micros) in &other.money {
            let own = self.money.entry(currency.clone()).or_default();
            *own = own.saturating_add(*micros);
        }
    }

    /// The millionths of all currencies together: the order of roots by what they cost.
    pub(super) fn sum_money(&self) -> i64 {
        self.money.values().fold(0, |sum, micros| sum.saturating_add(*micros))
    }

    /// The money as the file keeps it: `EUR 12,USD 7`.
    pub(super) fn write_money(&self) -> String {
        let amounts: Vec<String> =
            self.money.iter().map(|(currency, micros)| format!("{currency} {micros}")).collect();
        amounts.join(",")
    }

    /// Reads five columns from that one on.
    pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<ModelSum> {
        let text: String = row.get(first + 4)?;
        let unfit = || rusqlite::Error::InvalidColumnType(first + 4, "money".to_owned(), Type::Text);
        let amount = |amount: &str| {
            let (currency, micros) = amount.split_once(' ')?;
            Some((currency.to_owned(), micros.parse().ok()?))
        };
        let amounts = text.split(',').filter(|amount| !amount.is_empty());
        let money = amounts.map(|text| amount(text).ok_or_else(unfit)).collect::<Result<_, _>>()?;
        Ok(ModelSum {
            tokens_in: row.get(first)?,
            tokens_out: row.get(first + 1)?,
            uncounted: row.get(first + 2)?,
            unpriced: row.get(first + 3)?,
            money,
        })
    }
}

/// A root. Moments are milliseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RootRow {
    /// The position of its first record.
    pub position: u64,
    /// The thread.
    pub thread: String,
    /// Who opened it.
    pub client: String,
    /// The listener that was asked first.
    pub entry: String,
    /// The element of the first request.
    pub element: String,
    /// What the first request is about.
    pub subject: String,
    /// When it was opened.
    pub opened: u64,
    /// When its last record was made.
    pub since: u64,
    /// How its last call from outside that closed ended; empty if none has.
    pub outcome: String,
    /// With which code; empty if it did not fail.
    pub code: String,
    /// The code of the first cause.
    pub first_code: String,
    /// Whether nothing is ever appended again.
    pub is_ended: bool,
    /// Whether it is paused by itself.
    pub is_paused: bool,
    /// How long its closed calls from outside took together, in milliseconds.
    pub took: u64,
    /// Requests to models in it and below it.
    pub requests: i64,
    /// Those without a result.
    pub unknown: i64,
    /// What they used.
    pub used: ModelSum,
    /// How often a call of it that had failed was opened again.
    pub retries: u32,
    /// The root whose request it says it has anew; empty if it says none.
    pub source: String,
    /// The name that its client gave it, without `@`; empty if it has none.
    pub name: String,
}

impl RootRow {
    pub(super) const COLUMNS: &'static str = "position, thread, client, entry, element, subject, opened, since, \
        outcome, code, first_code, is_ended, is_paused, took, requests, unknown, tokens_in, tokens_out, \
        uncounted, unpriced, money, spent, retries, source, name";

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<RootRow> {
        Ok(RootRow {
            position: row.get::<_, i64>(0)?.unsigned_abs(),
            thread: row.get(1)?,
            client: row.get(2)?,
            entry: row.get(3)?,
            element: row.get(4)?,
            subject: row.get(5)?,
            opened: row.get::<_, i64>(6)?.unsigned_abs(),
            since: row.get::<_, i64>(7)?.unsigned_abs(),
            outcome: row.get(8)?,
            code: row.get(9)?,
            first_code: row.get(10)?,
            is_ended: row.get(11)?,
            is_paused: row.get(12)?,
            took: row.get::<_, i64>(13)?.unsigned_abs(),
            requests: row.get(14)?,
            unknown: row.get(15)?,
            used: ModelSum::read(row, 16)?,
            retries: row.get(22)?,
            source: row.get(23)?,
            name: row.get(24)?,
        })
    }
}

/// By what roots are ordered, the largest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RootOrder {
    /// The newest first.
    #[default]
    Opened,
    /// Those with the newest record first.
    Since,
    /// Those that took longest first.
    Took,
    /// Those that cost most first.
    Spent,
}

impl RootOrder {
    pub(super) const fn column(self) -> &'static str {
        match self {
            RootOrder::Opened => "position",
            RootOrder::Since => "since",
            RootOrder::Took => "took",
            RootOrder::Spent => "spent",
        }
    }

    /// The value by which a root is ordered.
    pub fn value_of(self, row: &RootRow) -> i64 {
        match self {
            RootOrder::Opened => super::fault::to_signed(row.position),
            RootOrder::Since => super::fault::to_signed(row.since),
            RootOrder::Took => super::fault::to_signed(row.took),
            RootOrder::Spent => row.used.sum_money(),
        }
    }
}

/// Which roots are read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RootSelection {
    /// The order.
    pub order: RootOrder,
    /// Only roots behind the one with this value and this position.
    pub after: Option<(i64, u64)>,
    /// Only roots whose last call ended so.
    pub outcome: Option<&'static str>,
    /// Only roots that are paused by themselves.
    pub is_paused: Option<bool>,
    /// Only roots that have ended, or have not.
    pub is_ended: Option<bool>,
    /// Only roots whose name begins so.
    pub name: Option<String>,
    /// Only roots of this client.
    pub client: Option<String>,
    /// Only roots that this listener was asked first, and these roots.
    pub entry: Option<(String, Vec<String>)>,
    /// Only roots with this code, or with this code of the first cause.
    pub code: Option<String>,
    /// Only roots whose last record was made then or later.
    pub since: Option<u64>,
    /// Only roots whose last record was made before.
    pub until: Option<u64>,
}

impl RootSelection {
    /// Whether a root is one of them.
    pub fn has(&self, row: &RootRow) -> bool {
        let place = (self.order.value_of(row), row.position);
        let is_of =
            |(entry, others): &(String, Vec<String>)| row.entry == *entry || others.contains(&row.thread);
        self.after.is_none_or(|after| place < after)
            && self.outcome.is_none_or(|outcome| row.outcome == outcome)
            && self.is_paused.is_none_or(|is_paused| row.is_paused == is_paused)
            && self.is_ended.is_none_or(|is_ended| row.is_ended == is_ended)
            && self
                .name
                .as_ref()
                .is_none_or(|name| !row.name.is_empty() && row.name.starts_with(name.as_str()))
            && self.client.as_ref().is_none_or(|client| row.client == *client)
            && self.entry.as_ref().is_none_or(is_of)
            && self.code.as_ref().is_none_or(|code| row.code == *code || row.first_code == *code)
            && self.since.is_none_or(|since| row.since >= since)
            && self.until.is_none_or(|until| row.since < until)
    }
}

/// A call that is open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenCall {
    /// The listener that was called.
    pub listener: String,
    /// When.
    pub opened: u64,
    /// Whether no one waits for its answer.
    pub is_tell: bool,
}

/// The place of a request to a model: thread, call, turn, attempt and entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestKey {
    /// The thread.
    pub thread: String,
    /// The call.
    pub path: String,
    /// Its turn.
    pub turn: u32,
    /// The attempt at the turn.
    pub attempt: u32,
    /// The entry of the journal that says that the request begins.
    pub entry: u64,
}

/// A request to a model without a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenRequest {
    /// The listener that asked.
    pub listener: String,
    /// The model.
    pub model: String,
    /// When.
    pub started: u64,
}

/// What is summed in one row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct HourKey {
    /// Hours since 1970.
    pub hour: u64,
    /// The listener that was called, or that asked the model.
    pub listener: String,
    /// The model; empty for calls of listeners.
    pub model: String,
    /// The client that opened the root.
    pub client: String,
    /// How they ended.
    pub outcome: String,
}

/// The calls, or the requests to models, of one row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HourSum {
    /// Their number.
    pub count: i64,
    /// How long they took together, in milliseconds.
    pub took: i64,
    /// How long the longest took.
    pub longest: i64,
    /// What they used of models.
    pub used: ModelSum,
}

impl HourSum {
    /// Adds another one.
    pub fn add(&mut self, other: &HourSum) {
        self.count = self.count.saturating_add(other.count);
        self.took = self.took.saturating_add(other.took);
        self.longest = self.longest.max(other.longest);
        self.used.add(&other.used);
    }
}

/// A call, or a request to a model, that took long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowRow {
    /// How long, in milliseconds.
    pub took: u64,
    /// The position of the record with its end.
    pub position: u64,
    /// The thread of that record.
    pub thread: String,
    /// Its number there.
    pub seq: u64,
    /// The call; empty for a request to a model.
    pub call: String,
    /// In whose sums it is.
    pub key: HourKey,
}

/// Which sums are read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SumSelection {
    /// From this hour on.
    pub since: Option<u64>,
    /// Before this hour.
    pub until: Option<u64>,
    /// Only those of roots of this client.
    pub client: Option<String>,
    /// Only those of this listener.
    pub listener: Option<String>,
    /// Requests to models in place of calls.
    pub of_models: bool,
    /// Only those to this model.
    pub model: Option<String>,
}

/// How many roots there are of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RootCount {
    /// How the last call from outside ended; empty if none has.
    pub outcome: String,
    /// Whether they are paused by themselves.
    pub is_paused: bool,
    /// Whether nothing is ever appended to them again.
    pub is_ended: bool,
    /// How many there are.
    pub count: u64,
}

/// The calls of a listener, or its requests to a model, over all hours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallTotal {
    /// The listener.
    pub listener: String,
    /// The model; empty for calls.
    pub model: String,
    /// How they ended.
    pub outcome: String,
    /// How many there are.
    pub count: u64,
    /// How long they took together, in milliseconds.
    pub took: u64,
    /// Tokens that were read, if known.
    pub tokens_in: u64,
    /// Tokens that were written, if known.
    pub tokens_out: u64,
}
