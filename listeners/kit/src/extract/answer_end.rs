//! The rest of an answer after unescaped text. The end of that text is certain only when the answer has ended. So
//! all later events wait, and none of them is executed.
//!
//! It never sends an action whose end may have been text. A block with its text comes in; events wait until the
//! answer has ended, and then go out.

use std::collections::BTreeMap;

use super::Extractor;
use super::events::{ExtractEvent, NameRepair, ProblemSlug, RepairKind, StreamEnd, TextProblem};
use super::graft::NamespaceScope;
use super::origin::{PayloadOrigin, PlaceMapping};
use super::piece::MarkupPiece;
use super::span::add_place;
use super::take::BlockAnalysis;
use super::verbatim::{self, FIX, VerbatimElement, VerbatimText};
use crate::Place;
use crate::place::PlaceFinder;

/// A block after which nothing is executed.
#[derive(Debug)]
pub(super) struct SealedBlock {
    /// Where the block begins and ends.
    start: Place,
    end: usize,
    /// The elements whose text is taken as written, with the offsets of their ends.
    elements: Vec<VerbatimElement>,
    /// An element that holds only text and has no end tag in the block. If its end tag comes later, the text in
    /// between may belong to it.
    open: Option<String>,
}

impl SealedBlock {
    /// Nothing after this block is executed. If `open` names an element, that holds only if the element ends later.
    pub(super) fn seal_after(start: Place, end: usize, open: Option<String>) -> Self {
        Self { start, end, elements: Vec::new(), open }
    }
}

impl Extractor {
    /// Seals a block: nothing after it is executed. After a block for which that is certain, more blocks change
    /// nothing.
    pub(super) fn seal(&mut self, sealed: SealedBlock) {
        if self.certain_end().is_none() {
            self.sealed.push(sealed);
        }
    }

    /// The offset after which nothing is executed in any case.
    fn certain_end(&self) -> Option<usize> {
        self.sealed.last().filter(|sealed| sealed.open.is_none()).map(|sealed| sealed.end)
    }

    /// Keeps an event until the answer has ended.
    pub(super) fn keep_event(&mut self, event: ExtractEvent) {
        let start = measure_event(&event).0;
        let is_over = self.certain_end().is_some_and(|end| start.offset >= end);
        match event {
            ExtractEvent::Repair(_) if is_over => {}
            event if is_over && is_act(&event) => self.late.push(report_not_executed(start)),
            event => self.late.push(event),
        }
    }

    /// Takes a block with its text as written.
    pub(super) fn take_verbatim(&mut self, piece: &MarkupPiece<'_>, taken: VerbatimText) {
        let VerbatimText { edits, elements } = taken;
        let origin = PayloadOrigin::new(piece.raw, piece.start, edits);
        let mut taking = BlockAnalysis { names: &self.names, limits: &self.limits, events: Vec::new() };
        let edited = origin.edited_markup();
        taking.take_block(&MarkupPiece {
            raw: &edited,
            start: piece.start,
            scope: NamespaceScope::default(),
        });
        let mut events = taking.events;
        let mut back = origin.map_back();
        events.iter_mut().for_each(|event| move_event(event, &mut back));
        let from = piece.start.offset;
        let end = from + piece.raw.len();
        let first = elements.first().map_or(from, |element| from + element.raw);
        if elements.is_empty() {
            return events.into_iter().for_each(|event| self.emit(event));
        }
        let is_first = self.certain_end().is_none();
        self.seal(SealedBlock::seal_after(piece.start, end, None));
        let repair = events.iter().find_map(|event| match event {
            ExtractEvent::Repair(it) if it.repair != RepairKind::Namespace => Some(it.repair),
            _ => None,
        });
        if let (Some(repair), Some(element)) = (repair, elements.first()) {
            let what = if repair == RepairKind::Wrapper {
                "the element is in a wrapper"
            } else {
                "a name is misspelt"
            };
            let problem = verbatim::describe_combined(&element.name, piece.place_of(element.raw), what);
            return self.emit(problem.into());
        }
        let mut ruler = PlaceFinder::new(piece.raw.as_bytes());
        let place = |element: &VerbatimElement| add_place(piece.start, ruler.find_place(element.raw));
        let places: Vec<Place> = elements.iter().map(place).collect();
        let names = elements.iter().map(|element| element.name.as_str());
        let places: Vec<(&str, Place)> = names.zip(places).collect();
        let mut told = places.iter().peekable();
        let mut is_over = false;
        for event in events {
            let (start, stop) = measure_event(&event);
            let is_last = is_over && is_act(&event);
            while let Some((name, place)) = told.next_if(|(_, place)| is_kept(&event) && place.offset < stop)
            {
                let (written, meant) = ((*name).to_owned(), "text".to_owned());
                let repaired = NameRepair { repair: RepairKind::Verbatim, place: *place, written, meant };
                self.emit(ExtractEvent::Repair(Box::new(repaired)));
            }
            if !(is_over && matches!(event, ExtractEvent::Repair(_))) {
                self.emit(if is_last { report_not_executed(start) } else { event.clone() });
            }
            is_over |= is_kept(&event) && (start.offset..stop).contains(&first);
        }
        if let Some(sealed) = self.sealed.last_mut().filter(|_| is_first) {
            sealed.elements = elements;
            for element in &mut sealed.elements {
                (element.raw, element.end) = (element.raw + from, element.end + from);
            }
        }
    }

    /// Emits the waiting events that are allowed, now that the answer has ended.
    pub(super) fn emit_waiting(&mut self, stop: StreamEnd) {
        let sealed = std::mem::take(&mut self.sealed);
        let certain = sealed.iter().find(|sealed| sealed.open.is_none());
        let last = certain.map_or(usize::MAX, |sealed| sealed.end);
        let last = self.first_open(&sealed, stop).map_or(last, |end| end.min(last));
        let of = certain.filter(|sealed| sealed.end <= last);
        let inside = of.map(|sealed| sealed.start.offset..sealed.end).unwrap_or_default();
        let problem = of.and_then(|sealed| self.find_doubt(sealed, stop));
        let (is_refused, mut problem) = (problem.is_some(), problem);
        for event in std::mem::take(&mut self.late) {
            let start = measure_event(&event).0;
            let is_over = start.offset >= last;
            let is_repair = matches!(event, ExtractEvent::Repair(_));
            if is_over && is_repair {
                continue;
            }
            if is_over && is_act(&event) {
                self.deliver(report_not_executed(start));
            } else if is_refused && inside.contains(&start.offset) && (is_repair || is_act(&event)) {
                // One problem for the whole block.
                if let Some(problem) = problem.take() {
                    self.deliver(problem.into());
                }
            } else {
                self.deliver(event);
            }
        }
    }

    /// Where the first block ends that has an open element which may end later.
    fn first_open(&self, sealed: &[SealedBlock], stop: StreamEnd) -> Option<usize> {
        let mut ends: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for sealed in sealed {
            if let Some(name) = &sealed.open {
                ends.entry(name).or_default().push(sealed.end);
            }
        }
        let may_end = |(name, ends): &(&str, Vec<usize>)| {
            stop != StreamEnd::End || verbatim::find_unmatched(&self.held, name, ends).is_some()
        };
        ends.into_iter().filter(may_end).filter_map(|(_, ends)| ends.first().copied()).min()
    }

    /// Why the end of the text is uncertain, now that the whole answer is there.
    fn find_doubt(&mut self, sealed: &SealedBlock, stop: StreamEnd) -> Option<TextProblem> {
        let first = sealed.elements.first()?;
        if stop != StreamEnd::End {
            let name = &first.name;
            let message = format!("the answer was cut off, so the end of the text of <{name}> is uncertain");
            let problem = TextProblem::new(ProblemSlug::TruncatedStructure, sealed.start, message);
            return Some(problem.with_element(name).with_fix(FIX));
        }
        let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for element in &sealed.elements {
            named.entry(&element.name).or_default().push(element.end);
        }
        let found = named
            .iter()
            .find_map(|(name, ends)| verbatim::find_unmatched(&self.held, name, ends).map(|at| (*name, at)));
        let (name, at) = found?;
        let raw = sealed.elements.iter().find(|element| element.name == name)?.raw;
        let line = self.held.place(at).line;
        let message =
            format!("</{name}> comes again at line {line}, so the end of the text of <{name}> is uncertain");
        let problem = TextProblem::new(ProblemSlug::Malformed, self.held.place(raw), message);
        Some(problem.with_element(name).with_fix(FIX))
    }

    /// The text before this offset may be forgotten.
    pub(super) fn first_sealed(&self) -> usize {
        let ends = self.sealed.iter().map(|sealed| sealed.start.offset);
        ends.min().unwrap_or(usize::MAX)
    }
}

/// An action after text whose end is uncertain.
fn report_not_executed(place: Place) -> ExtractEvent {
    let message = "an element before this action holds an unescaped < or &, so this action was not executed";
    let fix = format!("write it in an answer of its own, or {FIX}");
    TextProblem::new(ProblemSlug::TooManyActions, place, message).with_fix(fix).into()
}

/// Whether an event can have an effect.
fn is_act(event: &ExtractEvent) -> bool {
    matches!(event, ExtractEvent::Action(_) | ExtractEvent::Plan(_) | ExtractEvent::Completion(_))
}

/// Whether an event holds text of the model.
fn is_kept(event: &ExtractEvent) -> bool {
    is_act(event) || matches!(event, ExtractEvent::Thought(_))
}

/// Where an event begins and ends.
fn measure_event(event: &ExtractEvent) -> (Place, usize) {
    let span = match event {
        ExtractEvent::Thinking(span) | ExtractEvent::Prose(span) => *span,
        ExtractEvent::Thought(thought) => thought.span,
        ExtractEvent::Action(action) | ExtractEvent::Plan(action) => action.span,
        ExtractEvent::Completion(completion) => completion.span,
        ExtractEvent::Repair(repaired) => return (repaired.place, repaired.place.offset),
        ExtractEvent::Problem(problem) => return (problem.place, problem.place.offset),
        ExtractEvent::Live(_) => return (Place::START, 0),
    };
    (span.start, span.end)
}

/// Turns the places of an event in edited markup into those of the model's text.
fn move_event(event: &mut ExtractEvent, back: &mut PlaceMapping<'_>) {
    match event {
        ExtractEvent::Live(_) => {}
        ExtractEvent::Thinking(span) | ExtractEvent::Prose(span) => *span = back.map_span(*span),
        ExtractEvent::Thought(thought) => thought.span = back.map_span(thought.span),
        ExtractEvent::Repair(repaired) => repaired.place = back.map_place(repaired.place),
        ExtractEvent::Problem(problem) => problem.place = back.map_place(problem.place),
        ExtractEvent::Completion(completion) => {
            completion.span = back.map_span(completion.span);
            completion.inside = back.map_span(completion.inside);
            completion.markup = back.slice_written(completion.inside).to_owned();
        }
        ExtractEvent::Action(action) | ExtractEvent::Plan(action) => {
            action.span = back.map_span(action.span);
            action.raw = back.slice_written(action.span).into();
            action.origin = back.map_inner(&action.origin, action.span);
        }
    }
}
