//! Whether everything that a log lacks was taken out on record: each erased part of a body, and each document that a
//! record names and that is not there, has to be named by an `<erased>` record of the core. Nothing that the state of a
//! thread is made from may be erased.
//!
//! Records come in, in the order of their positions; what nothing explains goes out, with its place.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::document_use::DocumentUse;
use super::erased_record::read_recorded;
use super::erasing::is_erasable;
use super::mismatch::RecordMismatch;
use systole_core::rules::core_payload::{ErasedDocument, NamedErasure};
use systole_core::types::composition::has_file_fields;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::limits::LARGE_BODY;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;
use systole_queries::prompts::find_before;

/// What is known of prompts outside of this crate.
#[derive(Clone, Copy)]
pub struct PromptReading {
    /// The agents of a stored configuration, which store each prompt; `None` if it cannot be read. Other listeners may
    /// keep their prompts elsewhere, and journal only the hashes.
    pub agents: fn(&[u8]) -> Option<HashSet<String>>,
}

/// What the `<erased>` records name, each with the position of that record.
#[derive(Default)]
pub struct RecordedErasures {
    parts: HashMap<(Position, usize), PartErasure>,
    documents: HashMap<Digest, DocumentErasure>,
}

/// The record that names an erased part.
struct PartErasure {
    by: Position,
    /// Whether it names every document that it left without bytes.
    is_complete: bool,
}

/// The record that names an erased document.
struct DocumentErasure {
    by: Position,
    /// The link of a prompt before it.
    before: Option<Digest>,
}

impl RecordedErasures {
    /// Takes the next record of the log's own thread.
    pub fn take_record(&mut self, position: Position, record: &Record) {
        if let Some(named) = read_recorded(record) {
            self.add_erasure(position, named);
        }
    }

    /// Takes what the `<erased>` at a position names. Only what was there before it can be erased.
    pub fn add_erasure(&mut self, position: Position, named: NamedErasure) {
        let NamedErasure { is_of_fork, is_complete, records, documents } = named;
        if is_of_fork {
            *self = RecordedErasures::default();
        }
        for (at, parts) in records.into_iter().filter(|(at, _)| *at < position) {
            let erasure = |part| ((at, part), PartErasure { by: position, is_complete });
            self.parts.extend(parts.into_iter().map(erasure));
        }
        for ErasedDocument { hash, before } in documents {
            // A document that was erased before is named again without the link before it: its bytes were gone.
            if before.is_some() || self.link_before(hash).is_none() {
                self.documents.insert(hash, DocumentErasure { by: position, before });
            }
        }
    }

    /// The record that says that a part of a body was erased.
    pub fn of_part(&self, position: Position, part: usize) -> Option<Position> {
        self.parts.get(&(position, part)).map(|erasure| erasure.by)
    }

    /// The record that says that a document was erased.
    pub fn of_document(&self, hash: Digest) -> Option<Position> {
        self.documents.get(&hash).map(|erasure| erasure.by)
    }

    /// The link of a prompt before one that was erased.
    pub fn link_before(&self, hash: Digest) -> Option<Digest> {
        self.documents.get(&hash).and_then(|erasure| erasure.before)
    }

    /// Whether an older version erased this body, which is larger than `LARGE_BODY`. Such a body is a document. Older
    /// versions left the row of this document without bytes, and did not name it.
    pub fn may_leave_an_unnamed_row(&self, position: Position) -> bool {
        self.parts.get(&(position, 0)).is_some_and(|erasure| !erasure.is_complete)
    }
}

/// A record that lacks something.
#[derive(Clone)]
struct LossPlace {
    position: Position,
    thread: ThreadId,
    seq: u64,
}

impl LossPlace {
    fn from_record(position: Position, record: &Record) -> LossPlace {
        LossPlace { position, thread: record.header.thread.clone(), seq: record.header.seq }
    }

    fn build_mismatch(&self, why: String) -> RecordMismatch {
        RecordMismatch { position: self.position, thread: self.thread.clone(), seq: self.seq, why }
    }
}

/// A record with erased parts.
struct RecordHole {
    place: LossPlace,
    parts: Vec<usize>,
    /// Whether its whole body is gone, and was so large that it was a document.
    was_document: bool,
}

/// A document that a record names and that is not there.
struct AbsentDocument {
    place: LossPlace,
    hash: Digest,
    what: DocumentUse,
    /// Whether its row is there, without bytes.
    is_blank: bool,
}

/// Looks for what is lost in records.
pub struct LossCheck<'a> {
    reader: &'a dyn LogReader,
    reading: PromptReading,
    erasures: RecordedErasures,
    holes: Vec<RecordHole>,
    absent: Vec<AbsentDocument>,
    known: HashSet<Digest>,
    agents: HashMap<Digest, Option<HashSet<String>>>,
    /// Whether the pumps of configurations knew file fields.
    fields: HashMap<Digest, bool>,
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
    pub erased: Vec<ErasedDocument>,
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
            fields: HashMap::new(),
            found: LossReport::default(),
        }
    }

    /// Knows all erasures of the log up to a position, so that records of some threads can be looked at alone.
    pub fn with_erasures(
        reader: &'a dyn LogReader,
        reading: PromptReading,
        last: Position,
    ) -> Result<LossCheck<'a>, LogFault> {
        let mut check = LossCheck::new(reader, reading);
        for placed in reader.records_of(&ThreadId::new_sys(), 1).up_to(last) {
            let (position, record) = placed?;
            check.erasures.take_record(position, &record);
        }
        Ok(check)
    }

    /// Takes the next record of a whole log.
    pub fn take_next(&mut self, position: Position, record: &Record) -> Result<(), LogFault> {
        self.erasures.take_record(position, record);
        self.take_record(position, record)
    }

    /// Takes a record whose log's erasures are known.
    pub fn take_record(&mut self, position: Position, record: &Record) -> Result<(), LogFault> {
        let erased: Vec<usize> = record.parts.list_erased().collect();
        let place = || LossPlace::from_record(position, record);
        if erased.contains(&0) && !is_erasable(record) {
            let why = "its body is gone, and the state of its thread is made from it".to_owned();
            self.found.misfits.push(place().build_mismatch(why));
            return Ok(());
        }
        if !erased.is_empty() {
            // A body with sensitive values is stored in its record, however large it is.
            let is_large = record.body.len() > LARGE_BODY && record.parts.values.is_empty();
            let was_document = is_large && erased.contains(&0);
            self.holes.push(RecordHole { place: place(), parts: erased, was_document });
        }
        for (hash, what) in DocumentUse::list_named_by(record).filter(|(_, what)| !what.may_be_missing()) {
            if what != DocumentUse::Field || self.has_fields(record.header.config)? {
                self.check_document(position, record, hash, what)?;
            }
        }
        Ok(())
    }

    /// Whether the pump that made a record with this configuration knew file fields.
    fn has_fields(&mut self, config: Digest) -> Result<bool, LogFault> {
        if let Some(known) = self.fields.get(&config) {
            return Ok(*known);
        }
        let source = self.reader.read_document(config)?;
        let known = source.is_some_and(|source| has_file_fields(&source));
        self.fields.insert(config, known);
        Ok(known)
    }

    /// Looks whether a document is there; of a prompt, the earlier links too.
    fn check_document(
        &mut self,
        position: Position,
        record: &Record,
        hash: Digest,
        what: DocumentUse,
    ) -> Result<(), LogFault> {
        let Some((hash, is_blank)) = self.find_absent(hash, what)? else { return Ok(()) };
        if what.is_of_journal() && !self.is_of_agent(record)? {
            self.found.elsewhere += 1;
        } else {
            let place = LossPlace::from_record(position, record);
            self.absent.push(AbsentDocument { place, hash, what, is_blank });
        }
        Ok(())
    }

    /// Reads a document; of a prompt, the earlier links too. Returns the first one that is not there, and whether its
    /// row is there without bytes.
    fn find_absent(&mut self, hash: Digest, what: DocumentUse) -> Result<Option<(Digest, bool)>, LogFault> {
        let mut next = Some(hash);
        while let Some(hash) = next.take().filter(|hash| self.known.insert(*hash)) {
            self.found.documents += 1;
            let Some(bytes) = self.reader.read_document(hash)? else { return Ok(Some((hash, false))) };
            // The reader returns signs in the place of a document that is erased.
            if Digest::hash_bytes(&bytes) != hash && hash != Digest::hash_bytes(b"") {
                return Ok(Some((hash, true)));
            }
            if what == DocumentUse::Prompt {
                next = find_before(&bytes);
            }
        }
        Ok(None)
    }

    /// Goes on from each link of a prompt that was erased: the record of its erasure names the link before it.
    fn follow_erased_links(&mut self) -> Result<(), LogFault> {
        let mut next = 0;
        while let Some(AbsentDocument { place, hash, what, .. }) = self.absent.get(next) {
            next += 1;
            let before = self.erasures.link_before(*hash).filter(|_| *what == DocumentUse::Prompt);
            let (Some(before), place, what) = (before, place.clone(), *what) else { continue };
            if let Some((hash, is_blank)) = self.find_absent(before, what)? {
                self.absent.push(AbsentDocument { place, hash, what, is_blank });
            }
        }
        Ok(())
    }

    /// Whether an agent made the record.
    fn is_of_agent(&mut self, record: &Record) -> Result<bool, LogFault> {
        let config = record.header.config;
        if !self.agents.contains_key(&config) {
            let agents = self.reader.read_document(config)?.and_then(|source| (self.reading.agents)(&source));
            self.agents.insert(config, agents);
        }
        let agents = self.agents.get(&config).and_then(Option::as_ref);
        Ok(agents.is_some_and(|agents| agents.contains(record.header.from.as_str())))
    }

    /// The end of records that are only a part of a log.
    pub fn finish_part(self) -> Result<LossReport, LogFault> {
        self.build_report(None)
    }

    /// The end of a whole log. `blank` are its documents without bytes.
    pub fn finish_log(self, blank: &[Digest]) -> Result<LossReport, LogFault> {
        self.build_report(Some(blank))
    }

    fn build_report(mut self, blank: Option<&[Digest]>) -> Result<LossReport, LogFault> {
        self.follow_erased_links()?;
        let LossCheck { erasures, holes, absent, found, .. } = &mut self;
        // Each large body that an older version erased may have left one row without bytes that no record explains.
        let mut excuses = 0;
        for RecordHole { place, parts, was_document } in holes.iter() {
            for part in parts {
                match erasures.of_part(place.position, *part) {
                    Some(by) => {
                        found.explaining.insert(by);
                    }
                    None => {
                        let why = format!(
                            "part {part} of its body is gone, and no <erased> record after it says so"
                        );
                        found.misfits.push(place.build_mismatch(why));
                    }
                }
            }
            excuses += usize::from(*was_document && erasures.may_leave_an_unnamed_row(place.position));
        }
        let named: HashSet<Digest> = absent.iter().map(|document| document.hash).collect();
        let is_unexplained =
            |hash: &&Digest| erasures.of_document(**hash).is_none() && !named.contains(*hash);
        // A row that no record names is most likely such a body, so these are excused first.
        let unnamed: Vec<&Digest> = blank.into_iter().flatten().filter(is_unexplained).collect();
        if let Some(hash) = unnamed.get(excuses) {
            let place = LossPlace { position: Position(0), thread: ThreadId::new_sys(), seq: 0 };
            let why = format!("the document {hash} has no bytes, and no <erased> record says so");
            found.misfits.push(place.build_mismatch(why));
        }
        excuses = excuses.saturating_sub(unnamed.len());
        for AbsentDocument { place, hash, what, is_blank } in absent.iter() {
            let (hash, before) = (*hash, erasures.link_before(*hash));
            match erasures.of_document(hash) {
                Some(by) => {
                    found.explaining.insert(by);
                    found.erased.push(ErasedDocument { hash, before });
                }
                None if *what == DocumentUse::Refused && *is_blank && excuses > 0 => {
                    excuses -= 1;
                    found.erased.push(ErasedDocument { hash, before });
                }
                None => {
                    let how = if *is_blank { "is gone" } else { "is not in the log" };
                    let why = format!(
                        "it names {} {hash}, which {how}, and no <erased> record says so",
                        what.words()
                    );
                    found.misfits.push(place.build_mismatch(why));
                }
            }
        }
        found.misfits.sort_by_key(|misfit| misfit.position);
        Ok(self.found)
    }
}

/// The first loss that nothing explains, as damage of the log.
pub fn report_damage(path: &str, report: &LossReport) -> Result<(), LogFault> {
    match report.misfits.first() {
        Some(misfit) => {
            Err(LogFault::Damaged { path: path.to_owned(), position: misfit.position, why: misfit.words() })
        }
        None => Ok(()),
    }
}
