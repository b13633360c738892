//! What readers show of an item: words for people, and fields for programs. The core knows neither a terminal nor
//! JSON, so readers draw the pieces.

use crate::types::ids::ThreadId;
use crate::types::time::Millis;

/// What readers show of an item.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Told {
    /// For people, in pieces.
    pub words: Vec<Piece>,
    /// For programs.
    pub fields: Vec<(&'static str, Field)>,
    /// The thread that it opened.
    pub child: Option<ThreadId>,
}

/// A piece of what people read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Words of the core.
    Words(String),
    /// Words of others, which may not be safe to print.
    Quoted(String),
    /// A moment.
    At(Millis),
}

/// The value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    /// Not known, or there is none.
    Null,
    /// True.
    True,
    /// A text.
    Text(String),
    /// A first and a last number.
    Range(u64, u64),
    /// Fields of its own.
    Fields(Vec<(&'static str, Field)>),
}

impl<T: ToString> From<Option<T>> for Field {
    fn from(value: Option<T>) -> Field {
        value.map_or(Field::Null, |value| Field::Text(value.to_string()))
    }
}

impl Told {
    pub(super) fn of(words: impl Into<String>) -> Told {
        Told { words: vec![Piece::Words(words.into())], ..Told::default() }
    }

    pub(super) fn words(mut self, words: impl Into<String>) -> Told {
        self.words.push(Piece::Words(words.into()));
        self
    }

    pub(super) fn quoted(mut self, words: impl Into<String>) -> Told {
        self.words.push(Piece::Quoted(words.into()));
        self
    }

    pub(super) fn at(mut self, moment: Millis) -> Told {
        self.words.push(Piece::At(moment));
        self
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<Field>) -> Told {
        self.fields.push((name, value.into()));
        self
    }
}
