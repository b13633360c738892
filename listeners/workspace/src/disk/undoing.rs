//! Taking back the files of a change set that did not come to its end.
//!
//! A record comes in. A file is taken back only if it holds what the change set wrote; one that holds anything else is
//! left as it is and reported.

use std::io;

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;
use systole_folder::FolderRoot;

use super::journal::{ChangeJournal, ChangeRecord, RecordedFile};
use super::swap::SwapPlace;

/// Takes all files back. Only the first `done` were changed, if that is known. Returns what was left, each with the
/// reason.
pub(crate) fn roll_back(
    root: &FolderRoot,
    journal: &ChangeJournal,
    record: &ChangeRecord,
    done: Option<usize>,
) -> io::Result<Vec<String>> {
    let mut left = Vec::new();
    for (number, file) in record.files.iter().enumerate().rev() {
        let kept = journal.backup_path(&record.change, number);
        let place = match SwapPlace::open(root, &file.path) {
            // A folder that was never made holds nothing that was written.
            Err(Errno::NOENT) if file.before.is_none() => continue,
            Err(_) if done.is_some_and(|done| number >= done) => continue,
            Err(error) => {
                left.push(describe_left(file, &kept, &io::Error::from(error).to_string()));
                continue;
            }
            Ok(place) => place,
        };
        if done.is_some_and(|done| number >= done) {
            place.remove_file(&file.beside)?;
            continue;
        }
        match take_back(&place, file, &kept) {
            Ok(true) => {}
            Ok(false) => left.push(describe_left(file, &kept, "it was changed by someone else")),
            Err(error) => left.push(describe_left(file, &kept, &error.to_string())),
        }
    }
    for folder in record.folders.iter().rev() {
        let Ok(place) = SwapPlace::open(root, folder) else { continue };
        match unlinkat(&place.folder, place.name, AtFlags::REMOVEDIR) {
            // A folder that others use by now stays.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(left)
}

fn describe_left(file: &RecordedFile, kept: &std::path::Path, why: &str) -> String {
    let held = match file.before {
        Some(_) => format!("what it held before is in {}", kept.display()),
        None => "it was not there before".to_owned(),
    };
    format!("'{}' could not be taken back: {why}; {held}", file.path)
}

/// Whether the file holds again what it held before.
fn take_back(place: &SwapPlace<'_>, file: &RecordedFile, kept: &std::path::Path) -> io::Result<bool> {
    let (before, after) = (file.before.as_deref(), file.after.as_deref());
    let now = place.hash_file(place.name)?;
    if now.as_deref() == before {
        place.remove_file(&file.beside)?;
    } else if now.as_deref() != after {
        // If the new content is still beside the place, the file never changed here.
        let beside = place.hash_file(&file.beside)?;
        let is_untouched = beside.is_some() && beside.as_deref() == after;
        if is_untouched || beside.as_deref() == before {
            place.remove_file(&file.beside)?;
        }
        return Ok(is_untouched);
    } else if before.is_none() {
        place.remove_file(place.name)?;
    } else {
        // What was taken out of the place is beside it, unless the file system cannot exchange names.
        if place.hash_file(&file.beside)?.is_none() {
            place.write_beside(&file.beside, &std::fs::read(kept)?, file.mode, false)?;
        }
        match after {
            Some(_) => place.replace_file(&file.beside)?,
            None => place.rename_file(&file.beside, place.name)?,
        }
    }
    place.sync_folder()?;
    Ok(true)
}
