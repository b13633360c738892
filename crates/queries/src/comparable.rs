//! The body of a record without what differs in every run of the same thing. Each exception is one line here, with its
//! reason.
//!
//! A record comes in; text to be compared goes out.

use systole_core::types::record::{ApprovalEffect, MessageRole, Record, RecordCode, RecordKind, TimerEffect};

/// The body of a record without what differs in every run.
pub fn comparable_body(record: &Record) -> String {
    let body = String::from_utf8_lossy(&record.body).into_owned();
    let without = |attributes: &[&str]| {
        attributes.iter().fold(body.clone(), |body, attribute| blank_out(&body, &format!(" {attribute}=\"")))
    };
    match (record.header.kind, record.header.code) {
        // The time that was used is measured. Everything else that is used is counted.
        (RecordKind::Message, _) if is_about_time(&body) => without(&["used"]),
        // The due time depends on the clock.
        (RecordKind::Attempt, _) => without(&["due"]),
        // The same.
        (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Wall))) => without(&["used"]),
        // Due times, the heads of other threads, and digests of leaves, which are made of ids and salts.
        (
            RecordKind::Message,
            Some(RecordCode::Role(MessageRole::Answer | MessageRole::Inbox | MessageRole::Final)),
        ) => without(&["due", "head", "digest"]),
        // Requests are counted over the whole log, and expire by the clock. A message that is shown with a question may
        // hold a head.
        (RecordKind::Approval, Some(RecordCode::Approving(ApprovalEffect::Asked))) => {
            let body = without(&["id", "expires"]);
            let mut parts = body.split("<show ");
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |whole, part| {
                let end = part.find('>').unwrap_or(part.len());
                let (tag, rest) = part.split_at(end);
                whole + "<show " + &blank_out(tag, " hash=\"") + rest
            })
        }
        (RecordKind::Approval, code) if code != Some(RecordCode::Approving(ApprovalEffect::Amendment)) => {
            without(&["id", "expires"])
        }
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Tell))) => without(&["id", "expires"]),
        // The place of a mistake is one in the document that the listener wrote, which is not stored.
        (RecordKind::Refusal, _) => without(&["line", "column"]),
        _ => body,
    }
}

/// Whether a payload of the core is about the time budget.
fn is_about_time(body: &str) -> bool {
    (body.starts_with("<budget-warning ") || body.starts_with("<budget-exceeded "))
        && body.contains(" what=\"time\"")
}

/// The text with an empty value in that attribute, everywhere.
fn blank_out(text: &str, begin: &str) -> String {
    let mut parts = text.split(begin);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(begin);
        out.push_str(part.find('"').and_then(|at| part.get(at..)).unwrap_or(part));
    }
    out
}
