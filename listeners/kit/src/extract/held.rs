//! The part of a stream that is still needed, addressed by its offset in the whole text.
//!
//! It forgets the text before the released offset, except for its line and column. Chunks come in; bytes by offset,
//! and lines and columns, go out.

use crate::Place;

/// How many bytes must be forgettable before it is worth moving the rest.
const SLACK: usize = 64 << 10;

/// The bytes from `base` on.
#[derive(Debug)]
pub(super) struct Held {
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

impl Held {
    pub(super) fn new() -> Self {
        let start = Place::START;
        Self { bytes: Vec::new(), watermark: SLACK, base: 0, first: start, earlier: start, reached: start }
    }

    /// A separate piece of a text.
    pub(super) fn of(bytes: &[u8], start: Place) -> Self {
        let base = start.offset;
        Self { bytes: bytes.to_vec(), watermark: SLACK, base, first: start, earlier: start, reached: start }
    }

    pub(super) fn extend(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// Where the text that has come ends.
    pub(super) fn end(&self) -> usize {
        self.base + self.bytes.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<u8> {
        self.bytes.get(at.checked_sub(self.base)?).copied()
    }

    /// The text from `from` on.
    pub(super) fn from(&self, from: usize) -> &[u8] {
        self.bytes.get(from.saturating_sub(self.base)..).unwrap_or_default()
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &[u8] {
        let (from, to) = (from.saturating_sub(self.base), to.saturating_sub(self.base));
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// The first byte from `from` on for which `wanted` holds.
    pub(super) fn find(&self, from: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
        self.from(from).iter().position(|byte| wanted(*byte)).map(|at| from + at)
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
        self.reached = from.after(self.slice(from.offset, at));
        self.reached
    }

    /// Whether enough is held that some of it might be forgotten.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= self.watermark
    }

    /// Forgets the text before an offset, if that is worth moving the rest.
    pub(super) fn let_go(&mut self, before: usize) {
        let settled = before.saturating_sub(self.base).min(self.bytes.len());
        if settled >= SLACK / 2 && settled >= self.bytes.len() / 2 {
            let place = self.place(self.base + settled);
            self.bytes.drain(..settled);
            self.base += settled;
            (self.first, self.earlier, self.reached) = (place, place, place);
        }
        self.watermark = self.bytes.len() + SLACK;
    }
}
