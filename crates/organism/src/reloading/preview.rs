//! What a reload would change, before anything stops: the two configurations are compared, and everything that the new
//! one names is looked up.

use std::path::Path;

use super::orders::{ReloadPreview, ReloadRequest};
use crate::keyring::Keyring;
use crate::missing_part::MissingPart;
use crate::planning::{self, RunSurroundings};
use crate::runfile::Credential;
use systole_config::{self as config, FileMistakes, OrganismFile};
use systole_core::types::codes::Code;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::refusal::Refusal;
use systole_queries::starts;

/// The refusal of a configuration that has mistakes.
pub fn refuse_mistakes(mistakes: &FileMistakes) -> Box<Refusal> {
    let [first, more @ ..] = &mistakes.0[..] else {
        return Box::new(Refusal::new(Code::UnfitReload, "the configuration cannot be read"));
    };
    let place = &first.place;
    let at =
        if place.line == 0 { place.file.clone() } else { format!("{}, line {}", place.file, place.line) };
    let others = match more.len() {
        0 => String::new(),
        1 => "; 1 more mistake".to_owned(),
        count => format!("; {count} more mistakes"),
    };
    let words = format!("{at}: {}{others}", first.message);
    let fix = first.fix.clone().filter(|_| more.is_empty());
    let fix = fix.unwrap_or_else(|| "systole check, which shows each mistake".to_owned());
    Box::new(Refusal::new(Code::UnfitReload, words).fixed_by(fix))
}

/// The refusal of a configuration that lacks something.
fn refuse_missing(missing: MissingPart) -> Box<Refusal> {
    let refusal = Refusal::new(Code::UnfitReload, missing.words);
    Box::new(match missing.fix {
        Some(fix) => refusal.fixed_by(fix),
        None => refusal,
    })
}

/// What would change if `next` went on in place of `current`. The refusal says why it cannot.
pub fn preview_reload(
    request: &ReloadRequest,
    current: &OrganismFile,
    next: &OrganismFile,
    around: RunSurroundings,
) -> Result<ReloadPreview, Box<Refusal>> {
    let unfit = |words: String| Box::new(Refusal::new(Code::UnfitReload, words));
    let (before, after) = (&current.composition, &next.composition);
    let changes = config::list_changes(&before.source, &after.source).map_err(unfit)?;
    let mut preview = ReloadPreview::new(after.hash, before.hash, changes);
    if preview.restart.is_empty() && current.log != next.log {
        // The file may say the same in another folder.
        preview.restart.push("log".to_owned());
    }
    let operator = Keyring::from_operator(Credential::from_token(String::new()));
    operator
        .with_clients(&next.tokens, |name| std::env::var(name).ok())
        .map_err(|mistakes| refuse_mistakes(&mistakes))?;
    planning::build_plan(next.clone(), around).map_err(refuse_missing)?;
    if request.is_shown {
        return Ok(preview);
    }
    if let Some(approved) = request.approved.filter(|approved| *approved != after.hash) {
        let words = format!("it was looked at as {approved}, and is {} now", after.hash);
        let fix = "look at it again, then decide";
        return Err(Box::new(Refusal::new(Code::ChangedReload, words).fixed_by(fix)));
    }
    if !preview.restart.is_empty() {
        let words = format!("a reload cannot change {}", preview.restart.join(", "));
        let fix = "systole stop, then systole run; or the value from before";
        return Err(Box::new(Refusal::new(Code::UnfitReload, words).fixed_by(fix)));
    }
    Ok(preview)
}

/// The configuration that ran before this one, as the log stores it. `None` if no other one ran.
///
/// # Errors
/// If the log cannot be read.
pub fn find_before(reader: &dyn LogReader, current: Digest) -> Result<Option<Vec<u8>>, LogFault> {
    let list = starts::read(reader)?;
    let other = list.starts.iter().find(|start| start.config != current);
    let Some(other) = other else { return Ok(None) };
    Ok(reader.read_document(other.config)?.map(|source| source.to_vec()))
}

/// Whether two files are in one folder.
pub fn is_beside(one: &Path, other: &Path) -> bool {
    let folder = |path: &Path| {
        let folder = path.parent().unwrap_or(Path::new("")).join(".");
        std::fs::canonicalize(folder).ok()
    };
    folder(one).is_some() && folder(one) == folder(other)
}
