//! What a newer copy of a log lost and this log has again, because it was restored from before.
//!
//! The `<erased>` records of the copy come in, with this log. Parts go out for each record that both have, and what
//! this log does not have. Nothing is written. The copy may be damaged elsewhere: only what it names is read of it.

use std::collections::{BTreeMap, BTreeSet};

use systole_core::rules::core_payload::NamedErasure;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;
use systole_log::sqlite::SqliteReader;

use crate::erased_record::read_recorded;

/// What was erased in another copy of a log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ErasedElsewhere {
    /// The numbers of the parts of each record that both logs have.
    pub parts: BTreeMap<Position, BTreeSet<usize>>,
    /// The documents that were erased there.
    pub documents: BTreeSet<Digest>,
    /// Positions that have another record here.
    pub others: BTreeSet<Position>,
    /// Positions after the end of this log.
    pub later: BTreeSet<Position>,
    /// How many `<erased>` records there are in the copy.
    pub count: usize,
}

/// Why nothing can be learnt from a log.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CopyUnfit {
    /// Its first record is another one.
    #[error("it is not a copy of this log: its first record is another one")]
    Foreign,
    /// It has no `<erased>` record.
    #[error("nothing was erased from it")]
    Whole,
    /// It cannot be read.
    #[error("{0}")]
    Log(LogFault),
}

impl From<LogFault> for CopyUnfit {
    fn from(fault: LogFault) -> CopyUnfit {
        CopyUnfit::Log(fault)
    }
}

impl ErasedElsewhere {
    /// Reads what the other copy lost.
    pub fn read_copy(copy: &SqliteReader, here: &SqliteReader) -> Result<ErasedElsewhere, CopyUnfit> {
        let begins = |reader| Ok::<_, LogFault>(read_at(reader, Position(1))?.map(|record| record.head));
        if begins(copy)? != begins(here)? {
            return Err(CopyUnfit::Foreign);
        }
        let mut erased = ErasedElsewhere::default();
        let log: &dyn LogReader = copy;
        for placed in log.records_of(&ThreadId::new_sys(), 1) {
            let Some(told) = read_recorded(&placed?.1) else { continue };
            if told.is_of_fork {
                // It names again what the records before it named, with the positions of the fork.
                erased = ErasedElsewhere::default();
            }
            erased.count += 1;
            erased.add_erasure(told, copy, here)?;
        }
        (erased.count > 0).then_some(erased).ok_or(CopyUnfit::Whole)
    }

    /// Takes what one `<erased>` names. Its documents are of this log if one of its records is.
    fn add_erasure(
        &mut self,
        told: NamedErasure,
        copy: &SqliteReader,
        here: &SqliteReader,
    ) -> Result<(), LogFault> {
        let mut is_here = false;
        for (position, parts) in told.records {
            match (read_at(here, position)?, read_at(copy, position)?) {
                (None, _) => drop(self.later.insert(position)),
                (Some(here), Some(there)) if here.head == there.head => {
                    self.parts.entry(position).or_default().extend(parts);
                    is_here = true;
                }
                (Some(_), _) => drop(self.others.insert(position)),
            }
        }
        let documents = told.documents.iter().filter(|_| is_here);
        self.documents.extend(documents.map(|document| document.hash));
        Ok(())
    }
}

/// The record at a position.
pub(super) fn read_at(reader: &dyn LogReader, position: Position) -> Result<Option<Record>, LogFault> {
    let before = Position(position.0.saturating_sub(1));
    let found = reader.read_after(before, 1)?.into_iter().next();
    Ok(found.filter(|(at, _)| *at == position).map(|(_, record)| record))
}
