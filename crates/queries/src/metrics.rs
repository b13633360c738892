//! What an organism does, in numbers for monitoring, and the page with them in the text form of Prometheus.
//!
//! The numbers are sums of the index, so they go on where they were after a restart. An index and the state of the log
//! come in; numbers or text go out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use systole_core::types::ports::LogReader;
use systole_core::types::time::Millis;
use systole_log::index::{IndexFault, IndexFile};

use crate::index::UNKNOWN;
use crate::log_state::LogState;
use crate::posts::DueCalls;
use crate::thread_end::ThreadStatus;
use crate::thread_roll;

/// What the numbers are made of.
pub struct MetricSource<'a> {
    /// The log.
    pub reader: &'a dyn LogReader,
    /// Its state.
    pub whole: &'a LogState,
    /// The moment that counts as now.
    pub now: Millis,
    /// The index.
    pub index: &'a IndexFile,
}

/// A metric.
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// What it means.
    pub help: &'static str,
    /// Its values.
    pub values: Vec<MetricValue>,
}

/// The kind of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricKind {
    /// A number that rises and falls.
    Gauge,
    /// A sum that never falls.
    Counter,
    /// How often something happened, and how long all of it took.
    Summary,
}

/// A value of a metric.
pub struct MetricValue {
    /// What it is the value of.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub number: MetricNumber,
}

/// A number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricNumber {
    /// How many.
    Count(u64),
    /// How many, and how long all of them took.
    Took {
        /// How many.
        count: u64,
        /// The time of all.
        milliseconds: u64,
    },
    /// Millionths of an amount of money.
    Micros(i64),
}

impl Metric {
    fn new(
        (name, kind, help): (&'static str, MetricKind, &'static str),
        values: impl Iterator<Item = (Vec<(&'static str, String)>, MetricNumber)>,
    ) -> Metric {
        let values = values.map(|(labels, number)| MetricValue { labels, number }).collect();
        Metric { name, kind, help, values }
    }
}

const THREADS: (&str, MetricKind, &str) =
    ("systole_threads", MetricKind::Gauge, "Root threads by their state.");
const CALLS: (&str, MetricKind, &str) =
    ("systole_calls_total", MetricKind::Counter, "Calls that have ended, by listener and outcome.");
const CALL_SECONDS: (&str, MetricKind, &str) = (
    "systole_call_seconds",
    MetricKind::Summary,
    "How long the calls that have ended took, with all that they waited for.",
);
const REQUESTS: (&str, MetricKind, &str) = (
    "systole_model_requests_total",
    MetricKind::Counter,
    "Requests to models that have a result, by model and outcome.",
);
const TOKENS: (&str, MetricKind, &str) =
    ("systole_model_tokens_total", MetricKind::Counter, "Tokens that models read and wrote, where known.");
const MONEY: (&str, MetricKind, &str) =
    ("systole_model_money_total", MetricKind::Counter, "What requests to models cost, by currency.");
const REFUSALS: (&str, MetricKind, &str) =
    ("systole_refusals_total", MetricKind::Counter, "Refused messages, by code.");
const BEHIND: (&str, MetricKind, &str) =
    ("systole_follower_behind", MetricKind::Gauge, "Records that a follower has not sent yet.");

/// The metrics of a log.
pub fn read_metrics(source: &MetricSource<'_>) -> Result<Vec<Metric>, IndexFault> {
    let threads = count_threads(source)?;
    let threads = ThreadStatus::ALL.iter().map(|status| {
        let state = status.as_str();
        let count = threads.get(state).copied().unwrap_or(0);
        (vec![("state", state.to_owned())], MetricNumber::Count(count))
    });
    let mut metrics = vec![Metric::new(THREADS, threads)];
    let totals = source.index.list_totals()?;
    let (calls, requests): (Vec<_>, Vec<_>) = totals.into_iter().partition(|total| total.model.is_empty());
    let mut by_listener = BTreeMap::<String, (u64, u64)>::new();
    for call in &calls {
        let (count, took) = by_listener.entry(call.listener.clone()).or_default();
        (*count, *took) = (count.saturating_add(call.count), took.saturating_add(call.took));
    }
    let of_calls = calls.into_iter().map(|call| {
        let labels = vec![("listener", call.listener), ("outcome", call.outcome)];
        (labels, MetricNumber::Count(call.count))
    });
    metrics.push(Metric::new(CALLS, of_calls));
    let took = by_listener.into_iter().map(|(listener, (count, milliseconds))| {
        (vec![("listener", listener)], MetricNumber::Took { count, milliseconds })
    });
    metrics.push(Metric::new(CALL_SECONDS, took));
    let (mut ended, mut tokens) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
    for request in requests {
        let model = request.model;
        for (direction, count) in [("in", request.tokens_in), ("out", request.tokens_out)] {
            let sum = tokens.entry((model.clone(), direction)).or_default();
            *sum = sum.saturating_add(count);
        }
        // One without a result has it later, and a counter never falls.
        if request.outcome != UNKNOWN {
            *ended.entry((model, request.outcome)).or_default() += request.count;
        }
    }
    let ended = ended.into_iter().map(|((model, outcome), count)| {
        (vec![("model", model), ("outcome", outcome)], MetricNumber::Count(count))
    });
    metrics.push(Metric::new(REQUESTS, ended));
    let tokens = tokens.into_iter().map(|((model, direction), count)| {
        (vec![("model", model), ("direction", direction.to_owned())], MetricNumber::Count(count))
    });
    metrics.push(Metric::new(TOKENS, tokens));
    let money = source.index.sum_money()?.into_iter().map(|((model, currency), micros)| {
        (vec![("model", model), ("currency", currency)], MetricNumber::Micros(micros))
    });
    metrics.push(Metric::new(MONEY, money));
    let refusals = source.index.list_refusals()?.into_iter();
    let refusals = refusals.map(|(code, count)| (vec![("code", code)], MetricNumber::Count(count)));
    metrics.push(Metric::new(REFUSALS, refusals));
    Ok(metrics)
}

/// The roots by their states. What is closed comes from the index, what is open from the state of the log.
fn count_threads(source: &MetricSource<'_>) -> Result<BTreeMap<&'static str, u64>, IndexFault> {
    let is_all_paused = source.whole.all_paused(source.reader)?.is_some();
    let status_of = |outcome: &str, is_paused: bool, is_ended: bool| match outcome {
        _ if (is_paused || is_all_paused) && !is_ended => ThreadStatus::Paused,
        known => {
            ThreadStatus::ALL.into_iter().find(|one| one.as_str() == known).unwrap_or(ThreadStatus::Answered)
        }
    };
    let mut counts = BTreeMap::<&'static str, u64>::new();
    for root in source.index.count_roots()? {
        let status = status_of(&root.outcome, root.is_paused, root.is_ended);
        *counts.entry(status.as_str()).or_default() += root.count;
    }
    let posts = DueCalls::at(source.whole, source.now);
    for thread in source.whole.waiting() {
        let Some(row) = source.index.find_root(thread.id.as_str())? else { continue };
        let entry = thread_roll::entry(source.reader, source.whole, &posts, thread, source.now)?;
        let closed = counts.entry(status_of(&row.outcome, row.is_paused, row.is_ended).as_str()).or_default();
        *closed = closed.saturating_sub(1);
        *counts.entry(entry.state()).or_default() += 1;
    }
    Ok(counts)
}

/// How many records each follower is behind the end of the log, as far as that is known.
pub fn count_behind(followers: impl Iterator<Item = (String, Option<u64>)>) -> Metric {
    let known = followers.filter_map(|(name, behind)| Some((name, behind?)));
    let values = known.map(|(name, behind)| (vec![("follower", name)], MetricNumber::Count(behind)));
    Metric::new(BEHIND, values)
}

/// The page with these metrics.
pub fn write_page(metrics: &[Metric]) -> String {
    let mut page = String::new();
    for Metric { name, kind, help, values } in metrics {
        let kind = match kind {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter => "counter",
            MetricKind::Summary => "summary",
        };
        page.extend(["# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n"]);
        for MetricValue { labels, number } in values {
            match *number {
                MetricNumber::Count(count) => add_line(&mut page, name, labels, &count.to_string()),
                MetricNumber::Micros(_) => {
                    add_line(&mut page, name, labels, &format!("{:.6}", number.count_units()));
                }
                MetricNumber::Took { count, .. } => {
                    let seconds = format!("{:.3}", number.count_units());
                    add_line(&mut page, &format!("{name}_sum"), labels, &seconds);
                    add_line(&mut page, &format!("{name}_count"), labels, &count.to_string());
                }
            }
        }
    }
    page
}

impl MetricNumber {
    /// The number in its unit: pieces, seconds, or units of a currency.
    pub fn count_units(self) -> f64 {
        match self {
            MetricNumber::Count(count) => count as f64,
            // Divided once, so that it is the number that the page writes.
            MetricNumber::Took { milliseconds, .. } => milliseconds as f64 / 1e3,
            MetricNumber::Micros(micros) => micros.max(0) as f64 / 1e6,
        }
    }
}

fn add_line(page: &mut String, name: &str, labels: &[(&'static str, String)], value: &str) {
    let labels: Vec<String> =
        labels.iter().map(|(key, text)| format!("{key}=\"{}\"", escape(text))).collect();
    // Writing to a text cannot fail.
    let _written = writeln!(page, "{name}{{{}}} {value}", labels.join(","));
}

/// The value of a label.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h6_a_sum_is_the_number_that_the_page_writes() {
        for milliseconds in 0..5_000 {
            let sum = MetricNumber::Took { count: 1, milliseconds }.count_units();
            assert_eq!(format!("{sum:.3}").parse(), Ok(sum), "{milliseconds} ms");
        }
        for micros in (0..9_000_000).step_by(997) {
            let sum = MetricNumber::Micros(micros).count_units();
            assert_eq!(format!("{sum:.6}").parse(), Ok(sum), "{micros} millionths");
        }
    }
}
