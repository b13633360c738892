//! `plain`: the whole answer is the result, without the thoughts at its beginning.

use super::{ReadAnswer, goals};
use crate::contracts::AgentContracts;
use crate::model::StopReason;
use crate::model_answer::HeardAnswer;

pub(super) fn read_answer(contracts: &AgentContracts, heard: &HeardAnswer) -> ReadAnswer {
    let mut taken = ReadAnswer::default();
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
