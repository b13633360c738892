//! Copies folders within bounds, and removes copies.
//!
//! Links are copied as links and never followed. Pipes, sockets and devices are left out. Permissions and times stay, so
//! that tools which compare times find nothing new.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::edges::system::told;

/// Most that the copies of one test may hold.
const MOST_BYTES: (u64, &str) = (256 << 20, "256 MiB");
const MOST_ENTRIES: (usize, &str) = (20_000, "20,000 files and folders");
/// Attempts to remove a copy: a command that is being ended may still write there.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(20);
/// A fix that helps with every folder.
const FIX: &str =
    "give the workspace an answer under `stand_ins`, or `set` it to a smaller folder for the test";

/// How much more may be copied.
pub(super) struct CopyBudget {
    bytes: u64,
    entries: usize,
}

impl Default for CopyBudget {
    fn default() -> CopyBudget {
        CopyBudget { bytes: MOST_BYTES.0, entries: MOST_ENTRIES.0 }
    }
}

/// Why a folder cannot be copied.
enum Uncopied {
    /// It is larger than the bound with these words.
    TooLarge(&'static str),
    /// The operating system's error at a path.
    Path(PathBuf, io::Error),
}

impl CopyBudget {
    /// Copies a folder with everything below it.
    pub(super) fn copy(&mut self, from: &Path, to: &Path) -> Result<(), String> {
        self.copied(from, to).map_err(|why| {
            let from = from.display();
            match why {
                Uncopied::TooLarge(most) => {
                    format!("{from} has more than {most}, the most that a test copies: {FIX}")
                }
                Uncopied::Path(path, error) => {
                    let (path, error) = (path.display(), told(&error));
                    format!("{from} cannot be copied for the test: {path}: {error}: {FIX}")
                }
            }
        })
    }

    fn copied(&mut self, from: &Path, to: &Path) -> Result<(), Uncopied> {
        let (mut waiting, mut made) = (vec![(from.to_owned(), to.to_owned())], Vec::new());
        while let Some((from, to)) = waiting.pop() {
            let at = |error| Uncopied::Path(from.clone(), error);
            DirBuilder::new().mode(0o700).create(&to).map_err(at)?;
            made.push((to.clone(), fs::metadata(&from).map_err(at)?.permissions()));
            for entry in fs::read_dir(&from).map_err(at)? {
                let entry = entry.map_err(at)?;
                let (path, to) = (entry.path(), to.join(entry.file_name()));
                let at = |error| Uncopied::Path(path.clone(), error);
                self.entries = self.entries.checked_sub(1).ok_or(Uncopied::TooLarge(MOST_ENTRIES.1))?;
                let kind = entry.file_type().map_err(at)?;
                if kind.is_dir() {
                    waiting.push((path, to));
                } else if kind.is_symlink() {
                    symlink(fs::read_link(&path).map_err(at)?, &to).map_err(at)?;
                } else if kind.is_file() {
                    self.file(&path, &to)?;
                }
            }
        }
        // A read-only folder has to be filled first.
        for (folder, permissions) in made.into_iter().rev() {
            fs::set_permissions(&folder, permissions).map_err(|error| Uncopied::Path(folder, error))?;
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<(), Uncopied> {
        let at = |error| Uncopied::Path(from.to_owned(), error);
        let too_large = || Uncopied::TooLarge(MOST_BYTES.1);
        // A pipe that took the name since is not waited for, and a link is not followed.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(from).map_err(at)?;
        let metadata = file.metadata().map_err(at)?;
        if !metadata.is_file() {
            return Ok(());
        }
        if metadata.len() > self.bytes {
            return Err(too_large());
        }
        let mut copy = File::create_new(to).map_err(at)?;
        // Another program may append to it now.
        let length = io::copy(&mut file.take(self.bytes + 1), &mut copy).map_err(at)?;
        self.bytes = self.bytes.checked_sub(length).ok_or_else(too_large)?;
        let mode = Permissions::from_mode(metadata.permissions().mode() & 0o777);
        let time = metadata.modified().map_err(at)?;
        copy.set_modified(time).and_then(|()| copy.set_permissions(mode)).map_err(at)
    }
}

/// Removes a copy with everything in it.
pub(super) fn removed(folder: &Path) -> io::Result<()> {
    let mut last = Ok(());
    for _ in 0..TRIES {
        last = fs::remove_dir_all(folder);
        match &last {
            Ok(()) => return last,
            Err(error) if error.kind() == ErrorKind::NotFound && !folder.exists() => return Ok(()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => last = opened(folder),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
    last
}

/// Lets this user write in all folders of a copy.
fn opened(folder: &Path) -> io::Result<()> {
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    Ok(())
}
