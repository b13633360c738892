//! `plain`: the whole answer is the result, without the thoughts at its beginning.

use super::{Taken, goals};
use crate::contracts::Contracts;
use crate::heard::Heard;
use crate::model::StopReason;

pub(super) fn read_answer(contracts: &Contracts, heard: &Heard) -> Taken {
    let mut taken = Taken::default();
    let text = heard.answer_text();
    if text.trim().is_empty() {
        taken.add_failure(if heard.has_reasoning() { "reasoning-only" } else { "empty-response" }, "");
    } else if heard.stop == StopReason::Length {
        taken.add_failure("output-truncated", "");
    } else {
        goals::take_final(contracts, &text, &mut taken);
    }
    taken
}
