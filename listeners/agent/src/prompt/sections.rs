//! The names that a section of a prompt may have, and the text that it must not contain, so that every section ends
//! where it seems to.
//!
//! An agent and the text of a section come in; faults go out, or the section under its title. It changes no text.

use std::ops::Range;

use crate::contracts::AgentContracts;
use crate::primitives;
use crate::spec::{AgentSpec, Dialect};

/// The sections that a prompt may always have.
const USUAL: [&str; 8] = [
    "identity",
    "capabilities",
    "rules",
    "tools",
    "core_tools",
    "response_protocol",
    "thread",
    "environment",
];

/// Elements that are known in the text of every agent.
const KNOWN: [&str; 7] =
    ["thinking", "thought", "todo-until", "attempt_completion", "message", "final-report", "tool_result"];

/// Whether the prompt may have a section with that name.
pub(crate) fn is_one(agent: &AgentSpec, name: &str) -> bool {
    list_names(agent).any(|known| known == name)
}

/// The names of the sections that the agent's prompt may have.
pub(crate) fn list_names(agent: &AgentSpec) -> impl Iterator<Item = &str> {
    USUAL.into_iter().chain(agent.prompt.iter().map(|section| section.name.as_str()))
}

/// Whether the sections of the agent's prompt are elements.
fn has_elements(agent: &AgentSpec) -> bool {
    matches!(agent.dialect, Dialect::Xml | Dialect::XmlFinal)
}

/// Whether the name of a section would conflict with something else: an action, a final, a part of a conversation.
#[must_use]
pub fn is_taken(agent: &AgentSpec, name: &str) -> bool {
    let elements = agent.accepts.iter().chain(&agent.returns).chain(&agent.gives);
    let elements = elements.chain(agent.peers.iter().flat_map(|peer| &peer.accepts));
    let is_element = elements.into_iter().any(|known| &*known.element.local == name);
    let is_block = KNOWN.contains(&name) || name == "turn-failed" || name.starts_with("core-");
    let is_primitive =
        || primitives::list_known(agent, &AgentContracts::default()).any(|primitive| primitive.local == name);
    has_elements(agent) && (is_element || is_block || name == agent.name || is_primitive())
}

/// The first end tag of a section in a text.
#[must_use]
pub fn end_tag(agent: &AgentSpec, text: &str) -> Option<Range<usize>> {
    let mut found = text.match_indices("</").filter(|_| has_elements(agent)).filter_map(|(at, begins)| {
        let (name, _) = text.get(at + begins.len()..)?.split_once('>')?;
        let end = at + begins.len() + name.len() + 1;
        is_one(agent, &name.trim_end().to_ascii_lowercase()).then_some(at..end)
    });
    found.next()
}

/// A section: an element with its name in the XML dialects, a heading in the others.
pub(super) fn add_title(agent: &AgentSpec, name: &str, text: &str) -> String {
    if matches!(agent.dialect, Dialect::Xml | Dialect::XmlFinal) {
        return format!("<{name}>\n{text}\n</{name}>");
    }
    let spaced = name.replace(['_', '-'], " ");
    let mut letters = spaced.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("# {first}{}\n\n{text}", letters.as_str())
}
