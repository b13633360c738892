//! The desk at which a file is read: its text, where its lines begin, and what was found wrong so far.
//!
//! Every reader of the file takes the desk along and tells it what is wrong, then goes on, so that all
//! mistakes come out at once. The desk never judges. What was set on the command line lies behind the file
//! in the same text, a line each, so that a stretch of it is a stretch like any other.

use std::cmp::Ordering;
use std::sync::Arc;

use super::diagnostic::{Diagnostic, Place, Refused};
use super::yaml::Span;
use systole_core::types::codes::Code;

/// Most mistakes kept of one file: whoever has more mends these first.
const MISTAKES: usize = 200;

/// Which listeners answer for themselves, as Rust values, and so need no program.
pub(super) enum Given {
    /// Those of these names.
    These(Vec<String>),
    /// Any: a stored configuration was checked by whoever ran it.
    Any,
}

/// How the place of what was set is named.
pub(super) const SET: &str = "--set";

pub(super) struct Desk {
    file: String,
    text: Arc<str>,
    /// Where the file's text ends; what was set begins one byte later.
    file_end: usize,
    /// Where each line begins, in bytes.
    lines: Vec<usize>,
    found: Vec<(usize, Diagnostic)>,
    given: Given,
    /// What nobody may read in what is told.
    hidden: Vec<String>,
}

impl Desk {
    pub(super) fn new(file: &str, text: &Arc<str>, settings: &[String], given: Given) -> Desk {
        let file_end = text.len();
        let text = match settings {
            [] => Arc::clone(text),
            _ => format!("{text}\n{}", settings.join("\n")).into(),
        };
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Desk { file: file.to_owned(), text, file_end, lines, found: Vec::new(), given, hidden: Vec::new() }
    }

    /// Whether that listener needs no program.
    pub(super) fn is_given(&self, listener: &str) -> bool {
        match &self.given {
            Given::These(names) => names.iter().any(|name| name == listener),
            Given::Any => true,
        }
    }

    /// Whether it is a stored configuration, which ran as it is.
    pub(super) fn is_stored(&self) -> bool {
        matches!(self.given, Given::Any)
    }

    /// Everything that is read: the file, and what was set behind it.
    pub(super) fn text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The stretch of the file.
    pub(super) fn file(&self) -> Span {
        Span { start: 0, end: self.file_end }
    }

    /// The stretches of what was set, one for each.
    pub(super) fn settings(&self) -> Vec<Span> {
        let starts = self.lines.iter().filter(|start| **start > self.file_end);
        let text = |start: usize| self.text.get(start..).and_then(|rest| rest.split('\n').next());
        starts.map(|start| Span { start: *start, end: start + text(*start).map_or(0, str::len) }).collect()
    }

    /// Whether that was set, and does not stand in the file.
    pub(super) fn is_set(&self, at: Span) -> bool {
        at.start > self.file_end
    }

    /// The line of everything, from 1, that a byte stands in.
    fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).max(1)
    }

    /// Notes a mistake.
    pub(super) fn tell(&mut self, code: Code, at: Span, message: &str, mend: Option<&str>) {
        self.tell_at(at.start, Diagnostic::new(code, self.place(at), message, mend));
    }

    /// Notes a mistake that is better understood with another place in view.
    pub(super) fn tell_seeing(
        &mut self,
        code: Code,
        at: Span,
        message: &str,
        mend: Option<&str>,
        second: (Span, &str),
    ) {
        let told = Diagnostic::new(code, self.place(at), message, mend);
        self.tell_at(at.start, told.seeing(self.place(second.0), second.1));
    }

    /// Notes a mistake that lies in another file, in the order of the place that names that file.
    pub(super) fn tell_at(&mut self, order: usize, diagnostic: Diagnostic) {
        match self.found.len().cmp(&MISTAKES) {
            Ordering::Less => self.found.push((order, diagnostic)),
            Ordering::Equal => {
                let more = format!("more than {MISTAKES} mistakes; the rest is not listed");
                let told = about_file(&self.file, Code::ConfigValue, &more, Some("these first"));
                self.found.push((usize::MAX, told));
            }
            Ordering::Greater => {}
        }
    }

    /// How many mistakes were noted so far.
    pub(super) fn mistakes(&self) -> usize {
        self.found.len()
    }

    pub(super) fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// Hides a secret, and how it is written, from everything that is told, also from what was told before.
    pub(super) fn hide(&mut self, at: Span, secret: &str) {
        let written = self.text.get(at.start..at.end).unwrap_or_default();
        let inner = written.trim_matches(['"', '\'']);
        let all = [written, inner, secret].map(str::trim).map(str::to_owned);
        // The longest first, so that a part of it leaves nothing over.
        self.hidden.extend(all.into_iter().filter(|text| !text.is_empty()));
        self.hidden.sort_by_key(|text| std::cmp::Reverse(text.len()));
        self.hidden.dedup();
    }

    /// Everything found, in order of place.
    pub(super) fn found(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|(order, _)| *order);
        self.found.dedup();
        let hidden = self.hidden;
        let blind = |(_, diagnostic): (usize, Diagnostic)| diagnostic.without(&hidden);
        self.found.into_iter().map(blind).collect()
    }

    /// The same, as what the file is refused for.
    pub(super) fn refused(self) -> Refused {
        Refused(self.found())
    }

    /// A stretch of the file, as people know it.
    pub(super) fn place(&self, at: Span) -> Place {
        let line = self.line_of(at.start);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let end = self.lines.get(line).copied().unwrap_or(self.text.len());
        let text = self.text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r']);
        let column = self.text.get(start..at.start).map_or(0, |before| before.chars().count()) + 1;
        // A stretch over several lines is shown up to the end of its first.
        let stop = at.end.min(start + text.len());
        let span = self.text.get(at.start..stop).unwrap_or_default();
        let (file, line) = if self.is_set(at) {
            (SET.to_owned(), line + 1 - self.line_of(self.file_end + 1))
        } else {
            (self.file.clone(), line)
        };
        Place { file, line, column, span: span.to_owned(), text: text.to_owned() }
    }
}

/// A diagnostic about a file as a whole.
pub(super) fn about_file(file: &str, code: Code, message: &str, mend: Option<&str>) -> Diagnostic {
    let place = Place { file: file.to_owned(), line: 0, column: 0, span: String::new(), text: String::new() };
    Diagnostic::new(code, place, message, mend)
}
