//! Looks into the log: a thread that is not in memory, a key that was bound before, a record that a
//! delivery shows. The heart only asks; whoever reads the log answers later, and what waited for the
//! answer goes on in its old order.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use systole_wire::journal::Past;

use super::{Heart, Input, recalling};
use crate::pump::event::{Bound, Effect, Happening, Lost, Recall, Work};
use crate::pump::state::Thread;
use crate::pump::view::{self, Begun, Seen, Wanted, Whose};
use crate::pump::wake;
use crate::types::codes::Code;
use crate::types::flow::{Receipt, Refused, Unconnected};
use crate::types::ids::{CallPath, Digest, Key, Name, ThreadId};
use crate::types::ports::{LogFault, LogReader};
use crate::types::record::Record;
use crate::types::refusal::Refusal;

/// How long waits what the log could not be read for.
pub(super) const AGAIN_MS: u64 = 10_000;

/// A question to the log.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// A thread and, if it has ended, those above it up to the first that lives.
    Line(ThreadId),
    /// The root of a client's key, and those whose ids collide with it.
    Root {
        /// The organism.
        organism: Name,
        /// The client.
        client: Name,
        /// Its key.
        key: Key,
    },
    /// Whether this client's key is bound in a thread.
    Key {
        /// The thread.
        thread: ThreadId,
        /// The client.
        client: Name,
        /// Its key.
        key: Key,
        /// Whether the thread's line is wanted too, because it is not in memory.
        line: bool,
    },
    /// The record that set a timer, and the timer's thread.
    Timer {
        /// The thread.
        thread: ThreadId,
        /// The record's place in it.
        set: u64,
    },
    /// What a reply or a question wants of the view of its call, or of the children that this had.
    View {
        /// Whose, as of when.
        whose: Whose,
        /// What is wanted.
        wanted: Wanted,
    },
    /// Records that a delivery shows.
    Records {
        /// The delivery's work, whose slot is taken.
        work: Work,
        /// Their places in the thread.
        seqs: Vec<u64>,
    },
    /// Records of a listener's journal.
    Journal(Recall),
    /// The request of a call whose attempt is over: a person may have to decide about it.
    Request {
        /// What happened.
        lost: Lost,
        /// The record's place in the thread.
        seq: u64,
    },
}

impl Lookup {
    /// The stem under which inputs are parked until the answer is there.
    fn stem(&self) -> ThreadId {
        match self {
            Lookup::Line(thread) | Lookup::Key { thread, .. } | Lookup::Timer { thread, .. } => thread.stem(),
            Lookup::Root { organism, client, key } => ThreadId::root(organism, client, key, 12),
            Lookup::View { whose, .. } => whose.thread.stem(),
            Lookup::Records { work, .. } => work.thread.stem(),
            Lookup::Journal(recall) => recall.lease.thread.stem(),
            Lookup::Request { lost, .. } => lost.thread.stem(),
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
    Timer(Option<Thread>, Option<Arc<Record>>),
    View(Seen),
    Records(HashMap<u64, Arc<Record>>),
    Journal(Option<Past>),
}

/// Answers a question from the log, with views that were begun before. Blocks: runs where reading may.
pub fn answer(reader: &dyn LogReader, begun: &mut Begun, lookup: Lookup) -> Answered {
    let found = read(reader, begun, &lookup);
    Answered { lookup, found }
}

fn read(reader: &dyn LogReader, begun: &mut Begun, lookup: &Lookup) -> Result<Found, LogFault> {
    match lookup {
        Lookup::Line(thread) => Ok(Found::Threads(wake::wake_line(reader, thread)?, None)),
        Lookup::Root { organism, client, key } => {
            Ok(Found::Threads(wake::wake_root(reader, organism, client, key)?, None))
        }
        Lookup::Key { thread, client, key, line } => {
            let bound = reader.by_key(thread, client, key)?.map(|(_, record)| bound(&record));
            let threads = if *line { wake::wake_line(reader, thread)? } else { Vec::new() };
            Ok(Found::Threads(threads, bound))
        }
        Lookup::Timer { thread, set } => {
            let record = reader.of_thread(thread, *set, 1)?.pop().map(|(_, record)| Arc::new(record));
            Ok(Found::Timer(wake::wake(reader, thread)?, record))
        }
        Lookup::View { whose, wanted } => Ok(Found::View(view::look(reader, begun, whose, wanted)?)),
        Lookup::Records { work, seqs } => records(reader, &work.thread, seqs),
        Lookup::Journal(recall) => journal(reader, recall),
        Lookup::Request { lost, seq } => records(reader, &lost.thread, &[*seq]),
    }
}

fn records(reader: &dyn LogReader, thread: &ThreadId, seqs: &[u64]) -> Result<Found, LogFault> {
    Ok(Found::Records(by_place(reader, thread, seqs)?))
}

fn by_place(
    reader: &dyn LogReader,
    thread: &ThreadId,
    seqs: &[u64],
) -> Result<HashMap<u64, Arc<Record>>, LogFault> {
    let mut records = HashMap::with_capacity(seqs.len());
    for seq in seqs {
        let found = reader.of_thread(thread, *seq, 1)?;
        records.extend(found.into_iter().map(|(_, r)| (r.header.seq, Arc::new(r))));
    }
    Ok(records)
}

fn journal(reader: &dyn LogReader, recall: &Recall) -> Result<Found, LogFault> {
    let records = by_place(reader, &recall.lease.thread, &recall.seqs)?;
    let with_words = |outcome| view::with_words(reader, outcome);
    Ok(Found::Journal(recalling::page(recall, &records, with_words)?))
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
    /// Parks an input until its question is answered. What is parked already keeps its place before it.
    pub(super) fn park(&mut self, lookup: Lookup, input: Input) {
        self.parked.entry(lookup.stem()).or_default().push_back(input);
        self.lookups.push_back(lookup);
    }

    pub(super) fn found(&mut self, answered: Answered) {
        let Answered { lookup, found } = answered;
        match (found, lookup) {
            (_, Lookup::Records { work, .. }) if self.stopping => self.desk.unused(&work.listener),
            // It was asked for before the pause, but nothing of it has gone out.
            (_, Lookup::Records { work, .. }) if self.is_paused(&work.thread) => {
                self.desk.unused(&work.listener);
                self.lay_aside(work);
            }
            (Ok(Found::Records(records)), Lookup::Records { work, .. }) => {
                self.send(&work, Some(&records));
            }
            (Ok(Found::Threads(threads, bound)), lookup) => {
                self.awaken(threads);
                self.unpark(&lookup.stem(), bound);
            }
            (Ok(Found::Timer(thread, set)), lookup) => {
                self.awaken(thread);
                self.fire_parked(&lookup.stem(), set);
            }
            (Ok(Found::View(seen)), lookup) => self.looked(&lookup.stem(), Ok(seen)),
            (Ok(Found::Journal(past)), Lookup::Journal(recall)) => self.recalled(&recall, past),
            (Ok(Found::Records(mut records)), Lookup::Request { lost, seq }) => {
                self.happened(Happening::Lost(Lost { request: records.remove(&seq), ..lost }));
            }
            (Ok(Found::Records(_) | Found::Journal(_)), _) => {}
            (Err(fault), lookup) => self.unreadable(&lookup, &fault),
        }
    }

    /// Takes threads into memory. What is there already is never older than what was read.
    fn awaken(&mut self, threads: impl IntoIterator<Item = Thread>) {
        for thread in threads {
            if let Entry::Vacant(place) = self.state.threads.entry(thread.id.clone()) {
                self.since_checkpoint += 1;
                self.dirty.insert(thread.id.clone());
                place.insert(thread);
            }
        }
    }

    /// Takes out the input that waited longest for this stem: every parked one has its own answer, and
    /// the answers come in their order.
    pub(super) fn first_parked(&mut self, stem: &ThreadId) -> Option<Input> {
        let queue = self.parked.get_mut(stem)?;
        let input = queue.pop_front();
        if queue.is_empty() {
            self.parked.remove(stem);
        }
        input
    }

    fn unpark(&mut self, stem: &ThreadId, bound: Option<Bound>) {
        match self.first_parked(stem) {
            Some(Input::Asked(asked)) => self.asked(asked, Some(bound)),
            Some(Input::Judged(judged)) => self.happened(Happening::Replied(judged)),
            Some(Input::Cancel { ticket, by, thread }) => {
                self.happened(Happening::Cancel { ticket, by, thread });
            }
            Some(Input::End { ticket, by, thread }) => self.happened(Happening::End { ticket, by, thread }),
            Some(Input::Pause(pause)) => self.happened(Happening::Pause(pause)),
            Some(other) => self.input(other),
            None => {}
        }
    }

    /// The log could not be read for a turn, which has not gone out: it is tried again, and `sys` is told.
    fn put_off(&mut self, work: Work, words: String) {
        self.desk.unused(&work.listener);
        let now = self.ticks();
        // Its listener is seated: it had a slot.
        let _seated = self.desk.take(work, now.plus(AGAIN_MS), now);
        self.tell_sys(Refusal::new(Code::IngressUnavailable, words));
    }

    /// Tells `sys` what the pump could not do for nobody in particular.
    pub(super) fn tell_sys(&mut self, refusal: Refusal) {
        let refused = Refused { refusal, kept: None };
        let listener = Name::core();
        let stray = Unconnected { listener, refused, waits: None, replies_to: None, ticket: None };
        self.happened(Happening::Stray(stray));
    }

    /// The log could not be read: nobody is left waiting, and nothing is decided on half a thread. What
    /// is parked behind has its own answer coming.
    fn unreadable(&mut self, lookup: &Lookup, fault: &LogFault) {
        let words = fault.to_string();
        let refusal = match (lookup, fault) {
            (Lookup::Records { work, .. }, LogFault::Damaged { .. }) => {
                return self.undeliverable(work, Code::DamagedThread, &words);
            }
            (Lookup::Records { work, .. }, _) => return self.put_off(work.clone(), words),
            // Nobody can be asked about what cannot be shown: the call fails as if it were not to be.
            (Lookup::Request { lost, .. }, _) => return self.happened(Happening::Lost(lost.clone())),
            (Lookup::Journal(recall), LogFault::Damaged { .. }) => {
                return self.unrecalled(recall, Code::DamagedThread, &words);
            }
            (Lookup::Journal(recall), _) => {
                return self.unrecalled(recall, Code::IngressUnavailable, &words);
            }
            (_, LogFault::Damaged { .. }) => Refusal::new(Code::DamagedThread, words),
            _ => Refusal::new(Code::IngressUnavailable, words)
                .mended_by("send it again later, with the same key"),
        };
        if let Lookup::View { .. } = lookup {
            return self.looked(&lookup.stem(), Err(refusal));
        }
        let (to, ticket) = match self.first_parked(&lookup.stem()) {
            Some(Input::Asked(asked)) => (asked.client, Some(asked.ticket)),
            Some(Input::Cancel { ticket, by, .. } | Input::End { ticket, by, .. }) => (by, Some(ticket)),
            Some(Input::Pause(pause)) => (pause.by, Some(pause.ticket)),
            Some(Input::Judged(judged)) => (judged.lease.listener.clone(), judged.ticket),
            Some(Input::Ripe(ripe)) => return self.misfired(ripe, refusal),
            // Its thread cannot be read: what is counted for it is told in `sys`.
            Some(Input::Throttled(telling)) => return self.happened(Happening::Throttled(telling)),
            _ => return,
        };
        let refused = Refused { refusal: refusal.clone(), kept: None };
        let stray = Unconnected { listener: to, refused, waits: None, replies_to: None, ticket: None };
        self.happened(Happening::Stray(stray));
        if let Some(ticket) = ticket {
            self.follows(Effect::Refused { ticket, refusal: Box::new(refusal) });
        }
    }
}
