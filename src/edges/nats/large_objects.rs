//! What was too large for a message of a log's stream: objects, each stored in parts under its hash. It only reads.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::ahead::MessagesAhead;
use super::source::{LEFT_BEHIND, LogSource, read};
use super::unusable::{BrokerFault, line};
use systole_core::types::ids::Digest;

/// The pause before an incomplete object is asked for again.
const AGAIN: Duration = Duration::from_millis(250);

/// Why an object that was too large for a message is not available.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObjectFault {
    /// The broker did not return it.
    NotYet(String),
    /// It is missing, or has changed.
    Ill(String),
}

/// An object store's description of what it keeps under a name.
#[derive(Deserialize)]
struct Kept {
    nuid: String,
    size: usize,
    #[serde(default)]
    deleted: bool,
}

impl LogSource {
    /// The object stored under that hash. An incomplete object is asked for again: a pump that does not know whether
    /// it had stored it may be storing it again just now, or a copy may lag behind.
    pub async fn get_large(&self, hash: Digest) -> Result<Vec<u8>, ObjectFault> {
        let end = Instant::now() + if self.may_lag() { LEFT_BEHIND } else { AGAIN };
        loop {
            let found = self.assembled(hash).await;
            let why = match found.map_err(|unusable| ObjectFault::NotYet(unusable.to_string()))? {
                Some(bytes) if Digest::of(&bytes) == hash => return Ok(bytes),
                Some(_) => " has another hash",
                None => " is not there, or not whole",
            };
            if Instant::now() >= end {
                let (name, address) = (hash.to_string(), self.address());
                return Err(ObjectFault::Ill(format!("what is kept as {name} in {address}{why}")));
            }
            sleep(AGAIN).await;
        }
    }

    /// The object stored under that hash; `None` if some of its parts are missing.
    async fn assembled(&self, hash: Digest) -> Result<Option<Vec<u8>>, BrokerFault> {
        let what = "what is large was looked for";
        let asked = json!({ "last_by_subj": self.subjects.object_subject(&hash.to_string()) });
        let Some(said) = read(&self.wire, what, &self.apart, asked).await? else { return Ok(None) };
        let Ok(Kept { nuid, size, deleted: false }) = serde_json::from_slice(&said.bytes) else {
            return Ok(None);
        };
        let mut parts = MessagesAhead::of(self, &self.apart, self.subjects.parts(&line(&nuid)), 1);
        let mut bytes = Vec::new();
        while bytes.len() < size {
            let Some(part) = parts.next().await? else { return Ok(None) };
            bytes.extend_from_slice(&part.bytes);
        }
        Ok((bytes.len() == size).then_some(bytes))
    }
}
