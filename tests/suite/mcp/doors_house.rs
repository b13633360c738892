//! The organism in `config/doors`, running in a folder of its own, and hosts whose persons fill in forms.

use std::path::Path;

use serde_json::{Value, json};

use super::host::{ModelHost, result};
use crate::program::Running;

pub(crate) const SUITE: &str = "suite-token-0123456789abcdef";
pub(crate) const DESK: &str = "desk-token-0123456789abcdef";
pub(crate) const GUEST: &str = "guest-token-0123456789abcdef";
pub(crate) const TOKENS: [(&str, &str); 3] =
    [("SUITE_TOKEN", SUITE), ("DESK_TOKEN", DESK), ("GUEST_TOKEN", GUEST)];

/// A folder with that organism.
pub(crate) fn doors_house() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/doors");
    std::fs::create_dir(folder.path().join("listeners")).unwrap();
    let program = "listeners/suite.py";
    std::fs::copy(from.join(program), folder.path().join(program)).unwrap();
    let file = std::fs::read_to_string(from.join("organism.yaml")).unwrap();
    // Where the tests look for a log.
    std::fs::write(folder.path().join("organism.yaml"), file.replace("doors.db", "hello.db")).unwrap();
    folder
}

/// The same, running.
pub(crate) fn run_doors(folder: &Path) -> Running {
    Running::organism_with(folder, &TOKENS)
}

/// The parameters of a call.
pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

/// The only form in a result that asks: its name and its parameters.
pub(super) fn only_form(asked: &Value) -> (String, Value) {
    let forms = asked["inputRequests"].as_object().unwrap_or_else(|| panic!("no forms: {asked}"));
    assert_eq!(forms.len(), 1, "{asked}");
    let (name, form) = forms.iter().next().unwrap();
    assert_eq!(form["method"], "elicitation/create");
    (name.clone(), form["params"].clone())
}

/// The parameters of the call that answers the only form of a result.
pub(super) fn call_again(first: &Value, asked: &Value, answer: &Value) -> Value {
    let mut again = first.clone();
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({only_form(asked).0: answer});
    again
}

/// A host of that token that shows forms.
pub(super) fn form_host(folder: &Path, token: &str) -> ModelHost {
    ModelHost::new(folder, token).with_forms()
}

/// What a call asks or answers.
pub(super) fn call_for(host: &ModelHost, params: &Value) -> Value {
    result(&host.states("tools/call", params))
}
