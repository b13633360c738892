//! The documents of the pump, written by the pump's own writers, and the tasks of `schemas/conform.xsd`.
//!
//! It sends nothing. In: what a check wants to say. Out: bytes, and what a worker must know of them.

use systole_kit::answers::{Answer, Answers, write_answers};
use systole_kit::envelope::{EnvelopeAddress, EnvelopeStamp, write_envelope};
use systole_kit::{DocumentLimits, Payload, namespaces, writer};

/// The schema of the tasks that a worker is judged with.
pub const CONFORM_XSD: &str = include_str!("../../../schemas/conform.xsd");
/// The namespace of the tasks.
pub(crate) const CONFORM: &str = "https://xml-pipeline.org/ns/conform/v1";
/// Who sends every request.
pub(crate) const SENDER: &str = "operator";
/// Who answers what a worker calls.
pub(crate) const PEER: &str = "peer";

/// One attempt at one turn of a call.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    /// Its name.
    pub token: String,
    /// The path of its call.
    pub call: String,
    /// The key of its work.
    pub key: String,
    /// The turn.
    pub turn: u32,
    /// The attempt.
    pub attempt: u32,
    /// How many journal entries earlier attempts left.
    pub journal: Option<u32>,
    /// The thread.
    pub thread: String,
    /// What it brings.
    pub payload: Payload,
}

impl Delivery {
    /// The whole document, as the pump writes it.
    pub(crate) fn to_document(&self, listener: &str) -> Vec<u8> {
        let is_request = self.turn == 1;
        let stamp = EnvelopeStamp {
            id: is_request.then(|| "01a2253c-23b8-76e7-87ab-65e2d7a09ad6".to_owned()),
            seq: is_request.then_some(1),
            at: is_request.then(|| "2026-11-29T02:57:08.024Z".to_owned()),
            call: self.call.clone(),
            turn: self.turn,
            delivery: self.token.clone(),
            attempt: self.attempt,
            key: self.key.clone(),
            journal: self.journal,
            request: Some(1),
            ..EnvelopeStamp::default()
        };
        let address =
            EnvelopeAddress { from: Some(SENDER), to: Some(listener), thread: Some(self.thread.as_str()) };
        write_envelope(&address, Some(&stamp), &self.payload)
    }

    /// Another attempt at the same turn.
    pub(crate) fn again(&self, token: String, journal: Option<u32>) -> Delivery {
        Delivery { token, attempt: self.attempt + 1, journal, ..self.clone() }
    }

    /// The next turn of the same call.
    pub(crate) fn with_answers(&self, token: String, payload: Payload) -> Delivery {
        let key = format!("{}{:02}", &self.key.get(2..).unwrap_or_default(), self.turn + 1);
        Delivery { token, key, turn: self.turn + 1, attempt: 1, journal: None, payload, ..self.clone() }
    }
}

/// A payload from XML that the kit wrote.
pub(crate) fn read_payload(xml: &str) -> Payload {
    let read = Payload::parse(xml.as_bytes(), &DocumentLimits::FROM_PUMP);
    // What the kit writes is well-formed; a test reads every document of every check.
    read.unwrap_or_else(|fault| Payload::write(CONFORM, "task", |inside| inside.text(&fault.to_string())))
}

/// A text as XML carries it, in content or in a value.
pub(crate) fn escape_text(text: &str, in_attribute: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    writer::escape(&mut bytes, text, in_attribute);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A `<task>`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Task<'t> {
    /// What to do.
    pub work: &'t str,
    /// How many, how long or how large.
    pub n: Option<u64>,
    /// A code.
    pub code: Option<&'t str>,
    /// What it works on.
    pub text: &'t str,
}

impl<'t> Task<'t> {
    /// Work on a text.
    pub(crate) fn new(work: &'t str, text: &'t str) -> Task<'t> {
        Task { work, text, ..Task::default() }
    }

    /// The same with a number.
    pub(crate) fn number(self, n: u64) -> Task<'t> {
        Task { n: Some(n), ..self }
    }

    /// The same with a code.
    pub(crate) fn code(self, code: &'t str) -> Task<'t> {
        Task { code: Some(code), ..self }
    }

    /// The payload.
    pub(crate) fn to_payload(self) -> Payload {
        let n = self.n.map(|n| format!(" n=\"{n}\"")).unwrap_or_default();
        let code = self.code.map(|code| format!(" code=\"{}\"", escape_text(code, true))).unwrap_or_default();
        let text = escape_text(self.text, false);
        read_payload(&format!("<task xmlns=\"{CONFORM}\" do=\"{}\"{n}{code}>{text}</task>", self.work))
    }
}

/// A `<done>` of a peer.
pub(crate) fn write_done(text: &str) -> Payload {
    let text = escape_text(text, false);
    read_payload(&format!(
        "<done xmlns=\"{CONFORM}\" key=\"k\" attempt=\"1\" turn=\"1\" sender=\"{PEER}\">{text}</done>"
    ))
}

/// A `<system-error>`.
pub(crate) fn write_refusal(code: &str, message: &str) -> Payload {
    read_payload(&format!(
        "<system-error xmlns=\"{}\" code=\"{code}\" message=\"{}\"/>",
        namespaces::CORE,
        escape_text(message, true)
    ))
}

/// `<answers>` of a turn.
pub(crate) fn write_turn(turn: u32, items: Vec<Option<Payload>>, inbox: Vec<Payload>) -> Payload {
    let answer = |(at, payload): (usize, Option<Payload>)| Answer {
        ordinal: u32::try_from(at).unwrap_or(u32::MAX),
        from: payload.is_some().then(|| PEER.to_owned()),
        seq: Some(3 + at as u64),
        payload,
    };
    let items = items.into_iter().enumerate().map(answer).collect();
    write_answers(&Answers { turn, wrap_up: None, items, inbox })
}
