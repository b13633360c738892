//! What tells chats apart: a hash over the client, the model, the headers that the file names, and each text. The thread
//! of a chat has the hash of its beginning in its name, and the key of a message that of all that was said up to it.

use sha2::{Digest as _, Sha256};

use systole_core::types::ids::{Key, Name};
use systole_core::types::thread_choice::ThreadName;

/// How the names of such threads begin, and those of threads of single responses.
const NAMED: &str = "chat.";
const ALONE: &str = "resp.";

/// The hash of a chat up to a place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ChatHash(String);

impl ChatHash {
    /// That of a chat in which nothing was said yet.
    pub(super) fn begin<'t>(
        client: &'t Name,
        model: &'t str,
        told: impl Iterator<Item = &'t str>,
    ) -> ChatHash {
        [client.as_str(), model]
            .into_iter()
            .chain(told)
            .fold(ChatHash(String::new()), |hash, one| hash.add("", one))
    }

    /// The same after one more text of a role.
    pub(super) fn add(&self, role: &str, text: &str) -> ChatHash {
        let mut hash = Sha256::new();
        for part in [self.0.as_str(), role, text] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        ChatHash(hash.finalize().iter().take(20).map(|byte| format!("{byte:02x}")).collect())
    }

    /// How the names of threads begin whose chats begin with it.
    pub(super) fn name_prefix(&self) -> String {
        format!("{NAMED}{}.", self.0.get(..24).unwrap_or_default())
    }

    /// The name of a thread whose chat begins with it.
    pub(super) fn name_thread(&self, mark: &str) -> Result<ThreadName, String> {
        ThreadName::parse(&format!("{}{mark}", self.name_prefix()))
    }

    /// How the names of threads begin that a response with that request opened.
    pub(super) fn alone_prefix(&self) -> String {
        format!("{ALONE}{}.", self.0.get(..24).unwrap_or_default())
    }

    /// The name of such a thread, as a message names it.
    pub(super) fn name_alone(&self, mark: &str) -> String {
        format!("@{}{mark}", self.alone_prefix())
    }

    /// Whether a key was made of it.
    pub(super) fn has_key(&self, key: &str) -> bool {
        key.split_once('.').is_some_and(|(hash, _)| hash == self.0)
    }

    /// The key of a message after which the hash is this.
    pub(super) fn make_key(&self, mark: &str) -> Result<Key, String> {
        Key::parse(&format!("{}.{mark}", self.0)).map_err(|malformed| malformed.to_string())
    }

    /// The keys of messages after which the hash is this: from the first, and before the second.
    pub(super) fn key_range(&self) -> (String, String) {
        (format!("{}.", self.0), format!("{}/", self.0))
    }

    /// A recorded key as it was sent, and its mark.
    pub(super) fn read_key(recorded: &Key) -> Option<(Key, String)> {
        let (_, key) = recorded.as_str().split_once('/')?;
        let (hash, mark) = key.split_once('.')?;
        Some((Key::parse(key).ok().filter(|_| hash.len() == 40)?, mark.to_owned()))
    }
}

/// How marks begin that are made of a key that a client chose.
const CHOSEN: &str = "k";

/// A mark tells apart what has the same hash. This one is made of a key, so that the same key gives the same mark.
pub(super) fn mark_key(key: &[u8]) -> String {
    let hash: String = Sha256::digest(key).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{CHOSEN}{hash}")
}

/// Whether a mark is made of a key.
pub(super) fn is_chosen(mark: &str) -> bool {
    mark.starts_with(CHOSEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_a_hash_is_read_back_from_the_key_of_its_message() {
        let client = Name::parse("alice").unwrap();
        let begun = ChatHash::begin(&client, "helper", ["one"].into_iter());
        assert_ne!(begun, ChatHash::begin(&client, "helper", ["on", "e"].into_iter()));
        let asked = begun.add("user", "hello");
        let (name, key) =
            (begun.name_thread("0011223344556677").unwrap(), asked.make_key("0011223344556677").unwrap());
        assert!(name.as_str().starts_with(&begun.name_prefix()));
        let bound = name.bind_key(&key).unwrap();
        let (first, behind) = asked.key_range();
        assert!((first..behind).contains(&key.to_string()));
        assert_eq!(ChatHash::read_key(&bound), Some((key, "0011223344556677".to_owned())));
        assert_eq!(ChatHash::read_key(&Key::parse("@x/plain").unwrap()), None);
    }
}
