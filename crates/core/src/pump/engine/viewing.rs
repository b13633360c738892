//! Replies and questions that need the view of their call. Before they are decided on, the view is read from the
//! log as of the moment when the turn became due. Everything else continues during the read; a reply or question
//! whose call has ended by then is late.

use systole_wire::ask::PumpQuestion;

use super::{Engine, LogLookup, PumpInput};
use crate::pump::event::EventKind;
use crate::pump::primitives;
use crate::pump::view::{ReadRequest, ReadRequests, ReadResults, ViewOwner, ViewPage};
use crate::rules::sent_files;
use crate::types::composition::{ViewScope, has_file_fields};
use crate::types::flow::{JudgedContent, JudgedDocument, JudgedItem};
use crate::types::ids::{Digest, ThreadId};
use crate::types::ports::{CallMark, LeaseToken};
use crate::types::refusal::Refusal;

impl Engine {
    /// What must be read before this can be decided on; `None` if nothing must be read or the delivery is over.
    /// `stored` are the documents that the delivery stored.
    pub(super) fn view_wanted(&self, judged: &JudgedDocument, stored: &[Digest]) -> Option<LogLookup> {
        let lease = &judged.lease;
        let call = self.state.due_call(&lease.id)?;
        let wanted = match &judged.said {
            JudgedContent::Items(items) => {
                let mut wanted = of_items(items, |id| call.may_have_ended(&lease.id.thread, id));
                let organism = self.state.book.find_composition(call.config);
                if organism.is_some_and(|organism| has_file_fields(&organism.source)) {
                    wanted.extend(of_fields(items, stored));
                }
                wanted
            }
            JudgedContent::Ask { question: Ok(question), .. } => {
                let mark = || self.ports.tokens.make_mark(&lease.id.thread, &lease.id.call);
                of_question(question, call.cleared, mark)
            }
            _ => ReadRequests::new(),
        };
        if wanted.is_empty() {
            return None;
        }
        let whose = ViewOwner {
            thread: lease.id.thread.clone(),
            call: lease.id.call.clone(),
            listener: call.listener.clone(),
            sees: self
                .state
                .book
                .find_listener(call.config, &call.listener)
                .map_or(ViewScope::Call, |own| own.sees),
            up_to: call.ready_seq,
        };
        Some(LogLookup::View { whose, wanted })
    }

    /// Notes that a delivery stored these documents: its reply may refer to them.
    pub fn note_stored(&mut self, token: &LeaseToken, documents: Vec<Digest>) {
        self.dispatch_queue.note_stored(token, documents);
    }

    /// Whether a document of that delivery already waits for the log.
    pub(super) fn has_parked_word(&self, stem: &ThreadId, token: &LeaseToken) -> bool {
        let waits =
            |input: &PumpInput| matches!(input, PumpInput::Judged(judged) if judged.lease.token == *token);
        !self.parked.is_empty() && self.parked.get(stem).is_some_and(|queue| queue.iter().any(waits))
    }

    /// Whether a reply to that delivery waits for the log.
    pub(super) fn has_parked_reply(&self, stem: &ThreadId, token: &LeaseToken) -> bool {
        let waits = |input: &PumpInput| {
            matches!(input, PumpInput::Judged(judged)
                if judged.lease.token == *token && judged.said.is_reply())
        };
        !self.parked.is_empty() && self.parked.get(stem).is_some_and(|queue| queue.iter().any(waits))
    }

    /// Continues with the document that waited for this view, or for the answer that the view cannot be read.
    pub(super) fn take_results(&mut self, stem: &ThreadId, seen: Result<ReadResults, Refusal>) {
        if let Some(PumpInput::Judged(judged)) = self.first_parked(stem) {
            if let Some(next) = seen.as_ref().ok().and_then(|seen| seen.next) {
                self.dispatch_queue.read_on(&judged.lease.token, next);
            }
            self.take_event(EventKind::Looked { judged, seen });
        }
    }
}

/// What the items of a reply need from the log; nothing if no item asks for the view or names a thread that may
/// have been a child.
fn of_items(items: &[JudgedItem], may_have_ended: impl Fn(&ThreadId) -> bool) -> ReadRequests {
    let named = primitives::list_named(items).into_iter().filter(may_have_ended);
    let mut wanted: ReadRequests = named.map(|id| (0, ReadRequest::Child(id))).collect();
    for (ordinal, item) in (0u32..).zip(items) {
        let JudgedItem::Admitted(admitted) = item else { continue };
        if let Some(one) = primitives::find_primitive(admitted) {
            wanted.extend((one.wants)(admitted.bytes()).into_iter().map(|pending| (ordinal, pending)));
        }
    }
    wanted
}

/// The files that items refer to and that their listener did not store itself.
fn of_fields(items: &[JudgedItem], stored: &[Digest]) -> ReadRequests {
    let mut wanted = ReadRequests::new();
    for (ordinal, item) in (0u32..).zip(items) {
        let mut files =
            item.as_admitted().map(|one| sent_files::list_fields(one.bytes())).unwrap_or_default();
        files.retain(|hash| !stored.contains(hash));
        if !files.is_empty() {
            wanted.push((ordinal, ReadRequest::Files(files)));
        }
    }
    wanted
}

/// What a question needs of a view that is cleared up to that message.
fn of_question(question: &PumpQuestion, cleared: u64, mark: impl FnOnce() -> CallMark) -> ReadRequests {
    let pending = match question {
        PumpQuestion::View { from_seq, words, items } => {
            let (words, items) = (*words, *items);
            ReadRequest::Page(ViewPage { from: *from_seq, cleared, words, items, mark: mark() })
        }
        PumpQuestion::Blob { hash, from } => {
            ReadRequest::Blob { hash: Digest::parse(hash).ok(), from: *from }
        }
        PumpQuestion::Schema { .. }
        | PumpQuestion::PutBlob { .. }
        | PumpQuestion::Journal { .. }
        | PumpQuestion::Configuration { .. } => return ReadRequests::new(),
    };
    vec![(0, pending)]
}
