//! `plain`: the whole answer is the result, without the thoughts at its beginning.

use super::{Taken, goals};
use crate::contracts::Contracts;
use crate::heard::Heard;
use crate::model::StopReason;

pub(super) fn take(contracts: &Contracts, heard: &Heard) -> Taken {
    let mut taken = Taken::default();
    let text = heard.answer();
    if text.trim().is_empty() {
        taken.wrong(if heard.reasons() { "reasoning-only" } else { "empty-response" }, "");
    } else if heard.stop == StopReason::Length {
        taken.wrong("output-truncated", "");
    } else {
        goals::end(contracts, &text, &mut taken);
    }
    taken
}
