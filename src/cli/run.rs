//! `systole run`: the organism and its door, until a signal. It shows the log as it grows, and drains in the order of
//! the flow: the door first, the log last.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::detach;
use super::exit::CommandExit;
use super::forms::Forms;
use super::hosting::{HostPart, HostRole};
use super::live::Live;
use super::local_organism::{self, StartWish};
use super::place::{Place, quote_path, refuse};
use super::reloading::{KeptDoor, NextRun, OrderedReload, ReloadPlaces};
use super::screen::Screen;
use super::signals::{SignalledWish, Signals};
use super::system_faults;
use crate::limits;
use systole_config::{DEFAULT_LISTEN, OrganismFile, count_mistakes};
use systole_core::rules::reload_payload::{FailedReload, Reload, ReloadNews};
use systole_core::types::ports::{LogFault, LostRange, Position};
use systole_core::types::time::spell_duration;
use systole_doors::api_types::{self, ApiRecord};
use systole_doors::events::RecordFollower;
use systole_doors::http::{self, ConsoleSettings, HttpDoor, HttpDoorFault};
use systole_doors::record_words::{self, ShownContent};
use systole_doors::reloading::DoorReloads;
use systole_doors::wire::WireDoor;
use systole_organism::front::OrganismHandle;
use systole_organism::keyring::Keyring;
use systole_organism::plan::{ReloadAtStart, StandbyReporter, StartFault};
use systole_organism::pump_loop::StopWait;
use systole_organism::reloading::{ReloadDesk, ReloadOrder};
use systole_organism::runfile::{Credential, PostedRunFile, RunFile};
use systole_organism::running::{LifeSign, Organism};
use systole_organism::standing_by::StandbyStatus;
use systole_organism::tail::SharedRecord;
use systole_queries::glance::glance;
use systole_system::system;
use systole_system::tasks::RunningTask;

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
            signals.reload_on_hangup();
            let (mut was_here, mut told, mut again) = (false, None::<Instant>, None::<Box<NextRun>>);
            loop {
                let next = match again.take() {
                    Some(next) => *next,
                    None => self.read_file(screen, was_here)?,
                };
                match Box::pin(self.try_run(screen, &mut signals, (next, was_here))).await? {
                    // Everything from before is gone, as after a restart.
                    RunEnd::Ousted => (was_here, told) = (true, None),
                    RunEnd::Again(next) => again = Some(next),
                    RunEnd::Cut(words) => {
                        if told.is_none_or(|told| told.elapsed() >= limits::BROKER_WORDS) {
                            screen.say(format!("waits for its broker: {words}"));
                            told = Some(Instant::now());
                        }
                        tokio::select! {
                            () = tokio::time::sleep(limits::BROKER_PAUSE) => {}
                            exit = signals.next() => return Ok(exit),
                        }
                    }
                    RunEnd::Over(exit) => return Ok(exit),
                }
            }
        })
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
        let NextRun { file, reload, kept, fallback } = next.try_new_programs(screen).await;
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
            exit = signals.next() => return Ok(RunEnd::Over(exit)),
        };
        let organism = match (started, fallback) {
            (Ok(organism), _) => organism,
            (Err(StartFault::InForce(config)), _) => {
                let (file, wish) = local_organism::take_in_force(screen, &self.place, &config)?;
                let file = self.part.adapt_file(screen, file)?;
                let next = NextRun { reload: wish.reload, ..NextRun::from_file(file, true) };
                return Ok(RunEnd::Again(Box::new(next)));
            }
            (Err(fault @ StartFault::Led { .. }), _) if posted.is_some() => {
                screen.say(format!("not reloaded, and it stands by: {fault}"));
                return Ok(RunEnd::Ousted);
            }
            (Err(fault), Some(before)) => {
                let back = NextRun::fall_back(screen, &file, *before, fault.to_string());
                let kept = KeptDoor::keep(socket, posted, keys);
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
        let start = OpenedStart { organism, socket, keys, file, news: reload.news };
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
        let OpenedStart { organism, socket, keys: (keyring, operator, guest), file, news } = start;
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
        let run_file = run_file(&self.place, address, (operator.clone(), guest.clone()), &organism);
        let (desk, orders) = ReloadDesk::open();
        let settings = ConsoleSettings {
            public: file.public.clone(),
            log: Some(file.log.clone()),
            reloads: Some(DoorReloads { desk, news: news.clone() }),
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
        let kept = KeptDoor { socket, operator, guest, posted };
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
}

/// A start that failed. A broker that is away is waited for, and one that this process has used also if it refuses.
fn report_start_fault(screen: Screen, fault: &StartFault, was_here: bool) -> Result<RunEnd, CommandExit> {
    match fault {
        StartFault::Broker(unusable) if unusable.is_away() || was_here && unusable.may_pass() => {
            Ok(RunEnd::Cut(unusable.to_string()))
        }
        fault => Err(local_organism::start_fault(screen, fault)),
    }
}

/// The run file of an organism in this process. The credentials are those of the operator and of the client `mcp`.
pub(super) fn run_file(
    place: &Place,
    address: SocketAddr,
    (token, mcp): (Credential, Option<Credential>),
    organism: &Organism,
) -> RunFile {
    let file = std::path::absolute(place.file()).unwrap_or_else(|_| place.file().to_owned());
    let organism = organism.handle().composition().organism.to_string();
    RunFile { pid: std::process::id(), address, token, mcp, organism, file, drain_ms: None }
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
    let (status, reachable) =
        (api_types::OrganismStatus::read_status(organism.handle()), organism.broker_address());
    if screen.json {
        let broker = api_types::OwnBroker::from_address(reachable);
        return screen.show_value(&api_types::StartReport {
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

/// The keyring of the door, with the credentials of the operator and of the client `mcp`.
type DoorKeys = (Keyring, Credential, Option<Credential>);

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
    let guest = kept.and_then(|kept| kept.guest.clone());
    let (keyring, guest) = keyring.with_mcp(&file.composition, guest).map_err(undrawn)?;
    Ok((keyring, operator, guest))
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

/// How a run ended.
enum RunEnd {
    /// Finally.
    Over(CommandExit),
    /// Another pump has the log; this one stands by from here on.
    Ousted,
    /// To go on with another configuration.
    Again(Box<NextRun>),
    /// Before it began: the broker does not answer, in words.
    Cut(String),
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

struct RunningOrganism {
    organism: Organism,
    door: HttpDoor,
    wire: Option<WireDoor>,
    kept: KeptDoor,
    /// What it runs.
    file: OrganismFile,
    orders: mpsc::Receiver<ReloadOrder>,
}

/// Why the log is no longer watched.
enum WatchEnd {
    /// A signal or a fault; `None` if the pump ended by itself.
    Stop(Option<CommandExit>),
    /// Another configuration is to go on.
    Reload(Box<OrderedReload>),
}

/// Shows the log until a signal comes, the pump fails, another pump has the log, or another configuration is to go on.
/// Then it stops.
async fn watch_log(
    places: ReloadPlaces<'_>,
    mut running: RunningOrganism,
    signals: &mut Signals,
    shows_payloads: bool,
) -> RunEnd {
    let screen = places.screen;
    let front = running.organism.handle().clone();
    let mut follower = RecordFollower::follow_after(&front, front.began(), None);
    let mut live = LogWatcher::follow_log(screen, &front, shows_payloads);
    let mut counts = Box::pin(report_workers(screen, front.clone(), live.joined.clone()));
    let mut ousted = pin!(running.organism.wait_for_takeover());
    let mut held: Option<HeldReload> = None;
    let end = loop {
        tokio::select! {
            _ = &mut ousted => break WatchEnd::Stop(None),
            page = follower.next_shared() => match page {
                Ok(Some(records)) => live.show_records(&records),
                // The pump ended; the other branch reports why.
                Ok(None) => break WatchEnd::Stop(None),
                Err(fault) => break WatchEnd::Stop(Some(local_organism::report_log_fault(screen, &fault))),
            },
            _ = running.organism.wait_for_break() => break WatchEnd::Stop(None),
            () = &mut counts => {}
            wish = signals.next_wish() => match wish {
                SignalledWish::Stop(exit) => break WatchEnd::Stop(Some(exit)),
                SignalledWish::Reload if held.is_some() => {}
                SignalledWish::Reload => {
                    let ordered = places.take_signal(&running.organism, &running.file);
                    held = ordered.map(|ordered| HeldReload::begin(&front, ordered));
                }
            },
            Some(order) = running.orders.recv() => {
                if held.is_some() {
                    places.refuse_second(order);
                    continue;
                }
                let ordered = places.answer_order(&running.organism, &running.file, order);
                held = ordered.map(|ordered| HeldReload::begin(&front, ordered));
            }
            ordered = HeldReload::wait_for(&mut held) => break WatchEnd::Reload(ordered),
        }
    };
    end_watch(screen, running, end, (follower, live), signals).await
}

/// Stops the organism, and shows its last records.
async fn end_watch(
    screen: Screen,
    running: RunningOrganism,
    end: WatchEnd,
    (mut follower, mut live): (RecordFollower, LogWatcher),
    signals: &mut Signals,
) -> RunEnd {
    let by = running.organism.ownership().and_then(|lead| lead.find_loss());
    let wait = match &end {
        WatchEnd::Reload(_) => StopWait::Here(Duration::ZERO),
        WatchEnd::Stop(_) => {
            let wait = local_organism::stop_wait(&running.kept.posted);
            say_stopping(screen, by.as_deref(), wait);
            wait
        }
    };
    let RunningOrganism { organism, door, wire, kept, file, .. } = running;
    let is_again = matches!(end, WatchEnd::Reload(_));
    // While it drains, a second `systole stop` finds it.
    let mut kept = (is_again || matches!(wait, StopWait::Everywhere(_))).then_some(kept);
    let mut stopping = pin!(stop_running(screen, (organism, door, wire), wait));
    let mut shows = true;
    loop {
        tokio::select! {
            stopped = &mut stopping => return match (stopped, end, kept.take()) {
                (StopResult::Ousted, WatchEnd::Stop(Some(exit)), _) => RunEnd::Over(exit),
                (StopResult::Ousted, ..) => RunEnd::Ousted,
                (StopResult::Well, WatchEnd::Reload(ordered), Some(kept)) => {
                    RunEnd::Again(Box::new(NextRun::from_order(*ordered, file, kept)))
                }
                (StopResult::Well, WatchEnd::Stop(exit), _) => {
                    screen.say("stopped");
                    RunEnd::Over(exit.unwrap_or(CommandExit::Log))
                }
                (StopResult::Well, ..) => RunEnd::Over(CommandExit::Done),
                (StopResult::Failed(failed), ..) => RunEnd::Over(failed),
            },
            page = follower.next_shared(), if shows => match page {
                Ok(Some(records)) => live.show_records(&records),
                _ => shows = false,
            },
            _ = signals.next() => {
                screen.say("stopped at once; open deliveries are taken up again at the next start");
                return RunEnd::Over(CommandExit::Stopped);
            }
        }
    }
}

/// A reload that waits for what is out.
struct HeldReload {
    ordered: Box<OrderedReload>,
    wait: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl HeldReload {
    /// Sends nothing more, and waits for what is out as long as the order allows.
    fn begin(front: &OrganismHandle, ordered: Box<OrderedReload>) -> HeldReload {
        let (front, drain) = (front.clone(), ordered.request.drain);
        let wait = Box::pin(async move {
            // What is still out then is taken for lost, as at any stop.
            let _in_time = tokio::time::timeout(drain, front.hold_deliveries()).await;
        });
        HeldReload { ordered, wait }
    }

    /// Waits until nothing is out; forever if there is no reload.
    async fn wait_for(held: &mut Option<HeldReload>) -> Box<OrderedReload> {
        if let Some(held) = held {
            held.wait.as_mut().await;
        }
        match held.take() {
            Some(held) => held.ordered,
            None => std::future::pending().await,
        }
    }
}

/// Says what a stop waits for.
fn say_stopping(screen: Screen, by: Option<&str>, wait: StopWait) {
    match (by, wait) {
        (Some(words), _) => screen.say(format!("{words}: open deliveries here are dropped")),
        (None, StopWait::Here(_)) => {
            screen.say("stopping: waits 5 s for replies; a second signal stops at once");
        }
        (None, StopWait::Everywhere(time)) => {
            let time = spell_duration(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            let words = "for replies, also of workers over NATS; a second signal stops at once";
            screen.say(format!("stopping: waits up to {time} {words}"));
        }
    }
}

/// How stopping went.
enum StopResult {
    Well,
    Failed(CommandExit),
    /// Another pump already had the log, so nothing was left to write.
    Ousted,
}

/// Stops in the order of the flow.
async fn stop_running(
    screen: Screen,
    (organism, door, wire): (Organism, HttpDoor, Option<WireDoor>),
    wait: StopWait,
) -> StopResult {
    if let Some(wire) = wire {
        wire.close().await;
    }
    let inside: RunningTask = door.close().await;
    let lead = organism.ownership();
    let is_ousted = || lead.as_ref().is_some_and(|lead| lead.find_loss().is_some());
    let wait = if is_ousted() { StopWait::Here(Duration::ZERO) } else { wait };
    let ended = organism.stop(wait).await;
    // Followers of the log get its end; a slow follower is not waited for.
    let _left = tokio::time::timeout(Duration::from_millis(500), inside.wait_for_end()).await;
    if is_ousted() {
        return StopResult::Ousted;
    }
    match local_organism::report_end(screen, &ended) {
        Some(failed) => StopResult::Failed(failed),
        None => StopResult::Well,
    }
}

/// Reports how many workers each listener over NATS has once it is ready, and when a first one comes. It never ends.
async fn report_workers(screen: Screen, front: OrganismHandle, joined: Arc<JoinedListeners>) {
    // The listeners reported without a worker.
    let mut without = BTreeSet::new();
    let mut fresh = BTreeSet::new();
    loop {
        if without.is_empty() && fresh.is_empty() {
            joined.comes.notified().await;
        } else {
            // Another listener may become ready during the wait.
            let _in_time = tokio::time::timeout(limits::WORKERS_PAUSE, joined.comes.notified()).await;
        }
        fresh.append(&mut joined.names.lock().unwrap_or_else(PoisonError::into_inner));
        // The log already says that the broker cannot be asked now.
        let Ok(counts) = front.count_workers().await else { continue };
        for (listener, count) in counts {
            let name = listener.to_string();
            let (is_fresh, was_without) = (fresh.contains(&name), without.contains(&name));
            match count {
                0 if is_fresh => {
                    screen.say(format!("{name}: no worker answers yet; waiting for a first worker"))
                }
                0 => {}
                1 if is_fresh || was_without => screen.say(format!("{name}: 1 worker answers")),
                _ if is_fresh || was_without => screen.say(format!("{name}: {count} workers answer")),
                _ => {}
            }
            if count > 0 {
                without.remove(&name);
            } else if is_fresh {
                without.insert(name);
            }
        }
        fresh.clear();
    }
}

/// Listeners over NATS that became ready since their workers were last counted.
#[derive(Default)]
struct JoinedListeners {
    names: Mutex<BTreeSet<String>>,
    comes: Notify,
}

/// A record as data, with the element of its payload in place of the payload.
fn leave_out_body(record: &ApiRecord) -> Value {
    let mut value = serde_json::to_value(record).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("body");
        fields.insert("element".to_owned(), glance(record.body.as_bytes()).element.into());
    }
    value
}

struct LogWatcher {
    screen: Screen,
    front: OrganismHandle,
    forms: Forms,
    live: Live,
    /// Whether payloads are shown.
    shows: bool,
    over_nats: Vec<String>,
    joined: Arc<JoinedListeners>,
}

impl LogWatcher {
    fn follow_log(screen: Screen, front: &OrganismHandle, shows: bool) -> LogWatcher {
        let listeners = front.composition().listeners.values();
        let over_nats: Vec<String> =
            listeners.filter(|one| one.reach.is_over_broker()).map(|one| one.name.to_string()).collect();
        let live = Live::new(screen).with_workers(over_nats.clone());
        let (front, forms) = (front.clone(), Forms::default());
        LogWatcher { screen, front, forms, live, shows, over_nats, joined: Arc::default() }
    }

    fn show_records(&mut self, records: &[SharedRecord]) {
        for placed in records {
            let mut record = ApiRecord::from_record(placed.position, &placed.record);
            if let Some(words) = record_words::find_fallen(&record) {
                // In full and at once: until it is fixed, nothing goes to that listener.
                self.screen.say(words);
            }
            if let Some(listener) =
                record_words::find_joined(&record).filter(|name| self.over_nats.contains(name))
            {
                self.joined.names.lock().unwrap_or_else(PoisonError::into_inner).insert(listener);
                self.joined.comes.notify_one();
            }
            let shown = self.shows.then(|| placed.record.read_shown()).flatten();
            // What the core says in `sys` is no payload of anyone.
            let is_whole = shown.is_some() || record.thread == "sys";
            let content = if is_whole { ShownContent::Text } else { ShownContent::Element };
            record.body = shown.unwrap_or(record.body);
            match (self.screen.json, content) {
                (true, ShownContent::Element) => self.screen.show_value(&leave_out_body(&record)),
                (true, ShownContent::Text) => {
                    self.screen.show_value(&self.forms.add_to_record(&**self.front.reader(), &record));
                }
                (false, content) => self.live.show(&record, content),
            }
        }
    }
}
