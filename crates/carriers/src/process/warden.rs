//! The warden of a program: the program `systole`, started with `WORD`, that starts a program and ends all of it.
//!
//! Everything that the program starts stays a descendant of the warden, also what leaves its process group or session.
//! When the program ends, or the organism orders it, or the organism is gone, the warden kills all descendants until
//! none is left. Then it may start another program: one warden has one program at a time. It never changes what a program
//! may do, and hands on none of its own open files. In: three open files and an order, over the socket on its stdin. Out: a
//! line when the program has begun, and a line when it has ended.

use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{self, Pid, Signal, WaitOptions, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use crate::limits;

/// The argument that makes the program a warden. No help page lists it, because people do not need it.
pub const WORD: &str = "-guard-program";

/// The name of the process. A `pkill systole` does not reach it.
const NAME: &str = "program-warden";
/// Orders to a warden: TERM for the program's process group, and the end of everything.
pub(super) const TERM: u8 = b't';
pub(super) const KILL: u8 = b'k';
/// The first pause between two looks for descendants that still live, and the longest one.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_secs(1)];

/// What a warden starts.
#[derive(Serialize, Deserialize)]
pub(super) struct GuardOrder {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) folder: Option<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
}

/// What a warden says, a line each.
#[derive(Serialize, Deserialize)]
pub(super) enum WardenLine {
    /// The program runs, with this process id.
    Begun(i32),
    /// It cannot be started: the number of the operating system's error, if there is one.
    NotBegun(Option<i32>),
    /// It has ended, with this status of the system. Whether nothing of it is left, so that another one may begin.
    Ended(i32, bool),
}

impl WardenLine {
    fn to_bytes(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// Is a warden until the organism wants none any more, or is gone.
pub fn run() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(guard_programs())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

async fn guard_programs() -> io::Result<()> {
    process::set_child_subreaper(Some(process::getpid()))?;
    // The name only helps a person who looks at the processes.
    let _unnamed = std::fs::write("/proc/self/comm", NAME);
    let mut children = signal(SignalKind::child())?;
    // A system that shuts down sends this to all processes. The program may still answer, so its warden stays. Unlike a
    // signal that is ignored or blocked, one that is taken is as before for the program.
    let _taken = signal(SignalKind::terminate())?;
    let line = std::os::unix::net::UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    line.set_nonblocking(true)?;
    let mut line = UnixStream::from_std(line)?;
    while let Some(files) = handed_over(&line).await? {
        let said = match begin_program(files, &mut line).await {
            Ok(program) => {
                write_line(&mut line, &WardenLine::Begun(program.as_raw_nonzero().get())).await;
                let mut guarded = GuardedProgram { program, status: None, children };
                guarded.obey_order(&mut line).await;
                guarded.finish_program(&mut line).await;
                children = guarded.children;
                continue;
            }
            Err(error) => WardenLine::NotBegun(error.raw_os_error()),
        };
        write_line(&mut line, &said).await;
    }
    Ok(())
}

/// Says a line. If the organism is gone, no one waits for it, and the next wait for an order sees that.
async fn write_line(line: &mut UnixStream, said: &WardenLine) {
    let _unread = line.write_all(&said.to_bytes()).await;
}

/// Starts the program that the organism orders.
async fn begin_program([stdin, stdout, stderr]: [OwnedFd; 3], line: &mut UnixStream) -> io::Result<Pid> {
    let mut text = String::new();
    // The organism sends nothing behind the order before it has its answer.
    BufReader::new(line).read_line(&mut text).await?;
    let order: GuardOrder = serde_json::from_str(&text)?;
    let mut command = Command::new(order.program);
    command.args(order.arguments).env_clear().envs(order.environment).process_group(0);
    if let Some(folder) = order.folder {
        command.current_dir(folder);
    }
    let child = command.stdin(stdin).stdout(stdout).stderr(stderr).spawn()?;
    Ok(Pid::from_child(&child))
}

/// Waits for the stdin, stdout and stderr of a program. `None` if no program comes any more.
async fn handed_over(line: &UnixStream) -> io::Result<Option<[OwnedFd; 3]>> {
    loop {
        line.readable().await?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let taken = line.try_io(Interest::READABLE, || {
            let mut byte = [0];
            Ok(recvmsg(line, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes)
        });
        match taken {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        let files = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => files.collect::<Vec<OwnedFd>>().try_into().ok(),
            _ => None,
        });
        // A byte without files is an order about a program that had ended.
        if files.is_some() {
            return Ok(files);
        }
    }
}

struct GuardedProgram {
    program: Pid,
    /// How it ended. Taken when that was told.
    status: Option<i32>,
    children: Signals,
}

impl GuardedProgram {
    /// Obeys until the program has ended or must end.
    async fn obey_order(&mut self, line: &mut UnixStream) {
        let mut order = [0];
        loop {
            self.reap_child();
            if self.status.is_some() {
                return;
            }
            let read = tokio::select! {
                _ = self.children.recv() => continue,
                read = line.read(&mut order) => read,
            };
            match (read, order) {
                (Ok(1), [TERM]) => {
                    // The program is not waited for yet, so the number is still its group's.
                    let _gone = kill_process_group(self.program, Signal::TERM);
                }
                (Ok(1), _) => return,
                _ => break,
            }
        }
        let own_end = async {
            while self.status.is_none() {
                self.children.recv().await;
                self.reap_child();
            }
        };
        let _in_time = tokio::time::timeout(limits::GRACE, own_end).await;
    }

    /// Takes the ends of all children that have ended, adopted ones too. Returns whether any are left.
    fn reap_child(&mut self) -> bool {
        loop {
            match process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.program => self.status = Some(status.as_raw()),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Kills all descendants until none is left. One that is forked meanwhile is found in the next look.
    async fn end_all(&mut self) {
        let [mut pause, longest] = PAUSES;
        while self.reap_child() {
            for process in list_descendants(process::getpid()) {
                let _gone = kill_process(process, Signal::KILL);
            }
            let _pause_over = tokio::time::timeout(pause, self.children.recv()).await;
            pause = longest.min(pause * 2);
        }
    }

    /// Ends everything, and tells the organism how the program ended.
    async fn finish_program(&mut self, line: &mut UnixStream) {
        // Right behind the wait for its leader the group's number cannot belong to others yet.
        let _gone = kill_process_group(self.program, Signal::KILL);
        // What cannot be killed, such as a process of another user, must not hold up the answer.
        let is_free = tokio::time::timeout(limits::LEFT_BEHIND, self.end_all()).await.is_ok();
        if let Some(status) = self.status.take() {
            write_line(line, &WardenLine::Ended(status, is_free)).await;
        }
        if !is_free {
            self.end_all().await;
            if let Some(status) = self.status {
                write_line(line, &WardenLine::Ended(status, false)).await;
            }
        }
    }
}

/// The processes that descend from one, as far as `/proc` shows them.
fn list_descendants(first: Pid) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pairs: Vec<(Pid, Pid)> = processes
        .filter_map(|entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name, which is in parentheses, may contain anything.
            let (_, rest) = stat.rsplit_once(") ")?;
            Some((Pid::from_raw(rest.split(' ').nth(1)?.parse().ok()?)?, pid))
        })
        .collect();
    let mut found = vec![first];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(pairs.iter().filter(|(of, _)| *of == parent).map(|(_, pid)| *pid));
        next += 1;
    }
    found.split_off(1)
}
