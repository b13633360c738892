//! Checks budgets: the reported use is the real use, each report comes once, and nothing starts after the
//! last.

use super::RunSettings;
use crate::ledger::{CheckLedger, ClockedTime, LedgerStep};
use crate::meaning::{ItemSort, RecordAct};
use crate::path;

/// A message from outside begins, in all its threads, no more and no deeper than its terms allow, also in those
/// that its timers open later.
pub(crate) fn check_budget(
    before: &CheckLedger,
    step: &LedgerStep<'_>,
    terms: &RunSettings,
) -> Option<String> {
    let thread = &step.record.thread;
    let (call, children) = match step.act? {
        RecordAct::Item { call, sort: ItemSort::Call { .. }, .. } => (call, 0),
        RecordAct::Takes { caller, .. } => (caller, 0),
        RecordAct::Answer { caller, .. } if step.core_named("thread-spawned").is_some() => (caller, 1),
        _ => return None,
    };
    let depth = before.depth_below(thread, call);
    if let Some(most) = terms.depth.filter(|most| depth >= *most) {
        return Some(format!(
            "it begins something {depth} calls and spawns deep, of less than {most} allowed"
        ));
    }
    let used = before.budget_use(thread)?;
    let (messages, children) = (used.messages + 1, used.children + children);
    if let Some(most) = terms.messages.filter(|most| messages > *most) {
        return Some(format!("its message from outside uses {messages} messages, of {most} allowed"));
    }
    let most = terms.children.filter(|most| children > *most)?;
    Some(format!("its message from outside has {children} children, of {most} allowed"))
}

/// The use of a child that its parent sees is the use of the child and of everything below it, and no more than its
/// limit. Refused items may count as messages. Logs from before budgets say nothing about it.
pub(crate) fn check_use(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let tag = step.core_named("thread-finished")?;
    let id = tag.find_attribute("id")?;
    let (messages, children) = (tag.read_number("messages"), tag.read_number("children"));
    if messages.is_none() && children.is_none() {
        return None;
    }
    let thread = before.find_thread(id)?;
    let used = thread.used;
    let ceiling = thread.child.as_ref().and_then(|child| child.ceiling);
    if let Some(ceiling) = ceiling.filter(|ceiling| used.0 > *ceiling) {
        return Some(format!("{id} used {} messages, and might use {ceiling}", used.0));
    }
    let told = (messages.unwrap_or(0), children.unwrap_or(0));
    let with_refused = (used.0.saturating_add(thread.refused), used.1);
    (told != used && told != with_refused).then(|| {
        let (count, of) = used;
        format!("{id} used {count} messages and {of} children, and {} and {} are told", told.0, told.1)
    })
}

/// A call is warned of each limit once.
pub(crate) fn warned_once(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let tag = step.core_named("budget-warning")?;
    let (what, limit) = (tag.find_attribute("what")?, tag.find_attribute("limit")?);
    let call = before.call_of(step)?;
    let is_known = call.warned.iter().any(|known| known.what == what && known.limit == limit);
    is_known.then(|| format!("it was warned of the limit of {limit} {what} before"))
}

/// A call gets one notice that it may only answer, and nothing of it begins after that.
pub(crate) fn wrap_up(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let act = step.act?;
    let told = before.call_of(step)?.wraps_up?;
    match act {
        RecordAct::Wraps { .. } => Some(format!("it was told at position {told} that a budget is used up")),
        RecordAct::Item { sort: ItemSort::Note | ItemSort::Refused | ItemSort::Final, .. } => None,
        RecordAct::Item { ordinal, .. } | RecordAct::Takes { ordinal, .. } => Some(format!(
            "item {ordinal} begins something, though only a final is taken since position {told}"
        )),
        _ => None,
    }
}

/// The records on the time of one message from outside are in its root and follow from one another: the
/// time stops only if it ran, the used time grows only while it runs and never beyond the limit, and after
/// the limit no record follows.
pub(crate) fn check_time(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let RecordAct::Clocks { call } = step.act? else { return None };
    let Some(said) = step.core_named("budget-time").and_then(|tag| ClockedTime::from_tag(tag)) else {
        return Some("the record does not say how much time is used".into());
    };
    let thread = before.find_thread(&step.record.thread)?;
    if thread.child.is_some() || !path::is_top(call) {
        return Some("time is kept elsewhere than in the root of a tree".into());
    }
    let ClockedTime { runs, used_ms, limit_ms } = said;
    if used_ms > limit_ms || runs && used_ms == limit_ms {
        return Some(format!("{used_ms} ms of {limit_ms} are used, and the time runs on"));
    }
    let last = thread.clocks.get(call)?;
    let fault = match (last.runs, runs) {
        _ if last.used_ms >= last.limit_ms => "its time was over before",
        _ if used_ms < last.used_ms => "less of it is used than before",
        _ if limit_ms != last.limit_ms && last.limit_ms != ClockedTime::OPEN => {
            "its limit is another than before"
        }
        (false, false) => "it stood still before",
        (false, true) if used_ms != last.used_ms => "it ran while it stood still",
        _ => return None,
    };
    Some(fault.into())
}
