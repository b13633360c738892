//! Starts a program under a warden or in a sandbox, and ends it with everything it started.
//!
//! It never touches a process it did not start, and gives a program no variable that the reference
//! does not name. In: a `ListenerProgram`, the variables of our own process. Out: its pipes and its `ProgramGroup`.
//! The end of the `ProgramGroup`, by `ProgramGroup::end_group` or by a drop, is the end of the program and of everything
//! it started.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use rustix::process::Signal;
use systole_sandbox::{PrivateFolder, SandboxLevel};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::Instant;

use super::sandbox_command::{self, NoSandbox, SandboxedCommand};
use super::script;
use super::variables::InheritedVariables;
use super::warden_link::{self, GuardedStart, ProgramGuard, SpareWardens};
use crate::pace::CarrierWaits;
use systole_core::types::composition::ListenerProgram;
use systole_core::types::ids::Name;
use systole_kit::protocol::PROTOCOL;
use systole_system::{descriptors, system};

/// The argument that makes this program a listener. No help page lists it, because people do not need it.
pub const ADAPTER_WORD: &str = "-listen-as";

/// The argument in front of the sandbox in which a listener of ours runs commands.
pub const COMMANDS_WORD: &str = "--commands-in";

/// What a program is started with beyond its own description.
#[derive(Clone, Debug)]
pub(crate) struct ProgramBadge {
    pub(super) organism: Name,
    pub(super) listener: Name,
}

/// A running program.
pub(super) struct StartedProgram {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    pub(super) group: ProgramGroup,
    /// The level of its sandbox.
    pub(super) sandbox: Option<SandboxLevel>,
}

/// The pipes of a program.
type ProgramPipes = (ChildStdin, ChildStdout, ChildStderr);

/// Why a program was not started, in words that name what was tried.
pub(super) enum ProgramStartFault {
    /// It cannot be started.
    Never(String),
    /// The machine has no room for it just now, and may have room in a moment.
    NotNow(String),
}

/// Starts a program.
pub(super) async fn start_program(
    program: &ListenerProgram,
    badge: &ProgramBadge,
    around: &InheritedVariables,
    spare: &SpareWardens,
) -> Result<StartedProgram, ProgramStartFault> {
    let (path, arguments) = command_line(program).map_err(ProgramStartFault::Never)?;
    let environment = make_environment(program, badge, around);
    let plain = || {
        let mut command = std::process::Command::new(&path);
        command.args(&arguments).current_dir(&program.directory).env_clear().envs(&environment);
        command
    };
    // A sandbox has its own warden: the helper.
    let (command, sandbox, private, warden) = match &program.sandbox {
        None => (plain(), None, None, system::find_own_program()),
        Some(sandbox) if sandbox.is_for_commands => {
            let level = sandbox_command::sandbox_level().map_err(ProgramStartFault::Never)?;
            let policy = serde_json::to_string(&sandbox_command::make_policy(sandbox));
            let policy = policy.map_err(|_| ProgramStartFault::Never("a path is not UTF-8".to_owned()))?;
            let mut command = plain();
            command.args([COMMANDS_WORD, &policy]);
            (command, Some(level), None, system::find_own_program())
        }
        Some(sandbox) => {
            match sandbox_command::make_command(program, (&path, &arguments), sandbox, &environment) {
                Ok(SandboxedCommand { command, level, private }) => (command, Some(level), private, None),
                Err(NoSandbox::Because(words)) => return Err(ProgramStartFault::Never(words)),
                Err(NoSandbox::NoProgram) => {
                    let missing = std::io::ErrorKind::NotFound.into();
                    return Err(ProgramStartFault::Never(cannot_start(program, &environment, &missing)));
                }
            }
        }
    };
    let spawned = match warden {
        Some(own) => warden_link::start_guarded(command, &own, around, spare)
            .await
            .map(|GuardedStart { pipes, guard }| (pipes, LadderStep::Guarded(guard))),
        None => start_unguarded(command).map(|(pipes, child)| (pipes, LadderStep::Child(child))),
    };
    let ((stdin, stdout, stderr), reached) = spawned.map_err(|error| {
        if descriptors::is_short(&error) {
            let name = program.run.first().map_or("systole", String::as_str);
            let why = system::describe_error(&error);
            ProgramStartFault::NotNow(format!(
                "cannot start {name}: {why}; it is tried again as soon as there is room"
            ))
        } else {
            ProgramStartFault::Never(cannot_start(program, &environment, &error))
        }
    })?;
    let group =
        ProgramGroup { reached, began: Instant::now(), over: false, signalled: false, _private: private };
    Ok(StartedProgram { stdin, stdout, stderr, group, sandbox })
}

/// Starts the helper of a sandbox, or a program where there is no `systole` to be its warden.
fn start_unguarded(
    mut command: std::process::Command,
) -> std::io::Result<(ProgramPipes, Box<dyn ChildWrapper>)> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = CommandWrap::from(tokio::process::Command::from(command));
    command.wrap(ProcessGroup::leader());
    let mut child = command.spawn()?;
    // It has not received a document yet, so it has hardly begun.
    descriptors::give_back(child.id());
    match (child.stdin().take(), child.stdout().take(), child.stderr().take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(((stdin, stdout, stderr), child)),
        // This should not happen, since all three were requested; the child ends with its stdin.
        _ => Err(std::io::Error::other("the system gave no pipes")),
    }
}

/// The path of a program, and its arguments. A listener that is part of this program is started as `-listen-as`, with
/// its own arguments, and after `--` the program that it runs.
fn command_line(program: &ListenerProgram) -> Result<(PathBuf, Vec<&str>), String> {
    let run = program.run.split_first();
    if program.adapter.is_empty() {
        let (name, arguments) = run.ok_or("no program is named")?;
        // A relative path is relative to the organism's folder, not to our own.
        let path = if name.contains('/') { program.directory.join(name) } else { name.into() };
        return Ok((path, arguments.iter().map(String::as_str).collect()));
    }
    let own = system::find_own_program().ok_or("the program `systole` is not next to this one")?;
    let mut arguments = vec![ADAPTER_WORD];
    arguments.extend(program.adapter.iter().map(String::as_str));
    if run.is_some() {
        arguments.push("--");
        arguments.extend(program.run.iter().map(String::as_str));
    }
    Ok((own, arguments))
}

/// Why a program cannot be started, as far as can be checked without a start; `None` if no reason is
/// found.
pub(super) fn find_missing(
    program: &ListenerProgram,
    badge: &ProgramBadge,
    around: &InheritedVariables,
) -> Option<String> {
    let environment = make_environment(program, badge, around);
    let Some(name) = program.run.first() else {
        return command_line(program).err().or_else(|| sandbox_command::find_missing(program, &environment));
    };
    let mut refusal = rustix::io::Errno::NOENT;
    for path in list_places(program, name, &environment) {
        match rustix::fs::access(&path, rustix::fs::Access::EXEC_OK) {
            Ok(()) => {
                return script::find_missing(program)
                    .or_else(|| sandbox_command::find_missing(program, &environment));
            }
            // A file that is there but may not be run is a better reason than one that is missing
            // elsewhere.
            Err(rustix::io::Errno::NOENT) => {}
            Err(other) => refusal = other,
        }
    }
    Some(cannot_start(program, &environment, &refusal.into()))
}

/// Where the program of this name may be, in the order in which it is looked for.
fn list_places(program: &ListenerProgram, name: &str, environment: &InheritedVariables) -> Vec<PathBuf> {
    if name.contains('/') {
        return vec![program.directory.join(name)];
    }
    let path = environment.get(OsStr::new("PATH")).map(OsString::as_os_str).unwrap_or_default();
    std::env::split_paths(path).map(|folder| program.directory.join(folder).join(name)).collect()
}

/// The file of the program that is started, if it can be found.
pub(super) fn find_executable(
    program: &ListenerProgram,
    badge: &ProgramBadge,
    around: &InheritedVariables,
) -> Option<PathBuf> {
    let places = list_places(program, program.run.first()?, &make_environment(program, badge, around));
    let runs =
        |path: &PathBuf| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    places.into_iter().find(runs)
}

fn cannot_start(
    program: &ListenerProgram,
    environment: &InheritedVariables,
    error: &std::io::Error,
) -> String {
    let name = program.run.first().map(String::as_str).unwrap_or_default();
    let mut words = format!("cannot start {name}");
    if !name.contains('/') {
        let path = environment.get(OsStr::new("PATH")).map(|path| path.to_string_lossy());
        words.extend([", looked for in ", path.as_deref().unwrap_or("no PATH")]);
    }
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such program".to_owned(),
        std::io::ErrorKind::PermissionDenied => "this user may not run it".to_owned(),
        _ => system::describe_error(error),
    };
    words.extend([" from ", &program.directory.to_string_lossy(), ": ", &why]);
    words
}

/// The whole environment of a program, as the reference promises it. Later sources win: ours, what is
/// passed, what names the listener to itself, what the organism's file sets.
fn make_environment(
    program: &ListenerProgram,
    badge: &ProgramBadge,
    around: &InheritedVariables,
) -> InheritedVariables {
    let plain = ["PATH", "HOME", "LANG", "TZ"];
    let passes = |name: &str| {
        plain.contains(&name) || name.starts_with("SYSTOLE_") || program.pass.iter().any(|p| p == name)
    };
    let inherited = around.iter().filter(|(name, _)| name.to_str().is_some_and(passes));
    let mut all: InheritedVariables = inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
    all.insert("PYTHONUNBUFFERED".into(), "1".into());
    all.insert("SYSTOLE_PROTOCOL".into(), PROTOCOL.into());
    all.insert("SYSTOLE_MODE".into(), if program.stays { "stay" } else { "once" }.into());
    all.insert("SYSTOLE_ORGANISM".into(), badge.organism.as_str().into());
    all.insert("SYSTOLE_LISTENER".into(), badge.listener.as_str().into());
    all.extend(program.env.iter().map(|(name, value)| (name.into(), value.into())));
    all
}

/// A program and everything it started.
#[derive(Debug)]
pub(super) struct ProgramGroup {
    reached: LadderStep,
    began: Instant,
    over: bool,
    signalled: bool,
    /// The folder of a sandboxed program, which goes with the group.
    _private: Option<PrivateFolder>,
}

/// How a program is reached.
#[derive(Debug)]
enum LadderStep {
    /// Through its warden.
    Guarded(ProgramGuard),
    /// As our own child: the helper of a sandbox, or the program itself.
    Child(Box<dyn ChildWrapper>),
}

impl ProgramGroup {
    /// How long ago it was started.
    pub(super) fn age_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether `end` had to send a signal.
    pub(super) fn was_signalled(&self) -> bool {
        self.signalled
    }

    /// Waits until the program itself has exited and the rest of its group is killed. May be dropped
    /// while it waits.
    pub(super) async fn wait_for_exit(&mut self) -> Option<ExitStatus> {
        let status = match &mut self.reached {
            LadderStep::Guarded(guard) => guard.wait_for_end().await,
            // Waits only for the leader: if we are process 1, its orphans become our children, and
            // waiting for the group would wait for them before they are killed.
            LadderStep::Child(child) => child.inner_mut().wait().await,
        };
        self.kill_what_is_left();
        let unknown = |error: &std::io::Error| {
            let fix = "nothing for this delivery, which is tried again; report it if it comes again";
            tracing::error!(why = %error, fix, "the system does not tell how a listener's program ended");
        };
        status.inspect_err(unknown).ok()
    }

    fn kill_what_is_left(&mut self) {
        // The kernel does not reuse the number of a group while a member lives. Without members this
        // finds no process, because it comes right after the exit, long before numbers are reused.
        if !self.over {
            self.over = true;
            self.send_signal(Signal::KILL);
        }
    }

    pub(super) fn send_signal(&self, signal: Signal) {
        let sent = match &self.reached {
            LadderStep::Guarded(guard) => guard.send_signal(signal),
            LadderStep::Child(child) => child.signal(signal.as_raw()),
        };
        if let Err(error) = sent {
            tracing::debug!(why = %error, ?signal, "a program's process group had ended before its signal");
        }
    }

    /// Ends the group: waits for it to end by itself, then TERM, then KILL. A wait of 0 is skipped
    /// together with what it waits for.
    pub(super) async fn end_group(&mut self, ladder: EndLadder) -> Option<ExitStatus> {
        for (wait_ms, next) in [(ladder.alone_ms, Signal::TERM), (ladder.term_ms, Signal::KILL)] {
            if wait_ms > 0 {
                let wait = Duration::from_millis(wait_ms);
                if let Ok(status) = tokio::time::timeout(wait, self.wait_for_exit()).await {
                    return status;
                }
            }
            if next == Signal::KILL || ladder.term_ms > 0 {
                self.signalled = true;
                self.send_signal(next);
            }
        }
        self.wait_for_exit().await
    }
}

impl Drop for ProgramGroup {
    fn drop(&mut self) {
        // The runtime reaps the zombie; this line makes sure that there is one.
        self.kill_what_is_left();
    }
}

/// How gently a group is ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndLadder {
    alone_ms: u64,
    term_ms: u64,
}

impl EndLadder {
    /// The steps at a drain: stdin is closed already, then time alone, TERM, time, KILL.
    pub(super) fn new_drain(pace: &CarrierWaits) -> EndLadder {
        EndLadder { alone_ms: pace.eof_ms, term_ms: pace.term_ms }
    }
    /// For a program whose answer is no longer wanted: TERM, time, KILL.
    pub(super) fn new_term(pace: &CarrierWaits) -> EndLadder {
        EndLadder { alone_ms: 0, term_ms: pace.term_ms }
    }
    /// For a program that closed a pipe: it may be about to exit, and its exit code is worth a short
    /// wait.
    pub(super) fn new_rest(pace: &CarrierWaits) -> EndLadder {
        EndLadder { alone_ms: pace.rest_ms, term_ms: 0 }
    }
    /// For a program that broke the protocol: KILL.
    pub(super) fn new_kill() -> EndLadder {
        EndLadder { alone_ms: 0, term_ms: 0 }
    }
}
