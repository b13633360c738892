//! The verdict on a log or an export whose pages are shown. A damaged one has a verdict too, if the rest can be read.

use std::path::{Path, PathBuf};

use super::super::exit::CommandExit;
use super::super::local_organism;
use super::super::place::quote_path;
use super::super::screen::Screen;
use super::verify_export::{self, ExportHistory};
use super::{KeptCheckpoints, find_damage};
use systole_core::types::ports::{LogFault, Position};
use systole_export::holes::HoleReason;
use systole_export::verdict::{CheckpointFinding, GatheredLog, LogExamination, LogVerdict};
use systole_log::sqlite;
use systole_organism::prompt_view;
use systole_organism::resting_verdict::{ExportedProof, FileState, RestingVerdict};
use systole_show::columns::{counted, plain};

/// What is said of a log without its tip.
const NO_TIP: &str = " Whether its last records are there is not known: no file .tip is beside it.";

/// Verifies a log, and compares it with the checkpoints beside it. A fault that is no damage is reported.
pub(in crate::cli) fn verify_log(
    screen: Screen,
    log: &Path,
    file: PathBuf,
) -> Result<RestingVerdict, CommandExit> {
    let seen = Some(FileState::read_state(log));
    let kept = KeptCheckpoints::read_beside(screen, log)?;
    let (is_sound, words, readable) =
        match GatheredLog::with_end(log, &kept.sizes(), &[], prompt_view::READING) {
            Ok((summary, gathered)) => {
                let found =
                    LogExamination::new(summary.records, gathered, Vec::new(), &kept.checkpoints, None);
                let verdict = found.verdict();
                let mut words = write_sentence(&verdict, summary.records);
                if sqlite::read_condition(log).is_ok_and(|condition| condition.is_end_unknown) {
                    words.push_str(NO_TIP);
                }
                (is_sound(&verdict), words, None)
            }
            Err(fault) => match find_damage(&fault) {
                Some((_, verdict, why)) => {
                    let words = format!("Verdict: {verdict}. {}.", plain(why));
                    build_damage_verdict(&fault, words)
                }
                None => return Err(local_organism::report_log_fault(screen, &fault)),
            },
        };
    let typed = quote_path(&file);
    Ok(RestingVerdict { file, typed, is_sound, words, readable, seen, exported: None })
}

/// What is shown of a damaged log. What comes before a damaged record was verified.
fn build_damage_verdict(fault: &LogFault, words: String) -> (bool, String, Option<Position>) {
    let readable = match fault {
        LogFault::Damaged { position: Position(at), .. } => at.checked_sub(1).map(Position),
        _ => None,
    };
    let shown = match readable {
        Some(Position(0)) => " No record comes before it, so none is shown.".to_owned(),
        Some(Position(1)) => " Only the record before it is shown.".to_owned(),
        Some(Position(last)) => format!(" Only the {last} records before it are shown."),
        None => " The rest is shown as far as it can be read.".to_owned(),
    };
    (false, words + &shown, readable)
}

/// The verdict on an export that was read.
pub(in crate::cli) fn from_export(history: &ExportHistory, file: PathBuf) -> RestingVerdict {
    let found = &history.found;
    let (verdict, records) = (found.log.verdict(), found.walked.leaves.len() as u64);
    let holes = found.walked.holes.len();
    let mut words = write_sentence(&verdict, records);
    if holes > 0 {
        words.push_str(&format!(" {} left out of bodies; their hashes fit.", counted(holes, "part")));
    }
    let unexplained = found.walked.count_unexplained();
    if unexplained > 0 {
        words.push_str(&format!(" {} missing without a reason.", counted(unexplained, "part")));
    }
    let listed = verify_export::list_holes(found);
    let mut left_out: Vec<String> = listed.iter().map(|words| plain(words)).collect();
    if holes > left_out.len() {
        left_out.push(format!("and {} more, which holes.jsonl lists", holes - left_out.len()));
    }
    let checkpoints = found.log.checkpoints.iter().map(CheckpointFinding::words).chain(found.signer_names());
    let proof = ExportedProof {
        verdict: plain(&verdict.words()),
        facts: vec![
            ("records", records.to_string()),
            ("threads", found.walked.threads.to_string()),
            ("documents", found.walked.documents.to_string()),
        ],
        lacks_own_thread: !history.log.has_own_thread(),
        lacks_requests: found.walked.holes.iter().any(|hole| hole.why == Some(HoleReason::Journal)),
        checkpoints: checkpoints.map(|words| plain(&words)).collect(),
        answers: found.answers(),
        holes: left_out,
        not_checked: found.not_checked().iter().map(|words| plain(words)).collect(),
    };
    RestingVerdict {
        typed: quote_path(&file),
        file,
        is_sound: is_sound(&verdict) && unexplained == 0,
        words,
        readable: None,
        seen: None,
        exported: Some(proof),
    }
}

fn is_sound(verdict: &LogVerdict) -> bool {
    !matches!(verdict, LogVerdict::Contradicted { .. })
}

fn write_sentence(verdict: &LogVerdict, records: u64) -> String {
    format!("Verdict: {}. {}, every hash fits.", plain(&verdict.words()), counted(records, "record"))
}
