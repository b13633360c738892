//! A copy for whoever writes nothing: brought up to what the stream holds when it is asked for, or made again from the
//! beginning and held against the one that was there.
//!
//! It takes nothing over, shows no life, and needs no more than to read. What came is verified before it counts as there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Unopened;
use super::bundle::Message;
use super::follow::{Fold, Follower, Tell, apart, held_at, is_of};
use crate::edges::log::sqlite::{self, Copy, Difference, Remaking};
use crate::edges::nats::{LogSource, Reach};
use systole_core::types::ports::{LogFault, Position};

/// A copy that is as the stream was when it was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Brought {
    /// What the stream is called.
    pub stream: String,
    /// Its records.
    pub records: u64,
    /// Those of them that it did not have before.
    pub new_records: u64,
    /// Its bundles; none where places in the stream do not tell how many they are.
    pub bundles: Option<u64>,
    /// Those of them that it did not have before.
    pub new_bundles: u64,
    /// What came of the old one, where it was made again beside one.
    pub again: Option<Again>,
}

/// What came of an old copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Again {
    /// Its records, as far as they are equal.
    pub equal: u64,
    /// Where it differs first.
    pub differs: Option<Difference>,
    /// Where it is kept, if it differs.
    pub kept: Option<PathBuf>,
}

/// Brings the copy at that path up to what the stream holds by now, and makes it where there is none.
pub async fn bring(
    source: Arc<LogSource>,
    copy: &Path,
    fold: Fold,
    tell: Tell<'_>,
) -> Result<Brought, Unopened> {
    let reach = source.reach().await?;
    let sqlite::Opened { writer, reader, .. } = sqlite::open_copy(copy)?;
    let mut follower = Follower::of(writer, reader, source, fold)?;
    let before = follower.copy.last();
    brought(&mut follower, reach, before, reach.last, tell).await
}

async fn brought(
    follower: &mut Follower,
    reach: Reach,
    before: Position,
    place: u64,
    tell: Tell<'_>,
) -> Result<Brought, Unopened> {
    let new_bundles = follower.catch_up_to(place, tell).await?;
    // What came does not hold together where it came from.
    follower.copy.verify_after(before).map_err(|fault| match fault {
        LogFault::Damaged { position, why, .. } => {
            LogFault::Damaged { path: follower.source.name().to_owned(), position, why }
        }
        other => other,
    })?;
    let (records, at) = (follower.copy.last().0, follower.tail.followed.sequence);
    let bundles = Some(at).filter(|at| reach.is_dense && *at <= reach.last);
    let stream = follower.source.name().to_owned();
    Ok(Brought { stream, records, new_records: records - before.0, bundles, new_bundles, again: None })
}

/// Makes the copy at that path again, from the first bundle on, and puts it in the place of the one that is there. Where
/// it cannot be made, or the stream does not hold what the old one ends with, that one stays as it is.
pub async fn bring_again(
    source: Arc<LogSource>,
    copy: &Path,
    fold: Fold,
    tell: Tell<'_>,
) -> Result<Brought, Unopened> {
    let reach = source.reach().await?;
    let remaking = Remaking::begin(copy)?;
    let old = remaking.old();
    let mut place = reach.last;
    if let Some(old) = &old {
        is_held(&source, old, copy).await?;
        place = place.max(old.followed.sequence);
    }
    let (writer, reader) = remaking.draft()?;
    let mut follower = Follower::of(writer, reader, source, fold)?;
    let mut made = brought(&mut follower, reach, Position(0), place, tell).await?;
    let should_hold = match &old {
        Some(old) => follower.records_up_to(&old.followed).await?,
        None => None,
    };
    drop(follower);
    if let Some((equal, differs)) = remaking.compare(should_hold)? {
        let kept = remaking.take_place(differs.is_some())?;
        made.again = Some(Again { equal, differs, kept });
    } else {
        remaking.take_place(false)?;
    }
    Ok(made)
}

/// Whether another copy is one of this stream, and the stream still holds what that ends with.
async fn is_held(source: &LogSource, old: &Copy, path: &Path) -> Result<(), Unopened> {
    is_of(old, source, path)?;
    let there = held_at(source, old.followed.sequence).await?;
    let hash = there.and_then(|stored| match Message::of(&stored.bytes) {
        Ok(Message::Bundle(hash) | Message::Apart(hash)) => Some(hash),
        Err(_) => None,
    });
    if hash == Some(old.followed.bundle) { Ok(()) } else { Err(apart(source, path).into()) }
}
