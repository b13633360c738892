//! Runs a page that needs several terminals: its commands run in order, each long-running one in its own terminal.
//! Their output is compared with the page; `SYSTOLE_GOLDEN=1` writes it again.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use crate::over_nats::Ends;
use crate::program::{PATIENCE, lines};
use crate::session::{Shell, Step, rewritten, untimed};

/// A text without its times, and without the numbers that a machine assigns: ports, and processes with their machine.
pub(crate) fn unnumbered(text: &str) -> String {
    let mut parts = untimed(text).split("127.0.0.1:").map(str::to_owned).collect::<Vec<_>>();
    for port in parts.iter_mut().skip(1) {
        *port = format!("PORT{}", port.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    let text = parts.concat();
    let lines = text.lines().map(uncounted).collect::<Vec<_>>();
    let lines = lines.iter().map(|line| {
        let named = [" runs as process ", "stands by: process ", ", as process "];
        // Both processes in one line.
        if let (Some(_), Some((_, copy))) =
            (line.strip_prefix("error: process "), line.split_once(" stands by on "))
        {
            let copy = copy.split_once(": process ").map_or(copy, |(copy, _)| copy);
            return format!("error: process N stands by on {copy}: process N has the log\n");
        }
        match named.iter().find_map(|words| Some((line.split_once(words)?.0, words))) {
            Some((name, words)) => format!("{name}{words}\n"),
            None => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// A line without its numbers of records and bundles, which depend on timing.
fn uncounted(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let counts =
        |at: usize| words.get(at + 1).is_some_and(|of| of.starts_with("record") || of.starts_with("bundle"));
    let shown = |(at, word): (usize, &&str)| {
        let is_count = counts(at) && word.parse::<u64>().is_ok();
        if is_count { "N".to_owned() } else { (*word).to_owned() }
    };
    words.iter().enumerate().map(shown).collect::<Vec<_>>().join(" ")
}

/// As many lines as the page shows, from a command that keeps running.
fn first_lines(said: &Receiver<String>, shown: &str) -> String {
    shown.lines().map(|_| said.recv_timeout(PATIENCE).expect("it says less than the page shows")).collect()
}

/// The terminals of a page.
pub(crate) struct Terminals {
    shell: Shell,
    left: Vec<(Ends, Receiver<String>)>,
    ran: Vec<String>,
    differs: String,
}

impl Terminals {
    pub(crate) fn new(shell: Shell) -> Terminals {
        Terminals { shell, left: Vec::new(), ran: Vec::new(), differs: String::new() }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&mut self, step: &Step) {
        let said = self.shell.run(&step.command);
        self.shown(step, said);
    }

    /// Starts a long-running command. Returns when the command has printed what the page shows.
    pub(crate) fn leave(&mut self, step: &Step) {
        let mut child = self.shell.leave(&step.command);
        let said = lines(child.stdout.take().unwrap());
        let first = first_lines(&said, &step.shown);
        // Dropping its output would end it.
        self.left.push((Ends(child), said));
        self.shown(step, first);
    }

    /// Waits until the last long-running command prints a line with this text.
    pub(crate) fn says(&self, wanted: &str) {
        let (_, said) = self.left.last().expect("none was left");
        while !said.recv_timeout(PATIENCE).expect("it does not say so").contains(wanted) {}
    }

    /// Waits until the last long-running command prints these further lines, as the page shows them.
    pub(crate) fn goes_on(&mut self, shown: &str) {
        let said = first_lines(&self.left.last().expect("none was left").1, shown);
        let said = self.placeless(&said);
        assert_eq!(unnumbered(&said), unnumbered(shown));
    }

    /// Removes the path of the folder, which is different on each machine.
    fn placeless(&self, said: &str) -> String {
        said.replace(self.shell.folder().to_str().unwrap(), "…")
    }

    fn shown(&mut self, step: &Step, said: String) {
        let said = self.placeless(&said);
        if unnumbered(&said) != unnumbered(&step.shown) {
            let parts = ["$ ", &step.command, "\n", &said, "--- but the page shows\n", &step.shown, "\n"];
            self.differs.push_str(&parts.concat());
        }
        self.ran.push(said);
    }

    /// Checks that everything was as the page shows it, with this many commands, of which this many are long-running.
    pub(crate) fn judge(self, page: &PathBuf, text: &str, found: (usize, usize)) {
        assert_eq!((self.ran.len(), self.left.len()), found, "the session was found");
        if crate::golden::is_rewritten() {
            if !self.differs.is_empty() {
                std::fs::write(page, rewritten(text, &self.ran)).unwrap();
            }
            return;
        }
        assert!(self.differs.is_empty(), "{}", self.differs);
    }
}
