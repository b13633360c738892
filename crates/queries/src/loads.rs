//! The load of each listener, and the newest messages between two of them.
//!
//! The state of a log comes in; open calls of each listener go out, by what they wait for. A reader comes in; the
//! newest messages of an edge go out, newest first, from a window of the newest records.

use std::collections::BTreeMap;

use serde::Serialize;

use super::log_state::LogState;
use super::posts::{DueCallState, DueCalls};
use crate::limits;
use systole_core::pump::state::{CallState, PersonRequest};
use systole_core::types::ids::Name;
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind, TimerEffect};

/// The open calls of a listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ListenerLoad {
    /// All of them.
    pub open: usize,
    /// With the listener.
    pub out: usize,
    /// In its queue.
    pub queued: usize,
    /// Until a moment, after a failure.
    pub back_off: usize,
    /// For a person.
    pub person: usize,
    /// For answers of others.
    pub joining: usize,
    /// Paused, behind an earlier call, or until the organism runs.
    pub held: usize,
}

impl ListenerLoad {
    /// What the open calls wait for, in words.
    pub fn words(&self) -> String {
        let counts = [
            (self.out, "out at the listener"),
            (self.queued, "in its queue"),
            (self.back_off, "in back-off after a failure"),
            (self.person, "for a person"),
            (self.joining, "for the calls that they made"),
            (self.held, "held by a pause or an earlier call"),
        ];
        let counted = counts.iter().filter(|(count, _)| *count > 0);
        counted.map(|(count, words)| format!("{count} {words}")).collect::<Vec<_>>().join(", ")
    }
}

/// The load of each listener with an open call.
pub fn loads(whole: &LogState, posts: &DueCalls) -> BTreeMap<Name, ListenerLoad> {
    let mut loads: BTreeMap<Name, ListenerLoad> = BTreeMap::new();
    for thread in whole.working() {
        for (path, call) in &thread.calls {
            let load = loads.entry(call.listener.clone()).or_default();
            load.open += 1;
            let asks = thread.person_requests().any(|(place, request)| {
                matches!(request, PersonRequest::Question(_))
                    && place.caller().is_some_and(|(caller, ..)| caller == *path)
            });
            let counted = match (call.stand(), posts.of(&thread.id, path)) {
                (CallState::Asking, _) => &mut load.person,
                (CallState::Joining(_), _) if asks => &mut load.person,
                (CallState::Joining(_), _) => &mut load.joining,
                (CallState::Held, _) => &mut load.held,
                (CallState::Ready { .. }, Some(DueCallState::Out { .. })) => &mut load.out,
                (CallState::Ready { .. }, Some(DueCallState::Queued { .. } | DueCallState::Away { .. })) => {
                    &mut load.queued
                }
                (CallState::Ready { .. }, Some(DueCallState::BackOff { .. })) => &mut load.back_off,
                (CallState::Ready { .. }, _) => &mut load.held,
            };
            *counted += 1;
        }
    }
    loads
}

/// The messages from one listener to another, or from outside to a listener if `from` is `None`. At most that many.
pub fn between(
    reader: &dyn LogReader,
    (from, to): (Option<&Name>, &Name),
    most: usize,
) -> Result<Vec<PlacedRecord>, LogFault> {
    let last = reader.read_last()?.0;
    let first = last.saturating_sub(limits::EDGE_RECORDS);
    let mut found = Vec::new();
    let mut end = last;
    while end > first && found.len() < most {
        let start = end.saturating_sub(limits::LOG_PAGE as u64).max(first);
        let page = reader.read_after(Position(start), usize::try_from(end - start).unwrap_or(usize::MAX))?;
        let fits = |placed: &&PlacedRecord| placed.0.0 <= end && is_between(&placed.1, from, to);
        let left = most - found.len();
        found.extend(page.iter().rev().filter(fits).take(left).cloned());
        end = start;
    }
    Ok(found)
}

fn is_between(record: &Record, from: Option<&Name>, to: &Name) -> bool {
    let h = &record.header;
    let is_from_outside = matches!(
        h.code,
        Some(RecordCode::Role(MessageRole::Request) | RecordCode::Timing(TimerEffect::Opens))
    );
    let is_from = from.map_or(is_from_outside, |from| h.from == *from && !is_from_outside);
    matches!(h.kind, RecordKind::Message | RecordKind::Timer) && is_from && h.to.as_ref() == Some(to)
}
