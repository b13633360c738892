//! Further checks of an intact log: its tables match the format, and its records agree with what other records say of
//! them.

use std::path::Path;

use super::Finding;
use crate::cli::exit::CommandExit;
use crate::cli::local_organism::fix_of;
use crate::limits;
use systole_core::types::composition::Composition;
use systole_core::types::ports::LogFault;
use systole_export::kinship;
use systole_log::sqlite;
use systole_organism::prompt_view;
use systole_organism::running::list_orphans;

/// Whether the file's structure matches its format.
pub(super) fn check_structure(log: &Path) -> Vec<Finding> {
    let odd = match sqlite::list_oddities(log) {
        Ok(odd) => odd,
        Err(fault) => return vec![describe_log_fault(&fault)],
    };
    if odd.is_empty() {
        return vec![Finding::new_good("structure", "tables, indexes and views are those of the format")];
    }
    let told = odd.iter().map(|oddity| {
        let words = format!("{} {}", oddity.what, oddity.why);
        match oddity.is_harmless {
            true => Finding::new_note("structure", words, "remove it, unless you need it: Systole does not"),
            false => {
                let fix = "copy the file first; then restore a backup from before the change";
                Finding::new_problem("structure", words, fix, CommandExit::Log)
            }
        }
    });
    told.collect()
}

/// Whether records agree with what others say of them.
pub(super) fn check_kinship(log: &Path) -> Vec<Finding> {
    let looked =
        sqlite::open_reading(log).and_then(|reader| kinship::check_kinship(&reader, prompt_view::READING));
    let looked = match looked {
        Ok(looked) => looked,
        Err(fault) => return vec![describe_log_fault(&fault)],
    };
    let (children, documents) = (looked.children, looked.documents);
    if looked.misfits.is_empty() {
        let words =
            format!("child threads: {children}, named documents: {documents}; all match the other records");
        return vec![Finding::new_good("evidence", words)];
    }
    let mut found = Vec::new();
    for misfit in looked.misfits.iter().take(limits::LISTED_FAULTS) {
        let (thread, seq) = (&misfit.thread, misfit.seq);
        let (words, fix) = match misfit.position.0 {
            0 => (misfit.why.clone(), "a backup from before the change".to_owned()),
            at => (
                format!("record {seq} of {thread} at position {at}: {}", misfit.why),
                format!("systole log {thread} --from {seq}, and a backup from before the change"),
            ),
        };
        found.push(Finding::new_problem("evidence", words, fix, CommandExit::Log));
    }
    if let Some(more) = looked.misfits.len().checked_sub(limits::LISTED_FAULTS).filter(|more| *more > 0) {
        let words = format!("{more} more records do not fit");
        found.push(Finding::new_problem("evidence", words, "the first ones, listed above", CommandExit::Log));
    }
    found
}

/// Open calls that the organism file no longer serves. An unreadable log is reported elsewhere.
pub(super) fn find_orphans(log: &Path, composition: &Composition) -> Vec<Finding> {
    let found = sqlite::open_reading(log).ok().and_then(|reader| list_orphans(&reader, composition).ok());
    found
        .iter()
        .flatten()
        .map(|orphan| Finding::new_note("open work", orphan.words(), orphan.fix()))
        .collect()
}

/// What a person should know about a log that cannot be read as it should.
pub(super) fn describe_log_fault(fault: &LogFault) -> Finding {
    let fix = fix_of(fault).unwrap_or("what the message says".into());
    let fix = match fault {
        LogFault::Damaged { .. } => {
            "copy the file first; the list below says what may still be trusted".into()
        }
        _ => fix,
    };
    let exit = if fault.is_damage() { CommandExit::Log } else { CommandExit::Unavailable };
    Finding::new_problem("log", fault.to_string(), fix, exit)
}
