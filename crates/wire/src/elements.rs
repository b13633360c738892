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
enum State {
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

/// The longest stray piece without a line feed; a longer one comes in parts.
const STRAY_BYTES: usize = 64 << 10;

/// The reader of a stream.
#[derive(Debug)]
pub struct ElementReader {
    cap: usize,
    /// The bytes since the last piece.
    held: Vec<u8>,
    /// How many of the held bytes are text before the `<` under examination, outside any element.
    before: usize,
    depth: usize,
    state: State,
    passed: usize,
    ended: Option<Fault>,
}

impl ElementReader {
    /// A reader for elements of at most `cap` bytes.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self { cap, held: Vec::new(), before: 0, depth: 0, state: State::Text, passed: 0, ended: None }
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
            if cut == Cut::None {
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
            State::Start(_) | State::Quoted(_) => StreamRest::Open(self.held),
            _ if self.depth > 0 => StreamRest::Open(self.held),
            _ => StreamRest::Stray(self.held),
        }
    }

    /// Takes the byte that follows `length` others since the last piece.
    fn advance_by(&mut self, byte: u8, length: usize) -> Cut {
        let outside = self.depth == 0;
        let mut cut = Cut::None;
        self.state = match (self.state, byte) {
            // A `<` that continues nothing begins anew, even after another `<` that was only text.
            (State::Text | State::Less | State::Bang(_) | State::Hyphen, b'<') => {
                self.before = length;
                State::Less
            }
            (State::Less, b'!') => State::Bang(0),
            (State::Less, b'?') => State::Instruction(false),
            (State::Less, b'/') if !outside => State::End,
            (State::Less, first) if begins_name(first) => {
                if outside && self.before > 0 {
                    cut = Cut::Before;
                }
                State::Start(false)
            }
            (State::Bang(0), b'-') => State::Hyphen,
            (State::Hyphen, b'-') => State::Comment(0),
            (State::Bang(seen), byte) if CDATA.get(seen) == Some(&byte) => {
                if seen + 1 == CDATA.len() {
                    State::Literal(0)
                } else {
                    State::Bang(seen + 1)
                }
            }
            (State::Comment(2), b'>') | (State::Literal(2), b'>') | (State::Instruction(true), b'>') => {
                State::Text
            }
            (State::Comment(seen), b'-') => State::Comment((seen + 1).min(2)),
            (State::Comment(_), _) => State::Comment(0),
            (State::Literal(seen), b']') => State::Literal((seen + 1).min(2)),
            (State::Literal(_), _) => State::Literal(0),
            (State::Instruction(_), byte) => State::Instruction(byte == b'?'),
            (State::Start(_), b'"' | b'\'') => State::Quoted(byte),
            (State::Quoted(quote), byte) if byte == quote => State::Start(false),
            (State::Quoted(quote), _) => State::Quoted(quote),
            // No tag contains a `<`, so the apparent start of an element was text such as `a <b`.
            (State::Start(_), b'<') if outside => {
                self.before = length;
                State::Less
            }
            (State::Start(slash), b'>') => {
                self.depth += usize::from(!slash);
                cut = if self.depth == 0 { Cut::Element } else { Cut::None };
                State::Text
            }
            (State::Start(_), byte) => State::Start(byte == b'/'),
            (State::End, b'>') => {
                self.depth -= 1;
                cut = if self.depth == 0 { Cut::Element } else { Cut::None };
                State::Text
            }
            (State::End, _) => State::End,
            // Everything that begins no tag, comment or CDATA section is text.
            (State::Text | State::Less | State::Bang(_) | State::Hyphen, _) => State::Text,
        };
        if cut == Cut::None { self.cut_by_size(byte, length + 1) } else { cut }
    }

    fn cut_by_size(&self, byte: u8, length: usize) -> Cut {
        let stray = self.depth == 0 && !matches!(self.state, State::Start(_) | State::Quoted(_));
        if !stray {
            return if length > self.cap { Cut::TooLarge } else { Cut::None };
        }
        let undecided = matches!(self.state, State::Less | State::Bang(_) | State::Hyphen);
        let line = byte == b'\n' && self.state == State::Text;
        if line || (length >= STRAY_BYTES && !undecided) { Cut::Stray } else { Cut::None }
    }

    fn apply_cut(&mut self, cut: Cut, pieces: &mut Vec<StreamPiece>) -> Result<(), Fault> {
        let rest = if cut == Cut::Before { self.held.split_off(self.before) } else { Vec::new() };
        let piece = std::mem::replace(&mut self.held, rest);
        self.before = 0;
        if cut == Cut::TooLarge || (cut == Cut::Element && piece.len() > self.cap) {
            let place = Place { offset: self.passed, ..Place::START };
            let message = format!("an element has more than {} bytes", self.cap);
            let fault = Fault::new(codes::TOO_LARGE, message, place).with_fix(crate::gate::SHORTER);
            self.ended = Some(fault.clone());
            return Err(fault);
        }
        self.passed = self.passed.saturating_add(piece.len());
        pieces.push(if cut == Cut::Element {
            StreamPiece::Element(piece)
        } else {
            StreamPiece::Stray(piece)
        });
        Ok(())
    }
}

/// Where the stream is cut after a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
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
