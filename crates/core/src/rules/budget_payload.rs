//! The core payloads about budgets, and what the fold reads back out of them. Every one is written through
//! the kit's writer and is valid under `core.xsd`.

use std::sync::Arc;

use systole_wire::money::Money;

use super::core_payload::{attributes, written};
use crate::types::budget::{Ceiling, Clocked, Exceeded, Measure, Spent, Use};
use crate::types::time::{stretch, stretch_ms};

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
    let [what, limit] = attributes(body, "budget-exceeded", ["what", "limit"])?;
    Measure::parse(&what?, &limit?)
}

/// What a `<budget-warning>` is about, with the limit as it is written.
pub fn read_warning(body: &[u8]) -> Option<(Measure, String)> {
    let [what, limit] = attributes(body, "budget-warning", ["what", "limit"])?;
    let limit = limit?;
    Some((Measure::parse(&what?, &limit)?, limit))
}

/// What a `<thread-spawned>` says that the child may use, with all below it.
pub fn ceiling(body: &[u8]) -> Ceiling {
    let most = attributes(body, "thread-spawned", ["messages", "tokens", "money"]);
    let [messages, tokens, money] = most.unwrap_or_default();
    Ceiling {
        messages: messages.and_then(|digits| digits.parse().ok()),
        tokens: tokens.and_then(|digits| digits.parse().ok()),
        spent: money.and_then(|text| Money::parse(&text)).map(|money| Spent::of(Some(money))),
    }
}

/// What a `<thread-finished>` says that the child has used, with all below it.
pub fn used_by_child(body: &[u8]) -> Use {
    let used = attributes(body, "thread-finished", ["messages", "children", "tokens", "money"]);
    let number = |text: Option<String>| text.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    used.map_or_else(Use::default, |[messages, children, tokens, money]| Use {
        messages: number(messages),
        children: number(children),
        tokens: number(tokens),
        spent: Spent::of(money.and_then(|text| Money::parse(&text))),
    })
}
