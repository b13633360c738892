//! The heart: state, desk and the batch that is being filled, with the ports around them. Each input
//! is decided upon at once and folded in; what follows from it waits in the batch until the writer
//! says that it is on disk. No I/O of its own and nothing that waits: the loop in `run` feeds it.

mod commit;
mod deliver;
mod holding;
mod input;
mod lookup;
mod recalling;
mod timing;
mod viewing;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

pub use commit::{Recorded, Written};
pub use input::Input;
pub use lookup::{Answered, Lookup, answer};

use super::desk::Desk;
use super::event::{Decision, Effect, Event, Happening, Work};
use super::replies::Replied;
use super::state::State;
use super::wake::Recovered;
use super::wheel::{Timers, Wheel};
use crate::types::ids::{CallPath, ThreadId};
use crate::types::ports::{
    Askers, Batch, Carrier, Clock, Document, GivenUp, Leases, Position, Seeds, Step, Steps, Tokens,
};
use crate::types::record::Record;
use crate::types::time::Millis;

/// What the heart needs from the outside.
pub struct Ports {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub seeds: Arc<dyn Seeds>,
    /// Delivery tokens.
    pub tokens: Arc<dyn Tokens>,
    /// The live table of leases.
    pub leases: Arc<dyn Leases>,
    /// The way to listeners.
    pub carrier: Arc<dyn Carrier>,
    /// Where askers wait.
    pub askers: Arc<dyn Askers>,
    /// Who watches steps.
    pub steps: Arc<dyn Steps>,
}

/// The pump's memory and its unfinished business.
pub struct Heart {
    state: State,
    desk: Desk,
    timers: Timers,
    ports: Ports,
    /// Records and effects that wait for the writer.
    filling: commit::Filling,
    /// The batch that the writer has.
    writing: Option<commit::Writing>,
    /// What is on disk and not routed yet.
    recorded: VecDeque<Recorded>,
    /// Threads touched or woken since the last checkpoint.
    dirty: HashSet<ThreadId>,
    /// Records made and threads woken since then: threads leave memory with a checkpoint, so one that
    /// was woken and not touched must bring it nearer too.
    since_checkpoint: usize,
    /// Calls whose delivery may have been out when the pump died; each gets a new number when it is sent.
    suspects: HashSet<(ThreadId, CallPath)>,
    /// Whether the run before ended with nothing out.
    was_drained: bool,
    /// Whether nothing may go out before the word of this start is on disk: until then the log says that
    /// nothing is out.
    unannounced: bool,
    /// Calls whose attempt is recorded before it is sent; each holds the slot that it will go out in.
    reserved: HashSet<(ThreadId, CallPath)>,
    /// Requests to a person, until they expire.
    expiries: Wheel<holding::Overdue>,
    /// Work of threads that are paused.
    aside: Vec<Work>,
    /// Threads that may go on once that is on disk, each as often as it was decided.
    resuming: Vec<ThreadId>,
    /// Inputs that wait until the log has been asked about their tree, by its stem, in order: each has
    /// a question of its own, and questions are answered in the order in which they were asked.
    parked: HashMap<ThreadId, VecDeque<Input>>,
    lookups: VecDeque<Lookup>,
    /// Looks into the log that the reader has not answered yet.
    looking: usize,
    /// Records of late, so that a delivery rarely reads the log.
    fresh: deliver::Fresh,
    last: Position,
    /// Why nothing can be stored at the moment.
    stalled: Option<String>,
    stopping: bool,
    /// Whether it runs for an order alone: nothing goes out, and what is owed waits for the next start.
    still: bool,
    /// Whether the last word was recorded: nothing is decided after it.
    ended: bool,
    broken: Option<String>,
    /// Positions that the log goes on without, until `sys` is told.
    given_up: Option<GivenUp>,
}

impl Heart {
    /// A heart that goes on from what was recovered.
    pub fn new(recovered: Recovered, ports: Ports, last: Position) -> Heart {
        let Recovered { mut state, since_checkpoint, was_drained, replied } = recovered;
        for Replied { listener, thread, call, turn, attempt } in replied {
            state.replies.put(ports.tokens.token(&thread, &call, turn, attempt), listener, None);
        }
        let mut heart = Heart {
            state,
            desk: Desk::default(),
            timers: Timers::default(),
            ports,
            filling: commit::Filling::default(),
            writing: None,
            recorded: VecDeque::new(),
            dirty: HashSet::new(),
            // Those that die again and again would leave ever more to be folded to those after them.
            since_checkpoint,
            suspects: HashSet::new(),
            was_drained,
            unannounced: was_drained,
            reserved: HashSet::new(),
            expiries: Wheel::default(),
            aside: Vec::new(),
            resuming: Vec::new(),
            parked: HashMap::new(),
            lookups: VecDeque::new(),
            looking: 0,
            fresh: deliver::Fresh::default(),
            last,
            stalled: None,
            stopping: false,
            still: false,
            ended: false,
            broken: None,
            given_up: None,
        };
        heart.dirty.extend(heart.state.threads.keys().cloned());
        heart
    }

    /// The same heart, but where it is to be still it sends nothing for as long as it runs.
    pub fn kept_still(self, still: bool) -> Heart {
        Heart { still, ..self }
    }

    /// The same heart, which tells `sys` that the log goes on without those positions. What was out after them is not
    /// known, so the log's word that nothing was out does not count.
    pub fn without(self, given_up: Option<GivenUp>) -> Heart {
        let was_drained = self.was_drained && given_up.is_none();
        Heart { given_up, was_drained, unannounced: was_drained, ..self }
    }

    /// Seats the listeners, tells `sys` of the start, and takes up the work that recovery found.
    pub fn boot(&mut self) {
        let current = self.state.book.current().cloned();
        let mut listeners = Vec::new();
        for listener in current.iter().flat_map(|c| c.listeners.values()) {
            self.desk.seat(&listener.name, listener.in_flight);
            listeners.push(listener.name.clone());
        }
        if let Some(page) = current {
            self.filling.document(Document { hash: page.hash, bytes: page.source.clone() });
        }
        if let Some(given_up) = self.given_up.take() {
            self.happened(Happening::GaveUp(given_up));
        }
        self.happened(Happening::Booted { listeners });
        self.await_persons();
        self.take_up_timers();
        self.take_up_running();
        self.take_up();
    }

    /// Decides upon something that happened, and folds in what was decided.
    fn happened(&mut self, what: Happening) {
        let (at, tick, seed) = (self.now(), self.ticks(), self.ports.seeds.draw());
        let decision = super::decide::decide(&self.state, Event { at, tick, seed, what });
        self.ports.steps.passed(Step::Decided);
        self.take(decision);
    }

    fn take(&mut self, decision: Decision) {
        let Decision { facts, folded, documents, effects, toll, replied } = decision;
        if let Some(toll) = toll {
            let tick = self.ticks();
            self.state.buckets.take(toll, tick);
        }
        if let Some((token, listener, print)) = replied {
            self.state.replies.put(token, listener, Some(print));
        }
        let base = self.filling.batch.records.len();
        for fact in facts {
            self.fresh.put(fact.clone());
            self.filling.record(fact);
        }
        for thread in folded {
            self.dirty.insert(thread.id.clone());
            self.state.threads.insert(thread.id.clone(), thread);
        }
        documents.into_iter().for_each(|document| self.filling.document(document));
        let first_new = |effect: &Effect, records: &[Arc<Record>]| match effect {
            Effect::Receipt { receipt, .. } if !receipt.repeated => {
                records.iter().skip(base).position(|r| r.header.id == receipt.id).map(|n| base + n)
            }
            _ => None,
        };
        for effect in effects {
            if let Effect::Resumed(thread) = &effect {
                self.resuming.push(thread.clone());
            }
            let place = first_new(&effect, &self.filling.batch.records);
            self.filling.effects.push((effect, place));
        }
    }

    /// Has an effect wait for what was decided so far to be on disk.
    fn follows(&mut self, effect: Effect) {
        self.filling.effects.push((effect, None));
    }

    fn now(&self) -> Millis {
        self.ports.clock.now()
    }

    fn ticks(&self) -> Millis {
        self.ports.clock.ticks()
    }

    /// The tick at which the heart must be called though nothing came in.
    pub fn next_moment(&self) -> Option<Millis> {
        let timer = self.timers.next_moment().filter(|_| !self.stopping);
        let (expiry, count) = (self.expiries.next_moment(), self.state.buckets.next_moment());
        let elapsed = self.state.running.next_moment().filter(|_| !self.stopping);
        // What is due and may not go out would be woken for again and again.
        let desk = if self.holds_back() { self.desk.next_end() } else { self.desk.next_moment() };
        desk.into_iter().chain(timer).chain(expiry).chain(count).chain(elapsed).min()
    }

    /// Why the pump must stop at once, if it must.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// The state, for those who only look.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The next look into the log that must be made before what waits for it goes on.
    pub fn next_lookup(&mut self) -> Option<Lookup> {
        let lookup = self.lookups.pop_front();
        self.looking += usize::from(lookup.is_some());
        lookup
    }

    /// Takes back a look that the reader has no room for.
    pub fn keep_lookup(&mut self, lookup: Lookup) {
        self.looking = self.looking.saturating_sub(1);
        self.lookups.push_front(lookup);
    }

    /// Whether nothing is out, nothing waits for the writer, and nothing is parked.
    pub fn is_quiet(&self) -> bool {
        self.desk.out_count() == 0 && self.is_flushed() && self.parked.is_empty()
    }

    /// Whether the pump itself has nothing to do: what goes on is with listeners, or waits for its time.
    pub fn is_idle(&self) -> bool {
        let reads = self.looking > 0 || !self.lookups.is_empty() || !self.parked.is_empty();
        !reads && self.is_flushed() && self.recorded.is_empty()
    }

    /// Whether some fold in memory is newer than its row.
    pub fn has_dirty(&self) -> bool {
        !self.dirty.is_empty() && self.stalled.is_none()
    }

    /// Deliveries that are out.
    pub fn out_count(&self) -> usize {
        self.desk.out_count()
    }

    /// Whether nothing new may go out, however long it is due.
    fn holds_back(&self) -> bool {
        self.stopping || self.still || self.unannounced
    }

    /// Whether nothing is out, and nothing that may have been out before is still to be told: so the next
    /// start need not ask.
    fn is_drained(&self) -> bool {
        let none_waits = self.parked.is_empty() && self.lookups.is_empty();
        self.desk.out_count() == 0 && self.suspects.is_empty() && self.reserved.is_empty() && none_waits
    }

    /// Whether everything decided is on disk.
    pub fn is_flushed(&self) -> bool {
        self.writing.is_none() && self.filling.is_empty()
    }

    /// The last position on disk.
    pub fn last(&self) -> Position {
        self.last
    }

    /// The batch for the writer, if it is idle and there is something to write.
    pub fn next_batch(&mut self) -> Option<Batch> {
        self.swap_batch()
    }
}
