//! What listeners say of their work while it goes on, for whoever watches. It is recorded nowhere and nobody is waited
//! for: who falls behind hears less.

use tokio::sync::broadcast;

use crate::words::flow::{Judged, Said};
use crate::words::ids::{CallPath, Name, ThreadId};

/// Words that are kept for the slowest who watches.
const KEPT: usize = 256;

/// One thing that was said.
#[derive(Clone, Debug)]
pub struct Spoken {
    /// By whom.
    pub listener: Name,
    /// In which thread.
    pub thread: ThreadId,
    /// In which call.
    pub call: CallPath,
    /// The words.
    pub words: String,
}

/// Where it is said.
#[derive(Clone, Debug)]
pub(super) struct Voice(broadcast::Sender<Spoken>);

impl Default for Voice {
    fn default() -> Voice {
        Voice(broadcast::channel(KEPT).0)
    }
}

impl Voice {
    /// Passes on what is for the live view alone.
    pub(super) fn pass(&self, judged: &Judged) {
        if let Said::Progress { words } = &judged.said {
            let lease = &judged.lease;
            let (listener, thread, call) = (lease.listener.clone(), lease.thread.clone(), lease.call.clone());
            // Mostly nobody watches.
            drop(self.0.send(Spoken { listener, thread, call, words: words.clone() }));
        }
    }

    /// Hears what is said from now on.
    pub(super) fn hear(&self) -> broadcast::Receiver<Spoken> {
        self.0.subscribe()
    }
}
