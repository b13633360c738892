//! A fork: the records of a tree up to the beginning of a turn, for a log of its own. The records keep their headers,
//! salts and heads. A marker follows whose `origin` is the head that the fork continues.

use std::collections::HashSet;
use std::sync::Arc;

use systole_core::pump::state::Thread;
use systole_core::pump::wake::fold_next;
use systole_core::rules::core_payload::{self, ErasedDocument};
use systole_core::rules::reload_payload;
use systole_core::rules::shutdown_payload::{self, RunEnding};
use systole_core::types::ids::{CallPath, Digest, MessageId, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position, Seeds, StoredDocument};
use systole_core::types::record::{Header, MessageRole, Record, RecordCode, RecordKind, head_zero};
use systole_core::types::time::Millis;

use super::prompt_view;
use super::replaying::RecordedTree;
use systole_export::document_use::DocumentUse;
use systole_export::erasures::{self, LossCheck};
use systole_queries::prompts::find_before;

/// Why there is no fork.
#[derive(Debug, thiserror::Error)]
pub enum CannotFork {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// The thread has no such turn.
    #[error("{0}")]
    NoSuchTurn(String),
    /// Something else was at work when the turn began.
    #[error("at the beginning of that turn, call {call} of thread {thread} was at work")]
    AtWork {
        /// Its thread.
        thread: ThreadId,
        /// The call.
        call: CallPath,
    },
}

/// The content of a new log.
pub struct ForkedTree {
    /// The records, in the order of their positions. The last one is the marker. Before it, an `<erased>` names what
    /// these records lack.
    pub records: Vec<Record>,
    /// The documents that they name.
    pub documents: Vec<StoredDocument>,
    /// The call that goes on.
    pub call: CallPath,
    /// The head that the fork continues.
    pub continues: Digest,
}

/// Copies a tree up to the beginning of a turn of one of its top calls; without `call`, of the last one.
///
/// # Errors
/// If the thread has no such turn, if another call was at work then, or if the log cannot be read.
pub fn fork_tree(
    reader: &dyn LogReader,
    tree: &RecordedTree,
    (call, turn): (Option<u32>, u32),
    (now, seeds): (Millis, &dyn Seeds),
) -> Result<ForkedTree, CannotFork> {
    let call = find_top_call(tree, call)?;
    let end = count_before(tree, &call, turn)?;
    let (mut records, mut threads): (Vec<(Position, Record)>, Vec<Thread>) = (Vec::new(), Vec::new());
    for (position, record) in tree.records.iter().take(end) {
        let id = &record.header.thread;
        if !threads.iter().any(|thread| thread.id == *id) {
            threads.push(Thread::new_blank(id.clone()));
        }
        for thread in threads.iter_mut().filter(|thread| thread.id == *id) {
            fold_next(thread, record, *position)?;
        }
        records.push((*position, record.clone()));
    }
    for thread in &threads {
        let is_other = |path: &&CallPath| thread.id != tree.root || path.depth() > 0;
        if let Some(path) = thread.calls.keys().find(is_other) {
            return Err(CannotFork::AtWork { thread: thread.id.clone(), call: path.clone() });
        }
    }
    let root = threads.into_iter().find(|thread| thread.id == tree.root);
    // The turn is the next one only if the call is open there, and every turn before it has its reply.
    let is_next = |root: &Thread| root.calls.get(&call).is_some_and(|open| open.settled + 1 == turn);
    let (Some(root), Some((last, newest))) = (root.filter(is_next), records.last().cloned()) else {
        return Err(report_no_turn(tree, &call, turn));
    };
    let marker = build_marker(&root, (&call, turn), newest.header.config, (now, seeds));
    let continues = root.head;
    // The log's own thread counts the requests to persons, so it comes along.
    records.extend(read_system(reader, last)?);
    records.sort_by_key(|(position, _)| *position);
    let (erasure, erased) = build_erasure(reader, &records)?;
    let mut records: Vec<Record> = records.into_iter().map(|(_, record)| record).collect();
    let mut end = records.iter().rfind(|record| record.header.thread.is_sys()).cloned();
    for body in build_stop(&records).into_iter().chain(erasure) {
        let record = record_of_core(body, end.as_ref(), &newest, (now, seeds));
        records.push(record.clone());
        end = Some(record);
    }
    records.push(marker);
    let documents = read_documents(reader, &records, &erased)?;
    Ok(ForkedTree { records, documents, call, continues })
}

/// The `<shutdown>` that lets the file of the fork count, and not a reload of the log that was forked.
fn build_stop(records: &[Record]) -> Option<Arc<[u8]>> {
    let of_core = records.iter().filter(|record| record.header.thread.is_sys());
    let mut reloads = of_core.filter_map(|record| reload_payload::read_news(&record.body));
    reloads.next().map(|_| shutdown_payload::write_shutdown(false, 0, RunEnding::Stop))
}

/// The body of an `<erased>`, if one is needed, and the documents that it names.
type ForkErasure = (Option<Arc<[u8]>>, Vec<ErasedDocument>);

/// The `<erased>` that names what these records lack, at their positions in the fork, and the documents in it. `None` if
/// nothing was erased before, and no copied record says that something was. What no record of the log explains is
/// damage.
fn build_erasure(reader: &dyn LogReader, records: &[(Position, Record)]) -> Result<ForkErasure, LogFault> {
    let mut check = LossCheck::with_erasures(reader, prompt_view::READING, reader.read_last()?)?;
    let (mut parts, mut has_copies) = (Vec::new(), false);
    for (number, (position, record)) in (1..).zip(records) {
        check.take_record(*position, record)?;
        if record.parts.has_erased() {
            parts.push((Position(number), record.parts.list_erased().collect()));
        }
        has_copies |= record.header.thread.is_sys() && core_payload::read_erased(&record.body).is_some();
    }
    let lost = check.finish_part()?;
    erasures::report_damage("the log", &lost)?;
    let is_needed = has_copies || !parts.is_empty() || !lost.erased.is_empty();
    let body = is_needed.then(|| core_payload::erased_before_fork(&parts, &lost.erased));
    Ok((body, lost.erased))
}

/// A record at the end of the log's own thread.
fn record_of_core(
    body: Arc<[u8]>,
    end: Option<&Record>,
    newest: &Record,
    (now, seeds): (Millis, &dyn Seeds),
) -> Record {
    let sys = ThreadId::new_sys();
    let (seq, head) = end.map_or((0, head_zero(&sys)), |end| (end.header.seq, end.head));
    let (id, salt) = draw_id(now, seeds);
    Header::new_notice(sys, seq + 1, id, now, newest.header.config).seal_record(body, salt, head)
}

/// An id and a salt for a record of this moment.
fn draw_id(now: Millis, seeds: &dyn Seeds) -> (MessageId, [u8; 16]) {
    let (id, salt) = (seeds.draw_seed().0, seeds.draw_seed().0);
    let mut random = [0; 10];
    random.iter_mut().zip(id).for_each(|(to, from)| *to = from);
    (MessageId::new(now.0, &random), salt)
}

fn find_top_call(tree: &RecordedTree, wanted: Option<u32>) -> Result<CallPath, CannotFork> {
    let of_root = tree.records.iter().map(|(_, record)| &record.header).filter(|h| h.thread == tree.root);
    let last = of_root.filter_map(|h| h.call.as_ref()).map(CallPath::top_number).max().unwrap_or(0);
    let number = wanted.unwrap_or(last);
    if (1..=last).contains(&number) {
        return Ok(CallPath::new_top(number));
    }
    Err(CannotFork::NoSuchTurn(format!("the thread has no call {number}; its last is {last}")))
}

/// The number of records before the first one that belongs to a turn.
fn count_before(tree: &RecordedTree, call: &CallPath, turn: u32) -> Result<usize, CannotFork> {
    let mut replied = 0;
    for (at, (_, record)) in tree.records.iter().enumerate() {
        let h = &record.header;
        if h.thread != tree.root || h.call.as_ref().is_none_or(|path| path.top_number() != call.top_number())
        {
            continue;
        }
        let is_own = h.call.as_ref() == Some(call);
        let is_of_turn = match h.kind {
            RecordKind::Journal | RecordKind::Attempt => is_own && h.turn == Some(turn),
            RecordKind::Outcome => is_own && replied + 1 == turn,
            RecordKind::Terminal => replied + 1 == turn,
            // What a listener says before its reply, in its own code or about its own sender.
            RecordKind::Message if h.code == Some(RecordCode::Role(MessageRole::Inbox)) => {
                is_own && replied + 1 == turn && core_payload::error_words(&record.body).is_some()
            }
            _ => is_item(h, call) == Some(turn),
        };
        if is_of_turn {
            return Ok(find_before_decision(tree, at));
        }
        replied = replied.max(is_item(h, call).unwrap_or(0));
    }
    if turn == replied + 1 && turn > 0 {
        return Ok(tree.records.len());
    }
    Err(report_no_turn(tree, call, turn))
}

/// Names the last turn of a call: the one that ended it, or the one after its last reply.
fn report_no_turn(tree: &RecordedTree, call: &CallPath, turn: u32) -> CannotFork {
    let headers = tree.records.iter().map(|(_, record)| &record.header).filter(|h| h.thread == tree.root);
    let closes = |h: &&Header| {
        matches!(h.code, Some(RecordCode::Role(MessageRole::Final) | RecordCode::Handled))
            && h.call.as_ref() == Some(call)
    };
    let closed = headers.clone().find(closes).and_then(|h| h.turn);
    let last = closed.unwrap_or_else(|| headers.filter_map(|h| is_item(h, call)).max().unwrap_or(0) + 1);
    CannotFork::NoSuchTurn(format!("call {call} has no turn {turn}; its last is {last}"))
}

/// The turn of the call whose reply has this record as an item.
fn is_item(h: &Header, call: &CallPath) -> Option<u32> {
    let path = h.call.as_ref()?;
    match path.taker_number() {
        Some(_) => {
            let (caller, turn, _) = path.caller()?;
            (caller == *call
                && matches!(h.code, Some(RecordCode::Role(MessageRole::ToAll | MessageRole::ToFirst))))
            .then_some(turn)
        }
        None => h.turn.filter(|_| path == call && h.ordinal.is_some()),
    }
}

/// A reply that closes a call first records what it ends below the call, at the same time.
fn find_before_decision(tree: &RecordedTree, mut at: usize) -> usize {
    let ends = |record: &Record| {
        let is_cancelled = record.header.kind == RecordKind::Terminal
            || record
                .header
                .code
                .is_some_and(|code| matches!(code.as_str(), "thread.cancelled" | "cancelled"));
        let names_child = core_payload::finished_child(&record.body).is_some();
        is_cancelled || names_child
    };
    let time = tree.records.get(at).map(|(_, record)| record.header.time);
    while let Some((_, before)) = at.checked_sub(1).and_then(|before| tree.records.get(before)) {
        if Some(before.header.time) != time || !ends(before) {
            break;
        }
        at -= 1;
    }
    at
}

/// The records of `sys` before a position.
fn read_system(reader: &dyn LogReader, last: Position) -> Result<Vec<(Position, Record)>, LogFault> {
    reader.records_of(&ThreadId::new_sys(), 1).up_to(Position(last.0.saturating_sub(1))).collect()
}

/// The first record of the fork: it names the head that it continues.
fn build_marker(
    root: &Thread,
    (call, turn): (&CallPath, u32),
    config: Digest,
    (now, seeds): (Millis, &dyn Seeds),
) -> Record {
    let (id, salt) = draw_id(now, seeds);
    let header = Header {
        origin: Some(root.head),
        ..Header::new_notice(root.id.clone(), root.seq + 1, id, now, config)
    };
    header.seal_record(core_payload::write_fork(call, turn), salt, root.head)
}

/// The documents that these records name, as far as the log has them.
fn read_documents(
    reader: &dyn LogReader,
    records: &[Record],
    erased: &[ErasedDocument],
) -> Result<Vec<StoredDocument>, LogFault> {
    let before_erased = |hash| erased.iter().find(|document| document.hash == hash)?.before;
    let mut known = HashSet::new();
    let mut documents = Vec::new();
    for record in records {
        let started =
            core_payload::read_boot(&record.body).map(|(config, _)| (config, DocumentUse::Configuration));
        for (named, what) in DocumentUse::list_named_by(record).chain(started) {
            let mut next = Some(named);
            while let Some(hash) = next.take().filter(|hash| known.insert(*hash)) {
                // The reader returns signs in the place of a document that is erased.
                let Some(bytes) =
                    reader.read_document(hash)?.filter(|bytes| Digest::hash_bytes(bytes) == hash)
                else {
                    next = before_erased(hash).filter(|_| what == DocumentUse::Prompt);
                    continue;
                };
                if what == DocumentUse::Prompt {
                    next = find_before(&bytes);
                }
                documents.push(StoredDocument { hash, bytes });
            }
        }
    }
    Ok(documents)
}
