//! The state of a log, without running it: the pump's own fold of every thread at work, the configurations of
//! their calls, and what the newest records say about listeners.
//!
//! It writes nothing. Facts that only a running pump has (which delivery is out) are derived in `posts`. A
//! reader comes in; the whole goes out.

use std::collections::HashMap;
use std::sync::Arc;

use systole_kit::money::Money;

use super::glance::attribute;
use super::pauses::{self, ThreadPause};
use crate::limits;
use systole_core::pump::state::{CompositionBook, Thread};
use systole_core::pump::{pausing, wake};
use systole_core::rules::core_payload;
use systole_core::types::composition::{Composition, Listener, ListenerSection};
use systole_core::types::fast_maps::FastMap;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind, TimerEffect};
use systole_core::types::time::Millis;

/// Reads a configuration from its stored source, or reports why it cannot.
pub type ReadSource<'a> = &'a dyn Fn(&[u8]) -> Result<Composition, String>;

/// The state of a log.
#[derive(Clone)]
pub struct LogState {
    threads: FastMap<ThreadId, Thread>,
    book: CompositionBook,
    /// The end of the log that it shows. Threads may be newer.
    pub end: Position,
    /// The process that has the log open for writing.
    pub running: Option<u32>,
    /// Configurations that cannot be read, with the reason.
    unread: HashMap<Digest, String>,
    signs: Signs,
}

/// What the newest records say about the organism's listeners.
#[derive(Clone, Default)]
struct Signs {
    booted: Option<(Millis, Digest)>,
    freed: HashMap<Name, Millis>,
    /// Why a listener is away, until it is back or the organism starts again.
    away: HashMap<String, String>,
    /// The position of each newest record, by thread and number: records of the same millisecond have an order
    /// too.
    places: HashMap<(ThreadId, u64), Position>,
}

impl LogState {
    /// Reads a log. `running` is the process that writes it, if there is one.
    pub fn look(
        reader: &dyn LogReader,
        read: ReadSource<'_>,
        running: Option<u32>,
    ) -> Result<LogState, LogFault> {
        // Read before the fold, so that no sign is newer than the state shown with it.
        let end = reader.read_last()?;
        let threads = wake::threads_at_work(reader)?;
        let mut signs = Signs::default();
        let from = Position(end.0.saturating_sub(limits::RECENT_RECORDS));
        for (position, record) in records_until(reader, from, end)? {
            signs.note(position, &record);
        }
        let (book, unread) = (CompositionBook::default(), HashMap::new());
        let mut whole = LogState { threads, book, end, running, unread, signs };
        whole.read_configurations(reader, read)?;
        Ok(whole)
    }

    /// The same log at its present end, with what was seen of it before: only what came since is read. `None` if too
    /// much came, so that a new look costs less.
    pub fn go_on(
        mut self: Arc<Self>,
        reader: &dyn LogReader,
        read: ReadSource<'_>,
    ) -> Result<Option<Arc<LogState>>, LogFault> {
        let end = reader.read_last()?;
        match end.0.checked_sub(self.end.0) {
            Some(0) => return Ok(Some(self)),
            Some(1..=limits::RECENT_RECORDS) => {}
            _ => return Ok(None),
        }
        let whole = Arc::make_mut(&mut self);
        for (position, record) in records_until(reader, whole.end, end)? {
            wake::follow_record(reader, &mut whole.threads, (position, &record))?;
            whole.signs.note(position, &record);
        }
        whole.end = end;
        whole.threads.retain(|id, thread| id.is_sys() || thread.is_at_work() || thread.paused.is_some());
        whole.signs.forget(Position(end.0.saturating_sub(limits::RECENT_RECORDS)));
        whole.read_configurations(reader, read)?;
        Ok(Some(self))
    }

    /// Reads the configurations that were not read yet.
    fn read_configurations(&mut self, reader: &dyn LogReader, read: ReadSource<'_>) -> Result<(), LogFault> {
        let mut wanted: Vec<Digest> =
            self.threads.values().flat_map(|t| t.calls.values().map(|c| c.config)).collect();
        wanted.extend(self.signs.booted.map(|(_, config)| config));
        wanted.sort();
        wanted.dedup();
        wanted.retain(|hash| self.book.find_composition(*hash).is_none() && !self.unread.contains_key(hash));
        for hash in wanted {
            match reader.intact_document(hash)? {
                None => drop(self.unread.insert(hash, "the log does not hold it".to_owned())),
                Some(source) => match read(&source) {
                    Ok(page) => self.book.add(Arc::new(page)),
                    Err(why) => drop(self.unread.insert(hash, why)),
                },
            }
        }
        Ok(())
    }

    /// Every thread that is at work, in order of their ids.
    pub fn working(&self) -> Vec<&Thread> {
        self.those(|thread| !thread.calls.is_empty())
    }

    /// Every root that waits for something: at work, or at rest until a timer opens it.
    pub fn waiting(&self) -> Vec<&Thread> {
        let waits = |thread: &Thread| !thread.calls.is_empty() || !thread.timers.is_empty();
        self.those(|thread| thread.id.parent().is_none() && waits(thread))
    }

    fn those(&self, wanted: impl Fn(&Thread) -> bool) -> Vec<&Thread> {
        let mut threads: Vec<&Thread> = self.threads.values().filter(|thread| wanted(thread)).collect();
        threads.sort_by(|a, b| a.id.cmp(&b.id));
        threads
    }

    /// A thread: from memory if it is at work, otherwise woken; `None` if the log has no record of it.
    pub fn thread(&self, reader: &dyn LogReader, id: &ThreadId) -> Result<Option<Thread>, LogFault> {
        match self.threads.get(id) {
            Some(thread) => Ok(Some(thread.clone())),
            None => wake::wake_thread(reader, id),
        }
    }

    /// The listener of the first open top call of a thread; `None` if no call is open there.
    pub fn listener_at_work(&self, reader: &dyn LogReader, id: &ThreadId) -> Result<Option<Name>, LogFault> {
        let found = self.thread(reader, id)?;
        let open =
            found.iter().flat_map(|one| &one.calls).filter(|(path, call)| path.depth() == 0 && !call.held);
        Ok(open.min_by_key(|(path, _)| path.top_number()).map(|(_, call)| call.listener.clone()))
    }

    /// The pause that holds a thread, if one does.
    pub fn find_pause(&self, reader: &dyn LogReader, id: &ThreadId) -> Result<Option<ThreadPause>, LogFault> {
        pauses::holding(reader, &|id| self.thread(reader, id), id)
    }

    /// The pause of everything, if there is one.
    pub fn all_paused(&self, reader: &dyn LogReader) -> Result<Option<ThreadPause>, LogFault> {
        pauses::of_everything(reader, &|id| self.thread(reader, id))
    }

    /// The threads at work, and perhaps others.
    pub(super) fn threads(&self) -> &FastMap<ThreadId, Thread> {
        &self.threads
    }

    /// A thread that is at work.
    pub(crate) fn at_work(&self, id: &ThreadId) -> Option<&Thread> {
        self.threads.get(id)
    }

    /// The thread whose pause keeps this thread from sending anything new, and since when.
    pub fn find_halt(&self, thread: &ThreadId) -> Option<(ThreadId, Millis)> {
        pausing::find_halt(|id| self.threads.get(id), thread)
    }

    /// A listener in the configuration with that hash.
    pub fn listener(&self, config: Digest, name: &Name) -> Option<&Listener> {
        self.book.find_listener(config, name)
    }

    /// A listener's section of the file, in the configuration with that hash.
    pub(super) fn section(&self, config: Digest, name: &Name) -> Option<&ListenerSection> {
        self.book.find_composition(config)?.sections.get(name)
    }

    /// The time limit for a message from outside under that configuration, if it sets one.
    pub(super) fn wall_ms(&self, config: Digest) -> Option<u64> {
        self.book.find_composition(config)?.budgets?.wall_ms
    }

    /// The most tokens and the most money for the models of a message from outside under that configuration.
    pub(super) fn limits_of_models(&self, config: Digest) -> (Option<u64>, Option<Money>) {
        let budgets = self.book.find_composition(config).and_then(|page| page.budgets);
        budgets.map_or((None, None), |budgets| (budgets.tokens, budgets.money))
    }

    /// Why a configuration cannot be read, if it cannot.
    pub fn unread(&self, config: Digest) -> Option<&str> {
        self.unread.get(&config).map(String::as_str)
    }

    /// How many deliveries may be out to a listener at once. The configuration of the last start decides,
    /// because the running pump uses it; without it, that of the call.
    pub(super) fn slots(&self, config: Digest, name: &Name) -> usize {
        let current = self.signs.booted.and_then(|(_, booted)| self.listener(booted, name));
        current.or_else(|| self.listener(config, name)).map_or(1, |l| l.in_flight)
    }

    /// How many calls of one client may wait for one listener, by the same configuration.
    pub(super) fn find_queue_limit(&self, config: Digest) -> u32 {
        let booted = self.signs.booted.map(|(_, booted)| booted);
        let found = booted.into_iter().chain([config]).find_map(|config| self.book.find_composition(config));
        found.map_or(limits::QUEUE_CALLS, |composition| composition.queue_calls)
    }

    /// The client for whom a thread works: the sender that opened its root.
    pub(super) fn find_client(&self, thread: &ThreadId) -> Option<&Name> {
        Some(&self.threads.get(&thread.root_of())?.opener.as_ref()?.sender)
    }

    /// When the organism started last, if that is among the newest records.
    pub(super) fn last_start(&self) -> Option<Millis> {
        self.signs.booted.map(|(at, _)| at)
    }

    /// The position of a record in the log, if it is among the newest; otherwise a position before them.
    pub(super) fn place(&self, thread: &ThreadId, seq: u64) -> Position {
        self.signs.places.get(&(thread.clone(), seq)).copied().unwrap_or_default()
    }

    /// Why that listener is away, if the newest records say so.
    pub(super) fn away(&self, listener: &Name) -> Option<&str> {
        self.signs.away.get(listener.as_str()).map(String::as_str)
    }

    /// When the last delivery to that listener ended, if that is among the newest records.
    pub(super) fn last_delivery_ended(&self, listener: &Name) -> Option<Millis> {
        self.signs.freed.get(listener).copied()
    }
}

impl Signs {
    fn note(&mut self, position: Position, record: &Record) {
        let h = &record.header;
        self.places.insert((h.thread.clone(), h.seq), position);
        if h.thread.is_sys() {
            return self.note_sys(record);
        }
        // A listener's message ends its delivery; failed attempts and core outcomes name the delivery.
        let over = match (h.kind, h.code) {
            (
                RecordKind::Message,
                Some(RecordCode::Role(
                    MessageRole::Inbox
                    | MessageRole::Answer
                    | MessageRole::Request
                    | MessageRole::Begin
                    | MessageRole::Tell,
                )),
            ) => None,
            (
                RecordKind::Timer,
                Some(RecordCode::Timing(
                    TimerEffect::Fired | TimerEffect::Opens | TimerEffect::Cancelled | TimerEffect::Wall,
                )),
            ) => None,
            (RecordKind::Message | RecordKind::Timer, _) => Some(&h.from),
            (RecordKind::Refusal | RecordKind::Attempt, _) => h.to.as_ref(),
            (RecordKind::Outcome, Some(RecordCode::DeadLetter)) => h.to.as_ref(),
            (RecordKind::Outcome, Some(RecordCode::Handled)) => Some(&h.from),
            (
                RecordKind::Outcome
                | RecordKind::Terminal
                | RecordKind::Approval
                | RecordKind::Steer
                | RecordKind::Journal,
                _,
            ) => None,
        };
        if let Some(listener) = over {
            self.freed.insert(listener.clone(), h.time);
        }
    }

    /// Forgets the places of records up to a position.
    fn forget(&mut self, until: Position) {
        self.places.retain(|_, place| *place > until);
    }

    fn note_sys(&mut self, record: &Record) {
        let (h, body) = (&record.header, &record.body);
        if h.code == Some(RecordCode::Role(MessageRole::Told))
            && attribute(body, "boot", "organism").is_some()
        {
            self.booted = Some((h.time, h.config));
            self.away.clear();
        }
        match core_payload::listener_told_of(body) {
            Some((listener, Some(reason))) => drop(self.away.insert(listener, reason)),
            Some((listener, None)) => drop(self.away.remove(&listener)),
            None => {}
        }
    }
}

/// The records after a position, up to the end that is shown.
fn records_until(
    reader: &dyn LogReader,
    from: Position,
    end: Position,
) -> Result<Vec<(Position, Record)>, LogFault> {
    let mut records =
        reader.read_after(from, usize::try_from(end.0.saturating_sub(from.0)).unwrap_or(usize::MAX))?;
    records.retain(|(position, _)| *position <= end);
    Ok(records)
}

/// Folds a thread from its first record up to that one, and shows each on the way. Every record is verified;
/// `None` if the thread has no record.
pub(super) fn folded_until(
    reader: &dyn LogReader,
    id: &ThreadId,
    seq: u64,
    mut show: impl FnMut(&Record),
) -> Result<Option<Thread>, LogFault> {
    let mut thread = Thread::new_blank(id.clone());
    for placed in reader.records_of(id, 1) {
        let (position, record) = placed?;
        if record.header.seq > seq {
            break;
        }
        wake::fold_next(&mut thread, &record, position)?;
        show(&record);
    }
    Ok((thread.seq > 0).then_some(thread))
}
