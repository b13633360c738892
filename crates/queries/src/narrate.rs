//! A record in words: who told whom what, and what went wrong.
//!
//! Nothing of a payload gets out unescaped, and no line is wider than a terminal. A record comes in;
//! one line goes out, or a few if there is a refusal with a fix.

use serde_json::{Value, json};
use systole_kit::journal::{EarlierEntry, JournalEntry};

use super::glance::{PayloadGlance, attribute, glance, read_error, stand_in};
use crate::limits;
use systole_core::pump::primitives;
use systole_core::rules::core_payload::AttemptState;
use systole_core::rules::{approval_payload, core_payload, question};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::Position;
use systole_core::types::record::{
    Header, MessageRole, Record, RecordCode, RecordKind, SteerEffect, TimerEffect,
};
use systole_show::columns::{self, at_most, cut, plain, wrapped};
use systole_show::layout::{self, TextTone, paint};

/// Describes a record. The thread's id is omitted if it equals `within`.
pub fn narrate(record: &Record, within: Option<&ThreadId>) -> Vec<String> {
    let h = &record.header;
    let mut lead = layout::clock(h.time);
    if within != Some(&h.thread) {
        lead.extend(["  ", &columns::thread(&h.thread, limits::THREAD_COLUMNS)]);
    }
    lead.extend(["  #", &h.seq.to_string()]);
    match h.kind {
        RecordKind::Message | RecordKind::Timer => message(&lead, record),
        RecordKind::Refusal => refusal(&lead, record),
        RecordKind::Outcome => outcome(&lead, record),
        RecordKind::Attempt => attempt(&lead, record),
        RecordKind::Approval => approval(&lead, record),
        RecordKind::Steer if record.header.code == Some(RecordCode::Steering(SteerEffect::Steered)) => {
            message(&lead, record)
        }
        RecordKind::Steer => steer(&lead, record),
        RecordKind::Journal => journal(&lead, record),
        RecordKind::Terminal => {
            let by = h.to.as_ref().map_or("core", |name| name.as_str());
            let how = if h.code == Some(RecordCode::Ended) { ", at rest, by " } else { ", cancelled by " };
            wrapped(&lead, limits::INDENT, &format!(" the thread ends{how}{}", name(by)))
        }
    }
}

fn name(text: &str) -> String {
    cut(text, limits::NAME_COLUMNS)
}

/// The name of a speaker or receiver.
fn who(text: &str) -> String {
    paint(TextTone::Name, &name(text))
}

/// `from → to`, or only the name for a note to itself.
fn parties(h: &Header) -> String {
    match &h.to {
        Some(to) => format!(" {} → {}", who(h.from.as_str()), who(to.as_str())),
        None => format!(" {}", who(h.from.as_str())),
    }
}

/// The call of a record; for an item, the path of the call that it opens.
fn call(h: &Header) -> Option<String> {
    let path = h.call.as_ref()?;
    let item =
        h.turn.zip(h.ordinal).filter(|_| !matches!(h.code, Some(RecordCode::Role(MessageRole::Final))));
    Some(item.map_or_else(|| path.to_string(), |(turn, ordinal)| path.append_item(turn, ordinal).to_string()))
}

fn element(seen: &PayloadGlance) -> String {
    format!("<{}>", seen.element)
}

fn message(lead: &str, record: &Record) -> Vec<String> {
    let h = &record.header;
    let seen = glance(&record.body);
    let mut head = parties(h);
    let sense = match h.code {
        Some(RecordCode::Role(MessageRole::Request | MessageRole::Begin)) => "opens call",
        Some(RecordCode::Role(MessageRole::Call)) => "call",
        Some(RecordCode::Role(MessageRole::ToAll)) => "to all, call",
        Some(RecordCode::Role(MessageRole::ToFirst)) => "to the first, call",
        Some(RecordCode::Role(MessageRole::Note)) => "note",
        Some(RecordCode::Role(MessageRole::Steer)) => "steers a thread, item",
        Some(RecordCode::Steering(SteerEffect::Steered)) => "steers call",
        Some(RecordCode::Role(MessageRole::Final)) => "answers call",
        Some(RecordCode::Role(MessageRole::Answer)) => "answer to",
        Some(RecordCode::Role(MessageRole::Inbox)) => "inbox of call",
        Some(RecordCode::Role(MessageRole::Tell)) => "tells, call",
        Some(RecordCode::Timing(TimerEffect::Fired)) => "a timer fired, inbox of call",
        Some(RecordCode::Timing(TimerEffect::Opens)) => "a timer fired, opens call",
        Some(RecordCode::Timing(TimerEffect::Cancelled)) => "a timer is cancelled, set by call",
        Some(RecordCode::Timing(TimerEffect::Wall)) => "time of call",
        _ => primitives::find_recorded(h).map_or("", |one| one.says),
    };
    if let (Some(path), false) = (call(h), sense.is_empty()) {
        let sense = if sense == "answers call" { paint(TextTone::Good, sense) } else { sense.to_owned() };
        head.push_str(&format!("  {sense} {path}"));
    }
    head.extend(["  ", &element(&seen)]);
    with_words(lead, &head, &seen.line(layout::two_lines()))
}

/// The start or the result of a listener's model call, followed by the model's words.
fn journal(lead: &str, record: &Record) -> Vec<String> {
    let h = &record.header;
    let call = call(h).map_or_else(String::new, |path| format!("  call {path}"));
    let head = format!("{}{call}", parties(h));
    let Ok(EarlierEntry { attempt, id, entry }) = EarlierEntry::from_body(&record.body) else {
        let words = stand_in(&record.body).unwrap_or("a journal entry that cannot be read");
        return wrapped(lead, limits::INDENT, &format!("{head}  {words}"));
    };
    let attempt = format!(" in attempt {attempt}, entry {id}");
    match entry {
        JournalEntry::Started(started) => {
            let tokens = started.reserve_tokens.map(|tokens| format!("{tokens} tokens"));
            let money = started.reserve_money.map(|money| money.to_string());
            let kept: Vec<String> = tokens.into_iter().chain(money).collect();
            let kept = if kept.is_empty() { String::new() } else { format!("  keeps {}", kept.join(", ")) };
            let model = name(&plain(&started.model));
            wrapped(lead, limits::INDENT, &format!("{head}  calls model {model}{attempt}{kept}"))
        }
        JournalEntry::Result(outcome) => {
            let tokens = outcome.count_tokens().map(|tokens| format!("  {tokens} tokens"));
            let money = outcome.money.map(|money| format!("  {money}"));
            let used = [tokens, money].into_iter().flatten().collect::<String>();
            let stop = name(&plain(&outcome.stop));
            let head = format!("{head}  the model stopped: {stop}{attempt}{used}");
            let words = match outcome.blobs.len() {
                0 => glance(&record.body).text(layout::two_lines()),
                count => format!("its words are in {count} documents: {}", outcome.blobs.join(" ")),
            };
            with_words(lead, &head, &words)
        }
    }
}

/// The head on its line, and the words after it if they fit, otherwise below it.
fn with_words(lead: &str, head: &str, words: &str) -> Vec<String> {
    let mut lines = wrapped(lead, limits::INDENT, head);
    if words.is_empty() {
        return lines;
    }
    match lines.last_mut() {
        Some(last) if columns::width(last) + 2 + columns::width(words) <= layout::columns() => {
            last.extend(["  ", words]);
        }
        _ => lines
            .extend(at_most(limits::WORD_LINES, wrapped(&" ".repeat(limits::INDENT), limits::INDENT, words))),
    }
    lines
}

fn refusal(lead: &str, record: &Record) -> Vec<String> {
    let h = &record.header;
    let whom = h.to.as_ref().map_or_else(String::new, |to| format!(" to {}", name(to.as_str())));
    let item = call(h).map_or_else(String::new, |path| format!("  item {path}"));
    let code = h.code.map_or("", RecordCode::as_str);
    let Some(told) = read_error(&record.body) else {
        let seen = glance(&record.body);
        let head = format!(" answered{whom}: {code}{item}  {}", element(&seen));
        return with_words(lead, &head, &seen.line(layout::two_lines()));
    };
    // Only the body has a listener's own code.
    let own = if told.code == code { String::new() } else { format!(" ({})", told.code) };
    let mut lines = wrapped(
        lead,
        limits::INDENT,
        &format!(" {}{whom}: {}{own}{item}", paint(TextTone::Bad, "refused"), paint(TextTone::Bad, code)),
    );
    let mut part = |label: &str, text: &str| {
        let lead = format!("{}{label}", " ".repeat(limits::INDENT));
        lines.extend(at_most(limits::WORD_LINES, wrapped(&lead, 2 * limits::INDENT, text)));
    };
    part("", &told.message);
    let place = told.place.as_ref().map(|(line, column)| format!("line {line}, column {column}"));
    match (&told.path, place) {
        (Some(path), Some(place)) => part("at:", &format!("{path}, {place}")),
        (Some(path), None) => part("at:", path),
        (None, Some(place)) => part("at:", &place),
        (None, None) => {}
    }
    for (label, text) in [("expected:", told.expected), ("received:", told.received), ("try:", told.fix)] {
        if let Some(text) = text {
            part(label, &text);
        }
    }
    lines
}

fn outcome(lead: &str, record: &Record) -> Vec<String> {
    let h = &record.header;
    let path = call(h).unwrap_or_default();
    match h.code {
        Some(RecordCode::Handled) => {
            wrapped(lead, limits::INDENT, &format!("{}  call {path} handled, without an answer", parties(h)))
        }
        Some(RecordCode::DeadLetter) => {
            let whom = h.to.as_ref().map_or("", |to| to.as_str());
            let after = match attribute(&record.body, "dead-letter", "attempts").as_deref() {
                Some("1") => "  after 1 attempt".to_owned(),
                Some(attempts) => format!("  after {} attempts", name(&plain(attempts))),
                None => String::new(),
            };
            wrapped(lead, limits::INDENT, &format!(" dead letter of {}  call {path}{after}", name(whom)))
        }
        code => {
            let code = code.map_or("", RecordCode::as_str);
            let head =
                format!("{}  call {path} {}", parties(h), paint(TextTone::Bad, &format!("failed: {code}")));
            let words = read_error(&record.body)
                .map_or_else(|| glance(&record.body).line(layout::two_lines()), |told| told.message);
            with_words(lead, &head, &words)
        }
    }
}

fn approval(lead: &str, record: &Record) -> Vec<String> {
    let h = &record.header;
    let path = call(h).map_or_else(String::new, |path| format!("  call {path}"));
    if let Some(request) = approval_payload::read_request(&record.body) {
        let what = format!(" ({}, {})", name(&request.element), name(request.to.as_str()));
        let until = format!(", expires at {}", layout::clock(request.expires));
        let waits = paint(TextTone::Held, &format!("waits for a person: approval {}", request.id));
        let head = format!(" {waits}{what}{until}{path}");
        let unknown = request.unknown.map(|words| format!("unknown: {}", plain(&words)));
        return with_words(lead, &head, &unknown.unwrap_or_default());
    }
    if let Some(question) = question::read_asked(&record.body) {
        let waits = paint(TextTone::Held, &format!("waits for a person: question {}", question.id));
        let (from, until) = (name(question.from.as_str()), layout::moment(question.expires, h.time));
        let head = format!(" {waits} from {from}, expires at {until}{path}");
        return with_words(lead, &head, &plain(&question.words));
    }
    let Some(decided) = approval_payload::read_decided(&record.body) else {
        let seen = glance(&record.body);
        let head = format!("{}  puts in its place{path}  {}", parties(h), element(&seen));
        return with_words(lead, &head, &seen.line(layout::two_lines()));
    };
    let by = if decided.by == "core" { String::new() } else { format!(" by {}", name(&decided.by)) };
    let head = format!(" approval {} is {}{by}{path}", decided.id, plain(&decided.outcome));
    with_words(lead, &head, &plain(&decided.note.unwrap_or_default()))
}

fn steer(lead: &str, record: &Record) -> Vec<String> {
    let what = record.header.code.map_or("", RecordCode::as_str);
    let (by, note) = approval_payload::read_steering(&record.body).unwrap_or_default();
    let all = if record.header.thread.is_sys() { " everything" } else { "" };
    let head = format!("{all} {what} by {}", name(&by));
    with_words(lead, &head, &plain(&note.unwrap_or_default()))
}

fn attempt(lead: &str, record: &Record) -> Vec<String> {
    let h = &record.header;
    let whom = h.to.as_ref().map_or("", |to| to.as_str());
    let path = call(h).unwrap_or_default();
    if let Some(state) = core_payload::read_attempt_state(&record.body) {
        let (what, words) = match state {
            AttemptState::Waits { outage, words, .. } => (format!("waits: {outage} away"), plain(&words)),
            AttemptState::GoesOn(outage) if limits::is_with_broker(&outage) || limits::is_queued(&outage) => {
                (format!("goes on: {outage} back"), String::new())
            }
            AttemptState::GoesOn(outage) => (format!("is tried again, {outage} was away"), String::new()),
            AttemptState::Taken(at) => (format!("taken at {}", layout::clock(at)), String::new()),
        };
        return with_words(lead, &format!(" attempt at {}  call {path} {what}", name(whom)), &words);
    }
    let Some(next) = core_payload::read_attempt(&record.body) else {
        return with_words(
            lead,
            &format!(" attempt  call {path}"),
            &glance(&record.body).line(layout::two_lines()),
        );
    };
    let mut head = format!(" attempt {} at {}  call {path}", next.number, name(whom));
    if next.due > h.time {
        head.extend(["  at ", &layout::clock(next.due)]);
    }
    let words = match next.code {
        Some(code) => format!("{}: {}", code.as_str(), plain(&next.words)),
        None => plain(&next.words),
    };
    with_words(lead, &head, &words)
}

/// A record for programs: its header's fields under their own names, its body as text.
pub fn as_json(position: Position, record: &Record) -> Value {
    let h = &record.header;
    json!({
        "position": position.0,
        "thread": h.thread.as_str(),
        "seq": h.seq,
        "id": h.id.to_string(),
        "kind": h.kind.as_str(),
        "from": h.from.as_str(),
        "to": h.to.as_ref().map(|to| to.as_str()),
        "call": h.call.as_ref().map(|call| call.as_str()),
        "turn": h.turn,
        "ordinal": h.ordinal,
        "cause": h.cause.map(|cause| cause.to_string()),
        "key": h.key.as_ref().map(|key| key.as_str()),
        "origin": h.origin.map(|origin| origin.to_string()),
        "time": h.time.to_string(),
        "config": h.config.to_string(),
        "code": h.code.map(RecordCode::as_str),
        "head": record.head.to_string(),
        "body": String::from_utf8_lossy(&record.body),
    })
}
