//! `<recall>`: its sender reads messages of its view again. This changes nothing. The view was looked up earlier, as of
//! the moment when the turn became due, so this file reads nothing.

use std::sync::Arc;

use super::{
    FieldValue, ItemDecision, Primitive, ShownItem, TurnEffect, make_item, record_exchange, refuse_unread,
};
use crate::pump::decision_builder::DecisionBuilder;
use crate::pump::turn::Turn;
use crate::pump::view::{ReadRequest, ReadResults};
use crate::rules::admit::ItemReading;
use crate::rules::{core_payload, view_payload};
use crate::types::codes::Code;
use crate::types::flow::Admitted;
use crate::types::primitive::Recall;
use crate::types::record::{MessageRole, RecordCode};
use crate::types::refusal::Refusal;

pub(super) static ROW: Primitive = Primitive {
    wants: |body| vec![ReadRequest::Recall(read_recall(body))],
    shows: Some(|answer| show_range("recalled", answer, view_payload::recalled_range)),
    turns: TurnEffect::Several,
    ..make_item(
        "recall",
        RecordCode::Role(MessageRole::Recall),
        "reads its view again, item",
        ItemReading::Plain(|_| Ok(())),
        decide_item,
    )
};

/// Only the pump knows whether these messages exist.
fn read_recall(body: &[u8]) -> Recall {
    let names = ["from_seq", "to_seq", "offset", "length"];
    let [from, to, offset, length] = core_payload::read_attributes(body, "recall", names).unwrap_or_default();
    let number = |written: Option<String>| written.as_deref().map(read_whole);
    Recall {
        from: number(from).unwrap_or(0),
        to: number(to).unwrap_or(0),
        offset: number(offset).unwrap_or(0),
        length: number(length),
    }
}

/// A whole number in the schema's syntax, signs included. A number that is too large becomes the largest one,
/// which means more messages than exist.
pub(super) fn read_whole(written: &str) -> u64 {
    let digits = written.trim().trim_start_matches('+');
    match digits.strip_prefix('-') {
        Some(_) => 0,
        None => digits.parse().unwrap_or(u64::MAX),
    }
}

/// Answers with messages of the view.
fn decide_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> ItemDecision {
    let answer = answer_of(turn, ordinal)?;
    record_exchange(d, turn, ordinal, &ROW, admitted.bytes(), answer);
    Ok(None)
}

/// What was read from the view for that item, or for a question.
pub(in crate::pump) fn answer_of(turn: &Turn<'_>, ordinal: u32) -> Result<Arc<[u8]>, Refusal> {
    find_seen(turn)?.answers.get(&ordinal).cloned().unwrap_or_else(|| Err(refuse_unread()))
}

/// What was looked up for this reply. It is missing if the caller of `decide` did no look-up.
pub(super) fn find_seen<'s>(turn: &Turn<'s>) -> Result<&'s ReadResults, Refusal> {
    let unseen = || Err(Refusal::new(Code::IngressUnavailable, "the view of this call was not read"));
    turn.seen.map_or_else(unseen, |seen| seen.as_ref().map_err(Clone::clone))
}

/// What happened to a part of the view, from the range in the core's answer.
pub(super) fn show_range(
    way: &'static str,
    answer: Option<&[u8]>,
    range: fn(&[u8]) -> Option<(u64, u64)>,
) -> ShownItem {
    let range = answer.and_then(range);
    let words = match range {
        None => format!("{way} its view"),
        Some((_, 0)) => format!("{way} nothing of its view"),
        Some((from, to)) => format!("{way} messages {from} to {to} of its view"),
    };
    ShownItem::new(words)
        .with_field(way, range.map_or(FieldValue::Null, |(from, to)| FieldValue::Range(from, to)))
}
