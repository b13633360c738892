//! `systole replay`: runs recorded threads again, without a model or a listener, and compares the result with the
//! record. Nothing is written. Only a program that the user names is started.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::compared::{self, ComparedSides};
use super::exit::CommandExit;
use super::looking::Looking;
use super::place::{Place, refuse};
use super::screen::Screen;
use super::verify::exported;
use crate::audit::columns::counted;
use crate::audit::layout::{TextTone, paint};
use crate::config;
use crate::edges::failpoint;
use crate::runtime::replaying::{
    CannotReplay, RecordedTree, ReplayShelf, ReplayedTree, StandInProgram, SystemEvents, replay,
};
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::time::{Millis, stretch_ms};
use systole_kit::writer::visible;

/// The most deliveries without an answer that are listed.
const UNANSWERED: usize = 10;

/// Replays recorded threads.
///
/// The pump, agents and workflows run again. The journal answers in place of models, and every other
/// listener's recorded replies are repeated: nothing is called or started, and nothing is written.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole replay
  systole replay 1f0c
  systole replay case-7.zip
  systole replay --since 30d --config edited.yaml
  systole replay --with greeter=./edited.py")]
pub(super) struct Replay {
    #[command(flatten)]
    place: Place,
    /// Its id, its beginning, or @last; or an export, as T.zip
    #[arg(default_value = "@last", conflicts_with_all = ["since", "all"])]
    thread: String,
    /// Every thread that began in this time, as 30d
    #[arg(long, value_name = "TIME", value_parser = stretch, conflicts_with = "all")]
    since: Option<u64>,
    /// Every thread of the log
    #[arg(long)]
    all: bool,
    /// Replay under this organism file, not under the recorded configurations
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Ask this program in place of a listener's recorded replies
    #[arg(long, value_name = "NAME=PROGRAM", value_parser = stand_in)]
    with: Option<(Name, Vec<String>)>,
}

/// The listener, and the program with its arguments.
fn stand_in(text: &str) -> Result<(Name, Vec<String>), String> {
    let (name, run) = text.split_once('=').ok_or("it is the name of a listener, `=` and a program")?;
    let name = Name::parse(name).map_err(|_| format!("`{name}` is no name of a listener"))?;
    let run: Vec<String> = run.split_whitespace().map(str::to_owned).collect();
    if run.is_empty() { Err(format!("no program is named after `{name}=`")) } else { Ok((name, run)) }
}

/// A stretch of time, in milliseconds.
fn stretch(text: &str) -> Result<u64, String> {
    stretch_ms(text).ok_or_else(|| "it is a whole number with a unit, as 12h or 30d".to_owned())
}

/// What became of the threads.
#[derive(Default)]
struct Counts {
    same: usize,
    differ: usize,
    refused: usize,
    cannot: usize,
    /// The first thread that differs or is refused.
    first: Option<String>,
}

/// What became of one thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplayVerdict {
    Equal,
    Differs,
    /// The first difference is that a schema now refuses something.
    Refused,
}

impl ReplayVerdict {
    pub(super) fn of(replayed: &ReplayedTree) -> ReplayVerdict {
        let first = replayed.comparison.differences.first();
        let is_refused_now = !replayed.refused.is_empty();
        match first {
            Some(first) if first.refused.is_some() || (is_refused_now && first.other.is_none()) => {
                ReplayVerdict::Refused
            }
            Some(_) => ReplayVerdict::Differs,
            None => ReplayVerdict::Equal,
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            ReplayVerdict::Equal => "equal",
            ReplayVerdict::Differs => "differs",
            ReplayVerdict::Refused => "refused",
        }
    }
}

impl Replay {
    pub(super) fn run(self) -> CommandExit {
        self.replayed().unwrap_or_else(|exit| exit)
    }

    fn replayed(&self) -> Result<CommandExit, CommandExit> {
        if exported::is_export(Path::new(&self.thread)) {
            return self.of_export(Path::new(&self.thread));
        }
        let looking = Looking::open(&self.place)?;
        let screen = looking.screen;
        let system = SystemEvents::read(&looking.reader).map_err(|fault| damaged(&looking, &fault))?;
        let mut shelf = self.shelf(screen)?;
        let mut stand_in = self.stand_in();
        if self.since.is_some() || self.all {
            let exit = self.many(&looking, &system, &mut shelf, stand_in.as_mut());
            return exit.and_then(|exit| asked(screen, stand_in.as_ref()).map(|()| exit));
        }
        let root = looking.find(&self.thread)?.root_of();
        let tree = tree(&looking, &root)?;
        match replay(&looking.reader, &tree, &system, &mut shelf, stand_in.as_mut()) {
            Err(CannotReplay::Log(fault)) => Err(damaged(&looking, &fault)),
            replayed => {
                let exit = told(screen, root.as_str(), &replayed)?;
                asked(screen, stand_in.as_ref()).map(|()| exit)
            }
        }
    }

    fn of_export(&self, path: &Path) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        if self.since.is_some() || self.all {
            return Err(screen.fail(CommandExit::Usage, "an export is replayed as a whole"));
        }
        let mut stand_in = self.stand_in();
        let all = of_export(screen, path, &mut self.shelf(screen)?, stand_in.as_mut())?;
        let exit = if let [(name, replayed)] = all.as_slice() {
            told(screen, name, replayed)?
        } else {
            let mut counts = Counts::default();
            all.iter().for_each(|(name, replayed)| counts.take(screen, name, replayed));
            counts.end(screen)
        };
        asked(screen, stand_in.as_ref()).map(|()| exit)
    }

    /// The program in place of a listener, if one is named.
    fn stand_in(&self) -> Option<StandInProgram> {
        self.with.clone().map(|(name, run)| {
            let surroundings = std::env::vars_os().filter(|(name, _)| name != failpoint::VARIABLE);
            StandInProgram::new(name, run, surroundings.collect())
        })
    }

    /// The configurations of the replay.
    fn shelf(&self, screen: Screen) -> Result<ReplayShelf, CommandExit> {
        let edited = match &self.config {
            Some(path) => {
                // The journal has the answers of rehearsed models, too.
                let loaded = config::load_rehearsed(path, self.place.settings());
                Some(loaded.map_err(|refused| refuse(screen, &refused))?)
            }
            None if !self.place.settings().is_empty() => Some(self.place.organism(screen)?),
            None => None,
        };
        // The file as it is now is needed only for what a stored configuration leaves out.
        let mut shelf = ReplayShelf::new(self.place.directory(), self.place.load().ok());
        if let Some(edited) = edited {
            shelf.replace(edited).map_err(|why| screen.fail(CommandExit::Configuration, why))?;
        }
        Ok(shelf)
    }

    /// Replays every thread that is meant, the oldest first.
    fn many(
        &self,
        looking: &Looking,
        system: &SystemEvents,
        shelf: &mut ReplayShelf,
        mut stand_in: Option<&mut StandInProgram>,
    ) -> Result<CommandExit, CommandExit> {
        let screen = looking.screen;
        let earliest = self.since.map_or(Millis(0), |since| Millis(looking.now.0.saturating_sub(since)));
        let newest = looking.reader.threads(usize::MAX).map_err(|fault| looking.fault(&fault))?;
        let mut counts = Counts::default();
        for root in newest.iter().rev().filter(|thread| thread.parent().is_none()) {
            if began(&looking.reader, root).map_err(|fault| damaged(looking, &fault))? < earliest {
                continue;
            }
            let tree = tree(looking, root)?;
            match replay(&looking.reader, &tree, system, shelf, stand_in.as_deref_mut()) {
                Err(CannotReplay::Log(fault)) => return Err(damaged(looking, &fault)),
                replayed => counts.take(screen, root.as_str(), &replayed),
            }
        }
        Ok(counts.end(screen))
    }
}

impl Counts {
    fn take(&mut self, screen: Screen, name: &str, replayed: &ReplayOutcome) {
        let replayed = match replayed {
            Ok(replayed) => replayed,
            Err(why) => {
                self.cannot += 1;
                if screen.json {
                    screen.value(&cannot_as_json(name, why));
                } else {
                    screen.show(&format!("{name}: cannot be replayed: {why}"));
                }
                return;
            }
        };
        let verdict = ReplayVerdict::of(replayed);
        match verdict {
            ReplayVerdict::Equal => self.same += 1,
            ReplayVerdict::Differs => self.differ += 1,
            ReplayVerdict::Refused => self.refused += 1,
        }
        if screen.json {
            return screen.value(&as_json(name, verdict, replayed));
        }
        if verdict == ReplayVerdict::Equal {
            return;
        }
        if self.first.is_none() {
            self.first = Some(name.to_owned());
            return one(screen, name, replayed);
        }
        let first = replayed.comparison.differences.first().map(compared::headline);
        screen.show(&format!("{name}: {}: {}", verdict.as_str(), first.unwrap_or_default()));
    }

    fn end(&self, screen: Screen) -> CommandExit {
        let Counts { same, differ, refused, cannot, first } = self;
        if screen.json {
            screen.value(&json!({
                "same": same, "differ": differ, "refused": refused, "cannot_replay": cannot, "first": first,
            }));
        } else {
            let mut parts = vec![format!("{same} same"), format!("{differ} differ")];
            parts.extend((*refused > 0).then(|| format!("{refused} refused by the new schema")));
            parts.extend((*cannot > 0).then(|| format!("{cannot} cannot be replayed")));
            let first = first.as_ref().map(|first| format!("; first: {first}")).unwrap_or_default();
            screen.show(&format!("{}{first}", parts.join(", ")));
        }
        match (differ + refused, cannot) {
            (0, 0) => CommandExit::Done,
            (0, _) => CommandExit::Unavailable,
            _ => CommandExit::Failed,
        }
    }
}

/// What became of one thread, or why nothing did.
pub(super) type ReplayOutcome = Result<ReplayedTree, CannotReplay>;

/// Replays every thread of an export, each with its name. An export that lacks something has one outcome under its own
/// name. Damage is reported.
pub(super) fn of_export(
    screen: Screen,
    path: &Path,
    shelf: &mut ReplayShelf,
    mut stand_in: Option<&mut StandInProgram>,
) -> Result<Vec<(String, ReplayOutcome)>, CommandExit> {
    let history = exported::history(screen, path)?;
    if let Some(lacks) = history.lacks {
        return Ok(vec![(path.display().to_string(), Err(lacks))]);
    }
    let mut all = Vec::new();
    for root in history.log.roots() {
        let replayed = match RecordedTree::read(&history.log, &root) {
            Ok(Some(tree)) => replay(&history.log, &tree, &history.system, shelf, stand_in.as_deref_mut()),
            Ok(None) => Err(CannotReplay::BrokeOff("the thread has no records".to_owned())),
            Err(fault) => Err(CannotReplay::Log(fault)),
        };
        all.push((root.to_string(), replayed));
    }
    Ok(all)
}

/// Prints what became of the only thread.
fn told(screen: Screen, name: &str, replayed: &ReplayOutcome) -> Result<CommandExit, CommandExit> {
    match replayed {
        Ok(replayed) => {
            let verdict = ReplayVerdict::of(replayed);
            if screen.json {
                screen.value(&as_json(name, verdict, replayed));
            } else {
                one(screen, name, replayed);
            }
            Ok(exit_of(verdict == ReplayVerdict::Equal))
        }
        Err(why) => {
            if screen.json {
                screen.value(&cannot_as_json(name, why));
            }
            let exit = match why {
                CannotReplay::NoProgram(_) => CommandExit::Usage,
                _ => CommandExit::Unavailable,
            };
            let exit = screen.fail(exit, format!("cannot replay {name}: {why}"));
            if let CannotReplay::Configuration { .. } = why {
                screen.say("  try: --config with an organism file, which replays under that one");
            }
            Err(exit)
        }
    }
}

/// Prints how many requests the program in place of a listener got. None is a mistake of the user.
fn asked(screen: Screen, stand_in: Option<&StandInProgram>) -> Result<(), CommandExit> {
    let Some(stand_in) = stand_in else { return Ok(()) };
    let (name, asked) = (stand_in.listener(), stand_in.asked());
    if asked == 0 {
        let words = format!("no request to {name} is recorded there, so its program was not started");
        let exit = screen.fail(CommandExit::Usage, words);
        screen.say("  try: systole replay --all, or the name of another listener");
        return Err(exit);
    }
    if !screen.json {
        screen.show(&format!("the program in place of {name} got {}", counted(asked, "request")));
    }
    Ok(())
}

fn exit_of(is_equal: bool) -> CommandExit {
    if is_equal { CommandExit::Done } else { CommandExit::Failed }
}

/// The records of a tree.
pub(super) fn tree(looking: &Looking, root: &ThreadId) -> Result<RecordedTree, CommandExit> {
    match RecordedTree::read(&looking.reader, root) {
        Ok(Some(tree)) => Ok(tree),
        Ok(None) => Err(looking.screen.fail(CommandExit::Usage, format!("thread {root} has no records"))),
        Err(fault) => Err(damaged(looking, &fault)),
    }
}

/// Reports a log that cannot be replayed because it is not intact.
pub(super) fn damaged(looking: &Looking, fault: &LogFault) -> CommandExit {
    let exit = looking.fault(fault);
    if exit == CommandExit::Log {
        looking.screen.say("  a damaged log is not replayed; systole verify says what is wrong with it");
    }
    exit
}

/// When a thread began.
fn began(reader: &dyn LogReader, thread: &ThreadId) -> Result<Millis, LogFault> {
    let first = reader.of_thread(thread, 1, 1)?;
    Ok(first.first().map_or(Millis(0), |(_, record)| record.header.time))
}

/// Prints what became of one thread.
pub(super) fn one(screen: Screen, root: &str, replayed: &ReplayedTree) {
    lines(root, replayed).iter().for_each(|line| screen.drawn(line));
}

/// What became of one thread.
pub(super) fn lines(root: &str, replayed: &ReplayedTree) -> Vec<String> {
    let (verdict, comparison) = (ReplayVerdict::of(replayed), &replayed.comparison);
    let words = match verdict {
        ReplayVerdict::Equal => paint(TextTone::Good, "equal"),
        ReplayVerdict::Differs => paint(TextTone::Bad, "differs"),
        ReplayVerdict::Refused => paint(TextTone::Bad, "refused by the new schema"),
    };
    let mut lines = vec![format!("{root}: {}, {words}", counted(comparison.records, "record"))];
    if let Some(version) = &replayed.version {
        lines.push(format!("  recorded by version {}", visible(version)));
    }
    if comparison.reworded > 0 {
        let reworded = comparison.reworded;
        lines.push(format!("  {reworded} records are worded by another version, which does not count"));
    }
    if replayed.not_replayed > 0 {
        let counts = replayed.not_replayed;
        lines.push(format!("  {counts} records that count refusals were not replayed"));
    }
    lines.extend(compared::lines(&comparison.differences, ComparedSides::Replay));
    lines.extend(replayed.refused.iter().map(|refusal| {
        let words = format!("  refused now: {}: {}", refusal.code.as_str(), refusal.message);
        visible(&words).into_owned()
    }));
    // A delivery that is open in the record too needs no remark.
    let missing = replayed.unanswered.iter().filter(|_| verdict != ReplayVerdict::Equal);
    let mut missing: Vec<String> = missing
        .map(|one| format!("  no answer in the log: {} at {}: {}", one.listener, one.place, one.why))
        .collect();
    missing.dedup();
    lines.extend(missing.iter().take(UNANSWERED).map(|line| visible(line).into_owned()));
    if missing.len() > UNANSWERED {
        lines.push(format!("  and {} more without an answer in the log", missing.len() - UNANSWERED));
    }
    lines
}

pub(super) fn as_json(root: &str, verdict: ReplayVerdict, replayed: &ReplayedTree) -> Value {
    let unanswered: Vec<Value> = replayed
        .unanswered
        .iter()
        .map(|one| json!({"listener": one.listener.as_str(), "place": one.place, "why": one.why}))
        .collect();
    let refused: Vec<Value> = replayed
        .refused
        .iter()
        .map(|refusal| json!({"code": refusal.code.as_str(), "message": refusal.message}))
        .collect();
    json!({
        "thread": root, "verdict": verdict.as_str(), "records": replayed.comparison.records,
        "reworded": replayed.comparison.reworded, "not_replayed": replayed.not_replayed,
        "version": replayed.version,
        "differences": compared::as_json(&replayed.comparison.differences, ComparedSides::Replay),
        "refused": refused, "unanswered": unanswered,
    })
}

pub(super) fn cannot_as_json(root: &str, why: &CannotReplay) -> Value {
    json!({"thread": root, "verdict": "cannot-replay", "why": why.to_string()})
}
