//! The sections `budgets` and `loops`: what one message from outside may use, and when repeated calls get a warning
//! or are refused.

use systole_kit::money::{Currency, Money};

use super::diagnostics::Diagnostics;
use super::forms::{CountWithin, TokensWithin, WaitTime, read_parsed};
use super::key::KeyForm;
use super::section::{form, section};
use super::tree::Node;
use super::value::At;
use crate::limits::{self, MOST_DEPTH, ROUNDS};
use systole_core::types::budget::{Budgets, LoopLimits};

/// Messages, calls and spawns.
pub(super) type MessageCount = CountWithin<1, { limits::BUDGET_MESSAGES }>;
/// Tokens of a budget.
pub(super) type BudgetTokens = TokensWithin<1, { limits::BUDGET_TOKENS }>;

section! {
    /// The section `budgets`.
    pub(super) BudgetKeys with own {
        messages: default(500) <MessageCount> "calls and spawns, {bounds}";
        depth: default(6) <CountWithin<1, MOST_DEPTH>> "how deep calls and spawns nest, counted from the first call on, {bounds}";
        children: default(32) <CountWithin<1, { limits::BUDGET_CHILDREN }>> "child threads in all, at all depths together, {bounds}; at most 1000 of a call are open at once";
        wall: optional("none") <WaitTime> "how long the work on it may take, {bounds}; not counted while it waits only for persons and timers";
        tokens: optional("none") <BudgetTokens> "tokens of models: a whole number, `200k` or `1M`";
        requests: default(limits::REQUESTS) <CountWithin<1, { limits::BUDGET_REQUESTS }>> "requests to models, {bounds}, without those that failed and cost nothing; each agent at work keeps one for its final";
        money: optional("none") <MoneyAmount> "what models may cost: an amount with at most six decimals, and its currency: `2 USD`";
    }
}

section! {
    /// The section `loops`.
    pub(super) LoopKeys {
        repeated: default((3, 5)) <RepeatRange> "of the same calls to the same listener, which one gets a warning and which one is refused, 1 to 1000";
        ping_pong: default(6) <CountWithin<1, ROUNDS>> "turns that may call one listener while nothing new is called or answered, {bounds}";
    }
}

form! {
    /// An amount of money and its currency.
    pub(super) MoneyAmount -> Money { KeyForm::Pattern(r"^[0-9]+(\.[0-9]{1,6})? [A-Z]{3}$"), read_money }
}
form! {
    /// The call that gets a warning, and the one that is refused.
    pub(super) RepeatRange -> (u32, u32) {
        KeyForm::Pattern(r"^[0-9]+\.\.[0-9]+$"), read_repeated, show |(warned, refused): &(u32, u32)| format!("{warned}..{refused}")
    }
}

impl BudgetKeys {
    /// The budgets, with defaults for what the file leaves out.
    pub(super) fn budgets(&self) -> Budgets {
        Budgets {
            messages: self.messages.value.into(),
            depth: self.depth.value as usize,
            children: self.children.value.into(),
            wall_ms: self.wall.as_ref().map(|wall| wall.value),
            tokens: self.tokens.as_ref().map(|tokens| tokens.value),
            money: self.money.as_ref().map(|money| money.value),
            requests: Some(self.requests.value.into()),
            keeps_finals: true,
        }
    }

    /// The currency of the money budget.
    pub(super) fn currency(&self) -> Option<At<Currency>> {
        self.money.as_ref().map(|money| At { at: money.at, value: money.value.currency })
    }
}

impl LoopKeys {
    pub(super) fn limits(&self) -> LoopLimits {
        let (told, refused) = self.repeated.value;
        LoopLimits { told, refused, ping_pong: self.ping_pong.value }
    }
}

fn read_money(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Money> {
    read_parsed(diagnostics, node, path, |text| {
        let money = Money::parse(text).filter(|money| (1..=limits::BUDGET_MICROS).contains(&money.micros));
        money.ok_or_else(|| {
            let what = format!("`{text}` is not an amount of money up to 1000000 with its currency");
            (what, "2 USD, or 0.000001 USD at least".to_owned())
        })
    })
}

fn read_repeated(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<(u32, u32)> {
    read_parsed(diagnostics, node, path, |text| {
        let number = |text: &str| text.parse().ok().filter(|n| (1..=ROUNDS).contains(n));
        let ends = text.split_once("..").and_then(|(first, last)| Some((number(first)?, number(last)?)));
        ends.filter(|(warned, refused)| warned < refused).ok_or_else(|| {
            let what = format!("`{text}` is not two numbers from 1 to {ROUNDS}, the first smaller");
            (what, "3..5".to_owned())
        })
    })
}
