//! The prompt of an agent's model call, for views: its links, read, and the same for programs.
//!
//! A thread and a record's number come in; the call to the model and the links of its prompt go out.

use std::sync::Arc;

use serde_json::{Value, json};
use systole_agent::chain::{self, ParsedLink};

use crate::audit::prompts::{self, JournaledCall, PromptFault};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogReader;

/// The call to a model that belongs to a record, with the links of its prompt, the first one first. `None` if the
/// thread has none up to there.
pub fn read(
    reader: &dyn LogReader,
    thread: &ThreadId,
    seq: u64,
) -> Result<Option<(JournaledCall, Vec<Arc<str>>)>, PromptFault> {
    let Some(called) = prompts::called(reader, thread, seq)? else { return Ok(None) };
    let before = |text: &str| match chain::read(text) {
        Some(ParsedLink::Segment { before, .. } | ParsedLink::Prompt { before, .. }) => {
            Some(before.to_owned())
        }
        Some(ParsedLink::Base { .. }) | None => None,
    };
    let links = prompts::links(reader, &called.prompt, before)?;
    Ok(Some((called, links)))
}

/// The same for programs.
pub fn as_json(thread: &ThreadId, called: &JournaledCall, links: &[Arc<str>]) -> Value {
    let links: Vec<Value> = links
        .iter()
        .filter_map(|text| chain::read(text))
        .map(|link| match link {
            ParsedLink::Base { system, tools } => json!({"system": system, "tools": objects(tools)}),
            ParsedLink::Segment { messages, .. } => json!({ "messages": objects(messages) }),
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
fn objects(lines: &str) -> Vec<Value> {
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
