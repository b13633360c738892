//! The spans of each call, from the fold of its thread.
//!
//! A thread comes in; the spans of all calls in it and below it go out. A delivery's start is not recorded, so the time
//! in the queue comes from the number of slots and from the other calls of this tree alone.

use std::collections::{BTreeMap, HashMap};

use systole_kit::journal::{EarlierEntry, JournalEntry};

use super::{SlotsOf, SpanKind, TimeSpan};
use crate::limits;
use systole_core::pump::state::{Call, CallState, Thread};
use systole_core::pump::wake;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{Record, RecordKind};
use systole_core::types::time::Millis;
use systole_show::columns::plain;

/// A span with its listener.
pub(super) struct ListenerSpan {
    pub(super) listener: Name,
    pub(super) config: Digest,
    /// The attempt of the turn; 0 if nothing is due.
    pub(super) attempt: u32,
    pub(super) span: TimeSpan,
}

/// The spans of a tree.
pub(super) struct FoldedTree {
    pub(super) spans: Vec<ListenerSpan>,
    pub(super) from: Millis,
    pub(super) to: Millis,
    pub(super) is_cut: bool,
}

/// What a call does, as its state says. `None` if it waits for others.
#[derive(Clone, PartialEq, Eq)]
struct CallActivity {
    kind: SpanKind,
    turn: u32,
    attempt: u32,
    until: Millis,
}

/// An activity that goes on.
struct OpenActivity {
    activity: CallActivity,
    listener: Name,
    config: Digest,
    since: Millis,
    begins: u64,
    /// The model that was asked in it and has not answered, and since when.
    model: Option<(String, Millis, u64)>,
}

/// Folds a thread and those below it; `None` if it has no record.
pub(super) fn fold(
    reader: &dyn LogReader,
    root: &ThreadId,
    now: Millis,
) -> Result<Option<FoldedTree>, LogFault> {
    let below = format!("{}.", root.as_str());
    let children = reader.threads_like(&below, limits::LANE_THREADS)?;
    let is_cut = children.len() >= limits::LANE_THREADS;
    let mut tree = FoldedTree { spans: Vec::new(), from: Millis(u64::MAX), to: Millis(0), is_cut };
    let mut left = limits::LANE_RECORDS;
    for id in std::iter::once(root).chain(&children) {
        let mut folding = ThreadFolding { open: HashMap::new(), spans: &mut tree.spans, thread: id };
        let mut thread = Thread::new_blank(id.clone());
        for placed in reader.records_of(id, 1).take(left) {
            let (position, record) = placed?;
            wake::fold_next(&mut thread, &record, position)?;
            folding.after(&thread, &record);
            tree.from = tree.from.min(record.header.time);
            tree.to = tree.to.max(record.header.time);
            left -= 1;
        }
        tree.is_cut |= left == 0;
        folding.end(now);
    }
    Ok((tree.to.0 > 0).then_some(tree))
}

struct ThreadFolding<'a> {
    open: HashMap<CallPath, OpenActivity>,
    spans: &'a mut Vec<ListenerSpan>,
    thread: &'a ThreadId,
}

impl ThreadFolding<'_> {
    fn after(&mut self, thread: &Thread, record: &Record) {
        let h = &record.header;
        if h.kind == RecordKind::Journal
            && let Some(call) = &h.call
        {
            self.journal(call, record);
        }
        let over: Vec<CallPath> = self
            .open
            .iter()
            .filter(|(path, open)| {
                thread.calls.get(*path).and_then(|call| activity(call)).is_none_or(|now| now != open.activity)
            })
            .map(|(path, _)| path.clone())
            .collect();
        for path in over {
            if let Some(open) = self.open.remove(&path) {
                self.close(&path, open, h.time, Some(h.seq));
            }
        }
        for (path, call) in &thread.calls {
            if self.open.contains_key(path) {
                continue;
            }
            let Some(activity) = activity(call) else { continue };
            let (listener, config) = (call.listener.clone(), call.config);
            let open = OpenActivity { activity, listener, config, since: h.time, begins: h.seq, model: None };
            self.open.insert(path.clone(), open);
        }
    }

    /// A model is asked, or has answered.
    fn journal(&mut self, call: &CallPath, record: &Record) {
        let h = &record.header;
        let Some(open) = self.open.get_mut(call) else { return };
        match EarlierEntry::from_body(&record.body).map(|entry| entry.entry) {
            Ok(JournalEntry::Started(started)) => {
                let before = span(self.thread, call, open, SpanKind::Work, (open.since, h.time));
                self.spans.push(before.end_at(h.seq));
                open.since = h.time;
                open.begins = h.seq;
                open.model = Some((plain(&started.model), h.time, h.seq));
            }
            Ok(JournalEntry::Result(outcome)) => {
                let Some((model, since, _)) = open.model.take() else { return };
                let mut asked = span(self.thread, call, open, SpanKind::Model, (since, h.time));
                asked.span.model = Some(model);
                asked.span.tokens = outcome.count_tokens();
                asked.span.money = outcome.money;
                self.spans.push(asked.end_at(h.seq));
                open.since = h.time;
                open.begins = h.seq;
            }
            Err(_) => {}
        }
    }

    fn close(&mut self, path: &CallPath, open: OpenActivity, at: Millis, ends: Option<u64>) {
        let whole = |kind, times| {
            let mut span = span(self.thread, path, &open, kind, times);
            span.span.ends = ends;
            span.span.is_open = ends.is_none();
            span
        };
        let mut from = open.since;
        if open.activity.kind == SpanKind::Work && open.activity.until > from && open.model.is_none() {
            let until = open.activity.until.min(at);
            self.spans.push(whole(SpanKind::BackOff, (from, until)));
            from = until;
        }
        if from < at || ends.is_none() {
            let kind = if open.model.is_some() { SpanKind::Model } else { open.activity.kind };
            let mut last = whole(kind, (from, at));
            last.span.model = open.model.as_ref().map(|(model, ..)| model.clone());
            self.spans.push(last);
        }
    }

    /// Ends the spans of calls that are still open.
    fn end(mut self, now: Millis) {
        for (path, open) in std::mem::take(&mut self.open) {
            let at = now.max(open.since);
            self.close(&path, open, at, None);
        }
    }
}

impl ListenerSpan {
    fn end_at(mut self, seq: u64) -> ListenerSpan {
        self.span.ends = Some(seq);
        self
    }
}

fn span(
    thread: &ThreadId,
    call: &CallPath,
    open: &OpenActivity,
    kind: SpanKind,
    (from, to): (Millis, Millis),
) -> ListenerSpan {
    ListenerSpan {
        listener: open.listener.clone(),
        config: open.config,
        attempt: open.activity.attempt,
        span: TimeSpan {
            kind,
            from,
            to,
            is_open: false,
            thread: thread.clone(),
            call: call.clone(),
            turn: open.activity.turn,
            begins: open.begins,
            ends: None,
            model: None,
            tokens: None,
            money: None,
            is_critical: false,
        },
    }
}

fn activity(call: &Call) -> Option<CallActivity> {
    let of = |kind, turn, attempt| CallActivity { kind, turn, attempt, until: Millis(0) };
    match call.stand() {
        CallState::Asking => Some(of(SpanKind::Person, 0, 0)),
        CallState::Held => Some(of(SpanKind::Queued, 0, 0)),
        CallState::Ready { turn, attempt } => {
            Some(CallActivity { until: call.not_before, ..of(SpanKind::Work, turn, attempt) })
        }
        CallState::Joining(_) if call.questions().next().is_some() => {
            Some(of(SpanKind::Person, call.settled, 0))
        }
        CallState::Joining(_) => None,
    }
}

/// Splits off the time in which a delivery waited for a slot: those of a listener go out in the order in which they
/// become due.
pub(super) fn queue(spans: &mut Vec<ListenerSpan>, slots: SlotsOf<'_>) {
    type DeliveryKey = (ThreadId, CallPath, u32, u32);
    let mut deliveries: BTreeMap<Name, BTreeMap<DeliveryKey, (Millis, Millis, usize)>> = BTreeMap::new();
    for (number, of) in spans.iter().enumerate() {
        let span = &of.span;
        if of.attempt == 0 || !matches!(span.kind, SpanKind::Work | SpanKind::Model) {
            continue;
        }
        let key = (span.thread.clone(), span.call.clone(), span.turn, of.attempt);
        let known = deliveries.entry(of.listener.clone()).or_default().entry(key);
        let known = known.or_insert((span.from, span.to, number));
        if span.from < known.0 {
            (known.0, known.2) = (span.from, number);
        }
        known.1 = known.1.max(span.to);
    }
    let mut queued = Vec::new();
    for of_listener in deliveries.into_values() {
        let mut order: Vec<(Millis, Millis, usize)> = of_listener.into_values().collect();
        order.sort();
        // The ends of the deliveries that are out.
        let mut out: Vec<Millis> = Vec::new();
        for (due, end, number) in order {
            let Some(first) = spans.get_mut(number) else { continue };
            let slots = slots(first.config, &first.listener).max(1);
            out.retain(|end| *end > due);
            let start = if out.len() < slots {
                due
            } else {
                out.sort();
                out.get(out.len() - slots).copied().unwrap_or(due)
            };
            out.push(end);
            // A listener that asked a model had its delivery by then.
            let start = if first.span.kind == SpanKind::Work { start.min(first.span.to) } else { due };
            if start > due {
                let mut waits = first.span.clone();
                (waits.kind, waits.to, waits.is_open, waits.ends) = (SpanKind::Queued, start, false, None);
                let (listener, config, attempt) = (first.listener.clone(), first.config, first.attempt);
                first.span.from = start;
                queued.push(ListenerSpan { listener, config, attempt, span: waits });
            }
        }
    }
    spans.extend(queued);
}
