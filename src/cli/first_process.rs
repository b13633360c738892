//! Process 1 of a container: every process whose parent has ended becomes its child, and only its wait takes their ends.
//!
//! The rest of this program waits only for processes that it started itself. So a `systole` that is process 1 starts
//! itself again, and from then on only passes signals on and takes ends. It ends with the other one, and the container
//! ends with it.

use std::io::IsTerminal as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};
use rustix::stdio::stdin;
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use super::signals;

/// The exit of a process that a signal ended is this plus the signal's number, as in a shell.
const SIGNALLED: i32 = 128;

/// Stands in as process 1. `None` if this process is not that one, or cannot start itself again: then it goes on alone.
pub(super) fn stand_in() -> Option<ExitCode> {
    if getpid() != Pid::INIT {
        return None;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().ok()?;
    runtime.block_on(async {
        let mut signals = PassedSignals::take_over().ok()?;
        let other = start_again()?;
        loop {
            if let Some(code) = reap_ended(other) {
                return Some(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)));
            }
            if let Some(signal) = signals.next_signal().await {
                // It has not been waited for, so the number is still its own.
                let _ended = kill_process(other, signal);
            }
        }
    })
}

/// Starts this program again with the same arguments. It gets a process group of its own and the terminal, so that
/// Ctrl-C reaches it once.
fn start_again() -> Option<Pid> {
    let mut arguments = std::env::args_os();
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.arg0(arguments.next()?).args(arguments).process_group(0);
    let other = Pid::from_child(&command.spawn().ok()?);
    if std::io::stdin().is_terminal() && tcgetpgrp(stdin()).is_ok_and(Pid::is_init) {
        let _no_terminal = tcsetpgrp(stdin(), other);
        // It may have read from the terminal before it had it, which stops a process.
        let _ended = kill_process(other, Signal::CONT);
    }
    Some(other)
}

/// Takes the ends of all processes that have ended. Returns the exit of the other process.
fn reap_ended(other: Pid) -> Option<i32> {
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
        if pid != other {
            continue;
        }
        if status.stopped() {
            // There is no shell that could continue it.
            let _ended = kill_process(other, Signal::CONT);
            continue;
        }
        let signalled = status.terminating_signal().map(|signal| SIGNALLED + signal);
        return status.exit_status().or(signalled).or(Some(SIGNALLED));
    }
    None
}

/// The signals that are for the other process, and the one that says that a child has ended.
struct PassedSignals {
    children: Signals,
    terminate: Signals,
    interrupt: Signals,
    quit: Signals,
    hangup: Option<Signals>,
}

impl PassedSignals {
    fn take_over() -> std::io::Result<PassedSignals> {
        // A hangup that is ignored, as under `nohup`, stays ignored for the other process too.
        let is_taken = !signals::is_ignored(Signal::HUP);
        Ok(PassedSignals {
            children: signal(SignalKind::child())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            hangup: is_taken.then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    /// The next one to pass on. `None` if a child has ended.
    async fn next_signal(&mut self) -> Option<Signal> {
        tokio::select! {
            _ = self.children.recv() => None,
            _ = self.terminate.recv() => Some(Signal::TERM),
            _ = self.interrupt.recv() => Some(Signal::INT),
            _ = self.quit.recv() => Some(Signal::QUIT),
            () = hear_hangup(&mut self.hangup) => Some(Signal::HUP),
        }
    }
}

async fn hear_hangup(hangup: &mut Option<Signals>) {
    match hangup {
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
    }
}
