//! The end of a run: all findings, from the watchers inside and from the independent checker that reads
//! the log and the clients' histories.

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest as _, Sha256};

use systole_checker::record::{PartHash, RecordHash, RecordId};
use systole_checker::{RunSettings, check_records};
use systole_core::types::body_parts::PartSeal;
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::record::Record;

use super::World;
use crate::watch::{Finding, once};

/// Most attempts at one turn: the number that the pump's own deaths may cost.
const MOST_ATTEMPTS: u32 = 5;

/// The end of the words of a call that has waited for as long as it may.
const ENDED: &[u8] = b"`limits.outage` allows";

/// The result of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// The hash of every leaf and head of the log, in order of position.
    pub log: [u8; 32],
    /// The hash of everything that the pumps gave out in addition to records: rows, deliveries,
    /// call-backs, answers.
    pub given: [u8; 32],
    /// Records in the log.
    pub records: u64,
    /// How much simulated time it took, in milliseconds.
    pub simulated_ms: u64,
    /// The faults.
    pub findings: Vec<Finding>,
    /// How often each event happened.
    pub counts: BTreeMap<&'static str, u64>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hours, records) = (self.simulated_ms / 3_600_000, self.records);
        let minutes = self.simulated_ms / 60_000 % 60;
        write!(f, "seed {}: {records} records in {hours} h {minutes} min of simulated time", self.seed)?;
        for (what, count) in &self.counts {
            write!(f, "\n  {count} {what}")?;
        }
        for finding in &self.findings {
            write!(f, "\n{finding}")?;
        }
        Ok(())
    }
}

impl World {
    /// Judges the run.
    pub(super) fn judged(mut self, plans: u64) -> Outcome {
        // Reading memory cannot fail.
        let records = self.disk.log().read_after(Position(0), usize::MAX).unwrap_or_default();
        let twice = once::twice(&records);
        self.find_all("once", twice);
        let mut log = Sha256::new();
        for (_, record) in &records {
            log.update(record.leaf.0);
            log.update(record.head.0);
        }
        let mut listeners = self.compositions.iter().flat_map(|page| page.listeners.values());
        let is_local = listeners.all(|listener| !listener.reach.is_over_broker());
        let is_timed = self.outage_ms() > 0 && !self.counts.contains_key("the clock was set");
        let outage_ms = is_timed.then(|| self.outage_ms());
        let terms = RunSettings { attempts: MOST_ATTEMPTS, is_local, outage_ms, ..RunSettings::default() };
        let read = records.iter().map(|(position, record)| as_read(*position, record));
        let report = check_records(read, &self.crowd.histories(), &terms);
        for finding in report.findings {
            let words = format!("{} {}: {}", finding.thread, finding.seq, finding.words);
            self.find(finding.rule, words);
        }
        self.counts.insert("plans", plans);
        self.counts.insert("acknowledged messages", report.counts.acked);
        self.counts.insert("answered messages", report.counts.answered);
        self.counts.insert("threads", report.counts.threads);
        for (_, record) in &records {
            let mark = record.header.code.map_or("first attempts", |mark| mark.as_str());
            *self.counts.entry(mark).or_default() += 1;
            if record.body.windows(ENDED.len()).any(|piece| piece == ENDED) {
                *self.counts.entry("waits that lasted too long").or_default() += 1;
            }
        }
        Outcome {
            seed: self.seed,
            log: log.finalize().into(),
            given: self.given.finalize().into(),
            records: records.len() as u64,
            simulated_ms: self.agenda.now_ms(),
            findings: self.findings,
            counts: self.counts,
        }
    }
}

fn as_read_seal(seal: &PartSeal) -> PartHash {
    match seal {
        PartSeal::Kept(salt) => PartHash::Salt(*salt),
        PartSeal::Erased(hash) => PartHash::Commitment(RecordHash(hash.0)),
    }
}

/// A record as the checker reads it from a file.
fn as_read(position: Position, record: &Record) -> systole_checker::record::LogLine {
    let h = &record.header;
    systole_checker::record::LogLine {
        position: position.0,
        thread: h.thread.to_string(),
        seq: h.seq,
        id: RecordId(h.id.0),
        kind: h.kind.as_str().to_owned(),
        from: h.from.to_string(),
        to: h.to.as_ref().map(ToString::to_string),
        call: h.call.as_ref().map(ToString::to_string),
        turn: h.turn,
        ordinal: h.ordinal,
        cause: h.cause.map(|id| RecordId(id.0)),
        key: h.key.as_ref().map(ToString::to_string),
        origin: h.origin.map(|hash| RecordHash(hash.0)),
        time_ms: h.time.0,
        config: RecordHash(h.config.0),
        code: h.code.map(|mark| mark.as_str().to_owned()),
        seal: as_read_seal(&record.parts.rest),
        values: record
            .parts
            .values
            .iter()
            .map(|(hole, seal)| (u64::from(hole.at), u64::from(hole.length), as_read_seal(seal)))
            .collect(),
        head: RecordHash(record.head.0),
        body: record.body.to_vec(),
    }
}
