//! What a person reads before an answer: each payload or question in full, on one screen or page by page.
//!
//! Nothing is approved or chosen that was not shown to its end. Ids come in; those that were read go out, each with
//! the hash of what was read.

use std::io::{IsTerminal as _, stdin};

use super::super::exit::CommandExit;
use super::super::forms::describe_tool;
use super::super::looking::Looking;
use super::super::place::Place;
use super::super::screen::Screen;
use crate::limits;
use systole_core::types::ids::Digest;
use systole_core::types::person::{PersonRequestId, RequestKind};
use systole_queries::hashes::shorten_hash;
use systole_queries::persons::{RequestSubject, WaitingRequest};
use systole_show::columns::width;
use systole_show::limits::COLUMNS;

/// A hash that no payload has: an empty text is not a payload. Nothing bound to it is ever approved.
pub(super) fn build_no_hash() -> Digest {
    Digest::hash_bytes(b"")
}

/// Shows the payloads of these approvals. It returns those that were read, with their hashes; the exit says why
/// others were not.
pub(super) fn read_payloads(
    place: &Place,
    kind: RequestKind,
    ids: &[PersonRequestId],
) -> Result<(Vec<(PersonRequestId, Digest)>, CommandExit), CommandExit> {
    let looking = Looking::open_anywhere(place)?;
    let waiting = looking.requests()?;
    let screen = looking.screen;
    let (mut read, mut shown, mut exit) = (Vec::new(), Vec::new(), CommandExit::Done);
    for id in ids {
        // The organism reports why nothing of that kind waits under an id. If something does by then, no one has read
        // it.
        let Some(one) = waiting.iter().find(|one| one.id == *id && one.kind() == kind) else {
            read.push((*id, build_no_hash()));
            continue;
        };
        let tool = describe_tool(&*looking.view, one);
        let lines = one.lines(looking.now, tool.as_deref(), false);
        // A pipe gets long lines unbroken: they count as many lines as they fill on a screen.
        let filled = lines.iter().map(|line| width(line).div_ceil(COLUMNS).max(1)).sum();
        if !has_reader(screen) && filled > limits::UNTURNED_LINES {
            exit = report_unread(screen, one, filled);
            continue;
        }
        shown.extend(lines);
        read.push((*id, one.hash));
    }
    let is_read = match has_reader(screen) && screen.count_pages(&shown) > 1 {
        true => show_by_pages(screen, kind, &shown),
        false => {
            shown.iter().for_each(|line| show_line(screen, line));
            true
        }
    };
    if is_read {
        return Ok((read, exit));
    }
    screen.say(match kind {
        RequestKind::Approval => "nothing is approved",
        RequestKind::Question => "nothing is answered",
    });
    Err(CommandExit::Usage)
}

/// Whether a person sees the screen and can turn its pages.
fn has_reader(screen: Screen) -> bool {
    screen.terminal && !screen.json && stdin().is_terminal()
}

fn show_line(screen: Screen, line: &str) {
    match screen.json {
        true => screen.say_drawn(line),
        false => screen.show_drawn(line),
    }
}

fn report_unread(screen: Screen, one: &WaitingRequest, lines: usize) -> CommandExit {
    let hash = one.hash.to_string();
    let hash = shorten_hash(&hash);
    let id = one.id;
    let (done, command) = match one.about {
        RequestSubject::Approval { .. } => ("approved", format!("systole approve {id} --hash {hash}")),
        RequestSubject::Question { .. } => ("answered", format!("the same command with --hash {hash}")),
    };
    screen.say(format!(
        "error: {id} takes {lines} lines, and was not shown: it cannot be {done} by its id alone"
    ));
    screen.say(format!("  try: systole approve, which shows it whole; then: {command}"));
    CommandExit::Usage
}

/// Shows the lines page by page, and asks at the end.
fn show_by_pages(screen: Screen, kind: RequestKind, lines: &[String]) -> bool {
    let mut left = lines;
    while !left.is_empty() {
        let (page, more) = left.split_at(screen.count_first_page(left));
        page.iter().for_each(|line| show_line(screen, line));
        left = more;
        if left.is_empty() {
            break;
        }
        screen.say(format!("{} more lines: Enter shows them, q stops", left.len()));
        if !matches!(read_answer().as_deref(), Some("")) {
            return false;
        }
    }
    let yes = match kind {
        RequestKind::Approval => "approves",
        RequestKind::Question => "answers",
    };
    screen.say(format!("that is all: y {yes}, any other answer does not"));
    matches!(read_answer().as_deref(), Some("y" | "yes"))
}

/// A line from the terminal; `None` if the terminal is gone.
fn read_answer() -> Option<String> {
    let mut line = String::new();
    let read = stdin().read_line(&mut line).ok().filter(|read| *read > 0);
    read.map(|_| line.trim().to_owned())
}
