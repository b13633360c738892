//! `systole mcp` without a subcommand, and `systole acp`: finds the organism that runs on the log, or starts one, and
//! passes the messages of the host to its door. An organism that is started here also posts its run file, so that a person can approve.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use systole_kit::schema::find_nearest;
use tokio::sync::oneshot;

use super::lines::{self, DoorFinder};
use crate::cli::exit::CommandExit;
use crate::cli::local_organism;
use crate::cli::place::Place;
use crate::cli::run::run_file;
use crate::cli::screen::Screen;
use crate::cli::signals::Signals;
use crate::cli::system_faults;
use crate::limits;
use systole_client::pipe_client::{PipeClient, PipedDoor};
use systole_config::{OrganismFile, TokenSource};
use systole_core::types::ids::Name;
use systole_doors::http::{self, ConsoleSettings, HttpDoor};
use systole_log::sqlite;
use systole_organism::keyring::Keyring;
use systole_organism::pump_loop::StopWait;
use systole_organism::runfile::{Credential, GuestCredentials, PostedRunFile, RunFile, draw_hex};
use systole_organism::running::Organism;

/// Serves until stdin ends, or a signal comes.
pub(in crate::cli) fn run_serve(
    place: &Place,
    client: Option<&Name>,
    door: PipedDoor,
) -> Result<CommandExit, CommandExit> {
    let screen = place.screen();
    local_organism::with_runtime(screen, serve(screen, place, client, door))
}

async fn serve(
    screen: Screen,
    place: &Place,
    client: Option<&Name>,
    piped: PipedDoor,
) -> Result<CommandExit, CommandExit> {
    let mut signals = Signals::listen_as_server(screen)?;
    let log = place.log(screen)?;
    let session = draw_hex()
        .map_err(|error| system_faults::report_missing(screen, "the random bytes of a session", &error))?;
    let source = match client {
        Some(name) => Some(find_source(screen, &place.organism(screen)?, name)?),
        None => None,
    };
    let own = source.as_ref().map(|source| read_token(screen, source)).transpose()?;
    let (run, served) = Box::pin(find_or_start(screen, place, &log, source.as_slice())).await?;
    let Some(door) = connect_to_door(piped, &run, own.as_ref(), &session) else {
        if let Some(served) = served {
            served.stop(screen).await;
        }
        return Err(report_no_guest(screen, piped));
    };
    let find: DoorFinder =
        Arc::new(move || connect_to_door(piped, &RunFile::find_running(&log)?, own.as_ref(), &session));
    let (done, is_done) = oneshot::channel();
    std::thread::spawn(move || {
        lines::pass_on(screen, door, &find);
        // A signal may have ended the wait.
        let _waits = done.send(());
    });
    let exit = tokio::select! {
        _ = is_done => CommandExit::Done,
        exit = signals.next() => exit,
    };
    let Some(served) = served else { return Ok(exit) };
    tokio::select! {
        failed = served.stop(screen) => Ok(failed.unwrap_or(exit)),
        _ = signals.next() => Err(CommandExit::Stopped),
    }
}

/// The organism that runs on the log, or one that is started here.
async fn find_or_start(
    screen: Screen,
    place: &Place,
    log: &Path,
    sources: &[TokenSource],
) -> Result<(RunFile, Option<ServedOrganism>), CommandExit> {
    let mut found = find_running(log).await;
    if found.is_none() {
        match Box::pin(ServedOrganism::start(screen, place, sources)).await {
            Ok(served) => return Ok((served.run.clone(), Some(served))),
            // Another host may have started one at the same moment.
            Err(CommandExit::Unavailable) => found = find_running(log).await,
            Err(exit) => return Err(exit),
        }
    }
    let run = found.ok_or(CommandExit::Unavailable)?;
    place.set_nothing(screen, &run)?;
    Ok((run, None))
}

/// The organism that runs on the log. If a process has the log and no door yet, it is waited for.
async fn find_running(log: &Path) -> Option<RunFile> {
    for _ in 0..limits::DOOR_LOOKS {
        let run = RunFile::find_running(log);
        // A lock that cannot be read is reported by the start.
        if run.is_some() || !matches!(sqlite::find_holder(log), Ok(Some(_))) {
            return run;
        }
        tokio::time::sleep(limits::DOOR_LOOK).await;
    }
    None
}

/// The door of a running organism, with the client's token or that of a guest.
fn connect_to_door(
    door: PipedDoor,
    run: &RunFile,
    own: Option<&Credential>,
    session: &str,
) -> Option<PipeClient> {
    let guest = match door {
        PipedDoor::Mcp => &run.guests.mcp,
        PipedDoor::Acp => &run.guests.acp,
    };
    Some(PipeClient::new(door, run.address, own.or(guest.as_ref())?, session.to_owned()))
}

/// Where the token of a client is.
fn find_source(screen: Screen, file: &OrganismFile, name: &Name) -> Result<TokenSource, CommandExit> {
    if let Some(source) = file.tokens.iter().find(|source| source.client == *name) {
        return Ok(source.clone());
    }
    let known = || file.tokens.iter().map(|source| source.client.as_str());
    let near = find_nearest(name.as_str(), known()).map(str::to_owned);
    let fix = near
        .unwrap_or_else(|| format!("clients: {{{name}: {{token_env: VARIABLE}}}} in the organism's file"));
    Err(screen.refuse(format!("--client: no client with a token is called {name}"), fix))
}

fn read_token(screen: Screen, source: &TokenSource) -> Result<Credential, CommandExit> {
    let token = std::env::var(&source.variable).unwrap_or_default();
    if !token.is_empty() {
        return Ok(Credential::from_token(token));
    }
    let words = format!("{} is not set, and holds the token of client {}", source.variable, source.client);
    let fix = "set it where the host starts this command, under `env`";
    Err(screen.fail_with(CommandExit::Configuration, words, fix))
}

/// Reports that there is no client of the door's name.
fn report_no_guest(screen: Screen, door: PipedDoor) -> CommandExit {
    let name = match door {
        PipedDoor::Mcp => Name::new_mcp(),
        PipedDoor::Acp => Name::new_acp(),
    };
    let words = format!(
        "the organism lets no client `{name}` in: its file gives that name to another, or an older version runs"
    );
    screen.fail_with(CommandExit::Configuration, words, "--client NAME, a client of the file")
}

/// An organism that this command started, with a door on this machine.
struct ServedOrganism {
    organism: Organism,
    door: HttpDoor,
    posted: PostedRunFile,
    run: RunFile,
}

impl ServedOrganism {
    async fn start(
        screen: Screen,
        place: &Place,
        sources: &[TokenSource],
    ) -> Result<ServedOrganism, CommandExit> {
        let machine = |what| move |error: std::io::Error| system_faults::report_missing(screen, what, &error);
        let file = place.organism(screen)?;
        let operator = Credential::draw().map_err(machine("the random bytes of a credential"))?;
        let keyring = Keyring::from_operator(operator.clone());
        let keyring = keyring.with_clients(sources, |name| std::env::var(name).ok()).map_err(|refused| {
            screen.say_drawn(refused.to_string().trim_end());
            CommandExit::Configuration
        })?;
        let drawn = keyring.with_guests(&file.composition, GuestCredentials::default());
        let (keyring, guests) = drawn.map_err(machine("the random bytes of a credential"))?;
        let log = file.log.clone();
        // Other machines are for `systole run`: this organism ends with its host.
        let bound = http::bind_address(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await;
        let bound = bound.map_err(|unopened| screen.fail(CommandExit::Unavailable, unopened))?;
        let address = bound.local_addr().map_err(machine("the address that is listened on"))?;
        let organism = Box::pin(local_organism::start_organism(screen, place, file)).await?;
        let run = run_file(place, address, (operator, guests), &organism);
        let posted = match run.post_beside(&log) {
            Ok(posted) => posted,
            Err(error) => return Err(report_unposted(screen, &log, &error, organism).await),
        };
        let door = HttpDoor::open(bound, organism.handle().clone(), keyring, ConsoleSettings::default());
        screen.say(format!("{} runs as process {}, as long as its host does", run.organism, run.pid));
        Ok(ServedOrganism { organism, door, posted, run })
    }

    /// Stops the organism. Returns the exit if it did not end as it should.
    async fn stop(self, screen: Screen) -> Option<CommandExit> {
        let ServedOrganism { organism, door, posted, .. } = self;
        let wait = local_organism::stop_wait(&posted);
        let _posted = matches!(wait, StopWait::Everywhere(_)).then_some(posted);
        // A client that still reads sees the end of its connection.
        drop(door.close().await);
        local_organism::report_end(screen, &organism.stop(wait).await)
    }
}

async fn report_unposted(
    screen: Screen,
    log: &Path,
    error: &std::io::Error,
    organism: Organism,
) -> CommandExit {
    let path = RunFile::find_path(log);
    let exit = system_faults::report_unwritten(screen, &path, "what says that an organism runs", error);
    organism.stop(Duration::ZERO).await;
    exit
}
