//! Finds the top-level elements in a stream of bytes, for any size of portions.
//!
//! This module finds only where an element begins and ends; the gate decides whether it is well-formed. It never
//! reads a byte twice and never drops one: the pieces and the rest together are the stream. Portions come in.
//! Elements, and the text between them line by line, go out.

use crate::codes;
use crate::place::{Fault, Place};

/// A part of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamPiece {
    /// An element from its `<` to the `>` of its end tag.
    Element(Vec<u8>),
    /// Text, comments and everything else outside elements; a line feed ends a piece.
    Stray(Vec<u8>),
}

/// The rest at the end of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamRest {
    /// Nothing: the last piece was whole.
    Nothing,
    /// Text without a line feed, or a comment that does not end.
    Stray(Vec<u8>),
    /// An element that does not end.
    Open(Vec<u8>),
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderState {
    Text,
    /// After `<`.
    Less,
    /// After `<!` and that many bytes of `[CDATA[`.
    Bang(usize),
    /// After `<!-`.
    Hyphen,
    /// In a comment, after that many hyphens in a row, at most 2.
    Comment(usize),
    /// In a CDATA section, after that many closing brackets in a row, at most 2.
    Literal(usize),
    /// In a processing instruction, after a `?` or not.
    Instruction(bool),
    /// In a start tag, after a `/` or not.
    Start(bool),
    /// In a quoted value of a start tag.
    Quoted(u8),
    /// In an end tag.
    End,
}

/// What must follow `<!` for a CDATA section.
const CDATA: &[u8] = b"[CDATA[";

/// The reader of a stream.
#[derive(Debug)]
pub struct ElementReader {
    cap: usize,
    /// The bytes since the last piece.
    held: Vec<u8>,
    /// How many of the held bytes are text before the `<` under examination, outside any element.
    before: usize,
    depth: usize,
    state: ReaderState,
    passed: usize,
    ended: Option<Fault>,
}

impl ElementReader {
    /// A reader for elements of at most `cap` bytes.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self { cap, held: Vec::new(), before: 0, depth: 0, state: ReaderState::Text, passed: 0, ended: None }
    }

    /// Takes a portion of the stream and adds the pieces that it completes.
    ///
    /// # Errors
    /// If an element is larger than the cap; nothing can be read after that.
    pub fn feed_chunk(&mut self, chunk: &[u8], pieces: &mut Vec<StreamPiece>) -> Result<(), Fault> {
        if let Some(fault) = &self.ended {
            return Err(fault.clone());
        }
        let mut taken = 0;
        for (at, byte) in chunk.iter().enumerate() {
            let cut = self.advance_by(*byte, self.held.len() + at - taken);
            if cut == StreamCut::None {
                continue;
            }
            self.held.extend_from_slice(chunk.get(taken..=at).unwrap_or_default());
            taken = at + 1;
            self.apply_cut(cut, pieces)?;
        }
        self.held.extend_from_slice(chunk.get(taken..).unwrap_or_default());
        Ok(())
    }

    /// The rest, once the stream has ended.
    #[must_use]
    pub fn finish(self) -> StreamRest {
        match self.state {
            _ if self.held.is_empty() => StreamRest::Nothing,
            ReaderState::Start(_) | ReaderState::Quoted(_) => StreamRest::Open(self.held),
            _ if self.depth > 0 => StreamRest::Open(self.held),
            _ => StreamRest::Stray(self.held),
        }
    }

    /// Takes the byte that follows `length` others since the last piece.
    fn advance_by(&mut self, byte: u8, length: usize) -> StreamCut {
        let outside = self.depth == 0;
        let mut cut = StreamCut::None;
        self.state = match (self.state, byte) {
            // A `<` that continues nothing begins anew, even after another `<` that was only text.
            (ReaderState::Text | ReaderState::Less | ReaderState::Bang(_) | ReaderState::Hyphen, b'<') => {
                self.before = length;
                ReaderState::Less
            }
            (ReaderState::Less, b'!') => ReaderState::Bang(0),
            (ReaderState::Less, b'?') => ReaderState::Instruction(false),
            (ReaderState::Less, b'/') if !outside => ReaderState::End,
            (ReaderState::Less, first) if begins_name(first) => {
                if outside && self.before > 0 {
                    cut = StreamCut::Before;
                }
                ReaderState::Start(false)
            }
            (ReaderState::Bang(0), b'-') => ReaderState::Hyphen,
            (ReaderState::Hyphen, b'-') => ReaderState::Comment(0),
            (ReaderState::Bang(seen), byte) if CDATA.get(seen) == Some(&byte) => {
                if seen + 1 == CDATA.len() {
                    ReaderState::Literal(0)
                } else {
                    ReaderState::Bang(seen + 1)
                }
            }
            (ReaderState::Comment(2), b'>')
            | (ReaderState::Literal(2), b'>')
            | (ReaderState::Instruction(true), b'>') => ReaderState::Text,
            (ReaderState::Comment(seen), b'-') => ReaderState::Comment((seen + 1).min(2)),
            (ReaderState::Comment(_), _) => ReaderState::Comment(0),
            (ReaderState::Literal(seen), b']') => ReaderState::Literal((seen + 1).min(2)),
            (ReaderState::Literal(_), _) => ReaderState::Literal(0),
            (ReaderState::Instruction(_), byte) => ReaderState::Instruction(byte == b'?'),
            (ReaderState::Start(_), b'"' | b'\'') => ReaderState::Quoted(byte),
            (ReaderState::Quoted(quote), byte) if byte == quote => ReaderState::Start(false),
            (ReaderState::Quoted(quote), _) => ReaderState::Quoted(quote),
            // No tag contains a `<`, so the apparent start of an element was text such as `a <b`.
            (ReaderState::Start(_), b'<') if outside => {
                self.before = length;
                ReaderState::Less
            }
            (ReaderState::Start(slash), b'>') => {
                self.depth += usize::from(!slash);
                cut = if self.depth == 0 { StreamCut::Element } else { StreamCut::None };
                ReaderState::Text
            }
            (ReaderState::Start(_), byte) => ReaderState::Start(byte == b'/'),
            (ReaderState::End, b'>') => {
                self.depth -= 1;
                cut = if self.depth == 0 { StreamCut::Element } else { StreamCut::None };
                ReaderState::Text
            }
            (ReaderState::End, _) => ReaderState::End,
            // Everything that begins no tag, comment or CDATA section is text.
            (ReaderState::Text | ReaderState::Less | ReaderState::Bang(_) | ReaderState::Hyphen, _) => {
                ReaderState::Text
            }
        };
        if cut == StreamCut::None { self.cut_by_size(byte, length + 1) } else { cut }
    }

    fn cut_by_size(&self, byte: u8, length: usize) -> StreamCut {
        let stray = self.depth == 0 && !matches!(self.state, ReaderState::Start(_) | ReaderState::Quoted(_));
        if !stray {
            return if length > self.cap { StreamCut::TooLarge } else { StreamCut::None };
        }
        let undecided = matches!(self.state, ReaderState::Less | ReaderState::Bang(_) | ReaderState::Hyphen);
        let line = byte == b'\n' && self.state == ReaderState::Text;
        if line || (length >= crate::limits::STRAY_BYTES && !undecided) {
            StreamCut::Stray
        } else {
            StreamCut::None
        }
    }

    fn apply_cut(&mut self, cut: StreamCut, pieces: &mut Vec<StreamPiece>) -> Result<(), Fault> {
        let rest = if cut == StreamCut::Before { self.held.split_off(self.before) } else { Vec::new() };
        let piece = std::mem::replace(&mut self.held, rest);
        self.before = 0;
        if cut == StreamCut::TooLarge || (cut == StreamCut::Element && piece.len() > self.cap) {
            let place = Place { offset: self.passed, ..Place::START };
            let message = format!("an element has more than {} bytes", self.cap);
            let fault = Fault::new(codes::TOO_LARGE, message, place).with_fix(crate::gate::SHORTER);
            self.ended = Some(fault.clone());
            return Err(fault);
        }
        self.passed = self.passed.saturating_add(piece.len());
        pieces.push(if cut == StreamCut::Element {
            StreamPiece::Element(piece)
        } else {
            StreamPiece::Stray(piece)
        });
        Ok(())
    }
}

/// Where the stream is cut after a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamCut {
    None,
    /// Before the `<` that begins an element.
    Before,
    /// After an element.
    Element,
    /// After a stray line, or a part of one.
    Stray,
    /// No cut: the element is too large.
    TooLarge,
}

/// Whether an element's name may begin with this byte; the gate decides for bytes beyond ASCII.
fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}
