//! The documents that a listener sends: replies, notices, progress, journal entries, questions.
//!
//! One pass, and a fault in one item leaves the others intact. It does not decide the meaning of an item: the pump
//! does. A document comes in and a [`ListenerDocument`] goes out, or the other way round.

use crate::ask::PumpQuestion;
use crate::gate::{GateStep, XmlGate, XmlTag};
use crate::journal::JournalEntry;
use crate::limits;
use crate::place::Fault;
use crate::required_attributes::require_attribute;
use crate::{DocumentLimits, Payload, codes, namespaces};

mod answered_documents;
mod items;
mod write;

/// One document from a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerDocument {
    /// The reply that ends a turn.
    Reply {
        /// The delivery it answers.
        delivery: String,
        /// The content of the reply.
        said: ReplyContent,
    },
    /// Feedback that is recorded and shown in the next turn.
    Notice {
        /// The delivery it belongs to.
        delivery: String,
        /// What happened, such as `agent.second-action`.
        code: String,
        /// The feedback.
        words: String,
    },
    /// A sign of life, for the live view only.
    Progress {
        /// The delivery it belongs to.
        delivery: String,
        /// The part of an answer that they are, if they come from an answer on its way.
        part: Option<AnswerPart>,
        /// The current activity, or the next words of that part.
        words: String,
    },
    /// An entry that must be durable before the listener goes on. The pump answers it.
    Journal {
        /// The delivery it belongs to.
        delivery: String,
        /// The number that the answer will carry.
        id: u64,
        /// The entry, or why it is refused.
        entry: Result<JournalEntry, Fault>,
    },
    /// A question to the pump. The pump answers it.
    Ask {
        /// The delivery it belongs to.
        delivery: String,
        /// The number that the answer will carry.
        id: u64,
        /// The question, or why it is refused.
        question: Result<PumpQuestion, Fault>,
    },
}

/// A part of an answer on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerPart {
    /// The beginning of the listener's answer, word for word.
    Answer,
    /// What the model thinks before it answers.
    Thinking,
    /// A call that the model makes.
    Call,
}

impl AnswerPart {
    /// All parts.
    pub const ALL: [AnswerPart; 3] = [AnswerPart::Answer, AnswerPart::Thinking, AnswerPart::Call];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            AnswerPart::Answer => "answer",
            AnswerPart::Thinking => "thinking",
            AnswerPart::Call => "call",
        }
    }
}

/// The content of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyContent {
    /// The items, in order; an empty list only says "handled".
    Items(Vec<Item>),
    /// The listener could not do the work.
    Failure {
        /// The listener's own name for what went wrong.
        code: String,
        /// The code of the first cause, if the listener only passes on what failed below it.
        first_code: Option<String>,
        /// Whether the same work may succeed later.
        retry: bool,
        /// What went wrong.
        words: String,
    },
    /// Who the work needs is away. If the organism's file lets it wait, this was no attempt.
    Away {
        /// Who, in one word: calls that wait for the same word are tried again one at a time.
        outage: String,
        /// The listener's own name for what went wrong.
        code: String,
        /// Whether the same work may succeed later, if no one lets it wait.
        retry: bool,
        /// What went wrong.
        words: String,
    },
    /// The output was unusable, and the next turn must say why.
    Again {
        /// The reason, such as `agent.prose-only`.
        code: String,
        /// The feedback.
        words: String,
    },
}

impl ReplyContent {
    /// A failure of the listener itself.
    pub fn new_failure(code: impl Into<String>, retry: bool, words: impl Into<String>) -> ReplyContent {
        ReplyContent::Failure { code: code.into(), first_code: None, retry, words: words.into() }
    }
}

/// One item of a reply, or the fault found in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The sender's claimed name, if present. Only the connection proves the sender; a different name is worth a
    /// notice.
    pub from: Option<String>,
    /// The receiver, if named.
    pub to: Option<String>,
    /// The thread, if named.
    pub thread: Option<String>,
    /// The payload, or why this item alone is refused.
    pub payload: Result<Payload, Fault>,
}

impl Item {
    /// An item that names neither receiver nor thread.
    #[must_use]
    pub fn plain(payload: Payload) -> Self {
        Self { from: None, to: None, thread: None, payload: Ok(payload) }
    }

    fn from_fault(fault: Fault) -> Self {
        Self { from: None, to: None, thread: None, payload: Err(fault) }
    }
}

impl ListenerDocument {
    /// Reads one document from a listener.
    ///
    /// A reply that is not well-formed, but whose delivery can be read, becomes one refused item, so that its
    /// sender can see the refusal in the right thread. An entry or a question with a readable number comes with its
    /// fault, because the sender waits for the answer to that number.
    ///
    /// # Errors
    /// If there is no one to answer: the document is not part of the protocol, or names no delivery.
    pub fn parse(document: &[u8], limits: &DocumentLimits) -> Result<Self, Fault> {
        read_whole(document, limits).or_else(|fault| match BrokenReply::parse(document, limits) {
            Some(broken) => Ok(broken.with_fault(fault)),
            None => Err(fault),
        })
    }

    /// This word as it would be read from its own document: the words of a listener in the same process pass the
    /// same gate as bytes from outside. Only if every item is a plain payload is the document itself skipped.
    ///
    /// # Errors
    /// Those of [`ListenerDocument::to_document`] and [`ListenerDocument::parse`].
    pub fn through_gate(&self, limits: &DocumentLimits) -> Result<Self, Fault> {
        match self.plain_payloads().filter(|payloads| do_fit(payloads, limits)) {
            Some(payloads) => {
                let items = payloads.into_iter().map(|payload| {
                    let read = Payload::parse(payload.bytes(), limits);
                    read.map_or_else(Item::from_fault, Item::plain)
                });
                let said = ReplyContent::Items(items.collect());
                Ok(Self::Reply { delivery: self.delivery().to_owned(), said })
            }
            None => Self::parse(&self.to_document()?, limits),
        }
    }

    /// The payloads of a reply that holds only plain payloads.
    fn plain_payloads(&self) -> Option<Vec<&Payload>> {
        let Self::Reply { delivery, said: ReplyContent::Items(items) } = self else { return None };
        let plain = |item: &Item| item.from.is_none() && item.to.is_none() && item.thread.is_none();
        let payloads = items.iter().map(|item| item.payload.as_ref().ok().filter(|_| plain(item)));
        payloads.collect::<Option<Vec<_>>>().filter(|_| !delivery.is_empty())
    }

    /// The delivery of the document.
    #[must_use]
    pub fn delivery(&self) -> &str {
        match self {
            Self::Reply { delivery, .. }
            | Self::Notice { delivery, .. }
            | Self::Progress { delivery, .. }
            | Self::Journal { delivery, .. }
            | Self::Ask { delivery, .. } => delivery,
        }
    }
}

/// Whether the payloads of a reply stay within the limits of a whole reply.
fn do_fit(payloads: &[&Payload], limits: &DocumentLimits) -> bool {
    let bytes: usize = payloads.iter().map(|payload| payload.bytes().len()).sum();
    payloads.len() <= limits.items && bytes.saturating_add(limits::REPLY_TAGS) <= limits.reply_bytes
}

fn read_whole(document: &[u8], limits: &DocumentLimits) -> Result<ListenerDocument, Fault> {
    let mut gate = XmlGate::new_lenient(document, limits)?;
    let tag = match gate.read_step()? {
        GateStep::Open(tag) if gate.find_namespace(&tag) == Some(namespaces::LISTENER) => tag,
        _ => return Err(not_protocol(&mut gate)),
    };
    if let Some(fault) = gate.take_fault() {
        return Err(fault);
    }
    let delivery = require_attribute(&mut gate, &tag, "delivery")?;
    let word = match tag.local {
        "reply" => ListenerDocument::Reply { delivery, said: items::read_items(&mut gate)? },
        "notice" => {
            let code = require_attribute(&mut gate, &tag, "code")?;
            ListenerDocument::Notice { delivery, code, words: gate.text_inside()? }
        }
        "progress" => {
            let part = read_part(&mut gate, &tag)?;
            ListenerDocument::Progress { delivery, part, words: gate.text_inside()? }
        }
        "journal" | "ask" => answered_documents::read_answered(&mut gate, &tag, delivery)?,
        _ => return Err(not_protocol(&mut gate)),
    };
    while gate.read_step()? != GateStep::Done {}
    match gate.take_fault() {
        Some(fault) => Err(fault),
        None => Ok(word),
    }
}

fn read_part(gate: &mut XmlGate<'_>, tag: &XmlTag<'_>) -> Result<Option<AnswerPart>, Fault> {
    let Some(word) = gate.find_attribute("part") else { return Ok(None) };
    let part = AnswerPart::ALL.into_iter().find(|part| part.as_str() == word);
    part.map(Some).ok_or_else(|| {
        let message = "attribute part of <progress> names no part of an answer";
        let fault = gate.make_fault(codes::INVALID, message, tag.offset).with_received(&word);
        fault.with_expected("answer, thinking or call")
    })
}

fn not_protocol(gate: &mut XmlGate<'_>) -> Fault {
    let offset = gate.offset();
    let fault = gate.make_fault(codes::INVALID, "the document is not part of the listener protocol", offset);
    fault.with_expected("reply, notice, progress, journal or ask, in urn:systole:listener:v1")
}

/// The content of the start tag of a document that could not be read whole.
struct BrokenReply {
    delivery: String,
    of: SalvagedReply,
}

enum SalvagedReply {
    Reply,
    Journal(u64),
    Ask(u64),
}

impl BrokenReply {
    fn parse(document: &[u8], limits: &DocumentLimits) -> Option<Self> {
        let head = document.get(..limits::STRAY_BYTES.min(document.len()))?;
        let readable = match std::str::from_utf8(head) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
        };
        let legal = crate::characters::first_illegal(readable).map_or(readable.len(), |(at, _)| at);
        let mut gate = XmlGate::new_lenient(readable.as_bytes().get(..legal)?, limits).ok()?;
        let GateStep::Open(tag) = gate.read_step().ok()? else { return None };
        if gate.find_namespace(&tag) != Some(namespaces::LISTENER) {
            return None;
        }
        let of = match tag.local {
            "reply" => SalvagedReply::Reply,
            "journal" => SalvagedReply::Journal(answered_documents::read_number(&mut gate, &tag).ok()?),
            "ask" => SalvagedReply::Ask(answered_documents::read_number(&mut gate, &tag).ok()?),
            _ => return None,
        };
        Some(Self { delivery: require_attribute(&mut gate, &tag, "delivery").ok()?, of })
    }

    fn with_fault(self, fault: Fault) -> ListenerDocument {
        let delivery = self.delivery;
        match self.of {
            SalvagedReply::Reply => {
                ListenerDocument::Reply { delivery, said: ReplyContent::Items(vec![Item::from_fault(fault)]) }
            }
            SalvagedReply::Journal(id) => ListenerDocument::Journal { delivery, id, entry: Err(fault) },
            SalvagedReply::Ask(id) => ListenerDocument::Ask { delivery, id, question: Err(fault) },
        }
    }
}
