//! What `systole-soak` prints: results to stdout, messages to stderr.

use std::io::{self, IsTerminal as _, Write};

use serde::Serialize;

/// Where the results and the messages go.
pub(crate) struct Terminal<'w> {
    /// Whether the result is printed as JSON.
    pub(crate) json: bool,
    pub(crate) out: &'w mut dyn Write,
    pub(crate) err: &'w mut dyn Write,
}

// A reader that left hears nothing more. The kills go on, and the exit code tells how they ended.
impl Terminal<'_> {
    /// A line of the result.
    pub(crate) fn show(&mut self, line: &str) {
        let _reader_left = writeln!(self.out, "{line}");
    }

    /// The result as JSON.
    pub(crate) fn value(&mut self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(line) => self.show(&line),
            Err(error) => self.say(&format!("error: the result is not JSON: {error}")),
        }
    }

    /// A message.
    pub(crate) fn say(&mut self, line: &str) {
        let _reader_left = writeln!(self.err, "{line}");
    }

    /// A line that the next one replaces. Only a person sees it.
    pub(crate) fn progress(&mut self, line: &str) {
        if io::stderr().is_terminal() {
            let _reader_left = write!(self.err, "\r\x1b[K{line}");
            let _reader_left = self.err.flush();
        }
    }

    /// Reports an error and its fix. Returns the exit code.
    pub(crate) fn fail(&mut self, exit: u8, words: &str, fix: &str) -> u8 {
        self.say(&format!("error: {words}\n  try: {fix}"));
        exit
    }
}
