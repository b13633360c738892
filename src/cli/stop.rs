//! `systole stop`: ends the organism of a folder, and waits until it has ended. It sends a signal only to a process
//! that holds the log's lock.

use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::json;

use super::exit::CommandExit;
use super::local_organism;
use super::looking::read_alarms;
use super::place::Place;
use super::screen::Screen;
use super::send::parse_duration;
use super::system_faults;
use crate::limits::{GRACE, STOP_SECONDS};
use systole_api::types::ApiAlarm;
use systole_core::rules::shutdown_payload;
use systole_core::types::ids::Name;
use systole_core::types::ports::{Clock as _, LogReader as _, Position};
use systole_log::sqlite;
use systole_organism::runfile::RunFile;
use systole_organism::standing_by::StandbyStatus;
use systole_system::clock::WallClock;

/// The bounds of `--drain`.
const DRAINS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

/// Stops the organism of this folder.
///
/// Lets replies land for five seconds, as Ctrl-C in its terminal does, and returns when the organism has ended. Nothing
/// that was acknowledged is lost, and open work goes on at the next start. Workers over NATS go on working; `--drain`
/// waits for them too.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole stop
  systole stop --drain 60s
  systole stop --now")]
pub(super) struct StopCommand {
    #[command(flatten)]
    place: Place,
    /// Do not wait for replies; kill it if it does not end
    #[arg(long, conflicts_with = "drain")]
    now: bool,
    /// Wait so long at most for what is out, also over NATS
    #[arg(long, value_name = "TIME", value_parser = drain_time)]
    drain: Option<Duration>,
}

/// Reads how long to wait for what is out.
fn drain_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|words| format!("{words}, as in 60s"))?;
    if DRAINS.contains(&time) { Ok(time) } else { Err("from 1s to 1h, as in 60s".to_owned()) }
}

/// The result for a process that was asked to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopOutcome {
    Ended,
    GoesOn,
}

impl StopCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let log = self.place.log(screen).inspect_err(|_| {
            screen.say("an organism can be stopped without that file: name its log with --log PATH");
        })?;
        let Some(pid) = find_holder(screen, &log)? else { return Ok(report_nothing_runs(screen, &log)) };
        let run = RunFile::find_holder(&log).filter(|run| run.pid == pid);
        let name = name_of(screen, &log, pid, run.as_ref())?;
        let drains = self.drain.filter(|_| run.is_some());
        // Afterwards there is none left to ask.
        let alarms = read_alarms(&log).unwrap_or_default();
        let alarms: Vec<ApiAlarm> = alarms.into_iter().filter(ApiAlarm::lasts).collect();
        let handle = Pid::from_raw(pid.cast_signed()).ok_or(Errno::SRCH);
        let handle = match handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            Ok(handle) => handle,
            Err(Errno::SRCH) => return Ok(report_end(screen, &log, (&name, pid), &alarms, drains)),
            Err(error) => return Err(report_unsent(screen, pid, error)),
        };
        // The pid may have been reused since it was read; the handle cannot.
        if find_holder(screen, &log)? != Some(pid) {
            return Ok(report_end(screen, &log, (&name, pid), &alarms, drains));
        }
        if let Some(run) = run.filter(|run| drains.is_some() || run.drain_ms.is_some()) {
            let path = RunFile::find_path(&log);
            run.set_drain(&log, drains).map_err(|error| {
                system_faults::report_unwritten(screen, &path, "how long it may wait", &error)
            })?;
        }
        let ending = EndingProcess { screen, name: &name, pid, handle };
        let drain_seconds = drains.map_or(0, |time| time.as_secs());
        let told = if self.now { ending.at_once() } else { ending.stop_gently(drain_seconds + STOP_SECONDS) };
        match told? {
            StopOutcome::Ended => Ok(report_end(screen, &log, (&name, pid), &alarms, drains)),
            StopOutcome::GoesOn => Err(screen.fail_with(
                CommandExit::Unavailable,
                format!("{name} (process {pid}) has not ended in time"),
                format!("{} --now", self.place.command("stop")),
            )),
        }
    }
}

/// The process that holds a log, or is about to start its organism again.
fn find_holder(screen: Screen, log: &Path) -> Result<Option<u32>, CommandExit> {
    let holder =
        sqlite::find_holder(log).map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
    Ok(holder.or_else(|| RunFile::find_holder(log).map(|run| run.pid)))
}

/// The name of what the process runs. A process that only answers a question is not ended by this command.
fn name_of(screen: Screen, log: &Path, pid: u32, run: Option<&RunFile>) -> Result<String, CommandExit> {
    if let Some(run) = run {
        return Ok(run.organism.clone());
    }
    if StandbyStatus::read_note(log, pid).is_some() {
        return Ok("the pump that stands by".to_owned());
    }
    let words = format!(
        "process {pid} uses the log, but is not a running organism: it is starting, or it is another command"
    );
    let fix = "the same in a moment, or end that command where it runs";
    Err(screen.fail_with(CommandExit::Unavailable, words, fix))
}

fn report_nothing_runs(screen: Screen, log: &Path) -> CommandExit {
    if screen.json {
        screen.show_value(&json!({"stopped": false}));
    } else {
        screen.say(format!("no organism runs on {}", log.display()));
    }
    CommandExit::Done
}

/// Reports the end, what was wrong with its log until then, and what is still out if it waited for that.
fn report_end(
    screen: Screen,
    log: &Path,
    (name, pid): (&str, u32),
    alarms: &[ApiAlarm],
    drains: Option<Duration>,
) -> CommandExit {
    let is_unclosed = sqlite::read_condition(log).is_ok_and(|condition| condition.unclosed.is_some());
    let left = drains.map(|_| find_left_out(log));
    if screen.json {
        let mut value =
            json!({"stopped": true, "organism": name, "pid": pid, "alarms": alarms, "unclosed": is_unclosed});
        if let (Some(left), Some(fields)) = (left, value.as_object_mut()) {
            let (is_drained, out) = left.unzip();
            fields.insert("drained".to_owned(), is_drained.unwrap_or(false).into());
            fields.insert("out".to_owned(), out.into());
        }
        screen.show_value(&value);
        return CommandExit::Done;
    }
    screen.say(format!("{name} has stopped"));
    if let Some(left) = left {
        describe_left(left).into_iter().for_each(|words| screen.say(words));
    }
    let now = WallClock.now();
    for alarm in alarms {
        screen.say(format!("note: until it stopped, {}", alarm.sentence(now)));
    }
    if !log.exists() {
        screen.say(format!(
            "note: {} is not there any more, and what it had is only in its backups",
            log.display()
        ));
    } else if alarms.iter().any(|alarm| alarm.follower.is_none()) {
        screen.say("  nothing that was acknowledged is lost; what was refused is to be sent again");
    }
    if is_unclosed {
        screen.say(format!("note: {} was not closed cleanly; the next start checks it", log.display()));
    }
    CommandExit::Done
}

/// Whether nothing was out on this machine when the organism ended, and how many deliveries the broker or workers may
/// have. `None` if the log does not end with a stop.
fn find_left_out(log: &Path) -> Option<(bool, u64)> {
    let reader = sqlite::open_reading(log).ok()?;
    let before = Position(reader.read_last().ok()?.0.checked_sub(1)?);
    let (_, record) = reader.read_after(before, 1).ok()?.pop()?;
    let said = shutdown_payload::read_shutdown(&record.body);
    said.filter(|_| record.header.from == Name::new_core()).map(|said| (said.is_drained, said.out))
}

fn describe_left(left: Option<(bool, u64)>) -> Vec<String> {
    let Some((is_drained, out)) = left else {
        let words = "note: it is not known what is still out: the stop was cut short, or it runs again";
        return vec![words.to_owned()];
    };
    let with_workers = match out {
        0 => is_drained.then(|| "nothing is out".to_owned()),
        1 => Some("1 delivery is still with the broker or a worker; it goes on at the next start".to_owned()),
        _ => Some(format!(
            "{out} deliveries are still with the broker or workers; they go on at the next start"
        )),
    };
    let words = "note: work on this machine was cut short; it is tried again at the next start";
    with_workers.into_iter().chain((!is_drained).then(|| words.to_owned())).collect()
}

fn report_unsent(screen: Screen, pid: u32, error: Errno) -> CommandExit {
    if error == Errno::PERM {
        let words = format!("process {pid} belongs to another user");
        return screen.fail_with(CommandExit::Unavailable, words, "the same as that user");
    }
    system_faults::report_missing(screen, "the signal that stops the organism", &error.into())
}

/// A process to end.
struct EndingProcess<'a> {
    screen: Screen,
    name: &'a str,
    pid: u32,
    handle: OwnedFd,
}

impl EndingProcess<'_> {
    /// Lets it end normally, within that many seconds. A process that was stopped has to run for that.
    fn stop_gently(&self, seconds: u64) -> Result<StopOutcome, CommandExit> {
        if self.send_signal(Signal::TERM)? == StopOutcome::Ended
            || self.send_signal(Signal::CONT)? == StopOutcome::Ended
        {
            return Ok(StopOutcome::Ended);
        }
        Ok(self.wait_for_end(seconds))
    }

    /// A second signal makes it end at once. A process that ignores signals is killed.
    fn at_once(&self) -> Result<StopOutcome, CommandExit> {
        for _ in 0..GRACE.as_secs() * 5 {
            if self.send_signal(Signal::TERM)? == StopOutcome::Ended
                || self.is_over(Duration::from_millis(200))
            {
                return Ok(StopOutcome::Ended);
            }
        }
        self.send_signal(Signal::KILL)?;
        Ok(self.wait_for_end(GRACE.as_secs()))
    }

    fn send_signal(&self, signal: Signal) -> Result<StopOutcome, CommandExit> {
        match pidfd_send_signal(&self.handle, signal) {
            Ok(()) => Ok(StopOutcome::GoesOn),
            Err(Errno::SRCH) => Ok(StopOutcome::Ended),
            Err(error) => Err(report_unsent(self.screen, self.pid, error)),
        }
    }

    /// Waits that many seconds for its end, and shows that it waits.
    fn wait_for_end(&self, seconds: u64) -> StopOutcome {
        for second in 1..=seconds {
            if self.is_over(Duration::from_secs(1)) {
                self.screen.show_progress("");
                return StopOutcome::Ended;
            }
            self.screen.show_progress(&format!("{} stops, {second} s", self.name));
        }
        self.screen.show_progress("");
        StopOutcome::GoesOn
    }

    /// Whether it has ended, after at most that long.
    fn is_over(&self, within: Duration) -> bool {
        let mut watched = [PollFd::new(&self.handle, PollFlags::IN)];
        let within = Timespec::try_from(within).ok();
        poll(&mut watched, within.as_ref()).is_ok_and(|ready| ready > 0)
    }
}
