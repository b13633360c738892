//! Fences in prose, and actions that are quoted in code: they are shown, and not executed.
//!
//! There is one exception. If an answer holds nothing but thinking and one fence, and the fence holds exactly one
//! action, the fence is removed. That is known only at the end of the answer, so the fence is kept until then. This
//! module never executes anything. The extractor comes in at a fence, and leaves right after it.

use std::collections::HashMap;

use super::events::{ExtractEvent, NameRepair, ProblemSlug, RepairKind, StreamEnd, TextProblem};
use super::graft::NamespaceScope;
use super::ground::ContentGround;
use super::lines::{FenceLine, OpenFence};
use super::names::{ElementRole, NameMeaning};
use super::piece::MarkupPiece;
use super::scan::BlockScanner;
use super::stream_buffer::HeldText;
use super::tag::{TagReading, TagScan, find_local};
use super::take::BlockAnalysis;
use super::{Extractor, ReadingFlow, ReadingMode};
use crate::Place;

/// A fence that is being read.
#[derive(Debug)]
pub(super) struct FenceReading {
    fence: OpenFence,
    /// Where its opening characters begin.
    pub(super) open: usize,
    /// Where its first line of content begins.
    content: Option<usize>,
    /// Up to where the end of the line has been looked for.
    probe: usize,
}

/// A fence around exactly one action, in an answer that so far holds nothing else.
#[derive(Debug)]
pub(super) struct FencedAction {
    start: Place,
    end: usize,
    /// The line that opens the fence.
    line: String,
    action: Vec<u8>,
    place: Place,
}

impl Extractor {
    /// Begins a run of lines that are only shown. `at` is its first character, on the line that begins at `line`.
    pub(super) fn begin_shown(&mut self, fence: OpenFence, line: usize, at: usize) -> ReadingFlow {
        let begin = if fence.sign == b'>' { at } else { line };
        self.prose.lists.read_line(self.held.slice(line, at + 1));
        let fencing = FenceReading { fence, open: begin, content: Some(begin), probe: begin };
        self.pos = begin;
        self.mode = ReadingMode::Fence(Box::new(fencing));
        ReadingFlow::Turn
    }

    pub(super) fn begin_fence(&mut self, fence: OpenFence, from: usize) -> ReadingFlow {
        let fencing = FenceReading { fence, open: self.pos, content: None, probe: from };
        self.pos = from;
        self.mode = ReadingMode::Fence(Box::new(fencing));
        ReadingFlow::Turn
    }

    /// Reads the lines of a fence.
    pub(super) fn read_fence(&mut self, mut fencing: Box<FenceReading>) -> ReadingFlow {
        loop {
            let found = self.held.find_byte(fencing.probe.max(self.pos), b'\n');
            if found.is_none() && self.stop.is_none() {
                fencing.probe = self.held.end();
                self.mode = ReadingMode::Fence(fencing);
                return ReadingFlow::More;
            }
            let end = found.unwrap_or(self.held.end());
            let next = found.map_or(end, |end| end + 1);
            let (line, begin) = (self.held.slice(self.pos, end), self.pos);
            let Some(content) = fencing.content else {
                (fencing.content, self.pos) = (Some(next), next);
                if found.is_none() {
                    self.end_code_block(&fencing, next, next, false);
                    return ReadingFlow::Turn;
                }
                continue;
            };
            let what = fencing.fence.read_line(line, &self.prose.lists);
            self.pos = if what == FenceLine::Outside { begin } else { next };
            match what {
                FenceLine::Inside if found.is_some() => {}
                FenceLine::Inside => {
                    self.end_code_block(&fencing, content, end, false);
                    return ReadingFlow::Turn;
                }
                FenceLine::Closes | FenceLine::Outside => {
                    self.end_code_block(&fencing, content, begin, true);
                    return ReadingFlow::Turn;
                }
            }
        }
    }

    /// A fence has ended. Its content is from `from` to `to`.
    fn end_code_block(&mut self, fencing: &FenceReading, from: usize, to: usize, is_closed: bool) {
        self.mode = ReadingMode::Prose;
        (self.prose.line, self.prose.is_blank) = (Some(self.pos), true);
        self.prose.ends_paragraph = true;
        let whole = self.held.slice(fencing.open, self.pos);
        let end = fencing.open + whole.trim_ascii_end().len();
        let code = self.held.slice(from, to);
        let lead = code.len() - code.trim_ascii_start().len();
        let is_only =
            fencing.fence.is_fence() && self.is_only_fence && self.fenced.is_none() && self.open.is_empty();
        if is_only && (is_closed || self.stop == Some(StreamEnd::End)) && self.is_one_action(code) {
            let line = whole.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let line = String::from_utf8_lossy(line).trim_end().to_owned();
            let action = code.trim_ascii().to_vec();
            let (start, place) = (self.held.place(fencing.open), self.held.place(from + lead));
            self.fenced = Some(FencedAction { start, end, line, action, place });
            return;
        }
        let first = fencing.open + whole.len() - whole.trim_ascii_start().len();
        self.note_text(first, end);
        self.report_quoted(from, to, fencing.fence.describe());
    }

    /// Whether code is one action and nothing else.
    fn is_one_action(&self, code: &[u8]) -> bool {
        let code = code.trim_ascii();
        let held = HeldText::from_bytes(code, Place::START);
        let Ok(Some(mut tag)) = TagReading::begin_at(&held, 0) else { return false };
        if tag.closes || code.first() != Some(&b'<') {
            return false;
        }
        let end = loop {
            match tag.read_on(&held) {
                TagScan::Named => {}
                TagScan::Whole(end) => break end,
                TagScan::More | TagScan::Broken(_) => return false,
            }
        };
        let name = tag.name(&held);
        let is_action = match self.names.find_meaning(&String::from_utf8_lossy(find_local(name))) {
            NameMeaning::Wrapper => true,
            NameMeaning::Unknown => false,
            NameMeaning::Group { local, .. } => {
                !matches!(self.names.find_role(&local), Some(ElementRole::Thinking | ElementRole::Thought))
            }
        };
        let last = if tag.empty { Some(end) } else { self.last_of(name, end, &held) };
        is_action && last == Some(code.len())
    }

    /// Where the element ends that a code block begins with.
    fn last_of(&self, name: &[u8], from: usize, held: &HeldText) -> Option<usize> {
        let tag = std::str::from_utf8(held.slice(0, from)).unwrap_or_default();
        let ground = ContentGround::from_element(&self.names, tag);
        BlockScanner::new(name, from, false, ground).read_on(held, Some(StreamEnd::End), &self.names)
    }

    /// Reports the first whole action in code that goes from `from` to `to`.
    pub(super) fn report_quoted(&mut self, from: usize, to: usize, what: &str) {
        let code = self.held.slice(from, to);
        if !code.contains(&b'<') {
            return;
        }
        let held = HeldText::from_bytes(code, Place::START);
        let mut ends: HashMap<Vec<u8>, Option<usize>> = HashMap::new();
        let mut at = 0;
        while let Some(less) = held.find_byte(at, b'<') {
            at = less + 1;
            let Ok(Some(mut tag)) = TagReading::begin_at(&held, less) else { continue };
            tag.one_line = true;
            let mut scan = tag.read_on(&held);
            let written = tag.name(&held).to_vec();
            let name = String::from_utf8_lossy(find_local(&written)).into_owned();
            let is_action =
                scan == TagScan::Named && !tag.closes && self.names.actions().any(|action| action == name);
            if !is_action {
                continue;
            }
            while scan == TagScan::Named {
                tag.one_line = false;
                scan = tag.read_on(&held);
            }
            let TagScan::Whole(end) = scan else { continue };
            let last = ends.entry(written.clone()).or_insert_with(|| find_last_end(code, &written));
            if tag.empty || last.is_some_and(|last| last >= end) {
                let place = self.held.place(from + less);
                self.emit(describe_quoted(&name, place, what).into());
                return;
            }
        }
    }

    /// A fence that might have been the action was an example: the answer holds more than the fence.
    pub(super) fn report_quoted_fence(&mut self) {
        if let Some(fenced) = self.fenced.take() {
            (self.prose.first, self.prose.last) = (Some(fenced.start), fenced.end);
            self.is_only_fence = false;
            let name = name_of(&fenced.action);
            self.emit(describe_quoted(&name, fenced.place, "code").into());
        }
    }

    /// Removes the fence if the answer holds nothing else and the stream ended normally.
    pub(super) fn take_fenced(&mut self) {
        if self.stop != Some(StreamEnd::End) {
            self.report_quoted_fence();
            return;
        }
        let Some(fenced) = self.fenced.take() else { return };
        let name = name_of(&fenced.action);
        let repair =
            NameRepair { repair: RepairKind::Fence, place: fenced.start, written: fenced.line, meant: name };
        let Ok(raw) = std::str::from_utf8(&fenced.action) else {
            self.report_not_utf8(&fenced.action, fenced.place);
            return;
        };
        if let Some(problem) = self.find_unescaped(raw, fenced.place, "the element is in a fence") {
            return self.emit((*problem).into());
        }
        let mut taking = BlockAnalysis { names: &self.names, limits: &self.limits, events: Vec::new() };
        taking.take_block(&MarkupPiece { raw, start: fenced.place, scope: NamespaceScope::default() });
        let events = taking.events;
        if !events.iter().any(|event| matches!(event, ExtractEvent::Problem(_))) {
            self.emit(ExtractEvent::Repair(Box::new(repair)));
        }
        events.into_iter().for_each(|event| self.emit(event));
    }
}

fn name_of(markup: &[u8]) -> String {
    let name = markup.iter().skip(1).take_while(|byte| super::tag::can_continue_name(**byte));
    String::from_utf8_lossy(&name.copied().collect::<Vec<u8>>()).into_owned()
}

fn describe_quoted(name: &str, place: Place, what: &str) -> TextProblem {
    let fix = match what {
        "code" => "write it outside of code, without a fence or backticks, if it is to be executed",
        _ => "write it at the beginning of a line if it is to be executed",
    };
    let message = format!("<{name}> is in {what}, so it is only shown");
    TextProblem::new(ProblemSlug::ActionInQuotedText, place, message).with_element(name).with_fix(fix)
}

/// Where the last end tag of that name begins.
fn find_last_end(code: &[u8], name: &[u8]) -> Option<usize> {
    let wanted = [b"</".as_slice(), name].concat();
    code.windows(wanted.len()).rposition(|part| part == wanted)
}
