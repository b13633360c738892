//! Replies that ask for the view of their call: the log is read before anything is decided upon, as it stood
//! when the turn was due. Everything else goes on meanwhile; a reply for a call that ended by then is late.

use super::{Heart, Input, Lookup};
use crate::pump::event::Happening;
use crate::pump::view::{Seen, Wanted, Whose};
use crate::words::flow::{Item, Judged, Said, What};
use crate::words::ids::ThreadId;
use crate::words::ports::{Lease, Token};
use crate::words::primitive::Primitive;
use crate::words::refusal::Refusal;

impl Heart {
    /// What has to be read before this reply can be decided upon; none where that is nothing.
    pub(super) fn view_wanted(&self, judged: &Judged) -> Option<Lookup> {
        let Said::Items(items) = &judged.said else { return None };
        let wanted = wanted(items)?;
        Some(Lookup::View { whose: self.whose(&judged.lease)?, wanted })
    }

    /// Whose view a delivery shows, as of when; none once it is over.
    pub(super) fn whose(&self, lease: &Lease) -> Option<Whose> {
        let call = self.state.thread(&lease.thread)?.calls.get(&lease.call)?;
        call.is_due(lease.turn, lease.attempt).then(|| Whose {
            thread: lease.thread.clone(),
            call: lease.call.clone(),
            listener: call.listener.clone(),
            up_to: call.ready_seq,
        })
    }

    /// Whether the reply to that delivery waits for the log already.
    pub(super) fn has_parked_reply(&self, stem: &ThreadId, token: &Token) -> bool {
        let waits = |input: &Input| matches!(input, Input::Judged(judged) if judged.lease.token == *token);
        !self.parked.is_empty() && self.parked.get(stem).is_some_and(|queue| queue.iter().any(waits))
    }

    /// Goes on with the reply that waited for this view, or for the word that it cannot be read.
    pub(super) fn looked(&mut self, stem: &ThreadId, seen: Result<Seen, Refusal>) {
        if let Some(Input::Judged(judged)) = self.first_parked(stem) {
            self.happened(Happening::Looked { judged, seen });
        }
    }
}

/// What the items of a reply want of the view; none where no item asks for it.
fn wanted(items: &[Item]) -> Option<Wanted> {
    let mut asks = false;
    let mut wanted = Wanted::new();
    for (ordinal, item) in (0u32..).zip(items) {
        let Item::Admitted(admitted) = item else { continue };
        match admitted.what() {
            What::Primitive(Primitive::Clear(_)) => asks = true,
            What::Primitive(Primitive::Recall(recall)) => {
                asks = true;
                wanted.push((ordinal, *recall));
            }
            _ => {}
        }
    }
    asks.then_some(wanted)
}
