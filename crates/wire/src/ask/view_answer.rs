//! The messages of a listener's view of its call, as the answer to `<ask><view/></ask>` carries them, with the
//! model's text between them if it was asked for.
//!
//! This module does not decide which messages there are, or their order. A value comes in and a payload goes out, or
//! the other way round.

use crate::gate::{GateStep, XmlGate, XmlTag};
use crate::journal::{read_count, require_count};
use crate::place::Fault;
use crate::required_attributes::require_attribute;
use crate::writer::XmlWriter;
use crate::{DocumentLimits, Payload, QName, codes, namespaces};

/// A page of a view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ViewedPage {
    /// How many messages the whole view has, including cleared ones.
    pub count: u64,
    /// The first message of the next page, if this is not the last page.
    pub next: Option<u64>,
    /// Eight hex digits: the same in every turn and attempt of the call, different in every other call, and
    /// impossible to guess from outside the call.
    pub mark: String,
    /// The day on which the thread began, such as `2026-11-20`, in UTC.
    pub began: String,
    /// What this page shows, in order.
    pub shown: Vec<ViewEntry>,
}

/// One thing that a view shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewEntry {
    /// A message.
    Message(ViewedMessage),
    /// A model's text in a turn, if it was asked for. It comes before the items made from it.
    Words(ModelWords),
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewedMessage {
    /// Its number in the view, from 1. It never changes.
    pub seq: u64,
    /// Who said it.
    pub from: String,
    /// The receiver, if the message was sent between others.
    pub to: Option<String>,
    /// The message's place in the call.
    pub spot: MessageSpot,
    /// The message itself.
    pub payload: Payload,
}

/// The text of a model, from its listener's journal. It has no number and is not a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelWords {
    /// The turn whose reply used this text.
    pub turn: u32,
    /// Why the model stopped.
    pub stop: String,
    /// Tokens that the model read, if known.
    pub tokens_in: Option<u64>,
    /// Tokens that the model wrote, if known.
    pub tokens_out: Option<u64>,
    /// The text, unchanged.
    pub text: String,
}

/// A message's place in its call. In a view the calls of a listener follow each other. Each call begins with its
/// request, and its turns count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageSpot {
    /// The message opened the call.
    Request,
    /// The listener sent it, as an item of its reply to a turn.
    Said {
        /// The turn.
        turn: u32,
        /// The ordinal.
        ordinal: u32,
    },
    /// The message answers an item.
    Answer {
        /// The turn of the item.
        turn: u32,
        /// Its ordinal.
        ordinal: u32,
    },
    /// The message came unasked and was shown in that turn.
    Inbox {
        /// The turn.
        turn: u32,
    },
    /// The message was sent between others in the thread. The listener sees it because it sees the thread.
    Thread {
        /// The turn, if the message belongs to the work that this turn asked for.
        turn: Option<u32>,
    },
}

impl MessageSpot {
    /// The spot's word, with its turn and its ordinal.
    #[must_use]
    pub const fn parts(self) -> (&'static str, Option<u32>, Option<u32>) {
        match self {
            Self::Request => ("request", None, None),
            Self::Said { turn, ordinal } => ("said", Some(turn), Some(ordinal)),
            Self::Answer { turn, ordinal } => ("answer", Some(turn), Some(ordinal)),
            Self::Inbox { turn } => ("inbox", Some(turn), None),
            Self::Thread { turn } => ("thread", turn, None),
        }
    }

    fn from_tag<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<Self, Fault> {
        let sort = require_attribute(gate, tag, "sort")?;
        let number = |gate: &mut XmlGate<'d>, name| require_count(gate, tag, name).map(to_small);
        match sort.as_str() {
            "request" => Ok(Self::Request),
            "said" => Ok(Self::Said { turn: number(gate, "turn")?, ordinal: number(gate, "ordinal")? }),
            "answer" => Ok(Self::Answer { turn: number(gate, "turn")?, ordinal: number(gate, "ordinal")? }),
            "inbox" => Ok(Self::Inbox { turn: number(gate, "turn")? }),
            "thread" => Ok(Self::Thread { turn: read_count(gate, tag, "turn")?.map(to_small) }),
            _ => {
                let fault =
                    gate.make_fault(codes::INVALID, "the message is of no sort of a view", tag.offset);
                Err(fault.with_expected("request, said, answer, inbox or thread").with_received(&sort))
            }
        }
    }
}

impl ViewedPage {
    /// Only the messages of this page.
    pub fn messages(&self) -> impl Iterator<Item = &ViewedMessage> {
        self.shown.iter().filter_map(|shown| match shown {
            ViewEntry::Message(message) => Some(message),
            ViewEntry::Words(_) => None,
        })
    }

    /// The payload of the answer that carries this page.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let bytes: usize = self.shown.iter().map(|shown| shown.count_bytes() + 128).sum();
        let mut writer = XmlWriter::with_capacity(256 + bytes);
        let next = self.next.map(|next| next.to_string());
        let start = writer.open("view").xmlns(namespaces::LISTENER).number("count", self.count);
        let start =
            start.attr_if("next", next.as_deref()).attr("mark", &self.mark).attr("began", &self.began);
        start.content(|inside| self.shown.iter().for_each(|shown| shown.write_to(inside)));
        Payload::from_composed(writer.finish(), QName::new(namespaces::LISTENER, "view"))
    }

    /// Reads the payload back.
    ///
    /// # Errors
    /// If the payload holds no view.
    pub fn from_payload(payload: &Payload) -> Result<Self, Fault> {
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP)?;
        let mut viewed = match gate.read_step()? {
            GateStep::Open(tag)
                if gate.find_namespace(&tag) == Some(namespaces::LISTENER) && tag.local == "view" =>
            {
                Self {
                    count: require_count(&mut gate, &tag, "count")?,
                    next: read_count(&mut gate, &tag, "next")?,
                    mark: require_attribute(&mut gate, &tag, "mark")?,
                    began: require_attribute(&mut gate, &tag, "began")?,
                    shown: Vec::new(),
                }
            }
            _ => {
                let fault = gate.make_fault(codes::INVALID, "the payload holds no view", 0);
                return Err(fault.with_expected("<view>"));
            }
        };
        while let Some(tag) = gate.read_child()? {
            let shown = match tag.local {
                "message" => ViewEntry::Message(ViewedMessage::from_tag(&mut gate, &tag)?),
                "words" => ViewEntry::Words(ModelWords::from_tag(&mut gate, &tag)?),
                other => {
                    let message = format!("a view shows no <{other}>");
                    let fault = gate.make_fault(codes::INVALID, message, tag.offset);
                    return Err(fault.with_expected("<message> or <words>"));
                }
            };
            viewed.shown.push(shown);
        }
        Ok(viewed)
    }
}

impl ViewEntry {
    /// The approximate size in bytes: that of the payload or the text.
    fn count_bytes(&self) -> usize {
        match self {
            Self::Message(message) => message.payload.bytes().len(),
            Self::Words(words) => words.text.len(),
        }
    }

    fn write_to(&self, writer: &mut XmlWriter) {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        match self {
            Self::Message(ViewedMessage { seq, from, to, spot, payload }) => {
                let (sort, turn, ordinal) = spot.parts();
                let start = writer.open("message").number("seq", *seq).attr("from", from);
                start
                    .attr_if("to", to.as_deref())
                    .attr("sort", sort)
                    .attr_if("turn", number(turn.map(u64::from)).as_deref())
                    .attr_if("ordinal", number(ordinal.map(u64::from)).as_deref())
                    .write_payload(payload);
            }
            Self::Words(ModelWords { turn, stop, tokens_in, tokens_out, text }) => writer
                .open("words")
                .number("turn", u64::from(*turn))
                .attr("stop", stop)
                .attr_if("in", number(*tokens_in).as_deref())
                .attr_if("out", number(*tokens_out).as_deref())
                .text(text),
        }
    }
}

impl ViewedMessage {
    fn from_tag<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<Self, Fault> {
        let seq = require_count(gate, tag, "seq")?;
        let from = require_attribute(gate, tag, "from")?;
        let to = gate.find_attribute("to").map(std::borrow::Cow::into_owned);
        let spot = MessageSpot::from_tag(gate, tag)?;
        let Some(inside) = gate.read_child()? else {
            return Err(gate.make_fault(codes::INVALID, "the message holds no payload", tag.offset));
        };
        let payload = Payload::cut_from(gate, inside)?;
        if let Some(more) = gate.read_child()? {
            return Err(gate.make_fault(
                codes::INVALID,
                "the message holds more than one payload",
                more.offset,
            ));
        }
        Ok(Self { seq, from, to, spot, payload })
    }
}

impl ModelWords {
    fn from_tag<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<Self, Fault> {
        Ok(Self {
            turn: to_small(require_count(gate, tag, "turn")?),
            stop: require_attribute(gate, tag, "stop")?,
            tokens_in: read_count(gate, tag, "in")?,
            tokens_out: read_count(gate, tag, "out")?,
            text: gate.text_inside()?,
        })
    }
}

fn to_small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
