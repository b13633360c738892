//! The attributes of one start tag, in order, with exact offsets.
//!
//! This module checks what the tokeniser does not: white space between attributes, one `=`, quotes, no `<` and
//! no unknown reference in a value. It resolves no prefix and counts nothing: the gate does. The text between
//! an element's name and the end of its tag comes in. Names and values as written, or the first flaw, go out.

use std::borrow::Cow;

use crate::characters::{self, ValueFlaw};

/// One attribute as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagAttribute<'d> {
    /// The prefix, empty if there is none.
    pub prefix: &'d str,
    /// The local name.
    pub local: &'d str,
    /// The value as written, between its quotes.
    pub raw: &'d str,
    /// Where its name begins, in bytes of the document.
    pub offset: usize,
    /// The binding of its prefix; an attribute without a prefix is in no namespace.
    pub(crate) binding: Option<usize>,
    /// The end and the length of the name as one number. Different marks mean different names, so comparing all
    /// names of a tag is mostly comparing marks.
    pub(crate) mark: u64,
}

/// The mark of a name as written.
pub(crate) fn mark_name(name: &str) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(name.bytes().rev()).for_each(|(to, from)| *to = from);
    u64::from_le_bytes(word).rotate_left(8) ^ name.len() as u64
}

impl<'d> TagAttribute<'d> {
    /// The value as a parser reads it.
    #[must_use]
    pub fn value(&self) -> Cow<'d, str> {
        characters::unescape_value(self.raw)
    }
}

/// An attribute before its name is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UncheckedAttribute<'d> {
    /// The name, with its prefix.
    pub name: &'d str,
    /// The text between the quotes.
    pub raw: &'d str,
    /// Where the name begins in the document.
    pub offset: usize,
}

/// What is wrong with a tag, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagFlaw {
    /// Where it is in the document.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
    /// How to fix it, if there is one obvious fix.
    pub fix: Option<&'static str>,
}

/// Walks over the attributes of a tag. It yields nothing after a flaw.
#[derive(Debug)]
pub struct AttributeWalk<'d> {
    rest: &'d str,
    offset: usize,
}

impl<'d> AttributeWalk<'d> {
    /// `text` is the text after the element's name; `offset` is its start in the document.
    #[must_use]
    pub fn new(text: &'d str, offset: usize) -> Self {
        Self { rest: text, offset }
    }

    fn make_flaw(&mut self, offset: usize, message: impl Into<String>, fix: Option<&'static str>) -> TagFlaw {
        self.rest = "";
        TagFlaw { offset, message: message.into(), fix }
    }

    fn read_attribute(&mut self, text: &'d str, offset: usize) -> Result<UncheckedAttribute<'d>, TagFlaw> {
        let Some((before, after)) = text.split_once('=') else {
            let word = text.split(characters::is_white).next().unwrap_or_default();
            let message = format!("attribute {} has no value", crate::place::cut_excerpt(word));
            return Err(self.make_flaw(offset, message, Some("write name=\"value\"")));
        };
        let name = before.trim_end_matches(characters::is_white);
        let quoted = after.trim_start_matches(characters::is_white);
        let quote = quoted.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        let body = quote.and_then(|quote| Some((quote, quoted.strip_prefix(quote)?)));
        let at = offset + text.len() - quoted.len();
        let Some((raw, rest)) = body.and_then(|(quote, body)| body.split_once(quote)) else {
            let message =
                format!("the value of attribute {} is not in quotes", crate::place::cut_excerpt(name));
            return Err(self.make_flaw(at, message, Some("write name=\"value\"")));
        };
        if let Err((within, flaw)) = characters::check_value(raw) {
            let (message, fix) = value_words(name, flaw);
            return Err(self.make_flaw(at + 1 + within, message, Some(fix)));
        }
        self.offset += self.rest.len() - rest.len();
        self.rest = rest;
        Ok(UncheckedAttribute { name, raw, offset })
    }
}

fn value_words(name: &str, flaw: ValueFlaw<'_>) -> (String, &'static str) {
    let name = crate::place::cut_excerpt(name);
    match flaw {
        ValueFlaw::Less => (format!("the value of attribute {name} contains <"), "write &lt; for <"),
        ValueFlaw::Ampersand => (
            format!("the value of attribute {name} contains an & that begins no reference"),
            "write &amp; for &",
        ),
        ValueFlaw::Reference(reference) => (
            format!(
                "&{}; in attribute {name} is not a reference that XML knows",
                crate::place::cut_excerpt(reference)
            ),
            "only &lt; &gt; &amp; &quot; &apos; and the numbers of legal characters are references",
        ),
    }
}

impl<'d> Iterator for AttributeWalk<'d> {
    type Item = Result<UncheckedAttribute<'d>, TagFlaw>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.rest.trim_start_matches(characters::is_white);
        if text.is_empty() {
            return None;
        }
        let offset = self.offset + self.rest.len() - text.len();
        if text.len() == self.rest.len() {
            let message = "white space is missing before an attribute";
            return Some(Err(self.make_flaw(offset, message, Some("separate attributes by a blank"))));
        }
        Some(self.read_attribute(text, offset))
    }
}
