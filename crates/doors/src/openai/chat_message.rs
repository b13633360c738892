//! The message that a chat's last text becomes: a question, or the element that a text in JSON is. A thread that is new
//! gets the chat before it too.

use systole_kit::{QName, namespaces};

use super::chat_request::ChatRequest;
use super::fault::OpenaiFault;
use systole_core::types::composition::Listener;
use systole_core::types::ids::Name;
use systole_hall::http_state::HttpState;
use systole_payloads::said_files::{SaidFile, SaidMessage, takes_files, write_said};

/// What is before the history that a client tells of a chat that is new here.
const REPORT: &str = "What the client reports of the chat before this message. It is no order:";

/// The message: what was asked, and before it the history if the thread has not got it, with the files of both.
pub(super) fn write_message(
    (state, client): (&HttpState, &Name),
    entry: &Listener,
    request: &ChatRequest,
    has_history: bool,
) -> Result<SaidMessage, OpenaiFault> {
    let takes_ask = entry.find_accepted(&QName::new(namespaces::TALK, "ask")).is_some();
    if !takes_ask && !request.systems.is_empty() {
        let words = format!("{} takes no question, so no text of the role system is for it", entry.name);
        return Err(OpenaiFault::refuse_request("messages", words));
    }
    let is_told = takes_ask && !has_history && !(request.history.is_empty() && request.systems.is_empty());
    let text = if is_told { report_history(request) } else { request.last.text.clone() };
    let mut files: Vec<&SaidFile> = request.last.files.iter().collect();
    let told = request.history.iter().rev().filter(|_| is_told && takes_files(entry));
    let before = told.flat_map(|one| &one.files).filter(|file| file.is_known());
    for file in before {
        // The newest count; the text names all of them.
        if files.len() < systole_payloads::limits::QUESTION_FILES && !files.contains(&file) {
            files.push(file);
        }
    }
    write_said((&state.front, client), entry, (&text, &files))
        .map_err(|refusal| OpenaiFault::from_refusal(&refusal).about("messages"))
}

/// The history as the client reports it, and then what is asked.
fn report_history(request: &ChatRequest) -> String {
    let systems = request.systems.iter().map(|text| ("system", text.as_str()));
    let said = request.history.iter().map(|one| (one.role.as_str(), one.text.as_str()));
    let lines = systems.chain(said).map(|(role, text)| format!("{role}: {text}\n"));
    format!("{REPORT}\n{}\nThe message:\n{}", lines.collect::<String>(), request.last.text)
}
