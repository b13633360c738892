//! The folder for what is installed or kept of servers. Version control leaves it out.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::package::SERVERS;

/// Makes the folder, if it is not there, below the organism's folder.
///
/// # Errors
/// If it cannot be made: with its path.
pub(crate) fn make_servers_folder(directory: &Path) -> Result<PathBuf, (PathBuf, io::Error)> {
    let servers = directory.join(SERVERS);
    fs::create_dir_all(&servers).map_err(|error| (servers.clone(), error))?;
    if let Some(ignored) = servers.parent().map(|above| above.join(".gitignore")) {
        // Through no link: one that leads nowhere is no file either.
        let made = File::options().write(true).create_new(true).open(&ignored);
        let written = made.and_then(|mut file| file.write_all(b"*\n"));
        written.or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err((ignored, error)),
        })?;
    }
    Ok(servers)
}
