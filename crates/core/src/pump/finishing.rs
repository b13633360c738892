//! Ends a decision: what has changed since the state before it becomes effects.

use super::decision_builder::{DecisionBuilder, first_top_call};
use super::event::{Decision, Effect, ReadyTurn};
use super::state::CallState;
use super::{timers, wall};
use crate::types::ids::{AttemptId, CallPath, ThreadId};

/// Ends the decision: a touched call may go out if its due turn has changed.
pub(super) fn finish(mut d: DecisionBuilder<'_>) -> Decision {
    wall::settle(&mut d);
    let mut candidates: Vec<(ThreadId, CallPath)> = Vec::new();
    let mut add = |thread: &ThreadId, path: CallPath| {
        if !candidates.iter().any(|(t, p)| t == thread && *p == path) {
            candidates.push((thread.clone(), path));
        }
    };
    for (thread, path) in &d.touched {
        if let Some((caller, ..)) = path.caller() {
            add(thread, caller);
        } else if let Some(next) = d.thread(thread).and_then(first_top_call) {
            // The outcome of a top call releases the next top call, whose path no fact names.
            add(thread, next);
        }
        add(thread, path.clone());
    }
    for (thread, path) in candidates {
        if let Some(work) = newly_ready(&d, &thread, &path) {
            d.out.effects.push(Effect::Ready(work));
        }
    }
    for after in d.threads.values() {
        let before = d.state.thread(&after.id);
        timers::changes(before, after, &mut d.out.effects);
        wall::changes(&d.state.book, (before, after), d.at, &mut d.out.effects);
    }
    d.out.folded = d.threads.into_values().collect();
    d.out
}

fn newly_ready(d: &DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) -> Option<ReadyTurn> {
    let call = d.call(thread, path)?;
    let CallState::Ready { turn, attempt } = call.stand() else { return None };
    // Recording a first attempt changes only the number of recorded attempts.
    let before = d.state.thread(thread).and_then(|t| t.calls.get(path)).map(|c| (c.stand(), c.attempts));
    (before != Some((call.stand(), call.attempts))).then(|| ReadyTurn {
        listener: call.listener.clone(),
        id: AttemptId { thread: thread.clone(), call: path.clone(), turn, attempt },
        not_before: call.not_before,
    })
}
