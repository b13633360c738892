//! How documents follow one another on the standard streams of a process.
//!
//! This module never changes the meaning of a document: the line form keeps its values, names and order. It never
//! holds more of a stream than the cap. Bytes in any portions come in; whole documents, or a fault that ends the
//! stream, go out; and the other way round.

use crate::codes;
use crate::place::{Fault, Place};

mod line_form;

pub use line_form::line_form;

/// A document with its length before it: decimal digits, a line feed, the bytes.
#[must_use]
pub fn with_length(document: &[u8]) -> Vec<u8> {
    let mut framed = document.len().to_string().into_bytes();
    framed.push(b'\n');
    framed.extend_from_slice(document);
    framed
}

/// Splits a stream into lines, none longer than a cap.
#[derive(Debug)]
pub struct LineSplitter {
    cap: usize,
    held: Vec<u8>,
    next: Place,
    ended: Option<Fault>,
}

impl LineSplitter {
    /// A splitter for lines of at most `cap` bytes, the line feed not counted.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self { cap, held: Vec::new(), next: Place::START, ended: None }
    }

    /// Takes a portion of the stream and adds every line that it completes, without its line feed.
    ///
    /// # Errors
    /// If a line is longer than the cap; nothing can be read after that.
    pub fn feed_chunk(&mut self, mut chunk: &[u8], lines: &mut Vec<Vec<u8>>) -> Result<(), Fault> {
        if let Some(fault) = &self.ended {
            return Err(fault.clone());
        }
        loop {
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let (part, rest) = chunk.split_at(end.unwrap_or(chunk.len()));
            if self.held.len() + part.len() > self.cap {
                let message = format!("a line has more than {} bytes", self.cap);
                let fault = Fault::new(codes::TOO_LARGE, message, self.next).with_fix(crate::gate::SHORTER);
                self.held = Vec::new();
                self.ended = Some(fault.clone());
                return Err(fault);
            }
            self.held.extend_from_slice(part);
            let Some(after) = rest.strip_prefix(b"\n") else { return Ok(()) };
            self.next.line = self.next.line.saturating_add(1);
            self.next.offset = self.next.offset.saturating_add(self.held.len() + 1);
            lines.push(std::mem::take(&mut self.held));
            chunk = after;
        }
    }

    /// The text after the last line feed, once the stream has ended.
    #[must_use]
    pub fn finish(self) -> Option<Vec<u8>> {
        Some(self.held).filter(|held| !held.is_empty())
    }
}

/// The most digits of a length: those of the largest 64-bit number.
const LENGTH_DIGITS: usize = 20;

/// Splits a stream of documents, each with its length before it.
#[derive(Debug)]
pub struct LengthSplitter {
    cap: usize,
    held: Vec<u8>,
    /// The size of the current document in bytes, once its length is known.
    wanted: Option<usize>,
    offset: usize,
    ended: Option<Fault>,
}

impl LengthSplitter {
    /// A splitter for documents of at most `cap` bytes.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self { cap, held: Vec::new(), wanted: None, offset: 0, ended: None }
    }

    /// Takes a portion of the stream and adds every document that it completes.
    ///
    /// # Errors
    /// If a length is over the cap or is not a number; nothing can be read after that.
    pub fn feed_chunk(&mut self, chunk: &[u8], documents: &mut Vec<Vec<u8>>) -> Result<(), Fault> {
        if let Some(fault) = &self.ended {
            return Err(fault.clone());
        }
        let read = self.read_chunk(chunk, documents);
        if let Err(fault) = &read {
            self.held = Vec::new();
            self.ended = Some(fault.clone());
        }
        read
    }

    fn read_chunk(&mut self, mut chunk: &[u8], documents: &mut Vec<Vec<u8>>) -> Result<(), Fault> {
        loop {
            match self.wanted {
                Some(wanted) => {
                    let missing = wanted - self.held.len();
                    let (part, rest) = chunk.split_at(missing.min(chunk.len()));
                    self.held.extend_from_slice(part);
                    if part.len() < missing {
                        return Ok(());
                    }
                    self.offset = self.offset.saturating_add(wanted);
                    self.wanted = None;
                    documents.push(std::mem::take(&mut self.held));
                    chunk = rest;
                }
                None => {
                    let Some((byte, rest)) = chunk.split_first() else { return Ok(()) };
                    chunk = rest;
                    match byte {
                        b'0'..=b'9' if self.held.len() < LENGTH_DIGITS => self.held.push(*byte),
                        b'\n' if !self.held.is_empty() => self.begin_document()?,
                        _ => {
                            return Err(
                                self.make_fault(codes::MALFORMED, "a document has no length before it")
                            );
                        }
                    }
                }
            }
        }
    }

    fn begin_document(&mut self) -> Result<(), Fault> {
        let digits = std::mem::take(&mut self.held);
        let length = std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok());
        let Some(length) = length.filter(|length| *length <= self.cap) else {
            let digits = String::from_utf8_lossy(&digits);
            let message = format!("a document announces {digits} bytes, the limit is {}", self.cap);
            return Err(self.make_fault(codes::TOO_LARGE, &message).with_fix(crate::gate::SHORTER));
        };
        self.offset = self.offset.saturating_add(digits.len() + 1);
        self.wanted = Some(length);
        Ok(())
    }

    fn make_fault(&self, code: &'static str, message: &str) -> Fault {
        let place = Place { offset: self.offset, ..Place::START };
        Fault::new(code, message, place)
            .with_expected("the length in decimal digits, a line feed, the document")
    }

    /// The unfinished document, once the stream has ended.
    #[must_use]
    pub fn finish(self) -> Option<Vec<u8>> {
        (self.wanted.is_some() || !self.held.is_empty()).then_some(self.held)
    }
}
