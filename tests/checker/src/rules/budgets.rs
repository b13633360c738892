//! Whether budgets hold: what is told of their use is what was used, each word on them comes once, and
//! nothing starts after the last.

use super::Terms;
use crate::ledger::{Ledger, Step};
use crate::meaning::{Act, Sort};

/// What a parent is told that a child has used is what the child and all below it did use. Logs from before
/// there were budgets say nothing of it.
pub(crate) fn used(before: &Ledger, step: &Step<'_>, _: &Terms) -> Option<String> {
    let tag = step.core_named("thread-finished")?;
    let id = tag.attribute("id")?;
    let (messages, children) = (tag.number("messages"), tag.number("children"));
    if messages.is_none() && children.is_none() {
        return None;
    }
    let used = before.thread(id)?.used;
    let told = (messages.unwrap_or(0), children.unwrap_or(0));
    (told != used).then(|| {
        let (count, of) = used;
        format!("{id} used {count} messages and {of} children, and {} and {} are told", told.0, told.1)
    })
}

/// A call is warned of each limit once.
pub(crate) fn warned_once(before: &Ledger, step: &Step<'_>, _: &Terms) -> Option<String> {
    let tag = step.core_named("budget-warning")?;
    let (what, limit) = (tag.attribute("what")?, tag.attribute("limit")?);
    let call = before.call_of(step)?;
    let is_known = call.warned.iter().any(|known| known.what == what && known.limit == limit);
    is_known.then(|| format!("it was warned of the limit of {limit} {what} before"))
}

/// A call is told once that it may only answer, and from then on nothing of it begins.
pub(crate) fn wrap_up(before: &Ledger, step: &Step<'_>, _: &Terms) -> Option<String> {
    let act = step.act?;
    let told = before.call_of(step)?.wraps_up?;
    match act {
        Act::Wraps { .. } => Some(format!("it was told at position {told} that a budget is used up")),
        Act::Item { sort: Sort::Note | Sort::Refused | Sort::Final, .. } => None,
        Act::Item { ordinal, .. } | Act::Takes { ordinal, .. } => Some(format!(
            "item {ordinal} begins something, though only a final is taken since position {told}"
        )),
        _ => None,
    }
}
