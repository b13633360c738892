//! One command: it is started, its output is read within bounds, and its whole process group ends with it.
//!
//! A prepared process and bounds come in; how it ended and its output go out. Nothing that it starts outlives it,
//! except processes that leave its group: a sandbox ends those with the command, and otherwise they end with the workspace.

use std::io::{self, PipeReader, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::time::Instant;

use crate::limits;
use crate::text::visible_text::strip_escapes;

/// How a command ended, and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandEnd {
    pub(crate) how: HowEnded,
    pub(crate) output: String,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HowEnded {
    Exit(i32),
    Signal(i32),
    /// Its time was over.
    TimedOut,
    Cancelled,
}

/// What ends a command early, and who sees that it still runs.
pub(crate) struct CommandBound<'b> {
    /// The end of the time of the whole change set.
    pub(crate) deadline: Instant,
    pub(crate) is_cancelled: &'b AtomicBool,
    pub(crate) progress: &'b dyn Fn(&str),
}

/// The start and the end of an output.
#[derive(Default)]
struct KeptOutput {
    first: Vec<u8>,
    last: std::collections::VecDeque<u8>,
    left_out: u64,
}

impl KeptOutput {
    fn add_bytes(&mut self, bytes: &[u8]) {
        let room = limits::OUTPUT_BYTES.saturating_sub(self.first.len()).min(bytes.len());
        let (first, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.first.extend_from_slice(first);
        self.last.extend(rest);
        let surplus = self.last.len().saturating_sub(limits::OUTPUT_BYTES);
        self.last.drain(..surplus);
        self.left_out += surplus as u64;
    }

    fn into_text(mut self) -> String {
        if self.left_out == 0 {
            self.first.extend(self.last);
            return strip_escapes(&self.first);
        }
        let last: Vec<u8> = self.last.into_iter().collect();
        format!(
            "{}\n[{} bytes left out]\n{}",
            strip_escapes(&self.first),
            self.left_out,
            strip_escapes(&last)
        )
    }
}

impl HowEnded {
    /// For the attribute `exit`.
    pub(crate) fn word(self) -> String {
        match self {
            HowEnded::Exit(code) => code.to_string(),
            HowEnded::Signal(number) => format!("signal {number}"),
            HowEnded::TimedOut => "time limit".to_owned(),
            HowEnded::Cancelled => "cancelled".to_owned(),
        }
    }
}

/// Runs a command to its end.
pub(crate) fn run_command(mut command: Command, bound: &CommandBound<'_>) -> io::Result<CommandEnd> {
    let (mut reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
    let mut child = command.spawn()?;
    // Only the process holds the ends for writing now.
    drop(command);
    let watched = watch_child(&mut child, &mut reader, bound);
    let group = Pid::from_child(&child);
    if watched.is_err() {
        // The group must not go on unwatched.
        let _gone = kill_process_group(group, Signal::KILL);
        child.wait()?;
    }
    let (how, kept) = watched?;
    Ok(CommandEnd { how, output: kept.into_text() })
}

/// Reads until the process ends, or must.
fn watch_child(
    child: &mut Child,
    reader: &mut PipeReader,
    bound: &CommandBound<'_>,
) -> io::Result<(HowEnded, KeptOutput)> {
    let begun = Instant::now();
    let pid = Pid::from_child(child);
    let (mut kept, mut next_word, mut early) = (KeptOutput::default(), limits::PROGRESS_TIME, None);
    let mut is_open = true;
    while !has_ended(pid)? {
        if is_open {
            is_open = read_some(reader, &mut kept, 20)?;
        } else {
            // Its output is closed, and it still runs.
            std::thread::sleep(Duration::from_millis(10));
        }
        let ran = begun.elapsed();
        if ran >= next_word {
            (bound.progress)(&format!("the command runs for {} s", ran.as_secs()));
            next_word = ran + limits::PROGRESS_TIME;
        }
        if bound.is_cancelled.load(Ordering::Relaxed) {
            early = Some(HowEnded::Cancelled);
        } else if Instant::now() >= bound.deadline {
            early = Some(HowEnded::TimedOut);
        }
        if early.is_some() {
            break;
        }
    }
    // The process is not waited for yet, so its number cannot belong to another group.
    match kill_process_group(pid, Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH | rustix::io::Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let status = child.wait()?;
    let ended = Instant::now();
    while is_open && ended.elapsed() < limits::DRAIN_TIME {
        is_open = read_some(reader, &mut kept, 20)?;
    }
    Ok((early.unwrap_or_else(|| read_status(status)), kept))
}

/// Whether the process has ended. It is left to be waited for.
fn has_ended(pid: Pid) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(pid), options)?.is_some())
}

/// Reads what there is, or waits a little. Returns whether more can come.
fn read_some(reader: &mut PipeReader, kept: &mut KeptOutput, millis: u32) -> io::Result<bool> {
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(millis) * 1_000_000 };
    let ready = match poll(&mut [PollFd::new(&*reader, PollFlags::IN)], Some(&wait)) {
        Err(rustix::io::Errno::INTR) => 0,
        ready => ready?,
    };
    if ready == 0 {
        return Ok(true);
    }
    let mut portion = [0; 16 << 10];
    let count = reader.read(&mut portion)?;
    kept.add_bytes(portion.get(..count).unwrap_or_default());
    Ok(count > 0)
}

fn read_status(status: ExitStatus) -> HowEnded {
    match (status.code(), status.signal()) {
        (Some(code), _) => HowEnded::Exit(code),
        (None, signal) => HowEnded::Signal(signal.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_output_keeps_its_start_and_its_end() {
        let mut kept = KeptOutput::default();
        for number in 0..40_000 {
            kept.add_bytes(format!("{number}\n").as_bytes());
        }
        let text = kept.into_text();
        assert!(text.starts_with("0\n1\n") && text.ends_with("39998\n39999\n"));
        assert!(text.contains(" bytes left out]") && text.len() < 2 * limits::OUTPUT_BYTES + 100);
        let mut short = KeptOutput::default();
        short.add_bytes(&[b'a'; limits::OUTPUT_BYTES]);
        short.add_bytes(b"b");
        assert_eq!(short.into_text().len(), limits::OUTPUT_BYTES + 1);
    }
}
