//! A large log, made faster than an organism could: the records of one thread that an organism wrote are
//! resealed under other ids and written in large batches, with the fold of each thread. Every chain and
//! every row is as if each thread had been walked.

use std::path::Path;

use systole_core::pump::fold::apply_to;
use systole_core::pump::state::Thread;
use systole_core::types::ids::{Key, MessageId, Name, ThreadId};
use systole_core::types::limits;
use systole_core::types::ports::{Commit, LogBatch, LogWriter, Position};
use systole_core::types::record::Record;
use systole_log::memory::MemoryLog;
use systole_log::sqlite;
use systole_organism::plan::LogPlace;

use crate::walk::{self, Course, GRACE, Stage};

/// The root that the operator opened with that key.
pub(crate) fn root(key: &str) -> ThreadId {
    let organism = Name::parse("bench").unwrap();
    ThreadId::new_root(&organism, &Name::new_operator(), &Key::parse(key).unwrap(), 12)
}

/// The records of one walk of that many turns, with a text of that length.
pub(crate) fn pattern(turns: u32, text: usize) -> Vec<Record> {
    let course = Course::new(text, 1, Stage::Walk(turns));
    walk::runtime().block_on(async {
        let organism = walk::start(LogPlace::Memory(MemoryLog::new()), &course, 1).await;
        walk::begin(&organism, &course, std::iter::once("pattern".to_owned())).await;
        let (reader, id) = (organism.reader().clone(), root("pattern"));
        let last = walk::records(turns);
        let there = |_: &_| !reader.of_thread(&id, last, 1).unwrap().is_empty();
        drop(organism.tail().wait_for(there).await.unwrap());
        let records = reader.of_thread(&id, 1, usize::MAX).unwrap();
        organism.stop(GRACE).await;
        records.into_iter().map(|(_, record)| record).collect()
    })
}

/// A log under construction.
pub(crate) struct Growing {
    writer: Box<dyn LogWriter>,
    batch: LogBatch,
    /// The most records of a commit.
    most: usize,
    threads: u32,
}

impl Growing {
    /// A new log.
    pub(crate) fn new(path: &Path) -> Growing {
        Growing::onto(Box::new(sqlite::open_log(path).unwrap().writer), usize::MAX)
    }

    /// A log behind this writer, with at most that many records per commit.
    pub(crate) fn onto(writer: Box<dyn LogWriter>, most: usize) -> Growing {
        Growing { writer, batch: LogBatch::default(), most, threads: 0 }
    }

    /// Adds a thread that the operator opened with this key.
    pub(crate) fn add(&mut self, pattern: &[Record], key: &str) {
        self.threads += 1;
        let mark = self.threads.to_be_bytes();
        // The rest of an id distinguishes the records of the pattern, and its end the threads.
        let renamed = |id: MessageId| {
            let mut bytes = id.0;
            bytes[12..].copy_from_slice(&mark);
            MessageId(bytes)
        };
        let mut thread = Thread::new_blank(root(key));
        for record in pattern {
            let mut header = record.header.clone();
            header.thread = thread.id.clone();
            header.id = renamed(header.id);
            header.cause = header.cause.map(renamed);
            header.key = header.key.map(|_| Key::parse(key).unwrap());
            let sealed = header.seal_record(record.body.clone(), record.parts.clone(), thread.head);
            apply_to(&mut thread, &sealed);
            self.batch.records.push(sealed.into());
        }
        self.batch.rows.push(thread.to_row());
        if self.batch.records.len() >= limits::CHECKPOINT_RECORDS {
            self.write();
        }
    }

    fn write(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let mut last = None;
        for some in batch.records.chunks(self.most) {
            last = Some(self.commit(&LogBatch { records: some.to_vec(), ..LogBatch::default() }));
        }
        if last.is_some() {
            self.commit(&LogBatch { rows: batch.rows, checkpoint: last, ..LogBatch::default() });
        }
    }

    fn commit(&mut self, batch: &LogBatch) -> Position {
        let committed = self.writer.commit_batch(batch);
        assert!(matches!(committed, Commit::Committed(_)), "a batch is written: {committed:?}");
        if let Commit::Committed(last) = committed { last } else { Position::default() }
    }

    /// Writes the rest and closes the log cleanly.
    pub(crate) fn close(mut self) {
        self.write();
    }
}
