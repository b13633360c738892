//! The listeners that take one turn: mostly they answer, or close silently if they owe nothing.

use super::{Cue, End, Speech};
use crate::cast;
use systole_soak::dice::SeededDice;

pub(super) fn works(cue: &mut Cue<'_>, dice: &mut SeededDice) -> End {
    let owes = cue.delivery.lease.listener.as_str() != cast::QUIET;
    let odd = if cue.is_brief { 0 } else { 1 };
    let things = match dice.weighed(&[40, odd, odd, odd, odd, odd, odd]) {
        0 if owes => vec![cue.answer()],
        1 if owes => vec![cue.note(), cue.answer()],
        2 if owes => vec![cue.answer(), cue.answer()],
        3 => vec![cue.note()],
        4 => vec![cue.refused()],
        5 => vec![cue.call(cast::TOOL)],
        6 => return End::Speaks(Speech::Again),
        _ => Vec::new(),
    };
    End::Speaks(Speech::Items(things.into_iter().flatten().collect()))
}
