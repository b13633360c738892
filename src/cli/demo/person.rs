//! The person in front of the demo: asked at the terminal until the request for approval expires.
//!
//! One deadline holds for the whole question, regardless of typing. Without a terminal no one is asked. The waiting
//! time comes in; the answer goes out.

use std::io::{IsTerminal as _, stdin, stdout};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};

use super::page::{DemoPage, LineStyle};
use systole_core::types::ports::Clock as _;
use systole_system::clock::WallClock;

/// A person's answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PersonAnswer {
    Yes,
    No,
    /// No answer in time.
    Silence,
    /// The terminal was closed, or its input has ended.
    Closed,
}

/// The result of waiting for a line.
enum WaitedLine {
    Line(String),
    TooLate,
    Closed,
}

/// Whether there is a terminal, and so perhaps a person to ask.
pub(super) fn is_there() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

/// Asks for approval.
pub(super) fn ask_person(page: &DemoPage, within: Duration) -> PersonAnswer {
    let millis = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
    let deadline = WallClock.ticks().0.saturating_add(millis);
    loop {
        page.screen.show_prompt();
        match read_line(deadline.saturating_sub(WallClock.ticks().0)) {
            WaitedLine::Line(typed) => match typed.trim().to_lowercase().as_str() {
                "y" | "yes" => return PersonAnswer::Yes,
                "n" | "no" => return PersonAnswer::No,
                _ => page.print_line(LineStyle::Plain, "Please type y or n, then Enter."),
            },
            WaitedLine::TooLate => {
                page.print_blank();
                return PersonAnswer::Silence;
            }
            WaitedLine::Closed => {
                page.print_blank();
                return PersonAnswer::Closed;
            }
        }
    }
}

/// A line from the terminal. It bypasses the buffer of stdin, which could hold back typed-ahead text.
fn read_line(within_ms: u64) -> WaitedLine {
    let input = stdin();
    let Ok(timeout) = Timespec::try_from(Duration::from_millis(within_ms)) else {
        return WaitedLine::TooLate;
    };
    let mut wanted = [PollFd::new(&input, PollFlags::IN)];
    match poll(&mut wanted, Some(&timeout)) {
        Ok(0) => return WaitedLine::TooLate,
        // A signal interrupted the wait: the loop above asks again for the rest of the time.
        Err(Errno::INTR) => return WaitedLine::Line(String::new()),
        Ok(_) => {}
        Err(_) => return WaitedLine::Closed,
    }
    let mut bytes = [0; crate::limits::LINE_BYTES];
    match read(&input, &mut bytes) {
        Ok(0) | Err(_) => WaitedLine::Closed,
        Ok(length) => {
            WaitedLine::Line(String::from_utf8_lossy(bytes.get(..length).unwrap_or_default()).into_owned())
        }
    }
}
