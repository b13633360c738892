//! Keeps a server alive: starts it, reads what it says, starts it again after a pause when it dies, and ends it when
//! it is no longer wanted. It reports events, and never waits for a reader that takes none.
//!
//! All of it runs on one separate thread. The server's life depends on the thread that started it, so that thread
//! lives as long as the server may.

use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::folder::BrokerFolder;
use super::start_fault::BrokerStartFault;
use super::violation::{self, KnownParty};
use super::{ServerProgram, warden};
use crate::limits;
use systole_core::types::codes::Code;
use systole_system::system;
use systole_system::tally::{BrokerReporter, EventTally, TalliedEvent};

/// A request to the keeper. If no sender is left, the keeper ends.
pub(super) enum KeeperOrder {
    /// Report what was counted.
    Settle(oneshot::Sender<()>),
}

/// The caller that waits until the server is ready.
pub(super) type StartWaiter = oneshot::Sender<Result<(), BrokerStartFault>>;

pub(super) struct ServerKeeper {
    server: ServerProgram,
    lock: PathBuf,
    configuration: PathBuf,
    known: Vec<KnownParty>,
    tally: EventTally,
    tell: BrokerReporter,
}

/// How a life of the server ended.
enum ServerEnd {
    /// We ended it.
    Stopped,
    /// By itself, or killed by someone else.
    Died { words: String, was_ready: bool },
}

impl ServerKeeper {
    pub(super) fn new(
        server: ServerProgram,
        folder: &BrokerFolder,
        known: Vec<KnownParty>,
        tell: BrokerReporter,
    ) -> ServerKeeper {
        let (lock, configuration) = (folder.lock(), folder.configuration());
        ServerKeeper { server, lock, configuration, known, tally: EventTally::default(), tell }
    }

    /// Keeps the server until it is no longer wanted. If the server does not become ready at first, it is not tried
    /// again.
    pub(super) async fn keep_running(mut self, waits: StartWaiter, mut orders: mpsc::Receiver<KeeperOrder>) {
        let (mut waits, mut deaths) = (Some(waits), 0);
        loop {
            let began = Instant::now();
            let (words, was_ready) = match self.run_once(&mut waits, &mut orders).await {
                ServerEnd::Stopped => return,
                ServerEnd::Died { words, was_ready } => (words, was_ready),
            };
            if let Some(waits) = waits.take() {
                // If the organism is already stopped, no one waits.
                let _gone = waits.send(Err(BrokerStartFault::Ended(words)));
                return;
            }
            deaths = if was_ready && began.elapsed() >= limits::READY { 1_u32 } else { deaths + 1 };
            let what = "the broker of this organism died, and is started again".to_owned();
            self.tally.count_event(TalliedEvent { code: Code::BusDown, what, example: format!(": {words}") });
            if self.pause_start(deaths, &mut orders).await.is_break() {
                return;
            }
        }
    }

    async fn pause_start(
        &mut self,
        deaths: u32,
        orders: &mut mpsc::Receiver<KeeperOrder>,
    ) -> std::ops::ControlFlow<()> {
        let doubled = limits::DEATH_PAUSE.saturating_mul(1 << deaths.saturating_sub(1).min(16));
        let mut over = pin!(tokio::time::sleep(doubled.min(limits::DEATH_LONGEST_PAUSE)));
        loop {
            self.report_due();
            tokio::select! {
                () = &mut over => return std::ops::ControlFlow::Continue(()),
                order = orders.recv() => match order {
                    Some(order) => self.follow_order(order),
                    None => return std::ops::ControlFlow::Break(()),
                },
            }
        }
    }

    fn start_server(&self) -> std::io::Result<(Child, ChildStderr)> {
        let mut command = Command::new(&self.server.warden);
        command.arg(warden::WORD).arg(std::process::id().to_string()).arg(&self.lock);
        command.arg(&self.server.path).arg("-c").arg(&self.configuration);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // A separate group: signals from a terminal to us must not reach it.
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let stderr = child.stderr.take().ok_or_else(|| std::io::Error::other("the system gave no pipe"))?;
        Ok((child, stderr))
    }

    /// One life of the server, from its start to its end.
    async fn run_once(
        &mut self,
        waits: &mut Option<StartWaiter>,
        orders: &mut mpsc::Receiver<KeeperOrder>,
    ) -> ServerEnd {
        let (mut child, stderr) = match self.start_server() {
            Ok(started) => started,
            Err(error) => return ServerEnd::Died { words: system::describe_error(&error), was_ready: false },
        };
        let (mut lines, mut look) =
            (BufReader::new(stderr).split(b'\n'), tokio::time::interval(systole_system::limits::TALLY_LOOK));
        let (mut was_ready, mut last) = (false, None::<String>);
        loop {
            tokio::select! {
                line = lines.next_segment() => {
                    let Ok(Some(line)) = line else { break };
                    let line = String::from_utf8_lossy(&line);
                    if line.contains("[INF] Server is ready") {
                        was_ready = true;
                        if let Some(waits) = waits.take() {
                            // A caller that no longer waits drops the orders as well.
                            let _gone = waits.send(Ok(()));
                        }
                    } else if let Some(event) = violation::read_violation(&line, &self.known) {
                        self.tally.count_event(event);
                        self.report_due();
                    } else if last.is_none() {
                        last = find_fatal(&line);
                    }
                }
                _ = look.tick() => self.report_due(),
                order = orders.recv() => match order {
                    Some(order) => self.follow_order(order),
                    None => {
                        end_server(&mut child).await;
                        return ServerEnd::Stopped;
                    }
                },
            }
        }
        // It says nothing more, so it has ended or is about to.
        let status = match tokio::time::timeout(limits::END, child.wait()).await {
            Ok(status) => status.ok(),
            Err(_) => end_server(&mut child).await,
        };
        let how = describe_end(status);
        let words = last.map_or_else(|| how.clone(), |last| format!("{how}; it said: {last}"));
        ServerEnd::Died { words, was_ready }
    }

    fn follow_order(&mut self, order: KeeperOrder) {
        let KeeperOrder::Settle(settled) = order;
        self.tally.report_events(Instant::now(), true, &*self.tell);
        // A caller that left does not wait.
        let _gone = settled.send(());
    }

    fn report_due(&mut self) {
        self.tally.report_events(Instant::now(), false, &*self.tell);
    }
}

/// Ends it: TERM, time, KILL.
async fn end_server(child: &mut Child) -> Option<ExitStatus> {
    // The kernel reuses a process id only after the child was waited for, and then there is no id here.
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid
        && let Err(error) = kill_process(pid, Signal::TERM)
    {
        tracing::debug!(why = %error, "the broker had ended before it got its signal");
    }
    if let Ok(status) = tokio::time::timeout(limits::END, child.wait()).await {
        return status.ok();
    }
    if let Err(error) = child.start_kill() {
        tracing::debug!(why = %error, "the broker had ended before it was killed");
    }
    child.wait().await.ok()
}

fn describe_end(status: Option<ExitStatus>) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => format!("it exited {code}"),
        Some((None, Some(signal))) => format!("it was killed by signal {signal}"),
        _ => "it ended in a way that the system does not report".to_owned(),
    }
}

/// Why the server cannot continue, read from a line: a fatal line, or one that is not from its log. Other lines are
/// not repeated, since clients can influence them.
fn find_fatal(line: &str) -> Option<String> {
    let words = match line.split_once(" [FTL] ") {
        Some((_, words)) => words,
        None if line.starts_with('[') => return None,
        None => line,
    };
    let shown: String = words.trim().chars().filter(|c| !c.is_control()).take(limits::REPEATED).collect();
    (!shown.is_empty()).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_client_has_a_say_in_is_repeated() {
        let begin = "[7] 2026/11/21 03:23:28.443966 ";
        let fatal = |words: &str| find_fatal(&[begin, words].concat());
        assert_eq!(fatal("[ERR] 127.0.0.1:1 - cid:9 - authentication error - User \"sesame\""), None);
        assert_eq!(fatal("[INF] Server is ready"), None);
        assert_eq!(fatal("[FTL] Error listening on port: 1").as_deref(), Some("Error listening on port: 1"));
        assert_eq!(super::find_fatal("panic: out of memory").as_deref(), Some("panic: out of memory"));
    }
}
