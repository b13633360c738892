//! The content of a delivery, and what a record reports about time, in the words of the naive pump: read from
//! the documents that the real pump writes.

use systole_core::types::record::{Record, RecordCode, RecordKind, TimerEffect};
use systole_kit::answers::Answers;
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::money::Money;
use systole_kit::{DocumentLimits, Payload};

/// The lines of a delivery's payload.
pub(crate) fn lines(payload: &Payload) -> Vec<String> {
    let Ok(answers) = Answers::from_payload(payload) else { return vec![word(payload)] };
    let items = answers.items.iter().map(|item| {
        let shown = item.payload.as_ref().map_or_else(|| "-".to_owned(), word);
        format!("{}: {shown}", item.ordinal)
    });
    let inbox = answers.inbox.iter().map(|payload| format!("inbox: {}", word(payload)));
    items.chain(inbox).collect()
}

/// A payload in one word, or in a few.
fn word(payload: &Payload) -> String {
    let attribute = |name| payload.find_attribute(name).unwrap_or_default();
    match &*payload.name().local {
        "thread-spawned" => {
            let told =
                |name| payload.find_attribute(name).map_or_else(|| "-".to_owned(), |told| amount(&told));
            let ceiling = ["messages", "tokens", "money"].map(told).join("/");
            format!("spawned {} {ceiling}", attribute("assigned_id"))
        }
        "system-error" | "system-thread-error" => attribute("code"),
        "thread-finished" => {
            let inner = child(payload).map_or(String::new(), |inner| format!(" {}", word(&inner)));
            let told = |name| amount(&payload.find_attribute(name).unwrap_or_else(|| "0".to_owned()));
            let used = ["messages", "children", "tokens", "money"].map(told).join("/");
            format!("finished {} {}{inner} {used}", attribute("id"), attribute("outcome"))
        }
        "await-over" => {
            format!("over {}/{} {}", attribute("finished"), attribute("open"), attribute("reason"))
        }
        "thread-cancelled" => format!("ended {} {}", attribute("threads"), attribute("id")),
        "person-said" => format!("said {}", attribute("outcome")),
        "timer-set" => format!("set {}", attribute("id")),
        "timer-cancelled" => format!("unset {}", attribute("id")),
        "timer-fired" => format!("fired {}", attribute("id")),
        "timer-finished" => {
            let inner = child(payload).map_or(String::new(), |inner| format!(" {}", word(&inner)));
            format!("done {} {} {}{inner}", attribute("id"), attribute("call"), attribute("outcome"))
        }
        "steer" => child(payload).map_or_else(String::new, |inner| format!("steer {}", word(&inner))),
        "todo-open" => "todo-open".to_owned(),
        word @ ("budget-exceeded" | "budget-warning") => {
            let (used, limit) = (amount(&attribute("used")), amount(&attribute("limit")));
            format!("{word} {} {used}/{limit}", attribute("what"))
        }
        "handled" | "children-open" | "final-report" => payload.name().local.to_string(),
        _ => format!("n{}", attribute("n")),
    }
}

/// An amount as a plain number: money in millionths, time in milliseconds.
fn amount(told: &str) -> String {
    if let Some(money) = Money::parse(told) {
        return money.micros.to_string();
    }
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000_u64)];
    let stretch = units.into_iter().find_map(|(unit, ms)| {
        let count: u64 = told.strip_suffix(unit)?.parse().ok()?;
        Some((count * ms).to_string())
    });
    stretch.unwrap_or_else(|| told.to_owned())
}

/// What a record reports about the time of a message, if that is its purpose.
pub(crate) fn clocking(record: &Record) -> Option<String> {
    let h = &record.header;
    let is_word = h.kind == RecordKind::Timer && h.code == Some(RecordCode::Timing(TimerEffect::Wall));
    let body = Payload::from_trusted(record.body.clone()).ok().filter(|_| is_word)?;
    let told = |name| amount(&body.find_attribute(name).unwrap_or_default());
    let top = h.call.as_ref().map(ToString::to_string).unwrap_or_default();
    Some(format!("{} {top} {} {}/{}", h.thread, told("runs"), told("used"), told("limit")))
}

/// The payload directly inside another.
fn child(payload: &Payload) -> Option<Payload> {
    let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let Ok(GateStep::Open(_)) = gate.read_step() else { return None };
    let tag = gate.read_child().ok()??;
    Payload::cut_from(&mut gate, tag).ok()
}
