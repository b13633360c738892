//! `systole stop`: ends the organism of a folder, and waits until it has ended. It sends a signal only to a process
//! that holds the log's lock.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::json;

use super::exit::CommandExit;
use super::here;
use super::hindered;
use super::looking::alarms_of;
use super::place::Place;
use super::screen::Screen;
use crate::console::api_types::ApiAlarm;
use crate::edges::clock::WallClock;
use crate::edges::log::sqlite;
use crate::runtime::runfile::RunFile;
use crate::runtime::standing_by::StandbyStatus;
use systole_core::types::ports::Clock as _;

/// Seconds that an organism may take to stop. It waits five for replies, and then writes its log.
const PATIENCE: u32 = 30;
/// The same with `--now`, before it is killed.
const IMPATIENCE: u32 = 5;

/// Stops the organism of this folder.
///
/// Lets replies land for five seconds, as Ctrl-C in its terminal does, and returns when the organism has ended. Nothing
/// that was acknowledged is lost, and open work goes on at the next start.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole stop
  systole stop --now")]
pub(super) struct Stop {
    #[command(flatten)]
    place: Place,
    /// Do not wait for replies; kill it if it does not end
    #[arg(long)]
    now: bool,
}

/// The result for a process that was asked to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Ended,
    GoesOn,
}

impl Stop {
    pub(super) fn run(self) -> CommandExit {
        let screen = self.place.screen();
        self.whole(screen).unwrap_or_else(|exit| exit)
    }

    fn whole(&self, screen: Screen) -> Result<CommandExit, CommandExit> {
        let log = self.place.log(screen).inspect_err(|_| {
            screen.say("an organism can be stopped without that file: name its log with --log PATH");
        })?;
        let Some(pid) = holder(screen, &log)? else { return Ok(nothing_runs(screen, &log)) };
        let name = named(screen, &log, pid)?;
        // Afterwards there is none left to ask.
        let alarms = alarms_of(&log).unwrap_or_default();
        let alarms: Vec<ApiAlarm> = alarms.into_iter().filter(ApiAlarm::lasts).collect();
        let handle = Pid::from_raw(pid.cast_signed()).ok_or(Errno::SRCH);
        let handle = match handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            Ok(handle) => handle,
            Err(Errno::SRCH) => return Ok(stopped(screen, &log, (&name, pid), &alarms)),
            Err(error) => return Err(unsent(screen, pid, error)),
        };
        // The pid may have been reused since it was read; the handle cannot.
        if holder(screen, &log)? != Some(pid) {
            return Ok(stopped(screen, &log, (&name, pid), &alarms));
        }
        let ending = Ending { screen, name: &name, pid, handle };
        let told = if self.now { ending.at_once() } else { ending.gently() };
        match told? {
            Told::Ended => Ok(stopped(screen, &log, (&name, pid), &alarms)),
            Told::GoesOn => {
                let exit = screen
                    .fail(CommandExit::Unavailable, format!("{name} (process {pid}) has not ended in time"));
                screen.say(format!("  try: {} --now", self.place.command("stop")));
                Err(exit)
            }
        }
    }
}

/// The process that holds a log.
fn holder(screen: Screen, log: &Path) -> Result<Option<u32>, CommandExit> {
    sqlite::holder(log).map_err(|fault| here::log_fault(screen, &fault))
}

/// The name of what the process runs. A process that only answers a question is not ended by this command.
fn named(screen: Screen, log: &Path, pid: u32) -> Result<String, CommandExit> {
    if let Some(run) = RunFile::of(log).filter(|run| run.pid == pid) {
        return Ok(run.organism);
    }
    if StandbyStatus::of(log, pid).is_some() {
        return Ok("the pump that stands by".to_owned());
    }
    let words = format!(
        "process {pid} uses the log, but is not a running organism: it is starting, or it is another command"
    );
    let exit = screen.fail(CommandExit::Unavailable, words);
    screen.say("  try: the same in a moment, or end that command where it runs");
    Err(exit)
}

fn nothing_runs(screen: Screen, log: &Path) -> CommandExit {
    if screen.json {
        screen.value(&json!({"stopped": false}));
    } else {
        screen.say(format!("no organism runs on {}", log.display()));
    }
    CommandExit::Done
}

/// Reports the end, and what was wrong with its log until then.
fn stopped(screen: Screen, log: &Path, (name, pid): (&str, u32), alarms: &[ApiAlarm]) -> CommandExit {
    let is_unclosed = sqlite::condition(log).is_ok_and(|condition| condition.unclosed.is_some());
    if screen.json {
        screen.value(
            &json!({"stopped": true, "organism": name, "pid": pid, "alarms": alarms, "unclosed": is_unclosed}),
        );
        return CommandExit::Done;
    }
    screen.say(format!("{name} has stopped"));
    let now = WallClock.now();
    for alarm in alarms {
        screen.say(format!("note: until it stopped, {}", alarm.sentence(now)));
    }
    if !log.exists() {
        screen.say(format!(
            "note: {} is not there any more, and what it had is only in its backups",
            log.display()
        ));
    } else if !alarms.is_empty() {
        screen.say("  nothing that was acknowledged is lost; what was refused is to be sent again");
    }
    if is_unclosed {
        screen.say(format!("note: {} was not closed cleanly; the next start checks it", log.display()));
    }
    CommandExit::Done
}

fn unsent(screen: Screen, pid: u32, error: Errno) -> CommandExit {
    if error == Errno::PERM {
        let exit = screen.fail(CommandExit::Unavailable, format!("process {pid} belongs to another user"));
        screen.say("  try: the same as that user");
        return exit;
    }
    hindered::machine(screen, "the signal that stops the organism", &error.into())
}

/// A process to end.
struct Ending<'a> {
    screen: Screen,
    name: &'a str,
    pid: u32,
    handle: OwnedFd,
}

impl Ending<'_> {
    /// Lets it end normally. A process that was stopped has to run for that.
    fn gently(&self) -> Result<Told, CommandExit> {
        if self.send(Signal::TERM)? == Told::Ended || self.send(Signal::CONT)? == Told::Ended {
            return Ok(Told::Ended);
        }
        Ok(self.wait(PATIENCE))
    }

    /// A second signal makes it end at once. A process that ignores signals is killed.
    fn at_once(&self) -> Result<Told, CommandExit> {
        for _ in 0..IMPATIENCE * 5 {
            if self.send(Signal::TERM)? == Told::Ended || self.is_over(Duration::from_millis(200)) {
                return Ok(Told::Ended);
            }
        }
        self.send(Signal::KILL)?;
        Ok(self.wait(IMPATIENCE))
    }

    fn send(&self, signal: Signal) -> Result<Told, CommandExit> {
        match pidfd_send_signal(&self.handle, signal) {
            Ok(()) => Ok(Told::GoesOn),
            Err(Errno::SRCH) => Ok(Told::Ended),
            Err(error) => Err(unsent(self.screen, self.pid, error)),
        }
    }

    /// Waits that many seconds for its end, and shows that it waits.
    fn wait(&self, seconds: u32) -> Told {
        for second in 1..=seconds {
            if self.is_over(Duration::from_secs(1)) {
                self.screen.progress("");
                return Told::Ended;
            }
            self.screen.progress(&format!("{} stops, {second} s", self.name));
        }
        self.screen.progress("");
        Told::GoesOn
    }

    /// Whether it has ended, after at most that long.
    fn is_over(&self, within: Duration) -> bool {
        let mut watched = [PollFd::new(&self.handle, PollFlags::IN)];
        let within = Timespec::try_from(within).ok();
        poll(&mut watched, within.as_ref()).is_ok_and(|ready| ready > 0)
    }
}
