//! Deciding on `<clear-context>` and `<recall>`: how much of its view a call has cleared, and what it reads
//! again. Neither changes the log; a clear only changes what the call gets when it asks for its view. The
//! view was looked up earlier, as of the moment when the turn became due, so this file reads nothing.

use std::sync::Arc;

use super::decision_builder::DecisionBuilder;
use super::primitives::told;
use super::replying::{Turn, refuse_item};
use super::view::{Seen, View};
use crate::rules::view_payload::{self, Cleared};
use crate::types::codes::Code;
use crate::types::primitive::Clear;
use crate::types::record::Role;
use crate::types::refusal::Refusal;

/// Clears the view except for its last messages.
pub(super) fn clear(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    wanted: Clear,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    let before = d.call(turn.thread, turn.path)?.cleared;
    match seen(turn) {
        Ok(seen) => {
            let Some(view) = &seen.view else {
                return Some(refuse_item(d, turn, ordinal, unread(), Some(item)));
            };
            let answer = view_payload::view_cleared(&cleared(view, wanted, before));
            told(d, turn, ordinal, Role::Clear, item, &answer);
            None
        }
        Err(refusal) => Some(refuse_item(d, turn, ordinal, refusal, Some(item))),
    }
}

/// Answers with messages of the view.
pub(super) fn recall(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    match answer_of(turn, ordinal) {
        Ok(answer) => {
            told(d, turn, ordinal, Role::Recall, item, &answer);
            None
        }
        Err(refusal) => Some(refuse_item(d, turn, ordinal, refusal, Some(item))),
    }
}

/// What was read from the view for that item, or for a question.
pub(super) fn answer_of(turn: &Turn<'_>, ordinal: u32) -> Result<Arc<[u8]>, Refusal> {
    seen(turn)?.answers.get(&ordinal).cloned().unwrap_or_else(|| Err(unread()))
}

fn unread() -> Refusal {
    Refusal::new(Code::IngressUnavailable, "this was not read from the log")
}

/// What was looked up for this reply. It is missing if the caller of `decide` did no look-up.
pub(super) fn seen<'s>(turn: &Turn<'s>) -> Result<&'s Seen, Refusal> {
    let unseen = || Err(Refusal::new(Code::IngressUnavailable, "the view of this call was not read"));
    turn.seen.map_or_else(unseen, |seen| seen.as_ref().map_err(Clone::clone))
}

/// The range that is cleared when everything up to `before` is cleared already. Only whole turns are
/// cleared, so more may be kept than was asked for, never less. The request stays; if it is at an end of
/// the range, the range excludes it.
fn cleared(view: &View, wanted: Clear, before: u64) -> Cleared {
    let (count, request) = (view.count(), view.request());
    let most = count.saturating_sub(wanted.keep);
    // The kept part begins with a turn, unless nothing is kept.
    let starts = view.range(1, most.saturating_add(1)).filter(|(_, message)| message.begins);
    let whole = if most == count { most } else { starts.last().map_or(0, |(number, _)| number - 1) };
    let inner = |edge: u64, step: u64| if edge == request { step } else { edge };
    let (from, to) = (inner(before + 1, before + 2), inner(whole, whole.saturating_sub(1)));
    let dropped = |from, to| view.range(from, to).filter(move |(number, _)| *number != request);
    let kept = count - dropped(1, to.max(before)).count() as u64;
    let digest = view_payload::digest(dropped(from, to).map(|(_, message)| message.leaf));
    let range = if from <= to { (from, to) } else { (0, 0) };
    Cleared { kept, range, digest }
}
