//! The copies of folders in which the workspaces of a test work, so that their edits and commands change no file of the
//! organism.
//!
//! Input: a composition. Output: the same composition, whose workspaces and listeners of code work in fresh copies of
//! their folders, and a value that removes the copies.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::runfile::draw_hex;
use systole_config::{FolderUse, find_work_folder, work_on_copy};
use systole_core::types::composition::{Composition, Reach};
use systole_system::folder_copying::{CopyBudget, remove_copy};
use systole_system::system::describe_error;

/// The copies of one test. Dropping the value removes them.
#[derive(Debug)]
pub struct FolderCopies {
    /// The folder that holds them. `None` if the test needs none.
    folder: Option<PathBuf>,
}

/// A folder that is copied.
struct CopiedFolder {
    from: PathBuf,
    to: PathBuf,
}

impl FolderCopies {
    /// Copies the folder of each workspace, and lets its listeners work there. A listener of code whose folder overlaps
    /// with it sees the same copy.
    pub fn make(composition: &mut Composition) -> Result<FolderCopies, String> {
        let roots = find_outermost(composition)?;
        if roots.is_empty() {
            return Ok(FolderCopies { folder: None });
        }
        let folder = new_folder()?;
        // From here on a failure removes what was copied.
        let copies = FolderCopies { folder: Some(folder.clone()) };
        let (mut budget, mut copied) = (CopyBudget::default(), Vec::new());
        for (number, from) in roots.into_iter().enumerate() {
            if folder.starts_with(&from) {
                let (temporary, from) = (folder.display(), from.display());
                return Err(format!(
                    "{from} cannot be copied for the test to {temporary}, which is in it: set TMPDIR to a folder outside"
                ));
            }
            let above = folder.join(number.to_string());
            fs::create_dir(&above)
                .map_err(|error| format!("{}: {}", above.display(), describe_error(&error)))?;
            let to = above.join(from.file_name().unwrap_or_default());
            budget.copy_folder(&from, &to)?;
            copied.push(CopiedFolder { from, to });
        }
        let place = |path: &Path| {
            let path = path.canonicalize().ok()?;
            let found = copied.iter().find_map(|one| Some((one, path.strip_prefix(&one.from).ok()?)));
            // Without a slash at the end.
            found.map(|(one, rest)| one.to.join(rest).components().collect())
        };
        for (name, listener) in &mut composition.listeners {
            let works_on_folder = find_work_folder(listener).is_some();
            if let (true, Reach::Process(program)) = (works_on_folder, &mut listener.reach) {
                work_on_copy(program, &place, &folder.join("state").join(name.as_str()))?;
            }
        }
        Ok(copies)
    }

    /// Removes the copies, or reports why they stay.
    pub fn remove(mut self) -> Result<(), String> {
        let Some(folder) = self.folder.take() else { return Ok(()) };
        remove_copy(&folder).map_err(|error| {
            format!("the copy {} cannot be removed: {}", folder.display(), describe_error(&error))
        })
    }
}

impl Drop for FolderCopies {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // The test did not start, or a signal ended it. What cannot be removed stays in the folder for temporary
            // files.
            let _stays = remove_copy(folder);
        }
    }
}

/// The folders to copy, none of which is in another: those of workspaces, and those of listeners of code that overlap
/// with them.
fn find_outermost(composition: &Composition) -> Result<Vec<PathBuf>, String> {
    let (mut changed, mut read) = (Vec::new(), Vec::new());
    for listener in composition.listeners.values() {
        let (Some((_, root, usage)), Reach::Process(program)) = (find_work_folder(listener), &listener.reach)
        else {
            continue;
        };
        let path = program.directory.join(root);
        let path =
            path.canonicalize().map_err(|error| format!("{}: {}", path.display(), describe_error(&error)))?;
        match usage {
            FolderUse::Changes => changed.push(path),
            FolderUse::Searches => read.push(path),
        }
    }
    let overlaps = |path: &PathBuf| changed.iter().any(|one| one.starts_with(path) || path.starts_with(one));
    read.retain(overlaps);
    changed.append(&mut read);
    // A folder sorts before what is in it.
    changed.sort();
    let mut outermost: Vec<PathBuf> = Vec::new();
    for path in changed {
        if !outermost.iter().any(|one| path.starts_with(one)) {
            outermost.push(path);
        }
    }
    Ok(outermost)
}

/// A new folder for temporary files that only this user may enter.
fn new_folder() -> Result<PathBuf, String> {
    let above = std::env::temp_dir();
    let made = || {
        let folder = above.canonicalize()?.join(format!("systole-test-{}", draw_hex()?));
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(folder)
    };
    made().map_err(|error: std::io::Error| {
        format!(
            "the test needs a copy of a folder, and none can be made in {}: {}: set TMPDIR to a folder that you can write",
            above.display(),
            describe_error(&error)
        )
    })
}
