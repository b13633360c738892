//! Listeners that work on folders: `code`, which searches source code.
//!
//! Input: the keys of a listener. Output: its folder and what it never shows. `searched` checks the folder.

use systole_code::check_pattern;

use super::diagnostics::Diagnostics;
use super::names::single;
use super::value::{self, At, Fields};
use systole_core::types::codes::Code;

/// The name of the vocabulary of code among the built-in schemas.
pub(super) const CODE: &str = "code/";
/// The requests that a listener of code takes.
const REQUESTS: [&str; 3] = ["search", "extract", "query"];
/// Its answers.
const ANSWERS: [&str; 4] = ["search-result", "extract-result", "query-result", "code-error"];
/// Keys that have no meaning beside `code`.
const OTHERS: [&str; 9] = ["run", "nats", "schema", "accepts", "returns", "peers", "env", "pass", "mode"];

/// What a listener of code searches, as declared.
pub(super) struct CodeDeclaration {
    /// The folder, from the folder of the organism's file.
    pub(super) root: At<String>,
    pub(super) deny: Vec<At<String>>,
}

/// Reads `code` and `deny` of a listener. `None` if it is no listener of code.
pub(super) fn code(diagnostics: &mut Diagnostics, own: &Fields<'_>) -> Option<CodeDeclaration> {
    let Some((node, path)) = own.get("code") else {
        if let (Some((node, path)), Some(at)) = (own.get("deny"), own.place_of("deny")) {
            // A value of the wrong kind is reported as well.
            let _read = value::texts(diagnostics, node, &path);
            let message = format!("{path}: only a listener of `code` has a deny list");
            diagnostics.report(
                Code::ConfigValue,
                at,
                &message,
                Some("code: ./src beside it, or leave it out"),
            );
        }
        return None;
    };
    let at = node.span;
    for key in OTHERS.into_iter().chain(["framing"]) {
        if let Some((other, other_path)) = own.get(key) {
            let message = format!(
                "{other_path}: a listener of `code` is built in, and takes and returns its own elements"
            );
            let second = (at, "a listener of code");
            diagnostics.report_beside(
                Code::ConfigValue,
                other.span,
                &message,
                Some("one of the two"),
                second,
            );
        }
    }
    let mut deny = Vec::new();
    if let Some((node, path)) = own.get("deny") {
        let found = value::texts(diagnostics, node, &path).unwrap_or_default();
        for pattern in single(diagnostics, found, &path) {
            match check_pattern(&pattern.value) {
                Ok(()) => deny.push(pattern),
                Err(why) => {
                    let message = format!("{path}: `{}` cannot be used: {why}", pattern.value);
                    diagnostics.report(
                        Code::ConfigValue,
                        pattern.at,
                        &message,
                        Some("\"*.pem\", or private/"),
                    );
                }
            }
        }
    }
    let root = value::text(diagnostics, node, &path).unwrap_or(At { at, value: ".".to_owned() });
    Some(CodeDeclaration { root, deny })
}

/// The elements that a listener of code takes and returns.
pub(super) fn elements(code: &CodeDeclaration) -> (Vec<At<String>>, Vec<At<String>>) {
    let named = |all: &[&str]| -> Vec<At<String>> {
        all.iter().map(|local| At { at: code.root.at, value: (*local).to_owned() }).collect()
    };
    (named(&REQUESTS), named(&ANSWERS))
}
