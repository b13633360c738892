//! The values that move from module to module. Each is made only from the previous one, so code that skips a
//! check does not compile: a payload becomes `Admitted` only with a judge's `Verdict`, and only an `Admitted`
//! payload can be decided upon.

use std::sync::Arc;

use systole_wire::ask::PumpQuestion;
use systole_wire::journal::JournalEntry;
use systole_wire::payload::Payload;
use systole_wire::reply::AnswerPart;

use super::body_parts::{BodyHole, in_order};
use super::codes::Code;
use super::composition::{GatherRule, SchemaId};
use super::ids::{AttemptId, Digest, Key, Name, ThreadId};
use super::refusal::Refusal;
use super::subject::Subject;
use super::thread_choice::{SoughtRoot, ThreadChoice};

/// A judge's statement that a payload fits a schema. Only a `Judge` makes one.
#[derive(Debug)]
#[must_use = "a verdict that admits nothing was not needed"]
pub struct Verdict {
    payload: Payload,
    dangerous: bool,
    sensitive: Vec<BodyHole>,
}

impl Verdict {
    /// The judge states that exactly these bytes are valid. A payload that is marked dangerous counts as
    /// dangerous. No payload can declare itself harmless.
    pub fn from_valid(payload: Payload) -> Verdict {
        let dangerous = payload.is_marked("is_dangerous");
        Verdict { payload, dangerous, sensitive: Vec::new() }
    }

    /// Adds the schema's statement on which bytes hold sensitive values.
    pub fn with_sensitive(mut self, places: Vec<BodyHole>) -> Verdict {
        self.sensitive = in_order(places);
        self
    }

    /// Adds the schema's statement that the element is dangerous.
    pub fn of_dangerous_element(mut self, dangerous: bool) -> Verdict {
        self.dangerous |= dangerous;
        self
    }

    /// Whether the payload is dangerous: then a person must approve it.
    pub fn is_dangerous(&self) -> bool {
        self.dangerous
    }
}

/// Judges payloads by the schemas of a composition.
pub trait Judge {
    /// Judges the payload under that schema. It takes the payload by value, so that only the judged bytes are
    /// routed.
    fn judge_payload(
        &mut self,
        config: Digest,
        schema: SchemaId,
        payload: Payload,
    ) -> Result<Verdict, Refused>;
}

/// The kind of an admitted payload: it follows from the name of the root element and the sender's role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PayloadKind {
    /// A request or a call for that listener.
    For(Name),
    /// One call for each peer that accepts it.
    ForEach {
        /// Which answers the sender waits for.
        gather: GatherRule,
        /// The peers in file order, each with whether a person must approve its call.
        takers: Vec<(Name, bool)>,
    },
    /// A note in the sender's own root tag.
    Note,
    /// The answer to the call.
    Final,
    /// `<steer>` from outside: the listener whose schema accepted the inner payload, and that payload.
    Steer {
        /// The listener.
        to: Name,
        /// The payload.
        payload: Arc<[u8]>,
    },
    /// A payload that the pump answers. Its element says which one it is.
    Primitive(FoundAnswer),
}

/// What the door found out for a payload that the pump answers, as far as its bytes do not say it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FoundAnswer {
    /// Nothing: the bytes say everything.
    Nothing,
    /// The answer, which depends only on the configuration.
    Answer(Arc<[u8]>),
    /// The first payload of a child thread.
    Child {
        /// The suggested label.
        label: Option<String>,
        /// The addressee of the initial payload.
        to: Name,
        /// The initial payload, judged by its addressee's schema.
        initial: Arc<[u8]>,
    },
}

/// A payload that passed the checks.
#[derive(Debug)]
#[must_use = "an admitted payload must be recorded"]
pub struct Admitted {
    what: PayloadKind,
    payload: Payload,
    dangerous: bool,
    sensitive: Vec<SensitivePayload>,
    files: Result<Vec<Arc<[u8]>>, Refusal>,
}

/// A judged payload with sensitive values, and where they are in it.
#[derive(Clone, Debug)]
pub struct SensitivePayload {
    bytes: Arc<[u8]>,
    /// From here on, the bytes are those of the document that the payload came in.
    after_graft: usize,
    holes: Vec<BodyHole>,
}

impl SensitivePayload {
    /// Where its values are in the body of a record: the payload itself, or another one that holds it.
    pub fn places_in(&self, body: &[u8]) -> Option<Vec<BodyHole>> {
        let text = |bytes| std::str::from_utf8(bytes).ok();
        let own = self.bytes.get(self.after_graft..).and_then(text)?;
        // Nothing but end tags follows the payload that another one holds.
        let found = text(body)?.rfind(own)?;
        let moved = |hole: &BodyHole| {
            let start = (hole.to_range().start + found).checked_sub(self.after_graft)?;
            BodyHole::from_range(start..start + hole.to_range().len())
        };
        self.holes.iter().map(moved).collect()
    }
}

impl Verdict {
    fn sensitive(&self) -> Option<SensitivePayload> {
        let is_some = !self.sensitive.is_empty();
        is_some.then(|| SensitivePayload {
            bytes: self.payload.bytes().clone(),
            after_graft: self.payload.after_graft(),
            holes: self.sensitive.clone(),
        })
    }
}

impl Admitted {
    /// Admits a payload that the judge found valid.
    pub fn new(what: PayloadKind, verdict: Verdict) -> Admitted {
        let sensitive = verdict.sensitive().into_iter().collect();
        Admitted {
            what,
            payload: verdict.payload,
            dangerous: verdict.dangerous,
            sensitive,
            files: Ok(Vec::new()),
        }
    }

    /// The same payload with the bytes of the files that it refers to, or why it cannot be taken without them. A message
    /// that was taken before needs none.
    pub fn with_files(self, files: Result<Vec<Arc<[u8]>>, Refusal>) -> Admitted {
        Admitted { files, ..self }
    }

    /// The bytes of its files, which are kept with it.
    pub fn files(&self) -> Result<&[Arc<[u8]>], &Refusal> {
        self.files.as_deref()
    }

    /// Admits a `<spawn-thread>` with the verdict on its inner payload, which is the one that goes out.
    pub fn new_spawn(label: Option<String>, to: Name, initial: Verdict, verdict: Verdict) -> Admitted {
        let found = FoundAnswer::Child { label, to, initial: initial.payload.bytes().clone() };
        let sensitive = [&verdict, &initial].into_iter().filter_map(Verdict::sensitive).collect();
        Admitted {
            what: PayloadKind::Primitive(found),
            payload: verdict.payload,
            dangerous: initial.dangerous,
            sensitive,
            files: Ok(Vec::new()),
        }
    }

    /// Admits a payload that several peers accept. The verdicts are on the same bytes, one under each peer's
    /// schema. `None` without a taker.
    pub fn for_each(gather: GatherRule, verdicts: Vec<(Name, Verdict)>) -> Option<Admitted> {
        let takers = verdicts.iter().map(|(to, verdict)| (to.clone(), verdict.dangerous)).collect();
        let dangerous = verdicts.iter().any(|(_, verdict)| verdict.dangerous);
        // A value is sensitive if one of the schemas says so.
        let places = verdicts.iter().flat_map(|(_, verdict)| verdict.sensitive.iter().copied()).collect();
        let (_, verdict) = verdicts.into_iter().next()?;
        let verdict = verdict.with_sensitive(places);
        let sensitive = verdict.sensitive().into_iter().collect();
        Some(Admitted {
            what: PayloadKind::ForEach { gather, takers },
            payload: verdict.payload,
            dangerous,
            sensitive,
            files: Ok(Vec::new()),
        })
    }

    /// Admits a `<steer>` from outside with the verdict on its inner payload, which is the one that goes out.
    pub fn new_steer(to: Name, inside: Verdict, verdict: Verdict) -> Admitted {
        let what = PayloadKind::Steer { to, payload: inside.payload.bytes().clone() };
        let sensitive = [&verdict, &inside].into_iter().filter_map(Verdict::sensitive).collect();
        let dangerous = inside.dangerous || verdict.dangerous;
        Admitted { what, payload: verdict.payload, dangerous, sensitive, files: Ok(Vec::new()) }
    }

    /// Whether the outgoing payload is dangerous: then a person must approve it.
    pub fn is_dangerous(&self) -> bool {
        self.dangerous
    }

    /// The judged bytes that have sensitive values: its own, and those of the payload inside it.
    pub fn sensitive(&self) -> &[SensitivePayload] {
        &self.sensitive
    }

    /// The local name of the root element.
    pub fn element(&self) -> &str {
        &self.payload.name().local
    }

    /// Its kind.
    pub fn what(&self) -> &PayloadKind {
        &self.what
    }

    /// The judged bytes: these are stored, hashed and routed.
    pub fn bytes(&self) -> &Arc<[u8]> {
        self.payload.bytes()
    }
}

/// A rejected payload: the refusal for its sender, and the bytes that the log keeps.
#[derive(Debug)]
#[must_use = "a refusal that its sender never gets is a silent loss"]
pub struct Refused {
    /// The refusal for the sender.
    pub refusal: Refusal,
    /// The refused bytes, as far as they are kept.
    pub kept: Option<Arc<[u8]>>,
}

/// One item of a reply, after the door judged it.
#[derive(Debug)]
#[must_use = "every item has exactly one answer"]
pub enum JudgedItem {
    /// The item is accepted.
    Admitted(Admitted),
    /// The item is refused.
    Refused(Refused),
    /// The item names a thread. Only the pump knows which threads belong to the sender.
    ForThread {
        /// The thread as the sender wrote it.
        thread: String,
        /// The payload.
        payload: Arc<[u8]>,
        /// The judgement of the payload as one of the sender's items. It counts only once the thread is known.
        judged: Box<Result<Admitted, Refused>>,
    },
}

/// What the receipt of a reply reports, apart from the fact that the reply is on disk.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TakenReply {
    /// Whether an earlier reply to the same delivery was taken. If so, this reply is ignored.
    pub is_superseded: bool,
    /// The answers to the refused items, by item number.
    pub refused: Vec<(u32, Arc<[u8]>)>,
}

/// A listener's message, after the door judged it.
#[derive(Debug)]
pub enum JudgedContent {
    /// A reply with items.
    Items(Vec<JudgedItem>),
    /// The listener reports a failure.
    Failure {
        /// Its own code.
        code: String,
        /// The code of the first cause, if it passes on what failed below it.
        first_code: Option<String>,
        /// Whether trying again may help.
        retry: bool,
        /// Its message.
        words: String,
    },
    /// The listener reports that someone is away whom it needs.
    Away {
        /// Who, in one word.
        outage: String,
        /// Its own code.
        code: String,
        /// Whether trying again may help, if the call may not wait.
        retry: bool,
        /// Its message.
        words: String,
    },
    /// The listener's output was unusable; the next turn opens with this feedback.
    Again {
        /// Its own code.
        code: String,
        /// The feedback.
        words: String,
    },
    /// Feedback for the next turn, before the reply.
    Notice {
        /// Its own code.
        code: String,
        /// The feedback.
        words: String,
    },
    /// A sign of life.
    Progress {
        /// The part of an answer that they are, if they come from an answer on its way.
        part: Option<AnswerPart>,
        /// For the live view.
        words: String,
    },
    /// An entry for the journal. It is acknowledged when it is on disk.
    Journal {
        /// Its number, repeated in the acknowledgement.
        id: u64,
        /// The entry.
        entry: Result<JournalEntry, Refused>,
    },
    /// A question that gets an answer.
    Ask {
        /// Its number, repeated in the answer.
        id: u64,
        /// The question.
        question: Result<PumpQuestion, Refused>,
    },
}

impl JudgedItem {
    /// The payload, if the door admitted it.
    pub fn as_admitted(&self) -> Option<&Admitted> {
        match self {
            JudgedItem::Admitted(admitted) => Some(admitted),
            JudgedItem::ForThread { judged, .. } => judged.as_ref().as_ref().ok(),
            JudgedItem::Refused(_) => None,
        }
    }
}

impl JudgedContent {
    /// A failure of the listener itself.
    pub fn new_failure(code: impl Into<String>, retry: bool, words: impl Into<String>) -> JudgedContent {
        JudgedContent::Failure { code: code.into(), first_code: None, retry, words: words.into() }
    }

    /// The number that the answer carries. `None` if the pump does not answer this message.
    pub fn waits_for(&self) -> Option<u64> {
        match self {
            JudgedContent::Journal { id, .. } | JudgedContent::Ask { id, .. } => Some(*id),
            _ => None,
        }
    }

    /// Whether it shows that everyone whom the listener needs is there.
    pub fn shows_presence(&self) -> bool {
        matches!(self, JudgedContent::Items(_) | JudgedContent::Again { .. })
    }

    /// Whether it ends the delivery.
    pub fn is_reply(&self) -> bool {
        matches!(
            self,
            JudgedContent::Items(_)
                | JudgedContent::Failure { .. }
                | JudgedContent::Away { .. }
                | JudgedContent::Again { .. }
        )
    }
}

/// The unguessable name of one delivery attempt.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct LeaseToken(pub Arc<str>);

impl std::borrow::Borrow<str> for LeaseToken {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// One attempt to deliver a turn to its listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// Its token.
    pub token: LeaseToken,
    /// The listener.
    pub listener: Name,
    /// The attempt.
    pub id: AttemptId,
    /// The configuration the call began with.
    pub config: Digest,
}

/// A listener's document after the door: the lease, and what the listener said.
#[derive(Debug)]
pub struct JudgedDocument {
    /// The lease that it belongs to.
    pub lease: Arc<Lease>,
    /// What was said.
    pub said: JudgedContent,
    /// The first sender name in an item that is not the listener's own. The items are processed under the
    /// listener's own name.
    pub claimed: Option<String>,
    /// The place that waits for the receipt, if any.
    pub ticket: Option<Ticket>,
}

/// A listener's document that matches no delivery.
#[derive(Debug)]
pub struct UnmatchedDocument {
    /// The listener, from the connection.
    pub listener: Name,
    /// Why.
    pub refused: Refused,
    /// The delivery that it names and the number of the answer it waits for, if any.
    pub waits: Option<(String, u64)>,
    /// The delivery that it names, if it is a reply.
    pub replies_to: Option<String>,
    /// The place that waits for the receipt, if any.
    pub ticket: Option<Ticket>,
}

/// Identifies the place where a sender waits for its receipt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ticket(pub u64);

/// A message from outside after the door.
#[derive(Debug)]
pub struct DoorMessage {
    /// Where the sender waits.
    pub ticket: Ticket,
    /// The client, from the credential.
    pub client: Name,
    /// The idempotency key, chosen by the sender or generated.
    pub key: Key,
    /// The thread that it opens or continues.
    pub thread: ThreadChoice,
    /// The payload with its addressee, or the refusal.
    pub payload: Result<Admitted, Refused>,
    /// The sender in its envelope, if that is not the client. The receipt names it; nothing else uses it.
    pub claimed: Option<String>,
    /// What the thread is about, if the sender says so.
    pub subject: Option<Subject>,
}

impl DoorMessage {
    /// The root that the message opens, or continues by its name.
    pub fn seek_root(&self, organism: Name) -> SoughtRoot {
        let name = match &self.thread {
            ThreadChoice::Named(name) => Some(name.clone()),
            ThreadChoice::New | ThreadChoice::Known(_) => None,
        };
        SoughtRoot { organism, sender: self.client.clone(), key: self.key.clone(), name }
    }
}

/// What a sender gets when its message is on disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The thread it opened or joined.
    pub thread: ThreadId,
    /// The place in that thread.
    pub seq: u64,
    /// The record's id.
    pub id: super::ids::MessageId,
    /// The call it opened.
    pub call: super::ids::CallPath,
    /// The recorded sender name.
    pub sender: Name,
    /// Whether the same key and bytes were already received.
    pub repeated: bool,
    /// The sender that the envelope claimed, if it was replaced.
    pub claimed: Option<String>,
}

/// A failure reported by the pump: code and message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PumpFailure {
    /// The code.
    pub code: Code,
    /// The code that its listener gave for the first cause, if it gave one.
    pub first_code: Option<String>,
    /// The message.
    pub words: String,
}
