//! How the demo looks: headings, words, facts and payloads within eighty columns, with colour only on
//! a terminal that wants it. Everything that came from a payload is made visible before it is printed.

use systole_kit::Limits;
use systole_kit::gate::{Gate, Step};
use systole_kit::writer::visible;

use crate::audit::columns::{plain, wrapped};
use crate::cli::screen::Screen;

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const END: &str = "\u{1b}[0m";
/// Columns that a line of a payload may take.
const WIDTH: usize = 74;

pub(super) struct Page {
    screen: Screen,
}

impl Page {
    pub(super) fn new(screen: Screen) -> Page {
        Page { screen }
    }

    fn in_style(&self, style: &str, line: &str) {
        if self.screen.colour {
            self.screen.drawn(&[style, &visible(line), END].concat());
        } else {
            self.screen.show(line);
        }
    }

    pub(super) fn heading(&self, text: &str) {
        self.screen.show("");
        self.in_style(BOLD, text);
    }

    pub(super) fn line(&self, line: &str) {
        self.screen.show(line);
    }

    pub(super) fn words(&self, text: &str) {
        wrapped("", 0, text).iter().for_each(|line| self.screen.show(line));
    }

    pub(super) fn fact(&self, text: &str) {
        wrapped("  -", 4, text).iter().for_each(|line| self.screen.show(line));
    }

    pub(super) fn pair(&self, name: &str, text: &str) {
        let lead = ["  ", name, &" ".repeat(10_usize.saturating_sub(name.len()))].concat();
        wrapped(&lead, 12, &plain(text)).iter().for_each(|line| self.screen.show(line));
    }

    /// What somebody says.
    pub(super) fn said(&self, who: &str, text: &str) {
        wrapped(&["  ", who, ":"].concat(), 4, text).iter().for_each(|line| self.screen.show(line));
    }

    /// A payload as it is, broken only between tags and before blanks, or where a line is full.
    pub(super) fn xml(&self, payload: &str) {
        for line in broken(payload) {
            self.in_style(DIM, &["    ", &line].concat());
        }
    }

    pub(super) fn next(&self, command: &str) {
        self.screen.show("");
        self.screen.show(&["next: ", command].concat());
    }
}

fn broken(payload: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in payload.replace("><", ">\n<").replace(' ', "\n ").split('\n') {
        let mut rest: Vec<char> = visible(piece).chars().collect();
        while !rest.is_empty() {
            let used = lines.last().map_or(0, |l| l.chars().count());
            let opens = rest.first() == Some(&'<');
            if used > 0 && (used + rest.len().min(WIDTH) > WIDTH || opens && used > WIDTH / 2) {
                lines.push(String::new());
                continue;
            }
            let part: String = rest.drain(..rest.len().min(WIDTH - used)).collect();
            if let Some(line) = lines.last_mut() {
                line.push_str(&part);
            }
        }
    }
    lines
}

/// An attribute of a core payload's root.
pub(super) fn attribute(body: &str, name: &str) -> Option<String> {
    let mut gate = Gate::strict(body.as_bytes(), &Limits::FROM_PUMP).ok()?;
    match gate.step() {
        Ok(Step::Open(_)) => gate.attribute(name).map(std::borrow::Cow::into_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_broken_between_tags_and_loses_nothing() {
        let payload = ["<a>", &"<b>some text</b>".repeat(12), &"x".repeat(200), "</a>"].concat();
        let lines = broken(&payload);
        assert!(lines.iter().all(|l| l.chars().count() <= WIDTH));
        assert_eq!(lines.concat(), payload);
    }
}
