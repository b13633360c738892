//! A listener's own view of one call: the messages that it was shown and that it said, in one order, with numbers
//! from 1 on. If the listener sees its thread, what others said to one another is between them. Pure, over the
//! records of one thread. It never looks into other threads, or at ids, times and attempts; for a listener that sees
//! only its call, it never looks into callees.
//!
//! First come the listener's earlier calls in the thread, in the order in which they were asked for: those whose
//! outcome was known when this call was asked for. Then comes the request, and for each turn its items, their answers
//! in order of ordinal, and the inbox as the next turn showed it. So the order in which parallel answers came does
//! not matter, and a number never changes. Each message is one record: a refused item is the refusal that answers it.
//! What models said in a turn comes before the items made from it, and has no number.

mod numbered_messages;
mod order;
mod preceding_words;
mod reading;
mod text;
mod view_cache;
mod view_page;
mod viewed_call;

use std::collections::{BTreeMap, HashMap};

pub use reading::{read_requests, with_words};
pub use view_cache::BegunViews;
pub use view_page::{PrecedingWords, ReadRequest, ReadRequests, ReadResults, View, ViewMessage, ViewPage};
pub use viewed_call::ViewOwner;

use numbered_messages::LaidView;
use preceding_words::BoughtTokens;
use systole_wire::ask::MessageSpot;
use systole_wire::file_reference;
use viewed_call::{CallOrder, NotedWords, ViewedCall, ViewedTurn, make_key, turn_before};

use super::state::{Call, CallState, Thread};
use super::wake;
use crate::rules::view_payload;
use crate::types::composition::ViewScope;
use crate::types::ids::{CallPath, Digest, Name};
use crate::types::ports::{LogFault, Position};
use crate::types::record::{Header, MessageRole, Record, RecordCode, RecordKind, SteerEffect};

/// A view that is being read: it takes the records of its thread one by one.
pub struct ViewReading {
    whose: ViewOwner,
    thread: Thread,
    /// The calls that belong to the view, in the order in which they were asked for.
    calls: BTreeMap<CallOrder, ViewedCall>,
    noted: HashMap<u64, NotedWords>,
    laid: LaidView,
    /// Whether it is looked at again and again, and so is worth keeping.
    is_read_on: bool,
}

impl ViewReading {
    /// A view of which nothing has been read yet.
    pub fn new(whose: ViewOwner) -> ViewReading {
        let thread = Thread::new_blank(whose.thread.clone());
        let is_read_on = whose.sees == ViewScope::Thread;
        let (calls, noted, laid) = (BTreeMap::new(), HashMap::new(), LaidView::default());
        ViewReading { whose, thread, calls, noted, laid, is_read_on }
    }

    /// The next record; `None` once all records that count were taken.
    pub fn next(&self) -> Option<u64> {
        (self.thread.seq < self.whose.up_to).then_some(self.thread.seq + 1)
    }

    /// Takes the next record of the thread.
    pub fn take_record(&mut self, record: &Record, position: Position) -> Result<(), LogFault> {
        let h = &record.header;
        let (path, turn) = find_speaker(h);
        if let Some(path) = path.filter(|path| self.is_watched(path))
            && let Some(call) = self.thread.calls.get(&path)
            && let Some(told) = self.calls.get_mut(&make_key(&path))
        {
            told.bought.take_record(call, h, turn);
            told.turns.extend(ends_of_turns(call, h, turn).into_iter().flatten());
        }
        if h.code == Some(RecordCode::Steering(SteerEffect::Reopened))
            && let Some(told) = h.call.as_ref().and_then(|path| self.calls.get_mut(&make_key(path)))
        {
            // Its closing ended the last turn, which goes on.
            told.turns.pop();
        }
        if h.seq == 1 {
            self.laid.view.began = h.time;
        }
        wake::fold_next(&mut self.thread, record, position)?;
        self.watch_call(h);
        if self.may_be_message(h) {
            let names = if h.from == Name::new_core() {
                view_payload::refused_bytes(&record.body).into_iter().collect()
            } else {
                let files = file_reference::list_files(&record.body);
                files.iter().filter_map(|file| Digest::parse(&file.hash).ok()).collect()
            };
            let (leaf, characters) = (record.leaf, count_characters(&record.body));
            let is_note = matches!(h.code, Some(RecordCode::Role(MessageRole::Note)));
            let (from, to) = (h.from.clone(), h.to.clone());
            self.noted.insert(h.seq, NotedWords { from, to, leaf, characters, is_note, names });
        }
        Ok(())
    }

    /// Lays the view out as far as it was read; returns `None` if the call was never opened, or is no longer open.
    pub fn lay_out(&mut self) -> Option<&View> {
        match self.whose.sees {
            ViewScope::Call => self.read_on()?,
            ViewScope::Thread => self.lay_all_out()?,
        }
        Some(&self.laid.view)
    }

    /// A view of the call alone: earlier calls are over, and the view grows at its end.
    fn read_on(&mut self) -> Option<()> {
        let whose = &self.whose.call;
        let due = turn_before(self.thread.calls.get(whose)?, true);
        let earlier = self.calls.values().filter(|told| told.path != *whose);
        let own = self.calls.get(&make_key(whose))?;
        self.laid.read_on(earlier, own, &due, &mut self.noted)
    }

    /// A view of the thread: what was said inside calls is between their items and answers.
    fn lay_all_out(&mut self) -> Option<()> {
        let open = order::find_open(&self.thread, &self.whose, |path| self.is_watched(path))?;
        self.laid.begin_again();
        for placed in order::place_calls(&self.calls, &open, &self.whose.call) {
            self.laid.put(&placed, self.noted.get(&placed.seq)?);
        }
        Some(())
    }

    /// Whether it is the view of that call, read no further than is wanted.
    fn is_before(&self, whose: &ViewOwner) -> bool {
        let ViewOwner { thread, call, listener, sees, up_to } = whose;
        let own = &self.whose;
        (&own.thread, &own.call, &own.listener, own.sees) == (thread, call, listener, *sees)
            && self.thread.seq <= *up_to
    }

    /// The same view, to be read up to that record.
    fn up_to(mut self, up_to: u64) -> ViewReading {
        self.whose.up_to = up_to;
        self
    }

    fn is_watched(&self, path: &CallPath) -> bool {
        self.calls.contains_key(&make_key(path))
    }

    /// Watches the call that a record opened, if it belongs to the view: the call itself, and earlier calls of its
    /// listener that are not inside such a call. A listener that sees the thread also gets other calls: those whose
    /// outcome was known by then, those that contain its call, and those inside its call.
    fn watch_call(&mut self, h: &Header) {
        let path = match h.code {
            Some(RecordCode::Role(MessageRole::Call)) => item_path(h),
            _ => h.call.clone(),
        };
        let Some(path) = path.filter(|path| !self.is_watched(path)) else { return };
        let Some(call) = self.thread.calls.get(&path).filter(|call| call.opened_by(h.seq)) else { return };
        let whose = &self.whose.call;
        let is_earlier = || call.listener == self.whose.listener && path.is_before(whose);
        let own = || self.calls.iter().filter(|(_, told)| told.is_own);
        let is_inside = || own().any(|((_, other), _)| path.is_within(other));
        let is_own = path == *whose || is_earlier() && !is_inside();
        // A call that runs in parallel is not over for anyone yet, and may come in any order.
        let is_over = || {
            path.is_before(whose) || path.is_awaited() && (path.is_within(whose) || whose.is_within(&path))
        };
        if is_own || self.whose.sees == ViewScope::Thread && is_over() {
            let (caller, listener) = (call.caller.clone(), call.listener.clone());
            let (turns, bought) = (Vec::new(), BoughtTokens::default());
            self.calls.insert(make_key(&path), ViewedCall { path, caller, listener, is_own, turns, bought });
        }
    }

    /// Whether a record may be a message: it belongs to a watched call, or answers or makes an item of one.
    fn may_be_message(&self, h: &Header) -> bool {
        let Some(path) = &h.call else { return false };
        let answers = || path.caller().is_some_and(|(caller, ..)| self.is_watched(&caller));
        let opens = || item_path(h).is_some_and(|item| self.is_watched(&item));
        self.is_watched(path) || answers() || opens()
    }
}

impl Call {
    /// Whether that record opened it.
    fn opened_by(&self, seq: u64) -> bool {
        self.settled == 0 && self.request == seq
    }
}

/// The call whose turn a record belongs to, and the turn if the record belongs to its reply. An item for several
/// takers names the call that it opens.
fn find_speaker(h: &Header) -> (Option<CallPath>, Option<u32>) {
    match h.code {
        Some(RecordCode::Role(MessageRole::ToAll | MessageRole::ToFirst)) => {
            let item = h.call.as_ref().and_then(CallPath::caller);
            item.map(|(caller, turn, _)| (caller, turn)).unzip()
        }
        _ => (h.call.clone(), h.turn.filter(|_| h.ordinal.is_some())),
    }
}

fn item_path(h: &Header) -> Option<CallPath> {
    Some(h.call.as_ref()?.append_item(h.turn?, h.ordinal?))
}

fn count_characters(body: &[u8]) -> u64 {
    // Every character has exactly one byte that is not a continuation byte.
    body.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64
}

/// The turns of a call that end with a record about to be folded: what was said and shown up to the record, and the
/// record itself if it is the call's final.
fn ends_of_turns(call: &Call, h: &Header, turn: Option<u32>) -> Option<Vec<ViewedTurn>> {
    let is_new = turn.is_some_and(|turn| turn > call.settled);
    match (h.kind, h.code) {
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Final))) => {
            let said = MessageSpot::Said { turn: h.turn?, ordinal: h.ordinal? };
            let before = is_new.then(|| turn_before(call, true));
            // Notes of the same reply were recorded before it.
            let mut last = if is_new { ViewedTurn::new() } else { turn_before(call, false) };
            let after = |(spot, _): &(MessageSpot, u64)| !matches!(spot, MessageSpot::Said { ordinal, .. } if Some(*ordinal) < h.ordinal);
            let place = last.iter().position(after).unwrap_or(last.len());
            last.insert(place, (said, h.seq));
            Some(before.into_iter().chain([last]).collect())
        }
        (RecordKind::Outcome, Some(RecordCode::DeadLetter)) => None,
        // A turn that never became due was shown to no one, but every item has its answer.
        (RecordKind::Outcome, _) => {
            Some(vec![turn_before(call, matches!(call.stand(), CallState::Ready { .. }))])
        }
        _ if is_new => Some(vec![turn_before(call, true)]),
        _ => None,
    }
}
