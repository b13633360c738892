//! Names that the file lists: without repetition, valid for their purpose, and the known ones as a fix.

use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::tree::{Node, Span};
use super::value::{self, At};
use systole_core::types::codes::Code;

/// The elements that a listener accepts as requests. The list must not be empty.
pub(super) fn read_accepted(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
) -> Option<Vec<At<String>>> {
    let found = value::texts(diagnostics, node, path)?;
    if found.is_empty() {
        let message = format!("{path}: a listener that accepts nothing is never called");
        let fix = "[ELEMENT], a payload of the file or of a schema";
        diagnostics.report_value(node.span, &message, fix);
    }
    Some(single(diagnostics, found, path))
}

/// Reports a name that is not valid for an environment variable.
pub(super) fn variable(diagnostics: &mut Diagnostics, name: &str, at: Span, path: &str) {
    let start = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let word = start && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !word {
        let message = format!("{path}: `{name}` is not the name of an environment variable");
        diagnostics.report_value(at, &message, "letters, digits and _, a digit not first");
    } else if name.starts_with("SYSTOLE_") {
        diagnostics.report_value(at, &format!("{path}: `{name}` is set by Systole"), "another name");
    }
}

/// The entries of a list without repetition. A repeated one is reported.
pub(super) fn single(diagnostics: &mut Diagnostics, found: Vec<At<String>>, path: &str) -> Vec<At<String>> {
    let mut kept: Vec<At<String>> = Vec::with_capacity(found.len());
    for item in found {
        if let Some(first) = kept.iter().find(|k| k.value == item.value).map(|k| k.at) {
            let message = format!("{path}: `{}` is listed twice", item.value);
            let second = (first, "the first one");
            diagnostics.report_beside(Code::ConfigDuplicate, item.at, &message, "leave one out", second);
        } else {
            kept.push(item);
        }
    }
    kept
}

pub(super) fn one_of<'a>(known: impl Iterator<Item = &'a str>) -> String {
    // A dozen names are enough to recognize a typing error.
    let some: Vec<&str> = known.take(12).collect();
    if some.is_empty() {
        "leave it out, since there is none yet".to_owned()
    } else {
        format!("one of {}", some.join(", "))
    }
}

/// The meaning of a word in a list, of those that are known. `place` is the path of the list, and what its words are.
pub(super) fn find_word<T, K: Iterator<Item = (&'static str, T)>>(
    diagnostics: &mut Diagnostics,
    named: &At<String>,
    (path, what): (&str, &str),
    known: impl Fn() -> K,
) -> Option<T> {
    let found = known().find(|(word, _)| *word == named.value);
    if found.is_none() {
        let message = format!("{path}: `{}` is no {what}", named.value);
        let words = || known().map(|(word, _)| word);
        let fix = find_nearest(&named.value, words()).map_or_else(|| one_of(words()), str::to_owned);
        diagnostics.report_value(named.at, &message, &fix);
    }
    found.map(|(_, meaning)| meaning)
}
