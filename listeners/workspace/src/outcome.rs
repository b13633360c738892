//! `<change-result>`: what became of a change set, element by element.
//!
//! Outcomes come in; a payload goes out.

use systole_kit::writer::XmlWriter;
use systole_kit::{Payload, characters, namespaces};

use crate::fault::ElementFault;
use crate::limits;

/// What became of a change set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangeOutcome {
    pub(crate) change: String,
    pub(crate) outcome: OutcomeKind,
    pub(crate) reason: Option<String>,
    pub(crate) results: Vec<ElementResult>,
    pub(crate) changed: Vec<ChangedFile>,
}

/// What became of a change set or of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutcomeKind {
    Done,
    Refused,
    Failed,
    Unknown,
    /// Only of an element.
    NotRun,
}

/// What became of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElementResult {
    pub(crate) element: String,
    pub(crate) outcome: OutcomeKind,
    pub(crate) code: Option<String>,
    /// How its command ended.
    pub(crate) exit: Option<String>,
    pub(crate) text: String,
}

/// A file that a command changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedFile {
    pub(crate) of: usize,
    pub(crate) path: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl OutcomeKind {
    fn word(self) -> &'static str {
        match self {
            OutcomeKind::Done => "done",
            OutcomeKind::Refused => "refused",
            OutcomeKind::Failed => "failed",
            OutcomeKind::Unknown => "unknown",
            OutcomeKind::NotRun => "not-run",
        }
    }
}

impl ElementResult {
    pub(crate) fn new(element: &str, outcome: OutcomeKind, text: impl Into<String>) -> ElementResult {
        ElementResult { element: element.to_owned(), outcome, code: None, exit: None, text: text.into() }
    }

    /// The result of an element that does not fit.
    pub(crate) fn from_refusal(element: &str, fault: &ElementFault) -> ElementResult {
        let code = Some(fault.code.to_owned());
        ElementResult { code, ..ElementResult::new(element, OutcomeKind::Refused, fault.message.clone()) }
    }
}

impl ChangeOutcome {
    pub(crate) fn new(change: &str, outcome: OutcomeKind) -> ChangeOutcome {
        let change = change.to_owned();
        ChangeOutcome { change, outcome, reason: None, results: Vec::new(), changed: Vec::new() }
    }

    pub(crate) fn with_reason(self, reason: impl Into<String>) -> ChangeOutcome {
        ChangeOutcome { reason: Some(reason.into()), ..self }
    }

    pub(crate) fn to_payload(&self) -> Option<Payload> {
        let mut writer = XmlWriter::new();
        let tag = writer.open("change-result").xmlns(namespaces::WORKSPACE).attr("change", &self.change);
        tag.attr("outcome", self.outcome.word()).content(|inside| {
            let mut room = limits::RESULT_BYTES;
            if let Some(reason) = &self.reason {
                inside.open("reason").text(&fit_text(reason, &mut room));
            }
            for (of, result) in (1_u64..).zip(&self.results) {
                let tag = inside.open("result").number("of", of).attr("element", &result.element);
                let tag = tag.attr("outcome", result.outcome.word()).attr_if("code", result.code.as_deref());
                tag.attr_if("exit", result.exit.as_deref()).text(&fit_text(&result.text, &mut room));
            }
            for file in &self.changed {
                let tag = inside.open("changed").attr("of", &file.of.to_string()).attr("path", &file.path);
                tag.attr_if("before", file.before.as_deref()).attr_if("after", file.after.as_deref()).empty();
            }
        });
        Payload::from_trusted(writer.finish().into()).ok()
    }
}

/// As much of a text as there is room for.
fn fit_text<'t>(text: &'t str, room: &mut usize) -> std::borrow::Cow<'t, str> {
    // A reference such as `&amp;` takes five bytes.
    let cost = |character: char| match character {
        '&' | '<' | '>' | '\r' => 5,
        other => other.len_utf8().max(3 * usize::from(!characters::is_legal(other))),
    };
    let mut end = 0;
    for (at, character) in text.char_indices() {
        let Some(left) = room.checked_sub(cost(character)) else {
            let left_out = text.len() - at;
            return format!("{}\n[{left_out} bytes left out]", text.get(..end).unwrap_or_default()).into();
        };
        *room = left;
        end = at + character.len_utf8();
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_a_result_fits_a_payload() {
        let result = ElementResult::new("shell", OutcomeKind::Done, "&\u{1}".repeat(100_000));
        let mut outcome = ChangeOutcome::new("c000000000000", OutcomeKind::Done);
        outcome.results = vec![result; 64];
        let payload = outcome.to_payload().unwrap();
        assert!(payload.bytes().len() < 600 << 10, "{}", payload.bytes().len());
        assert!(String::from_utf8_lossy(payload.bytes()).contains("bytes left out]"));
    }
}
