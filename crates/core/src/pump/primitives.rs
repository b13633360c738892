//! Deciding on primitives: passes an item that the pump itself must answer to the file that answers
//! it.

use std::sync::Arc;

use super::decision_builder::{DecisionBuilder, Fact};
use super::replying::{Turn, no_turn_left, refuse_item};
use super::{awaiting, clearing, ending, questions, timers, todos};
use crate::types::primitive::Primitive;
use crate::types::record::{Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// Answers an item, now or later; returns the refusal if there is one.
pub(super) fn answer(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    primitive: &Primitive,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    match primitive {
        Primitive::Await(_) | Primitive::Introspect(_) | Primitive::Clear(_) | Primitive::Recall(_)
            if turn.is_single() =>
        {
            Some(refuse_item(d, turn, ordinal, no_turn_left(), Some(item)))
        }
        Primitive::AskPerson(_) if turn.is_last() => {
            Some(refuse_item(d, turn, ordinal, no_turn_left(), Some(item)))
        }
        Primitive::AskPerson(wanted) => questions::ask(d, turn, ordinal, wanted, item),
        Primitive::Await(wanted) => awaiting::wait(d, turn, ordinal, wanted, item),
        Primitive::SetTimer(wanted) => timers::set(d, turn, ordinal, wanted, item),
        Primitive::CancelTimer(id) => timers::cancel(d, turn, ordinal, id, item),
        Primitive::CancelThread(id) => ending::cancel(d, turn, ordinal, id, item),
        // The door has already answered it; the state does not contain the answer.
        Primitive::Introspect(answer) => {
            told(d, turn, ordinal, Role::Introspect, item, answer);
            None
        }
        Primitive::Clear(wanted) => clearing::clear(d, turn, ordinal, *wanted, item),
        Primitive::Recall(_) => clearing::recall(d, turn, ordinal, item),
        Primitive::Todo => todos::keep(d, turn, ordinal, Role::Todo, item),
    }
}

/// Records an item and the core's answer, which already exists.
pub(super) fn told(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    role: Role,
    item: &Arc<[u8]>,
    answer: &Arc<[u8]>,
) {
    let mut fact = turn.item(ordinal, Kind::Message, Mark::Role(role), item.clone());
    fact.from = turn.sender.clone();
    let (_, cause) = d.record(turn.thread, fact);
    let answer = Fact::core(Kind::Message, Mark::Role(Role::Answer), answer.clone())
        .to(&turn.sender)
        .on(&turn.path.item(turn.number, ordinal))
        .because(cause)
        .under(turn.config);
    d.record(turn.thread, answer);
}
