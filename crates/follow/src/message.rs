//! What is posted about a record: JSON in the form of Standard Webhooks, or a text for Slack.
//!
//! A record and how much of it may be sent come in; bytes go out. A value that its schema marks as sensitive is never
//! among them. Journal entries and refusals repeat such values without a mark, so their bodies are never sent either.

use serde_json::{Value, json};

use systole_core::rules::core_payload;
use systole_core::rules::stuck_payload::{self, StuckCalls};
use systole_core::types::ids::Name;
use systole_core::types::ports::Position;
use systole_core::types::record::{Record, RecordCode};

use crate::event::FollowedKind;
use crate::limits::SLACK_CHARACTERS;
use crate::settings::{EventContent, HookForm};

/// Writes what is posted about a record.
pub(crate) fn write_event(
    (organism, kind): (&Name, FollowedKind),
    (position, record): (Position, &Record),
    form: HookForm,
    content: EventContent,
) -> Vec<u8> {
    let body = (content == EventContent::Whole).then(|| record.read_shown()).flatten();
    let said = match form {
        HookForm::Standard => write_standard((organism, kind), (position, record), body),
        HookForm::Slack => json!({"text": write_text((organism, kind), (position, record), body)}),
    };
    said.to_string().into_bytes()
}

/// The fields have the names of `systole log --json`.
fn write_standard(
    (organism, kind): (&Name, FollowedKind),
    (position, record): (Position, &Record),
    body: Option<String>,
) -> Value {
    let h = &record.header;
    let mut data = json!({
        "organism": organism.as_str(),
        "position": position.0,
        "thread": h.thread.as_str(),
        "seq": h.seq,
        "id": h.id.to_string(),
        "kind": h.kind.as_str(),
        "from": h.from.as_str(),
        "to": h.to.as_ref().map(Name::as_str),
        "call": h.call.as_ref().map(|call| call.as_str()),
        "turn": h.turn,
        "code": h.code.map(RecordCode::as_str),
    });
    if let Some(data) = data.as_object_mut() {
        data.extend(
            core_payload::read_first_code(&record.body).map(|code| ("first-code".to_owned(), code.into())),
        );
        let stuck = stuck_payload::read_stuck(&record.body).filter(|_| kind == FollowedKind::Stuck);
        data.extend(stuck.map(|stuck| ("stuck".to_owned(), write_stuck(&stuck))));
        data.extend(body.map(|body| ("body".to_owned(), body.into())));
    }
    json!({"type": kind.as_str(), "timestamp": h.time.to_string(), "data": data})
}

/// Which calls are stuck: the attributes of the record.
fn write_stuck(stuck: &StuckCalls) -> Value {
    let StuckCalls { listener, cause, calls, thread, call, since, at } = stuck;
    json!({"listener": listener.as_str(), "cause": cause, "calls": calls, "thread": thread.as_str(),
        "call": call.as_str(), "since": since.to_string(), "at": at.to_string()})
}

/// One line with what happened and where, and one with the command that tells more.
fn write_text(
    (organism, kind): (&Name, FollowedKind),
    (position, record): (Position, &Record),
    body: Option<String>,
) -> String {
    let h = &record.header;
    let code = match h.code {
        Some(RecordCode::Code(code)) => format!(" ({})", code.as_str()),
        _ => String::new(),
    };
    let stuck = stuck_payload::read_stuck(&record.body).filter(|_| kind == FollowedKind::Stuck);
    let thread = stuck.as_ref().map_or(&h.thread, |stuck| &stuck.thread);
    let of_stuck = stuck.as_ref().map(|stuck| format!("stuck at {} ({})", stuck.listener, stuck.cause));
    let (what, command) = match kind {
        FollowedKind::Person => ("waits for a person", "systole approve".to_owned()),
        FollowedKind::Failed => ("failed", format!("systole why {thread}")),
        FollowedKind::Answered => ("answered", format!("systole tree {thread}")),
        FollowedKind::Reopened => ("goes on after its failure", format!("systole why {thread}")),
        FollowedKind::Stuck => (of_stuck.as_deref().unwrap_or("stuck"), format!("systole why {thread}")),
        FollowedKind::Refused => ("refused", format!("systole log {thread}")),
        FollowedKind::Budget => ("a budget is nearly used, or used up", format!("systole why {thread}")),
        FollowedKind::Record => (h.kind.as_str(), format!("systole log {thread}")),
    };
    let mut text = format!("{organism}: {what}{code}: {thread}, record {}\n{command}", position.0);
    if let Some(body) = body {
        let shown: String = body.chars().take(SLACK_CHARACTERS).collect();
        let more = if shown.len() < body.len() { "…" } else { "" };
        text = format!("{text}\n{shown}{more}");
    }
    // The three characters with a meaning in Slack's texts.
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
