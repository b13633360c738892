//! Which thread a message from outside is for: a new one, one by its id, or the sender's thread of a name. The recorded
//! key of a message to a named thread is `@NAME/KEY`, and its root is found by the sender and `@NAME`.

use std::fmt;

use smol_str::SmolStr;

use super::ids::{Digest, Key, Name, ThreadId};
use super::limits::{FOREIGN_DIGITS, THREAD_NAME_BYTES};

/// What a name or a key of a message to a named thread may be.
const FORM: &str = "1 to 62 visible ASCII characters without /";

/// The name that a client gave a thread of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadName(SmolStr);

impl ThreadName {
    /// Checks a name as it is written behind `@`. `last` and what begins with `last.` mean the newest thread.
    pub fn parse(text: &str) -> Result<ThreadName, String> {
        if !fits(text) || text.contains('@') {
            return Err(format!("a name of a thread has {FORM} or @"));
        }
        if text == "last" || text.starts_with("last.") {
            return Err("@last is the newest thread; no other thread has that name".to_owned());
        }
        Ok(ThreadName(text.into()))
    }

    /// The name in a recorded key, if the key has one.
    pub fn from_key(key: &Key) -> Option<ThreadName> {
        let (name, _) = key.as_str().strip_prefix('@')?.split_once('/')?;
        ThreadName::parse(name).ok()
    }

    /// The name without `@`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The recorded key of a message to this thread.
    pub fn bind_key(&self, key: &Key) -> Result<Key, String> {
        if !fits(key.as_str()) {
            return Err(format!("the key of a message to a named thread has {FORM}"));
        }
        Key::parse(&format!("@{}/{key}", self.0)).map_err(|malformed| malformed.to_string())
    }

    /// Whether a thread whose first message had this key has the name.
    pub fn is_of(&self, opened_with: &Key) -> bool {
        ThreadName::from_key(opened_with).as_ref() == Some(self)
    }
}

impl fmt::Display for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

/// How the hash of an id begins that does not fit.
const HASHED: &str = "h.";

/// An id of another program as it fits into a name or a key of so many bytes: itself, or the begin of its hash.
pub fn fit_foreign(id: &str, most: usize) -> String {
    if fits(id) && id.len() <= most && !id.contains('@') && !id.starts_with(HASHED) {
        return id.to_owned();
    }
    let hash = Digest::hash_bytes(id.as_bytes()).to_string();
    format!("{HASHED}{}", hash.chars().take(FOREIGN_DIGITS).collect::<String>())
}

fn fits(text: &str) -> bool {
    (1..=THREAD_NAME_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/')
}

/// The thread that a message from outside is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ThreadChoice {
    /// A root that the message opens.
    New,
    /// The sender's thread of that name; the message opens it if there is none.
    Named(ThreadName),
    /// This thread.
    Known(ThreadId),
}

/// A root that a message from outside opens or continues, by what its id is made of.
#[derive(Clone, Debug)]
pub struct SoughtRoot {
    /// The organism.
    pub organism: Name,
    /// The sender.
    pub sender: Name,
    /// The recorded key of the message.
    pub key: Key,
    /// The name of the thread, if it has one.
    pub name: Option<ThreadName>,
}

impl SoughtRoot {
    /// Its id with `digits` hex digits: 12, or more if another root already has the shorter id.
    pub fn find_id(&self, digits: usize) -> ThreadId {
        match &self.name {
            None => ThreadId::new_root(&self.organism, &self.sender, &self.key, digits),
            Some(name) => {
                let name = name.to_string();
                ThreadId::hash_root([self.organism.as_str(), self.sender.as_str(), &name], digits)
            }
        }
    }

    /// Whether a root is this one: its first message was of that sender, with that key.
    pub fn is_opened_by(&self, sender: &Name, key: Option<&Key>) -> bool {
        let is_opened_with = |key: &Key| match &self.name {
            None => *key == self.key,
            Some(name) => name.is_of(key),
        };
        *sender == self.sender && key.is_some_and(is_opened_with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_key_fit_into_one_recorded_key() {
        let longest = "n".repeat(THREAD_NAME_BYTES);
        let (name, key) = (ThreadName::parse(&longest).unwrap(), Key::parse(&longest).unwrap());
        let bound = name.bind_key(&key).unwrap();
        assert_eq!(ThreadName::from_key(&bound), Some(name.clone()));
        assert!(name.is_of(&bound));
        assert!(name.bind_key(&Key::parse("a/b").unwrap()).is_err());
        assert!(name.bind_key(&Key::parse(&"k".repeat(THREAD_NAME_BYTES + 1)).unwrap()).is_err());
        for wrong in ["", "a/b", "a@b", "last", "last.step", "a b", "ä", &"n".repeat(THREAD_NAME_BYTES + 1)]
        {
            assert!(ThreadName::parse(wrong).is_err(), "{wrong}");
        }
        assert!(ThreadName::parse("lasting").is_ok());
    }

    #[test]
    fn g11_a_foreign_id_is_itself_or_its_hash_and_no_two_are_one() {
        assert_eq!(fit_foreign("a-1.B", 5), "a-1.B");
        let hashed = ["", "a/b", "a@b", "a b", "ä", "toolong", "h.0"].map(|id| fit_foreign(id, 5));
        for (at, one) in hashed.iter().enumerate() {
            assert!(one.starts_with("h.") && one.len() == 42, "{one}");
            assert!(!hashed.iter().skip(at + 1).any(|other| other == one), "{one}");
        }
    }

    #[test]
    fn a_key_of_an_older_log_that_begins_with_an_at_sign_names_no_thread() {
        for key in ["@ticket", "@/k", "@last/k", "ticket/k"] {
            assert_eq!(ThreadName::from_key(&Key::parse(key).unwrap()), None, "{key}");
        }
    }
}
