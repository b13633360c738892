//! Threads to take along: their records with salts and hashes, the documents that these name, and views of them for
//! people. A stranger can verify them without the log and without this program.
//!
//! A reader of a log comes in; bytes of files go out. The records of one thread are read after those of another, a
//! parent before its children, so memory does not grow with their bodies.

pub mod children;
pub mod damage;
pub mod documents;
pub mod examination;
pub mod page;
pub mod proof;
pub mod record_line;
pub mod statement;
pub mod thread_xml;
pub mod verifying;

use std::io;

use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;

/// Records per read.
const PAGE: usize = 64;

/// Why an export was not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportFault {
    /// The log cannot be read, or is damaged.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// The threads of an export, as of one position.
pub struct ExportScope {
    /// The threads, parents before their children.
    pub threads: Vec<ThreadId>,
    /// The last position that is looked at. A log only grows, and a commit is visible as a whole, so what comes up to
    /// here is consistent.
    pub last: Position,
}

impl ExportScope {
    /// These threads with everything below them, as the log has them now.
    pub fn of(reader: &dyn LogReader, chosen: &[ThreadId]) -> Result<ExportScope, LogFault> {
        let last = reader.last()?;
        let mut threads: Vec<ThreadId> = chosen.to_vec();
        for root in chosen {
            threads.extend(reader.threads_like(&format!("{root}."), usize::MAX)?);
        }
        threads.sort_by(|a, b| a.as_str().split('.').cmp(b.as_str().split('.')));
        threads.dedup();
        Ok(ExportScope { threads, last })
    }

    /// Passes every record on, thread by thread. Each was verified against the one before it.
    pub fn each(
        &self,
        reader: &dyn LogReader,
        mut take: impl FnMut(Position, &Record) -> Result<(), ExportFault>,
    ) -> Result<(), ExportFault> {
        for thread in &self.threads {
            let mut next = 1;
            'thread: loop {
                let page = reader.of_thread(thread, next, PAGE)?;
                for (position, record) in &page {
                    if *position > self.last {
                        break 'thread;
                    }
                    take(*position, record)?;
                    next = record.header.seq + 1;
                }
                if page.len() < PAGE {
                    break;
                }
            }
        }
        Ok(())
    }
}
