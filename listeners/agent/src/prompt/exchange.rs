//! One example exchange, built from the contracts: a request, a call, its result, and the end.
//!
//! Contracts come in; a section goes out. Every payload in it is valid by its schema, so a model that imitates it is
//! right.

use crate::contracts::AgentContracts;
use crate::show::{TextMark, show_judged};
use crate::spec::{AgentSpec, Dialect, ThinkingRule};

use super::{protocol, sections::add_title, tools};

/// The exchange. Only for actions in text, as native calls have an example in their own form.
pub(super) fn write_section(agent: &AgentSpec, contracts: &AgentContracts) -> Option<String> {
    let first = contracts.actions.first().filter(|_| agent.dialect == Dialect::Xml)?;
    let call = tools::write_example(first)?;
    let thinking = match agent.thinking {
        ThinkingRule::Required => "<thinking>What I need first.</thinking>\n",
        ThinkingRule::Free => "",
    };
    let given = first.given.first().and_then(|known| known.build_example());
    let result = given.map_or_else(
        || "done".to_owned(),
        |payload| show_judged(&payload, &TextMark(String::new()), agent, contracts),
    );
    let local = &*first.known.element.local;
    let last_thought = match agent.thinking {
        ThinkingRule::Required => "<thinking>That is enough.</thinking>\n",
        ThinkingRule::Free => "",
    };
    let written = format!("You write:\n{thinking}{call}");
    let shown = format!("You are shown:\n<tool_result tool_name=\"{local}\">{result}</tool_result>");
    let ending = format!("You write:\n{last_thought}{}", protocol::write_ending(contracts));
    Some(add_title(agent, "one_exchange", &format!("{written}\n\n{shown}\n\n{ending}")))
}
