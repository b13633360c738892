//! The one loop. It feeds the heart what comes in, hands its batches to the writer, its questions to
//! the reader, and wakes it when something is due. It never waits on a listener, and while nothing
//! happens it sleeps.

use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};

use systole_core::pump::heart::{Heart, Input, Lookup, Written};
use systole_core::types::ports::{Batch, Clock, Position};
use systole_core::types::time::Millis;

/// Inputs decided upon before the writer is looked after again: enough to fill a batch.
const AT_ONCE: usize = 1024;
/// Records of a batch that the pump writes itself if nothing else came in: while it does, nothing is
/// decided, and larger batches are a sign of more to come.
const WRITES_ITSELF: usize = 4;
/// How long nothing must happen before the fold is written out.
const IDLE_MS: u64 = 1_000;
/// How long the last batch may take to be written, at least.
const LAST_WRITE: Duration = Duration::from_secs(5);

/// The channels around the loop.
pub struct Lines {
    /// What comes in.
    pub inputs: mpsc::Receiver<Input>,
    /// What the writer says. A line of its own: it is heard though nothing else is taken in.
    pub written: mpsc::Receiver<Written>,
    /// Hands a batch to the writer, one at a time.
    pub batches: Box<dyn Fn(Batch, Hand) -> Taken + Send>,
    /// To the reader.
    pub lookups: SyncSender<Lookup>,
    /// Tells readers of the log how far it goes.
    pub tail: watch::Sender<Position>,
    /// Asks for the end, with the time that replies still have.
    pub stop: oneshot::Receiver<Duration>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// How a batch is handed to the writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hand {
    /// The pump goes on meanwhile.
    Over,
    /// The pump has nothing else to do and waits for it.
    AndWait,
}

/// What became of a batch that was handed to the writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The writer has it and will say what becomes of it.
    Over,
    /// It is on disk; the position of its last record.
    Stored(Position),
    /// The writer is gone.
    Gone,
}

/// Why the loop ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// As asked, with everything on disk; so many deliveries were still out.
    Drained(usize),
    /// The log cannot be trusted any further.
    Broken(String),
}

/// What the pump waits for, as it reports to a test that skips time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rest {
    /// Counts the reports.
    pub turn: u64,
    /// Whether the pump itself has nothing to decide, to read or to write.
    pub is_quiet: bool,
    /// Deliveries that are out.
    pub out: usize,
    /// The tick at which something is due.
    pub next: Option<Millis>,
}

/// How a test that skips time and the loop speak to each other. A running organism has none.
pub struct RestLines {
    /// Reports what the pump waits for, once in each round of the loop.
    pub rest: watch::Sender<Rest>,
    /// Starts a round: the clock was moved, or a fresh report is wanted.
    pub look: Arc<Notify>,
}

/// Runs until it is asked to stop or the log breaks.
pub async fn run(heart: Heart, lines: Lines) -> Ended {
    run_with(heart, lines, None).await
}

/// The same for a test that skips time.
pub async fn run_with(mut heart: Heart, mut lines: Lines, rests: Option<RestLines>) -> Ended {
    heart.boot();
    let mut came = Vec::with_capacity(AT_ONCE);
    let grace = loop {
        if let Some(ended) = settle(&mut heart, &lines, true) {
            return ended;
        }
        let pause = pause(&heart, &*lines.clock);
        report(&heart, &lines, rests.as_ref());
        tokio::select! {
            biased;
            grace = &mut lines.stop => break grace.unwrap_or_default(),
            written = lines.written.recv() => match written {
                Some(written) => {
                    heart.hear_writer(written);
                    if let Some(ended) = settle(&mut heart, &lines, false) {
                        return ended;
                    }
                    heart.route_recorded();
                    heart.tick();
                }
                None => return gone("writer"),
            },
            count = lines.inputs.recv_many(&mut came, AT_ONCE), if heart.has_room() => {
                if count == 0 {
                    break Duration::ZERO;
                }
                for (n, input) in came.drain(..).enumerate() {
                    heart.input(input);
                    // The writer is not left idle while a whole batch could be on its way.
                    if n + 1 < count
                        && let Some(ended) = settle(&mut heart, &lines, false)
                    {
                        return ended;
                    }
                }
                heart.tick();
            }
            () = asked_to_look(rests.as_ref()) => heart.tick(),
            () = tokio::time::sleep(pause) => {
                heart.tick();
                if pause == Duration::from_millis(IDLE_MS) {
                    heart.checkpoint_soon();
                }
            }
        }
    };
    drain(&mut heart, &mut lines, grace).await
}

/// Reports to a test what the pump waits for.
fn report(heart: &Heart, lines: &Lines, rests: Option<&RestLines>) {
    let Some(rests) = rests else { return };
    let is_quiet = heart.is_idle() && lines.inputs.is_empty();
    let (out, next) = (heart.out_count(), heart.next_moment());
    rests.rest.send_modify(|rest| *rest = Rest { turn: rest.turn + 1, is_quiet, out, next });
}

/// Waits until a test asks for another round; for ever if there is no test.
async fn asked_to_look(rests: Option<&RestLines>) {
    match rests {
        Some(rests) => rests.look.notified().await,
        None => std::future::pending().await,
    }
}

/// Hands on what the heart has for the writer and the reader. `at_rest` says that the pump would
/// otherwise wait for whatever comes next.
fn settle(heart: &mut Heart, lines: &Lines, at_rest: bool) -> Option<Ended> {
    if let Some(words) = heart.broken() {
        return Some(Ended::Broken(words.to_owned()));
    }
    if let Some(ended) = ask_reader(heart, lines) {
        return Some(ended);
    }
    while let Some(batch) = heart.next_batch() {
        let small = batch.records.len() <= WRITES_ITSELF && batch.rows.is_empty();
        let alone = at_rest && small && lines.inputs.is_empty();
        match (lines.batches)(batch, if alone { Hand::AndWait } else { Hand::Over }) {
            Taken::Over => break,
            Taken::Stored(position) => {
                heart.hear_writer(Written::Committed(position));
                // Before anybody is handed a record: what is said of it stands behind it.
                tell_tail(heart, lines);
                heart.route_recorded();
                // What is routed may have to be read first, and nothing else might come for long.
                if let Some(ended) = ask_reader(heart, lines) {
                    return Some(ended);
                }
            }
            Taken::Gone => return Some(gone("writer")),
        }
    }
    tell_tail(heart, lines);
    None
}

/// Tells whoever follows the log how far it goes.
fn tell_tail(heart: &Heart, lines: &Lines) {
    lines.tail.send_if_modified(|tail| {
        let moved = *tail != heart.last();
        *tail = heart.last();
        moved
    });
}

/// Hands the reader its questions, as many as it has room for.
fn ask_reader(heart: &mut Heart, lines: &Lines) -> Option<Ended> {
    while let Some(lookup) = heart.next_lookup() {
        match lines.lookups.try_send(lookup) {
            Ok(()) => {}
            // The reader answers those it has; each answer brings us back here.
            Err(TrySendError::Full(lookup)) => {
                heart.keep_lookup(lookup);
                break;
            }
            Err(TrySendError::Disconnected(_)) => {
                return Some(gone("reader"));
            }
        }
    }
    None
}

/// A thread that the pump cannot do without ended before it.
fn gone(who: &str) -> Ended {
    Ended::Broken(format!("the {who} of the log is gone"))
}

/// How long nothing needs doing if nothing comes in.
fn pause(heart: &Heart, clock: &dyn Clock) -> Duration {
    let idle = if heart.has_dirty() { Duration::from_millis(IDLE_MS) } else { Duration::MAX };
    let due = heart.next_moment().map(|at| Duration::from_millis(at.since(clock.ticks())));
    due.map_or(idle, |due| due.min(idle))
}

/// The end: nothing new is taken or sent, replies may land for a while, everything goes to disk.
async fn drain(heart: &mut Heart, lines: &mut Lines, grace: Duration) -> Ended {
    // What was sent before the end was asked for is taken before it.
    for _ in 0..lines.inputs.len() {
        let Ok(input) = lines.inputs.try_recv() else { break };
        heart.input(input);
    }
    heart.input(Input::Stop);
    // One moment for all: whoever goes on talking must not put the end off.
    let mut over = pin!(tokio::time::sleep(grace));
    while !heart.is_quiet() {
        if let Some(ended) = settle(heart, lines, false) {
            return ended;
        }
        tokio::select! {
            biased;
            () = &mut over => break,
            written = lines.written.recv() => match written {
                Some(written) => heart.input(Input::Written(written)),
                None => return gone("writer"),
            },
            input = lines.inputs.recv(), if heart.has_room() => match input {
                Some(input) => heart.input(input),
                None => break,
            },
        }
    }
    let out = heart.out_count();
    heart.input(Input::Farewell);
    heart.checkpoint_soon();
    let mut too_long = pin!(tokio::time::sleep(grace.max(LAST_WRITE)));
    while !heart.is_flushed() {
        if let Some(ended) = settle(heart, lines, false) {
            return ended;
        }
        tokio::select! {
            biased;
            () = &mut too_long => {
                return Ended::Broken("the writer of the log did not finish".to_owned());
            }
            written = lines.written.recv() => match written {
                Some(written) => heart.input(Input::Written(written)),
                None => return gone("writer"),
            },
            // Whoever still asks is told at once that it is too late.
            Some(input) = lines.inputs.recv() => heart.input(input),
        }
    }
    if let Some(ended) = settle(heart, lines, false) {
        return ended;
    }
    Ended::Drained(out)
}
