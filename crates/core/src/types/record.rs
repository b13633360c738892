//! The record: one line of the log, with its header bytes and its hashes, as the format defines them.
//!
//! A record is also the *fact* that state is folded from: the state comes from the log alone. For the fold, a
//! record's meaning depends only on its kind and its `code`.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::body_parts::{BodyHole, BodyParts, read_holes};
use super::codes::Code;
use super::fields::{FieldReader, number_field, write_field};
use super::ids::{CallPath, Digest, Key, MessageId, Name, ThreadId};
use super::time::Millis;

/// The version number of the log format. A change needs a new number, a fixture and a migration.
pub const FORMAT: u32 = 8;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }
        impl $name {
            /// Every one.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            /// The name that records store.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
            /// Reads the name. `None` if this version does not know it.
            pub fn parse(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// The kind of a record.
    RecordKind {
        /// A payload that is routed, or a payload of the core.
        Message "message",
        /// A refused payload, with the refusal for its sender.
        Refusal "refusal",
        /// How a call or a turn ended without a payload of its listener.
        Outcome "outcome",
        /// Another attempt to deliver a turn to its listener.
        Attempt "attempt",
        /// A payload or a question waits for a person, or its wait is over.
        Approval "approval",
        /// A person pauses or steers a thread or everything, or lets it continue.
        Steer "steer",
        /// A timer: set, cancelled, fired.
        Timer "timer",
        /// A listener's journal entry: before it calls a model, and after the model's result.
        Journal "journal",
        /// The end of a thread.
        Terminal "terminal",
    }
}

words! {
    /// The effect of a record of kind `approval`, which is about a request to a person.
    ApprovalEffect {
        /// Asks a person to approve; the call waits from here on. In `sys`, it counts the requests of the log.
        Requested "requested",
        /// The payload that a person puts in place of the waiting one. `amended` follows.
        Amendment "amendment",
        /// The call continues.
        Approved "approved",
        /// The call continues with the amendment.
        Amended "amended",
        /// A person rejected it. The outcome of the call follows.
        Rejected "rejected",
        /// The request expired. The outcome of the call follows.
        Expired "expired",
        /// Asks a person a question; its item waits for the answer. In `sys`, it counts the requests of the log.
        Asked "asked",
    }
}

words! {
    /// The effect of a record of kind `steer`. A pause applies to its thread and all threads below it; in `sys`, to
    /// all threads.
    SteerEffect {
        /// No new deliveries go out.
        Paused "paused",
        /// Deliveries go out again.
        Resumed "resumed",
        /// A message for the inbox of the open top call.
        Steered "steered",
        /// The last top call of a root, which failed, is open again. Its due turn goes out once more.
        Reopened "reopened",
    }
}

words! {
    /// The meaning of a record of kind `timer` for the state.
    TimerEffect {
        /// An item that sets a timer. Its answer names the timer and when it is due.
        Set "set",
        /// An item that cancels a timer. The cancellation takes effect with its answer.
        Cancel "cancel",
        /// The timer fired into the inbox of the call that set it.
        Fired "fired",
        /// The timer fired after that call had closed, and opens a top call.
        Opens "opens",
        /// The timer is cancelled because the call that set it is over.
        Cancelled "cancelled",
        /// The working-time clock of a message from outside, not a timer: it starts, stops while only persons and
        /// timers are waited for, is mostly used, or is over.
        Wall "wall",
    }
}

words! {
    /// What happens to an attempt between its begin and its end: a record of kind `attempt` with the same number.
    AttemptEffect {
        /// It reaches no one for now, and waits.
        Waits "waits",
        /// It waits no longer.
        GoesOn "goes-on",
        /// A worker on another machine took it, so its time runs since then. It waits no longer.
        Taken "taken",
    }
}

words! {
    /// The content of a record of kind `journal`.
    JournalEffect {
        /// A model is about to be called.
        Started "model-started",
        /// The result of that call.
        Result "model-result",
    }
}

words! {
    /// The meaning of a message for the state: the `code` of a record of kind `message`.
    MessageRole {
        /// From outside; opens a top call.
        Request "request",
        /// The first record of a child; opens its one top call.
        Begin "begin",
        /// An item for a peer; opens a nested call.
        Call "call",
        /// An item for every peer that accepts it. Each peer gets a record, in order, whose call is the one it opens.
        /// The item is answered when all calls are answered.
        ToAll "to-all",
        /// Like `ToAll`, but answered by the first result that is not a failure.
        ToFirst "to-first",
        /// An item in the sender's own root tag. Recording it answers it.
        Note "note",
        /// An accepted `<cancel-thread>`.
        CancelThread "cancel-thread",
        /// An item for a running child. It is answered when it has joined the child's inbox.
        Steer "steer",
        /// A question about the payloads that its sender may send.
        Introspect "introspect",
        /// A `<todo-until>`. Recording it answers it.
        Todo "todo",
        /// A `<clear-context>`. It takes effect with its answer.
        Clear "clear",
        /// A `<recall>`.
        Recall "recall",
        /// An accepted `<ask-person>`. It is answered when a person has answered.
        AskPerson "ask-person",
        /// The item that answers the call.
        Final "final",
        /// An accepted `<spawn-thread>`.
        Spawn "spawn",
        /// An accepted `<await-threads>`. It is answered when the wait is over.
        Await "await",
        /// The core's answer to an item: `<thread-spawned>`, `<await-over>`.
        Answer "answer",
        /// A core payload for the inbox of a call: `<thread-finished>`.
        Inbox "inbox",
        /// A budget of a call is used up: the call may only answer. Shown in its next turn, the wrap-up turn.
        WrapUp "wrap-up",
        /// A message of the core to the `sys` thread.
        Told "told",
        /// A notification for a listener. It is about a request for approval, below the waiting call, or about the
        /// outcome of a call that a timer opened, as a top call. It opens a call that no caller waits for.
        Tell "tell",
    }
}

/// The `code` field: a role on messages, a code of the table on failures and refusals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordCode {
    /// The meaning of a message for the state.
    Role(MessageRole),
    /// The error code.
    Code(Code),
    /// The state of a request to a person.
    Approving(ApprovalEffect),
    /// A person's order.
    Steering(SteerEffect),
    /// The state of a timer.
    Timing(TimerEffect),
    /// What happens to an attempt.
    Attempting(AttemptEffect),
    /// A listener's journal entry about a model.
    Journaling(JournalEffect),
    /// The call closed without a payload, as its `returns` allow.
    Handled,
    /// A delivery that will not be retried. The outcome of its call follows.
    DeadLetter,
    /// An idle root was ended.
    Ended,
    /// The first final of a call with running children is not accepted; the next one is.
    ChildrenOpen,
    /// The first final of a call with open steps is not accepted; the next one is.
    TodoOpen,
}

impl RecordCode {
    /// The text of the field.
    pub const fn as_str(self) -> &'static str {
        match self {
            RecordCode::Role(role) => role.as_str(),
            RecordCode::Code(code) => code.as_str(),
            RecordCode::Approving(what) => what.as_str(),
            RecordCode::Steering(what) => what.as_str(),
            RecordCode::Timing(timing) => timing.as_str(),
            RecordCode::Attempting(effect) => effect.as_str(),
            RecordCode::Journaling(what) => what.as_str(),
            RecordCode::Handled => "handled",
            RecordCode::DeadLetter => "dead-letter",
            RecordCode::Ended => "ended",
            RecordCode::ChildrenOpen => "children-open",
            RecordCode::TodoOpen => "todo-open",
        }
    }

    /// Reads the field.
    pub fn parse(text: &str) -> Option<RecordCode> {
        match text {
            "handled" => Some(RecordCode::Handled),
            "dead-letter" => Some(RecordCode::DeadLetter),
            "ended" => Some(RecordCode::Ended),
            "children-open" => Some(RecordCode::ChildrenOpen),
            "todo-open" => Some(RecordCode::TodoOpen),
            _ => MessageRole::parse(text)
                .map(RecordCode::Role)
                .or_else(|| TimerEffect::parse(text).map(RecordCode::Timing))
                .or_else(|| AttemptEffect::parse(text).map(RecordCode::Attempting))
                .or_else(|| JournalEffect::parse(text).map(RecordCode::Journaling))
                .or_else(|| Code::parse(text).map(RecordCode::Code))
                .or_else(|| ApprovalEffect::parse(text).map(RecordCode::Approving))
                .or_else(|| SteerEffect::parse(text).map(RecordCode::Steering)),
        }
    }
}

impl fmt::Display for RecordCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A record without its body. The order of the fields is the order of the hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The thread, and so the hash chain, that it belongs to.
    pub thread: ThreadId,
    /// Its position in that chain, from 1.
    pub seq: u64,
    /// Its id.
    pub id: MessageId,
    /// Its kind.
    pub kind: RecordKind,
    /// The sender, stamped by the pump.
    pub from: Name,
    /// The addressee. `None` on notes.
    pub to: Option<Name>,
    /// Its call. For an item: the call that sent it. For an item to several peers: the call that it opens. For an
    /// answer of the core: the path of the item that it answers.
    pub call: Option<CallPath>,
    /// The turn of that call.
    pub turn: Option<u32>,
    /// The position of the item in the turn's reply.
    pub ordinal: Option<u32>,
    /// The record that caused it.
    pub cause: Option<MessageId>,
    /// The idempotency key, on records of incoming messages.
    pub key: Option<Key>,
    /// In a child's first record, the leaf of the `<spawn-thread>` record.
    pub origin: Option<Digest>,
    /// When it was made.
    pub time: Millis,
    /// The configuration of its top call.
    pub config: Digest,
    /// Its meaning for the state.
    pub code: Option<RecordCode>,
}

/// A sealed record: header, body, salt, and its place in the hash chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The header.
    pub header: Header,
    /// The whole body. Signs stand in place of what is erased.
    pub body: Arc<[u8]>,
    /// Its parts, with a salt or a commitment for each.
    pub parts: BodyParts,
    /// The RFC 6962 leaf of this record.
    pub leaf: Digest,
    /// The head of the thread's chain after this record.
    pub head: Digest,
}

/// What stands in place of a value that its schema marks as sensitive.
pub const SENSITIVE: &[u8] = b"[sensitive]";

impl Record {
    /// The body with a sign in place of each sensitive value.
    pub fn hide_sensitive(&self) -> Vec<u8> {
        let mut body = self.body.to_vec();
        let holes: Vec<_> = self.parts.holes().map(|hole| hole.to_range()).collect();
        for hole in holes.into_iter().rev().filter(|hole| hole.end <= self.body.len()) {
            body.splice(hole, SENSITIVE.iter().copied());
        }
        body
    }

    /// The body as others may read it, without its sensitive values; `None` if it may repeat such values without a mark.
    pub fn read_shown(&self) -> Option<String> {
        let may_repeat = match self.header.kind {
            RecordKind::Journal => true,
            RecordKind::Refusal => !self.header.thread.is_sys(),
            _ => false,
        };
        (!may_repeat).then(|| String::from_utf8_lossy(&self.hide_sensitive()).into_owned())
    }
}

impl Header {
    /// The header of something that the core says in a thread, to no one.
    pub fn new_notice(thread: ThreadId, seq: u64, id: MessageId, time: Millis, config: Digest) -> Header {
        Header {
            thread,
            seq,
            id,
            kind: RecordKind::Message,
            from: Name::new_core(),
            to: None,
            call: None,
            turn: None,
            ordinal: None,
            cause: None,
            key: None,
            origin: None,
            time,
            config,
            code: Some(RecordCode::Role(MessageRole::Told)),
        }
    }

    /// The header bytes for the hash: length-prefixed fields in fixed order. They are made for every record that is
    /// written or verified, so no field is formatted or allocated separately.
    pub fn to_bytes(&self, body_length: usize, parts: &BodyParts) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        let mut id = [0; 36];
        write_field(&mut out, b"systole record v1");
        write_field(&mut out, self.thread.as_str().as_bytes());
        number_field(&mut out, Some(self.seq));
        write_field(&mut out, self.id.write_text(&mut id).as_bytes());
        write_field(&mut out, self.kind.as_str().as_bytes());
        write_field(&mut out, self.from.as_str().as_bytes());
        write_field(&mut out, self.to.as_ref().map_or("", Name::as_str).as_bytes());
        write_field(&mut out, self.call.as_ref().map_or("", CallPath::as_str).as_bytes());
        number_field(&mut out, self.turn.map(u64::from));
        number_field(&mut out, self.ordinal.map(u64::from));
        write_field(&mut out, self.cause.as_ref().map_or("", |cause| cause.write_text(&mut id)).as_bytes());
        write_field(&mut out, self.key.as_ref().map_or("", Key::as_str).as_bytes());
        write_field(&mut out, self.origin.map(|origin| origin.to_hex()).as_ref().map_or(&[], |hex| &hex[..]));
        write_field(&mut out, &self.time.to_text());
        write_field(&mut out, &self.config.to_hex());
        write_field(&mut out, self.code.map_or("", RecordCode::as_str).as_bytes());
        number_field(&mut out, Some(body_length as u64));
        match parts.values.is_empty() {
            true => write_field(&mut out, b""),
            false => write_field(&mut out, parts.field().as_bytes()),
        }
        out
    }

    /// Reads the hashed header bytes, with the length of the body and the places of its sensitive values. The error
    /// names the problem: the bytes may come from an untrusted source.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Header, u64, Vec<BodyHole>), String> {
        let mut fields = FieldReader::new(bytes);
        if fields.take_field()? != b"systole record v1" {
            return Err("it is not a record of this version".to_owned());
        }
        let header = Header {
            thread: fields.take_parsed("thread", ThreadId::parse)?,
            seq: fields.take_number("seq")?,
            id: fields.take_parsed("id", MessageId::parse)?,
            kind: fields.take_known("kind", RecordKind::parse)?,
            from: fields.take_parsed("from", Name::parse)?,
            to: fields.take_optional("to", Name::parse)?,
            call: fields.take_optional("call", CallPath::parse)?,
            turn: fields.take_optional("turn", str::parse)?,
            ordinal: fields.take_optional("ordinal", str::parse)?,
            cause: fields.take_optional("cause", MessageId::parse)?,
            key: fields.take_optional("key", Key::parse)?,
            origin: fields.take_optional("origin", Digest::parse)?,
            time: fields.take_known("time", Millis::parse)?,
            config: fields.take_parsed("config", Digest::parse)?,
            code: fields
                .take_optional("code", |text| RecordCode::parse(text).ok_or("not known to this version"))?,
        };
        let body_length = fields.take_number("body length")?;
        let holes = read_holes(fields.take_field()?, body_length)?;
        fields.check_end()?;
        Ok((header, body_length, holes))
    }

    /// Seals the record: computes its leaf and the chain head after it. A salt alone stands for a body without
    /// sensitive values.
    pub fn seal_record(self, body: Arc<[u8]>, parts: impl Into<BodyParts>, head_before: Digest) -> Record {
        let parts = parts.into();
        let leaf = hash_leaf(&self.to_bytes(body.len(), &parts), parts.commit_body(&body));
        let head = head_after(head_before, leaf);
        Record { header: self, body, parts, leaf, head }
    }
}

impl Record {
    /// The header bytes for the hash.
    pub fn header_bytes(&self) -> Vec<u8> {
        self.header.to_bytes(self.body.len(), &self.parts)
    }

    /// The entry of its leaf: the header and the commitment. It shows nothing of the body but the length and the
    /// places of its sensitive values.
    pub fn entry(&self) -> Vec<u8> {
        let mut entry = self.header_bytes();
        entry.extend(self.parts.commit_body(&self.body).0);
        entry
    }

    /// Whether leaf and head match the record's own bytes after `head_before`.
    pub fn is_valid_after(&self, head_before: Digest) -> bool {
        let leaf = hash_leaf(&self.header_bytes(), self.parts.commit_body(&self.body));
        leaf == self.leaf && head_after(head_before, leaf) == self.head
    }
}

fn hash_leaf(header: &[u8], commitment: Digest) -> Digest {
    Digest(
        Sha256::new().chain_update([0x00]).chain_update(header).chain_update(commitment.0).finalize().into(),
    )
}

fn head_after(before: Digest, leaf: Digest) -> Digest {
    Digest(Sha256::new().chain_update([0x02]).chain_update(before.0).chain_update(leaf.0).finalize().into())
}

/// The chain head of a thread before its first record.
pub fn head_zero(thread: &ThreadId) -> Digest {
    let hash =
        Sha256::new().chain_update([0x02]).chain_update("systole thread v1").chain_update(thread.as_str());
    Digest(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A note at this position of its thread, with every other field empty.
    fn note(seq: u64) -> Header {
        Header {
            thread: ThreadId::parse("sess-1f0c9a2b77d1").unwrap(),
            seq,
            id: MessageId([u8::try_from(seq).unwrap(); 16]),
            kind: RecordKind::Message,
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
            code: Some(RecordCode::Role(MessageRole::Note)),
        }
    }

    fn header() -> Header {
        Header { call: Some(CallPath::new_top(3)), turn: Some(1), ordinal: Some(0), ..note(12) }
    }

    #[test]
    fn header_fields_are_length_prefixed_in_order() {
        let text = String::from_utf8(header().to_bytes(5, &BodyParts::from([0; 16]))).unwrap();
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
        full.to = Some(Name::new_core());
        full.key = Some(Key::parse("k-1").unwrap());
        (full.cause, full.origin) = (Some(MessageId([3; 16])), Some(Digest([4; 32])));
        for header in [header(), full] {
            let bytes = header.to_bytes(5, &BodyParts::from([0; 16]));
            assert_eq!(Header::from_bytes(&bytes), Ok((header, 5, Vec::new())));
            for end in 0..bytes.len() {
                assert!(Header::from_bytes(bytes.get(..end).unwrap()).is_err(), "cut after {end}");
            }
            assert!(Header::from_bytes(&[&bytes[..], b"0:\n"].concat()).is_err(), "with more behind it");
        }
    }

    #[test]
    fn every_header_field_and_every_body_byte_is_in_the_head() {
        let before = head_zero(&header().thread);
        let sealed = header().seal_record(Arc::from(&b"<a/>"[..]), [9; 16], before);
        assert!(sealed.is_valid_after(before));
        let changes: [fn(&mut Record); 8] = [
            |r| r.header.seq += 1,
            |r| r.header.from = Name::new_core(),
            |r| r.header.to = Some(Name::new_core()),
            |r| r.header.turn = Some(2),
            |r| r.header.time = Millis(0),
            |r| r.header.code = Some(RecordCode::Handled),
            |r| r.parts = BodyParts::from([8; 16]),
            |r| r.body = Arc::from(&b"<b/>"[..]),
        ];
        for change in changes {
            let mut forged = sealed.clone();
            change(&mut forged);
            assert!(!forged.is_valid_after(before));
        }
        assert!(!sealed.is_valid_after(Digest([0; 32])));
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
            assert_eq!(RecordCode::parse(text).map(RecordCode::as_str), Some(text));
        }
    }
}
