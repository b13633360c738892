//! The section `approval` of a listener: when a person must approve what goes to it, how long that is
//! waited for, and who is told. In comes the node, out comes what it declares; names are looked up where
//! all of them are known.

use super::declared::single;
use super::desk::Desk;
use super::measure::duration_ms;
use super::value::{self, At, fields};
use super::yaml::Node;
use systole_core::types::codes::Code;
use systole_core::types::composition::ApprovalRule;
use systole_core::types::ids::Name;

/// Nobody can decide faster than this.
const SHORTEST_MS: u64 = 1_000;

/// What the section declares.
#[derive(Default)]
pub(super) struct Approval {
    pub(super) always: bool,
    pub(super) expires_ms: Option<u64>,
    pub(super) tell: Vec<At<String>>,
}

impl Approval {
    /// The rule, with what was left out at its default.
    pub(super) fn rule(&self) -> ApprovalRule {
        let by_default = ApprovalRule::default();
        ApprovalRule {
            always: self.always,
            expires_ms: self.expires_ms.unwrap_or(by_default.expires_ms),
            // A name that does not parse is told where it is looked up.
            tell: self.tell.iter().filter_map(|named| Name::parse(&named.value).ok()).collect(),
        }
    }
}

/// Reads the section, whose keys stand in the table under `table`.
pub(super) fn read(desk: &mut Desk, node: &Node, table: &str, path: &str) -> Approval {
    let mut approval = Approval::default();
    let Some(section) = fields(desk, node, node.span, table, path) else {
        return approval;
    };
    if let Some((node, path)) = section.get("when") {
        let choices = [("dangerous", false), ("always", true)];
        approval.always = value::word(desk, node, &path, &choices).unwrap_or(true);
    }
    if let Some((node, path)) = section.get("expires")
        && let Some(expires) = duration_ms(desk, node, &path)
    {
        if expires.value < SHORTEST_MS {
            let told = format!("{path}: shorter than 1s, so that nobody could decide in time");
            desk.tell(Code::ConfigValue, expires.at, &told, Some("1s or longer"));
        }
        approval.expires_ms = Some(expires.value);
    }
    if let Some((node, path)) = section.get("tell") {
        let found = value::texts(desk, node, &path).unwrap_or_default();
        approval.tell = single(desk, found, &path);
    }
    approval
}
