//! `systole config`: the configurations that the organism ran with, their files, and how two of them differ.

use clap::{Args, Subcommand};
use serde_json::json;

use super::exit::CommandExit;
use super::looking::{Looking, PastPosition};
use super::place::Place;
use super::run_difference;
use crate::limits;
use systole_config::list_changes;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::LogFault;
use systole_kit::writer::make_visible;
use systole_queries::configurations;
use systole_queries::hashes::shorten_hash;
use systole_queries::starts::{self, ConfigurationFile, StartList};
use systole_show::columns::plain;
use systole_show::layout;

/// Lists the configurations that the organism ran with, and the open threads of each.
///
/// A call keeps the schemas, peers and budgets of the configuration under which it began, also after a reload. The
/// configuration with a star was started last.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  systole config
  systole config list --json
  systole config show 5d1c9a0be7f2
  systole config diff 3fa9c1d2e4f0
  systole config diff 3fa9c1d2e4f0 5d1c9a0be7f2")]
pub(super) struct ConfigGroup {
    #[command(subcommand)]
    command: Option<ConfigCommand>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
}

/// What is asked about configurations.
#[derive(Subcommand, Debug)]
enum ConfigCommand {
    /// List the configurations, with the open threads of each
    #[command(after_help = "Examples:\n  systole config list\n  systole config list --json")]
    List(ListConfigs),
    /// Print the files of a configuration
    #[command(after_help = "Examples:\n  systole config show 5d1c9a0be7f2")]
    Show(ShowConfig),
    /// Say how two configurations differ
    #[command(after_help = "Examples:
  systole config diff 3fa9c1d2e4f0
  systole config diff 3fa9c1d2e4f0 5d1c9a0be7f2")]
    Diff(DiffConfigs),
}

#[derive(Args, Debug)]
struct ListConfigs {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
}

#[derive(Args, Debug)]
struct ShowConfig {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// The beginning of its hash; 8 digits or more
    #[arg(value_name = "CONFIG")]
    hash: String,
}

#[derive(Args, Debug)]
struct DiffConfigs {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// The beginning of the hash of one of them; 8 digits or more
    #[arg(value_name = "BEFORE")]
    before: String,
    /// That of the other one (the one that was started last)
    #[arg(value_name = "AFTER")]
    after: Option<String>,
}

impl ConfigGroup {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        match &self.command {
            None => list_configs(&self.place, self.past),
            Some(ConfigCommand::List(list)) => list_configs(&list.place, list.past),
            Some(ConfigCommand::Show(show)) => show.run(),
            Some(ConfigCommand::Diff(diff)) => diff.run(),
        }
    }
}

fn list_configs(place: &Place, past: PastPosition) -> Result<CommandExit, CommandExit> {
    let looking = Looking::open_anywhere_at(place, past)?;
    let list = read_starts(&looking)?;
    let open = configurations::list_open(&looking.whole()?);
    let (now, newest) = (looking.now, list.starts.first().map(|start| start.config));
    let listed = list.list_configurations(open);
    let screen = looking.screen;
    if screen.json {
        let running = newest.filter(|_| looking.running.is_some()).map(|config| config.to_string());
        screen.show_value(&json!({"running": running, "cut": list.is_cut, "configurations": listed}));
        return Ok(CommandExit::Done);
    }
    if listed.is_empty() {
        screen.say("no organism has started on this log");
    }
    for one in &listed {
        let star = if Some(one.config) == newest { "*" } else { " " };
        let last = match &one.last {
            Some(last) => format!("{}  last {}", count_starts(one.starts), layout::moment(last.at, now)),
            None => "started before what was read".to_owned(),
        };
        let (config, open) = (one.config.to_string(), describe_open(&one.threads));
        screen.show(&format!("{star} {}  {last}  {open}", shorten_hash(&config)));
    }
    if list.is_cut {
        screen.say("older starts were not read");
    }
    Ok(CommandExit::Done)
}

fn count_starts(starts: usize) -> String {
    if starts == 1 { "1 start".to_owned() } else { format!("{starts} starts") }
}

/// How many threads have open calls of a configuration, and which.
fn describe_open(threads: &[ThreadId]) -> String {
    let named: Vec<&str> = threads.iter().take(limits::NAMED_THREADS).map(ThreadId::as_str).collect();
    match threads.len() {
        0 => "no open thread".to_owned(),
        1 => format!("1 open thread: {}", named.join(" ")),
        count if count > named.len() => format!("{count} open threads, such as {}", named.join(" ")),
        count => format!("{count} open threads: {}", named.join(" ")),
    }
}

impl ShowConfig {
    fn run(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let hash = find_config(&looking, &read_starts(&looking)?, &self.hash)?;
        let files = read_files(&looking, hash, &read_source(&looking, hash)?)?;
        let screen = looking.screen;
        if screen.json {
            screen.show_value(&json!({"config": hash.to_string(), "files": files}));
            return Ok(CommandExit::Done);
        }
        for (n, file) in files.iter().enumerate() {
            let gap = if n == 0 { "" } else { "\n" };
            screen.show_document(format!("{gap}== {}\n", make_visible(&file.name)).as_bytes());
            screen.show_document(make_visible(&file.text).as_bytes());
        }
        Ok(CommandExit::Done)
    }
}

impl DiffConfigs {
    fn run(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let (screen, list) = (looking.screen, read_starts(&looking)?);
        let before = find_config(&looking, &list, &self.before)?;
        let after = match (&self.after, list.starts.first()) {
            (Some(typed), _) => find_config(&looking, &list, typed)?,
            (None, Some(newest)) => newest.config,
            (None, None) => before,
        };
        let sources = (read_source(&looking, before)?, read_source(&looking, after)?);
        let files = starts::changes(
            &read_files(&looking, before, &sources.0)?,
            &read_files(&looking, after, &sources.1)?,
        );
        let keys = list_changes(&sources.0, &sources.1);
        let keys = keys.map_err(|why| report_unread(&looking, after, &why))?;
        let (before, after) = (before.to_string(), after.to_string());
        if screen.json {
            let keys: Vec<_> = keys
                .iter()
                .map(|change| json!({"what": change.what, "needs_restart": change.needs_restart}))
                .collect();
            screen.show_value(&json!({"before": before, "after": after, "keys": keys, "files": files}));
            return Ok(CommandExit::Done);
        }
        screen.show(&format!("from {} to {}", shorten_hash(&before), shorten_hash(&after)));
        if files.is_empty() {
            screen.show("nothing differs");
        }
        for change in keys {
            let needs = if change.needs_restart { "restart" } else { "reload" };
            screen.show(&format!("  {needs:<8} {}", plain(&change.what)));
        }
        for file in files {
            screen.show(&format!("{} {}", file.what, make_visible(&file.name)));
            run_difference::paint_lines(&file.lines).for_each(|line| screen.show_drawn(&line));
        }
        Ok(CommandExit::Done)
    }
}

fn read_starts(looking: &Looking) -> Result<StartList, CommandExit> {
    starts::read(&*looking.view).map_err(|fault| looking.fault(&fault))
}

/// The configuration that the user means.
fn find_config(looking: &Looking, list: &StartList, typed: &str) -> Result<Digest, CommandExit> {
    let open = configurations::list_open(&looking.whole()?);
    list.find_named(typed, &open).ok_or_else(|| {
        let words = format!("{typed} is not the beginning of one configuration of this log");
        looking.screen.refuse(words, "8 digits or more of a hash: systole config lists them")
    })
}

fn read_source(looking: &Looking, hash: Digest) -> Result<Vec<u8>, CommandExit> {
    let fault = |fault: LogFault| looking.fault(&fault);
    let source = looking.view.read_document(hash).map_err(fault)?;
    if let Some(exit) = looking.refused_document() {
        return Err(exit);
    }
    source
        .map(|source| source.to_vec())
        .ok_or_else(|| report_unread(looking, hash, "the log does not hold it"))
}

fn read_files(looking: &Looking, hash: Digest, source: &[u8]) -> Result<Vec<ConfigurationFile>, CommandExit> {
    starts::files(source).map_err(|why| report_unread(looking, hash, &why))
}

fn report_unread(looking: &Looking, hash: Digest, why: &str) -> CommandExit {
    let words = format!("the configuration {hash}: {why}");
    looking.screen.fail_with(CommandExit::Failed, words, format!("systole blob {hash}, which prints it"))
}
