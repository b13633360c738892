//! Checks that the records are the written ones, all of them, in order.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::record::head_after;

/// Positions count from 1 without a gap.
pub(crate) fn check_position(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let due = before.position.saturating_add(1);
    let found = step.record.position;
    (found != due).then(|| format!("the record stands at position {found}, where {due} is due"))
}

/// The records of a thread count from 1 without a gap.
pub(crate) fn check_seq(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let last = before.find_thread(&step.record.thread).map_or(0, |thread| thread.seq);
    let found = step.record.seq;
    (last.checked_add(1) != Some(found))
        .then(|| format!("record {found} of the thread comes after record {last}"))
}

/// The head is the one that the record's own bytes give after the head before it.
pub(crate) fn check_head(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let due = head_after(before.find_head(&step.record.thread), step.leaf);
    let found = step.record.head;
    (found != due).then(|| format!("the head is {found}, and the record's bytes give {due}"))
}

/// Ids are UUIDs of version 7, each used once.
pub(crate) fn check_id(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let id = step.record.id;
    if !id.is_v7() {
        return Some(format!("{id} is no UUID of version 7"));
    }
    before.find_place(id).map(|first| {
        format!("{id} is also the id of record {} of {}", first.seq, name_place(before, step, first.thread))
    })
}

fn name_place(before: &CheckLedger, step: &LedgerStep<'_>, thread: u32) -> &'static str {
    let own = before.find_thread(&step.record.thread).map(|own| own.number);
    if own == Some(thread) { "this thread" } else { "another thread" }
}
