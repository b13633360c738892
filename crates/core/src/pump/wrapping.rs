//! Wrapping up: a budget of a call is used up, so the call may only answer. What it waits for is
//! cancelled. One more turn shows the call what has arrived and that this turn is the last, and only a
//! final is taken. Without a final the call closes with a report that the core writes.

use super::awaiting;
use super::closing::{self, Outcome};
use super::decision_builder::{DecisionBuilder, Fact};
use super::questions;
use super::replying::{after_turn, is_kept, one_item, take_final};
use super::state::{Answer, Call, Steps};
use super::turn::{Turn, refuse_item};
use crate::rules::{budget_payload, core_payload};
use crate::types::budget::{Exceeded, Measure};
use crate::types::codes::Code;
use crate::types::flow::{Item, What};
use crate::types::ids::{CallPath, ThreadId};
use crate::types::record::{Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// From now on the call may only answer. After the reply to a turn, the next turn is its wrap-up turn. If
/// a turn may be out, that turn still gets to send its reply, and the turn after it is the wrap-up turn.
pub(super) fn begin(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    of: &Exceeded,
    after: Option<u32>,
) {
    let Some(call) = d.call(thread, path).filter(|call| call.wrap_up.is_none()) else { return };
    let mut fact = Fact::core(Kind::Message, Mark::Role(Role::WrapUp), budget_payload::exceeded(of))
        .to(&call.listener.clone())
        .on(path)
        .because(call.ready_cause)
        .under(call.config);
    fact.turn = after;
    d.record(thread, fact);
    closing::cancel_items(d, thread, path);
    questions::withdraw(d, thread, path);
    awaiting::arrived(d, thread, path);
}

/// Takes the reply of a call that may only answer: its final closes the call, notes and todo lists are
/// kept, and everything else is refused.
pub(super) fn reply(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, what: Measure, items: Vec<Item>) {
    let is_final = |item: &Item| matches!(item, Item::Admitted(a) if *a.what() == What::Final);
    let is_only = items.iter().filter(|item| is_final(item)).count() == 1;
    let mut answer = None;
    for (ordinal, item) in (0u32..).zip(items) {
        match item {
            Item::Admitted(admitted) if *admitted.what() == What::Final && is_only => {
                answer = Some((ordinal, admitted));
            }
            Item::Admitted(admitted) if !is_kept(&admitted) => {
                let refusal = only_a_final(turn, what);
                let _told = refuse_item(d, turn, ordinal, refusal, Some(admitted.bytes()));
            }
            Item::ForThread { payload, .. } => {
                let _told = refuse_item(d, turn, ordinal, only_a_final(turn, what), Some(&payload));
            }
            item => drop(one_item(d, turn, ordinal, item)),
        }
    }
    match answer {
        Some((ordinal, admitted)) => take_final(d, turn, ordinal, &admitted),
        None => after_turn(d, turn, None),
    }
}

fn only_a_final(turn: &Turn<'_>, what: Measure) -> Refusal {
    let be = if what.is_plural() { "are" } else { "is" };
    let words = format!("the {} of this request {be} used up; only one final is taken now", what.as_str());
    let returns = turn.listener.map_or(&[][..], |listener| &listener.returns);
    let returns = returns.iter().map(|element| &*element.name.local);
    let finals: Vec<&str> = returns.chain(["final-report"]).collect();
    Refusal::new(what.code(), words).expecting(format!("one of: {}", finals.join(", ")))
}

/// Closes a call that gave no final in its last turn.
pub(super) fn close(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath, turn: u32) {
    let Some(call) = d.call(thread, path) else { return };
    let code = call.wrap_up.map_or(Code::MessagesBudget, |of| of.what.code());
    let body = core_payload::final_report("synthetic", "failure", code.as_str(), &report(call));
    let mut fact = Fact::core(Kind::Outcome, Mark::Code(code), body)
        .to(&call.caller.clone())
        .on(path)
        .because(call.ready_cause)
        .under(call.config);
    fact.turn = Some(turn);
    closing::close(d, thread, path, Outcome::Budget, fact);
}

/// A report for a call that gave none itself. The state has no bodies, so the report names the call's last
/// note by its place.
fn report(call: &Call) -> String {
    let what = call.wrap_up.map_or(Measure::Turns, |of| of.what);
    let (listener, turn) = (call.listener.as_str(), call.settled.to_string());
    let used_up = format!("{}{} used up", what.as_str(), if what.is_plural() { " were" } else { " was" });
    let mut words = match call.settled {
        0 => format!("{listener} had not answered when its {used_up}"),
        _ => format!("{listener} gave no final in its last turn, {turn}, after its {used_up}"),
    };
    let Steps { open, total } = call.todos.values().fold(Steps::default(), |all, list| all.and(*list));
    if open > 0 {
        words = format!("{words}; {open} of {total} steps are open");
    }
    let running = call.running().count();
    if running > 0 {
        words = format!("{words}; {running} children were still running");
    }
    let note = call.items.iter().rev().find(|item| item.answer == Answer::Recorded);
    if let Some(note) = note {
        words = format!("{words}; its last note is record {}", note.seq);
    }
    words
}
