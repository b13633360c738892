//! The folders that the listeners of an organism work on.

use std::path::PathBuf;

use systole_config::{FolderUse, find_work_folder};

use systole_core::types::composition::{Composition, Reach};
use systole_core::types::ids::Name;

/// The folder of a listener.
pub struct WorkFolder {
    /// The listener.
    pub listener: Name,
    /// Its kind: `workspace`, or another built-in one.
    pub kind: &'static str,
    /// The folder.
    pub root: PathBuf,
    /// Whether the listener changes its files.
    pub is_changed: bool,
}

/// The folders of all listeners that have one, those that are changed first.
pub fn list_work_folders(organism: &Composition) -> Vec<WorkFolder> {
    let folders = organism.listeners.values().filter_map(|listener| {
        let Reach::Process(program) = &listener.reach else { return None };
        let (kind, root, usage) = find_work_folder(listener)?;
        let root = program.directory.join(root);
        // A folder that is gone is still named.
        let root = std::fs::canonicalize(&root).unwrap_or(root);
        Some(WorkFolder {
            listener: listener.name.clone(),
            kind,
            root,
            is_changed: usage == FolderUse::Changes,
        })
    });
    let (changed, searched): (Vec<_>, Vec<_>) = folders.partition(|folder| folder.is_changed);
    changed.into_iter().chain(searched).collect()
}
