//! The core payloads about a call that is open again after it failed. Like all core payloads, they are written through the kit's writer and are valid under `core.xsd`.

use std::sync::Arc;

use super::core_payload::{read_attributes, write_element};
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_read_back_and_a_note_may_hold_markup() {
        let by = Name::parse("alice").unwrap();
        for (note, has_effects) in [(None, false), (Some("the \"key\" <was> old".to_owned()), true)] {
            let terms = RetryTerms { by: by.clone(), number: 2, note, has_effects };
            assert_eq!(read_reopened(&write_reopened(&terms)), Some(terms.clone()));
            assert!(is_retried(&write_retried(&terms)) && !is_retried(&write_reopened(&terms)));
        }
    }
}
