//! Every wait of an organism in a list, longest first: thread, how long, for what, the command.
//!
//! Standings come in. One entry per wait goes out, in columns for scripts that read lines, or broken to
//! fit a terminal.

use super::kinds::words;
use super::{CallWait, ThreadWaits, WaitReason};
use crate::limits::{INDENT, NAME_COLUMNS, WAIT_COLUMNS};
use crate::runs::RunStep;
use systole_core::types::ids::ThreadId;
use systole_core::types::time::{Millis, spell_duration};
use systole_show::columns::{self, cut, cut_counted, width, wrapped};
use systole_show::layout::{self, TextTone, paint};

/// One wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedWait {
    /// The thread that waits.
    pub thread: ThreadId,
    /// Since when.
    pub since: Millis,
    /// The kind of wait, for programs.
    pub cause: &'static str,
    /// What it waits for.
    pub what: String,
    /// The command to type: one that ends the wait, or one that shows more.
    pub command: String,
    /// Its goal in a workflow.
    pub goal: Option<RunStep>,
}

/// Every wait of these threads, longest first: the leaves, which alone can end something, and the held
/// messages.
pub fn waits(standings: &[ThreadWaits], now: Millis) -> Vec<ListedWait> {
    let mut waits = Vec::new();
    for standing in standings {
        let held = standing.reasons.iter().filter(|reason| matches!(reason.cause, CallWait::Held { .. }));
        waits.extend(standing.leaves().into_iter().chain(held).map(|reason| wait(reason, now)));
        if let (true, Some(timer)) = (standing.reasons.is_empty(), standing.timers.first()) {
            let due = spell_duration(timer.due.count_since(now));
            let (id, listener) = (timer.id.as_str(), timer.listener.as_str());
            waits.push(ListedWait {
                thread: standing.thread.clone(),
                since: standing.touched,
                cause: "timer",
                what: format!("for timer {id} of {listener}, due in {due}"),
                command: format!("systole why {}", standing.thread.as_str()),
                goal: None,
            });
        }
    }
    // Equally long waits are sorted by thread, so that the same log gives the same list.
    waits.sort_by(|a, b| (a.since, &a.thread).cmp(&(b.since, &b.thread)));
    waits
}

fn wait(reason: &WaitReason, now: Millis) -> ListedWait {
    let told = words(reason, now);
    let command = told.command.unwrap_or_else(|| format!("systole why {}", reason.thread.as_str()));
    let (thread, since) = (reason.thread.clone(), reason.since);
    let goal = reason.goal.as_ref().map(|goal| format!("{}: ", goal.label())).unwrap_or_default();
    let what = format!("{goal}{}", told.wait);
    ListedWait { thread, since, cause: reason.cause.as_str(), what, command, goal: reason.goal.clone() }
}

/// The list, one line for each wait.
pub fn in_lines(waits: &[ListedWait], now: Millis) -> Vec<String> {
    let leads = leads(waits, now);
    let whats: Vec<String> = waits.iter().map(|wait| what(wait, WAIT_COLUMNS)).collect();
    let widest = whats.iter().map(|what| width(what)).max().unwrap_or(0);
    let rows = leads.iter().zip(&whats).zip(waits);
    rows.map(|((lead, what), wait)| {
        let gap = " ".repeat(widest - width(what));
        format!("{lead}{what}{gap}        {}", wait.command)
    })
    .collect()
}

/// What it waits for, in at most that many columns, and in colour if it is a person.
fn what(wait: &ListedWait, columns: usize) -> String {
    let what = cut_counted(&wait.what, columns);
    if matches!(wait.cause, "person" | "paused") { paint(TextTone::Held, &what) } else { what }
}

/// The list for a narrow terminal: no line is wider than the layout, and no command is broken, so that
/// it can be copied.
pub fn list_broken(waits: &[ListedWait], now: Millis) -> Vec<String> {
    let mut lines = Vec::new();
    for (lead, wait) in leads(waits, now).iter().zip(waits) {
        let mut entry = wrapped(lead, INDENT, &what(wait, usize::MAX));
        match entry.last_mut() {
            Some(last) if width(last) + INDENT + width(&wait.command) <= layout::columns() => {
                last.extend([" ".repeat(INDENT).as_str(), &wait.command]);
            }
            _ => entry.push(cut(&format!("{}{}", " ".repeat(INDENT), wait.command), layout::columns())),
        }
        lines.append(&mut entry);
    }
    lines
}

/// Thread and time of each, in columns.
fn leads(waits: &[ListedWait], now: Millis) -> Vec<String> {
    let rows: Vec<(String, String)> = waits
        .iter()
        .map(|wait| {
            let thread = columns::thread(&wait.thread, NAME_COLUMNS);
            (thread, format!("waits {}", spell_duration(now.count_since(wait.since))))
        })
        .collect();
    let widest = |column: fn(&(String, String)) -> &String| rows.iter().map(|row| width(column(row))).max();
    let (ids, times) = (widest(|row| &row.0).unwrap_or(0), widest(|row| &row.1).unwrap_or(0));
    let pad = |text: &str, to: usize| format!("{text}{}   ", " ".repeat(to - width(text)));
    rows.iter().map(|(thread, time)| format!("{}{}", pad(thread, ids), pad(time, times))).collect()
}
