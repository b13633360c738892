//! Verifies an export from a stranger, line by line: every hash, every chain from its first record, what records say
//! of each other, and the documents that they name.
//!
//! Lines come in; the leaves with their positions come out, or the first thing that does not fit. Nothing is believed
//! because the export says so.

use std::collections::{BTreeMap, HashMap, HashSet};

use systole_proof::tree::TreeHash;

use super::children::{ChildComparison, find_parent};
use super::damage::ExportDamage;
use super::documents::ExportedDocument;
use super::holes::{ExportHole, HoleReason};
use super::record_line::{ExportedRecord, HashedLine, parse_digest};
use super::statement::ExportPredicate;
use crate::document_use::DocumentUse;
use crate::erasing::is_erasable;
use crate::erasures::RecordedErasures;
use systole_core::types::composition::has_file_fields;
use systole_core::types::ids::Digest;
use systole_core::types::limits::LARGE_BODY;
use systole_core::types::ports::Position;
use systole_queries::prompts::find_before;

/// What the last record of a thread was.
struct LastOf {
    seq: u64,
    head: Digest,
    position: u64,
}

/// A walk through the records of an export, from before the first line on.
#[derive(Default)]
pub struct ExportWalk {
    erasures: RecordedErasures,
    /// The leaves of the records that only say what was erased.
    erasure_leaves: BTreeMap<u64, TreeHash>,
    /// The positions of records that lack their whole body although their threads need it.
    needed: HashSet<u64>,
    /// The positions of records that lack a body which was so large that it was a document.
    large: HashSet<u64>,
    /// The links of prompts, each with the hash of the one before it.
    links: HashMap<Digest, Digest>,
    threads: HashMap<String, LastOf>,
    /// The thread whose records are read.
    current: Option<String>,
    leaves: BTreeMap<u64, TreeHash>,
    children: ChildComparison,
    /// Documents that records name, with the first position and what they are.
    named: HashMap<Digest, (u64, DocumentUse)>,
    documents: HashSet<Digest>,
    /// The files of fields, each with the position and the configuration of its record.
    fields: Vec<(Digest, u64, Digest)>,
    /// The configurations whose pumps knew file fields.
    with_fields: HashSet<Digest>,
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
    /// The leaves of the records that say what was erased.
    pub erasures: Vec<(u64, TreeHash)>,
    /// Threads.
    pub threads: u64,
    /// Documents.
    pub documents: u64,
    /// Documents that records name, and the export was made without them.
    pub missing: u64,
    /// Whether one of them is a configuration.
    pub lacks_configurations: bool,
    /// Documents that records name, and that were erased in the log.
    pub erased: u64,
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

impl WalkedExport {
    /// All leaves that a proof is about, by position.
    pub fn proved_leaves(&self) -> Vec<(u64, TreeHash)> {
        let mut all = [&self.leaves[..], &self.erasures[..]].concat();
        all.sort_unstable();
        all
    }

    /// How many parts are said to be erased, and no record says so.
    pub fn count_unexplained(&self) -> usize {
        self.holes.iter().filter(|hole| hole.is_unexplained).count()
    }
}

impl ExportWalk {
    /// Takes the next line of `records.jsonl`, without its line break.
    pub fn take_record(&mut self, line: &[u8]) -> Result<(), ExportDamage> {
        let record: ExportedRecord = serde_json::from_slice(line).map_err(|fault| {
            ExportDamage::without_place(format!("a line of records.jsonl is no record: {fault}"))
        })?;
        let position = record.position;
        let hashed = record.hash_again().map_err(|why| ExportDamage { position, why })?;
        self.link_record(&record, &hashed)?;
        let has = |thread: &str| self.threads.contains_key(thread);
        self.children.take_record(&record, &hashed, has)?;
        if record.seq == 1 && self.orphan.is_none() {
            let orphan = find_parent(&record.thread).filter(|parent| !self.threads.contains_key(*parent));
            self.orphan = orphan.map(|_| record.thread.clone());
        }
        if hashed.dropped > 0 {
            self.holes.extend(ExportHole::from_record(&record));
            let is_needed = || record.to_record().is_ok_and(|record| !is_erasable(&record));
            if hashed.body.is_none() && is_needed() {
                self.needed.insert(position);
            }
            if hashed.body.is_none() && record.holes.is_empty() && record.length > LARGE_BODY as u64 {
                self.large.insert(position);
            }
        }
        let (first, last) = self.times.take().unwrap_or_else(|| (record.time.clone(), record.time.clone()));
        self.times = Some((first.min(record.time.clone()), last.max(record.time.clone())));
        let config = parse_digest(&record.config);
        let body = hashed.body.as_deref().unwrap_or_default();
        let named = config.map(|config| (config, DocumentUse::Configuration)).into_iter();
        let named = named.chain(DocumentUse::list_named_in(&record.kind, record.code.as_deref(), body));
        for (hash, what) in named.filter(|(_, what)| !what.may_be_missing()) {
            if what == DocumentUse::Field {
                self.fields.extend(config.map(|config| (hash, position, config)));
            } else {
                self.named.entry(hash).or_insert((position, what));
            }
        }
        self.take_erasures(&record);
        Ok(())
    }

    /// Takes what a record of the log's own thread says of erasures.
    fn take_erasures(&mut self, record: &ExportedRecord) {
        if let Some(record_of_log) = (record.thread == "sys").then(|| record.to_record().ok()).flatten() {
            self.erasures.take_record(Position(record.position), &record_of_log);
        }
    }

    /// Takes the next line of `erased.jsonl`, without its line break: a record of the log's own thread. Only a proof
    /// shows that it is one.
    pub fn take_erasure(&mut self, line: &[u8]) -> Result<(), ExportDamage> {
        let record: ExportedRecord = serde_json::from_slice(line).map_err(|fault| {
            ExportDamage::without_place(format!("a line of erased.jsonl is no record: {fault}"))
        })?;
        let position = record.position;
        let damaged = |why: &str| ExportDamage { position, why: why.to_owned() };
        let hashed = record.hash_again().map_err(|why| damaged(&why))?;
        let is_next = self.erasure_leaves.last_key_value().is_none_or(|(last, _)| *last < position);
        if record.thread != "sys" || hashed.dropped > 0 || !is_next || self.leaves.contains_key(&position) {
            return Err(damaged("erased.jsonl has other records than those of erasures, in their order"));
        }
        self.erasure_leaves.insert(position, hashed.leaf.0);
        self.take_erasures(&record);
        Ok(())
    }

    /// A thread is complete from its first record on, and its records follow each other in the export.
    fn link_record(&mut self, record: &ExportedRecord, hashed: &HashedLine) -> Result<(), ExportDamage> {
        let ExportedRecord { position, thread, seq, .. } = record;
        let damaged = |why: String| ExportDamage { position: *position, why };
        let (last, head, after) = if *seq == 1 {
            if self.threads.contains_key(thread) {
                return Err(damaged(format!("thread {thread} begins twice")));
            }
            self.current = Some(thread.clone());
            (0, Digest::hash_bytes(&[b"\x02systole thread v1", thread.as_bytes()].concat()), 0)
        } else {
            let last = self.threads.get(thread).filter(|_| self.current.as_ref() == Some(thread));
            last.map_or((0, hashed.head, 0), |last| (last.seq, last.head, last.position))
        };
        if last.checked_add(1) != Some(*seq) || *position <= after || self.leaves.contains_key(position) {
            return Err(damaged(format!(
                "record {seq} of thread {thread} does not come after record {last}"
            )));
        }
        if Digest::hash_bytes(&[&[2], &head.0[..], &hashed.leaf.0[..]].concat()) != hashed.head {
            return Err(damaged(format!("record {seq} of thread {thread} does not continue its hash chain")));
        }
        let last = LastOf { seq: *seq, head: hashed.head, position: *position };
        self.threads.insert(thread.clone(), last);
        self.leaves.insert(*position, hashed.leaf.0);
        Ok(())
    }

    /// Takes the next line of `documents.jsonl`, without its line break.
    pub fn take_document(&mut self, line: &[u8]) -> Result<(), ExportDamage> {
        let document: ExportedDocument = serde_json::from_slice(line).map_err(|fault| {
            ExportDamage::without_place(format!("a line of documents.jsonl is no document: {fault}"))
        })?;
        let name: String = document.sha256.chars().take(64).collect();
        let found = document.into_content().filter(|(hash, _)| self.documents.insert(*hash));
        let why = || {
            ExportDamage::without_place(format!(
                "the document {name} does not fit its hash, or is there twice"
            ))
        };
        let (hash, bytes) = found.ok_or_else(why)?;
        if let Some(before) = find_before(&bytes) {
            self.links.insert(hash, before);
        }
        if has_file_fields(&bytes) {
            self.with_fields.insert(hash);
        }
        Ok(())
    }

    /// Names the files of fields that were sent with their records, now that the configurations of these are known.
    fn name_fields(&mut self) {
        for (hash, position, config) in std::mem::take(&mut self.fields) {
            if self.with_fields.contains(&config) {
                self.named.entry(hash).or_insert((position, DocumentUse::Field));
            }
        }
    }

    /// Takes the next line of `holes.jsonl`, without its line break.
    pub fn take_hole(&mut self, line: &[u8]) -> Result<(), ExportDamage> {
        let hole: ExportHole = serde_json::from_slice(line).map_err(|fault| {
            ExportDamage::without_place(format!("a line of holes.jsonl is no hole: {fault}"))
        })?;
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

    /// Names the links before the prompts that records name.
    fn name_links(&mut self) {
        let is_prompt = |(_, (_, what)): &(&Digest, &(u64, DocumentUse))| *what == DocumentUse::Prompt;
        let prompts: Vec<(Digest, u64)> =
            self.named.iter().filter(is_prompt).map(|(hash, (position, _))| (*hash, *position)).collect();
        for (hash, position) in prompts {
            let mut last = hash;
            while let Some(before) = self.link_before(last).filter(|before| !self.named.contains_key(before))
            {
                last = before;
                self.named.insert(last, (position, DocumentUse::Prompt));
            }
        }
    }

    /// The link before a link. If it was erased, the record of the erasure names it.
    fn link_before(&self, link: Digest) -> Option<Digest> {
        match self.documents.contains(&link) {
            true => self.links.get(&link).copied(),
            false => self.erasures.link_before(link),
        }
    }

    /// The end. The statement says what was left out.
    pub fn finish(mut self, said: &ExportPredicate) -> Result<WalkedExport, ExportDamage> {
        if let Some(hole) = self.holes.get(self.listed) {
            let why = "holes.jsonl does not list a part that it lacks".to_owned();
            return Err(ExportDamage { position: hole.position, why });
        }
        self.children.compare_rest(|thread| self.threads.get(thread).map(|last| last.head))?;
        self.name_fields();
        self.name_links();
        let (erasures, needed) = (&self.erasures, &self.needed);
        for hole in &mut self.holes {
            let is_named = erasures.of_part(Position(hole.position), hole.part).is_some();
            let may_go = hole.part > 0 || !needed.contains(&hole.position);
            hole.is_unexplained = hole.why == Some(HoleReason::Erased) && !(is_named && may_go);
        }
        let missing: Vec<_> = self.named.iter().filter(|(hash, _)| !self.documents.contains(*hash)).collect();
        let (erased, mut lost): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|(hash, _)| erasures.of_document(**hash).is_some());
        lost.sort_by_key(|(hash, (at, _))| (*at, **hash));
        // Older versions did not name the document of a large body that they erased. Each such body excuses one.
        let is_unnamed = |at: &&u64| erasures.may_leave_an_unnamed_row(Position(**at));
        let mut excuses = self.large.iter().filter(is_unnamed).count();
        let (excused, lost): (Vec<_>, Vec<_>) = lost.into_iter().partition(|(_, (_, what))| {
            let is_excused = *what == DocumentUse::Refused && excuses > 0;
            excuses -= usize::from(is_excused);
            is_excused
        });
        let mut unsaid = lost.iter().filter(|(_, (_, what))| !said.may_lack(*what));
        if let Some((hash, (position, what))) = unsaid.next() {
            let why = format!("it names {} {hash}, which is not in the export", what.words());
            return Err(ExportDamage { position: *position, why });
        }
        let is_configuration = |(_, what): &(u64, DocumentUse)| *what == DocumentUse::Configuration;
        Ok(WalkedExport {
            threads: self.threads.len() as u64,
            documents: self.documents.len() as u64,
            missing: lost.len() as u64,
            lacks_configurations: lost.iter().any(|(_, named)| is_configuration(named)),
            erased: (erased.len() + excused.len()) as u64,
            configs: self.named.values().filter(|named| is_configuration(named)).count(),
            holes: self.holes,
            unread: self.children.unread,
            times: self.times,
            orphan: self.orphan,
            leaves: self.leaves.into_iter().collect(),
            erasures: self.erasure_leaves.into_iter().collect(),
        })
    }
}
