//! What a person reads before an approval: each payload whole, on one screen or page by page.
//!
//! Nothing is approved that was not shown to its end. Ids come in; those whose payloads were read go out, each with the
//! hash of what was read.

use std::io::{IsTerminal as _, stdin};

use super::super::exit::Exit;
use super::super::looking::Looking;
use super::super::place::Place;
use super::super::screen::Screen;
use crate::audit::approvals::{self, Waiting};
use crate::audit::columns::{COLUMNS, width};
use crate::words::approval::ApprovalId;
use crate::words::ids::Digest;

/// Lines that a payload may take where nobody turns pages: more than most have, and few enough to be read in a log.
const UNSEEN: usize = 40;
/// Digits of a hash that are enough to name it.
const DIGITS: usize = 12;

/// A hash that no payload has: an empty text is none. What is bound to it is never approved.
pub(super) fn no_hash() -> Digest {
    Digest::of(b"")
}

/// Shows the payloads of these approvals. Those that were read come back with the hashes of what was read; the exit
/// says why others were not.
pub(super) fn read(place: &Place, ids: &[ApprovalId]) -> Result<(Vec<(ApprovalId, Digest)>, Exit), Exit> {
    let looking = Looking::open(place)?;
    let waiting = approvals::waiting(&looking.reader).map_err(|fault| looking.fault(&fault))?;
    let screen = looking.screen;
    let (mut read, mut shown, mut exit) = (Vec::new(), Vec::new(), Exit::Done);
    for id in ids {
        // Why nothing waits under an id, the organism says. If something does by then, nobody has read it.
        let Some(one) = waiting.iter().find(|one| one.id == *id) else {
            read.push((*id, no_hash()));
            continue;
        };
        let lines = one.lines(looking.now);
        // A pipe gets long lines whole: they count as many as they fill on a screen.
        let filled = lines.iter().map(|line| width(line).div_ceil(COLUMNS).max(1)).sum();
        if !has_reader(screen) && filled > UNSEEN {
            exit = unread(screen, one, filled);
            continue;
        }
        shown.extend(lines);
        read.push((*id, one.hash));
    }
    let is_read = match has_reader(screen) && screen.pages(&shown) > 1 {
        true => by_pages(screen, &shown),
        false => {
            shown.iter().for_each(|line| show(screen, line));
            true
        }
    };
    if is_read {
        return Ok((read, exit));
    }
    screen.say("nothing is approved");
    Err(Exit::Usage)
}

/// Whether somebody sees the screen and can turn its pages.
fn has_reader(screen: Screen) -> bool {
    screen.terminal && !screen.json && stdin().is_terminal()
}

fn show(screen: Screen, line: &str) {
    match screen.json {
        true => screen.say_drawn(line),
        false => screen.drawn(line),
    }
}

fn unread(screen: Screen, one: &Waiting, lines: usize) -> Exit {
    let hash = one.hash.to_string();
    let hash = hash.get(..DIGITS).unwrap_or(&hash);
    let id = one.id;
    screen.say(format!(
        "error: {id} takes {lines} lines, and was not shown: it cannot be approved by its id alone"
    ));
    screen.say(format!(
        "  try: systole approve, which shows it whole; then: systole approve {id} --hash {hash}"
    ));
    Exit::Usage
}

/// Shows the lines page by page, and asks at the end.
fn by_pages(screen: Screen, lines: &[String]) -> bool {
    let mut left = lines;
    while !left.is_empty() {
        let (page, more) = left.split_at(screen.first_page(left));
        page.iter().for_each(|line| show(screen, line));
        left = more;
        if left.is_empty() {
            break;
        }
        screen.say(format!("{} more lines: Enter shows them, q stops", left.len()));
        if !matches!(answer().as_deref(), Some("")) {
            return false;
        }
    }
    screen.say("that is all of it: y approves, anything else does not");
    matches!(answer().as_deref(), Some("y" | "yes"))
}

/// A line from the terminal; none where it is gone.
fn answer() -> Option<String> {
    let mut line = String::new();
    let read = stdin().read_line(&mut line).ok().filter(|read| *read > 0);
    read.map(|_| line.trim().to_owned())
}
