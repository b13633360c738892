//! `plain`: the whole answer is the result, without the thoughts at its beginning.

use super::{ReadAnswer, goals, json_schema};
use crate::contracts::AgentContracts;
use crate::model::StopReason;
use crate::model_answer::HeardAnswer;
use crate::spec::AgentSpec;

pub(super) fn read_answer(agent: &AgentSpec, contracts: &AgentContracts, heard: &HeardAnswer) -> ReadAnswer {
    let mut taken = ReadAnswer::default();
    let said = heard.answer_text();
    if said.trim().is_empty() {
        taken.add_failure(if heard.has_reasoning() { "reasoning-only" } else { "empty-response" }, "");
    } else if heard.stop == StopReason::Length {
        taken.add_failure("output-truncated", "");
    } else {
        let schema = agent.output.schema.as_deref().filter(|_| contracts.json_final().is_none());
        let text = schema.map(|schema| json_schema::drop_missing(schema, &said));
        goals::take_final(contracts, text.as_deref().unwrap_or(&said), &mut taken);
    }
    taken
}
