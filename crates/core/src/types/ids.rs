//! Names and identifiers. Each is checked once, when it is parsed, and has its own type from then on. This file
//! invents no ids: the id of a root is the hash of what opened it, and message ids come from the seed of an event.

use std::borrow::Borrow;
use std::fmt;

use sha2::{Digest as _, Sha256};
use smol_str::{SmolStr, format_smolstr};

use super::limits;

/// The error for a text that is not a valid name or id: the text and the expected grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} \"{}\" is not of the form {grammar}", one_line(.text))]
pub struct MalformedId {
    what: &'static str,
    text: String,
    grammar: &'static str,
}

/// The text with line breaks and tabs escaped. The code that shows it escapes other hidden characters; escaping them
/// here would escape them twice.
pub fn one_line(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

fn report_malformed(what: &'static str, text: &str, grammar: &'static str) -> MalformedId {
    // The excerpt is limited: the text may come from a hostile sender and end up in a record.
    MalformedId { what, text: text.chars().take(80).collect(), grammar }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(SmolStr);

        impl $name {
            /// Its text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(&self.0)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
                $name::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

text_id! {
    /// A party's name: a listener, a client, or the core itself.
    Name
}
text_id! {
    /// A thread's id: `sys`, a root `sess-…`, or a child `parent.label`.
    ThreadId
}
text_id! {
    /// A call's path inside its thread: `3`, `3/2.1`.
    CallPath
}
text_id! {
    /// The idempotency key that a sender chose or that was generated for it.
    Key
}

text_id! {
    /// A timer's id inside its thread.
    TimerId
}

impl TimerId {
    /// Checks the grammar of labels.
    pub fn parse(text: &str) -> Result<TimerId, MalformedId> {
        if is_label(text) {
            Ok(TimerId(text.into()))
        } else {
            Err(report_malformed("timer", text, "[a-z0-9][a-z0-9-]{0,31}"))
        }
    }

    /// A free timer id: the first of `t1`, `t2` … that is not taken.
    pub fn find_free(is_taken: impl Fn(&TimerId) -> bool) -> TimerId {
        let mut number = 1u32;
        loop {
            let id = TimerId(format_smolstr!("t{number}"));
            if !is_taken(&id) {
                return id;
            }
            number = number.saturating_add(1);
        }
    }
}

const NAME_GRAMMAR: &str = "[a-z][a-z0-9-]{0,62}, dots only as separators";

impl Name {
    /// Checks the grammar of names.
    pub fn parse(text: &str) -> Result<Name, MalformedId> {
        let part = |p: &str| {
            p.starts_with(|c: char| c.is_ascii_lowercase())
                && p.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        if text.len() <= limits::NAME_BYTES && text.split('.').all(part) {
            Ok(Name(text.into()))
        } else {
            Err(report_malformed("name", text, NAME_GRAMMAR))
        }
    }

    /// The pump itself, as sender and addressee of primitives and system payloads.
    pub const fn new_core() -> Name {
        Name(SmolStr::new_static("core"))
    }

    /// Whether it is the core's.
    pub fn is_core(&self) -> bool {
        self.0 == "core"
    }

    /// The client that authenticates with the local token.
    pub fn new_operator() -> Name {
        Name("operator".into())
    }

    /// The client of hosts that speak MCP and have no client of their own. It has no roles.
    pub fn new_mcp() -> Name {
        Name("mcp".into())
    }

    /// The client of editors that speak ACP and have no client of their own. A person sits there, so it may decide what
    /// waits in its own threads.
    pub fn new_acp() -> Name {
        Name("acp".into())
    }

    /// The sender of what schedules send. No client and no listener can have this name.
    pub fn new_schedule() -> Name {
        Name("core.schedule".into())
    }

    /// The person who decides a request, before it is known who that is.
    pub fn new_person() -> Name {
        Name("person".into())
    }

    /// Names that are reserved for the system.
    pub fn is_reserved(&self) -> bool {
        matches!(self.as_str(), "core" | "sys" | "cli" | "console" | "person" | "operator" | "core.schedule")
    }
}

const THREAD_GRAMMAR: &str = "sys, or sess-<12 hex digits or more> with .labels of [a-z0-9][a-z0-9-]{0,31}";

impl ThreadId {
    /// Checks the grammar of thread ids, not whether the thread exists.
    pub fn parse(text: &str) -> Result<ThreadId, MalformedId> {
        let bad = || report_malformed("thread", text, THREAD_GRAMMAR);
        if text == "sys" {
            return Ok(ThreadId(text.into()));
        }
        let mut parts = text.split('.');
        let root = parts.next().and_then(|r| r.strip_prefix("sess-")).ok_or_else(bad)?;
        let hex = root.len() >= 12 && root.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !hex || text.len() > limits::THREAD_ID_BYTES || !parts.all(is_label) {
            return Err(bad());
        }
        Ok(ThreadId(text.into()))
    }

    /// The thread for startup, shutdown, and refusals that belong to no other thread.
    pub fn new_sys() -> ThreadId {
        ThreadId("sys".into())
    }

    /// The root that `(sender, key)` opens, with `digits` hex digits: 12, or more if an earlier root of another
    /// `(sender, key)` already has the shorter id.
    pub fn new_root(organism: &Name, sender: &Name, key: &Key, digits: usize) -> ThreadId {
        ThreadId::hash_root([organism.as_str(), sender.as_str(), key.as_str()], digits)
    }

    /// The root of these fields.
    pub(super) fn hash_root(fields: [&str; 3], digits: usize) -> ThreadId {
        let mut hash = Sha256::new();
        for field in fields {
            hash.update(field.len().to_string());
            hash.update(b":");
            hash.update(field);
            hash.update(b"\n");
        }
        let hex = Digest(hash.finalize().into()).to_string();
        let digits = digits.clamp(12, hex.len());
        ThreadId(format_smolstr!("sess-{}", hex.get(..digits).unwrap_or(&hex)))
    }

    /// The child of this thread with this label.
    pub fn make_child(&self, label: &str) -> Result<ThreadId, MalformedId> {
        ThreadId::parse(&[self.as_str(), label].join("."))
    }

    /// The thread that spawned this one. `None` for roots and `sys`.
    pub fn parent(&self) -> Option<ThreadId> {
        self.0.rfind('.').and_then(|dot| self.0.get(..dot)).map(|p| ThreadId(p.into()))
    }

    /// The root of this thread's tree. For a root, the thread itself.
    pub fn root_of(&self) -> ThreadId {
        self.0.split('.').next().map_or_else(|| self.clone(), |r| ThreadId(r.into()))
    }

    /// The id of the tree's root, cut to twelve digits. All threads of a tree share it, and so do roots that got a
    /// longer id because of a collision. A shorter id is returned unchanged.
    pub fn stem(&self) -> ThreadId {
        const STEM_BYTES: usize = "sess-".len() + 12;
        self.0.get(..STEM_BYTES).map_or_else(|| self.clone(), |stem| ThreadId(stem.into()))
    }

    /// Whether this thread is `other` or below it.
    pub fn is_within(&self, other: &ThreadId) -> bool {
        self.0.strip_prefix(other.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// The number of spawns between this thread and its root.
    pub fn depth(&self) -> usize {
        self.0.bytes().filter(|b| *b == b'.').count()
    }

    /// Whether it is the pump's own thread.
    pub fn is_sys(&self) -> bool {
        self.0 == "sys"
    }
}

/// Whether a text may be the label of a child thread.
pub fn is_label(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 32 && text.bytes().next().is_some_and(word) && text.bytes().all(|b| word(b) || b == b'-')
}

impl CallPath {
    /// Checks the grammar of call paths.
    pub fn parse(text: &str) -> Result<CallPath, MalformedId> {
        let number = |n: &str| !n.is_empty() && n.len() <= 9 && n.bytes().all(|b| b.is_ascii_digit());
        let mut steps = text.split('/');
        let top = steps.next().is_some_and(number);
        let item = |o: &str| o.split_once(':').map_or_else(|| number(o), |(o, n)| number(o) && number(n));
        let nested = steps.all(|s| s.split_once('.').is_some_and(|(t, o)| number(t) && item(o)));
        if top && nested {
            Ok(CallPath(text.into()))
        } else {
            Err(report_malformed(
                "call",
                text,
                "N or N/TURN.ORDINAL/…, each item with :TAKER where it went to several",
            ))
        }
    }

    /// The thread's n-th top call.
    pub fn new_top(n: u32) -> CallPath {
        CallPath(format_smolstr!("{n}"))
    }

    /// The path of item `ordinal` of turn `turn` of this call.
    pub fn append_item(&self, turn: u32, ordinal: u32) -> CallPath {
        CallPath(format_smolstr!("{}/{turn}.{ordinal}", self.0))
    }

    /// The path of the call to one of the takers of this item, counted from 0.
    pub fn append_taker(&self, number: u32) -> CallPath {
        CallPath(format_smolstr!("{}:{number}", self.0))
    }

    /// Which taker of its item this call goes to. `None` if the item went to one listener only.
    pub fn taker_number(&self) -> Option<u32> {
        let (_, step) = self.0.rsplit_once('/')?;
        step.split_once(':')?.1.parse().ok()
    }

    /// The call that made this one, with the turn and ordinal of the item. `None` for a top call.
    pub fn caller(&self) -> Option<(CallPath, u32, u32)> {
        let (caller, step) = self.0.rsplit_once('/')?;
        let (turn, item) = step.split_once('.')?;
        let ordinal = item.split_once(':').map_or(item, |(ordinal, _)| ordinal);
        Some((CallPath(caller.into()), turn.parse().ok()?, ordinal.parse().ok()?))
    }

    /// The number of its top call.
    pub fn top_number(&self) -> u32 {
        self.0.split('/').next().and_then(|n| n.parse().ok()).unwrap_or(0)
    }

    /// The number of calls between this one and its top call.
    pub fn depth(&self) -> usize {
        self.0.bytes().filter(|b| *b == b'/').count()
    }

    /// Whether this call is `other` or below it.
    pub fn is_within(&self, other: &CallPath) -> bool {
        self.0.strip_prefix(other.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Its steps from the thread down: the number of its top call, then turn, ordinal and taker of each item. Sorting
    /// by steps gives the order in which the calls were requested.
    pub fn steps(&self) -> Vec<(u32, u32, u32)> {
        let step = |step: &str| {
            let (turn, item) = step.split_once('.').unwrap_or((step, "0"));
            let (ordinal, taker) = item.split_once(':').unwrap_or((item, "0"));
            (turn.parse().unwrap_or(0), ordinal.parse().unwrap_or(0), taker.parse().unwrap_or(0))
        };
        self.0.split('/').map(step).collect()
    }

    /// Whether the caller waits for this call, and the same holds for every call above it. Calls of turn 0 only
    /// notify.
    pub fn is_awaited(&self) -> bool {
        self.steps().iter().all(|(turn, ..)| *turn > 0)
    }

    /// Whether the caller of `other` already had the outcome of this call, no matter what ran in parallel. This is so
    /// if this call belongs to an earlier top call of the thread, or to an earlier turn of a call that contains both.
    /// Calls that only notify (turn 0) precede nothing, because no caller waits for them.
    pub fn is_before(&self, other: &CallPath) -> bool {
        let steps = self.steps();
        let parting = steps.iter().zip(other.steps()).find(|(own, other)| *own != other);
        self.is_awaited() && parting.is_some_and(|((own, ..), (other, ..))| own < &other)
    }
}

impl Key {
    /// Checks for 1 to 128 visible ASCII characters.
    pub fn parse(text: &str) -> Result<Key, MalformedId> {
        if (1..=limits::KEY_BYTES).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Key(text.into()))
        } else {
            Err(report_malformed("key", text, "1 to 128 visible ASCII characters"))
        }
    }
}

/// A SHA-256 value; its text is lower-case hex.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The hash of some bytes.
    pub fn hash_bytes(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// Reads 64 hex digits.
    pub fn parse(text: &str) -> Result<Digest, MalformedId> {
        let bad = || report_malformed("digest", text, "64 hex digits");
        let mut out = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(bad());
        }
        for (byte, pair) in out.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
        }
        Ok(Digest(out))
    }

    /// Its text. Every record header holds several, so it is made without formatting.
    pub fn to_hex(&self) -> [u8; 64] {
        let digit = |n: u8| if n < 10 { b'0' + n } else { b'a' + n - 10 };
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut().0.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Hex digits are ASCII.
        f.write_str(std::str::from_utf8(&self.to_hex()).unwrap_or_default())
    }
}
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A record's id: a UUIDv7. Its random part comes from the seed of the event that made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct MessageId(pub [u8; 16]);

impl MessageId {
    /// The id of a record made at `time_ms` with ten bytes drawn from its event's seed.
    pub fn new(time_ms: u64, random: &[u8; 10]) -> MessageId {
        MessageId(*uuid::Builder::from_unix_timestamp_millis(time_ms, random).into_uuid().as_bytes())
    }

    /// Reads the usual text form of a UUID.
    pub fn parse(text: &str) -> Result<MessageId, MalformedId> {
        uuid::Uuid::try_parse(text)
            .map(|u| MessageId(*u.as_bytes()))
            .map_err(|_| report_malformed("message id", text, "a UUID"))
    }

    /// Its text, written into the given buffer.
    pub fn write_text<'a>(&self, buffer: &'a mut [u8; 36]) -> &'a str {
        uuid::Uuid::from_bytes(self.0).as_hyphenated().encode_lower(buffer)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        uuid::Uuid::from_bytes(self.0).as_hyphenated().fmt(f)
    }
}
impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// One attempt at one turn of a call.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AttemptId {
    /// The thread of the call.
    pub thread: ThreadId,
    /// The call.
    pub call: CallPath,
    /// Its turn, from 1.
    pub turn: u32,
    /// The number of the attempt at that turn, from 1.
    pub attempt: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_grammar() {
        for good in ["a", "calc.add", "x-1", &"a".repeat(63)] {
            assert!(Name::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "A", "1a", "a.", ".a", "a.>", "$JS.API", "a b", "a\n", "é", &"a".repeat(64)] {
            assert!(Name::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn row_30_thread_ids_are_checked_before_use() {
        for good in ["sys", "sess-1f0c9a2b77d1", "sess-1f0c9a2b77d1.heat.a-1"] {
            assert!(ThreadId::parse(good).is_ok(), "{good}");
        }
        let long = format!("sess-1f0c9a2b77d1.{}", "a".repeat(4096));
        for bad in
            ["", "new", "../x", "*", ">", "sess-1f0c9a2b77d1. a", "sess-XF0c9a2b77d1", "sess-12", &long]
        {
            assert!(ThreadId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_tree_and_the_roots_it_pushed_aside_have_one_stem() {
        let id = |text| ThreadId::parse(text).unwrap();
        for one in
            ["sess-1f0c9a2b77d1", "sess-1f0c9a2b77d1.heat.a", "sess-1f0c9a2b77d1e", "sess-1f0c9a2b77d1e.c1"]
        {
            assert_eq!(id(one).stem(), id("sess-1f0c9a2b77d1"));
        }
        assert_eq!(ThreadId::new_sys().stem(), ThreadId::new_sys());
    }

    #[test]
    fn a_thread_is_within_itself_and_those_that_spawned_it() {
        let id = |text| ThreadId::parse(text).unwrap();
        let root = id("sess-1f0c9a2b77d1");
        assert!(root.is_within(&root) && id("sess-1f0c9a2b77d1.heat").is_within(&root));
        assert!(!id("sess-1f0c9a2b77d1a").is_within(&root) && !root.is_within(&id("sess-1f0c9a2b77d1.heat")));
    }

    #[test]
    fn a_call_path_names_its_caller() {
        let path = CallPath::new_top(3).append_item(2, 1);
        assert_eq!(path.as_str(), "3/2.1");
        assert_eq!(path.caller(), Some((CallPath::new_top(3), 2, 1)));
        assert_eq!(path.top_number(), 3);
        assert!(
            path.is_within(&CallPath::new_top(3)) && !CallPath::new_top(31).is_within(&CallPath::new_top(3))
        );
    }

    #[test]
    fn b13_a_call_to_one_of_several_takers_names_the_item_that_they_share() {
        let item = CallPath::new_top(3).append_item(2, 1);
        let (path, below) = (item.append_taker(0), item.append_taker(0).append_item(1, 4));
        assert_eq!((path.as_str(), below.as_str()), ("3/2.1:0", "3/2.1:0/1.4"));
        assert_eq!((path.taker_number(), item.taker_number()), (Some(0), None));
        assert_eq!((below.taker_number(), CallPath::new_top(3).taker_number()), (None, None));
        assert_eq!(path.caller(), Some((CallPath::new_top(3), 2, 1)));
        assert_eq!(below.caller(), Some((path.clone(), 1, 4)));
        assert!(below.is_within(&path) && !item.append_taker(10).is_within(&item.append_taker(1)));
        for good in ["3/2.1:0", "3/2.1:12/1.4"] {
            assert_eq!(CallPath::parse(good).unwrap().as_str(), good);
        }
        for bad in ["3:0", "3/2:0.1", "3/2.1:", "3/2.1:0:0", "3/2.:0", "3/2.1:x"] {
            assert!(CallPath::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_call_precedes_what_was_asked_for_when_it_was_over() {
        let precedes = |one: &str, other: &str| {
            CallPath::parse(one).unwrap().is_before(&CallPath::parse(other).unwrap())
        };
        for (one, other) in [
            ("1", "2"),
            ("9", "10"),
            ("1/3.0", "2"),
            ("1", "2/1.0"),
            ("2/1.5", "2/2.0"),
            ("2/1.0/7.1", "2/10.0/1.0"),
            ("2/1.0:10", "2/2.0"),
        ] {
            assert!(precedes(one, other) && !precedes(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("1", "1"),
            ("1", "1/1.0"),
            ("2/1.0", "2/1.1"),
            ("2/1.0/1.0", "2/1.1/2.0"),
            ("1/0.0", "2"),
            ("1/1.0:0", "1/1.0:1"),
        ] {
            assert!(!precedes(one, other), "{one} {other}");
        }
    }

    #[test]
    fn a_digest_is_lower_case_hex_of_every_byte() {
        let bytes: [u8; 32] = std::array::from_fn(|n| u8::try_from(n * 8 + n % 8).unwrap());
        let digest = Digest(bytes);
        let expected: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(digest.to_string(), expected);
        assert_eq!(Digest::parse(&expected), Ok(digest));
    }

    #[test]
    fn a_message_id_has_one_text_form() {
        let id = MessageId(std::array::from_fn(|n| u8::try_from(n * 17).unwrap()));
        let mut buffer = [0; 36];
        assert_eq!(id.write_text(&mut buffer), "00112233-4455-6677-8899-aabbccddeeff");
        assert_eq!(id.to_string(), id.write_text(&mut buffer));
    }

    #[test]
    fn the_same_opener_always_meets_its_root() {
        let name = |n| Name::parse(n).unwrap();
        let key = Key::parse("k-1").unwrap();
        let id = ThreadId::new_root(&name("hello"), &name("operator"), &key, 12);
        assert_eq!(id, ThreadId::new_root(&name("hello"), &name("operator"), &key, 12));
        assert_eq!(id.as_str().len(), "sess-".len() + 12);
        assert!(
            ThreadId::new_root(&name("hello"), &name("operator"), &key, 16).as_str().starts_with(id.as_str())
        );
    }
}
