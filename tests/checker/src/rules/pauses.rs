//! Checks that nothing new goes out of a paused thread.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::meaning::RecordAct;

/// Pauses and resumes of a thread alternate. Between the two nothing of the thread, nor of those below it, is
/// handed out: a reply belongs to a turn that was due before, and no first attempt is made. A pause of `sys`
/// applies to all threads.
pub(crate) fn check_pause(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let thread = &step.record.thread;
    match step.act? {
        RecordAct::Pauses => {
            let first = before.find_thread(thread)?.paused?;
            Some(format!("it is paused since position {first}, and is paused again"))
        }
        RecordAct::Resumes => {
            let is_paused = before.find_thread(thread).is_some_and(|thread| thread.paused.is_some());
            (!is_paused).then(|| "it goes on, and was not paused".into())
        }
        RecordAct::Attempt { .. } => {
            let since = before.find_halt(thread)?;
            let number = step.core_named("attempt").and_then(|tag| tag.read_number("number"));
            (number == Some(1))
                .then(|| format!("a first attempt is made, though all is halted since {since}"))
        }
        RecordAct::Item { call, turn, .. } => check_reply(before, step, call, turn),
        RecordAct::Takes { caller, turn, .. } => check_reply(before, step, caller, turn),
        RecordAct::Outcome { call } if step.record.code.as_deref() == Some("handled") => {
            check_reply(before, step, call, step.record.turn?)
        }
        _ => None,
    }
}

/// Whether a reply is to a turn that can only have been handed out after the pause.
fn check_reply(before: &CheckLedger, step: &LedgerStep<'_>, path: &str, turn: u32) -> Option<String> {
    let since = before.find_halt(&step.record.thread)?;
    let call = before.find_thread(&step.record.thread)?.calls.get(path)?;
    let moved = call.moved;
    // The further items of a reply come with its first.
    (turn > call.settled && moved > since).then(|| {
        format!("turn {turn} of call {path} was due since position {moved}, all is halted since {since}")
    })
}
