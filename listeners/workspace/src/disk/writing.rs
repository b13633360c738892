//! Writing the files of a change set: all of them, or none.
//!
//! Changes come in. What will happen is in the journal before the first file changes, so a death at any moment is
//! either finished or taken back at the next start.

use std::collections::BTreeSet;
use std::io;

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;
use systole_folder::FolderRoot;

use super::journal::{ChangeJournal, ChangeRecord, ChangeStage, RecordedFile};
use super::swap::SwapPlace;
use super::undoing::roll_back;
use crate::fault::{self, ElementFault};
use crate::hash::hash_bytes;
use crate::order::ApplyOrder;
use crate::resolve::plan::OWN_NAMES;
use crate::resolve::realize::RealizedChange;

/// Permissions of new folders, before the process's mask.
const NEW_FOLDER: u32 = 0o777;

/// The record of what will happen.
pub(crate) fn build_record(
    root: &FolderRoot,
    order: &ApplyOrder,
    changes: &[RealizedChange],
) -> ChangeRecord {
    let file = |(number, change): (usize, &RealizedChange)| RecordedFile {
        path: change.path.clone(),
        before: change.before.as_deref().map(hash_bytes),
        after: change.after.as_deref().map(hash_bytes),
        mode: change.mode,
        beside: format!("{OWN_NAMES}{}-{number}", order.change),
    };
    let edited = (1..=order.elements.len()).map(|of| {
        let own: Vec<String> = order
            .edits
            .iter()
            .filter(|edit| edit.of == of)
            .map(|edit| match &edit.after {
                Some(after) => format!("{} {}, sha256 {after}", edit.kind(), edit.path),
                None => format!("{} {}", edit.kind(), edit.path),
            })
            .collect();
        (!own.is_empty()).then(|| own.join("\n"))
    });
    let mut folders = BTreeSet::new();
    for change in changes.iter().filter(|change| change.after.is_some()) {
        let mut path = change.path.as_str();
        while let Some((above, _)) = path.rsplit_once('/') {
            if root.open_folder(above).is_ok() || !folders.insert(above.to_owned()) {
                break;
            }
            path = above;
        }
    }
    ChangeRecord {
        change: order.change.clone(),
        order: order.hash(),
        is_dangerous: order.is_dangerous,
        elements: order.elements.clone(),
        edited: edited.collect(),
        files: changes.iter().enumerate().map(file).collect(),
        // In this order a folder comes before those in it.
        folders: folders.into_iter().collect(),
    }
}

/// Writes all files, or none. Returns what could not be cleaned up.
pub(crate) fn write_all(
    root: &FolderRoot,
    journal: &ChangeJournal,
    record: &ChangeRecord,
    changes: &[RealizedChange],
) -> Result<Option<String>, ElementFault> {
    let failed = |error: io::Error| {
        ElementFault::new(fault::NOT_WRITTEN, format!("the journal cannot be written: {error}"))
    };
    let before: Vec<Option<&[u8]>> = changes.iter().map(|change| change.before.as_deref()).collect();
    journal.begin_change(record, &before).map_err(failed)?;
    let mut done = 0;
    let put = prepare_files(root, record, changes)
        .and_then(|()| {
            journal.advance_stage(&record.change, ChangeStage::Open, ChangeStage::Writing).map_err(failed)
        })
        .and_then(|()| put_all(root, record, &mut done))
        .and_then(|()| {
            journal.advance_stage(&record.change, ChangeStage::Writing, ChangeStage::Closing).map_err(failed)
        });
    if let Err(fault) = put {
        return Err(match settle_change(root, journal, record, Some(done)).map_err(failed)? {
            None => fault,
            Some(left) => ElementFault::new(fault.code, format!("{}. {left}", fault.message)),
        });
    }
    // The files are written. What is beside them is removed at the next start, if not now.
    let finished = finish_change(root, journal, record);
    Ok(finished
        .err()
        .map(|error| format!("the edits stand, but files that begin with {OWN_NAMES} are left: {error}")))
}

/// Takes a change set back, and notes it. Only the first `done` files were changed, if that is known. Returns what
/// could not be taken back.
pub(crate) fn settle_change(
    root: &FolderRoot,
    journal: &ChangeJournal,
    record: &ChangeRecord,
    done: Option<usize>,
) -> io::Result<Option<String>> {
    let from = journal.find_change(&record.change)?.map_or(ChangeStage::Open, |(stage, _)| stage);
    let done = if from == ChangeStage::Open { Some(0) } else { done };
    let left = roll_back(root, journal, record, done)?;
    let (words, stage) = match left.as_slice() {
        [] => (None, ChangeStage::RolledBack),
        left => {
            let words = left.join("\n");
            journal.put_report(&record.change, &words)?;
            (Some(words), ChangeStage::Left)
        }
    };
    journal.advance_stage(&record.change, from, stage)?;
    Ok(words)
}

/// Removes what files held before from beside them, and notes that the change set is complete.
pub(crate) fn finish_change(
    root: &FolderRoot,
    journal: &ChangeJournal,
    record: &ChangeRecord,
) -> io::Result<()> {
    for file in &record.files {
        match SwapPlace::open(root, &file.path) {
            Ok(place) => place.remove_file(&file.beside)?,
            // A command or a person may have removed the folder by now.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    journal.advance_stage(&record.change, ChangeStage::Closing, ChangeStage::Complete)
}

/// Makes folders, and writes all new content beside its places.
fn prepare_files(
    root: &FolderRoot,
    record: &ChangeRecord,
    changes: &[RealizedChange],
) -> Result<(), ElementFault> {
    for folder in &record.folders {
        let place =
            SwapPlace::open(root, folder).map_err(|error| report_not_written(folder, error.into()))?;
        match mkdirat(&place.folder, place.name, Mode::from_raw_mode(NEW_FOLDER)) {
            Ok(()) => place.sync_folder().map_err(|error| report_not_written(folder, error.into()))?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(report_not_written(folder, error.into())),
        }
    }
    for (file, change) in record.files.iter().zip(changes) {
        if let Some(bytes) = &change.after {
            let place = SwapPlace::open(root, &file.path)
                .map_err(|error| report_not_written(&file.path, error.into()))?;
            let written = place.write_beside(&file.beside, bytes, file.mode, file.before.is_none());
            written.map_err(|error| report_not_written(&file.path, error))?;
        }
    }
    Ok(())
}

/// Puts all new content into its places, and counts them.
fn put_all(root: &FolderRoot, record: &ChangeRecord, done: &mut usize) -> Result<(), ElementFault> {
    for file in &record.files {
        let put = || {
            let place = SwapPlace::open(root, &file.path)?;
            let is_done = match (&file.before, &file.after) {
                (Some(before), None) => place.take_file(&file.beside, before)?,
                (before, after) => {
                    place.put_file(&file.beside, before.as_deref(), after.as_deref().unwrap_or_default())?
                }
            };
            place.sync_folder().map(|()| is_done)
        };
        match put() {
            Ok(true) => *done += 1,
            Ok(false) => {
                let message = format!("'{}' changed while the change set was written", file.path);
                return Err(ElementFault::new(fault::CHANGED, message));
            }
            Err(error) => return Err(report_not_written(&file.path, error.into())),
        }
    }
    Ok(())
}

fn report_not_written(path: &str, error: io::Error) -> ElementFault {
    ElementFault::new(fault::NOT_WRITTEN, format!("'{path}' cannot be written: {error}"))
}
