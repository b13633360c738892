//! Readings of the log for the pages and routes: each runs off the door's threads, sees what its client may see, and
//! sees it as it is now or as it was at a position.
//!
//! A client, a position and a piece of work come in; what the work found or a refusal goes out. Few readings run at
//! once, and fewer of one client, so that no client keeps the others from reading.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use super::request_refusals::{LOOK, describe_unfit_address};
use crate::limits;
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{Clock as _, LogFault, LogReader, Position};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_doorway::kept_answers::KeptAnswers;
use systole_doorway::kept_views::{KeptViews, LogViewKey, lock_value};
use systole_doorway::watch_budget::WatchBudget;
use systole_log::index::{IndexFault, IndexFile};
use systole_log::search::SearchFile;
use systole_organism::front::OrganismHandle;
use systole_organism::indexing::ask_index;
use systole_organism::resting_verdict::RestingVerdict;
use systole_queries::index::{LogIndex, describe_fault};
use systole_queries::log_reads::{PastLog, VisibleLog};
use systole_queries::log_state::LogState;
use systole_queries::tree::{self, ThreadTree};
use systole_queries::troubles::{self, Troubles};
use systole_show::columns::plain;
use systole_show::layout;
use systole_system::clock::WallClock;

/// The places of those who read, and what readings share.
pub struct LogViews {
    places: Arc<Semaphore>,
    clients: Mutex<BTreeMap<Name, ReadingClient>>,
    shared: Arc<SharedReadings>,
}

/// What is kept for a client: its places, and the part of the log that it may see.
#[derive(Clone)]
struct ReadingClient {
    places: Arc<Semaphore>,
    reader: Arc<dyn LogReader>,
}

/// What readings share.
#[derive(Default)]
struct SharedReadings {
    states: KeptViews<LogState>,
    troubles: KeptViews<Troubles>,
    /// The indexes of the log as it was at positions.
    past_indexes: KeptViews<Mutex<LogIndex>>,
    trees: KeptViews<Option<ThreadTree>, (LogViewKey, ThreadId)>,
    answers: KeptAnswers,
    budget: WatchBudget,
    /// The search file of a log at rest, once one was needed.
    resting_search: Mutex<Option<SearchFile>>,
}

impl Default for LogViews {
    fn default() -> LogViews {
        LogViews {
            places: Arc::new(Semaphore::new(limits::READINGS)),
            clients: Mutex::default(),
            shared: Arc::default(),
        }
    }
}

/// Which moment is read.
#[derive(Clone, Copy, Default)]
pub struct MomentAsked {
    /// The position that counts as the end.
    pub at: Option<Position>,
    /// The position that a page was told of, if it refreshes itself: what is shown is at least that new.
    pub told: Option<Position>,
}

/// What one reading sees.
pub struct LogMoment {
    /// The log as this client may see it, up to the position.
    pub reader: Arc<dyn LogReader>,
    /// The moment that counts as now: that of the position, or the clock's.
    pub now: Millis,
    /// The position, if it is not the end.
    pub at: Option<Position>,
    /// The client that reads.
    pub client: Name,
    /// Whether the client may see the threads of others.
    pub sees_all: bool,
    /// The handle of the organism.
    pub front: OrganismHandle,
    view: LogViewKey,
    /// The position that a page was told of.
    told: Option<Position>,
    shared: Arc<SharedReadings>,
}

impl LogMoment {
    /// The state of the log. A page that refreshes itself shares it with the others that were told of the same position;
    /// every other page gets the newest.
    pub fn read_state(&self) -> Result<Arc<LogState>, LogFault> {
        let last = self.reader.read_last()?;
        let wanted = self.told.map_or(last, |told| told.min(last));
        let read = |source: &[u8]| self.read_configuration(source);
        let is_running = self.at.is_none() && self.front.at_rest().is_none();
        let running = is_running.then(std::process::id);
        self.shared.states.at_least(self.view.clone(), wanted, |before| {
            let later = before.map(|before| before.go_on(&*self.reader, &read)).transpose()?.flatten();
            let whole = match later {
                Some(whole) => whole,
                None => Arc::new(LogState::look(&*self.reader, &read, running)?),
            };
            Ok((whole.end, whole))
        })
    }

    /// What went wrong since a moment. A page that refreshes itself shares it as it shares the state.
    pub fn read_troubles(&self, since: Millis) -> Result<Arc<Troubles>, LogFault> {
        let read = || troubles::since(&*self.reader, since).map(Arc::new);
        let Some(told) = self.told else { return read() };
        let last = self.reader.read_last()?;
        let read = |_| read().map(|found| (last, found));
        self.shared.troubles.at_least(self.view.clone(), told.min(last), read)
    }

    /// What a thread caused, at least as new as the state. A page that is open reads only what came since.
    pub fn read_tree(&self, id: &ThreadId) -> Result<Arc<Option<ThreadTree>>, LogFault> {
        if self.reader.of_thread(id, 1, 1)?.is_empty() {
            // Nothing is kept of it, so that no tree of another page has to go.
            return Ok(Arc::default());
        }
        let last = self.reader.read_last()?;
        let wanted = self.told.map_or(last, |told| told.min(last));
        self.shared.trees.at_least((self.view.clone(), id.clone()), wanted, |before| {
            let mut tree = before.unwrap_or_default();
            match Arc::make_mut(&mut tree) {
                Some(known) => known.read_on(&*self.reader)?,
                unknown => *unknown = tree::read(&*self.reader, id)?,
            }
            Ok((last, tree))
        })
    }

    /// Asks the index, with all that the log has: of all clients now, or of what this client sees at the position.
    pub fn ask_index<T>(
        &self,
        mut ask: impl FnMut(&IndexFile) -> Result<T, IndexFault>,
    ) -> Result<T, LogFault> {
        let Some(at) = self.at else {
            return ask_index(self.front.index(), &**self.front.reader(), &mut ask);
        };
        let past = self.shared.past_indexes.at_least(self.view.clone(), at, |before| {
            Ok((at, before.unwrap_or_else(|| Arc::new(Mutex::new(LogIndex::apart())))))
        })?;
        let mut index = lock_value(&past);
        index.ask(&*self.reader, &mut |_, _| true, &mut ask).map_err(describe_fault)
    }

    /// The client, if it may not see the threads of others.
    pub(crate) fn own_name(&self) -> Option<&Name> {
        self.view.0.as_ref()
    }

    /// The client, if it sees only the threads that it opened, and none in which it decides.
    pub(crate) fn own_client(&self) -> Option<&Name> {
        self.own_name().filter(|client| !self.front.composition().has_role(client, Role::Approve))
    }

    /// The search file of a log at rest.
    pub(crate) fn resting_search(&self) -> MutexGuard<'_, Option<SearchFile>> {
        lock_value(&self.shared.resting_search)
    }

    /// Those of some threads that the client may open.
    pub fn find_open<'t>(
        &self,
        threads: impl Iterator<Item = &'t ThreadId>,
    ) -> Result<BTreeSet<ThreadId>, LogFault> {
        let mut open = BTreeSet::new();
        for thread in threads {
            if !open.contains(thread) && !self.reader.of_thread(thread, 1, 1)?.is_empty() {
                open.insert(thread.clone());
            }
        }
        Ok(open)
    }

    /// The log of all clients at the same moment, for what is not bound to the role that reads it.
    pub fn of_all(&self) -> Arc<dyn LogReader> {
        let all = self.front.reader().clone();
        match self.at {
            Some(at) => Arc::new(PastLog::new(all, at)),
            None => all,
        }
    }

    /// A configuration from its stored source, or why it cannot be read.
    pub fn read_configuration(&self, source: &[u8]) -> Result<Composition, String> {
        self.front.read_configuration(source)
    }

    /// The running composition.
    pub fn composition(&self) -> &Arc<Composition> {
        self.front.composition()
    }
}

/// Why a moment cannot be read.
enum MomentFault {
    Refused(Refusal),
    Log(LogFault),
}

impl From<LogFault> for MomentFault {
    fn from(fault: LogFault) -> MomentFault {
        MomentFault::Log(fault)
    }
}

impl LogViews {
    /// The answers that pages share.
    pub fn answers(&self) -> &KeptAnswers {
        &self.shared.answers
    }

    /// What the pages that follow the log may cost.
    pub fn budget(&self) -> &WatchBudget {
        &self.shared.budget
    }

    /// Runs work that reads the log for a client, now or at a position.
    pub async fn run_reading<T: Send + 'static>(
        &self,
        front: &OrganismHandle,
        client: &Name,
        asked: MomentAsked,
        work: impl FnOnce(&LogMoment) -> Result<T, LogFault> + Send + 'static,
    ) -> Result<T, Refusal> {
        let own = self.of_client(front, client);
        let closed = |_| refuse_reading("the door is closed");
        let own_place = own.places.acquire_owned().await.map_err(closed)?;
        let place = self.places.clone().acquire_owned().await.map_err(closed)?;
        let (front, client, shared) = (front.clone(), client.clone(), self.shared.clone());
        let at_rest = front.at_rest().cloned();
        let reading = tokio::task::spawn_blocking(move || {
            // Held until the work is done, even if the one who asked is gone.
            let _places = (own_place, place);
            let read = || {
                open_moment(front, &client, own.reader, asked, shared.clone())
                    .and_then(|moment| layout::whole_lines(|| work(&moment)).map_err(MomentFault::Log))
            };
            let found = if asked.told.is_some() { shared.budget.counts_here(&client, read) } else { read() };
            found.map_err(|fault| match fault {
                MomentFault::Refused(refusal) => refusal,
                MomentFault::Log(fault) if fault.is_damage() && at_rest.is_some() => {
                    refuse_damaged(&fault, at_rest.as_deref())
                }
                MomentFault::Log(fault) => {
                    tracing::error!(why = %fault, fix = LOOK, "the log cannot be read for a client");
                    refuse_reading("the log cannot be read at the moment")
                }
            })
        });
        reading.await.unwrap_or_else(|_| Err(refuse_reading("the log cannot be read at the moment")))
    }

    fn of_client(&self, front: &OrganismHandle, client: &Name) -> ReadingClient {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let all = front.reader().clone();
            let reader: Arc<dyn LogReader> = match front.composition().has_role(client, Role::Read) {
                true => all,
                false => {
                    let decides = front.composition().has_role(client, Role::Approve);
                    Arc::new(VisibleLog::new(all, client.clone(), decides))
                }
            };
            ReadingClient { places: Arc::new(Semaphore::new(limits::OWN_READINGS)), reader }
        };
        clients.entry(client.clone()).or_insert_with(new).clone()
    }
}

/// A refusal to read. The fault itself may name threads of others, so the operator alone is told.
fn refuse_reading(words: &'static str) -> Refusal {
    Refusal::new(Code::IngressUnavailable, words)
        .fixed_by("ask again later; systole doctor says what is wrong")
}

/// The refusal of what is damaged in a log at rest. Its one reader sees all of it.
fn refuse_damaged(fault: &LogFault, shown: Option<&RestingVerdict>) -> Refusal {
    let file = shown.map(|shown| shown.typed.as_str()).unwrap_or_default();
    let fix = format!("`systole verify {file}`, which says what is damaged; a backup has what is lost here");
    Refusal::new(Code::DamagedThread, plain(&fault.to_string())).fixed_by(fix)
}

/// The refusal of a log at rest that is not any more what was verified.
fn refuse_changed(shown: &RestingVerdict) -> Refusal {
    let words = format!("{} has changed since it was verified", plain(&shown.file.display().to_string()));
    let file = &shown.typed;
    let fix = format!(
        "`systole open {file}` again; or `systole console --log {file}` while an organism runs on it"
    );
    Refusal::new(Code::IngressUnavailable, words).fixed_by(fix)
}

/// The log as that client sees it at that position.
fn open_moment(
    front: OrganismHandle,
    client: &Name,
    mut reader: Arc<dyn LogReader>,
    MomentAsked { at, told }: MomentAsked,
    shared: Arc<SharedReadings>,
) -> Result<LogMoment, MomentFault> {
    if let Some(shown) = front.at_rest().filter(|shown| shown.is_outdated()) {
        return Err(MomentFault::Refused(refuse_changed(shown)));
    }
    let mut now = WallClock.now();
    if let Some(at) = at {
        let all = front.reader();
        let before = Position(at.0.saturating_sub(1));
        let found = if at.0 == 0 { None } else { all.read_after(before, 1)?.pop() };
        let Some((_, record)) = found.filter(|(position, _)| *position == at) else {
            let last = all.read_last()?;
            let words = format!("at={}: there is no such position; the log ends at {}", at.0, last.0);
            return Err(MomentFault::Refused(describe_unfit_address(words)));
        };
        now = record.header.time;
        reader = Arc::new(PastLog::new(reader, at));
    }
    let sees_all = front.composition().has_role(client, Role::Read);
    let view = ((!sees_all).then(|| client.clone()), at);
    Ok(LogMoment { reader, now, at, client: client.clone(), sees_all, front, view, told, shared })
}
