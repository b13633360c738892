//! One life of an organism: `systole run` as a separate process, from its start to its death.
//!
//! Its stdout is the only signal: the first line says that it runs, and its end is the end of the
//! process, so no polling is needed. Its stderr goes to a file.

use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::house::RunFolder;
use systole_system::failpoint;

/// Longer than any start or stop takes, even on a very busy machine. A process that needs more is
/// hung.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// Most bytes of its last words to show.
const LAST_WORDS_BYTES: u64 = 2_000;

/// Settings for a life before it begins.
#[derive(Clone, Default, Debug)]
pub struct LifeSettings {
    /// The failpoint at which it dies.
    pub failpoint: Option<String>,
    /// A program that runs it and interferes with its system calls, with its arguments.
    pub tracer: Vec<String>,
}

impl LifeSettings {
    /// Death at a failpoint.
    pub fn failpoint(text: impl Into<String>) -> LifeSettings {
        LifeSettings { failpoint: Some(text.into()), ..LifeSettings::default() }
    }
}

/// An error of a life, or of the machine.
#[derive(Debug, thiserror::Error)]
pub enum LifeFault {
    /// The operating system's error.
    #[error("{0}: {1}")]
    Machine(&'static str, std::io::Error),
    /// It neither continued nor ended.
    #[error("the organism hung: it did not {0} within {1:?}")]
    Hung(&'static str, Duration),
    /// It does not come to rest.
    #[error("the organism does not come to rest: {0}")]
    Restless(String),
    /// `systole why` failed.
    #[error("systole why does not say what waits: {0}")]
    Unsaid(String),
    /// It ended without being killed.
    #[error("the organism ended by itself, {status}; its last words: {words}")]
    Ended {
        /// Its status.
        status: ExitStatus,
        /// The end of its stderr.
        words: String,
    },
}

enum Sign {
    Runs(u32),
    Over,
}

/// A life.
pub struct OrganismLife {
    child: Child,
    signs: Receiver<Sign>,
    organism: Option<u32>,
    over: bool,
}

impl OrganismLife {
    /// Begins a life.
    pub fn begin(house: &RunFolder, omen: &LifeSettings) -> Result<OrganismLife, LifeFault> {
        let machine = |error| LifeFault::Machine("cannot start systole run", error);
        let words =
            std::fs::File::options().create(true).append(true).open(house.words()).map_err(machine)?;
        let mut command = match omen.tracer.split_first() {
            Some((tracer, arguments)) => {
                let mut command = Command::new(tracer);
                command.args(arguments).arg(house.program());
                command
            }
            None => Command::new(house.program()),
        };
        command.args(["run", "--json", "-f"]).arg(house.organism());
        command.args(house.settings().iter().flat_map(|setting| ["--set", setting]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(words);
        command.env_remove(failpoint::VARIABLE).envs(house.tokens());
        if let Some(text) = &omen.failpoint {
            command.env(failpoint::VARIABLE, text);
        }
        let mut child = command.spawn().map_err(machine)?;
        // There are at most two signs.
        let (tell, signs) = sync_channel(2);
        if let Some(stdout) = child.stdout.take() {
            let watch = std::thread::Builder::new().name("life".into());
            watch.spawn(move || listen(stdout, &tell)).map_err(machine)?;
        }
        Ok(OrganismLife { child, signs, organism: None, over: false })
    }

    /// Waits until it runs; false if it ended before.
    pub fn runs(&mut self) -> Result<bool, LifeFault> {
        match self.signs.recv_timeout(PATIENCE) {
            Ok(Sign::Runs(organism)) => {
                self.organism = Some(organism);
                Ok(true)
            }
            Ok(Sign::Over) | Err(RecvTimeoutError::Disconnected) => {
                self.over = true;
                Ok(false)
            }
            Err(RecvTimeoutError::Timeout) => Err(LifeFault::Hung("start", PATIENCE)),
        }
    }

    /// Waits that long for its end; returns whether it came.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        let mut left = Some(time);
        while let (false, Some(wait)) = (self.over, left.take()) {
            match self.signs.recv_timeout(wait) {
                Ok(Sign::Runs(organism)) => {
                    self.organism = Some(organism);
                    // It began to run during the wait; the wait starts again.
                    left = Some(time);
                }
                Ok(Sign::Over) | Err(RecvTimeoutError::Disconnected) => self.over = true,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.over
    }

    /// The organism's process, once it runs.
    pub fn organism(&self) -> Option<u32> {
        self.organism
    }

    /// Asks it to stop cleanly.
    pub fn ask_to_stop(&self) {
        let pid = self.organism.unwrap_or_else(|| self.child.id());
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // If it has died by now, it need not be asked.
            let _died = kill_process(pid, Signal::TERM);
        }
    }

    /// Kills it, if it still lives, and returns its status.
    pub fn kill(mut self) -> Result<ExitStatus, LifeFault> {
        self.strike();
        self.wait()
    }

    fn strike(&mut self) {
        // It is our own child, so its pid is not reused before we have waited for it.
        let _died_before = self.child.kill();
        // Under a tracer the organism is the tracer's child, and may survive the tracer's end.
        let traced = self.organism.filter(|organism| *organism != self.child.id() && !self.over);
        if let Some(pid) = traced.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw) {
            let _died_with_it = kill_process(pid, Signal::KILL);
        }
    }

    /// Waits for its end and returns its status.
    pub fn end(mut self) -> Result<ExitStatus, LifeFault> {
        if self.ends_within(PATIENCE) { self.wait() } else { Err(LifeFault::Hung("stop", PATIENCE)) }
    }

    fn wait(&mut self) -> Result<ExitStatus, LifeFault> {
        self.child.wait().map_err(|error| LifeFault::Machine("cannot wait for systole run", error))
    }

    /// Checks an end that was not caused by our kill.
    pub fn judge(house: &RunFolder, status: ExitStatus) -> Result<(), LifeFault> {
        if status.signal() == Some(Signal::KILL.as_raw()) {
            return Ok(());
        }
        Err(LifeFault::Ended { status, words: last_words(house) })
    }
}

impl Drop for OrganismLife {
    fn drop(&mut self) {
        // If it was already waited for, both calls find nothing.
        self.strike();
        let _waited_before = self.child.wait();
    }
}

/// Reads its stdout until the end. Every line is read, or a full pipe would block it.
fn listen(stdout: ChildStdout, tell: &SyncSender<Sign>) {
    for line in BufReader::new(stdout).split(b'\n') {
        let Ok(line) = line else { break };
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(&line) else { continue };
        // Of all the values it prints, only the first has a pid.
        if let Some(organism) = value.get("pid").and_then(serde_json::Value::as_u64) {
            let organism = u32::try_from(organism).unwrap_or_default();
            drop(tell.send(Sign::Runs(organism)));
        }
    }
    // If the receiver is gone, it does not need this.
    drop(tell.send(Sign::Over));
}

/// The end of the organism's stderr.
pub fn last_words(house: &RunFolder) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(house.words())?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS_BYTES)))?;
        let mut words = Vec::new();
        file.take(LAST_WORDS_BYTES).read_to_end(&mut words)?;
        Ok(words)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).trim().to_owned()
}
