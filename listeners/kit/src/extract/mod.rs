//! Takes a model's answer apart while it streams in: thinking, prose, thoughts, plans, actions, the completion and
//! problems, each with its place in the model's text.
//!
//! It knows no model, no network and no schema. It never executes anything, and accepts only complete actions. The
//! events are the same for any splitting of the text, except the live ones. Chunks of text come in; [`ExtractEvent`]s go
//! out, and at the end the element left open. The caller keeps the text: spans point into it.
//!
//! ```
//! use systole_kit::extract::{ExtractEvent, Extractor, KnownElement, KnownNames, ElementRole, StreamEnd};
//!
//! let search = KnownElement::new(ElementRole::Peer, "urn:search", "search").taken_by("finder");
//! let names = KnownNames::new().with_element(search);
//! let mut extractor = Extractor::new(names.into(), Default::default());
//! let mut events = Vec::new();
//! extractor.push(b"<thinking>where?</thinking>\n<search><que", &mut events);
//! extractor.push(b"ry>a &lt; b</query></search>", &mut events);
//! let left = extractor.finish(StreamEnd::End, &mut |_| false, &mut events);
//! assert!(left.is_none());
//! let action = events.iter().find_map(|event| match event {
//!     ExtractEvent::Action(action) => Some(action),
//!     _ => None,
//! });
//! let action = action.expect("the answer holds one");
//! assert_eq!(action.payload.text_of("query").as_deref(), Some("a < b"));
//! assert_eq!((action.span.start.line, action.span.start.column), (2, 1));
//! ```

mod answer_end;
mod block;
mod events;
mod fences;
mod finish;
mod graft;
mod ground;
mod lines;
mod names;
mod origin;
mod outline;
mod piece;
mod problem_messages;
mod prose;
mod runs;
mod scan;
mod shield;
mod span;
mod stream_buffer;
mod tag;
mod take;
mod verbatim;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use events::{
    Completion, ExtractEvent, ExtractedAction, KeptThought, LiveRead, NameRepair, OpenElement, ProblemSlug,
    RepairKind, StreamEnd, TextProblem,
};
pub use finish::ValidityCheck;
pub use names::{ElementRole, KnownElement, KnownNames};
pub use origin::PayloadOrigin;
pub use span::TextSpan;

use self::answer_end::SealedBlock;
use self::block::OpenBlock;
use self::fences::{FenceReading, FencedAction};
use self::names::NameMeaning;
use self::prose::{OpenProse, ProseState};
use self::stream_buffer::{HeldText, SIGN, TAG_END};
use crate::limits;
use crate::{DocumentLimits, Place};

/// What is being read.
#[derive(Debug)]
enum ReadingMode {
    Prose,
    /// A fence in prose.
    Fence(Box<FenceReading>),
    /// A comment or a CDATA section in prose.
    Aside(Box<SkippedMarkup>),
    /// A known element.
    Block(Box<OpenBlock>),
}

/// A comment or a CDATA section in prose, with the number of bytes of `ending` seen so far.
#[derive(Debug)]
struct SkippedMarkup {
    ending: &'static [u8],
    seen: usize,
    start: Place,
}

/// What follows a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadingFlow {
    /// The same mode goes on.
    On,
    /// Another mode begins.
    Turn,
    /// Nothing more can be read yet.
    More,
}

/// What an answer has held so far.
#[derive(Debug, Default)]
struct AnswerTally {
    thinking: bool,
    prose: bool,
    taken: bool,
    problem: bool,
}

/// Takes one answer apart. Use a new one for each answer.
#[derive(Debug)]
pub struct Extractor {
    names: Arc<KnownNames>,
    limits: DocumentLimits,
    held: HeldText,
    /// Up to where the text has been read.
    pos: usize,
    /// How many bytes have come since and are not yet read.
    owed: usize,
    mode: ReadingMode,
    prose: ProseState,
    /// Cache of the meanings of names in prose, since the same names come again and again.
    meanings: BTreeMap<Vec<u8>, NameMeaning>,
    /// Open unknown elements in prose, and the events that wait until it is clear whether they close.
    open: Vec<OpenProse>,
    waiting: Vec<ExtractEvent>,
    events: Vec<ExtractEvent>,
    /// Blocks after which nothing is executed, and the events since the first of them.
    sealed: Vec<SealedBlock>,
    late: Vec<ExtractEvent>,
    fenced: Option<FencedAction>,
    /// Whether nothing but thinking and thoughts has come.
    is_only_fence: bool,
    stop: Option<StreamEnd>,
    left: Option<(String, Place)>,
    tally: AnswerTally,
}

impl Extractor {
    /// An extractor for one answer, with the names that are known in it.
    #[must_use]
    pub fn new(names: Arc<KnownNames>, limits: DocumentLimits) -> Self {
        Self {
            names,
            limits,
            held: HeldText::new(),
            pos: 0,
            owed: 0,
            mode: ReadingMode::Prose,
            prose: ProseState::new(),
            meanings: BTreeMap::new(),
            open: Vec::new(),
            waiting: Vec::new(),
            events: Vec::new(),
            sealed: Vec::new(),
            late: Vec::new(),
            fenced: None,
            is_only_fence: true,
            stop: None,
            left: None,
            tally: AnswerTally::default(),
        }
    }

    /// Takes the next chunk of the text and adds the events that it completes. A chunk may end anywhere, even inside
    /// a character.
    pub fn push(&mut self, chunk: &[u8], events: &mut Vec<ExtractEvent>) {
        let end = self.held.end();
        let kinds = self.held.extend(chunk);
        self.owed += chunk.len();
        let is_done = match &mut self.mode {
            // Thinking is shown while it comes.
            ReadingMode::Block(block) if block.is_thinking() => {
                // The long way checks for whole characters.
                let is_plain = kinds & SIGN == 0 && chunk.last().is_some_and(u8::is_ascii);
                is_plain && block.show_chunk(end, end + chunk.len(), events)
            }
            // Everything else becomes an event only at the end of a tag. The text waits until there is enough of it.
            _ => kinds & TAG_END == 0 && self.owed < limits::PLAIN_BYTES,
        };
        if !is_done {
            self.read_on(events);
        }
        if self.held.is_full() {
            self.let_go();
        }
    }

    /// Forgets the text that is settled.
    #[cold]
    fn let_go(&mut self) {
        self.held.let_go(self.first_needed());
    }

    /// Reads what has come and was not read yet.
    #[inline(never)]
    fn read_on(&mut self, events: &mut Vec<ExtractEvent>) {
        self.owed = 0;
        std::mem::swap(&mut self.events, events);
        self.run_modes();
        std::mem::swap(&mut self.events, events);
    }

    /// Reads what can be read.
    fn run_modes(&mut self) {
        loop {
            let flow = match std::mem::replace(&mut self.mode, ReadingMode::Prose) {
                ReadingMode::Prose => self.read_prose(),
                ReadingMode::Fence(fencing) => self.read_fence(fencing),
                ReadingMode::Aside(aside) => self.skip_aside(aside),
                ReadingMode::Block(block) => self.read_block(block),
            };
            if flow == ReadingFlow::More {
                return;
            }
        }
    }

    /// Passes over a comment or a CDATA section in prose.
    fn skip_aside(&mut self, mut aside: Box<SkippedMarkup>) -> ReadingFlow {
        let (ending, mut seen) = (aside.ending, aside.seen);
        let mut at = self.pos;
        let mut is_over = false;
        for byte in self.held.slice_from(self.pos) {
            at += 1;
            seen = match (seen, ending.get(seen) == Some(byte)) {
                (_, true) => seen + 1,
                (2, false) if ending.first() == Some(byte) => 2,
                _ => usize::from(ending.first() == Some(byte)),
            };
            is_over = seen == ending.len();
            if is_over {
                break;
            }
        }
        self.pos = at;
        if !is_over {
            aside.seen = seen;
            self.mode = ReadingMode::Aside(aside);
            return ReadingFlow::More;
        }
        self.note_text(at - 1, at);
        self.prose.line = None;
        ReadingFlow::Turn
    }

    /// The text before this offset is settled.
    fn first_needed(&self) -> usize {
        let needed = match &self.mode {
            ReadingMode::Prose => {
                let line = self.prose.line.filter(|line| self.pos.saturating_sub(*line) <= 1 << 10);
                line.unwrap_or(self.pos).min(self.pos.saturating_sub(1))
            }
            ReadingMode::Fence(fencing) => fencing.open,
            ReadingMode::Aside(_) => self.pos,
            ReadingMode::Block(block) => block.first_needed(),
        };
        needed.min(self.first_sealed())
    }

    /// Adds an event, or keeps it until it is clear whether an element around it closes.
    fn emit(&mut self, event: ExtractEvent) {
        if self.open.is_empty() { self.deliver(event) } else { self.waiting.push(event) }
    }

    fn deliver(&mut self, event: ExtractEvent) {
        if !self.sealed.is_empty() {
            return self.keep_event(event);
        }
        match &event {
            ExtractEvent::Thinking(_) => self.tally.thinking = true,
            ExtractEvent::Prose(_) => self.tally.prose = true,
            ExtractEvent::Problem(problem) => {
                self.tally.problem |= problem.slug != ProblemSlug::ActionInQuotedText
            }
            ExtractEvent::Action(_)
            | ExtractEvent::Completion(_)
            | ExtractEvent::Plan(_)
            | ExtractEvent::Thought(_) => {
                self.tally.taken = true;
            }
            ExtractEvent::Live(_) | ExtractEvent::Repair(_) => {}
        }
        self.events.push(event);
    }
}
