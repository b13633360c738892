//! The first cause of a failure, for a person: what failed first, and then where.
//!
//! An error comes in; the calls that it went through and the words of the first cause go out.

use serde_json::{Value, json};

use super::glance::{SystemError, attribute, glance, read_error};
use crate::limits;
use systole_core::rules::element::read_text;
use systole_core::rules::first_cause::{FailedPlace, OF_STEPS, is_code, trace_failure};
use systole_core::types::record::RecordCode;
use systole_show::columns::{cut, plain};

/// A failure taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirstCause {
    /// The outermost call first; the code of the last one is that of the first cause.
    pub places: Vec<FailedPlace>,
    /// The words of the first cause.
    pub words: String,
}

impl FirstCause {
    /// Takes an error apart.
    pub fn of(error: &SystemError) -> FirstCause {
        let (places, words) = trace_failure(&error.code, &error.message, error.first_code.as_deref());
        FirstCause { places, words: words.to_owned() }
    }

    /// Takes the body of a failed outcome apart, whose record has that code: an error, or a report in place of an
    /// answer.
    pub fn of_body(code: Option<RecordCode>, body: &[u8]) -> FirstCause {
        if let Some(error) = read_error(body) {
            return FirstCause::of(&error);
        }
        let code = match code {
            Some(RecordCode::Code(code)) => Some(code.as_str().to_owned()),
            _ => attribute(body, "final-report", "reason").filter(|reason| is_code(reason)),
        };
        let seen = glance(body);
        let words = read_text(body).map_or(seen.words, |text| plain(text.trim()));
        let code = code.unwrap_or(seen.element);
        FirstCause { places: vec![FailedPlace { code, name: None }], words }
    }

    /// The code of the first cause.
    pub fn code(&self) -> &str {
        self.places.last().map_or("", |place| place.code.as_str())
    }

    /// The first cause on one line. Where it happened is left out if it went through several calls.
    pub fn line(&self) -> String {
        let name = match self.places.as_slice() {
            [FailedPlace { name: Some(name), .. }] => format!("{name}: "),
            _ => String::new(),
        };
        format!("{}: {name}{}", self.code(), cut(&self.words, limits::GLANCE_COLUMNS))
    }

    /// Where it happened, the outermost call first; `None` if the first line says it.
    pub fn at(&self) -> Option<String> {
        let names = self.places.iter().filter_map(describe_place).collect::<Vec<_>>();
        (self.places.len() > 1 && !names.is_empty()).then(|| names.join(", "))
    }

    /// The commands that say more: of a code that is ours its meaning, of several calls all of them.
    pub fn more(&self, thread: &str) -> Option<String> {
        let explain = self.code().contains('.').then(|| format!("systole explain {}", self.code()));
        let all = self.at().map(|_| format!("systole why {thread} --all"));
        let commands: Vec<String> = explain.into_iter().chain(all).collect();
        (!commands.is_empty()).then(|| commands.join("; "))
    }

    /// Each call that it went through, on a line of its own.
    pub fn chain(&self) -> Vec<String> {
        let room = self.places.iter().map(|place| place.code.len()).max().unwrap_or(0);
        let line = |place: &FailedPlace| {
            let line = format!("{:<room$}  {}", place.code, describe_place(place).unwrap_or_default());
            line.trim_end().to_owned()
        };
        self.places.iter().map(line).collect()
    }

    /// For programs.
    pub fn as_json(&self) -> Value {
        let places = self.places.iter().map(|place| json!({"code": place.code, "name": place.name}));
        json!({"code": self.code(), "words": self.words, "places": places.collect::<Vec<_>>()})
    }
}

fn describe_place(place: &FailedPlace) -> Option<String> {
    let step = if place.code.starts_with(OF_STEPS) { "step " } else { "" };
    place.name.as_ref().map(|name| format!("{step}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause_of(code: &str, message: &str) -> FirstCause {
        FirstCause::of(&SystemError {
            code: code.to_owned(),
            message: message.to_owned(),
            ..SystemError::default()
        })
    }

    #[test]
    fn the_first_cause_of_a_chain_comes_first_and_then_where_it_happened() {
        let message = "decide: workflow.step-failed: frame[2]: listener.failed: writer: model.unavailable: \
                       no answer: http://127.0.0.1:1: refused";
        let cause = cause_of("listener.failed", message);
        assert_eq!(cause.line(), "model.unavailable: no answer: http://127.0.0.1:1: refused");
        assert_eq!(cause.at().as_deref(), Some("decide, step frame[2], writer"));
        let chain = [
            "listener.failed       decide",
            "workflow.step-failed  step frame[2]",
            "listener.failed       writer",
            "model.unavailable",
        ];
        assert_eq!(cause.chain(), chain);
        let more = "systole explain model.unavailable; systole why sess-1f0c9a2b77d1 --all";
        assert_eq!(cause.more("sess-1f0c9a2b77d1").as_deref(), Some(more));
    }

    #[test]
    fn a_failure_of_one_call_is_told_as_it_is_recorded() {
        let words = "answer: exited 3 after 0.2 s; last words on stderr: KeyError: no luck";
        let cause = cause_of("listener.failed", words);
        assert_eq!((cause.line(), cause.at()), (format!("listener.failed: {words}"), None));
        let cause = cause_of("budget.tokens", "note: this: is: all: one");
        assert_eq!(cause.line(), "budget.tokens: note: this: is: all: one");
    }

    #[test]
    fn a_code_of_a_foreign_listener_is_one_and_its_words_are_not_taken_apart() {
        let cause = cause_of("listener.failed", "fails: upstream-down: boss: listener.failed: x: y");
        assert_eq!(cause.line(), "upstream-down: boss: listener.failed: x: y");
        assert_eq!(cause.at().as_deref(), Some("fails"));
        assert_eq!(cause.more("sess-1f0c9a2b77d1").as_deref(), Some("systole why sess-1f0c9a2b77d1 --all"));
        let cause = cause_of("listener.failed", "fails: Traceback (most recent call last): no");
        assert_eq!(cause.line(), "listener.failed: fails: Traceback (most recent call last): no");
    }

    #[test]
    fn words_of_a_workflow_are_no_code() {
        let cause = cause_of("listener.failed", "release: workflow.timeout: deploy: after: 5 min");
        assert_eq!(cause.line(), "workflow.timeout: after: 5 min");
        assert_eq!(cause.at().as_deref(), Some("release, step deploy"));
        let cause = cause_of("listener.failed", "flow: workflow.step-failed: both: second: mcp.cut: no");
        assert_eq!(
            (cause.line().as_str(), cause.at()),
            ("mcp.cut: no", Some("flow, step both: second".to_owned()))
        );
    }
}
