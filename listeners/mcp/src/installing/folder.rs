//! The folder of an installed server: a new one is made beside it, and takes its place as a whole.
//!
//! A new folder that never took its place is removed, at the latest by the next installation.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::fault::InstallFault;
use crate::package::{RECORD, SERVERS, install_folder};
use crate::servers_folder::make_servers_folder;

/// A new folder that is not in its place yet.
pub struct NewFolder {
    /// Its path from the organism's folder.
    pub name: String,
    /// Its path without links: npm takes a folder that a link leads to for another one.
    pub(super) path: PathBuf,
    target: PathBuf,
    /// Held as long as the folder is filled.
    _lock: File,
}

impl NewFolder {
    /// Makes an empty folder for a server.
    pub(super) fn make(directory: &Path, listener: &str) -> Result<NewFolder, InstallFault> {
        let unwritten = |path: &Path| {
            let path = path.to_owned();
            move |error: std::io::Error| InstallFault::from_write_error(&path, error)
        };
        let servers = make_servers_folder(directory)
            .map_err(|(path, error)| InstallFault::from_write_error(&path, error))?;
        let lock_path = servers.join(format!(".{listener}.lock"));
        let lock = File::create(&lock_path).map_err(unwritten(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let words = format!("another process installs {listener} right now");
                return Err(InstallFault::new_unavailable(words, "run it again when that process has ended"));
            }
            Err(TryLockError::Error(error)) => {
                return Err(InstallFault::from_write_error(&lock_path, error));
            }
        }
        remove_left_over(&servers, listener);
        let target = directory.join(install_folder(listener));
        restore_old(&target, &name_old_folder(&target)).map_err(unwritten(&target))?;
        // What a killed installation started may still write for a moment, so each has a name of its own.
        let name = format!("{SERVERS}/.{listener}.new-{}", std::process::id());
        let path = directory.join(&name);
        remove_path(&path).map_err(unwritten(&path))?;
        fs::create_dir(&path).map_err(unwritten(&path))?;
        let whole = fs::canonicalize(&path).map_err(unwritten(&path))?;
        Ok(NewFolder { name, path: whole, target, _lock: lock })
    }

    /// Writes a file into it.
    pub(super) fn write_file(&self, name: &str, text: &str) -> Result<(), InstallFault> {
        let path = self.path.join(name);
        fs::write(&path, text).map_err(|error| InstallFault::from_write_error(&path, error))
    }

    /// Removes a folder in it.
    pub(super) fn remove_folder(&self, name: &str) -> Result<(), InstallFault> {
        let path = self.path.join(name);
        remove_path(&path).map_err(|error| InstallFault::from_write_error(&path, error))
    }

    /// Says what was installed: then it is whole.
    pub(super) fn finish_record(&self, record: &str) -> Result<(), InstallFault> {
        self.write_file(RECORD, record)
    }

    /// Takes the place of the server's folder, in one step. What was there before is removed.
    ///
    /// # Errors
    /// If the folder cannot be moved there.
    pub fn into_place(self) -> Result<(), InstallFault> {
        let unwritten = |error: std::io::Error| InstallFault::from_write_error(&self.target, error);
        if !self.target.exists() {
            return fs::rename(&self.path, &self.target).map_err(unwritten);
        }
        if renameat_with(CWD, &self.path, CWD, &self.target, RenameFlags::EXCHANGE).is_ok() {
            // The old folder has the name of the new one now, and goes with the drop.
            return Ok(());
        }
        // This file system cannot exchange two folders.
        replace_folder(&self.path, &self.target).map_err(unwritten)
    }
}

/// The name that a server's folder has while another one takes its place in two steps.
fn name_old_folder(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.old"))
}

/// Puts a new folder in the place of another one in two steps. If the second fails, the other one comes back.
fn replace_folder(new: &Path, target: &Path) -> std::io::Result<()> {
    let old = name_old_folder(target);
    remove_path(&old)?;
    fs::rename(target, &old)?;
    fs::rename(new, target).or_else(|error| restore_old(target, &old).and(Err(error)))?;
    remove_path(&old)
}

/// Brings an old folder back if nothing took its place: a process was killed, or failed, between two steps.
fn restore_old(target: &Path, old: &Path) -> std::io::Result<()> {
    match target.exists() {
        true => remove_path(old),
        false if old.exists() => fs::rename(old, target),
        false => Ok(()),
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // What cannot be removed is removed by the next installation, or reported there.
        let _stays = remove_path(&self.path);
    }
}

/// Removes what killed installations of a server left behind.
fn remove_left_over(servers: &Path, listener: &str) {
    let begin = format!(".{listener}.new-");
    let is_left = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&begin))
    };
    for path in
        fs::read_dir(servers).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_left)
    {
        // What cannot be removed, as it is still written, is removed by the next installation.
        let _stays = remove_path(&path);
    }
}

fn remove_path(path: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &Path, text: &str) {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("text"), text).unwrap();
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path.join("text")).unwrap()
    }

    #[test]
    fn g9_a_new_folder_replaces_the_old_one_or_the_old_one_comes_back() {
        let place = tempfile::tempdir().unwrap();
        let (new, target) = (place.path().join("new"), place.path().join("served"));
        folder(&target, "old");
        assert!(replace_folder(&new, &target).is_err(), "there is no new one");
        assert_eq!(text(&target), "old");
        folder(&new, "new");
        // What an earlier process left is not in the way.
        folder(&name_old_folder(&target), "older");
        replace_folder(&new, &target).unwrap();
        assert_eq!(text(&target), "new");
        assert!(!new.exists() && !name_old_folder(&target).exists());
    }

    #[test]
    fn g9_what_killed_installations_left_is_removed_or_restored() {
        let place = tempfile::tempdir().unwrap();
        let servers = place.path().join(SERVERS);
        let (left, foreign) = (servers.join(".served.new-1"), servers.join(".other.new-1"));
        let (target, old) = (servers.join("served"), servers.join(".served.old"));
        for path in [&left, &foreign, &old] {
            folder(path, "old");
        }
        drop(NewFolder::make(place.path(), "served").unwrap());
        assert!(!left.exists() && foreign.exists() && !old.exists());
        assert_eq!(text(&target), "old");
        folder(&old, "older");
        drop(NewFolder::make(place.path(), "served").unwrap());
        assert!(!old.exists());
        assert_eq!(text(&target), "old");
    }

    #[test]
    fn g9_two_processes_do_not_install_the_same_server_at_once() {
        let place = tempfile::tempdir().unwrap();
        let first = NewFolder::make(place.path(), "served").unwrap();
        let second = NewFolder::make(place.path(), "served").map(|_| ()).unwrap_err();
        assert_eq!(second.to_string(), "another process installs served right now");
        assert!(first.path.is_dir(), "the folder of the first stays");
        NewFolder::make(place.path(), "other").unwrap();
        drop(first);
        NewFolder::make(place.path(), "served").unwrap();
    }
}
