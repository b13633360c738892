//! Checks whether records agree with what other records say of them: children, named documents, and erasures.
//!
//! A chain proves only its own thread. A rewritten child chain leaves the old heads in its parent, and a removed
//! document leaves its hash in a record; this module compares both. A verified log comes in; mismatches go out, with
//! their places. It keeps some data for each child at work, and nothing for children that have ended.

use std::collections::HashMap;

use super::erasures::{LossCheck, PromptReading};
use super::mismatch::RecordMismatch;
use systole_core::types::ids::{Digest, MessageId, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_log::sqlite::SqliteReader;
use systole_queries::glance::attribute;

/// What was checked, and the mismatches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KinshipReport {
    /// The number of children that began.
    pub children: u64,
    /// The number of documents that records name.
    pub documents: u64,
    /// How many of them are kept elsewhere, by listeners that are no agents.
    pub elsewhere: u64,
    /// The mismatches, in order of position.
    pub misfits: Vec<RecordMismatch>,
}

/// Checks a whole log.
pub fn check_kinship(reader: &SqliteReader, reading: PromptReading) -> Result<KinshipReport, LogFault> {
    let mut looking = KinshipCheck { looked: KinshipReport::default(), families: HashMap::new() };
    let mut loss = LossCheck::new(reader, reading);
    let mut spawns = HashMap::new();
    let log: &dyn LogReader = reader;
    for placed in log.records_after(Position(0)) {
        let (position, record) = placed?;
        looking.check_child(&mut spawns, position, &record);
        looking.check_parent(&mut spawns, position, &record);
        loss.take_next(position, &record)?;
    }
    let KinshipCheck { mut looked, families } = looking;
    let childless = spawns
        .into_values()
        .map(|spawn: SpawnRecord| spawn.build_mismatch("the child that it spawned has no record"));
    let untold = families.into_values().filter(|child| child.is_new);
    let untold = untold.map(|child| child.begun.build_mismatch("its parent does not confirm that it began"));
    looked.misfits.extend(childless.chain(untold));
    let lost = loss.finish_log(&reader.erased_documents()?)?;
    (looked.documents, looked.elsewhere) = (lost.documents, lost.elsewhere);
    looked.misfits.extend(lost.misfits);
    looked.misfits.sort_by_key(|misfit| misfit.position);
    Ok(looked)
}

/// A record that others are compared with.
#[derive(Clone)]
struct SpawnRecord {
    position: Position,
    thread: ThreadId,
    seq: u64,
    leaf: Digest,
}

impl SpawnRecord {
    fn from_record(position: Position, record: &Record) -> SpawnRecord {
        SpawnRecord {
            position,
            thread: record.header.thread.clone(),
            seq: record.header.seq,
            leaf: record.leaf,
        }
    }

    fn build_mismatch(self, why: &str) -> RecordMismatch {
        RecordMismatch { position: self.position, thread: self.thread, seq: self.seq, why: why.to_owned() }
    }
}

/// A child that has not ended.
struct OpenChild {
    begun: SpawnRecord,
    /// Whether its parent has not yet confirmed its beginning.
    is_new: bool,
    head: Digest,
}

struct KinshipCheck {
    looked: KinshipReport,
    families: HashMap<ThreadId, OpenChild>,
}

impl KinshipCheck {
    fn add_mismatch(&mut self, position: Position, record: &Record, why: impl Into<String>) {
        let (thread, seq) = (record.header.thread.clone(), record.header.seq);
        self.looked.misfits.push(RecordMismatch { position, thread, seq, why: why.into() });
    }

    /// Checks a record of a child: the first must have the leaf of the spawning record as its origin.
    fn check_child(
        &mut self,
        spawns: &mut HashMap<MessageId, SpawnRecord>,
        position: Position,
        record: &Record,
    ) {
        let h = &record.header;
        let Some(parent) = h.thread.parent() else { return };
        if h.seq > 1 {
            match self.families.get_mut(&h.thread) {
                Some(child) => child.head = record.head,
                None => {
                    self.add_mismatch(position, record, "it comes after the end that its parent recorded")
                }
            }
            return;
        }
        self.looked.children += 1;
        match h.cause.and_then(|cause| spawns.remove(&cause)) {
            Some(spawn) if spawn.thread != parent => {
                self.add_mismatch(
                    position,
                    record,
                    format!("it was spawned in {}, not in its parent", spawn.thread),
                );
            }
            Some(spawn) if h.origin != Some(spawn.leaf) => {
                let why = format!(
                    "its origin is not the leaf of record {} of {parent}, which spawned it",
                    spawn.seq
                );
                self.add_mismatch(position, record, why);
            }
            Some(_) => {}
            None => self.add_mismatch(position, record, format!("no record of {parent} spawned it")),
        }
        let child =
            OpenChild { begun: SpawnRecord::from_record(position, record), is_new: true, head: record.head };
        self.families.insert(h.thread.clone(), child);
    }

    /// Checks a parent's records about its children.
    fn check_parent(
        &mut self,
        spawns: &mut HashMap<MessageId, SpawnRecord>,
        position: Position,
        record: &Record,
    ) {
        let h = &record.header;
        match (h.kind, h.code) {
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Spawn))) => {
                spawns.insert(h.id, SpawnRecord::from_record(position, record));
            }
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Answer))) => {
                let Some((child, head)) = read_child(record, "thread-spawned", "assigned_id") else { return };
                match self.families.get_mut(&child) {
                    Some(found) if found.is_new && found.head == head => found.is_new = false,
                    Some(found) => {
                        found.is_new = false;
                        let why = format!("it names {head} as the first head of {child}, which has another");
                        self.add_mismatch(position, record, why);
                    }
                    None => self.add_mismatch(
                        position,
                        record,
                        format!("it confirms {child}, which has no record"),
                    ),
                }
            }
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Inbox))) => {
                let Some((child, head)) = read_child(record, "thread-finished", "id") else { return };
                match self.families.remove(&child) {
                    Some(found) if found.head == head => {}
                    Some(_) => {
                        let why = format!("it names {head} as the last head of {child}, which has another");
                        self.add_mismatch(position, record, why);
                    }
                    None => {
                        let why =
                            format!("it reports the end of {child}, which does not run at this position");
                        self.add_mismatch(position, record, why);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The child that a core payload names, and the head that it states.
fn read_child(record: &Record, element: &str, id: &str) -> Option<(ThreadId, Digest)> {
    let child = ThreadId::parse(&attribute(&record.body, element, id)?).ok()?;
    let head = Digest::parse(&attribute(&record.body, element, "head")?).ok()?;
    Some((child, head))
}
