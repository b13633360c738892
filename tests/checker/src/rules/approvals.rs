//! Checks that everything that needs a person waited for one.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerApproval, LedgerCall, LedgerItem, LedgerStep};
use crate::meaning::RecordAct;
use crate::path;
use crate::record::{RecordHash, write_moment};

/// A person is asked once about a call that nothing has moved, or about a call whose attempt is over and of unknown
/// outcome. The request is about the bytes of the call and has an id of its own. It has one outcome, bound to that
/// id and to the bytes that go out, which cannot be amended after an attempt. It does not expire early, unless the
/// record says that the clock was set back. Nothing moves the call before it is approved or amended, except the end
/// of its message's time. A rejected call closes as rejected.
pub(crate) fn check_approval(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let act = step.act?;
    let call = before.call_of(step);
    match act {
        RecordAct::Asks { .. } => check_request(before, call?, step),
        RecordAct::Tell { call: told, .. } => {
            let is_there = before.find_call(&step.record.thread, told).is_some();
            let waits = call.and_then(|call| call.approval.as_ref()).is_some_and(|a| a.outcome.is_none());
            let waits = waits || call.is_some_and(|call| call.items.iter().any(is_open));
            let first = path::split_item(told).is_some_and(|(_, turn, _)| turn == 0);
            (is_there || !waits || !first).then(|| format!("call {told} tells of nothing that waits"))
        }
        RecordAct::Amends { .. } => find_waiting(call?)
            .err()
            .or_else(|| (step.record.from == "core").then(|| "the core amends".into())),
        RecordAct::Decides { .. } => check_decision(call?, step),
        _ => check_move(before, call?, act, step),
    }
}

/// Whether an item waits for a person.
fn is_open(item: &LedgerItem) -> bool {
    item.question.is_some() && !item.is_answered
}

fn check_request(before: &CheckLedger, call: &LedgerCall, step: &LedgerStep<'_>) -> Option<String> {
    let Some(tag) = step.core_named("approval-requested") else {
        return Some("the record does not say what is asked for".into());
    };
    let id = tag.find_attribute("id").unwrap_or_default();
    if let Some(first) = before.first_approval(id) {
        return Some(format!("approval {id} was asked for before, at position {first}"));
    }
    let waits = call.approval.as_ref().is_some_and(|approval| approval.outcome.is_none());
    // A request that no one decided in time is asked about once more when its call is opened again.
    let is_anew = call.retries > 0 && call.attempts == Some(call.before_retry.saturating_add(1));
    let has_moved = call.settled > 0 || call.attempts.is_some() && !is_anew;
    let fault = match tag.find_attribute("unknown") {
        Some(_) if waits || call.attempts.is_none() || call.is_dead => {
            "of an attempt that was not made, or twice"
        }
        None if call.approval.is_some() || has_moved => "when its call has moved already",
        _ => "",
    };
    if !fault.is_empty() {
        return Some(format!("approval {id} is asked for {fault}"));
    }
    let carried = call.request.to_string();
    (tag.find_attribute("hash") != Some(&carried))
        .then(|| format!("approval {id} is of other bytes than {carried}"))
}

fn find_waiting(call: &LedgerCall) -> Result<&LedgerApproval, String> {
    match &call.approval {
        None => Err("no approval was asked for".into()),
        Some(LedgerApproval { id, outcome: Some(outcome), .. }) => {
            Err(format!("approval {id} is {outcome} already"))
        }
        Some(approval) => Ok(approval),
    }
}

fn check_decision(call: &LedgerCall, step: &LedgerStep<'_>) -> Option<String> {
    let approval = match find_waiting(call) {
        Ok(approval) => approval,
        Err(words) => return Some(words),
    };
    let Some(tag) = step.core_named("approval-decided") else {
        return Some("the record does not say what was decided".into());
    };
    let outcome = step.record.code.as_deref();
    if approval.of_attempt && outcome == Some("amended") {
        return Some(format!("approval {} is about an attempt, which cannot be amended", approval.id));
    }
    if tag.find_attribute("id") != Some(&approval.id) || tag.find_attribute("outcome") != outcome {
        return Some(format!("the record does not say the same of approval {} as its code", approval.id));
    }
    let goes_out: Option<RecordHash> = match outcome {
        Some("approved") => Some(call.request),
        Some("amended") if approval.amendment.is_none() => {
            return Some("nothing was put in its place".into());
        }
        Some("amended") => approval.amendment,
        _ => None,
    };
    let goes_out = goes_out.map(|hash| hash.to_string());
    if tag.find_attribute("hash") != goes_out.as_deref() {
        return Some(format!("approval {} is bound to other bytes than those that go out", approval.id));
    }
    let is_set_back = tag.find_attribute("note").is_some();
    let early = write_moment(step.record.time_ms) < approval.expires && !is_set_back;
    (outcome == Some("expired") && early).then(|| format!("approval {} expires early", approval.id))
}

/// Whether the time of a message is over in the tree of a record's thread.
fn is_out_of_time(before: &CheckLedger, step: &LedgerStep<'_>) -> bool {
    let root = before.find_thread(path::find_root(&step.record.thread));
    root.is_some_and(|root| root.clocks.values().any(|said| said.used_ms >= said.limit_ms))
}

/// The fault, if a call moves that waits for a person or was rejected.
fn check_move(
    before: &CheckLedger,
    call: &LedgerCall,
    act: RecordAct<'_>,
    step: &LedgerStep<'_>,
) -> Option<String> {
    let approval = call.approval.as_ref()?;
    let code = step.record.code.as_deref().unwrap_or_default();
    let (id, outcome) = (&approval.id, approval.outcome.as_deref());
    let turned_down = code.strip_prefix("approval.");
    match act {
        RecordAct::Outcome { .. } if turned_down.is_some() => (turned_down != outcome)
            .then(|| format!("its call closes with {code}, which approval {id} is not")),
        // A call is cancelled with what waited for it, for anything that it waits for itself.
        RecordAct::Outcome { .. } if code == "thread.cancelled" => None,
        // The time of its message is over, and nothing that it could do would count.
        RecordAct::Outcome { .. } if code == "budget.time" && is_out_of_time(before, step) => None,
        // A rejected attempt is not tried again.
        RecordAct::DeadLetter { .. } if approval.of_attempt && outcome.is_some() => None,
        RecordAct::Item { .. }
        | RecordAct::Outcome { .. }
        | RecordAct::DeadLetter { .. }
        | RecordAct::Writes { .. }
        | RecordAct::Attempt { .. } => {
            let words = format!("its call moves, and approval {id} is {}", outcome.unwrap_or("not decided"));
            (!approval.lets_go()).then_some(words)
        }
        _ => None,
    }
}
