//! What was too large for a message of a log's stream: objects, each stored in parts under its hash. It only reads.

use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::ahead::MessagesAhead;
use super::source::{LogSource, read_message};
use super::unusable::{BrokerFault, make_line};
use crate::limits;
use systole_core::types::ids::Digest;

/// Why an object that was too large for a message is not available.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObjectFault {
    /// The broker did not return it.
    NotYet(String),
    /// It is missing, or has changed.
    Damaged(String),
}

/// An object store's description of what it keeps under a name.
#[derive(Deserialize)]
struct KeptObjects {
    nuid: String,
    size: usize,
    #[serde(default)]
    deleted: bool,
}

/// What the store has under a name.
enum FoundObject {
    Whole(Vec<u8>),
    /// It was removed on purpose: the store has a mark of that.
    Removed,
    /// It is not there, or some of its parts are missing.
    Partial,
}

impl LogSource {
    /// The object stored under that hash of its bytes.
    pub async fn get_large(&self, hash: Digest) -> Result<Vec<u8>, ObjectFault> {
        match self.wait_for_object(hash, |bytes| Digest::hash_bytes(bytes) == hash).await? {
            Some(bytes) => Ok(bytes),
            None => Err(self.make_fault(hash, "was removed")),
        }
    }

    /// The object stored under that name; `None` if it was removed. The caller checks its bytes.
    pub async fn get_removable(&self, name: Digest) -> Result<Option<Vec<u8>>, ObjectFault> {
        self.wait_for_object(name, |_| true).await
    }

    fn make_fault(&self, name: Digest, why: &str) -> ObjectFault {
        ObjectFault::Damaged(format!("what is kept as {name} in {} {why}", self.address()))
    }

    /// An incomplete object is asked for again: a pump that does not know whether it had stored it may be storing it
    /// again just now, or a copy may lag behind.
    async fn wait_for_object(
        &self,
        name: Digest,
        fits: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Vec<u8>>, ObjectFault> {
        let end = Instant::now() + if self.may_lag() { limits::LEFT_BEHIND } else { limits::STREAM_PAUSE };
        loop {
            let found = self.find_object(name).await;
            let why = match found.map_err(|unusable| ObjectFault::NotYet(unusable.to_string()))? {
                FoundObject::Whole(bytes) if fits(&bytes) => return Ok(Some(bytes)),
                FoundObject::Whole(_) => "has another hash",
                FoundObject::Removed => return Ok(None),
                FoundObject::Partial => "is not there, or not whole",
            };
            if Instant::now() >= end {
                return Err(self.make_fault(name, why));
            }
            sleep(limits::STREAM_PAUSE).await;
        }
    }

    async fn find_object(&self, name: Digest) -> Result<FoundObject, BrokerFault> {
        let what = "what is large was looked for";
        let asked = json!({ "last_by_subj": self.subjects.name_object(&name.to_string()) });
        let Some(said) = read_message(&self.wire, what, &self.apart, asked).await? else {
            return Ok(FoundObject::Partial);
        };
        let (nuid, size) = match serde_json::from_slice(&said.bytes) {
            Ok(KeptObjects { deleted: true, .. }) => return Ok(FoundObject::Removed),
            Ok(KeptObjects { nuid, size, .. }) => (nuid, size),
            Err(_) => return Ok(FoundObject::Partial),
        };
        let mut parts = MessagesAhead::new(self, &self.apart, self.subjects.name_parts(&make_line(&nuid)), 1);
        let mut bytes = Vec::new();
        while bytes.len() < size {
            let Some(part) = parts.next().await? else { return Ok(FoundObject::Partial) };
            bytes.extend_from_slice(&part.bytes);
        }
        Ok(if bytes.len() == size { FoundObject::Whole(bytes) } else { FoundObject::Partial })
    }
}
