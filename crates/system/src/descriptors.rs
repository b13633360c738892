//! How many files, pipes and connections this process may have open at once.
//!
//! A start raises the soft limit, because each connection and each program needs some. Programs of listeners get
//! back the limit that this process was started with: some of them rely on small numbers (`select`).

use std::io;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

use crate::limits;

/// The limit that this process was started with; set once, if it was raised.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit. If the system does not allow that, the limit stays as it is.
pub fn raise_limit() {
    let before = getrlimit(Resource::Nofile);
    let Some(soft) = before.current else { return };
    let wanted = before.maximum.map_or(limits::DESCRIPTORS, |hard| hard.min(limits::DESCRIPTORS));
    if soft >= wanted {
        return;
    }
    let raised = Rlimit { current: Some(wanted), maximum: before.maximum };
    match setrlimit(Resource::Nofile, raised) {
        // A second call finds the limit raised, and does not get here.
        Ok(()) => drop(BEFORE.set(before)),
        Err(error) => {
            let fix = "a higher limit: ulimit -n, or LimitNOFILE= of the unit";
            tracing::warn!(why = %error, fix, "the limit of open files stays at {soft}");
        }
    }
}

/// Gives a child the limit that this process was started with.
pub fn give_back(child: Option<u32>) {
    let pid = child.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    let (Some(before), Some(pid)) = (BEFORE.get(), pid) else { return };
    if let Err(error) = prlimit(Some(pid), Resource::Nofile, *before) {
        tracing::debug!(why = %error, "a program that has ended keeps its limit of open files");
    }
}

/// How many may be open now.
pub fn read_limit() -> usize {
    let soft = getrlimit(Resource::Nofile).current.unwrap_or(limits::DESCRIPTORS);
    usize::try_from(soft).unwrap_or(usize::MAX)
}

/// Whether an error says that this process or the machine has no room for more files, pipes or processes just now.
pub fn is_short(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::AGAIN))
}
