//! Checks that a failed call is opened again only if nothing else became of it.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::meaning::RecordAct;

/// The outcomes after which nothing goes on: a person decided, or something is used up.
const FINAL: [&str; 4] = ["approval.rejected", "thread.cancelled", "budget.", "loop."];

/// A call is opened again only if it is the last one of a root, it failed without a final, and none was opened since. Its
/// due turn goes out again. The record names the outcome as its cause, and retries are counted from 1. A `<retried>`
/// goes to the call that was opened just before it.
pub(crate) fn check_retry(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let thread = before.find_thread(&step.record.thread);
    if step.core_named("retried").is_some() && matches!(step.act, Some(RecordAct::Inbox { .. })) {
        let call = before.call_of(step)?;
        return (call.moved != before.position)
            .then(|| "it tells of a retry that was not recorded just before".into());
    }
    let RecordAct::Reopens { call, turn } = step.act? else { return None };
    let Some(failed) = thread.and_then(|thread| thread.failed.as_ref()).filter(|failed| failed.path == call)
    else {
        return Some(format!("call {call} is opened again, and it is not the last call, which failed"));
    };
    let Some(tag) = step.core_named("reopened") else {
        return Some("the record does not say who opens the call again".into());
    };
    if failed.is_followed {
        return Some(format!("call {call} is opened again, though a later call was opened"));
    }
    if failed.is_final || FINAL.iter().any(|code| failed.code.starts_with(code)) {
        return Some(format!("call {call} is opened again after {}, which is the last word", failed.code));
    }
    if step.record.cause != Some(failed.outcome) {
        return Some("it is not caused by the outcome of its call".into());
    }
    let due = failed.call.settled.saturating_add(1);
    if turn != due {
        return Some(format!("turn {turn} goes out again, where turn {due} failed"));
    }
    let next = failed.call.retries.saturating_add(1);
    (tag.read_number("retry") != Some(next)).then(|| format!("retry {next} is due, and it is not said"))
}
