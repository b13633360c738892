//! The core's primitives, as a section of an agent's prompt.
//!
//! Contracts come in; a section goes out, with a line and a valid example for each primitive. Only for actions in
//! text, as native tools describe themselves.

use crate::contracts::AgentContracts;
use crate::primitives::{self, PromptPrimitive, RECALL, SPAWN};
use crate::spec::{AgentSpec, Dialect};

use super::{sections::add_title, tools};

pub(super) fn write_section(agent: &AgentSpec, contracts: &AgentContracts) -> Option<String> {
    if agent.dialect != Dialect::Xml {
        return None;
    }
    let mut lines = Vec::new();
    for primitive in primitives::list_prompted(agent, contracts) {
        lines.push(format!("- <{}>: {}", primitive.local, primitive.about));
        lines.extend(write_example(primitive, contracts).map(|example| format!("  Example: {example}")));
    }
    (!lines.is_empty()).then(|| add_title(agent, "core_tools", &lines.join("\n")))
}

/// How an agent reads the rest of a message of its view after `offset` characters. `None` if a peer has the name.
pub(crate) fn write_reading_on(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    number: u64,
    offset: &str,
) -> Option<String> {
    let number = number.to_string();
    match agent.dialect {
        Dialect::Plain => None,
        Dialect::Xml => {
            primitives::list_known(agent, contracts).find(|primitive| primitive.local == RECALL)?;
            let of = format!("<recall from_seq=\"{number}\" to_seq=\"{number}");
            Some(format!("{of}\" offset=\"{offset}\"/>"))
        }
        Dialect::Native | Dialect::XmlFinal => {
            let is_it = |native: &tools::NativeTool| match native.means {
                tools::ToolMeaning::Core(primitive) => primitive.local == RECALL,
                tools::ToolMeaning::Peer { .. } => false,
            };
            let name = tools::list_native(contracts).into_iter().find(is_it)?.tool.name;
            let of = format!("{name} {{\"from_seq\": {number}, \"to_seq\": {number}");
            Some(format!("{of}, \"offset\": {offset}}}"))
        }
    }
}

/// A valid example, with the example of a tool or its name filled in.
fn write_example(primitive: &PromptPrimitive, contracts: &AgentContracts) -> Option<String> {
    if !primitive.example.contains("{}") {
        return Some(primitive.example.to_owned());
    }
    let inside = match primitive.local {
        SPAWN => primitives::list_spawnable(contracts).find_map(tools::write_example)?,
        _ => contracts.actions.first()?.known.element.local.to_string(),
    };
    Some(primitive.example.replace("{}", &inside))
}
