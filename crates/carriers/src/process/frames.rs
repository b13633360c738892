//! How documents follow one another on the pipes of a program: one per line, or each with its length
//! before it.
//!
//! This file never looks into a document. If something other than a frame comes where a frame should
//! begin, it is handed on like a frame: the caller recognizes stray text. In: bytes in any chunking, or
//! a document to send. Out: frames, or a document's bytes for the pipe.

use systole_kit::Fault;
use systole_kit::framing::{LineSplitter, line_form, with_length};

use crate::post::describe_damage;
use systole_core::types::codes::Code;
use systole_core::types::ports::Delivery;

/// A document as a program reads it.
pub(super) fn frame_document(document: &[u8], by_length: bool) -> Result<Vec<u8>, Fault> {
    if by_length {
        return Ok(with_length(document));
    }
    let mut line = line_form(document)?.into_owned();
    line.push(b'\n');
    Ok(line)
}

/// A delivery as a program reads it; otherwise the code and the message for its end.
pub(super) fn frame_delivery(delivery: &Delivery, by_length: bool) -> Result<Vec<u8>, (Code, String)> {
    let document = delivery.document().map_err(|fault| (Code::DamagedThread, describe_damage(&fault)))?;
    frame_document(&document, by_length).map_err(|fault| {
        (Code::ListenerFailed, format!("the stored document has no line form: {}", fault.message))
    })
}

/// Splits a program's output into frames.
pub(super) enum FrameSplitter {
    Lines(LineSplitter),
    Lengths(LengthFrames),
}

impl FrameSplitter {
    /// Frames of at most `cap` bytes.
    pub(super) fn new(by_length: bool, cap: usize) -> FrameSplitter {
        if by_length {
            FrameSplitter::Lengths(LengthFrames { cap, held: Vec::new(), wanted: None })
        } else {
            FrameSplitter::Lines(LineSplitter::new(cap))
        }
    }

    /// Takes what was read, and adds every frame that it completes. After an error nothing more can be
    /// read, and the error says what the program did. Frames that were added before it are whole.
    pub(super) fn feed_chunk(&mut self, chunk: &[u8], frames: &mut Vec<Vec<u8>>) -> Result<(), String> {
        match self {
            FrameSplitter::Lines(lines) => lines
                .feed_chunk(chunk, frames)
                .map_err(|fault| format!("its output cannot be read: {}", fault.message)),
            FrameSplitter::Lengths(lengths) => lengths.feed_chunk(chunk, frames),
        }
    }

    /// What is left at the end.
    pub(super) fn finish(self) -> Vec<u8> {
        match self {
            FrameSplitter::Lines(lines) => lines.finish().unwrap_or_default(),
            FrameSplitter::Lengths(lengths) => lengths.held,
        }
    }
}

/// Splits by lengths. A line that is no length, where one should be, is a frame by itself: a program
/// that prints a greeting does nothing worse than that.
pub(super) struct LengthFrames {
    cap: usize,
    held: Vec<u8>,
    wanted: Option<usize>,
}

impl LengthFrames {
    fn feed_chunk(&mut self, mut chunk: &[u8], frames: &mut Vec<Vec<u8>>) -> Result<(), String> {
        loop {
            let take = match self.wanted {
                Some(wanted) => wanted - self.held.len(),
                None => chunk.iter().position(|byte| *byte == b'\n').unwrap_or(chunk.len()),
            };
            let (part, rest) = chunk.split_at(take.min(chunk.len()));
            if self.wanted.is_none() && self.held.len() + part.len() > self.cap {
                return Err(self.describe_excess("a line"));
            }
            self.held.extend_from_slice(part);
            chunk = match self.wanted {
                Some(wanted) if self.held.len() < wanted => return Ok(()),
                Some(_) => {
                    self.wanted = None;
                    frames.push(std::mem::take(&mut self.held));
                    rest
                }
                None => {
                    let Some(after) = rest.strip_prefix(b"\n") else { return Ok(()) };
                    self.read_length(frames)?;
                    after
                }
            };
        }
    }

    fn read_length(&mut self, frames: &mut Vec<Vec<u8>>) -> Result<(), String> {
        let line = std::mem::take(&mut self.held);
        let digits = std::str::from_utf8(&line).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        match digits.map(str::parse::<usize>) {
            Some(Ok(length)) if length <= self.cap => self.wanted = Some(length),
            Some(Ok(_)) => return Err(self.describe_excess("a document")),
            // No digits, or more than any document's length needs: this is text.
            _ => frames.push(line),
        }
        Ok(())
    }

    fn describe_excess(&self, what: &str) -> String {
        format!("its output cannot be read: {what} has more than {} bytes", self.cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(by_length: bool, chunks: &[&[u8]]) -> (Vec<String>, Result<(), String>, String) {
        let mut splitter = FrameSplitter::new(by_length, 9);
        let mut frames = Vec::new();
        let fed = chunks.iter().try_for_each(|chunk| splitter.feed_chunk(chunk, &mut frames));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (frames.into_iter().map(text).collect(), fed, text(splitter.finish()))
    }

    #[test]
    fn lengths_are_read_in_any_chunking() {
        let whole: &[u8] = b"hello\n4\n<a/>0\n\n3\n\n\n\n7\n<b";
        let by_byte: Vec<&[u8]> = whole.chunks(1).collect();
        for chunks in [vec![whole], by_byte] {
            let (frames, fed, left) = split(true, &chunks);
            assert_eq!(frames, ["hello", "<a/>", "", "", "\n\n\n"]);
            assert_eq!((fed, left.as_str()), (Ok(()), "<b"));
        }
    }

    #[test]
    fn row_13_more_than_the_cap_is_refused_before_it_is_read() {
        let (frames, fed, _) = split(true, &[b"2\n<>10\n"]);
        assert_eq!(frames, ["<>"]);
        assert_eq!(fed, Err("its output cannot be read: a document has more than 9 bytes".to_owned()));
        assert!(split(true, &[b"ten bytes!"]).1.is_err());
        let (frames, fed, _) = split(false, &[b"<>\nten bytes", b"!"]);
        assert_eq!(frames, ["<>"]);
        assert!(fed.is_err());
    }
}
