//! Ends a decision: what has changed since the state before it becomes effects.

use smallvec::SmallVec;

use super::decision_builder::{DecisionBuilder, first_top_call};
use super::event::{Decision, Effect, ReadyTurn};
use super::state::CallState;
use super::{timers, wall};
use crate::types::ids::{AttemptId, CallPath, ThreadId};

/// Ends the decision: a touched call may go out if its due turn has changed.
pub(super) fn finish_decision(mut d: DecisionBuilder<'_>) -> Decision {
    wall::settle_budgets(&mut d);
    let mut candidates: SmallVec<[(ThreadId, CallPath); 4]> = SmallVec::new();
    let mut add = |thread: &ThreadId, path: CallPath| {
        if !candidates.iter().any(|(t, p)| t == thread && *p == path) {
            candidates.push((thread.clone(), path));
        }
    };
    for (thread, path) in &d.touched {
        if let Some((caller, ..)) = path.caller() {
            add(thread, caller);
        } else if let Some(next) = d.find_thread(thread).and_then(first_top_call) {
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
    d.before.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    for before in std::mem::take(&mut d.before) {
        if let Some(after) = d.threads.get(&before.id) {
            timers::note_changes(&before, after, &mut d.out.effects);
            wall::note_changes(d.book, &before, after, d.at, &mut d.out.effects);
        }
        d.out.touched.push(before.id);
    }
    d.out
}

fn newly_ready(d: &DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) -> Option<ReadyTurn> {
    let call = d.find_call(thread, path)?;
    let CallState::Ready { turn, attempt } = call.stand() else { return None };
    // Recording a first attempt changes only the number of recorded attempts.
    let thread_before = d.before.iter().rev().find(|before| before.id == *thread);
    let before = thread_before.map_or(Some((call.stand(), call.attempts)), |before| before.find_call(path));
    (before != Some((call.stand(), call.attempts))).then(|| ReadyTurn {
        listener: call.listener.clone(),
        id: AttemptId { thread: thread.clone(), call: path.clone(), turn, attempt },
        not_before: call.not_before,
    })
}
