//! The two pipes between the outer process and the inner one. On one the inner process gets its order. On the other it
//! reports that the sandbox was refused, or how the program in it ended.
//!
//! The inner process opens its ends again, because only so it gets ones that no program inherits. That also fails if
//! the outer process is gone, and then nothing starts.

use std::fs::{File, OpenOptions};
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use serde::{Deserialize, Serialize};

use super::explain_failure;

/// What the inner process reports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum InnerReport {
    /// Nothing was started, for this reason.
    Refused(String),
    /// The program exited.
    Exited(i32),
    /// A signal ended the program.
    Killed(i32),
}

/// The ends of a pipe for reports: the outer one, and the one that the inner process inherits.
pub(super) fn report_pipe() -> Result<(PipeReader, OwnedFd), String> {
    let (reader, writer) = std::io::pipe().map_err(|error| explain_failure("make a pipe", error))?;
    Ok((reader, let_inherit(writer.into())?))
}

/// The same for an order.
pub(super) fn order_pipe() -> Result<(PipeWriter, OwnedFd), String> {
    let (reader, writer) = std::io::pipe().map_err(|error| explain_failure("make a pipe", error))?;
    Ok((writer, let_inherit(reader.into())?))
}

fn let_inherit(end: OwnedFd) -> Result<OwnedFd, String> {
    rustix::io::fcntl_setfd(&end, rustix::io::FdFlags::empty())
        .map_err(|error| explain_failure("hand on a pipe", error))?;
    Ok(end)
}

/// The number of an open file, for the inner process.
pub(super) fn write_number(end: &OwnedFd) -> String {
    end.as_raw_fd().to_string()
}

/// Takes over the inner end for reports.
pub(super) fn take_over(number: Option<&str>) -> Result<File, String> {
    open_pipe(number, File::options().write(true).custom_flags(libc::O_NONBLOCK))
}

/// The order that the outer process hands over.
pub(super) fn read_order(number: Option<&str>) -> Result<String, String> {
    // The outer process closes its end when it has written.
    let mut pipe = open_pipe(number, File::options().read(true))?;
    let mut order = String::new();
    pipe.read_to_string(&mut order).map_err(|error| explain_failure("read its order", error))?;
    Ok(order)
}

fn open_pipe(number: Option<&str>, how: &OpenOptions) -> Result<File, String> {
    let number: i32 =
        number.and_then(|text| text.parse().ok()).ok_or_else(|| "its pipe is missing".to_owned())?;
    let file = how
        .open(format!("/proc/self/fd/{number}"))
        .map_err(|error| explain_failure("reach the process that waits", error))?;
    nix::unistd::close(number).map_err(|error| explain_failure("close a pipe", error))?;
    Ok(file)
}

/// Reports. A report fits into the pipe, so this never waits.
pub(super) fn write_report(mut pipe: &File, said: &InnerReport) {
    if let Ok(text) = serde_json::to_vec(said) {
        // Without a reader no one waits for the report.
        let _unread = pipe.write_all(&text);
    }
}

/// What was reported, after the inner process has ended.
pub(super) fn read_report(pipe: PipeReader) -> Option<InnerReport> {
    let mut text = Vec::new();
    pipe.take(crate::limits::REPORT_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
