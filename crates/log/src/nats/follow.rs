//! Follows the stream: takes its bundles in order and writes them into the copy.
//!
//! Every bundle has to name the previous one and begin where that one ended. A bundle that does not is damage: its
//! place is reported, and nothing behind it is taken.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tokio::time::{Instant, sleep};

use super::bundle::{
    BundleHead, BundleMessage, FoldStanding, PARTITION, RecordBundle, WriterNode, with_values,
};
use super::bundle_batch::{self, BundleBatch, ReadBundle};
use super::other_writer::LifeSign;
use crate::limits;
use crate::sqlite::{self, LastBundle, LogCopy, SqliteReader};
use systole_bus::{BrokerFault, LEFT_BEHIND, LogSource, ObjectFault, StoredMessage};
use systole_core::types::body_parts::PartSeal;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{Commit, LogBatch, LogFault, LogReader, Position};
use systole_system::clock::draw_random_bytes;
use systole_system::system;

/// The state of the partition, as far as it was followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CopyTail {
    /// The last bundle.
    pub(super) followed: LastBundle,
    /// Its epoch; 0 before the first.
    pub(super) epoch: u64,
    /// The writer.
    pub(super) by: Option<WriterNode>,
    /// Whether the writer continues.
    pub(super) stands: FoldStanding,
}

impl CopyTail {
    /// The bundle's hash, for the next one to name.
    pub(super) fn bundle(&self) -> Option<Digest> {
        (self.followed.sequence > 0).then_some(self.followed.bundle)
    }
}

/// The copy, and how far it goes.
pub(super) struct CopyFollower {
    pub(super) copy: sqlite::SqliteAppender,
    pub(super) source: Arc<LogSource>,
    pub(super) node: WriterNode,
    pub(super) tail: CopyTail,
    reader: SqliteReader,
    fold: RowMaker,
    /// The position up to which the copy has rows.
    folded: Position,
}

/// Makes the rows of a copy, so that opening it need not fold all of it.
pub type RowMaker = Box<dyn Fn(&dyn LogReader) -> Result<LogBatch, LogFault> + Send>;

/// The progress of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CopyStage {
    /// The place in the stream of its last bundle.
    pub sequence: u64,
    /// Its records.
    pub records: u64,
    /// The place that it is being brought up to.
    pub of: u64,
}

/// Gets the progress of a copy.
pub type StageReporter<'a> = &'a mut (dyn FnMut(CopyStage) + Send);

/// Why a stream cannot be followed.
#[derive(Debug, thiserror::Error)]
pub(super) enum FollowFault {
    #[error(transparent)]
    Log(#[from] LogFault),
    #[error(transparent)]
    Broker(#[from] BrokerFault),
}

/// Why the log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum NatsLogFault {
    /// The copy cannot be used, or the stream is inconsistent.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// The broker cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    /// Another pump writes it.
    #[error("the log {stream} at {address} is written by {by}")]
    Led {
        /// The stream.
        stream: String,
        /// The address of the broker.
        address: String,
        /// The writer.
        by: LifeSign,
    },
}

impl From<FollowFault> for NatsLogFault {
    fn from(unfollowed: FollowFault) -> NatsLogFault {
        match unfollowed {
            FollowFault::Log(fault) => NatsLogFault::Log(fault),
            FollowFault::Broker(unusable) => NatsLogFault::Broker(unusable),
        }
    }
}

impl CopyFollower {
    /// Continues from what the copy holds. A copy of something else is refused.
    pub(super) fn new(
        mut copy: sqlite::SqliteAppender,
        reader: SqliteReader,
        source: Arc<LogSource>,
        fold: RowMaker,
    ) -> Result<CopyFollower, LogFault> {
        let known = match copy.read_followed()? {
            Some(known) => {
                is_of(&known, &source, copy.path())?;
                known
            }
            None => {
                let node = draw_random_bytes().map_err(|error| LogFault::Io {
                    path: copy.path().display().to_string(),
                    why: system::describe_error(&error),
                })?;
                let new = LogCopy { node, source: name_source(&source), followed: LastBundle::NOTHING };
                copy.follow_copy(&new)?;
                new
            }
        };
        let tail = CopyTail { followed: known.followed, epoch: 0, by: None, stands: FoldStanding::Free };
        let (node, folded) = (WriterNode(known.node), copy.write_checkpoint()?);
        Ok(CopyFollower { copy, source, node, tail, reader, fold, folded })
    }

    /// Takes everything that the stream holds and the copy does not; returns whether there was anything.
    pub(super) async fn catch_up(&mut self) -> Result<bool, FollowFault> {
        self.catch_up_to(u64::MAX, &mut |_| ()).await.map(|bundles| bundles > 0)
    }

    /// The same up to a place in the stream; returns how many bundles there were. `tell` gets the progress.
    pub(super) async fn catch_up_to(
        &mut self,
        place: u64,
        tell: StageReporter<'_>,
    ) -> Result<u64, FollowFault> {
        // Only the last bundle says who wrote it.
        let next = match (self.tail.by, self.tail.followed.sequence) {
            (None, at) if at > 0 => {
                self.check_known(at).await?;
                at + 1
            }
            (_, at) => at + 1,
        };
        let source = self.source.clone();
        let (mut ahead, mut bundle_batch, mut bundles) =
            (source.read_ahead(PARTITION, next), BundleBatch::default(), 0);
        let ended = loop {
            if bundle_batch.last().map_or(self.tail.followed.sequence, |read| read.followed.sequence) >= place
            {
                break Ok(());
            }
            let stored = match ahead.next().await {
                Ok(Some(stored)) if stored.sequence <= place => stored,
                Ok(_) => break Ok(()),
                Err(unusable) => break Err(unusable.into()),
            };
            if let Err(fault) = self.read_message(&mut bundle_batch, stored).await {
                break Err(fault);
            }
            bundles += 1;
            if bundle_batch.is_full() {
                self.keep_batch(&mut bundle_batch)?;
                tell(self.make_stage(place));
            }
        };
        // Everything before the damage is whole.
        self.keep_batch(&mut bundle_batch)?;
        tell(self.make_stage(place));
        ended.map(|()| bundles)
    }

    fn make_stage(&self, of: u64) -> CopyStage {
        CopyStage { sequence: self.tail.followed.sequence, records: self.copy.last().0, of }
    }

    /// How many records there are up to that bundle; `None` unless the stream and this copy both hold it.
    pub(super) async fn records_up_to(&self, known: &LastBundle) -> Result<Option<Position>, FollowFault> {
        let Some(stored) = self.source.read_from(PARTITION, known.sequence).await? else { return Ok(None) };
        let Ok((hash, bytes)) = read_whole(&self.source, stored).await else { return Ok(None) };
        let held = |hash| self.copy.read_document(hash).map_err(|fault| fault.to_string());
        let read = RecordBundle::from_bytes(&bytes, held).ok().filter(|_| hash == known.bundle);
        Ok(read.map(|bundle| ReadBundle { followed: *known, bundle }.last()))
    }

    /// Reads the copy's last bundle from the stream. It must be the one that the copy knows.
    async fn check_known(&mut self, at: u64) -> Result<(), FollowFault> {
        let known = self.tail.followed.bundle;
        let other = |follower: &CopyFollower| report_apart(&follower.source, follower.copy.path());
        let found = held_at(&self.source, at).await?.ok_or_else(|| other(self))?;
        let damaged =
            |follower: &CopyFollower, why: &str| follower.report_damage(at, follower.copy.last(), why);
        let (hash, bytes) = match read_whole(&self.source, found).await {
            Ok(whole) => whole,
            Err(UnwholeBundle::NotYet(why)) => return Err(self.report_unreachable(why).into()),
            Err(UnwholeBundle::Unknown(why)) => return Err(damaged(self, &why).into()),
        };
        if hash != known {
            return Err(other(self).into());
        }
        let head = super::bundle::head_of(&bytes).map_err(|why| damaged(self, &why))?;
        self.set_followed(LastBundle { sequence: at, bundle: hash }, &head);
        Ok(())
    }

    fn set_followed(&mut self, followed: LastBundle, head: &BundleHead) {
        self.tail = CopyTail { followed, epoch: head.epoch, by: Some(head.node), stands: head.stands };
    }

    fn report_unreachable(&self, why: String) -> BrokerFault {
        BrokerFault::Unreachable { address: self.source.address().to_owned(), why }
    }

    /// Adds a bundle, which has to follow what was read so far.
    async fn read_message(
        &self,
        bundle_batch: &mut BundleBatch,
        stored: StoredMessage,
    ) -> Result<(), FollowFault> {
        let at = stored.sequence;
        let (previous, last, epoch) = match bundle_batch.last() {
            Some(read) => (Some(read.followed.bundle), read.last(), read.head().epoch),
            None => (self.tail.bundle(), self.copy.last(), self.tail.epoch),
        };
        let damaged = |why: &str| self.report_damage(at, last, why);
        let (hash, bytes) = match read_whole(&self.source, stored).await {
            Ok(whole) => whole,
            Err(UnwholeBundle::NotYet(why)) => return Err(self.report_unreachable(why).into()),
            Err(UnwholeBundle::Unknown(why)) => return Err(damaged(&why).into()),
        };
        let held = |hash| match bundle_batch.find_document(hash) {
            Some(bytes) => Ok(Some(bytes)),
            None => self.copy.read_document(hash).map_err(|fault| fault.to_string()),
        };
        let mut bundle = RecordBundle::from_bytes(&bytes, held).map_err(|why| damaged(&why))?;
        if let Err(unwhole) = read_values(&self.source, &mut bundle).await {
            return Err(match unwhole {
                UnwholeBundle::NotYet(why) => self.report_unreachable(why).into(),
                UnwholeBundle::Unknown(why) => damaged(&why).into(),
            });
        }
        let head = &bundle.head;
        if head.previous != previous {
            return Err(damaged("it does not name the bundle before it").into());
        } else if Position(head.before) != last {
            return Err(damaged("it does not begin where the bundle before it ended").into());
        } else if head.epoch < epoch {
            return Err(damaged("its epoch is over").into());
        }
        let followed = LastBundle { sequence: at, bundle: hash };
        bundle_batch.add_bundle(ReadBundle { followed, bundle }, bytes.len());
        Ok(())
    }

    /// Writes what was read into the copy, and rows if it is time for some.
    fn keep_batch(&mut self, bundle_batch: &mut BundleBatch) -> Result<(), LogFault> {
        let bundles = bundle_batch.take_bundles();
        match self.write_bundles(&bundles) {
            // One of them breaks a rule: the earlier ones are kept, and its place is reported.
            Commit::Conflict(_) if bundles.len() > 1 => {
                for one in &bundles {
                    let kept = self.write_bundles(std::slice::from_ref(one));
                    self.is_kept(kept, one.followed.sequence)?;
                }
            }
            kept => self.is_kept(kept, bundles.last().map_or(0, |read| read.followed.sequence))?,
        }
        self.write_rows()
    }

    fn is_kept(&self, kept: Commit, at: u64) -> Result<(), LogFault> {
        match kept {
            Commit::Committed(_) => Ok(()),
            Commit::Conflict(why) => Err(self.report_damage(at, self.copy.last(), &why)),
            Commit::Unknown(why) | Commit::NotNow(why) => {
                Err(LogFault::Io { path: self.copy.path().display().to_string(), why })
            }
        }
    }

    /// Writes bundles into the copy, all of them or none.
    fn write_bundles(&mut self, bundles: &[ReadBundle]) -> Commit {
        let Some(last) = bundles.last() else { return Commit::Committed(self.copy.last()) };
        let kept = match self.copy.prepare_batch(&bundle_batch::join_batch(bundles)) {
            Ok(_) => self.copy.keep_batch(Some(&last.followed)),
            Err(commit) => commit,
        };
        if let Commit::Committed(_) = kept {
            self.set_followed(last.followed, last.head());
        }
        kept
    }

    /// Writes rows as often as the writer of the log does. So a take-over or a copy that is made again has no more to
    /// fold than a restart.
    fn write_rows(&mut self) -> Result<(), LogFault> {
        let last = self.copy.last();
        if last.0 - self.folded.0.min(last.0) < limits::CHECKPOINT_RECORDS as u64 {
            return Ok(());
        }
        let batch = (self.fold)(&self.reader)?;
        self.keep_rows(&batch)?;
        self.folded = last;
        Ok(())
    }

    /// Writes a batch of rows alone into the copy.
    pub(super) fn keep_rows(&mut self, batch: &LogBatch) -> Result<(), LogFault> {
        let kept =
            self.copy.prepare_batch(batch).map_or_else(|commit| commit, |_| self.copy.keep_batch(None));
        match kept {
            Commit::Committed(_) => Ok(()),
            Commit::Conflict(why) | Commit::Unknown(why) | Commit::NotNow(why) => {
                Err(LogFault::Io { path: self.copy.path().display().to_string(), why })
            }
        }
    }

    /// Says that the bundle that would have followed on that position is corrupt.
    fn report_damage(&self, sequence: u64, last: Position, why: &str) -> LogFault {
        let why = format!("the bundle at {sequence}: {why}");
        let position = Position(last.0 + 1);
        LogFault::Damaged { path: self.source.name().to_owned(), position, why }
    }
}

/// What a copy of this stream says that it is a copy of.
fn name_source(source: &LogSource) -> String {
    format!("{} of {}", source.name(), source.organism().as_str())
}

/// Checks that the copy at that path says it is a copy of this stream.
pub(super) fn is_of(copy: &LogCopy, source: &LogSource, path: &Path) -> Result<(), LogFault> {
    let called = name_source(source);
    if copy.source == called {
        return Ok(());
    }
    let why = format!("it is the copy of {}, not of {called}", copy.source);
    Err(LogFault::Foreign { path: path.display().to_string(), why })
}

/// Says that the stream does not hold the last bundle of the copy at that path.
pub(super) fn report_apart(source: &LogSource, path: &Path) -> LogFault {
    let copy = path.display().to_string();
    let why = format!("it does not hold the bundle that the copy {copy} ends with");
    LogFault::Apart { path: source.name().to_owned(), why }
}

/// The bundle at that place, which a copy has seen there; `None` if there is a different one or none.
pub(super) async fn held_at(source: &LogSource, at: u64) -> Result<Option<StoredMessage>, BrokerFault> {
    let end = Instant::now() + LEFT_BEHIND;
    loop {
        match source.read_from(PARTITION, at).await? {
            None if source.may_lag() && Instant::now() < end => sleep(limits::STREAM_PAUSE).await,
            found => return Ok(found.filter(|found| found.sequence == at)),
        }
    }
}

/// Why the bytes of a bundle are not available.
pub(super) enum UnwholeBundle {
    /// The broker did not return them.
    NotYet(String),
    /// They have no known form, or they have changed.
    Unknown(String),
}

/// The hash and the bytes of a bundle, wherever they are stored.
pub(super) async fn read_whole(
    source: &LogSource,
    stored: StoredMessage,
) -> Result<(Digest, Vec<u8>), UnwholeBundle> {
    match BundleMessage::from_bytes(&stored.bytes).map_err(UnwholeBundle::Unknown)? {
        BundleMessage::Bundle(hash) => Ok((hash, stored.bytes)),
        BundleMessage::Apart(hash) => match source.get_large(hash).await {
            Ok(bytes) => Ok((hash, bytes)),
            Err(ObjectFault::NotYet(why)) => Err(UnwholeBundle::NotYet(why)),
            Err(ObjectFault::Damaged(why)) => Err(UnwholeBundle::Unknown(why)),
        },
    }
}

/// Reads the sensitive values of a bundle's records. A value whose object was removed stays erased.
async fn read_values(source: &LogSource, bundle: &mut RecordBundle) -> Result<(), UnwholeBundle> {
    for record in bundle.records.iter_mut().filter(|record| !record.parts.values.is_empty()) {
        let mut values = HashMap::new();
        for (_, seal) in &record.parts.values {
            let PartSeal::Erased(commitment) = *seal else { continue };
            match source.get_removable(commitment).await {
                Ok(Some(bytes)) => drop(values.insert(commitment, bytes)),
                Ok(None) => {}
                Err(ObjectFault::NotYet(why)) => return Err(UnwholeBundle::NotYet(why)),
                Err(ObjectFault::Damaged(why)) => return Err(UnwholeBundle::Unknown(why)),
            }
        }
        let whole = with_values(record, |commitment| values.remove(&commitment));
        *record = Arc::new(whole.map_err(UnwholeBundle::Unknown)?);
    }
    Ok(())
}
