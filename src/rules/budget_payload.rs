//! The core payloads about budgets, and what the fold reads back out of them. Every one is written through
//! the kit's writer and is valid under `core.xsd`.

use std::sync::Arc;

use super::core_payload::{attributes, written};
use crate::words::budget::{Clocked, Exceeded, Measure, Use};
use crate::words::time::{stretch, stretch_ms};

/// `<budget-warning>`: most of a budget is used.
pub fn warning(limit: &Exceeded) -> Arc<[u8]> {
    about("budget-warning", limit)
}

/// `<budget-exceeded>`: a budget is used up.
pub fn exceeded(limit: &Exceeded) -> Arc<[u8]> {
    about("budget-exceeded", limit)
}

fn about(name: &'static str, of: &Exceeded) -> Arc<[u8]> {
    written(name, |start| {
        let start = start.attr("what", of.what.as_str());
        start.attr("used", &of.written(of.used)).attr("limit", &of.written(of.limit)).empty();
    })
}

/// `<budget-time>`: how long a message from outside was worked on, and whether it is from here on.
pub fn time(clocked: &Clocked) -> Arc<[u8]> {
    written("budget-time", |start| {
        let start = start.attr("runs", if clocked.runs { "true" } else { "false" });
        start.attr("used", &stretch(clocked.used_ms)).attr("limit", &stretch(clocked.limit_ms)).empty();
    })
}

/// Reads a `<budget-time>`.
pub fn read_time(body: &[u8]) -> Option<Clocked> {
    let [runs, used, limit] = attributes(body, "budget-time", ["runs", "used", "limit"])?;
    let ms = |text: Option<String>| stretch_ms(&text?);
    Some(Clocked { runs: runs? == "true", used_ms: ms(used)?, limit_ms: ms(limit)? })
}

/// The budget that a `<budget-exceeded>` names.
pub fn read_exceeded(body: &[u8]) -> Option<Measure> {
    let [what] = attributes(body, "budget-exceeded", ["what"])?;
    Measure::parse(&what?)
}

/// Whether this is a `<budget-warning>`.
pub fn is_warning(body: &[u8]) -> bool {
    attributes(body, "budget-warning", ["what"]).is_some()
}

/// How many messages a `<thread-spawned>` says that the child may use, with all below it.
pub fn ceiling(body: &[u8]) -> Option<u64> {
    let [messages] = attributes(body, "thread-spawned", ["messages"])?;
    messages?.parse().ok()
}

/// What a `<thread-finished>` says that the child has used, with all below it.
pub fn used_by_child(body: &[u8]) -> Use {
    let used = attributes(body, "thread-finished", ["messages", "children"]);
    let number = |text: Option<String>| text.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    used.map_or_else(Use::default, |[messages, children]| Use {
        messages: number(messages),
        children: number(children),
    })
}
