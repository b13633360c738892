//! Every wait of an organism in a list, the longest first: thread, how long, for what, the command.
//!
//! Standings come in; one entry for each thing that is waited for goes out, in columns for whoever
//! reads lines and broken to fit for whoever looks at a terminal.

use super::kinds::words;
use super::{Cause, Reason, Standing};
use crate::audit::columns::{self, cut, cut_counted, width, wrapped};
use crate::audit::layout::{self, Tone, paint};
use crate::audit::runs::Goal;
use systole_core::types::ids::ThreadId;
use systole_core::types::time::{Millis, spoken};

/// Columns that a thread's id takes at most.
const ID_COLUMNS: usize = 24;
/// Columns that the words for what is waited for take at most.
const WHAT_COLUMNS: usize = 120;
/// Columns by which the further lines of an entry are indented.
const INDENT: usize = 4;

/// One wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The thread that waits.
    pub thread: ThreadId,
    /// Since when.
    pub since: Millis,
    /// The kind of wait, as programs read it.
    pub cause: &'static str,
    /// For what.
    pub what: String,
    /// What to type: the command that ends it, or the one that says more.
    pub command: String,
    /// The goal of a workflow that it is about.
    pub goal: Option<Goal>,
}

/// Every wait of these threads, the longest first: the leaves, which alone can end something, and the
/// messages that are held behind another.
pub fn waits(standings: &[Standing], now: Millis) -> Vec<Wait> {
    let mut waits = Vec::new();
    for standing in standings {
        let held = standing.reasons.iter().filter(|reason| matches!(reason.cause, Cause::Held { .. }));
        waits.extend(standing.leaves().into_iter().chain(held).map(|reason| wait(reason, now)));
        if let (true, Some(timer)) = (standing.reasons.is_empty(), standing.timers.first()) {
            let due = spoken(timer.due.since(now));
            let what = ["for timer ", timer.id.as_str(), " of ", timer.listener.as_str(), ", due in ", &due];
            waits.push(Wait {
                thread: standing.thread.clone(),
                since: standing.touched,
                cause: "timer",
                what: what.concat(),
                command: format!("systole why {}", standing.thread.as_str()),
                goal: None,
            });
        }
    }
    // Of two that wait as long the order is that of the threads, so that the same log reads the same.
    waits.sort_by(|a, b| (a.since, &a.thread).cmp(&(b.since, &b.thread)));
    waits
}

fn wait(reason: &Reason, now: Millis) -> Wait {
    let told = words(reason, now);
    let command = told.command.unwrap_or_else(|| format!("systole why {}", reason.thread.as_str()));
    let (thread, since) = (reason.thread.clone(), reason.since);
    let goal = reason.goal.as_ref().map(|goal| format!("{}: ", goal.label())).unwrap_or_default();
    let what = format!("{goal}{}", told.wait);
    Wait { thread, since, cause: reason.cause.as_str(), what, command, goal: reason.goal.clone() }
}

/// The list, one line for each wait.
pub fn in_lines(waits: &[Wait], now: Millis) -> Vec<String> {
    let leads = leads(waits, now);
    let whats: Vec<String> = waits.iter().map(|wait| what(wait, WHAT_COLUMNS)).collect();
    let widest = whats.iter().map(|what| width(what)).max().unwrap_or(0);
    let rows = leads.iter().zip(&whats).zip(waits);
    rows.map(|((lead, what), wait)| {
        let gap = " ".repeat(widest - width(what));
        format!("{lead}{what}{gap}        {}", wait.command)
    })
    .collect()
}

/// What is waited for, in at most so many columns, and in colour if that is a person.
fn what(wait: &Wait, columns: usize) -> String {
    let what = cut_counted(&wait.what, columns);
    if matches!(wait.cause, "person" | "paused") { paint(Tone::Held, &what) } else { what }
}

/// The list for a narrow terminal: no line wider than the layout, and no command broken, which is to be
/// copied.
pub fn broken(waits: &[Wait], now: Millis) -> Vec<String> {
    let mut lines = Vec::new();
    for (lead, wait) in leads(waits, now).iter().zip(waits) {
        let mut entry = wrapped(lead, INDENT, &what(wait, usize::MAX));
        match entry.last_mut() {
            Some(last) if width(last) + INDENT + width(&wait.command) <= layout::columns() => {
                last.extend([" ".repeat(INDENT).as_str(), &wait.command]);
            }
            _ => entry.push(cut(&[" ".repeat(INDENT).as_str(), &wait.command].concat(), layout::columns())),
        }
        lines.append(&mut entry);
    }
    lines
}

/// Thread and time of each, in columns.
fn leads(waits: &[Wait], now: Millis) -> Vec<String> {
    let rows: Vec<(String, String)> = waits
        .iter()
        .map(|wait| {
            let thread = columns::thread(&wait.thread, ID_COLUMNS);
            (thread, format!("waits {}", spoken(now.since(wait.since))))
        })
        .collect();
    let widest = |column: fn(&(String, String)) -> &String| rows.iter().map(|row| width(column(row))).max();
    let (ids, times) = (widest(|row| &row.0).unwrap_or(0), widest(|row| &row.1).unwrap_or(0));
    let pad = |text: &str, to: usize| format!("{text}{}   ", " ".repeat(to - width(text)));
    rows.iter().map(|(thread, time)| [pad(thread, ids), pad(time, times)].concat()).collect()
}
