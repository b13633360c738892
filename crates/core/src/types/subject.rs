//! The subject of a thread, as a client gives it with a message.

use std::fmt;

use super::limits::SUBJECT_CHARACTERS;

/// What a thread is about, on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject(String);

impl Subject {
    /// Takes a text as a subject. The error says what is wrong with it and what fits.
    pub fn parse(text: &str) -> Result<Subject, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err(format!(
                "a subject has 1 to {SUBJECT_CHARACTERS} characters; leave an empty one out"
            ));
        }
        let count = text.chars().count();
        if count > SUBJECT_CHARACTERS {
            return Err(format!(
                "a subject has {SUBJECT_CHARACTERS} characters at most, and this one has {count}"
            ));
        }
        if text.chars().any(char::is_control) {
            return Err("a subject is one line without control characters".to_owned());
        }
        Ok(Subject(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
