//! Exports as tests: each is replayed under the organism beside it, and has to come out equal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::exit::CommandExit;
use super::super::replay::{self, ReplayOutcome, ReplayVerdict};
use super::super::screen::Screen;
use super::TestTally;
use systole_config::{self as config, FileMistakes, OrganismFile};
use systole_organism::replaying::{CannotReplay, RealParts, ReplayConfigurations};

/// An organism's file.
const FILE: &str = "organism.yaml";

/// An export that is to be replayed.
pub(super) struct ExportTest {
    path: PathBuf,
    /// The organism that it is replayed under, with its file; otherwise the recorded configurations.
    organism: Option<(PathBuf, OrganismFile)>,
}

impl ExportTest {
    /// Reads the organism of an export.
    pub(super) fn load(path: PathBuf) -> Result<ExportTest, FileMistakes> {
        let found = find_organism(&path);
        let organism =
            found.map(|file| config::load_rehearsed(&file, &[]).map(|loaded| (file, loaded))).transpose()?;
        Ok(ExportTest { path, organism })
    }

    /// Replays it.
    pub(super) fn run(self, screen: Screen, tally: &mut TestTally) {
        let ExportTest { path, organism } = self;
        let begun = Instant::now();
        let (under, configs) = open_configurations(&path, organism);
        let all = configs.map_or_else(
            |why| Ok(vec![(path.display().to_string(), Err(why))]),
            |mut configs| replay::replay_export(screen, &path, &mut configs, &mut RealParts::default()),
        );
        match all {
            Ok(all) => {
                let each = begun.elapsed() / u32::try_from(all.len().max(1)).unwrap_or(u32::MAX);
                all.iter().for_each(|(name, replayed)| {
                    report_replay(screen, &path, &format!("{name} {under}"), each, (name, replayed), tally);
                });
            }
            // It was reported.
            Err(CommandExit::Log) => tally.damaged += 1,
            Err(_) => tally.cannot += 1,
        }
    }
}

/// What it is replayed under, in words, and the configurations.
fn open_configurations(
    path: &Path,
    organism: Option<(PathBuf, OrganismFile)>,
) -> (String, Result<ReplayConfigurations, CannotReplay>) {
    let folder = path.parent().unwrap_or(Path::new("")).join(".");
    let directory = std::path::absolute(&folder).unwrap_or(folder);
    let Some((file, organism)) = organism else {
        return ("as it was configured".to_owned(), Ok(ReplayConfigurations::new(directory, None)));
    };
    let mut configs = ReplayConfigurations::new(directory, None);
    let replaced = configs.replace_all(organism);
    (format!("under {}", file.display()), replaced.map(|()| configs))
}

/// The organism's file beside an export, or above it up to the current folder.
fn find_organism(path: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    let near = path.strip_prefix(&here).unwrap_or(path);
    let folders = if near.is_absolute() || near.starts_with("..") { 1 } else { usize::MAX };
    let mut files = near.ancestors().skip(1).take(folders).map(|folder| folder.join(FILE));
    files.find(|file| file.is_file())
}

fn report_replay(
    screen: Screen,
    path: &Path,
    name: &str,
    took: Duration,
    (thread, replayed): (&str, &ReplayOutcome),
    tally: &mut TestTally,
) {
    let verdict = replayed.as_ref().map(|replayed| (ReplayVerdict::from_tree(replayed), replayed));
    let word = match &verdict {
        Ok((ReplayVerdict::Equal, _)) => {
            tally.passed += 1;
            "ok  "
        }
        Ok(_) => {
            tally.failed += 1;
            "FAIL"
        }
        Err(_) => {
            tally.cannot += 1;
            "----"
        }
    };
    let file = path.display();
    if screen.json {
        let failure = match &verdict {
            Ok((ReplayVerdict::Equal, _)) => Value::Null,
            Ok((verdict, replayed)) => replay::as_json(thread, *verdict, replayed),
            Err(why) => replay::write_fault(thread, why),
        };
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        return screen.show_value(&json!({
            "file": file.to_string(), "test": name, "passed": failure.is_null(), "ms": ms, "failure": failure,
        }));
    }
    screen.show(&format!("{word}  {file}: {name} ({:.1} s)", took.as_secs_f64()));
    match verdict {
        Ok((ReplayVerdict::Equal, _)) => {}
        Ok((_, replayed)) => replay::print_tree(screen, thread, replayed),
        Err(why) => screen.show(&format!("  cannot replay {thread}: {why}")),
    }
}
