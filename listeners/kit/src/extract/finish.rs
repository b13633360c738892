//! The work left when the stream has stopped: open blocks, a fence to remove, and what the answer lacks.
//!
//! It never takes a cut-off element for an action. The way the stream stopped comes in; the last events and the
//! open element go out.

use super::block::OpenBlock;
use super::events::{ExtractEvent, NameRepair, OpenElement, ProblemSlug, RepairKind, StreamEnd, TextProblem};
use super::graft::NamespaceScope;
use super::names::ElementRole;
use super::outline::{ContentPart, split_parts};
use super::piece::MarkupPiece;
use super::span::TextSpan;
use super::take::BlockAnalysis;
use super::verbatim::{self, VerbatimBlock};
use super::{AnswerTally, Extractor, ReadingMode};
use crate::{Place, codes, gate};

/// Decides whether an action, a plan or a completion is valid.
pub type ValidityCheck<'j> = dyn FnMut(&ExtractEvent) -> bool + 'j;

impl Extractor {
    /// Ends the answer, adds the last events, and returns the element left open.
    ///
    /// `judge` decides whether an [`ExtractEvent::Action`], [`ExtractEvent::Plan`] or [`ExtractEvent::Completion`] is valid. It is
    /// called only if the end tag of the outermost element is missing and nothing else.
    pub fn finish(
        mut self,
        stop: StreamEnd,
        judge: &mut ValidityCheck<'_>,
        events: &mut Vec<ExtractEvent>,
    ) -> Option<OpenElement> {
        std::mem::swap(&mut self.events, events);
        self.stop = Some(stop);
        self.run_modes();
        match std::mem::replace(&mut self.mode, ReadingMode::Prose) {
            ReadingMode::Block(block) => self.report_unfinished(block, judge),
            ReadingMode::Aside(aside) => self.report_unfinished_aside(aside.start),
            ReadingMode::Prose | ReadingMode::Fence(_) => {}
        }
        self.drop_open();
        self.end_prose();
        self.take_fenced();
        self.end_prose();
        self.open.clear();
        for event in std::mem::take(&mut self.waiting) {
            self.deliver(event);
        }
        self.emit_waiting(stop);
        self.report_missing(stop);
        let end = self.held.end();
        std::mem::swap(&mut self.events, events);
        self.left.map(|(element, start)| OpenElement { element, span: TextSpan { start, end } })
    }

    /// A block that does not end.
    fn report_unfinished(&mut self, mut block: Box<OpenBlock>, judge: &mut ValidityCheck<'_>) {
        self.left = Some((block.name.clone(), block.start));
        let end = self.held.end();
        if block.role == Some(ElementRole::Thinking) {
            self.show_thinking(&mut block, Some(end));
            self.emit(ExtractEvent::Thinking(TextSpan { start: block.inside, end }));
            return self.open_ended(&block);
        }
        if self.is_cut() || block.role == Some(ElementRole::Thought) {
            return self.open_ended(&block);
        }
        if let Some(at) = block.find_quoted_end().filter(|_| !block.is_fenced()) {
            let problem = self.report_quoted_end(&block, at);
            return self.emit(problem.into());
        }
        let raw = self.held.slice(block.start.offset, end).to_vec();
        let Ok(raw) = String::from_utf8(raw.clone()) else { return self.report_not_utf8(&raw, block.start) };
        let closed = format!("{raw}</{}>", block.name);
        if let Some(problem) = self.find_unescaped(&closed, block.start, "its end tag is missing") {
            return if block.begins { self.emit((*problem).into()) } else { self.open_ended(&block) };
        }
        let Some(parts) = split_parts(&closed) else { return self.report_beyond_repair(&block, &raw) };
        // In the middle of a line, a tag followed by text is more likely mentioned than used.
        if !block.begins && parts.iter().any(|part| matches!(part, ContentPart::Text(_))) {
            return self.open_ended(&block);
        }
        let mut taking = BlockAnalysis { names: &self.names, limits: &self.limits, events: Vec::new() };
        taking.take_block(&MarkupPiece {
            raw: &closed,
            start: block.start,
            scope: NamespaceScope::default(),
        });
        let mut taken = taking.events;
        let is_valid = taken.iter().all(|event| match event {
            ExtractEvent::Problem(_) => false,
            ExtractEvent::Action(_) | ExtractEvent::Plan(_) | ExtractEvent::Completion(_) => judge(event),
            _ => true,
        });
        if !is_valid {
            let name = &block.name;
            let message = format!("<{name}> has no end tag, and is not valid with one");
            let problem =
                TextProblem::new(ProblemSlug::MissingClosingTag, block.start, message).with_element(name);
            let fix = format!("write what it must hold, and then </{name}>");
            self.emit(problem.with_expected(format!("</{name}>")).with_fix(fix).into());
            taken.retain(|event| matches!(event, ExtractEvent::Problem(_)));
            return taken.into_iter().for_each(|event| self.emit(event));
        }
        self.left = None;
        let (written, meant) = (String::new(), format!("</{}>", block.name));
        let place = self.held.place(end);
        self.emit(ExtractEvent::Repair(Box::new(NameRepair {
            repair: RepairKind::EndTag,
            place,
            written,
            meant,
        })));
        taken.iter_mut().for_each(|event| without_end_tag(event, end));
        taken.into_iter().for_each(|event| self.emit(event));
    }

    /// Why markup that needs another fix cannot be accepted: its text is not escaped.
    pub(super) fn find_unescaped(&self, raw: &str, start: Place, what: &str) -> Option<Box<TextProblem>> {
        match verbatim::find_raw_signs(&self.names, &self.limits, raw, start) {
            VerbatimBlock::Taken(taken) => {
                let element = taken.elements.first()?;
                let place = start.move_past(raw.as_bytes().get(..element.raw).unwrap_or_default());
                Some(Box::new(verbatim::describe_combined(&element.name, place, what)))
            }
            VerbatimBlock::Refused(problem) => Some(problem),
            VerbatimBlock::None | VerbatimBlock::Open(_) => None,
        }
    }

    /// Reports what else than an end tag is missing, or what is not well-formed.
    fn report_beyond_repair(&mut self, block: &OpenBlock, raw: &str) {
        match gate::check_document(raw.as_bytes(), &self.limits) {
            // A fault at the very end only says that the text ends.
            Err(fault) if fault.code == codes::MALFORMED && fault.place.offset < raw.len() => {
                let offset = fault.place.offset;
                let place = block.start.move_past(raw.as_bytes().get(..offset).unwrap_or_default());
                let is_inside = block.start.offset + offset >= block.inside.offset;
                self.emit(TextProblem::from_refusal(fault, place, &block.name, is_inside).into());
            }
            _ if block.is_fenced() => self.open_ended(block),
            _ => {
                let name = &block.name;
                let message = format!("<{name}> has no end tag, and neither has an element in it");
                let problem =
                    TextProblem::new(ProblemSlug::MissingClosingTag, block.start, message).with_element(name);
                let fix = format!("close what is open inside, then end it with </{name}>");
                self.emit(problem.with_expected(format!("</{name}> in the end")).with_fix(fix).into());
            }
        }
    }

    /// A block whose end tag is missing.
    fn open_ended(&mut self, block: &OpenBlock) {
        let name = &block.name;
        let is_cut = self.is_cut();
        let slug = if is_cut { ProblemSlug::TruncatedStructure } else { ProblemSlug::MissingClosingTag };
        let message = match (is_cut, block.is_fenced()) {
            (true, _) => format!("the text was cut off inside <{name}>"),
            (false, true) => {
                format!("<{name}> has no end tag outside of the fence that is open in it")
            }
            (false, false) => format!("<{name}> has no end tag"),
        };
        let problem = TextProblem::new(slug, block.start, message)
            .with_element(name)
            .with_expected(format!("</{name}>"));
        let fix = match (is_cut, block.is_fenced()) {
            (true, _) => "write the whole element again, and shorter".to_owned(),
            (false, true) => format!("close the fence on a line of its own, then write </{name}>"),
            (false, false) => {
                format!("end it with </{name}>, or put <{name}> into backticks if it is only named")
            }
        };
        self.emit(problem.with_fix(fix).into());
    }

    fn report_unfinished_aside(&mut self, start: Place) {
        let slug = if self.is_cut() { ProblemSlug::TruncatedStructure } else { ProblemSlug::Malformed };
        self.prose.last = self.prose.last.max(self.held.end());
        let problem = TextProblem::new(slug, start, "a comment or CDATA section does not end");
        self.emit(problem.with_fix("end it with --> or ]]>, or put it into backticks").into());
        self.left = Some(("!".to_owned(), start));
    }

    /// Drops the actions that waited inside an element that may have been cut off: they might have been part of
    /// something unknown.
    fn drop_open(&mut self) {
        if !self.is_cut() {
            return;
        }
        let Some(at) = self.open.iter().position(|open| open.begins) else { return };
        let Some(open) = self.open.drain(at..).next() else { return };
        let lost = self.waiting.split_off(open.waiting.min(self.waiting.len()));
        let is_action = |event: &ExtractEvent| {
            matches!(
                event,
                ExtractEvent::Action(_)
                    | ExtractEvent::Plan(_)
                    | ExtractEvent::Completion(_)
                    | ExtractEvent::Thought(_)
            )
        };
        self.left = self.left.take().or(Some((open.name.clone(), open.place)));
        if lost.iter().any(is_action) {
            let message = format!("the text was cut off inside <{}>", open.name);
            let problem = TextProblem::new(ProblemSlug::TruncatedStructure, open.place, message)
                .with_element(&open.name);
            let fix = "write the whole answer again, with the action outside of other elements";
            self.emit(problem.with_fix(fix).into());
        }
        for event in
            lost.into_iter().filter(|event| !is_action(event) && !matches!(event, ExtractEvent::Repair(_)))
        {
            self.emit(event);
        }
    }

    /// What the answer as a whole lacks.
    fn report_missing(&mut self, stop: StreamEnd) {
        let place = self.held.place(self.held.end());
        if stop != StreamEnd::End {
            let message = if stop == StreamEnd::Length {
                "the answer reached the limit of its length"
            } else {
                "the answer was cut off"
            };
            let problem = TextProblem::new(ProblemSlug::OutputTruncated, place, message);
            self.events.push(problem.with_fix("write it again, and shorter").into());
        }
        let AnswerTally { thinking, prose, taken, problem } = self.tally;
        let lack = match (taken || problem, prose, thinking) {
            (true, ..) => return,
            (false, true, _) => (ProblemSlug::ProseOnly, "the answer holds text and no action"),
            (false, false, true) => {
                (ProblemSlug::ReasoningOnly, "the answer holds thinking and nothing else")
            }
            (false, false, false) => (ProblemSlug::EmptyResponse, "the answer is empty"),
        };
        let expected = self.names.list_expected();
        self.events.push(TextProblem::new(lack.0, Place::START, lack.1).with_expected(expected).into());
    }
}

/// Removes the added end tag from the positions in the model's text.
fn without_end_tag(event: &mut ExtractEvent, end: usize) {
    match event {
        ExtractEvent::Action(action) | ExtractEvent::Plan(action) if action.span.end > end => {
            let length = end - action.span.start.offset;
            action.raw = action.raw.get(..length).unwrap_or_default().into();
            action.span.end = end;
        }
        ExtractEvent::Completion(completion) => completion.span.end = completion.span.end.min(end),
        _ => {}
    }
}
