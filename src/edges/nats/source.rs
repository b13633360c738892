//! The stream that a log lies in, for whoever reads it: the messages of a partition by their place, and what was too large
//! for one. It makes nothing and changes nothing, so whoever may only read can use all of it; what a message holds is not
//! known here.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{Info, RawMessage};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::ahead::Ahead;
use super::credentials::Credentials;
use super::subjects::Subjects;
use super::unusable::{Unusable, line};
use super::wire::{Caller, Wire};
use super::{bus, fitness, log};
use systole_core::types::ids::{Digest, Name};

/// For how long a stream of several copies may not show what is known to be stored, before that is believed. One that was
/// left behind learns of it within a few heartbeats.
pub const LEFT_BEHIND: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(250);

/// A message of the stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    /// Its place in the stream.
    pub sequence: u64,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// How far a stream goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// The place of the last message; 0 where there is none.
    pub last: u64,
    /// Whether every place up to there has a message of the one partition that there is, so that places count them.
    pub is_dense: bool,
}

/// Why what was too large for a message cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unhad {
    /// The broker did not give it.
    NotYet(String),
    /// It is not there, or is not what it was.
    Ill(String),
}

/// The stream of a log, and what is too large for it.
pub struct LogSource {
    wire: Arc<Wire>,
    subjects: Subjects,
    organism: Name,
    stream: String,
    apart: String,
    copies: usize,
}

/// What an object store says of what it keeps under a name.
#[derive(Deserialize)]
struct Kept {
    nuid: String,
    size: usize,
    #[serde(default)]
    deleted: bool,
}

impl LogSource {
    /// Finds the stream of that organism, and makes none. The key does not say whose it is: whoever is not let through as
    /// the one is tried as the other, and told of the first.
    pub async fn find(
        organism: &Name,
        url: &str,
        credentials: Option<&Credentials>,
        first: Caller,
        patience: Duration,
    ) -> Result<LogSource, Unusable> {
        let found = LogSource::find_as(organism, url, credentials, first, patience).await;
        match found {
            Err(why @ (Unusable::Forbidden { .. } | Unusable::NoJetStream { .. })) => {
                match LogSource::find_as(organism, url, credentials, first.other(), patience).await {
                    Err(Unusable::Forbidden { .. }) => Err(why),
                    found => found,
                }
            }
            found => found,
        }
    }

    async fn find_as(
        organism: &Name,
        url: &str,
        credentials: Option<&Credentials>,
        caller: Caller,
        patience: Duration,
    ) -> Result<LogSource, Unusable> {
        let wire = Wire::lay(organism, caller, url, credentials, patience).await?;
        fitness::version(&wire)?;
        let subjects = Subjects::of(organism);
        let stream = subjects.log_stream();
        let Some(info) = told_of(&wire, &stream).await? else {
            return Err(Unusable::Absent { address: wire.address.clone(), stream });
        };
        let copies = info.config.num_replicas;
        bus::judge(&wire, organism, &log::wanted(organism, &subjects, copies), &info.config, &log::RECORDS)?;
        Ok(LogSource::of(Arc::new(wire), organism, copies))
    }

    /// The stream of that organism, which is known to be there in so many copies.
    pub(super) fn of(wire: Arc<Wire>, organism: &Name, copies: usize) -> LogSource {
        let subjects = Subjects::of(organism);
        let (stream, apart) = (subjects.log_stream(), subjects.apart_stream());
        LogSource { wire, subjects, organism: organism.clone(), stream, apart, copies }
    }

    /// Whether what is read may be older than what was stored: of several copies one may have been left behind, and
    /// answer before it knows that it leads no longer.
    pub fn may_lag(&self) -> bool {
        self.copies > 1
    }

    /// Where the broker is, for words.
    pub fn address(&self) -> &str {
        &self.wire.address
    }

    /// What the stream is called, for words.
    pub fn name(&self) -> &str {
        &self.stream
    }

    /// Whose log it is.
    pub fn organism(&self) -> &Name {
        &self.organism
    }

    /// How far it goes just now.
    pub async fn reach(&self) -> Result<Reach, Unusable> {
        let Some(Info { state, .. }) = told_of(&self.wire, &self.stream).await? else {
            return Err(Unusable::Absent { address: self.wire.address.clone(), stream: self.stream.clone() });
        };
        let is_dense = state.messages == state.last_sequence && state.subjects_count <= 1;
        Ok(Reach { last: state.last_sequence, is_dense })
    }

    /// The last message of a partition.
    pub async fn last(&self, partition: u32) -> Result<Option<Stored>, Unusable> {
        let asked = json!({ "last_by_subj": self.subjects.log(partition) });
        read(&self.wire, "the last message of the log was read", &self.stream, asked).await
    }

    /// The first message of a partition from that place in the stream on.
    pub async fn from(&self, partition: u32, sequence: u64) -> Result<Option<Stored>, Unusable> {
        self.first(&self.stream, self.subjects.log(partition), sequence).await
    }

    /// The messages of a partition from that place on, several of which are asked for at once.
    pub fn ahead(&self, partition: u32, sequence: u64) -> Ahead<'_> {
        Ahead::of(self, &self.stream, self.subjects.log(partition), sequence)
    }

    /// The first message of a subject from that place in its stream on.
    pub(super) async fn first(
        &self,
        stream: &str,
        subject: String,
        sequence: u64,
    ) -> Result<Option<Stored>, Unusable> {
        let asked = json!({ "seq": sequence, "next_by_subj": subject });
        read(&self.wire, "a message of the log was read", stream, asked).await
    }

    /// What is kept apart under that hash. What does not come whole is asked for again: a pump that does not know whether
    /// it had put it may put it anew just now, and a copy may have been left behind.
    pub async fn get_apart(&self, hash: Digest) -> Result<Vec<u8>, Unhad> {
        let end = Instant::now() + if self.may_lag() { LEFT_BEHIND } else { AGAIN };
        loop {
            let found = self.put_together(hash).await;
            let why = match found.map_err(|unusable| Unhad::NotYet(unusable.to_string()))? {
                Some(bytes) if Digest::of(&bytes) == hash => return Ok(bytes),
                Some(_) => " has another hash",
                None => " is not there, or not whole",
            };
            if Instant::now() >= end {
                let (name, address) = (hash.to_string(), self.address());
                return Err(Unhad::Ill(format!("what is kept as {name} in {address}{why}")));
            }
            sleep(AGAIN).await;
        }
    }

    /// What is kept under that hash, as far as its parts are there; none where some are not.
    async fn put_together(&self, hash: Digest) -> Result<Option<Vec<u8>>, Unusable> {
        let what = "what is large was looked for";
        let asked = json!({ "last_by_subj": self.subjects.kept_as(&hash.to_string()) });
        let Some(said) = read(&self.wire, what, &self.apart, asked).await? else { return Ok(None) };
        let Ok(Kept { nuid, size, deleted: false }) = serde_json::from_slice(&said.bytes) else {
            return Ok(None);
        };
        let mut parts = Ahead::of(self, &self.apart, self.subjects.parts(&line(&nuid)), 1);
        let mut bytes = Vec::new();
        while bytes.len() < size {
            let Some(part) = parts.next().await? else { return Ok(None) };
            bytes.extend_from_slice(&part.bytes);
        }
        Ok((bytes.len() == size).then_some(bytes))
    }
}

/// What a stream says of itself; none where there is none.
pub(super) async fn told_of(wire: &Wire, stream: &str) -> Result<Option<Info>, Unusable> {
    let what = format!("the stream {stream} was looked for");
    match wire.ask::<Info>(&what, &format!("STREAM.INFO.{stream}"), &json!({})).await? {
        Response::Ok(info) => Ok(Some(info)),
        Response::Err { error } if error.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(None),
        Response::Err { error } => Err(wire.refused(&what, &error.to_string())),
    }
}

/// One message of a stream, as its leader has it.
pub(super) async fn read(
    wire: &Wire,
    what: &str,
    stream: &str,
    asked: Value,
) -> Result<Option<Stored>, Unusable> {
    #[derive(Deserialize)]
    struct Found {
        message: RawMessage,
    }
    match wire.ask::<Found>(what, &format!("STREAM.MSG.GET.{stream}"), &asked).await? {
        Response::Ok(found) => {
            let message = StreamMessage::try_from(found.message);
            let message = message.map_err(|error| wire.refused(what, &error.to_string()))?;
            Ok(Some(Stored { sequence: message.sequence, bytes: message.payload.to_vec() }))
        }
        Response::Err { error }
            if matches!(error.error_code(), ErrorCode::NO_MESSAGE_FOUND | ErrorCode::STREAM_NOT_FOUND) =>
        {
            Ok(None)
        }
        Response::Err { error } => Err(wire.refused(what, &error.to_string())),
    }
}
