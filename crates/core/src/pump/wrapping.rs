//! Wrapping up: a budget of a call is used up, so the call may only answer. What it waits for is
//! cancelled. One more turn shows the call what has arrived and that this turn is the last, and only a
//! final is taken. Without a final the call closes with a report that the core writes.

use super::awaiting;
use super::closing::{self, CallOutcome};
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::questions;
use super::state::{Call, ItemAnswer, StepCount};
use crate::rules::{budget_payload, core_payload};
use crate::types::budget::{ExceededLimit, Measure};
use crate::types::codes::Code;
use crate::types::ids::{CallPath, ThreadId};
use crate::types::record::{MessageRole, RecordCode, RecordKind};

/// From now on the call may only answer. After the reply to a turn, the next turn is its wrap-up turn. If
/// a turn may be out, that turn still gets to send its reply, and the turn after it is the wrap-up turn.
pub(super) fn begin_wrapping(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    of: &ExceededLimit,
    after: Option<u32>,
) {
    let Some(call) = d.find_call(thread, path).filter(|call| call.wrap_up.is_none()) else { return };
    let mut fact = RecordFact::from_core(
        RecordKind::Message,
        RecordCode::Role(MessageRole::WrapUp),
        budget_payload::write_exceeded(of),
    )
    .with_addressee(&call.listener.clone())
    .with_call(path)
    .with_cause(call.ready_cause)
    .with_config(call.config);
    fact.turn = after;
    d.add_record(thread, fact);
    closing::cancel_items(d, thread, path);
    questions::withdraw_questions(d, thread, path);
    awaiting::note_arrival(d, thread, path);
}

/// Closes a call that gave no final in its last turn.
pub(super) fn close_wrapping(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath, turn: u32) {
    let Some(call) = d.find_call(thread, path) else { return };
    let code = call.wrap_up.map_or(Code::MessagesBudget, |of| of.what.code());
    let body = core_payload::final_report("synthetic", "failure", code.as_str(), &write_report(call));
    let mut fact = RecordFact::from_core(RecordKind::Outcome, RecordCode::Code(code), body)
        .with_addressee(&call.caller.clone())
        .with_call(path)
        .with_cause(call.ready_cause)
        .with_config(call.config);
    fact.turn = Some(turn);
    closing::close_call(d, thread, path, CallOutcome::Budget, fact);
}

/// A report for a call that gave none itself. The state has no bodies, so the report names the call's last
/// note by its place.
fn write_report(call: &Call) -> String {
    let what = call.wrap_up.map_or(Measure::Turns, |of| of.what);
    let (listener, turn) = (call.listener.as_str(), call.settled.to_string());
    let used_up = format!("{}{} used up", what.as_str(), if what.is_plural() { " were" } else { " was" });
    let mut words = match call.settled {
        0 => format!("{listener} had not answered when its {used_up}"),
        _ => format!("{listener} gave no final in its last turn, {turn}, after its {used_up}"),
    };
    let StepCount { open, total } =
        call.todos.values().fold(StepCount::default(), |all, list| all.sum_with(*list));
    if open > 0 {
        words = format!("{words}; {open} of {total} steps are open");
    }
    let running = call.running().count();
    if running > 0 {
        words = format!("{words}; {running} children were still running");
    }
    let note = call.items.iter().rev().find(|item| item.answer == ItemAnswer::Recorded);
    if let Some(note) = note {
        words = format!("{words}; its last note is record {}", note.seq);
    }
    words
}
