//! The inner process: restricts itself for good. At level `full` it is process 1 of the sandbox and starts the program;
//! at level `landlock` it becomes the program.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    self, DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, set_dumpable_behavior,
    set_parent_process_death_signal,
};

use super::status::{self, InnerReport};
use super::{EntryOrder, cannot, capabilities, counting, limits, places, root, rules, syscalls};
use crate::policy::SandboxLevel;

/// Runs the inner process. It returns only if the sandbox could not be entered, or at level `full` when the program
/// has ended.
pub(super) fn run(
    order: &EntryOrder,
    (pipe, port): (Option<&str>, Option<u16>),
    run: Vec<OsString>,
) -> Result<ExitCode, String> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| cannot("tie its life to the outer process", error))?;
    let pipe = status::taken_over(pipe)?;
    let port = port.filter(|port| *port > 0);
    let ended = entered(order, port, &run).and_then(|command| match order.level {
        SandboxLevel::Full => start(order, command),
        SandboxLevel::Landlock => Err(become_program(order, command)),
    });
    status::report(&pipe, &ended.unwrap_or_else(InnerReport::Refused));
    drop::<File>(pipe);
    Ok(ExitCode::SUCCESS)
}

/// Restricts this process, and returns the program's command.
fn entered(order: &EntryOrder, port: Option<u16>, run: &[OsString]) -> Result<Command, String> {
    limits::set(&order.policy)?;
    let places = places::open_all(order)?;
    if order.level == SandboxLevel::Full {
        root::enter(order, &places)?;
        // Otherwise the program could write into this process, and stop the counting.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|error| cannot("close its memory to others", error))?;
    }
    let mut command = Command::new(&order.executable);
    command.args(run.get(1..).unwrap_or_default()).current_dir(&order.folder);
    if let Some(name) = run.first() {
        command.arg0(name);
    }
    capabilities::drop_all()?;
    let abi = rules::restrict(order, port, &places)?;
    syscalls::forbid(order.level, abi, &order.policy)?;
    SigSet::all().thread_unblock().map_err(|error| cannot("unblock signals", error))?;
    Ok(command)
}

/// Becomes the program. Returns only if that fails.
fn become_program(order: &EntryOrder, mut command: Command) -> String {
    cannot(&format!("start {}", order.executable.display()), command.exec())
}

/// Starts the program, takes the ends of all processes, and returns that of the program.
fn start(order: &EntryOrder, mut command: Command) -> Result<InnerReport, String> {
    let program =
        command.spawn().map_err(|error| cannot(&format!("start {}", order.executable.display()), error))?;
    let pid = i32::try_from(program.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| "the program has no number".to_owned())?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| cannot("watch the program", error))?;
    // This process is one of those that are shown.
    let most = usize::try_from(order.policy.processes).unwrap_or(usize::MAX).saturating_add(1);
    loop {
        while let Ok(Some((ended, status))) = process::wait(WaitOptions::NOHANG) {
            if ended == pid {
                return Ok(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => InnerReport::Exited(code),
                    (None, signal) => InnerReport::Killed(signal.unwrap_or(9)),
                });
            }
        }
        if counting::shown() > most {
            // The end of process 1 is the end of all.
            return Ok(InnerReport::Crowded);
        }
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&counting::PAUSE)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(cannot("wait", error)),
        }
    }
}
