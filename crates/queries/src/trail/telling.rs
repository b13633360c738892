//! A chain of causes in words: each record as `log` shows it, and below it, after an arrow, how the next one led to
//! it.
//!
//! No line is wider than a terminal, and nothing of a payload gets out unescaped. Links come in; lines or JSON go
//! out.

use serde_json::{Value, json};

use super::turn::{AskedModel, SenderTurn, ShownRecord};
use super::{CauseKind, OutsideSender, TrailLink};
use crate::limits;
use crate::narrate::{self, narrate};
use systole_core::types::client::Role;
use systole_core::types::ids::ThreadId;
use systole_core::types::record::RecordKind;
use systole_show::columns::{cut, plain, wrapped};
use systole_show::layout::heading;

/// The last shown thread and day, which need no repetition.
#[derive(Default)]
pub struct LastShown {
    place: Option<(ThreadId, String)>,
}

/// A record's place, as commands take it.
fn place(thread: &ThreadId, seq: u64) -> String {
    format!("{}@{seq}", thread.as_str())
}

impl LastShown {
    /// The lines of one link.
    pub fn lines(&mut self, link: &TrailLink) -> Vec<String> {
        let (_, record) = &link.placed;
        let (thread, today) = (record.header.thread.clone(), heading(record.header.time));
        let mut lines = Vec::new();
        let here = Some((thread.clone(), today));
        if self.place != here {
            if let Some((thread, today)) = &here {
                lines.extend(wrapped("", limits::TRAIL_INDENT, &format!("{}, {today}", thread.as_str())));
            }
            self.place = here;
        }
        lines.extend(narrate(record, Some(&thread)));
        if let Some(turn) = &link.turn {
            lines.extend(beside(&thread, turn, &link.why));
        }
        let refused = record.header.kind == RecordKind::Refusal && matches!(link.why, CauseKind::Turn { .. });
        let of = if refused { "of an item " } else { "" };
        lines.extend(wrapped(
            "  ↑ ",
            limits::TRAIL_INDENT,
            &format!("{of}{}", reason(&link.why, link.turn.as_ref())),
        ));
        if let CauseKind::Door(door) = &link.why {
            lines.extend(credentials(door));
        }
        lines
    }
}

/// What accompanied the cause: models, and what else the turn was shown.
fn beside(thread: &ThreadId, turn: &SenderTurn, why: &CauseKind) -> Vec<String> {
    let mut lines = Vec::new();
    for asked in turn.models.iter().take(limits::NAMED_OF_TURN) {
        lines.extend(wrapped("    ", limits::TRAIL_INDENT, &describe_bought(asked)));
        lines.extend(wrapped(
            "      ",
            limits::TRAIL_INDENT,
            &format!("systole context {}", place(thread, asked.seq)),
        ));
    }
    if turn.models.len() > limits::NAMED_OF_TURN {
        let more = turn.models.len() - limits::NAMED_OF_TURN;
        lines.push(format!("    and {more} more requests to models"));
    }
    if !turn.shown.is_empty() {
        let label =
            if matches!(why, CauseKind::Turn { .. }) { "also shown: " } else { "the other payload: " };
        lines.extend(wrapped("    ", limits::TRAIL_INDENT, &format!("{label}{}", those(&turn.shown))));
    }
    lines
}

fn those(shown: &[ShownRecord]) -> String {
    let one = |it: &ShownRecord| {
        let from = cut(it.from.as_str(), limits::NAME_COLUMNS);
        format!("#{} <{}> from {from}", it.seq, it.element)
    };
    // The newest ones are closest to their effect.
    let left = shown.len().saturating_sub(limits::NAMED_OF_TURN);
    let named: Vec<String> = shown.iter().skip(left).map(one).collect();
    let more = if left == 0 { String::new() } else { format!("{left} earlier, ") };
    format!("{more}{}", named.join(", "))
}

fn describe_bought(asked: &AskedModel) -> String {
    let model = cut(&plain(&asked.model), limits::NAME_COLUMNS);
    let start = format!("asked model {model} (#{})", asked.seq);
    match &asked.result {
        None => format!("{start}, of unknown outcome"),
        Some(result) => {
            let stop = cut(&plain(&result.stop), limits::NAME_COLUMNS);
            let tokens = result
                .tokens
                .map_or_else(|| ", tokens uncounted".to_owned(), |tokens| format!(", {tokens} tokens"));
            let money = result.money.as_ref().map_or_else(String::new, |money| format!(", {money}"));
            format!("{start}, which stopped: {stop} (#{}){tokens}{money}", result.seq)
        }
    }
}

fn reason(why: &CauseKind, turn: Option<&SenderTurn>) -> String {
    let words = match why {
        CauseKind::Turn { call, number, after } => {
            let attempt = turn.and_then(|turn| turn.attempt);
            let attempt = attempt.map_or_else(String::new, |number| format!(", attempt {number}"));
            let after = after.map_or_else(String::new, |seq| format!(" after #{seq}"));
            let number = number.to_string();
            return format!("in turn {number} of call {}{attempt}, opened{after} by", call.as_str());
        }
        CauseKind::Spawned => "in a new thread, spawned by",
        CauseKind::Ended => "because that thread ended with",
        CauseKind::Timer => "because of the timer set with",
        CauseKind::Answer => "in answer to",
        CauseKind::Arrived => "because a wait was over with",
        CauseKind::Person => "about this, which needed a person",
        CauseKind::Steered => "sent here from the thread above with",
        CauseKind::Cancelled => "because the thread was cancelled with",
        CauseKind::Core => "recorded by the core because of",
        CauseKind::Within => "no cause is named; it belongs to the work that began with",
        CauseKind::Door(door) => {
            return format!("from outside, by client {}", cut(door.client.as_str(), limits::NAME_COLUMNS));
        }
        CauseKind::Own => "the core recorded it outside of any call",
    };
    words.to_owned()
}

fn credentials(door: &OutsideSender) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(key) = &door.key {
        lines.extend(wrapped("    ", limits::TRAIL_INDENT, &format!("key {}", plain(key.as_str()))));
    }
    let roles = match &door.roles {
        Ok(none) if none.is_empty() => "no role".to_owned(),
        Ok(roles) => format!("roles {}", words(roles).join(", ")),
        Err(why) => format!("roles unknown: {}", plain(why)),
    };
    lines.extend(wrapped("    ", limits::TRAIL_INDENT, &roles));
    lines
}

fn words(roles: &[Role]) -> Vec<&'static str> {
    roles.iter().map(|role| role.as_str()).collect()
}

/// A link for programs: the record as in `log`, and the trail's additions.
pub fn as_json(link: &TrailLink) -> Value {
    let (position, record) = &link.placed;
    let thread = &record.header.thread;
    let places =
        |shown: &[ShownRecord]| -> Vec<String> { shown.iter().map(|it| place(thread, it.seq)).collect() };
    let model = |asked: &AskedModel| {
        let result = asked.result.as_ref();
        json!({
            "model": asked.model,
            "start": place(thread, asked.seq),
            "result": result.map(|it| place(thread, it.seq)),
            "stop": result.map(|it| &it.stop),
            "tokens": result.and_then(|it| it.tokens),
            "money": result.and_then(|it| it.money.as_ref()),
        })
    };
    let (call, turn) = match &link.why {
        CauseKind::Turn { call, number, .. } => (Some(call.as_str()), Some(number)),
        _ => (None, None),
    };
    let door = match &link.why {
        CauseKind::Door(door) => {
            let roles = door.roles.as_ref().ok().map(|roles| words(roles));
            let (client, key) = (door.client.as_str(), door.key.as_ref().map(|key| key.as_str()));
            Some(json!({"client": client, "key": key, "roles": roles}))
        }
        _ => None,
    };
    let said = link.turn.as_ref();
    let after = match &link.why {
        CauseKind::Turn { after, .. } => after.map(|seq| place(thread, seq)),
        _ => None,
    };
    json!({
        "place": place(thread, record.header.seq),
        "why": link.why.as_str(),
        "because": link.cause.as_ref().map(|(thread, seq)| place(thread, *seq)),
        "of": {"call": call, "turn": turn, "attempt": said.and_then(|it| it.attempt), "after": after},
        "shown": said.map_or_else(Vec::new, |it| places(&it.shown)),
        "models": said.map_or_else(Vec::new, |it| it.models.iter().map(model).collect()),
        "door": door,
        "record": narrate::as_json(*position, record),
    })
}
