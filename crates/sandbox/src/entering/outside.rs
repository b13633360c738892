//! The outer process: makes the namespaces, starts the inner process, waits for it, and ends as the program ended.
//!
//! It stays outside of the restrictions and runs nothing of the program. It counts what the sandbox uses, and ends it if
//! that is too much: the program cannot reach it. The signals that end a process group reach
//! the program by themselves; this process must outlive the program to report its end, so it blocks them. It ends
//! the sandbox when the process that started it is gone.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};

use nix::sched::CloneFlags;
use nix::sys::signal::{SigSet, Signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{self, Pid, PidfdFlags, Rlimit, WaitOptions, pidfd_open};
use rustix::time::ClockId;

use super::status::{self, InnerReport};
use super::{EntryOrder, WORD, capabilities, counting, explain_failure, network};
use crate::limits::GRACE_MS;
use crate::policy::SandboxLevel;

/// Signals that are for the program.
const FOR_THE_PROGRAM: [Signal; 7] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
];

/// The pause between two looks in that time.
const SHORT: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Runs the outer process to the end of the program.
pub(super) fn run_outside(order: &EntryOrder, text: &str, run: Vec<OsString>) -> Result<ExitCode, String> {
    close_what_was_inherited()?;
    counting::check_support()?;
    let signals: SigSet = FOR_THE_PROGRAM.into_iter().collect();
    signals.thread_block().map_err(|error| explain_failure("block signals", error))?;
    if process::getpgrp() != process::getpid() {
        process::setpgid(None, None).map_err(|error| explain_failure("make a process group", error))?;
    }
    let starter = open_starter(order)?;
    let net = &order.policy.net;
    let proxy = if net.is_empty() { None } else { Some(network::start_proxy(net)?) };
    match order.level {
        SandboxLevel::Landlock if proxy.is_some() => {
            return Err(
                "the addresses under sandbox.net need level full, and this machine has level landlock"
                    .to_owned(),
            );
        }
        SandboxLevel::Full => enter_namespaces()?,
        SandboxLevel::Landlock => process::set_child_subreaper(Some(process::getpid()))
            .map_err(|error| explain_failure("adopt processes", error))?,
    }
    let (reports, theirs) = status::report_pipe()?;
    let (mut orders, theirs_too) = status::order_pipe()?;
    let mut command = Command::new("/proc/self/exe");
    let port = proxy.as_ref().map(network::open_network).transpose()?;
    command.arg(WORD).arg("inside").args([&theirs_too, &theirs].map(status::write_number));
    command.arg(port.unwrap_or_default().to_string()).args(run);
    if let Some(port) = port {
        command.envs(network::VARIABLES.map(|name| (name, format!("http://127.0.0.1:{port}"))));
    }
    let inner = command.spawn().map_err(|error| explain_failure("start the inner process", error))?;
    drop((theirs, theirs_too));
    // If it has ended already, its report says why.
    let _unread = orders.write_all(text.as_bytes());
    drop(orders);
    let pid = i32::try_from(inner.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| "the inner process has no number".to_owned())?;
    let ended = wait_for_end(order, pid, &starter)?;
    copy_status(ended, status::read_report(reports))
}

/// A handle of the process that started this one.
fn open_starter(order: &EntryOrder) -> Result<OwnedFd, String> {
    let of = |parent: Pid| pidfd_open(parent, PidfdFlags::empty()).ok();
    let handle = process::getppid().and_then(of);
    // One that was gone before has left this process to another.
    let is_parent = process::getppid().is_some_and(|parent| parent.as_raw_nonzero().get() == order.starter);
    handle.filter(|_| is_parent).ok_or_else(|| "the process that started it is gone".to_owned())
}

/// Namespaces of its own for the inner process, in which this user is the same. The inner process makes the one for its
/// file system itself.
fn enter_namespaces() -> Result<(), String> {
    let (user, group) = (process::geteuid().as_raw(), process::getegid().as_raw());
    let all = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    nix::sched::unshare(all).map_err(|error| explain_failure("make namespaces", error))?;
    let maps = [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ];
    for (file, text) in maps {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| explain_failure(&format!("write /proc/self/{file}"), error))?;
    }
    capabilities::pass_on()
}

/// Closes what the starter of our starter left open: a program inherits three files and no others.
fn close_what_was_inherited() -> Result<(), String> {
    let all = fs::read_dir("/proc/self/fd").map_err(|error| explain_failure("list the open files", error))?;
    let numbers: Vec<i32> =
        all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The list itself is closed already.
        let _closed = nix::unistd::close(number);
    }
    Ok(())
}

/// Waits for the inner process, and ends it if there are too many processes or no one waits for it any more.
fn wait_for_end(order: &EntryOrder, inner: Pid, starter: &OwnedFd) -> Result<ExitStatus, String> {
    let handle = pidfd_open(inner, PidfdFlags::empty())
        .map_err(|error| explain_failure("watch the inner process", error))?;
    let mut alone_since = None;
    loop {
        if let Some(status) = reap_child(inner) {
            return Ok(status);
        }
        let look = counting::look_inside(order, inner);
        if let Some(excess) = look.excess {
            end_all(&excess);
        }
        if alone_since.is_none() && is_over(starter) {
            alone_since = Some(counting::read_ms(ClockId::Monotonic));
        }
        if alone_since.is_some_and(|since| counting::read_ms(ClockId::Monotonic) >= since + GRACE_MS) {
            end_all("the process that started it is gone");
        }
        let mut watched = vec![PollFd::new(&handle, PollFlags::IN), PollFd::new(starter, PollFlags::IN)];
        if alone_since.is_some() {
            // Its end is known, and would end every wait at once.
            watched.truncate(1);
        }
        match poll(&mut watched, Some(if alone_since.is_some() { &SHORT } else { &look.pause })) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(explain_failure("wait", error)),
        }
    }
}

fn is_over(process: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)).is_ok_and(|ended| ended > 0)
}

/// Takes the ends of all processes that have ended, those of adopted ones too. Returns that of the inner process.
fn reap_child(inner: Pid) -> Option<ExitStatus> {
    let mut found = None;
    while let Ok(Some((pid, status))) = process::wait(WaitOptions::NOHANG) {
        if pid == inner {
            found = Some(ExitStatus::from_raw(status.as_raw()));
        }
    }
    found
}

/// Ends the process group, this process included. No process in it can leave it or escape this signal.
fn end_all(why: &str) -> ! {
    write_error(why);
    let _sent = process::kill_current_process_group(process::Signal::KILL);
    std::process::abort()
}

fn write_error(why: &str) {
    let _unread = writeln!(std::io::stderr(), "sandbox: {why}");
}

/// Ends as the program ended.
fn copy_status(status: ExitStatus, report: Option<InnerReport>) -> Result<ExitCode, String> {
    let (code, signal) = match report {
        Some(InnerReport::Refused(why)) => return Err(why),
        Some(InnerReport::Exited(code)) => (Some(code), None),
        Some(InnerReport::Killed(signal)) => (None, Some(signal)),
        None => (status.code(), status.signal()),
    };
    if let Some(signal) = signal.and_then(|signal| Signal::try_from(signal).ok()) {
        // This process has nothing to dump.
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        let _dumps_none = process::setrlimit(process::Resource::Core, none);
        let _unblocked = SigSet::all().thread_unblock();
        // The first one may only reach the handler that reports an overflow of the stack, and remove it.
        for _ in 0..2 {
            let _ended = nix::sys::signal::raise(signal);
        }
    }
    Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
