//! The core payloads about budgets, and the functions with which the fold reads them. All are written
//! through the kit's writer and are valid under `core.xsd`.

use std::sync::Arc;

use systole_wire::money::Money;

use super::core_payload::{attributes, written};
use crate::types::budget::{Ceiling, ExceededLimit, Measure, MoneySpent, RecordedTime, UsedAmounts};
use crate::types::time::{stretch, stretch_ms};

/// `<budget-warning>`: most of a budget is used.
pub fn warning(limit: &ExceededLimit) -> Arc<[u8]> {
    about("budget-warning", limit)
}

/// `<budget-exceeded>`: a budget is used up.
pub fn exceeded(limit: &ExceededLimit) -> Arc<[u8]> {
    about("budget-exceeded", limit)
}

fn about(name: &'static str, of: &ExceededLimit) -> Arc<[u8]> {
    written(name, |start| {
        let start = start.attr("what", of.what.as_str());
        start.attr("used", &of.written(of.used)).attr("limit", &of.written(of.limit)).empty();
    })
}

/// `<budget-time>`: the working time of a message from outside so far, and whether the time runs from here
/// on.
pub fn time(clocked: &RecordedTime) -> Arc<[u8]> {
    written("budget-time", |start| {
        let start = start.attr("runs", if clocked.runs { "true" } else { "false" });
        start.attr("used", &stretch(clocked.used_ms)).attr("limit", &stretch(clocked.limit_ms)).empty();
    })
}

/// Reads a `<budget-time>`.
pub fn read_time(body: &[u8]) -> Option<RecordedTime> {
    let [runs, used, limit] = attributes(body, "budget-time", ["runs", "used", "limit"])?;
    let ms = |text: Option<String>| stretch_ms(&text?);
    Some(RecordedTime { runs: runs? == "true", used_ms: ms(used)?, limit_ms: ms(limit)? })
}

/// The budget that a `<budget-exceeded>` names.
pub fn read_exceeded(body: &[u8]) -> Option<Measure> {
    let [what, limit] = attributes(body, "budget-exceeded", ["what", "limit"])?;
    Measure::parse(&what?, &limit?)
}

/// The budget that a `<budget-warning>` names, with the limit as text.
pub fn read_warning(body: &[u8]) -> Option<(Measure, String)> {
    let [what, limit] = attributes(body, "budget-warning", ["what", "limit"])?;
    let limit = limit?;
    Some((Measure::parse(&what?, &limit)?, limit))
}

/// The limits in a `<thread-spawned>` for the child and all threads below it.
pub fn ceiling(body: &[u8]) -> Ceiling {
    let most = attributes(body, "thread-spawned", ["messages", "tokens", "money"]);
    let [messages, tokens, money] = most.unwrap_or_default();
    Ceiling {
        messages: messages.and_then(|digits| digits.parse().ok()),
        tokens: tokens.and_then(|digits| digits.parse().ok()),
        spent: money.and_then(|text| Money::parse(&text)).map(|money| MoneySpent::of(Some(money))),
    }
}

/// The use that a `<thread-finished>` reports for the child and all threads below it.
pub fn used_by_child(body: &[u8]) -> UsedAmounts {
    let used = attributes(body, "thread-finished", ["messages", "children", "tokens", "money"]);
    let number = |text: Option<String>| text.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    used.map_or_else(UsedAmounts::default, |[messages, children, tokens, money]| UsedAmounts {
        messages: number(messages),
        children: number(children),
        tokens: number(tokens),
        spent: MoneySpent::of(money.and_then(|text| Money::parse(&text))),
    })
}
