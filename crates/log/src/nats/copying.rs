//! A copy for a process that writes nothing: brought up to what the stream holds at that moment, or made again from
//! the beginning and compared with the old copy.
//!
//! It takes nothing over, shows no life, and needs only the right to read. What came is verified before it counts as
//! stored.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bundle::BundleMessage;
use super::follow::{CopyFollower, NatsLogFault, RowMaker, StageReporter, held_at, is_of, report_apart};
use crate::sqlite::{self, CopyDifference, CopyRemake, LogCopy};
use systole_bus::{LogSource, StreamExtent};
use systole_core::types::ports::{LogFault, Position};

/// A copy that matches the stream at the moment of the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CurrentCopy {
    /// The name of the stream.
    pub stream: String,
    /// The number of its records.
    pub records: u64,
    /// How many of them the copy did not have before.
    pub new_records: u64,
    /// The number of its bundles; `None` if places in the stream do not tell it.
    pub bundles: Option<u64>,
    /// How many of them the copy did not have before.
    pub new_bundles: u64,
    /// The result for the old copy, if the copy was made again next to one.
    pub again: Option<OldCopy>,
}

/// The result for an old copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OldCopy {
    /// How many of its first records are equal.
    pub equal: u64,
    /// The first difference.
    pub differs: Option<CopyDifference>,
    /// Where it is kept, if it differs.
    pub kept: Option<PathBuf>,
}

/// Brings the copy at that path up to what the stream holds by now. Makes the copy if there is none.
pub async fn bring_copy(
    source: Arc<LogSource>,
    copy: &Path,
    fold: RowMaker,
    tell: StageReporter<'_>,
) -> Result<CurrentCopy, NatsLogFault> {
    let reach = source.read_reach().await?;
    let sqlite::OpenSqliteLog { writer, reader, .. } = sqlite::open_copy(copy)?;
    let mut follower = CopyFollower::new(writer, reader, source, fold)?;
    let before = follower.copy.last();
    bring_current(&mut follower, reach, before, reach.last, tell).await
}

async fn bring_current(
    follower: &mut CopyFollower,
    reach: StreamExtent,
    before: Position,
    place: u64,
    tell: StageReporter<'_>,
) -> Result<CurrentCopy, NatsLogFault> {
    let new_bundles = follower.catch_up_to(place, tell).await?;
    // The damage is already in the stream.
    follower.copy.verify_after(before).map_err(|fault| match fault {
        LogFault::Damaged { position, why, .. } => {
            LogFault::Damaged { path: follower.source.name().to_owned(), position, why }
        }
        other => other,
    })?;
    let (records, at) = (follower.copy.last().0, follower.tail.followed.sequence);
    let bundles = Some(at).filter(|at| reach.is_dense && *at <= reach.last);
    let stream = follower.source.name().to_owned();
    Ok(CurrentCopy { stream, records, new_records: records - before.0, bundles, new_bundles, again: None })
}

/// Makes the copy at that path again, from the first bundle on, and replaces the old one. If the copy cannot be made,
/// or the stream does not hold the old copy's last bundle, the old copy stays as it is.
pub async fn bring_again(
    source: Arc<LogSource>,
    copy: &Path,
    fold: RowMaker,
    tell: StageReporter<'_>,
) -> Result<CurrentCopy, NatsLogFault> {
    let reach = source.read_reach().await?;
    let remaking = CopyRemake::begin_remake(copy)?;
    let old = remaking.find_old();
    let mut place = reach.last;
    if let Some(old) = &old {
        is_held(&source, old, copy).await?;
        place = place.max(old.followed.sequence);
    }
    let (writer, reader) = remaking.open_draft()?;
    let mut follower = CopyFollower::new(writer, reader, source, fold)?;
    let mut made = bring_current(&mut follower, reach, Position(0), place, tell).await?;
    let should_hold = match &old {
        Some(old) => follower.records_up_to(&old.followed).await?,
        None => None,
    };
    drop(follower);
    if let Some((equal, differs)) = remaking.compare_copies(should_hold)? {
        let kept = remaking.take_place(differs.is_some())?;
        made.again = Some(OldCopy { equal, differs, kept });
    } else {
        remaking.take_place(false)?;
    }
    Ok(made)
}

/// Whether another copy belongs to this stream, and the stream still holds its last bundle.
async fn is_held(source: &LogSource, old: &LogCopy, path: &Path) -> Result<(), NatsLogFault> {
    is_of(old, source, path)?;
    let there = held_at(source, old.followed.sequence).await?;
    let hash = there.and_then(|stored| match BundleMessage::from_bytes(&stored.bytes) {
        Ok(BundleMessage::Bundle(hash) | BundleMessage::Apart(hash)) => Some(hash),
        Err(_) => None,
    });
    if hash == Some(old.followed.bundle) { Ok(()) } else { Err(report_apart(source, path).into()) }
}
