//! Diagnostics about the organism's file: a mistake or a warning, with its place and a fix.
//!
//! Plain values; `drawing` shows them on a terminal.

use systole_core::types::codes::Code;

/// A span within a line of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePlace {
    /// The file's name, for people.
    pub file: String,
    /// The line, from 1. 0 means the whole file.
    pub line: usize,
    /// The column of the span's first character, from 1.
    pub column: usize,
    /// The text of the span. Empty if something is missing there.
    pub span: String,
    /// The whole line.
    pub text: String,
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The file is rejected.
    Error,
    /// The organism runs, but may not do what the author intended.
    Warning,
}

impl Severity {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A second place that explains the mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecondPlace {
    /// The place.
    pub place: FilePlace,
    /// A short description of what is there.
    pub words: String,
}

/// One mistake, or one warning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The kind of mistake: a `config.…` code.
    pub code: Code,
    /// Its place.
    pub place: FilePlace,
    /// The message: the value, and what it must be.
    pub message: String,
    /// The fix, if there is one.
    pub fix: Option<String>,
    /// A second place that explains it, if there is one.
    pub second: Option<SecondPlace>,
}

impl Diagnostic {
    /// A diagnostic about one place.
    pub fn new(code: Code, place: FilePlace, message: &str, fix: Option<&str>) -> Diagnostic {
        let (message, fix) = (message.to_owned(), fix.map(str::to_owned));
        Diagnostic { code, place, message, fix, second: None }
    }

    /// Adds a second place.
    #[must_use]
    pub fn seeing(mut self, place: FilePlace, words: &str) -> Diagnostic {
        self.second = Some(SecondPlace { place, words: words.to_owned() });
        self
    }

    /// Replaces each of these texts by asterisks of the same length, so that columns do not move.
    #[must_use]
    pub(super) fn without(mut self, hidden: &[String]) -> Diagnostic {
        let second = self.second.as_mut().map(|second| &mut second.place);
        let places = std::iter::once(&mut self.place).chain(second);
        let texts = places.flat_map(|place| [&mut place.span, &mut place.text]);
        for text in texts.chain([&mut self.message]).chain(self.fix.as_mut()) {
            for secret in hidden {
                *text = text.replace(secret.as_str(), &"*".repeat(secret.chars().count()));
            }
        }
        self
    }

    /// Its severity, which follows from the code.
    pub const fn severity(&self) -> Severity {
        if self.code.is_warning() { Severity::Warning } else { Severity::Error }
    }
}

/// All mistakes in an organism's file, sorted by line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileMistakes(pub Vec<Diagnostic>);

impl std::error::Error for FileMistakes {}
