//! A log as it stands, without running it: the pump's own fold of every thread at work, the
//! configurations their calls began with, and what the newest records tell of listeners.
//!
//! Nothing here writes, and what is live knowledge of a running pump alone (which delivery is out) is
//! only worked out from it in `posts`. A reader comes in; the whole goes out.

use std::collections::HashMap;
use std::sync::Arc;

use systole_kit::money::Money;

use super::glance::attribute;
use super::pauses::{self, Pause};
use systole_core::pump::state::{Book, State, Thread};
use systole_core::pump::{pausing, wake};
use systole_core::rules::core_payload;
use systole_core::types::composition::{Composition, Listener, Section};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position, Unwatched};
use systole_core::types::record::{Kind, Mark, Record, Role, Timing};
use systole_core::types::time::Millis;

/// Newest records that are looked at for signs of listeners and of the last start.
const RECENT: usize = 4096;

/// Reads a configuration back from its stored source, or says why that cannot be done.
pub type ReadSource<'a> = &'a dyn Fn(&[u8]) -> Result<Composition, String>;

/// A log as it stands.
pub struct Whole {
    state: State,
    /// The process that has the log open for writing.
    pub running: Option<u32>,
    /// Configurations that cannot be read, and why.
    unread: HashMap<Digest, String>,
    signs: Signs,
}

/// What the newest records tell of the organism's listeners.
#[derive(Default)]
struct Signs {
    booted: Option<(Millis, Digest)>,
    freed: HashMap<Name, Millis>,
    /// Why a listener is away, until it is back or the organism starts again.
    away: HashMap<String, String>,
    /// Where each of them stands, by thread and number: what came in one millisecond has an order too.
    places: HashMap<(ThreadId, u64), Position>,
}

impl Whole {
    /// Looks at a log. `running` is the process that writes it, if one does.
    pub fn look(
        reader: &dyn LogReader,
        read: ReadSource<'_>,
        running: Option<u32>,
    ) -> Result<Whole, LogFault> {
        // Read before the fold, so that no sign is newer than the state that it is set beside.
        let last = reader.last()?;
        let mut state = wake::recover(reader, &Unwatched)?.state;
        let mut signs = Signs::default();
        let from = Position(last.0.saturating_sub(RECENT as u64));
        for (position, record) in reader.after(from, RECENT)?.iter().filter(|(at, _)| *at <= last) {
            signs.note(record);
            signs.places.insert((record.header.thread.clone(), record.header.seq), *position);
        }
        let mut wanted: Vec<Digest> =
            state.threads.values().flat_map(|t| t.calls.values().map(|c| c.config)).collect();
        wanted.extend(signs.booted.map(|(_, config)| config));
        wanted.sort();
        wanted.dedup();
        let mut unread = HashMap::new();
        let mut book = Book::default();
        for hash in wanted {
            match reader.document(hash)? {
                None => drop(unread.insert(hash, "the log does not hold it".to_owned())),
                Some(source) => match read(&source) {
                    Ok(page) => book.add(Arc::new(page)),
                    Err(why) => drop(unread.insert(hash, why)),
                },
            }
        }
        state.book = book;
        Ok(Whole { state, running, unread, signs })
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
        let mut threads: Vec<&Thread> = self.state.threads.values().filter(|thread| wanted(thread)).collect();
        threads.sort_by(|a, b| a.id.cmp(&b.id));
        threads
    }

    /// A thread: from memory if it is at work, else woken; none if the log has no record of it.
    pub fn thread(&self, reader: &dyn LogReader, id: &ThreadId) -> Result<Option<Thread>, LogFault> {
        match self.state.thread(id) {
            Some(thread) => Ok(Some(thread.clone())),
            None => wake::wake(reader, id),
        }
    }

    /// The pause that holds a thread, if one does.
    pub fn paused(&self, reader: &dyn LogReader, id: &ThreadId) -> Result<Option<Pause>, LogFault> {
        pauses::holding(reader, &|id| self.thread(reader, id), id)
    }

    /// The pause of everything, if there is one.
    pub fn all_paused(&self, reader: &dyn LogReader) -> Result<Option<Pause>, LogFault> {
        pauses::of_everything(reader, &|id| self.thread(reader, id))
    }

    /// A thread that is at work.
    pub(super) fn at_work(&self, id: &ThreadId) -> Option<&Thread> {
        self.state.thread(id)
    }

    /// Whose pause keeps a thread from sending anything new, and since when.
    pub fn halted(&self, thread: &ThreadId) -> Option<(ThreadId, Millis)> {
        pausing::halted(|id| self.state.thread(id), thread)
    }

    /// A listener as the configuration of that hash has it.
    pub fn listener(&self, config: Digest, name: &Name) -> Option<&Listener> {
        self.state.book.listener(config, name)
    }

    /// What the file says of a listener, as the configuration of that hash has it.
    pub(super) fn section(&self, config: Digest, name: &Name) -> Option<&Section> {
        self.state.book.page(config)?.sections.get(name)
    }

    /// How long a message from outside may be worked on under that configuration, where it says so.
    pub(super) fn wall_ms(&self, config: Digest) -> Option<u64> {
        self.state.book.page(config)?.budgets?.wall_ms
    }

    /// The most tokens that the models of a message from outside may use under that configuration, and the most
    /// that they may cost.
    pub(super) fn limits_of_models(&self, config: Digest) -> (Option<u64>, Option<Money>) {
        let budgets = self.state.book.page(config).and_then(|page| page.budgets);
        budgets.map_or((None, None), |budgets| (budgets.tokens, budgets.money))
    }

    /// Why a configuration cannot be read, if it cannot.
    pub fn unread(&self, config: Digest) -> Option<&str> {
        self.unread.get(&config).map(String::as_str)
    }

    /// How many deliveries may be out to a listener at once: as the configuration of the last start
    /// says, which is what the running pump counts by, else as that of the call.
    pub(super) fn slots(&self, config: Digest, name: &Name) -> usize {
        let current = self.signs.booted.and_then(|(_, booted)| self.listener(booted, name));
        current.or_else(|| self.listener(config, name)).map_or(1, |l| l.in_flight)
    }

    /// When the organism started last, if that is among the newest records.
    pub(super) fn booted(&self) -> Option<Millis> {
        self.signs.booted.map(|(at, _)| at)
    }

    /// Where a record stands in the log, if it is among the newest; before those that are if not.
    pub(super) fn place(&self, thread: &ThreadId, seq: u64) -> Position {
        self.signs.places.get(&(thread.clone(), seq)).copied().unwrap_or_default()
    }

    /// Why that listener is away, if it is, and the newest records say so.
    pub(super) fn away(&self, listener: &Name) -> Option<&str> {
        self.signs.away.get(listener.as_str()).map(String::as_str)
    }

    /// When a delivery to that listener was last over, if that is among the newest records.
    pub(super) fn freed(&self, listener: &Name) -> Option<Millis> {
        self.signs.freed.get(listener).copied()
    }
}

impl Signs {
    fn note(&mut self, record: &Record) {
        let h = &record.header;
        if h.thread.is_sys() {
            return self.note_sys(record);
        }
        // What a listener sends ends its delivery; a failed attempt and an outcome of the core name it.
        let over = match (h.kind, h.code) {
            (
                Kind::Message,
                Some(Mark::Role(Role::Inbox | Role::Answer | Role::Request | Role::Begin | Role::Tell)),
            ) => None,
            (
                Kind::Timer,
                Some(Mark::Timing(Timing::Fired | Timing::Opens | Timing::Cancelled | Timing::Wall)),
            ) => None,
            (Kind::Message | Kind::Timer, _) => Some(&h.from),
            (Kind::Refusal | Kind::Attempt, _) => h.to.as_ref(),
            (Kind::Outcome, Some(Mark::DeadLetter)) => h.to.as_ref(),
            (Kind::Outcome, Some(Mark::Handled)) => Some(&h.from),
            (Kind::Outcome | Kind::Terminal | Kind::Approval | Kind::Steer | Kind::Journal, _) => None,
        };
        if let Some(listener) = over {
            self.freed.insert(listener.clone(), h.time);
        }
    }

    fn note_sys(&mut self, record: &Record) {
        let (h, body) = (&record.header, &record.body);
        if h.code == Some(Mark::Role(Role::Told)) && attribute(body, "boot", "organism").is_some() {
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

/// Records read at once.
const PAGE: usize = 512;

/// Folds a thread from its first record to that one, as far as it goes, and shows each on the way. Every
/// record is verified; none where the thread has no record.
pub(super) fn folded_until(
    reader: &dyn LogReader,
    id: &ThreadId,
    seq: u64,
    mut show: impl FnMut(&Record),
) -> Result<Option<Thread>, LogFault> {
    let mut thread = Thread::blank(id.clone());
    loop {
        let page = reader.of_thread(id, thread.seq + 1, PAGE)?;
        for (position, record) in page.iter().filter(|(_, record)| record.header.seq <= seq) {
            wake::fold_next(&mut thread, record, *position)?;
            show(record);
        }
        if page.len() < PAGE || thread.seq >= seq {
            return Ok((thread.seq > 0).then_some(thread));
        }
    }
}
