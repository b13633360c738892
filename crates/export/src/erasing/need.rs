//! Whether a thread needs a record that is to be erased: for work that is open, or for its state.

use std::collections::BTreeMap;
use std::fmt;

use systole_core::pump::state::{PersonRequest, Thread};
use systole_core::pump::wake;
use systole_core::types::ids::{CallPath, Name, ThreadId, TimerId};
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;
use systole_log::sqlite::SqliteReader;

/// A record that its thread needs.
pub(super) struct NeededRecord {
    pub(super) position: Position,
    pub(super) thread: ThreadId,
    /// What needs it; `None` if the state of the thread is made from it.
    pub(super) need: Option<ThreadNeed>,
}

/// The open work that needs a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ThreadNeed {
    /// A payload of it waits for an approval.
    Approval(PersonRequestId),
    /// A question of it waits for an answer.
    Question(PersonRequestId),
    /// A call of it is open.
    Call(CallPath, Name),
    /// The record set a timer.
    Timer(TimerId),
}

impl fmt::Display for ThreadNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThreadNeed::Approval(id) => write!(f, "{id} waits for a person's approval"),
            ThreadNeed::Question(id) => write!(f, "{id} waits for a person's answer"),
            ThreadNeed::Call(path, listener) => write!(f, "its call {path} to {listener} is open"),
            ThreadNeed::Timer(id) => write!(f, "it set the timer {id}, whose note is shown when it fires"),
        }
    }
}

/// The first of these records that its thread needs. They are given as they are afterwards.
pub(super) fn find_first(
    reader: &SqliteReader,
    erased: &BTreeMap<Position, Record>,
) -> Result<Option<NeededRecord>, LogFault> {
    let mut threads: BTreeMap<&ThreadId, Vec<(Position, u64)>> = BTreeMap::new();
    for (position, record) in erased {
        threads.entry(&record.header.thread).or_default().push((*position, record.header.seq));
    }
    for (id, places) in threads {
        let Some((position, _)) = places.first().copied() else { continue };
        let (mut before, mut after) = fold_both(reader, id, erased)?;
        if let Some((position, need)) = find_needed(&before, &places) {
            return Ok(Some(NeededRecord { position, thread: id.clone(), need: Some(need) }));
        }
        // These have the hash of an erased body: if it is sent again, it is refused, and not taken for another.
        for thread in [&mut before, &mut after] {
            thread.recent.clear();
            thread.opener = None;
        }
        if before != after {
            return Ok(Some(NeededRecord { position, thread: id.clone(), need: None }));
        }
    }
    Ok(None)
}

/// The first of these records whose thread has open work, or needs its note. The records stay, and lose a file.
pub(super) fn find_first_holder(
    reader: &SqliteReader,
    holders: &BTreeMap<&ThreadId, Vec<(Position, u64)>>,
) -> Result<Option<NeededRecord>, LogFault> {
    for (id, places) in holders {
        let (thread, _) = fold_both(reader, id, &BTreeMap::new())?;
        if let Some((position, need)) = find_needed(&thread, places) {
            return Ok(Some(NeededRecord { position, thread: (*id).clone(), need: Some(need) }));
        }
    }
    Ok(None)
}

fn find_needed(thread: &Thread, places: &[(Position, u64)]) -> Option<(Position, ThreadNeed)> {
    let (first, _) = places.first()?;
    if let Some((_, request)) = thread.person_requests().next() {
        let id = request.id();
        let need = match request {
            PersonRequest::Approval(_) => ThreadNeed::Approval(id),
            PersonRequest::Question(_) => ThreadNeed::Question(id),
        };
        return Some((*first, need));
    }
    if let Some((path, call)) = thread.calls.iter().next() {
        return Some((*first, ThreadNeed::Call(path.clone(), call.listener.clone())));
    }
    let set = |seq: u64| thread.timers.iter().find(|(_, timer)| timer.set == seq);
    places.iter().find_map(|(at, seq)| set(*seq).map(|(id, _)| (*at, ThreadNeed::Timer(id.clone()))))
}

/// The thread as it is, and as it is without what is erased.
fn fold_both(
    reader: &dyn LogReader,
    id: &ThreadId,
    erased: &BTreeMap<Position, Record>,
) -> Result<(Thread, Thread), LogFault> {
    let (mut before, mut after) = (Thread::new_blank(id.clone()), Thread::new_blank(id.clone()));
    for placed in reader.records_of(id, 1) {
        let (position, record) = placed?;
        wake::fold_next(&mut before, &record, position)?;
        wake::fold_next(&mut after, erased.get(&position).unwrap_or(&record), position)?;
    }
    Ok((before, after))
}
