//! How an answer in text ends a conversation: the final as its model writes it.

use crate::contracts::AgentContracts;
use crate::show::write_markup;

/// How a conversation ends.
pub(super) fn write_ending(contracts: &AgentContracts) -> String {
    if contracts.text_final().is_some() || contracts.finals.is_empty() {
        return "<attempt_completion><result>…</result></attempt_completion>".to_owned();
    }
    let finals: Vec<String> = contracts
        .finals
        .iter()
        .map(|known| match known.build_example() {
            Some(example) => write_markup(&example),
            None => format!("<{}>…</{}>", known.element.local, known.element.local),
        })
        .collect();
    finals.join(" or ")
}
