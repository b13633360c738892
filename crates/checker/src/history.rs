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
use crate::record::{Hash, Id};

/// The history of one client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// The messages that it sent, in order.
    pub sent: Vec<Sent>,
}

/// One sending of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The client's name.
    pub client: String,
    /// The message's key.
    pub key: String,
    /// The hash of its bytes.
    pub sha256: Hash,
    /// The receipt; none if none came.
    pub acked: Option<Receipt>,
    /// The code of the refusal, if it was refused.
    pub refused: Option<String>,
    /// The answer that the client saw.
    pub answer: Option<Seen>,
    /// A text in the question that must be in its answer.
    pub token: Option<String>,
}

/// The pump's receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The thread.
    pub thread: String,
    /// The record of the thread.
    pub seq: u64,
    /// The record's id.
    pub id: Id,
    /// Its place in the log.
    pub position: u64,
}

/// An answer as a client saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// The record of the thread.
    pub seq: u64,
    /// The hash of its payload.
    pub sha256: Hash,
}

/// Why a history cannot be read.
#[derive(Debug)]
pub enum Illegible {
    /// The file cannot be read.
    File(std::io::Error),
    /// The line with this number is not a line of a history.
    Line(usize),
}

impl fmt::Display for Illegible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Illegible::File(error) => write!(f, "the history cannot be read: {error}"),
            Illegible::Line(number) => write!(f, "line {number} of the history is not of the form of one"),
        }
    }
}

impl std::error::Error for Illegible {}

impl History {
    /// Reads a client's file.
    pub fn read(path: &Path) -> Result<History, Illegible> {
        std::fs::read_to_string(path).map_err(Illegible::File).and_then(|text| History::parse(&text))
    }

    /// Reads lines of JSON. A torn last line is skipped: a client that was killed while it wrote the line
    /// relied on nothing in it.
    pub fn parse(text: &str) -> Result<History, Illegible> {
        let mut sent = Vec::new();
        for (number, line) in text.split_inclusive('\n').enumerate() {
            match json::parse(line).as_ref().and_then(Sent::of) {
                Some(line) => sent.push(line),
                None if line.trim().is_empty() || !line.ends_with('\n') => {}
                None => return Err(Illegible::Line(number + 1)),
            }
        }
        Ok(History { sent })
    }
}

impl Sent {
    fn of(line: &Value) -> Option<Sent> {
        Some(Sent {
            client: line.get("client")?.text()?.to_owned(),
            key: line.get("key")?.text()?.to_owned(),
            sha256: hash(line)?,
            acked: some(line.get("acked"), |acked| {
                Some(Receipt {
                    thread: acked.get("thread")?.text()?.to_owned(),
                    seq: acked.get("seq")?.number()?,
                    id: Id::parse(acked.get("id")?.text()?)?,
                    position: acked.get("position")?.number()?,
                })
            })?,
            refused: some(line.get("refused"), |code| code.text().map(str::to_owned))?,
            answer: some(line.get("answer"), |answer| {
                Some(Seen { seq: answer.get("seq")?.number()?, sha256: hash(answer)? })
            })?,
            token: some(line.get("token"), |token| token.text().map(str::to_owned))?,
        })
    }
}

fn hash(of: &Value) -> Option<Hash> {
    Hash::parse(of.get("sha256")?.text()?)
}

/// A value that may be absent, but must not have another form.
fn some<T>(value: Option<&Value>, read: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    match value {
        None => Some(None),
        Some(value) => read(value).map(Some),
    }
}
