//! The one loop. It feeds inputs to the engine, hands the engine's batches to the writer and its
//! questions to the reader, and wakes the engine when something is due. It never waits for a
//! listener, and it sleeps while nothing happens.

use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::tail::LogEnd;
use crate::limits;
use systole_core::pump::engine::{Engine, LogLookup, PumpInput, WriteReport};
use systole_core::types::ports::{Clock, LogBatch, LogStop, Position};
use systole_core::types::time::Millis;

/// The channels around the loop.
pub struct LoopChannels {
    /// The inputs.
    pub inputs: mpsc::Receiver<PumpInput>,
    /// The writer's reports. They have their own channel, so that they are heard even when no other
    /// input is taken.
    pub written: mpsc::Receiver<WriteReport>,
    /// Hands a batch to the writer, one at a time.
    pub batches: Box<dyn Fn(LogBatch, HandoverMode) -> BatchHandover + Send>,
    /// To the reader.
    pub lookups: SyncSender<LogLookup>,
    /// Gives the log's followers what is on disk.
    pub tail: LogEnd,
    /// Asks for the end, with what it waits for.
    pub stop: oneshot::Receiver<StopWait>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// How a batch is handed to the writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandoverMode {
    /// The pump continues during the write.
    Over,
    /// The pump has nothing else to do and waits for the write.
    AndWait,
}

/// What happened to a batch that was handed to the writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchHandover {
    /// The writer has the batch and will report the result.
    Over,
    /// The batch is on disk; the position of its last record.
    Stored(Position),
    /// The writer is gone.
    Gone,
}

/// Whose replies a stop waits for, and at most how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopWait {
    /// Programs and agents on this machine.
    Here(Duration),
    /// Also workers on other machines.
    Everywhere(Duration),
    /// Nothing: another pump begins at once, with another configuration.
    ForReload,
}

impl From<Duration> for StopWait {
    fn from(grace: Duration) -> StopWait {
        StopWait::Here(grace)
    }
}

/// Why the loop ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoopEnd {
    /// It ended as asked, with everything on disk; this many deliveries were still out.
    Drained(usize),
    /// The log takes nothing more, or a thread of the pump ended early.
    Broken(LogStop),
}

/// What the pump waits for, as it reports to a test that skips time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RestReport {
    /// Counts the reports.
    pub turn: u64,
    /// Whether the pump itself has nothing to decide, to read or to write.
    pub is_quiet: bool,
    /// Deliveries that are out.
    pub out: usize,
    /// The tick at which something is due.
    pub next: Option<Millis>,
    /// The tick at which a schedule is due.
    pub schedule: Option<Millis>,
}

/// How the loop and a test that skips time talk to each other. A running organism has none of these.
pub struct RestChannels {
    /// Reports what the pump waits for, once in each round of the loop.
    pub rest: watch::Sender<RestReport>,
    /// Starts a round: the clock was moved, or the test wants a new report.
    pub look: Arc<Notify>,
}

/// Runs until it is asked to stop or the log breaks. `rests` are the channels of a test that skips time.
pub async fn run_loop(mut engine: Engine, mut lines: LoopChannels, rests: Option<RestChannels>) -> LoopEnd {
    engine.boot_organism();
    let mut came = Vec::with_capacity(limits::BATCH_INPUTS);
    let wait = loop {
        if let Some(ended) = settle_batch(&mut engine, &mut lines, true) {
            return ended;
        }
        let pause = measure_pause(&engine, &*lines.clock);
        report_rest(&engine, &lines, rests.as_ref());
        tokio::select! {
            biased;
            wait = &mut lines.stop => break wait.unwrap_or(StopWait::Here(Duration::ZERO)),
            written = lines.written.recv() => match written {
                Some(written) => {
                    engine.hear_writer(written);
                    if let Some(ended) = settle_batch(&mut engine, &mut lines, false) {
                        return ended;
                    }
                    engine.route_recorded();
                    engine.run_tick();
                }
                None => return end_without("writer"),
            },
            count = lines.inputs.recv_many(&mut came, limits::BATCH_INPUTS), if engine.has_room() => {
                if count == 0 {
                    break StopWait::Here(Duration::ZERO);
                }
                for (n, input) in came.drain(..).enumerate() {
                    engine.take_input(input);
                    // The writer must not be idle while a whole batch could be on its way.
                    if n + 1 < count
                        && let Some(ended) = settle_batch(&mut engine, &mut lines, false)
                    {
                        return ended;
                    }
                }
                engine.run_tick();
            }
            () = wait_for_look(rests.as_ref()) => engine.run_tick(),
            () = tokio::time::sleep(pause) => {
                engine.run_tick();
                if pause == limits::IDLE {
                    engine.checkpoint_soon();
                }
            }
        }
    };
    drain_engine(&mut engine, &mut lines, wait).await
}

/// Reports to a test what the pump waits for.
fn report_rest(engine: &Engine, lines: &LoopChannels, rests: Option<&RestChannels>) {
    let Some(rests) = rests else { return };
    let is_quiet = engine.is_idle() && lines.inputs.is_empty();
    let (out, next, schedule) = (engine.out_count(), engine.next_moment(), engine.next_schedule());
    rests.rest.send_modify(|rest| *rest = RestReport { turn: rest.turn + 1, is_quiet, out, next, schedule });
}

/// Waits until a test asks for another round; forever if there is no test.
async fn wait_for_look(rests: Option<&RestChannels>) {
    match rests {
        Some(rests) => rests.look.notified().await,
        None => std::future::pending().await,
    }
}

/// Passes the engine's batch to the writer and its questions to the reader. `at_rest` says that the
/// pump would otherwise wait for the next input.
fn settle_batch(engine: &mut Engine, lines: &mut LoopChannels, at_rest: bool) -> Option<LoopEnd> {
    if let Some(stop) = engine.find_stop() {
        return Some(LoopEnd::Broken(stop.clone()));
    }
    if let Some(ended) = ask_reader(engine, lines) {
        return Some(ended);
    }
    while let Some(batch) = engine.next_batch() {
        lines.tail.add_written(&batch.records);
        let small = batch.records.len() <= limits::OWN_RECORDS && batch.rows.is_empty();
        let alone = at_rest && small && lines.inputs.is_empty();
        match (lines.batches)(batch, if alone { HandoverMode::AndWait } else { HandoverMode::Over }) {
            BatchHandover::Over => break,
            BatchHandover::Stored(position) => {
                engine.hear_writer(WriteReport::Committed(position));
                // Readers learn the new tail before anyone is handed a record, so that an answer to
                // a record is always behind the tail.
                lines.tail.is_at(position);
                engine.route_recorded();
                // Routing may need reads first, and the next input may be far off.
                if let Some(ended) = ask_reader(engine, lines) {
                    return Some(ended);
                }
            }
            BatchHandover::Gone => return Some(end_without("writer")),
        }
    }
    lines.tail.is_at(engine.last());
    None
}

/// Hands the reader as many questions as it has room for.
fn ask_reader(engine: &mut Engine, lines: &LoopChannels) -> Option<LoopEnd> {
    while let Some(lookup) = engine.next_lookup() {
        match lines.lookups.try_send(lookup) {
            Ok(()) => {}
            // The reader answers those it has; each answer brings the loop back here.
            Err(TrySendError::Full(lookup)) => {
                engine.keep_lookup(lookup);
                break;
            }
            Err(TrySendError::Disconnected(_)) => {
                return Some(end_without("reader"));
            }
        }
    }
    None
}

/// A thread that the pump cannot do without ended early.
fn end_without(who: &str) -> LoopEnd {
    LoopEnd::Broken(format!("the {who} of the log is gone").into())
}

/// The last records could not be written in time.
fn describe_unwritten(stall: Option<&str>) -> String {
    let why = stall.unwrap_or("the disk does not answer");
    format!("the last records could not be written ({why}); everything acknowledged is stored")
}

/// How long nothing needs to be done if no input comes.
fn measure_pause(engine: &Engine, clock: &dyn Clock) -> Duration {
    let idle = if engine.has_dirty() { limits::IDLE } else { Duration::MAX };
    let left = |at: Millis| Duration::from_millis(at.count_since(clock.ticks()));
    let due = engine.next_moment().map(left);
    // Schedules follow the wall clock. No one says when it was set, or how long the machine slept.
    let schedule = engine.next_schedule().map(|at| left(at).min(limits::WALL_CLOCK_LOOK));
    due.into_iter().chain(schedule).fold(idle, Duration::min)
}

/// The end: nothing new is taken or sent, replies may come for a while, everything goes to disk.
async fn drain_engine(engine: &mut Engine, lines: &mut LoopChannels, wait: StopWait) -> LoopEnd {
    let (grace, last_write, is_everywhere) = match wait {
        StopWait::Here(grace) => (grace, grace.max(limits::LAST_WRITE), false),
        StopWait::Everywhere(grace) => (grace, limits::LAST_WRITE, true),
        // What was out has had its time; a reply that came may still wait for the log.
        StopWait::ForReload if engine.out_here() > 0 => (Duration::ZERO, limits::LAST_WRITE, false),
        StopWait::ForReload => (limits::LAST_WRITE, limits::LAST_WRITE, false),
    };
    if wait == StopWait::ForReload {
        engine.end_for_reload();
    }
    // Inputs that were sent before the request to stop are taken first.
    for _ in 0..lines.inputs.len() {
        let Ok(input) = lines.inputs.try_recv() else { break };
        engine.take_input(input);
    }
    engine.take_input(PumpInput::Stop);
    // One deadline for all: a client that keeps talking must not delay the end.
    let mut over = pin!(tokio::time::sleep(grace));
    while !engine.is_quiet() || is_everywhere && engine.due_elsewhere() > 0 {
        if is_everywhere {
            // Such a stop may take longer than an attempt, which still ends at its time.
            engine.run_tick();
        }
        if let Some(ended) = settle_batch(engine, lines, false) {
            return ended;
        }
        let pause = measure_pause(engine, &*lines.clock);
        tokio::select! {
            biased;
            () = &mut over => break,
            written = lines.written.recv() => match written {
                Some(written) => engine.take_input(PumpInput::Written(written)),
                None => return end_without("writer"),
            },
            input = lines.inputs.recv(), if engine.has_room() => match input {
                Some(input) => engine.take_input(input),
                None => break,
            },
            () = tokio::time::sleep(pause), if is_everywhere => {}
        }
    }
    let out = engine.out_count();
    engine.take_input(PumpInput::Farewell);
    engine.checkpoint_soon();
    let mut too_long = pin!(tokio::time::sleep(last_write));
    while !engine.is_flushed() {
        if let Some(ended) = settle_batch(engine, lines, false) {
            return ended;
        }
        tokio::select! {
            biased;
            () = &mut too_long => {
                return LoopEnd::Broken(describe_unwritten(engine.stall_words()).into());
            }
            written = lines.written.recv() => match written {
                Some(written) => engine.take_input(PumpInput::Written(written)),
                None => return end_without("writer"),
            },
            // An asker that comes now gets a refusal at once: it is too late.
            Some(input) = lines.inputs.recv() => engine.take_input(input),
        }
    }
    if let Some(ended) = settle_batch(engine, lines, false) {
        return ended;
    }
    LoopEnd::Drained(out)
}
