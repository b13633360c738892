//! The time that a message from outside may take. It runs while anything of its tree is worked on and
//! stands still while nobody but persons and timers is waited for. A word in the chain of the root says
//! whenever that changes, so the sum is a fold of records; how long it has run since the last word is
//! counted by ticks (`running`), and across a restart by the wall clock, which is all that is left then.

mod running;

pub use running::{Left, Running, Runs};

use std::collections::BTreeSet;

use super::awaiting;
use super::draft::{Draft, Fact};
use super::event::Effect;
use super::pausing::halted;
use super::state::{Book, CHILD, Call, OpenedBy, Purse, Stand, State, Thread};
use super::{timers, wrapping};
use crate::rules::budget_payload;
use crate::types::budget::{Clocked, Exceeded, Measure};
use crate::types::ids::{CallPath, Digest, MessageId, ThreadId};
use crate::types::limits;
use crate::types::ports::CallBack;
use crate::types::record::{Kind, Mark, Role, Timing};
use crate::types::time::Millis;

/// Says in the root of every tree that a decision has touched whether its time runs from here on, where
/// that is another than before.
pub(super) fn settle(d: &mut Draft<'_>) {
    for runs in d.limited_roots() {
        let Some((purse, limit_ms)) = limited(d, &runs) else { continue };
        if purse.runs.is_some() != works(&|id| d.thread(id), &runs.thread, runs.purse) {
            count(d, &runs, &purse, limit_ms);
        }
    }
}

/// A mark of a tree's time may have been reached: most of it is used, or all. Where it is not, because
/// clocks do not agree, what is left is waited for again.
pub(super) fn elapsed(d: &mut Draft<'_>, runs: &Runs) {
    if let Some((purse, limit_ms)) = limited(d, runs).filter(|(purse, _)| purse.runs.is_some()) {
        count(d, runs, &purse, limit_ms);
    }
}

/// Counts the time that was used until now, and does what its marks ask for: whatever brought us here may
/// have come before the word that a mark was reached.
fn count(d: &mut Draft<'_>, runs: &Runs, purse: &Purse, limit_ms: u64) {
    let used_ms = used_ms(d, runs, purse, limit_ms);
    let of = Exceeded { what: Measure::Time, used: used_ms, limit: limit_ms };
    if used_ms >= limit_ms {
        let said = say(d, runs, &Clocked { runs: false, used_ms, limit_ms });
        over(d, &runs.thread, runs.purse, &of);
        if let Some(said) = said {
            timers::cancel_left(d, &runs.thread, runs.purse, said);
        }
        return;
    }
    if is_mostly(used_ms, limit_ms) && !is_mostly(purse.ran_ms, limit_ms) {
        warn(d, &runs.thread, runs.purse, &of);
    }
    // Only now: a warning ends a wait.
    let is_at_work = works(&|id| d.thread(id), &runs.thread, runs.purse);
    say(d, runs, &Clocked { runs: is_at_work, used_ms, limit_ms });
}

/// The time that is left until the next mark of a purse whose time runs; none where it does not.
pub fn left(purse: &Purse, limit_ms: u64, now: Millis) -> Option<Left> {
    let since = purse.runs?;
    let mark_ms = if is_mostly(purse.ran_ms, limit_ms) { limit_ms } else { mostly_ms(limit_ms) };
    let ran_ms = now.since(since).min(limit_ms.saturating_sub(purse.ran_ms));
    Some(Left { ran_ms, until_ms: mark_ms.saturating_sub(purse.ran_ms).saturating_sub(ran_ms) })
}

/// Whose time runs in a state, with what is left: for a start, when nothing live is known yet.
pub fn running_of(state: &State, now: Millis) -> Vec<(Runs, Left)> {
    let roots = state.threads.values().filter(|t| t.id.parent().is_none() && !t.ended);
    let purses = roots.flat_map(|t| t.purses.iter().map(|(number, purse)| (&t.id, *number, purse)));
    let running = purses.filter_map(|(thread, number, purse)| {
        let limit_ms = wall_ms(&state.book, purse.config)?;
        Some((Runs { thread: thread.clone(), purse: number }, left(purse, limit_ms, now)?))
    });
    running.collect()
}

/// The purse of a root that lives, and its limit, where that is set and not reached.
fn limited(d: &Draft<'_>, runs: &Runs) -> Option<(Purse, u64)> {
    let root = d.thread(&runs.thread).filter(|root| !root.ended)?;
    let purse = root.purses.get(&runs.purse).filter(|purse| !purse.is_over)?;
    Some((purse.clone(), d.page(purse.config)?.budgets.as_ref()?.wall_ms?))
}

/// How long a purse's tree was worked on until now, at most as long as it may.
fn used_ms(d: &Draft<'_>, runs: &Runs, purse: &Purse, limit_ms: u64) -> u64 {
    let since =
        purse.runs.map_or(0, |since| d.running().ran_ms(runs, d.tick()).unwrap_or(d.at().since(since)));
    purse.ran_ms.saturating_add(since).min(limit_ms)
}

fn mostly_ms(limit_ms: u64) -> u64 {
    limit_ms.saturating_mul(limits::WARNING_PERCENT).div_ceil(100)
}

fn is_mostly(used_ms: u64, limit_ms: u64) -> bool {
    used_ms >= mostly_ms(limit_ms)
}

/// Records how long it ran, and whether it does from here on.
fn say(d: &mut Draft<'_>, runs: &Runs, clocked: &Clocked) -> Option<MessageId> {
    let config = d.thread(&runs.thread)?.purses.get(&runs.purse)?.config;
    let body = budget_payload::time(clocked);
    let fact = Fact::core(Kind::Timer, Mark::Timing(Timing::Wall), body).on(&CallPath::top(runs.purse));
    Some(d.record(&runs.thread, fact.under(config)).1)
}

/// Whose time runs after a decision in another way than before.
pub(super) fn changes(
    book: &Book,
    (before, after): (Option<&Thread>, &Thread),
    now: Millis,
    effects: &mut Vec<Effect>,
) {
    let runs = |thread: Option<&Thread>, number: u32| {
        let purse = thread.filter(|t| !t.ended)?.purses.get(&number)?;
        Some((purse.runs?, purse.ran_ms, purse.config))
    };
    let numbers = before.into_iter().chain([after]).flat_map(|t| t.purses.keys());
    for number in numbers.copied().collect::<BTreeSet<u32>>() {
        let (then, now_runs) = (runs(before, number), runs(Some(after), number));
        let Some((.., config)) = now_runs.or(then).filter(|_| then != now_runs) else { continue };
        if let Some(limit_ms) = wall_ms(book, config) {
            let purse = after.purses.get(&number).filter(|_| now_runs.is_some());
            let left = purse.and_then(|purse| left(purse, limit_ms, now));
            effects.push(Effect::Runs { runs: Runs { thread: after.id.clone(), purse: number }, left });
        }
    }
}

fn wall_ms(book: &Book, config: Digest) -> Option<u64> {
    book.page(config)?.budgets.as_ref()?.wall_ms
}

/// Whether anything under a purse is worked on, or waits for anything but persons and timers. What waits
/// for others in its tree is left to them.
fn works<'t>(of: &impl Fn(&ThreadId) -> Option<&'t Thread>, thread: &ThreadId, purse: u32) -> bool {
    let Some(state) = of(thread) else { return false };
    let is_halted = halted(of, thread).is_some();
    state.calls.values().filter(|call| call.purse == purse).any(|call| {
        // Nobody waits for a listener that only gets news.
        let is_awaited = call.opened_by != OpenedBy::Tell;
        let is_due = is_awaited && !is_halted && matches!(call.stand(), Stand::Ready { .. });
        is_due || call.running().any(|child| works(of, child, CHILD))
    })
}

/// The time is over: every call that could go on may only answer. What cannot be told that, because it
/// has not begun or has one turn alone, closes with a report of the core.
fn over(d: &mut Draft<'_>, thread: &ThreadId, purse: u32, of: &Exceeded) {
    for path in top_calls(d, thread, purse) {
        wrapping::begin(d, thread, &path, of, None);
        let Some(call) = d.call(thread, &path) else { continue };
        let turn = call.settled + 1;
        // One of which a person is asked whether it is tried again was out before.
        let was_out = call.approval.as_ref().is_some_and(|approval| approval.of_attempt);
        let has_begun = call.settled > 0 || was_out || matches!(call.stand(), Stand::Ready { .. });
        if has_begun && !is_single(d, call) {
            let children: Vec<ThreadId> = call.running().cloned().collect();
            children.iter().for_each(|child| over(d, child, CHILD, of));
        } else {
            d.effect(Effect::CallBack {
                thread: thread.clone(),
                call: path.clone(),
                why: CallBack::TimedOut,
            });
            wrapping::close(d, thread, &path, turn);
        }
    }
}

fn is_single(d: &Draft<'_>, call: &Call) -> bool {
    d.listener(call.config, &call.listener).is_none_or(|listener| listener.turns <= 1)
}

fn top_calls(d: &Draft<'_>, thread: &ThreadId, purse: u32) -> Vec<CallPath> {
    let calls = d.thread(thread).into_iter().flat_map(|state| &state.calls);
    let is_work = |call: &Call| call.purse == purse && call.opened_by != OpenedBy::Tell;
    let tops = calls.filter(|(path, call)| path.depth() == 0 && is_work(call));
    tops.map(|(path, _)| path.clone()).collect()
}

/// Tells every open call of the tree that has a further turn to read it in.
fn warn(d: &mut Draft<'_>, thread: &ThreadId, purse: u32, of: &Exceeded) {
    let Some(state) = d.thread(thread) else { return };
    let calls: Vec<(CallPath, Vec<ThreadId>)> = state
        .calls
        .iter()
        .filter(|(_, call)| call.purse == purse)
        .map(|(path, call)| (path.clone(), call.running().cloned().collect()))
        .collect();
    for (path, children) in calls {
        let open = d.call(thread, &path).filter(|call| !is_single(d, call));
        let told = open.map(|call| (call.listener.clone(), call.ready_cause, call.config));
        if let Some((listener, cause, config)) = told {
            let fact = Fact::core(Kind::Message, Mark::Role(Role::Inbox), budget_payload::warning(of));
            d.record(thread, fact.to(&listener).on(&path).because(cause).under(config));
            awaiting::arrived(d, thread, &path);
        }
        for child in children {
            warn(d, &child, CHILD, of);
        }
    }
}
