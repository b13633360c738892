//! `systole replay`: runs recorded threads again, without a model or a listener, and compares the result with the
//! record. Nothing is written. Only a program that the user names is started, and only an agent's model is called.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::exit::CommandExit;
use super::looking::Looking;
use super::moments::parse_moment;
use super::place::{Place, refuse};
use super::run_difference::{self, ComparedSides};
use super::screen::Screen;
use super::verify::verify_export;
use crate::limits::LISTED_FAULTS;
use systole_agent::spec::AgentSpec;
use systole_config::{self as config, OrganismFile};
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::time::Millis;
use systole_kit::money::Money;
use systole_kit::writer::make_visible;
use systole_organism::inline_listeners;
use systole_organism::replaying::{
    CannotReplay, LiveAgent, LiveFault, LiveFaultKind, LiveUse, RealParts, RecordedTree,
    ReplayConfigurations, ReplayedTree, StandInProgram, SystemEvents, replay_tree,
};
use systole_show::columns::counted;
use systole_show::layout::{TextTone, paint};
use systole_system::failpoint;

/// Replays recorded threads.
///
/// The pump, agents and workflows run again. The journal answers in place of models, and every other
/// listener's recorded replies are repeated: nothing is called or started, and nothing is written.
/// --with starts a program, and --live calls an agent's model.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole replay
  systole replay 1f0c
  systole replay case-7.zip
  systole replay --since 30d --config edited.yaml
  systole replay --with greeter=./edited.py
  systole replay --live assistant --money 0.50USD")]
pub(super) struct ReplayCommand {
    #[command(flatten)]
    place: Place,
    /// Its id, its beginning, or @last; or an export, as T.zip
    #[arg(default_value = "@last", conflicts_with_all = ["since", "all"])]
    thread: String,
    /// Every thread that began since then: 10m, 30d, 14:30, 2026-11-21
    #[arg(long, value_name = "TIME", conflicts_with = "all")]
    since: Option<String>,
    /// Every thread of the log
    #[arg(long)]
    all: bool,
    /// Replay under this organism file, not under the recorded configurations
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Ask this program in place of a listener's recorded replies
    #[arg(long, value_name = "NAME=PROGRAM", value_parser = parse_stand_in)]
    with: Option<(Name, Vec<String>)>,
    /// Call this agent's model for real, in place of its recorded answers
    #[arg(long, value_name = "NAME", value_parser = parse_agent, requires = "money")]
    live: Option<Name>,
    /// The most that all calls of --live may cost, as 1USD
    #[arg(long, value_name = "AMOUNT", value_parser = parse_amount, requires = "live")]
    money: Option<Money>,
}

fn parse_agent(text: &str) -> Result<Name, String> {
    Name::parse(text).map_err(|_| format!("`{text}` is no name of an agent"))
}

/// An amount with its currency; a blank between them may be left out.
fn parse_amount(text: &str) -> Result<Money, String> {
    let letters = text.find(|character: char| character.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, currency) = text.split_at(letters);
    Money::parse(&format!("{} {currency}", number.trim_end()))
        .ok_or_else(|| "it is an amount and a currency, as 0.50USD".to_owned())
}

/// The listener, and the program with its arguments.
fn parse_stand_in(text: &str) -> Result<(Name, Vec<String>), String> {
    let (name, run) = text.split_once('=').ok_or("it is the name of a listener, `=` and a program")?;
    let name = Name::parse(name).map_err(|_| format!("`{name}` is no name of a listener"))?;
    let run: Vec<String> = run.split_whitespace().map(str::to_owned).collect();
    if run.is_empty() { Err(format!("no program is named after `{name}=`")) } else { Ok((name, run)) }
}

/// What became of the threads.
#[derive(Default)]
struct ReplayCounts {
    same: usize,
    differ: usize,
    refused: usize,
    cannot: usize,
    /// The first thread that differs or is refused.
    first: Option<String>,
    /// Why the model of an agent is not called any more.
    ended: Option<LiveFault>,
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
    pub(super) fn from_tree(replayed: &ReplayedTree) -> ReplayVerdict {
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

impl ReplayCommand {
    /// Replays every thread since then with the file of that place.
    pub(super) fn with_file(place: Place, since: String) -> ReplayCommand {
        let (config, thread) = (Some(place.file().to_owned()), "@last".to_owned());
        let (with, live, money) = (None, None, None);
        ReplayCommand { place, thread, since: Some(since), all: false, config, with, live, money }
    }

    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        if verify_export::is_export(Path::new(&self.thread)) {
            return self.of_export(Path::new(&self.thread));
        }
        let looking = Looking::open(&self.place)?;
        let screen = looking.screen;
        let system =
            SystemEvents::read_events(&*looking.reader).map_err(|fault| report_damage(&looking, &fault))?;
        let mut configs = self.open_configurations(screen)?;
        let mut real = self.build_real_parts(screen)?;
        if self.since.is_some() || self.all {
            return self.replay_many(&looking, &system, &mut configs, &mut real);
        }
        let root = looking.find(&self.thread)?.root_of();
        let tree = read_tree(&looking, &root)?;
        match replay_tree(&*looking.reader, &tree, &system, &mut configs, &mut real) {
            Err(CannotReplay::Log(fault)) => Err(report_damage(&looking, &fault)),
            replayed => report_all(screen, &real, &[(root.to_string(), replayed)]),
        }
    }

    fn of_export(&self, path: &Path) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        if self.since.is_some() || self.all {
            return Err(screen.fail(CommandExit::Usage, "an export is replayed as a whole"));
        }
        let mut real = self.build_real_parts(screen)?;
        let all = replay_export(screen, path, &mut self.open_configurations(screen)?, &mut real)?;
        report_all(screen, &real, &all)
    }

    /// The program in place of a listener and the agent whose model is called, if they are named.
    fn build_real_parts(&self, screen: Screen) -> Result<RealParts, CommandExit> {
        let program = self.with.clone().map(|(name, run)| {
            let surroundings = std::env::vars_os().filter(|(name, _)| name != failpoint::VARIABLE);
            StandInProgram::new(name, run, surroundings.collect())
        });
        let Some((name, most)) = self.live.clone().zip(self.money) else {
            return Ok(RealParts { program, live: None });
        };
        let own = self.read_edited(screen)?.map_or_else(|| self.place.organism(screen), Ok)?;
        let make = move |agent: &AgentSpec| {
            inline_listeners::build_models_of(&own, agent).map_err(|unmade| LiveFault {
                kind: LiveFaultKind::Settings,
                words: unmade.to_string(),
                fix: "what this names, or systole replay without --live".to_owned(),
            })
        };
        let live = LiveAgent::new(name, most, Box::new(make));
        let live = live.map_err(|why| screen.fail(CommandExit::Unavailable, why))?;
        Ok(RealParts { program, live: Some(live) })
    }

    /// The organism file that replaces the recorded configurations, if there is one.
    fn read_edited(&self, screen: Screen) -> Result<Option<OrganismFile>, CommandExit> {
        Ok(match &self.config {
            Some(path) => {
                // The journal has the answers of rehearsed models, too.
                let loaded = config::load_rehearsed(path, self.place.settings());
                Some(loaded.map_err(|refused| refuse(screen, &refused))?)
            }
            None if !self.place.settings().is_empty() => Some(self.place.organism(screen)?),
            None => None,
        })
    }

    /// The configurations of the replay.
    fn open_configurations(&self, screen: Screen) -> Result<ReplayConfigurations, CommandExit> {
        let edited = self.read_edited(screen)?;
        // The file as it is now is needed only for what a stored configuration leaves out.
        let mut configs = ReplayConfigurations::new(self.place.directory(), self.place.load().ok());
        if let Some(edited) = edited {
            configs.replace_all(edited).map_err(|why| screen.fail(CommandExit::Configuration, why))?;
        }
        Ok(configs)
    }

    /// Replays every thread that is meant, the oldest first.
    fn replay_many(
        &self,
        looking: &Looking,
        system: &SystemEvents,
        configs: &mut ReplayConfigurations,
        real: &mut RealParts,
    ) -> Result<CommandExit, CommandExit> {
        let screen = looking.screen;
        let since = self.since.as_deref().map(|text| parse_moment(screen, "--since", text, looking.now));
        let earliest = since.transpose()?.unwrap_or(Millis(0));
        let newest = looking.reader.list_threads(usize::MAX).map_err(|fault| looking.fault(&fault))?;
        let (mut counts, mut selects_some) = (ReplayCounts::default(), false);
        // Nothing is printed before it is clear that what is named takes part.
        let mut held = Vec::new();
        for root in newest.iter().rev().filter(|thread| thread.parent().is_none()) {
            if read_start(&*looking.reader, root).map_err(|fault| report_damage(looking, &fault))? < earliest
            {
                continue;
            }
            selects_some = true;
            let tree = read_tree(looking, root)?;
            match replay_tree(&*looking.reader, &tree, system, configs, real) {
                Err(CannotReplay::Log(fault)) => return Err(report_damage(looking, &fault)),
                replayed => held.push((root.to_string(), replayed)),
            }
            let is_over = held.iter().any(|(_, replayed)| is_over(replayed));
            if real.were_asked() || is_over {
                held.drain(..).for_each(|(name, replayed)| counts.take_outcome(screen, &name, &replayed));
            }
            if is_over {
                break;
            }
        }
        if let (false, Some(since)) = (selects_some, &self.since) {
            // A test of nothing must not look like one that passed.
            let words = format!("no thread began since {since}");
            return Err(screen.fail_with(CommandExit::Failed, words, "an earlier --since, or --all"));
        }
        counts.report_counts(screen, real)
    }
}

impl ReplayCounts {
    fn take_outcome(&mut self, screen: Screen, name: &str, replayed: &ReplayOutcome) {
        let replayed = match replayed {
            Ok(replayed) => replayed,
            Err(why) => {
                if let CannotReplay::Live(fault) = why {
                    self.ended = Some(fault.clone());
                }
                self.cannot += 1;
                if screen.json {
                    screen.show_value(&write_fault(name, why));
                } else {
                    screen.show(&format!("{name}: cannot be replayed: {why}"));
                }
                return;
            }
        };
        self.ended.clone_from(&replayed.ended);
        let verdict = ReplayVerdict::from_tree(replayed);
        match verdict {
            ReplayVerdict::Equal => self.same += 1,
            ReplayVerdict::Differs => self.differ += 1,
            ReplayVerdict::Refused => self.refused += 1,
        }
        let is_first = verdict != ReplayVerdict::Equal && self.first.is_none();
        if is_first {
            self.first = Some(name.to_owned());
        }
        if screen.json {
            return screen.show_value(&as_json(name, verdict, replayed));
        }
        if verdict == ReplayVerdict::Equal {
            return;
        }
        if is_first {
            return print_tree(screen, name, replayed);
        }
        let first = replayed.comparison.differences.first().map(run_difference::describe_difference);
        screen.show(&format!("{name}: {}: {}", verdict.as_str(), first.unwrap_or_default()));
    }

    /// Prints the counts, and what really worked.
    fn report_counts(&self, screen: Screen, real: &RealParts) -> Result<CommandExit, CommandExit> {
        if self.ended.is_none() {
            check_took_part(screen, real)?;
        }
        let exit = self.choose_exit(screen);
        print_use(screen, real);
        self.ended.as_ref().map_or(Ok(exit), |fault| Err(report_live_fault(screen, fault)))
    }

    fn choose_exit(&self, screen: Screen) -> CommandExit {
        let ReplayCounts { same, differ, refused, cannot, first, .. } = self;
        if screen.json {
            screen.show_value(&json!({
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
pub(super) fn replay_export(
    screen: Screen,
    path: &Path,
    configs: &mut ReplayConfigurations,
    real: &mut RealParts,
) -> Result<Vec<(String, ReplayOutcome)>, CommandExit> {
    let history = verify_export::open_history(screen, path)?;
    if let Some(lacks) = history.lacks {
        return Ok(vec![(path.display().to_string(), Err(lacks))]);
    }
    let mut all = Vec::new();
    for root in history.log.list_roots() {
        let replayed = match RecordedTree::read_tree(&history.log, &root) {
            Ok(Some(tree)) => replay_tree(&history.log, &tree, &history.system, configs, real),
            Ok(None) => Err(CannotReplay::BrokeOff("the thread has no records".to_owned())),
            Err(fault) => Err(CannotReplay::Log(fault)),
        };
        let is_over = is_over(&replayed);
        all.push((root.to_string(), replayed));
        if is_over {
            break;
        }
    }
    Ok(all)
}

/// Whether the model of an agent can be called no more, which ends a replay of several threads.
fn is_over(replayed: &ReplayOutcome) -> bool {
    match replayed {
        Ok(replayed) => replayed.ended.is_some(),
        Err(why) => matches!(why, CannotReplay::Live(_)),
    }
}

/// Prints what became of the threads, and what really worked.
fn report_all(
    screen: Screen,
    real: &RealParts,
    all: &[(String, ReplayOutcome)],
) -> Result<CommandExit, CommandExit> {
    let [(name, replayed)] = all else {
        let mut counts = ReplayCounts::default();
        all.iter().for_each(|(name, replayed)| counts.take_outcome(screen, name, replayed));
        return counts.report_counts(screen, real);
    };
    if replayed.is_ok() && !is_over(replayed) {
        check_took_part(screen, real)?;
    }
    let exit = report_outcome(screen, name, replayed);
    print_use(screen, real);
    match replayed {
        Ok(ReplayedTree { ended: Some(fault), .. }) | Err(CannotReplay::Live(fault)) => {
            Err(report_live_fault(screen, fault))
        }
        _ => exit,
    }
}

/// Prints what became of the only thread.
fn report_outcome(screen: Screen, name: &str, replayed: &ReplayOutcome) -> Result<CommandExit, CommandExit> {
    match replayed {
        Ok(replayed) => {
            let verdict = ReplayVerdict::from_tree(replayed);
            if screen.json {
                screen.show_value(&as_json(name, verdict, replayed));
            } else {
                print_tree(screen, name, replayed);
            }
            Ok(exit_of(verdict == ReplayVerdict::Equal))
        }
        Err(why) => {
            if screen.json {
                screen.show_value(&write_fault(name, why));
            }
            let exit = match why {
                CannotReplay::NoProgram(_) | CannotReplay::NotStarted(..) => CommandExit::Usage,
                // It is said after what the calls cost.
                CannotReplay::Live(_) => return Err(CommandExit::Unavailable),
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

/// Reports why the model of an agent is not called, or not once more.
fn report_live_fault(screen: Screen, fault: &LiveFault) -> CommandExit {
    let exit = match fault.kind {
        LiveFaultKind::Usage => CommandExit::Usage,
        LiveFaultKind::Settings => CommandExit::Configuration,
        LiveFaultKind::Ended => CommandExit::Unavailable,
    };
    screen.fail_with(exit, fault, &fault.fix)
}

/// Refuses a name of `--with` or `--live` that gets no request.
fn check_took_part(screen: Screen, real: &RealParts) -> Result<(), CommandExit> {
    if real.were_asked() {
        return Ok(());
    }
    if let Some(program) = real.program.as_ref().filter(|program| program.count_requests() == 0) {
        let name = program.listener();
        let words = format!("no request to {name} is recorded there, so its program was not started");
        return Err(screen.refuse(words, "systole replay --all, or the name of another listener"));
    }
    let Some(live) = &real.live else { return Ok(()) };
    let (name, agents) = (live.name(), live.list_agents());
    let words = match agents.iter().any(|agent| agent == name.as_str()) {
        true => format!("no request to {name} is recorded there, so its model was not called"),
        false => format!("{name} is no agent there"),
    };
    Err(screen.refuse(words, format!("systole replay --all, or one of the agents: {}", agents.join(", "))))
}

/// Prints what a program and a model did.
fn print_use(screen: Screen, real: &RealParts) {
    if let Some(program) = real.program.as_ref().filter(|_| !screen.json) {
        let (name, asked) = (program.listener(), counted(program.count_requests(), "request"));
        screen.show(&format!("the program in place of {name} got {asked}"));
    }
    let Some(live) = &real.live else { return };
    let (LiveUse { requests, micros, unknown }, most) = live.measure_use();
    let (name, cost) = (live.name(), Money { micros, ..most });
    if screen.json {
        return screen.show_value(&json!({
            "live": name.as_str(), "requests": requests, "cost": cost.to_string(), "unknown": unknown,
        }));
    }
    let requests = counted(requests, "request");
    let at_most = if unknown == 0 { "" } else { "at most " };
    screen.show(&format!("the model of {name} got {requests}, for {at_most}{cost} of {most}"));
}

fn exit_of(is_equal: bool) -> CommandExit {
    if is_equal { CommandExit::Done } else { CommandExit::Failed }
}

/// The records of a tree.
pub(super) fn read_tree(looking: &Looking, root: &ThreadId) -> Result<RecordedTree, CommandExit> {
    match RecordedTree::read_tree(&*looking.reader, root) {
        Ok(Some(tree)) => Ok(tree),
        Ok(None) => Err(looking.screen.fail(CommandExit::Usage, format!("thread {root} has no records"))),
        Err(fault) => Err(report_damage(looking, &fault)),
    }
}

/// Reports a log that cannot be replayed because it is not intact.
pub(super) fn report_damage(looking: &Looking, fault: &LogFault) -> CommandExit {
    let exit = looking.fault(fault);
    if exit == CommandExit::Log {
        looking.screen.say("  a damaged log is not replayed; systole verify says what is wrong with it");
    }
    exit
}

/// When a thread began.
fn read_start(reader: &dyn LogReader, thread: &ThreadId) -> Result<Millis, LogFault> {
    let first = reader.of_thread(thread, 1, 1)?;
    Ok(first.first().map_or(Millis(0), |(_, record)| record.header.time))
}

/// Prints what became of one thread.
pub(super) fn print_tree(screen: Screen, root: &str, replayed: &ReplayedTree) {
    list_lines(root, replayed).iter().for_each(|line| screen.show_drawn(line));
}

/// What became of one thread.
pub(super) fn list_lines(root: &str, replayed: &ReplayedTree) -> Vec<String> {
    let (verdict, comparison) = (ReplayVerdict::from_tree(replayed), &replayed.comparison);
    let words = match verdict {
        ReplayVerdict::Equal => paint(TextTone::Good, "equal"),
        ReplayVerdict::Differs => paint(TextTone::Bad, "differs"),
        ReplayVerdict::Refused => paint(TextTone::Bad, "refused by the new schema"),
    };
    let mut lines = vec![format!("{root}: {}, {words}", counted(comparison.records, "record"))];
    if let Some(version) = &replayed.version {
        lines.push(format!("  recorded by version {}", make_visible(version)));
    }
    if comparison.reworded > 0 {
        let reworded = comparison.reworded;
        lines.push(format!("  {reworded} records are worded by another version, which does not count"));
    }
    if replayed.not_replayed > 0 {
        let counts = replayed.not_replayed;
        lines.push(format!("  {counts} records that count refusals were not replayed"));
    }
    lines.extend(run_difference::list_lines(&comparison.differences, ComparedSides::Replay));
    lines.extend(replayed.refused.iter().map(|refusal| {
        let words = format!("  refused now: {}: {}", refusal.code.as_str(), refusal.message);
        make_visible(&words).into_owned()
    }));
    // A delivery that is open in the record too needs no remark.
    let missing = replayed.unanswered.iter().filter(|_| verdict != ReplayVerdict::Equal);
    let mut missing: Vec<String> = missing
        .map(|one| format!("  no answer in the log: {} at {}: {}", one.listener, one.place, one.why))
        .collect();
    missing.dedup();
    lines.extend(missing.iter().take(LISTED_FAULTS).map(|line| make_visible(line).into_owned()));
    if missing.len() > LISTED_FAULTS {
        lines.push(format!("  and {} more without an answer in the log", missing.len() - LISTED_FAULTS));
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
        "differences": run_difference::as_json(&replayed.comparison.differences, ComparedSides::Replay),
        "refused": refused, "unanswered": unanswered, "ended": replayed.ended.as_ref().map(LiveFault::to_string),
    })
}

pub(super) fn write_fault(root: &str, why: &CannotReplay) -> Value {
    json!({"thread": root, "verdict": "cannot-replay", "why": why.to_string()})
}
