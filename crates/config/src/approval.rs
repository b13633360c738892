//! The section `approval` of a listener: when a person must approve payloads for it, how long they wait,
//! and which listeners are notified. Input: the node. Output: the declared rule. Names are looked up
//! later, when all of them are known.

use super::diagnostics::Diagnostics;
use super::names::single;
use super::tree::Node;
use super::value::{self, At, fields};
use systole_core::types::composition::ApprovalRule;
use systole_core::types::ids::Name;

/// The declared values.
#[derive(Default)]
pub(super) struct Approval {
    pub(super) always: bool,
    pub(super) expires_ms: Option<u64>,
    pub(super) tell: Vec<At<String>>,
}

impl Approval {
    /// The rule, with defaults for missing values.
    pub(super) fn rule(&self) -> ApprovalRule {
        let by_default = ApprovalRule::default();
        ApprovalRule {
            always: self.always,
            expires_ms: self.expires_ms.unwrap_or(by_default.expires_ms),
            // An invalid name is reported where it is looked up.
            tell: self.tell.iter().filter_map(|named| Name::parse(&named.value).ok()).collect(),
        }
    }
}

/// Reads the section. `table` is its path in the table of keys.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, table: &str, path: &str) -> Approval {
    let mut approval = Approval::default();
    let Some(section) = fields(diagnostics, node, node.span, table, path) else {
        return approval;
    };
    if let Some((node, path)) = section.get("when") {
        let choices = [("dangerous", false), ("always", true)];
        approval.always = value::word(diagnostics, node, &path, &choices).unwrap_or(true);
    }
    approval.expires_ms = section.measure(diagnostics, "expires").map(|expires| expires.value);
    if let Some((node, path)) = section.get("tell") {
        let found = value::texts(diagnostics, node, &path).unwrap_or_default();
        approval.tell = single(diagnostics, found, &path);
    }
    approval
}
