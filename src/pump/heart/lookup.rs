//! Looks into the log: a thread that is not in memory, a key that was bound before, a record that a
//! delivery shows. The heart only asks; whoever reads the log answers later, and what waited for the
//! answer goes on in its old order.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Heart, Input};
use crate::pump::event::{Bound, Work};
use crate::pump::state::Thread;
use crate::pump::wake;
use crate::words::flow::Receipt;
use crate::words::ids::{CallPath, Digest, Key, Name, ThreadId};
use crate::words::ports::{LogFault, LogReader};
use crate::words::record::Record;

/// A question to the log.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// A thread.
    Thread(ThreadId),
    /// The root of a client's key, and those whose ids collide with it.
    Root {
        /// The organism.
        organism: Name,
        /// The client.
        client: Name,
        /// Its key.
        key: Key,
    },
    /// A thread, and whether this client's key is bound in it.
    Key {
        /// The thread.
        thread: ThreadId,
        /// The client.
        client: Name,
        /// Its key.
        key: Key,
    },
    /// Records that a delivery shows.
    Records {
        /// The delivery's work, whose slot is taken.
        work: Work,
        /// Their places in the thread.
        seqs: Vec<u64>,
    },
}

impl Lookup {
    /// The thread under which inputs are parked until the answer is there.
    pub(super) fn thread(&self) -> ThreadId {
        match self {
            Lookup::Thread(thread) | Lookup::Key { thread, .. } => thread.clone(),
            Lookup::Root { organism, client, key } => ThreadId::root(organism, client, key, 12),
            Lookup::Records { work, .. } => work.thread.clone(),
        }
    }
}

/// What the log said.
#[derive(Debug)]
pub struct Answered {
    lookup: Lookup,
    found: Result<Found, LogFault>,
}

#[derive(Debug)]
enum Found {
    Threads(Vec<Thread>, Option<Bound>),
    Records(Vec<Arc<Record>>),
}

/// Answers a question from the log. Blocks: runs where reading may.
pub fn answer(reader: &dyn LogReader, lookup: Lookup) -> Answered {
    let found = read(reader, &lookup);
    Answered { lookup, found }
}

fn read(reader: &dyn LogReader, lookup: &Lookup) -> Result<Found, LogFault> {
    match lookup {
        Lookup::Thread(thread) => Ok(Found::Threads(wake::wake(reader, thread)?.into_iter().collect(), None)),
        Lookup::Root { organism, client, key } => {
            Ok(Found::Threads(wake::wake_root(reader, organism, client, key)?, None))
        }
        Lookup::Key { thread, client, key } => {
            let bound = reader.by_key(thread, client, key)?.map(|(_, record)| bound(&record));
            Ok(Found::Threads(wake::wake(reader, thread)?.into_iter().collect(), bound))
        }
        Lookup::Records { work, seqs } => {
            let mut records = Vec::with_capacity(seqs.len());
            for seq in seqs {
                records
                    .extend(reader.of_thread(&work.thread, *seq, 1)?.into_iter().map(|(_, r)| Arc::new(r)));
            }
            Ok(Found::Records(records))
        }
    }
}

fn bound(record: &Record) -> Bound {
    let h = &record.header;
    let call = h.call.clone().unwrap_or_else(|| CallPath::top(1));
    let receipt = Receipt {
        thread: h.thread.clone(),
        seq: h.seq,
        id: h.id,
        call,
        sender: h.from.clone(),
        repeated: true,
    };
    Bound { receipt, body: Digest::of(&record.body) }
}

impl Heart {
    /// Parks an input until its thread is awake. What is parked already keeps its place before it.
    pub(super) fn park(&mut self, thread: ThreadId, lookup: Lookup, input: Input) {
        self.parked.entry(thread).or_default().push_back(input);
        self.lookups.push_back(lookup);
    }

    pub(super) fn found(&mut self, answered: Answered) {
        let Answered { lookup, found } = answered;
        match (found, lookup) {
            (Ok(Found::Records(records)), Lookup::Records { work, .. }) => {
                records.into_iter().for_each(|record| self.fresh.put(record));
                self.send(&work, false);
            }
            (Ok(Found::Threads(threads, bound)), lookup) => {
                for thread in threads {
                    self.dirty.insert(thread.id.clone());
                    // What is in memory is never older than what was read.
                    self.state.threads.entry(thread.id.clone()).or_insert(thread);
                }
                self.unpark(&lookup.thread(), Some(bound));
            }
            (Ok(Found::Records(_)), _) => {}
            (Err(fault), lookup) => self.unreadable(&lookup, &fault),
        }
    }

    /// Lets go the input that waited longest for this thread: each parked one has its own answer.
    fn unpark(&mut self, thread: &ThreadId, looked: Option<Option<Bound>>) {
        let Some(queue) = self.parked.get_mut(thread) else { return };
        let input = queue.pop_front();
        if queue.is_empty() {
            self.parked.remove(thread);
        }
        match input {
            Some(Input::Asked(asked)) => self.asked(asked, looked),
            Some(Input::Judged(judged)) => {
                self.happened(crate::pump::event::Happening::Replied(judged));
            }
            Some(Input::Cancel { ticket, by, thread }) => {
                self.happened(crate::pump::event::Happening::Cancel { ticket, by, thread });
            }
            Some(other) => self.input(other),
            None => {}
        }
    }

    /// The log could not be read: nobody is left waiting, and nothing is decided on half a thread.
    fn unreadable(&mut self, lookup: &Lookup, fault: &LogFault) {
        let words = fault.to_string();
        if let Lookup::Records { work, .. } = lookup {
            return self.undeliverable(work, &words);
        }
        let thread = lookup.thread();
        let waiting: VecDeque<Input> = self.parked.remove(&thread).unwrap_or_default();
        for input in waiting {
            self.refuse_damaged(input, &words);
        }
    }
}
