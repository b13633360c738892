//! The diagnostics hold the state of reading a file: its text, its line starts, and the mistakes so far.
//!
//! Every reader of the file reports its mistakes here and continues, so that all mistakes are shown
//! at once. It judges nothing. The settings from the command line follow the file in the same text,
//! one per line, so that their spans work like any other.

use std::sync::Arc;

use super::diagnostic::{Diagnostic, FileMistakes, FilePlace};
use super::tree::Span;
use crate::limits::MISTAKES;
use systole_core::types::codes::Code;

/// The listeners that are Rust values and need no program.
pub(super) enum Given {
    /// The listeners with these names.
    These(Vec<String>),
    /// Any listener: a stored configuration was checked when it was run.
    Any,
}

/// The file name shown for settings from the command line.
pub(super) const SET: &str = "--set";

pub(super) struct Diagnostics {
    file: String,
    text: Arc<str>,
    /// The end of the file's text. The settings begin one byte later.
    file_end: usize,
    /// The start of each line, in bytes.
    lines: Vec<usize>,
    /// The first mistakes by place, each with the place that sorts it.
    found: Vec<(usize, Diagnostic)>,
    /// All mistakes so far, kept or not.
    reported: usize,
    given: Given,
    /// Whether the key at a path is required.
    is_required: fn(&str) -> bool,
    /// Texts that must not appear in any output.
    hidden: Vec<String>,
}

impl Diagnostics {
    pub(super) fn new(
        file: &str,
        text: &Arc<str>,
        settings: &[String],
        given: Given,
        is_required: fn(&str) -> bool,
    ) -> Diagnostics {
        let file_end = text.len();
        let text = match settings {
            [] => Arc::clone(text),
            _ => format!("{text}\n{}", settings.join("\n")).into(),
        };
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Diagnostics {
            file: file.to_owned(),
            text,
            file_end,
            lines,
            found: Vec::new(),
            reported: 0,
            given,
            is_required,
            hidden: Vec::new(),
        }
    }

    /// Whether the key at this path is required.
    pub(super) fn is_required(&self, path: &str) -> bool {
        (self.is_required)(path)
    }

    /// Whether this listener needs no program.
    pub(super) fn is_given(&self, listener: &str) -> bool {
        match &self.given {
            Given::These(names) => names.iter().any(|name| name == listener),
            Given::Any => true,
        }
    }

    /// Whether this is a stored configuration, which has already run.
    pub(super) fn is_stored(&self) -> bool {
        matches!(self.given, Given::Any)
    }

    /// The whole text: the file and the settings after it.
    pub(super) fn text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The span of the file.
    pub(super) fn file(&self) -> Span {
        Span { start: 0, end: self.file_end }
    }

    /// The spans of the settings, one for each.
    pub(super) fn settings(&self) -> Vec<Span> {
        let starts = self.lines.iter().filter(|start| **start > self.file_end);
        let text = |start: usize| self.text.get(start..).and_then(|rest| rest.split('\n').next());
        starts.map(|start| Span { start: *start, end: start + text(*start).map_or(0, str::len) }).collect()
    }

    /// Whether this span is a setting and not part of the file.
    pub(super) fn is_set(&self, at: Span) -> bool {
        at.start > self.file_end
    }

    /// The line of a byte in the whole text, from 1.
    fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).max(1)
    }

    /// Reports a mistake.
    pub(super) fn report(&mut self, code: Code, at: Span, message: &str, fix: &str) {
        self.tell_at(at.start, Diagnostic::new(code, self.place(at), message, Some(fix)));
    }

    /// Reports a mistake and shows a second place that explains it.
    pub(super) fn report_beside(
        &mut self,
        code: Code,
        at: Span,
        message: &str,
        fix: &str,
        second: (Span, &str),
    ) {
        let told = Diagnostic::new(code, self.place(at), message, Some(fix));
        self.tell_at(at.start, told.seeing(self.place(second.0), second.1));
    }

    /// Reports a value that cannot stand.
    pub(super) fn report_value(&mut self, at: Span, message: &str, fix: &str) {
        self.report(Code::ConfigValue, at, message, fix);
    }

    /// Reports a value that cannot stand, and shows a second place that explains it, if there is one.
    pub(super) fn report_value_beside<'w>(
        &mut self,
        at: Span,
        message: &str,
        fix: &str,
        second: impl Into<Option<(Span, &'w str)>>,
    ) {
        match second.into() {
            Some(second) => self.report_beside(Code::ConfigValue, at, message, fix, second),
            None => self.report_value(at, message, fix),
        }
    }

    /// Reports a mistake in another file, sorted by the place that names that file.
    pub(super) fn tell_at(&mut self, order: usize, diagnostic: Diagnostic) {
        self.reported += 1;
        let place = self.found.partition_point(|(other, _)| *other <= order);
        let before = place.checked_sub(1).and_then(|before| self.found.get(before));
        if before.is_none_or(|(other, same)| (*other, same) != (order, &diagnostic)) {
            self.found.insert(place, (order, diagnostic));
        }
        // One more than is shown says that the list was cut.
        self.found.truncate(MISTAKES + 1);
    }

    /// The number of mistakes so far.
    pub(super) fn mistakes(&self) -> usize {
        self.reported
    }

    pub(super) fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// Hides a secret, and its spelling in the file, from all output, including earlier mistakes.
    pub(super) fn hide(&mut self, at: Span, secret: &str) {
        let written = self.text.get(at.start..at.end).unwrap_or_default();
        let inner = written.trim_matches(['"', '\'']);
        let all = [written, inner, secret].map(str::trim).map(str::to_owned);
        // The longest first, so that hiding a part of a secret leaves nothing visible.
        self.hidden.extend(all.into_iter().filter(|text| !text.is_empty()));
        self.hidden.sort_by_key(|text| std::cmp::Reverse(text.len()));
        self.hidden.dedup();
    }

    /// All mistakes, sorted by place.
    pub(super) fn into_found(mut self) -> Vec<Diagnostic> {
        if self.found.len() > MISTAKES {
            let more = format!("more than {MISTAKES} mistakes; the rest is not listed");
            let rest = about_file(&self.file, Code::ConfigValue, &more, Some("these first"));
            self.found.truncate(MISTAKES);
            self.found.push((usize::MAX, rest));
        }
        let hidden = self.hidden;
        let blind = |(_, diagnostic): (usize, Diagnostic)| diagnostic.without(&hidden);
        self.found.into_iter().map(blind).collect()
    }

    /// All mistakes, as the reason why the file is rejected.
    pub(super) fn into_mistakes(self) -> FileMistakes {
        FileMistakes(self.into_found())
    }

    /// The character at a line and a column, both from 1.
    pub(super) fn span_at(&self, (line, column): (usize, usize)) -> Span {
        let from = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len());
        let mut rest = self.text.get(from..).unwrap_or_default().char_indices();
        let (at, character) = rest.nth(column.saturating_sub(1)).unwrap_or_default();
        Span { start: from + at, end: from + at + character.len_utf8() }
    }

    /// A span as a place for people.
    pub(super) fn place(&self, at: Span) -> FilePlace {
        let line = self.line_of(at.start);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let end = self.lines.get(line).copied().unwrap_or(self.text.len());
        let text = self.text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r']);
        let column = self.text.get(start..at.start).map_or(0, |before| before.chars().count()) + 1;
        // A span over several lines is shown up to the end of its first line.
        let stop = at.end.min(start + text.len());
        let span = self.text.get(at.start..stop).unwrap_or_default();
        let (file, line) = if self.is_set(at) {
            (SET.to_owned(), line + 1 - self.line_of(self.file_end + 1))
        } else {
            (self.file.clone(), line)
        };
        FilePlace { file, line, column, span: span.to_owned(), text: text.to_owned() }
    }
}

/// A diagnostic about a file as a whole.
pub(super) fn about_file(file: &str, code: Code, message: &str, fix: Option<&str>) -> Diagnostic {
    let place =
        FilePlace { file: file.to_owned(), line: 0, column: 0, span: String::new(), text: String::new() };
    Diagnostic::new(code, place, message, fix)
}
