//! What is held back: payloads that wait for a person until they expire, and work of paused threads,
//! which is laid aside until the threads are resumed.

use super::{Engine, LogLookup};
use crate::pump::event::{Effect, EventKind, LostAttempt, ReadyTurn};
use crate::pump::pausing::find_halt;
use crate::types::composition::OnUnknown;
use crate::types::ids::{CallPath, ThreadId};
use crate::types::person::PersonRequestId;

/// A request to a person that expires unless a person answers first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OverdueRequest {
    request: PersonRequestId,
    thread: ThreadId,
    place: CallPath,
}

impl Engine {
    /// Waits for the expiry of every request to a person that recovery found.
    pub(super) fn await_persons(&mut self) {
        let asking: Vec<Effect> = self
            .state
            .threads
            .values()
            .flat_map(|t| t.person_requests().map(move |(place, request)| (&t.id, place, request)))
            .map(|(thread, place, request)| Effect::Expires {
                thread: thread.clone(),
                place,
                request: request.id(),
                at: request.expires(),
                most_ms: request.most_ms(),
            })
            .collect();
        asking.into_iter().for_each(|effect| self.await_person(effect));
    }

    /// Waits for the expiry of one request.
    pub(super) fn await_person(&mut self, effect: Effect) {
        let Effect::Expires { thread, place, request, at, most_ms } = effect else { return };
        // However the wall clock was set while nothing ran, a request never waits longer than first
        // announced.
        let left_ms = at.count_since(self.now()).min(most_ms);
        let tick = self.ticks().add_ms(left_ms);
        self.expiries.put(tick, OverdueRequest { request, thread, place });
    }

    /// Ends the requests that have waited for a person too long.
    pub(super) fn expire_requests(&mut self) {
        let now = self.ticks();
        while let Some((_, OverdueRequest { request, thread, place })) = self.expiries.take_due(now) {
            self.take_event(EventKind::Expired { thread, place, request });
        }
    }

    /// An attempt ended without a reply. If a person may have to decide about it, the request is looked
    /// up first, because the decision names the payload by its hash.
    pub(super) fn attempt_lost(&mut self, lost: LostAttempt) {
        let Some(seq) = self.shown_to_a_person(&lost) else { return self.take_event(EventKind::Lost(lost)) };
        match self.fresh.get(&lost.id.thread, seq) {
            Some(request) => self.take_event(EventKind::Lost(LostAttempt { request: Some(request), ..lost })),
            None => self.lookups.push_back(LogLookup::Request { lost, seq }),
        }
    }

    fn shown_to_a_person(&self, lost: &LostAttempt) -> Option<u64> {
        let call = self.state.find_thread(&lost.id.thread)?.calls.get(&lost.id.call)?;
        let listener = self.state.book.find_listener(call.config, &call.listener)?;
        (listener.on_unknown == OnUnknown::Ask).then_some(call.request)
    }

    /// Whether nothing new of a thread may go out: the thread is paused, or its resume is not on disk
    /// yet.
    pub(super) fn is_paused(&self, thread: &ThreadId) -> bool {
        find_halt(|id| self.state.find_thread(id), thread).is_some() || self.can_resume(thread)
    }

    fn can_resume(&self, thread: &ThreadId) -> bool {
        let above = || std::iter::successors(Some(thread.clone()), ThreadId::parent);
        self.resuming.iter().any(|id| id.is_sys() || above().any(|one| one == *id))
    }

    /// Lays work of a paused thread aside.
    pub(super) fn lay_aside(&mut self, work: ReadyTurn) {
        self.aside.push(work);
    }

    /// The resume of a thread is on disk. Takes up the work that was laid aside; work that another order
    /// still pauses is laid aside again.
    pub(super) fn take_up_aside(&mut self, thread: &ThreadId) {
        if let Some(place) = self.resuming.iter().position(|id| id == thread) {
            self.resuming.remove(place);
        }
        self.take_up_held();
    }

    /// Whether a turn is among those that may go out.
    pub(super) fn may_send(&self, work: &ReadyTurn) -> bool {
        let id = &work.id;
        self.only.as_ref().is_none_or(|calls| calls.contains(&(id.thread.clone(), id.call.clone())))
    }

    /// Takes up all work that was laid aside. What still may not go out is laid aside again.
    pub(super) fn take_up_held(&mut self) {
        for work in std::mem::take(&mut self.aside) {
            self.make_ready(work, false);
        }
    }
}
