//! Checks that what a call sees of its own view is possible. The messages of a view are not known here.

use super::RunSettings;
use crate::ledger::{Ledger, Step};
use crate::meaning::Act;
use crate::tag::Tag;

/// The answer to a clear is what it cleared, the answer to a recall is what it read, and nothing else has
/// such an answer. No message is cleared twice, something always stays, and a part of a text is within it.
pub(crate) fn view(before: &Ledger, step: &Step<'_>, _: &RunSettings) -> Option<String> {
    let Act::Answer { caller, turn, ordinal } = step.act? else { return None };
    let call = before.call(&step.record.thread, caller)?;
    let item = call.item(turn, ordinal)?;
    match (step.core_named("context-cleared"), item.is_clear) {
        (Some(tag), true) => return cleared(tag, call.cleared),
        (Some(_), false) => return Some("it clears messages, but its item asked for no clear".into()),
        (None, true) => return Some("a clear is not answered by what it cleared".into()),
        (None, false) => {}
    }
    match (step.core_named("recalled"), item.is_recall) {
        (Some(tag), true) => recalled(tag),
        (Some(_), false) => Some("it recalls messages, but its item asked for no recall".into()),
        (None, true) => Some("a recall is not answered by what it reads".into()),
        (None, false) => None,
    }
}

fn cleared(tag: &Tag<'_>, before: u64) -> Option<String> {
    let (Some(kept), Some(from), Some(to)) =
        (tag.large("kept_messages"), tag.large("from_seq"), tag.large("to_seq"))
    else {
        return Some("a clear counts nothing".into());
    };
    if kept == 0 {
        return Some("a clear keeps nothing, not even the request".into());
    }
    if (from, to) != (0, 0) && (from <= before || to < from) {
        return Some(format!("{from} to {to} are cleared of a view that is cleared up to {before}"));
    }
    let is_hash = tag.attribute("digest").is_some_and(|hash| hash.len() == 64);
    (!is_hash).then(|| "what was cleared has no digest".into())
}

fn recalled(tag: &Tag<'_>) -> Option<String> {
    let (Some(from), Some(to)) = (tag.large("from_seq"), tag.large("to_seq")) else {
        return Some("a recall counts nothing".into());
    };
    if from == 0 || to < from {
        return Some(format!("{from} to {to} are recalled, which is no range"));
    }
    let (total, offset) = (tag.large("total").unwrap_or(0), tag.large("offset").unwrap_or(0));
    let end = tag.large("next").unwrap_or(total);
    (offset >= end || end > total).then(|| format!("{offset} to {end} of {total} characters are no part"))
}
