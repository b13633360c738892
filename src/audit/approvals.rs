//! What waits for a person, read from a log without running it.
//!
//! A reader comes in; every request for approval that has no outcome goes out, oldest first. It decides
//! nothing: what may still be decided, and by whom, is the pump's to say.

use serde_json::{Value, json};

use super::columns::{self, plain, wrapped};
use super::glance::glance;
use crate::pump::wake;
use crate::rules::approval_payload;
use crate::words::approval::ApprovalId;
use crate::words::ids::{CallPath, Digest, Name, ThreadId};
use crate::words::ports::{LogFault, LogReader, Unwatched};
use crate::words::time::{Millis, spoken};

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
    /// Its words, made safe to print.
    pub words: String,
    /// The payload.
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
            let seen = glance(&body);
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
                element: seen.element,
                words: seen.words,
                payload: String::from_utf8_lossy(&body).into_owned(),
            });
        }
    }
    found.sort_by_key(|waiting| waiting.id);
    Ok(found)
}

impl Waiting {
    /// It in a few lines: what wants what, until when, and the bytes it is bound to.
    pub fn lines(&self, now: Millis) -> Vec<String> {
        let left = match self.expires.since(now) {
            0 => "expires now".to_owned(),
            left => ["expires in ", &spoken(left)].concat(),
        };
        let what = [&self.element, ", ", self.listener.as_str()].concat();
        let who = [" for ", self.caller.as_str(), " in ", self.thread.as_str()].concat();
        let id = self.id.to_string();
        let mut lines = wrapped(&id, 4, &["  (", &what, "), ", &left, who.as_str()].concat());
        if let Some(unknown) = &self.unknown {
            lines.extend(columns::at_most(4, wrapped("    unknown:", 4, unknown)));
        }
        if !self.words.is_empty() {
            lines.extend(columns::at_most(3, wrapped("    ", 4, &self.words)));
        }
        lines.push(["    hash ", &self.hash.to_string()].concat());
        lines
    }

    /// It for programs.
    pub fn as_json(&self) -> Value {
        json!({
            "approval": self.id.to_string(),
            "thread": self.thread.as_str(),
            "call": self.call.as_str(),
            "caller": self.caller.as_str(),
            "listener": self.listener.as_str(),
            "element": self.element,
            "hash": self.hash.to_string(),
            "asked": self.asked.to_string(),
            "expires": self.expires.to_string(),
            "payload": self.payload,
            "unknown": self.unknown,
        })
    }
}
