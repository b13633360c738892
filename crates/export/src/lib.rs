//! Threads to take along: their records with salts and hashes, the documents that these name, and views of them for
//! people. A stranger can verify them without the log and without this program.
//!
//! A reader of a log comes in; bytes of files go out. The records of one thread are read after those of another, a
//! parent before its children, so memory does not grow with their bodies.

pub mod archive;
pub mod children;
pub mod damage;
pub mod document_use;
pub mod documents;
mod erased_record;
pub mod erasing;
pub mod erasures;
pub mod examination;
pub mod exported_log;
pub mod holes;
pub mod kinship;
mod limits;
pub mod mismatch;
pub mod page;
pub mod proof;
pub mod record_line;
pub mod redaction;
mod repeats;
pub mod starts;
pub mod statement;
pub mod thread_xml;
pub mod verdict;
pub mod verifying;

use std::collections::HashMap;
use std::io;

use erasures::{LossCheck, LossReport, PromptReading};
use holes::{ExportHole, HoleReason};
use record_line::ExportedRecord;
use redaction::Redaction;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;

/// Why an export was not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportFault {
    /// The log cannot be read, or is damaged.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The reason of an erasure has what is to be left out.
    #[error("the reason of the erasure at #{} repeats what is to be left out", .0.0)]
    Reason(Position),
    /// The name of the user who erased is what is to be left out.
    #[error("the name of the user who made the erasure at #{} repeats what is to be left out", .0.0)]
    EraserName(Position),
    /// The key of a message has what is to be left out.
    #[error("the key of record {seq} of thread {thread} repeats what is to be left out")]
    Key {
        /// The thread.
        thread: ThreadId,
        /// The record.
        seq: u64,
    },
}

/// The threads of an export, as of one position.
pub struct ExportScope {
    /// The threads, parents before their children.
    pub threads: Vec<ThreadId>,
    /// The last position that is looked at. A log only grows, and a commit is visible as a whole, so what comes up to
    /// here is consistent.
    pub last: Position,
    /// What is left out of the records.
    pub redaction: Option<Redaction>,
    /// The records of the log's own thread that say what was erased of the exported ones.
    pub erasures: Vec<(Position, Record)>,
    /// The links of prompts that were erased, each with the link before it.
    pub erased_links: HashMap<Digest, Digest>,
}

impl ExportScope {
    /// These threads with everything below them, as the log has them now.
    pub fn find_threads(reader: &dyn LogReader, chosen: &[ThreadId]) -> Result<ExportScope, LogFault> {
        let last = reader.read_last()?;
        let mut threads: Vec<ThreadId> = chosen.to_vec();
        for root in chosen {
            threads.extend(reader.threads_like(&format!("{root}."), usize::MAX)?);
        }
        threads.sort_by(|a, b| a.as_str().split('.').cmp(b.as_str().split('.')));
        threads.dedup();
        let (erasures, erased_links) = (Vec::new(), HashMap::new());
        Ok(ExportScope { threads, last, redaction: None, erasures, erased_links })
    }

    /// Looks for what the records lack, and takes the records along that explain it. What nothing explains is damage.
    pub fn explain_losses(
        &mut self,
        reader: &dyn LogReader,
        reading: PromptReading,
    ) -> Result<LossReport, ExportFault> {
        let mut check = LossCheck::with_erasures(reader, reading, self.last)?;
        self.each_whole(reader, |position, record| Ok(check.take_record(position, record)?))?;
        let report = check.finish_part()?;
        erasures::report_damage("the log", &report)?;
        let links = report.erased.iter().filter_map(|document| Some((document.hash, document.before?)));
        self.erased_links = links.collect();
        let is_apart = !self.threads.contains(&ThreadId::new_sys());
        for position in report.explaining.iter().filter(|_| is_apart) {
            self.erasures.extend(reader.read_after(Position(position.0.saturating_sub(1)), 1)?);
        }
        Ok(report)
    }

    /// Passes every record on, thread by thread, without what is left out. Each was verified against the one before it.
    pub fn visit_records(
        &self,
        reader: &dyn LogReader,
        mut take: impl FnMut(Position, &Record) -> Result<(), ExportFault>,
    ) -> Result<(), ExportFault> {
        self.each_whole(reader, |position, record| match &self.redaction {
            Some(redaction) => take(position, &redaction.apply_to(position, record)),
            None => take(position, record),
        })
    }

    /// Passes on what the export does not have of the records, in their order.
    pub fn each_hole(
        &self,
        reader: &dyn LogReader,
        mut take: impl FnMut(ExportHole) -> Result<(), ExportFault>,
    ) -> Result<(), ExportFault> {
        self.each_whole(reader, |position, record| {
            let left = self.redaction.as_ref().map(|redaction| redaction.apply_to(position, record));
            let holes = ExportHole::from_record(&ExportedRecord::from_record(
                position,
                left.as_ref().unwrap_or(record),
            ));
            holes.into_iter().try_for_each(|mut hole| {
                let was_erased = match hole.part.checked_sub(1).and_then(|part| record.parts.values.get(part))
                {
                    Some((_, seal)) => seal.is_erased(),
                    None => record.parts.rest.is_erased(),
                };
                let why = self.redaction.as_ref().filter(|_| !was_erased);
                let why =
                    why.map_or(HoleReason::Erased, |redaction| redaction.find_reason(position, hole.part));
                hole.why = Some(why);
                take(hole)
            })
        })
    }

    fn each_whole(
        &self,
        reader: &dyn LogReader,
        mut take: impl FnMut(Position, &Record) -> Result<(), ExportFault>,
    ) -> Result<(), ExportFault> {
        for thread in &self.threads {
            for placed in reader.records_of(thread, 1).up_to(self.last) {
                let (position, record) = placed?;
                take(position, &record)?;
            }
        }
        Ok(())
    }
}
