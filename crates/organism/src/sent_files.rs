//! Files that clients have sent, until a message refers to them. They are in memory alone: the log has a file with its
//! message, in one commit. One that no message refers to is gone after a while, or when the organism stops.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use crate::limits;
use systole_core::rules::sent_files;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::refusal::Refusal;

/// A file that was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentFile {
    /// The hash of its bytes, by which messages refer to it.
    pub hash: Digest,
    /// Its type, from its first bytes.
    pub media_type: &'static str,
    /// How many bytes it has.
    pub bytes: usize,
}

struct HeldFile {
    client: Name,
    hash: Digest,
    bytes: Arc<[u8]>,
    until: Instant,
}

/// The files of all clients, the oldest first.
#[derive(Default)]
pub struct SentFiles {
    held: Mutex<VecDeque<HeldFile>>,
}

impl SentFiles {
    /// Keeps a file for the next messages of its client. The oldest files of that client make room for it.
    pub fn keep(&self, client: &Name, bytes: Arc<[u8]>) -> Result<SentFile, Box<Refusal>> {
        let media_type = sent_files::find_type(&bytes).map_err(Box::new)?;
        let sent = SentFile { hash: Digest::hash_bytes(&bytes), media_type, bytes: bytes.len() };
        let now = Instant::now();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|file| file.until > now && !(file.client == *client && file.hash == sent.hash));
        let count = |held: &VecDeque<HeldFile>, is_counted: &dyn Fn(&HeldFile) -> bool| {
            held.iter().filter(|file| is_counted(file)).map(|file| file.bytes.len()).sum::<usize>()
                + sent.bytes
        };
        while count(&held, &|file| file.client == *client) > limits::CLIENT_FILE_BYTES {
            let Some(oldest) = held.iter().position(|file| file.client == *client) else { break };
            held.remove(oldest);
        }
        if count(&held, &|_| true) > limits::HELD_FILE_BYTES {
            let words = "too many files wait for their messages";
            return Err(Box::new(
                Refusal::new(Code::IngressUnavailable, words).fixed_by("send it again later"),
            ));
        }
        let (client, hash, until) = (client.clone(), sent.hash, now + limits::FILE_WAIT);
        held.push_back(HeldFile { client, hash, bytes, until });
        Ok(sent)
    }

    /// The bytes of a file that this client sent.
    pub(crate) fn find(&self, client: &Name, hash: Digest) -> Option<Arc<[u8]>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let of_client = |file: &&HeldFile| file.client == *client && file.hash == hash && file.until > now;
        held.iter().find(of_client).map(|file| file.bytes.clone())
    }
}
