//! The place of something in a document, and the kit's refusal, which always knows its place.
//!
//! It never holds the document itself, and never shows more of it than a bounded excerpt. An offset and bytes come
//! in; a line and a column that a person or an agent can find again go out.

use std::fmt;

pub use crate::name::QName;

/// A position in a document as its sender wrote it. Line and column count from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line, from 1. Only a line feed ends a line, so a CR LF counts once.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// The offset in bytes, from 0.
    pub offset: usize,
}

impl Place {
    /// The very start of a document.
    pub const START: Self = Self { line: 1, column: 1, offset: 0 };

    /// The place of `offset` in `document`; an offset beyond the end means the end.
    #[must_use]
    pub fn from_offset(document: &[u8], offset: usize) -> Self {
        let before = document.get(..offset).unwrap_or(document);
        Self::START.move_past(before)
    }

    /// The place reached by reading `passed` from here on.
    #[must_use]
    pub fn move_past(self, passed: &[u8]) -> Self {
        let breaks = count_bytes(passed, |byte| byte == b'\n');
        let tail = match passed.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => passed.get(at + 1..).unwrap_or_default(),
            None => passed,
        };
        let characters = to_narrow(count_bytes(tail, |byte| !is_continuation(byte)));
        let column = if breaks == 0 { self.column.saturating_add(characters) } else { 1 + characters };
        Self {
            line: self.line.saturating_add(to_narrow(breaks)),
            column,
            offset: self.offset.saturating_add(passed.len()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}", self.line, self.column)
    }
}

/// Whether this byte continues a UTF-8 character that began before it.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// How many bytes satisfy `holds`. Portions whose count fits in a byte are counted many bytes at a time.
fn count_bytes(bytes: &[u8], holds: impl Fn(u8) -> bool) -> usize {
    let portions = bytes.chunks(usize::from(u8::MAX));
    portions.map(|few| usize::from(few.iter().fold(0_u8, |count, byte| count + u8::from(holds(*byte))))).sum()
}

fn to_narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Turns offsets that mostly rise into places, without reading the document from its start each time.
///
/// It remembers the last two places, because the caller may ask for a tag's fault before it asks for the place of
/// the tag itself. A reply with a thousand such items must not cost a thousand readings.
#[derive(Debug, Clone, Copy)]
pub struct PlaceFinder<'d> {
    document: &'d [u8],
    earlier: Place,
    reached: Place,
}

impl<'d> PlaceFinder<'d> {
    /// A ruler for this document.
    #[must_use]
    pub fn new(document: &'d [u8]) -> Self {
        Self { document, earlier: Place::START, reached: Place::START }
    }

    /// The place of `offset`. Only an offset before the last two costs a fresh start.
    pub fn find_place(&mut self, offset: usize) -> Place {
        let offset = offset.min(self.document.len());
        let from = if offset >= self.reached.offset {
            self.earlier = self.reached;
            self.reached
        } else if offset >= self.earlier.offset {
            self.earlier
        } else {
            Place::START
        };
        self.reached = from.move_past(self.document.get(from.offset..offset).unwrap_or_default());
        self.reached
    }
}

/// Why bytes were refused, worded so that an agent can fix them from this alone.
///
/// The strings are boxed because a fault travels by value in nearly every `Result` of the kit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at {place}")]
pub struct Fault {
    /// One of [`crate::codes`].
    pub code: &'static str,
    /// The error: lower case, with the value and the limit.
    pub message: Box<str>,
    /// The place in the document as its sender wrote it.
    pub place: Place,
    /// The path of the affected element, such as `/search/limit`.
    pub path: Option<Box<str>>,
    /// A correct value.
    pub expected: Option<Box<str>>,
    /// The value found instead.
    pub received: Option<Box<str>>,
    /// What to write instead.
    pub fix: Option<Box<str>>,
}

impl Fault {
    /// A fault with only its code, message and place.
    #[must_use]
    pub fn new(code: &'static str, message: impl Into<Box<str>>, place: Place) -> Self {
        Self { code, message: message.into(), place, path: None, expected: None, received: None, fix: None }
    }

    /// Adds the expected value.
    #[must_use]
    pub fn with_expected(mut self, words: impl Into<Box<str>>) -> Self {
        self.expected = Some(words.into());
        self
    }

    /// Adds the received value, cut to a length that a refusal may show.
    #[must_use]
    pub fn with_received(mut self, source: &str) -> Self {
        self.received = Some(cut_excerpt(source).into());
        self
    }

    /// Adds what to write instead.
    #[must_use]
    pub fn with_fix(mut self, words: impl Into<Box<str>>) -> Self {
        self.fix = Some(words.into());
        self
    }

    /// Adds the path of the affected element.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<Box<str>>) -> Self {
        self.path = Some(path.into());
        self
    }
}

/// The beginning of `source`, short enough for a refusal; an ellipsis marks a cut.
#[must_use]
pub fn cut_excerpt(source: &str) -> String {
    match source.char_indices().nth(crate::limits::EXCERPT_CHARS) {
        None => source.to_owned(),
        Some((end, _)) => source.get(..end).unwrap_or_default().to_owned() + "…",
    }
}
