//! What AG-UI says of a run that fails, and its messages at once.

use axum::response::Response;
use serde_json::{Value, json};
use systole_queries::run_events::RunCursor;

use systole_core::types::ports::Position;
use systole_following::wire_events::{EventText, WireEvent, answer_events};

/// A snapshot of messages: texts as a client sent them, and others.
pub(super) fn write_all_messages<'m>(kept: impl Iterator<Item = &'m str>, made: &[Value]) -> EventText {
    let made = made.iter().map(Value::to_string);
    let all: Vec<String> = kept.map(str::to_owned).chain(made).collect();
    format!(r#"{{"messages":[{}],"type":"MESSAGES_SNAPSHOT"}}"#, all.join(",")).into()
}

/// The end of a run that has failed.
pub(super) fn write_error(code: &str, words: &str) -> Value {
    json!({"type": "RUN_ERROR", "code": code, "message": words})
}

/// A run that is refused before it begins.
pub(super) fn answer_error(code: &str, words: &str) -> Response {
    let id = RunCursor::behind(Position::default()).to_string();
    answer_events(WireEvent::write_group(&id, vec![write_error(code, words).into()]))
}
