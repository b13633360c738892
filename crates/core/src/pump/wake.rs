//! Wakes threads from the log and opens a log: rows, and the records after them, folded with `apply` alone. Every
//! record that is folded here is verified against the chain before it. A row is used only if it ends with the head of
//! that record in the log.

use super::fold::apply_to;
use super::replies::{self, RepliedDelivery};
use super::state::{CallState, PumpState, Thread};
use crate::rules::shutdown_payload;
use crate::types::fast_maps::FastMap;
use crate::types::ids::{CallPath, Name, ThreadId};
use crate::types::limits;
use crate::types::ports::{
    FoldRow, LogBatch, LogFault, LogOpening, LogReader, NoObserver, Position, PumpStep, StepObserver,
};
use crate::types::record::Record;
use crate::types::thread_choice::SoughtRoot;

/// Folds one record into a thread after a check that it is the next record of the chain.
pub fn fold_next(thread: &mut Thread, record: &Record, position: Position) -> Result<(), LogFault> {
    let expected = thread.seq + 1;
    if record.header.seq != expected || !record.is_valid_after(thread.head) {
        let why = format!(
            "record {} of thread {} does not follow record {}",
            record.header.seq,
            thread.id.as_str(),
            thread.seq
        );
        return Err(LogFault::Damaged { path: "the log".into(), position, why });
    }
    apply_to(thread, record);
    Ok(())
}

/// The fold of a thread as the log has it; `None` if the thread has no record.
pub fn wake_thread(reader: &dyn LogReader, id: &ThreadId) -> Result<Option<Thread>, LogFault> {
    let kept = match reader.read_row(id)? {
        Some(row) => read_kept(reader, &row)?,
        None => None,
    };
    if let Some(KeptFold { thread, next: None }) = kept {
        return Ok(Some(thread));
    }
    let mut thread = kept.map_or_else(|| Thread::new_blank(id.clone()), |kept| kept.thread);
    for placed in reader.records_of(id, thread.seq + 1) {
        let (position, record) = placed?;
        fold_next(&mut thread, &record, position)?;
    }
    Ok((thread.seq > 0).then_some(thread))
}

/// A thread from its row.
struct KeptFold {
    thread: Thread,
    /// The position of its next record, if there is one.
    next: Option<Position>,
}

/// The thread of a row; `None` if the row has another encoding, or its head differs from the head in the log.
fn read_kept(reader: &dyn LogReader, row: &FoldRow) -> Result<Option<KeptFold>, LogFault> {
    let Some(thread) = Thread::from_row(row) else { return Ok(None) };
    let mut found = reader.of_thread(&thread.id, thread.seq, 2)?.into_iter();
    let fits = found.next().is_some_and(|(_, r)| r.header.seq == thread.seq && r.head == thread.head);
    let next = found.next().map(|(position, _)| position);
    Ok(fits.then_some(KeptFold { thread, next }))
}

/// A thread and, if it has ended, its ancestors up to the first living one: these decide where late messages are
/// recorded.
pub fn wake_line(reader: &dyn LogReader, id: &ThreadId) -> Result<Vec<Thread>, LogFault> {
    let mut line = Vec::new();
    let mut next = Some(id.clone());
    while let Some(thread) = next.as_ref().map(|id| wake_thread(reader, id)).transpose()?.flatten() {
        next = thread.ended.then(|| thread.id.parent()).flatten();
        line.push(thread);
    }
    Ok(line)
}

/// The root that a message from outside concerns, behind the roots whose ids collide with its id, and its id, if the
/// log has it.
pub fn wake_root(
    reader: &dyn LogReader,
    sought: &SoughtRoot,
) -> Result<(Vec<Thread>, Option<ThreadId>), LogFault> {
    let mut met = Vec::new();
    for digits in 12..=64 {
        let Some(thread) = wake_thread(reader, &sought.find_id(digits))? else { break };
        let own = thread.is_root_of(sought).then(|| thread.id.clone());
        met.push(thread);
        if own.is_some() {
            return Ok((met, own));
        }
    }
    Ok((met, None))
}

/// The result of opening a log.
pub struct RecoveredLog {
    /// Every thread that is at work, and the `sys` thread.
    pub state: PumpState,
    /// Records after the last checkpoint. They are folded at every start until the next checkpoint.
    pub since_checkpoint: usize,
    /// Whether the log ends with the statement that nothing was out on the pump's own machine, so that nothing there
    /// can have been lost.
    pub was_drained: bool,
    /// Whether workers on other machines may have deliveries.
    pub is_out_elsewhere: bool,
    /// The deliveries whose reply is on record, as far back as the search goes.
    pub replied: Vec<RepliedDelivery>,
}

/// Rows for a log that is written elsewhere and only followed here: with them, opening the log need only fold the
/// records after them.
pub fn make_checkpoint(reader: &dyn LogReader) -> Result<LogBatch, LogFault> {
    let (opening, threads) = fold_log(reader, &NoObserver)?;
    let mut rows: Vec<_> = threads.values().map(Thread::to_row).collect();
    rows.sort_unstable_by(|a, b| a.thread.cmp(&b.thread));
    Ok(LogBatch { rows, checkpoint: Some(opening.last), ..LogBatch::default() })
}

/// Continues from what the log holds.
pub fn recover_log(reader: &dyn LogReader, steps: &dyn StepObserver) -> Result<RecoveredLog, LogFault> {
    let (opening, threads) = with_sys(reader, steps)?;
    let out = match threads.get(&ThreadId::new_sys()) {
        Some(sys) => drained_but(reader, sys, opening.last)?,
        None => None,
    };
    let (was_drained, is_out_elsewhere) = (out.is_some(), out != Some(0));
    let state = PumpState { threads, ..PumpState::default() };
    let replied = replies::on_record(reader, opening.last)?;
    let since_checkpoint = match opening.by_thread {
        true => limits::RECORDS_TO_FOLD,
        false => opening.records.len(),
    };
    Ok(RecoveredLog { state, since_checkpoint, was_drained, is_out_elsewhere, replied })
}

/// The threads of a log that is only looked at: every thread that is at work, and the `sys` thread. Others may be
/// among them.
pub fn threads_at_work(reader: &dyn LogReader) -> Result<FastMap<ThreadId, Thread>, LogFault> {
    Ok(with_sys(reader, &NoObserver)?.1)
}

/// What opening reads, the threads that it concerns, and the `sys` thread.
fn with_sys(
    reader: &dyn LogReader,
    steps: &dyn StepObserver,
) -> Result<(LogOpening, FastMap<ThreadId, Thread>), LogFault> {
    let (opening, mut threads) = fold_log(reader, steps)?;
    let sys = ThreadId::new_sys();
    if !threads.contains_key(&sys)
        && let Some(thread) = wake_thread(reader, &sys)?
    {
        threads.insert(sys, thread);
    }
    Ok((opening, threads))
}

/// Folds a later record into the threads of a log that is looked at.
pub fn follow_record(
    reader: &dyn LogReader,
    threads: &mut FastMap<ThreadId, Thread>,
    (position, record): (Position, &Record),
) -> Result<(), LogFault> {
    let id = &record.header.thread;
    if !threads.contains_key(id) {
        // A thread that is woken is as new as the log, so it may have the record already.
        let woken = if record.header.seq == 1 { None } else { wake_thread(reader, id)? };
        threads.insert(id.clone(), woken.unwrap_or_else(|| Thread::new_blank(id.clone())));
    }
    match threads.get_mut(id) {
        Some(thread) if thread.seq < record.header.seq => fold_next(thread, record, position),
        _ => Ok(()),
    }
}

/// What opening reads, and the threads that it concerns.
fn fold_log(
    reader: &dyn LogReader,
    steps: &dyn StepObserver,
) -> Result<(LogOpening, FastMap<ThreadId, Thread>), LogFault> {
    let opening = reader.read_opening()?;
    if opening.by_thread {
        let threads = one_by_one(reader, steps)?;
        return Ok((opening, threads));
    }
    let mut threads: FastMap<ThreadId, Thread> = FastMap::default();
    let first = opening.last.0.saturating_sub(opening.records.len() as u64);
    for row in &opening.rows {
        let thread = at_checkpoint(reader, row, Position(first))?;
        threads.extend(thread.map(|t| (t.id.clone(), t)));
    }
    for (position, record) in (first + 1..).map(Position).zip(&opening.records) {
        let id = &record.header.thread;
        if !threads.contains_key(id) {
            let thread = match (record.header.seq, reader.read_row(id)?) {
                (1, _) => None,
                (_, Some(row)) => at_checkpoint(reader, &row, Position(first))?,
                (_, None) => wake_thread(reader, id)?,
            };
            threads.insert(id.clone(), thread.unwrap_or_else(|| Thread::new_blank(id.clone())));
        }
        if let Some(thread) = threads.get_mut(id).filter(|t| t.seq < record.header.seq) {
            fold_next(thread, record, position)?;
            steps.note_step(PumpStep::Recovering);
        }
    }
    Ok((opening, threads))
}

/// A thread as it was at a checkpoint, or as it is now if its row does not say how it was then.
fn at_checkpoint(
    reader: &dyn LogReader,
    row: &FoldRow,
    checkpoint: Position,
) -> Result<Option<Thread>, LogFault> {
    match read_kept(reader, row)? {
        Some(KeptFold { thread, next }) if next.is_none_or(|next| next > checkpoint) => Ok(Some(thread)),
        // The first record after the row comes before the checkpoint, so the row is old.
        _ => wake_thread(reader, &row.thread),
    }
}

/// The threads that are at work, and `sys`. Every thread of the log is woken for this.
fn one_by_one(
    reader: &dyn LogReader,
    steps: &dyn StepObserver,
) -> Result<FastMap<ThreadId, Thread>, LogFault> {
    let mut threads = FastMap::default();
    let all = reader.list_threads(usize::MAX)?.into_iter().chain([ThreadId::new_sys()]);
    for id in all {
        let thread = wake_thread(reader, &id)?.filter(|thread| id.is_sys() || thread.is_at_work());
        threads.extend(thread.map(|thread| (id, thread)));
        steps.note_step(PumpStep::Recovering);
    }
    Ok(threads)
}

/// How many deliveries were out on other machines, if the very last record is the core's own statement that no others
/// were out. A pump records its start before it sends anything, so the statement holds as long as no record follows it.
fn drained_but(reader: &dyn LogReader, sys: &Thread, last: Position) -> Result<Option<u64>, LogFault> {
    let newest = reader.of_thread(&sys.id, sys.seq, 1)?.pop();
    let Some((position, record)) = newest.filter(|(_, record)| record.header.from == Name::new_core()) else {
        return Ok(None);
    };
    let said = shutdown_payload::read_shutdown(&record.body).filter(|said| said.is_drained);
    Ok(said.filter(|_| position == last).map(|said| said.out))
}

/// The calls whose due turn may go out, in the order in which they became ready.
pub fn ready_calls(state: &PumpState) -> Vec<(ThreadId, CallPath)> {
    let mut ready: Vec<_> = state
        .threads
        .values()
        .flat_map(|t| t.calls.iter().map(move |(path, call)| (t, path, call)))
        .filter(|(_, _, call)| matches!(call.stand(), CallState::Ready { .. }))
        .map(|(t, path, call)| {
            (call.ready_at.max(call.not_before), t.id.clone(), call.ready_seq, path.clone())
        })
        .collect();
    ready.sort();
    ready.into_iter().map(|(_, thread, _, path)| (thread, path)).collect()
}
