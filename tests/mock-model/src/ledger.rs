//! The requests, in order, and how each answer ended. A request is recorded here, and in the file if there is one,
//! before the first byte of its answer. So the request still counts if the client or the mock is killed.
//!
//! It never keeps a whole key. In: requests and the ends of answers. Out: the list, the counts.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::asked::{Asked, Wanted};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::script::MockScript;

/// A request and its outcome.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SeenRequest {
    /// The number of the request, from 1, in order of time.
    pub number: u64,
    /// Usually `POST`.
    pub method: String,
    /// The path without its query, which may contain a key.
    pub path: String,
    /// The requested model, if the request was accepted.
    pub model: Option<String>,
    /// The last characters of the key: four, or half of a short one.
    pub key: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// Whether it used a reply of the script.
    pub scripted: bool,
    /// The body: JSON, or the text if it is not JSON.
    pub body: Value,
    /// How the answer ended.
    pub end: AnswerEnd,
}

/// How an answer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerEnd {
    /// It is still running.
    Open,
    /// It was sent completely.
    Sent,
    /// The script cut it.
    Cut,
    /// The client left before the end.
    Gone,
    /// The mock was stopped.
    Stopped,
}

/// Counts of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RequestCounts {
    /// All requests.
    pub requests: u64,
    /// Those that used a reply of the script: a provider would have started to charge for them.
    pub scripted: u64,
    /// Those refused before the script was checked, or for which the script had no reply.
    pub refused: u64,
    /// Those whose client left before the end.
    pub gone: u64,
    /// Those that are running now.
    pub open: u64,
    /// The most that ran at once.
    pub most_at_once: u64,
    /// Replies of the script that can still be used.
    pub left: u64,
}

/// The mock's memory, and the position in its script.
#[derive(Debug)]
pub(crate) struct Ledger {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    script: MockScript,
    seen: Vec<SeenRequest>,
    most_at_once: u64,
    file: Option<(PathBuf, File)>,
    stopped: bool,
}

/// The decision about a request.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) outcome: Result<(Wanted, Arc<Reply>), Refusal>,
    pub(crate) ticket: Ticket,
}

/// The open end of a request. Dropping it records how the answer ended. By default, the client left.
#[derive(Debug)]
pub(crate) struct Ticket {
    ledger: Arc<Ledger>,
    number: u64,
    pub(crate) end: AnswerEnd,
}

/// The shown part of a key: four characters, or half of a short key, and never all.
pub(crate) fn last_of(key: &str) -> String {
    let characters: Vec<char> = key.chars().collect();
    let shown = 4.min(characters.len() / 2);
    characters.iter().skip(characters.len() - shown).collect()
}

impl Ledger {
    pub(crate) fn new(script: MockScript, file: Option<(PathBuf, File)>) -> Ledger {
        let state = State { script, seen: Vec::new(), most_at_once: 0, file, stopped: false };
        Ledger { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic leaves no half-made change: each change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request, draws its reply, and writes it into the file.
    pub(crate) fn enter(self: &Arc<Ledger>, asked: &Asked, judged: Result<Wanted, Refusal>) -> Entry {
        let mut state = self.state();
        let number = u64::try_from(state.seen.len()).unwrap_or(u64::MAX).saturating_add(1);
        let mut outcome = judged.and_then(|wanted| {
            let raw = String::from_utf8_lossy(&asked.body);
            let texts = [raw.as_ref(), wanted.texts.as_str()];
            let reply = state.script.next(&wanted.model, &wanted.last, &texts);
            reply.map(|reply| (wanted, reply)).map_err(|why| Refusal::unscripted(&why))
        });
        let mut seen = SeenRequest {
            number,
            method: asked.method.to_string(),
            path: asked.path().to_owned(),
            model: outcome.as_ref().ok().map(|(wanted, _)| wanted.model.clone()),
            key: asked.key().map(last_of),
            status: match &outcome {
                Ok((_, reply)) => reply.status(),
                Err(refusal) => refusal.status,
            },
            scripted: outcome.is_ok(),
            body: asked
                .json()
                .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&asked.body).into_owned())),
            end: AnswerEnd::Open,
        };
        if let Some((path, file)) = &mut state.file
            && let Err(error) = append(file, &seen)
        {
            // An uncounted answer would be worse than none.
            let words = format!("{}: {error}; the request could not be noted", path.display());
            outcome = Err(Refusal::new(500, words));
            seen.status = 500;
        }
        state.seen.push(seen);
        let open = state.open();
        state.most_at_once = state.most_at_once.max(open);
        drop(state);
        self.changed.notify_all();
        Entry { number, outcome, ticket: Ticket { ledger: self.clone(), number, end: AnswerEnd::Gone } }
    }

    fn close(&self, number: u64, end: AnswerEnd) {
        let mut state = self.state();
        let end = if state.stopped && end == AnswerEnd::Gone { AnswerEnd::Stopped } else { end };
        let place = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        if let Some(seen) = state.seen.get_mut(place) {
            seen.end = end;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Marks the mock as stopping: from now on, the mock itself breaks answers off.
    pub(crate) fn stopping(&self) {
        self.state().stopped = true;
    }

    pub(crate) fn seen(&self) -> Vec<SeenRequest> {
        self.state().seen.clone()
    }

    pub(crate) fn count(&self) -> RequestCounts {
        let state = self.state();
        let of = |fits: fn(&SeenRequest) -> bool| {
            u64::try_from(state.seen.iter().filter(|it| fits(it)).count()).unwrap_or(0)
        };
        RequestCounts {
            requests: of(|_| true),
            scripted: of(|seen| seen.scripted),
            refused: of(|seen| !seen.scripted),
            gone: of(|seen| seen.end == AnswerEnd::Gone),
            open: state.open(),
            most_at_once: state.most_at_once,
            left: u64::try_from(state.script.left()).unwrap_or(u64::MAX),
        }
    }

    /// Waits until the requests are as `wanted` says, or the time is over.
    pub(crate) fn wait(
        &self,
        patience: Duration,
        wanted: impl Fn(&[SeenRequest]) -> bool,
    ) -> Result<Vec<SeenRequest>, Vec<SeenRequest>> {
        let unlike = |state: &mut State| !wanted(&state.seen);
        let waited = self.changed.wait_timeout_while(self.state(), patience, unlike);
        let (state, over) = waited.unwrap_or_else(PoisonError::into_inner);
        if over.timed_out() { Err(state.seen.clone()) } else { Ok(state.seen.clone()) }
    }
}

impl State {
    fn open(&self) -> u64 {
        u64::try_from(self.seen.iter().filter(|seen| seen.end == AnswerEnd::Open).count()).unwrap_or(u64::MAX)
    }
}

/// Writes one line to the kernel, so that it outlives the process.
fn append(file: &mut File, seen: &SeenRequest) -> io::Result<()> {
    let mut line = serde_json::to_vec(seen)?;
    line.push(b'\n');
    file.write_all(&line)?;
    file.flush()
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.ledger.close(self.number, self.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_shown_whole() {
        for (key, shown) in
            [("sk-12345678", "5678"), ("abcdef", "def"), ("ab", "b"), ("a", ""), ("", ""), ("äöüß", "üß")]
        {
            assert_eq!(last_of(key), shown);
        }
    }
}
