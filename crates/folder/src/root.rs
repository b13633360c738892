//! The one folder that is read, and nothing outside it.
//!
//! Paths from the root come in; folders and the bytes of regular files go out. The kernel resolves every path below
//! the open root (`openat2` with `RESOLVE_BENEATH`), so no link, no `..` and no change between a check and an open
//! leads outside.

use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2, readlinkat};
use rustix::io::Errno;

use crate::deny::DenyList;
use crate::limits;

/// The folder.
#[derive(Debug)]
pub struct FolderRoot {
    folder: OwnedFd,
    /// Its path without links, as the kernel says it.
    real: Option<PathBuf>,
    deny: DenyList,
}

/// Why a path cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PathFault {
    /// What is wrong with it.
    pub kind: PathFaultKind,
    /// The same in words, with the path.
    pub message: String,
}

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathFaultKind {
    /// There is no such file or folder.
    Missing,
    /// It leads outside the folder.
    Outside,
    /// It is on the deny list, or its permissions deny it.
    Denied,
    /// It is a link, and only a folder is possible.
    Link,
    /// It is larger than the limit.
    TooLarge,
    /// It is a folder, and only a file is possible.
    Folder,
    /// It is binary, a device, a pipe or a socket.
    NoText,
}

impl PathFault {
    fn new(kind: PathFaultKind, message: String) -> PathFault {
        PathFault { kind, message }
    }
}

/// A file below the root.
#[derive(Debug)]
pub struct FolderFile {
    /// Its path from the root.
    pub path: String,
    /// The same without links: where it really is below the root.
    pub real: String,
    /// Its permissions.
    pub mode: u32,
    /// Its device and its number there: two paths with one identity are one file.
    pub identity: (u64, u64),
    /// Its content.
    pub bytes: Vec<u8>,
}

impl FolderRoot {
    /// Opens the folder.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn open_root(path: &Path, deny: &DenyList) -> std::io::Result<FolderRoot> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        let real = read_real_path(&folder);
        Ok(FolderRoot { folder, real, deny: deny.clone() })
    }

    /// Whether a path from the root is on the deny list.
    #[must_use]
    pub fn does_deny(&self, path: &str) -> bool {
        self.deny.does_deny(path)
    }

    /// Opens a folder for listing. Links are not followed.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn open_folder(&self, path: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let path = if path.is_empty() { "." } else { path };
        self.resolve_path(path, flags, ResolveFlags::NO_SYMLINKS)
    }

    /// Reads a file that a walk found: no links, and no words about failures.
    #[must_use]
    pub fn read_found(&self, path: &str, most: usize) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.resolve_path(path, flags, ResolveFlags::NO_SYMLINKS).ok()?;
        let stat = fstat(&file).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || usize::try_from(stat.st_size).ok()? > most {
            return None;
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(most).ok()?.saturating_add(1);
        std::fs::File::from(file).take(limit).read_to_end(&mut bytes).ok()?;
        (bytes.len() <= most).then_some(bytes)
    }

    /// Reads a text file that a request names.
    ///
    /// # Errors
    /// If it is denied, outside, too large, no text, or cannot be read.
    pub fn read_file(&self, named: &str) -> Result<FolderFile, PathFault> {
        let path = self.check_plain(named)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let (file, real) = match self.resolve_path(&path, flags, ResolveFlags::NO_SYMLINKS) {
            Err(Errno::LOOP) => self.follow_link(named, &path, flags)?,
            other => (other.map_err(|error| explain_error(named, error))?, path.clone()),
        };
        let stat = fstat(&file).map_err(|error| explain_error(named, error))?;
        let no_text = |what: &str| {
            PathFault::new(PathFaultKind::NoText, format!("'{named}' is {what}, not a text file"))
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => {
                let message = format!("'{named}' is a folder, not a text file");
                return Err(PathFault::new(PathFaultKind::Folder, message));
            }
            _ => return Err(no_text("a device, a pipe or a socket")),
        }
        let mut bytes = Vec::new();
        let most = limits::FILE_BYTES;
        let read = std::fs::File::from(file).take(most as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| {
            PathFault::new(PathFaultKind::NoText, format!("'{named}' cannot be read: {error}"))
        })?;
        if bytes.len() > most {
            let message = format!("'{named}' has more than 1 MiB, the most that is read");
            return Err(PathFault::new(PathFaultKind::TooLarge, message));
        }
        if is_binary(&bytes) {
            return Err(no_text("binary"));
        }
        Ok(FolderFile { path, real, mode: stat.st_mode & 0o777, identity: (stat.st_dev, stat.st_ino), bytes })
    }

    /// Whether a folder of that name can be searched.
    ///
    /// # Errors
    /// If there is none, or it is a link, denied or outside.
    pub fn has_folder(&self, named: &str) -> Result<String, PathFault> {
        let path = self.check_plain(named)?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let found = self.resolve_path(&path, flags, ResolveFlags::NO_SYMLINKS);
        found.map(|_| path).map_err(|error| match error {
            Errno::LOOP => PathFault::new(PathFaultKind::Link, format!("the path '{named}' is a link")),
            error => explain_error(named, error),
        })
    }

    /// A path as it is written below the root: without `./`, not absolute, not denied.
    ///
    /// # Errors
    /// If it leaves the root or is denied.
    pub fn check_plain(&self, named: &str) -> Result<String, PathFault> {
        let outside = || {
            let message = format!("the path '{named}' is outside the folder that may be read");
            PathFault::new(PathFaultKind::Outside, message)
        };
        if named.starts_with('/') || named.contains('\0') {
            return Err(outside());
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in named.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or_else(outside)?;
                }
                part => parts.push(part),
            }
        }
        let path = parts.join("/");
        match path.as_str() {
            "" => Ok(".".to_owned()),
            path if self.does_deny(path) => Err(refuse_denied(named)),
            _ => Ok(path),
        }
    }

    /// A file behind a link that stays below the root. The file itself must not be denied either.
    fn follow_link(&self, named: &str, path: &str, flags: OFlags) -> Result<(OwnedFd, String), PathFault> {
        let file = self
            .resolve_path(path, flags, ResolveFlags::empty())
            .map_err(|error| explain_error(named, error))?;
        match self.find_below(&file) {
            Some(below) if !self.does_deny(&below) => Ok((file, below)),
            _ => Err(refuse_denied(named)),
        }
    }

    /// The path from the root of something open, without links. `None` if it is not there any more: the kernel then
    /// says a path that is no name of it.
    fn find_below(&self, open: &OwnedFd) -> Option<String> {
        let real = read_real_path(open)?;
        let below = real.strip_prefix(self.real.as_deref()?).ok()?.to_str()?;
        let named = if below.is_empty() { "." } else { below };
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let there = fstat(self.resolve_path(named, flags, ResolveFlags::NO_SYMLINKS).ok()?).ok()?;
        let own = fstat(open).ok()?;
        ((there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)).then(|| below.to_owned())
    }

    /// Where a file really is, or would be if it is not there yet: its path from the root without links. Links of
    /// folders are followed below the root.
    ///
    /// # Errors
    /// If the path leaves the root, is denied, or ends in a link that leads nowhere.
    pub fn find_place(&self, named: &str) -> Result<String, PathFault> {
        let path = self.check_plain(named)?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let mut at = path.as_str();
        let mut missing: Vec<&str> = Vec::new();
        let mut tries = 0;
        loop {
            match self.resolve_path(at, flags, ResolveFlags::empty()) {
                Ok(found) => {
                    let Some(real) = self.find_below(&found) else {
                        tries += 1;
                        if tries < limits::RENAME_TRIES {
                            continue;
                        }
                        let message = format!("'{named}' is replaced while it is looked at");
                        return Err(PathFault::new(PathFaultKind::Missing, message));
                    };
                    let whole = missing.iter().rev().fold(real, |above, name| join_names(&above, name));
                    return if self.does_deny(&whole) { Err(refuse_denied(named)) } else { Ok(whole) };
                }
                Err(Errno::NOENT) if at != "." => {
                    if self.resolve_path(at, flags | OFlags::NOFOLLOW, ResolveFlags::empty()).is_ok() {
                        let message = format!("'{named}' is a link that leads nowhere");
                        return Err(PathFault::new(PathFaultKind::Link, message));
                    }
                    let (above, name) = at.rsplit_once('/').unwrap_or((".", at));
                    missing.push(name);
                    at = above;
                }
                Err(error) => return Err(explain_error(named, error)),
            }
        }
    }

    /// Opens something below the root; links are as `more` says. The path is not compared with the deny list.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn resolve_path(&self, path: &str, flags: OFlags, more: ResolveFlags) -> Result<OwnedFd, Errno> {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
        let mut last = Errno::AGAIN;
        for _ in 0..limits::RENAME_TRIES {
            match openat2(&self.folder, path, flags, Mode::empty(), how) {
                Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
                found => return found,
            }
        }
        Err(last)
    }
}

/// The path of an open file, without links.
fn read_real_path(file: &OwnedFd) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let path = readlinkat(rustix::fs::CWD, link, Vec::new()).ok()?;
    Some(PathBuf::from(path.into_string().ok()?))
}

fn refuse_denied(named: &str) -> PathFault {
    PathFault::new(PathFaultKind::Denied, format!("'{named}' is on the deny list"))
}

fn explain_error(named: &str, error: Errno) -> PathFault {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => {
            PathFault::new(PathFaultKind::Missing, format!("File not found at path '{named}'"))
        }
        Errno::XDEV | Errno::LOOP => {
            let message = format!("the path '{named}' leads outside the folder that may be read");
            PathFault::new(PathFaultKind::Outside, message)
        }
        Errno::ACCESS | Errno::PERM => PathFault::new(
            PathFaultKind::Denied,
            format!("'{named}' cannot be read: its permissions deny it"),
        ),
        Errno::NXIO => PathFault::new(
            PathFaultKind::NoText,
            format!("'{named}' is a device, a pipe or a socket, not a text file"),
        ),
        error => {
            let error = std::io::Error::from(error);
            PathFault::new(PathFaultKind::NoText, format!("'{named}' cannot be read: {error}"))
        }
    }
}

/// Whether bytes are no text.
#[must_use]
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(limits::BINARY_BYTES).any(|byte| *byte == 0)
}

/// The path of a name in a folder.
#[must_use]
pub fn join_names(folder: &str, name: &str) -> String {
    if folder.is_empty() || folder == "." { name.to_owned() } else { format!("{folder}/{name}") }
}
