//! Readings of the log for the pages and routes: each runs off the door's threads, sees what its client may see, and
//! sees it as it is now or as it was at a position.
//!
//! A client, a position and a piece of work come in; what the work found or a refusal goes out. Few readings run at
//! once, and fewer of one client, so that no client keeps the others from reading.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use super::request_refusals::unfit_request;
use crate::audit::layout;
use crate::audit::log_reads::{PastLog, VisibleLog};
use crate::audit::whole::LogState;
use crate::edges::clock::WallClock;
use crate::runtime::front::OrganismHandle;
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_core::types::ports::{Clock as _, LogFault, LogReader, Position};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;

/// Readings at once.
const READINGS: usize = 4;
/// Readings of one client at once.
const OF_A_CLIENT: usize = 2;

/// The places of those who read.
pub(super) struct LogViews {
    places: Arc<Semaphore>,
    clients: Mutex<BTreeMap<Name, Arc<Semaphore>>>,
}

impl Default for LogViews {
    fn default() -> LogViews {
        LogViews { places: Arc::new(Semaphore::new(READINGS)), clients: Mutex::default() }
    }
}

/// What one reading sees.
pub(super) struct LogMoment {
    /// The log as this client may see it, up to the position.
    pub(super) reader: Arc<dyn LogReader>,
    /// The moment that counts as now: that of the position, or the clock's.
    pub(super) now: Millis,
    /// The position, if it is not the end.
    pub(super) at: Option<Position>,
    /// Whether the client may see the threads of others.
    pub(super) sees_all: bool,
    /// The handle of the organism.
    pub(super) front: OrganismHandle,
}

impl LogMoment {
    /// The state of the log.
    pub(super) fn whole(&self) -> Result<LogState, LogFault> {
        let running = self.at.is_none().then(std::process::id);
        LogState::look(&*self.reader, &|source| self.configuration(source), running)
    }

    /// A configuration from its stored source, or why it cannot be read.
    pub(super) fn configuration(&self, source: &[u8]) -> Result<Composition, String> {
        self.front.configuration(source)
    }

    /// The running composition.
    pub(super) fn composition(&self) -> &Arc<Composition> {
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
    /// Runs work that reads the log for a client, now or at a position.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        front: &OrganismHandle,
        client: &Name,
        at: Option<Position>,
        work: impl FnOnce(&LogMoment) -> Result<T, LogFault> + Send + 'static,
    ) -> Result<T, Refusal> {
        let own = self.of_client(client);
        let closed = |_| unreadable("the door is closed");
        let own = own.acquire_owned().await.map_err(closed)?;
        let place = self.places.clone().acquire_owned().await.map_err(closed)?;
        let (front, client) = (front.clone(), client.clone());
        let reading = tokio::task::spawn_blocking(move || {
            // Held until the work is done, even if the one who asked is gone.
            let _places = (own, place);
            let found = moment(front, &client, at)
                .and_then(|moment| layout::whole_lines(|| work(&moment)).map_err(MomentFault::Log));
            found.map_err(|fault| match fault {
                MomentFault::Refused(refusal) => refusal,
                MomentFault::Log(fault) => {
                    tracing::error!(%fault, "the log cannot be read for a client");
                    unreadable("the log cannot be read at the moment")
                }
            })
        });
        reading.await.unwrap_or_else(|_| Err(unreadable("the log cannot be read at the moment")))
    }

    fn of_client(&self, client: &Name) -> Arc<Semaphore> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.entry(client.clone()).or_insert_with(|| Arc::new(Semaphore::new(OF_A_CLIENT))).clone()
    }
}

/// A refusal to read. The fault itself may name threads of others, so the operator alone is told.
fn unreadable(words: &'static str) -> Refusal {
    Refusal::new(Code::IngressUnavailable, words)
        .fixed_by("ask again later; systole doctor says what is wrong")
}

/// The log as that client sees it at that position.
fn moment(front: OrganismHandle, client: &Name, at: Option<Position>) -> Result<LogMoment, MomentFault> {
    let mut reader = front.reader().clone();
    let mut now = WallClock.now();
    let last = reader.last()?;
    if let Some(at) = at {
        let before = Position(at.0.saturating_sub(1));
        let found = if at.0 == 0 { None } else { reader.after(before, 1)?.pop() };
        let Some((_, record)) = found.filter(|(position, _)| *position == at) else {
            let words = format!("at={}: there is no such position; the log ends at {}", at.0, last.0);
            return Err(MomentFault::Refused(unfit_request(words)));
        };
        now = record.header.time;
        reader = Arc::new(PastLog::new(reader, at));
    }
    let sees_all = front.composition().has_role(client, Role::Read);
    if !sees_all {
        reader = Arc::new(VisibleLog::new(reader, client.clone()));
    }
    Ok(LogMoment { reader, now, at, sees_all, front })
}
