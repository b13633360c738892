//! The one writer for all outgoing XML.
//!
//! Its output is always well-formed: it escapes every text, an element cannot be left open, and a name that is not
//! a literal in the source must be a [`XmlName`]. It never indents and never adds a byte that was not asked for.
//! Names and texts come in; bytes go out. `payload.rs` adds how a payload is written.

use crate::{characters, name};

mod visible;

pub use visible::{is_hidden, make_visible, visible_again};

/// Bytes being written.
#[derive(Debug, Default)]
pub struct XmlWriter {
    bytes: Vec<u8>,
}

/// A legal qualified name, for names from a schema or a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XmlName<'n>(&'n str);

impl<'n> XmlName<'n> {
    /// The name, if it is legal.
    #[must_use]
    pub fn new(text: &'n str) -> Option<Self> {
        name::split_prefix(text).map(|_| Self(text))
    }
}

impl From<&'static str> for XmlName<'static> {
    /// A literal name in the source is trusted; the test that reads the result would show a slip.
    fn from(text: &'static str) -> Self {
        Self(text)
    }
}

impl XmlWriter {
    /// An empty writer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty writer with room for `bytes`.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    /// Opens an element. The returned value takes its attributes and then its content, and always closes it.
    pub fn open<'w, 'n>(&'w mut self, name: impl Into<XmlName<'n>>) -> StartTag<'w, 'n> {
        let name = name.into();
        self.bytes.push(b'<');
        self.bytes.extend_from_slice(name.0.as_bytes());
        StartTag { writer: self, name, closed: false }
    }

    /// Writes text, escaped.
    pub fn text(&mut self, text: &str) {
        escape(&mut self.bytes, text, false);
    }

    /// Writes bytes unchanged. They must be well-formed on their own.
    pub(crate) fn write_verbatim(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The current place, to come back to with [`XmlWriter::rewind_to`] while the same elements are open.
    #[must_use]
    pub fn set_mark(&self) -> WriterMark {
        WriterMark(self.bytes.len())
    }

    /// Takes back everything that was written after a mark.
    pub fn rewind_to(&mut self, mark: WriterMark) {
        self.bytes.truncate(mark.0);
    }

    /// The written bytes.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// A place in the written bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterMark(usize);

/// An unfinished start tag. If it is dropped, it becomes an empty element.
#[derive(Debug)]
pub struct StartTag<'w, 'n> {
    writer: &'w mut XmlWriter,
    name: XmlName<'n>,
    closed: bool,
}

impl StartTag<'_, '_> {
    /// Adds an attribute, escaped.
    #[must_use]
    pub fn attr<'a>(self, name: impl Into<XmlName<'a>>, value: &str) -> Self {
        attribute(&mut self.writer.bytes, name.into().0, value);
        self
    }

    /// Adds an attribute if there is a value for it.
    #[must_use]
    pub fn attr_if<'a>(self, name: impl Into<XmlName<'a>>, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.attr(name, value),
            None => self,
        }
    }

    /// Adds an attribute whose value is a number.
    #[must_use]
    pub fn number<'a>(self, name: impl Into<XmlName<'a>>, value: u64) -> Self {
        self.attr(name, &value.to_string())
    }

    /// Declares the default namespace.
    #[must_use]
    pub fn xmlns(self, ns: &str) -> Self {
        declare(&mut self.writer.bytes, "", ns);
        self
    }

    /// Declares a namespace under a prefix.
    #[must_use]
    pub fn prefix<'a>(self, prefix: impl Into<XmlName<'a>>, ns: &str) -> Self {
        declare(&mut self.writer.bytes, prefix.into().0, ns);
        self
    }

    /// Closes it as an empty element.
    pub fn empty(self) {}

    /// Closes it around escaped text.
    pub fn text(self, text: &str) {
        self.content(|inside| inside.text(text));
    }

    /// Closes it around the output of `write`.
    pub fn content(mut self, write: impl FnOnce(&mut XmlWriter)) {
        self.closed = true;
        self.writer.bytes.push(b'>');
        write(self.writer);
        self.writer.bytes.extend_from_slice(b"</");
        self.writer.bytes.extend_from_slice(self.name.0.as_bytes());
        self.writer.bytes.push(b'>');
    }
}

impl Drop for StartTag<'_, '_> {
    fn drop(&mut self) {
        if !self.closed {
            self.writer.bytes.extend_from_slice(b"/>");
        }
    }
}

/// Writes a namespace declaration into a start tag.
pub fn declare(bytes: &mut Vec<u8>, prefix: &str, uri: &str) {
    if prefix.is_empty() {
        attribute(bytes, "xmlns", uri);
    } else {
        attribute_named(bytes, &["xmlns:", prefix], uri);
    }
}

fn attribute(bytes: &mut Vec<u8>, name: &str, value: &str) {
    attribute_named(bytes, &[name], value);
}

fn attribute_named(bytes: &mut Vec<u8>, name: &[&str], value: &str) {
    bytes.push(b' ');
    name.iter().for_each(|part| bytes.extend_from_slice(part.as_bytes()));
    bytes.extend_from_slice(b"=\"");
    escape(bytes, value, true);
    bytes.push(b'"');
}

/// Writes text so that a parser reads exactly the same text. In an attribute, white space other than the blank
/// becomes a reference, or a parser would read it as a blank. In text, a carriage return becomes a reference, or a
/// parser would read it as a line feed.
///
/// A character that XML forbids even as a reference becomes U+FFFD. Otherwise no parser could read the document,
/// and leaving the character out would join the text on both sides.
pub fn escape(bytes: &mut Vec<u8>, text: &str, in_attribute: bool) {
    if !may_need_escaping(text, in_attribute) {
        return bytes.extend_from_slice(text.as_bytes());
    }
    let mut plain = 0;
    for (at, character) in text.char_indices() {
        let written = match character {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '\r' => "&#13;",
            '"' if in_attribute => "&quot;",
            '\t' if in_attribute => "&#9;",
            '\n' if in_attribute => "&#10;",
            legal if characters::is_legal(legal) => continue,
            _ => "\u{fffd}",
        };
        bytes.extend_from_slice(text.get(plain..at).unwrap_or_default().as_bytes());
        bytes.extend_from_slice(written.as_bytes());
        plain = at + character.len_utf8();
    }
    bytes.extend_from_slice(text.get(plain..).unwrap_or_default().as_bytes());
}

/// Whether a text has a byte that could belong to a character that needs escaping. Nearly no text has, and a
/// branch-free sweep over bytes is many times faster than decoding. 0xEF leads the two forbidden non-characters,
/// among much that is allowed.
fn may_need_escaping(text: &str, in_attribute: bool) -> bool {
    let special = |byte: u8| {
        let control = (byte < 0x20) & (in_attribute | !matches!(byte, b'\t' | b'\n'));
        control | matches!(byte, b'&' | b'<' | b'>' | b'"' | 0xef)
    };
    text.as_bytes().chunks(64).any(|chunk| chunk.iter().fold(false, |seen, byte| seen | special(*byte)))
}
