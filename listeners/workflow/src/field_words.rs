//! Fields of the request in the words of a goal: `$topic` stands for the value of the field, and `$$` for the sign itself.
//!
//! A text comes in; its parts, or the text with the values in it, go out. A value is only text: nothing in it is replaced.

/// A part of the words of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordPart<'w> {
    /// Text as it is.
    Text(&'w str),
    /// The name of a field.
    Field(&'w str),
}

/// The parts of a text, in order. A sign before anything but a letter, `_` or another sign is text.
#[must_use]
pub fn split_words(words: &str) -> Vec<WordPart<'_>> {
    let mut parts = Vec::new();
    let (mut text, mut rest) = (words, words);
    while let Some(at) = rest.find('$') {
        let behind = rest.get(at + 1..).unwrap_or_default();
        let (part, len) = match measure_name(behind) {
            0 if behind.starts_with('$') => (WordPart::Text("$"), 1),
            0 => {
                rest = behind;
                continue;
            }
            len => (WordPart::Field(behind.get(..len).unwrap_or_default()), len),
        };
        let before = text.len() - behind.len() - 1;
        parts.push(WordPart::Text(text.get(..before).unwrap_or_default()));
        parts.push(part);
        rest = behind.get(len..).unwrap_or_default();
        text = rest;
    }
    parts.push(WordPart::Text(text));
    parts.retain(|part| *part != WordPart::Text(""));
    parts
}

/// The bytes of the name at the beginning of a text. A hyphen at its end belongs to the text.
fn measure_name(text: &str) -> usize {
    let begins = text.starts_with(|sign: char| sign.is_alphabetic() || sign == '_');
    let is_end = |sign: char| !sign.is_alphanumeric() && !matches!(sign, '_' | '-');
    let name = text.get(..text.find(is_end).unwrap_or(text.len())).unwrap_or_default();
    if begins { name.trim_end_matches('-').len() } else { 0 }
}

/// The words with the values of the fields.
pub(crate) fn fill_words(words: &str, value: impl Fn(&str) -> String) -> String {
    let parts = split_words(words).into_iter().map(|part| match part {
        WordPart::Text(text) => text.to_owned(),
        WordPart::Field(name) => value(name),
    });
    parts.collect()
}

/// A text as the words of a goal in which no field is meant.
#[must_use]
pub fn escape_fields(text: &str) -> String {
    let mut out = String::new();
    for (at, sign) in text.char_indices() {
        let behind = text.get(at + 1..).filter(|_| sign == '$').unwrap_or_default();
        let is_read = behind.starts_with('$') || measure_name(behind) > 0;
        out.push_str(if is_read { "$$" } else { "" });
        if !is_read {
            out.push(sign);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_a_sign_with_a_name_is_a_field_and_two_signs_are_one() {
        let fill = |words: &str| fill_words(words, |name| format!("<{name}>"));
        for (words, filled) in [
            ("Write of $topic.", "Write of <topic>."),
            ("$a$b, $c-d- and $e_1", "<a><b>, <c-d>- and <e_1>"),
            ("$$a costs $5, $ 6 or $$$a$", "$a costs $5, $ 6 or $<a>$"),
            ("", ""),
            ("$é", "<é>"),
        ] {
            assert_eq!(fill(words), filled, "{words}");
        }
        assert_eq!(fill_words("$a", |_| "$a $$".to_owned()), "$a $$", "a value is only text");
    }

    #[test]
    fn f1_escaped_words_mean_what_they_say() {
        for text in ["$a", "$$", "$", "$5 for $x$$y $$$", "no sign", "$é"] {
            assert_eq!(fill_words(&escape_fields(text), |name| panic!("{name}")), text);
        }
        assert_eq!(escape_fields("It costs $5."), "It costs $5.");
    }
}
