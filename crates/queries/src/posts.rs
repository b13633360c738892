//! Which due calls are out with their listener, which wait for a slot, and which for their time.
//!
//! The log does not record when a delivery goes out, only its outcome. But slots are given to the
//! clients in turn, to each in the order in which its calls become due, so the calls that have one can
//! be derived. If that leaves a choice (more than one slot, or which client comes first), the start
//! time is the earliest possible one, and who waits longest comes first. The whole comes in; a post
//! for every due call goes out.

use std::collections::{BTreeMap, HashMap};

use super::log_state::LogState;
use systole_core::pump::state::{Call, CallState, OutageWait};
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::limits;
use systole_core::types::time::Millis;

/// The state of a due call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DueCallState {
    /// The organism is not running: the call goes out, perhaps again, when it does.
    Stopped,
    /// Paused: nothing new of its thread goes out.
    Paused {
        /// The paused thread, which may be one above; `sys` if everything is paused.
        by: ThreadId,
    },
    /// It waits until that moment.
    BackOff {
        /// When it may go out.
        until: Millis,
    },
    /// It waits for a slot of its listener.
    Queued {
        /// Its place in the queue, from 1.
        place: usize,
        /// The number of slots, all taken.
        slots: usize,
        /// The queue of its client, if that is almost full.
        full: Option<FullQueue>,
    },
    /// It reaches no one for now.
    Away {
        /// Who is away.
        outage: Outage,
        /// Since when the call waits.
        since: Millis,
    },
    /// It is with its listener.
    Out {
        /// Since when, at the earliest.
        since: Millis,
    },
}

/// The calls of a client that wait for a listener, which are almost as many as the file allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FullQueue {
    /// The client.
    pub client: Name,
    /// How many wait.
    pub calls: usize,
    /// How many may, before its messages are refused.
    pub most: u32,
}

impl FullQueue {
    fn new(client: &Name, calls: usize, most: u32) -> Option<FullQueue> {
        let warned = usize::try_from(most - most / 4).unwrap_or(usize::MAX);
        (calls >= warned).then(|| FullQueue { client: client.clone(), calls, most })
    }

    /// What it means, in words.
    pub fn describe(&self) -> String {
        let FullQueue { client, calls, most } = self;
        format!("{calls} calls of {client} wait there; with {most} (limits.queue) its messages are refused")
    }
}

/// The post of every due call.
pub struct DueCalls(HashMap<(ThreadId, CallPath), DueCallState>);

/// Someone is away that calls of a listener wait for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outage {
    /// Who, in one word.
    pub word: String,
    /// How many calls wait.
    pub calls: usize,
    /// Since when the first of them waits.
    pub longest: Millis,
    /// Whether all calls with a slot wait.
    is_whole: bool,
}

impl Outage {
    /// The outage that all calls with a slot wait for; those behind them wait too.
    fn among(
        queue: &[(Millis, &ThreadId, &CallPath, &Call)],
        slots: impl Fn(&Call) -> usize,
    ) -> Option<Outage> {
        let with_slot = queue.iter().enumerate().filter(|(index, (.., call))| *index < slots(call));
        let waits: Vec<_> = with_slot.map(|(_, (.., call))| call.waits.as_ref()).collect();
        let first = waits.iter().flatten().min_by_key(|wait| wait.since)?;
        let waiting = waits.iter().flatten().count();
        let is_whole = waiting == waits.len();
        let calls = if is_whole { queue.len() } else { waiting };
        Some(Outage { word: first.outage.clone(), calls, longest: first.since, is_whole })
    }
}

/// Who is away. Agents share the words for their models; any other word is the listener's own.
fn who(call: &Call, wait: &OutageWait) -> String {
    if wait.outage.starts_with(limits::MODEL_AWAY) {
        return wait.outage.clone();
    }
    format!("{} {}", call.listener.as_str(), wait.outage)
}

/// Whether a call that waits has no place in the queue of its listener.
fn is_apart(wait: &&OutageWait) -> bool {
    let outage = wait.outage.as_str();
    !wait.is_sent && (outage == limits::LISTENER_AWAY || !limits::is_queued(outage))
}

/// When a call could first go out: since then it is in its listener's queue.
fn due_at(call: &Call) -> Millis {
    call.ready_at.max(call.not_before)
}

impl DueCalls {
    /// Computes the posts at a moment.
    pub fn at(whole: &LogState, now: Millis) -> DueCalls {
        let mut posts = HashMap::new();
        let mut absent: BTreeMap<String, Vec<(ThreadId, CallPath, &OutageWait, Millis)>> = BTreeMap::new();
        let mut queues: BTreeMap<&Name, Vec<(Millis, &ThreadId, &CallPath, &Call)>> = BTreeMap::new();
        for thread in whole.working() {
            let halted = whole.find_halt(&thread.id);
            for (path, call) in &thread.calls {
                if !matches!(call.stand(), CallState::Ready { .. }) {
                    continue;
                }
                let key = (thread.id.clone(), path.clone());
                if whole.running.is_none() {
                    posts.insert(key, DueCallState::Stopped);
                } else if let Some((by, _)) = halted.as_ref().filter(|(_, since)| due_at(call) >= *since) {
                    posts.insert(key, DueCallState::Paused { by: by.clone() });
                } else if let Some(wait) = call.waits.as_ref().filter(is_apart) {
                    let since = call.away_since.unwrap_or(wait.since);
                    absent.entry(who(call, wait)).or_default().push((key.0, key.1, wait, since));
                } else if call.not_before > now {
                    posts.insert(key, DueCallState::BackOff { until: call.not_before });
                } else {
                    queues.entry(&call.listener).or_default().push((due_at(call), &thread.id, path, call));
                }
            }
        }
        for waiting in absent.into_values() {
            let longest = waiting.iter().map(|(.., since)| *since).min().unwrap_or_default();
            for (thread, call, wait, since) in &waiting {
                let (word, calls) = (wait.outage.clone(), waiting.len());
                let outage = Outage { word, calls, longest, is_whole: true };
                let key = (thread.clone(), call.clone());
                posts.insert(key, DueCallState::Away { outage, since: *since });
            }
        }
        for (listener, mut queue) in queues {
            queue.sort_by_key(|(due, thread, path, call)| {
                (*due, whole.place(thread, call.ready_seq), *thread, call.ready_seq, *path)
            });
            take_turns(whole, &mut queue);
            let counts = count_behind(whole, listener, &queue);
            let outage = Outage::among(&queue, |call| whole.slots(call.config, listener));
            for (index, (due, thread, path, call)) in queue.into_iter().enumerate() {
                let slots = whole.slots(call.config, listener);
                let is_away = |outage: &&Outage| call.waits.is_some() || outage.is_whole && index >= slots;
                if let Some(outage) = outage.as_ref().filter(is_away) {
                    let since = call.waits.as_ref().map_or(due, |wait| wait.since);
                    let post = DueCallState::Away { outage: outage.clone(), since };
                    posts.insert((thread.clone(), path.clone()), post);
                    continue;
                }
                let halted = whole.find_halt(thread);
                let post = if let Some((by, _)) = halted.filter(|_| index >= slots) {
                    // It had no slot before the pause, so it did not go out.
                    DueCallState::Paused { by }
                } else if index >= slots {
                    let client = whole.find_client(thread);
                    let calls = counts.get(&client).copied().unwrap_or_default();
                    let most = whole.find_queue_limit(call.config);
                    let full = client.and_then(|client| FullQueue::new(client, calls, most));
                    DueCallState::Queued { place: index + 1 - slots, slots, full }
                } else {
                    DueCallState::Out { since: out_since(whole, listener, due, slots) }
                };
                posts.insert((thread.clone(), path.clone()), post);
            }
        }
        DueCalls(posts)
    }

    /// The post of a call; `None` if no turn of it is due.
    pub fn of(&self, thread: &ThreadId, call: &CallPath) -> Option<&DueCallState> {
        self.0.get(&(thread.clone(), call.clone()))
    }
}

/// Puts calls in the order in which they go out: each client has one in turn.
fn take_turns(whole: &LogState, queue: &mut [(Millis, &ThreadId, &CallPath, &Call)]) {
    let mut counts: HashMap<Option<&Name>, usize> = HashMap::new();
    let turns = queue.iter().map(|(_, thread, ..)| {
        let count = counts.entry(whole.find_client(thread)).or_default();
        *count += 1;
        *count
    });
    let mut turns: Vec<_> = turns.zip(queue.iter().copied()).collect();
    turns.sort_by_key(|(turn, _)| *turn);
    queue.iter_mut().zip(turns).for_each(|(place, (_, due))| *place = due);
}

/// How many calls of each client have no slot.
fn count_behind<'a>(
    whole: &'a LogState,
    listener: &Name,
    queue: &[(Millis, &ThreadId, &CallPath, &Call)],
) -> HashMap<Option<&'a Name>, usize> {
    let mut counts = HashMap::new();
    for (index, (_, thread, _, call)) in queue.iter().enumerate() {
        if index >= whole.slots(call.config, listener) {
            *counts.entry(whole.find_client(thread)).or_default() += 1;
        }
    }
    counts
}

/// The queues that are almost full, with their listeners.
pub fn find_full_queues(whole: &LogState, posts: &DueCalls) -> Vec<(Name, FullQueue)> {
    let mut found = BTreeMap::new();
    for thread in whole.working() {
        for (path, call) in &thread.calls {
            if let Some(DueCallState::Queued { full: Some(full), .. }) = posts.of(&thread.id, path) {
                found.insert((call.listener.clone(), full.client.clone()), full.clone());
            }
        }
    }
    found.into_iter().map(|((listener, _), full)| (listener, full)).collect()
}

/// A delivery goes out when it is due, the organism runs, and a slot is free; with one slot that is
/// when the previous delivery was over.
fn out_since(whole: &LogState, listener: &Name, due: Millis, slots: usize) -> Millis {
    let freed = whole.last_delivery_ended(listener).filter(|_| slots == 1);
    due.max(whole.last_start().unwrap_or_default()).max(freed.unwrap_or_default())
}
