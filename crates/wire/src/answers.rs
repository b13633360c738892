//! `<answers>`: the payload of every turn of a call after the first.
//!
//! It is composed from records and is never a record. It does not decide the order: items keep the order of the
//! last reply, and the inbox keeps the order of the pump. A value comes in and a payload goes out, or the other way
//! round.

use crate::gate::{GateStep, XmlGate, XmlTag};
use crate::place::Fault;
use crate::writer::XmlWriter;
use crate::{DocumentLimits, Payload, QName, codes, namespaces};

/// The answers to the items of a call's last reply, and the messages that reached the call unasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// The turn that these answers open.
    pub turn: u32,
    /// Why this is the wrap-up turn, such as `budget.tokens`; `None` on any other turn.
    pub wrap_up: Option<String>,
    /// One answer per item of the last reply, in its order.
    pub items: Vec<Answer>,
    /// The messages that reached the call unasked, in the order of the pump.
    pub inbox: Vec<Payload>,
}

/// The answer to one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The item of the last reply that this answers, counted from 0.
    pub ordinal: u32,
    /// Who answered.
    pub from: Option<String>,
    /// The record of the answer in its thread.
    pub seq: Option<u64>,
    /// The answer; `None` for a note or a todo list, because recording is their answer.
    pub payload: Option<Payload>,
}

/// Writes the answers as the payload of the next delivery.
#[must_use]
pub fn write_answers(answers: &Answers) -> Payload {
    let carried = answers.items.iter().filter_map(|item| item.payload.as_ref()).chain(&answers.inbox);
    let mut writer =
        XmlWriter::with_capacity(256 + carried.map(|payload| payload.bytes().len() + 64).sum::<usize>());
    writer
        .open("answers")
        .xmlns(namespaces::CORE)
        .number("turn", u64::from(answers.turn))
        .attr_if("wrap-up", answers.wrap_up.as_deref())
        .content(|inside| {
            for item in &answers.items {
                let seq = item.seq.map(|seq| seq.to_string());
                let start = inside
                    .open("item")
                    .number("ordinal", u64::from(item.ordinal))
                    .attr_if("from", item.from.as_deref())
                    .attr_if("seq", seq.as_deref());
                match &item.payload {
                    Some(payload) => start.write_payload(payload),
                    None => start.empty(),
                }
            }
            inside
                .open("inbox")
                .content(|inbox| answers.inbox.iter().for_each(|payload| inbox.write_payload(payload)));
        });
    Payload::from_composed(writer.finish(), QName::new(namespaces::CORE, "answers"))
}

impl Answers {
    /// Reads the answers from a delivery.
    ///
    /// # Errors
    /// If the payload is not `<answers>`, so it is a request.
    pub fn from_payload(payload: &Payload) -> Result<Self, Fault> {
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP)?;
        match gate.read_step()? {
            GateStep::Open(tag)
                if gate.find_namespace(&tag) == Some(namespaces::CORE) && tag.local == "answers" => {}
            _ => {
                return Err(gate
                    .make_fault(codes::INVALID, "the payload holds no answers", 0)
                    .with_expected("<answers>"));
            }
        }
        let turn = read_number(&mut gate, "turn")?.unwrap_or(1);
        let wrap_up = read_text(&gate, "wrap-up");
        let (mut items, mut inbox) = (Vec::new(), Vec::new());
        while let Some(tag) = gate.read_child()? {
            match (gate.find_namespace(&tag), tag.local) {
                (Some(namespaces::CORE), "item") => items.push(read_item(&mut gate, &tag)?),
                (Some(namespaces::CORE), "inbox") => {
                    while let Some(arrival) = gate.read_child()? {
                        inbox.push(Payload::cut_from(&mut gate, arrival)?);
                    }
                }
                _ => gate.skip_content()?,
            }
        }
        Ok(Self { turn, wrap_up, items, inbox })
    }
}

fn read_item<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<Answer, Fault> {
    let ordinal = read_number(gate, "ordinal")?;
    let from = read_text(gate, "from");
    let seq = read_number(gate, "seq")?;
    let Some(ordinal) = ordinal else {
        return Err(gate.make_fault(codes::INVALID, "<item> has no attribute ordinal", tag.offset));
    };
    let mut payload = None;
    while let Some(found) = gate.read_child()? {
        if payload.is_some() {
            return Err(gate.make_fault(codes::INVALID, "<item> holds more than one payload", found.offset));
        }
        payload = Some(Payload::cut_from(gate, found)?);
    }
    Ok(Answer { ordinal, from, seq, payload })
}

fn read_text(gate: &XmlGate<'_>, name: &str) -> Option<String> {
    gate.find_attribute(name).map(std::borrow::Cow::into_owned)
}

fn read_number<N: std::str::FromStr>(gate: &mut XmlGate<'_>, name: &str) -> Result<Option<N>, Fault> {
    let Some(value) = read_text(gate, name) else { return Ok(None) };
    let offset = gate.offset();
    value.parse().map(Some).map_err(|_| {
        let message = format!("attribute {name} is not a whole number in range");
        gate.make_fault(codes::INVALID, message, offset).with_received(&value)
    })
}
