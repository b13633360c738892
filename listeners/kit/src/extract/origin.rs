//! Where each byte of a payload stands in the model's text.
//!
//! A payload is what the model wrote, but for a few edits: a namespace added, a name mended, `to` taken out. Never
//! reads the whole text again. An offset, a line and a column, or a path in the payload comes in; a place in the
//! text goes out.

use std::ops::Range;
use std::sync::Arc;

use super::events::Span;
use crate::gate::{Gate, Step};
use crate::{Limits, Payload, Place};

/// What was written in place of a part of the markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// The part, in bytes of the markup.
    pub(super) part: Range<usize>,
    /// What stands there instead.
    pub(super) with: String,
}

/// The way back from a payload to the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    raw: Arc<str>,
    start: Place,
    /// In the order of the markup.
    edits: Vec<Edit>,
    payload: Option<Payload>,
}

impl Origin {
    pub(super) fn new(raw: &str, start: Place, edits: Vec<Edit>) -> Self {
        Self { raw: Arc::from(raw), start, edits, payload: None }
    }

    /// The markup as the model wrote it.
    pub(super) fn raw(&self) -> Arc<str> {
        self.raw.clone()
    }

    pub(super) fn of(mut self, payload: &Payload) -> Self {
        self.payload = Some(payload.clone());
        self
    }

    /// The markup with its edits.
    pub(super) fn edited(&self) -> String {
        let added: usize = self.edits.iter().map(|edit| edit.with.len()).sum();
        let mut text = String::with_capacity(self.raw.len() + added);
        let mut passed = 0;
        for edit in &self.edits {
            text.push_str(self.raw.get(passed..edit.part.start).unwrap_or_default());
            text.push_str(&edit.with);
            passed = edit.part.end;
        }
        text.push_str(self.raw.get(passed..).unwrap_or_default());
        text
    }

    /// The place of an offset in the edited markup. What was written in stands where it was written.
    pub(super) fn of_edited(&self, offset: usize) -> Place {
        let mut shift = Shift { edited: 0, raw: 0 };
        for edit in &self.edits {
            let kept = edit.part.start - shift.raw;
            if offset < shift.edited + kept {
                break;
            }
            if offset < shift.edited + kept + edit.with.len() {
                return self.of_raw(edit.part.start);
            }
            shift = Shift { edited: shift.edited + kept + edit.with.len(), raw: edit.part.end };
        }
        self.of_raw(shift.raw + (offset - shift.edited))
    }

    /// The place of one in the edited markup, where that stands in the text as the markup did.
    pub(super) fn through(&self, place: Place) -> Place {
        self.of_edited(place.offset.saturating_sub(self.start.offset))
    }

    /// The same for a part.
    pub(super) fn span(&self, span: Span) -> Span {
        let end = span.end.saturating_sub(self.start.offset);
        Span { start: self.through(span.start), end: self.of_edited(end).offset }
    }

    /// A part of the markup as it was written.
    pub(super) fn written(&self, span: Span) -> &str {
        let from = self.start.offset;
        self.raw
            .get(span.start.offset.saturating_sub(from)..span.end.saturating_sub(from))
            .unwrap_or_default()
    }

    /// The way back of an element inside the edited markup, through these edits as well.
    pub(super) fn around(&self, inner: &Self) -> Self {
        let span = self.span(Span { start: inner.start, end: inner.start.offset + inner.raw.len() });
        let (from, to) = (span.start.offset - self.start.offset, span.end - self.start.offset);
        let base = inner.start.offset - self.start.offset;
        let at = |edited: usize| self.of_edited(base + edited).offset - span.start.offset;
        let own = self.edits.iter().filter(|edit| edit.part.start >= from && edit.part.end <= to);
        let own = own
            .map(|edit| Edit { part: edit.part.start - from..edit.part.end - from, with: edit.with.clone() });
        let inside = inner
            .edits
            .iter()
            .map(|edit| Edit { part: at(edit.part.start)..at(edit.part.end), with: edit.with.clone() });
        let mut edits: Vec<Edit> = own.chain(inside).collect();
        edits.sort_by_key(|edit| (edit.part.start, edit.part.end));
        let raw = Arc::from(self.written(span));
        Self { raw, start: span.start, edits, payload: inner.payload.clone() }
    }

    fn of_raw(&self, offset: usize) -> Place {
        let offset = offset.min(self.raw.len());
        self.start.after(self.raw.as_bytes().get(..offset).unwrap_or_default())
    }

    /// The place of an offset in the payload's bytes.
    #[must_use]
    pub fn place(&self, offset: usize) -> Place {
        match &self.payload {
            Some(payload) => self.of_edited(payload.place_of(offset).offset),
            None => self.of_edited(offset),
        }
    }

    /// The place of a line and a column of the payload, both from 1, columns in characters.
    #[must_use]
    pub fn place_at(&self, line: u64, column: u64) -> Place {
        let bytes = self.payload.as_ref().map_or(self.raw.as_bytes(), |payload| payload.bytes());
        let skip = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        let start: usize = bytes.split_inclusive(|byte| *byte == b'\n').take(skip).map(<[u8]>::len).sum();
        let rest = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default());
        let skip = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
        self.place(start + rest.chars().take(skip).map(char::len_utf8).sum::<usize>())
    }

    /// The place of what a path of a refusal names, as `/search/limit[2]` or `/search/@mode`.
    #[must_use]
    pub fn place_of(&self, path: &str) -> Option<Place> {
        let payload = self.payload.as_ref()?;
        let mut steps = path.strip_prefix('/')?.split('/');
        let mut gate = Gate::strict(payload.bytes(), &Limits::FROM_PUMP).ok()?;
        let Step::Open(root) = gate.step().ok()? else { return None };
        if steps.next()? != root.local {
            return None;
        }
        let mut found = root.offset;
        for step in steps {
            if let Some(name) = step.strip_prefix('@') {
                found = gate.attributes().iter().find(|it| it.local == name)?.offset;
                break;
            }
            let (local, number) = match step.split_once('[') {
                Some((local, number)) => (local, number.strip_suffix(']')?.parse().ok()?),
                None => (step, 1_usize),
            };
            found = child(&mut gate, local, number)?;
        }
        Some(self.place(found))
    }
}

/// How far two texts have been read side by side.
struct Shift {
    edited: usize,
    raw: usize,
}

/// Opens the child of that name and number in the innermost open element, and says where it begins.
fn child(gate: &mut Gate<'_>, local: &str, number: usize) -> Option<usize> {
    let mut seen = 0;
    loop {
        match gate.step().ok()? {
            Step::Open(tag) if tag.local == local => {
                seen += 1;
                if seen == number {
                    return Some(tag.offset);
                }
                gate.skip().ok()?;
            }
            Step::Open(_) => gate.skip().ok()?,
            Step::Close | Step::Done => return None,
            Step::Text(_) | Step::Instruction => {}
        }
    }
}
