//! The record: one line of the log, its header bytes and its hashes, as the format fixes them.
//!
//! A record is also the *fact* that state is folded from: there is nothing between the log and the
//! state. What a record means for the fold stands in its kind and its `code` alone.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::codes::Code;
use super::fields::{Fields, field, number_field};
use super::ids::{CallPath, Digest, Key, MessageId, Name, ThreadId};
use super::time::Millis;

/// The number of the log's format. A change gets a new number, a fixture and a migration.
pub const FORMAT: u32 = 3;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }
        impl $name {
            /// The word as records carry it.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
            /// Reads the word; none where this version does not know it.
            pub fn parse(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// What sort of line a record is.
    Kind {
        /// A payload that moves, or a payload of the core.
        Message "message",
        /// A payload that was refused, with what its sender is told.
        Refusal "refusal",
        /// How a call or a turn ended without a payload of its listener.
        Outcome "outcome",
        /// A further attempt to hand a turn to its listener.
        Attempt "attempt",
        /// A payload waits for a person, or waits no longer; or a question does.
        Approval "approval",
        /// A person halts a thread or everything, or lets it go on.
        Steer "steer",
        /// A timer: set, cancelled, fired.
        Timer "timer",
        /// What a listener has on record before it calls a model, and what the model said.
        Journal "journal",
        /// The end of a thread.
        Terminal "terminal",
    }
}

words! {
    /// What a record of kind `approval` does: it is about a request to a person.
    Approving {
        /// Asks a person; from here on the call waits. In `sys` it counts the requests of the log.
        Requested "requested",
        /// The payload that a person puts in place of the one that waits; `amended` follows.
        Amendment "amendment",
        /// The call goes on.
        Approved "approved",
        /// The call goes on with the amendment.
        Amended "amended",
        /// The outcome of the call follows.
        Rejected "rejected",
        /// The outcome of the call follows.
        Expired "expired",
        /// Asks a person a question; its item waits for the answer. In `sys` it counts the requests of the log.
        Asked "asked",
    }
}

words! {
    /// What a record of kind `steer` does. A pause holds for its thread and all below it; in `sys`, for all
    /// threads.
    Steering {
        /// Nothing new goes out.
        Paused "paused",
        /// It goes on.
        Resumed "resumed",
        /// A word for the inbox of the top call that is open.
        Steered "steered",
    }
}

words! {
    /// What a record of kind `timer` means for the state.
    Timing {
        /// An item that sets one. The answer to it names the timer and says when it is due.
        Set "set",
        /// An item that cancels one. The answer to it is what takes effect.
        Cancel "cancel",
        /// It fired into the inbox of the call that set it.
        Fired "fired",
        /// It fired after that call had closed, and opens a top call.
        Opens "opens",
        /// It is cancelled because the call that set it is over.
        Cancelled "cancelled",
        /// No timer of anybody's: the time that a message from outside takes begins to run, stands still
        /// while nobody but persons and timers is waited for, is mostly used, or is over.
        Wall "wall",
    }
}

words! {
    /// What a record of kind `journal` says.
    Journaling {
        /// A model is about to be called.
        Started "model-started",
        /// What came of that.
        Result "model-result",
    }
}

words! {
    /// What a message means for the state: the `code` of a record of kind `message`.
    Role {
        /// From outside; opens a top call.
        Request "request",
        /// The first record of a child; opens its one top call.
        Begin "begin",
        /// An item for a peer; opens a nested call.
        Call "call",
        /// An item for every peer that takes it: a record for each of them, in order, whose call is the one
        /// that it opens. The item is answered when all are.
        ToAll "to-all",
        /// The same, but answered by the first that is no failure.
        ToFirst "to-first",
        /// An item in the sender's own root tag; answered by being recorded.
        Note "note",
        /// A `<cancel-thread>` that was taken.
        CancelThread "cancel-thread",
        /// An item for a child that runs; answered when it has joined that child's inbox.
        Steer "steer",
        /// A question about payloads that its sender may send.
        Introspect "introspect",
        /// A `<todo-until>`; answered by being recorded.
        Todo "todo",
        /// A `<clear-context>`. The answer to it is what takes effect.
        Clear "clear",
        /// A `<recall>`.
        Recall "recall",
        /// An `<ask-person>` that was taken: its answer comes when a person has answered.
        AskPerson "ask-person",
        /// The item that answers the call.
        Final "final",
        /// A `<spawn-thread>` that was taken.
        Spawn "spawn",
        /// An `<await-threads>` that was taken: its answer comes when the wait is over.
        Await "await",
        /// An answer of the core to an item: `<thread-spawned>`, `<await-over>`.
        Answer "answer",
        /// A core payload for the inbox of a call: `<thread-finished>`.
        Inbox "inbox",
        /// A budget of a call is used up: it may only answer. Shown in its next turn, the wrap-up turn.
        WrapUp "wrap-up",
        /// What the core tells the `sys` thread.
        Told "told",
        /// News for a listener: a request for approval, below the call that waits, or the outcome of a call that a timer
        /// opened, as a top call. It opens a call that nobody waits for.
        Tell "tell",
    }
}

/// The `code` field: a role on messages, a code of the table on everything that went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// What a message means for the state.
    Role(Role),
    /// What went wrong.
    Code(Code),
    /// What became of a request to a person.
    Approving(Approving),
    /// What a person orders.
    Steering(Steering),
    /// What became of a timer.
    Timing(Timing),
    /// What a listener has on record about a model.
    Journaling(Journaling),
    /// A call that closed without a payload, as its `returns` allow.
    Handled,
    /// A delivery that will not be tried again; the outcome of its call follows.
    DeadLetter,
    /// A root at rest that somebody ended.
    Ended,
    /// The first final of a call with running children; the next is taken.
    ChildrenOpen,
    /// The first final of a call with open steps; the next is taken.
    TodoOpen,
}

impl Mark {
    /// The text of the field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mark::Role(role) => role.as_str(),
            Mark::Code(code) => code.as_str(),
            Mark::Approving(what) => what.as_str(),
            Mark::Steering(what) => what.as_str(),
            Mark::Timing(timing) => timing.as_str(),
            Mark::Journaling(what) => what.as_str(),
            Mark::Handled => "handled",
            Mark::DeadLetter => "dead-letter",
            Mark::Ended => "ended",
            Mark::ChildrenOpen => "children-open",
            Mark::TodoOpen => "todo-open",
        }
    }

    /// Reads the field.
    pub fn parse(text: &str) -> Option<Mark> {
        match text {
            "handled" => Some(Mark::Handled),
            "dead-letter" => Some(Mark::DeadLetter),
            "ended" => Some(Mark::Ended),
            "children-open" => Some(Mark::ChildrenOpen),
            "todo-open" => Some(Mark::TodoOpen),
            _ => Role::parse(text)
                .map(Mark::Role)
                .or_else(|| Timing::parse(text).map(Mark::Timing))
                .or_else(|| Journaling::parse(text).map(Mark::Journaling))
                .or_else(|| Code::parse(text).map(Mark::Code))
                .or_else(|| Approving::parse(text).map(Mark::Approving))
                .or_else(|| Steering::parse(text).map(Mark::Steering)),
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Everything about a record but its body. The order of the fields is the order of the hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The chain it belongs to.
    pub thread: ThreadId,
    /// Its place in that chain, from 1.
    pub seq: u64,
    /// Its id.
    pub id: MessageId,
    /// What sort of line it is.
    pub kind: Kind,
    /// Who sent it, as stamped by the pump.
    pub from: Name,
    /// Whom it is for; absent on notes.
    pub to: Option<Name>,
    /// The call it belongs to: for an item the call that sent it, for one that goes to several the call that
    /// it opens, for an answer of the core the path of the item that it answers.
    pub call: Option<CallPath>,
    /// The turn of that call.
    pub turn: Option<u32>,
    /// Which item of the turn's reply it is.
    pub ordinal: Option<u32>,
    /// The record that caused it.
    pub cause: Option<MessageId>,
    /// The ingress record's key.
    pub key: Option<Key>,
    /// In a child's first record, the leaf of the `<spawn-thread>` record.
    pub origin: Option<Digest>,
    /// When it was made.
    pub time: Millis,
    /// The configuration in force for the top call it belongs to.
    pub config: Digest,
    /// What it means for the state.
    pub code: Option<Mark>,
}

/// A sealed record: header, body, salt, and its place in the hash chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Everything but the body.
    pub header: Header,
    /// Part 0 of the body. Values marked sensitive, and with them holes, come with a later step.
    pub body: Arc<[u8]>,
    /// The salt of part 0.
    pub salt: [u8; 16],
    /// The RFC 6962 leaf of this record.
    pub leaf: Digest,
    /// The head of the thread's chain after this record.
    pub head: Digest,
}

impl Header {
    /// The header as it is hashed: length-prefixed fields in their fixed order. It is made for every
    /// record that is written or verified, so nothing in it is formatted or allocated on its own.
    pub fn bytes(&self, body_length: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        let mut id = [0; 36];
        field(&mut out, b"systole record v1");
        field(&mut out, self.thread.as_str().as_bytes());
        number_field(&mut out, Some(self.seq));
        field(&mut out, self.id.text(&mut id).as_bytes());
        field(&mut out, self.kind.as_str().as_bytes());
        field(&mut out, self.from.as_str().as_bytes());
        field(&mut out, self.to.as_ref().map_or("", Name::as_str).as_bytes());
        field(&mut out, self.call.as_ref().map_or("", CallPath::as_str).as_bytes());
        number_field(&mut out, self.turn.map(u64::from));
        number_field(&mut out, self.ordinal.map(u64::from));
        field(&mut out, self.cause.as_ref().map_or("", |cause| cause.text(&mut id)).as_bytes());
        field(&mut out, self.key.as_ref().map_or("", Key::as_str).as_bytes());
        field(&mut out, self.origin.map(|origin| origin.hex()).as_ref().map_or(&[], |hex| &hex[..]));
        field(&mut out, &self.time.text());
        field(&mut out, &self.config.hex());
        field(&mut out, self.code.map_or("", Mark::as_str).as_bytes());
        number_field(&mut out, Some(body_length as u64));
        field(&mut out, b"");
        out
    }

    /// Reads the header as it is hashed, and the length of the body. In words what does not fit: the bytes may
    /// have come from anywhere.
    pub fn read(bytes: &[u8]) -> Result<(Header, u64), String> {
        let mut fields = Fields::new(bytes);
        if fields.take()? != b"systole record v1" {
            return Err("it is no record of this version".to_owned());
        }
        let header = Header {
            thread: fields.parsed("thread", ThreadId::parse)?,
            seq: fields.number("seq")?,
            id: fields.parsed("id", MessageId::parse)?,
            kind: fields.known("kind", Kind::parse)?,
            from: fields.parsed("from", Name::parse)?,
            to: fields.maybe("to", Name::parse)?,
            call: fields.maybe("call", CallPath::parse)?,
            turn: fields.maybe("turn", str::parse)?,
            ordinal: fields.maybe("ordinal", str::parse)?,
            cause: fields.maybe("cause", MessageId::parse)?,
            key: fields.maybe("key", Key::parse)?,
            origin: fields.maybe("origin", Digest::parse)?,
            time: fields.known("time", Millis::parse)?,
            config: fields.parsed("config", Digest::parse)?,
            code: fields.maybe("code", |text| Mark::parse(text).ok_or("not known to this version"))?,
        };
        let body_length = fields.number("body length")?;
        // Holes come with a later step.
        if !fields.take()?.is_empty() {
            return Err("holes: not known to this version".to_owned());
        }
        fields.end()?;
        Ok((header, body_length))
    }

    /// Seals the record: computes its leaf and the head after it.
    pub fn seal(self, body: Arc<[u8]>, salt: [u8; 16], head_before: Digest) -> Record {
        let leaf = leaf(&self.bytes(body.len()), &body, &salt);
        let head = head_after(head_before, leaf);
        Record { header: self, body, salt, leaf, head }
    }
}

impl Record {
    /// Whether leaf and head are what the record's own bytes give after `head_before`.
    pub fn verifies(&self, head_before: Digest) -> bool {
        let leaf = leaf(&self.header.bytes(self.body.len()), &self.body, &self.salt);
        leaf == self.leaf && head_after(head_before, leaf) == self.head
    }
}

fn leaf(header: &[u8], body: &[u8], salt: &[u8; 16]) -> Digest {
    let part = Sha256::new().chain_update([0x03]).chain_update(salt).chain_update(body).finalize();
    let commitment = Sha256::new().chain_update([0x05]).chain_update(part).finalize();
    Digest(Sha256::new().chain_update([0x00]).chain_update(header).chain_update(commitment).finalize().into())
}

fn head_after(before: Digest, leaf: Digest) -> Digest {
    Digest(Sha256::new().chain_update([0x02]).chain_update(before.0).chain_update(leaf.0).finalize().into())
}

/// The head of a thread before its first record.
pub fn head_zero(thread: &ThreadId) -> Digest {
    let hash =
        Sha256::new().chain_update([0x02]).chain_update("systole thread v1").chain_update(thread.as_str());
    Digest(hash.finalize().into())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A note at that place of its thread, for tests: nothing else is said of it.
    pub(crate) fn note(seq: u64) -> Header {
        Header {
            thread: ThreadId::parse("sess-1f0c9a2b77d1").unwrap(),
            seq,
            id: MessageId([u8::try_from(seq).unwrap(); 16]),
            kind: Kind::Message,
            from: Name::parse("researcher").unwrap(),
            to: None,
            call: None,
            turn: None,
            ordinal: None,
            cause: None,
            key: None,
            origin: None,
            time: Millis(1_795_158_000_007),
            config: Digest([1; 32]),
            code: Some(Mark::Role(Role::Note)),
        }
    }

    fn header() -> Header {
        Header { call: Some(CallPath::top(3)), turn: Some(1), ordinal: Some(0), ..note(12) }
    }

    #[test]
    fn header_fields_are_length_prefixed_in_order() {
        let text = String::from_utf8(header().bytes(5)).unwrap();
        let lines: Vec<&str> = text.split('\n').collect();
        assert_eq!(lines.len(), 19, "eighteen fields, each ended by a line break");
        assert_eq!(lines[..3], ["17:systole record v1", "17:sess-1f0c9a2b77d1", "2:12"]);
        assert_eq!(lines[6..10], ["0:", "1:3", "1:1", "1:0"]);
        assert_eq!(lines[13], "24:2026-11-20T07:00:00.007Z");
        assert_eq!(lines[15..], ["4:note", "1:5", "0:", ""]);
    }

    #[test]
    fn a_header_reads_back_and_nothing_of_it_may_be_missing() {
        let mut full = header();
        full.to = Some(Name::core());
        full.key = Some(Key::parse("k-1").unwrap());
        (full.cause, full.origin) = (Some(MessageId([3; 16])), Some(Digest([4; 32])));
        for header in [header(), full] {
            let bytes = header.bytes(5);
            assert_eq!(Header::read(&bytes), Ok((header, 5)));
            for end in 0..bytes.len() {
                assert!(Header::read(bytes.get(..end).unwrap()).is_err(), "cut after {end}");
            }
            assert!(Header::read(&[&bytes[..], b"0:\n"].concat()).is_err(), "with more behind it");
        }
    }

    #[test]
    fn every_header_field_and_every_body_byte_is_in_the_head() {
        let before = head_zero(&header().thread);
        let sealed = header().seal(Arc::from(&b"<a/>"[..]), [9; 16], before);
        assert!(sealed.verifies(before));
        let changes: [fn(&mut Record); 8] = [
            |r| r.header.seq += 1,
            |r| r.header.from = Name::core(),
            |r| r.header.to = Some(Name::core()),
            |r| r.header.turn = Some(2),
            |r| r.header.time = Millis(0),
            |r| r.header.code = Some(Mark::Handled),
            |r| r.salt[0] ^= 1,
            |r| r.body = Arc::from(&b"<b/>"[..]),
        ];
        for change in changes {
            let mut forged = sealed.clone();
            change(&mut forged);
            assert!(!forged.verifies(before));
        }
        assert!(!sealed.verifies(Digest([0; 32])));
    }

    #[test]
    fn marks_read_back() {
        for text in [
            "request",
            "final",
            "fired",
            "handled",
            "dead-letter",
            "ended",
            "children-open",
            "todo-open",
            "payload.invalid",
        ] {
            assert_eq!(Mark::parse(text).map(Mark::as_str), Some(text));
        }
    }
}
