//! The organism's end of a warden: starts one, hands a program's files and order over, and hears how the program ended.
//!
//! The end of the socket is the end of the program, so the organism keeps its end open as long as the program may live,
//! and no other process inherits it.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::variables::InheritedVariables;
use super::warden::{GuardOrder, KILL, TERM, WORD, WardenLine};
use systole_system::{descriptors, system};

/// The one variable that a warden needs: where the libraries of this program are.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// The wardens of a listener that have no program now. They end with this value.
#[derive(Clone, Debug, Default)]
pub(super) struct SpareWardens(Arc<Mutex<Vec<SpareWarden>>>);

/// A warden's process and the way to it.
#[derive(Debug)]
struct SpareWarden {
    process: Box<dyn ChildWrapper>,
    said: Lines<BufReader<OwnedReadHalf>>,
    orders: OwnedWriteHalf,
}

/// A program that a warden has started.
pub(super) struct GuardedStart {
    pub(super) pipes: (ChildStdin, ChildStdout, ChildStderr),
    pub(super) guard: ProgramGuard,
}

/// The way to a program through its warden.
#[derive(Debug)]
pub(super) struct ProgramGuard {
    /// Until the program has ended.
    warden: Option<SpareWarden>,
    program: Pid,
    spare: SpareWardens,
}

/// Starts a program under a warden. The error is that of the program's start, or says that the warden failed.
pub(super) async fn start_guarded(
    command: Command,
    own: &Path,
    around: &InheritedVariables,
    spare: &SpareWardens,
) -> io::Result<GuardedStart> {
    let order = write_order(&command)?;
    let (their_stdin, stdin) = io::pipe()?;
    let (stdout, their_stdout) = io::pipe()?;
    let (stderr, their_stderr) = io::pipe()?;
    let theirs = [their_stdin.into(), their_stdout.into(), their_stderr.into()];
    let mut warden = match spare.take_warden() {
        Some(warden) => warden,
        None => SpareWarden::start_warden(own, around)?,
    };
    hand_over(&warden.orders, &theirs)?;
    drop(theirs);
    warden.orders.write_all(&order).await?;
    let program = match warden.read_line().await {
        Some(WardenLine::Begun(program)) => Pid::from_raw(program),
        Some(WardenLine::NotBegun(Some(number))) => {
            spare.give_warden(warden);
            return Err(io::Error::from_raw_os_error(number));
        }
        _ => None,
    };
    let Some(program) = program else {
        let SpareWarden { mut process, orders, .. } = warden;
        drop(orders);
        let ended = process.inner_mut().wait().await?;
        return Err(io::Error::other(format!("its warden ended with {ended}")));
    };
    let pipes = (
        ChildStdin::from_std(OwnedFd::from(stdin).into())?,
        ChildStdout::from_std(OwnedFd::from(stdout).into())?,
        ChildStderr::from_std(OwnedFd::from(stderr).into())?,
    );
    Ok(GuardedStart { pipes, guard: ProgramGuard { warden: Some(warden), program, spare: spare.clone() } })
}

impl SpareWardens {
    /// One that still lives.
    fn take_warden(&self) -> Option<SpareWarden> {
        let mut wardens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut warden = wardens.pop()?;
            if matches!(warden.process.inner_mut().try_wait(), Ok(None)) {
                return Some(warden);
            }
        }
    }

    fn give_warden(&self, warden: SpareWarden) {
        let mut wardens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if wardens.len() < crate::limits::SPARE_WARDENS {
            wardens.push(warden);
        }
    }
}

impl SpareWarden {
    fn start_warden(own: &Path, around: &InheritedVariables) -> io::Result<SpareWarden> {
        let (line, theirs) = UnixStream::pair()?;
        line.set_nonblocking(true)?;
        let (said, orders) = tokio::net::UnixStream::from_std(line)?.into_split();
        let process = spawn_warden(own, theirs, around)?;
        // Its programs inherit it, and it has none yet.
        descriptors::give_back(process.id());
        Ok(SpareWarden { process, said: BufReader::new(said).lines(), orders })
    }

    /// What it says next. `None` if it is gone.
    async fn read_line(&mut self) -> Option<WardenLine> {
        let line = self.said.next_line().await.ok().flatten()?;
        serde_json::from_str(&line).ok()
    }
}

fn write_order(command: &Command) -> io::Result<Vec<u8>> {
    let order = GuardOrder {
        program: command.get_program().to_owned(),
        arguments: command.get_args().map(ToOwned::to_owned).collect(),
        folder: command.get_current_dir().map(|folder| folder.as_os_str().to_owned()),
        environment: command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect(),
    };
    let mut order = serde_json::to_vec(&order)?;
    order.push(b'\n');
    Ok(order)
}

fn spawn_warden(
    own: &Path,
    theirs: UnixStream,
    around: &InheritedVariables,
) -> io::Result<Box<dyn ChildWrapper>> {
    let mut command = Command::new(own);
    command.arg(WORD).current_dir("/").env_clear();
    command.envs(around.iter().filter(|(name, _)| *name == LIBRARIES));
    command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
    let mut command = CommandWrap::from(tokio::process::Command::from(command));
    // Signals of a terminal must not reach it.
    command.wrap(ProcessGroup::leader());
    command.spawn().map_err(|error| match descriptors::is_short(&error) {
        true => error,
        false => {
            io::Error::other(format!("its warden {}: {}", own.display(), system::describe_error(&error)))
        }
    })
}

fn hand_over(orders: &OwnedWriteHalf, files: &[OwnedFd; 3]) -> io::Result<()> {
    let files = [files[0].as_fd(), files[1].as_fd(), files[2].as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(orders.as_ref(), &[IoSlice::new(b"f")], &mut control, SendFlags::empty())?;
    Ok(())
}

impl ProgramGuard {
    /// Waits until the program has ended. May be dropped while it waits.
    pub(super) async fn wait_for_end(&mut self) -> io::Result<ExitStatus> {
        let Some(warden) = &mut self.warden else { return Err(io::ErrorKind::NotFound.into()) };
        let ended = match warden.read_line().await {
            Some(WardenLine::Ended(status, is_free)) => Ok((ExitStatus::from_raw(status), is_free)),
            _ => {
                // Someone ended the warden, so its program is ended here.
                let _gone = kill_process_group(self.program, Signal::KILL);
                warden.process.inner_mut().wait().await.map(|status| (status, false))
            }
        };
        let warden = self.warden.take();
        let (status, is_free) = ended?;
        warden.filter(|_| is_free).into_iter().for_each(|warden| self.spare.give_warden(warden));
        Ok(status)
    }

    /// Passes TERM to the program's process group, or ends the program and all that it started.
    pub(super) fn send_signal(&self, signal: Signal) -> io::Result<()> {
        let order = if signal == Signal::KILL { KILL } else { TERM };
        // The socket has room for the few orders that there are.
        self.warden.as_ref().map_or(Ok(()), |warden| warden.orders.try_write(&[order]).map(drop))
    }
}
