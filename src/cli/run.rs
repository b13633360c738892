//! `systole run`: starts the organism and opens its door, again and again if it is reloaded or another pump has the log.

use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::detach;
use super::exit::CommandExit;
use super::hosting::{HostPart, HostRole};
use super::local_organism::{self, StartWish};
use super::place::{Place, quote_path, refuse};
use super::reloading::{KeptDoor, NextRun, ReloadPlaces};
use super::running::{RunEnd, RunningOrganism, watch_log};
use super::screen::Screen;
use super::signals::Signals;
use super::system_faults;
use crate::limits;
use systole_api::types::{OrganismStatus, OwnBroker, StartReport};
use systole_config::{DEFAULT_LISTEN, OrganismFile, count_mistakes};
use systole_core::rules::reload_payload::{FailedReload, Reload, ReloadNews};
use systole_core::types::ports::{LogFault, LostRange, Position};
use systole_doors::http::{self, ConsoleSettings, HttpDoor, HttpDoorFault};
use systole_doors::wire::WireDoor;
use systole_doorway::UnreadConnections;
use systole_hall::door_reloads::DoorReloads;
use systole_organism::keyring::Keyring;
use systole_organism::plan::{ReloadAtStart, StandbyReporter, StartFault};
use systole_organism::reloading::orders::ReloadDesk;
use systole_organism::runfile::{Credential, GuestCredentials, PostedRunFile, RunFile};
use systole_organism::running::{LifeSign, Organism};
use systole_organism::standing_by::StandbyStatus;
use systole_system::system;

/// Runs the organism until it is stopped.
///
/// Shows a line for every record as it is written, without payloads. The first Ctrl-C or TERM, or a terminal that closes, lets
/// replies land for five seconds and then stops; the second stops at once. With `--role` one part of the organism runs here, and
/// the others elsewhere, from the same file.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole run
  systole run --detach
  systole -C my-team run --set console.listen=127.0.0.1:8080")]
pub(super) struct RunCommand {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    part: HostPart,
    /// Run in the background; return when the organism can be reached
    #[arg(long)]
    detach: bool,
    /// Show payloads too, without their sensitive values
    #[arg(long)]
    show: bool,
    /// Go on without the missing positions that the refusal names: 32..60
    #[arg(long, value_name = "FIRST..LAST", value_parser = parse_positions)]
    accept_loss: Option<LostRange>,
    /// Start with the file, also if a reload is in force
    #[arg(long)]
    take_file: bool,
}

/// Reads the positions to give up.
fn parse_positions(typed: &str) -> Result<LostRange, String> {
    let parts =
        typed.split_once("..").and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    match parts {
        Some((first, last)) if 0 < first && first <= last => {
            Ok(LostRange { first: Position(first), last: Position(last) })
        }
        _ => Err("positions are two whole numbers with two dots between them, as in 32..60".to_owned()),
    }
}

impl RunCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        if self.detach {
            return match self.part.role {
                Some(HostRole::Listeners) => Err(report_no_door(screen)),
                _ => detach::run_detached(screen, &self.place),
            };
        }
        local_organism::with_runtime(screen, async {
            // Signal handling starts before anything else, so that no signal interrupts a half-finished start.
            let mut signals = Signals::listen_as_server(screen)?;
            signals.reload_on_hangup();
            if self.accept_loss.is_some() && self.part.role == Some(HostRole::Listeners) {
                return Err(report_no_log_file(screen, "a host has no log"));
            }
            if self.show && self.part.role == Some(HostRole::Listeners) {
                return Err(screen.refuse(
                    "--show is for what the pump records; a host records nothing",
                    "the same without it",
                ));
            }
            if self.part.role == Some(HostRole::Listeners) {
                return Box::pin(self.part.run_host(screen, &self.place, &mut signals)).await;
            }
            let (mut was_here, mut told, mut again) = (false, None::<Instant>, None::<Box<NextRun>>);
            loop {
                let next = match again.take() {
                    Some(next) => *next,
                    None => self.read_file(screen, was_here)?,
                };
                let ended = next.find_ended();
                match Box::pin(self.try_run(screen, &mut signals, (next, was_here))).await? {
                    // Everything from before is gone, as after a restart.
                    RunEnd::Ousted => (was_here, told) = (true, None),
                    RunEnd::Again(next) => again = Some(next),
                    RunEnd::Cut(words, next) => {
                        again = next;
                        if told.is_none_or(|told| told.elapsed() >= limits::BROKER_WORDS) {
                            screen.say(format!("waits for its broker: {words}"));
                            told = Some(Instant::now());
                        }
                        tokio::select! {
                            () = tokio::time::sleep(limits::BROKER_PAUSE) => {}
                            exit = signals.next() => return Ok(self.stop_unstarted(screen, exit, ended).await),
                        }
                    }
                    RunEnd::Unstarted(exit) => return Ok(self.stop_unstarted(screen, exit, ended).await),
                    RunEnd::Unrecorded(exit, file) => {
                        return Ok(self.stop_unstarted(screen, exit, Some(file)).await);
                    }
                    RunEnd::Over(exit) => return Ok(exit),
                }
            }
        })
    }

    /// Ends before an organism has started. If one had ended for a reload, that becomes a stop.
    async fn stop_unstarted(
        &self,
        screen: Screen,
        exit: CommandExit,
        ended: Option<Box<OrganismFile>>,
    ) -> CommandExit {
        if let Some(file) = ended {
            Box::pin(local_organism::record_stop(screen, &self.place, *file)).await;
        }
        exit
    }

    /// What the organism's file says, for the first start.
    fn read_file(&self, screen: Screen, was_here: bool) -> Result<NextRun, CommandExit> {
        let file =
            self.place.organism(screen)?.with_log_folder().map_err(|refused| refuse(screen, &refused))?;
        let file = self.part.adapt_file(screen, file)?;
        if !file.warnings.is_empty() && !was_here {
            // It is a message on stderr; programs that read JSON read stdout.
            let check = self.place.command("check");
            screen.say(format!("{}: {check} shows them", count_mistakes(&file.warnings)));
        }
        if self.accept_loss.is_some() && file.log_kept.is_some() {
            return Err(report_no_log_file(screen, "the log is in NATS: systole copy makes its copy again"));
        }
        Ok(NextRun::from_file(file, self.take_file))
    }

    /// `was_here` says that this process has had the log: if the broker fails now, it keeps standing by, although a
    /// first start would end.
    async fn try_run(
        &self,
        screen: Screen,
        signals: &mut Signals,
        (next, was_here): (NextRun, bool),
    ) -> Result<RunEnd, CommandExit> {
        let NextRun { file, reload, kept, fallback, .. } = tokio::select! {
            next = next.try_new_programs(screen) => next,
            exit = signals.next() => return Ok(RunEnd::Unstarted(exit)),
        };
        let guests = kept.as_ref().map(|kept| kept.guests.clone()).unwrap_or_default();
        let unread = kept.as_ref().map(|kept| kept.unread.clone()).unwrap_or_default();
        let keys = open_keyring(screen, &file, kept.as_ref())?;
        let (socket, posted) = match kept {
            Some(kept) => (Some(kept.socket), Some(kept.posted)),
            // A pump that stands by has no door, since it could not admit a client.
            None if file.log_kept.is_some() => (None, None),
            None => (Some(bind_door(screen, file.listen, &file.log).await?), None),
        };
        let starting = Box::pin(self.start_in_turn(screen, &file, &reload, posted.is_some()));
        let started = tokio::select! {
            started = starting => started?,
            exit = signals.next() => return Ok(RunEnd::Unstarted(exit)),
        };
        let organism = match (started, fallback) {
            (Ok(organism), _) => organism,
            (Err(StartFault::InForce(config)), _) => {
                let file = local_organism::take_in_force(screen, &self.place, &config)?;
                let file = self.part.adapt_file(screen, file)?;
                return Ok(RunEnd::Again(Box::new(NextRun::from_file(file, true))));
            }
            (Err(fault @ StartFault::Led { .. }), _) if posted.is_some() => {
                screen.say(format!("not reloaded, and it stands by: {fault}"));
                return Ok(RunEnd::Ousted);
            }
            // Those who wait at the door wait for the broker too.
            (Err(StartFault::Broker(unusable)), fallback) if posted.is_some() && unusable.may_pass() => {
                let kept = KeptDoor::keep(socket, posted, (keys.1, guests), unread);
                let next = NextRun { file, reload, kept, fallback, is_tried: true };
                return Ok(RunEnd::Cut(unusable.to_string(), Some(Box::new(next))));
            }
            (Err(fault), Some(before)) => {
                let back = NextRun::fall_back(screen, &file, *before, fault.to_string());
                let kept = KeptDoor::keep(socket, posted, (keys.1, guests), unread);
                return Ok(RunEnd::Again(Box::new(NextRun { kept, ..back })));
            }
            (Err(fault), None) => return report_start_fault(screen, &fault, was_here),
        };
        let socket = match socket {
            Some(socket) => socket,
            None => match bind_door(screen, file.listen, &file.log).await {
                Ok(socket) => socket,
                Err(exit) => {
                    organism.stop(Duration::ZERO).await;
                    return Err(exit);
                }
            },
        };
        let start = OpenedStart { organism, socket, keys, file, news: reload.news, unread };
        let running = self.open_doors(screen, start, posted).await?;
        let places = ReloadPlaces { screen, place: &self.place, part: &self.part };
        Ok(Box::pin(watch_log(places, running, signals, self.show)).await)
    }

    /// Starts the organism. A command may use the log for a moment while the organism is reloaded.
    async fn start_in_turn(
        &self,
        screen: Screen,
        file: &OrganismFile,
        reload: &ReloadAtStart,
        is_reload: bool,
    ) -> Result<Result<Organism, StartFault>, CommandExit> {
        let since = Instant::now();
        loop {
            let report = || Box::new(report_each_once(screen, file.log.clone())) as StandbyReporter;
            let wish = StartWish {
                given_up: self.accept_loss.filter(|_| !is_reload),
                // It has no door while it stands by, and someone may wait at the one that it keeps.
                stands_by: file.log_kept.as_ref().filter(|_| !is_reload).map(|_| report()),
                reload: reload.clone(),
            };
            let started = local_organism::start_with(screen, &self.place, file.clone(), wish).await?;
            match &started {
                Err(StartFault::Log(LogFault::InUse { .. }))
                    if is_reload && since.elapsed() < limits::RELOAD_PATIENCE =>
                {
                    tokio::time::sleep(limits::RELOAD_PAUSE).await;
                }
                _ => return Ok(started),
            }
        }
    }

    /// Opens the doors of an organism that has started, and says so.
    async fn open_doors(
        &self,
        screen: Screen,
        start: OpenedStart,
        posted: Option<PostedRunFile>,
    ) -> Result<RunningOrganism, CommandExit> {
        let OpenedStart { organism, socket, keys: (keyring, operator, guests), file, news, unread } = start;
        let opened = socket
            .local_addr()
            .and_then(|address| Ok((address, TcpListener::from_std(socket.try_clone()?)?)));
        let what = "the address that is listened on";
        let (address, bound) = opened.map_err(|error| system_faults::report_missing(screen, what, &error))?;
        if file.listen.is_none() && address != DEFAULT_LISTEN && posted.is_none() {
            let who = RunFile::find_at(DEFAULT_LISTEN)
                .map_or_else(|| "another program".to_owned(), |run| run.describe());
            screen.say(format!("{DEFAULT_LISTEN} is in use by {who}, so this organism takes a free port"));
        }
        let run_file = run_file(&self.place, address, (operator.clone(), guests.clone()), &organism);
        let (desk, orders) = ReloadDesk::open();
        let settings = ConsoleSettings {
            public: file.public.clone(),
            log: Some(file.log.clone()),
            reloads: Some(DoorReloads { desk, news: news.clone() }),
            unread: unread.clone(),
        };
        let door = HttpDoor::open(bound, organism.handle().clone(), keyring, settings);
        let wire = WireDoor::open(organism.handle()).await;
        let written = match posted {
            Some(posted) => posted.post_again(&run_file, &file.log),
            None => run_file.post_beside(&file.log),
        };
        let posted = match written {
            Ok(posted) => posted,
            Err(error) => {
                let path = RunFile::find_path(&file.log);
                let exit =
                    system_faults::report_unwritten(screen, &path, "what says that an organism runs", &error);
                drop(door.close().await);
                if let Some(wire) = wire {
                    wire.close().await;
                }
                organism.stop(Duration::ZERO).await;
                return Err(exit);
            }
        };
        match &news {
            Some(news) => screen.say(describe_news(news)),
            None => {
                let log = std::fs::canonicalize(&file.log).unwrap_or_else(|_| file.log.clone());
                say_started(screen, &organism, address, &log);
            }
        }
        let kept = KeptDoor { socket, operator, guests, posted, unread };
        Ok(RunningOrganism { organism, door, wire, kept, file, orders })
    }
}

/// An organism that has started, with what its doors need.
struct OpenedStart {
    organism: Organism,
    socket: StdTcpListener,
    keys: DoorKeys,
    file: OrganismFile,
    news: Option<ReloadNews>,
    unread: UnreadConnections,
}

/// A start that failed. A broker that is away is waited for, and one that this process has used also if it refuses.
fn report_start_fault(screen: Screen, fault: &StartFault, was_here: bool) -> Result<RunEnd, CommandExit> {
    match fault {
        StartFault::Broker(unusable) if unusable.is_away() || was_here && unusable.may_pass() => {
            Ok(RunEnd::Cut(unusable.to_string(), None))
        }
        fault => Err(local_organism::start_fault(screen, fault)),
    }
}

/// The run file of an organism in this process. The credentials are those of the operator and of the guests.
pub(super) fn run_file(
    place: &Place,
    address: SocketAddr,
    (token, guests): (Credential, GuestCredentials),
    organism: &Organism,
) -> RunFile {
    let file = std::path::absolute(place.file()).unwrap_or_else(|_| place.file().to_owned());
    let organism = organism.handle().composition().organism.to_string();
    RunFile {
        pid: std::process::id(),
        address,
        token,
        guests,
        organism,
        file,
        drain_ms: None,
        reloading: None,
    }
}

/// Reports that a host of listeners does not run in the background: it has no door that shows when it is ready.
fn report_no_door(screen: Screen) -> CommandExit {
    let words = "--detach waits for the door, and a host of listeners has none";
    screen.refuse(words, "the same without --detach, as a system service")
}

/// Reports that `--accept-loss` works only for a log in a local file.
fn report_no_log_file(screen: Screen, why: &str) -> CommandExit {
    screen.refuse(format!("--accept-loss is for a log in a file; {why}"), "the same without it")
}

/// Reports what runs and where, for people or as data.
fn say_started(screen: Screen, organism: &Organism, address: SocketAddr, log: &Path) {
    let (status, reachable) = (OrganismStatus::read_status(organism.handle()), organism.broker_address());
    if screen.json {
        let broker = OwnBroker::from_address(reachable);
        return screen.show_value(&StartReport {
            status,
            listen: address.to_string(),
            log,
            broker,
            orphans: organism.orphans(),
        });
    }
    let run_file = RunFile::find_path(log).display().to_string();
    screen.say(format!("{} runs as process {}", status.organism, status.pid));
    if let Some(reachable) = reachable {
        let file = quote_path(&reachable.address_file);
        screen.say(format!("its broker listens on {}, which is written in {file}", reachable.address));
        for one in &reachable.entrances {
            let key = format!("  {}: the key {}", one.who.as_str(), quote_path(&one.key));
            screen.say(format!("{key}, the inbox prefix {}", one.inbox));
        }
    }
    screen.say(format!("it listens on http://{address}; the token is in {run_file}"));
    screen.say(format!("its log is {}", log.display()));
    screen.say(format!("console: http://{address}/"));
    for orphan in organism.orphans() {
        screen.say(orphan.words());
        screen.say(format!("  try: {}", orphan.fix()));
    }
    if !address.ip().is_loopback() {
        screen.say("other machines reach it, and without TLS: anyone who sees its traffic has the token");
    }
}

/// Says how a reload went.
fn describe_news(news: &ReloadNews) -> String {
    match news {
        ReloadNews::Done(Reload { config, before, .. }) => {
            format!("reloaded: it goes on with configuration {config}, before {before}")
        }
        ReloadNews::Failed(FailedReload { config, .. }) => {
            format!("goes on as before: configuration {config} did not start")
        }
    }
}

/// The keyring of the door, with the credentials of the operator and of the guests.
type DoorKeys = (Keyring, Credential, GuestCredentials);

/// The credentials that open the door. A client without one is reported before anything starts.
fn open_keyring(
    screen: Screen,
    file: &OrganismFile,
    kept: Option<&KeptDoor>,
) -> Result<DoorKeys, CommandExit> {
    let undrawn = |error: std::io::Error| {
        system_faults::report_missing(screen, "the random bytes of a credential", &error)
    };
    let operator = kept.map_or_else(Credential::draw, |kept| Ok(kept.operator.clone())).map_err(undrawn)?;
    let keyring = Keyring::from_operator(operator.clone());
    let keyring = keyring.with_clients(&file.tokens, |name| std::env::var(name).ok());
    let keyring = keyring.map(|keyring| keyring.with_open_metrics(file.are_metrics_open));
    let keyring = keyring.map_err(|refused| refuse(screen, &refused))?;
    let guests = kept.map(|kept| kept.guests.clone()).unwrap_or_default();
    let (keyring, guests) = keyring.with_guests(&file.composition, guests).map_err(undrawn)?;
    Ok((keyring, operator, guests))
}

async fn bind_door(
    screen: Screen,
    listen: Option<SocketAddr>,
    log: &Path,
) -> Result<StdTcpListener, CommandExit> {
    let bound = match listen {
        Some(address) => http::bind_address(address).await,
        None => http::bind_or_free(DEFAULT_LISTEN).await,
    };
    match bound {
        Ok(bound) => bound.into_std().map_err(|error| {
            system_faults::report_missing(screen, "the address that is listened on", &error)
        }),
        Err(unopened) => Err(report_unopened(screen, unopened, log)),
    }
}

/// Reports why the door does not open.
fn report_unopened(screen: Screen, unopened: HttpDoorFault, log: &Path) -> CommandExit {
    let HttpDoorFault::InUse(address) = unopened else {
        return screen.fail(CommandExit::Unavailable, unopened);
    };
    // If an organism on this very log listens there, that is the better message.
    if let Some(run) = RunFile::find_running(log).filter(|run| run.address == address) {
        let path = log.display().to_string();
        return local_organism::report_log_fault(screen, &LogFault::InUse { path, pid: run.pid });
    }
    let Some(run) = RunFile::find_at(address) else {
        return screen.fail(CommandExit::Unavailable, unopened);
    };
    let words = format!("{address} is in use by {}", run.describe());
    let stop = format!("systole stop -f {}", quote_path(&run.file));
    let fix = format!("{stop}; or another address under `console.listen`");
    screen.fail_with(CommandExit::Unavailable, words, fix)
}

/// Reports each pump that has the log, once, and notes it beside the copy for other processes.
fn report_each_once(screen: Screen, log: PathBuf) -> impl FnMut(&LifeSign) + Send {
    let (mut told, mut noted) = (None, None);
    move |sign| {
        if told.as_ref() == Some(sign) {
            return;
        }
        told = Some(sign.clone());
        let leader = sign.to_string();
        screen.say(format!("stands by: {leader} has the log"));
        // The earlier note names a different pump.
        drop(noted.take());
        match (StandbyStatus { pid: std::process::id(), leader }).write_note(&log) {
            Ok(note) => noted = Some(note),
            Err(error) => {
                screen.say(format!(
                    "  that cannot be noted beside the copy: {}",
                    system::describe_error(&error)
                ));
            }
        }
    }
}
