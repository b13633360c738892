//! The writer: a batch is a bundle of the stream, and then stands in the copy.
//!
//! A batch is tried on the copy first, which holds it against every rule of the log; then the bundle is written; then the
//! copy keeps it. Rows and checkpoints are of the copy alone. A batch whose bundle may be stored is answered with
//! `NotNow` until that is known, and nothing else is written before.

use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::bundle::{Sealed, Stands};
use super::lead::Lead;
use super::scribe::{Scribe, Written};
use crate::edges::nats::LEFT_BEHIND;
use systole_core::types::ids::MessageId;
use systole_core::types::ports::{Batch, Commit, LogWriter, ReadBack};

/// How long letting go may take, at the end.
const LETTING_GO: Duration = Duration::from_secs(2);

/// The one writer of a log in NATS. Every call blocks, on a thread that runs no tasks.
pub struct Appender {
    scribe: Scribe,
    lead: Lead,
    runtime: Handle,
    /// The bundle that may have been sent, with the batch it is of.
    doubt: Option<(Option<MessageId>, Sealed)>,
    /// Since when the stream shows less than was stored.
    behind: Option<Instant>,
}

impl Appender {
    /// Only within a runtime, whose tasks carry what is sent.
    pub(super) fn new(scribe: Scribe, lead: Lead) -> Appender {
        Appender { scribe, lead, runtime: Handle::current(), doubt: None, behind: None }
    }

    /// The bundle of a batch, and whether it may have been sent before.
    fn sealed(&mut self, batch: &Batch) -> (Sealed, bool) {
        let of = last_of(batch);
        match &self.doubt {
            Some((known, sealed)) if *known == of => (sealed.clone(), true),
            _ => (self.scribe.seal(batch, Stands::Owned), false),
        }
    }
}

impl Appender {
    /// A stream that shows less than was stored for long enough has lost it.
    fn believed(&mut self, written: Written) -> Written {
        match written {
            Written::Behind(words) => {
                let since = *self.behind.get_or_insert_with(Instant::now);
                if since.elapsed() < LEFT_BEHIND { Written::Behind(words) } else { Written::Lost(words) }
            }
            Written::At(followed) => {
                self.behind = None;
                Written::At(followed)
            }
            other => other,
        }
    }
}

/// What tells one batch from another.
fn last_of(batch: &Batch) -> Option<MessageId> {
    batch.records.last().map(|record| record.header.id)
}

impl LogWriter for Appender {
    fn commit(&mut self, batch: &Batch) -> Commit {
        if let Some(words) = self.lead.lost() {
            return Commit::Conflict(words);
        }
        let is_empty = batch.records.is_empty() && batch.documents.is_empty();
        // Before it is tried on the copy: what the copy holds already is left out.
        let sealed = (!is_empty).then(|| self.sealed(batch));
        if let Err(commit) = self.scribe.follower.copy.prepare(batch) {
            return commit;
        }
        let Some((sealed, in_doubt)) = sealed else { return self.scribe.follower.copy.keep(None) };
        let written = self.runtime.block_on(self.scribe.quill().write(&sealed, in_doubt));
        match self.believed(written) {
            Written::At(followed) => {
                let kept = self.scribe.keep_prepared(followed, Stands::Owned);
                self.doubt = match kept {
                    Commit::Committed(_) => None,
                    // It is in the stream and not in the copy.
                    _ => Some((last_of(batch), sealed)),
                };
                kept
            }
            Written::NotYet(words) | Written::Behind(words) => {
                self.scribe.follower.copy.drop_prepared();
                self.doubt = Some((last_of(batch), sealed));
                Commit::NotNow(words)
            }
            Written::Lost(words) => {
                self.scribe.follower.copy.drop_prepared();
                self.lead.lose(&words);
                Commit::Conflict(self.lead.lost().unwrap_or(words))
            }
        }
    }

    fn read_back(&mut self, batch: &Batch) -> ReadBack {
        match self.scribe.follower.copy.read_back(batch) {
            ReadBack::Absent => {}
            ReadBack::Stored(position) => {
                // The copy kept it without saying so, and with it the place of its bundle.
                return match self.scribe.follower.copy.followed() {
                    Ok(copy) => {
                        let tail = &mut self.scribe.follower.tail;
                        tail.followed = copy.map_or(tail.followed, |copy| copy.followed);
                        self.doubt = None;
                        ReadBack::Stored(position)
                    }
                    Err(fault) => ReadBack::Broken(fault.to_string()),
                };
            }
            ReadBack::Broken(words) => return ReadBack::Broken(words),
        }
        // The copy is whole again, and may lack what the stream holds.
        if let Err(words) = self.runtime.block_on(self.scribe.catch_up()) {
            return ReadBack::Broken(words);
        }
        let tail = &self.scribe.follower.tail;
        match &self.doubt {
            Some((_, sealed)) if sealed.hash == tail.followed.bundle => {
                self.doubt = None;
                ReadBack::Stored(self.scribe.follower.copy.last())
            }
            _ => ReadBack::Absent,
        }
    }

    fn is_far(&self) -> bool {
        true
    }
}

impl Drop for Appender {
    /// Lets go of the partition, so that the next pump need not wait for this one's silence. Where that cannot be said,
    /// it waits.
    fn drop(&mut self) {
        if self.lead.lost().is_some() || self.doubt.is_some() {
            return;
        }
        let sealed = self.scribe.seal(&Batch::default(), Stands::Free);
        let (quill, runtime, to_write) = (self.scribe.quill(), self.runtime.clone(), sealed.clone());
        // On a thread of its own: this one may belong to a runtime, which may not wait.
        let write = move || {
            let letting_go = async { tokio::time::timeout(LETTING_GO, quill.write(&to_write, false)).await };
            runtime.block_on(letting_go).ok()
        };
        let written = thread::spawn(write).join().ok().flatten();
        if let Some(Written::At(followed)) = written {
            // What the copy does not keep it reads again.
            let _kept = self.scribe.keep(&Batch::default(), followed, Stands::Free);
        }
    }
}
