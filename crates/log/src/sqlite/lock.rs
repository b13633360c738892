//! The lock that makes one organism the only writer of a log: an exclusive `flock` on `<log>.lock`. The
//! file contains the holder's process id, for others that find the lock taken. The kernel releases the
//! lock when the process ends, however it ends, so a leftover lock file means nothing. If a process is
//! killed while it starts a program, the child may hold the lock for a moment until it becomes the
//! program; so a lock whose signer is gone is waited for. The file is never removed: a lock on a removed
//! file would keep no one out.

use std::fs::{File, Metadata};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::io_fault;
use super::layout::make_beside;
use crate::limits;
use systole_core::types::ports::LogFault;

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct LogLock {
    file: File,
    path: PathBuf,
}

impl LogLock {
    /// Takes the lock if its file exists, and writes nothing.
    pub(super) fn if_there(log: &Path) -> Result<Option<LogLock>, LogFault> {
        let path = make_beside(log, ".lock");
        match File::options().read(true).write(true).open(&path) {
            Ok(file) => LogLock::take_lock(log, path, file).map(Some),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(io_fault(&path, &e)),
        }
    }

    /// Takes the lock, and makes its file if needed.
    pub(super) fn make_lock(log: &Path) -> Result<LogLock, LogFault> {
        let path = make_beside(log, ".lock");
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.map_err(|e| io_fault(&path, &e))?;
        LogLock::take_lock(log, path, file)
    }

    fn take_lock(log: &Path, path: PathBuf, file: File) -> Result<LogLock, LogFault> {
        let waits = |pid| pid == std::process::id() || is_gone(pid);
        LogLock::take_pausing(log, path, file, waits, || std::thread::sleep(limits::LOCK_PAUSE))
    }

    /// Takes the lock. If a living process holds it, this fails at once. Any other holder is temporary, so the lock is
    /// tried again after a pause. Who opens a log again, whose lock this process signed before, waits too: another one
    /// that only looks has it for a moment. `waits` says which signers are waited for.
    fn take_pausing(
        log: &Path,
        path: PathBuf,
        file: File,
        waits: impl Fn(u32) -> bool,
        mut pause: impl FnMut(),
    ) -> Result<LogLock, LogFault> {
        let mut pid = 0;
        for _ in 0..limits::LOCK_TRIES {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(LogLock { file, path }),
                Err(Errno::WOULDBLOCK) => pid = pid_in(&file),
                Err(e) => return Err(io_fault(&path, &e.into())),
            }
            if pid != 0 && !waits(pid) {
                break;
            }
            pause();
        }
        Err(LogFault::InUse { path: log.display().to_string(), pid })
    }

    /// Whether a process has the log open for writing. The look takes the lock for a moment, since `flock`
    /// has no other way to ask; an organism that starts in that moment waits.
    pub(super) fn is_held(log: &Path) -> Result<bool, LogFault> {
        let path = make_beside(log, ".lock");
        let taken = match File::options().read(true).write(true).open(&path) {
            Ok(file) => {
                LogLock::take_pausing(log, path, file, is_gone, || std::thread::sleep(limits::LOCK_PAUSE))
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            // As on a medium that only lets read.
            Err(_) => return Ok(find_holder(log)?.is_some()),
        };
        match taken {
            Ok(_) => Ok(false),
            Err(LogFault::InUse { .. }) => Ok(true),
            Err(_) => Ok(find_holder(log)?.is_some()),
        }
    }

    /// Whether the lock still keeps others out: its file was not removed.
    pub(super) fn is_in_place(&self) -> bool {
        let id = |found: Metadata| (found.dev(), found.ino());
        let (ours, there) = (self.file.metadata().map(id), std::fs::metadata(&self.path).map(id));
        ours.ok() == there.ok()
    }

    /// Writes the process id of the holder.
    pub(super) fn sign_lock(mut self) -> Result<LogLock, LogFault> {
        let mut write = || {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(std::process::id().to_string().as_bytes())
        };
        write().map_err(|e| io_fault(&self.path, &e))?;
        Ok(self)
    }
}

impl Drop for LogLock {
    fn drop(&mut self) {
        // A child between its fork and its program has the file open too, so closing our handle would
        // leave the lock with the child. If the release fails, the lock ends with the last handle.
        let _released = flock(&self.file, FlockOperation::Unlock);
    }
}

/// The process that has the log open for writing; `None` if there is none. If the last signer is gone,
/// there is none, and the lock is not touched. Else the lock is asked for as a reader would, so that any
/// number of processes may look at once.
pub fn find_holder(log: &Path) -> Result<Option<u32>, LogFault> {
    // Opening a log follows links, so its lock is next to the file itself.
    let log = std::fs::canonicalize(log).unwrap_or_else(|_| log.to_owned());
    let path = make_beside(&log, ".lock");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io_fault(&path, &e)),
    };
    let pid = pid_in(&file);
    if is_gone(pid) {
        return Ok(None);
    }
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(None),
        Err(Errno::WOULDBLOCK) => Ok(Some(pid)),
        Err(e) => Err(io_fault(&path, &e.into())),
    }
}

/// Whether no process has that id.
fn is_gone(pid: u32) -> bool {
    let process = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| rustix::process::test_kill_process(process) == Err(Errno::SRCH))
}

/// The process that signed the lock; 0 between taking the lock and signing it.
fn pid_in(mut file: &File) -> u32 {
    let mut text = String::new();
    // It may have been read before. A file that cannot be rewound is read as unsigned.
    let _unsigned = file.rewind();
    // A few bytes more than any process id has: the file may not be ours.
    let read = std::io::Read::by_ref(&mut file).take(16).read_to_string(&mut text);
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log whose lock another handle holds and that process signed.
    fn held(folder: &Path, signer: u32) -> (PathBuf, File) {
        let log = folder.join("a.db");
        let path = make_beside(&log, ".lock");
        std::fs::write(&path, signer.to_string()).unwrap();
        let hand = File::open(&path).unwrap();
        flock(&hand, FlockOperation::NonBlockingLockExclusive).unwrap();
        (log, hand)
    }

    fn take(log: &Path, pause: impl FnMut()) -> Result<LogLock, LogFault> {
        let path = make_beside(log, ".lock");
        let file = File::options().read(true).write(true).open(&path).unwrap();
        LogLock::take_pausing(log, path, file, |pid| pid == std::process::id() || is_gone(pid), pause)
    }

    fn gone() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn what_a_dead_organism_left_to_its_child_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (log, hand) = held(folder.path(), gone());
        let (mut hand, mut pauses) = (Some(hand), 0);
        let lock = take(&log, || {
            pauses += 1;
            if pauses == 3 {
                drop(hand.take());
            }
        });
        assert!(lock.is_ok() && pauses == 3, "{lock:?} after {pauses}");
    }

    #[test]
    fn who_looks_while_this_process_opens_its_log_again_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.db");
        drop(LogLock::make_lock(&log).unwrap().sign_lock().unwrap());
        let looks = File::open(make_beside(&log, ".lock")).unwrap();
        flock(&looks, FlockOperation::NonBlockingLockShared).unwrap();
        let mut looks = Some(looks);
        let lock = take(&log, || drop(looks.take()));
        assert!(lock.is_ok(), "{lock:?}");
    }

    #[test]
    fn who_looks_at_a_lock_of_its_own_process_waits_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.db");
        let _lock = LogLock::make_lock(&log).unwrap().sign_lock().unwrap();
        let file = File::options().read(true).write(true).open(make_beside(&log, ".lock")).unwrap();
        let path = make_beside(&log, ".lock");
        let looked = LogLock::take_pausing(&log, path, file, is_gone, || panic!("nothing is waited for"));
        assert!(matches!(looked, Err(LogFault::InUse { .. })));
        assert!(LogLock::is_held(&log).unwrap());
    }

    #[test]
    fn a_lock_that_is_let_go_is_free_though_a_child_has_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.db");
        let lock = LogLock::make_lock(&log).unwrap().sign_lock().unwrap();
        // A fork shares one open file between two handles, and so does this.
        let _of_a_child = lock.file.try_clone().unwrap();
        drop(lock);
        assert!(take(&log, || panic!("nothing is waited for")).is_ok());
    }

    #[test]
    fn one_that_a_living_process_signed_is_refused_at_once_and_no_wait_is_endless() {
        let folder = tempfile::tempdir().unwrap();
        let signer = std::os::unix::process::parent_id();
        let (log, hand) = held(folder.path(), signer);
        let refused = take(&log, || panic!("nothing is waited for"));
        assert!(matches!(refused, Err(LogFault::InUse { pid, .. }) if pid == signer));
        drop(hand);
        let (log, _hand) = held(folder.path(), gone());
        assert!(matches!(take(&log, || ()), Err(LogFault::InUse { .. })));
    }
}
