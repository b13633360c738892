//! The folder of an installed server: a new one is made beside it, and takes its place as a whole.
//!
//! A new folder that never took its place is removed, at the latest by the next installation.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::fault::NotInstalled;
use crate::config::{RECORD, SERVERS, install_folder};

/// A new folder that is not in its place yet.
pub(in crate::cli::mcp) struct NewFolder {
    /// Its path from the organism's folder.
    pub(in crate::cli::mcp) name: String,
    /// Its path without links: npm takes a folder that a link leads to for another one.
    pub(super) path: PathBuf,
    target: PathBuf,
    /// Held as long as the folder is filled.
    _lock: File,
}

impl NewFolder {
    /// Makes an empty folder for a server.
    pub(super) fn make(directory: &Path, listener: &str) -> Result<NewFolder, NotInstalled> {
        let servers = directory.join(SERVERS);
        let unwritten = |path: &Path| {
            let path = path.to_owned();
            move |error: std::io::Error| NotInstalled::unwritten(&path, &error)
        };
        fs::create_dir_all(&servers).map_err(unwritten(&servers))?;
        if let Some(ignored) = servers.parent().map(|above| above.join(".gitignore"))
            && !ignored.exists()
        {
            fs::write(&ignored, "*\n").map_err(unwritten(&ignored))?;
        }
        let lock_path = servers.join(format!(".{listener}.lock"));
        let lock = File::create(&lock_path).map_err(unwritten(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let words = format!("another process installs {listener} right now");
                return Err(NotInstalled::unavailable(words, "run it again when that process has ended"));
            }
            Err(TryLockError::Error(error)) => return Err(NotInstalled::unwritten(&lock_path, &error)),
        }
        remove_left_over(&servers, listener);
        // What a killed installation started may still write for a moment, so each has a name of its own.
        let name = format!("{SERVERS}/.{listener}.new-{}", std::process::id());
        let path = directory.join(&name);
        removed(&path).map_err(unwritten(&path))?;
        fs::create_dir(&path).map_err(unwritten(&path))?;
        let whole = fs::canonicalize(&path).map_err(unwritten(&path))?;
        Ok(NewFolder { name, path: whole, target: directory.join(install_folder(listener)), _lock: lock })
    }

    /// Writes a file into it.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), NotInstalled> {
        let path = self.path.join(name);
        fs::write(&path, text).map_err(|error| NotInstalled::unwritten(&path, &error))
    }

    /// Removes a folder in it.
    pub(super) fn remove(&self, name: &str) -> Result<(), NotInstalled> {
        let path = self.path.join(name);
        removed(&path).map_err(|error| NotInstalled::unwritten(&path, &error))
    }

    /// Says what was installed: then it is whole.
    pub(super) fn finish(&self, record: &str) -> Result<(), NotInstalled> {
        self.write(RECORD, record)
    }

    /// Takes the place of the server's folder, in one step. What was there before is removed.
    pub(in crate::cli::mcp) fn into_place(self) -> Result<(), NotInstalled> {
        let unwritten = |error: std::io::Error| NotInstalled::unwritten(&self.target, &error);
        if !self.target.exists() {
            return fs::rename(&self.path, &self.target).map_err(unwritten);
        }
        if renameat_with(CWD, &self.path, CWD, &self.target, RenameFlags::EXCHANGE).is_ok() {
            // The old folder has the name of the new one now, and goes with the drop.
            return Ok(());
        }
        // This file system cannot exchange two folders.
        let old = self.path.with_extension("old");
        removed(&old).and_then(|()| fs::rename(&self.target, &old)).map_err(unwritten)?;
        fs::rename(&self.path, &self.target).map_err(unwritten)?;
        removed(&old).map_err(unwritten)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // What cannot be removed is removed by the next installation, or reported there.
        let _stays = removed(&self.path);
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
        let _stays = removed(&path);
    }
}

fn removed(path: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
