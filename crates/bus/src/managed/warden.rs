//! The other side of a server's start: a process that ties its life to the organism's, takes the server's lock, and
//! then becomes the server. An open file holds the lock through that step, so only the server holds it. The kernel
//! releases the lock with the process, however the process ends.
//!
//! This file also ends a server that a killed organism has left. It never touches a process that does not have the
//! lock open.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd, retry_on_intr};
use rustix::process::{
    Pid, PidfdFlags, Signal, getppid, pidfd_open, pidfd_send_signal, set_parent_process_death_signal,
};

use super::start_fault::BrokerStartFault;
use crate::limits;
use systole_system::system;

/// The argument that makes the program become a server. No help page lists it, because people do not need it.
pub const WORD: &str = "-become-broker";

/// Becomes the server. The arguments are the process id of the organism, the file of the lock, the program and its
/// arguments. Returns only if that fails, and prints the reason to stderr.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let words = match (arguments.next(), arguments.next(), arguments.next()) {
        (Some(parent), Some(lock), Some(program)) => {
            let mut command = Command::new(program);
            command.args(arguments).env_clear();
            // A server needs no key or secret of ours.
            command.envs(
                ["PATH", "HOME", "LANG", "TZ"]
                    .iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            );
            replace_with_server(&parent, Path::new(&lock), command)
        }
        _ => "three arguments at least are wanted".to_owned(),
    };
    // The reader passes the reason on; if there is no reader, no one waits for this server.
    let _nobody = writeln!(std::io::stderr(), "{words}");
    ExitCode::FAILURE
}

/// Returns only on failure, with the reason.
fn replace_with_server(parent: &OsString, lock: &Path, mut server: Command) -> String {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return format!(
            "its life cannot be tied to the organism's: {}",
            system::describe_error(&error.into())
        );
    }
    // An organism that was gone before sends no signal any more.
    let is_there =
        |pid: Pid| parent.to_str().is_some_and(|parent| parent == pid.as_raw_nonzero().to_string());
    if !getppid().is_some_and(is_there) {
        return "the organism is gone".to_owned();
    }
    let held = || -> std::io::Result<File> {
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(lock)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.set_len(0)?;
        write!(file, "{}", std::process::id())?;
        fcntl_setfd(&file, FdFlags::empty())?;
        Ok(file)
    };
    let _held = match held() {
        Ok(file) => file,
        Err(error) => return format!("{}: {}", lock.display(), system::describe_error(&error)),
    };
    system::describe_error(&server.exec())
}

/// Ends the server that holds that lock, if there is one.
pub(super) fn end_what_is_left(lock: &Path) -> Result<(), BrokerStartFault> {
    let unread = |error: &std::io::Error| system::report_unread(lock, "the lock of the broker", error);
    let file = match File::options().read(true).write(true).open(lock) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unread(&error).into()),
    };
    for _ in 0..limits::LOCK_TRIES {
        if is_free(&file).map_err(|error| unread(&error))? {
            return Ok(());
        }
        let Some((pid, handle)) = find_holder(lock, &file) else {
            // A server that has taken the lock signs it within a moment, and a server that ends releases it.
            std::thread::sleep(limits::LOCK_PAUSE);
            continue;
        };
        let end = |signal| pidfd_send_signal(&handle, signal).is_err() || is_over(&handle);
        if !(end(Signal::TERM) || end(Signal::KILL)) {
            return Err(BrokerStartFault::Stuck { pid: pid.as_raw_nonzero().get().unsigned_abs() });
        }
    }
    if is_free(&file).map_err(|error| unread(&error))? {
        Ok(())
    } else {
        Err(BrokerStartFault::Held { lock: lock.to_owned() })
    }
}

/// Whether the lock is free. The check takes it for a moment.
fn is_free(file: &File) -> std::io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => flock(file, FlockOperation::Unlock).map(|()| true).map_err(std::io::Error::from),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The process that holds the lock, if that is certain.
fn find_holder(lock: &Path, file: &File) -> Option<(Pid, OwnedFd)> {
    let pid = lock_holder(lock).filter(|pid| has_open(*pid, file))?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // The process id may have been reused between the check and the open handle.
    has_open(pid, file).then_some((pid, handle))
}

/// The process that the file names as the holder.
fn lock_holder(lock: &Path) -> Option<Pid> {
    let mut text = String::new();
    File::open(lock).ok()?.take(limits::PROCESS_ID_BYTES).read_to_string(&mut text).ok()?;
    Pid::from_raw(text.parse().ok()?)
}

/// Whether that process has the file open.
fn has_open(pid: Pid, file: &File) -> bool {
    let Ok(wanted) = file.metadata() else { return false };
    let folder = format!("/proc/{}/fd", pid.as_raw_nonzero());
    let Ok(open) = fs::read_dir(folder) else { return false };
    let same = |other: fs::Metadata| (other.dev(), other.ino()) == (wanted.dev(), wanted.ino());
    open.flatten().any(|entry| fs::metadata(entry.path()).is_ok_and(same))
}

/// Waits a while for the end of a process, and returns whether it came.
fn is_over(handle: &OwnedFd) -> bool {
    let limit = Timespec::try_from(limits::END).ok();
    retry_on_intr(|| poll(&mut [PollFd::new(handle, PollFlags::IN)], limit.as_ref()))
        .is_ok_and(|ended| ended > 0)
}
