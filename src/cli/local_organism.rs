//! An organism in this process: how `run`, `send` and the orders start one and stop it, with every fault as words and
//! an exit. It locks the log, so there is never more than one.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::exit::CommandExit;
use super::place::{self, Place};
use super::refusal_text;
use super::screen::Screen;
use super::system_faults;
use crate::limits;
use systole_carriers::NoCarrier;
use systole_config::OrganismFile;
use systole_core::rules::reload_payload::Reload;
use systole_core::rules::shutdown_payload::RunEnding;
use systole_core::types::codes::Code;
use systole_core::types::ports::{LogFault, LogStop, LostRange};
use systole_organism::missing_part::MissingPart;
use systole_organism::plan::{ConfigInForce, ReloadAtStart, RunPlan, StandbyReporter, StartFault};
use systole_organism::planning::{self, RunSurroundings};
use systole_organism::proving::SigningFault;
use systole_organism::pump_loop::{LoopEnd, StopWait};
use systole_organism::runfile::{PostedRunFile, RunFile};
use systole_organism::running::Organism;
use systole_organism::standing_by::StandbyStatus;
use systole_system::failpoint::{self, Failpoint};

/// Runs a command's work on the threads that an organism needs.
pub(super) fn with_runtime<T>(
    screen: Screen,
    work: impl Future<Output = Result<T, CommandExit>>,
) -> Result<T, CommandExit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        system_faults::report_missing(screen, "the threads that an organism runs on", &error)
    })?;
    let result = runtime.block_on(work);
    runtime.shutdown_timeout(limits::LAST_THREADS);
    result
}

/// How an organism is to be started.
#[derive(Default)]
pub(super) struct StartWish {
    /// Acknowledged positions that may be missing from the log.
    pub(super) given_up: Option<LostRange>,
    /// Waits for another pump that has the log.
    pub(super) stands_by: Option<StandbyReporter>,
    /// What it knows of reloads.
    pub(super) reload: ReloadAtStart,
}

impl StartWish {
    /// A start for one command, whose end is no stop of the organism.
    fn for_command(takes_file: bool) -> StartWish {
        let reload = ReloadAtStart { takes_file, news: None, ending: RunEnding::Command };
        StartWish { reload, ..StartWish::default() }
    }
}

/// Starts the organism. If a reload is in force, it starts with that configuration.
pub(super) async fn start_organism(
    screen: Screen,
    place: &Place,
    file: OrganismFile,
) -> Result<Organism, CommandExit> {
    let mut wish = StartWish::for_command(false);
    let mut file = file;
    loop {
        match start_with(screen, place, file, wish).await? {
            Ok(organism) => return Ok(organism),
            Err(StartFault::InForce(config)) => {
                (file, wish) = (take_in_force(screen, place, &config)?, StartWish::for_command(true));
            }
            Err(fault) => return Err(start_fault(screen, &fault)),
        }
    }
}

/// The same, but the caller reports a failed start.
pub(super) async fn start_with(
    screen: Screen,
    place: &Place,
    file: OrganismFile,
    wish: StartWish,
) -> Result<Result<Organism, StartFault>, CommandExit> {
    let StartWish { given_up, stands_by, reload } = wish;
    let around = find_surroundings(screen, place, false)?;
    let plan = match planning::build_plan(file, around) {
        Ok(plan) => RunPlan { given_up, stands_by, reload, ..plan },
        Err(missing) => return Ok(Err(StartFault::Missing(missing))),
    };
    Ok(Organism::start(plan).await.map(|it| print_notes(screen, it)))
}

/// Prints what a person should know about the state of the log.
fn print_notes(screen: Screen, organism: Organism) -> Organism {
    for note in organism.notes() {
        screen.say(format!("note: {note}"));
    }
    organism
}

/// Starts it for one order: it sends nothing.
pub(super) async fn start_without_deliveries(
    screen: Screen,
    place: &Place,
    file: OrganismFile,
) -> Result<Organism, CommandExit> {
    let mut wish = StartWish::for_command(false);
    let mut file = file;
    loop {
        let around = find_surroundings(screen, place, true)?;
        let plan = planning::build_plan(file, around);
        let plan = plan.map_err(|missing| report_missing_part(screen, &missing))?;
        let plan = RunPlan { reload: wish.reload, ..plan };
        match Organism::start_without_deliveries(plan).await {
            Ok(organism) => return Ok(print_notes(screen, organism)),
            Err(StartFault::InForce(config)) => {
                (file, wish) = (take_in_force(screen, place, &config)?, StartWish::for_command(true));
            }
            Err(fault) => return Err(start_fault(screen, &fault)),
        }
    }
}

/// Records that an organism was stopped that had ended for a reload. Otherwise an earlier reload would stay in force.
pub(super) async fn record_stop(screen: Screen, place: &Place, file: OrganismFile) {
    let ended = async {
        let around = find_surroundings(screen, place, true)?;
        let plan = planning::build_plan(file, around);
        let plan = plan.map_err(|missing| report_missing_part(screen, &missing))?;
        let reload = ReloadAtStart { takes_file: true, ..ReloadAtStart::default() };
        let organism = Organism::start_without_deliveries(RunPlan { reload, ..plan }).await;
        let ended = organism.map_err(|fault| start_fault(screen, &fault))?.stop(Duration::ZERO).await;
        report_end(screen, &ended).map_or(Ok(()), Err)
    };
    match ended.await {
        Ok(()) => screen.say("stopped"),
        Err(_) => {
            screen.say("stopped, but the log does not say so: an earlier reload may count at the next start");
            screen.say("  try: systole run --take-file, which takes the file");
        }
    }
}

/// The configuration of a reload that counts more than the file, and says so.
pub(super) fn take_in_force(
    screen: Screen,
    place: &Place,
    config: &ConfigInForce,
) -> Result<OrganismFile, CommandExit> {
    let ConfigInForce { reload: Reload { config, by, .. }, is_stopped, source } = config;
    let why = if *is_stopped { "turned away from this file" } else { "was not stopped since then" };
    screen.say(format!("note: it goes on with configuration {config}, which {by} reloaded: it {why}"));
    screen.say(format!("  try: {} --take-file, which takes the file", place.run_command()));
    place.load_stored(source).map_err(|refused| place::refuse(screen, &refused))
}

/// What a plan needs beside the file.
pub(super) fn find_surroundings(
    screen: Screen,
    place: &Place,
    is_still: bool,
) -> Result<RunSurroundings, CommandExit> {
    let armed = std::env::var(failpoint::VARIABLE).ok();
    let steps = Failpoint::parse(armed.as_deref())
        .map_err(|unreadable| screen.fail(CommandExit::Usage, unreadable))?;
    let say = Arc::new(move |words: &str| screen.say(words));
    Ok(RunSurroundings { directory: place.directory(), steps: Arc::new(steps), say, is_still })
}

/// Reports what a file names and what is missing here.
pub(super) fn report_missing_part(screen: Screen, missing: &MissingPart) -> CommandExit {
    let exit = screen.fail(CommandExit::Configuration, missing);
    missing.fix.iter().for_each(|fix| screen.say(format!("  try: {fix}")));
    exit
}

/// Reports why an organism, or something it needs, is missing.
pub(super) fn start_fault(screen: Screen, fault: &StartFault) -> CommandExit {
    match fault {
        StartFault::Log(fault) => report_log_fault(screen, fault),
        StartFault::Configuration { .. } => screen.fail(CommandExit::Log, fault),
        StartFault::Broker(unusable) => {
            let exit = match unusable.code() {
                Code::ConfigValue => CommandExit::Configuration,
                _ => CommandExit::Unavailable,
            };
            screen.fail_with(exit, format!("{}: {unusable}", unusable.code().as_str()), unusable.fix())
        }
        StartFault::Unstarted(unstarted) => {
            let words = format!("{}: {unstarted}", unstarted.code().as_str());
            screen.fail_with(CommandExit::Unavailable, words, unstarted.fix())
        }
        StartFault::Led { .. } => {
            let fix = "the same command there; or systole run here, which stands by";
            screen.fail_with(CommandExit::Unavailable, fault, fix)
        }
        StartFault::Listener(no_way) => {
            let exit = screen.fail(CommandExit::Configuration, fault);
            if let NoCarrier::Sandbox { .. } = no_way {
                screen.say(format!("  try: {}", Code::ConfigNoSandbox.fix()));
            }
            exit
        }
        StartFault::Schedule { .. } | StartFault::InForce(_) => {
            screen.fail(CommandExit::Configuration, fault)
        }
        StartFault::Missing(missing) => report_missing_part(screen, missing),
        StartFault::Unsigned(fault) => report_unsigned(screen, fault),
        StartFault::Machine(_) => {
            let fix = "run it again; if it fails again, systole doctor";
            screen.fail_with(CommandExit::Unavailable, fault, fix)
        }
    }
}

/// Reports why a log is not signed.
pub(super) fn report_unsigned(screen: Screen, fault: &SigningFault) -> CommandExit {
    match fault {
        SigningFault::Notes(fault) => system_faults::report_fault(screen, CommandExit::Unavailable, fault),
        SigningFault::Log(fault) => report_log_fault(screen, fault),
        SigningFault::Key(_) => screen.refuse(fault, "the key of a log: systole keygen without --witness"),
        SigningFault::OtherHistory { .. } => {
            let fix = "the newest backup; a log that lost records on purpose needs a key of a new origin";
            screen.fail_with(CommandExit::Log, fault, fix)
        }
    }
}

/// Reports what is wrong with a log.
pub(super) fn report_log_fault(screen: Screen, fault: &LogFault) -> CommandExit {
    if let LogFault::InUse { path, pid } = fault
        && let Some(StandbyStatus { pid, leader }) = StandbyStatus::read_note(Path::new(path), *pid)
    {
        let who = format!("process {pid} stands by on {path}: {leader} has the log");
        let fix = "the same there; the reading commands work here as well";
        return screen.fail_with(CommandExit::Unavailable, who, fix);
    }
    if let LogFault::InUse { path, pid } = fault
        && RunFile::find_holder(Path::new(path)).is_some_and(|run| run.drain_ms.is_some())
    {
        let who = format!("process {pid} runs on {path}, stops, and waits for what is out");
        let fix = "the same after its next start; the reading commands work now as well";
        return screen.fail_with(CommandExit::Unavailable, who, fix);
    }
    let exit = match fault {
        fault if fault.is_damage() => CommandExit::Log,
        LogFault::NothingLost { .. } => CommandExit::Usage,
        LogFault::Elsewhere { code: Some(code), .. } => refusal_text::exit_of(*code),
        _ => CommandExit::Unavailable,
    };
    screen.fail(exit, fault);
    if let Some(fix) = fix_of(fault) {
        screen.say(format!("  try: {fix}"));
    }
    exit
}

/// What a stop waits for: what `systole stop --drain` asked for, or programs and agents for the usual time.
pub(super) fn stop_wait(posted: &PostedRunFile) -> StopWait {
    posted.read_drain().map_or(StopWait::Here(limits::GRACE), StopWait::Everywhere)
}

/// Reports how an organism ended; `None` if it ended as it should.
pub(super) fn report_end(screen: Screen, ended: &LoopEnd) -> Option<CommandExit> {
    match ended {
        LoopEnd::Drained(0) => None,
        LoopEnd::Drained(1) => {
            screen.say("1 delivery was still out; it is taken up again at the next start");
            None
        }
        LoopEnd::Drained(out) => {
            screen.say(format!("{out} deliveries were still out; they are taken up again at the next start"));
            None
        }
        LoopEnd::Broken(LogStop { words, is_damaged }) => {
            let exit = if *is_damaged { CommandExit::Log } else { CommandExit::Unavailable };
            let fix = "systole doctor, which says how the log was left; then start it again";
            Some(screen.fail_with(exit, words, fix))
        }
    }
}

/// The fix for a log that cannot be read.
pub(super) fn fix_of(fault: &LogFault) -> Option<Cow<'static, str>> {
    let fix = match fault {
        LogFault::Lost { gone, .. } => {
            let fix = format!(
                "a backup of the log with its -wal; or systole run --accept-loss {gone}, which goes on without these records"
            );
            return Some(Cow::Owned(fix));
        }
        LogFault::NothingLost { .. } => Some("the same without --accept-loss"),
        LogFault::Elsewhere { fix, .. } => return Some(Cow::Owned(fix.clone())),
        LogFault::Foreign { .. } => Some("--log PATH with a log, or another log.path in the organism's file"),
        LogFault::Newer { .. } => Some("the version of systole that wrote it, or a newer one"),
        LogFault::Apart { .. } => Some(
            "the broker's store from a backup; or another log.path, to go on with what the broker has: the copy is kept",
        ),
        LogFault::Damaged { .. } => Some("systole doctor, which says how far the damage goes"),
        LogFault::Full { .. } => Some("free space on that disk, then the same again"),
        LogFault::Io { .. } => Some(
            "--log PATH, or another log.path in the organism's file: one that this user can read and write",
        ),
        LogFault::InUse { .. } => {
            Some("systole stop, which ends an organism; while it runs, commands go through it")
        }
    };
    fix.map(Cow::Borrowed)
}
