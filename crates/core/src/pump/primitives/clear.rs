//! `<clear-context>`: how much of its view a call clears. This does not change the log, only what the call gets when it
//! asks for its view. The view was looked up earlier, as of the moment when the turn became due, so this file reads
//! nothing.

use super::recall::{find_seen, read_whole, show_range};
use super::{ItemDecision, Primitive, TurnEffect, make_item, record_exchange, refuse_unread};
use crate::pump::decision_builder::DecisionBuilder;
use crate::pump::turn::Turn;
use crate::pump::view::{ReadRequest, View};
use crate::rules::admit::ItemReading;
use crate::rules::core_payload;
use crate::rules::view_payload::{self, ClearedView};
use crate::types::flow::Admitted;
use crate::types::record::{MessageRole, RecordCode};

pub(super) static ROW: Primitive = Primitive {
    wants: |_| vec![ReadRequest::Whole],
    shows: Some(|answer| show_range("cleared", answer, view_payload::cleared_range)),
    turns: TurnEffect::Several,
    ..make_item(
        "clear-context",
        RecordCode::Role(MessageRole::Clear),
        "clears its view, item",
        ItemReading::Plain(|_| Ok(())),
        decide_item,
    )
};

/// How many of the last messages are kept. A number larger than the view keeps all of them.
fn read_keep(body: &[u8]) -> u64 {
    let [keep] = core_payload::read_attributes(body, "clear-context", ["keep"]).unwrap_or_default();
    keep.as_deref().map_or(0, read_whole)
}

/// Clears the view except for its last messages.
fn decide_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> ItemDecision {
    let item = admitted.bytes();
    let Some(before) = d.find_call(turn.thread, turn.path).map(|call| call.cleared) else { return Ok(None) };
    let view = find_seen(turn)?.view.as_ref().ok_or_else(refuse_unread)?;
    let answer = view_payload::view_cleared(&clear_view(view, read_keep(item), before));
    record_exchange(d, turn, ordinal, &ROW, item, answer);
    Ok(None)
}

/// The range that is cleared when everything up to `before` is cleared already. Only whole turns are
/// cleared, so more may be kept than was asked for, never less. The request stays; if it is at an end of
/// the range, the range excludes it.
fn clear_view(view: &View, keep: u64, before: u64) -> ClearedView {
    let (count, request) = (view.count(), view.request());
    let most = count.saturating_sub(keep);
    // The kept part begins with a turn, unless nothing is kept.
    let starts = view.list_range(1, most.saturating_add(1)).filter(|(_, message)| message.begins);
    let whole = if most == count { most } else { starts.last().map_or(0, |(number, _)| number - 1) };
    let inner = |edge: u64, step: u64| if edge == request { step } else { edge };
    let (from, to) = (inner(before + 1, before + 2), inner(whole, whole.saturating_sub(1)));
    let dropped = |from, to| view.list_range(from, to).filter(move |(number, _)| *number != request);
    let kept = count - dropped(1, to.max(before)).count() as u64;
    let digest = view_payload::hash_leaves(dropped(from, to).map(|(_, message)| message.leaf));
    let range = if from <= to { (from, to) } else { (0, 0) };
    ClearedView { kept, range, digest }
}
