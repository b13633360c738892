//! The bases of the compact form: the kinds of value, and the XSD types that they mean.
//!
//! It reads only one word. A word comes in; a base goes out, or the nearest known word.

use crate::nearest::find_nearest;

/// A kind of value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseType {
    /// Any text of at least one character.
    Text,
    /// Text without a line break.
    Line,
    /// Text without white space.
    Word,
    /// A whole number of 64 bits.
    Int,
    /// A decimal number.
    Number,
    /// `true` or `false`.
    Bool,
    /// A day.
    Date,
    /// A day with its time.
    DateTime,
    /// A length of time.
    Duration,
    /// A URI.
    Uri,
    /// Bytes, as base64.
    Blob,
    /// A reference to a file of one of these media types. The largest of its range counts bytes.
    File(Vec<String>),
    /// One of the listed words.
    OneOf(Vec<String>),
}

/// The word for each base, in the order of the reference.
pub(super) static WORDS: [(&str, BaseType); 12] = [
    ("text", BaseType::Text),
    ("line", BaseType::Line),
    ("word", BaseType::Word),
    ("int", BaseType::Int),
    ("number", BaseType::Number),
    ("bool", BaseType::Bool),
    ("date", BaseType::Date),
    ("datetime", BaseType::DateTime),
    ("duration", BaseType::Duration),
    ("uri", BaseType::Uri),
    ("blob", BaseType::Blob),
    (FILE, BaseType::File(Vec::new())),
];

/// The word for a file.
pub(super) const FILE: &str = "file";

/// Names for the same types in other languages.
const ELSEWHERE: [(&str, &str); 28] = [
    ("string", "text"),
    ("str", "text"),
    ("markdown", "text"),
    ("varchar", "line"),
    ("token", "word"),
    ("id", "word"),
    ("uuid", "word"),
    ("integer", "int"),
    ("long", "int"),
    ("i64", "int"),
    ("float", "number"),
    ("double", "number"),
    ("decimal", "number"),
    ("money", "number"),
    ("boolean", "bool"),
    ("true", "bool"),
    ("false", "bool"),
    ("timestamp", "datetime"),
    ("time", "datetime"),
    ("url", "uri"),
    ("email", "word"),
    ("bytes", "blob"),
    ("binary", "blob"),
    ("base64", "blob"),
    ("image", "file image/png|image/jpeg"),
    ("picture", "file image/png|image/jpeg"),
    ("pdf", "file application/pdf"),
    ("attachment", "file"),
];

impl BaseType {
    /// The base with that name.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        WORDS.iter().find(|(name, _)| *name == word).map(|(_, base)| base.clone())
    }

    /// Whether a range limits the number of characters.
    pub(super) fn counts_characters(&self) -> bool {
        matches!(self, Self::Text | Self::Line | Self::Word)
    }

    /// Whether a range limits the value itself.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Number)
    }

    /// Whether it has so few values that a pattern adds nothing.
    pub(super) fn is_listed(&self) -> bool {
        matches!(self, Self::Bool | Self::OneOf(_))
    }
}

/// The probable meaning of an unknown word.
pub(super) fn suggest_word(word: &str) -> Option<&'static str> {
    let lower = word.to_ascii_lowercase();
    let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == lower).map(|(_, base)| *base);
    let names = WORDS.iter().map(|(name, _)| *name);
    elsewhere.or_else(|| find_nearest(word, names.chain(["sensitive"])))
}

/// All of them, as a list to choose from.
pub(super) fn list_words() -> String {
    let names: Vec<&str> = WORDS.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}
