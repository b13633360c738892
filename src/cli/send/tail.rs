//! What is being said just now, on one line of a terminal that the next words take the place of. Elsewhere nothing
//! is shown: it is no data, and it comes again, whole, when it is done.

use std::io::IsTerminal as _;

use super::Screen;
use crate::cli::screen::{COLUMNS, cut};
use crate::console::told::{Receipt, Record};
use crate::words::ids::CallPath;

/// The words of whoever spoke last.
pub(super) struct Tail {
    screen: Screen,
    /// Whether somebody looks.
    watched: bool,
    listener: String,
    words: String,
}

/// Whatever is written next begins on a line of its own.
impl Drop for Tail {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Tail {
    pub(super) fn new(screen: Screen) -> Tail {
        let watched = !screen.json && std::io::stderr().is_terminal();
        Tail { screen, watched, listener: String::new(), words: String::new() }
    }

    /// Takes further words of a listener.
    pub(super) fn hear(&mut self, listener: &str, words: &str) {
        if !self.watched {
            return;
        }
        if self.listener != listener {
            (self.listener, self.words) = (listener.to_owned(), String::new());
        }
        let spaced = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let gap = if words.starts_with(char::is_whitespace) { " " } else { "" };
        self.words.extend([gap, &spaced]);
        if words.ends_with(char::is_whitespace) {
            self.words.push(' ');
        }
        let room = COLUMNS.saturating_sub(listener.chars().count() + 3);
        let skipped = self.words.chars().count().saturating_sub(room);
        self.words = self.words.chars().skip(skipped).collect();
        self.screen.progress(&cut(&[listener, ": ", &self.words].concat(), COLUMNS));
    }

    /// Takes the line away, before another one is written.
    pub(super) fn clear(&mut self) {
        if !self.listener.is_empty() {
            self.listener.clear();
            self.screen.progress("");
        }
    }

    /// Whether a record belongs to what goes on inside the call that is waited for, and somebody looks on.
    pub(super) fn is_inside(&self, receipt: &Receipt, record: &Record) -> bool {
        let call = record.call.as_deref().and_then(|call| CallPath::parse(call).ok());
        let is_below = record.thread != receipt.thread || call.is_some_and(|call| call.depth() > 0);
        // What goes out of the call itself, and what of it was refused.
        let goes_out = matches!(record.code.as_deref(), Some("call" | "spawn")) || record.kind == "refusal";
        self.watched && (is_below || goes_out)
    }
}
