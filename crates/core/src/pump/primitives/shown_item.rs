//! What readers show of an item: words for people, and fields for programs. The core knows neither a terminal nor
//! JSON, so readers draw the pieces.

use crate::types::ids::ThreadId;
use crate::types::time::Millis;

/// What readers show of an item.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShownItem {
    /// For people, in pieces.
    pub words: Vec<ShownPiece>,
    /// For programs.
    pub fields: Vec<(&'static str, FieldValue)>,
    /// The thread that it opened.
    pub child: Option<ThreadId>,
}

/// A piece of what people read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShownPiece {
    /// Words of the core.
    Words(String),
    /// Words of others, which may not be safe to print.
    Quoted(String),
    /// A moment.
    At(Millis),
}

/// The value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FieldValue {
    /// Not known, or there is none.
    Null,
    /// True.
    True,
    /// A text.
    Text(String),
    /// A first and a last number.
    Range(u64, u64),
    /// Fields of its own.
    Fields(Vec<(&'static str, FieldValue)>),
}

impl<T: ToString> From<Option<T>> for FieldValue {
    fn from(value: Option<T>) -> FieldValue {
        value.map_or(FieldValue::Null, |value| FieldValue::Text(value.to_string()))
    }
}

impl ShownItem {
    pub(super) fn new(words: impl Into<String>) -> ShownItem {
        ShownItem { words: vec![ShownPiece::Words(words.into())], ..ShownItem::default() }
    }

    pub(super) fn with_words(mut self, words: impl Into<String>) -> ShownItem {
        self.words.push(ShownPiece::Words(words.into()));
        self
    }

    pub(super) fn with_quote(mut self, words: impl Into<String>) -> ShownItem {
        self.words.push(ShownPiece::Quoted(words.into()));
        self
    }

    pub(super) fn with_time(mut self, moment: Millis) -> ShownItem {
        self.words.push(ShownPiece::At(moment));
        self
    }

    pub(super) fn with_field(mut self, name: &'static str, value: impl Into<FieldValue>) -> ShownItem {
        self.fields.push((name, value.into()));
        self
    }
}
