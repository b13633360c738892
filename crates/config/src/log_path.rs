//! Checks whether a log can be stored at its path.
//!
//! Input: the path from the file. Output: a mistake if something else is at that path. Whether a file
//! there is a log of this version is checked when it is opened; a missing file is created then. This module looks at
//! the path and opens nothing.

use std::fs;
use std::path::Path;

use super::diagnostic::Diagnostic;
use super::diagnostics::{Diagnostics, about_file};
use super::file_sections::Declared;
use super::schemas::Collected;
use systole_core::types::codes::Code;

/// Reports an obstacle at the log's path.
pub(super) fn check(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    collected: &Collected,
    file: &Path,
    directory: &Path,
) {
    let log = declared.log();
    let Some((why, fix)) = hindrance(&directory.join(log), collected, file, directory) else { return };
    let message = format!("log.path: `{log}` is {why}");
    match declared.keys.log.path.at {
        Some(at) => diagnostics.report_value(at, &message, &fix),
        // The file names no path, so this is the default path.
        None => {
            let fix = format!("log: {{path: {fix}}}");
            let message = about_file(&file.display().to_string(), Code::ConfigValue, &message, Some(&fix));
            diagnostics.tell_at(0, message);
        }
    }
}

/// The mistake if the folder that the file names for the log is missing. Only what opens the log needs the folder, and a log
/// named on the command line replaces this one, so it is no mistake for every command.
pub(super) fn missing_folder(
    diagnostics: &Diagnostics,
    declared: &Declared,
    directory: &Path,
) -> Option<Diagnostic> {
    let (log, at) = (declared.log(), declared.keys.log.path.at?);
    let path = directory.join(log);
    let folder = path.parent().filter(|folder| !folder.is_dir())?;
    let message = format!("log.path: the folder of `{log}` is missing");
    let fix = format!("mkdir -p {}, or another path", folder.display());
    Some(Diagnostic::new(Code::ConfigValue, diagnostics.place(at), &message, Some(&fix)))
}

/// The obstacle as text, with a path that would work.
fn hindrance(log: &Path, collected: &Collected, file: &Path, directory: &Path) -> Option<(String, String)> {
    let found = fs::metadata(log).ok()?;
    let free = || "a path where there is nothing else, as ./organism.db".to_owned();
    if found.is_dir() {
        let inside = log
            .file_name()
            .map_or_else(|| "./log.db".into(), |name| format!("./{}.db", name.to_string_lossy()));
        let shown = Some(inside).filter(|inside| fs::symlink_metadata(directory.join(inside)).is_err());
        return Some(("a folder, and the log is a file".to_owned(), shown.unwrap_or_else(free)));
    }
    if !found.is_file() {
        return Some(("a pipe, a socket or a device, and the log is a file".to_owned(), free()));
    }
    let is = |other: &Path| same(log, other);
    if is(file) {
        return Some(("the organism's file itself".to_owned(), free()));
    }
    // Built-in schemas and the one made from payloads are in no folder.
    let mut schemas = collected.schemas.iter().skip(2).filter(|schema| !schema.name.ends_with('/'));
    let schema = schemas.find(|schema| is(&directory.join(&schema.name)))?;
    Some((format!("the schema {}", schema.name), free()))
}

/// Whether two paths lead to the same file.
fn same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| fs::canonicalize(path).ok();
    whole(one).is_some_and(|one| whole(other) == Some(one))
}
