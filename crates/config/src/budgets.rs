//! The sections `budgets` and `loops`, and a listener's share: what one message from outside may use, how much of it
//! a child may use, and when repeated calls get a warning or are refused. Input: the node. Output: the declared
//! values, with defaults for missing keys.

use systole_kit::money::{Currency, Money};

use super::diagnostics::Diagnostics;
use super::keys::MOST_ROUNDS;
use super::tree::{Node, Span};
use super::value::{self, At, fields};
use systole_core::types::budget::{Budgets, LoopLimits};
use systole_core::types::codes::Code;
use systole_core::types::limits;

/// Default share of a child, in percent.
pub(super) const SHARE_PERCENT: u32 = 50;

/// Where the file sets each budget. `None` if it keeps the default.
#[derive(Clone, Copy, Default)]
pub(super) struct Written {
    pub(super) messages: Option<Span>,
    pub(super) depth: Option<Span>,
    pub(super) children: Option<Span>,
    pub(super) tokens: Option<Span>,
    pub(super) money: Option<Span>,
}

/// Reads the section `budgets`. Also returns its currency with its place.
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
) -> (Budgets, Option<At<Currency>>, Written) {
    let (mut budgets, mut currency) = (Budgets::default(), None);
    let Some(section) = fields(diagnostics, node, node.span, "budgets", path) else {
        return (budgets, currency, Written::default());
    };
    let at = |key: &str| section.get(key).map(|(node, _)| node.span);
    let written = Written {
        messages: at("messages"),
        depth: at("depth"),
        children: at("children"),
        tokens: at("tokens"),
        money: at("money"),
    };
    if let Some(messages) = section.count(diagnostics, "messages") {
        budgets.messages = messages.into();
    }
    if let Some(depth) = section.count(diagnostics, "depth") {
        budgets.depth = usize::try_from(depth).unwrap_or(budgets.depth);
    }
    if let Some(children) = section.count(diagnostics, "children") {
        budgets.children = children.into();
    }
    budgets.wall_ms = section.measure(diagnostics, "wall").map(|wall| wall.value);
    budgets.tokens = section.measure(diagnostics, "tokens").map(|tokens| tokens.value);
    if let Some((node, path)) = section.get("money") {
        budgets.money = money(diagnostics, node, &path);
        currency = budgets.money.map(|money| At { at: node.span, value: money.currency });
    }
    (budgets, currency, written)
}

/// An amount of money and its currency.
pub(super) fn money(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Money> {
    let found = value::text(diagnostics, node, path)?;
    let money =
        Money::parse(&found.value).filter(|money| (1..=limits::BUDGET_MICROS).contains(&money.micros));
    if money.is_none() {
        let message =
            format!("{path}: `{}` is not an amount of money up to 1000000 with its currency", found.value);
        diagnostics.report(Code::ConfigValue, found.at, &message, Some("2 USD, or 0.000001 USD at least"));
    }
    money
}

/// Reads the section `loops`.
pub(super) fn loops(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> LoopLimits {
    let mut loops = LoopLimits::default();
    let Some(section) = fields(diagnostics, node, node.span, "loops", path) else { return loops };
    if let Some((node, path)) = section.get("repeated")
        && let Some(found) = value::text(diagnostics, node, &path)
    {
        let number = |text: &str| text.parse().ok().filter(|n| (1..=MOST_ROUNDS).contains(n));
        let ends = found.value.split_once("..").and_then(|(warned, refused)| {
            Some((number(warned)?, number(refused)?)).filter(|(warned, refused)| warned < refused)
        });
        match ends {
            Some((warned, refused)) => (loops.told, loops.refused) = (warned, refused),
            None => {
                let message = format!(
                    "{path}: `{}` is not two numbers from 1 to {MOST_ROUNDS}, the first smaller",
                    found.value
                );
                diagnostics.report(Code::ConfigValue, found.at, &message, Some("3..5"));
            }
        }
    }
    loops.ping_pong = section.count(diagnostics, "ping_pong").unwrap_or(loops.ping_pong);
    loops
}

/// Reads a share: a whole number of percent.
pub(super) fn share(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<u32> {
    let found = value::text(diagnostics, node, path)?;
    let digits = found.value.strip_suffix('%').filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    if let Some(percent) = digits.and_then(|text| text.parse().ok()).filter(|n| (1..=100).contains(n)) {
        return Some(percent);
    }
    let message = format!("{path}: `{}` is not a share from 1% to 100%", found.value);
    diagnostics.report(Code::ConfigValue, found.at, &message, Some("50%"));
    None
}
