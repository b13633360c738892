//! Checks that waits for children end when they may, and that cancelled children have ended, as
//! reported.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::meaning::RecordAct;

/// The answer to a wait is its end and nothing else, and nothing else has such an answer. Its end
/// counts no more than there is; it is done only with a finished child, or with none open.
pub(crate) fn check_wait(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let RecordAct::Answer { caller, turn, ordinal } = step.act? else { return None };
    let call = before.find_call(&step.record.thread, caller)?;
    let item = call.find_item(turn, ordinal)?;
    let tag = step.core_named("await-over");
    let Some(tag) = tag.filter(|_| item.is_wait) else {
        return match (tag, item.is_wait) {
            (Some(_), false) => Some("it ends a wait, but its item asked for none".into()),
            (None, true) => Some("a wait is not answered by its end".into()),
            _ => None,
        };
    };
    let running = call.children.iter().filter(|child| before.is_running(child)).count();
    let ended = call.children.len().saturating_sub(running);
    let count = |name| tag.read_number(name).and_then(|n| usize::try_from(n).ok());
    let (Some(finished), Some(open)) = (count("finished"), count("open")) else {
        return Some("the end of a wait counts nothing".into());
    };
    if finished > ended || open > running {
        let counts = format!("it counts {finished} finished and {open} open children");
        return Some(format!("{counts} of a call with {ended} and {running}"));
    }
    match tag.find_attribute("reason") {
        Some("done") if finished == 0 && open > 0 => {
            Some("a wait is done before any child has finished".into())
        }
        Some("done") => None,
        Some("timer") => {
            // It fired while the call waited, or at its last turn, too late to be shown. That turn may also have
            // cancelled it.
            let fired = call.fired >= Some(turn.saturating_sub(1));
            (!fired).then(|| "a wait is ended by a timer, and none fired".into())
        }
        Some("budget") => {
            let warned = call.warned.iter().any(|warning| warning.settled >= turn.saturating_sub(1));
            let told = warned || call.wraps_up.is_some();
            (!told).then(|| "a wait is ended by a budget, and no word on one came".into())
        }
        Some("message") => {
            let came = call.steered >= Some(turn.saturating_sub(1));
            (!came).then(|| "a wait is ended by a message, and none came".into())
        }
        reason => Some(format!("{} ends no wait", reason.unwrap_or("nothing"))),
    }
}

/// A call that ends a child gets the answer once the child has ended, and for no other child.
pub(crate) fn check_end(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let RecordAct::Answer { caller, turn, ordinal } = step.act? else { return None };
    let call = before.find_call(&step.record.thread, caller)?;
    let item = call.find_item(turn, ordinal)?;
    let tag = step.core_named("thread-cancelled");
    let Some(tag) = tag.filter(|_| item.is_end) else {
        return match (tag, item.is_end) {
            (Some(_), false) => Some("it reports a cancelled thread, but its item cancelled none".into()),
            (None, true) => Some("the end of a child is not answered by its word".into()),
            _ => None,
        };
    };
    let id = tag.find_attribute("id").unwrap_or_default();
    if !call.children.iter().any(|child| child == id) {
        return Some(format!("{id} is cancelled by a call that did not spawn it"));
    }
    before.is_running(id).then(|| format!("it reports {id} as cancelled, and {id} still runs"))
}
