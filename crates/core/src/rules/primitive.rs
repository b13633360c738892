//! Reads the primitives. The door calls it after the core's schema has found a payload valid; the fold calls
//! it again on the recorded bytes. It refuses what a schema cannot check. It knows no threads and no calls:
//! the pump decides whether a named thread belongs to the sender. Input: bytes. Output: a `Primitive` or a
//! refusal.

use std::borrow::Cow;

use systole_wire::Limits;
use systole_wire::gate::{Gate, Step};

use super::admit::refusal_of;
use super::core_payload;
use crate::types::codes::Code;
use crate::types::ids::{ThreadId, TimerId};
use crate::types::limits;
use crate::types::primitive::{Await, Clear, Mode, Pace, Recall, SetTimer};
use crate::types::refusal::Refusal;
use crate::types::time::stretch_ms;

/// Reads an `<await-threads>`.
pub fn read_await(body: &[u8]) -> Result<Await, Refusal> {
    let mut mode = None;
    let mut threads = Vec::new();
    let mut gate = Gate::strict(body, &Limits::FROM_PUMP).map_err(|fault| refusal_of(&fault))?;
    loop {
        match gate.step().map_err(|fault| refusal_of(&fault))? {
            Step::Open(_) if mode.is_none() => {
                let written = gate.attribute("mode").unwrap_or_default();
                mode = Some(read_mode(&written)?);
            }
            Step::Open(_) => {
                let written = gate.attribute("id").unwrap_or_default();
                let id = ThreadId::parse(&written)
                    .map_err(|words| Refusal::new(Code::Invalid, words.to_string()))?;
                if !threads.contains(&id) {
                    threads.push(id);
                }
            }
            Step::Done => break,
            _ => {}
        }
    }
    Ok(Await { mode: mode.unwrap_or(Mode::All), threads })
}

/// The addressee of the `<initial-payload>` in a `<spawn-thread>`. `None` if it names none.
pub fn initial_addressee(body: &[u8]) -> Option<String> {
    let mut gate = Gate::strict(body, &Limits::FROM_PUMP).ok()?;
    let mut depth = 0;
    loop {
        match gate.step().ok()? {
            Step::Open(_) if depth == 1 => return gate.attribute("to").map(Cow::into_owned),
            Step::Open(_) => depth += 1,
            Step::Close | Step::Done => return None,
            _ => {}
        }
    }
}

fn read_mode(written: &str) -> Result<Mode, Refusal> {
    match written {
        "all" => Ok(Mode::All),
        "any" => Ok(Mode::Any),
        number => match number.parse() {
            Ok(count) if count > 0 => Ok(Mode::Count(count)),
            _ => Err(Refusal::new(Code::Invalid, "mode: a wait needs at least one thread")
                .expecting("all, any, or a whole number from 1")
                .receiving(number)),
        },
    }
}

/// Reads a `<set-timer>`.
pub fn read_set_timer(body: &[u8]) -> Result<SetTimer, Refusal> {
    let [id, after, every] =
        core_payload::attributes(body, "set-timer", ["id", "after", "every"]).unwrap_or_default();
    let id = id.map(|id| timer_id(&id)).transpose()?;
    let (name, written, repeats) = match (after, every) {
        (Some(after), None) => ("after", after, false),
        (None, Some(every)) => ("every", every, true),
        (Some(_), Some(_)) => return Err(one_of_two("after and every are both given")),
        (None, None) => return Err(one_of_two("neither after nor every is given")),
    };
    let wrong = |words: &str, instead: &str| {
        let message = format!("{name}: {written}{words}");
        Refusal::new(Code::Invalid, message)
            .expecting("1s to 3650d, with one of the units ms, s, m, h, d")
            .fixed_by(format!("{name}=\"{instead}\""))
            .in_place(format!("/set-timer/@{name}"))
    };
    match stretch_ms(&written) {
        None => Err(wrong(" is not a whole number with a unit", "10m")),
        Some(ms) if ms < limits::TIMER_LEAST_MS => Err(wrong(" is less than 1s, the shortest allowed", "1s")),
        Some(ms) if ms > limits::TIMER_MOST_MS => {
            Err(wrong(" is more than 3650d, the longest allowed", "3650d"))
        }
        Some(span_ms) => Ok(SetTimer { id, pace: Pace { span_ms, repeats } }),
    }
}

fn one_of_two(message: &'static str) -> Refusal {
    Refusal::new(Code::Invalid, message)
        .expecting("after to fire once, or every to fire again and again")
        .fixed_by("after=\"10m\", or every=\"10m\"")
        .in_place("/set-timer")
}

fn timer_id(written: &str) -> Result<TimerId, Refusal> {
    TimerId::parse(written).map_err(|words| Refusal::new(Code::Invalid, words.to_string()))
}

/// The timer that a `<cancel-timer>` names.
pub fn read_cancel_timer(body: &[u8]) -> Result<TimerId, Refusal> {
    let [id] = core_payload::attributes(body, "cancel-timer", ["id"]).unwrap_or_default();
    timer_id(&id.unwrap_or_default())
}

/// The note in a `<set-timer>` or a `<timer-fired>`.
pub fn timer_note(body: &[u8]) -> String {
    core_payload::text(body).unwrap_or_default()
}

/// The thread that a `<cancel-thread>` names.
pub fn read_cancel_thread(body: &[u8]) -> Result<ThreadId, Refusal> {
    let [id] = core_payload::attributes(body, "cancel-thread", ["id"]).unwrap_or_default();
    ThreadId::parse(&id.unwrap_or_default()).map_err(|words| Refusal::new(Code::Invalid, words.to_string()))
}

/// Reads a `<clear-context>`.
pub fn read_clear(body: &[u8]) -> Clear {
    let [keep] = core_payload::attributes(body, "clear-context", ["keep"]).unwrap_or_default();
    Clear { keep: keep.as_deref().map_or(0, whole) }
}

/// Reads a `<recall>`. Only the pump knows whether these messages exist.
pub fn read_recall(body: &[u8]) -> Recall {
    let names = ["from_seq", "to_seq", "offset", "length"];
    let [from, to, offset, length] = core_payload::attributes(body, "recall", names).unwrap_or_default();
    let number = |written: Option<String>| written.as_deref().map(whole);
    Recall {
        from: number(from).unwrap_or(0),
        to: number(to).unwrap_or(0),
        offset: number(offset).unwrap_or(0),
        length: number(length),
    }
}

/// A whole number in the schema's syntax, signs included. A number that is too large becomes the largest one,
/// which means more messages than exist.
fn whole(written: &str) -> u64 {
    let digits = written.trim().trim_start_matches('+');
    match digits.strip_prefix('-') {
        Some(_) => 0,
        None => digits.parse().unwrap_or(u64::MAX),
    }
}
