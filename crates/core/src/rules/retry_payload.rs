//! The core payloads about a call that is open again after it failed, and what is read of its failure. Like all core
//! payloads, they are written through the kit's writer and are valid under `core.xsd`.

use std::sync::Arc;

use super::core_payload::{error_words, read_attributes, write_element};
use crate::types::ids::Name;

/// Who had a call reopened, and on which terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetryTerms {
    /// The client.
    pub by: Name,
    /// How often the call was reopened, this time included.
    pub number: u32,
    /// The reason.
    pub note: Option<String>,
    /// Whether effects outside may happen again.
    pub has_effects: bool,
}

/// `<reopened>`: a failed call is open again.
pub fn write_reopened(terms: &RetryTerms) -> Arc<[u8]> {
    write_terms("reopened", terms)
}

/// `<retried>`: the same, for the inbox of a run of a workflow.
pub fn write_retried(terms: &RetryTerms) -> Arc<[u8]> {
    write_terms("retried", terms)
}

fn write_terms(element: &'static str, terms: &RetryTerms) -> Arc<[u8]> {
    write_element(element, |start| {
        start
            .attr("by", terms.by.as_str())
            .attr("retry", &terms.number.to_string())
            .attr_if("note", terms.note.as_deref())
            .attr_if("effects", terms.has_effects.then_some("true"))
            .empty();
    })
}

/// Reads a `<reopened>`.
pub fn read_reopened(body: &[u8]) -> Option<RetryTerms> {
    let [by, retry, note, effects] = read_attributes(body, "reopened", ["by", "retry", "note", "effects"])?;
    let (by, number) = (Name::parse(&by?).ok()?, retry?.parse().ok()?);
    Some(RetryTerms { by, number, note, has_effects: effects.as_deref() == Some("true") })
}

/// Whether it is a `<retried>`.
pub fn is_retried(body: &[u8]) -> bool {
    read_attributes(body, "retried", ["retry"]).is_some()
}

/// The code of what failed first, from the message of a `<system-error>`: a call passes on the failure of a call below
/// it behind its own code and name. `None` if it is no `<system-error>`.
pub fn first_code(body: &[u8]) -> Option<String> {
    let (mut code, message) = error_words(body)?;
    let mut rest = message.as_str();
    while let Some((first, behind)) = rest.split_once(": ") {
        if is_code(first) {
            code = first.to_owned();
        } else if !is_place(first) {
            break;
        }
        rest = behind;
    }
    Some(code)
}

fn is_code(text: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    text.contains('.') && text.split('.').all(is_part)
}

/// Whether a text may be the name of a listener or the label of a step, as `review[3]`.
fn is_place(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._-[]".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::core_payload;
    use crate::types::codes::Code;
    use crate::types::refusal::Refusal;

    #[test]
    fn terms_read_back_and_a_note_may_hold_markup() {
        let by = Name::parse("alice").unwrap();
        for (note, has_effects) in [(None, false), (Some("the \"key\" <was> old".to_owned()), true)] {
            let terms = RetryTerms { by: by.clone(), number: 2, note, has_effects };
            assert_eq!(read_reopened(&write_reopened(&terms)), Some(terms.clone()));
            assert!(is_retried(&write_retried(&terms)) && !is_retried(&write_reopened(&terms)));
        }
    }

    #[test]
    fn the_first_code_is_the_last_one_that_a_call_passed_on() {
        let code = |message: &str| {
            let body = core_payload::system_error(&Refusal::new(Code::ListenerFailed, message.to_owned()));
            first_code(&body).unwrap()
        };
        assert_eq!(code("tool: last words"), "listener.failed");
        assert_eq!(
            code("decide: workflow.step-failed: pay[3]: approval.rejected: bob said no"),
            "approval.rejected"
        );
        assert_eq!(code("it is said: approval.rejected: no"), "listener.failed", "words of a program");
    }
}
