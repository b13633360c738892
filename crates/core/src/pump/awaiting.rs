//! Deciding on waits for children: which ones are over. A wait ends when enough of its children have finished, or when
//! something arrives that must wake its sender. Results arrive in the inbox whether they are awaited or not; the answer
//! only says why the wait is over. An item never waits for news that its sender already has.

use super::decision_builder::{DecisionBuilder, RecordFact};
use super::state::{AwaitedChildren, Call, Sort, Thread};
use crate::rules::core_payload;
use crate::types::ids::{CallPath, ThreadId};
use crate::types::record::{MessageRole, RecordCode, RecordKind};

/// Answers the waits of a call that are over by now.
pub(super) fn note_arrival(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) {
    let Some((state, call)) = d.find_thread(thread).and_then(|t| Some((t, t.calls.get(path)?))) else {
        return;
    };
    let (to, config, turn, cause) = (call.listener.clone(), call.config, call.settled, d.last_id());
    let over: Vec<_> = call
        .awaits()
        .filter_map(|(item, awaited)| {
            let (finished, open) = count_finished(call, awaited);
            let why = find_reason(state, path, call, awaited, finished)?;
            Some((item.ordinal, why, finished, open))
        })
        .collect();
    for (ordinal, why, finished, open) in over {
        let body = core_payload::await_over(why, finished, open);
        let mut fact =
            RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Answer), body)
                .with_addressee(&to)
                .with_call(&path.append_item(turn, ordinal))
                .with_config(config);
        fact.cause = cause;
        d.add_record(thread, fact);
    }
}

/// How many of the awaited children have finished, and how many are open.
fn count_finished(call: &Call, awaited: &AwaitedChildren) -> (usize, usize) {
    let open = call.running().filter(|id| awaited.threads.contains(id)).count();
    (awaited.threads.len().saturating_sub(open), open)
}

/// Why a wait is over; `None` while it is not. A wait for no child at all is a wait for the call's
/// timers.
fn find_reason(
    state: &Thread,
    path: &CallPath,
    call: &Call,
    awaited: &AwaitedChildren,
    finished: usize,
) -> Option<&'static str> {
    let waits_for_timer = awaited.threads.is_empty() && state.timers_of(path).next().is_some();
    if finished >= awaited.enough && !waits_for_timer {
        return Some("done");
    }
    call.inbox.iter().find_map(|arrival| match arrival.sort {
        Sort::Timer => Some("timer"),
        Sort::Steer => Some("message"),
        Sort::Budget => Some("budget"),
        Sort::Finished | Sort::Notice { .. } => None,
    })
}
