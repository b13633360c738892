//! Tries what this kernel refuses a program in a sandbox. It believes no version and no file of the system: it starts
//! a sandbox at each level, and lets the helper try to get out.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::entering::{TRY, TrialAttempt, TrialOrder, WORD, read_landlock_abi};
use crate::limits;
use crate::policy::{SandboxLevel, SandboxPolicy};
use crate::private::make_private_folder;
use crate::start::SandboxStart;

/// How long a trial may take; it takes milliseconds.
const LONGEST: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// What must succeed: without it nothing else means anything.
const MUST_WORK: &str = "write a file of its own";

/// What stays possible at level `landlock`, because Landlock does not see it.
const REMAINS: [&str; 5] = [
    "see a file outside",
    "change the mode of a file outside",
    "change the owner of a file outside",
    "change the times of a file outside",
    "change the attributes of a file outside",
];
/// What stays possible at level `landlock` before the version of Landlock that can refuse it.
const SIGNALS: (&str, i32) = ("signal a process outside", 6);

/// One thing that was tried in a sandbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProbeAttempt {
    /// What was tried.
    pub what: String,
    /// Whether the sandbox allowed it.
    pub succeeded: bool,
}

/// What a machine has for sandboxes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SandboxProbe {
    /// The version of Landlock. `None` if the kernel has none.
    pub landlock_abi: Option<i32>,
    /// What was tried at level `full`, or why that level is not to be had. `None` if it was not tried.
    pub full: Option<Result<Vec<ProbeAttempt>, String>>,
    /// The same for level `landlock`.
    pub landlock: Option<Result<Vec<ProbeAttempt>, String>>,
}

impl SandboxProbe {
    /// The best level. `None` if there is none.
    pub fn find_level(&self) -> Option<SandboxLevel> {
        let works = |tried: &Option<Result<_, _>>| matches!(tried, Some(Ok(_)));
        if works(&self.full) {
            Some(SandboxLevel::Full)
        } else {
            works(&self.landlock).then_some(SandboxLevel::Landlock)
        }
    }

    /// Why there is no sandbox, or none with namespaces.
    pub fn why_not(&self) -> Option<&str> {
        let tried =
            if self.landlock.is_some() && self.find_level().is_none() { &self.landlock } else { &self.full };
        tried.as_ref().and_then(|tried| tried.as_ref().err()).map(String::as_str)
    }
}

/// Finds the best level: tries `full`, and `landlock` only if that fails.
pub fn probe_sandbox(helper: &Path) -> SandboxProbe {
    let full = try_level(helper, SandboxLevel::Full);
    let landlock = full.is_err().then(|| try_level(helper, SandboxLevel::Landlock));
    SandboxProbe { landlock_abi: read_landlock_abi(), full: Some(full), landlock }
}

/// Tries both levels.
pub fn try_everything(helper: &Path) -> SandboxProbe {
    let of = |level| Some(try_level(helper, level));
    let (full, landlock) = (of(SandboxLevel::Full), of(SandboxLevel::Landlock));
    SandboxProbe { landlock_abi: read_landlock_abi(), full, landlock }
}

/// Tries one level. A level at which something succeeds that it must refuse is not to be had.
fn try_level(helper: &Path, level: SandboxLevel) -> Result<Vec<ProbeAttempt>, String> {
    let Some(abi) = read_landlock_abi() else { return Err("this kernel has no Landlock".to_owned()) };
    let told = |error: std::io::Error| format!("the trial cannot begin: {error}");
    // On the same disk as the helper's other work: some attributes depend on the file system.
    let outside = make_private_folder(SandboxLevel::Landlock).map_err(told)?;
    let outside = outside.as_ref().map(|folder| folder.path()).unwrap_or(Path::new("/"));
    fs::write(outside.join("planted"), "planted").map_err(told)?;
    let process = i32::try_from(std::process::id()).unwrap_or(1);
    let order = TrialOrder { outside: outside.to_owned(), process };
    let order = serde_json::to_string(&order).map_err(|error| error.to_string())?;
    let run = [helper.to_string_lossy().into_owned(), WORD.to_owned(), TRY.to_owned(), order];
    let private = make_private_folder(level).map_err(told)?;
    let policy = SandboxPolicy::default();
    let start = SandboxStart { helper, level, policy: &policy, run: &run, folder: Path::new("/") };
    let mut command = start
        .make_command(&BTreeMap::new(), private.as_ref())
        .map_err(|fault| format!("the trial cannot begin: {fault:?}"))?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let attempts = read_attempts(command.spawn().map_err(told)?)?;
    judge_attempts(level, abi, attempts)
}

/// What a trial says. It has a time limit.
fn read_attempts(mut trial: Child) -> Result<Vec<TrialAttempt>, String> {
    let pid = i32::try_from(trial.id()).ok().and_then(Pid::from_raw);
    let ended = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()).is_some_and(|handle| {
        let waited =
            rustix::io::retry_on_intr(|| poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&LONGEST)));
        waited.is_ok_and(|ended| ended > 0)
    });
    if !ended {
        let _already_over = trial.kill();
    }
    let (mut said, mut aside) = (String::new(), String::new());
    let _unread = trial.stdout.take().map(|pipe| pipe.take(limits::REPORT_BYTES).read_to_string(&mut said));
    let _unread = trial.stderr.take().map(|pipe| pipe.take(limits::REPORT_BYTES).read_to_string(&mut aside));
    let status = trial.wait().map_err(|error| error.to_string())?;
    if !ended {
        return Err("the trial did not end".to_owned());
    }
    serde_json::from_str(&said).map_err(|_| {
        let aside = aside.trim().trim_start_matches("sandbox: not started: ");
        if aside.is_empty() { format!("the trial ended with {status}") } else { aside.to_owned() }
    })
}

fn judge_attempts(
    level: SandboxLevel,
    abi: i32,
    attempts: Vec<TrialAttempt>,
) -> Result<Vec<ProbeAttempt>, String> {
    let may_succeed = |what: &str| {
        level == SandboxLevel::Landlock && (REMAINS.contains(&what) || (what == SIGNALS.0 && abi < SIGNALS.1))
    };
    for TrialAttempt { what, succeeded } in &attempts {
        if what == MUST_WORK && !succeeded {
            return Err(format!("a program in it cannot {what}"));
        }
        if what != MUST_WORK && *succeeded && !may_succeed(what) {
            return Err(format!("a program in it can {what}"));
        }
    }
    let attempts = attempts.into_iter().filter(|attempted| attempted.what != MUST_WORK);
    Ok(attempts.map(|TrialAttempt { what, succeeded }| ProbeAttempt { what, succeeded }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempted(what: &str, succeeded: bool) -> TrialAttempt {
        TrialAttempt { what: what.to_owned(), succeeded }
    }

    #[test]
    fn a_level_that_lets_something_through_is_not_to_be_had() {
        let fine = || attempted(MUST_WORK, true);
        let judged =
            |level, abi, what: &str| judge_attempts(level, abi, vec![fine(), attempted(what, true)]).is_ok();
        assert!(judged(SandboxLevel::Landlock, 7, REMAINS[0]));
        assert!(!judged(SandboxLevel::Full, 7, REMAINS[0]));
        assert!(judged(SandboxLevel::Landlock, 5, SIGNALS.0));
        assert!(!judged(SandboxLevel::Landlock, 6, SIGNALS.0));
        assert!(!judged(SandboxLevel::Landlock, 7, "open a TCP socket"));
        assert!(super::judge_attempts(SandboxLevel::Full, 7, vec![attempted(MUST_WORK, false)]).is_err());
    }
}
