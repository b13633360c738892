//! What a delivery shows, in the words of the naive pump: read from the document that the real one
//! composes.

use systole_kit::answers::Answers;
use systole_kit::gate::{Gate, Step};
use systole_kit::{Limits, Payload};

/// The lines of a delivery's payload.
pub(crate) fn lines(payload: &Payload) -> Vec<String> {
    let Ok(answers) = Answers::read(payload) else { return vec![word(payload)] };
    let items = answers.items.iter().map(|item| {
        let shown = item.payload.as_ref().map_or_else(|| "-".to_owned(), word);
        format!("{}: {shown}", item.ordinal)
    });
    let inbox = answers.inbox.iter().map(|payload| format!("inbox: {}", word(payload)));
    items.chain(inbox).collect()
}

/// A payload in one word, or in few.
fn word(payload: &Payload) -> String {
    let attribute = |name| payload.attribute(name).unwrap_or_default();
    match &*payload.name().local {
        "thread-spawned" => format!("spawned {}", attribute("assigned_id")),
        "system-error" | "system-thread-error" => attribute("code"),
        "thread-finished" => {
            let inner = child(payload).map_or(String::new(), |inner| format!(" {}", word(&inner)));
            format!("finished {} {}{inner}", attribute("id"), attribute("outcome"))
        }
        "await-over" => {
            format!("over {}/{} {}", attribute("finished"), attribute("open"), attribute("reason"))
        }
        "thread-cancelled" => format!("ended {} {}", attribute("threads"), attribute("id")),
        "timer-set" => format!("set {}", attribute("id")),
        "timer-cancelled" => format!("unset {}", attribute("id")),
        "timer-fired" => format!("fired {}", attribute("id")),
        "steer" => child(payload).map_or_else(String::new, |inner| format!("steer {}", word(&inner))),
        "todo-open" => "todo-open".to_owned(),
        "budget-exceeded" => format!("budget-exceeded {}", attribute("what")),
        "budget-warning" => {
            format!("budget-warning {} {}/{}", attribute("what"), attribute("used"), attribute("limit"))
        }
        "handled" | "children-open" | "final-report" => payload.name().local.to_string(),
        _ => format!("n{}", attribute("n")),
    }
}

/// The payload right inside of another.
fn child(payload: &Payload) -> Option<Payload> {
    let mut gate = Gate::strict(payload.bytes(), &Limits::FROM_PUMP).ok()?;
    let Ok(Step::Open(_)) = gate.step() else { return None };
    let tag = gate.child().ok()??;
    Payload::cut(&mut gate, tag).ok()
}
