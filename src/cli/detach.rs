//! `systole run --detach`: the organism in the background, in its own session, with its output in a file. It returns
//! when the organism can be reached, or when it has failed, with its reason and its exit.
//!
//! It starts this program again and watches it; the organism itself knows nothing of it.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::exit::CommandExit;
use super::local_organism;
use super::place::{Place, quote_path};
use super::screen::Screen;
use super::signals::Signals;
use super::system_faults;
use systole_client::client::DoorClient;
use systole_core::types::ports::LogFault;
use systole_log::sqlite;
use systole_organism::runfile::RunFile;
use systole_organism::standing_by::StandbyStatus;

/// The argument with which this program leaves its terminal. It is on no help page: people use `--detach`.
pub(super) const WORD: &str = "-leave-terminal";

/// Begins a new session, so that neither Ctrl-C nor a closed terminal reaches this process.
pub(super) fn leave_the_terminal() {
    // It fails only for the leader of a group, and a process started by `--detach` is not one.
    let _leads_already = rustix::process::setsid();
}

/// Starts the organism in the background.
pub(super) fn run_detached(screen: Screen, place: &Place) -> Result<CommandExit, CommandExit> {
    local_organism::with_runtime(screen, start_detached(screen, place))
}

async fn start_detached(screen: Screen, place: &Place) -> Result<CommandExit, CommandExit> {
    let mut signals = Signals::listen(screen)?;
    let log = place.log(screen)?;
    if let Some(pid) =
        sqlite::find_holder(&log).map_err(|fault| local_organism::report_log_fault(screen, &fault))?
    {
        return Err(local_organism::report_log_fault(
            screen,
            &LogFault::InUse { path: log.display().to_string(), pid },
        ));
    }
    let [output, before] = RunFile::list_outputs(&log);
    let file = create_output(&output, &before).map_err(|error| {
        system_faults::report_unwritten(screen, &output, "the output of the organism", &error)
    })?;
    let mut child = spawn_child(file)
        .map_err(|error| system_faults::report_missing(screen, "another process of this program", &error))?;
    let background = DetachedOrganism { screen, place, log, output };
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Err(background.report_failure(status)),
            Ok(None) => {}
            Err(error) => return Err(system_faults::report_missing(screen, "how the organism does", &error)),
        }
        if background.is_told(child.id()) {
            return Ok(CommandExit::Done);
        }
        tokio::select! {
            () = tokio::time::sleep(crate::limits::START_LOOK) => {}
            exit = signals.next() => {
                end_child(&mut child);
                screen.say("the organism is stopped again");
                return Err(exit);
            }
        }
    }
}

/// An empty file that only its owner may read, because the output may have payloads. The previous file is kept beside
/// it.
fn create_output(output: &Path, before: &Path) -> std::io::Result<File> {
    match fs::rename(output, before) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options().append(true).create_new(true).mode(0o600).open(output)
}

/// Starts the same command without `--detach`.
fn spawn_child(output: File) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(WORD).args(std::env::args_os().skip(1).filter(|argument| argument != "--detach"));
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).spawn()
}

/// Stops the started process, and waits until it has ended.
fn end_child(child: &mut Child) {
    // If it has already ended, that is fine.
    let _ended = kill_process(Pid::from_child(child), Signal::TERM);
    let _status = child.wait();
}

/// An organism that was started in the background.
struct DetachedOrganism<'a> {
    screen: Screen,
    place: &'a Place,
    log: PathBuf,
    output: PathBuf,
}

impl DetachedOrganism<'_> {
    /// Reports that it runs, once it can be reached or stands by.
    fn is_told(&self, pid: u32) -> bool {
        let run = RunFile::find_running(&self.log).filter(|run| run.pid == pid);
        let reached = run.filter(|run| matches!(DoorClient::from_run_file(run).read_status(), Ok(Ok(_))));
        let by = StandbyStatus::read_note(&self.log, pid);
        let words = match (&reached, &by) {
            (Some(run), _) => format!("{} runs in the background as process {pid}", run.organism),
            (None, Some(by)) => {
                format!("process {pid} stands by in the background: {} has the log", by.leader)
            }
            (None, None) => return false,
        };
        let address = reached.as_ref().map(|run| run.address.to_string());
        if self.screen.json {
            self.screen.show_value(&json!({
                "organism": reached.map(|run| run.organism),
                "pid": pid,
                "listen": address,
                "log": self.log,
                "output": self.output,
            }));
            return true;
        }
        self.before_the_start().iter().for_each(|line| self.screen.say_drawn(line));
        self.screen.say(words);
        if let Some(address) = address {
            self.screen.say(format!("it listens on http://{address}"));
        }
        self.screen.say(format!("follow it with: {} --follow", self.place.command("log")));
        self.screen.say(format!("stop it with:   {}", self.place.command("stop")));
        self.screen.say(format!("its output is in {}", quote_path(&self.output)));
        true
    }

    /// Its output before it ran: warnings, and notes about the log. It has already made that visible.
    fn before_the_start(&self) -> Vec<String> {
        let said = fs::read_to_string(&self.output).unwrap_or_default();
        said.lines().take_while(|line| !line.contains(" runs as process ")).map(str::to_owned).collect()
    }

    /// Reports why it ended, in its own words, and returns its exit.
    fn report_failure(&self, status: ExitStatus) -> CommandExit {
        self.before_the_start().iter().for_each(|line| self.screen.say_drawn(line));
        let exit = status.code().and_then(CommandExit::from_code).filter(|exit| *exit != CommandExit::Done);
        exit.unwrap_or_else(|| {
            self.screen.fail(CommandExit::Unavailable, format!("the organism ended: {status}"))
        })
    }
}
