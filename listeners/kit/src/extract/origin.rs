//! Maps each byte of a payload to its place in the model's text.
//!
//! A payload is what the model wrote, with a few edits: a namespace added, a name fixed, `to` taken out. The whole
//! text is never read again. An offset, a line and a column, or a path in the payload comes in; a place in the text
//! goes out.

use std::ops::Range;
use std::sync::Arc;

use super::span::{TextSpan, add_place};
use crate::gate::{GateStep, XmlGate};
use crate::place::PlaceFinder;
use crate::{DocumentLimits, Payload, Place};

/// A replacement for a part of the markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkupEdit {
    /// The part, in bytes of the markup.
    pub(super) part: Range<usize>,
    /// The replacement.
    pub(super) with: String,
}

/// Maps a payload back to the text.
#[derive(Debug, Clone, PartialEq)]
pub struct PayloadOrigin {
    raw: Arc<str>,
    start: Place,
    /// In the order of the markup.
    edits: Vec<MarkupEdit>,
    payload: Option<Payload>,
}

impl PayloadOrigin {
    pub(super) fn new(raw: &str, start: Place, edits: Vec<MarkupEdit>) -> Self {
        Self { raw: Arc::from(raw), start, edits, payload: None }
    }

    /// The markup as the model wrote it.
    pub(super) fn raw(&self) -> Arc<str> {
        self.raw.clone()
    }

    pub(super) fn with_payload(mut self, payload: &Payload) -> Self {
        self.payload = Some(payload.clone());
        self
    }

    /// The edited markup.
    pub(super) fn edited_markup(&self) -> String {
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

    /// The place of an offset in the edited markup. Added text maps to the place where it was added.
    pub(super) fn of_edited(&self, offset: usize) -> Place {
        let mut shift = OffsetShift { edited: 0, raw: 0 };
        for edit in &self.edits {
            let kept = edit.part.start - shift.raw;
            if offset < shift.edited + kept {
                break;
            }
            if offset < shift.edited + kept + edit.with.len() {
                return self.of_raw(edit.part.start);
            }
            shift = OffsetShift { edited: shift.edited + kept + edit.with.len(), raw: edit.part.end };
        }
        self.of_raw(shift.raw + (offset - shift.edited))
    }

    /// A mapping for many places that mostly rise.
    pub(super) fn map_back(&self) -> PlaceMapping<'_> {
        let mut added = 0;
        let starts = self.edits.iter().map(|edit| {
            let start = edit.part.start + added;
            added += edit.with.len();
            added -= edit.part.len();
            start
        });
        PlaceMapping { origin: self, starts: starts.collect(), ruler: PlaceFinder::new(self.raw.as_bytes()) }
    }

    fn of_raw(&self, offset: usize) -> Place {
        let offset = offset.min(self.raw.len());
        self.start.move_past(self.raw.as_bytes().get(..offset).unwrap_or_default())
    }

    /// The place of an offset in the payload's bytes.
    #[must_use]
    pub fn find_place(&self, offset: usize) -> Place {
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
        self.find_place(start + rest.chars().take(skip).map(char::len_utf8).sum::<usize>())
    }

    /// The place that a path of a refusal names, such as `/search/limit[2]` or `/search/@mode`.
    #[must_use]
    pub fn place_of(&self, path: &str) -> Option<Place> {
        let payload = self.payload.as_ref()?;
        let mut steps = path.strip_prefix('/')?.split('/');
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
        let GateStep::Open(root) = gate.read_step().ok()? else { return None };
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
            found = enter_child(&mut gate, local, number)?;
        }
        Some(self.find_place(found))
    }
}

/// Maps many places in edited markup back to the text. No edit makes the markup shorter.
pub(super) struct PlaceMapping<'o> {
    origin: &'o PayloadOrigin,
    /// Where each edit begins in the edited markup.
    starts: Vec<usize>,
    ruler: PlaceFinder<'o>,
}

impl PlaceMapping<'_> {
    /// Maps an offset in the edited markup to the markup as written.
    fn map_offset(&self, edited: usize) -> usize {
        let passed = self.starts.partition_point(|start| *start <= edited);
        let last = passed.checked_sub(1).and_then(|at| self.starts.get(at).zip(self.origin.edits.get(at)));
        match last {
            Some((start, edit)) if edited - start < edit.with.len() => edit.part.start,
            Some((start, edit)) => edit.part.end + (edited - start - edit.with.len()),
            None => edited,
        }
    }

    /// Maps an offset in the edited text to the whole text.
    fn map_to_text(&self, edited: usize) -> usize {
        let start = self.origin.start.offset;
        start + self.map_offset(edited.saturating_sub(start))
    }

    /// Maps a place in the edited text.
    pub(super) fn map_place(&mut self, edited: Place) -> Place {
        let raw = self.map_offset(edited.offset.saturating_sub(self.origin.start.offset));
        add_place(self.origin.start, self.ruler.find_place(raw))
    }

    /// Maps a span in the edited text.
    pub(super) fn map_span(&mut self, edited: TextSpan) -> TextSpan {
        TextSpan { start: self.map_place(edited.start), end: self.map_to_text(edited.end) }
    }

    /// A part of the text as it was written.
    pub(super) fn slice_written(&self, span: TextSpan) -> &str {
        let from = self.origin.start.offset;
        let part = span.start.offset.saturating_sub(from)..span.end.saturating_sub(from);
        self.origin.raw.get(part).unwrap_or_default()
    }

    /// The mapping of an inner element at `span` of the edited text, combined with these edits.
    pub(super) fn map_inner(&self, inner: &PayloadOrigin, span: TextSpan) -> PayloadOrigin {
        let (from, to) = (span.start.offset - self.origin.start.offset, span.end - self.origin.start.offset);
        let at = |edited: usize| self.map_to_text(inner.start.offset + edited) - span.start.offset;
        let edits = &self.origin.edits;
        let first = edits.partition_point(|edit| edit.part.start < from);
        let own = edits.iter().skip(first).take_while(|edit| edit.part.end <= to);
        let own = own.map(|edit| MarkupEdit {
            part: edit.part.start - from..edit.part.end - from,
            with: edit.with.clone(),
        });
        let inside = inner
            .edits
            .iter()
            .map(|edit| MarkupEdit { part: at(edit.part.start)..at(edit.part.end), with: edit.with.clone() });
        let mut edits: Vec<MarkupEdit> = own.chain(inside).collect();
        edits.sort_by_key(|edit| (edit.part.start, edit.part.end));
        PayloadOrigin {
            raw: Arc::from(self.slice_written(span)),
            start: span.start,
            edits,
            payload: inner.payload.clone(),
        }
    }
}

/// How far two texts have been read side by side.
struct OffsetShift {
    edited: usize,
    raw: usize,
}

/// Opens the child of that name and number in the innermost open element, and says where it begins.
fn enter_child(gate: &mut XmlGate<'_>, local: &str, number: usize) -> Option<usize> {
    let mut seen = 0;
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(tag) if tag.local == local => {
                seen += 1;
                if seen == number {
                    return Some(tag.offset);
                }
                gate.skip_content().ok()?;
            }
            GateStep::Open(_) => gate.skip_content().ok()?,
            GateStep::Close | GateStep::Done => return None,
            GateStep::Text(_) | GateStep::Instruction => {}
        }
    }
}
