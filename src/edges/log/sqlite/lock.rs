//! The lock that makes one organism the only writer of a log: an exclusive `flock` on `<log>.lock`,
//! with the holder's process id in it for whoever finds it taken. The kernel drops it with the process,
//! however that ends, so a lock file that lies about means nothing. The file is never removed: a lock
//! on a removed file would keep nobody out.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::io_fault;
use super::layout::beside;
use crate::words::ports::LogFault;

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock if its file exists, and writes nothing.
    pub(super) fn if_there(log: &Path) -> Result<Option<Lock>, LogFault> {
        let path = beside(log, ".lock");
        match File::options().read(true).write(true).open(&path) {
            Ok(file) => Lock::take(log, path, file).map(Some),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(io_fault(&path, &e)),
        }
    }

    /// Takes the lock, making its file if need be.
    pub(super) fn make(log: &Path) -> Result<Lock, LogFault> {
        let path = beside(log, ".lock");
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.map_err(|e| io_fault(&path, &e))?;
        Lock::take(log, path, file)
    }

    fn take(log: &Path, path: PathBuf, file: File) -> Result<Lock, LogFault> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock { file, path }),
            Err(Errno::WOULDBLOCK) => {
                Err(LogFault::InUse { path: log.display().to_string(), pid: pid_in(&file) })
            }
            Err(e) => Err(io_fault(&path, &e.into())),
        }
    }

    /// Whether somebody has the log open for writing. Looking takes the lock for a moment, since `flock`
    /// has no other way to ask; an organism that starts in that very moment is refused.
    pub(super) fn is_held(log: &Path) -> Result<bool, LogFault> {
        match Lock::if_there(log) {
            Ok(_) => Ok(false),
            Err(LogFault::InUse { .. }) => Ok(true),
            Err(fault) => Err(fault),
        }
    }

    /// Writes who holds it.
    pub(super) fn sign(mut self) -> Result<Lock, LogFault> {
        let mut write = || {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(std::process::id().to_string().as_bytes())
        };
        write().map_err(|e| io_fault(&self.path, &e))?;
        Ok(self)
    }
}

/// The process that has the log open for writing; none where nobody has. Where the process that signed
/// last is gone nobody has it, and the lock is not touched; else it is asked for as a reader would, so
/// that any number may look at once.
pub fn holder(log: &Path) -> Result<Option<u32>, LogFault> {
    let path = beside(log, ".lock");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io_fault(&path, &e)),
    };
    let pid = pid_in(&file);
    let process = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if process.is_some_and(|process| rustix::process::test_kill_process(process) == Err(Errno::SRCH)) {
        return Ok(None);
    }
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(None),
        Err(Errno::WOULDBLOCK) => Ok(Some(pid)),
        Err(e) => Err(io_fault(&path, &e.into())),
    }
}

/// The process that signed the lock; 0 in the moment between taking and signing it.
fn pid_in(mut file: &File) -> u32 {
    let mut text = String::new();
    // A few bytes more than any process id has: the file may be anybody's.
    let read = std::io::Read::by_ref(&mut file).take(16).read_to_string(&mut text);
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}
