//! Takes a model's answer apart while it streams in: thinking, prose, thoughts, plans, actions, the completion, and
//! what is wrong with it, each with its place in the model's text.
//!
//! Knows no model, no network and no schema. Never executes anything, and takes for an action only what is complete.
//! However the text is split, the events are the same, those for who looks on left out. Chunks of text come in;
//! [`Event`]s go out, and at the end what was left open. The caller keeps the text: spans point into it.
//!
//! ```
//! use systole_kit::extract::{Event, Extractor, Known, Names, Role, Stop};
//!
//! let names = Names::new().with(Known::new(Role::Peer, "urn:search", "search").taken_by("finder"));
//! let mut extractor = Extractor::new(names.into(), Default::default());
//! let mut events = Vec::new();
//! extractor.push(b"<thinking>where?</thinking>\n<search><que", &mut events);
//! extractor.push(b"ry>a &lt; b</query></search>", &mut events);
//! let left = extractor.finish(Stop::End, &mut |_| false, &mut events);
//! assert!(left.is_none());
//! let action = events.iter().find_map(|event| match event {
//!     Event::Action(action) => Some(action),
//!     _ => None,
//! });
//! let action = action.expect("the answer holds one");
//! assert_eq!(action.payload.text_of("query").as_deref(), Some("a < b"));
//! assert_eq!((action.span.start.line, action.span.start.column), (2, 1));
//! ```

mod block;
mod events;
mod fenced;
mod finish;
mod graft;
mod ground;
mod held;
mod lines;
mod names;
mod origin;
mod outline;
mod prose;
mod runs;
mod scan;
mod sealed;
mod shield;
mod tag;
mod take;
mod verbatim;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use events::{Action, Completion, Event, Left, Live, Mend, Mended, Problem, Slug, Span, Stop, Thought};
pub use finish::Judge;
pub use names::{Known, Names, Role};
pub use origin::Origin;

use self::block::Block;
use self::fenced::{Fenced, Fencing};
use self::held::Held;
use self::names::Meant;
use self::prose::{Open, Prose};
use self::sealed::Sealed;
use crate::{Limits, Place};

/// What is being read.
#[derive(Debug)]
enum Mode {
    Prose,
    /// A fence in prose.
    Fence(Box<Fencing>),
    /// A comment or a CDATA section in prose.
    Aside(Box<Aside>),
    /// An element that means something.
    Block(Box<Block>),
}

/// A comment or a CDATA section in prose, after so many bytes of what ends it.
#[derive(Debug)]
struct Aside {
    ending: &'static [u8],
    seen: usize,
    start: Place,
}

/// What comes after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// The same goes on.
    On,
    /// Something else is read now.
    Turn,
    /// Nothing more can be read yet.
    More,
}

/// How much is read at once where nothing in it can end anything.
const AT_ONCE: usize = 256;

/// Whether anything may end in a chunk. A long one is worth the way through all rooms, whatever stands in it.
fn may_end(chunk: &[u8]) -> bool {
    chunk.len() > 64 || chunk.contains(&b'>')
}

/// What an answer has held so far.
#[derive(Debug, Default)]
struct Tally {
    thinking: bool,
    prose: bool,
    taken: bool,
    problem: bool,
}

/// Takes one answer apart. Each answer has its own.
#[derive(Debug)]
pub struct Extractor {
    names: Arc<Names>,
    limits: Limits,
    held: Held,
    /// Up to where the text has been read.
    pos: usize,
    /// How much has come since, and is read with what decides about it.
    owed: usize,
    mode: Mode,
    prose: Prose,
    /// What names in prose mean, since the same ones come again and again.
    meanings: BTreeMap<Vec<u8>, Meant>,
    /// Elements in prose that nothing known is meant by, and events that wait for whether they close.
    open: Vec<Open>,
    waiting: Vec<Event>,
    events: Vec<Event>,
    /// Blocks after which nothing is executed, and the events since the first.
    sealed: Vec<Sealed>,
    late: Vec<Event>,
    fenced: Option<Fenced>,
    /// Whether nothing but thinking and thoughts has come.
    is_only_fence: bool,
    stop: Option<Stop>,
    left: Option<(String, Place)>,
    tally: Tally,
}

impl Extractor {
    /// An extractor for one answer in which these names mean something.
    #[must_use]
    pub fn new(names: Arc<Names>, limits: Limits) -> Self {
        Self {
            names,
            limits,
            held: Held::new(),
            pos: 0,
            owed: 0,
            mode: Mode::Prose,
            prose: Prose::new(),
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
            tally: Tally::default(),
        }
    }

    /// Takes the next chunk of the text, which may end anywhere, also inside a character, and adds the events that
    /// it completes.
    pub fn push(&mut self, chunk: &[u8], events: &mut Vec<Event>) {
        let end = self.held.end();
        self.held.extend(chunk);
        let is_done = match &mut self.mode {
            // Thinking is shown while it comes.
            Mode::Block(block) if block.is_thinking() => block.pass(end, chunk, events),
            // All else becomes an event with the end of a tag: the rest waits until there is enough of it.
            _ => {
                let waits = !may_end(chunk) && self.owed + chunk.len() < AT_ONCE;
                self.owed += chunk.len();
                waits
            }
        };
        if !is_done {
            self.owed = 0;
            std::mem::swap(&mut self.events, events);
            self.run();
            std::mem::swap(&mut self.events, events);
        }
        if self.held.is_full() {
            self.held.let_go(self.needed());
        }
    }

    /// Reads what can be read.
    fn run(&mut self) {
        loop {
            let flow = match std::mem::replace(&mut self.mode, Mode::Prose) {
                Mode::Prose => self.prose(),
                Mode::Fence(fencing) => self.fence(fencing),
                Mode::Aside(aside) => self.aside(aside),
                Mode::Block(block) => self.block(block),
            };
            if flow == Flow::More {
                return;
            }
        }
    }

    /// Passes over a comment or a CDATA section in prose.
    fn aside(&mut self, mut aside: Box<Aside>) -> Flow {
        let (ending, mut seen) = (aside.ending, aside.seen);
        let mut at = self.pos;
        let mut is_over = false;
        for byte in self.held.from(self.pos) {
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
            self.mode = Mode::Aside(aside);
            return Flow::More;
        }
        self.note(at - 1, at);
        self.prose.line = None;
        Flow::Turn
    }

    /// Up to where the held text is settled.
    fn needed(&self) -> usize {
        let needed = match &self.mode {
            Mode::Prose => {
                let line = self.prose.line.filter(|line| self.pos.saturating_sub(*line) <= 1 << 10);
                line.unwrap_or(self.pos).min(self.pos.saturating_sub(1))
            }
            Mode::Fence(fencing) => fencing.open,
            Mode::Aside(_) => self.pos,
            Mode::Block(block) => block.needed(),
        };
        needed.min(self.unsealed())
    }

    /// Adds an event, or lets it wait for whether an element around it closes.
    fn emit(&mut self, event: Event) {
        if self.open.is_empty() { self.deliver(event) } else { self.waiting.push(event) }
    }

    fn deliver(&mut self, event: Event) {
        if !self.sealed.is_empty() {
            return self.keep(event);
        }
        match &event {
            Event::Thinking(_) => self.tally.thinking = true,
            Event::Prose(_) => self.tally.prose = true,
            Event::Problem(problem) => self.tally.problem |= problem.slug != Slug::ActionInQuotedText,
            Event::Action(_) | Event::Completion(_) | Event::Plan(_) | Event::Thought(_) => {
                self.tally.taken = true;
            }
            Event::Live(_) | Event::Mend(_) => {}
        }
        self.events.push(event);
    }
}
