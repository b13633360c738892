//! Folding the failure of a root's last top call, and the record that opens the call again. Each function takes one
//! record into its thread, and decides nothing.

use super::journal;
use crate::pump::state::{Call, FailedCall, OpenedBy, Thread};
use crate::rules::first_cause::find_first_code;
use crate::rules::outcome::CallJudgement;
use crate::types::ids::CallPath;
use crate::types::record::{Record, RecordCode, RecordKind};
use crate::types::time::Millis;

/// A top call of a root closed: it is kept if it failed. News that no one waits for does not count.
pub(super) fn keep_failed(thread: &mut Thread, path: &CallPath, call: Box<Call>, record: &Record) {
    if call.opened_by == OpenedBy::Tell {
        return;
    }
    let h = &record.header;
    let end = CallJudgement::of_record(record);
    if !end.is_some_and(|end| end.is_failure() || end == CallJudgement::Cancelled) {
        thread.failed = None;
        return;
    }
    // A later top call may wait already, and is open from now on.
    let is_last = thread.calls.values().all(|call| call.opened_by == OpenedBy::Tell);
    let code = h.code.map_or("", RecordCode::as_str).to_owned();
    let first_code = find_first_code(&record.body).unwrap_or_else(|| code.clone());
    thread.failed = Some(Box::new(FailedCall {
        path: path.clone(),
        call: is_last.then_some(call),
        code,
        first_code,
        is_final: h.kind == RecordKind::Message,
        outcome: h.id,
    }));
}

/// Opens the call again that the record names. Its due turn has a new attempt, which shows what the earlier ones
/// showed; what they bought from models can be asked for.
pub(super) fn fold_reopened(thread: &mut Thread, record: &Record) {
    let h = &record.header;
    let is_it = |failed: &mut Box<FailedCall>| h.call.as_ref() == Some(&failed.path) && failed.call.is_some();
    let Some(FailedCall { path, call: Some(mut call), .. }) =
        thread.failed.take_if(is_it).map(|failed| *failed)
    else {
        return;
    };
    call.config = h.config;
    if let Some(budget_use) = thread.budget_uses.get_mut(&call.budget_use) {
        budget_use.config = h.config;
    }
    journal::next_attempt(&mut call);
    call.retries += 1;
    call.before_retry = call.attempts.max(1);
    call.attempts = call.before_retry + 1;
    (call.lost_with_pump, call.away, call.deaths_on_record) = (0, 0, 0);
    (call.taken, call.waits, call.away_since) = (None, None, None);
    (call.not_before, call.has_unknown) = (Millis(0), false);
    call.approval = None;
    call.held = !thread.calls.is_empty();
    thread.calls.insert(path, call);
}
