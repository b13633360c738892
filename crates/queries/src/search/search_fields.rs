//! What is asked of a search, from the words and names that a person or a program gives.
//!
//! Texts come in; terms and phrases, or the field with its mistake and the fix, go out.

use systole_kit::schema::find_nearest;

use super::phrase;
use crate::code_names::may_be_code;
use systole_core::types::codes::Code;
use systole_core::types::record::RecordKind;
use systole_log::search::{SearchField, SearchTerm};

/// A field that asks for what no record can have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchMistake {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What is wrong with it.
    pub words: &'static str,
    /// The fix.
    pub fix: String,
}

/// The fields of messages that a search may ask for, besides words, times and a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchFields<'a> {
    /// The root element, or `{namespace}element`.
    pub element: Option<&'a str>,
    /// The sender.
    pub from: Option<&'a str>,
    /// The addressee.
    pub to: Option<&'a str>,
    /// The code.
    pub code: Option<&'a str>,
    /// The kind.
    pub kind: Option<&'a str>,
    /// The client that opened the conversation.
    pub client: Option<&'a str>,
    /// The person who decided.
    pub person: Option<&'a str>,
}

impl SearchFields<'_> {
    /// The terms of the fields.
    pub fn terms(&self) -> Result<Vec<SearchTerm>, SearchMistake> {
        if let Some(kind) = self.kind.filter(|kind| RecordKind::parse(kind).is_none()) {
            let kinds: Vec<&str> = RecordKind::ALL.iter().map(|kind| kind.as_str()).collect();
            let near = find_nearest(kind, kinds.iter().copied());
            let fix = near.map_or_else(|| kinds.join(", "), str::to_owned);
            return Err(mistake("kind", kind, "there is no such kind", fix));
        }
        if let Some(code) = self.code.filter(|code| !may_be_code(code)) {
            let near = find_nearest(code, Code::ALL.iter().map(|code| code.as_str()));
            let others = "systole explain, which lists the codes of refusals; or request, final, approved";
            let fix = near.unwrap_or(others).to_owned();
            return Err(mistake("code", code, "no record has such a code", fix));
        }
        let named = [
            (SearchField::Element, self.element),
            (SearchField::From, self.from),
            (SearchField::To, self.to),
            (SearchField::Code, self.code),
            (SearchField::Kind, self.kind),
            (SearchField::Client, self.client),
            (SearchField::Person, self.person),
        ];
        Ok(named.into_iter().filter_map(|(field, value)| Some(SearchTerm::new(field, value?))).collect())
    }
}

fn mistake(field: &'static str, value: &str, words: &'static str, fix: String) -> SearchMistake {
    SearchMistake { field, value: value.chars().take(80).collect(), words, fix }
}

/// The phrases in one line of words: each word is one, and words in double quotes follow each other.
pub fn phrases(line: &str) -> Vec<Vec<String>> {
    let parts = line.split('"').enumerate().flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    parts.map(phrase).filter(|phrase| !phrase.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_quotes_follow_each_other() {
        let read = |line: &str| phrases(line).iter().map(|phrase| phrase.join(" ")).collect::<Vec<_>>();
        assert_eq!(read("one \"moving house\" two"), ["one", "moving house", "two"]);
        assert_eq!(read("\"an open quote"), ["an open quote"]);
        assert!(read(" \"\" ").is_empty());
    }
}
