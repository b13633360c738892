//! The ports: what the pump needs from the outside, as traits that edges implement. Pure data
//! otherwise; nothing here says how.

use std::borrow::Cow;
use std::sync::Arc;

use systole_wire::envelope::{Address, Delivered, write_envelope};
use systole_wire::reply::Word;
use systole_wire::told::Answer;
use systole_wire::{Fault, Limits};

use super::codes::Code;
use super::ids::{Digest, Key, Name, ThreadId};
use super::record::Record;
use super::time::Millis;

/// The place of a record in the whole log, from 1, in the order of commits.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Position(pub u64);

/// A document that is stored once under its hash: a configuration, or the bytes of a refused payload.
#[derive(Clone, Debug)]
pub struct Document {
    /// SHA-256 of the bytes.
    pub hash: Digest,
    /// The bytes.
    pub bytes: Arc<[u8]>,
}

/// The fold of one thread as it stood after some record of it: a cache that may be dropped and is
/// then folded again from the thread's first record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Whose fold it is.
    pub thread: ThreadId,
    /// The thread's last record that is folded in.
    pub seq: u64,
    /// Whether a call of it is open or a timer set: such rows are read when the log opens.
    pub working: bool,
    /// The encoded fold.
    pub bytes: Vec<u8>,
}

/// What is committed at once or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Records in the order of their positions.
    pub records: Vec<Arc<Record>>,
    /// Documents they name; one that is already stored is left as it is.
    pub documents: Vec<Document>,
    /// Rows that replace the stored ones. If `checkpoint` is set they are those of every thread
    /// touched since the last checkpoint, as they stand after the last record of this batch.
    pub rows: Vec<Row>,
    /// Whether opening need only fold what comes after this batch.
    pub checkpoint: bool,
}

/// How a commit ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Commit {
    /// On disk and fsynced; the position of the batch's last record, or of the log's last where the
    /// batch had none.
    Committed(Position),
    /// Nothing was stored, because a uniqueness rule or another writer was in the way.
    Conflict(String),
    /// It may or may not have been stored: read back before anything else.
    Unknown(String),
    /// Nothing was stored and the same batch may be tried again later: no space.
    NotNow(String),
}

/// What reading back after an unknown commit found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadBack {
    /// The batch is there, whole, and durable.
    Stored(Position),
    /// Nothing of it is there.
    Absent,
    /// The log cannot be trusted any further: stop.
    Broken(String),
}

/// The one writer of a log. Lives on a thread of its own; every call blocks.
pub trait LogWriter: Send {
    /// Commits a batch.
    fn commit(&mut self, batch: &Batch) -> Commit;
    /// After `Commit::Unknown`: reopens the log and looks whether that batch is stored.
    fn read_back(&mut self, batch: &Batch) -> ReadBack;
    /// Whether a commit may wait for another machine: then nobody else's thread makes one.
    fn is_far(&self) -> bool {
        false
    }
}

/// Positions of a log that was damaged, from the first to the last: it goes on without what was there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivenUp {
    /// The first.
    pub first: Position,
    /// The last.
    pub last: Position,
}

impl std::fmt::Display for GivenUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.first.0, self.last.0)
    }
}

/// A fault of the log: ours or the machine's, never a sender's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LogFault {
    /// The file is not a log, or one of another program.
    #[error("{path} is not a Systole log: {why}")]
    Foreign {
        /// The file.
        path: String,
        /// What gave it away.
        why: String,
    },
    /// The log was written by a newer version.
    #[error("{path} has format {found}; this version reads up to {known}")]
    Newer {
        /// The file.
        path: String,
        /// Its format number.
        found: u32,
        /// The newest this version knows.
        known: u32,
    },
    /// A record does not verify.
    #[error("{path} is damaged at position {}: {why}", position.0)]
    Damaged {
        /// The file.
        path: String,
        /// The first bad position.
        position: Position,
        /// What does not fit.
        why: String,
    },
    /// Records that were acknowledged are not there any more.
    #[error("{path}: {why}")]
    Lost {
        /// The file.
        path: String,
        /// The positions that are missing.
        gone: GivenUp,
        /// How that shows.
        why: String,
    },
    /// Positions were given up of a log that lacks none.
    #[error("{path} lacks no position that was acknowledged")]
    NothingLost {
        /// The file.
        path: String,
    },
    /// A log that is kept elsewhere, and its copy here, differ.
    #[error("the log {path} is not what it was: {why}")]
    Apart {
        /// What the log is called there.
        path: String,
        /// How that shows.
        why: String,
    },
    /// Another organism runs on it.
    #[error("{path} is in use by process {pid}")]
    InUse {
        /// The file.
        path: String,
        /// The process that has it.
        pid: u32,
    },
    /// The file system or the database said no.
    #[error("{path}: {why}")]
    Io {
        /// The file.
        path: String,
        /// Its words.
        why: String,
    },
}

/// What is read when a log opens.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The log's last position.
    pub last: Position,
    /// Rows of the threads that were working, or had timers set, at the checkpoint.
    pub rows: Vec<Row>,
    /// Every record after the checkpoint, verified among themselves.
    pub records: Vec<Record>,
    /// Whether the rows cannot be trusted, or too many records came after them: then neither are here, and every thread
    /// is to be woken by itself.
    pub by_thread: bool,
}

/// The reading side of a log; may be used from several threads while the writer works.
pub trait LogReader: Send + Sync {
    /// What recovery folds.
    fn opening(&self) -> Result<Opening, LogFault>;
    /// The log's last position.
    fn last(&self) -> Result<Position, LogFault>;
    /// A thread's row, if one is stored.
    fn row(&self, thread: &ThreadId) -> Result<Option<Row>, LogFault>;
    /// At most `limit` records of a thread, from `seq` on.
    fn of_thread(
        &self,
        thread: &ThreadId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<(Position, Record)>, LogFault>;
    /// At most `limit` records after a position.
    fn after(&self, position: Position, limit: usize) -> Result<Vec<(Position, Record)>, LogFault>;
    /// The record that bound this key of this sender in this thread.
    fn by_key(
        &self,
        thread: &ThreadId,
        sender: &Name,
        key: &Key,
    ) -> Result<Option<(Position, Record)>, LogFault>;
    /// Ids of the newest threads, newest first, `sys` left out.
    fn threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault>;
    /// Ids of threads whose id starts with a text, at most `limit`.
    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault>;
    /// A stored document.
    fn document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault>;
}

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Now, as people and records know it. It may be set back or forward at any moment.
    fn now(&self) -> Millis;
    /// Milliseconds since some moment before the organism started. Nobody sets it: deadlines and
    /// pauses are counted here.
    fn ticks(&self) -> Millis;
}

/// Sixteen bytes nobody can guess, from which an event's ids and salts are derived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed(pub [u8; 16]);

/// Where seeds come from.
pub trait Seeds: Send + Sync {
    /// A fresh seed.
    fn draw(&self) -> Seed;
}

/// The name of one delivery attempt, which nobody can guess.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Token(pub Arc<str>);

impl std::borrow::Borrow<str> for Token {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The sign by which a listener tells in one call what the core said from what others say it did. It is equal over
/// the turns, attempts and restarts of the call, and cannot be guessed by whoever has neither log nor call. It
/// entitles to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CallMark(pub [u8; 4]);

impl std::fmt::Display for CallMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

/// One attempt to hand a turn to its listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// Its token.
    pub token: Token,
    /// The listener it was handed to.
    pub listener: Name,
    /// The thread of the call.
    pub thread: ThreadId,
    /// The call.
    pub call: super::ids::CallPath,
    /// Its turn.
    pub turn: u32,
    /// Which attempt at that turn.
    pub attempt: u32,
    /// The configuration the call began with.
    pub config: Digest,
}

/// A turn on its way to a listener.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// What the reply is judged under.
    pub lease: Arc<Lease>,
    /// What the listener is handed. A carrier to another process writes it down; one within ours need
    /// not, since the payload in it is the stored bytes either way.
    pub envelope: Box<Delivered>,
}

impl Delivery {
    /// The envelope as a document.
    pub fn document(&self) -> Vec<u8> {
        let Delivered { from, to, thread, stamp, payload } = &*self.envelope;
        let address = Address { from: Some(from), to: to.as_deref(), thread: Some(thread) };
        write_envelope(&address, Some(stamp), payload)
    }
}

/// Why a delivery is called back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallBack {
    /// Its call was cancelled.
    Cancelled,
    /// Its deadline has passed.
    TimedOut,
}

/// How deliveries reach a listener. No call blocks: the pump counts slots, so there is room for what it
/// hands over. For every delivery handed over the carrier reports, once, `Heard::Said` with
/// its token, `Heard::Gone` or `Heard::NotNow`; only then is its slot free again.
pub trait Carrier: Send + Sync {
    /// Hands a delivery to the listener.
    fn hand(&self, delivery: Delivery);
    /// Tells the listener that an answer is no longer wanted; a program that goes on all the same is
    /// stopped after a grace period.
    fn call_back(&self, token: &Token, why: CallBack);
    /// Answers a journal entry or a question of the listener. Whether its delivery is still out does not
    /// matter: whoever asked waits. A program that has gone meanwhile waits no more.
    fn answer(&self, listener: &Name, answer: Answer);
}

/// What a listener said, as it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Speech {
    /// Bytes from outside the process.
    Bytes(Vec<u8>),
    /// The word of a listener in this process. It passes the gate as bytes do, but is not written first
    /// to be read again.
    Word(Word),
}

impl Speech {
    /// Reads it: the gate's rules hold for both.
    pub fn read(&self, limits: &Limits) -> Result<Word, Fault> {
        match self {
            Speech::Bytes(document) => Word::read(document, limits),
            Speech::Word(word) => word.through_gate(limits),
        }
    }

    /// The document of it. A word that cannot be written has none.
    pub fn document(&self) -> Cow<'_, [u8]> {
        match self {
            Speech::Bytes(document) => Cow::Borrowed(document),
            Speech::Word(word) => Cow::Owned(word.document().unwrap_or_default()),
        }
    }
}

/// What carriers report.
#[derive(Clone, Debug)]
pub enum Heard {
    /// A word of a listener, whole and unjudged. A one-shot program's output is put into a
    /// `<reply>` by its carrier first.
    Said {
        /// The listener, from the connection.
        listener: Name,
        /// What it said.
        speech: Speech,
        /// Where its receipt is waited for, if it is: by a listener outside of this machine's pipes, which
        /// cannot know otherwise that what it said is on disk.
        ticket: Option<super::flow::Ticket>,
    },
    /// What came where something else belongs. It is refused, whatever it says.
    Misplaced {
        /// The listener, from the connection.
        listener: Name,
        /// What it said.
        speech: Speech,
        /// Where its receipt is waited for, if it is.
        ticket: Option<super::flow::Ticket>,
    },
    /// A delivery that will not be answered any more.
    Gone {
        /// Which.
        token: Token,
        /// `listener.failed`, `listener.lost`, `listener.silent` …
        code: Code,
        /// What is known: exit code, time, last words.
        words: String,
    },
    /// A delivery whose program cannot be started because the machine has no room for it just now. The listener has seen
    /// nothing of it: it is no attempt, and is handed over again a little later.
    NotNow {
        /// Which.
        token: Token,
        /// What is known.
        words: String,
    },
    /// A listener became ready, or was again after a fall.
    Joined {
        /// Which.
        listener: Name,
    },
    /// A listener's program ended or does not start. `down` if it is not tried again before a pause.
    Left {
        /// Which.
        listener: Name,
        /// What is known.
        words: String,
        /// Whether its waiting calls should be failed.
        down: bool,
    },
}

/// The live table of leases: written by the pump when a delivery goes out, read where replies come in.
pub trait Leases: Send + Sync {
    /// A delivery goes out.
    fn put(&self, lease: Arc<Lease>);
    /// Its lease, also a while after it is over, so that a late reply is refused in its own thread.
    fn find(&self, token: &str) -> Option<Arc<Lease>>;
    /// The delivery is over.
    fn retire(&self, token: &Token);
}

/// Makes tokens and marks that nobody can guess.
pub trait Tokens: Send + Sync {
    /// The token of an attempt; the same for the same attempt, also after a restart.
    fn token(&self, thread: &ThreadId, call: &super::ids::CallPath, turn: u32, attempt: u32) -> Token;
    /// The mark of a call; the same for the same call, also after a restart.
    fn mark(&self, thread: &ThreadId, call: &super::ids::CallPath) -> CallMark;
}

/// Where askers wait.
pub trait Askers: Send + Sync {
    /// The message is on disk. The position is known unless the receipt repeats an earlier one.
    fn receipt(&self, ticket: super::flow::Ticket, receipt: super::flow::Receipt, position: Option<Position>);
    /// The message, the order, or what a listener said was refused.
    fn refused(&self, ticket: super::flow::Ticket, refusal: super::refusal::Refusal);
    /// The order was carried out, or what a listener said was taken, and is on disk.
    fn done(&self, ticket: super::flow::Ticket);
    /// A listener's reply was taken, and is on disk. Who tells nobody what follows need not look into it.
    fn taken(&self, ticket: super::flow::Ticket, _: super::flow::Taken) {
        self.done(ticket);
    }
}

/// The steps of the pump at which a fault may strike, as the reliability tests name them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// K1: bytes came in.
    Received,
    /// K2: they passed the gate.
    GatePassed,
    /// K3: a schema admitted them.
    SchemaPassed,
    /// K4: what follows is decided.
    Decided,
    /// K6: it is on disk, and nobody knows yet.
    Stored,
    /// K7: the sender has its receipt.
    Acknowledged,
    /// K8: a delivery was handed to its carrier.
    Delivered,
    /// K9: the listener has the whole document.
    Running,
    /// K10: its reply came in.
    Replied,
    /// K11: the reply is on disk.
    ReplyStored,
    /// K12: the delivery's slot is free again.
    Released,
    /// C4: a commit with a child's end and the news for its parent is about to be written.
    ChildEnding,
    /// C6: both are on disk, and nobody knows yet.
    ChildEnded,
    /// During recovery, after each record that is folded.
    Recovering,
}

/// Told of every step that is passed. In production nobody listens; a test's may kill the process.
/// (K5, between a commit's write and its fsync, lies below this code and is struck with strace.)
pub trait Steps: Send + Sync {
    /// The step was passed.
    fn passed(&self, step: Step);
}

/// Watches nothing: for a room that is tried alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unwatched;

impl Steps for Unwatched {
    fn passed(&self, _: Step) {}
}
