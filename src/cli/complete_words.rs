//! `systole complete-words`: the words that a shell offers after a command, for the scripts of `systole completions`.
//! It is hidden, since no one types it. It reads and starts nothing; if there is no log, it prints nothing.

use std::path::Path;

use clap::{Args, ValueEnum};

use super::exit::CommandExit;
use super::place::Place;
use systole_core::types::codes::Code;
use systole_core::types::ports::{LogFault, LogReader as _};
use systole_log::sqlite;
use systole_queries::persons;

/// What is offered.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum WordKind {
    Threads,
    Approvals,
    Codes,
}

/// Words of one sort.
#[derive(Args, Debug)]
pub(super) struct WordsCommand {
    #[command(flatten)]
    place: Place,
    sort: WordKind,
}

impl WordsCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let words = match self.sort {
            WordKind::Codes => Code::ALL.iter().map(|code| code.as_str().to_owned()).collect(),
            // A log that cannot be read offers nothing; the command itself reports why.
            WordKind::Threads | WordKind::Approvals => {
                read_words(self.sort, &self.place.log(screen)?).unwrap_or_default()
            }
        };
        words.iter().for_each(|word| screen.show(word));
        Ok(CommandExit::Done)
    }
}

fn read_words(sort: WordKind, log: &Path) -> Result<Vec<String>, LogFault> {
    if !log.exists() {
        return Ok(Vec::new());
    }
    let reader = sqlite::open_reading(log)?;
    match sort {
        WordKind::Approvals => {
            let waiting = persons::waiting(&reader)?;
            Ok(waiting.iter().map(|one| one.id.to_string()).collect())
        }
        _ => {
            let newest = reader.list_threads(crate::limits::OFFERED_THREADS)?;
            let last = newest.first().map(|_| "@last".to_owned());
            Ok(last.into_iter().chain(newest.iter().map(ToString::to_string)).collect())
        }
    }
}
