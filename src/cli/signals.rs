//! The signals that end a command: Ctrl-C and TERM, and for a server also the hangup of its terminal.

use std::fs;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::CommandExit;
use super::screen::Screen;
use super::system_faults;

/// The signals that end us.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
    /// The hangup of a server that no terminal controls: it asks for a reload.
    reload: Option<Signal>,
}

/// What a signal asks of a server.
pub(super) enum SignalledWish {
    /// To stop, with the exit for it if all goes well.
    Stop(CommandExit),
    /// To take the organism's file again.
    Reload,
}

impl Signals {
    /// Listens for Ctrl-C and TERM.
    pub(super) fn listen(screen: Screen) -> Result<Signals, CommandExit> {
        Ok(Signals {
            interrupt: hear_signal(screen, SignalKind::interrupt())?,
            terminate: hear_signal(screen, SignalKind::terminate())?,
            hangup: None,
            reload: None,
        })
    }

    /// The same for a server: it also stops when its terminal is closed. If it was started with that signal ignored,
    /// as `nohup` does, it goes on ignoring it.
    pub(super) fn listen_as_server(screen: Screen) -> Result<Signals, CommandExit> {
        let hangup =
            if is_ignored(Number::HUP) { None } else { Some(hear_signal(screen, SignalKind::hangup())?) };
        Ok(Signals { hangup, ..Signals::listen(screen)? })
    }

    /// Without a terminal that could be closed, a hangup asks for a reload from now on.
    pub(super) fn reload_on_hangup(&mut self) {
        if fs::File::open("/dev/tty").is_err() {
            self.reload = self.hangup.take();
        }
    }

    /// The next signal to stop, as the exit for it if all goes well.
    pub(super) async fn next(&mut self) -> CommandExit {
        loop {
            if let SignalledWish::Stop(exit) = self.next_wish().await {
                return exit;
            }
        }
    }

    /// What the next signal asks for.
    pub(super) async fn next_wish(&mut self) -> SignalledWish {
        tokio::select! {
            _ = self.interrupt.recv() => SignalledWish::Stop(CommandExit::Stopped),
            _ = self.terminate.recv() => SignalledWish::Stop(CommandExit::Done),
            () = wait_for_hangup(&mut self.hangup) => SignalledWish::Stop(CommandExit::Done),
            () = wait_for_signal(&mut self.reload) => SignalledWish::Reload,
        }
    }
}

fn hear_signal(screen: Screen, kind: SignalKind) -> Result<Signal, CommandExit> {
    signal(kind)
        .map_err(|error| system_faults::report_missing(screen, "the signals that stop a command", &error))
}

/// Waits for the first hangup only: the kernel and the shell each send one when a terminal closes, and the second one
/// does not mean "stop at once". Later ones have no effect, because the process keeps its handler.
async fn wait_for_hangup(hangup: &mut Option<Signal>) {
    wait_for_signal(hangup).await;
    *hangup = None;
}

async fn wait_for_signal(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    };
}

/// Whether this process ignores a signal. If the system does not say, the signal is left as it is.
pub(super) fn is_ignored(number: Number) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & (1 << (number.as_raw() - 1)) != 0)
}
