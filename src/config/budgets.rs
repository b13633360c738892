//! The sections `budgets` and `loops`, and a listener's share: what one message from outside may use, how
//! much of that a child, and when calls that repeat themselves are told and refused. In comes the node, out comes what it declares, with every key that is left out at its
//! default.

use systole_kit::money::{Currency, Money};

use super::desk::Desk;
use super::measure::{self, Bounds};
use super::value::{self, At, fields};
use super::yaml::{Node, Span};
use systole_core::types::budget::{Budgets, Loops};
use systole_core::types::codes::Code;
use systole_core::types::limits;

/// The share of a child whose listener names none, of a hundred.
pub(super) const SHARE_PERCENT: u32 = 50;

/// Most repetitions that a file may allow.
const MOST_ROUNDS: u32 = 1000;

/// The time that a message may take lies between these.
const WALL: Bounds = Bounds { least: ("1s", 1_000), most: ("1d", 86_400_000) };

/// Tokens that a message may use lie between these.
pub(super) const TOKENS: Bounds = Bounds { least: ("1", 1), most: ("1000000M", limits::BUDGET_TOKENS) };

/// Where the file says how much may be used; none where it leaves that to the default.
#[derive(Clone, Copy, Default)]
pub(super) struct Written {
    pub(super) messages: Option<Span>,
    pub(super) depth: Option<Span>,
    pub(super) children: Option<Span>,
    pub(super) tokens: Option<Span>,
    pub(super) money: Option<Span>,
}

/// Reads the section `budgets`, with the place where its currency stands.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> (Budgets, Option<At<Currency>>, Written) {
    let (mut budgets, mut currency) = (Budgets::default(), None);
    let Some(section) = fields(desk, node, node.span, "budgets", path) else {
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
    let mut count = |key, most| {
        let (node, path) = section.get(key)?;
        value::count(desk, node, &path, 1, most)
    };
    if let Some(messages) = count("messages", limits::BUDGET_MESSAGES) {
        budgets.messages = messages.into();
    }
    if let Some(depth) = count("depth", u32::try_from(limits::DEPTH).unwrap_or(u32::MAX)) {
        budgets.depth = usize::try_from(depth).unwrap_or(budgets.depth);
    }
    if let Some(children) = count("children", limits::BUDGET_CHILDREN) {
        budgets.children = children.into();
    }
    if let Some((node, path)) = section.get("wall") {
        budgets.wall_ms = measure::between_ms(desk, node, &path, &WALL);
    }
    if let Some((node, path)) = section.get("tokens") {
        budgets.tokens = measure::tokens(desk, node, &path, &TOKENS).map(|tokens| tokens.value);
    }
    if let Some((node, path)) = section.get("money") {
        budgets.money = money(desk, node, &path);
        currency = budgets.money.map(|money| At { at: node.span, value: money.currency });
    }
    (budgets, currency, written)
}

/// An amount of money and its currency.
pub(super) fn money(desk: &mut Desk, node: &Node, path: &str) -> Option<Money> {
    let found = value::text(desk, node, path)?;
    let money =
        Money::parse(&found.value).filter(|money| (1..=limits::BUDGET_MICROS).contains(&money.micros));
    if money.is_none() {
        let told = [path, ": `", &found.value, "` is no amount of money up to 1000000 with its currency"];
        desk.tell(Code::ConfigValue, found.at, &told.concat(), Some("2 USD, or 0.000001 USD at least"));
    }
    money
}

/// Reads the section `loops`.
pub(super) fn loops(desk: &mut Desk, node: &Node, path: &str) -> Loops {
    let mut loops = Loops::default();
    let Some(section) = fields(desk, node, node.span, "loops", path) else { return loops };
    if let Some((node, path)) = section.get("repeated")
        && let Some(found) = value::text(desk, node, &path)
    {
        let number = |text: &str| text.parse().ok().filter(|n| (1..=MOST_ROUNDS).contains(n));
        let ends = found.value.split_once("..").and_then(|(told, refused)| {
            Some((number(told)?, number(refused)?)).filter(|(told, refused)| told < refused)
        });
        match ends {
            Some((told, refused)) => (loops.told, loops.refused) = (told, refused),
            None => {
                let told =
                    [&path, ": `", &found.value, "` is not two numbers from 1 to 1000, the first smaller"];
                desk.tell(Code::ConfigValue, found.at, &told.concat(), Some("3..5"));
            }
        }
    }
    if let Some((node, path)) = section.get("ping_pong")
        && let Some(rounds) = value::count(desk, node, &path, 1, MOST_ROUNDS)
    {
        loops.ping_pong = rounds;
    }
    loops
}

/// Reads a share: a whole number of a hundred.
pub(super) fn share(desk: &mut Desk, node: &Node, path: &str) -> Option<u32> {
    let found = value::text(desk, node, path)?;
    let digits = found.value.strip_suffix('%').filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    if let Some(percent) = digits.and_then(|text| text.parse().ok()).filter(|n| (1..=100).contains(n)) {
        return Some(percent);
    }
    let told = format!("{path}: `{}` is no share from 1% to 100%", found.value);
    desk.tell(Code::ConfigValue, found.at, &told, Some("50%"));
    None
}
