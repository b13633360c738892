//! Long output on a terminal goes through a pager: the one in `PAGER`, otherwise `less`.
//!
//! Stdout and stderr of this process become the pager's input until it is dropped, so commands print as usual. If
//! there is no pager, they print on the terminal.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::stdio;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whether a pager has stdout.
static RUNS: AtomicBool = AtomicBool::new(false);
/// The pager if `PAGER` names none. With `LESS=FRX` it ends by itself if everything fits, shows colours and leaves
/// the text on the screen.
const DEFAULT: &str = "less";

/// Whether stdout is a pager's input, and so for a terminal.
pub fn is_running() -> bool {
    RUNS.load(Ordering::Relaxed)
}

/// A pager for our output. Dropping it waits for its end.
pub struct Pager {
    child: Child,
    /// The original stderr.
    talk: OwnedFd,
    /// Takes the rest of our buffers if the pager ended first.
    nowhere: File,
    /// While it runs, Ctrl-C goes only to the pager.
    _deaf: Option<IgnoredInterrupts>,
}

/// Keeps Ctrl-C from ending this process.
struct IgnoredInterrupts {
    _runtime: tokio::runtime::Runtime,
    _signal: Signal,
}

impl Pager {
    /// Starts a pager if output goes to a terminal and a pager is installed.
    pub fn start() -> Option<Pager> {
        if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
            return None;
        }
        let named = std::env::var("PAGER").unwrap_or_else(|_| DEFAULT.to_owned());
        if matches!(named.trim(), "" | "cat") || !is_there(&named) {
            return None;
        }
        let talk = rustix::io::fcntl_dupfd_cloexec(io::stderr(), 3).ok()?;
        let nowhere = File::options().write(true).open("/dev/null").ok()?;
        let mut pager = Command::new("sh");
        pager.args(["-c", &named]).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            pager.env("LESS", "FRX");
        }
        let mut child = pager.spawn().ok()?;
        let input = OwnedFd::from(child.stdin.take()?);
        let talks = io::stderr().is_terminal();
        let _swapped = stdio::dup2_stdout(&input).and_then(|()| match talks {
            true => stdio::dup2_stderr(&input),
            false => Ok(()),
        });
        RUNS.store(true, Ordering::Relaxed);
        Some(Pager { child, talk, nowhere, _deaf: hold_interrupts() })
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // When our ends of the pipe are closed, the pager knows that the output is complete.
        let _closed = stdio::dup2_stdout(&self.nowhere);
        let _back = stdio::dup2_stderr(&self.talk);
        let _ended = self.child.wait();
        RUNS.store(false, Ordering::Relaxed);
    }
}

/// Whether the program of a command line is installed.
fn is_there(command: &str) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    let found = Command::new("sh").args(["-c", "command -v -- \"$0\" >/dev/null 2>&1", program]).status();
    found.is_ok_and(|found| found.success())
}

fn hold_interrupts() -> Option<IgnoredInterrupts> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let entered = runtime.enter();
    let heard = signal(SignalKind::interrupt()).ok()?;
    drop(entered);
    Some(IgnoredInterrupts { _runtime: runtime, _signal: heard })
}
