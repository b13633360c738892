//! The output of commands: data to stdout, messages to stderr, and no unintended control characters for a
//! terminal. If a reader goes away, the printing ends but not the command; a full disk is reported.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use systole_kit::writer::make_visible;
use systole_system::pager;

use jiff::tz::TimeZone;

use super::exit::CommandExit;
use crate::limits;
use systole_core::types::ports::Position;
use systole_show::columns::width;
use systole_show::layout::{self, LineLayout, TextTone};

/// The mark by which the journal of systemd knows an error.
pub(super) const ERROR_MARK: &str = "<3>";

/// Whether data for stdout was lost. A process has one stdout, so this is reported once.
static LOST: AtomicBool = AtomicBool::new(false);

/// The exit of a command that may have lost some of its output: lost output means not done.
pub(super) fn check_output(exit: CommandExit) -> CommandExit {
    if exit == CommandExit::Done && LOST.load(Ordering::Relaxed) { CommandExit::Unavailable } else { exit }
}

/// Sets the print layout of this process. Data for programs looks the same everywhere.
pub(super) fn lay_out(json: bool, utc: bool) {
    if json {
        return;
    }
    let zone = if utc { TimeZone::UTC } else { TimeZone::system() };
    layout::set(LineLayout {
        columns: measure_columns(std::io::stdout()),
        talk: measure_columns(std::io::stderr()),
        zone,
        colour: Screen::new(false).colour,
    });
}

/// JSON in which nothing ends a line, for any reader. JSON escapes control characters itself; these three end a line
/// for some readers too, and can only be inside texts.
fn join_line(json: String) -> String {
    [("\u{85}", "\\u0085"), ("\u{2028}", "\\u2028"), ("\u{2029}", "\\u2029")]
        .into_iter()
        .fold(json, |json, (end, escaped)| if json.contains(end) { json.replace(end, escaped) } else { json })
}

/// Columns of a line: the value of `COLUMNS`, else the terminal's. Elsewhere lines are whole.
fn measure_columns(out: impl AsFd + io::IsTerminal) -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let wide = || rustix::termios::tcgetwinsize(&out).map_or(0, |size| usize::from(size.ws_col));
    let columns = match said.filter(|columns| *columns > 0) {
        Some(columns) => columns,
        None if !out.is_terminal() => return usize::MAX,
        // A terminal that does not report its size gets the classic width.
        None => Some(wide()).filter(|columns| *columns > 0).unwrap_or(systole_show::limits::COLUMNS),
    };
    columns.max(crate::limits::LEAST_COLUMNS)
}

/// Whether output is coloured, by the variables that other tools use too.
fn is_coloured(terminal: bool) -> bool {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_forced = !matches!(variable("CLICOLOR_FORCE").as_str(), "" | "0");
    variable("NO_COLOR").is_empty() && (is_forced || (terminal && variable("TERM") != "dumb"))
}

/// Whether stderr goes to the journal of systemd, which names it by its device and inode.
pub(super) fn is_journal() -> bool {
    let named = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    !named.is_empty() && is_stream(&named, io::stderr())
}

/// Whether a file has this device and inode, written as `8:4711`.
fn is_stream(named: &str, file: impl AsFd) -> bool {
    rustix::fs::fstat(file).is_ok_and(|stat| format!("{}:{}", stat.st_dev, stat.st_ino) == named)
}

/// The output of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    /// Whether data is JSON, one value per line.
    pub(super) json: bool,
    /// Whether stdout goes to a terminal.
    pub(super) terminal: bool,
    /// Whether stdout is coloured.
    pub(super) colour: bool,
}

impl Screen {
    /// The screen of this process.
    pub(super) fn new(json: bool) -> Screen {
        let terminal = pager::is_running() || std::io::stdout().is_terminal();
        Screen { json, terminal, colour: !json && is_coloured(terminal) }
    }

    /// The same for stderr.
    pub(super) fn for_talk(self) -> Screen {
        let terminal = std::io::stderr().is_terminal();
        Screen { terminal, colour: is_coloured(terminal), ..self }
    }

    /// How many pages of the terminal these lines fill.
    pub(super) fn count_pages(self, mut lines: &[String]) -> usize {
        let mut pages = 0;
        while !lines.is_empty() {
            lines = lines.split_at(self.count_first_page(lines)).1;
            pages += 1;
        }
        pages
    }

    /// How many of these lines fit on the terminal at once, with a message line below them; at least one.
    pub(super) fn count_first_page(self, lines: &[String]) -> usize {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
        // A terminal that does not report its size gets the classic height.
        let rows = size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(24);
        let columns = layout::columns();
        let mut taken = 0;
        let fits = lines.iter().take_while(|line| {
            taken += width(line).div_ceil(columns).max(1);
            taken + 2 <= rows
        });
        fits.count().clamp(1, lines.len().max(1))
    }

    /// A line of data, with hostile text made visible.
    pub(super) fn show(self, line: &str) {
        self.write_raw(make_visible(line).as_bytes());
    }

    /// A line of data with our own colours; all foreign text was made visible before.
    pub(super) fn show_drawn(self, line: &str) {
        self.write_raw(line.as_bytes());
    }

    /// A document: unchanged for a program, with hostile text made visible on a terminal.
    pub(super) fn show_document(self, bytes: &[u8]) {
        if self.terminal {
            return self.show(String::from_utf8_lossy(bytes).trim_end_matches('\n'));
        }
        let mut out = std::io::stdout().lock();
        let printed = out.write_all(bytes).and_then(|()| out.flush());
        drop(out);
        self.check_printed(printed);
    }

    /// If the reader went away, it has what it wanted; any other error is reported, once.
    fn check_printed(self, printed: io::Result<()>) {
        let Err(error) = printed else { return };
        if error.kind() != ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) {
            self.say(format!("error: stdout: {error}; the output is lost"));
        }
    }

    /// A value as a line of JSON.
    pub(super) fn show_value(self, value: &impl Serialize) {
        if let Ok(line) = serde_json::to_string(value) {
            self.write_raw(join_line(line).as_bytes());
        }
    }

    fn write_raw(self, line: &[u8]) {
        let mut out = std::io::stdout().lock();
        let printed = out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
        drop(out);
        self.check_printed(printed);
    }

    /// Shows how far a file beside the log is, if there is much to add. Returns whether it does.
    pub(super) fn follow_progress(self, what: &'static str) -> impl FnMut(Position, Position) -> bool {
        let mut next = None;
        move |at, last| {
            let next = next.get_or_insert_with(|| at.0.saturating_add(limits::FIND_PROGRESS));
            let is_shown = at.0 >= *next;
            if is_shown {
                *next = at.0.saturating_add(limits::FIND_PROGRESS);
                let part = (at.0.saturating_mul(100)).checked_div(last.0).unwrap_or(100);
                self.show_progress(&format!("{what}: {} of {} records, {part} %", at.0, last.0));
            }
            is_shown
        }
    }

    /// A message line that the next one replaces; on a terminal only.
    pub(super) fn show_progress(self, line: &str) {
        self.show_progress_drawn(&make_visible(line));
    }

    /// The same for a line in which everything was already made visible.
    pub(super) fn show_progress_drawn(self, line: &str) {
        let mut out = std::io::stderr().lock();
        if out.is_terminal() {
            // If stderr is gone, no one misses it.
            let _gone = write!(out, "\r\u{1b}[K{line}").and_then(|()| out.flush());
        }
    }

    /// Writes lines over those that were written so before. The last one is not ended.
    pub(super) fn show_block_drawn(self, before: usize, lines: &[String]) {
        let mut out = std::io::stderr().lock();
        if out.is_terminal() {
            let up = before.checked_sub(1).filter(|up| *up > 0).map(|up| format!("\u{1b}[{up}A"));
            let up = up.unwrap_or_default();
            // If stderr is gone, no one misses it.
            let _gone = write!(out, "\r{up}\u{1b}[J{}", lines.join("\n")).and_then(|()| out.flush());
        }
    }

    /// The rows of the terminal that stderr is. One that does not report its size has the classic height.
    pub(super) fn count_talk_rows(self) -> usize {
        let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
        size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(24)
    }

    /// Prompts for a line.
    pub(super) fn show_prompt(self) {
        let mut out = std::io::stderr().lock();
        // If stderr is gone, there is no one to ask.
        let _gone = write!(out, "> ").and_then(|()| out.flush());
    }

    /// A message line, with hostile text made visible.
    pub(super) fn say(self, line: impl Display) {
        self.say_drawn(&make_visible(&line.to_string()));
    }

    /// A message line in which everything was already made visible.
    pub(super) fn say_drawn(self, line: &str) {
        let mut out = std::io::stderr().lock();
        // If stderr is gone, there is no one to tell.
        let _gone = writeln!(out, "{line}");
    }

    /// Our own words in a colour, if output is coloured.
    pub(super) fn colour(self, tone: TextTone, words: &str) -> String {
        if self.colour { layout::ink(tone, words) } else { words.to_owned() }
    }

    /// Prints an error, and returns its exit.
    pub(super) fn fail(self, exit: CommandExit, words: impl Display) -> CommandExit {
        self.report_drawn(&make_visible(&words.to_string()));
        exit
    }

    /// Prints an error and its fix, and returns its exit.
    pub(super) fn fail_with(self, exit: CommandExit, words: impl Display, fix: impl Display) -> CommandExit {
        let exit = self.fail(exit, words);
        self.say(format!("  try: {fix}"));
        exit
    }

    /// Refuses the command line: prints what is wrong with it and the fix, and returns the exit.
    pub(super) fn refuse(self, words: impl Display, fix: impl Display) -> CommandExit {
        self.fail_with(CommandExit::Usage, words, fix)
    }

    /// Prints an error whose words were already made visible.
    pub(super) fn report_drawn(self, words: &str) {
        let mark = if is_journal() { ERROR_MARK } else { "" };
        self.say_drawn(&format!("{mark}{} {words}", self.for_talk().colour(TextTone::Bad, "error:")));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_stream_that_systemd_names_is_the_journal() {
        let file = tempfile::tempfile().unwrap();
        let stat = rustix::fs::fstat(&file).unwrap();
        assert!(super::is_stream(&format!("{}:{}", stat.st_dev, stat.st_ino), &file));
        assert!(!super::is_stream(&format!("{}:{}", stat.st_dev, stat.st_ino + 1), &file));
    }
}
