//! What is put into a search file, and what is asked of it.

use std::fmt::Write as _;

use systole_core::types::ids::Digest;
use systole_core::types::ports::Position;
use systole_core::types::time::Millis;

use crate::limits::{self, TERM_DIGITS};

/// A field of a record by which messages are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchField {
    /// The root element: its local name, or `{namespace}name`.
    Element,
    /// The sender.
    From,
    /// The addressee.
    To,
    /// The code.
    Code,
    /// The kind.
    Kind,
    /// The thread, or a thread above it.
    Thread,
    /// The client to whom the conversation belongs.
    Client,
    /// The person who decided.
    Person,
}

/// A value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchTerm {
    /// The field.
    pub field: SearchField,
    /// Its value.
    pub value: String,
}

impl SearchTerm {
    /// A term.
    pub fn new(field: SearchField, value: impl Into<String>) -> SearchTerm {
        SearchTerm { field, value: value.into() }
    }

    /// The one word that stands for it in the file: values have blanks and signs that would split them.
    fn write_term(&self, out: &mut String) {
        let letter = match self.field {
            SearchField::Element => 'e',
            SearchField::From => 'f',
            SearchField::To => 't',
            SearchField::Code => 'o',
            SearchField::Kind => 'k',
            SearchField::Thread => 'h',
            SearchField::Client => 'c',
            SearchField::Person => 'p',
        };
        let hash = Digest::hash_bytes(self.value.as_bytes()).to_string();
        // Writing into a String cannot fail.
        let _infallible = write!(out, "{letter}{hash:.TERM_DIGITS$}");
    }
}

/// A record as the search file keeps it.
#[derive(Clone, Debug)]
pub struct SearchEntry {
    /// Its position.
    pub position: Position,
    /// The head of its thread after it.
    pub head: Digest,
    /// Its time.
    pub time: Millis,
    /// Its words: folded, with a blank between two of them.
    pub words: String,
    /// What it is found by.
    pub terms: Vec<SearchTerm>,
}

impl SearchEntry {
    /// Its terms as words.
    pub(super) fn join_terms(&self) -> String {
        let mut out = String::with_capacity(self.terms.len() * (limits::TERM_DIGITS + 2));
        for term in &self.terms {
            term.write_term(&mut out);
            out.push(' ');
        }
        out
    }
}

/// What is looked for. Everything must hold.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// Phrases: words that follow each other, folded as in the entries.
    pub phrases: Vec<Vec<String>>,
    /// Terms.
    pub terms: Vec<SearchTerm>,
    /// Not before this moment.
    pub since: Option<Millis>,
    /// Before this moment.
    pub until: Option<Millis>,
}

impl LogQuery {
    /// The expression for FTS5: quoted phrases, so that nothing in a word has a meaning there. `None` if the query has
    /// neither words nor terms.
    pub(super) fn to_expression(&self) -> Option<String> {
        let mut out = String::new();
        let mut add = |column: &str, quoted: &str| {
            if !out.is_empty() {
                out.push_str(" AND ");
            }
            out.extend([column, " : \"", &quoted.replace('"', "\"\""), "\""]);
        };
        for phrase in &self.phrases {
            add("words", &phrase.join(" "));
        }
        for term in &self.terms {
            let mut word = String::new();
            term.write_term(&mut word);
            add("terms", &word);
        }
        (!out.is_empty()).then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_has_only_quoted_phrases() {
        let term = SearchTerm::new(SearchField::From, "a\" OR b");
        let phrases = vec![vec!["near(".to_owned(), "\"".to_owned()]];
        let text = LogQuery { phrases, terms: vec![term], ..LogQuery::default() }.to_expression().unwrap();
        assert!(text.starts_with("words : \"near( \"\"\" AND terms : \"f"), "{text}");
        assert_eq!(text.len(), "words : \"near( \"\"\" AND terms : \"\"".len() + 1 + limits::TERM_DIGITS);
        assert_eq!(LogQuery::default().to_expression(), None);
    }
}
