//! Verifies an export from a stranger, line by line: every hash, every chain from its first record, what records say
//! of each other, and the documents that they name.
//!
//! Lines come in; the leaves with their positions come out, or the first thing that does not fit. Nothing is believed
//! because the export says so.

use std::collections::{BTreeMap, HashMap, HashSet};

use systole_proof::tree::TreeHash;

use super::children::{Children, parent};
use super::damage::ExportDamage;
use super::documents::ExportedDocument;
use super::holes::ExportHole;
use super::record_line::{ExportedRecord, HashedLine, digest};
use systole_core::rules::core_payload::attributes;
use systole_core::types::ids::Digest;

/// What the last record of a thread was.
struct LastOf {
    seq: u64,
    head: Digest,
    position: u64,
}

/// A walk through the records of an export.
#[derive(Default)]
pub struct ExportWalk {
    threads: HashMap<String, LastOf>,
    /// The thread whose records are read.
    current: Option<String>,
    leaves: BTreeMap<u64, TreeHash>,
    children: Children,
    /// Documents that records name, with the first position and what they are.
    named: HashMap<String, (u64, &'static str)>,
    documents: HashSet<Digest>,
    /// The parts that were left out, and how many of them `holes.jsonl` has listed.
    holes: Vec<ExportHole>,
    listed: usize,
    times: Option<(String, String)>,
    orphan: Option<String>,
}

/// What was found in an export that fits together.
#[derive(Default)]
pub struct WalkedExport {
    /// The leaves, by position.
    pub leaves: Vec<(u64, TreeHash)>,
    /// Threads.
    pub threads: u64,
    /// Documents.
    pub documents: u64,
    /// Documents that records name and the export does not have.
    pub missing: u64,
    /// Configurations that records name.
    pub configs: usize,
    /// Parts that were left out.
    pub holes: Vec<ExportHole>,
    /// Children whose beginning could not be compared.
    pub unread: u64,
    /// The earliest and the latest time, as the records say.
    pub times: Option<(String, String)>,
    /// A child whose parent is not in the export.
    pub orphan: Option<String>,
}

impl ExportWalk {
    /// Takes the next line of `records.jsonl`, without its line break.
    pub fn record(&mut self, line: &[u8]) -> Result<(), ExportDamage> {
        let record: ExportedRecord = serde_json::from_slice(line)
            .map_err(|fault| ExportDamage::of(format!("a line of records.jsonl is no record: {fault}")))?;
        let position = record.position;
        let hashed = record.hashed().map_err(|why| ExportDamage { position, why })?;
        self.link(&record, &hashed)?;
        let has = |thread: &str| self.threads.contains_key(thread);
        self.children.take(&record, &hashed, has)?;
        if record.seq == 1 && self.orphan.is_none() {
            let orphan = parent(&record.thread).filter(|parent| !self.threads.contains_key(*parent));
            self.orphan = orphan.map(|_| record.thread.clone());
        }
        if hashed.dropped > 0 {
            self.holes.extend(ExportHole::of(&record));
        }
        let (first, last) = self.times.take().unwrap_or_else(|| (record.time.clone(), record.time.clone()));
        self.times = Some((first.min(record.time.clone()), last.max(record.time)));
        self.named.entry(record.config).or_insert((position, "the configuration"));
        if record.kind == "refusal"
            && let Some(body) = &hashed.body
            && let Some([Some(hash)]) = attributes(body, "system-error", ["hash"])
            && digest(&hash).is_some()
        {
            self.named.entry(hash).or_insert((position, "the refused bytes"));
        }
        Ok(())
    }

    /// A thread is complete from its first record on, and its records follow each other in the export.
    fn link(&mut self, record: &ExportedRecord, hashed: &HashedLine) -> Result<(), ExportDamage> {
        let ExportedRecord { position, thread, seq, .. } = record;
        let damaged = |why: String| ExportDamage { position: *position, why };
        let (last, head, after) = if *seq == 1 {
            if self.threads.contains_key(thread) {
                return Err(damaged(format!("thread {thread} begins twice")));
            }
            self.current = Some(thread.clone());
            (0, Digest::of(&[b"\x02systole thread v1", thread.as_bytes()].concat()), 0)
        } else {
            let last = self.threads.get(thread).filter(|_| self.current.as_ref() == Some(thread));
            last.map_or((0, hashed.head, 0), |last| (last.seq, last.head, last.position))
        };
        if last.checked_add(1) != Some(*seq) || *position <= after || self.leaves.contains_key(position) {
            return Err(damaged(format!(
                "record {seq} of thread {thread} does not come after record {last}"
            )));
        }
        if Digest::of(&[&[2], &head.0[..], &hashed.leaf.0[..]].concat()) != hashed.head {
            return Err(damaged(format!("record {seq} of thread {thread} does not continue its hash chain")));
        }
        let last = LastOf { seq: *seq, head: hashed.head, position: *position };
        self.threads.insert(thread.clone(), last);
        self.leaves.insert(*position, hashed.leaf.0);
        Ok(())
    }

    /// Takes the next line of `documents.jsonl`, without its line break.
    pub fn document(&mut self, line: &[u8]) -> Result<(), ExportDamage> {
        let document: ExportedDocument = serde_json::from_slice(line).map_err(|fault| {
            ExportDamage::of(format!("a line of documents.jsonl is no document: {fault}"))
        })?;
        let name: String = document.sha256.chars().take(64).collect();
        let hash = document.checked().filter(|hash| self.documents.insert(*hash));
        let why =
            || ExportDamage::of(format!("the document {name} does not fit its hash, or is there twice"));
        hash.map(drop).ok_or_else(why)
    }

    /// Takes the next line of `holes.jsonl`, without its line break.
    pub fn hole(&mut self, line: &[u8]) -> Result<(), ExportDamage> {
        let hole: ExportHole = serde_json::from_slice(line)
            .map_err(|fault| ExportDamage::of(format!("a line of holes.jsonl is no hole: {fault}")))?;
        let found = self.holes.get_mut(self.listed);
        match found.filter(|found| **found == ExportHole { why: None, ..hole.clone() }) {
            Some(found) if hole.why.is_some() => *found = hole,
            _ => {
                let why = "holes.jsonl does not list the parts that the records lack".to_owned();
                return Err(ExportDamage { position: hole.position, why });
            }
        }
        self.listed += 1;
        Ok(())
    }

    /// The end. `has_documents` says that no document was left out.
    pub fn finish(self, has_documents: bool) -> Result<WalkedExport, ExportDamage> {
        if let Some(hole) = self.holes.get(self.listed) {
            let why = "holes.jsonl does not list a part that it lacks".to_owned();
            return Err(ExportDamage { position: hole.position, why });
        }
        self.children.finish(|thread| self.threads.get(thread).map(|last| last.head))?;
        let is_missing = |(hash, _): &(&String, &(u64, &str))| {
            digest(hash).is_none_or(|hash| !self.documents.contains(&hash))
        };
        let missing = || self.named.iter().filter(is_missing);
        if let Some((hash, (position, what))) =
            missing().min_by_key(|(_, (at, _))| *at).filter(|_| has_documents)
        {
            let why = format!("it names {what} {hash}, which is not in the export");
            return Err(ExportDamage { position: *position, why });
        }
        let configs = self.named.values().filter(|(_, what)| *what == "the configuration").count();
        Ok(WalkedExport {
            threads: self.threads.len() as u64,
            documents: self.documents.len() as u64,
            missing: missing().count() as u64,
            configs,
            holes: self.holes,
            unread: self.children.unread,
            times: self.times,
            orphan: self.orphan,
            leaves: self.leaves.into_iter().collect(),
        })
    }
}
