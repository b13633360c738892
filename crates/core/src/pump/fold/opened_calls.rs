//! The calls of a thread, as records name and open them.

use std::collections::BTreeMap;

use crate::pump::state::{Call, Journal, OpenedBy, Thread};
use crate::rules::loops::LoopMemory;
use crate::types::ids::CallPath;
use crate::types::record::Header;
use crate::types::time::Millis;

pub(super) fn item_path(h: &Header) -> Option<CallPath> {
    Some(h.call.as_ref()?.append_item(h.turn?, h.ordinal?))
}

/// The budget use that pays for a call.
pub(super) fn budget_use_of(thread: &Thread, call: Option<&CallPath>) -> u32 {
    call.and_then(|path| thread.calls.get(path)).map_or(0, |call| call.budget_use)
}

pub(super) fn open_call(
    thread: &mut Thread,
    h: &Header,
    path: Option<CallPath>,
    opened_by: OpenedBy,
    held: bool,
    budget_use: u32,
) {
    let (Some(path), Some(listener)) = (path, h.to.clone()) else { return };
    if path.depth() == 0 && opened_by != OpenedBy::Tell {
        thread.supersede_failed();
    }
    let call = Call {
        listener,
        caller: h.from.clone(),
        opened_by,
        config: h.config,
        budget_use,
        wrap_up: None,
        request: h.seq,
        opened: h.time,
        held,
        approval: None,
        settled: 0,
        items: Vec::new(),
        attempts: 0,
        away: 0,
        retries: 0,
        before_retry: 0,
        has_unknown: false,
        lost_with_pump: 0,
        deaths_on_record: 0,
        not_before: Millis(0),
        taken: None,
        waits: None,
        away_since: None,
        went_on: Millis::default(),
        journal: Journal::default(),
        asks_models: false,
        inbox: Vec::new(),
        ready_seq: h.seq,
        ready_cause: h.id,
        ready_at: h.time,
        children: Vec::new(),
        shown_ends: 0,
        nudged: false,
        rounds: LoopMemory::default(),
        todos: BTreeMap::new(),
        cleared: 0,
    };
    thread.calls.insert(path, Box::new(call));
}

pub(super) fn call_of<'t>(thread: &'t mut Thread, h: &Header) -> Option<&'t mut Call> {
    thread.calls.get_mut(h.call.as_ref()?).map(|call| &mut **call)
}
