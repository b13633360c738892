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

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::record::{RecordHash, RecordId};

/// The history of one client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClientHistory {
    /// The messages that it sent, in order.
    pub sent: Vec<SentMessage>,
}

/// One sending of a message.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct SentMessage {
    /// The client's name.
    pub client: String,
    /// The message's key.
    pub key: String,
    /// The hash of its bytes.
    #[serde(deserialize_with = "parse_hash")]
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
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct HistoryReceipt {
    /// The thread.
    pub thread: String,
    /// The record of the thread.
    pub seq: u64,
    /// The record's id.
    #[serde(deserialize_with = "parse_id")]
    pub id: RecordId,
    /// Its place in the log.
    pub position: u64,
}

/// An answer as a client saw it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct SeenAnswer {
    /// The record of the thread.
    pub seq: u64,
    /// The hash of its payload.
    #[serde(deserialize_with = "parse_hash")]
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
    pub fn read_file(path: &Path) -> Result<ClientHistory, HistoryFault> {
        std::fs::read_to_string(path).map_err(HistoryFault::File).and_then(|text| ClientHistory::parse(&text))
    }

    /// Reads lines of JSON. A torn last line is skipped: a client that was killed while it wrote the line
    /// relied on nothing in it.
    pub fn parse(text: &str) -> Result<ClientHistory, HistoryFault> {
        let mut sent = Vec::new();
        for (number, line) in text.split_inclusive('\n').enumerate() {
            match serde_json::from_str(line) {
                Ok(line) => sent.push(line),
                Err(_) if line.trim().is_empty() || !line.ends_with('\n') => {}
                Err(_) => return Err(HistoryFault::Line(number + 1)),
            }
        }
        Ok(ClientHistory { sent })
    }
}

fn parse_hash<'d, D: Deserializer<'d>>(text: D) -> Result<RecordHash, D::Error> {
    RecordHash::parse(&String::deserialize(text)?).ok_or_else(|| D::Error::custom("no hash"))
}

fn parse_id<'d, D: Deserializer<'d>>(text: D) -> Result<RecordId, D::Error> {
    RecordId::parse(&String::deserialize(text)?).ok_or_else(|| D::Error::custom("no id"))
}
