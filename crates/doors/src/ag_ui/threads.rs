//! Threads by the names that a client gives them: `@agui.ID`, or a thread's own id.

use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::fault::RunFault;
use super::kept_messages::{KeptMessages, MessageRoom};
use super::writer::PROTOCOL;
use crate::limits;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_following::run_ids::name_run;
use systole_following::wire_events::EventText;
use systole_hall::http_state::HttpState;
use systole_hall::runs::said_threads::{SaidThread, find_said};
use systole_payloads::answers::{read_question, write_answer};
use systole_queries::run_events::CallPlace;

/// How the names of such threads begin.
const NAMED: &str = "agui.";

/// Finds a thread. One of another client is one that never was.
pub(super) async fn find_thread(state: &HttpState, client: &Name, id: &str) -> Result<SaidThread, RunFault> {
    find_said(state, client, (NAMED, id)).await?.ok_or_else(|| refuse_unknown(id))
}

pub(super) fn refuse_unknown(id: &str) -> RunFault {
    let shown: String = id.chars().take(80).collect();
    let refusal = Refusal::new(Code::UnknownThread, format!("there is no thread {shown:?} of yours"));
    RunFault::Missing(Box::new(refusal))
}

/// The newest messages and answers of a thread.
pub(super) fn write_messages(organism: &Composition, found: &SaidThread) -> Vec<Value> {
    let mut messages = Vec::new();
    for turn in &found.said.turns {
        let h = &turn.asked.1.header;
        let Some(call) = h.call.clone() else { continue };
        let id = name_run(&CallPlace { thread: h.thread.clone(), call });
        let asked = read_question(organism, &turn.asked.1);
        messages.push(json!({"id": format!("{id}.asked"), "role": "user", "content": asked}));
        let end = turn.end.as_ref();
        if let Some(text) = end.and_then(|(how, record)| write_answer(organism, *how, record)) {
            messages.push(json!({"id": id, "role": "assistant", "content": text}));
        }
    }
    let oldest = messages.len().saturating_sub(limits::SNAPSHOT_MESSAGES);
    messages.split_off(oldest)
}

/// What was said in a thread, as a run that is over.
pub(super) fn write_snapshot(thread: &str, messages: &[Value]) -> Vec<EventText> {
    let run = format!("{thread}#snapshot");
    let events = [
        json!({"type": "RUN_STARTED", "threadId": thread, "runId": run, "protocolVersion": PROTOCOL}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}),
        json!({"type": "RUN_FINISHED", "threadId": thread, "runId": run, "outcome": {"type": "success"}}),
    ];
    events.into_iter().map(EventText::from).collect()
}

/// The same messages, as those of a client.
pub(super) fn keep_messages(
    (room, client): (&MessageRoom, &Name),
    messages: &[Value],
) -> Result<KeptMessages, RunFault> {
    // A value is JSON.
    let texts: Vec<_> = messages.iter().filter_map(|message| to_raw_value(message).ok()).collect();
    let bytes = texts.iter().map(|text| text.get().len()).sum();
    Ok(KeptMessages::new(texts, room.take(client, bytes)?))
}
