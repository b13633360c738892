//! The rest of an answer after text that was not escaped: where that text ends is certain only when the answer has
//! ended, so everything that comes after it waits, and nothing of it is executed.
//!
//! Never sends an action whose end may have been text. A block with its text comes in; events wait until the answer
//! has ended, and go out then.

use super::Extractor;
use super::events::{Event, Mend, Mended, Problem, Slug, Stop};
use super::graft::Scope;
use super::origin::Origin;
use super::take::{Piece, Taking};
use super::verbatim::{self, Element, FIX, Taken};
use crate::Place;

/// A block after which nothing is executed.
#[derive(Debug)]
pub(super) struct Sealed {
    /// From where to where it goes.
    start: Place,
    end: usize,
    /// The elements whose text is taken as written, with the offsets at which they have ended.
    elements: Vec<Element>,
    /// An element that holds only text and has no end tag in the block: only where that comes later, what stands
    /// between may be its text.
    open: Option<String>,
}

impl Sealed {
    /// Nothing after this block is executed; where an element is open in it, if that ends later.
    pub(super) fn after(start: Place, end: usize, open: Option<String>) -> Self {
        Self { start, end, elements: Vec::new(), open }
    }
}

impl Extractor {
    /// Takes a block with text as it was written.
    pub(super) fn take_verbatim(&mut self, piece: &Piece<'_>, taken: Taken) {
        let Taken { edits, elements } = taken;
        let origin = Origin::new(piece.raw, piece.start, edits);
        let mut taking = Taking { names: &self.names, limits: &self.limits, events: Vec::new() };
        let edited = origin.edited();
        taking.block(&Piece { raw: &edited, start: piece.start, scope: Scope::default() });
        let mut events = taking.events;
        events.iter_mut().for_each(|event| relocate(event, &origin));
        let from = piece.start.offset;
        let end = from + piece.raw.len();
        let first = elements.first().map_or(from, |element| from + element.raw);
        if elements.is_empty() {
            return events.into_iter().for_each(|event| self.emit(event));
        }
        self.sealed.push(Sealed::after(piece.start, end, None));
        let repair = events.iter().find_map(|event| match event {
            Event::Mend(it) if it.mend != Mend::Namespace => Some(it.mend),
            _ => None,
        });
        if let (Some(repair), Some(element)) = (repair, elements.first()) {
            let what = if repair == Mend::Wrapper {
                "the element stands in a wrapper"
            } else {
                "a name is misspelt"
            };
            let problem = verbatim::combined(&element.name, piece.at(element.raw), what);
            return self.emit(problem.into());
        }
        let places: Vec<(&str, Place)> =
            elements.iter().map(|element| (&*element.name, piece.at(element.raw))).collect();
        let mut told = places.iter().peekable();
        let mut is_over = false;
        for event in events {
            let (start, stop) = extent(&event);
            let is_last = is_over && is_act(&event);
            while let Some((name, place)) = told.next_if(|(_, place)| is_kept(&event) && place.offset < stop)
            {
                let (written, meant) = ((*name).to_owned(), "text".to_owned());
                let mended = Mended { mend: Mend::Verbatim, place: *place, written, meant };
                self.emit(Event::Mend(Box::new(mended)));
            }
            if !(is_over && matches!(event, Event::Mend(_))) {
                self.emit(if is_last { not_executed(start) } else { event.clone() });
            }
            is_over |= is_kept(&event) && (start.offset..stop).contains(&first);
        }
        if let Some(sealed) = self.sealed.last_mut() {
            sealed.elements = elements;
            for element in &mut sealed.elements {
                (element.raw, element.end) = (element.raw + from, element.end + from);
            }
        }
    }

    /// The answer has ended: what waited goes out, as far as it may.
    pub(super) fn unseal(&mut self, stop: Stop) {
        let sealed = std::mem::take(&mut self.sealed);
        let counts = |sealed: &&Sealed| {
            let ends = |name: &String| verbatim::unmatched(&self.held, sealed.end, name).is_some();
            sealed.open.as_ref().is_none_or(|name| stop != Stop::End || ends(name))
        };
        let last = sealed.iter().find(counts).map_or(usize::MAX, |sealed| sealed.end);
        let doubts = sealed.into_iter().filter_map(|sealed| Some((self.doubt(&sealed, stop)?, sealed)));
        let doubts: Vec<(Problem, Sealed)> = doubts.collect();
        let mut told = 0;
        for event in std::mem::take(&mut self.late) {
            let start = extent(&event).0;
            let is_over = start.offset >= last;
            let of = doubts
                .iter()
                .find(|(_, sealed)| (sealed.start.offset..sealed.end).contains(&start.offset) && !is_over);
            match (event, of) {
                (Event::Mend(_), _) if is_over => {}
                (event, _) if is_over && is_act(&event) => self.deliver(not_executed(start)),
                (event, Some((problem, sealed))) if matches!(event, Event::Mend(_)) || is_act(&event) => {
                    // One problem for the whole block.
                    if told < sealed.end {
                        told = sealed.end;
                        self.deliver(problem.clone().into());
                    }
                }
                (event, _) => self.deliver(event),
            }
        }
    }

    /// Why it is not certain where the text ends, now that the whole answer is there.
    fn doubt(&mut self, sealed: &Sealed, stop: Stop) -> Option<Problem> {
        for element in &sealed.elements {
            let name = &element.name;
            let (slug, place, message) = if stop != Stop::End {
                let message =
                    format!("the answer was cut off, so where the text of <{name}> ends is not certain");
                (Slug::TruncatedStructure, sealed.start, message)
            } else if let Some(at) = verbatim::unmatched(&self.held, element.end, name) {
                let line = self.held.place(at).line;
                let message = format!(
                    "</{name}> comes again at line {line}, so where the text of <{name}> ends is not certain"
                );
                (Slug::Malformed, self.held.place(element.raw), message)
            } else {
                continue;
            };
            return Some(Problem::new(slug, place, message).element(name).fix(FIX));
        }
        None
    }

    /// Up to where the text may be forgotten.
    pub(super) fn unsealed(&self) -> usize {
        let ends = self.sealed.iter().map(|sealed| sealed.start.offset);
        ends.min().unwrap_or(usize::MAX)
    }
}

/// An action after text whose end is not certain.
fn not_executed(place: Place) -> Event {
    let message = "an element before this action holds an unescaped < or &, so this action was not executed";
    let fix = format!("write it in an answer of its own, or {FIX}");
    Problem::new(Slug::TooManyActions, place, message).fix(fix).into()
}

/// Whether something may follow from an event.
fn is_act(event: &Event) -> bool {
    matches!(event, Event::Action(_) | Event::Plan(_) | Event::Completion(_))
}

/// Whether an event holds text of the model.
fn is_kept(event: &Event) -> bool {
    is_act(event) || matches!(event, Event::Thought(_))
}

/// Where an event begins and ends.
fn extent(event: &Event) -> (Place, usize) {
    let span = match event {
        Event::Thinking(span) | Event::Prose(span) => *span,
        Event::Thought(thought) => thought.span,
        Event::Action(action) | Event::Plan(action) => action.span,
        Event::Completion(completion) => completion.span,
        Event::Mend(mended) => return (mended.place, mended.place.offset),
        Event::Problem(problem) => return (problem.place, problem.place.offset),
        Event::Live(_) => return (Place::START, 0),
    };
    (span.start, span.end)
}

/// Turns the places of an event in edited markup into those of the model's text.
fn relocate(event: &mut Event, origin: &Origin) {
    match event {
        Event::Live(_) => {}
        Event::Thinking(span) | Event::Prose(span) => *span = origin.span(*span),
        Event::Thought(thought) => thought.span = origin.span(thought.span),
        Event::Mend(mended) => mended.place = origin.through(mended.place),
        Event::Problem(problem) => problem.place = origin.through(problem.place),
        Event::Completion(completion) => {
            completion.span = origin.span(completion.span);
            completion.inside = origin.span(completion.inside);
            completion.markup = origin.written(completion.inside).to_owned();
        }
        Event::Action(action) | Event::Plan(action) => {
            action.span = origin.span(action.span);
            action.raw = origin.written(action.span).into();
            action.origin = origin.around(&action.origin);
        }
    }
}
