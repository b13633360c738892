//! What the helper tries inside a sandbox, to find out what this kernel really refuses.
//!
//! It runs as the program of a sandbox. The files that it tries belong to the test alone, and a success harms
//! nothing: that is why every attempt can be made on a person's machine.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nix::sched::CloneFlags;
use rustix::fs::{AtFlags, CWD, Mode, XattrFlags};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Pid, getpriority_process, setpriority_process, test_kill_process};
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

/// The stage at which the helper makes its attempts.
pub(crate) const TRY: &str = "try";

/// What is there to try with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TrialOrder {
    /// A folder outside of the sandbox, with a file `planted` in it that this user owns.
    pub(crate) outside: PathBuf,
    /// A process of this user outside of the sandbox.
    pub(crate) process: i32,
}

/// One attempt and whether it succeeded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct TrialAttempt {
    pub(crate) what: String,
    pub(crate) succeeded: bool,
}

/// Makes every attempt, and prints the results as JSON.
pub(super) fn run_trial(order: &str) -> Result<ExitCode, String> {
    let order: TrialOrder =
        serde_json::from_str(order).map_err(|error| format!("its order cannot be read: {error}"))?;
    let all: Vec<TrialAttempt> = try_all(&order)
        .into_iter()
        .map(|(what, succeeded)| TrialAttempt { what: what.to_owned(), succeeded })
        .collect();
    let text = serde_json::to_string(&all).map_err(|error| error.to_string())?;
    writeln!(std::io::stdout(), "{text}").map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn try_all(order: &TrialOrder) -> Vec<(&'static str, bool)> {
    let planted = order.outside.join("planted");
    let opens = |family, kind| socket(family, kind, None).is_ok();
    let process = Pid::from_raw(order.process);
    let mut all = vec![
        ("write a file of its own", try_own_file()),
        ("read a file outside", fs::read(&planted).is_ok()),
        ("write a file outside", File::create(order.outside.join("made")).is_ok()),
        ("list a folder outside", fs::read_dir(&order.outside).is_ok()),
        ("open a TCP socket", opens(AddressFamily::INET, SocketType::STREAM)),
        ("open a UDP socket", opens(AddressFamily::INET, SocketType::DGRAM)),
        ("open a unix socket", opens(AddressFamily::UNIX, SocketType::STREAM)),
        ("open a netlink socket", opens(AddressFamily::NETLINK, SocketType::RAW)),
        ("make a namespace", nix::sched::unshare(CloneFlags::CLONE_NEWUSER).is_ok()),
        ("signal a process outside", process.is_some_and(|process| test_kill_process(process).is_ok())),
        ("read a process outside", fs::read(format!("/proc/{}/status", order.process)).is_ok()),
        (
            "change the priority of a process outside",
            process.is_some_and(|process| set_same_priority(process).is_ok()),
        ),
        (
            "change the processors of a process outside",
            process.is_some_and(|process| set_same_processors(process).is_ok()),
        ),
    ];
    all.extend(try_metadata(&planted));
    all
}

/// Gives a process the priority that it has.
fn set_same_priority(process: Pid) -> rustix::io::Result<()> {
    setpriority_process(Some(process), getpriority_process(Some(process))?)
}

/// Gives a process the processors that it has.
fn set_same_processors(process: Pid) -> rustix::io::Result<()> {
    sched_setaffinity(Some(process), &sched_getaffinity(Some(process))?)
}

fn try_own_file() -> bool {
    let path = std::env::temp_dir().join("own");
    fs::write(&path, "own").is_ok() && fs::remove_file(&path).is_ok()
}

/// Attempts on what is written about a file, rather than in it.
fn try_metadata(planted: &Path) -> Vec<(&'static str, bool)> {
    let now = rustix::fs::Timespec { tv_sec: 1, tv_nsec: 0 };
    let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let xattr = rustix::fs::setxattr(planted, "user.systole", b"x", XattrFlags::empty());
    vec![
        ("see a file outside", fs::metadata(planted).is_ok()),
        ("change the mode of a file outside", rustix::fs::chmod(planted, Mode::RUSR).is_ok()),
        ("change the owner of a file outside", rustix::fs::chown(planted, Some(user), Some(group)).is_ok()),
        (
            "change the times of a file outside",
            rustix::fs::utimensat(CWD, planted, &times, AtFlags::empty()).is_ok(),
        ),
        ("change the attributes of a file outside", xattr.is_ok()),
    ]
}
