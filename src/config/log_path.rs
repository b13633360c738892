//! Where the log is to lie: whether a log could ever be there.
//!
//! In comes the path as the file has it, out goes a mistake to the desk where something lies there that no log can
//! take the place of. Whether a file is a log of ours, and one of this version, is for whoever opens it; a file that
//! is not there yet is made then. Looks, and never opens anything.

use std::fs;
use std::path::Path;

use super::declared::Declared;
use super::desk::{Desk, about_file};
use super::schemas::Collected;
use systole_core::types::codes::Code;

/// Tells of what lies where the log is to be.
pub(super) fn check(
    desk: &mut Desk,
    declared: &Declared,
    collected: &Collected,
    file: &Path,
    directory: &Path,
) {
    let log = declared.log.as_str();
    let Some((why, mend)) = hindrance(&directory.join(log), collected, file, directory) else { return };
    let told = format!("log.path: `{log}` is {why}");
    match declared.log_at {
        Some(at) => desk.tell(Code::ConfigValue, at, &told, Some(&mend)),
        // Nobody named it: it is where a log lies that nobody names.
        None => {
            let mend = format!("log: {{path: {mend}}}");
            let told = about_file(&file.display().to_string(), Code::ConfigValue, &told, Some(&mend));
            desk.tell_at(0, told);
        }
    }
}

/// What lies there, in words, with a path that would do.
fn hindrance(log: &Path, collected: &Collected, file: &Path, directory: &Path) -> Option<(String, String)> {
    let found = fs::metadata(log).ok()?;
    let free = || "a path where nothing else lies, as ./organism.db".to_owned();
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
    // Those of the house and what is made of payloads lie in no folder.
    let mut schemas = collected.schemas.iter().skip(2).filter(|schema| !schema.name.ends_with('/'));
    let schema = schemas.find(|schema| is(&directory.join(&schema.name)))?;
    Some((format!("the schema {}", schema.name), free()))
}

/// Whether two paths lead to one file.
fn same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| fs::canonicalize(path).ok();
    whole(one).is_some_and(|one| whole(other) == Some(one))
}
