//! The values that move from room to room. Each is made only from the one before it, so code that
//! skips a check does not compile: a payload becomes `Admitted` only with a judge's `Verdict`, and
//! only what is `Admitted` can be decided upon.

use std::sync::Arc;

use systole_wire::ask::Question;
use systole_wire::journal::Entry;
use systole_wire::payload::Payload;

use super::codes::Code;
use super::composition::{Gather, SchemaId};
use super::ids::{Digest, Key, Name, ThreadId};
use super::ports::Lease;
use super::primitive::Primitive;
use super::refusal::Refusal;

/// A judge's word that a payload fits a schema. Only a `Judge` makes one.
#[derive(Debug)]
#[must_use = "a verdict that admits nothing was not needed"]
pub struct Verdict {
    payload: Payload,
    dangerous: bool,
}

impl Verdict {
    /// The judge swears that it found these very bytes valid. A payload that says of itself that it is
    /// dangerous is taken at its word; that it is not is nobody's to say.
    pub fn sworn(payload: Payload) -> Verdict {
        let dangerous = payload.is_marked("is_dangerous");
        Verdict { payload, dangerous }
    }

    /// The schema may say so as well.
    pub fn of_dangerous_element(mut self, dangerous: bool) -> Verdict {
        self.dangerous |= dangerous;
        self
    }

    /// Whether the payload is dangerous, so that a person must approve it.
    pub fn is_dangerous(&self) -> bool {
        self.dangerous
    }
}

/// Judges payloads by the schemas of a composition.
pub trait Judge {
    /// Whether the payload is valid under that schema; consumes it, so that nothing else is routed
    /// than what was judged.
    fn judge(&mut self, config: Digest, schema: SchemaId, payload: Payload) -> Result<Verdict, Refused>;
}

/// What an admitted payload is, by the name of its root element and its sender's place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// A request or a call for that listener.
    For(Name),
    /// A call for each of several peers that take it.
    ForEach {
        /// Which answers are waited for.
        gather: Gather,
        /// The peers, in order of the file, each with whether a person must approve what goes to it.
        takers: Vec<(Name, bool)>,
    },
    /// In the sender's own root tag.
    Note,
    /// It answers the call.
    Final,
    /// `<spawn-thread>`: the label that was suggested, whom the child's first payload is for, and
    /// that payload.
    Spawn {
        /// The suggested label.
        label: Option<String>,
        /// Whom the initial payload is for.
        to: Name,
        /// The initial payload, judged by its addressee's schema.
        initial: Arc<[u8]>,
    },
    /// `<steer>` from outside: the listener whose schema took the payload inside, and that payload.
    Steer {
        /// Who takes it.
        to: Name,
        /// The payload.
        payload: Arc<[u8]>,
    },
    /// Another payload that the pump answers.
    Primitive(Primitive),
}

/// A payload that may move.
#[derive(Debug)]
#[must_use = "an admitted payload must be recorded"]
pub struct Admitted {
    what: What,
    payload: Payload,
    dangerous: bool,
}

impl Admitted {
    /// Admits what a judge found valid.
    pub fn new(what: What, verdict: Verdict) -> Admitted {
        Admitted { what, payload: verdict.payload, dangerous: verdict.dangerous }
    }

    /// Admits a `<spawn-thread>` with the judge's word on the payload inside it, which is what goes out.
    pub fn spawn(label: Option<String>, to: Name, initial: Verdict, verdict: Verdict) -> Admitted {
        let what = What::Spawn { label, to, initial: initial.payload.bytes().clone() };
        Admitted { what, payload: verdict.payload, dangerous: initial.dangerous }
    }

    /// Admits a payload that several peers take, with the judge's word on it for each of them. It is that of
    /// one payload under several schemas, so each holds for the same bytes. None without a taker.
    pub fn for_each(gather: Gather, verdicts: Vec<(Name, Verdict)>) -> Option<Admitted> {
        let takers = verdicts.iter().map(|(to, verdict)| (to.clone(), verdict.dangerous)).collect();
        let dangerous = verdicts.iter().any(|(_, verdict)| verdict.dangerous);
        let (_, Verdict { payload, .. }) = verdicts.into_iter().next()?;
        Some(Admitted { what: What::ForEach { gather, takers }, payload, dangerous })
    }

    /// Admits a `<steer>` from outside with the judge's word on the payload inside it, which is what goes out.
    pub fn steer(to: Name, inside: Verdict, verdict: Verdict) -> Admitted {
        let what = What::Steer { to, payload: inside.payload.bytes().clone() };
        Admitted { what, payload: verdict.payload, dangerous: inside.dangerous || verdict.dangerous }
    }

    /// Whether what goes out is dangerous, so that a person must approve it.
    pub fn is_dangerous(&self) -> bool {
        self.dangerous
    }

    /// The local name of the root element.
    pub fn element(&self) -> &str {
        &self.payload.name().local
    }

    /// What it is.
    pub fn what(&self) -> &What {
        &self.what
    }

    /// The judged bytes: these are stored, hashed and routed.
    pub fn bytes(&self) -> &Arc<[u8]> {
        self.payload.bytes()
    }
}

/// Something that may not move: what its sender is told, and the bytes that the log keeps.
#[derive(Debug)]
#[must_use = "a refusal that nobody is told is a silent loss"]
pub struct Refused {
    /// What the sender is told.
    pub refusal: Refusal,
    /// The refused bytes, as far as they are kept.
    pub kept: Option<Arc<[u8]>>,
}

/// One item of a reply, as the door judged it.
#[derive(Debug)]
#[must_use = "every item has exactly one answer"]
pub enum Item {
    /// It may move.
    Admitted(Admitted),
    /// It may not.
    Refused(Refused),
    /// It names a thread; only the pump knows which threads are the sender's.
    ForThread {
        /// The thread as the sender wrote it.
        thread: String,
        /// The payload.
        payload: Arc<[u8]>,
        /// What it is among the sender's own words. It counts only once the thread is known.
        judged: Box<Result<Admitted, Refused>>,
    },
}

/// What the receipt of a reply says beside that its reply is on disk.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Taken {
    /// Whether another reply to the same delivery was taken before, so that this one counts for nothing.
    pub is_superseded: bool,
    /// What answers the items that were refused, by their numbers in the reply.
    pub refused: Vec<(u32, Arc<[u8]>)>,
}

/// What a listener said, as the door judged it.
#[derive(Debug)]
pub enum Said {
    /// A reply with its items.
    Items(Vec<Item>),
    /// The listener says that it failed.
    Failure {
        /// Its own code.
        code: String,
        /// Whether trying again may help.
        retry: bool,
        /// Its words.
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
        /// For the live view.
        words: String,
    },
    /// An entry for the journal, which is answered once it is on disk.
    Journal {
        /// Its number, which the answer bears.
        id: u64,
        /// The entry.
        entry: Result<Entry, Refused>,
    },
    /// A question, which is answered.
    Ask {
        /// Its number, which the answer bears.
        id: u64,
        /// The question.
        question: Result<Question, Refused>,
    },
}

impl Said {
    /// The number that an answer to it bears, where it is a word that the pump answers.
    pub fn waits_for(&self) -> Option<u64> {
        match self {
            Said::Journal { id, .. } | Said::Ask { id, .. } => Some(*id),
            _ => None,
        }
    }

    /// Whether it ends the delivery.
    pub fn is_reply(&self) -> bool {
        matches!(self, Said::Items(_) | Said::Failure { .. } | Said::Again { .. })
    }
}

/// A listener's document after the door: who said what under which lease.
#[derive(Debug)]
pub struct Judged {
    /// The lease it answers.
    pub lease: Arc<Lease>,
    /// What was said.
    pub said: Said,
    /// The first name of somebody else that an item gave as its sender's. The items go on under the
    /// listener's own.
    pub claimed: Option<String>,
    /// Where its receipt is waited for, if it is.
    pub ticket: Option<Ticket>,
}

/// A listener's document that could not be connected to any work.
#[derive(Debug)]
pub struct Unconnected {
    /// The listener, from the connection.
    pub listener: Name,
    /// Why.
    pub refused: Refused,
    /// The delivery that it names and the number of the answer that is waited for, where one is.
    pub waits: Option<(String, u64)>,
    /// The delivery that it names, where it is a reply to one.
    pub replies_to: Option<String>,
    /// Where its receipt is waited for, if it is.
    pub ticket: Option<Ticket>,
}

/// Where an asker waits for its receipt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ticket(pub u64);

/// A message from outside after the door.
#[derive(Debug)]
pub struct Asked {
    /// Where the asker waits.
    pub ticket: Ticket,
    /// The client, from the credential.
    pub client: Name,
    /// The idempotency key, chosen or drawn.
    pub key: Key,
    /// The thread it goes on with; none opens a root.
    pub thread: Option<ThreadId>,
    /// The payload and its addressee, or why not.
    pub payload: Result<Admitted, Refused>,
}

/// What an asker gets when its message is on disk.
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
    /// The name that stands as its sender.
    pub sender: Name,
    /// Whether the same key and bytes had come before.
    pub repeated: bool,
}

/// A failure as the pump words it: code and words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failing {
    /// The code.
    pub code: Code,
    /// The words.
    pub words: String,
}
