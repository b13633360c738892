//! Reads one block: a known element, from its start tag to the end tag that closes it.
//!
//! It never interprets a block before it is complete; only thinking is shown as it comes. The extractor comes in
//! right after the start tag, and leaves right after the block.

use super::answer_end::SealedBlock;
use super::events::{ExtractEvent, LiveRead, ProblemSlug, TextProblem};
use super::graft::NamespaceScope;
use super::ground::ContentGround;
use super::names::ElementRole;
use super::piece::MarkupPiece;
use super::scan::BlockScanner;
use super::span::TextSpan;
use super::tag::TagReading;
use super::take::BlockAnalysis;
use super::verbatim::{self, VerbatimBlock};
use super::{Extractor, ReadingFlow, ReadingMode};
use crate::Place;
use crate::limits;

/// A block that is being read.
#[derive(Debug)]
pub(super) struct OpenBlock {
    /// Where its `<` is.
    pub(super) start: Place,
    /// Where its content begins.
    pub(super) inside: Place,
    /// Its name as written.
    pub(super) name: String,
    /// Its role. `None` for a wrapper.
    pub(super) role: Option<ElementRole>,
    /// Whether it begins a line.
    pub(super) begins: bool,
    scanner: BlockScanner,
    /// Up to where it has been shown.
    shown: usize,
}

impl OpenBlock {
    /// Whether it is shown while it streams in.
    pub(super) fn is_thinking(&self) -> bool {
        self.role == Some(ElementRole::Thinking)
    }

    /// The held text before this offset may be forgotten.
    pub(super) fn first_needed(&self) -> usize {
        if self.is_thinking() {
            self.scanner.settled_end().saturating_sub(limits::END_TAG_BYTES)
        } else {
            self.start.offset
        }
    }

    /// Shows a chunk of thinking that holds nothing special, from `from` to `to`. Models stream a few letters at a
    /// time, and nearly all chunks are like that.
    #[inline]
    pub(super) fn show_chunk(&mut self, from: usize, to: usize, events: &mut Vec<ExtractEvent>) -> bool {
        if !self.scanner.pass_plain(from, to) {
            return false;
        }
        // The event is made when there is room for it, so that it is written only once.
        events.extend(std::iter::once_with(|| ExtractEvent::Live(LiveRead::Piece(self.shown..to))));
        self.shown = to;
        true
    }

    /// Where its end tag occurs in code inside it, so that it cannot be read as markup.
    pub(super) fn find_quoted_end(&self) -> Option<usize> {
        self.scanner
            .quoted_end()
            .filter(|_| !matches!(self.role, Some(ElementRole::Thinking | ElementRole::Thought)))
    }

    /// Whether a fence is open in it.
    pub(super) fn is_fenced(&self) -> bool {
        self.scanner.is_fenced()
    }
}

impl Extractor {
    /// A start tag that begins a block has ended.
    pub(super) fn begin_block(
        &mut self,
        tag: &TagReading,
        end: usize,
        role: Option<ElementRole>,
    ) -> ReadingFlow {
        self.begin_role(role);
        if let Some(open) = self.open.last_mut() {
            open.has_child = true;
        }
        let start = self.held.place(tag.at);
        if tag.empty {
            self.take_block(start, end, &ContentGround::Unknown);
            self.end_block(end);
            return ReadingFlow::Turn;
        }
        let name = String::from_utf8_lossy(tag.name(&self.held)).into_owned();
        let is_plain = matches!(role, Some(ElementRole::Thinking | ElementRole::Thought));
        let markup = || std::str::from_utf8(self.held.slice(tag.at, end)).unwrap_or_default();
        let ground = if is_plain {
            ContentGround::Unknown
        } else {
            ContentGround::from_element(&self.names, markup())
        };
        let scanner = BlockScanner::new(tag.name(&self.held), end, is_plain, ground);
        let inside = self.held.place(end);
        if role == Some(ElementRole::Thinking) {
            self.events.push(ExtractEvent::Live(LiveRead::Begun(end)));
        }
        let begins = self.prose.is_blank;
        self.mode = ReadingMode::Block(Box::new(OpenBlock {
            start,
            inside,
            name,
            role,
            begins,
            scanner,
            shown: end,
        }));
        ReadingFlow::Turn
    }

    /// Reads a block.
    pub(super) fn read_block(&mut self, mut block: Box<OpenBlock>) -> ReadingFlow {
        let end = block.scanner.read_on(&self.held, self.stop, &self.names);
        let is_thinking = block.is_thinking();
        let Some(end) = end else {
            if is_thinking {
                self.show_thinking(&mut block, None);
            }
            self.mode = ReadingMode::Block(block);
            return ReadingFlow::More;
        };
        if is_thinking {
            let from = block.inside.offset.max(end.saturating_sub(limits::END_TAG_BYTES));
            let tail = self.held.slice(from, end);
            let tag = tail.windows(2).rposition(|two| two == b"</").map_or(end, |at| from + at);
            self.show_thinking(&mut block, Some(tag));
            self.events.push(ExtractEvent::Live(LiveRead::Ended));
            self.emit(ExtractEvent::Thinking(TextSpan { start: block.inside, end: tag }));
        } else if let Some(at) = block.find_quoted_end() {
            let problem = self.report_quoted_end(&block, at);
            let raw = std::str::from_utf8(self.held.slice(block.start.offset, end)).unwrap_or_default();
            if !matches!(
                verbatim::find_raw_signs(&self.names, &self.limits, raw, block.start),
                VerbatimBlock::None
            ) {
                self.seal(SealedBlock::seal_after(block.start, end, None));
            }
            self.emit(problem.into());
        } else {
            self.take_block(block.start, end, block.scanner.ground());
        }
        self.end_block(end);
        self.prose.is_behind_thinking = is_thinking;
        ReadingFlow::Turn
    }

    /// Shows the thinking that has come, up to its end or to the last whole character.
    pub(super) fn show_thinking(&mut self, block: &mut OpenBlock, end: Option<usize>) {
        let to = end.unwrap_or_else(|| {
            let settled = block.scanner.settled_end();
            let tail = self.held.slice(settled.saturating_sub(3).max(block.shown), settled);
            settled - count_unfinished(tail)
        });
        if to > block.shown {
            self.events.push(ExtractEvent::Live(LiveRead::Piece(block.shown..to)));
            block.shown = to;
        }
    }

    /// The end tag of a block occurs in code inside it. It did not end the block, but must be escaped there.
    pub(super) fn report_quoted_end(&mut self, block: &OpenBlock, at: usize) -> TextProblem {
        let name = &block.name;
        let message = format!("</{name}> is in code inside <{name}>, where it would end the element");
        let problem =
            TextProblem::new(ProblemSlug::Malformed, self.held.place(at), message).with_element(name);
        problem.with_fix(format!("write &lt;/{name}&gt; there"))
    }

    /// Turns a complete block into events.
    fn take_block(&mut self, start: Place, end: usize, ground: &ContentGround) {
        let raw = self.held.slice(start.offset, end);
        let Ok(raw) = std::str::from_utf8(raw) else {
            let raw = raw.to_vec();
            self.report_not_utf8(&raw, start);
            return;
        };
        let found = match ground {
            // Where nothing is known of an element, nothing is known of the elements in it either.
            ContentGround::Unknown => VerbatimBlock::None,
            _ => verbatim::find_raw_signs(&self.names, &self.limits, raw, start),
        };
        let sealed = match &found {
            VerbatimBlock::None | VerbatimBlock::Taken(_) => None,
            VerbatimBlock::Open(name) => Some(SealedBlock::seal_after(start, end, Some(name.clone()))),
            VerbatimBlock::Refused(_) => Some(SealedBlock::seal_after(start, end, None)),
        };
        let mut taking = BlockAnalysis { names: &self.names, limits: &self.limits, events: Vec::new() };
        match found {
            VerbatimBlock::None | VerbatimBlock::Open(_) => {
                taking.take_block(&MarkupPiece { raw, start, scope: NamespaceScope::default() })
            }
            VerbatimBlock::Refused(problem) => taking.events.push(ExtractEvent::Problem(problem)),
            VerbatimBlock::Taken(taken) => {
                let raw = raw.to_owned();
                return self.take_verbatim(
                    &MarkupPiece { raw: &raw, start, scope: NamespaceScope::default() },
                    taken,
                );
            }
        }
        let events = taking.events;
        sealed.into_iter().for_each(|sealed| self.seal(sealed));
        events.into_iter().for_each(|event| self.emit(event));
    }

    pub(super) fn report_not_utf8(&mut self, raw: &[u8], start: Place) {
        let valid = std::str::from_utf8(raw).err().map_or(0, |error| error.valid_up_to());
        let place = start.move_past(raw.get(..valid).unwrap_or_default());
        let byte = raw.get(valid).copied().unwrap_or_default();
        let message = format!("byte 0x{byte:02x} does not belong to a UTF-8 character");
        self.emit(TextProblem::new(ProblemSlug::Malformed, place, message).with_fix("write UTF-8").into());
    }
}

/// How many bytes at the end belong to an incomplete character.
fn count_unfinished(tail: &[u8]) -> usize {
    for (back, byte) in (1..).zip(tail.iter().rev()) {
        let length = match byte {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xff => 4,
            _ => 1,
        };
        return if length > back { back } else { 0 };
    }
    0
}
