//! Threads by the names that a client gives them: `@agui.ID`, or a thread's own id.

use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::fault::RunFault;
use super::kept_messages::{KeptMessages, MessageRoom};
use super::wire::EventText;
use super::writer::{PROTOCOL, name_run};
use crate::http_state::HttpState;
use crate::limits;
use crate::runs::answers::{read_question, write_answer};
use crate::runs::named::find_named;
use crate::runs::work::read_blocking;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Key, Name, ThreadId};
use systole_core::types::limits::THREAD_NAME_BYTES;
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;
use systole_core::types::thread_choice::{ThreadName, fit_foreign};
use systole_queries::run_events::CallPlace;
use systole_queries::transcript::{Transcript, TranscriptTurn};

/// How the names of such threads begin.
const NAMED: &str = "agui.";

/// A thread, and what was said in it.
pub(super) struct FoundThread {
    /// What a message to it is sent to.
    pub(super) address: String,
    pub(super) said: Transcript,
}

/// Finds a thread. One that has only a name begins with its first message; one of another client is one that never was.
pub(super) async fn find_thread(state: &HttpState, client: &Name, id: &str) -> Result<FoundThread, RunFault> {
    let (front, owner) = (state.front.clone(), client.clone());
    if let Some(thread) = ThreadId::parse(id).ok().filter(|thread| thread.parent().is_none()) {
        let address = thread.to_string();
        // Nothing of a thread is read whose first record is not this client's.
        let said = read_blocking(move || {
            let first = front.reader().of_thread(&thread, 1, 1)?.pop();
            let is_own = first.is_some_and(|(_, first)| first.header.from == owner);
            is_own.then(|| Transcript::read(&**front.reader(), &thread, 1)).transpose()
        });
        return said.await?.map(|said| FoundThread { address, said }).ok_or_else(|| refuse_unknown(id));
    }
    let name = format!("{NAMED}{}", fit_foreign(id, THREAD_NAME_BYTES - NAMED.len()));
    let name = ThreadName::parse(&name).map_err(|_| refuse_unknown(id))?;
    let address = name.to_string();
    let said = read_blocking(move || {
        let thread = find_named(&front, &owner, &name)?;
        thread.map(|thread| Transcript::read(&**front.reader(), &thread, 1)).transpose()
    });
    Ok(FoundThread { address, said: said.await?.unwrap_or_default() })
}

pub(super) fn refuse_unknown(id: &str) -> RunFault {
    let shown: String = id.chars().take(80).collect();
    let refusal = Refusal::new(Code::UnknownThread, format!("there is no thread {shown:?} of yours"));
    RunFault::Missing(Box::new(refusal))
}

/// The part of a recorded key that names the run.
pub(super) fn read_run_name(turn: &TranscriptTurn) -> &str {
    let key = turn.asked.1.header.key.as_ref().map(Key::as_str).unwrap_or_default();
    key.rsplit('/').next().unwrap_or_default()
}

impl FoundThread {
    /// The messages of the client.
    pub(super) fn list_own<'t>(
        &'t self,
        client: &'t Name,
    ) -> impl DoubleEndedIterator<Item = &'t TranscriptTurn> {
        self.said.turns.iter().filter(move |turn| turn.asked.1.header.from == *client)
    }

    /// The message with that key.
    pub(super) fn find_run<'t>(&'t self, client: &'t Name, key: &Key) -> Option<&'t TranscriptTurn> {
        self.list_own(client).find(|turn| read_run_name(turn) == key.as_str())
    }

    /// The run that had begun last at a position.
    pub(super) fn find_run_at(&self, client: &Name, position: Position) -> Option<&TranscriptTurn> {
        self.said
            .turns
            .iter()
            .rev()
            .find(|turn| turn.asked.0 <= position && turn.asked.1.header.from == *client)
    }

    /// The messages of the client whose runs are open.
    pub(super) fn list_open<'t>(&'t self, client: &'t Name) -> impl Iterator<Item = &'t TranscriptTurn> {
        self.list_own(client).filter(|turn| turn.end.is_none())
    }

    /// All its messages, by their records, the newest first.
    pub(super) fn list_messages(&self, client: &Name) -> Vec<(ThreadId, u64)> {
        let place = |turn: &TranscriptTurn| {
            let h = &turn.asked.1.header;
            (h.thread.clone(), h.seq)
        };
        self.list_own(client).rev().map(place).collect()
    }

    /// The newest messages and answers.
    pub(super) fn write_messages(&self, organism: &Composition) -> Vec<Value> {
        let mut messages = Vec::new();
        for turn in &self.said.turns {
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
