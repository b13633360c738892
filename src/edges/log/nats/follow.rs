//! Follows the stream: takes its bundles in order and writes them into the copy.
//!
//! Every bundle has to name the one before it and begin where that one ended; one that does not is damage, told with its
//! place, and nothing behind it is taken.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::PARTITION;
use super::bundle::{Bundle, Head, Message, Node, Stands};
use crate::edges::clock::random_bytes;
use crate::edges::log::sqlite::{self, Copy, Followed, Reader};
use crate::edges::nats::{LogStream, Stored, Unusable};
use crate::edges::system;
use crate::words::ids::Digest;
use crate::words::limits;
use crate::words::ports::{Batch, Commit, LogFault, LogReader, Position};

/// For how long a stream of several copies may not show what this copy holds, before that is believed. One
/// that was left behind learns of it within a few heartbeats.
pub(super) const LEFT_BEHIND: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(250);

/// Where the partition stands, as far as it was followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tail {
    /// The last bundle.
    pub(super) followed: Followed,
    /// Its epoch; 0 before the first.
    pub(super) epoch: u64,
    /// Who wrote it.
    pub(super) by: Option<Node>,
    /// Whether that one goes on.
    pub(super) stands: Stands,
}

impl Tail {
    /// The bundle's hash, for the next one to name.
    pub(super) fn bundle(&self) -> Option<Digest> {
        (self.followed.sequence > 0).then_some(self.followed.bundle)
    }
}

/// The copy, and how far it goes.
pub(super) struct Follower {
    pub(super) copy: sqlite::Appender,
    pub(super) stream: Arc<LogStream>,
    pub(super) node: Node,
    pub(super) tail: Tail,
    reader: Reader,
    fold: Fold,
    /// The position up to which the copy has rows.
    folded: Position,
}

/// Makes the rows of a copy, with which opening it need not fold all of it.
pub type Fold = Box<dyn Fn(&dyn LogReader) -> Result<Batch, LogFault> + Send>;

/// Why a stream cannot be followed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfollowed {
    #[error(transparent)]
    Log(#[from] LogFault),
    #[error(transparent)]
    Broker(#[from] Unusable),
}

impl From<Unfollowed> for super::Unopened {
    fn from(unfollowed: Unfollowed) -> super::Unopened {
        match unfollowed {
            Unfollowed::Log(fault) => super::Unopened::Log(fault),
            Unfollowed::Broker(unusable) => super::Unopened::Broker(unusable),
        }
    }
}

impl Follower {
    /// Goes on from what the copy holds. A copy of something else is refused.
    pub(super) fn of(
        mut copy: sqlite::Appender,
        reader: Reader,
        stream: LogStream,
        fold: Fold,
    ) -> Result<Follower, LogFault> {
        let source = [stream.name(), " of ", stream.organism().as_str()].concat();
        let known = match copy.followed()? {
            Some(known) if known.source == source => known,
            Some(known) => {
                let why = ["it is the copy of ", &known.source, ", not of ", &source].concat();
                return Err(LogFault::Foreign { path: copy.path().display().to_string(), why });
            }
            None => {
                let node = random_bytes().map_err(|error| LogFault::Io {
                    path: copy.path().display().to_string(),
                    why: system::told(&error),
                })?;
                let new = Copy { node, source, followed: Followed::NOTHING };
                copy.follow(&new)?;
                new
            }
        };
        let tail = Tail { followed: known.followed, epoch: 0, by: None, stands: Stands::Free };
        let (stream, node, folded) = (Arc::new(stream), Node(known.node), copy.checkpoint()?);
        Ok(Follower { copy, stream, node, tail, reader, fold, folded })
    }

    /// Takes everything that the stream holds and the copy does not; says whether there was anything.
    pub(super) async fn catch_up(&mut self) -> Result<bool, Unfollowed> {
        // Whose the last bundle is stands in it alone.
        let mut next = match (self.tail.by, self.tail.followed.sequence) {
            (None, at) if at > 0 => {
                self.know(at).await?;
                at + 1
            }
            (_, at) => at + 1,
        };
        let first = next;
        while let Some(stored) = self.stream.from(PARTITION, next).await? {
            next = stored.sequence + 1;
            self.take(stored).await?;
        }
        Ok(next > first)
    }

    /// Reads the bundle that the copy ends with, which has to be the one it knows.
    async fn know(&mut self, at: u64) -> Result<(), Unfollowed> {
        let known = self.tail.followed.bundle;
        let other = |follower: &Follower| {
            let copy = follower.copy.path().display().to_string();
            let why = ["it does not hold the bundle that the copy ", &copy, " ends with"].concat();
            LogFault::Apart { path: follower.stream.name().to_owned(), why }
        };
        let end = Instant::now() + LEFT_BEHIND;
        let found = loop {
            match self.stream.from(PARTITION, at).await? {
                Some(found) if found.sequence == at => break found,
                None if self.stream.may_lag() && Instant::now() < end => sleep(AGAIN).await,
                _ => return Err(other(self).into()),
            }
        };
        let (hash, bytes) = self.whole(&found).await?;
        if hash != known {
            return Err(other(self).into());
        }
        let head = super::bundle::head_of(&bytes).map_err(|why| self.damaged(found.sequence, &why))?;
        self.stand(found.sequence, hash, &head);
        Ok(())
    }

    fn stand(&mut self, sequence: u64, bundle: Digest, head: &Head) {
        let followed = Followed { sequence, bundle };
        self.tail = Tail { followed, epoch: head.epoch, by: Some(head.node), stands: head.stands };
    }

    async fn take(&mut self, stored: Stored) -> Result<(), Unfollowed> {
        let (hash, bytes) = self.whole(&stored).await?;
        let at = stored.sequence;
        let held = |hash| self.copy.document(hash).map_err(|fault| fault.to_string());
        let bundle = Bundle::read(&bytes, held).map_err(|why| self.damaged(at, &why))?;
        let head = bundle.head;
        let ill = if head.previous != self.tail.bundle() {
            Some("it does not name the bundle before it")
        } else if Position(head.before) != self.copy.last() {
            Some("it does not begin where the bundle before it ended")
        } else if head.epoch < self.tail.epoch {
            Some("its epoch is over")
        } else {
            None
        };
        if let Some(why) = ill {
            return Err(self.damaged(at, why).into());
        }
        let batch = Batch { records: bundle.records, documents: bundle.documents, ..Batch::default() };
        let kept = match self.copy.prepare(&batch) {
            Ok(_) => self.copy.keep(Some(&Followed { sequence: at, bundle: hash })),
            Err(commit) => commit,
        };
        match kept {
            Commit::Committed(_) => {
                self.stand(at, hash, &head);
                Ok(self.write_rows()?)
            }
            Commit::Conflict(why) => Err(self.damaged(at, &why).into()),
            Commit::Unknown(why) | Commit::NotNow(why) => {
                Err(LogFault::Io { path: self.copy.path().display().to_string(), why }.into())
            }
        }
    }

    /// Writes rows as often as whoever writes the log does, so that neither a take-over nor a copy that is made again has
    /// more to fold than a restart.
    fn write_rows(&mut self) -> Result<(), LogFault> {
        let last = self.copy.last();
        if last.0 - self.folded.0.min(last.0) < limits::CHECKPOINT_RECORDS as u64 {
            return Ok(());
        }
        let batch = (self.fold)(&self.reader)?;
        let kept = self.copy.prepare(&batch).map_or_else(|commit| commit, |_| self.copy.keep(None));
        match kept {
            Commit::Committed(_) => {
                self.folded = last;
                Ok(())
            }
            Commit::Conflict(why) | Commit::Unknown(why) | Commit::NotNow(why) => {
                Err(LogFault::Io { path: self.copy.path().display().to_string(), why })
            }
        }
    }

    async fn whole(&self, stored: &Stored) -> Result<(Digest, Vec<u8>), Unfollowed> {
        whole(&self.stream, stored).await.map_err(|unwhole| match unwhole {
            Unwhole::NotYet(why) => {
                Unusable::Unreachable { address: self.stream.address().to_owned(), why }.into()
            }
            Unwhole::Unknown(why) => self.damaged(stored.sequence, &why).into(),
        })
    }

    fn damaged(&self, sequence: u64, why: &str) -> LogFault {
        let why = ["the bundle at ", &sequence.to_string(), ": ", why].concat();
        let position = Position(self.copy.last().0 + 1);
        LogFault::Damaged { path: self.stream.name().to_owned(), position, why }
    }
}

/// Why the bytes of a bundle cannot be had.
pub(super) enum Unwhole {
    /// The broker did not give them.
    NotYet(String),
    /// They are of no form that is known.
    Unknown(String),
}

/// The hash and the bytes of a bundle, wherever they lie.
pub(super) async fn whole(stream: &LogStream, stored: &Stored) -> Result<(Digest, Vec<u8>), Unwhole> {
    match Message::of(&stored.bytes).map_err(Unwhole::Unknown)? {
        Message::Bundle(hash) => Ok((hash, stored.bytes.clone())),
        Message::Apart(hash) => Ok((hash, stream.get_apart(hash).await.map_err(Unwhole::NotYet)?)),
    }
}
