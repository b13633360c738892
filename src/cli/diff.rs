//! `systole diff`: compares two threads record by record, in one log or in two.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::exit::CommandExit;
use super::local_organism;
use super::looking::{Looking, describe_absent};
use super::place::Place;
use super::replay::{read_tree, report_damage};
use super::run_difference::{self, ComparedSides};
use super::unfound::report_not_found;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_log::sqlite::{self, SqliteReader};
use systole_organism::replaying::comparison::{ComparedRun, ComparisonRules, RunComparison, compare_runs};
use systole_organism::replaying::{RecordedTree, SystemEvents};
use systole_queries::finding::{self, NameOwner};
use systole_show::layout::{TextTone, paint};

/// Compares two threads.
///
/// Each thread is compared with everything below it. Ids, times and hashes that differ in every run do
/// not count, and neither does the order of parallel answers.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole diff 1f0c 9a2b
  systole diff @last @last --against fork.db")]
pub(super) struct Diff {
    #[command(flatten)]
    place: Place,
    /// The first thread: its id, its beginning, @last or @NAME
    #[arg(value_name = "THREAD")]
    one: String,
    /// The second thread
    #[arg(value_name = "OTHER")]
    other: String,
    /// The log of the second thread, if it is another one
    #[arg(long, value_name = "LOG")]
    against: Option<PathBuf>,
}

impl Diff {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open(&self.place)?;
        let screen = looking.screen;
        let one = read_tree(&looking, &looking.find(&self.one)?.root_of())?;
        let against = self.against.as_ref().map(|path| self.second(&looking, path)).transpose()?;
        let other_reader: &dyn LogReader = match &against {
            Some(against) => against,
            None => &*looking.reader,
        };
        let root = finding::find(other_reader, &self.other, &NameOwner::new_operator());
        let root = root.map_err(|why| report_not_found(screen, &why))?.root_of();
        let other = match RecordedTree::read_tree(other_reader, &root) {
            Ok(Some(other)) => other,
            Ok(None) => return Err(screen.fail(CommandExit::Usage, format!("thread {root} has no records"))),
            Err(fault) => return Err(report_damage(&looking, &fault)),
        };
        let compared = run((&one, &*looking.reader), (&other, other_reader));
        let compared = compared.map_err(|fault| report_damage(&looking, &fault))?;
        let (first, second) = (&one.root, &other.root);
        if screen.json {
            screen.show_value(&json!({
                "first": first.as_str(), "second": second.as_str(), "records": compared.records,
                "reworded": compared.reworded, "same": compared.differences.is_empty(),
                "differences": run_difference::as_json(&compared.differences, ComparedSides::Threads),
            }));
        } else {
            let words = match compared.differences.len() {
                0 => paint(TextTone::Good, "equal"),
                1 => paint(TextTone::Bad, "1 difference"),
                many => paint(TextTone::Bad, &format!("{many} differences")),
            };
            screen.show_drawn(&format!("{first} and {second}: {} records, {words}", compared.records));
            if config(&one) != config(&other) {
                screen.show("  they began under different configurations");
            }
            run_difference::print_differences(screen, &compared.differences, ComparedSides::Threads);
        }
        Ok(if compared.differences.is_empty() { CommandExit::Done } else { CommandExit::Failed })
    }

    /// The log of the second thread.
    fn second(&self, looking: &Looking, path: &Path) -> Result<SqliteReader, CommandExit> {
        if !path.exists() {
            let fix = "--against with the path of a log";
            return Err(looking.screen.fail_with(CommandExit::Unavailable, describe_absent(path), fix));
        }
        sqlite::open_reading(path).map_err(|fault| local_organism::report_log_fault(looking.screen, &fault))
    }
}

fn config(tree: &RecordedTree) -> Option<Digest> {
    tree.records.first().map(|(_, record)| record.header.config)
}

fn run(
    (one, reader): (&RecordedTree, &dyn LogReader),
    (other, other_reader): (&RecordedTree, &dyn LogReader),
) -> Result<RunComparison, LogFault> {
    let version = |tree: &RecordedTree, reader: &dyn LogReader| {
        let system = SystemEvents::read_events(reader)?;
        Ok(system.version_at(tree.span().0).map(str::to_owned))
    };
    let is_across_versions = version(one, reader)? != version(other, other_reader)?;
    // A record that only the second thread has is listed where the first one had as many records.
    let positions: Vec<Position> = one.records.iter().map(|(position, _)| *position).collect();
    let reached = |position: Position| {
        let before = other.records.partition_point(|(at, _)| *at < position);
        positions.get(before).or(positions.last()).copied().unwrap_or_default()
    };
    let sides = (side(one, reader), side(other, other_reader));
    compare_runs(&sides.0, &sides.1, &reached, ComparisonRules { has_keys: false, is_across_versions })
}

fn side<'a>(tree: &'a RecordedTree, reader: &'a dyn LogReader) -> ComparedRun<'a> {
    let records = tree.records.iter().map(|(position, record)| (*position, record)).collect();
    ComparedRun { root: &tree.root, records, reader }
}
