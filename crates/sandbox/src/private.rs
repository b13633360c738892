//! The folder that a program has for itself, where its HOME and its temporary files are.
//!
//! At level `full` it is in the sandbox's own memory, and ends with it. At level `landlock` it is a folder on disk
//! that only this user may enter, and that is removed when the value is dropped.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::limits;
use crate::policy::SandboxLevel;

/// A folder on disk for one start of a program. Dropping it removes it.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
}

impl PrivateFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What cannot be removed stays in the folder of temporary files, where the system cleans up.
        let _stays = fs::remove_dir_all(&self.path);
    }
}

/// The private folder that a start at this level needs on disk. `None` if it needs none.
///
/// # Errors
/// The operating system's error, if no folder can be made.
pub fn make_private_folder(level: SandboxLevel) -> io::Result<Option<PrivateFolder>> {
    if level == SandboxLevel::Full {
        return Ok(None);
    }
    let (mut last, id) = (io::Error::from(io::ErrorKind::AlreadyExists), std::process::id());
    for number in 0..limits::PRIVATE_NAMES {
        let path = std::env::temp_dir().join(make_name(id, number));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {
                let folder = PrivateFolder { path };
                for inner in ["home", "tmp"] {
                    DirBuilder::new().mode(0o700).create(folder.path.join(inner))?;
                }
                return Ok(Some(folder));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// A name that other starts of this process do not get either. Nothing depends on it being hard to guess: the folder
/// is made by us or the start fails.
fn make_name(id: u32, number: u32) -> OsString {
    use std::sync::atomic::{AtomicU64, Ordering};
    static STARTS: AtomicU64 = AtomicU64::new(0);
    format!("systole-sandbox-{id}-{}-{number}", STARTS.fetch_add(1, Ordering::Relaxed)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn it_is_ours_alone_and_goes_with_the_value() {
        assert!(make_private_folder(SandboxLevel::Full).unwrap().is_none());
        let folder = make_private_folder(SandboxLevel::Landlock).unwrap().unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(path.join("home").is_dir() && path.join("tmp").is_dir());
        drop(folder);
        assert!(!path.exists());
    }
}
