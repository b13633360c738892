//! Starts and stops the whole organism: log, pump, validators and carriers around one composition. Stopping follows
//! the flow: first the door closes, then no deliveries go out, replies may arrive for a while, and the log is flushed
//! last.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use super::broker::{self, BrokerAddress, StartedBroker};
pub use super::front::ClientMessage;
use super::front::{OrganismHandle, OrganismPlaces, OrganismWays, ReaderToken};
use super::indexing;
use super::keeping::{self, OwnedLog, WritableLog};
use super::live_messages::LiveVoice;
use super::proving::{self, LastCheckpoint, ProofKeeper};
use super::refusals::BrokerReports;
use super::reloading::in_force;
use super::scheduling;
use super::skipping::RehearsalParts;
use super::stuck_calls;
use super::tail::LogTail;
use super::validators::{CompositionPages, RawDocument, TellsOfItsFall, ValidatorQueue, Validators};
use super::waiting::WaitingRoom;
use crate::limits;
use crate::plan::{ReloadAtStart, RunPlan, StartFault};
use crate::pump_loop::{self, BatchHandover, HandoverMode, LoopChannels, LoopEnd, RestChannels, StopWait};
use systole_bus::Broker;
use systole_carriers::leases::{HmacTokens, LeaseTable};
use systole_carriers::{
    CarrierEquipment, CarrierWaits, Carriers, InheritedVariables, NoEar, check_sandboxes, own_hash,
};
use systole_config as config;
use systole_core::pump::engine::{
    Engine, EnginePorts, LogLookup, PumpInput, WriteReport, answer_lookup, kept_listeners,
};
use systole_core::pump::event::PumpNotice;
use systole_core::pump::state::{CompositionBook, PumpState};
use systole_core::pump::view::BegunViews;
use systole_core::pump::wake::{self, RecoveredLog};
use systole_core::rules::admit;
use systole_core::types::composition::Composition;
use systole_core::types::flow::UnmatchedDocument;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{
    CarrierReport, Clock, Leases, LogBatch, LogReader, LogWriter, LostRange, NoObserver, Position,
    StepObserver,
};
use systole_core::types::schedule::Schedule;
use systole_follow::{CursorPlace, FollowedLog, FollowerPlan, SourceReader};
use systole_log::alarms::LogAlarms;
pub use systole_log::nats::LifeSign;
use systole_log::nats::LogOwnership;
use systole_log::writer::{BatchResult, WriterHandle};
use systole_queries::orphans::{self, Orphan};
use systole_system::clock::{KernelSeeds, WallClock};
use systole_system::system;
use systole_system::tasks::{self, RunningTask, TaskKind};

/// A running organism.
pub struct Organism {
    front: OrganismHandle,
    ways: Arc<OrganismWays>,
    seats: mpsc::Sender<ReaderToken>,
    seated: mpsc::Receiver<ReaderToken>,
    stop: oneshot::Sender<StopWait>,
    ended: oneshot::Receiver<LoopEnd>,
    /// The pump's result, after it was received.
    over: Option<LoopEnd>,
    carriers: Arc<Carriers>,
    writer: Arc<WriterHandle>,
    lead: Option<LogOwnership>,
    proof: Option<ProofKeeper>,
    /// The followers end when this is dropped.
    following: Option<watch::Sender<()>>,
    notes: Vec<String>,
    validators: Validators,
    tasks: Vec<RunningTask>,
    /// The organism's own broker.
    own: Option<StartedBroker>,
    /// Receives the refused connections of another broker.
    refusals: Option<BrokerReports>,
    /// Open calls that no listener of this composition serves.
    orphans: Vec<Orphan>,
}

/// The pump's ports.
fn build_ports(
    secret: &[u8; 32],
    leases: Arc<dyn Leases>,
    (carrier, room): (Arc<Carriers>, &Arc<WaitingRoom>),
    (steps, clock): (Arc<dyn StepObserver>, Arc<dyn Clock>),
) -> Result<EnginePorts, StartFault> {
    let seeds = Arc::new(KernelSeeds::new().map_err(wrap_io_error)?);
    let tokens = Arc::new(HmacTokens::new(secret));
    Ok(EnginePorts { clock, seeds, tokens, leases, carrier, askers: room.clone(), steps })
}

fn new_leases() -> Arc<dyn Leases> {
    Arc::new(LeaseTable::default())
}

/// The configurations of open calls, and the current one.
fn read_pages(
    state: &PumpState,
    current: &Arc<Composition>,
    reader: &dyn LogReader,
    directory: &Path,
) -> Result<CompositionPages, StartFault> {
    let mut all = HashMap::from([(current.hash, current.clone())]);
    for thread in state.threads.values() {
        let begun = thread.calls.values().map(|call| call.config);
        for config in begun.chain(thread.budget_uses.values().map(|budget_use| budget_use.config)) {
            if all.contains_key(&config) {
                continue;
            }
            let unreadable =
                |words: String| StartFault::Configuration { thread: thread.id.clone(), config, words };
            let source =
                reader.read_document(config)?.ok_or_else(|| unreadable("the log does not hold it".into()))?;
            let page =
                config::read_source(&source, directory).map_err(|refused| unreadable(refused.to_string()))?;
            all.insert(config, Arc::new(page));
        }
    }
    Ok(CompositionPages { current: current.clone(), all })
}

/// The orphans of a log that is only read.
///
/// # Errors
/// If the log, or the configuration of an open call, cannot be read.
pub fn list_orphans(reader: &dyn LogReader, current: &Composition) -> Result<Vec<Orphan>, StartFault> {
    let state = wake::recover_log(reader, &NoObserver)?.state;
    // Who may call whom does not depend on a folder.
    let pages = read_pages(&state, &Arc::new(current.clone()), reader, Path::new(""))?;
    Ok(orphans::among(reader, state.threads.values(), current, &pages.all)?)
}

/// The state from the log, all configurations that it needs, the last log position, and the orphans.
fn recover_state(
    log: &OwnedLog,
    composition: &Arc<Composition>,
    (directory, reload): (&Path, &ReloadAtStart),
    steps: &dyn StepObserver,
) -> Result<(RecoveredLog, Arc<CompositionPages>, Position, Vec<Orphan>), StartFault> {
    let reader = &*log.reader;
    let mut recovered = wake::recover_log(reader, steps)?;
    in_force::check(&recovered.state, reader, reload, composition.hash)?;
    let pages = Arc::new(read_pages(&recovered.state, composition, reader, directory)?);
    let mut book = CompositionBook::open_at(composition.clone());
    pages.all.values().cloned().for_each(|page| book.add(page));
    recovered.state.book = book;
    let orphans = orphans::among(reader, recovered.state.threads.values(), composition, &pages.all)?;
    Ok((recovered, pages, reader.read_last()?, orphans))
}

/// The system's clock, or a test's clock.
fn choose_clock(rehearsed: Option<RehearsalParts>) -> (Arc<dyn Clock>, Option<RestChannels>) {
    match rehearsed {
        Some(RehearsalParts { clock, lines }) => (clock, Some(lines)),
        None => (Arc::new(WallClock), None),
    }
}

/// The carriers of all listeners, also of those that only open calls know.
fn build_carriers(
    composition: &Composition,
    state: &PumpState,
    gear: CarrierEquipment,
    reports: mpsc::Sender<CarrierReport>,
) -> Result<Arc<Carriers>, StartFault> {
    Ok(Arc::new(Carriers::new(composition, &kept_listeners(state), gear, reports)?))
}

/// The engine, once it has named what workers on other machines may have. Only then anything is heard of a listener:
/// its workers may be about to answer an earlier life of the pump.
fn take_up(
    engine: Engine,
    is_still: bool,
    (program, given_up, reload, schedules): (Option<Digest>, Option<LostRange>, ReloadAtStart, Vec<Schedule>),
    (orphans, carriers): (&[Orphan], &Carriers),
) -> Engine {
    let engine = engine.of_organism(program).with_schedules(schedules);
    let engine = engine.of_run(reload.news, reload.ending);
    let engine = engine.hold_deliveries(is_still).with_loss(given_up);
    let mut engine = engine.knowing_unfit(orphans::unfit(orphans));
    engine.adopt_listeners();
    carriers.begin_all();
    engine
}

/// Wraps an error of the operating system.
fn wrap_io_error(error: std::io::Error) -> StartFault {
    StartFault::Machine(system::describe_error(&error))
}

impl Organism {
    /// Opens the log, continues from its state, and starts all listeners.
    pub async fn start(mut plan: RunPlan) -> Result<Organism, StartFault> {
        let followers = std::mem::take(&mut plan.followers);
        let mut organism = Box::pin(Organism::begin(plan, false, None)).await?;
        organism.start_readers(followers);
        Ok(organism)
    }

    /// Starts what reads the end of the log on its own. No one reads the log of a test, and an order is soon done, so
    /// these have none of it.
    fn start_readers(&mut self, followers: Vec<FollowerPlan>) {
        let OrganismHandle { places, followed, composition, .. } = &self.front;
        let Some(log) = places.log.clone() else { return };
        let keeper = indexing::start_keeper(places.index.clone(), followed.clone());
        let reader: Arc<dyn LogReader> = Arc::new(followed.clone());
        let (organism, pump) = (composition.organism.clone(), self.ways.pump.downgrade());
        let (tail, directory) = (self.front.tail(), places.directory.clone());
        let read_source: SourceReader = Arc::new(move |source| {
            config::read_source(source, &directory).map_err(|refused| refused.to_string())
        });
        let broker = self.lead.as_ref().and_then(|_| self.front.broker.as_ref()?.upgrade());
        let cursors = broker.map_or(CursorPlace::Beside(log), CursorPlace::Broker);
        let read_metrics = indexing::make_metric_reader(places.index.clone(), &reader, &read_source);
        let followed = FollowedLog { organism, cursors, reader, tail, read_source, read_metrics, pump };
        let following = systole_follow::start_followers(followers, &followed);
        self.tasks.push(keeper);
        self.tasks.push(stuck_calls::start_watch(self.front.clone()));
        self.tasks.extend(following.tasks);
        self.front.places.followers = following.board;
        self.following = following.stop;
    }

    /// Starts it for one order only. No deliveries go out, so stopping it loses nothing.
    pub async fn start_without_deliveries(plan: RunPlan) -> Result<Organism, StartFault> {
        Box::pin(Organism::begin(plan, true, None)).await
    }

    /// Starts it for a test, on a clock that the test moves.
    pub async fn start_rehearsed(plan: RunPlan, rehearsed: RehearsalParts) -> Result<Organism, StartFault> {
        Box::pin(Organism::begin(plan, false, Some(rehearsed))).await
    }

    async fn begin(plan: RunPlan, is_still: bool, test: Option<RehearsalParts>) -> Result<Self, StartFault> {
        // Before the log is opened: such a start leaves nothing behind.
        check_sandboxes(&plan.composition, is_still)?;
        let program = tokio::task::spawn_blocking(own_hash);
        let broker = Box::pin(keeping::connect_broker(&plan, is_still)).await?;
        let (places, how) = (OrganismPlaces::from_plan(&plan), (plan.stands_by, plan.given_up));
        let log = Box::pin(keeping::open(plan.log, broker.as_ref(), &plan.composition.organism, how)).await?;
        // Nothing is written to a log that is not the signed one.
        let proof = proving::open_signer(plan.proof, &*log.reader)?;
        let (composition, (pump, inputs)) = (Arc::new(plan.composition), mpsc::channel(limits::QUEUE));
        let (state, pages, last, orphans) =
            recover_state(&log, &composition, (&plan.directory, &plan.reload), &*plan.steps)?;
        let schedules = scheduling::judge_schedules(&composition, plan.schedules)?;
        // After opening the log: only the owner of the log may end a server that was left behind.
        let used = open_broker((plan.managed, broker), is_still, (&composition, &plan.surroundings), &pump);
        let (own, broker, refusals) = Box::pin(used).await?;
        let (leases, (reports, heard)) = (new_leases(), mpsc::channel(limits::QUEUE));
        let (followed, tail) = LogTail::open_tail(log.reader.clone(), last);
        let (voice, (clock, rests)) = (LiveVoice::from_tail(followed.end()), choose_clock(test));
        let validators = Validators::start(plan.validators, &pages, &leases, &plan.steps, &pump, &voice)?;
        let (inline, surroundings, steps) = (plan.inline, plan.surroundings, plan.steps.clone());
        let (pace, room) = (CarrierWaits::default(), Arc::new(WaitingRoom::default()));
        let (ear, receipts, reached) = (Arc::new(NoEar), room.clone(), broker.as_ref().map(Arc::downgrade));
        let gear = CarrierEquipment { inline, surroundings, pace, steps, ear, receipts, broker, is_still };
        let carriers = build_carriers(&composition, &state.state, gear, reports)?;
        // Nothing is ever sent over the channel of the seats: it closes when the last reader is done.
        let (reader, lead, (seats, seated)) = (log.reader.clone(), log.lead.clone(), mpsc::channel(1));
        let WritableLog { writer, secret, alarms, notes } = log.into_writable()?;
        let (writer, written) = start_writer(writer, &alarms).map_err(wrap_io_error)?;
        let ports = build_ports(&secret, leases, (carriers.clone(), &room), (plan.steps, clock.clone()))?;
        let ((stop, stopped), (end, ended)) = (oneshot::channel(), oneshot::channel());
        let (lookups, batches) = (start_reader(reader.clone(), pump.clone())?, hand_to(writer.clone()));
        let lines = LoopChannels { inputs, written, batches, lookups, tail, stop: stopped, clock };
        let begins = (program.await.unwrap_or_default(), plan.given_up, plan.reload, schedules);
        let engine = take_up(Engine::new(state, ports, last), is_still, begins, (&orphans, &carriers));
        let pumps = start_pump(engine, (lines, rests), end, room.clone()).map_err(wrap_io_error)?;
        let tasks = vec![pumps, start_sorter(heard, validators.queue(), pump.clone())];
        let proof = proof.map(|proof| ProofKeeper::start(proof, reader.clone(), lead.clone(), &pump));
        let ways = Arc::new(OrganismWays { door: validators.queue(), pump });
        let front = OrganismHandle {
            composition,
            places,
            reader,
            room,
            began: last,
            followed,
            ways: Arc::downgrade(&ways),
            seats: seats.downgrade(),
            voice,
            broker: reached,
            alarms,
            at_rest: None,
        };
        Ok(Organism {
            front,
            ways,
            seats,
            seated,
            stop,
            ended,
            over: None,
            carriers,
            writer,
            lead,
            proof,
            following: None,
            notes,
            validators,
            tasks,
            own,
            refusals,
            orphans,
        })
    }

    /// Notes for a person about the state of the log when it was opened.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The handle for doors and commands.
    pub fn handle(&self) -> &OrganismHandle {
        &self.front
    }

    /// The running composition.
    pub fn composition(&self) -> &Arc<Composition> {
        self.front.composition()
    }

    /// The log, for reading.
    pub fn reader(&self) -> &Arc<dyn LogReader> {
        self.front.reader()
    }

    /// How to reach the organism's own broker, if it has one.
    pub fn broker_address(&self) -> Option<&BrokerAddress> {
        self.own.as_ref().map(StartedBroker::address)
    }

    /// Open calls that no listener served when the organism started.
    pub fn orphans(&self) -> &[Orphan] {
        &self.orphans
    }

    /// The last log position, updated as the log grows.
    pub fn tail(&self) -> watch::Receiver<Position> {
        self.front.tail()
    }

    /// Waits until the pump ends by itself. That happens only if the log breaks.
    pub async fn wait_for_break(&mut self) -> LoopEnd {
        let ended = match self.over.take() {
            Some(ended) => ended,
            None => take_end(&mut self.ended).await,
        };
        self.over.insert(ended).clone()
    }

    /// Waits until another pump has taken over the log, and returns a description of it. Waits forever if that is
    /// impossible.
    pub fn wait_for_takeover(&self) -> impl Future<Output = String> + use<> {
        let lead = self.ownership();
        async move {
            match lead {
                Some(lead) => lead.is_lost().await,
                None => std::future::pending().await,
            }
        }
    }

    /// Whether this organism may still write the log. `None` if the log cannot be taken over.
    pub fn ownership(&self) -> Option<LogOwnership> {
        self.lead.clone()
    }

    /// Stops: takes nothing new, waits for replies, flushes the log, ends all programs.
    pub async fn stop(mut self, wait: impl Into<StopWait>) -> LoopEnd {
        if let Some(own) = &self.own {
            own.settle_events().await;
        }
        if let Some(refusals) = self.refusals {
            refusals.settle_counts().await;
            refusals.close().await;
        }
        // If the pump ended before, its result is already waiting.
        let _heard_before = self.stop.send(wait.into());
        let ended = match self.over {
            Some(ended) => ended,
            None => take_end(&mut self.ended).await,
        };
        self.carriers.stop_all().await;
        if let Some(proof) = self.proof {
            let is_led = self.lead.is_none_or(|lead| lead.find_loss().is_none());
            let is_whole = is_led && matches!(ended, LoopEnd::Drained(_));
            proof.finish(if is_whole { LastCheckpoint::Signed } else { LastCheckpoint::Unsigned }).await;
        }
        drop((self.front, self.ways, self.carriers, self.seats, self.following));
        // A reader connection that outlives the writer would leave the log in two files.
        let _left = tokio::time::timeout(limits::LAST_READS, self.seated.recv()).await;
        for task in self.tasks {
            task.wait_for_end().await;
        }
        if let Some(own) = self.own {
            own.stop().await;
        }
        let (validators, writer) = (self.validators, self.writer);
        let joined = tokio::task::spawn_blocking(move || {
            validators.stop();
            Arc::into_inner(writer).and_then(WriterHandle::stop_thread)
        });
        match (joined.await, ended) {
            (Ok(Some(displaced)), _) => LoopEnd::Broken(displaced.into()),
            (Ok(_), ended) => ended,
            (Err(panic), _) => LoopEnd::Broken(panic.to_string().into()),
        }
    }
}

/// The pump's result. It can be received once.
async fn take_end(ended: &mut oneshot::Receiver<LoopEnd>) -> LoopEnd {
    ended.await.unwrap_or_else(|_| LoopEnd::Broken("the pump ended without a reason".to_owned().into()))
}

/// Starts the writer's thread. Returns it with the channel of its reports.
fn start_writer(
    log: Box<dyn LogWriter>,
    alarms: &LogAlarms,
) -> std::io::Result<(Arc<WriterHandle>, mpsc::Receiver<WriteReport>)> {
    let (pump, settled) = mpsc::channel(limits::OUTCOMES);
    let writer = WriterHandle::start_thread(log, alarms.clone(), move |outcome| {
        let written = match outcome {
            BatchResult::Committed(position) => WriteReport::Committed(position),
            BatchResult::Stalled { words } => WriteReport::Stalled(words),
            BatchResult::Broken(stop) => WriteReport::Broken(stop),
        };
        // If the pump is gone, it has already reported why, and no one is left to notify.
        drop(pump.blocking_send(written));
    })?;
    Ok((Arc::new(writer), settled))
}

/// The broker that is used, and the reports of what it refuses: the organism's own server, if it has one, or that of
/// others. An organism that hands out nothing uses none.
async fn open_broker(
    (managed, others): (Option<PathBuf>, Option<Arc<Broker>>),
    is_still: bool,
    (composition, surroundings): (&Composition, &InheritedVariables),
    pump: &mpsc::Sender<PumpInput>,
) -> Result<(Option<StartedBroker>, Option<Arc<Broker>>, Option<BrokerReports>), StartFault> {
    let own = broker::start(managed.filter(|_| !is_still), composition, surroundings, pump);
    let own = Box::pin(own).await?;
    let others = others.filter(|_| own.is_none() && !is_still);
    let refusals = BrokerReports::open(others.as_ref(), pump).await;
    let broker = own.as_ref().map(StartedBroker::broker).or(others);
    Ok((own, broker, refusals))
}

/// Passes the pump's batches to the writer.
fn hand_to(writer: Arc<WriterHandle>) -> Box<dyn Fn(LogBatch, HandoverMode) -> BatchHandover + Send> {
    Box::new(move |batch, hand| {
        let taken = match hand {
            HandoverMode::Over => writer.submit_batch(batch).map(|()| None),
            HandoverMode::AndWait => writer.commit_here(batch),
        };
        taken.map_or(BatchHandover::Gone, |stored| stored.map_or(BatchHandover::Over, BatchHandover::Stored))
    })
}

/// Starts the thread that reads the log for the pump.
fn start_reader(
    reader: Arc<dyn LogReader>,
    pump: mpsc::Sender<PumpInput>,
) -> Result<std::sync::mpsc::SyncSender<LogLookup>, StartFault> {
    let (lookups, asked) = std::sync::mpsc::sync_channel(limits::QUEUE);
    std::thread::Builder::new()
        .name("log-reader".into())
        .spawn(move || {
            let _tells = TellsOfItsFall(pump.clone());
            let mut begun = BegunViews::default();
            for lookup in asked {
                if pump.blocking_send(PumpInput::Found(answer_lookup(&*reader, &mut begun, lookup))).is_err()
                {
                    return;
                }
            }
        })
        .map_err(wrap_io_error)?;
    Ok(lookups)
}

fn start_pump(
    engine: Engine,
    (lines, rests): (LoopChannels, Option<RestChannels>),
    end: oneshot::Sender<LoopEnd>,
    room: Arc<WaitingRoom>,
) -> std::io::Result<RunningTask> {
    let to_close = room.clone();
    let work = async move {
        // The code that stops the organism receives this result. If no one does, the process is ending.
        drop(end.send(pump_loop::run_loop(engine, lines, rests).await));
        room.close_room();
    };
    // Everyone still waiting for a receipt learns that no answer will come.
    tasks::start_apart("pump", TaskKind::Pump, work, async move |_| to_close.close_room())
}

/// Routes carriers' reports: documents to the validators, everything else directly to the pump.
fn start_sorter(
    mut heard: mpsc::Receiver<CarrierReport>,
    door: ValidatorQueue,
    pump: mpsc::Sender<PumpInput>,
) -> RunningTask {
    let work = async move {
        while let Some(report) = heard.recv().await {
            let taken = match report {
                CarrierReport::Said { listener, speech, ticket } => {
                    door.hand_in(RawDocument::Said { listener, speech, ticket }).await
                }
                CarrierReport::Misplaced { listener, speech, ticket } => {
                    let stray = UnmatchedDocument { ticket, ..admit::make_unmatched(&listener, &speech) };
                    pump.send(PumpInput::Stray(stray)).await.is_ok()
                }
                CarrierReport::Gone { token, code, words } => {
                    pump.send(PumpInput::Gone { token, code, words }).await.is_ok()
                }
                CarrierReport::Away { token, words } => {
                    pump.send(PumpInput::Away { token, words }).await.is_ok()
                }
                CarrierReport::NotNow { token, words } => {
                    pump.send(PumpInput::NotNow { token, words }).await.is_ok()
                }
                CarrierReport::Adopted { listener, found, lost } => {
                    pump.send(PumpInput::Adopted { listener, found, lost }).await.is_ok()
                }
                CarrierReport::Taken { token, age_ms, now, has_waited } => {
                    pump.send(PumpInput::Taken { token, age_ms, now, has_waited }).await.is_ok()
                }
                CarrierReport::Untaken { token } => pump.send(PumpInput::Untaken { token }).await.is_ok(),
                CarrierReport::Joined { listener, sandbox, files } => {
                    let joined = PumpNotice::Joined { listener, sandbox, files };
                    pump.send(PumpInput::Noticed(joined)).await.is_ok()
                }
                CarrierReport::Left { listener, words } => {
                    pump.send(PumpInput::Noticed(PumpNotice::Left { listener, words })).await.is_ok()
                }
            };
            if !taken {
                return;
            }
        }
    };
    tasks::start_task(TaskKind::Pump, work, async |_| ())
}
