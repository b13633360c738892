//! The core payloads about budgets, and the functions with which the fold reads them. All are written
//! through the kit's writer and are valid under `core.xsd`.

use std::sync::Arc;

use systole_wire::money::Money;

use super::core_payload::{read_attributes, write_element};
use crate::types::budget::{Ceiling, ExceededLimit, Measure, MoneySpent, RecordedTime, UsedAmounts};
use crate::types::time::{spell_stretch, stretch_ms};

/// `<budget-warning>`: most of a budget is used.
pub fn write_warning(limit: &ExceededLimit) -> Arc<[u8]> {
    write_limit("budget-warning", limit)
}

/// `<budget-exceeded>`: a budget is used up.
pub fn write_exceeded(limit: &ExceededLimit) -> Arc<[u8]> {
    write_limit("budget-exceeded", limit)
}

fn write_limit(name: &'static str, of: &ExceededLimit) -> Arc<[u8]> {
    write_element(name, |start| {
        let start = start.attr("what", of.what.as_str());
        start.attr("used", &of.write_amount(of.used)).attr("limit", &of.write_amount(of.limit)).empty();
    })
}

/// `<budget-time>`: the working time of a message from outside so far, and whether the time runs from here
/// on.
pub fn write_time(clocked: &RecordedTime) -> Arc<[u8]> {
    write_element("budget-time", |start| {
        let start = start.attr("runs", if clocked.runs { "true" } else { "false" });
        start
            .attr("used", &spell_stretch(clocked.used_ms))
            .attr("limit", &spell_stretch(clocked.limit_ms))
            .empty();
    })
}

/// Reads a `<budget-time>`.
pub fn read_time(body: &[u8]) -> Option<RecordedTime> {
    let [runs, used, limit] = read_attributes(body, "budget-time", ["runs", "used", "limit"])?;
    let ms = |text: Option<String>| stretch_ms(&text?);
    Some(RecordedTime { runs: runs? == "true", used_ms: ms(used)?, limit_ms: ms(limit)? })
}

/// The budget that a `<budget-exceeded>` names.
pub fn read_exceeded(body: &[u8]) -> Option<Measure> {
    let [what, limit] = read_attributes(body, "budget-exceeded", ["what", "limit"])?;
    Measure::parse(&what?, &limit?)
}

/// The budget that a `<budget-warning>` names, with the limit as text.
pub fn read_warning(body: &[u8]) -> Option<(Measure, String)> {
    let [what, limit] = read_attributes(body, "budget-warning", ["what", "limit"])?;
    let limit = limit?;
    Some((Measure::parse(&what?, &limit)?, limit))
}

/// The limits in a `<thread-spawned>` for the child and all threads below it.
pub fn read_ceiling(body: &[u8]) -> Ceiling {
    let most = read_attributes(body, "thread-spawned", ["messages", "tokens", "money"]);
    let [messages, tokens, money] = most.unwrap_or_default();
    Ceiling {
        messages: messages.and_then(|digits| digits.parse().ok()),
        tokens: tokens.and_then(|digits| digits.parse().ok()),
        spent: money.and_then(|text| Money::parse(&text)).map(|money| MoneySpent::from_money(Some(money))),
    }
}

/// The use that a `<thread-finished>` reports for the child and all threads below it.
pub fn used_by_child(body: &[u8]) -> UsedAmounts {
    let used =
        read_attributes(body, "thread-finished", ["messages", "children", "tokens", "money", "requests"]);
    let number = |text: Option<String>| text.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    used.map_or_else(UsedAmounts::default, |[messages, children, tokens, money, requests]| UsedAmounts {
        messages: number(messages),
        children: number(children),
        tokens: number(tokens),
        spent: MoneySpent::from_money(money.and_then(|text| Money::parse(&text))),
        refused: 0,
        requests: number(requests),
    })
}
