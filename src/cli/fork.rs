//! `systole fork`: copies a thread up to the beginning of a turn into a new log, from which it can go on differently.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::exit::CommandExit;
use super::local_organism;
use super::looking::{Looking, split_number};
use super::place::{Place, quote_path};
use super::replay::{read_tree, report_damage};
use super::screen::Screen;
use super::system_faults;
use systole_core::types::ports::{Commit, LogBatch, LogWriter as _};
use systole_log::sqlite;
use systole_organism::forking::{CannotFork, ForkedTree, fork_tree};
use systole_system::clock::KernelSeeds;

/// Copies a thread up to the beginning of a turn into a new log.
///
/// The copied records keep their hashes. The new log goes on under `systole run --log FILE`, with the
/// same organism file or with another one.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole fork @last@2 -o fork.db
  systole fork 1f0c@3 --call 1 -o fork.db")]
pub(super) struct ForkCommand {
    #[command(flatten)]
    place: Place,
    /// THREAD@N, the turn that the new log begins with
    #[arg(value_name = "TURN")]
    turn: String,
    /// The file of the new log
    #[arg(short = 'o', long, value_name = "FILE")]
    out: PathBuf,
    /// The top call that has the turn; the thread's last if left out
    #[arg(long, value_name = "N")]
    call: Option<u32>,
}

impl ForkCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open(&self.place)?;
        let screen = looking.screen;
        let (typed, turn) = split_number(&self.turn);
        let Some(turn) = turn.and_then(|turn| u32::try_from(turn).ok()) else {
            let thread = self.turn.rsplit_once('@').map_or("", |(thread, _)| thread);
            let thread = if thread.is_empty() { &self.turn } else { thread };
            let fix = format!("systole fork {thread}@2 -o fork.db, which begins with turn 2");
            return Err(screen.refuse(format!("{} names no turn", self.turn), fix));
        };
        let found = looking.find(typed)?;
        let root = found.root_of();
        if found != root {
            let fix = format!("its root, {root}, which is copied with everything below it");
            return Err(screen.refuse(format!("{found} is a child thread"), fix));
        }
        if root.is_sys() {
            let words = "sys has no turns, and goes along with every fork";
            return Err(screen.refuse(words, "a thread of systole ps"));
        }
        let tree = read_tree(&looking, &root)?;
        let seeds = KernelSeeds::new()
            .map_err(|error| system_faults::report_missing(screen, "random bytes", &error))?;
        let forked = fork_tree(&*looking.reader, &tree, (self.call, turn), (looking.now, &seeds));
        let forked = forked.map_err(|why| match why {
            CannotFork::Log(fault) => report_damage(&looking, &fault),
            CannotFork::NoSuchTurn(_) => screen.fail(CommandExit::Usage, &why),
            CannotFork::AtWork { .. } => {
                screen.refuse(&why, "a turn before it, or one after it; a fork begins between turns")
            }
        })?;
        self.write_log(screen, &forked)?;
        let (records, file) = (forked.records.len(), self.out.display());
        if screen.json {
            screen.show_value(&json!({
                "log": file.to_string(), "thread": root.as_str(), "call": forked.call.as_str(), "turn": turn,
                "records": records, "continues": forked.continues.to_string(),
            }));
        } else {
            screen.show(&format!("{file}: {records} records; {root} goes on with turn {turn}"));
            screen.say(format!("go on with: systole run --log {}", quote_path(&self.out)));
        }
        Ok(CommandExit::Done)
    }

    /// Writes the new log. An existing file is never touched.
    fn write_log(&self, screen: Screen, forked: &ForkedTree) -> Result<(), CommandExit> {
        if self.out.symlink_metadata().is_ok() {
            let words = format!("{} exists already", self.out.display());
            return Err(screen.refuse(words, "-o with another file"));
        }
        let mut opened =
            sqlite::open_log(&self.out).map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
        let mut documents = forked.documents.clone();
        for records in forked.records.chunks(crate::limits::REQUESTS) {
            let records = records.iter().cloned().map(std::sync::Arc::new).collect();
            let batch =
                LogBatch { records, documents: std::mem::take(&mut documents), ..LogBatch::default() };
            match opened.writer.commit_batch(&batch) {
                Commit::Committed(_) => {}
                Commit::Conflict(words) | Commit::Unknown(words) | Commit::NotNow(words) => {
                    let words = format!("{} is not complete: {words}", self.out.display());
                    let fix = "remove it, and fork again into a folder with room";
                    return Err(screen.fail_with(CommandExit::Unavailable, words, fix));
                }
            }
        }
        Ok(())
    }
}
