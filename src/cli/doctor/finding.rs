//! The result of one check, and how it is shown.

use crate::cli::exit::CommandExit;
use systole_show::columns::{plain, wrapped};
use systole_show::layout::{TextTone, paint};

/// The result of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Finding {
    pub(super) what: &'static str,
    pub(super) words: String,
    pub(super) state: FindingState,
}

/// The state of a checked item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FindingState {
    /// In order.
    Fine,
    /// Missing, and only some features need it.
    Note(String),
    /// Something does not work until it is fixed. The fix, and the exit for it.
    Problem(String, CommandExit),
}

impl Finding {
    pub(super) fn new_good(what: &'static str, words: impl Into<String>) -> Finding {
        Finding { what, words: words.into(), state: FindingState::Fine }
    }

    pub(super) fn new_note(what: &'static str, words: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { what, words: words.into(), state: FindingState::Note(fix.into()) }
    }

    pub(super) fn new_problem(
        what: &'static str,
        words: impl Into<String>,
        fix: impl Into<String>,
        exit: CommandExit,
    ) -> Finding {
        Finding { what, words: words.into(), state: FindingState::Problem(fix.into(), exit) }
    }

    pub(super) fn word(&self) -> &'static str {
        match self.state {
            FindingState::Fine => "ok",
            FindingState::Note(_) => "note",
            FindingState::Problem(..) => "problem",
        }
    }

    pub(super) fn fix(&self) -> Option<&str> {
        match &self.state {
            FindingState::Fine => None,
            FindingState::Note(fix) | FindingState::Problem(fix, _) => Some(fix),
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let tone = match self.state {
            FindingState::Fine => TextTone::Good,
            FindingState::Note(_) => TextTone::Held,
            FindingState::Problem(..) => TextTone::Bad,
        };
        let blanks = " ".repeat(9_usize.saturating_sub(self.word().len()));
        let lead = format!("{}{blanks}{}:", paint(tone, self.word()), self.what);
        let mut lines = wrapped(&lead, 11, &plain(&self.words));
        if let Some(fix) = self.fix() {
            lines.extend(wrapped("           try:", 13, &plain(fix)));
        }
        lines
    }
}
