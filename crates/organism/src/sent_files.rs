//! Files that clients have sent, until a message refers to them. They are in memory alone: the log has a file with its
//! message, in one commit. A file without a message is gone after a while, or when the organism stops.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use crate::limits;
use systole_core::rules::sent_files::{self, FoundFile};
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
    /// Whether its client sent it by itself, for a later message.
    is_kept: bool,
    /// The messages that brought it and are on their way.
    messages: usize,
}

/// The files of all clients, the oldest first.
#[derive(Default)]
pub struct SentFiles {
    held: Mutex<VecDeque<HeldFile>>,
}

impl SentFiles {
    /// Keeps a file for the next messages of its client. The oldest files of that client make room for it.
    pub fn keep(&self, client: &Name, bytes: Arc<[u8]>) -> Result<SentFile, Box<Refusal>> {
        self.add(client, bytes, true)
    }

    /// Keeps a file for the message that brought it, until that lets go of it.
    pub(crate) fn hold_file(&self, client: &Name, bytes: Arc<[u8]>) -> Result<SentFile, Box<Refusal>> {
        self.add(client, bytes, false)
    }

    /// Lets go of a file that is held.
    pub(crate) fn release_file(&self, client: &Name, hash: Digest) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain_mut(|file| {
            if file.client != *client || file.hash != hash {
                return true;
            }
            file.messages = file.messages.saturating_sub(1);
            file.is_kept || file.messages > 0
        });
    }

    fn add(&self, client: &Name, bytes: Arc<[u8]>, is_kept: bool) -> Result<SentFile, Box<Refusal>> {
        let media_type = sent_files::find_type(&bytes).map_err(Box::new)?;
        let sent = SentFile { hash: Digest::hash_bytes(&bytes), media_type, bytes: bytes.len() };
        let now = Instant::now();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |file: &HeldFile| file.client == *client && file.hash == sent.hash;
        let known = held.iter().find(|file| is_same(file));
        let (was_kept, messages) = known.map_or((false, 0), |file| (file.is_kept, file.messages));
        held.retain(|file| file.until > now && !is_same(file));
        let count = |is_own: bool| {
            let counted = held.iter().filter(|file| (file.client == *client) == is_own);
            counted.fold((1_usize, sent.bytes), |(files, bytes), file| (files + 1, bytes + file.bytes.len()))
        };
        let ((mut files, mut own), (_, others)) = (count(true), count(false));
        if others > limits::HELD_FILE_BYTES {
            let words = "too many files wait for their messages";
            return Err(Box::new(
                Refusal::new(Code::IngressUnavailable, words).fixed_by("send it again later"),
            ));
        }
        held.retain(|file| {
            let is_over = files > limits::CLIENT_FILES || own > limits::CLIENT_FILE_BYTES;
            if file.client == *client && is_over {
                (files, own) = (files - 1, own - file.bytes.len());
                return false;
            }
            true
        });
        let (client, hash, until) = (client.clone(), sent.hash, now + limits::FILE_WAIT);
        let messages = messages + usize::from(!is_kept);
        held.push_back(HeldFile { client, hash, bytes, until, is_kept: is_kept || was_kept, messages });
        Ok(sent)
    }

    /// A file that this client sent.
    pub(crate) fn find(&self, client: &Name, hash: Digest) -> FoundFile {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let of_client = |file: &&HeldFile| file.client == *client && file.hash == hash && file.until > now;
        held.iter().find(of_client).map_or(FoundFile::Unknown, |file| FoundFile::Sent(file.bytes.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_message_brought_goes_with_it() {
        let (files, alice) = (SentFiles::default(), Name::parse("alice").unwrap());
        let bytes: Arc<[u8]> = b"%PDF-1.4".as_slice().into();
        let hash = Digest::hash_bytes(&bytes);
        let is_there = || matches!(files.find(&alice, hash), FoundFile::Sent(_));
        // Two messages with the same file are on their way.
        files.hold_file(&alice, bytes.clone()).unwrap();
        files.hold_file(&alice, bytes.clone()).unwrap();
        files.release_file(&alice, hash);
        assert!(is_there());
        files.release_file(&alice, hash);
        assert!(!is_there());
        // What its client sent by itself stays for a later message.
        files.keep(&alice, bytes.clone()).unwrap();
        files.hold_file(&alice, bytes).unwrap();
        files.release_file(&Name::parse("bob").unwrap(), hash);
        files.release_file(&alice, hash);
        assert!(is_there());
    }
}
