//! Where the time of a thread went: a lane for each listener, with the spans in which a call of it was queued, asked a
//! model, worked, waited for a person or backed off, and the path that decided how long all of it took.
//!
//! The spans come from the pump's own fold: after each record, the state of each open call says what it does next. A
//! thread and everything below it come in; lanes go out, as numbers or as a picture.

mod folding;
mod path;
mod picture;
mod short_waits;
mod span;

use serde_json::{Value, json};

use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::time::Millis;

pub use picture::picture;
pub use span::{LaneMeasure, SlotsOf, SpanKind, ThreadTime, TimeLane, TimeSpan};

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
        !short_waits::LongWaits::of(self).is_empty()
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
