//! The clients' own records of what they sent: one line of JSON for every sending.
//!
//! ```json
//! {"client":"alice","key":"k-1","sha256":"…","acked":{"thread":"sess-…","seq":1,"id":"…","position":7},
//!  "refused":null,"answer":{"seq":2,"sha256":"…"},"token":"t-81"}
//! ```
//!
//! `sha256` is the hash of the payload as it was sent. A repeated message has one more line. A client uses
//! a key for one message only. The input is text; the output is lines, or the first unreadable one.

use std::fmt;
use std::path::Path;

use crate::json::{self, Value};
use crate::record::{RecordHash, RecordId};

/// The history of one client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClientHistory {
    /// The messages that it sent, in order.
    pub sent: Vec<SentMessage>,
}

/// One sending of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentMessage {
    /// The client's name.
    pub client: String,
    /// The message's key.
    pub key: String,
    /// The hash of its bytes.
    pub sha256: RecordHash,
    /// The receipt; none if none came.
    pub acked: Option<HistoryReceipt>,
    /// The code of the refusal, if it was refused.
    pub refused: Option<String>,
    /// The answer that the client saw.
    pub answer: Option<SeenAnswer>,
    /// A text in the question that must be in its answer.
    pub token: Option<String>,
}

/// The pump's receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HistoryReceipt {
    /// The thread.
    pub thread: String,
    /// The record of the thread.
    pub seq: u64,
    /// The record's id.
    pub id: RecordId,
    /// Its place in the log.
    pub position: u64,
}

/// An answer as a client saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenAnswer {
    /// The record of the thread.
    pub seq: u64,
    /// The hash of its payload.
    pub sha256: RecordHash,
}

/// Why a history cannot be read.
#[derive(Debug)]
pub enum HistoryFault {
    /// The file cannot be read.
    File(std::io::Error),
    /// The line with this number is not a line of a history.
    Line(usize),
}

impl fmt::Display for HistoryFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HistoryFault::File(error) => write!(f, "the history cannot be read: {error}"),
            HistoryFault::Line(number) => write!(f, "line {number} of the history is not of the form of one"),
        }
    }
}

impl std::error::Error for HistoryFault {}

impl ClientHistory {
    /// Reads a client's file.
    pub fn read(path: &Path) -> Result<ClientHistory, HistoryFault> {
        std::fs::read_to_string(path).map_err(HistoryFault::File).and_then(|text| ClientHistory::parse(&text))
    }

    /// Reads lines of JSON. A torn last line is skipped: a client that was killed while it wrote the line
    /// relied on nothing in it.
    pub fn parse(text: &str) -> Result<ClientHistory, HistoryFault> {
        let mut sent = Vec::new();
        for (number, line) in text.split_inclusive('\n').enumerate() {
            match json::parse(line).as_ref().and_then(SentMessage::of) {
                Some(line) => sent.push(line),
                None if line.trim().is_empty() || !line.ends_with('\n') => {}
                None => return Err(HistoryFault::Line(number + 1)),
            }
        }
        Ok(ClientHistory { sent })
    }
}

impl SentMessage {
    fn of(line: &Value) -> Option<SentMessage> {
        Some(SentMessage {
            client: line.get("client")?.text()?.to_owned(),
            key: line.get("key")?.text()?.to_owned(),
            sha256: hash(line)?,
            acked: some(line.get("acked"), |acked| {
                Some(HistoryReceipt {
                    thread: acked.get("thread")?.text()?.to_owned(),
                    seq: acked.get("seq")?.number()?,
                    id: RecordId::parse(acked.get("id")?.text()?)?,
                    position: acked.get("position")?.number()?,
                })
            })?,
            refused: some(line.get("refused"), |code| code.text().map(str::to_owned))?,
            answer: some(line.get("answer"), |answer| {
                Some(SeenAnswer { seq: answer.get("seq")?.number()?, sha256: hash(answer)? })
            })?,
            token: some(line.get("token"), |token| token.text().map(str::to_owned))?,
        })
    }
}

fn hash(of: &Value) -> Option<RecordHash> {
    RecordHash::parse(of.get("sha256")?.text()?)
}

/// A value that may be absent, but must not have another form.
fn some<T>(value: Option<&Value>, read: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    match value {
        None => Some(None),
        Some(value) => read(value).map(Some),
    }
}
