//! The prompt of an agent's model call, for views: its links, read, and the same for programs.
//!
//! A thread and a record's number come in; the call to the model and the links of its prompt go out.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use systole_agent::chain::{self, ParsedLink};

use systole_config as config;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogReader;
use systole_export::erasures::PromptReading;
use systole_queries::prompts::{self, JournaledCall, PromptFault};

/// A call to a model, with the links of its prompt.
type CalledPrompt = (JournaledCall, Vec<Arc<str>>);

/// The call to a model that belongs to a record, with the links of its prompt, the first one first. `None` if the
/// thread has none up to there.
pub fn read_prompt(
    reader: &dyn LogReader,
    thread: &ThreadId,
    seq: u64,
) -> Result<Option<CalledPrompt>, PromptFault> {
    let Some(called) = prompts::called(reader, thread, seq)? else { return Ok(None) };
    let links = prompts::links(reader, &called.prompt, link_before)?;
    Ok(Some((called, links)))
}

/// How a check of a log reads prompts, and the configurations that name their agents.
pub const READING: PromptReading = PromptReading { agents: list_agents, before: link_before };

/// The agents of a stored configuration. The folder does not matter: everything is in the text.
fn list_agents(source: &[u8]) -> Option<HashSet<String>> {
    let file = config::read_stored(source, Path::new("")).ok()?;
    Some(file.agents.into_iter().map(|agent| agent.name).collect())
}

/// The link of a prompt's chain before this one.
pub fn link_before(text: &str) -> Option<String> {
    match chain::read_link(text) {
        Some(ParsedLink::Segment { before, .. } | ParsedLink::Prompt { before, .. }) => {
            Some(before.to_owned())
        }
        Some(ParsedLink::Base { .. }) | None => None,
    }
}

/// A part of a prompt for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PromptPart {
    /// The kind of part, or who says it.
    pub title: String,
    /// Its text, as it was sent.
    pub text: String,
}

/// The parts of a prompt, in order.
pub fn split_parts(links: &[Arc<str>]) -> Vec<PromptPart> {
    let mut parts = Vec::new();
    let mut add = |title: &str, text: &str| {
        parts.push(PromptPart { title: title.to_owned(), text: text.to_owned() });
    };
    for link in links.iter().filter_map(|text| chain::read_link(text)) {
        match link {
            ParsedLink::Base { system, tools } => {
                add("system", system);
                if !tools.is_empty() {
                    add("tools", tools);
                }
            }
            ParsedLink::Segment { messages, .. } => {
                for message in parse_lines(messages) {
                    let role = message.get("role").and_then(Value::as_str).unwrap_or("?");
                    for said in message.get("parts").and_then(Value::as_array).into_iter().flatten() {
                        let (kind, words) = read_words(said);
                        add(&format!("{role}{kind}"), &words);
                    }
                }
            }
            ParsedLink::Prompt { header, .. } => add("user, for this turn alone", header),
        }
    }
    parts
}

/// The kind and the text of a part of a message.
fn read_words(part: &Value) -> (&'static str, String) {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(call) = part.get("call") {
        return (" calls", format!("{} {}", text(call, "name"), text(call, "arguments")));
    }
    if let Some(result) = part.get("result") {
        return (": result of a call", format!("{}\n{}", text(result, "name"), text(result, "text")));
    }
    if let Some(kept) = part.get("reasoning") {
        return (" reasons, in the provider's form", kept.to_string());
    }
    ("", text(part, "text"))
}

/// The same for programs.
pub fn as_json(thread: &ThreadId, called: &JournaledCall, links: &[Arc<str>]) -> Value {
    let links: Vec<Value> = links
        .iter()
        .filter_map(|text| chain::read_link(text))
        .map(|link| match link {
            ParsedLink::Base { system, tools } => json!({"system": system, "tools": parse_lines(tools)}),
            ParsedLink::Segment { messages, .. } => json!({ "messages": parse_lines(messages) }),
            ParsedLink::Prompt { header, .. } => json!({ "header": header }),
        })
        .collect();
    json!({
        "thread": thread.as_str(),
        "seq": called.seq,
        "listener": called.listener.as_str(),
        "model": called.model,
        "turn": called.turn,
        "prompt": called.prompt,
        "links": links,
    })
}

/// The JSON values, one per line.
fn parse_lines(lines: &str) -> Vec<Value> {
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
