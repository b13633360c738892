//! What is told about the organism's file: a mistake, or a warning, with its place and a way out.
//!
//! Plain values that anybody may read; how they look on a terminal is drawn next door, in `drawing`.

use std::fmt;

use super::drawing;
use systole_core::types::codes::Code;

/// A stretch of a line of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file, as people know it.
    pub file: String,
    /// The line, from 1; 0 where the file as a whole is meant.
    pub line: usize,
    /// The column of the stretch's first character, from 1.
    pub column: usize,
    /// The stretch itself; empty where something is missing.
    pub span: String,
    /// The whole line.
    pub text: String,
}

/// How much a finding weighs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The file is refused.
    Error,
    /// The organism runs, and may not do what its composer meant.
    Warning,
}

impl Severity {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// Another place that helps to see what is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Second {
    /// Where it is.
    pub place: Place,
    /// What stands there, in a few words.
    pub words: String,
}

/// One mistake, or one warning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// What sort of mistake: a `config.…` code.
    pub code: Code,
    /// Where it is.
    pub place: Place,
    /// What is wrong: the value, and what it would have to be.
    pub message: String,
    /// What to write instead, where that can be said.
    pub mend: Option<String>,
    /// Another place that helps, where there is one.
    pub second: Option<Second>,
}

impl Diagnostic {
    /// A diagnostic about one place.
    pub fn new(code: Code, place: Place, message: &str, mend: Option<&str>) -> Diagnostic {
        let (message, mend) = (message.to_owned(), mend.map(str::to_owned));
        Diagnostic { code, place, message, mend, second: None }
    }

    /// With another place.
    #[must_use]
    pub fn seeing(mut self, place: Place, words: &str) -> Diagnostic {
        self.second = Some(Second { place, words: words.to_owned() });
        self
    }

    /// The same with asterisks in place of each of these texts, so that no column moves.
    #[must_use]
    pub(super) fn without(mut self, hidden: &[String]) -> Diagnostic {
        let second = self.second.as_mut().map(|second| &mut second.place);
        let places = std::iter::once(&mut self.place).chain(second);
        let texts = places.flat_map(|place| [&mut place.span, &mut place.text]);
        for text in texts.chain([&mut self.message]).chain(self.mend.as_mut()) {
            for secret in hidden {
                *text = text.replace(secret.as_str(), &"*".repeat(secret.chars().count()));
            }
        }
        self
    }

    /// How much it weighs: the code says it.
    pub const fn severity(&self) -> Severity {
        if self.code.is_warning() { Severity::Warning } else { Severity::Error }
    }
}

/// Everything that is wrong with an organism's file, in order of line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused(pub Vec<Diagnostic>);

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&drawing::page(&self.0, false))
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&drawing::drawn(self, false))
    }
}
