//! The person in front of the demo: asked at the terminal, for as long as the request for approval lasts.
//!
//! Where there is no terminal nobody is asked, and the request expires. In comes how long; out comes the
//! answer, if there was one.

use std::io::{IsTerminal as _, stdin, stdout};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::page::Page;

/// Whether somebody is there who could be asked.
pub(super) fn is_there() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

/// Asks whether it is approved; none where no answer came in time.
pub(super) fn approves(page: &Page, within: Duration) -> Option<bool> {
    if !is_there() {
        return None;
    }
    let seconds = within.as_secs().to_string();
    page.words(
        &["It is your turn: y approves, n rejects; after ", &seconds, " seconds it expires."].concat(),
    );
    // Twice at most: a third misprint is as good as no answer.
    (0..3).find_map(|_| match line(within)?.trim() {
        "y" | "yes" => Some(Some(true)),
        "n" | "no" => Some(Some(false)),
        _ => {
            page.words("y or n, and Enter");
            None
        }
    })?
}

/// A line from the terminal; none where it does not come in time, or the terminal is gone.
fn line(within: Duration) -> Option<String> {
    let input = stdin();
    let mut wanted = [PollFd::new(&input, PollFlags::IN)];
    let timeout = Timespec::try_from(within).ok()?;
    let ready = poll(&mut wanted, Some(&timeout)).ok()?;
    let mut line = String::new();
    let read = (ready > 0).then(|| stdin().read_line(&mut line));
    matches!(read, Some(Ok(1..))).then_some(line)
}
