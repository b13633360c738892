//! The growing log for a person who watches: one line per record, never taken back. On a terminal the
//! lines of a call are below it and cut to fit; elsewhere each line is complete.

use std::sync::Arc;

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::payload::Payload;
use systole_kit::{DocumentLimits, namespaces};

use super::screen::Screen;
use systole_core::rules::{approval_payload, core_payload, question};
use systole_core::types::ids::CallPath;
use systole_core::types::record::{MessageRole, RecordCode, RecordKind, SteerEffect, TimerEffect};
use systole_core::types::time::Millis;
use systole_doors::api_types::ApiRecord;
use systole_show::columns::{cut, cut_counted, plain, width};
use systole_show::layout::{self, TextTone};

/// Keeps what was shown last, so that it is not repeated.
pub(super) struct Live {
    screen: Screen,
    thread: String,
    /// The day and the offset of the last shown times.
    heading: String,
    /// The listeners whose program runs elsewhere.
    over_nats: Vec<String>,
}

impl Live {
    pub(super) fn new(screen: Screen) -> Live {
        Live { screen, thread: String::new(), heading: String::new(), over_nats: Vec::new() }
    }

    /// The same for an organism with these listeners over NATS.
    pub(super) fn with_workers(self, over_nats: Vec<String>) -> Live {
        Live { over_nats, ..self }
    }

    /// Shows a record as data, for people.
    pub(super) fn show(&mut self, record: &ApiRecord) {
        for line in self.lines(record, layout::columns()) {
            self.screen.show_drawn(&line);
        }
    }

    /// Shows a record as a message beside data of another kind.
    pub(super) fn mention(&mut self, record: &ApiRecord) {
        for line in self.lines(record, layout::talk_columns()) {
            self.screen.say_drawn(&line);
        }
    }

    /// The lines of a record, on a terminal with that many columns.
    fn lines(&mut self, record: &ApiRecord, columns: usize) -> Vec<String> {
        let Some(mut what) = describe_record(record) else { return Vec::new() };
        if find_joined(record).is_some_and(|listener| self.over_nats.contains(&listener)) {
            // Whether any worker answers under its name is reported separately.
            what.words.push_str(" for workers");
        }
        if !self.screen.terminal {
            let call = record.call.as_deref().unwrap_or("-");
            let line = format!("{} {} {call} {}", record.position, record.thread, what.words);
            return vec![plain(&line)];
        }
        let mut lines = Vec::new();
        let at = Millis::parse(&record.time).unwrap_or_default();
        let heading = layout::heading(at);
        if self.heading != heading && !layout::offset(at).is_empty() {
            lines.push(heading.clone());
            self.heading = heading;
        }
        if self.thread != record.thread {
            self.thread.clone_from(&record.thread);
            lines.push(cut(&record.thread, columns));
        }
        let depth =
            record.call.as_deref().and_then(|call| CallPath::parse(call).ok()).map_or(0, |c| c.depth());
        let indent = "  ".repeat(1 + depth.min(12));
        let lead = format!("{}{indent}", layout::clock(at));
        let words = cut_counted(&plain(&what.words), columns.saturating_sub(width(&lead)));
        lines.push(format!("{lead}{}", self.paint_words(&words, what.colour)));
        lines
    }

    fn paint_words(&self, words: &str, colour: Option<TextTone>) -> String {
        colour.map_or_else(|| words.to_owned(), |tone| self.screen.colour(tone, words))
    }
}

struct What {
    words: String,
    colour: Option<TextTone>,
}

/// A record in one line; `None` if people need not see it.
fn describe_record(record: &ApiRecord) -> Option<What> {
    let code = record.code.as_deref().unwrap_or_default();
    let seen = |words: String, colour| Some(What { words, colour });
    let ways = |to: &str| format!("{} -> {to}", record.from);
    let to = ways(record.to.as_deref().unwrap_or("-"));
    match (RecordKind::parse(&record.kind)?, RecordCode::parse(code)) {
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Told))) => describe_listener(&record.body),
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Note | MessageRole::Todo))) => {
            seen(format!("{} notes {}", record.from, write_summary(&record.body)), None)
        }
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Final))) => {
            seen(format!("{to} {}", write_summary(&record.body)), Some(TextTone::Good))
        }
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Answer)))
            if question::read_said(record.body.as_bytes()).is_some() =>
        {
            let said = question::read_said(record.body.as_bytes())?;
            let by = said.by.as_deref().unwrap_or("core");
            let words: Vec<&str> = [by, &said.outcome].into_iter().chain(said.choice.as_deref()).collect();
            let note = if said.note.is_empty() { String::new() } else { format!(": {}", said.note) };
            seen(format!("{to} {}{note}", words.join(" ")), None)
        }
        (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Cancelled | TimerEffect::Wall))) => None,
        (RecordKind::Message | RecordKind::Timer, _) => {
            match core_payload::error_words(record.body.as_bytes()) {
                Some((code, words)) => seen(format!("{to} {code} {words}"), Some(TextTone::Bad)),
                None => seen(format!("{to} {}", write_summary(&record.body)), None),
            }
        }
        (RecordKind::Outcome, Some(RecordCode::Handled)) => {
            seen(format!("{to} handled"), Some(TextTone::Good))
        }
        (RecordKind::Refusal | RecordKind::Outcome, _) => {
            let words = core_payload::error_words(record.body.as_bytes()).map(|(_, words)| words);
            let words = words.unwrap_or_else(|| write_summary(&record.body));
            seen(format!("{} {code} {words}", record.kind.as_str()), Some(TextTone::Bad))
        }
        (RecordKind::Attempt, _) => {
            let attempt = core_payload::next_attempt(record.body.as_bytes())?;
            let number = attempt.number.to_string();
            let listener = record.to.as_deref().unwrap_or("-");
            seen(format!("{listener} attempt {number} {}", attempt.words), None)
        }
        (RecordKind::Approval, _) => describe_approval(record, &to),
        (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Steered))) => {
            seen(format!("{to} steers with {}", write_summary(&record.body)), None)
        }
        (RecordKind::Steer, _) => {
            let (by, note) = approval_payload::read_steering(record.body.as_bytes())?;
            seen(format!("{code} by {by} {}", note.unwrap_or_default()), None)
        }
        (RecordKind::Journal, _) => seen(format!("{} {code}", record.from), None),
        (RecordKind::Terminal, _) => seen(format!("ended: {code}"), None),
    }
}

/// Whether a record begins a step of the work, stops it, or is a reason why it does not go on. What a step says inside,
/// and how it ends, is in the log.
pub(super) fn is_step(record: &ApiRecord) -> bool {
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
fn describe_approval(record: &ApiRecord, to: &str) -> Option<What> {
    let body = record.body.as_bytes();
    (record.thread != "sys").then_some(())?;
    if let Some(request) = approval_payload::read_request(body) {
        let id = request.id.to_string();
        let what = format!(" ({}, {}): systole approve {id}", request.element, request.to.as_str());
        let unknown = request.unknown.map_or_else(String::new, |words| format!("; unknown: {words}"));
        return Some(What {
            words: format!("waits for a person: approval {id}{what}{unknown}"),
            colour: Some(TextTone::Held),
        });
    }
    if let Some(question) = question::read_asked(body) {
        let (id, from) = (question.id, &question.from);
        let command = question::spell_commands(id, &question.choices);
        let words = format!("waits for a person: question {id} from {from}: {}: {command}", question.words);
        return Some(What { words, colour: Some(TextTone::Held) });
    }
    let words = match approval_payload::read_decided(body) {
        Some(said) => {
            let note = said.note.map_or_else(String::new, |note| format!(": {note}"));
            format!("approval {} is {} by {}{note}", said.id, said.outcome, said.by)
        }
        None => format!("{to} in its place {}", write_summary(&record.body)),
    };
    Some(What { words, colour: None })
}

/// A listener's state as reported by `sys`; its other lines are only for the log.
fn describe_listener(body: &str) -> Option<What> {
    let (listener, reason) = core_payload::listener_told_of(body.as_bytes())?;
    Some(match reason {
        None => {
            let level = core_payload::sandbox_level(body.as_bytes());
            let level = level.map(|level| format!(", in a sandbox of level {level}")).unwrap_or_default();
            What { words: format!("{listener} is ready{level}"), colour: None }
        }
        Some(reason) => What { words: format!("{listener}: {reason}"), colour: Some(TextTone::Bad) },
    })
}

/// The listener that a record reports as ready.
pub(super) fn find_joined(record: &ApiRecord) -> Option<String> {
    (record.thread == "sys").then_some(())?;
    let (listener, reason) = core_payload::listener_told_of(record.body.as_bytes())?;
    reason.is_none().then_some(listener)
}

/// The full words of a record that reports that a listener's program does not run.
pub(super) fn find_fallen(record: &ApiRecord) -> Option<String> {
    let (listener, reason) = core_payload::listener_told_of(record.body.as_bytes())?;
    (record.thread == "sys").then_some(())?;
    reason.map(|reason| format!("{listener}: {reason}"))
}

/// The root element of a payload and the text in it.
fn write_summary(body: &str) -> String {
    let Ok(payload) = Payload::from_trusted(Arc::from(body.as_bytes())) else { return "?".to_owned() };
    let mut text = format!("<{}>", payload.name().local);
    if *payload.name().ns == *namespaces::CORE {
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
    use systole_show::limits::COLUMNS;

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

    fn live(terminal: bool, colour: bool) -> Live {
        Live::new(Screen { json: false, terminal, colour })
    }

    const SAID: &str = r#"<said xmlns="urn:e"><text>hello</text><text>you</text></said>"#;

    #[test]
    fn a_terminal_shows_calls_below_their_thread_and_lines_that_fit() {
        let mut live = live(true, false);
        assert_eq!(
            live.lines(&record("message", "final", "1", SAID), COLUMNS),
            ["sess-1f0c9a2b77d1", "07:00:01  echo -> operator <said> hello you"]
        );
        let nested = live.lines(&record("message", "call", "1/1.0", SAID), COLUMNS);
        assert_eq!(nested, ["07:00:01    echo -> operator <said> hello you"], "the thread is not said again");
        let long = SAID.replace("hello", &"many words ".repeat(50));
        assert!(
            live.lines(&record("message", "final", "1", &long), COLUMNS)
                .iter()
                .all(|l| l.chars().count() <= COLUMNS)
        );
    }

    #[test]
    fn elsewhere_each_line_stands_for_itself() {
        let lines = live(false, false).lines(&record("message", "final", "1", SAID), COLUMNS);
        assert_eq!(lines, ["7 sess-1f0c9a2b77d1 1 echo -> operator <said> hello you"]);
    }

    #[test]
    fn row_20_nothing_of_a_payload_reaches_a_terminal_unescaped() {
        let hostile = SAID.replace("hello", "\u{202e}olleh \u{85}");
        let lines = live(true, true).lines(&record("message", "final", "1", &hostile), COLUMNS).concat();
        assert!(lines.contains("\\u{202e}olleh \\u{85}"), "{lines}");
        assert!(lines.contains("\u{1b}[32m") && lines.ends_with("\u{1b}[0m"), "{lines}");
    }

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
    fn a_failure_is_told_in_its_own_words() {
        let error = r#"<system-error xmlns="https://xml-pipeline.org/ns/core/v1" code="listener.failed" retry_allowed="false" message="echo: exited 1"/>"#;
        let lines = live(false, false).lines(&record("outcome", "listener.failed", "1", error), COLUMNS);
        assert_eq!(lines, ["7 sess-1f0c9a2b77d1 1 outcome listener.failed echo: exited 1"]);
    }
}
