//! The writer: each batch becomes a bundle of the stream, and is then stored in the copy.
//!
//! A batch is first tried on the copy, which checks every rule of the log. Then the bundle is written, and then the
//! copy keeps it. Rows and checkpoints are only in the copy. If it is unknown whether a bundle was stored, the answer
//! for its batch is `NotNow` until that is known, and nothing else is written before.

use std::thread;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::bundle::{FoldStanding, SealedBundle};
use super::bundle_writer::{BundleWriter, WrittenBundle};
use super::lead::LogOwnership;
use crate::limits::LETTING_GO;
use crate::sqlite::LogErasure;
use systole_bus::LEFT_BEHIND;
use systole_core::types::body_parts::PartSeal;
use systole_core::types::ids::MessageId;
use systole_core::types::ports::{Commit, LogBatch, LogWriter, ReadBack};

/// The one writer of a log in NATS. Every call blocks, so it runs on a thread without tasks.
pub struct NatsAppender {
    bundle_writer: BundleWriter,
    lead: LogOwnership,
    runtime: Handle,
    /// The bundle that may have been sent, with the last record of its batch.
    doubt: Option<(Option<MessageId>, SealedBundle)>,
    /// Since when the stream shows less than was stored.
    behind: Option<Instant>,
}

impl NatsAppender {
    /// Only within a runtime, whose tasks send the bundles.
    pub(super) fn new(bundle_writer: BundleWriter, lead: LogOwnership) -> NatsAppender {
        NatsAppender { bundle_writer, lead, runtime: Handle::current(), doubt: None, behind: None }
    }

    /// The bundle of a batch, and whether it may have been sent before.
    fn seal_batch(&mut self, batch: &LogBatch) -> (SealedBundle, bool) {
        let of = last_of(batch);
        match &self.doubt {
            Some((known, sealed)) if *known == of => (sealed.clone(), true),
            _ => (self.bundle_writer.seal_batch(batch, FoldStanding::Owned), false),
        }
    }
}

impl NatsAppender {
    /// If a stream shows less than was stored for long enough, it has lost that.
    fn note_written(&mut self, written: WrittenBundle) -> WrittenBundle {
        match written {
            WrittenBundle::Behind(words) => {
                let since = *self.behind.get_or_insert_with(Instant::now);
                if since.elapsed() < LEFT_BEHIND {
                    WrittenBundle::Behind(words)
                } else {
                    WrittenBundle::Lost(words)
                }
            }
            WrittenBundle::At(followed) => {
                self.behind = None;
                WrittenBundle::At(followed)
            }
            other => other,
        }
    }
}

/// The id that distinguishes one batch from another.
fn last_of(batch: &LogBatch) -> Option<MessageId> {
    batch.records.last().map(|record| record.header.id)
}

impl LogWriter for NatsAppender {
    fn commit_batch(&mut self, batch: &LogBatch) -> Commit {
        if let Some(words) = self.lead.find_loss() {
            return Commit::Conflict(words);
        }
        let is_empty = batch.records.is_empty() && batch.documents.is_empty();
        // This comes before the try on the copy, because sealing leaves out what the copy already holds.
        let sealed = (!is_empty).then(|| self.seal_batch(batch));
        if let Err(commit) = self.bundle_writer.follower.copy.prepare_batch(batch) {
            return commit;
        }
        let Some((sealed, in_doubt)) = sealed else {
            return self.bundle_writer.follower.copy.keep_batch(None);
        };
        let written = self.runtime.block_on(self.bundle_writer.make_upload().write_bundle(&sealed, in_doubt));
        match self.note_written(written) {
            WrittenBundle::At(followed) => {
                let kept = self.bundle_writer.keep_prepared(followed, FoldStanding::Owned);
                self.doubt = match kept {
                    Commit::Committed(_) => None,
                    // It is in the stream and not in the copy.
                    _ => Some((last_of(batch), sealed)),
                };
                kept
            }
            WrittenBundle::NotYet(words) | WrittenBundle::Behind(words) => {
                self.bundle_writer.follower.copy.drop_prepared();
                self.doubt = Some((last_of(batch), sealed));
                Commit::NotNow(words)
            }
            WrittenBundle::Lost(words) => {
                self.bundle_writer.follower.copy.drop_prepared();
                self.lead.lose_lead(&words);
                Commit::Conflict(self.lead.find_loss().unwrap_or(words))
            }
        }
    }

    fn read_back(&mut self, batch: &LogBatch) -> ReadBack {
        match self.bundle_writer.follower.copy.read_back(batch) {
            ReadBack::Absent => {}
            ReadBack::Stored(position) => {
                // The copy kept it without saying so, and with it the place of its bundle.
                return match self.bundle_writer.follower.copy.read_followed() {
                    Ok(copy) => {
                        let tail = &mut self.bundle_writer.follower.tail;
                        tail.followed = copy.map_or(tail.followed, |copy| copy.followed);
                        self.doubt = None;
                        ReadBack::Stored(position)
                    }
                    Err(fault) => ReadBack::Broken(fault.into()),
                };
            }
            ReadBack::Broken(stop) => return ReadBack::Broken(stop),
        }
        // The copy is whole again, and may lack what the stream holds.
        if let Err(words) = self.runtime.block_on(self.bundle_writer.catch_up()) {
            return ReadBack::Broken(words.into());
        }
        let follower = &mut self.bundle_writer.follower;
        match &self.doubt {
            Some((_, sealed)) if sealed.hash == follower.tail.followed.bundle => {
                // The stream has no rows, and the pump counts on them.
                let rows = LogBatch {
                    rows: batch.rows.clone(),
                    checkpoint: batch.checkpoint,
                    ..LogBatch::default()
                };
                if let Err(fault) = follower.keep_rows(&rows) {
                    return ReadBack::Broken(fault.into());
                }
                self.doubt = None;
                ReadBack::Stored(follower.copy.last())
            }
            _ => ReadBack::Absent,
        }
    }

    fn is_far(&self) -> bool {
        true
    }
}

impl NatsAppender {
    /// Removes the objects of sensitive values from the store, and the values from the copy, after the batch that says
    /// so is stored. What else the erasure names is in bundles, and stays. The error says what is left to do.
    pub fn erase_values(&mut self, erasure: &LogErasure, batch: &LogBatch) -> Result<(), String> {
        match self.commit_batch(batch) {
            Commit::Committed(_) => {}
            Commit::Conflict(why) | Commit::NotNow(why) | Commit::Unknown(why) => return Err(why),
        }
        for record in erasure.records.values() {
            for seal in record.parts.values.iter().map(|(_, seal)| seal) {
                let PartSeal::Erased(commitment) = *seal else { continue };
                let removed = self.bundle_writer.stream.remove_large(commitment);
                self.runtime.block_on(removed).map_err(|why| format!("the object {commitment}: {why}"))?;
            }
        }
        let copy = &mut self.bundle_writer.follower.copy;
        match copy.erase_values(erasure, &LogBatch::default()) {
            Commit::Committed(_) => copy.rewrite_file().map_err(|fault| format!("the copy: {fault}")),
            Commit::Conflict(why) | Commit::NotNow(why) | Commit::Unknown(why) => {
                Err(format!("the copy: {why}"))
            }
        }
    }
}

impl Drop for NatsAppender {
    /// Releases the partition, so that the next pump need not wait for this one's silence. If that fails, the next
    /// pump waits.
    fn drop(&mut self) {
        if self.lead.find_loss().is_some() || self.doubt.is_some() {
            return;
        }
        let sealed = self.bundle_writer.seal_batch(&LogBatch::default(), FoldStanding::Free);
        let (upload, runtime, to_write) =
            (self.bundle_writer.make_upload(), self.runtime.clone(), sealed.clone());
        // On a separate thread: this one may belong to a runtime, which may not block.
        let write = move || {
            let letting_go =
                async { tokio::time::timeout(LETTING_GO, upload.write_bundle(&to_write, false)).await };
            runtime.block_on(letting_go).ok()
        };
        let written = thread::spawn(write).join().ok().flatten();
        if let Some(WrittenBundle::At(followed)) = written {
            // What the copy does not keep is read again.
            let _kept = self.bundle_writer.keep_batch(&LogBatch::default(), followed, FoldStanding::Free);
        }
    }
}
