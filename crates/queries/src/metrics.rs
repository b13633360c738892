//! What an organism does, in numbers for monitoring: a page in the text form of Prometheus.
//!
//! The numbers are sums of the index, so they go on where they were after a restart. An index and the state of the log
//! come in; text goes out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

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

/// A metric: its name, its type and what it means.
type Metric = (&'static str, &'static str, &'static str);

const THREADS: Metric = ("systole_threads", "gauge", "Root threads by their state.");
const CALLS: Metric = ("systole_calls_total", "counter", "Calls that have ended, by listener and outcome.");
const CALL_SECONDS: Metric = (
    "systole_call_seconds",
    "summary",
    "How long the calls that have ended took, with all that they waited for.",
);
const REQUESTS: Metric = (
    "systole_model_requests_total",
    "counter",
    "Requests to models that have a result, by model and outcome.",
);
const TOKENS: Metric =
    ("systole_model_tokens_total", "counter", "Tokens that models read and wrote, where known.");
const MONEY: Metric = ("systole_model_money_total", "counter", "What requests to models cost, by currency.");
const REFUSALS: Metric = ("systole_refusals_total", "counter", "Refused messages, by code.");

/// The page.
pub fn write_metrics(source: &MetricSource<'_>) -> Result<String, IndexFault> {
    let mut page = String::new();
    let threads = count_threads(source)?;
    let states = ThreadStatus::ALL.iter().map(|status| status.as_str());
    let threads =
        states.map(|state| (vec![("state", state.to_owned())], threads.get(state).copied().unwrap_or(0)));
    add_metric(&mut page, THREADS, "", threads.map(|(labels, count)| (labels, count.to_string())));
    let totals = source.index.list_totals()?;
    let (calls, requests): (Vec<_>, Vec<_>) = totals.into_iter().partition(|total| total.model.is_empty());
    let mut by_listener = BTreeMap::<String, (u64, u64)>::new();
    for call in &calls {
        let (count, took) = by_listener.entry(call.listener.clone()).or_default();
        (*count, *took) = (count.saturating_add(call.count), took.saturating_add(call.took));
    }
    let of_calls = calls
        .into_iter()
        .map(|call| (vec![("listener", call.listener), ("outcome", call.outcome)], call.count.to_string()));
    add_metric(&mut page, CALLS, "", of_calls);
    let label = |listener: &String| vec![("listener", listener.clone())];
    let sums = by_listener.iter().map(|(name, (_, took))| (label(name), write_seconds(*took)));
    add_metric(&mut page, CALL_SECONDS, "_sum", sums);
    for (name, (count, _)) in &by_listener {
        add_line(&mut page, "systole_call_seconds_count", &label(name), &count.to_string());
    }
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
    let ended = ended
        .into_iter()
        .map(|((model, outcome), count)| (vec![("model", model), ("outcome", outcome)], count.to_string()));
    add_metric(&mut page, REQUESTS, "", ended);
    let tokens = tokens.into_iter().map(|((model, direction), count)| {
        (vec![("model", model), ("direction", direction.to_owned())], count.to_string())
    });
    add_metric(&mut page, TOKENS, "", tokens);
    let money = source.index.sum_money()?.into_iter().map(|((model, currency), micros)| {
        (vec![("model", model), ("currency", currency)], write_millionths(micros))
    });
    add_metric(&mut page, MONEY, "", money);
    let refusals = source.index.list_refusals()?.into_iter();
    add_metric(
        &mut page,
        REFUSALS,
        "",
        refusals.map(|(code, count)| (vec![("code", code)], count.to_string())),
    );
    Ok(page)
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

fn add_metric(
    page: &mut String,
    (name, kind, help): Metric,
    ending: &str,
    values: impl Iterator<Item = (Vec<(&'static str, String)>, String)>,
) {
    page.extend(["# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n"]);
    for (labels, value) in values {
        add_line(page, &format!("{name}{ending}"), &labels, &value);
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

fn write_seconds(milliseconds: u64) -> String {
    format!("{:.3}", Duration::from_millis(milliseconds).as_secs_f64())
}

fn write_millionths(micros: i64) -> String {
    // A second has as many of its millionths as a dollar.
    format!("{:.6}", Duration::from_micros(u64::try_from(micros).unwrap_or(0)).as_secs_f64())
}
