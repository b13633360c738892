//! Copies folders within bounds, and removes copies.
//!
//! Links are copied as links and never followed. Pipes, sockets and devices are left out. Permissions stay, and the times
//! of files, so that tools which compare times find nothing new.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat, openat2, readlinkat, statat,
};
use rustix::io::Errno;

use crate::system::describe_error;

use crate::limits;

/// Most that the copies of one test may hold.
const MOST_BYTES: (u64, &str) = (256 << 20, "256 MiB");
const MOST_ENTRIES: (usize, &str) = (20_000, "20,000 files and folders");
/// A fix that helps with every folder.
const FIX: &str =
    "give the workspace an answer under `stand_ins`, or `set` it to a smaller folder for the test";

/// How much more may be copied.
pub struct CopyBudget {
    bytes: u64,
    entries: usize,
}

impl Default for CopyBudget {
    fn default() -> CopyBudget {
        CopyBudget { bytes: MOST_BYTES.0, entries: MOST_ENTRIES.0 }
    }
}

/// Why a folder cannot be copied.
#[derive(Debug)]
enum CopyFault {
    /// It is larger than the bound with these words.
    TooLarge(&'static str),
    /// The operating system's error at a path.
    Path(PathBuf, io::Error),
}

impl CopyBudget {
    /// Copies a folder with everything below it.
    pub fn copy_folder(&mut self, from: &Path, to: &Path) -> Result<(), String> {
        self.copy_all(from, to).map_err(|why| {
            let from = from.display();
            match why {
                CopyFault::TooLarge(most) => {
                    format!("{from} has more than {most}, the most that a test copies: {FIX}")
                }
                CopyFault::Path(path, error) => {
                    let (path, error) = (path.display(), describe_error(&error));
                    format!("{from} cannot be copied for the test: {path}: {error}: {FIX}")
                }
            }
        })
    }

    fn copy_all(&mut self, from: &Path, to: &Path) -> Result<(), CopyFault> {
        let folder = open(from, FOLDER, Mode::empty()).map_err(|error| build_fault(from, error))?;
        let mut copy = FolderCopy { from, to, folder, waiting: vec![PathBuf::new()], made: Vec::new() };
        while let Some(below) = copy.waiting.pop() {
            copy.copy_level(&below, self)?;
        }
        // A read-only folder has to be filled first.
        for (folder, permissions) in copy.made.into_iter().rev() {
            fs::set_permissions(&folder, permissions).map_err(|error| CopyFault::Path(folder, error))?;
        }
        Ok(())
    }

    fn copy_file(&mut self, (file, from): (File, &Path), to: &Path) -> Result<(), CopyFault> {
        let at = |error| CopyFault::Path(from.to_owned(), error);
        let too_large = || CopyFault::TooLarge(MOST_BYTES.1);
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

/// How a folder is opened. A link that took its name since is not followed.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How a file is opened. A pipe that took its name since is not waited for.
const FILE: OFlags = OFlags::NONBLOCK.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn build_fault(path: &Path, error: Errno) -> CopyFault {
    CopyFault::Path(path.to_owned(), error.into())
}

/// A folder that is being copied. Everything is opened below the open folder, so that no other program can lead the
/// copy elsewhere with a link.
struct FolderCopy<'c> {
    from: &'c Path,
    to: &'c Path,
    folder: OwnedFd,
    /// The folders below it that are not copied yet.
    waiting: Vec<PathBuf>,
    /// The copied folders, and the permissions that they get at the end.
    made: Vec<(PathBuf, Permissions)>,
}

impl FolderCopy<'_> {
    /// Copies what is in a folder, and leaves the folders in it to later calls.
    fn copy_level(&mut self, below: &Path, budget: &mut CopyBudget) -> Result<(), CopyFault> {
        // Without a slash at the end.
        let (from, to): (PathBuf, PathBuf) =
            (self.from.join(below).components().collect(), self.to.join(below).components().collect());
        let at = |error| build_fault(&from, error);
        let name = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let folder = openat2(&self.folder, name, FOLDER, Mode::empty(), resolve).map_err(at)?;
        DirBuilder::new().mode(0o700).create(&to).map_err(|error| CopyFault::Path(from.clone(), error))?;
        let mode = fstat(&folder).map_err(at)?.st_mode;
        self.made.push((to.clone(), Permissions::from_mode(mode & 0o7777)));
        for entry in Dir::read_from(&folder).map_err(at)? {
            let entry = entry.map_err(at)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let (path, to) = (from.join(name), to.join(name));
            let at = |error| build_fault(&path, error);
            budget.entries = budget.entries.checked_sub(1).ok_or(CopyFault::TooLarge(MOST_ENTRIES.1))?;
            let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(at)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => self.waiting.push(below.join(name)),
                FileType::Symlink => {
                    let target = readlinkat(&folder, name, Vec::new()).map_err(at)?;
                    symlink(OsStr::from_bytes(target.to_bytes()), &to)
                        .map_err(|error| CopyFault::Path(path.clone(), error))?;
                }
                FileType::RegularFile => {
                    let file = openat(&folder, name, FILE, Mode::empty()).map_err(at)?;
                    budget.copy_file((file.into(), &path), &to)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Removes a copy with everything in it.
pub fn remove_copy(folder: &Path) -> io::Result<()> {
    let mut last = Ok(());
    for _ in 0..limits::REMOVE_TRIES {
        last = fs::remove_dir_all(folder);
        match &last {
            Ok(()) => return last,
            Err(error) if error.kind() == ErrorKind::NotFound && !folder.exists() => return Ok(()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => make_writable(folder)?,
            Err(_) => std::thread::sleep(limits::REMOVE_PAUSE),
        }
    }
    last
}

/// Lets this user write in all folders of a copy.
fn make_writable(folder: &Path) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h10_a_link_that_took_the_name_of_a_folder_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(place.path().join("private/in")).unwrap();
        fs::create_dir(&from).unwrap();
        symlink("../private", from.join("link")).unwrap();
        let folder = open(&from, FOLDER, Mode::empty()).unwrap();
        let mut copy = FolderCopy { from: &from, to: &to, folder, waiting: Vec::new(), made: Vec::new() };
        let mut budget = CopyBudget::default();
        copy.copy_level(Path::new(""), &mut budget).unwrap();
        fs::remove_file(to.join("link")).unwrap();
        // They were folders when they were found.
        for below in ["link", "link/in", ".."] {
            let found = copy.copy_level(Path::new(below), &mut budget);
            assert!(matches!(found, Err(CopyFault::Path(..))), "{below}");
        }
        assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
    }
}
