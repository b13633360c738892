//! The engine: the state, the queue and the batch that is being filled, with the ports around them. Each input is
//! decided on at once and folded in. Its effects wait in the batch until the writer says that it is on disk. The
//! engine does no I/O and never blocks; the loop in `systole_organism::pump_loop` feeds it.

mod adopting;
mod batch;
mod checkpoint_sweep;
mod commit;
mod deliver;
mod fresh_records;
mod holding;
mod input;
mod looked_up;
mod lookup;
mod recalling;
mod reloading;
mod timing;
mod viewing;
mod waiting_out;
mod watched_schedules;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

pub use adopting::kept_listeners;
pub use batch::{Recorded, WriteReport};
pub use input::PumpInput;
pub use looked_up::{LogAnswer, LogLookup};
pub use lookup::answer_lookup;

use super::dispatch_queue::DispatchQueue;
use super::event::{Decision, Effect, Event, EventKind, PumpNotice, ReadyTurn};
use super::outages::OutageTable;
use super::replies::RepliedDelivery;
use super::state::PumpState;
use super::wake::RecoveredLog;
use super::wheel::{TimerWheel, WaitingTimers};
use crate::rules::reload_payload::ReloadNews;
use crate::rules::shutdown_payload::RunEnding;
use crate::types::fast_maps::{FastMap, FastSet};
use crate::types::flow::Ticket;
use crate::types::ids::{CallPath, Digest, Name, ThreadId, TimerId};
use crate::types::ports::{
    Carrier, Clock, Leases, LogBatch, LogStop, LostRange, Position, PumpStep, Seeds, StepObserver,
    StoredDocument, TokenMaker, WaitingSenders,
};
use crate::types::rate::RateGate;
use crate::types::record::{AttemptEffect, Record, RecordCode};
use crate::types::time::Millis;

/// What the engine needs from the outside.
pub struct EnginePorts {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub seeds: Arc<dyn Seeds>,
    /// Delivery tokens.
    pub tokens: Arc<dyn TokenMaker>,
    /// The live table of leases.
    pub leases: Arc<dyn Leases>,
    /// Delivers to listeners.
    pub carrier: Arc<dyn Carrier>,
    /// Where askers wait.
    pub askers: Arc<dyn WaitingSenders>,
    /// Observes steps.
    pub steps: Arc<dyn StepObserver>,
}

/// The pump's memory and its unfinished work.
pub struct Engine {
    state: PumpState,
    dispatch_queue: DispatchQueue,
    timers: WaitingTimers,
    ports: EnginePorts,
    /// Records and effects that wait for the writer.
    filling: batch::BatchDraft,
    /// The batch that the writer has.
    writing: Option<batch::BatchWriting>,
    /// Effects that are on disk and not routed yet.
    recorded: VecDeque<Recorded>,
    /// Threads touched or woken since the last checkpoint began.
    dirty: FastSet<ThreadId>,
    /// The checkpoint that is being written.
    sweep: checkpoint_sweep::CheckpointSweep,
    /// Records made and threads woken since the last checkpoint. Threads leave memory with a checkpoint, so a thread
    /// that was only woken must bring the next checkpoint nearer too.
    since_checkpoint: usize,
    /// Calls whose delivery may have been out when the pump died; each gets a new number when it is sent.
    suspects: HashSet<(ThreadId, CallPath)>,
    /// Whether the previous run ended with nothing out on this machine.
    was_drained: bool,
    /// Whether workers on other machines may have deliveries of earlier runs.
    is_out_elsewhere: bool,
    /// Those deliveries, until this run has handed them over itself.
    elsewhere: adopting::TurnsElsewhere,
    /// Whether the record of this start is not on disk yet. Until it is, nothing may go out, because the log says
    /// that nothing is out.
    unannounced: bool,
    /// Calls whose attempt is recorded before it is sent; each holds the slot that its delivery will use.
    reserved: HashSet<(ThreadId, CallPath)>,
    /// Requests to a person, until they expire.
    expiries: TimerWheel<holding::OverdueRequest>,
    /// Calls that wait for someone who is away, without a slot.
    outages: OutageTable,
    /// Calls that wait for someone who is away, until they may wait no longer.
    outage_ends: TimerWheel<(ThreadId, CallPath, Millis)>,
    /// Calls that began with an element that their listener does not take now.
    unfit: HashSet<(ThreadId, CallPath)>,
    /// Work of threads that are paused.
    aside: Vec<ReadyTurn>,
    /// Threads that may continue once the order is on disk; a thread is listed once per order.
    resuming: Vec<ThreadId>,
    /// Inputs that wait for the log's answer about their tree, by the tree's stem, in order. Each input has its own
    /// question, and questions are answered in the order in which they were asked.
    parked: HashMap<ThreadId, VecDeque<PumpInput>>,
    lookups: VecDeque<LogLookup>,
    /// Questions to the log that the reader has not answered yet.
    looking: usize,
    /// Recent records, so that a delivery rarely reads the log.
    fresh: fresh_records::FreshRecords,
    last: Position,
    /// Why nothing can be stored at the moment.
    stalled: Option<String>,
    stopping: bool,
    /// Whether the pump runs only for one order: nothing goes out, and what is owed waits for the next start.
    still: bool,
    /// The only calls whose turns may go out; `None` if all may.
    only: Option<HashSet<(ThreadId, CallPath)>>,
    /// The timers that may fire. `None` means all; a replay fires those whose firing is recorded.
    firing_only: Option<HashSet<(ThreadId, TimerId)>>,
    /// Whether the last record was made: nothing is decided after it.
    ended: bool,
    broken: Option<LogStop>,
    /// Positions that the log continues without, until that is recorded in `sys`.
    given_up: Option<LostRange>,
    /// How the reload went that this start belongs to, until that is recorded in `sys`.
    reloaded: Option<ReloadNews>,
    /// Why this run will end.
    ending: RunEnding,
    /// Who waits until nothing is out on this machine.
    holder: Option<Ticket>,
    /// SHA-256 of the program's own file, if it is known.
    program: Option<Digest>,
    /// What clients sent at their rates. `None` if no rate counts, as in a replay.
    client_gates: Option<FastMap<Name, RateGate>>,
    /// The schedules that it fires. `None` in a replay, in which the log says what was fired.
    schedules: Option<watched_schedules::WatchedSchedules>,
}

impl Engine {
    /// An engine that continues from what was recovered.
    pub fn new(recovered: RecoveredLog, ports: EnginePorts, last: Position) -> Engine {
        let RecoveredLog { mut state, since_checkpoint, was_drained, is_out_elsewhere, replied } = recovered;
        for RepliedDelivery { listener, id } in replied {
            state.replies.put(ports.tokens.make_token(&id), listener, None);
        }
        let mut engine = Engine {
            state,
            dispatch_queue: DispatchQueue::default(),
            timers: WaitingTimers::default(),
            ports,
            filling: batch::BatchDraft::default(),
            writing: None,
            recorded: VecDeque::new(),
            dirty: FastSet::default(),
            sweep: checkpoint_sweep::CheckpointSweep::default(),
            // Without this, pumps that die again and again would leave ever more records to fold for their
            // successors.
            since_checkpoint,
            suspects: HashSet::new(),
            was_drained,
            is_out_elsewhere,
            elsewhere: adopting::TurnsElsewhere::default(),
            unannounced: was_drained,
            reserved: HashSet::new(),
            expiries: TimerWheel::default(),
            outages: OutageTable::default(),
            outage_ends: TimerWheel::default(),
            unfit: HashSet::new(),
            aside: Vec::new(),
            resuming: Vec::new(),
            parked: HashMap::new(),
            lookups: VecDeque::new(),
            looking: 0,
            fresh: fresh_records::FreshRecords::default(),
            last,
            stalled: None,
            stopping: false,
            still: false,
            only: None,
            firing_only: None,
            ended: false,
            broken: None,
            given_up: None,
            reloaded: None,
            ending: RunEnding::Stop,
            holder: None,
            program: None,
            client_gates: None,
            schedules: None,
        };
        engine.dirty.extend(engine.state.threads.keys().cloned());
        engine
    }

    /// The same engine; it knows these calls as ones whose element their listener does not take now.
    pub fn knowing_unfit(self, unfit: HashSet<(ThreadId, CallPath)>) -> Engine {
        Engine { unfit, ..self }
    }

    /// The same engine; if `still`, it sends nothing as long as it runs.
    pub fn hold_deliveries(self, still: bool) -> Engine {
        Engine { still, ..self }
    }

    /// Sends only turns of these calls from now on; `None` means all calls. Others wait. For replays, in which the log
    /// says what was sent.
    pub fn send_only(&mut self, calls: Option<HashSet<(ThreadId, CallPath)>>) {
        self.only = calls;
        self.outages.follow_record();
        self.take_up_held();
    }

    /// Fires only these timers from now on; `None` means all. Others stay due. For replays: a timer of the record may have
    /// been due when something else came first and ended its thread.
    pub fn fire_only(&mut self, timers: Option<HashSet<(ThreadId, TimerId)>>) {
        self.firing_only = timers;
    }

    /// The same engine, which records in `sys` that the log continues without those positions. It is unknown what was
    /// out after them, so the log's statement that nothing was out does not count.
    pub fn with_loss(self, given_up: Option<LostRange>) -> Engine {
        let was_drained = self.was_drained && given_up.is_none();
        let is_out_elsewhere = self.is_out_elsewhere || given_up.is_some();
        Engine { given_up, was_drained, is_out_elsewhere, unannounced: was_drained, ..self }
    }

    /// The engine of an organism that works: it records the hash of the program's own file at its start, and keeps to the
    /// rates of clients and listeners. In a replay what is repeated was let through before.
    pub fn of_organism(self, program: Option<Digest>) -> Engine {
        Engine { program, client_gates: Some(FastMap::default()), ..self }
    }

    /// Opens a queue for each listener, records the start in `sys`, and takes up the work that recovery found.
    pub fn boot_organism(&mut self) {
        let current = self.state.book.current().cloned();
        let mut listeners = Vec::new();
        for listener in current.iter().flat_map(|c| c.listeners.values()) {
            self.dispatch_queue.set_slots(&listener.name, listener.in_flight);
            self.dispatch_queue
                .set_rate(&listener.name, listener.rate.filter(|_| self.client_gates.is_some()));
            listeners.push(listener.name.clone());
        }
        self.seat_elsewhere();
        if let Some(page) = current {
            self.filling.add_document(StoredDocument { hash: page.hash, bytes: page.source.clone() });
        }
        if let Some(given_up) = self.given_up.take() {
            self.take_event(EventKind::GaveUp(given_up));
        }
        let program = self.program;
        self.take_event(EventKind::Booted { listeners, program });
        if let Some(news) = self.reloaded.take() {
            self.take_event(EventKind::Noticed(PumpNotice::Reload(news)));
        }
        self.await_persons();
        self.take_up_timers();
        self.take_up_running();
        self.take_up_waits();
        self.take_up_schedules();
        self.take_up();
    }

    /// Decides on an event, and takes what follows.
    fn take_event(&mut self, what: EventKind) {
        let (at, tick, seed) = (self.now(), self.ticks(), self.ports.seeds.draw_seed());
        let decision = super::decide::decide_event(&mut self.state, Event { at, tick, seed, what });
        self.ports.steps.note_step(PumpStep::Decided);
        self.take_decision(decision);
    }

    fn take_decision(&mut self, decision: Decision) {
        let Decision { facts, touched, documents, effects, toll, replied } = decision;
        if let Some(toll) = toll {
            let tick = self.ticks();
            self.state.buckets.take_toll(toll, tick);
        }
        if let Some((token, listener, print)) = replied {
            self.state.replies.put(token, listener, Some(print));
        }
        let base = self.filling.batch.records.len();
        let waits = Some(RecordCode::Attempting(AttemptEffect::Waits));
        for fact in facts {
            if fact.header.code == waits
                && let Some(call) = &fact.header.call
            {
                self.ends_wait(&fact.header.thread, call);
            }
            self.fresh.put(fact.clone());
            self.filling.add_record(fact);
        }
        self.dirty.extend(touched);
        documents.into_iter().for_each(|document| self.filling.add_document(document));
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

    /// Lets an effect wait until everything decided so far is on disk.
    fn follow_effect(&mut self, effect: Effect) {
        self.filling.effects.push((effect, None));
    }

    fn now(&self) -> Millis {
        self.ports.clock.now()
    }

    fn ticks(&self) -> Millis {
        self.ports.clock.ticks()
    }

    /// The tick at which the engine must be called even if no input comes.
    pub fn next_moment(&self) -> Option<Millis> {
        let timer = self.timers.next_moment().filter(|_| !self.stopping);
        let (expiry, count) = (self.expiries.next_moment(), self.state.buckets.next_moment());
        let elapsed = self.state.running.next_moment().filter(|_| !self.stopping);
        let outage = self.outages.next_moment().into_iter().chain(self.outage_ends.next_moment()).min();
        let outage = outage.filter(|_| !self.stopping);
        // Due work that may not go out would wake the loop again and again.
        let dispatch_queue = if self.holds_back() {
            self.dispatch_queue.next_end()
        } else {
            self.dispatch_queue.next_moment()
        };
        dispatch_queue.into_iter().chain(timer).chain(expiry).chain(count).chain(elapsed).chain(outage).min()
    }

    /// Why the pump must stop at once; `None` if it need not.
    pub fn find_stop(&self) -> Option<&LogStop> {
        self.broken.as_ref()
    }

    /// Why the newest batch cannot be written at the moment; `None` if it can.
    pub fn stall_words(&self) -> Option<&str> {
        self.stalled.as_deref()
    }

    /// The state, for reading only.
    pub fn state(&self) -> &PumpState {
        &self.state
    }

    /// The next question to the log. Some input waits for its answer.
    pub fn next_lookup(&mut self) -> Option<LogLookup> {
        let lookup = self.lookups.pop_front();
        self.looking += usize::from(lookup.is_some());
        lookup
    }

    /// Takes back a question that the reader has no room for.
    pub fn keep_lookup(&mut self, lookup: LogLookup) {
        self.looking = self.looking.saturating_sub(1);
        self.lookups.push_front(lookup);
    }

    /// Whether nothing is out on this machine, nothing waits for the writer, and nothing is parked.
    pub fn is_quiet(&self) -> bool {
        self.out_here() == 0 && self.is_flushed() && self.parked.is_empty()
    }

    /// Whether the pump itself has nothing to do: everything open is with listeners, or waits for its time.
    pub fn is_idle(&self) -> bool {
        let reads = self.looking > 0 || !self.lookups.is_empty() || !self.parked.is_empty();
        !reads && self.is_flushed() && self.recorded.is_empty()
    }

    /// Whether the fold of some thread in memory is newer than its row.
    pub fn has_dirty(&self) -> bool {
        !self.dirty.is_empty() && self.stalled.is_none()
    }

    /// Deliveries that are out.
    pub fn out_count(&self) -> usize {
        self.dispatch_queue.out_count()
    }

    /// Deliveries that are out on this machine.
    pub fn out_here(&self) -> usize {
        self.dispatch_queue.out_count() - self.dispatch_queue.elsewhere().count()
    }

    /// Whether nothing new may go out, no matter how long it has been due.
    fn holds_back(&self) -> bool {
        self.stopping || self.still || self.unannounced
    }

    /// Whether nothing is out on this machine and no earlier delivery that may have been out is still unsettled, so that
    /// the next start need not ask.
    fn is_drained(&self) -> bool {
        let none_waits = self.parked.is_empty() && self.lookups.is_empty();
        self.out_here() == 0 && self.suspects.is_empty() && self.reserved.is_empty() && none_waits
    }

    /// Whether everything decided is on disk.
    pub fn is_flushed(&self) -> bool {
        self.writing.is_none() && self.filling.is_empty() && self.sweep.is_over()
    }

    /// The last position on disk.
    pub fn last(&self) -> Position {
        self.last
    }

    /// The batch for the writer, if it is idle and there is something to write.
    pub fn next_batch(&mut self) -> Option<LogBatch> {
        self.swap_batch()
    }
}
