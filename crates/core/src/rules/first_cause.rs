//! The way down that a failure tells: the message of a failed call names each call that it went through, as `decide:
//! workflow.step-failed: frame: listener.failed: writer: model.unavailable: …`.
//!
//! Code and message come in; the calls and the words of the first cause go out. Words of a listener that only look like
//! a call are left as they are: they come behind the first code that no call passes on.

use super::core_payload::{error_words, read_first_code};
use crate::types::limits;

/// The codes with which a run of a workflow fails.
pub const OF_STEPS: &str = "workflow.";

/// A call or a step that a failure went through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedPlace {
    /// The code with which it failed.
    pub code: String,
    /// The listener, or the step of a workflow; `None` if the message does not say it.
    pub name: Option<String>,
}

/// Takes a failure apart: the calls that it went through, the outermost one first, and the words of the first cause.
/// The code of the last call is that of the first cause.
pub fn trace_failure<'m>(
    code: &str,
    message: &'m str,
    first_code: Option<&str>,
) -> (Vec<FailedPlace>, &'m str) {
    let mut places: Vec<FailedPlace> = Vec::new();
    let (mut code, mut rest) = (code.to_owned(), message);
    loop {
        let is_of_step = code.starts_with(OF_STEPS);
        let place = match is_of_step {
            true => steps(rest),
            false => lead(rest, is_place).filter(|_| code.starts_with("listener.")),
        };
        let name = place.map(|(name, behind)| {
            rest = behind;
            name.to_owned()
        });
        let is_passed_on = name.is_some();
        places.push(FailedPlace { code, name });
        let inner = lead(rest, |text| is_code(text) && (text.contains('.') || !is_of_step));
        match inner.filter(|_| is_passed_on) {
            Some((inner, behind)) => (code, rest) = (inner.to_owned(), behind),
            None => break,
        }
    }
    // The code of a foreign listener may have any form.
    if let Some(first) = first_code.filter(|first| places.last().is_some_and(|last| last.code != *first)) {
        rest = rest.strip_prefix(first).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(rest);
        places.push(FailedPlace { code: first.to_owned(), name: None });
    }
    (places, rest)
}

/// The code of the first cause in a `<system-error>`; older versions said it only in the message. `None` for any other
/// payload.
pub fn find_first_code(body: &[u8]) -> Option<String> {
    let (code, message) = error_words(body)?;
    let (places, _) = trace_failure(&code, &message, read_first_code(body).as_deref());
    places.into_iter().next_back().map(|place| place.code)
}

/// The text before the first colon, if it is of that kind, and what is behind it.
fn lead(text: &str, is_it: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    text.split_once(": ")
        .filter(|(first, _)| !first.is_empty() && first.len() <= limits::CAUSE_NAME_BYTES && is_it(first))
}

/// The step that a run failed at, as `both: second`, and what is behind it. Behind the first name others count only if a
/// code follows them.
fn steps(text: &str) -> Option<(&str, &str)> {
    let (first, behind) = lead(text, is_place)?;
    let mut rest = behind;
    while let Some((name, behind)) = lead(rest, is_place) {
        if is_code(name) && name.contains('.') {
            let named = text.len() - rest.len() - ": ".len();
            return Some((text.get(..named)?, rest));
        }
        rest = behind;
    }
    Some((first, behind))
}

/// Whether a text may be the name of a listener or the label of a step, as `review[3]`.
fn is_place(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "._-[]".contains(c))
}

/// Whether a text may be a code.
pub fn is_code(text: &str) -> bool {
    text.split('.').all(|part| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::core_payload;
    use crate::types::codes::Code;
    use crate::types::refusal::Refusal;

    #[test]
    fn the_first_code_is_the_last_one_that_a_call_passed_on() {
        let code = |first: Option<&str>, message: &str| {
            let mut refusal = Refusal::new(Code::ListenerFailed, message.to_owned());
            refusal.first_code = first.map(Into::into);
            find_first_code(&core_payload::system_error(&refusal)).unwrap()
        };
        assert_eq!(code(None, "tool: last words"), "listener.failed");
        let way = "decide: workflow.step-failed: pay[3]: approval.rejected: bob said no";
        assert_eq!(code(None, way), "approval.rejected");
        assert_eq!(code(Some("Own!"), "tool: Own!: no"), "Own!", "the attribute says it");
        assert_eq!(code(None, "it is said: approval.rejected: no"), "listener.failed", "words of a program");
    }
}
