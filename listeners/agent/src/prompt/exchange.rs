//! One example exchange, built from the contracts: a call, its result, and the end.
//!
//! Contracts come in; lines go out. Every payload in them is valid by its schema, so a model that imitates them is
//! right. One that copies them has answered nothing.

use crate::contracts::AgentContracts;
use crate::show::{TextMark, show_judged};
use crate::spec::{AgentSpec, Dialect, ThinkingRule};

use super::ending::write_ending;
use super::tools;

/// Who writes an answer.
const ASSISTANT: &str = "Assistant: ";

/// The exchange, a line for each message. Only for actions in text, as native calls have an example in their own form.
pub(super) fn write_lines(agent: &AgentSpec, contracts: &AgentContracts) -> Vec<String> {
    let Some((local, [call, ending])) = write_answers(agent, contracts) else { return Vec::new() };
    let first = contracts.actions.first().and_then(|action| action.given.first());
    let result = first.and_then(|known| known.build_example()).map_or_else(
        || "done".to_owned(),
        |payload| show_judged(&payload, &TextMark(String::new()), agent, contracts),
    );
    vec![
        "- For example:".to_owned(),
        format!("{ASSISTANT}{call}"),
        format!("User: <tool_result tool_name=\"{local}\">{result}</tool_result>"),
        format!("{ASSISTANT}{ending}"),
    ]
}

/// The name of the called tool, and the two answers of the exchange: a call and the final.
fn write_answers<'c>(agent: &AgentSpec, contracts: &'c AgentContracts) -> Option<(&'c str, [String; 2])> {
    let first = contracts.actions.first().filter(|_| agent.dialect == Dialect::Xml)?;
    let call = tools::write_example(first)?;
    let thinking = |words: &str| match agent.thinking {
        ThinkingRule::Required => format!("<thinking>{words}</thinking>"),
        ThinkingRule::Free => String::new(),
    };
    let call = format!("{}{call}", thinking("What I need first."));
    let ending = format!("{}{}", thinking("That is enough."), write_ending(contracts));
    Some((&first.known.element.local, [call, ending]))
}

/// Whether an answer is the exchange or a part of it, word for word. Without a thought in it the call alone may be
/// meant.
pub(crate) fn is_copied(agent: &AgentSpec, contracts: &AgentContracts, text: &str) -> bool {
    let Some((_, [call, ending])) = write_answers(agent, contracts) else { return false };
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let (text, call, ending) = (bare(text), bare(&call), bare(&ending));
    let text = text.strip_prefix(ASSISTANT.trim_end()).unwrap_or(&text);
    let is_certain = agent.thinking == ThinkingRule::Required;
    let is_whole = text.starts_with(&call) && text.contains("User:") && text.ends_with(&ending);
    // Without made-up words in it, the example may be just what is meant.
    let is_made_up = |example: &str| example.contains(">text<") || example.contains('…');
    is_whole || text == ending && is_made_up(&ending) || text == call && is_certain && is_made_up(&call)
}
