//! Where the time of a thread went: a lane for each listener, with the spans in which a call of it was queued, asked a
//! model, worked, waited for a person or backed off, and the path that decided how long all of it took.
//!
//! The spans come from the pump's own fold: after each record, the state of each open call says what it does next. A
//! thread and everything below it come in; lanes go out, as numbers or as a picture.

mod folding;
mod path;
mod picture;
mod shortened;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use systole_kit::money::{Currency, Money};

use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::time::Millis;

pub use picture::picture;

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
    fn has_cost(&self) -> bool {
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

/// Reads the time of a thread and everything below it; `None` if it has no record.
pub fn read(
    reader: &dyn LogReader,
    thread: &ThreadId,
    slots: SlotsOf<'_>,
    now: Millis,
) -> Result<Option<ThreadTime>, LogFault> {
    let Some(mut folded) = folding::fold(reader, thread, now)? else { return Ok(None) };
    folding::queue(&mut folded.spans, slots);
    let mut spans: Vec<(Name, TimeSpan)> = folded
        .spans
        .into_iter()
        .map(|span| (span.listener, span.span))
        .filter(|(_, span)| span.ms() > 0 || span.is_open || span.has_cost())
        .collect();
    spans.sort_by_key(|(_, span)| (span.from, span.to));
    path::mark(&mut spans);
    let mut lanes: Vec<TimeLane> = Vec::new();
    for (listener, span) in spans {
        match lanes.iter_mut().find(|lane| lane.listener == listener) {
            Some(lane) => lane.spans.push(span),
            None => lanes.push(TimeLane { listener, spans: vec![span] }),
        }
    }
    let is_open = lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.is_open);
    let to = if is_open { now.max(folded.to) } else { folded.to };
    Ok(Some(ThreadTime { thread: thread.clone(), from: folded.from, to, lanes, is_cut: folded.is_cut }))
}

impl ThreadTime {
    /// How long it took, or takes so far.
    pub fn ms(&self) -> u64 {
        self.to.count_since(self.from)
    }

    /// Whether its picture draws waits shorter than they were.
    pub fn has_long_waits(&self) -> bool {
        !shortened::LongWaits::of(self).is_empty()
    }

    /// The spans that decided how long it took, in order.
    pub fn critical(&self) -> Vec<(&Name, &TimeSpan)> {
        let all =
            self.lanes.iter().flat_map(|lane| lane.spans.iter().map(move |span| (&lane.listener, span)));
        let mut found: Vec<_> = all.filter(|(_, span)| span.is_critical).collect();
        found.sort_by_key(|(_, span)| (span.from, span.to));
        found
    }

    /// The lanes for programs.
    pub fn as_json(&self) -> Value {
        let span = |span: &TimeSpan| {
            json!({
                "kind": span.kind.as_str(),
                "from": span.from.to_string(),
                "ms": span.ms(),
                "open": span.is_open,
                "thread": span.thread.as_str(),
                "call": span.call.as_str(),
                "turn": span.turn,
                "begins": span.begins,
                "ends": span.ends,
                "model": span.model,
                "tokens": span.tokens,
                "money": span.money.map(|money| money.to_string()),
                "critical": span.is_critical,
            })
        };
        let lane = |lane: &TimeLane| {
            let sums = SpanKind::ALL.map(|kind| (kind.as_str().to_owned(), Value::from(lane.ms(kind))));
            json!({
                "listener": lane.listener.as_str(),
                "ms": serde_json::Map::from_iter(sums),
                "critical_ms": lane.critical_ms(),
                "tokens": lane.tokens(),
                "money": lane.money(),
                "spans": lane.spans.iter().map(span).collect::<Vec<_>>(),
            })
        };
        json!({
            "thread": self.thread.as_str(),
            "from": self.from.to_string(),
            "ms": self.ms(),
            "cut": self.is_cut,
            "lanes": self.lanes.iter().map(lane).collect::<Vec<_>>(),
        })
    }
}
