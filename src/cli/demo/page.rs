//! The look of the demo: numbered headings, facts after their names, and typed or spoken text, within the width of
//! the terminal. Colour only on a terminal that wants it. Everything from a payload is made visible before it is
//! printed.

use rustix::termios::tcgetwinsize;
use systole_kit::DocumentLimits;
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::writer::make_visible;

use crate::cli::screen::Screen;
use crate::limits::{DEMO_COLUMNS, FACT_COLUMN};
use systole_show::columns::{plain, wrapped_in};
use systole_show::limits::COLUMNS;

const END: &str = "\u{1b}[0m";
const INDENT: &str = "   ";

/// The colour of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineStyle {
    Plain,
    Bold,
    Good,
    Bad,
}

impl LineStyle {
    fn code(self) -> &'static str {
        match self {
            LineStyle::Plain => "",
            LineStyle::Bold => "\u{1b}[1m",
            LineStyle::Good => "\u{1b}[32m",
            LineStyle::Bad => "\u{1b}[31m",
        }
    }
}

pub(super) struct DemoPage {
    pub(super) screen: Screen,
    columns: usize,
}

impl DemoPage {
    pub(super) fn new(screen: Screen) -> DemoPage {
        let wide = tcgetwinsize(std::io::stdout()).map_or(0, |size| usize::from(size.ws_col));
        let columns = if screen.terminal && wide > 0 { wide.clamp(DEMO_COLUMNS, COLUMNS) } else { COLUMNS };
        DemoPage { screen, columns }
    }

    fn print_styled(&self, style: LineStyle, line: &str) {
        if self.screen.colour && style != LineStyle::Plain {
            self.screen.show_drawn(&format!("{}{}{END}", style.code(), make_visible(line)));
        } else {
            self.screen.show(line);
        }
    }

    fn print_wrapped(&self, style: LineStyle, lead: &str, indent: usize, text: &str) {
        for line in wrapped_in(self.columns, lead, indent, text) {
            self.print_styled(style, &line);
        }
    }

    /// The introduction, before the first step.
    pub(super) fn print_opening(&self, text: &str) {
        self.print_wrapped(LineStyle::Plain, "", 0, text);
    }

    /// The heading of a step.
    pub(super) fn print_heading(&self, text: &str) {
        self.screen.show("");
        self.print_wrapped(LineStyle::Bold, "", 3, text);
    }

    /// A line below a heading.
    pub(super) fn print_line(&self, style: LineStyle, text: &str) {
        self.print_wrapped(style, INDENT, INDENT.len(), &plain(text));
    }

    /// A fact after its name.
    pub(super) fn print_fact(&self, style: LineStyle, name: &str, text: &str) {
        let lead = format!("{INDENT}{name:<width$}", width = FACT_COLUMN - INDENT.len());
        self.print_wrapped(style, &lead, FACT_COLUMN, &plain(text));
    }

    /// A command to type next. It is not wrapped, so that it can be copied.
    pub(super) fn print_next(&self, command: &str) {
        self.screen.show(&format!("next: {command}"));
    }

    pub(super) fn print_blank(&self) {
        self.screen.show("");
    }
}

/// An attribute of a core payload's root.
pub(super) fn find_attribute(body: &str, name: &str) -> Option<String> {
    let mut gate = XmlGate::new_strict(body.as_bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    match gate.read_step() {
        Ok(GateStep::Open(_)) => gate.find_attribute(name).map(std::borrow::Cow::into_owned),
        _ => None,
    }
}
