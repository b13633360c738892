//! The inner process: restricts itself for good. At level `full` it is process 1 of the sandbox and starts the program;
//! at level `landlock` it becomes the program.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use nix::sched::CloneFlags;
use nix::sys::signal::SigSet;
use rustix::process::{
    self, DumpableBehavior, Pid, Signal, WaitOptions, set_dumpable_behavior, set_parent_process_death_signal,
};

use super::status::{self, InnerReport};
use super::{EntryOrder, capabilities, explain_failure, limits, places, root, rules, syscalls};
use crate::policy::SandboxLevel;

/// Runs the inner process. It returns only if the sandbox could not be entered, or at level `full` when the program
/// has ended.
pub(super) fn run_inside(
    order: &EntryOrder,
    (pipe, port): (Option<&str>, Option<u16>),
    run: Vec<OsString>,
) -> Result<ExitCode, String> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| explain_failure("tie its life to the outer process", error))?;
    let pipe = status::take_over(pipe)?;
    let port = port.filter(|port| *port > 0);
    let ended = enter_sandbox(order, port, &run).and_then(|command| match order.level {
        SandboxLevel::Full => start_program(order, command),
        SandboxLevel::Landlock => Err(replace_with_program(order, command)),
    });
    status::write_report(&pipe, &ended.unwrap_or_else(InnerReport::Refused));
    drop::<File>(pipe);
    Ok(ExitCode::SUCCESS)
}

/// Restricts this process, and returns the program's command.
fn enter_sandbox(order: &EntryOrder, port: Option<u16>, run: &[OsString]) -> Result<Command, String> {
    limits::set_limits(&order.policy)?;
    if order.level == SandboxLevel::Full {
        // The outer process keeps its file system, in whose `/proc` it counts.
        nix::sched::unshare(CloneFlags::CLONE_NEWNS)
            .map_err(|error| explain_failure("make a namespace for mounts", error))?;
    }
    let places = places::open_all(order)?;
    if order.level == SandboxLevel::Full {
        root::enter_root(order, &places)?;
        // Otherwise the program could write into this process, which reports how it ended.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|error| explain_failure("close its memory to others", error))?;
    }
    let mut command = Command::new(&order.executable);
    command.args(run.get(1..).unwrap_or_default()).current_dir(&order.folder);
    if let Some(name) = run.first() {
        command.arg0(name);
    }
    capabilities::drop_all()?;
    let abi = rules::limit_files(order, port, &places)?;
    syscalls::forbid_calls(order.level, abi, &order.policy)?;
    SigSet::all().thread_unblock().map_err(|error| explain_failure("unblock signals", error))?;
    Ok(command)
}

/// Becomes the program. Returns only if that fails.
fn replace_with_program(order: &EntryOrder, mut command: Command) -> String {
    explain_failure(&format!("start {}", order.executable.display()), command.exec())
}

/// Starts the program, takes the ends of all processes, and returns that of the program.
fn start_program(order: &EntryOrder, mut command: Command) -> Result<InnerReport, String> {
    let program = command
        .spawn()
        .map_err(|error| explain_failure(&format!("start {}", order.executable.display()), error))?;
    let pid = i32::try_from(program.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| "the program has no number".to_owned())?;
    loop {
        match process::wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == pid => {
                // The end of process 1 is the end of all.
                return Ok(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => InnerReport::Exited(code),
                    (None, signal) => InnerReport::Killed(signal.unwrap_or(9)),
                });
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(explain_failure("wait", error)),
        }
    }
}
