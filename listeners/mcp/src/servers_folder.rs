//! The folder for what is installed or kept of servers. Version control leaves it out.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::package::SERVERS;

/// Makes the folder, if it is not there, below the organism's folder.
///
/// # Errors
/// If it cannot be made: with its path.
pub(crate) fn make_servers_folder(directory: &Path) -> Result<PathBuf, (PathBuf, io::Error)> {
    let servers = directory.join(SERVERS);
    fs::create_dir_all(&servers).map_err(|error| (servers.clone(), error))?;
    if let Some(ignored) = servers.parent().map(|above| above.join(".gitignore"))
        && !ignored.exists()
    {
        fs::write(&ignored, "*\n").map_err(|error| (ignored, error))?;
    }
    Ok(servers)
}
