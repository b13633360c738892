//! A program that someone else tends: started as an organism starts it, in its sandbox and under its warden, with its
//! pipes handed out. It never reads or writes what the program says. In: a `ListenerProgram`. Out: pipes, signals, and
//! how the program ended. A drop ends the program with everything it started.

use std::process::ExitStatus;

use rustix::process::Signal;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::program::{self, ProgramBadge, ProgramGroup};
use super::try_start::explain_start;
use super::variables::InheritedVariables;
use super::warden_link::SpareWardens;
use systole_core::types::composition::ListenerProgram;
use systole_core::types::ids::Name;

/// The three pipes of a program.
pub type JudgedPipes = (ChildStdin, ChildStdout, ChildStderr);

/// A running program without a carrier.
#[derive(Debug)]
pub struct JudgedProgram {
    group: ProgramGroup,
}

impl JudgedProgram {
    /// Starts a program under the names of an organism and a listener.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub async fn start(
        program: &ListenerProgram,
        (organism, listener): (&Name, &Name),
        around: &InheritedVariables,
    ) -> Result<(JudgedProgram, JudgedPipes), String> {
        let badge = ProgramBadge { organism: organism.clone(), listener: listener.clone() };
        if let Some(words) = program::find_missing(program, &badge, around) {
            return Err(words);
        }
        let started =
            explain_start(program::start_program(program, &badge, around, &SpareWardens::default()).await)?;
        let pipes = (started.stdin, started.stdout, started.stderr);
        Ok((JudgedProgram { group: started.group }, pipes))
    }

    /// Sends TERM to its process group.
    pub fn send_term(&self) {
        self.group.send_signal(Signal::TERM);
    }

    /// Sends KILL to its process group.
    pub fn send_kill(&self) {
        self.group.send_signal(Signal::KILL);
    }

    /// Waits until the program has exited; what it started is killed then. May be dropped while it waits.
    pub async fn wait_for_exit(&mut self) -> Option<ExitStatus> {
        self.group.wait_for_exit().await
    }
}
