//! Waking threads from the log and opening a log: rows, and the records after them, through `apply`
//! alone. Every record that is folded here is verified against the chain before it.

use std::collections::HashMap;

use super::fold::apply_to;
use super::replies::{self, Replied};
use super::state::{Stand, State, Thread};
use crate::rules::core_payload;
use crate::words::ids::{CallPath, Key, Name, ThreadId};
use crate::words::ports::{Batch, LogFault, LogReader, Opening, Position, Step, Steps, Unwatched};
use crate::words::record::Record;

/// Records read at once while a thread is folded.
const PAGE: usize = 512;

/// Folds one record into a thread after checking that it is the next of its chain.
pub fn fold_next(thread: &mut Thread, record: &Record, position: Position) -> Result<(), LogFault> {
    let expected = thread.seq + 1;
    if record.header.seq != expected || !record.verifies(thread.head) {
        let why = [
            "record ",
            &record.header.seq.to_string(),
            " of thread ",
            thread.id.as_str(),
            " does not follow record ",
            &thread.seq.to_string(),
        ]
        .concat();
        return Err(LogFault::Damaged { path: "the log".into(), position, why });
    }
    apply_to(thread, record);
    Ok(())
}

/// The fold of a thread as the log has it; none if it has no record.
pub fn wake(reader: &dyn LogReader, id: &ThreadId) -> Result<Option<Thread>, LogFault> {
    let row = reader.row(id)?;
    let mut thread = row.as_ref().and_then(Thread::from_row).unwrap_or_else(|| Thread::blank(id.clone()));
    loop {
        let page = reader.of_thread(id, thread.seq + 1, PAGE)?;
        for (position, record) in &page {
            fold_next(&mut thread, record, *position)?;
        }
        if page.len() < PAGE {
            break;
        }
    }
    Ok((thread.seq > 0).then_some(thread))
}

/// A thread and, where it has ended, those above it up to the first that lives: where what comes late
/// is recorded depends on them.
pub fn wake_line(reader: &dyn LogReader, id: &ThreadId) -> Result<Vec<Thread>, LogFault> {
    let mut line = Vec::new();
    let mut next = Some(id.clone());
    while let Some(thread) = next.as_ref().map(|id| wake(reader, id)).transpose()?.flatten() {
        next = thread.ended.then(|| thread.id.parent()).flatten();
        line.push(thread);
    }
    Ok(line)
}

/// The thread that a message from outside concerns, and those whose ids its root's id collides with.
pub fn wake_root(
    reader: &dyn LogReader,
    organism: &Name,
    client: &Name,
    key: &Key,
) -> Result<Vec<Thread>, LogFault> {
    let mut met = Vec::new();
    for digits in 12..=64 {
        let Some(thread) = wake(reader, &ThreadId::root(organism, client, key, digits))? else { break };
        let own = thread.opener.as_ref().is_some_and(|o| o.sender == *client && o.key.as_ref() == Some(key));
        met.push(thread);
        if own {
            break;
        }
    }
    Ok(met)
}

/// What opening a log gives.
pub struct Recovered {
    /// Every thread that is at work, and the `sys` thread.
    pub state: State,
    /// Records that came after the last checkpoint, and so are folded at every start until the next.
    pub since_checkpoint: usize,
    /// Whether the log ends with the word that nothing was out, so that nothing can have been lost.
    pub was_drained: bool,
    /// The deliveries whose reply is on record, as far back as is looked.
    pub replied: Vec<Replied>,
}

/// The rows with which whoever opens the log next need only fold what comes after them: for one that is written
/// elsewhere, and only followed here.
pub fn checkpoint(reader: &dyn LogReader) -> Result<Batch, LogFault> {
    let (_, threads) = folded(reader, &Unwatched)?;
    let mut rows: Vec<_> = threads.values().map(Thread::to_row).collect();
    rows.sort_unstable_by(|a, b| a.thread.cmp(&b.thread));
    Ok(Batch { rows, checkpoint: true, ..Batch::default() })
}

/// Goes on from what the log holds.
pub fn recover(reader: &dyn LogReader, steps: &dyn Steps) -> Result<Recovered, LogFault> {
    let (opening, mut threads) = folded(reader, steps)?;
    let sys = ThreadId::sys();
    if !threads.contains_key(&sys)
        && let Some(thread) = wake(reader, &sys)?
    {
        threads.insert(sys, thread);
    }
    let was_drained = match threads.get(&ThreadId::sys()) {
        Some(sys) => was_drained(reader, sys, opening.last)?,
        None => false,
    };
    let state = State { threads, ..State::default() };
    let replied = replies::on_record(reader, opening.last)?;
    Ok(Recovered { state, since_checkpoint: opening.records.len(), was_drained, replied })
}

/// What opening reads, and the threads that it is about.
fn folded(
    reader: &dyn LogReader,
    steps: &dyn Steps,
) -> Result<(Opening, HashMap<ThreadId, Thread>), LogFault> {
    let opening = reader.opening()?;
    let mut threads: HashMap<ThreadId, Thread> = HashMap::new();
    for row in &opening.rows {
        let thread = match Thread::from_row(row) {
            Some(thread) => Some(thread),
            None => wake(reader, &row.thread)?,
        };
        threads.extend(thread.map(|t| (t.id.clone(), t)));
    }
    let first = opening.last.0.saturating_sub(opening.records.len() as u64);
    for (position, record) in (first + 1..).map(Position).zip(&opening.records) {
        let id = &record.header.thread;
        if !threads.contains_key(id) {
            let row = reader.row(id)?.as_ref().and_then(Thread::from_row);
            let thread = match row {
                Some(thread) => thread,
                None if record.header.seq == 1 => Thread::blank(id.clone()),
                // Its row was written in another encoding: the whole chain is folded, this record with it.
                None => wake(reader, id)?.unwrap_or_else(|| Thread::blank(id.clone())),
            };
            threads.insert(id.clone(), thread);
        }
        if let Some(thread) = threads.get_mut(id).filter(|t| t.seq < record.header.seq) {
            fold_next(thread, record, position)?;
            steps.passed(Step::Recovering);
        }
    }
    Ok((opening, threads))
}

/// Whether the last record of all is the core's own word that nothing was out. Whoever sends writes of its
/// start before, so that the word holds for as long as nothing follows it.
fn was_drained(reader: &dyn LogReader, sys: &Thread, last: Position) -> Result<bool, LogFault> {
    let newest = reader.of_thread(&sys.id, sys.seq, 1)?.pop();
    Ok(newest.is_some_and(|(position, record)| {
        let is_cores = position == last && record.header.from == Name::core();
        is_cores && *record.body == *core_payload::shutdown(core_payload::DRAINED)
    }))
}

/// The calls whose due turn may go out, in the order in which they became ready.
pub fn ready_calls(state: &State) -> Vec<(ThreadId, CallPath)> {
    let mut ready: Vec<_> = state
        .threads
        .values()
        .flat_map(|t| t.calls.iter().map(move |(path, call)| (t, path, call)))
        .filter(|(_, _, call)| matches!(call.stand(), Stand::Ready { .. }))
        .map(|(t, path, call)| {
            (call.ready_at.max(call.not_before), t.id.clone(), call.ready_seq, path.clone())
        })
        .collect();
    ready.sort();
    ready.into_iter().map(|(_, thread, _, path)| (thread, path)).collect()
}
