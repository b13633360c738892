//! Lanes of spans in which the calls of a thread waited or worked.

use std::collections::BTreeMap;

use systole_kit::money::{Currency, Money};

use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::time::Millis;

/// What a call does in a span.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SpanKind {
    /// It waits for a slot of its listener, or behind an earlier call.
    Queued,
    /// Its listener waits for a model.
    Model,
    /// Its listener works.
    Work,
    /// A person has to decide or to answer.
    Person,
    /// It waits after a failed attempt.
    BackOff,
}

impl SpanKind {
    /// All kinds.
    pub const ALL: [SpanKind; 5] =
        [SpanKind::Queued, SpanKind::Model, SpanKind::Work, SpanKind::Person, SpanKind::BackOff];

    /// Its name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            SpanKind::Queued => "queued",
            SpanKind::Model => "model",
            SpanKind::Work => "works",
            SpanKind::Person => "person",
            SpanKind::BackOff => "back-off",
        }
    }
}

/// What the width of a span shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneMeasure {
    /// The time that it took, at its place in time.
    Time,
    /// The tokens of a model, one span after another.
    Tokens,
    /// The same with money. Of several currencies the first one counts.
    Money,
}

impl LaneMeasure {
    /// All measures by their words.
    pub const WORDS: [&'static str; 3] = ["time", "tokens", "money"];

    /// The measure of a word.
    pub fn parse(word: &str) -> Option<LaneMeasure> {
        [LaneMeasure::Time, LaneMeasure::Tokens, LaneMeasure::Money]
            .into_iter()
            .find(|one| one.as_str() == word)
    }

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            LaneMeasure::Time => "time",
            LaneMeasure::Tokens => "tokens",
            LaneMeasure::Money => "money",
        }
    }
}

/// A span of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeSpan {
    /// What the call does.
    pub kind: SpanKind,
    /// Its beginning.
    pub from: Millis,
    /// Its end; the moment of reading if it is open.
    pub to: Millis,
    /// Whether it has not ended.
    pub is_open: bool,
    /// The thread of the call.
    pub thread: ThreadId,
    /// The call.
    pub call: CallPath,
    /// The turn; 0 if there is none yet.
    pub turn: u32,
    /// The record that began it.
    pub begins: u64,
    /// The record that ended it.
    pub ends: Option<u64>,
    /// The model, if it is one's.
    pub model: Option<String>,
    /// Tokens, if known.
    pub tokens: Option<u64>,
    /// Money, if known.
    pub money: Option<Money>,
    /// Whether the whole would have been shorter without it, as far as the log shows.
    pub is_critical: bool,
}

impl TimeSpan {
    /// How long it lasts.
    pub fn ms(&self) -> u64 {
        self.to.count_since(self.from)
    }

    /// Whether it cost tokens or money: it counts even if it took less than a millisecond.
    pub(super) fn has_cost(&self) -> bool {
        self.tokens.is_some() || self.money.is_some()
    }
}

/// The spans of a listener, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeLane {
    /// The listener.
    pub listener: Name,
    /// Its spans.
    pub spans: Vec<TimeSpan>,
}

impl TimeLane {
    /// The milliseconds of a kind. Calls that overlap count each.
    pub fn ms(&self, kind: SpanKind) -> u64 {
        self.spans.iter().filter(|span| span.kind == kind).map(TimeSpan::ms).sum()
    }

    /// The milliseconds that are on the path that decides.
    pub fn critical_ms(&self) -> u64 {
        self.spans.iter().filter(|span| span.is_critical).map(TimeSpan::ms).sum()
    }

    /// Its tokens, as far as they are known.
    pub fn tokens(&self) -> u64 {
        self.spans.iter().filter_map(|span| span.tokens).sum()
    }

    /// Its money, as far as it is known.
    pub fn money(&self) -> Vec<String> {
        let mut sums: BTreeMap<Currency, u64> = BTreeMap::new();
        for money in self.spans.iter().filter_map(|span| span.money) {
            *sums.entry(money.currency).or_default() += money.micros;
        }
        sums.into_iter().map(|(currency, micros)| Money { micros, currency }.to_string()).collect()
    }
}

/// Where the time of a thread went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadTime {
    /// The thread.
    pub thread: ThreadId,
    /// The time of its first record.
    pub from: Millis,
    /// The time of its last record, or the moment of reading if a call is open.
    pub to: Millis,
    /// The lanes, in order of their first span.
    pub lanes: Vec<TimeLane>,
    /// Whether there are records or threads that were not read.
    pub is_cut: bool,
}

/// How many deliveries may be out to a listener at once, under a configuration.
pub type SlotsOf<'a> = &'a dyn Fn(Digest, &Name) -> usize;
