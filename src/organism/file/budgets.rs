//! The section `budgets`, and a listener's share: what one message from outside may use, and how much of
//! that a child. In comes the node, out comes what it declares, with every key that is left out at its
//! default.

use super::desk::Desk;
use super::value::{self, fields};
use super::yaml::Node;
use crate::words::budget::Budgets;
use crate::words::codes::Code;
use crate::words::limits;

/// The share of a child whose listener names none, of a hundred.
pub(super) const SHARE_PERCENT: u32 = 50;

/// Reads the section.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> Budgets {
    let mut budgets = Budgets::default();
    let Some(section) = fields(desk, node, node.span, "budgets", path) else { return budgets };
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
    budgets
}

/// Reads a share: a whole number of a hundred.
pub(super) fn share(desk: &mut Desk, node: &Node, path: &str) -> u32 {
    let Some(found) = value::text(desk, node, path) else { return SHARE_PERCENT };
    let digits = found.value.strip_suffix('%').filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    if let Some(percent) = digits.and_then(|text| text.parse().ok()).filter(|n| (1..=100).contains(n)) {
        return percent;
    }
    let told = [path, ": `", &found.value, "` is no share from 1% to 100%"].concat();
    desk.tell(Code::ConfigValue, found.at, &told, Some("50%"));
    SHARE_PERCENT
}
