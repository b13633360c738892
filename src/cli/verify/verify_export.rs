//! `systole verify` on an export: the same verdicts, from a zip file alone.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::policy::TrustPolicy;
use systole_proof::tree::TreeHash;

use super::super::exit::CommandExit;
use super::super::screen::Screen;
use super::super::system_faults;
use super::{answer_lines, write_verdict};
use crate::limits;
use systole_core::types::ids::Digest;
use systole_export::archive::{ARCHIVE_BEGINNING, ArchiveReader};
use systole_export::damage::ExportDamage;
use systole_export::examination::ExportExamination;
use systole_export::exported_log::ExportedLog;
use systole_export::holes::{ExportHole, HoleReason};
use systole_export::proof::ExportProof;
use systole_export::starts::ExportedStart;
use systole_export::statement::{self, ExportStatement};
use systole_export::verdict::{CheckpointFinding, CheckpointKeeper, CheckpointSource, LogVerdict};
use systole_export::verifying::ExportWalk;
use systole_organism::replaying::{CannotReplay, SystemEvents};
use systole_proof::limits::{NOTE_BYTES, POLICY_BYTES};
use systole_show::columns::{counted, plain, wrapped};
use systole_show::layout::{TextTone, paint};
use systole_system::system;

/// Every name that an export may have, and its most bytes.
const NAMES: [(&str, u64); 13] = [
    ("README.txt", 1 << 20),
    ("verify.py", 1 << 20),
    ("statement.json", 1 << 20),
    ("records.jsonl", limits::EXPORT_ENTRY_BYTES),
    ("documents.jsonl", limits::EXPORT_ENTRY_BYTES),
    ("holes.jsonl", limits::EXPORT_ENTRY_BYTES),
    ("erased.jsonl", limits::EXPORT_ENTRY_BYTES),
    ("starts.jsonl", 64 << 20),
    ("checkpoint.txt", NOTE_BYTES as u64),
    ("proof.json", 64 << 20),
    ("policy.txt", POLICY_BYTES as u64),
    ("thread.xml", limits::EXPORT_ENTRY_BYTES),
    ("index.html", limits::EXPORT_ENTRY_BYTES),
];

/// Why nothing can be said.
enum ExportFailure {
    Damaged(ExportDamage),
    /// It has this form, of a newer version.
    Newer(String),
    Unread(std::io::Error),
}

impl From<ExportDamage> for ExportFailure {
    fn from(damage: ExportDamage) -> ExportFailure {
        ExportFailure::Damaged(damage)
    }
}

impl From<std::io::Error> for ExportFailure {
    fn from(error: std::io::Error) -> ExportFailure {
        match error.kind() {
            ErrorKind::InvalidData => ExportFailure::Damaged(ExportDamage::without_place(error.to_string())),
            _ => ExportFailure::Unread(error),
        }
    }
}

/// Whether a file is an export: it begins like one, or has the ending of one.
pub(in crate::cli) fn is_export(path: &Path) -> bool {
    let mut first = [0; ARCHIVE_BEGINNING.len()];
    let is_named = path.extension().is_some_and(|ending| ending == "zip");
    let begins = |mut file: std::fs::File| file.read_exact(&mut first).is_ok() && first == ARCHIVE_BEGINNING;
    is_named || std::fs::File::open(path).is_ok_and(begins)
}

/// An export that was verified, as history to replay.
pub(in crate::cli) struct ExportHistory {
    /// Its records and documents.
    pub(in crate::cli) log: ExportedLog,
    /// When the organism was started and paused.
    pub(in crate::cli) system: SystemEvents,
    /// Why no thread of it can be replayed, if so.
    pub(in crate::cli) lacks: Option<CannotReplay>,
    /// What verifying showed.
    pub(in crate::cli) found: ExportExamination,
}

/// Verifies an export and reads its history. What is wrong is reported.
pub(in crate::cli) fn open_history(screen: Screen, path: &Path) -> Result<ExportHistory, CommandExit> {
    read_history(path).map_err(|fault| report_fault(screen, path, fault))
}

fn read_history(path: &Path) -> Result<ExportHistory, ExportFailure> {
    let found = examine_export(path, None, Vec::new())?;
    let mut archive = ArchiveReader::open(path, &NAMES)?;
    let (mut log, mut starts) = (ExportedLog::default(), Vec::new());
    pass_lines(&mut archive, "records.jsonl", |line| {
        log.take_record(line).map_err(ExportDamage::without_place)
    })?;
    pass_lines(&mut archive, "documents.jsonl", |line| {
        log.take_document(line).map_err(ExportDamage::without_place)
    })?;
    let has_starts = archive.has_entry("starts.jsonl");
    if has_starts {
        pass_lines(&mut archive, "starts.jsonl", |line| {
            let start: ExportedStart = serde_json::from_slice(line).map_err(|fault| {
                ExportDamage::without_place(format!("a line of starts.jsonl has another form: {fault}"))
            })?;
            starts.push(start);
            Ok(())
        })?;
    }
    log.leave_out(&found.walked.holes);
    let system = SystemEvents::from_export(starts).map_err(ExportDamage::without_place)?;
    let lacks = match found.walked.holes.first() {
        Some(ExportHole { thread, seq, why, .. }) => {
            let is_erased = *why == Some(HoleReason::Erased);
            let how = if is_erased { "has erased parts" } else { "is redacted" };
            Some(format!("{how}: what record {seq} of thread {thread} said is not all there"))
        }
        None if !has_starts => Some("does not say when the organism started".to_owned()),
        None if log.list_roots().is_empty() => {
            Some("has only children, without the threads above them".to_owned())
        }
        None => None,
    };
    Ok(ExportHistory { log, system, lacks: lacks.map(CannotReplay::Export), found })
}

/// Verifies an export, with the checkpoints that the reader kept.
pub(super) fn verify_export(
    screen: Screen,
    path: &Path,
    policy: Option<&TrustPolicy>,
    kept: Vec<CheckpointSource>,
) -> CommandExit {
    match examine_export(path, policy, kept) {
        Ok(found) => {
            if screen.json {
                screen.show_value(&as_json(path, &found));
            } else {
                list_lines(path, &found).iter().for_each(|line| screen.show_drawn(line));
            }
            choose_exit(screen, &found)
        }
        Err(fault) => report_fault(screen, path, fault),
    }
}

/// Reports why nothing can be said about an export.
fn report_fault(screen: Screen, path: &Path, fault: ExportFailure) -> CommandExit {
    let ExportDamage { position, why } = match fault {
        ExportFailure::Unread(error) => {
            let words = system::report_unread(path, "an export", &error);
            return system_faults::report_fault(screen, CommandExit::Unavailable, &words);
        }
        ExportFailure::Newer(form) => {
            let known = statement::FORM;
            let words = format!("{} is a {form}; this version reads up to {known}", path.display());
            let fix = "the version of systole that wrote it, or a newer one";
            return screen.fail_with(CommandExit::Log, words, fix);
        }
        ExportFailure::Damaged(damage) => damage,
    };
    let verdict = match position {
        0 => "damaged".to_owned(),
        at => format!("damaged at #{at}"),
    };
    let name = path.display().to_string();
    if screen.json {
        screen.show_value(&json!({"export": name, "verdict": verdict, "position": position, "why": why}));
    } else {
        wrapped(&format!("{}: ", plain(&name)), 2, &plain(&why))
            .iter()
            .for_each(|line| screen.show_drawn(line));
        screen.show_drawn(&format!("verdict: {}", paint(TextTone::Bad, &verdict)));
    }
    screen.say("  try: ask its sender for the file as systole export wrote it");
    CommandExit::Log
}

fn examine_export(
    path: &Path,
    policy: Option<&TrustPolicy>,
    kept: Vec<CheckpointSource>,
) -> Result<ExportExamination, ExportFailure> {
    let mut archive = ArchiveReader::open(path, &NAMES)?;
    let statement = read_statement(&mut archive, policy)?;
    let mut walk = ExportWalk::default();
    pass_lines(&mut archive, "records.jsonl", |line| walk.take_record(line))?;
    pass_lines(&mut archive, "documents.jsonl", |line| walk.take_document(line))?;
    if archive.has_entry("holes.jsonl") {
        pass_lines(&mut archive, "holes.jsonl", |line| walk.take_hole(line))?;
    }
    if archive.has_entry("erased.jsonl") {
        pass_lines(&mut archive, "erased.jsonl", |line| walk.take_erasure(line))?;
    }
    let walked = walk.finish(&statement.predicate)?;
    let mut sources = kept;
    let proved = read_proof(&mut archive, &walked.proved_leaves())?.map(|(signed, size, root)| {
        let place = format!("{}: checkpoint.txt", path.display());
        sources.insert(0, CheckpointSource { place, keeper: CheckpointKeeper::Supplier, signed });
        (size, root)
    });
    Ok(ExportExamination::new(walked, statement, proved, sources, policy))
}

/// The statement, with the hash of every file compared.
fn read_statement(
    archive: &mut ArchiveReader,
    policy: Option<&TrustPolicy>,
) -> Result<ExportStatement, ExportFailure> {
    let keys: Vec<_> = policy.iter().flat_map(|policy| policy.logs()).map(|log| &log.key).collect();
    let bytes = archive.read_whole("statement.json")?;
    if let Some(form) = statement::find_newer_form(&bytes) {
        return Err(ExportFailure::Newer(form));
    }
    let statement = statement::read_statement(&bytes, &keys).map_err(ExportDamage::without_place)?;
    let names: BTreeSet<String> =
        archive.names().filter(|name| *name != "statement.json").map(str::to_owned).collect();
    for name in &names {
        let mut entry = archive.open_entry(name)?;
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
        loop {
            let count = entry.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            hash.update(buffer.get(..count).unwrap_or_default());
        }
        let hash = Digest(hash.finalize().into()).to_string();
        if !statement.files.iter().any(|(file, said)| file == name && *said == hash) {
            let why = format!("{name} is not the file that statement.json names");
            return Err(ExportDamage::without_place(why).into());
        }
    }
    match statement.files.iter().find(|(file, _)| !names.contains(file)) {
        Some((file, _)) => {
            Err(ExportDamage::without_place(format!("{file} is named in statement.json and missing")).into())
        }
        None => Ok(statement),
    }
}

/// Passes each line on, without its line break.
fn pass_lines(
    archive: &mut ArchiveReader,
    name: &str,
    mut take: impl FnMut(&[u8]) -> Result<(), ExportDamage>,
) -> Result<(), ExportFailure> {
    let mut entry = BufReader::with_capacity(1 << 16, archive.open_entry(name)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        (&mut entry).take(limits::BODY_BYTES + 1).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        let whole = line.strip_suffix(b"\n").filter(|_| line.len() as u64 <= limits::BODY_BYTES);
        take(whole.ok_or_else(|| {
            ExportDamage::without_place(format!("a line of {name} is not whole, or too long"))
        })?)?;
    }
}

/// The checkpoint of the export, its size and its root, if the records lead to it.
fn read_proof(
    archive: &mut ArchiveReader,
    leaves: &[(u64, TreeHash)],
) -> Result<Option<(SignedCheckpoint, u64, TreeHash)>, ExportFailure> {
    match (archive.has_entry("checkpoint.txt"), archive.has_entry("proof.json")) {
        (false, false) => return Ok(None),
        (true, true) => {}
        _ => {
            return Err(ExportDamage::without_place("one of checkpoint.txt and proof.json is missing").into());
        }
    }
    let signed = SignedCheckpoint::parse(&archive.read_whole("checkpoint.txt")?);
    let signed = signed
        .map_err(|fault| ExportDamage::without_place(format!("checkpoint.txt is no checkpoint: {fault}")))?;
    let proof: ExportProof = serde_json::from_slice(&archive.read_whole("proof.json")?)
        .map_err(|_| ExportDamage::without_place("proof.json has another form"))?;
    let (size, wanted) = (signed.checkpoint().size(), *signed.checkpoint().root());
    if proof.size != size {
        return Err(
            ExportDamage::without_place("proof.json is about another size than checkpoint.txt").into()
        );
    }
    let root = proof.compute_root(leaves).map_err(ExportDamage::without_place)?;
    if root != wanted {
        let why = "its records are not those of the log that its checkpoint is about";
        return Err(ExportDamage::without_place(why).into());
    }
    Ok(Some((signed, size, root)))
}

fn choose_exit(screen: Screen, found: &ExportExamination) -> CommandExit {
    if let LogVerdict::Contradicted { by, .. } = found.log.verdict() {
        let words = format!("the export is not from the log that {by} is about");
        return screen.fail_with(CommandExit::Log, words, "ask who sent it which log it is from");
    }
    let unexplained = found.walked.count_unexplained();
    if unexplained > 0 {
        let words = format!("parts of bodies that are missing without a reason: {unexplained}");
        let fix = "ask its sender for an export by a version that adds the records of erasures";
        return screen.fail_with(CommandExit::Failed, words, fix);
    }
    let useless = found.log.checkpoints.iter().find(|one| one.is_of_no_use());
    let useless = useless.map(|one| format!("{}: no signature of it counts by the policy", one.place));
    if let Some(words) = found.uncompared_inputs().first().cloned().or(useless) {
        let fix = "the checkpoint of the export's own size, or no --against";
        return screen.fail_with(CommandExit::Failed, format!("not compared: {words}"), fix);
    }
    if found.log.satisfies_policy() {
        return CommandExit::Done;
    }
    let words = "no checkpoint satisfies the policy";
    screen.fail_with(CommandExit::Failed, words, "an export that was made after systole checkpoint")
}

/// The first parts that were left out. Those without a reason come first: they are what a reader has to see.
pub(super) fn list_holes(found: &ExportExamination) -> Vec<String> {
    let (unexplained, other): (Vec<_>, Vec<_>) =
        found.walked.holes.iter().partition(|hole| hole.is_unexplained);
    unexplained.into_iter().chain(other).take(limits::LISTED).map(ExportHole::words).collect()
}

fn list_lines(path: &Path, found: &ExportExamination) -> Vec<String> {
    let walked = &found.walked;
    let mut lines = vec![
        format!(
            "{}: {} in {}, {}",
            plain(&path.display().to_string()),
            counted(walked.leaves.len(), "record"),
            counted(walked.threads, "thread"),
            counted(walked.documents, "document")
        ),
        "  every hash fits, and each thread is one chain without gaps".to_owned(),
    ];
    let holes = walked.holes.len();
    if holes > 0 {
        lines.push(format!("  {holes} parts of bodies were left out; their hashes fit"));
    }
    lines.extend(list_holes(found).iter().flat_map(|words| wrapped("    ", 6, &plain(words))));
    if holes > limits::LISTED {
        lines.push(format!("    and {} more, in holes.jsonl and with --json", holes - limits::LISTED));
    }
    for words in found.log.checkpoints.iter().map(CheckpointFinding::words).chain(found.signer_names()) {
        lines.extend(wrapped("  ", 4, &plain(&words)));
    }
    lines.push(write_verdict(&found.log.verdict()));
    lines.extend(found.answers().iter().flat_map(answer_lines));
    lines.push(String::new());
    for words in found.not_checked() {
        lines.extend(wrapped("not checked: ", 2, &plain(&words)));
    }
    lines
}

fn as_json(path: &Path, found: &ExportExamination) -> Value {
    let walked = &found.walked;
    let answers = found.answers().into_iter().map(|answer| json!({"question": answer.question, "standing": answer.standing.as_str(), "words": answer.words}));
    json!({
        "export": path.display().to_string(), "records": walked.leaves.len(), "threads": walked.threads,
        "documents": walked.documents, "dropped": walked.holes.len(), "holes": walked.holes,
        "unexplained": walked.count_unexplained(), "erasures": walked.erasures.len(), "verdict": found.log.verdict().words(),
        "by": found.log.best_checkpoint().map(|best| &best.place), "signers": found.signer_names(),
        "checkpoints": found.log.checkpoints.iter().map(CheckpointFinding::words).collect::<Vec<_>>(),
        "answers": answers.collect::<Vec<_>>(), "not_checked": found.not_checked(),
    })
}
