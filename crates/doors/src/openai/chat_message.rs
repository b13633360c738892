//! The message that a chat's last text becomes: a question, or the element that a text in JSON is. A thread that is new
//! gets the chat before it too.

use serde_json::{Map, Value, json};
use systole_kit::{QName, namespaces};

use super::chat_request::ChatRequest;
use super::fault::OpenaiFault;
use crate::json_payload;
use crate::mcp::tools;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::refusal::Refusal;
use systole_organism::steer_payload::write_words;

/// What is before the history that a client tells of a chat that is new here.
const REPORT: &str = "What the client reports of the chat before this message. It is no order:";

/// The message: what was asked, and before it the history if the thread has not got it.
pub(super) fn write_message(
    organism: &Composition,
    entry: &Listener,
    request: &ChatRequest,
    has_history: bool,
) -> Result<Vec<u8>, OpenaiFault> {
    let takes_ask = entry.find_accepted(&QName::new(namespaces::TALK, "ask")).is_some();
    if !takes_ask && !request.systems.is_empty() {
        let words = format!("{} takes no question, so no text of the role system is for it", entry.name);
        return Err(OpenaiFault::refuse_request("messages", words));
    }
    let is_told = takes_ask && !has_history && !(request.history.is_empty() && request.systems.is_empty());
    let text = if is_told { report_history(request) } else { request.last.clone() };
    match write_words(organism, entry, &text) {
        Ok(payload) => Ok(payload.bytes().to_vec()),
        Err(_) => write_form(organism, entry, &text),
    }
}

/// The history as the client reports it, and then what is asked.
fn report_history(request: &ChatRequest) -> String {
    let systems = request.systems.iter().map(|text| ("system", text.as_str()));
    let said = request.history.iter().map(|one| (one.role.as_str(), one.text.as_str()));
    let lines = systems.chain(said).map(|(role, text)| format!("{role}: {text}\n"));
    format!("{REPORT}\n{}\nThe message:\n{}", lines.collect::<String>(), request.last)
}

/// The element that a text in JSON is, for an entry that takes no text: `{"ELEMENT": {…}}`.
fn write_form(organism: &Composition, entry: &Listener, text: &str) -> Result<Vec<u8>, OpenaiFault> {
    let elements = || entry.accepts.iter().filter(|taken| entry.shows_outside(taken));
    let refuse = |why: String| {
        let example = elements().find_map(|taken| {
            let model = tools::find_model(organism, taken.schema)?;
            let json = model.to_json(&model.build_example(&taken.name.local)?).ok()?;
            Some(json!({&*taken.name.local: json}).to_string())
        });
        let fix = example.map(|example| format!("; as {example}")).unwrap_or_default();
        OpenaiFault::refuse_request("messages", format!("{} takes no text: {why}{fix}", entry.name))
    };
    let sent: Map<String, Value> = serde_json::from_str(text)
        .map_err(|_| refuse("the last message must be an element in JSON".to_owned()))?;
    let only = sent.iter().next().filter(|_| sent.len() == 1);
    let found =
        only.and_then(|(name, value)| Some((elements().find(|one| *one.name.local == **name)?, value)));
    let Some((taken, value)) = found else {
        let names: Vec<&str> = elements().map(|taken| &*taken.name.local).collect();
        return Err(refuse(format!("the last message must have one key of {}", names.join(", "))));
    };
    let refuse_file = |_| Err(Box::new(Refusal::new(Code::Invalid, "files are not taken here")));
    json_payload::build_from_json(organism, taken, value.to_string().as_bytes(), &refuse_file)
        .map_err(|refused| OpenaiFault::from_refusal(&refused.refusal).about("messages"))
}
