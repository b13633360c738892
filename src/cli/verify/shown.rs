//! The verdict on a log or an export whose pages are shown. A damaged one has a verdict too, if the rest can be read.

use std::path::{Path, PathBuf};

use super::super::exit::CommandExit;
use super::super::here;
use super::super::screen::Screen;
use super::exported::ExportHistory;
use super::{Kept, damage};
use crate::audit::columns::{counted, plain};
use crate::audit::verdict::{GatheredLog, LogExamination, LogVerdict};
use crate::runtime::prompt_view;
use crate::runtime::resting_verdict::RestingVerdict;

/// Verifies a log, and compares it with the checkpoints beside it. A fault that is no damage is reported.
pub(in crate::cli) fn of_log(
    screen: Screen,
    log: &Path,
    file: PathBuf,
) -> Result<RestingVerdict, CommandExit> {
    let kept = Kept::beside(screen, log)?;
    let (is_sound, words) = match GatheredLog::with_end(log, &kept.sizes(), &[], prompt_view::READING) {
        Ok((summary, gathered)) => {
            let found =
                LogExamination::new(summary.records, gathered, Vec::new(), &kept.checkpoints, None).verdict();
            (is_sound(&found), sentence(&found, usize::try_from(summary.records).unwrap_or(usize::MAX)))
        }
        Err(fault) => match damage(&fault) {
            Some((_, verdict, why)) => (false, format!("Verdict: {verdict}. {}.", plain(why))),
            None => return Err(here::log_fault(screen, &fault)),
        },
    };
    Ok(RestingVerdict { file, is_export: false, is_sound, words })
}

/// The verdict on an export that was read.
pub(in crate::cli) fn of_export(history: &ExportHistory, file: PathBuf) -> RestingVerdict {
    let mut words = sentence(&history.verdict, history.records);
    if history.holes > 0 {
        words.push_str(&format!(" {} left out of bodies; their hashes fit.", counted(history.holes, "part")));
    }
    RestingVerdict { file, is_export: true, is_sound: is_sound(&history.verdict), words }
}

fn is_sound(verdict: &LogVerdict) -> bool {
    !matches!(verdict, LogVerdict::Contradicted { .. })
}

fn sentence(verdict: &LogVerdict, records: usize) -> String {
    format!("Verdict: {}. {}, every hash fits.", plain(&verdict.words()), counted(records, "record"))
}
