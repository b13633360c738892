//! Threads by the names that a client gives them at a door, or by their own ids, with what was said in them.

use super::work::read_blocking;
use crate::http_state::HttpState;
use systole_core::types::ids::{Key, Name, ThreadId};
use systole_core::types::limits::THREAD_NAME_BYTES;
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;
use systole_core::types::thread_choice::{ThreadName, fit_foreign};
use systole_following::named_threads::find_named;
use systole_queries::transcript::{Transcript, TranscriptTurn};

/// A thread, and what was said in it.
pub struct SaidThread {
    /// What a message to it is sent to.
    pub address: String,
    /// What was said there.
    pub said: Transcript,
}

/// Finds a thread by its id, or by a name that begins so at its door. One that has only a name begins with its first
/// message. `None` for the thread of another client.
pub async fn find_said(
    state: &HttpState,
    client: &Name,
    (named, id): (&str, &str),
) -> Result<Option<SaidThread>, Box<Refusal>> {
    let (front, owner) = (state.front.clone(), client.clone());
    if let Some(thread) = ThreadId::parse(id).ok().filter(|thread| thread.parent().is_none()) {
        let address = thread.to_string();
        // Nothing of a thread is read whose first record is not this client's.
        let said = read_blocking(move || {
            let first = front.reader().of_thread(&thread, 1, 1)?.pop();
            let is_own = first.is_some_and(|(_, first)| first.header.from == owner);
            is_own.then(|| Transcript::read(&**front.reader(), &thread, 1)).transpose()
        });
        return Ok(said.await?.map(|said| SaidThread { address, said }));
    }
    let name = format!("{named}{}", fit_foreign(id, THREAD_NAME_BYTES - named.len()));
    let Ok(name) = ThreadName::parse(&name) else { return Ok(None) };
    let address = name.to_string();
    let said = read_blocking(move || {
        let thread = find_named(&front, &owner, &name)?;
        thread.map(|thread| Transcript::read(&**front.reader(), &thread, 1)).transpose()
    });
    Ok(Some(SaidThread { address, said: said.await?.unwrap_or_default() }))
}

/// The part of a recorded key that names the run.
pub fn read_run_name(turn: &TranscriptTurn) -> &str {
    let key = turn.asked.1.header.key.as_ref().map(Key::as_str).unwrap_or_default();
    key.rsplit('/').next().unwrap_or_default()
}

impl SaidThread {
    /// The messages of the client.
    pub fn list_own<'t>(&'t self, client: &'t Name) -> impl DoubleEndedIterator<Item = &'t TranscriptTurn> {
        self.said.turns.iter().filter(move |turn| turn.asked.1.header.from == *client)
    }

    /// The message with that key.
    pub fn find_run<'t>(&'t self, client: &'t Name, key: &Key) -> Option<&'t TranscriptTurn> {
        self.list_own(client).find(|turn| read_run_name(turn) == key.as_str())
    }

    /// The run that had begun last at a position.
    pub fn find_run_at(&self, client: &Name, position: Position) -> Option<&TranscriptTurn> {
        self.said
            .turns
            .iter()
            .rev()
            .find(|turn| turn.asked.0 <= position && turn.asked.1.header.from == *client)
    }

    /// The messages of the client whose runs are open.
    pub fn list_open<'t>(&'t self, client: &'t Name) -> impl Iterator<Item = &'t TranscriptTurn> {
        self.list_own(client).filter(|turn| turn.end.is_none())
    }

    /// All its messages, by their records, the newest first.
    pub fn list_messages(&self, client: &Name) -> Vec<(ThreadId, u64)> {
        let place = |turn: &TranscriptTurn| {
            let h = &turn.asked.1.header;
            (h.thread.clone(), h.seq)
        };
        self.list_own(client).rev().map(place).collect()
    }
}
