//! `<attempt>`: the begin of an attempt, and what happens to it until its end.

use super::element::{PayloadBytes, read_attributes, read_text, write_element};
use crate::types::codes::Code;
use crate::types::record::AttemptEffect;
use crate::types::time::Millis;

/// The content of an attempt record: the number of the next attempt, its time, and why the previous one failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttemptRecord {
    /// Its number, from 1.
    pub number: u32,
    /// Earliest time of the attempt.
    pub due: Millis,
    /// Why the previous attempt failed. `None` for a first attempt.
    pub code: Option<Code>,
    /// Whether the previous attempt was lost because the pump died.
    pub with_pump: bool,
    /// The details of that failure.
    pub words: String,
}

/// What happens to an attempt between its begin and its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttemptState {
    /// It reaches no one for now, and waits.
    Waits {
        /// Who is away, in one word.
        outage: String,
        /// The code of the failure that said so. That failure ended the attempt before, which this record numbers.
        after: Option<Code>,
        /// The details.
        words: String,
    },
    /// That outage is over for it.
    GoesOn(String),
    /// A worker on another machine took it at that time of the broker.
    Taken(Millis),
}

impl AttemptState {
    /// The code of its record.
    pub fn effect(&self) -> AttemptEffect {
        match self {
            AttemptState::Waits { .. } => AttemptEffect::Waits,
            AttemptState::GoesOn(_) => AttemptEffect::GoesOn,
            AttemptState::Taken(_) => AttemptEffect::Taken,
        }
    }
}

/// `<attempt>` that begins none: what happens to the one with this number.
pub fn attempt_state(number: u32, due: Millis, state: &AttemptState) -> PayloadBytes {
    let (outage, over, taken, after, words) = match state {
        AttemptState::Waits { outage, after, words } => (Some(&**outage), None, None, *after, &**words),
        AttemptState::GoesOn(outage) => (Some(&**outage), Some("true"), None, None, ""),
        AttemptState::Taken(at) => (None, None, Some(at.to_string()), None, ""),
    };
    write_element("attempt", |start| {
        start
            .number("number", u64::from(number))
            .attr("due", &due.to_string())
            .attr_if("code", after.map(Code::as_str))
            .attr_if("outage", outage)
            .attr_if("over", over)
            .attr_if("taken", taken.as_deref())
            .text(words);
    })
}

/// What happens to an attempt; `None` for a record that begins one.
pub fn read_attempt_state(body: &[u8]) -> Option<AttemptState> {
    let [outage, over, taken, code] = read_attributes(body, "attempt", ["outage", "over", "taken", "code"])?;
    match (outage, over, taken) {
        (Some(outage), None, _) => {
            let after = code.as_deref().and_then(Code::parse);
            Some(AttemptState::Waits { outage, after, words: read_text(body)? })
        }
        (Some(outage), Some(_), _) => Some(AttemptState::GoesOn(outage)),
        (None, _, Some(taken)) => Some(AttemptState::Taken(Millis::parse(&taken)?)),
        (None, _, None) => None,
    }
}

/// `<attempt>`: recorded before the attempt is made.
pub fn write_attempt(attempt: &AttemptRecord) -> PayloadBytes {
    write_element("attempt", |start| {
        start
            .number("number", u64::from(attempt.number))
            .attr("due", &attempt.due.to_string())
            .attr_if("code", attempt.code.map(Code::as_str))
            .attr_if("with_pump", attempt.with_pump.then_some("true"))
            .text(&attempt.words);
    })
}

/// Reads an `<attempt>`.
pub fn read_attempt(body: &[u8]) -> Option<AttemptRecord> {
    let wanted = ["number", "due", "code", "with_pump", "outage", "taken"];
    let [number, due, code, with_pump, outage, taken] = read_attributes(body, "attempt", wanted)?;
    if outage.is_some() || taken.is_some() {
        return None;
    }
    let words = read_text(body)?;
    Some(AttemptRecord {
        number: number?.parse().ok()?,
        due: Millis::parse(&due?)?,
        code: code.as_deref().and_then(Code::parse),
        with_pump: with_pump.is_some_and(|text| text == "true"),
        words,
    })
}

/// The attempt that a record numbers: one that begins, or one that waits because the attempt before found someone away.
pub fn next_attempt(body: &[u8]) -> Option<AttemptRecord> {
    if let Some(attempt) = read_attempt(body) {
        return Some(attempt);
    }
    let AttemptState::Waits { after: Some(code), words, .. } = read_attempt_state(body)? else { return None };
    let [number, due] = read_attributes(body, "attempt", ["number", "due"])?;
    let (number, due) = (number?.parse().ok()?, Millis::parse(&due?)?);
    Some(AttemptRecord { number, due, code: Some(code), with_pump: false, words })
}
