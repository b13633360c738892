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

use super::deny::DenyList;
use crate::failure::{self, RequestFault};
use crate::limits;

/// Attempts if a folder is renamed while a path is resolved.
const TRIES: usize = 8;

/// The folder.
#[derive(Debug)]
pub(crate) struct CodeRoot {
    folder: OwnedFd,
    /// Its path without links, as the kernel says it.
    real: Option<PathBuf>,
    deny: DenyList,
}

/// A file below the root.
#[derive(Debug)]
pub(crate) struct CodeFile {
    /// Its path from the root.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl CodeRoot {
    /// Opens the folder.
    pub(crate) fn open(path: &Path, deny: &DenyList) -> std::io::Result<CodeRoot> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        let real = real_path(&folder);
        Ok(CodeRoot { folder, real, deny: deny.clone() })
    }

    pub(crate) fn denies(&self, path: &str) -> bool {
        self.deny.denies(path)
    }

    /// Opens a folder for listing. Links are not followed.
    pub(crate) fn folder(&self, path: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let path = if path.is_empty() { "." } else { path };
        self.resolve(path, flags, ResolveFlags::NO_SYMLINKS)
    }

    /// Reads a file that a walk found: no links, and no words about failures.
    pub(crate) fn read_found(&self, path: &str, most: usize) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.resolve(path, flags, ResolveFlags::NO_SYMLINKS).ok()?;
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

    /// Reads a file that a request names.
    pub(crate) fn read(&self, named: &str) -> Result<CodeFile, RequestFault> {
        let path = self.plain(named)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match self.resolve(&path, flags, ResolveFlags::NO_SYMLINKS) {
            Err(Errno::LOOP) => self.linked(named, &path, flags)?,
            other => other.map_err(|error| told(named, error))?,
        };
        let stat = fstat(&file).map_err(|error| told(named, error))?;
        let no_text =
            |what: &str| RequestFault::new(failure::NO_TEXT, format!("'{named}' is {what}, not a text file"));
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => {
                return Err(
                    no_text("a folder").fix("a file in it; <search> finds one, with the folder as <path>")
                );
            }
            _ => return Err(no_text("a device, a pipe or a socket")),
        }
        let mut bytes = Vec::new();
        let most = limits::FILE_BYTES;
        let read = std::fs::File::from(file).take(most as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| {
            RequestFault::new(failure::NO_TEXT, format!("'{named}' cannot be read: {error}"))
        })?;
        if bytes.len() > most {
            let message = format!("'{named}' has more than 1 MiB, the most that is read");
            return Err(RequestFault::new(failure::TOO_LARGE, message).fix("a smaller file"));
        }
        if is_binary(&bytes) {
            return Err(no_text("binary"));
        }
        Ok(CodeFile { path, bytes })
    }

    /// Whether a folder of that name can be searched.
    pub(crate) fn has_folder(&self, named: &str) -> Result<String, RequestFault> {
        let path = self.plain(named)?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let found = self.resolve(&path, flags, ResolveFlags::NO_SYMLINKS);
        found.map(|_| path).map_err(|error| match error {
            Errno::LOOP => RequestFault::new(failure::DENIED, format!("the path '{named}' is a link"))
                .fix("the folder to which it leads"),
            error => told(named, error),
        })
    }

    /// A path as it is written below the root: without `./`, not absolute, not denied.
    fn plain(&self, named: &str) -> Result<String, RequestFault> {
        let outside = || {
            let message = format!("the path '{named}' is outside the folder that may be read");
            RequestFault::new(failure::OUTSIDE_ROOT, message).fix("a path from that folder, as src/main.rs")
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
            path if self.denies(path) => Err(denied(named)),
            _ => Ok(path),
        }
    }

    /// A file behind a link that stays below the root. The file itself must not be denied either.
    fn linked(&self, named: &str, path: &str, flags: OFlags) -> Result<OwnedFd, RequestFault> {
        let file = self.resolve(path, flags, ResolveFlags::empty()).map_err(|error| told(named, error))?;
        let real = real_path(&file);
        let below =
            real.as_deref().zip(self.real.as_deref()).and_then(|(file, root)| file.strip_prefix(root).ok());
        match below.and_then(Path::to_str) {
            Some(below) if !self.denies(below) => Ok(file),
            _ => Err(denied(named)),
        }
    }

    fn resolve(&self, path: &str, flags: OFlags, more: ResolveFlags) -> Result<OwnedFd, Errno> {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
        let mut last = Errno::AGAIN;
        for _ in 0..TRIES {
            match openat2(&self.folder, path, flags, Mode::empty(), how) {
                Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
                found => return found,
            }
        }
        Err(last)
    }
}

/// The path of an open file, without links.
fn real_path(file: &OwnedFd) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let path = readlinkat(rustix::fs::CWD, link, Vec::new()).ok()?;
    Some(PathBuf::from(path.into_string().ok()?))
}

fn denied(named: &str) -> RequestFault {
    RequestFault::new(failure::DENIED, format!("'{named}' is on the deny list")).fix("another file")
}

fn told(named: &str, error: Errno) -> RequestFault {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => {
            RequestFault::new(failure::NOT_FOUND, format!("File not found at path '{named}'"))
        }
        Errno::XDEV | Errno::LOOP => {
            let message = format!("the path '{named}' leads outside the folder that may be read");
            RequestFault::new(failure::OUTSIDE_ROOT, message).fix("a path from that folder, as src/main.rs")
        }
        Errno::ACCESS | Errno::PERM => {
            RequestFault::new(failure::DENIED, format!("'{named}' cannot be read: its permissions deny it"))
        }
        Errno::NXIO => RequestFault::new(
            failure::NO_TEXT,
            format!("'{named}' is a device, a pipe or a socket, not a text file"),
        ),
        error => {
            let error = std::io::Error::from(error);
            RequestFault::new(failure::NO_TEXT, format!("'{named}' cannot be read: {error}"))
        }
    }
}

/// Whether bytes are no text.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(limits::BINARY_BYTES).any(|byte| *byte == 0)
}
