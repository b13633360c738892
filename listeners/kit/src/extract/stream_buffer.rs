//! The part of a stream that is still needed, addressed by its offset in the whole text.
//!
//! It forgets the text before the released offset, except for its line and column. Chunks come in; bytes by offset,
//! and lines and columns, go out.

use crate::Place;
use crate::limits;

/// A `>`: something may end.
pub(super) const TAG_END: u8 = 1;

/// A `<`, a backtick or a line break: the bytes that have a meaning in plain text.
pub(super) const SIGN: u8 = 2;

/// The kind of each byte.
#[expect(clippy::indexing_slicing, reason = "the compiler checks these, as they are constant")]
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    kinds[b'>' as usize] = TAG_END;
    (kinds[b'<' as usize], kinds[b'`' as usize], kinds[b'\n' as usize]) = (SIGN, SIGN, SIGN);
    kinds
};

/// The bytes from `base` on.
#[derive(Debug)]
pub(super) struct HeldText {
    bytes: Vec<u8>,
    /// The number of bytes at which to check what may be forgotten.
    watermark: usize,
    base: usize,
    /// The place of `base`. All other places are counted from it.
    first: Place,
    /// The last two places asked for. Places mostly rise, so a long line is not counted again each time.
    earlier: Place,
    reached: Place,
}

impl HeldText {
    pub(super) fn new() -> Self {
        let start = Place::START;
        Self {
            bytes: Vec::new(),
            watermark: limits::SETTLED_BYTES,
            base: 0,
            first: start,
            earlier: start,
            reached: start,
        }
    }

    /// A separate piece of a text.
    pub(super) fn from_bytes(bytes: &[u8], start: Place) -> Self {
        let base = start.offset;
        Self {
            bytes: bytes.to_vec(),
            watermark: limits::SETTLED_BYTES,
            base,
            first: start,
            earlier: start,
            reached: start,
        }
    }

    /// Adds a chunk, and returns what may be in it: some of [`TAG_END`] and [`SIGN`]. A long chunk is not searched,
    /// since reading it pays in any case.
    pub(super) fn extend(&mut self, chunk: &[u8]) -> u8 {
        if chunk.len() > limits::SHORT_BYTES {
            self.bytes.extend_from_slice(chunk);
            return TAG_END | SIGN;
        }
        let mut kinds = 0;
        self.bytes.extend(chunk.iter().map(|byte| {
            kinds |= KINDS.get(usize::from(*byte)).copied().unwrap_or_default();
            *byte
        }));
        kinds
    }

    /// Where the text that has come ends.
    pub(super) fn end(&self) -> usize {
        self.base + self.bytes.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<u8> {
        self.bytes.get(at.checked_sub(self.base)?).copied()
    }

    /// The text from `from` on.
    pub(super) fn slice_from(&self, from: usize) -> &[u8] {
        self.bytes.get(from.saturating_sub(self.base)..).unwrap_or_default()
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &[u8] {
        let (from, to) = (from.saturating_sub(self.base), to.saturating_sub(self.base));
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// Where that byte comes first from `from` on.
    pub(super) fn find_byte(&self, from: usize, byte: u8) -> Option<usize> {
        memchr::memchr(byte, self.slice_from(from)).map(|at| from + at)
    }

    /// Where the first `<`, backtick or line break from `from` on is.
    pub(super) fn find_sign(&self, from: usize) -> Option<usize> {
        let text = self.slice_from(from);
        let at = match text.len() {
            // A search for many bytes at once would take longer to begin.
            ..16 => text.iter().position(|byte| matches!(byte, b'<' | b'`' | b'\n')),
            _ => memchr::memchr3(b'<', b'`', b'\n', text),
        };
        at.map(|at| from + at)
    }

    /// The first byte from `from` on for which `wanted` holds.
    pub(super) fn find(&self, from: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
        self.slice_from(from).iter().position(|byte| wanted(*byte)).map(|at| from + at)
    }

    /// The place of an offset that is still held.
    pub(super) fn place(&mut self, at: usize) -> Place {
        let from = if at >= self.reached.offset {
            self.earlier = self.reached;
            self.reached
        } else if at >= self.earlier.offset {
            self.earlier
        } else {
            self.first
        };
        self.reached = from.move_past(self.slice(from.offset, at));
        self.reached
    }

    /// Whether enough is held that some of it might be forgotten.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= self.watermark
    }

    /// Forgets the text before an offset, if that is worth moving the rest.
    pub(super) fn let_go(&mut self, before: usize) {
        let settled = before.saturating_sub(self.base).min(self.bytes.len());
        if settled >= limits::SETTLED_BYTES / 2 && settled >= self.bytes.len() / 2 {
            let place = self.place(self.base + settled);
            self.bytes.drain(..settled);
            self.base += settled;
            (self.first, self.earlier, self.reached) = (place, place, place);
        }
        self.watermark = self.bytes.len() + limits::SETTLED_BYTES;
    }
}
