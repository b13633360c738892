//! Deciding on `<clear-context>` and `<recall>`: how much of its view a call has cleared, and what it reads
//! again. Neither changes the log; a clear only changes what the call is shown when it asks for its view.
//! The view was looked up before, as it stood when the turn was due, so that this room reads nothing.

use std::sync::Arc;

use super::draft::Draft;
use super::primitives::told;
use super::replying::{Turn, refuse_item};
use super::view::{Seen, View};
use crate::rules::view_payload::{self, Cleared};
use crate::types::codes::Code;
use crate::types::primitive::Clear;
use crate::types::record::Role;
use crate::types::refusal::Refusal;

/// Clears the view but for its last messages.
pub(super) fn clear(
    d: &mut Draft<'_>,
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
pub(super) fn recall(d: &mut Draft<'_>, turn: &Turn<'_>, ordinal: u32, item: &Arc<[u8]>) -> Option<Refusal> {
    match answer_of(turn, ordinal) {
        Ok(answer) => {
            told(d, turn, ordinal, Role::Recall, item, &answer);
            None
        }
        Err(refusal) => Some(refuse_item(d, turn, ordinal, refusal, Some(item))),
    }
}

/// What was read of the view for that item, or for a question.
pub(super) fn answer_of(turn: &Turn<'_>, ordinal: u32) -> Result<Arc<[u8]>, Refusal> {
    seen(turn)?.answers.get(&ordinal).cloned().unwrap_or_else(|| Err(unread()))
}

fn unread() -> Refusal {
    Refusal::new(Code::IngressUnavailable, "this was not read from the log")
}

/// What was looked up for this reply. One without it was decided upon by somebody who does not look.
pub(super) fn seen<'s>(turn: &Turn<'s>) -> Result<&'s Seen, Refusal> {
    let unseen = || Err(Refusal::new(Code::IngressUnavailable, "the view of this call was not read"));
    turn.seen.map_or_else(unseen, |seen| seen.as_ref().map_err(Clone::clone))
}

/// What is cleared where everything up to `before` was cleared earlier: whole turns alone, so that rather
/// more is kept than less. The request stays; at an end of the range it is none of it.
fn cleared(view: &View, wanted: Clear, before: u64) -> Cleared {
    let (count, request) = (view.count(), view.request());
    let most = count.saturating_sub(wanted.keep);
    // What is kept begins a turn, unless nothing is.
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
