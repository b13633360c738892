//! Follows the stream: takes its bundles in order and writes them into the copy.
//!
//! Every bundle has to name the one before it and begin where that one ended; one that does not is damage, told with its
//! place, and nothing behind it is taken.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::PARTITION;
use super::ahead::Ahead;
use super::bundle::{Bundle, Head, Message, Node, Stands};
use super::sheaf::{self, Read, Sheaf};
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
        let next = match (self.tail.by, self.tail.followed.sequence) {
            (None, at) if at > 0 => {
                self.know(at).await?;
                at + 1
            }
            (_, at) => at + 1,
        };
        let stream = self.stream.clone();
        let (mut ahead, mut sheaf, mut any) = (Ahead::from(&stream, next), Sheaf::default(), false);
        let ended = loop {
            let stored = match ahead.next().await {
                Ok(Some(stored)) => stored,
                Ok(None) => break Ok(()),
                Err(unusable) => break Err(unusable.into()),
            };
            any = true;
            if let Err(ill) = self.read(&mut sheaf, stored).await {
                break Err(ill);
            }
            if sheaf.is_full() {
                self.keep(&mut sheaf)?;
            }
        };
        // What comes before damage is whole.
        self.keep(&mut sheaf)?;
        ended.map(|()| any)
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
        let damaged = |follower: &Follower, why: &str| follower.damaged(at, follower.copy.last(), why);
        let (hash, bytes) = match whole(&self.stream, found).await {
            Ok(whole) => whole,
            Err(Unwhole::NotYet(why)) => {
                return Err(Unusable::Unreachable { address: self.stream.address().to_owned(), why }.into());
            }
            Err(Unwhole::Unknown(why)) => return Err(damaged(self, &why).into()),
        };
        if hash != known {
            return Err(other(self).into());
        }
        let head = super::bundle::head_of(&bytes).map_err(|why| damaged(self, &why))?;
        self.stand(Followed { sequence: at, bundle: hash }, &head);
        Ok(())
    }

    fn stand(&mut self, followed: Followed, head: &Head) {
        self.tail = Tail { followed, epoch: head.epoch, by: Some(head.node), stands: head.stands };
    }

    /// Adds a bundle, which has to follow what was read so far.
    async fn read(&self, sheaf: &mut Sheaf, stored: Stored) -> Result<(), Unfollowed> {
        let at = stored.sequence;
        let (previous, last, epoch) = match sheaf.last() {
            Some(read) => (Some(read.followed.bundle), read.last(), read.head().epoch),
            None => (self.tail.bundle(), self.copy.last(), self.tail.epoch),
        };
        let damaged = |why: &str| self.damaged(at, last, why);
        let (hash, bytes) = match whole(&self.stream, stored).await {
            Ok(whole) => whole,
            Err(Unwhole::NotYet(why)) => {
                return Err(Unusable::Unreachable { address: self.stream.address().to_owned(), why }.into());
            }
            Err(Unwhole::Unknown(why)) => return Err(damaged(&why).into()),
        };
        let held = |hash| match sheaf.document(hash) {
            Some(bytes) => Ok(Some(bytes)),
            None => self.copy.document(hash).map_err(|fault| fault.to_string()),
        };
        let bundle = Bundle::read(&bytes, held).map_err(|why| damaged(&why))?;
        let head = &bundle.head;
        if head.previous != previous {
            return Err(damaged("it does not name the bundle before it").into());
        } else if Position(head.before) != last {
            return Err(damaged("it does not begin where the bundle before it ended").into());
        } else if head.epoch < epoch {
            return Err(damaged("its epoch is over").into());
        }
        let followed = Followed { sequence: at, bundle: hash };
        sheaf.add(Read { followed, bundle }, bytes.len());
        Ok(())
    }

    /// Writes what was read into the copy, and rows where it is time for some.
    fn keep(&mut self, sheaf: &mut Sheaf) -> Result<(), LogFault> {
        let bundles = sheaf.take();
        match self.write(&bundles) {
            // One of them breaks a rule: those before it are kept, and it is told with its place.
            Commit::Conflict(_) if bundles.len() > 1 => {
                for one in &bundles {
                    let kept = self.write(std::slice::from_ref(one));
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
            Commit::Conflict(why) => Err(self.damaged(at, self.copy.last(), &why)),
            Commit::Unknown(why) | Commit::NotNow(why) => {
                Err(LogFault::Io { path: self.copy.path().display().to_string(), why })
            }
        }
    }

    /// Writes bundles into the copy, all of them or none.
    fn write(&mut self, bundles: &[Read]) -> Commit {
        let Some(last) = bundles.last() else { return Commit::Committed(self.copy.last()) };
        let kept = match self.copy.prepare(&sheaf::batch(bundles)) {
            Ok(_) => self.copy.keep(Some(&last.followed)),
            Err(commit) => commit,
        };
        if let Commit::Committed(_) = kept {
            self.stand(last.followed, last.head());
        }
        kept
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

    /// That a bundle is ill, which would have followed on that position.
    fn damaged(&self, sequence: u64, last: Position, why: &str) -> LogFault {
        let why = ["the bundle at ", &sequence.to_string(), ": ", why].concat();
        let position = Position(last.0 + 1);
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
pub(super) async fn whole(stream: &LogStream, stored: Stored) -> Result<(Digest, Vec<u8>), Unwhole> {
    match Message::of(&stored.bytes).map_err(Unwhole::Unknown)? {
        Message::Bundle(hash) => Ok((hash, stored.bytes)),
        Message::Apart(hash) => Ok((hash, stream.get_apart(hash).await.map_err(Unwhole::NotYet)?)),
    }
}
