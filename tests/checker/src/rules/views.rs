//! Checks that what a call sees of its own view is possible. The messages of a view are not known here.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::meaning::RecordAct;
use crate::tag::BodyTag;

/// The answer to a clear is what it cleared, the answer to a recall is what it read, and nothing else has
/// such an answer. No message is cleared twice, something always stays, and a part of a text is within it.
pub(crate) fn check_view(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let RecordAct::Answer { caller, turn, ordinal } = step.act? else { return None };
    let call = before.find_call(&step.record.thread, caller)?;
    let item = call.find_item(turn, ordinal)?;
    match (step.core_named("context-cleared"), item.is_clear) {
        (Some(tag), true) => return check_clear(tag, call.cleared),
        (Some(_), false) => return Some("it clears messages, but its item asked for no clear".into()),
        (None, true) => return Some("a clear is not answered by what it cleared".into()),
        (None, false) => {}
    }
    match (step.core_named("recalled"), item.is_recall) {
        (Some(tag), true) => check_recall(tag),
        (Some(_), false) => Some("it recalls messages, but its item asked for no recall".into()),
        (None, true) => Some("a recall is not answered by what it reads".into()),
        (None, false) => None,
    }
}

fn check_clear(tag: &BodyTag<'_>, before: u64) -> Option<String> {
    let (Some(kept), Some(from), Some(to)) =
        (tag.read_large("kept_messages"), tag.read_large("from_seq"), tag.read_large("to_seq"))
    else {
        return Some("a clear counts nothing".into());
    };
    if kept == 0 {
        return Some("a clear keeps nothing, not even the request".into());
    }
    if (from, to) != (0, 0) && (from <= before || to < from) {
        return Some(format!("{from} to {to} are cleared of a view that is cleared up to {before}"));
    }
    let is_hash = tag.find_attribute("digest").is_some_and(|hash| hash.len() == 64);
    (!is_hash).then(|| "what was cleared has no digest".into())
}

fn check_recall(tag: &BodyTag<'_>) -> Option<String> {
    let (Some(from), Some(to)) = (tag.read_large("from_seq"), tag.read_large("to_seq")) else {
        return Some("a recall counts nothing".into());
    };
    if from == 0 || to < from {
        return Some(format!("{from} to {to} are recalled, which is no range"));
    }
    let (total, offset) = (tag.read_large("total").unwrap_or(0), tag.read_large("offset").unwrap_or(0));
    let end = tag.read_large("next").unwrap_or(total);
    (offset >= end || end > total).then(|| format!("{offset} to {end} of {total} characters are no part"))
}
