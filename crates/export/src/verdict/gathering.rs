//! What a walk through a log gathers: the root of its records at every size that is asked about, the times and
//! configurations, and where another log of the same organism begins to differ.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::programs::{StartedFile, StartedFiles};
use crate::erasures::PromptReading;
use crate::kinship;
use systole_core::types::ids::Digest;
use systole_core::types::log_records::LogRecords;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;
use systole_core::types::time::Millis;
use systole_log::sqlite::{self, VerifySummary};
use systole_proof::tree::{Frontier, TreeHash};

/// What is known after some records.
struct WalkGathering<'a> {
    tree: Frontier,
    sizes: &'a BTreeSet<u64>,
    roots: BTreeMap<u64, TreeHash>,
    times: Option<(Millis, Millis)>,
    moments: BTreeMap<u64, Millis>,
    newest: Millis,
    configs: BTreeSet<Digest>,
    erased: Vec<(Position, Vec<usize>)>,
    files: StartedFiles,
    others: Vec<OtherLog<'a>>,
}

/// What was gathered from a whole log.
pub struct GatheredLog {
    /// The root of all records.
    pub root: TreeHash,
    /// The roots at the sizes that were asked about, as far as the log has so many records.
    pub roots: BTreeMap<u64, TreeHash>,
    /// The earliest and the latest time of a record.
    pub times: Option<(Millis, Millis)>,
    /// The times of the first and the last record, and of those at both sides of each size that was asked about.
    pub moments: BTreeMap<u64, Millis>,
    /// How many configurations records name.
    pub configs: usize,
    /// The records with erased parts, each with the numbers of these parts. Part 0 is the body without its values.
    pub erased: Vec<(Position, Vec<usize>)>,
    /// How many documents are erased.
    pub erased_documents: u64,
    /// How many documents listeners that are no agents journal, and keep elsewhere.
    pub elsewhere: u64,
    /// The files that programs of listeners were started with, in the order of their first starts.
    pub files: Vec<StartedFile>,
    /// What was found about each of the other logs, in the order in which they were given.
    pub others: Vec<OtherEnd>,
}

impl GatheredLog {
    /// Verifies a whole log, and what its records say of each other: children, documents and erasures. Gathers the roots
    /// at those sizes, and compares it with the other logs.
    pub fn verify_log(
        log: &Path,
        sizes: &BTreeSet<u64>,
        others: &[&dyn LogReader],
        reading: PromptReading,
    ) -> Result<(VerifySummary, GatheredLog), LogFault> {
        let start = || WalkGathering::new(sizes, others);
        let (summary, gathering) = sqlite::verify_each(log, start, WalkGathering::take_record)?;
        let (looked, erased, last) = sqlite::read_least(log, |reader| {
            Ok((
                kinship::check_kinship(reader, reading)?,
                reader.erased_documents()?.len(),
                reader.read_last()?,
            ))
        })?;
        if let Some(misfit) = looked.misfits.first() {
            let (path, position) = (log.display().to_string(), misfit.position);
            return Err(LogFault::Damaged { path, position, why: misfit.words() });
        }
        let mut gathered = gathering.finish();
        gathered.erased_documents = erased as u64;
        gathered.elsewhere = looked.elsewhere;
        gathered.has_grown_to(summary.records, last);
        Ok((summary, gathered))
    }

    /// The same of a log that has to have its end: a log that lost its last records verifies like any other.
    pub fn with_end(
        log: &Path,
        sizes: &BTreeSet<u64>,
        others: &[&dyn LogReader],
        reading: PromptReading,
    ) -> Result<(VerifySummary, GatheredLog), LogFault> {
        let gathered = GatheredLog::verify_log(log, sizes, others, reading)?;
        check_end(log)?;
        Ok(gathered)
    }

    /// The log that was walked through, up to that many records, has grown to this position since: an organism runs on
    /// it. Another log that has no more than that is not longer.
    fn has_grown_to(&mut self, records: u64, last: Position) {
        for end in &mut self.others {
            if matches!(end, OtherEnd::Longer(position) if *position <= last) {
                *end = OtherEnd::Same(records);
            }
        }
    }
}

/// Fails if the log lacks records that were acknowledged: the tip beside it names a later end, or its write-ahead log
/// cannot be read.
pub fn check_end(log: &Path) -> Result<(), LogFault> {
    sqlite::read_condition(log)?.lost.map_or(Ok(()), Err)
}

/// How the comparison with another log ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OtherEnd {
    /// It has the same records, from the first to its last one; their number.
    Same(u64),
    /// It has a record more, at this position.
    Longer(Position),
    /// It has another record at this position.
    Differs(Position),
    /// It cannot be read, or is damaged itself.
    Unread(LogFault),
}

/// A log that is read beside the one that is verified.
struct OtherLog<'a> {
    reader: &'a dyn LogReader,
    records: LogRecords<'a>,
    read: Position,
    end: Option<OtherEnd>,
}

impl<'a> WalkGathering<'a> {
    /// The beginning, with the sizes and the other logs that are asked about.
    fn new(sizes: &'a BTreeSet<u64>, others: &[&'a dyn LogReader]) -> WalkGathering<'a> {
        let other = |reader: &&'a dyn LogReader| OtherLog {
            reader: *reader,
            records: reader.records_after(Position(0)),
            read: Position(0),
            end: None,
        };
        let mut roots = BTreeMap::new();
        let tree = Frontier::new();
        if sizes.contains(&0) {
            roots.insert(0, tree.root());
        }
        WalkGathering {
            tree,
            sizes,
            roots,
            times: None,
            moments: BTreeMap::new(),
            newest: Millis(0),
            configs: BTreeSet::new(),
            erased: Vec::new(),
            files: StartedFiles::default(),
            others: others.iter().map(other).collect(),
        }
    }

    /// Takes the next record.
    fn take_record(&mut self, record: &Record) {
        self.tree.push(record.leaf.0);
        let size = self.tree.size();
        if self.sizes.contains(&size) {
            self.roots.insert(size, self.tree.root());
        }
        let time = record.header.time;
        if size == 1 || self.sizes.contains(&size) || self.sizes.contains(&(size - 1)) {
            self.moments.insert(size, time);
        }
        self.newest = time;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        if !self.configs.contains(&record.header.config) {
            self.configs.insert(record.header.config);
        }
        if record.parts.has_erased() {
            self.erased.push((Position(size), record.parts.list_erased().collect()));
        }
        self.files.take_record(Position(size), record);
        for other in &mut self.others {
            other.compare_record(Position(size), record);
        }
    }

    /// The end of the log.
    fn finish(mut self) -> GatheredLog {
        let size = self.tree.size();
        self.moments.insert(size, self.newest);
        GatheredLog {
            root: self.tree.root(),
            roots: self.roots,
            times: self.times,
            moments: self.moments,
            configs: self.configs.len(),
            erased: self.erased,
            erased_documents: 0,
            elsewhere: 0,
            files: self.files.finish(),
            others: self.others.into_iter().map(|other| other.finish_log(size)).collect(),
        }
    }
}

impl OtherLog<'_> {
    fn next_record(&mut self) -> Result<Option<Record>, LogFault> {
        let mut placed = self.records.next();
        if placed.is_none() {
            // It may have grown since its end was read.
            self.records = self.reader.records_after(self.read);
            placed = self.records.next();
        }
        Ok(placed.transpose()?.map(|(position, record)| {
            self.read = position;
            record
        }))
    }

    fn compare_record(&mut self, position: Position, record: &Record) {
        if self.end.is_some() {
            return;
        }
        self.end = match self.next_record() {
            Ok(Some(own)) if own.leaf == record.leaf => None,
            Ok(Some(_)) => Some(OtherEnd::Differs(position)),
            Ok(None) => Some(OtherEnd::Same(position.0 - 1)),
            Err(fault) => Some(OtherEnd::Unread(fault)),
        };
    }

    fn finish_log(mut self, size: u64) -> OtherEnd {
        match self.end.take() {
            Some(end) => end,
            None => match self.next_record() {
                Ok(Some(_)) => OtherEnd::Longer(Position(size + 1)),
                Ok(None) => OtherEnd::Same(size),
                Err(fault) => OtherEnd::Unread(fault),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_has_grown_meanwhile_lacks_only_what_it_still_does_not_have() {
        let longer = |position| OtherEnd::Longer(Position(position));
        let (root, roots) = ([0; 32], BTreeMap::new());
        let others = vec![longer(5), longer(6), OtherEnd::Differs(Position(3)), OtherEnd::Same(2)];
        let (erased, erased_documents, elsewhere) = (Vec::new(), 0, 0);
        let (times, moments, configs) = (None, BTreeMap::new(), 0);
        let files = Vec::new();
        let mut gathered = GatheredLog {
            root,
            roots,
            times,
            moments,
            configs,
            erased,
            erased_documents,
            elsewhere,
            files,
            others,
        };
        gathered.has_grown_to(4, Position(5));
        let left = [OtherEnd::Same(4), longer(6), OtherEnd::Differs(Position(3)), OtherEnd::Same(2)];
        assert_eq!(gathered.others, left);
    }
}
