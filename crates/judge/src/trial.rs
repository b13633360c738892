//! Tries schemas in a separate process before this one compiles them: libxml2 needs seconds or gigabytes for some
//! that look harmless, and then only the other process ends.
//!
//! Sources come in. The result says that all compile, or which one does not and why. The other process is the program
//! `systole`, started with `WORD`. It caps its own memory and processor time and reads the sources from stdin. It
//! writes one line of JSON for each step to stdout, so that the schema it died of is known. This process measures the
//! wall clock, and ends the other one with SIGKILL when the time is over. Nothing that a schema does reaches this
//! process.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

use super::judge::SchemaSource;
use crate::limits;
use systole_system::system;

/// The argument that makes the program try schemas. No help page lists it, because people do not need it.
pub const WORD: &str = "-try-schemas";

/// What the other process may use.
#[derive(Clone, Copy, Debug)]
pub struct TrialLimits {
    /// Address space, in bytes.
    pub memory_bytes: u64,
    /// Processor time, in seconds.
    pub processor_s: u64,
    /// Wall-clock time, in milliseconds.
    pub wall_ms: u64,
}

impl TrialLimits {
    /// Enough for a megabyte of any sensible schema, on a slow machine.
    pub const USUAL: TrialLimits = TrialLimits { memory_bytes: 256 << 20, processor_s: 3, wall_ms: 30_000 };
}

/// One line from the other process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum TrialLine {
    /// The program knows this work: an older version would say something else.
    Ready,
    /// It begins with the source at this place.
    Begun(usize),
    /// That source does not compile.
    Refused {
        /// The line in the schema, if it is known.
        line: Option<u64>,
        /// libxml2's words.
        words: String,
    },
    /// One of them is outside the profile. Reading it again here is as cheap, and tells more.
    Unfit,
    /// All compile.
    Compiled,
}

/// Why a set of schemas must not be compiled here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTrial {
    /// The place of the source among those that were tried.
    pub at: usize,
    /// The line in the schema, if it is known.
    pub line: Option<u64>,
    /// What happened.
    pub why: TrialOutcome,
}

/// What happened to a schema that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialOutcome {
    /// libxml2 rejects it, with these words.
    Refused(String),
    /// It took more processor time than the cap.
    Processor,
    /// It took longer than the cap on wall-clock time.
    Wall,
    /// It took more memory than the cap, or broke libxml2.
    Memory,
}

/// A program to try schemas with, and what it may use.
#[derive(Clone, Debug)]
pub struct SchemaTrial {
    program: PathBuf,
    caps: TrialLimits,
    fault: Option<&'static str>,
}

impl SchemaTrial {
    /// With this program, which must be a `systole`.
    pub fn new_with(program: &Path, caps: TrialLimits) -> SchemaTrial {
        SchemaTrial { program: program.to_owned(), caps, fault: None }
    }

    /// With the `systole` of this program. `None` if there is none, for example in another project's program.
    pub fn find_beside() -> Option<SchemaTrial> {
        Some(SchemaTrial::new_with(&system::find_own_program()?, TrialLimits::USUAL))
    }

    /// Makes the other process fail for a test, in a build with checks: `hang`, `spin` or `eat`.
    #[must_use]
    pub fn with_fault(self, fault: &'static str) -> SchemaTrial {
        SchemaTrial { fault: Some(fault), ..self }
    }

    /// Tries the sources: all must be readable, and those that the profile allows must compile. `None` means that the
    /// trial was impossible: the program is missing, is an older version, or the system starts no process. That says
    /// nothing about the schemas.
    pub fn compile_sources(&self, sources: &[SchemaSource]) -> Option<Result<(), FailedTrial>> {
        let (input, mut output) = (make_memory(&write_sources(sources)).ok()?, make_memory(&[]).ok()?);
        let mut command = Command::new(&self.program);
        command
            .arg(WORD)
            .args([self.caps.memory_bytes, self.caps.processor_s].map(|cap| cap.to_string()))
            .args(self.fault)
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output.try_clone().ok()?))
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (status, in_time) = wait_for_end(&mut child, self.caps.wall_ms)?;
        let mut said = String::new();
        output.rewind().ok()?;
        output.read_to_string(&mut said).ok()?;
        read_verdict(&said, status, in_time)
    }
}

/// Waits for the end, and forces it when the time is over. Returns whether it came by itself.
pub(super) fn wait_for_end(child: &mut Child, wall_ms: u64) -> Option<(ExitStatus, bool)> {
    wait_until_ended(child, Duration::from_millis(wall_ms), |child, wall| {
        let limit = Timespec::try_from(wall).ok();
        let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
        let ready = retry_on_intr(|| poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], limit.as_ref()))?;
        Ok(ready > 0)
    })
}

/// Waits as `ended` does. If `wait` fails, the process is checked again and again until the time is over.
fn wait_until_ended(
    child: &mut Child,
    wall: Duration,
    wait: impl FnOnce(&Child, Duration) -> Result<bool, Errno>,
) -> Option<(ExitStatus, bool)> {
    let in_time = match wait(child, wall) {
        Ok(in_time) => in_time,
        Err(_) => {
            let mut waited = Duration::ZERO;
            while child.try_wait().ok()?.is_none() && waited < wall {
                std::thread::sleep(limits::TRIAL_PAUSE);
                waited += limits::TRIAL_PAUSE;
            }
            child.try_wait().ok()?.is_some()
        }
    };
    if !in_time {
        child.kill().ok()?;
    }
    Some((child.wait().ok()?, in_time))
}

fn read_verdict(said: &str, status: ExitStatus, in_time: bool) -> Option<Result<(), FailedTrial>> {
    let mut lines = said.lines().map_while(|line| serde_json::from_str::<TrialLine>(line).ok());
    let Some(TrialLine::Ready) = lines.next() else {
        return None;
    };
    let mut begun = None;
    for line in lines {
        match line {
            TrialLine::Begun(at) => begun = Some(at),
            TrialLine::Refused { line, words } => {
                return Some(Err(FailedTrial { at: begun?, line, why: TrialOutcome::Refused(words) }));
            }
            TrialLine::Compiled | TrialLine::Unfit => return Some(Ok(())),
            TrialLine::Ready => {}
        }
    }
    // If it ended before it began with any source, no source was at fault.
    Some(Err(FailedTrial { at: begun?, line: None, why: find_outcome(status, in_time) }))
}

/// Why the other process ended before its work was done.
pub(super) fn find_outcome(status: ExitStatus, in_time: bool) -> TrialOutcome {
    let xcpu = rustix::process::Signal::XCPU.as_raw();
    match status.signal() {
        _ if !in_time => TrialOutcome::Wall,
        Some(signal) if signal == xcpu => TrialOutcome::Processor,
        _ => TrialOutcome::Memory,
    }
}

/// The sources as the other process reads them.
fn write_sources(sources: &[SchemaSource]) -> Vec<u8> {
    write_fields(sources.iter().flat_map(|source| [source.name.as_bytes(), source.xsd.as_slice()]))
}

/// Fields, each with its length before it.
pub(super) fn write_fields<'f>(fields: impl Iterator<Item = &'f [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields {
        bytes.extend_from_slice(field.len().to_string().as_bytes());
        bytes.push(b':');
        bytes.extend_from_slice(field);
    }
    bytes
}

/// A file in memory with these bytes, at its beginning. A pipe could fill up, and then both sides would wait.
pub(super) fn make_memory(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(memfd_create(c"systole-trial", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{Child, Command, Duration, Errno, Stdio, wait_until_ended};

    #[test]
    fn a_process_is_waited_for_although_there_is_no_descriptor_for_it() {
        let wait = |_: &Child, _| Err(Errno::MFILE);
        let mut quick = Command::new("true").spawn().unwrap();
        let (status, in_time) = wait_until_ended(&mut quick, Duration::from_secs(60), wait).unwrap();
        assert!(in_time && status.success(), "{status}");
        let mut endless = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let (_, in_time) = wait_until_ended(&mut endless, Duration::from_millis(30), wait).unwrap();
        assert!(!in_time, "it is ended when the time is over");
    }
}
