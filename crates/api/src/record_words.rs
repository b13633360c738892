//! A record in one line, for a person who watches: who spoke to whom, with which element, and what became of it.
//!
//! What a payload holds, and what people and agents said, is in the line only if it is asked for. Codes, and the reasons
//! of failures, are always.

use std::sync::Arc;

use systole_core::rules::{approval_payload, core_payload, question};
use systole_core::types::record::{MessageRole, RecordCode, RecordKind, SteerEffect, TimerEffect};
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::payload::Payload;
use systole_kit::{DocumentLimits, namespaces};
use systole_show::layout::TextTone;

use crate::types::ApiRecord;

/// What of a payload is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShownContent {
    /// Its element.
    Element,
    /// Its element and its text.
    Text,
}

impl ShownContent {
    /// Words behind something, if content is shown.
    fn add_words(self, lead: &str, words: Option<&str>) -> String {
        match words.filter(|words| self == ShownContent::Text && !words.is_empty()) {
            Some(words) => format!("{lead}{words}"),
            None => String::new(),
        }
    }
}

/// A record in one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordLine {
    /// The line.
    pub words: String,
    /// What it means for the work.
    pub colour: Option<TextTone>,
}

/// A record in one line; `None` if people need not see it.
pub fn describe_record(record: &ApiRecord, content: ShownContent) -> Option<RecordLine> {
    let code = record.code.as_deref().unwrap_or_default();
    let seen = |words: String, colour| Some(RecordLine { words, colour });
    let ways = |to: &str| format!("{} -> {to}", record.from);
    let to = ways(record.to.as_deref().unwrap_or("-"));
    match (RecordKind::parse(&record.kind)?, RecordCode::parse(code)) {
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Told))) => describe_listener(&record.body),
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Note | MessageRole::Todo))) => {
            seen(format!("{} notes {}", record.from, write_summary(&record.body, content)), None)
        }
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Final))) => {
            seen(format!("{to} {}", write_summary(&record.body, content)), Some(TextTone::Good))
        }
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Answer)))
            if question::read_said(record.body.as_bytes()).is_some() =>
        {
            let said = question::read_said(record.body.as_bytes())?;
            let by = said.by.as_deref().unwrap_or("core");
            let words: Vec<&str> = [by, &said.outcome].into_iter().chain(said.choice.as_deref()).collect();
            let note = content.add_words(": ", Some(&said.note));
            seen(format!("{to} {}{note}", words.join(" ")), None)
        }
        (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Cancelled | TimerEffect::Wall))) => None,
        (RecordKind::Message | RecordKind::Timer, _) => {
            match core_payload::error_words(record.body.as_bytes()) {
                Some((code, words)) => {
                    let words = content.add_words(" ", Some(&words));
                    seen(format!("{to} {code}{words}"), Some(TextTone::Bad))
                }
                None => seen(format!("{to} {}", write_summary(&record.body, content)), None),
            }
        }
        (RecordKind::Outcome, Some(RecordCode::Handled)) => {
            seen(format!("{to} handled"), Some(TextTone::Good))
        }
        // A refusal repeats what it refused.
        (RecordKind::Refusal, _) if content == ShownContent::Element => {
            seen(format!("{} {code}", record.kind), Some(TextTone::Bad))
        }
        (RecordKind::Refusal | RecordKind::Outcome, _) => {
            let words = core_payload::error_words(record.body.as_bytes()).map(|(_, words)| words);
            let words = words.unwrap_or_else(|| write_summary(&record.body, content));
            seen(format!("{} {code} {words}", record.kind.as_str()), Some(TextTone::Bad))
        }
        (RecordKind::Attempt, _) => {
            let attempt = core_payload::next_attempt(record.body.as_bytes())?;
            let number = attempt.number.to_string();
            let listener = record.to.as_deref().unwrap_or("-");
            seen(format!("{listener} attempt {number} {}", attempt.words), None)
        }
        (RecordKind::Approval, _) => describe_approval(record, &to, content),
        (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Steered))) => {
            seen(format!("{to} steers with {}", write_summary(&record.body, content)), None)
        }
        (RecordKind::Steer, _) => {
            let (by, note) = approval_payload::read_steering(record.body.as_bytes())?;
            seen(format!("{code} by {by}{}", content.add_words(" ", note.as_deref())), None)
        }
        (RecordKind::Journal, _) => seen(format!("{} {code}", record.from), None),
        (RecordKind::Terminal, _) => seen(format!("ended: {code}"), None),
    }
}

/// Whether a record begins a step of the work, stops it, or is a reason why it does not go on. What a step says inside,
/// and how it ends, is in the log.
pub fn is_step(record: &ApiRecord) -> bool {
    let code = RecordCode::parse(record.code.as_deref().unwrap_or_default());
    match (RecordKind::parse(&record.kind), code) {
        (Some(RecordKind::Message), Some(RecordCode::Role(role))) => matches!(
            role,
            MessageRole::Call
                | MessageRole::Begin
                | MessageRole::ToAll
                | MessageRole::ToFirst
                | MessageRole::Tell
        ),
        (Some(RecordKind::Outcome), Some(RecordCode::Handled | RecordCode::DeadLetter)) => false,
        // A first attempt follows the record that begins the step.
        (Some(RecordKind::Attempt), _) => {
            core_payload::next_attempt(record.body.as_bytes()).is_some_and(|attempt| attempt.number > 1)
        }
        (Some(kind), _) => matches!(
            kind,
            RecordKind::Refusal
                | RecordKind::Outcome
                | RecordKind::Approval
                | RecordKind::Steer
                | RecordKind::Terminal
        ),
        (None, _) => false,
    }
}

/// A request for a person, and a person's decision. `sys` counts requests only for the log.
fn describe_approval(record: &ApiRecord, to: &str, content: ShownContent) -> Option<RecordLine> {
    let body = record.body.as_bytes();
    (record.thread != "sys").then_some(())?;
    if let Some(request) = approval_payload::read_request(body) {
        let id = request.id.to_string();
        let what = format!(" ({}, {}): systole approve {id}", request.element, request.to.as_str());
        let unknown = request.unknown.map_or_else(String::new, |words| format!("; unknown: {words}"));
        return Some(RecordLine {
            words: format!("waits for a person: approval {id}{what}{unknown}"),
            colour: Some(TextTone::Held),
        });
    }
    if let Some(question) = question::read_asked(body) {
        let (id, from) = (question.id, &question.from);
        let command = question::spell_commands(id, &question.choices);
        let asked = content.add_words(": ", Some(&question.words));
        let words = format!("waits for a person: question {id} from {from}{asked}: {command}");
        return Some(RecordLine { words, colour: Some(TextTone::Held) });
    }
    let words = match approval_payload::read_decided(body) {
        Some(said) => {
            let note = content.add_words(": ", said.note.as_deref());
            format!("approval {} is {} by {}{note}", said.id, said.outcome, said.by)
        }
        None => format!("{to} in its place {}", write_summary(&record.body, content)),
    };
    Some(RecordLine { words, colour: None })
}

/// A listener's state as reported by `sys`; its other lines are only for the log.
fn describe_listener(body: &str) -> Option<RecordLine> {
    let (listener, reason) = core_payload::listener_told_of(body.as_bytes())?;
    Some(match reason {
        None => {
            let level = core_payload::sandbox_level(body.as_bytes());
            let level = level.map(|level| format!(", in a sandbox of level {level}")).unwrap_or_default();
            RecordLine { words: format!("{listener} is ready{level}"), colour: None }
        }
        Some(reason) => RecordLine { words: format!("{listener}: {reason}"), colour: Some(TextTone::Bad) },
    })
}

/// The listener that a record reports as ready.
pub fn find_joined(record: &ApiRecord) -> Option<String> {
    (record.thread == "sys").then_some(())?;
    let (listener, reason) = core_payload::listener_told_of(record.body.as_bytes())?;
    reason.is_none().then_some(listener)
}

/// The full words of a record that reports that a listener's program does not run.
pub fn find_fallen(record: &ApiRecord) -> Option<String> {
    let (listener, reason) = core_payload::listener_told_of(record.body.as_bytes())?;
    (record.thread == "sys").then_some(())?;
    reason.map(|reason| format!("{listener}: {reason}"))
}

/// The root element of a payload, and the text in it if that is shown.
fn write_summary(body: &str, content: ShownContent) -> String {
    let Ok(payload) = Payload::from_trusted(Arc::from(body.as_bytes())) else { return "?".to_owned() };
    let mut text = format!("<{}>", payload.name().local);
    if content == ShownContent::Element || *payload.name().ns == *namespaces::CORE {
        // A core answer has its content in attributes; in one line its name is enough.
        return text;
    }
    let Ok(mut gate) = XmlGate::new_strict(body.as_bytes(), &DocumentLimits::FROM_PUMP) else { return text };
    loop {
        match gate.read_step() {
            Ok(GateStep::Text(part)) => {
                text.push(' ');
                part.append_to(&mut text);
            }
            Ok(GateStep::Done) | Err(_) => break,
            Ok(_) => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: &str, code: &str, call: &str, body: &str) -> ApiRecord {
        ApiRecord {
            position: 7,
            thread: "sess-1f0c9a2b77d1".into(),
            seq: 2,
            id: String::new(),
            kind: kind.into(),
            from: "echo".into(),
            to: Some("operator".into()),
            call: Some(call.into()),
            turn: None,
            ordinal: None,
            cause: None,
            key: None,
            origin: None,
            time: "2026-11-20T07:00:01.007Z".into(),
            config: String::new(),
            code: Some(code.into()),
            head: String::new(),
            body: body.into(),
        }
    }

    const SAID: &str = r#"<said xmlns="urn:e"><text>hello</text><text>you</text></said>"#;

    #[test]
    fn a_step_is_one_record_and_what_stops_it_another() {
        for (kind, code, is_one) in [
            ("message", "request", false),
            ("message", "call", true),
            ("message", "begin", true),
            ("message", "note", false),
            ("message", "answer", false),
            ("message", "final", false),
            ("message", "spawn", false),
            ("journal", "model-started", false),
            ("timer", "set", false),
            ("outcome", "handled", false),
            ("outcome", "dead-letter", false),
            ("attempt", "", false),
            ("outcome", "listener.failed", true),
            ("refusal", "payload.invalid", true),
            ("approval", "requested", true),
        ] {
            assert_eq!(is_step(&record(kind, code, "1/1.0", SAID)), is_one, "{kind}/{code}");
        }
    }

    #[test]
    fn what_was_said_is_in_the_line_only_if_it_is_asked_for() {
        let core = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
        let error = format!(
            "<system-error {core} code=\"CODE\" retry_allowed=\"false\" message=\"4711 is no date\"/>"
        );
        let asked = format!(
            "<person-asked {core} id=\"a1\" expires=\"2026-11-28T07:55:47.782Z\" thread=\"sess-1f0c9a2b77d1\" call=\"1/2.1\" from=\"polish\">\
             <question>Pay 4711?</question><choice>go</choice><choice>no</choice></person-asked>"
        );
        let note = format!("<paused {core} by=\"ann\" note=\"for 4711\"/>");
        let said = SAID.replace("hello", "4711");
        for (kind, code, body, line) in [
            ("message", "final", &said, "echo -> operator <said>"),
            ("message", "note", &said, "echo notes <said>"),
            ("message", "inbox", &error, "echo -> operator CODE"),
            ("refusal", "payload.invalid", &error, "refusal payload.invalid"),
            (
                "approval",
                "requested",
                &asked,
                "waits for a person: question a1 from polish: systole choose a1 go, or no",
            ),
            ("steer", "paused", &note, "paused by ann"),
        ] {
            let record = record(kind, code, "1", body);
            let describe =
                |content| describe_record(&record, content).map(|line| line.words).unwrap_or_default();
            assert_eq!(describe(ShownContent::Element), line, "{kind}/{code}");
            assert!(describe(ShownContent::Text).contains("4711"), "{kind}/{code}");
        }
        let failed = record("outcome", "listener.failed", "1", &error);
        let line = describe_record(&failed, ShownContent::Element).map(|line| line.words);
        assert_eq!(
            line.as_deref(),
            Some("outcome listener.failed 4711 is no date"),
            "why it failed is always said"
        );
    }
}
