//! Checks attempts that were out when a pump ended, and what a pump says when it ends. The log does not say how a
//! listener is reached: an attempt that is answered after a later start, and has no new number, has outlived its pump.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::meaning::RecordAct;

/// An attempt that outlives a pump has one reply: it is not also lost with the pump, and no second reply follows.
/// Only attempts that were due before the start can be lost with an earlier pump, and none without a record after a
/// pump that said that nothing is out. No pump says that more is out than is due.
pub(crate) fn check_outlives(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    match step.act? {
        RecordAct::Attempt { call, turn } if step.tells_of_a_death_of_the_pump() => {
            check_loss(before, step, call, turn)
        }
        RecordAct::Item { turn, .. } => second_reply(before, step, turn),
        RecordAct::Aside if step.record.thread == "sys" => said_out(before, step),
        _ => None,
    }
}

fn check_loss(before: &CheckLedger, step: &LedgerStep<'_>, path: &str, turn: u32) -> Option<String> {
    let thread = &step.record.thread;
    let reply = before.first_item(thread, path, turn, 0).or_else(|| before.first_outcome(thread, path));
    if let Some(reply) = reply {
        return Some(format!(
            "an attempt at turn {turn} is lost with the pump, and position {reply} has its reply"
        ));
    }
    let (call, boot) = (before.call_of(step)?, before.starts.boot?);
    if call.moved > boot {
        let moved = call.moved;
        return Some(format!(
            "an attempt is lost with the pump, is due since position {moved}, and this pump began at {boot}"
        ));
    }
    // An attempt on record may be one that did not go out yet.
    let is_known = call.attempts.is_none() && call.journal.is_empty();
    (is_known && before.starts.out == Some(0))
        .then(|| "an attempt is lost with the pump, which said that nothing was out".into())
}

fn second_reply(before: &CheckLedger, step: &LedgerStep<'_>, turn: u32) -> Option<String> {
    let call = before.call_of(step).filter(|call| call.settled == turn)?;
    let (boot, first) = (call.outlived?, call.items.first()?);
    let is_same = (first.cause, first.time_ms) == (step.record.cause, step.record.time_ms);
    (!is_same).then(|| format!("a second reply to an attempt that outlived the start at position {boot}"))
}

fn said_out(before: &CheckLedger, step: &LedgerStep<'_>) -> Option<String> {
    let out = step.core_named("shutdown")?.find_attribute("out")?;
    let Some(out) = out.parse::<usize>().ok().filter(|out| *out > 0) else {
        return Some(format!("out=\"{out}\" is no number of deliveries"));
    };
    let calls = before.threads.values().flat_map(|thread| thread.calls.values());
    let due = calls.filter(|call| call.open_items() == 0).count();
    (out > due)
        .then(|| format!("{out} deliveries are out elsewhere, and {due} calls have a turn that is due"))
}
