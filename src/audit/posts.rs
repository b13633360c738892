//! Which of the calls whose turn is due are out with their listener, which wait for a slot, and which
//! for their time.
//!
//! The log does not record that a delivery went out, only what came of it. But slots are given in the
//! order in which calls became due, so who has one can be worked out; where that leaves a choice (more
//! than one slot), the time since when is the earliest it can be. The whole comes in; a post for every
//! due call goes out.

use std::collections::{BTreeMap, HashMap};

use super::whole::Whole;
use systole_core::pump::state::{Call, Stand};
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::time::Millis;

/// Where a due call stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Post {
    /// Nobody runs the organism: it goes out, perhaps once more, when somebody does.
    Stopped,
    /// Nothing new of its thread goes out, by an order about this one.
    Paused {
        /// The thread that is paused, which may be one above; `sys` where everything is.
        by: ThreadId,
    },
    /// Not before that moment.
    BackOff {
        /// When it may go out.
        until: Millis,
    },
    /// Waits for a slot of its listener.
    Queued {
        /// Its place among those that wait, from 1.
        place: usize,
        /// The slots, all taken.
        slots: usize,
    },
    /// With its listener.
    Out {
        /// Since when, at the earliest.
        since: Millis,
    },
}

/// The post of every due call.
pub struct Posts(HashMap<(ThreadId, CallPath), Post>);

/// When a call could first go out: since then it stands in its listener's queue.
fn due_at(call: &Call) -> Millis {
    call.ready_at.max(call.not_before)
}

impl Posts {
    /// Works out the posts at a moment.
    pub fn at(whole: &Whole, now: Millis) -> Posts {
        let mut posts = HashMap::new();
        let mut queues: BTreeMap<&Name, Vec<(Millis, &ThreadId, &CallPath, &Call)>> = BTreeMap::new();
        for thread in whole.working() {
            let halted = whole.halted(&thread.id);
            for (path, call) in &thread.calls {
                if !matches!(call.stand(), Stand::Ready { .. }) {
                    continue;
                }
                let key = (thread.id.clone(), path.clone());
                if whole.running.is_none() {
                    posts.insert(key, Post::Stopped);
                } else if let Some((by, _)) = halted.as_ref().filter(|(_, since)| due_at(call) >= *since) {
                    posts.insert(key, Post::Paused { by: by.clone() });
                } else if call.not_before > now {
                    posts.insert(key, Post::BackOff { until: call.not_before });
                } else {
                    queues.entry(&call.listener).or_default().push((due_at(call), &thread.id, path, call));
                }
            }
        }
        for (listener, mut queue) in queues {
            queue.sort_by_key(|(due, thread, path, call)| {
                (*due, whole.place(thread, call.ready_seq), *thread, call.ready_seq, *path)
            });
            for (index, (due, thread, path, call)) in queue.into_iter().enumerate() {
                let slots = whole.slots(call.config, listener);
                let halted = whole.halted(thread);
                let post = if let Some((by, _)) = halted.filter(|_| index >= slots) {
                    // It had no slot before the pause, so it did not go out.
                    Post::Paused { by }
                } else if index >= slots {
                    Post::Queued { place: index + 1 - slots, slots }
                } else {
                    Post::Out { since: out_since(whole, listener, due, slots) }
                };
                posts.insert((thread.clone(), path.clone()), post);
            }
        }
        Posts(posts)
    }

    /// The post of a call; none if no turn of it is due.
    pub fn of(&self, thread: &ThreadId, call: &CallPath) -> Option<&Post> {
        self.0.get(&(thread.clone(), call.clone()))
    }
}

/// A delivery goes out when it is due, the organism runs, and a slot is free; with one slot that is
/// when the delivery before it was over.
fn out_since(whole: &Whole, listener: &Name, due: Millis, slots: usize) -> Millis {
    let freed = whole.freed(listener).filter(|_| slots == 1);
    due.max(whole.booted().unwrap_or_default()).max(freed.unwrap_or_default())
}
