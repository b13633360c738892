//! The time that a message from outside may take. The time runs while anything of its tree is worked on,
//! and does not run while the tree waits only for persons and timers. A record in the chain of the root
//! marks each change, so the sum is a fold of records. The time since the last record is measured in
//! ticks (`running`); across a restart only the wall clock can measure it.

mod running;

pub use running::{RunningBudget, RunningBudgets, TimeLeft};

use smallvec::SmallVec;

use super::awaiting;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::{Effect, Effects};
use super::pausing::find_halt;
use super::state::{BudgetUse, CHILD, Call, CallState, CompositionBook, OpenedBy, PumpState, Thread};
use super::thread_before::{RunningSince, ThreadBefore, list_running};
use super::{timers, wrapping};
use crate::rules::budget_payload;
use crate::types::budget::{ExceededLimit, Measure, RecordedTime};
use crate::types::ids::{CallPath, Digest, MessageId, ThreadId};
use crate::types::limits;
use crate::types::ports::CallBack;
use crate::types::record::{MessageRole, RecordCode, RecordKind, TimerEffect};
use crate::types::time::Millis;

/// For every tree that a decision has touched: records in the root whether its time runs from now on, if
/// that has changed.
pub(super) fn settle_budgets(d: &mut DecisionBuilder<'_>) {
    for runs in d.limited_roots() {
        let Some((budget_use, limit_ms)) = find_limited(d, &runs) else { continue };
        if budget_use.runs.is_some() != is_working(&|id| d.find_thread(id), &runs.thread, runs.budget_use) {
            record_time(d, &runs, &budget_use, limit_ms);
        }
    }
}

/// A tree's time may have reached a mark: most of it is used, or all. If it has not, because clocks
/// differ, the pump waits for the rest.
pub(super) fn elapse_budget(d: &mut DecisionBuilder<'_>, runs: &RunningBudget) {
    if let Some((budget_use, limit_ms)) =
        find_limited(d, runs).filter(|(budget_use, _)| budget_use.runs.is_some())
    {
        record_time(d, runs, &budget_use, limit_ms);
    }
}

/// Counts the time used until now, and does what the marks require. Another event may lead here before
/// the mark is reported.
fn record_time(d: &mut DecisionBuilder<'_>, runs: &RunningBudget, budget_use: &BudgetUse, limit_ms: u64) {
    let used_ms = used_ms(d, runs, budget_use, limit_ms);
    let of = ExceededLimit { what: Measure::Time, used: used_ms, limit: limit_ms };
    if used_ms >= limit_ms {
        let said = record_elapsed(d, runs, &RecordedTime { runs: false, used_ms, limit_ms });
        end_exceeded(d, &runs.thread, runs.budget_use, &of);
        if let Some(said) = said {
            timers::cancel_left(d, &runs.thread, runs.budget_use, said);
        }
        return;
    }
    if is_mostly(used_ms, limit_ms) && !is_mostly(budget_use.ran_ms, limit_ms) {
        warn_budget(d, &runs.thread, runs.budget_use, &of);
    }
    // Only now, because a warning ends a wait.
    let is_at_work = is_working(&|id| d.find_thread(id), &runs.thread, runs.budget_use);
    record_elapsed(d, runs, &RecordedTime { runs: is_at_work, used_ms, limit_ms });
}

/// The time that is left until the next mark of a budget use whose time runs; `None` if it does not run.
pub fn find_left(budget_use: &BudgetUse, limit_ms: u64, now: Millis) -> Option<TimeLeft> {
    let since = budget_use.runs?;
    let mark_ms = if is_mostly(budget_use.ran_ms, limit_ms) { limit_ms } else { mostly_ms(limit_ms) };
    let ran_ms = now.count_since(since).min(limit_ms.saturating_sub(budget_use.ran_ms));
    Some(TimeLeft { ran_ms, until_ms: mark_ms.saturating_sub(budget_use.ran_ms).saturating_sub(ran_ms) })
}

/// The running time budgets in a state, with what is left of each: for a start, when nothing live is
/// known yet.
pub fn running_of(state: &PumpState, now: Millis) -> Vec<(RunningBudget, TimeLeft)> {
    let roots = state.threads.values().filter(|t| t.id.parent().is_none() && !t.ended);
    let budget_uses =
        roots.flat_map(|t| t.budget_uses.iter().map(|(number, budget_use)| (&t.id, *number, budget_use)));
    let running = budget_uses.filter_map(|(thread, number, budget_use)| {
        let limit_ms = wall_ms(&state.book, budget_use.config)?;
        Some((
            RunningBudget { thread: thread.clone(), budget_use: number },
            find_left(budget_use, limit_ms, now)?,
        ))
    });
    running.collect()
}

/// The budget use of a living root, and its limit, if a limit is set and not reached.
fn find_limited(d: &DecisionBuilder<'_>, runs: &RunningBudget) -> Option<(BudgetUse, u64)> {
    let root = d.find_thread(&runs.thread).filter(|root| !root.ended)?;
    let budget_use = root.budget_uses.get(&runs.budget_use).filter(|budget_use| !budget_use.is_over)?;
    Some((budget_use.clone(), d.find_composition(budget_use.config)?.budgets.as_ref()?.wall_ms?))
}

/// How long a budget use's tree has been worked on until now, at most its limit.
fn used_ms(d: &DecisionBuilder<'_>, runs: &RunningBudget, budget_use: &BudgetUse, limit_ms: u64) -> u64 {
    let since = budget_use
        .runs
        .map_or(0, |since| d.running().ran_ms(runs, d.tick()).unwrap_or(d.at().count_since(since)));
    budget_use.ran_ms.saturating_add(since).min(limit_ms)
}

fn mostly_ms(limit_ms: u64) -> u64 {
    limit_ms.saturating_mul(limits::WARNING_PERCENT).div_ceil(100)
}

fn is_mostly(used_ms: u64, limit_ms: u64) -> bool {
    used_ms >= mostly_ms(limit_ms)
}

/// Records how long the time ran, and whether it runs from now on.
fn record_elapsed(
    d: &mut DecisionBuilder<'_>,
    runs: &RunningBudget,
    clocked: &RecordedTime,
) -> Option<MessageId> {
    let config = d.find_thread(&runs.thread)?.budget_uses.get(&runs.budget_use)?.config;
    let body = budget_payload::write_time(clocked);
    let fact = RecordFact::from_core(RecordKind::Timer, RecordCode::Timing(TimerEffect::Wall), body)
        .with_call(&CallPath::new_top(runs.budget_use));
    Some(d.add_record(&runs.thread, fact.with_config(config)).1)
}

/// The time budgets that run differently after a decision than before.
pub(super) fn note_changes(
    book: &CompositionBook,
    before: &ThreadBefore,
    after: &Thread,
    now: Millis,
    effects: &mut Effects,
) {
    let runs: SmallVec<[_; 1]> = list_running(after).collect();
    if runs == before.running {
        return;
    }
    let of =
        |all: &[(u32, RunningSince)], number| all.iter().find(|(n, _)| *n == number).map(|(_, runs)| *runs);
    let mut numbers: Vec<u32> = before.running.iter().chain(&runs).map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let (then, now_runs) = (of(&before.running, number), of(&runs, number));
        let Some((.., config)) = now_runs.or(then).filter(|_| then != now_runs) else { continue };
        if let Some(limit_ms) = wall_ms(book, config) {
            let budget_use = after.budget_uses.get(&number).filter(|_| now_runs.is_some());
            let left = budget_use.and_then(|budget_use| find_left(budget_use, limit_ms, now));
            effects.push(Effect::Runs {
                runs: RunningBudget { thread: after.id.clone(), budget_use: number },
                left,
            });
        }
    }
}

fn wall_ms(book: &CompositionBook, config: Digest) -> Option<u64> {
    book.find_composition(config)?.budgets.as_ref()?.wall_ms
}

/// Whether anything under a budget use is worked on, or waits for anything but persons and timers. A wait for
/// other parts of the tree does not count here; those parts count themselves.
pub fn is_working<'t>(
    of: &impl Fn(&ThreadId) -> Option<&'t Thread>,
    thread: &ThreadId,
    budget_use: u32,
) -> bool {
    let Some(state) = of(thread) else { return false };
    let is_halted = find_halt(of, thread).is_some();
    state.calls.values().filter(|call| call.budget_use == budget_use).any(|call| {
        // No one waits for a listener that only gets news.
        let is_awaited = call.opened_by != OpenedBy::Tell;
        let is_due = is_awaited && !is_halted && matches!(call.stand(), CallState::Ready { .. });
        (is_due && call.waits.is_none()) || call.running().any(|child| is_working(of, child, CHILD))
    })
}

/// The time is over: every call that can continue may only answer. A call that has not begun or has a
/// single turn has no turn left to learn that, so it closes with a report of the core.
fn end_exceeded(d: &mut DecisionBuilder<'_>, thread: &ThreadId, budget_use: u32, of: &ExceededLimit) {
    for path in top_calls(d, thread, budget_use) {
        wrapping::begin_wrapping(d, thread, &path, of, None);
        let Some(call) = d.find_call(thread, &path) else { continue };
        let turn = call.settled + 1;
        // A call was out before if a person is asked whether to try it again.
        let was_out = call.approval.as_ref().is_some_and(|approval| approval.of_attempt);
        let has_begun = call.settled > 0 || was_out || matches!(call.stand(), CallState::Ready { .. });
        if has_begun && !is_single(d, call) {
            let children: Vec<ThreadId> = call.running().cloned().collect();
            children.iter().for_each(|child| end_exceeded(d, child, CHILD, of));
        } else {
            d.add_effect(Effect::CallBack {
                thread: thread.clone(),
                call: path.clone(),
                why: CallBack::TimedOut,
            });
            wrapping::close_wrapping(d, thread, &path, turn);
        }
    }
}

fn is_single(d: &DecisionBuilder<'_>, call: &Call) -> bool {
    d.find_listener(call.config, &call.listener).is_none_or(|listener| listener.turns <= 1)
}

fn top_calls(d: &DecisionBuilder<'_>, thread: &ThreadId, budget_use: u32) -> Vec<CallPath> {
    let calls = d.find_thread(thread).into_iter().flat_map(|state| &state.calls);
    let is_work = |call: &Call| call.budget_use == budget_use && call.opened_by != OpenedBy::Tell;
    let tops = calls.filter(|(path, call)| path.depth() == 0 && is_work(call));
    tops.map(|(path, _)| path.clone()).collect()
}

/// Tells every open call of the tree, unless it has no further turn to read the warning in.
fn warn_budget(d: &mut DecisionBuilder<'_>, thread: &ThreadId, budget_use: u32, of: &ExceededLimit) {
    let Some(state) = d.find_thread(thread) else { return };
    let calls: Vec<(CallPath, Vec<ThreadId>)> = state
        .calls
        .iter()
        .filter(|(_, call)| call.budget_use == budget_use)
        .map(|(path, call)| (path.clone(), call.running().cloned().collect()))
        .collect();
    for (path, children) in calls {
        let open = d.find_call(thread, &path).filter(|call| !is_single(d, call));
        let told = open.map(|call| (call.listener.clone(), call.ready_cause, call.config));
        if let Some((listener, cause, config)) = told {
            let fact = RecordFact::from_core(
                RecordKind::Message,
                RecordCode::Role(MessageRole::Inbox),
                budget_payload::write_warning(of),
            );
            d.add_record(
                thread,
                fact.with_addressee(&listener).with_call(&path).with_cause(cause).with_config(config),
            );
            awaiting::note_arrival(d, thread, &path);
        }
        for child in children {
            warn_budget(d, &child, CHILD, of);
        }
    }
}
