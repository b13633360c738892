//! Whether everything that a log lacks was taken out on record: each erased part of a body, and each document that a
//! record names and that is not there, has to be named by an `<erased>` record of the core. Nothing that the state of a
//! thread is made from may be erased.
//!
//! Records come in, in the order of their positions; what nothing explains goes out, with its place.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::document_use::DocumentUse;
use super::erasing::is_erasable;
use super::mismatch::RecordMismatch;
use systole_core::rules::core_payload::{self, NamedErasure};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::limits::LARGE_BODY;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};

/// Records per read.
const PAGE: usize = 512;

/// What is known of prompts outside of this room.
#[derive(Clone, Copy)]
pub struct PromptReading {
    /// The agents of a stored configuration, which store each prompt; `None` if it cannot be read. Other listeners may
    /// keep their prompts elsewhere, and journal only the hashes.
    pub agents: fn(&[u8]) -> Option<HashSet<String>>,
    /// The link of a prompt's chain before this one.
    pub before: fn(&str) -> Option<String>,
}

/// What the `<erased>` records name, each with the position of that record.
#[derive(Default)]
pub struct RecordedErasures {
    parts: HashMap<(Position, usize), Position>,
    documents: HashMap<Digest, Position>,
}

impl RecordedErasures {
    /// Takes the next record of the log's own thread.
    pub fn take(&mut self, position: Position, record: &Record) {
        let h = &record.header;
        let is_told = h.kind == RecordKind::Message && h.code == Some(RecordCode::Role(MessageRole::Told));
        if is_told && h.thread.is_sys() && h.from == Name::core() {
            core_payload::read_erased(&record.body).into_iter().for_each(|named| self.add(position, named));
        }
    }

    /// Takes what the `<erased>` at a position names. Only what was there before it can be erased.
    pub fn add(&mut self, position: Position, named: NamedErasure) {
        if named.is_of_fork {
            *self = RecordedErasures::default();
        }
        for (at, parts) in named.records.into_iter().filter(|(at, _)| *at < position) {
            self.parts.extend(parts.into_iter().map(|part| ((at, part), position)));
        }
        self.documents.extend(named.documents.into_iter().map(|hash| (hash, position)));
    }

    /// The record that says that a part of a body was erased.
    pub fn of_part(&self, position: Position, part: usize) -> Option<Position> {
        self.parts.get(&(position, part)).copied()
    }

    /// The record that says that a document was erased.
    pub fn of_document(&self, hash: Digest) -> Option<Position> {
        self.documents.get(&hash).copied()
    }
}

/// A record that lacks something.
struct LossPlace {
    position: Position,
    thread: ThreadId,
    seq: u64,
}

impl LossPlace {
    fn of(position: Position, record: &Record) -> LossPlace {
        LossPlace { position, thread: record.header.thread.clone(), seq: record.header.seq }
    }

    fn misfit(&self, why: String) -> RecordMismatch {
        RecordMismatch { position: self.position, thread: self.thread.clone(), seq: self.seq, why }
    }
}

/// Looks for what is lost in records.
pub struct LossCheck<'a> {
    reader: &'a dyn LogReader,
    reading: PromptReading,
    erasures: RecordedErasures,
    holes: Vec<(LossPlace, Vec<usize>)>,
    absent: Vec<(LossPlace, Digest, DocumentUse)>,
    known: HashSet<Digest>,
    agents: HashMap<Digest, Option<HashSet<String>>>,
    has_large: bool,
    found: LossReport,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LossReport {
    /// What nothing explains.
    pub misfits: Vec<RecordMismatch>,
    /// How many documents records name.
    pub documents: u64,
    /// How many of them are not there and need not be: listeners that are no agents journal their hashes.
    pub elsewhere: u64,
    /// The positions of the records that explain what is lost.
    pub explaining: BTreeSet<Position>,
    /// The documents that are lost and explained.
    pub erased: Vec<Digest>,
}

impl<'a> LossCheck<'a> {
    /// Begins before the first record.
    pub fn new(reader: &'a dyn LogReader, reading: PromptReading) -> LossCheck<'a> {
        LossCheck {
            reader,
            reading,
            erasures: RecordedErasures::default(),
            holes: Vec::new(),
            absent: Vec::new(),
            known: HashSet::new(),
            agents: HashMap::new(),
            has_large: false,
            found: LossReport::default(),
        }
    }

    /// Knows all erasures of the log up to a position, so that records of some threads can be looked at alone.
    pub fn knowing(
        reader: &'a dyn LogReader,
        reading: PromptReading,
        last: Position,
    ) -> Result<LossCheck<'a>, LogFault> {
        let mut check = LossCheck::new(reader, reading);
        let mut from = 1;
        loop {
            let page = reader.of_thread(&ThreadId::sys(), from, PAGE)?;
            let Some((_, end)) = page.last() else { return Ok(check) };
            from = end.header.seq + 1;
            for (position, record) in page.iter().filter(|(position, _)| *position <= last) {
                check.erasures.take(*position, record);
            }
        }
    }

    /// Takes the next record of a whole log.
    pub fn next(&mut self, position: Position, record: &Record) -> Result<(), LogFault> {
        self.erasures.take(position, record);
        self.record(position, record)
    }

    /// Takes a record whose log's erasures are known.
    pub fn record(&mut self, position: Position, record: &Record) -> Result<(), LogFault> {
        let erased: Vec<usize> = record.parts.erased().collect();
        let place = || LossPlace::of(position, record);
        if erased.contains(&0) {
            self.has_large |= record.body.len() > LARGE_BODY;
            if !is_erasable(record) {
                let why = "its body is gone, and the state of its thread is made from it".to_owned();
                self.found.misfits.push(place().misfit(why));
                return Ok(());
            }
        }
        if !erased.is_empty() {
            self.holes.push((place(), erased));
        }
        for (hash, what) in DocumentUse::named_by(record) {
            self.document(position, record, hash, what)?;
        }
        Ok(())
    }

    /// Looks whether a document is there; of a prompt, the earlier links too.
    fn document(
        &mut self,
        position: Position,
        record: &Record,
        hash: Digest,
        what: DocumentUse,
    ) -> Result<(), LogFault> {
        let mut next = Some(hash);
        while let Some(hash) = next.take().filter(|hash| self.known.insert(*hash)) {
            self.found.documents += 1;
            // Signs are in the place of one that is erased.
            let bytes = self.reader.document(hash)?;
            match bytes.filter(|bytes| Digest::of(bytes) == hash || hash == Digest::of(b"")) {
                Some(bytes) if what == DocumentUse::Prompt => {
                    let before = std::str::from_utf8(&bytes).ok().and_then(self.reading.before);
                    next = before.and_then(|hash| Digest::parse(&hash).ok());
                }
                Some(_) => {}
                None if what.is_of_journal() && !self.is_of_agent(record)? => self.found.elsewhere += 1,
                None => self.absent.push((LossPlace::of(position, record), hash, what)),
            }
        }
        Ok(())
    }

    /// Whether an agent made the record.
    fn is_of_agent(&mut self, record: &Record) -> Result<bool, LogFault> {
        let config = record.header.config;
        if !self.agents.contains_key(&config) {
            let agents = self.reader.document(config)?.and_then(|source| (self.reading.agents)(&source));
            self.agents.insert(config, agents);
        }
        let agents = self.agents.get(&config).and_then(Option::as_ref);
        Ok(agents.is_some_and(|agents| agents.contains(record.header.from.as_str())))
    }

    /// The end. `blank` are the documents of the log without bytes.
    pub fn finish(mut self, blank: &[Digest]) -> LossReport {
        let LossCheck { erasures, holes, absent, found, has_large, .. } = &mut self;
        for (place, parts) in holes.iter() {
            for part in parts {
                match erasures.of_part(place.position, *part) {
                    Some(by) => {
                        found.explaining.insert(by);
                    }
                    None => {
                        let why = format!(
                            "part {part} of its body is gone, and no <erased> record after it says so"
                        );
                        found.misfits.push(place.misfit(why));
                    }
                }
            }
        }
        // The row of a large body that was erased has no bytes either; older versions did not name it.
        let may_be_body = |hash: &Digest| *has_large && blank.contains(hash);
        for (place, hash, what) in absent.iter() {
            match erasures.of_document(*hash) {
                Some(by) => {
                    found.explaining.insert(by);
                    found.erased.push(*hash);
                }
                None if *what == DocumentUse::Refused && may_be_body(hash) => {}
                None => {
                    let how = if blank.contains(hash) { "is gone" } else { "is not in the log" };
                    let why = format!(
                        "it names {} {hash}, which {how}, and no <erased> record says so",
                        what.words()
                    );
                    found.misfits.push(place.misfit(why));
                }
            }
        }
        let is_named = |hash: &Digest| absent.iter().any(|(_, named, _)| named == hash);
        let unexplained =
            |hash: &&Digest| erasures.of_document(**hash).is_none() && !is_named(hash) && !may_be_body(hash);
        if let Some(hash) = blank.iter().find(unexplained) {
            let place = LossPlace { position: Position(0), thread: ThreadId::sys(), seq: 0 };
            let why = format!("the document {hash} has no bytes, and no <erased> record says so");
            found.misfits.push(place.misfit(why));
        }
        found.misfits.sort_by_key(|misfit| misfit.position);
        self.found
    }
}

/// The first loss that nothing explains, as damage of the log.
pub fn damage(path: &str, report: &LossReport) -> Result<(), LogFault> {
    match report.misfits.first() {
        Some(misfit) => {
            Err(LogFault::Damaged { path: path.to_owned(), position: misfit.position, why: misfit.words() })
        }
        None => Ok(()),
    }
}
