//! Writes bundles into the stream, and finds out what happened to a bundle without an answer.
//!
//! Silence never counts as failure. What the stream holds settles a doubt. If it holds this very bundle, the bundle
//! is stored. If it still ends with the previous bundle, the same bytes are sent again with the same expectation:
//! only one of the two can be stored. If it ends with anything else, the partition has another owner.

use std::sync::Arc;

use super::bundle::{BundleHead, FoldStanding, PARTITION, RecordBundle, SealedBundle, WriterNode};
use super::follow::{CopyFollower, FollowFault, UnwholeBundle, read_whole};
use crate::sqlite::LastBundle;
use systole_bus::{AppendResult, LogStream};
use systole_core::types::ports::{Commit, LogBatch};

/// The result of a write.
pub(super) enum WrittenBundle {
    /// It is stored there.
    At(LastBundle),
    /// Nothing else can be written until it is known whether the bundle is stored; the same bytes may be sent again.
    NotYet(String),
    /// The stream does not show the previous bundle: it is lost, or the server that answered lags behind.
    Behind(String),
    /// Another owner writes here.
    Lost(String),
}

/// The writer of the partition's bundles.
pub(super) struct BundleWriter {
    pub(super) stream: Arc<LogStream>,
    pub(super) follower: CopyFollower,
    /// Its epoch; it writes in no other.
    pub(super) epoch: u64,
}

impl BundleWriter {
    /// The next bundle.
    pub(super) fn seal_batch(&self, batch: &LogBatch, stands: FoldStanding) -> SealedBundle {
        let CopyFollower { copy, node, tail, .. } = &self.follower;
        let new = |document: &&systole_core::types::ports::StoredDocument| !copy.has_document(document.hash);
        let bundle = RecordBundle {
            head: BundleHead {
                partition: PARTITION,
                epoch: self.epoch,
                node: *node,
                stands,
                previous: tail.bundle(),
                before: copy.last().0,
            },
            documents: batch.documents.iter().filter(new).cloned().collect(),
            records: batch.records.clone(),
        };
        bundle.seal_bundle(|hash| copy.has_document(hash))
    }

    /// Returns the upload for the next bundle.
    pub(super) fn make_upload(&self) -> BundleUpload {
        let CopyFollower { node, tail, .. } = &self.follower;
        BundleUpload { stream: self.stream.clone(), node: *node, after: tail.followed.sequence }
    }

    /// Writes into the copy what is stored in the stream.
    pub(super) fn keep_batch(
        &mut self,
        batch: &LogBatch,
        followed: LastBundle,
        stands: FoldStanding,
    ) -> Commit {
        if let Err(commit) = self.follower.copy.prepare_batch(batch) {
            return commit;
        }
        self.keep_prepared(followed, stands)
    }

    /// Keeps what was prepared in the copy.
    pub(super) fn keep_prepared(&mut self, followed: LastBundle, stands: FoldStanding) -> Commit {
        let kept = self.follower.copy.keep_batch(Some(&followed));
        if matches!(kept, Commit::Committed(_)) {
            let (tail, node) = (&mut self.follower.tail, self.follower.node);
            (tail.followed, tail.epoch, tail.by, tail.stands) = (followed, self.epoch, Some(node), stands);
        }
        kept
    }

    /// Brings the copy up to what the stream holds; an error says why not.
    pub(super) async fn catch_up(&mut self) -> Result<(), String> {
        let caught_up = self.follower.catch_up().await;
        caught_up.map(drop).map_err(|unfollowed: FollowFault| unfollowed.to_string())
    }
}

/// Writes one bundle.
pub(super) struct BundleUpload {
    stream: Arc<LogStream>,
    node: WriterNode,
    /// The place of the bundle before it.
    after: u64,
}

impl BundleUpload {
    /// Writes it. `in_doubt` says that it may have been sent before.
    pub(super) async fn write_bundle(&self, sealed: &SealedBundle, mut in_doubt: bool) -> WrittenBundle {
        let stream = &self.stream;
        // A reader of the bundle looks for its values, so they are stored first.
        for value in &sealed.values {
            if let Err(words) = stream.put_large(value.commitment, &value.bytes).await {
                return WrittenBundle::NotYet(words);
            }
        }
        let bytes = if sealed.bytes.len() > stream.largest() {
            if let Err(words) = stream.put_large(sealed.hash, &sealed.bytes).await {
                return WrittenBundle::NotYet(words);
            }
            sealed.list_apart()
        } else {
            sealed.bytes.clone()
        };
        for _ in 0..crate::limits::BUNDLE_TRIES {
            if in_doubt {
                match self.find_written(sealed).await {
                    Ok(None) => {}
                    Ok(Some(written)) => return written,
                    Err(words) => return WrittenBundle::NotYet(words),
                }
            }
            match stream.append_bundle(PARTITION, bytes.clone(), self.after).await {
                AppendResult::At(sequence) => {
                    return WrittenBundle::At(LastBundle { sequence, bundle: sealed.hash });
                }
                AppendResult::Stale => in_doubt = true,
                // The caller gets this result first; the next try asks what the stream holds.
                AppendResult::Refused(words) | AppendResult::Unknown(words) => {
                    return WrittenBundle::NotYet(words);
                }
            }
        }
        WrittenBundle::NotYet("the log was changed while it was written".to_owned())
    }

    /// The meaning of a stream that holds less than it held: if there are several replicas, the one that answered may
    /// lag behind.
    fn report_behind(&self, left: &str) -> WrittenBundle {
        let (name, after) = (self.stream.name(), self.after.to_string());
        let words = format!("the log {name} has lost what was stored at {after}: it holds {left}");
        if self.stream.may_lag() { WrittenBundle::Behind(words) } else { WrittenBundle::Lost(words) }
    }

    /// What the stream says about a doubtful bundle; `None` if it is not stored, or not yet.
    async fn find_written(&self, sealed: &SealedBundle) -> Result<Option<WrittenBundle>, String> {
        let last = self.stream.read_last(PARTITION).await.map_err(|unusable| unusable.to_string())?;
        let lost = |by: &str| {
            let words = format!("the log {} was taken over by {by}", self.stream.name());
            Ok(Some(WrittenBundle::Lost(words)))
        };
        let last = match last {
            Some(last) if last.sequence == self.after => return Ok(None),
            None if self.after == 0 => return Ok(None),
            Some(last) if last.sequence > self.after => last,
            last => {
                let left =
                    last.map_or("nothing".to_owned(), |last| format!("no bundle behind {}", last.sequence));
                return Ok(Some(self.report_behind(&left)));
            }
        };
        let sequence = last.sequence;
        let (hash, bytes) = match read_whole(&self.stream, last).await {
            Ok(whole) => whole,
            Err(UnwholeBundle::NotYet(words)) => return Err(words),
            Err(UnwholeBundle::Unknown(why)) => return lost(&format!("another program: {why}")),
        };
        if hash == sealed.hash {
            return Ok(Some(WrittenBundle::At(LastBundle { sequence, bundle: hash })));
        }
        match super::bundle::head_of(&bytes) {
            Ok(head) if head.node == self.node => lost("an earlier run of this pump"),
            Ok(head) => lost(&format!("another pump, in epoch {}", head.epoch)),
            Err(why) => lost(&format!("another program: {why}")),
        }
    }
}
