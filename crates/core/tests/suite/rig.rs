//! The engine between fake ports, driven by hand: a test sets the input, the moments at which the
//! writer and the reader answer, and the time, and reads as lines what reached listeners and
//! clients. The log in memory is the real one, and so are the leases.

pub(crate) use std::collections::VecDeque;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
pub(crate) use std::sync::{Arc, Mutex};

pub(crate) use systole_carriers::leases::LeaseTable;
pub(crate) use systole_core::pump::engine::{
    Engine, EnginePorts, LogAnswer, LogLookup, PumpInput, WriteReport, answer_lookup,
};
pub(crate) use systole_core::pump::event::ClientOrder;
pub(crate) use systole_core::pump::state::CompositionBook;
pub(crate) use systole_core::pump::view::BegunViews;
pub(crate) use systole_core::pump::wake;
pub(crate) use systole_core::types::composition::Composition;
pub(crate) use systole_core::types::flow::{
    Admitted, DoorMessage, JudgedContent, JudgedDocument, JudgedItem, PayloadKind, Receipt, Ticket, Verdict,
};
pub(crate) use systole_core::types::ids::{AttemptId, CallPath, Digest, Key, Name, ThreadId};
pub(crate) use systole_core::types::ports::{
    CallBack, CallMark, Carrier, Clock, Commit, Delivery, LeaseToken, Leases, LogBatch, LogReader, LogWriter,
    Position, PumpStep, ReadBack, Seed, Seeds, StepObserver, TokenMaker, WaitingSenders,
};
pub(crate) use systole_core::types::record::Record;
pub(crate) use systole_core::types::refusal::Refusal;
pub(crate) use systole_core::types::schedule::Schedule;
pub(crate) use systole_core::types::thread_choice::ThreadChoice;
pub(crate) use systole_core::types::time::Millis;
pub(crate) use systole_log::memory::MemoryLog;
pub(crate) use systole_wire::pump_documents::PumpAnswer;
pub(crate) use systole_wire::{DocumentLimits, Payload};

pub(crate) use crate::decide_stage::{answer_line, composition, name, payload, record_line, root};
use crate::shaky_log::Shaky;

/// The outside, as the engine sees it.
#[derive(Default)]
pub(crate) struct FakePorts {
    pub(crate) wall: AtomicU64,
    pub(crate) ticks: AtomicU64,
    pub(crate) seeds: AtomicU64,
    pub(crate) seen: Mutex<Vec<String>>,
    pub(crate) documents: Mutex<Vec<String>>,
    pub(crate) answers: Mutex<Vec<PumpAnswer>>,
}

impl FakePorts {
    fn saw(&self, line: String) {
        self.seen.lock().unwrap().push(line);
    }
}

impl Clock for FakePorts {
    fn now(&self) -> Millis {
        Millis(1_000_000 + self.wall.load(Ordering::Relaxed))
    }

    fn ticks(&self) -> Millis {
        Millis(self.ticks.load(Ordering::Relaxed))
    }
}

impl Seeds for FakePorts {
    fn draw_seed(&self) -> Seed {
        let number = self.seeds.fetch_add(1, Ordering::Relaxed);
        Seed(u128::from(number).to_be_bytes())
    }
}

impl TokenMaker for FakePorts {
    fn make_token(&self, AttemptId { thread, call, turn, attempt }: &AttemptId) -> LeaseToken {
        LeaseToken(format!("{thread} {call} t{turn} a{attempt}").into())
    }

    fn make_mark(&self, thread: &ThreadId, call: &CallPath) -> CallMark {
        let [a, b, c, d, ..] =
            Digest::hash_bytes(format!("{} {}", thread.as_str(), call.as_str()).as_bytes()).0;
        CallMark([a, b, c, d])
    }
}

/// A token as tests read it: without the thread, unless it is a child.
fn short(token: &LeaseToken) -> String {
    let (thread, rest) = token.0.split_once(' ').unwrap();
    thread.split_once('.').map_or(rest.to_owned(), |(_, label)| format!("{label}:{rest}"))
}

impl Carrier for FakePorts {
    fn send_delivery(&self, delivery: Delivery) {
        self.saw(format!("{} {}", delivery.lease.listener, short(&delivery.lease.token)));
        self.documents.lock().unwrap().push(String::from_utf8(delivery.document().unwrap()).unwrap());
    }

    fn call_back(&self, token: &LeaseToken, why: CallBack) {
        self.saw(format!("call back {} {why:?}", short(token)));
    }

    fn send_answer(&self, listener: &Name, answer: PumpAnswer) {
        self.saw(format!("{listener}: {}", answer_line(&answer)));
        self.answers.lock().unwrap().push(answer);
    }
}

impl WaitingSenders for FakePorts {
    fn send_receipt(&self, ticket: Ticket, receipt: Receipt, position: Option<Position>) {
        let place = position.map_or("again".to_owned(), |p| format!("at {}", p.0));
        self.saw(format!("{}: receipt #{} {place}", ticket.0, receipt.seq));
    }

    fn send_refusal(&self, ticket: Ticket, refusal: Refusal) {
        self.saw(format!("{}: refused {}", ticket.0, refusal.code));
    }

    fn finish_sender(&self, ticket: Ticket) {
        self.saw(format!("{}: done", ticket.0));
    }
}

impl StepObserver for FakePorts {
    fn note_step(&self, _: PumpStep) {}
}

/// An engine and everything around it.
pub(crate) struct Rig {
    pub(crate) engine: Engine,
    pub(crate) outside: Arc<FakePorts>,
    pub(crate) leases: Arc<LeaseTable>,
    pub(crate) log: MemoryLog,
    pub(crate) reader: Arc<Shaky>,
    /// Batches that the writer has and has not settled.
    pub(crate) writing: VecDeque<LogBatch>,
    /// Answers of the reader that have not yet arrived.
    pub(crate) answers: VecDeque<LogAnswer>,
    pub(crate) begun: BegunViews,
    pub(crate) booted: usize,
}

impl Rig {
    /// An engine over an empty log. Its start is on disk, and `lines` does not count the start's
    /// records.
    pub(crate) fn new() -> Rig {
        Rig::with(composition())
    }

    /// An engine of another composition.
    pub(crate) fn with(composition: Composition) -> Rig {
        let mut rig = Rig::over(MemoryLog::new(), composition, vec![], Arc::new(FakePorts::default()));
        rig.settle();
        rig.booted = rig.records().len();
        rig
    }

    pub(crate) fn over(
        log: MemoryLog,
        current: Composition,
        older: Vec<Composition>,
        outside: Arc<FakePorts>,
    ) -> Rig {
        Rig::over_with(log, current, older, outside, vec![])
    }

    /// The same, with schedules.
    pub(crate) fn over_with(
        log: MemoryLog,
        current: Composition,
        older: Vec<Composition>,
        outside: Arc<FakePorts>,
        schedules: Vec<Schedule>,
    ) -> Rig {
        let reader = Arc::new(Shaky::of(log.clone()));
        let leases = Arc::new(LeaseTable::default());
        let mut state = wake::recover_log(&*reader, &*outside).unwrap();
        let mut book = CompositionBook::open_at(Arc::new(current));
        older.into_iter().for_each(|page| book.add(Arc::new(page)));
        state.state.book = book;
        let ports = EnginePorts {
            clock: outside.clone(),
            seeds: outside.clone(),
            tokens: outside.clone(),
            leases: leases.clone(),
            carrier: outside.clone(),
            askers: outside.clone(),
            steps: outside.clone(),
        };
        let engine = Engine::new(state, ports, log.read_last().unwrap()).of_organism(None);
        let engine = engine.with_schedules(schedules);
        let (writing, answers) = (VecDeque::new(), VecDeque::new());
        let mut rig = Rig {
            engine,
            outside,
            leases,
            log,
            reader,
            writing,
            answers,
            begun: BegunViews::default(),
            booted: 0,
        };
        rig.booted = rig.records().len();
        rig.engine.adopt_listeners();
        rig.engine.boot_organism();
        rig
    }

    /// Kills the pump, which loses everything that is not on disk, and starts it again.
    pub(crate) fn killed(self) -> Rig {
        self.killed_into(composition(), vec![])
    }

    /// The same, with another current configuration.
    pub(crate) fn killed_into(self, current: Composition, older: Vec<Composition>) -> Rig {
        self.seen();
        // No start takes less.
        self.outside.wall.fetch_add(1, Ordering::Relaxed);
        let mut rig = Rig::over(self.log, current, older, self.outside);
        rig.settle();
        rig
    }

    /// The same as `killed`, before writer and reader have done anything.
    pub(crate) fn killed_unread(self) -> Rig {
        self.seen();
        Rig::over(self.log, composition(), vec![], self.outside)
    }

    /// Takes an input, and sends out what may go.
    pub(crate) fn input(&mut self, input: PumpInput) {
        self.engine.take_input(input);
        self.engine.run_tick();
    }

    pub(crate) fn asks(&mut self, ticket: u64, key: &str, to: &str, thread: Option<&ThreadId>) {
        let payload = Ok(Admitted::new(PayloadKind::For(name(to)), Verdict::from_valid(payload(to))));
        let (client, key) = (Name::new_operator(), Key::parse(key).unwrap());
        let asked = DoorMessage {
            ticket: Ticket(ticket),
            client,
            key,
            thread: thread.cloned().map_or(ThreadChoice::New, ThreadChoice::Known),
            payload,
            claimed: None,
            subject: None,
        };
        self.input(PumpInput::Asked(asked));
    }

    /// The operator steers the root that key `k` opens, for its agent.
    pub(crate) fn steers(&mut self, ticket: u64, key: &str) {
        let core = b"<steer xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>";
        let core = Payload::parse(core, &DocumentLimits::default()).unwrap();
        let word = (Verdict::from_valid(payload("agent")), Verdict::from_valid(core));
        let payload = Ok(Admitted::new_steer(name("agent"), word.0, word.1));
        let (client, key) = (Name::new_operator(), Key::parse(key).unwrap());
        let asked = DoorMessage {
            ticket: Ticket(ticket),
            client,
            key,
            thread: ThreadChoice::Known(root()),
            payload,
            claimed: None,
            subject: None,
        };
        self.input(PumpInput::Asked(asked));
    }

    pub(crate) fn cancels(&mut self, ticket: u64, thread: &ThreadId) {
        let (ticket, thread) = (Ticket(ticket), thread.clone());
        self.input(PumpInput::Ordered(ClientOrder::Cancel { ticket, by: Name::new_operator(), thread }));
    }

    /// A listener sends this under the delivery of that name in the root that key `k` opens.
    pub(crate) fn says(&mut self, delivery: &str, said: JudgedContent) {
        self.says_in(&root(), delivery, said);
    }

    pub(crate) fn says_in(&mut self, thread: &ThreadId, delivery: &str, said: JudgedContent) {
        let lease = self.leases.find_lease(&format!("{thread} {delivery}")).expect("that delivery went out");
        self.input(PumpInput::Judged(JudgedDocument { lease, said, claimed: None, ticket: None }));
    }

    pub(crate) fn replies(&mut self, delivery: &str, items: Vec<JudgedItem>) {
        self.says(delivery, JudgedContent::Items(items));
    }

    /// Hands the writer its batches; it has not answered yet.
    pub(crate) fn hand_over(&mut self) {
        self.writing.extend(self.engine.next_batch());
    }

    /// The writer settles its batches and all that follow.
    pub(crate) fn write(&mut self) {
        self.hand_over();
        while let Some(batch) = self.writing.pop_front() {
            let written = self.commit(&batch);
            self.input(PumpInput::Written(written));
            self.hand_over();
        }
    }

    /// Settles a batch as the writer's thread does, without its pauses.
    pub(crate) fn commit(&mut self, batch: &LogBatch) -> WriteReport {
        loop {
            match self.log.commit_batch(batch) {
                Commit::Committed(position) => return WriteReport::Committed(position),
                Commit::Conflict(words) => return WriteReport::Broken(words.into()),
                Commit::NotNow(words) => self.input(PumpInput::Written(WriteReport::Stalled(words))),
                Commit::Unknown(_) => match self.log.read_back(batch) {
                    ReadBack::Stored(position) => return WriteReport::Committed(position),
                    ReadBack::Absent => {}
                    ReadBack::Broken(stop) => return WriteReport::Broken(stop),
                },
            }
        }
    }

    /// The reader reads; its answers have not arrived yet.
    pub(crate) fn look(&mut self) {
        while let Some(lookup) = self.engine.next_lookup() {
            self.answers.push_back(answer_lookup(&*self.reader, &mut self.begun, lookup));
        }
    }

    /// The reader's answers arrive, including the answers to new questions.
    pub(crate) fn read(&mut self) {
        self.look();
        while let Some(answered) = self.answers.pop_front() {
            self.input(PumpInput::Found(answered));
            self.look();
        }
    }

    /// Reader and writer work until they have nothing left to do.
    pub(crate) fn settle(&mut self) {
        loop {
            self.read();
            self.hand_over();
            if self.writing.is_empty() {
                return;
            }
            self.write();
        }
    }

    /// Writes every thread at rest to its row, and drops it from memory.
    pub(crate) fn idles(&mut self) {
        self.engine.checkpoint_soon();
        self.settle();
    }

    pub(crate) fn passes(&mut self, ms: u64) {
        self.outside.wall.fetch_add(ms, Ordering::Relaxed);
        self.outside.ticks.fetch_add(ms, Ordering::Relaxed);
        self.engine.run_tick();
    }

    /// Sets the wall clock; no time passes.
    pub(crate) fn clock_set_forward(&mut self, ms: u64) {
        self.outside.wall.fetch_add(ms, Ordering::Relaxed);
        self.engine.run_tick();
    }

    /// The output to listeners and clients since the last call.
    pub(crate) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.outside.seen.lock().unwrap())
    }

    /// The records that were read singly from the log since the last call.
    pub(crate) fn was_read(&self) -> Vec<(ThreadId, u64)> {
        self.reader.was_read()
    }

    /// The documents that were handed out, oldest first.
    pub(crate) fn documents(&self) -> Vec<String> {
        self.outside.documents.lock().unwrap().clone()
    }

    /// The answers that listeners got while they worked, oldest first.
    pub(crate) fn answers_given(&self) -> Vec<PumpAnswer> {
        self.outside.answers.lock().unwrap().clone()
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.log.read_after(Position(0), usize::MAX).unwrap().into_iter().map(|(_, r)| r).collect()
    }

    /// The log since this engine's start, one line for each record.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.records().iter().skip(self.booted).map(record_line).collect()
    }

    pub(crate) fn is_awake(&self, thread: &ThreadId) -> bool {
        self.engine.state().find_thread(thread).is_some()
    }

    pub(crate) fn lookup(&mut self) -> Option<LogLookup> {
        self.engine.next_lookup()
    }
}
