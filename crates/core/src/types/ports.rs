//! The ports: the traits through which the pump uses the outside. Crates above the core implement them. They say what
//! is needed, not how it is done. Everything else here is pure data.

use std::borrow::Cow;
use std::sync::Arc;

use systole_wire::pump_documents::PumpAnswer;
use systole_wire::reply::ListenerDocument;
use systole_wire::{DocumentLimits, Fault};

pub use super::delivery::Delivery;
pub use super::flow::{Lease, LeaseToken};

use super::codes::Code;
use super::ids::{AttemptId, Digest, Key, Name, ThreadId};
use super::record::Record;
use super::time::Millis;

/// The position of a record in the whole log, from 1, in commit order.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Position(pub u64);

/// A document that is stored once under its hash: a configuration, or the bytes of a refused payload.
#[derive(Clone, Debug)]
pub struct StoredDocument {
    /// SHA-256 of the bytes.
    pub hash: Digest,
    /// The bytes.
    pub bytes: Arc<[u8]>,
}

/// The fold of one thread after some of its records. It is a cache: if it is dropped, the thread is folded again from
/// its first record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoldRow {
    /// The thread.
    pub thread: ThreadId,
    /// The last record of the thread that is folded in.
    pub seq: u64,
    /// Whether a call is open or a timer is set. Such rows are read when the log opens.
    pub working: bool,
    /// The encoded fold.
    pub bytes: Vec<u8>,
}

/// Data that is committed as a whole or not at all.
#[derive(Clone, Debug, Default)]
pub struct LogBatch {
    /// Records in the order of their positions.
    pub records: Vec<Arc<Record>>,
    /// Documents that the records name. One that is already stored stays as it is.
    pub documents: Vec<StoredDocument>,
    /// Rows that replace the stored ones, in their state after the last record of this batch.
    pub rows: Vec<FoldRow>,
    /// From now on opening the log needs to fold only the records after that position: the stored rows cover all before.
    pub checkpoint: Option<Position>,
}

/// A file that a program was started with: the program itself, or one that its command line names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProgramFile {
    /// Its path.
    pub path: String,
    /// SHA-256 of its bytes. `None` if they could not be read, or are too many.
    pub hash: Option<Digest>,
}

/// How a commit ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Commit {
    /// On disk and fsynced. Holds the position of the batch's last record, or the log's last position if the batch
    /// had no records.
    Committed(Position),
    /// Nothing was stored, because of a uniqueness rule or another writer.
    Conflict(String),
    /// The batch may or may not be stored: read back before doing anything else.
    Unknown(String),
    /// Nothing was stored because there is no space. The same batch may be retried later.
    NotNow(String),
}

/// The result of reading back after an unknown commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadBack {
    /// The whole batch is stored and durable.
    Stored(Position),
    /// Nothing of the batch is stored.
    Absent,
    /// The log takes nothing more.
    Broken(LogStop),
}

/// Why a log takes nothing more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogStop {
    /// What happened, in words.
    pub words: String,
    /// Whether the log is damaged. Otherwise it has everything that was acknowledged.
    pub is_damaged: bool,
}

impl LogStop {
    /// The log is damaged.
    pub fn of_damage(words: impl Into<String>) -> LogStop {
        LogStop { words: words.into(), is_damaged: true }
    }
}

impl From<String> for LogStop {
    fn from(words: String) -> LogStop {
        LogStop { words, is_damaged: false }
    }
}

impl From<LogFault> for LogStop {
    fn from(fault: LogFault) -> LogStop {
        LogStop { words: fault.to_string(), is_damaged: fault.is_damage() }
    }
}

/// The only writer of a log. It lives on its own thread, and every call blocks.
pub trait LogWriter: Send {
    /// Commits a batch.
    fn commit_batch(&mut self, batch: &LogBatch) -> Commit;
    /// After `Commit::Unknown`: reopens the log and checks whether the batch is stored.
    fn read_back(&mut self, batch: &LogBatch) -> ReadBack;
    /// Why the log is not in its place any more: another program deleted, moved or replaced it. `None` if it is
    /// there, or if that cannot be known.
    fn take_displacement(&mut self) -> Option<String> {
        None
    }
    /// Whether a commit may wait for another machine. If so, only the writer's own thread commits.
    fn is_far(&self) -> bool {
        false
    }
}

/// A range of lost positions in a damaged log, first to last. The log continues without them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostRange {
    /// The first.
    pub first: Position,
    /// The last.
    pub last: Position,
}

impl std::fmt::Display for LostRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.first.0, self.last.0)
    }
}

/// A fault of the log. It is our fault or the machine's, never a sender's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LogFault {
    /// The file is not a log, or is another program's log.
    #[error("{path} is not a Systole log: {why}")]
    Foreign {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// The log was written by a newer version.
    #[error("{path} has format {found}; this version reads up to {known}")]
    Newer {
        /// The file.
        path: String,
        /// Its format number.
        found: u32,
        /// The newest format that this version knows.
        known: u32,
    },
    /// A record or a document does not verify.
    #[error("{path} is damaged{}: {why}", spell_position(*position))]
    Damaged {
        /// The file.
        path: String,
        /// The first bad position; 0 if the damage has none.
        position: Position,
        /// The mismatch.
        why: String,
    },
    /// Acknowledged records are missing.
    #[error("{path}: {why}")]
    Lost {
        /// The file.
        path: String,
        /// The missing positions.
        gone: LostRange,
        /// The evidence.
        why: String,
    },
    /// Positions were given up in a log that misses none.
    #[error("{path} lacks no position that was acknowledged")]
    NothingLost {
        /// The file.
        path: String,
    },
    /// A log that is stored elsewhere differs from its local copy.
    #[error("the log {path} has changed: {why}")]
    Apart {
        /// The log's name there.
        path: String,
        /// The difference.
        why: String,
    },
    /// Another organism uses the log.
    #[error("{path} is in use by process {pid}")]
    InUse {
        /// The file.
        path: String,
        /// The process that has it.
        pid: u32,
    },
    /// An organism on another machine does not show its log.
    #[error("{address}: {why}")]
    Elsewhere {
        /// Its address.
        address: String,
        /// The reason.
        why: String,
        /// The code, if the organism refused the request.
        code: Option<Code>,
        /// The fix.
        fix: String,
    },
    /// There is no room for the log.
    #[error("{path}: the disk is full")]
    Full {
        /// The file.
        path: String,
    },
    /// The file system or the database returned an error.
    #[error("{path}: {why}")]
    Io {
        /// The file.
        path: String,
        /// The error text.
        why: String,
    },
}

impl LogFault {
    /// Whether the log itself is not what it has to be. Any other fault may pass.
    pub fn is_damage(&self) -> bool {
        match self {
            LogFault::Foreign { .. }
            | LogFault::Newer { .. }
            | LogFault::Apart { .. }
            | LogFault::Lost { .. }
            | LogFault::Damaged { .. } => true,
            LogFault::NothingLost { .. }
            | LogFault::InUse { .. }
            | LogFault::Elsewhere { .. }
            | LogFault::Full { .. }
            | LogFault::Io { .. } => false,
        }
    }
}

fn spell_position(position: Position) -> String {
    if position.0 == 0 { String::new() } else { format!(" at position {}", position.0) }
}

/// The data that is read when a log opens.
#[derive(Clone, Debug, Default)]
pub struct LogOpening {
    /// The log's last position.
    pub last: Position,
    /// Rows of the threads that were working or had timers set at the checkpoint.
    pub rows: Vec<FoldRow>,
    /// All records after the checkpoint, verified against each other.
    pub records: Vec<Record>,
    /// Whether the rows cannot be trusted, or too many records follow them. Then `rows` and `records` are empty, and
    /// each thread must be woken separately.
    pub by_thread: bool,
}

/// A record with its position.
pub type PlacedRecord = (Position, Record);

/// The reading side of a log. Several threads may use it while the writer works.
pub trait LogReader: Send + Sync {
    /// The data that recovery folds.
    fn read_opening(&self) -> Result<LogOpening, LogFault>;
    /// The log's last position.
    fn read_last(&self) -> Result<Position, LogFault>;
    /// A thread's row, if one is stored.
    fn read_row(&self, thread: &ThreadId) -> Result<Option<FoldRow>, LogFault>;
    /// At most `limit` records of a thread, from `seq` on.
    fn of_thread(&self, thread: &ThreadId, seq: u64, limit: usize) -> Result<Vec<PlacedRecord>, LogFault>;
    /// At most `limit` records after a position.
    fn read_after(&self, position: Position, limit: usize) -> Result<Vec<PlacedRecord>, LogFault>;
    /// The record that first used this key of this sender in this thread.
    fn by_key(&self, thread: &ThreadId, sender: &Name, key: &Key) -> Result<Option<PlacedRecord>, LogFault>;
    /// Ids of the newest threads, newest first, without `sys`.
    fn list_threads(&self, limit: usize) -> Result<Vec<ThreadId>, LogFault>;
    /// At most `limit` ids of threads that start with `prefix`.
    fn threads_like(&self, prefix: &str, limit: usize) -> Result<Vec<ThreadId>, LogFault>;
    /// A stored document.
    fn read_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault>;
    /// The same for a view that goes on without it: a damaged one counts as missing.
    fn intact_document(&self, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
        match self.read_document(hash) {
            Err(LogFault::Damaged { .. }) => Ok(None),
            found => found,
        }
    }
}

/// The source of time.
pub trait Clock: Send + Sync {
    /// The wall-clock time, for people and records. It may be set back or forward at any moment.
    fn now(&self) -> Millis;
    /// Milliseconds on the monotonic clock, since some moment before the organism started. Deadlines and pauses use
    /// it.
    fn ticks(&self) -> Millis;
}

/// Sixteen unguessable bytes, from which an event's ids and salts are derived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed(pub [u8; 16]);

/// The source of seeds.
pub trait Seeds: Send + Sync {
    /// A fresh seed.
    fn draw_seed(&self) -> Seed;
}

/// The mark that lets a listener tell, within one call, what the core says from what others claim the core says. It
/// stays the same across the turns, attempts and restarts of the call. It cannot be guessed without the log or the
/// call. It grants no rights.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CallMark(pub [u8; 4]);

impl std::fmt::Display for CallMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

/// Why the pump withdraws a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallBack {
    /// Its call was cancelled.
    Cancelled,
    /// Its deadline has passed.
    TimedOut,
}

/// Delivers turns to listeners. No call blocks: the pump counts slots, so there is always room for what it hands
/// over. For every delivery the carrier reports exactly once: `CarrierReport::Said` with its token, `CarrierReport::Gone`, or
/// `CarrierReport::NotNow`. Only then is its slot free again.
pub trait Carrier: Send + Sync {
    /// Hands a delivery to the listener.
    fn send_delivery(&self, delivery: Delivery);
    /// Tells the listener that its answer is no longer wanted. A program that keeps working is stopped after a grace
    /// period.
    fn call_back(&self, token: &LeaseToken, why: CallBack);
    /// Answers a journal entry or a question of the listener, which waits for it. The delivery may already be over.
    /// The answer for a program that has ended is dropped.
    fn send_answer(&self, listener: &Name, answer: PumpAnswer);
    /// A worker on another machine may have this delivery from an earlier life of the pump. All of them are named
    /// before the carriers begin. Carriers without such workers need not know.
    fn expect_reply(&self, _: &Lease) {}
    /// The end of a delivery that was reported gone is on disk, so what is left of it may be removed.
    fn let_go(&self, _: &Name, _: &LeaseToken) {}
}

/// A listener's message as it arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArrivedDocument {
    /// Bytes from outside the process.
    Bytes(Vec<u8>),
    /// A message of a listener in this process. It passes the same gate as bytes, but is not serialized and parsed
    /// again.
    Word(ListenerDocument),
}

impl ArrivedDocument {
    /// Reads it. The gate's rules apply to both variants.
    pub fn read_document(&self, limits: &DocumentLimits) -> Result<ListenerDocument, Fault> {
        match self {
            ArrivedDocument::Bytes(document) => ListenerDocument::parse(document, limits),
            ArrivedDocument::Word(word) => word.through_gate(limits),
        }
    }

    /// The message as a document. Empty if the message cannot be serialized.
    pub fn document(&self) -> Cow<'_, [u8]> {
        match self {
            ArrivedDocument::Bytes(document) => Cow::Borrowed(document),
            ArrivedDocument::Word(word) => Cow::Owned(word.to_document().unwrap_or_default()),
        }
    }
}

/// The reports of carriers.
#[derive(Clone, Debug)]
pub enum CarrierReport {
    /// A complete message of a listener, not yet judged. The carrier of a one-shot program wraps its output into a
    /// `<reply>` first.
    Said {
        /// The listener, from the connection.
        listener: Name,
        /// The message.
        speech: ArrivedDocument,
        /// The place that waits for the receipt, if any. Only a listener outside this machine's pipes needs one,
        /// because it cannot see otherwise that its message is on disk.
        ticket: Option<super::flow::Ticket>,
    },
    /// A message in a place where it does not belong. It is always refused.
    Misplaced {
        /// The listener, from the connection.
        listener: Name,
        /// The message.
        speech: ArrivedDocument,
        /// The place that waits for the receipt, if any.
        ticket: Option<super::flow::Ticket>,
    },
    /// A delivery that will get no answer any more.
    Gone {
        /// The delivery.
        token: LeaseToken,
        /// `listener.failed`, `listener.lost`, `listener.silent` …
        code: Code,
        /// The details: exit code, time, last output.
        words: String,
    },
    /// A delivery whose program cannot be started. The listener has seen nothing of it.
    Away {
        /// The delivery.
        token: LeaseToken,
        /// The details.
        words: String,
    },
    /// A delivery whose program cannot start now because the machine lacks resources. The listener has seen nothing
    /// of it. It does not count as an attempt and is retried a little later.
    NotNow {
        /// The delivery.
        token: LeaseToken,
        /// The details.
        words: String,
    },
    /// The carrier of a listener on other machines has looked for the deliveries that it expected.
    Adopted {
        /// The listener.
        listener: Name,
        /// Those that are still with the broker or with a worker.
        found: Vec<LeaseToken>,
        /// Why the others must be taken for lost, if they must.
        lost: Option<String>,
    },
    /// A worker on another machine has taken a delivery.
    Taken {
        /// The delivery.
        token: LeaseToken,
        /// How long ago the broker stored it.
        age_ms: u64,
        /// The time of the broker.
        now: Millis,
        /// Whether it lay there for a while before a worker took it.
        has_waited: bool,
    },
    /// A delivery lies with the broker, and no worker takes it.
    Untaken {
        /// The delivery.
        token: LeaseToken,
    },
    /// A listener became ready, also after a crash.
    Joined {
        /// The listener.
        listener: Name,
        /// The level of its program's sandbox. `None` if it has none.
        sandbox: Option<&'static str>,
        /// The files that its program was started with.
        files: Vec<ProgramFile>,
    },
    /// A listener's program ended or does not start.
    Left {
        /// The listener.
        listener: Name,
        /// The details.
        words: String,
    },
}

/// The live table of leases. The pump writes a lease when a delivery goes out; incoming replies look it up.
pub trait Leases: Send + Sync {
    /// A delivery goes out.
    fn put_lease(&self, lease: Arc<Lease>);
    /// The lease of a token. It remains for a while after the delivery is over, so that a late reply is refused in
    /// its own thread.
    fn find_lease(&self, token: &str) -> Option<Arc<Lease>>;
    /// The delivery is over.
    fn retire_lease(&self, token: &LeaseToken);
}

/// Makes unguessable tokens and marks.
pub trait TokenMaker: Send + Sync {
    /// The token of an attempt. The same attempt always gets the same token, also after a restart.
    fn make_token(&self, id: &AttemptId) -> LeaseToken;
    /// The mark of a call. The same call always gets the same mark, also after a restart.
    fn make_mark(&self, thread: &ThreadId, call: &super::ids::CallPath) -> CallMark;
}

/// The senders that wait for a receipt.
pub trait WaitingSenders: Send + Sync {
    /// The message is on disk. The position is `None` if the receipt repeats an earlier one.
    fn send_receipt(
        &self,
        ticket: super::flow::Ticket,
        receipt: super::flow::Receipt,
        position: Option<Position>,
    );
    /// The message or order was refused.
    fn send_refusal(&self, ticket: super::flow::Ticket, refusal: super::refusal::Refusal);
    /// The order was carried out, or the listener's message was taken, and it is on disk.
    fn finish_sender(&self, ticket: super::flow::Ticket);
    /// A listener's reply was taken and is on disk. Implementations that do not pass on the details can ignore them.
    fn note_taken(&self, ticket: super::flow::Ticket, _: super::flow::TakenReply) {
        self.finish_sender(ticket);
    }
}

/// The steps of the pump at which reliability tests inject faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PumpStep {
    /// K1: bytes arrived.
    Received,
    /// K2: the bytes passed the gate.
    GatePassed,
    /// K3: a schema admitted them.
    SchemaPassed,
    /// K4: the consequences are decided.
    Decided,
    /// K6: the commit is on disk, and no one has been notified.
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
    /// C4: the commit with a child's end and the notice for its parent is about to be written.
    ChildEnding,
    /// C6: both are on disk, and no one has been notified.
    ChildEnded,
    /// During recovery, after each folded record.
    Recovering,
}

/// Gets every step that the pump passes. In production it does nothing; in a test it may kill the process. (K5,
/// between a commit's write and its fsync, is below this code; tests inject it with strace.)
pub trait StepObserver: Send + Sync {
    /// The pump passed the step.
    fn note_step(&self, step: PumpStep);
}

/// Observes nothing. For code and tests that need no observer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoObserver;

impl StepObserver for NoObserver {
    fn note_step(&self, _: PumpStep) {}
}
