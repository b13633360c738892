//! The open calls at the end of the log.

use super::RunSettings;
use crate::ledger::CheckLedger;
use crate::path;
use crate::report::{CheckFinding, UnfinishedCall};

/// The calls that are open, oldest first.
pub(crate) fn open_calls(end: &CheckLedger) -> Vec<UnfinishedCall> {
    let calls =
        end.threads.iter().flat_map(|(id, thread)| thread.calls.iter().map(move |call| (id, thread, call)));
    let mut open: Vec<UnfinishedCall> = calls
        .map(|(id, thread, (name, call))| UnfinishedCall {
            thread: id.clone(),
            call: name.clone(),
            listener: call.listener.clone(),
            position: call.position,
            seq: call.seq,
            since_ms: call.since_ms,
            waits_for: match (call.open_items(), call.attempts) {
                _ if thread.first_top().is_some_and(|first| path::find_top(name) > first) => {
                    "an earlier call".into()
                }
                (0, None) if call.approval.as_ref().is_some_and(|a| a.outcome.is_none()) => "a person".into(),
                (0, None) => format!("turn {}", call.settled.saturating_add(1)),
                (0, Some(n)) => format!("attempt {n} at turn {}", call.settled.saturating_add(1)),
                (items, _) => format!("{items} answers"),
            },
        })
        .collect();
    open.sort_by_key(|call| call.position);
    open
}

/// At the end of a drained run no call is open.
pub(crate) fn check_rest(end: &CheckLedger, terms: &RunSettings) -> Vec<CheckFinding> {
    if terms.running {
        return Vec::new();
    }
    let finding = |open: UnfinishedCall| CheckFinding {
        rule: "rest",
        position: open.position,
        words: open.to_string(),
        thread: open.thread,
        seq: open.seq,
    };
    open_calls(end).into_iter().map(finding).collect()
}
