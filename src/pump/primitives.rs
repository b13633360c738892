//! Deciding on primitives: which of the files beside this one answers an item that the pump itself is
//! asked to answer.

use std::sync::Arc;

use super::draft::Draft;
use super::replying::{Turn, no_turn_left, refuse_item};
use super::{awaiting, ending, timers, todos};
use crate::words::primitive::Primitive;
use crate::words::record::Role;
use crate::words::refusal::Refusal;

/// Answers an item, now or later; what was refused is returned.
pub(super) fn answer(
    d: &mut Draft<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    primitive: &Primitive,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    match primitive {
        Primitive::Await(_) if turn.is_single() => {
            Some(refuse_item(d, turn, ordinal, no_turn_left(), Some(item)))
        }
        Primitive::Await(wanted) => awaiting::wait(d, turn, ordinal, wanted, item),
        Primitive::SetTimer(wanted) => timers::set(d, turn, ordinal, wanted, item),
        Primitive::CancelTimer(id) => timers::cancel(d, turn, ordinal, id, item),
        Primitive::CancelThread(id) => ending::cancel(d, turn, ordinal, id, item),
        Primitive::Todo => todos::keep(d, turn, ordinal, Role::Todo, item),
    }
}
