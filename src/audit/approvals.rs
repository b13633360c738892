//! What waits for a person, read from a log without running it.
//!
//! A reader comes in; every request for approval that has no outcome goes out, oldest first, with the payload whole
//! and the message from outside that led to it. It decides nothing: what may still be decided, and by whom, is the
//! pump's to say.

use serde_json::{Value, json};

use super::columns::{self, plain, wrapped};
use super::full;
use super::glance::glance;
use super::layout;
use crate::pump::state::State;
use crate::pump::wake;
use crate::rules::approval_payload;
use crate::words::approval::ApprovalId;
use crate::words::ids::{CallPath, Digest, Name, ThreadId};
use crate::words::ports::{LogFault, LogReader, Unwatched};
use crate::words::record::{Kind, Mark, Record, Role};
use crate::words::time::{Millis, spoken};

/// Records read at once.
const PAGE: usize = 256;
/// Columns of the message from outside: some lines of a terminal.
const REQUEST: usize = 280;

/// A payload that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The request for approval.
    pub id: ApprovalId,
    /// The thread of the call.
    pub thread: ThreadId,
    /// The call.
    pub call: CallPath,
    /// Who wants it.
    pub caller: Name,
    /// Whom the payload is for.
    pub listener: Name,
    /// The configuration of the call.
    pub config: Digest,
    /// The hash of the payload.
    pub hash: Digest,
    /// When a person was asked.
    pub asked: Millis,
    /// When the request expires.
    pub expires: Millis,
    /// What is unknown of the attempt before, where one more waits.
    pub unknown: Option<String>,
    /// The payload's root element.
    pub element: String,
    /// The payload, as it is stored.
    pub payload: String,
    /// The message from outside that led to it, as far as the log has it.
    pub request: Option<Asked>,
}

/// A message from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Who sent it.
    pub by: Name,
    /// Its thread.
    pub thread: ThreadId,
    /// Its record there.
    pub seq: u64,
    /// When it came.
    pub at: Millis,
    /// The payload, as it is stored.
    pub payload: String,
}

/// Everything that waits.
pub fn waiting(reader: &dyn LogReader) -> Result<Vec<Waiting>, LogFault> {
    let state = wake::recover(reader, &Unwatched)?.state;
    let mut found = Vec::new();
    for thread in state.threads.values() {
        for (path, call) in &thread.calls {
            let Some(approval) = &call.approval else { continue };
            let records = reader.of_thread(&thread.id, call.request, 1)?;
            let body = records.first().map(|(_, record)| record.body.clone()).unwrap_or_default();
            let asked = reader.of_thread(&thread.id, approval.seq, 1)?;
            let asked = asked.first().filter(|_| approval.of_attempt);
            let unknown = asked.and_then(|(_, record)| approval_payload::unknown(&record.body));
            found.push(Waiting {
                id: approval.id,
                thread: thread.id.clone(),
                call: path.clone(),
                caller: call.caller.clone(),
                listener: call.listener.clone(),
                config: call.config,
                hash: approval.hash,
                asked: approval.asked,
                expires: approval.expires,
                unknown: unknown.map(|words| plain(&words)),
                element: glance(&body).element,
                payload: String::from_utf8_lossy(&body).into_owned(),
                request: asked_outside(reader, &state, &thread.id, path)?,
            });
        }
    }
    found.sort_by_key(|waiting| waiting.id);
    Ok(found)
}

/// The message from outside that a call belongs to: the one whose budget it uses, in its root.
fn asked_outside(
    reader: &dyn LogReader,
    state: &State,
    thread: &ThreadId,
    path: &CallPath,
) -> Result<Option<Asked>, LogFault> {
    let (mut thread, mut path) = (thread.clone(), path.clone());
    while let Some(parent) = thread.parent() {
        let calls = state.thread(&parent).map(|above| &above.calls);
        let spawned =
            calls.into_iter().flatten().find(|(_, call)| call.children.iter().any(|c| c.id == thread));
        let Some((above, _)) = spawned else { return Ok(None) };
        (thread, path) = (parent, above.clone());
    }
    let Some(root) = state.thread(&thread) else { return Ok(None) };
    let Some(first) = root.calls.get(&path).map(|call| CallPath::top(call.purse)) else { return Ok(None) };
    // The call that it opened is over where a timer of it opened another one.
    let mut from = root.calls.get(&first).map_or(1, |call| call.request);
    loop {
        let page = reader.of_thread(&thread, from, PAGE)?;
        let is_it = |record: &Record| {
            let h = &record.header;
            h.call.as_ref() == Some(&first)
                && (h.kind, h.code) == (Kind::Message, Some(Mark::Role(Role::Request)))
        };
        if let Some((_, record)) = page.iter().find(|(_, record)| is_it(record)) {
            let h = &record.header;
            return Ok(Some(Asked {
                by: h.from.clone(),
                thread,
                seq: h.seq,
                at: h.time,
                payload: String::from_utf8_lossy(&record.body).into_owned(),
            }));
        }
        if page.len() < PAGE {
            return Ok(None);
        }
        from += PAGE as u64;
    }
}

impl Waiting {
    /// It in lines: what wants what, until when, what was asked from outside, the payload whole, and its hash.
    pub fn lines(&self, now: Millis) -> Vec<String> {
        let left = match self.expires.since(now) {
            0 => "expires now".to_owned(),
            left => format!("expires in {}", spoken(left)),
        };
        let Waiting { listener, caller, thread, .. } = self;
        let head = format!("  ({}, {listener}) from {caller} in {thread}, {left}", self.element);
        let mut lines = wrapped(&self.id.to_string(), 4, &head);
        if let Some(unknown) = &self.unknown {
            lines.extend(columns::at_most(4, wrapped("    unknown:", 4, unknown)));
        }
        match &self.request {
            Some(asked) if self.is_from_outside(asked) => {
                let at = layout::moment(asked.at, now);
                lines.extend(wrapped("", 6, &format!("    sent by {} at {at}", asked.by)));
            }
            Some(asked) => {
                let seen = glance(asked.payload.as_bytes());
                let at = layout::moment(asked.at, now);
                let words = seen.line(REQUEST);
                let text = format!("    asked by {} at {at}: <{}> {words}", asked.by, seen.element);
                lines.extend(wrapped("", 6, &text));
            }
            None => lines.push("    the message from outside is not in the log".to_owned()),
        }
        lines.push(format!("    payload, {} bytes:", self.payload.len()));
        lines.extend(full::lines(self.payload.as_bytes(), 4));
        lines.push(format!("    hash {}", self.hash));
        lines
    }

    /// Whether it is the message from outside itself.
    fn is_from_outside(&self, asked: &Asked) -> bool {
        self.call.caller().is_none() && self.thread == asked.thread && self.payload == asked.payload
    }

    /// It for programs.
    pub fn as_json(&self) -> Value {
        let request = self.request.as_ref().map(|asked| {
            json!({
                "by": asked.by.as_str(),
                "thread": asked.thread.as_str(),
                "seq": asked.seq,
                "at": asked.at.to_string(),
                "payload": asked.payload,
            })
        });
        json!({
            "id": self.id.to_string(),
            "thread": self.thread.as_str(),
            "call": self.call.as_str(),
            "caller": self.caller.as_str(),
            "listener": self.listener.as_str(),
            "element": self.element,
            "hash": self.hash.to_string(),
            "asked": self.asked.to_string(),
            "expires": self.expires.to_string(),
            "payload": self.payload,
            "request": request,
            "unknown": self.unknown,
        })
    }
}
