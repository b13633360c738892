//! What commands print: data to stdout, talk to stderr, and nothing that a terminal would obey which
//! we did not mean. A reader that goes away ends the printing, not the command; a disk that is full is told.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use systole_kit::writer::visible;

use jiff::tz::TimeZone;

use super::exit::Exit;
use super::pager;
use crate::audit::columns::width;
use crate::audit::layout::{self, Layout, Tone};

/// Columns of a line that is cut to fit.
pub(super) const COLUMNS: usize = 80;
/// Columns of the narrowest terminal that lines are made for.
const NARROWEST: usize = 20;

/// Whether data was lost on its way to stdout. A process has one stdout, and so one word on it.
static LOST: AtomicBool = AtomicBool::new(false);

/// How a command ends that may have lost some of what it had to print: what is not there is not done.
pub(super) fn ended(exit: Exit) -> Exit {
    if exit == Exit::Done && LOST.load(Ordering::Relaxed) { Exit::Unavailable } else { exit }
}

/// Sets how this process prints. Data for programs looks the same everywhere.
pub(super) fn lay_out(json: bool, utc: bool) {
    if json {
        return;
    }
    let zone = if utc { TimeZone::UTC } else { TimeZone::system() };
    layout::set(Layout {
        columns: columns_of(std::io::stdout()),
        talk: columns_of(std::io::stderr()),
        zone,
        colour: Screen::of_process(false).colour,
    });
}

/// Columns of a line: what `COLUMNS` says, else the terminal's. Elsewhere lines are whole.
fn columns_of(out: impl AsFd + io::IsTerminal) -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let wide = || rustix::termios::tcgetwinsize(&out).map_or(0, |size| usize::from(size.ws_col));
    let columns = match said.filter(|columns| *columns > 0) {
        Some(columns) => columns,
        None if !out.is_terminal() => return usize::MAX,
        // One that does not say its size is taken for an old one.
        None => Some(wide()).filter(|columns| *columns > 0).unwrap_or(COLUMNS),
    };
    columns.max(NARROWEST)
}

/// Whether output is coloured, by the variables that other tools follow too.
fn is_coloured(terminal: bool) -> bool {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_forced = !matches!(variable("CLICOLOR_FORCE").as_str(), "" | "0");
    variable("NO_COLOR").is_empty() && (is_forced || (terminal && variable("TERM") != "dumb"))
}

/// Where a command prints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    /// Whether data is JSON, a value a line.
    pub(super) json: bool,
    /// Whether somebody looks at stdout.
    pub(super) terminal: bool,
    /// Whether colour is wanted there.
    pub(super) colour: bool,
}

impl Screen {
    /// The screen of this process.
    pub(super) fn of_process(json: bool) -> Screen {
        let terminal = pager::runs() || std::io::stdout().is_terminal();
        Screen { json, terminal, colour: !json && is_coloured(terminal) }
    }

    /// The same for stderr.
    pub(super) fn for_talk(self) -> Screen {
        let terminal = std::io::stderr().is_terminal();
        Screen { terminal, colour: is_coloured(terminal), ..self }
    }

    /// How many pages of the terminal these lines take.
    pub(super) fn pages(self, mut lines: &[String]) -> usize {
        let mut pages = 0;
        while !lines.is_empty() {
            lines = lines.split_at(self.first_page(lines)).1;
            pages += 1;
        }
        pages
    }

    /// How many of these lines fit on the terminal at once, with a line of talk below them; at least one.
    pub(super) fn first_page(self, lines: &[String]) -> usize {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
        // If the terminal does not say its size, it is taken for an old one.
        let rows = size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(24);
        let columns = layout::columns();
        let mut taken = 0;
        let fits = lines.iter().take_while(|line| {
            taken += width(line).div_ceil(columns).max(1);
            taken + 2 <= rows
        });
        fits.count().clamp(1, lines.len().max(1))
    }

    /// A line of data, hostile text made visible.
    pub(super) fn show(self, line: &str) {
        self.raw(visible(line).as_bytes());
    }

    /// A line of data that holds our own colours; what is not ours in it was made visible before.
    pub(super) fn drawn(self, line: &str) {
        self.raw(line.as_bytes());
    }

    /// A document: to a program byte for byte, on a terminal with hostile text made visible.
    pub(super) fn document(self, bytes: &[u8]) {
        if self.terminal {
            return self.show(String::from_utf8_lossy(bytes).trim_end_matches('\n'));
        }
        let mut out = std::io::stdout().lock();
        let printed = out.write_all(bytes).and_then(|()| out.flush());
        drop(out);
        self.told(printed);
    }

    /// A reader of ours that went away has what it wanted; anything else that hinders is told, once.
    fn told(self, printed: io::Result<()>) {
        let Err(error) = printed else { return };
        if error.kind() != ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) {
            self.say(format!("error: stdout: {error}; what should stand there is lost"));
        }
    }

    /// A value as a line of JSON.
    pub(super) fn value(self, value: &impl Serialize) {
        // JSON escapes control characters itself, and programs want the rest as it is.
        if let Ok(line) = serde_json::to_vec(value) {
            self.raw(&line);
        }
    }

    fn raw(self, line: &[u8]) {
        let mut out = std::io::stdout().lock();
        let printed = out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
        drop(out);
        self.told(printed);
    }

    /// A line of talk that the next one takes the place of; on a terminal only.
    pub(super) fn progress(self, line: &str) {
        self.progress_drawn(&visible(line));
    }

    /// The same for a line in which everything was made visible before.
    pub(super) fn progress_drawn(self, line: &str) {
        let mut out = std::io::stderr().lock();
        if out.is_terminal() {
            // Nobody who went away misses it.
            let _gone = write!(out, "\r\u{1b}[K{line}").and_then(|()| out.flush());
        }
    }

    /// Asks for a line.
    pub(super) fn prompt(self) {
        let mut out = std::io::stderr().lock();
        // With stderr gone there is nobody to ask.
        let _gone = write!(out, "> ").and_then(|()| out.flush());
    }

    /// A line of talk, hostile text made visible.
    pub(super) fn say(self, line: impl Display) {
        self.say_drawn(&visible(&line.to_string()));
    }

    /// A line of talk in which everything was made visible before.
    pub(super) fn say_drawn(self, line: &str) {
        let mut out = std::io::stderr().lock();
        // With stderr gone there is nobody to talk to.
        let _gone = writeln!(out, "{line}");
    }

    /// Our own words in a colour, if there is colour.
    pub(super) fn ink(self, tone: Tone, words: &str) -> String {
        if self.colour { layout::ink(tone, words) } else { words.to_owned() }
    }

    /// Says what went wrong, and gives the exit that it means.
    pub(super) fn fail(self, exit: Exit, words: impl Display) -> Exit {
        self.error_drawn(&visible(&words.to_string()));
        exit
    }

    /// Says what went wrong, in words in which everything was made visible before.
    pub(super) fn error_drawn(self, words: &str) {
        self.say_drawn(&format!("{} {words}", self.for_talk().ink(Tone::Bad, "error:")));
    }
}
