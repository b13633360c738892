//! The messages of a listener's own view of its call, as the answer to `<ask><view/></ask>` carries them.
//!
//! Never decides which there are or in what order. A value comes in and a payload goes out, or the other way round.

use crate::gate::{Gate, Step, Tag};
use crate::journal::{count, needed};
use crate::place::Fault;
use crate::writer::Writer;
use crate::{Limits, Payload, QName, codes, namespaces};

/// A page of a view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Viewed {
    /// How many messages the whole view has, those that were cleared included.
    pub count: u64,
    /// The first message of the next page, if this is not the last.
    pub next: Option<u64>,
    /// The messages of this page.
    pub messages: Vec<Shown>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its number in the view, from 1. It never changes.
    pub seq: u64,
    /// Who said it.
    pub from: String,
    /// Where in the call it stands.
    pub spot: Spot,
    /// What was said.
    pub payload: Payload,
}

/// Where in its call a message stands. In a view the calls of a listener follow each other; each begins with its
/// request, and its turns count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// It opened the call.
    Request,
    /// The listener said it, as that item of the reply to that turn.
    Said {
        /// The turn.
        turn: u32,
        /// The ordinal.
        ordinal: u32,
    },
    /// It answers that item.
    Answer {
        /// The turn of the item.
        turn: u32,
        /// Its ordinal.
        ordinal: u32,
    },
    /// It came unasked, and was shown in that turn.
    Inbox {
        /// The turn.
        turn: u32,
    },
}

impl Spot {
    /// The word for it, with its turn and its ordinal.
    #[must_use]
    pub const fn parts(self) -> (&'static str, Option<u32>, Option<u32>) {
        match self {
            Self::Request => ("request", None, None),
            Self::Said { turn, ordinal } => ("said", Some(turn), Some(ordinal)),
            Self::Answer { turn, ordinal } => ("answer", Some(turn), Some(ordinal)),
            Self::Inbox { turn } => ("inbox", Some(turn), None),
        }
    }

    fn read<'d>(gate: &mut Gate<'d>, tag: &Tag<'d>) -> Result<Self, Fault> {
        let sort = crate::reply::attribute(gate, tag, "sort")?;
        let number = |gate: &mut Gate<'d>, name| {
            needed(gate, tag, name).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
        };
        match sort.as_str() {
            "request" => Ok(Self::Request),
            "said" => Ok(Self::Said { turn: number(gate, "turn")?, ordinal: number(gate, "ordinal")? }),
            "answer" => Ok(Self::Answer { turn: number(gate, "turn")?, ordinal: number(gate, "ordinal")? }),
            "inbox" => Ok(Self::Inbox { turn: number(gate, "turn")? }),
            _ => {
                let fault = gate.fault(codes::INVALID, "the message is of no sort of a view", tag.offset);
                Err(fault.expected("request, said, answer or inbox").received(&sort))
            }
        }
    }
}

impl Viewed {
    /// The payload of the answer that carries this page.
    #[must_use]
    pub fn payload(&self) -> Payload {
        let bytes: usize = self.messages.iter().map(|message| message.payload.bytes().len() + 128).sum();
        let mut writer = Writer::with_capacity(256 + bytes);
        let next = self.next.map(|next| next.to_string());
        let start = writer.open("view").xmlns(namespaces::LISTENER).number("count", self.count);
        start.attr_if("next", next.as_deref()).content(|inside| {
            for Shown { seq, from, spot, payload } in &self.messages {
                let (sort, turn, ordinal) = spot.parts();
                let (turn, ordinal) = (turn.map(|n| n.to_string()), ordinal.map(|n| n.to_string()));
                inside
                    .open("message")
                    .number("seq", *seq)
                    .attr("from", from)
                    .attr("sort", sort)
                    .attr_if("turn", turn.as_deref())
                    .attr_if("ordinal", ordinal.as_deref())
                    .payload(payload);
            }
        });
        Payload::composed(writer.finish(), QName::new(namespaces::LISTENER, "view"))
    }

    /// Reads it back.
    ///
    /// # Errors
    /// When the payload holds no view.
    pub fn read(payload: &Payload) -> Result<Self, Fault> {
        let mut gate = Gate::strict(payload.bytes(), &Limits::FROM_PUMP)?;
        let (count, next) = match gate.step()? {
            Step::Open(tag) if gate.ns(&tag) == Some(namespaces::LISTENER) && tag.local == "view" => {
                (needed(&mut gate, &tag, "count")?, count(&mut gate, &tag, "next")?)
            }
            _ => {
                let fault = gate.fault(codes::INVALID, "the payload holds no view", 0);
                return Err(fault.expected("<view>"));
            }
        };
        let mut messages = Vec::new();
        while let Some(tag) = gate.child()? {
            messages.push(Shown::read(&mut gate, &tag)?);
        }
        Ok(Self { count, next, messages })
    }
}

impl Shown {
    fn read<'d>(gate: &mut Gate<'d>, tag: &Tag<'d>) -> Result<Self, Fault> {
        let seq = needed(gate, tag, "seq")?;
        let from = crate::reply::attribute(gate, tag, "from")?;
        let spot = Spot::read(gate, tag)?;
        let Some(inside) = gate.child()? else {
            return Err(gate.fault(codes::INVALID, "the message holds no payload", tag.offset));
        };
        let payload = Payload::cut(gate, inside)?;
        if let Some(more) = gate.child()? {
            return Err(gate.fault(codes::INVALID, "the message holds more than one payload", more.offset));
        }
        Ok(Self { seq, from, spot, payload })
    }
}
