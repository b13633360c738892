//! Names of XML for names of JSON and of tools.
//!
//! A name of any origin comes in; a legal, unused local name goes out. Most names stay as they are.

use systole_kit::name::{begins_name, is_ncname};

use crate::limits;

/// The names that one scope has given away.
#[derive(Clone, Debug, Default)]
pub(super) struct NameScope {
    taken: Vec<String>,
}

impl NameScope {
    /// A scope in which some names are taken.
    pub(super) fn with_taken(taken: &[&str]) -> Self {
        Self { taken: taken.iter().map(|name| (*name).to_owned()).collect() }
    }

    /// A name for a part: as it is, or with a number behind it.
    pub(super) fn choose_name(&mut self, wanted: &str) -> String {
        let name = make_legal(wanted);
        let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let name = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.push(name.clone());
        name
    }
}

/// A legal local name: other characters become `-`, and one that may not begin a name gets `_` in front.
fn make_legal(wanted: &str) -> String {
    if is_ncname(wanted) && wanted.len() <= limits::MADE_NAME {
        return wanted.to_owned();
    }
    let is_legal = |c: char| is_ncname(&format!("a{c}"));
    let mut name: String = wanted.chars().map(|c| if is_legal(c) { c } else { '-' }).collect();
    if !name.starts_with(begins_name) {
        name.insert(0, '_');
    }
    name.truncate(name.floor_char_boundary(limits::MADE_NAME));
    name
}

/// Names that the prompts and the protocol of this house already use, so no tool has them.
const HOUSE: [&str; 11] = [
    "thinking",
    "thought",
    "message",
    "attempt_completion",
    "tool_result",
    "tool-result",
    "tool-failed",
    "input-form",
    "input-given",
    "tool_call",
    "action",
];

/// The suffix of a tool whose name is in use.
const SUFFIX: &str = "-tool";

/// The suffix of the element of an answer.
pub(super) const RESULT: &str = "-result";

/// A name for a tool's element, and one for its answer.
pub(super) fn name_tool(
    scope: &mut NameScope,
    tool: &str,
    reserved: &[String],
    tools: &[&str],
) -> (String, String) {
    let is_result = tool.strip_suffix(RESULT).is_some_and(|other| tools.contains(&other));
    let is_xml = tool.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("xml"));
    let is_known = HOUSE.contains(&tool) || reserved.iter().any(|name| name == tool);
    let wanted = if is_result || is_xml || is_known { format!("{tool}{SUFFIX}") } else { tool.to_owned() };
    // XML reserves names that begin so.
    let wanted = if is_xml { format!("_{wanted}") } else { wanted };
    let name = scope.choose_name(&wanted);
    let result = scope.choose_name(&format!("{name}{RESULT}"));
    (name, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_legal_and_differ() {
        let mut scope = NameScope::default();
        let named: Vec<String> = ["path", "max count", "2d", "", "max/count", "größe", "a:b", "path"]
            .map(|n| scope.choose_name(n))
            .into();
        assert_eq!(named, ["path", "max-count", "_2d", "_", "max-count-2", "größe", "a-b", "path-2"]);
        assert!(named.iter().all(|name| is_ncname(name)));
        assert!(is_ncname(&scope.choose_name(&"ä".repeat(1000))));
    }

    #[test]
    fn a_tool_has_no_name_of_the_house() {
        let tools = ["get", "get-result", "thinking", "xmlify", "9p/read", "ask"];
        let (mut scope, reserved) = (NameScope::default(), ["ask".to_owned()]);
        let named: Vec<String> =
            tools.iter().map(|tool| name_tool(&mut scope, tool, &reserved, &tools).0).collect();
        assert_eq!(
            named,
            ["get", "get-result-tool", "thinking-tool", "_xmlify-tool", "_9p-read", "ask-tool"]
        );
    }
}
