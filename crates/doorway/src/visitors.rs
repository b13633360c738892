//! The connections of a door: those that have not shown a token yet, and those of clients that are idle. Both are few, so
//! that silent connections take no descriptors from clients and programs.
//!
//! What happens on a connection comes in; the order to end goes out, to the oldest when too many newer ones have come. A
//! request that is under way takes a place of its client, from its token until its answer is sent.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::shared_places::{PlaceShortage, SharedPlace, SharedPlaces};
use crate::limits;
use systole_core::types::ids::Name;
use systole_core::types::ports::Clock as _;
use systole_core::types::time::Millis;
use systole_system::clock::WallClock;

/// The connections of a door.
pub struct Visitors {
    most_unknown: usize,
    most_idle: usize,
    /// Those without a token, oldest first.
    unknown: Mutex<BTreeMap<u64, Arc<VisitorState>>>,
    idle: Mutex<IdleConnections>,
    requests: SharedPlaces,
    /// One without a token has ended, or has shown one.
    freed: Notify,
    /// Connections that got a last answer and are not closed yet.
    leaving: AtomicUsize,
    count: AtomicU64,
}

/// The idle connections of each client, the one that is idle longest first.
#[derive(Default)]
struct IdleConnections {
    count: usize,
    next: u64,
    clients: BTreeMap<Name, BTreeMap<u64, Arc<VisitorState>>>,
}

impl IdleConnections {
    /// Adds a connection of a client, as the one that is idle for the shortest time. If there are too many, one ends:
    /// the longest idle one of this client or of the one with the most.
    fn add(&mut self, client: &Name, state: &Arc<VisitorState>, most: usize) {
        self.remove(client, state);
        self.next += 1;
        state.idle_number.store(self.next, Ordering::Release);
        let own = self.clients.entry(client.clone()).or_default();
        own.insert(self.next, state.clone());
        self.count += 1;
        let has_own = own.len() > limits::OWN_IDLE.min(most);
        if !has_own && self.count <= most {
            return;
        }
        let size = |own: &BTreeMap<u64, _>| (own.len(), Reverse(own.keys().next().copied()));
        let largest = self.clients.iter().max_by_key(|(_, own)| size(own)).map(|(name, _)| name);
        let crowded = if has_own { Some(client) } else { largest }.cloned();
        let longest = crowded.and_then(|crowded| {
            let (_, longest) = self.clients.get(&crowded)?.first_key_value()?;
            Some((crowded, longest.clone()))
        });
        if let Some((crowded, longest)) = longest {
            self.remove(&crowded, &longest);
            longest.end();
        }
    }

    fn remove(&mut self, client: &Name, state: &VisitorState) {
        let number = state.idle_number.load(Ordering::Acquire);
        let Some(own) = self.clients.get_mut(client) else { return };
        if own.remove(&number).is_some() {
            self.count -= 1;
        }
        if own.is_empty() {
            self.clients.remove(client);
        }
    }
}

/// What the door knows of a connection.
struct VisitorState {
    number: u64,
    came: Millis,
    /// Its client, once it has shown a token.
    client: OnceLock<Name>,
    /// The place of the request that is under way.
    place: Mutex<Option<SharedPlace>>,
    /// Whether there is one. Without it a connection of a client counts as idle, also while it is read.
    is_busy: AtomicBool,
    /// Whether the answer of a request is there, and only has to be sent.
    is_answered: AtomicBool,
    /// Since when it is idle.
    idle_since: AtomicU64,
    idle_number: AtomicU64,
    /// Whether it ends for others.
    is_over: AtomicBool,
    is_closed: AtomicBool,
    reader: AtomicWaker,
}

impl VisitorState {
    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.reader.wake();
    }
}

/// The remote end of a connection.
#[derive(Clone)]
pub struct Visitor {
    visitors: Arc<Visitors>,
    state: Arc<VisitorState>,
    /// Its address.
    pub address: SocketAddr,
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is complete before anything can panic.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Visitors {
    /// Those of a process that may open so many files.
    pub fn new(files: usize) -> Visitors {
        let all = files / 4 * 3;
        Visitors {
            most_unknown: limits::STRANGERS.min(files / limits::STRANGERS_SHARE),
            most_idle: files / limits::IDLE_SHARE,
            unknown: Mutex::default(),
            idle: Mutex::default(),
            requests: SharedPlaces::new(limits::OWN_REQUESTS.min(all / 2), all, limits::OPERATOR_REQUESTS),
            freed: Notify::new(),
            leaving: AtomicUsize::new(0),
            count: AtomicU64::new(0),
        }
    }

    /// Waits until there is room for one more connection. Those that came together and have not been read yet end for
    /// no other one.
    pub async fn wait_for_room(&self) {
        loop {
            let oldest = {
                let unknown = lock(&self.unknown);
                let is_full = unknown.len() >= self.most_unknown;
                unknown.values().next().filter(|_| is_full).map(|oldest| oldest.came)
            };
            let age_ms = oldest.map_or(limits::UNREAD_MS, |came| WallClock.ticks().count_since(came));
            let Some(wait_ms @ 1..) = limits::UNREAD_MS.checked_sub(age_ms) else { return };
            let _freed = timeout(Duration::from_millis(wait_ms), self.freed.notified()).await;
        }
    }

    /// Adds a connection. If there are too many without a token, the oldest of them ends.
    pub fn add_connection(self: &Arc<Visitors>, address: SocketAddr) -> Visitor {
        let number = self.count.fetch_add(1, Ordering::AcqRel);
        let state = Arc::new(VisitorState {
            number,
            came: WallClock.ticks(),
            client: OnceLock::new(),
            place: Mutex::default(),
            is_busy: AtomicBool::new(false),
            is_answered: AtomicBool::new(false),
            idle_since: AtomicU64::new(0),
            idle_number: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            reader: AtomicWaker::new(),
        });
        let mut unknown = lock(&self.unknown);
        unknown.insert(number, state.clone());
        let oldest = (unknown.len() > self.most_unknown).then(|| unknown.pop_first()).flatten();
        if let Some((_, oldest)) = oldest {
            oldest.end();
        }
        drop(unknown);
        Visitor { visitors: self.clone(), state, address }
    }

    fn forget_unknown(&self, state: &VisitorState) {
        if lock(&self.unknown).remove(&state.number).is_some() {
            self.freed.notify_one();
        }
    }
}

impl Visitor {
    /// The connection has shown the token of a client: it may stay, and its request takes a place. An error says
    /// why there is none.
    pub fn let_in(&self, client: &Name) -> Result<(), String> {
        if self.state.client.set(client.clone()).is_ok() {
            self.visitors.forget_unknown(&self.state);
            // It may have been the oldest in the moment in which its token was read.
            self.state.is_over.store(false, Ordering::Release);
        }
        let place = self.visitors.requests.take_place(client).map_err(|shortage| {
            self.add_idle();
            match shortage {
                PlaceShortage::Own(most) => {
                    format!("{most} requests of {client} are under way already, the most for one client")
                }
                PlaceShortage::All(most) => {
                    format!("{most} requests are under way already, the most for all clients")
                }
            }
        })?;
        let mut idle = lock(&self.visitors.idle);
        if !self.state.is_closed.load(Ordering::Acquire) {
            *lock(&self.state.place) = Some(place);
            self.state.is_busy.store(true, Ordering::Release);
            idle.remove(self.state.client.get().unwrap_or(client), &self.state);
            self.state.is_over.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Whether it has shown a token.
    pub fn is_known(&self) -> bool {
        self.state.client.get().is_some()
    }

    /// The head of a request was read.
    pub fn begin_request(&self) {
        self.state.is_answered.store(false, Ordering::Release);
        self.state.idle_since.store(WallClock.ticks().0, Ordering::Release);
        if let Some(client) = self.state.client.get() {
            let mut idle = lock(&self.visitors.idle);
            if !self.state.is_busy.load(Ordering::Acquire) {
                // Until it has a place, it is the one that is idle for the shortest time.
                idle.add(client, &self.state, self.visitors.most_idle);
            }
        }
    }

    /// The answer is complete. As soon as it is sent, the request is over.
    pub fn end_answer(&self) {
        self.state.is_answered.store(true, Ordering::Release);
    }

    /// All that was written is sent.
    pub fn note_sent(&self) {
        if !self.state.is_answered.swap(false, Ordering::AcqRel) {
            return;
        }
        self.state.idle_since.store(WallClock.ticks().0, Ordering::Release);
        self.add_idle();
    }

    /// No request of its client is under way any more.
    fn add_idle(&self) {
        let Some(client) = self.state.client.get() else { return };
        let mut idle = lock(&self.visitors.idle);
        self.state.is_busy.store(false, Ordering::Release);
        *lock(&self.state.place) = None;
        if !self.state.is_closed.load(Ordering::Acquire) {
            idle.add(client, &self.state, self.visitors.most_idle);
        }
    }

    /// Wakes who reads from it if it has to end.
    pub fn wake_at_end(&self, reader: &Waker) {
        self.state.reader.register(reader);
    }

    /// Whether it ends for others.
    pub fn is_over(&self) -> bool {
        self.state.is_over.load(Ordering::Acquire)
    }

    /// How long it may still be idle; `None` while a request is under way.
    pub fn find_idle_rest(&self) -> Option<Duration> {
        if self.state.is_busy.load(Ordering::Acquire) {
            return None;
        }
        let since = Millis(self.state.idle_since.load(Ordering::Acquire));
        Some(limits::IDLE.saturating_sub(Duration::from_millis(WallClock.ticks().count_since(since))))
    }

    /// Whether one more connection may wait for its client to close it. Each costs a descriptor.
    pub fn may_leave_slowly(&self) -> bool {
        let leaving = self.visitors.leaving.fetch_add(1, Ordering::AcqRel);
        leaving < self.visitors.most_unknown
    }

    /// The connection is closed.
    pub fn close(&self, is_leaving: bool) {
        if is_leaving {
            self.visitors.leaving.fetch_sub(1, Ordering::AcqRel);
        }
        let mut idle = lock(&self.visitors.idle);
        self.state.is_closed.store(true, Ordering::Release);
        *lock(&self.state.place) = None;
        if let Some(client) = self.state.client.get() {
            idle.remove(client, &self.state);
        }
        drop(idle);
        self.visitors.forget_unknown(&self.state);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll};

    use super::*;

    #[tokio::test]
    async fn d12_the_door_waits_for_connections_that_are_not_read_yet_and_not_for_long() {
        let visitors = Arc::new(Visitors::new(2 * limits::STRANGERS_SHARE));
        let is_full = || {
            let mut waits = pin!(visitors.wait_for_room());
            waits.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Pending
        };
        let come = || visitors.add_connection(([127, 0, 0, 1], 1).into());
        assert!(!is_full());
        let mut here = vec![come()];
        assert!(!is_full(), "there is room for two");
        // On a machine that stalls, those that came may be old already.
        let fills = |here: &mut Vec<Visitor>| {
            (0..1_000).any(|_| {
                here.push(come());
                is_full()
            })
        };
        assert!(fills(&mut here));
        assert!(here.last().unwrap().let_in(&Name::new_operator()).is_ok());
        assert!(!is_full(), "one has shown a token");
        assert!(fills(&mut here));
        visitors.wait_for_room().await;
        here.push(come());
        assert_eq!(here.iter().filter(|one| one.is_over()).count(), here.len() - 3, "the oldest end");
    }
}
