//! An organism in this process: how `run`, `send` and the orders start one and stop it, with every fault as words and
//! an exit. It locks the log, so there is never more than one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::exit::CommandExit;
use super::place::{Place, quote_path};
use super::refusal_text;
use super::screen::Screen;
use super::system_faults;
use super::trust_policy;
use crate::limits;
use systole_carriers::{InlineListener, NoCarrier};
use systole_config::{OrganismFile, ProofSettings};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::ports::{LogFault, LogStop, LostRange};
use systole_follow::{FollowerFault, FollowerPlan, FollowerSettings};
use systole_http::ProxySettings;
use systole_organism::inline_listeners::{self, ListenerScope};
use systole_organism::plan::{BusAccess, LogPlace, RunPlan, StandbyReporter, StartFault};
use systole_organism::proving::{ProofPlan, SigningFault};
use systole_organism::pump_loop::{LoopEnd, StopWait};
use systole_organism::runfile::{PostedRunFile, RunFile};
use systole_organism::running::Organism;
use systole_organism::standing_by::StandbyStatus;
use systole_system::failpoint::{self, Failpoint};
use systole_witness::WitnessClient;

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

/// Starts the organism.
pub(super) async fn start_organism(
    screen: Screen,
    place: &Place,
    file: OrganismFile,
) -> Result<Organism, CommandExit> {
    start_without(screen, place, file, None).await?.map_err(|fault| start_fault(screen, &fault))
}

/// The same, but acknowledged positions that are missing from the log may be given up, and the caller reports a failed
/// start.
pub(super) async fn start_without(
    screen: Screen,
    place: &Place,
    file: OrganismFile,
    given_up: Option<LostRange>,
) -> Result<Result<Organism, StartFault>, CommandExit> {
    let plan = RunPlan { given_up, ..build_plan(screen, place, file, false)? };
    Ok(Organism::start(plan).await.map(|it| print_notes(screen, it)))
}

/// Prints what a person should know about the state of the log.
fn print_notes(screen: Screen, organism: Organism) -> Organism {
    for note in organism.notes() {
        screen.say(format!("note: {note}"));
    }
    organism
}

/// The same, but waits for another pump that has the log; the caller reports a failed start.
pub(super) async fn start_or_stand_by(
    screen: Screen,
    place: &Place,
    file: OrganismFile,
    stands_by: StandbyReporter,
) -> Result<Result<Organism, StartFault>, CommandExit> {
    let plan = RunPlan { stands_by: Some(stands_by), ..build_plan(screen, place, file, false)? };
    Ok(Organism::start(plan).await)
}

/// Starts it for one order: it sends nothing.
pub(super) async fn start_without_deliveries(
    screen: Screen,
    place: &Place,
    file: OrganismFile,
) -> Result<Organism, CommandExit> {
    let plan = build_plan(screen, place, file, true)?;
    let started = Organism::start_without_deliveries(plan).await;
    started.map(|it| print_notes(screen, it)).map_err(|fault| start_fault(screen, &fault))
}

fn build_plan(
    screen: Screen,
    place: &Place,
    file: OrganismFile,
    still: bool,
) -> Result<RunPlan, CommandExit> {
    let bus = open_bus(screen, &file, still)?;
    let managed = file.managed.then(|| file.log.clone());
    let armed = std::env::var(failpoint::VARIABLE).ok();
    let steps = Failpoint::parse(armed.as_deref())
        .map_err(|unreadable| screen.fail(CommandExit::Usage, unreadable))?;
    let inline = build_agents(screen, &file, ListenerScope::Alone)?;
    let proof = match &file.proof {
        Some(proof) if !still => Some(build_proof_plan(screen, proof, &file.log)?),
        _ => None,
    };
    let followers = if still { Vec::new() } else { build_followers(screen, &file)? };
    Ok(RunPlan {
        composition: file.composition,
        directory: place.directory(),
        log: match file.log_kept {
            Some(kept) => LogPlace::Stream { copy: file.log, kept },
            None => LogPlace::File(file.log),
        },
        inline,
        validators: std::thread::available_parallelism().map_or(1, usize::from),
        surroundings: std::env::vars_os().filter(|(name, _)| name != failpoint::VARIABLE).collect(),
        steps: Arc::new(steps),
        bus,
        managed,
        stands_by: None,
        given_up: None,
        proof,
        followers,
        schedules: file.schedules,
    })
}

/// Who gets the events of the log, with their secrets from the environment.
fn build_followers(screen: Screen, file: &OrganismFile) -> Result<Vec<FollowerPlan>, CommandExit> {
    let read = |name: &str| std::env::var(name).ok();
    let proxies = ProxySettings::from_environment(&read);
    let build = |settings: &FollowerSettings| FollowerPlan::build(settings.clone(), &read, &proxies);
    let built: Result<_, FollowerFault> = file.followers.iter().map(build).collect();
    built.map_err(|fault| screen.fail_with(CommandExit::Configuration, fault.words, fault.fix))
}

/// How the running organism signs checkpoints. The key has to be on this machine.
fn build_proof_plan(screen: Screen, proof: &ProofSettings, log: &Path) -> Result<ProofPlan, CommandExit> {
    let Some(key) = proof.key.clone() else {
        let words = format!("{}: there is no such file, and `proof.key` names it", proof.file.display());
        let (origin, file) = (&proof.origin, quote_path(&proof.file));
        let fix = format!("systole keygen --origin {origin} -o {file}; or the key from elsewhere");
        return Err(screen.fail_with(CommandExit::Configuration, words, fix));
    };
    let policy = match &proof.policy {
        Some(policy) => policy.clone(),
        None => trust_policy::build_policy(screen, &key.verifier().to_string())?,
    };
    Ok(ProofPlan {
        key,
        policy: Arc::new(policy),
        logs: proof.logs.clone(),
        log: log.to_owned(),
        every: proof.every,
        to: proof.to.clone(),
        witnesses: proof.witnesses.clone(),
        client: build_witness_client(),
        say: Arc::new(move |words| screen.say(words)),
    })
}

/// Asks witnesses through the proxies that the environment names.
pub(super) fn build_witness_client() -> WitnessClient {
    WitnessClient::new(ProxySettings::from_environment(&|name| std::env::var(name).ok()))
}

/// The agents of the file as listeners of this process.
pub(super) fn build_agents(
    screen: Screen,
    file: &OrganismFile,
    scope: ListenerScope,
) -> Result<BTreeMap<Name, Arc<dyn InlineListener>>, CommandExit> {
    inline_listeners::build_agents(file, scope)
        .map_err(|unmade| screen.fail_with(CommandExit::Configuration, &unmade, &unmade.fix))
}

/// The broker, with the pump's credentials. If nothing uses the broker, there is no connection and no key is needed.
pub(super) fn open_bus(
    screen: Screen,
    file: &OrganismFile,
    still: bool,
) -> Result<Option<BusAccess>, CommandExit> {
    let is_used = file.log_kept.is_some() || (!still && file.composition.uses_broker());
    let Some(url) = file.bus.clone().filter(|_| is_used) else { return Ok(None) };
    let key = file.bus_key.as_ref().map(|key| key.credentials(|name| std::env::var(name).ok()));
    let credentials = key.transpose().map_err(|keyless| screen.fail(CommandExit::Configuration, keyless))?;
    Ok(Some(BusAccess { url, credentials }))
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
        StartFault::Schedule { .. } => screen.fail(CommandExit::Configuration, fault),
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
