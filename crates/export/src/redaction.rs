//! What is left out of a redacted export: sensitive values, bodies that an expression selects, and everything else from
//! which these could be read or guessed.
//!
//! Records come in; for each, the parts that stay. A part that is left out keeps its hash, so every record verifies.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use systole_kit::DocumentLimits;
use systole_kit::gate::{GateStep, XmlGate};

use super::holes::HoleReason;
use super::record_line::parse_digest;
use super::repeats::LeftOutValues;
use super::{ExportFault, ExportScope};
use crate::limits;
use systole_core::rules::core_payload::AttemptState;
use systole_core::rules::{approval_payload, core_payload};
use systole_core::types::body_parts::{LEFT_OUT_TEXT, PartSeal};
use systole_core::types::ids::{CallPath, Digest, Name};
use systole_core::types::ports::{LogReader, Position};
use systole_core::types::record::{Header, Record, RecordCode, RecordKind};

/// What the views of an export have in the place of what was left out.
/// The name of every error.
const ERROR: &[u8] = b"system-error";
/// The digits of a hash.
const DIGITS: usize = 64;

/// Says for each record whether its body is to be left out.
pub type RecordSelector<'a, E> = dyn FnMut(&[(Position, Record)]) -> Result<Vec<bool>, E> + 'a;

/// What is left out of the records of an export.
#[derive(Debug, Default)]
pub struct Redaction {
    /// Whether all sensitive values are.
    sensitive: bool,
    /// Whether there is any.
    pub has_sensitive: bool,
    /// The bodies that are, with the reason.
    whole: BTreeMap<Position, HoleReason>,
}

/// What is gathered before anything is decided.
#[derive(Default)]
struct GatheredValues {
    /// Sensitive values.
    values: LeftOutValues,
    /// Texts of bodies that were selected, and their hashes.
    texts: HashSet<Vec<u8>>,
    hashes: HashSet<Digest>,
    /// Fields of headers, which an export always shows.
    shown: HashSet<Vec<u8>>,
}

/// The hashes in the bodies that are still to be kept.
#[derive(Default)]
struct NamedHashes {
    /// Those that tell nothing: of the chains, of configurations, and salted ones.
    harmless: HashSet<Digest>,
    /// The bodies that the export has, by their hash.
    bodies: HashMap<Digest, HashSet<Position>>,
    /// For each body that has hashes: its own, and them. `None` stands for something longer than a hash.
    named: BTreeMap<Position, (Digest, Vec<Option<Digest>>)>,
}

impl Redaction {
    /// Decides what is left out. `around` has the exported threads with everything that belongs to them: a value that
    /// is sensitive anywhere in it is looked for in all exported records.
    pub fn plan_redaction<E: From<ExportFault>>(
        reader: &dyn LogReader,
        scope: &ExportScope,
        around: &ExportScope,
        sensitive: bool,
        select: &mut RecordSelector<'_, E>,
    ) -> Result<Redaction, E> {
        let mut redaction = Redaction { sensitive, ..Redaction::default() };
        let gathered = redaction.gather_values(reader, around, select)?;
        redaction.judge_records(reader, scope, &gathered)?;
        Ok(redaction)
    }

    fn gather_values<E: From<ExportFault>>(
        &mut self,
        reader: &dyn LogReader,
        around: &ExportScope,
        select: &mut RecordSelector<'_, E>,
    ) -> Result<GatheredValues, E> {
        let mut gathered = GatheredValues::default();
        let mut batch: Vec<(Position, Record)> = Vec::with_capacity(limits::BATCH);
        let mut failed = None;
        let walked = around.visit_records(reader, |position, record| {
            gathered.add_shown(&record.header);
            if self.sensitive && !record.parts.values.is_empty() {
                self.has_sensitive = true;
                gathered.add_sensitive(record);
            }
            batch.push((position, record.clone()));
            if batch.len() == limits::BATCH {
                let selected = self.take_selected(&mut gathered, &batch, select);
                batch.clear();
                if let Err(fault) = selected {
                    failed = Some(fault);
                    return Err(ExportFault::Write(std::io::ErrorKind::Interrupted.into()));
                }
            }
            Ok(())
        });
        if let Some(fault) = failed {
            return Err(fault);
        }
        walked?;
        self.take_selected(&mut gathered, &batch, select)?;
        let GatheredValues { values, texts, shown, .. } = &mut gathered;
        texts.iter().filter(|text| !shown.contains(*text)).for_each(|text| values.add_value(text));
        Ok(gathered)
    }

    fn take_selected<E>(
        &mut self,
        gathered: &mut GatheredValues,
        batch: &[(Position, Record)],
        select: &mut RecordSelector<'_, E>,
    ) -> Result<(), E> {
        let selected = if batch.is_empty() { Vec::new() } else { select(batch)? };
        for ((position, record), _) in batch.iter().zip(selected).filter(|(_, is_selected)| *is_selected) {
            self.whole.insert(*position, HoleReason::Selected);
            gathered.add_selected(&record.body);
        }
        Ok(())
    }

    fn judge_records(
        &mut self,
        reader: &dyn LogReader,
        scope: &ExportScope,
        gathered: &GatheredValues,
    ) -> Result<(), ExportFault> {
        let mut named = NamedHashes::default();
        for (position, record) in &scope.erasures {
            // The rest are positions and hashes: a value that looks like one is not repeated there.
            let words = core_payload::erasure_words(&record.body).unwrap_or_default();
            let repeats =
                |text: Option<String>| text.is_some_and(|text| gathered.values.are_in(text.as_bytes()));
            if repeats(words.reason) {
                return Err(ExportFault::Reason(*position));
            }
            if repeats(words.by) {
                return Err(ExportFault::EraserName(*position));
            }
        }
        scope.visit_records(reader, |position, record| {
            if record.header.key.as_ref().is_some_and(|key| gathered.are_in_key(key.as_str())) {
                let (thread, seq) = (record.header.thread.clone(), record.header.seq);
                return Err(ExportFault::Key { thread, seq });
            }
            named.add_harmless(record);
            if self.whole.contains_key(&position) {
                return Ok(());
            }
            let kept = self.kept_bytes(record);
            if let Some(why) = find_kind_reason(record).or_else(|| gathered.are_repeated(&kept)) {
                self.whole.insert(position, why);
            } else {
                named.take_record(position, record, &kept);
            }
            Ok(())
        })?;
        for position in named.find_guessable() {
            self.whole.insert(position, HoleReason::Hash);
        }
        Ok(())
    }

    /// The bytes of a body that would be left.
    fn kept_bytes<'r>(&self, record: &'r Record) -> Cow<'r, [u8]> {
        if self.sensitive && !record.parts.values.is_empty() {
            return record.parts.rest_of(&record.body).flatten().copied().collect();
        }
        Cow::Borrowed(&record.body)
    }

    /// The record without what is left out.
    pub fn apply_to(&self, position: Position, record: &Record) -> Record {
        let mut record = record.clone();
        let is_whole = self.whole.contains_key(&position);
        if !is_whole && (!self.sensitive || record.parts.values.is_empty()) {
            return record;
        }
        let (all, in_log) = (record.parts.commit_parts(&record.body), record.parts.clone());
        let seals = record.parts.values.iter_mut().map(|(_, seal)| seal);
        let rest = is_whole.then_some(&mut record.parts.rest);
        let mut hashes = all.into_iter();
        let first = hashes.next();
        for (seal, hash) in seals.zip(hashes) {
            *seal = PartSeal::Erased(hash);
        }
        if let Some((rest, first)) = rest.zip(first) {
            *rest = PartSeal::Erased(first);
        }
        let mut body = record.body.to_vec();
        record.parts.blank_as(LEFT_OUT_TEXT, &mut body);
        // What the log does not have either was erased.
        in_log.blank_holes(&mut body);
        record.body = Arc::from(body);
        record
    }

    /// Why a part that the log has is left out.
    pub fn find_reason(&self, position: Position, part: usize) -> HoleReason {
        match self.whole.get(&position) {
            Some(why) if part == 0 || !self.sensitive => *why,
            _ => HoleReason::Sensitive,
        }
    }
}

/// Why every record of this kind is left out: a journal, or the words of a failure, which may quote a piece of anything.
fn find_kind_reason(record: &Record) -> Option<HoleReason> {
    let body = &record.body;
    // A listener's word for who is away may quote something as well.
    let says_away = || match core_payload::read_attempt_state(body) {
        Some(AttemptState::Waits { outage, .. } | AttemptState::GoesOn(outage)) => {
            !limits::is_own_outage(&outage)
        }
        _ => false,
    };
    let tells =
        || core_payload::next_attempt(body).is_some_and(|one| one.code.is_some() || !one.words.is_empty());
    let has_failed = || tells() || says_away();
    match record.header.kind {
        RecordKind::Journal => Some(HoleReason::Journal),
        RecordKind::Attempt if has_failed() => Some(HoleReason::Error),
        RecordKind::Timer if core_payload::says_away(body) => Some(HoleReason::Error),
        RecordKind::Approval if approval_payload::read_unknown(body).is_some() => Some(HoleReason::Error),
        // It may be the end of a child, too.
        _ => body.windows(ERROR.len()).any(|word| word == ERROR).then_some(HoleReason::Error),
    }
}

impl GatheredValues {
    fn add_shown(&mut self, header: &Header) {
        let mut add = |text: &str| self.shown.extend([text.as_bytes().to_vec()]);
        [header.thread.as_str(), header.from.as_str(), header.kind.as_str()].into_iter().for_each(&mut add);
        header.to.as_ref().map(Name::as_str).into_iter().for_each(&mut add);
        header.call.as_ref().map(CallPath::as_str).into_iter().for_each(&mut add);
        header.code.map(RecordCode::as_str).into_iter().for_each(&mut add);
        [header.id.to_string(), header.time.to_string(), header.config.to_string()]
            .iter()
            .for_each(|text| add(text));
    }

    fn add_sensitive(&mut self, record: &Record) {
        for (hole, _) in record.parts.values.iter().filter(|(_, seal)| !seal.is_erased()) {
            let value = record.body.get(hole.to_range()).unwrap_or_default();
            self.values.add_value(value);
            self.hashes.insert(Digest::hash_bytes(value));
        }
        self.hashes.insert(Digest::hash_bytes(&record.body));
    }

    /// The texts of a body that is left out, and the values of its attributes. Names of elements are no secret.
    fn add_selected(&mut self, body: &[u8]) {
        self.hashes.insert(Digest::hash_bytes(body));
        let texts = list_texts(body).unwrap_or_else(|| vec![String::from_utf8_lossy(body).into_owned()]);
        // What was erased before says nothing.
        let is_erased = |text: &str| text.trim_end_matches('*').is_empty() || text.starts_with("[erased]");
        let texts = texts.iter().map(|text| text.trim()).filter(|text| !is_erased(text));
        self.texts.extend(texts.map(|text| text.as_bytes().to_vec()));
    }

    fn are_repeated(&self, kept: &[u8]) -> Option<HoleReason> {
        self.values.are_in(kept).then_some(HoleReason::Repeat)
    }

    fn are_in_key(&self, key: &str) -> bool {
        let is_hash = |word: &Option<Digest>| word.is_some_and(|hash| self.hashes.contains(&hash));
        find_hashes(key.as_bytes()).iter().any(is_hash) || self.values.are_in(key.as_bytes())
    }
}

impl NamedHashes {
    fn add_harmless(&mut self, record: &Record) {
        self.harmless.extend([record.leaf, record.head, record.header.config]);
        self.harmless.insert(record.parts.commit_body(&record.body));
    }

    fn take_record(&mut self, position: Position, record: &Record, kept: &[u8]) {
        let own = Digest::hash_bytes(&record.body);
        if kept.len() == record.body.len() && !record.parts.has_erased() {
            self.bodies.entry(own).or_default().insert(position);
        }
        let hashes = find_hashes(kept);
        if !hashes.is_empty() {
            self.named.insert(position, (own, hashes));
        }
    }

    /// The bodies with the hash of something that the export does not have. Leaving one out may make it the next such
    /// thing.
    fn find_guessable(mut self) -> Vec<Position> {
        let mut found = Vec::new();
        loop {
            let is_known = |hash: &Option<Digest>| {
                hash.is_some_and(|hash| self.harmless.contains(&hash) || self.bodies.contains_key(&hash))
            };
            let is_guessable = |(position, (own, hashes)): (&Position, &(Digest, Vec<Option<Digest>>))| {
                (!hashes.iter().all(is_known)).then_some((*position, *own))
            };
            let next: Vec<(Position, Digest)> = self.named.iter().filter_map(is_guessable).collect();
            if next.is_empty() {
                return found;
            }
            for (position, own) in next {
                self.named.remove(&position);
                if let Some(same) = self.bodies.get_mut(&own) {
                    same.remove(&position);
                    if same.is_empty() {
                        self.bodies.remove(&own);
                    }
                }
                found.push(position);
            }
        }
    }
}

/// The values of all attributes of a payload, each of its texts, and all of its text.
fn list_texts(body: &[u8]) -> Option<Vec<String>> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let (mut found, mut whole) = (Vec::new(), String::new());
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(_) => {
                found.extend(gate.attributes().iter().map(|attribute| attribute.value().into_owned()));
            }
            GateStep::Text(text) => {
                let before = whole.len();
                text.append_to(&mut whole);
                found.push(whole.get(before..).unwrap_or_default().to_owned());
            }
            GateStep::Done => {
                found.push(whole);
                return Some(found);
            }
            _ => {}
        }
    }
}

/// Everything in a text that looks like a hash in hex. `None` stands for a longer row of digits.
fn find_hashes(text: &[u8]) -> Vec<Option<Digest>> {
    let rows = text.split(|byte| !byte.is_ascii_hexdigit()).filter(|row| row.len() >= DIGITS);
    rows.map(|row| parse_digest(&String::from_utf8_lossy(row).to_ascii_lowercase())).collect()
}
