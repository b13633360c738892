//! A question to the log, and what the log answered.

use std::collections::HashMap;
use std::sync::Arc;

use systole_wire::journal::EarlierEntries;

use crate::pump::event::{BoundKey, JournalRecall, LostAttempt, ReadyTurn};
use crate::pump::state::Thread;
use crate::pump::view::{ReadRequests, ReadResults, ViewOwner};
use crate::types::ids::{Key, Name, ThreadId};
use crate::types::ports::LogFault;
use crate::types::record::Record;
use crate::types::thread_choice::SoughtRoot;

/// A question to the log.
#[derive(Clone, Debug)]
pub enum LogLookup {
    /// A thread and, if it has ended, its ancestors up to the first living one.
    Line(ThreadId),
    /// A root of a client, the roots whose ids collide with it, and whether the key is bound in it.
    Root(SoughtRoot),
    /// Whether this client's key is bound in a thread.
    Key {
        /// The thread.
        thread: ThreadId,
        /// The client.
        client: Name,
        /// Its key.
        key: Key,
        /// Whether the thread's line is needed too, because it is not in memory.
        line: bool,
    },
    /// The record that set a timer, and the timer's thread.
    Timer {
        /// The thread.
        thread: ThreadId,
        /// The record's place in it.
        set: u64,
    },
    /// What a reply or a question needs of the view of its call, or of the call's children.
    View {
        /// The call, and the moment.
        whose: ViewOwner,
        /// What is needed.
        wanted: ReadRequests,
    },
    /// Records that a delivery shows.
    Records {
        /// The delivery's work, whose slot is taken.
        work: ReadyTurn,
        /// Their places in the thread.
        seqs: Vec<u64>,
    },
    /// Records of a listener's journal.
    Journal(JournalRecall),
    /// The request of a call whose attempt is over; a person may have to decide about it.
    Request {
        /// The lost attempt.
        lost: LostAttempt,
        /// The record's place in the thread.
        seq: u64,
    },
}

impl LogLookup {
    /// The stem under which inputs are parked until the answer comes.
    pub(super) fn stem(&self) -> ThreadId {
        match self {
            LogLookup::Line(thread) | LogLookup::Key { thread, .. } | LogLookup::Timer { thread, .. } => {
                thread.stem()
            }
            LogLookup::Root(sought) => sought.find_id(12),
            LogLookup::View { whose, .. } => whose.thread.stem(),
            LogLookup::Records { work, .. } => work.id.thread.stem(),
            LogLookup::Journal(recall) => recall.lease.id.thread.stem(),
            LogLookup::Request { lost, .. } => lost.id.thread.stem(),
        }
    }
}

/// What the log answered.
#[derive(Debug)]
pub struct LogAnswer {
    pub(super) lookup: LogLookup,
    pub(super) found: Result<FoundInLog, LogFault>,
}

#[derive(Debug)]
pub(super) enum FoundInLog {
    Threads(Vec<Thread>, Option<BoundKey>),
    Timer(Option<Thread>, Option<Arc<Record>>),
    View(ReadResults),
    Records(HashMap<u64, Arc<Record>>),
    Journal(Option<EarlierEntries>),
}
