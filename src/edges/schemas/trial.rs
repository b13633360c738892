//! Tries schemas in a process of their own before this one compiles them: libxml2 needs seconds or gigabytes
//! for some that look harmless, and then it is the other process that ends.
//!
//! Sources come in; out comes that all compile, or which one does not and why. The other process is the
//! program `systole`, started with `WORD`: it caps its own memory and processor time, reads the sources from
//! stdin and writes one line of JSON for each step to stdout, so that it is known which schema it died of.
//! The wall clock is held here, and its end is SIGKILL. Nothing that a schema does reaches this process.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

use super::judge::Source;
use crate::edges::system;

/// The argument that makes the program try schemas. It stands in no help page: people have no use for it.
pub const WORD: &str = "-try-schemas";

/// What the other process may use.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Address space, in bytes.
    pub memory_bytes: u64,
    /// Processor time, in seconds.
    pub processor_s: u64,
    /// Time by the clock on the wall, in milliseconds.
    pub wall_ms: u64,
}

impl Caps {
    /// Enough for a megabyte of any schema that is worth having, on a slow machine.
    pub const USUAL: Caps = Caps { memory_bytes: 256 << 20, processor_s: 3, wall_ms: 30_000 };
}

/// One line from the other process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Line {
    /// It is one that knows this work: an older one would say something else.
    Ready,
    /// It begins with the source of this place.
    Begun(usize),
    /// That source does not compile.
    Refused {
        /// The line in the schema, where it is known.
        line: Option<u64>,
        /// libxml2's words.
        words: String,
    },
    /// One of them is outside the profile. Reading it again is as cheap as it was here, and tells more.
    Unfit,
    /// All compile.
    Compiled,
}

/// Why a set of schemas is not to be compiled here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The place of the source among those that were tried.
    pub at: usize,
    /// The line in the schema, where it is known.
    pub line: Option<u64>,
    /// What happened.
    pub why: Why,
}

/// What happened to a schema that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// libxml2 does not take it, in these words.
    Refused(String),
    /// It took more processor time than the cap.
    Processor,
    /// It took longer than the cap by the clock on the wall.
    Wall,
    /// It took more memory than the cap, or broke libxml2.
    Memory,
}

/// A program to try schemas with, and what it may use.
#[derive(Clone, Debug)]
pub struct Trial {
    program: PathBuf,
    caps: Caps,
    fault: Option<&'static str>,
}

impl Trial {
    /// With this program, which is a `systole`.
    pub fn with(program: &Path, caps: Caps) -> Trial {
        Trial { program: program.to_owned(), caps, fault: None }
    }

    /// With the `systole` of this program. None where there is none, as in a program of somebody else's.
    pub fn beside() -> Option<Trial> {
        Some(Trial::with(&system::own_program()?, Caps::USUAL))
    }

    /// Lets the other process fail for a test, in a build with checks: `hang`, `spin` or `eat`.
    #[must_use]
    pub fn failing(self, fault: &'static str) -> Trial {
        Trial { fault: Some(fault), ..self }
    }

    /// Tries the sources: that all can be read, and that those that the profile allows compile. `None` says that this could not be done at all: the program is not there, is of
    /// an older version, or the machine starts no process. That says nothing of the schemas.
    pub fn compile(&self, sources: &[Source]) -> Option<Result<(), Failed>> {
        let (input, mut output) = (memory(&written(sources)).ok()?, memory(&[]).ok()?);
        let mut command = Command::new(&self.program);
        command
            .arg(WORD)
            .args([self.caps.memory_bytes, self.caps.processor_s].map(|cap| cap.to_string()))
            .args(self.fault)
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output.try_clone().ok()?))
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (status, in_time) = ended(&mut child, self.caps.wall_ms)?;
        let mut said = String::new();
        output.rewind().ok()?;
        output.read_to_string(&mut said).ok()?;
        verdict(&said, status, in_time)
    }
}

/// Waits for the end, and brings it about when the time is over. Says whether it came by itself.
fn ended(child: &mut Child, wall_ms: u64) -> Option<(ExitStatus, bool)> {
    let wall = Duration::from_millis(wall_ms);
    let limit = Timespec::try_from(wall).ok();
    let in_time = pidfd_open(Pid::from_child(child), PidfdFlags::empty())
        .and_then(|pidfd| retry_on_intr(|| poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], limit.as_ref())))
        // Without a way to wait for so long it is ended at once, and this is as if it had never been.
        .unwrap_or(0);
    if in_time == 0 {
        child.kill().ok()?;
    }
    Some((child.wait().ok()?, in_time > 0))
}

fn verdict(said: &str, status: ExitStatus, in_time: bool) -> Option<Result<(), Failed>> {
    let mut lines = said.lines().map_while(|line| serde_json::from_str::<Line>(line).ok());
    let Some(Line::Ready) = lines.next() else {
        return None;
    };
    let mut begun = None;
    for line in lines {
        match line {
            Line::Begun(at) => begun = Some(at),
            Line::Refused { line, words } => {
                return Some(Err(Failed { at: begun?, line, why: Why::Refused(words) }));
            }
            Line::Compiled | Line::Unfit => return Some(Ok(())),
            Line::Ready => {}
        }
    }
    let xcpu = rustix::process::Signal::XCPU.as_raw();
    let why = match status.signal() {
        _ if !in_time => Why::Wall,
        Some(signal) if signal == xcpu => Why::Processor,
        _ => Why::Memory,
    };
    // If it ended before it began with any, the fault was none of theirs.
    Some(Err(Failed { at: begun?, line: None, why }))
}

/// The sources as the other process reads them.
fn written(sources: &[Source]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in sources.iter().flat_map(|source| [source.name.as_bytes(), source.xsd.as_slice()]) {
        bytes.extend_from_slice(field.len().to_string().as_bytes());
        bytes.push(b':');
        bytes.extend_from_slice(field);
    }
    bytes
}

/// A file in memory with these bytes, at its beginning: a pipe could fill, and then both would wait.
fn memory(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(memfd_create(c"systole-trial", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
