//! `systole run --role …`: one part of an organism in this process and the other parts elsewhere, from the same file.
//! The pump's part runs like a whole organism. Hosted listeners run here without log, pump and door, until a signal.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use systole_kit::nats::WorkerEvent;
use systole_kit::schema::find_nearest;

use super::exit::CommandExit;
use super::host_run::HostRun;
use super::local_organism;
use super::permissions::report_no_keys;
use super::place::{Place, quote_path};
use super::screen::Screen;
use super::signals::Signals;
use systole_bus::managed::BrokerFolder;
use systole_carriers::InheritedVariables;
use systole_config::OrganismFile;
use systole_core::types::ids::Name;
use systole_organism::hosting::{HostEvent, HostPlan, HostReporter};
use systole_organism::inline_listeners::ListenerScope;
use systole_organism::planning;
use systole_system::failpoint::{self, Failpoint};
use systole_system::keyfiles::{self, KeyFilesFault};

/// A part of an organism.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HostRole {
    /// Log, pump and door; every listener is reached over NATS
    Pump,
    /// Listeners alone, as workers at the broker
    Listeners,
}

/// Which part of the organism runs here.
#[derive(Args, Clone, Debug)]
pub(super) struct HostPart {
    /// Run a part alone: the pump, or listeners that it reaches over NATS
    #[arg(long, value_name = "ROLE")]
    pub(super) role: Option<HostRole>,
    /// Of the listeners these alone; names with commas between
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "role")]
    only: Vec<String>,
    /// The folder with the keys of the listeners
    #[arg(long, value_name = "FOLDER", requires = "role")]
    keys: Option<PathBuf>,
}

impl HostPart {
    /// The file as this part's pump runs it.
    pub(super) fn adapt_file(&self, screen: Screen, file: OrganismFile) -> Result<OrganismFile, CommandExit> {
        match self.role {
            None => Ok(file),
            Some(_) if !self.only.is_empty() => Err(refuse_for_pump(screen, "--only")),
            Some(_) if self.keys.is_some() => Err(refuse_for_pump(screen, "--keys")),
            Some(_) => keep_for_pump(screen, file),
        }
    }

    /// Runs the listeners of the file until a signal.
    pub(super) async fn run_host(
        &self,
        screen: Screen,
        place: &Place,
        signals: &mut Signals,
    ) -> Result<CommandExit, CommandExit> {
        let read_plan = || self.plan_host(screen, place);
        Ok(HostRun { screen, read_plan: &read_plan }.host_until_signal(read_plan()?, signals).await)
    }

    /// The listeners to run here, as the file says now.
    fn plan_host(&self, screen: Screen, place: &Place) -> Result<HostPlan, CommandExit> {
        let mut file = place.organism(screen)?;
        let names = self.choose_listeners(screen, &file)?;
        let (url, keys) = self.find_entrances(screen, place, &file, &names)?;
        file.composition.listeners.retain(|name, _| names.contains(name));
        file.agents.retain(|agent| names.iter().any(|name| name.as_str() == agent.name));
        let armed = std::env::var(failpoint::VARIABLE).ok();
        let steps = Failpoint::parse(armed.as_deref())
            .map_err(|unreadable| screen.fail(CommandExit::Usage, unreadable))?;
        let surroundings: InheritedVariables =
            std::env::vars_os().filter(|(name, _)| name != failpoint::VARIABLE).collect();
        Ok(HostPlan {
            inline: planning::build_agents(&file, ListenerScope::OneOfMany)
                .map_err(|missing| local_organism::report_missing_part(screen, &missing))?,
            composition: file.composition,
            surroundings,
            steps: Arc::new(steps),
            url,
            keys,
            tell: build_reporter(screen),
        })
    }

    /// The listeners to run here.
    fn choose_listeners(&self, screen: Screen, file: &OrganismFile) -> Result<BTreeSet<Name>, CommandExit> {
        let all = &file.composition.listeners;
        let here = || all.values().filter(|one| !one.reach.is_over_broker()).map(|one| one.name.clone());
        if here().next().is_none() {
            let organism = file.composition.organism.as_str();
            let words = format!("no listener of {organism} has a program or a model that could run here");
            return Err(screen.refuse(words, "`run` or `model` at a listener, in place of nats: true"));
        }
        if self.only.is_empty() {
            return Ok(here().collect());
        }
        let known: Vec<Name> = here().collect();
        let fix = || known.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
        let mut chosen = BTreeSet::new();
        for wanted in &self.only {
            let found = Name::parse(wanted).ok().filter(|name| all.contains_key(name));
            match found {
                Some(name) if known.contains(&name) => chosen.insert(name),
                Some(name) => {
                    let words = format!("--only: {name} has no program here: it has nats: true in the file");
                    return Err(screen.refuse(words, format!("one of {}", fix())));
                }
                None => {
                    let words = format!("--only: no listener is called `{wanted}`");
                    let near = find_nearest(wanted, known.iter().map(Name::as_str)).map(str::to_owned);
                    return Err(screen.refuse(words, near.unwrap_or_else(|| format!("one of {}", fix()))));
                }
            };
        }
        Ok(chosen)
    }

    /// The broker's URL, and the key file of each listener.
    fn find_entrances(
        &self,
        screen: Screen,
        place: &Place,
        file: &OrganismFile,
        names: &BTreeSet<Name>,
    ) -> Result<(String, BTreeMap<Name, PathBuf>), CommandExit> {
        let own = file.managed.then(|| BrokerFolder::new_beside(&file.log));
        let url = match (&file.bus, &own) {
            (Some(url), _) => url.clone(),
            (None, Some(folder)) => read_address(screen, place, &folder.address_file())?,
            (None, None) => return Err(report_no_broker(screen, "listeners")),
        };
        let folder = self.keys.clone().or_else(|| own.map(|folder| folder.keys()));
        let Some(folder) = folder else { return Ok((url, BTreeMap::new())) };
        let key = |name: &Name| {
            let path = keyfiles::to_path(&folder, name.as_str());
            // Its validity is checked before anything starts.
            match keyfiles::read_seed(&path) {
                Ok(_) => Ok((name.clone(), path)),
                Err(keyless) => Err(report_keys(screen, place, &keyless)),
            }
        };
        Ok((url, names.iter().map(key).collect::<Result<_, _>>()?))
    }
}

/// The file as its pump runs it: all programs and models run elsewhere.
pub(super) fn keep_for_pump(screen: Screen, file: OrganismFile) -> Result<OrganismFile, CommandExit> {
    if file.bus.is_none() && !file.managed {
        return Err(report_no_broker(screen, "pump"));
    }
    Ok(OrganismFile { composition: file.composition.into_hosted(), agents: Vec::new(), ..file })
}

fn report_no_broker(screen: Screen, role: &str) -> CommandExit {
    let words = format!("--role {role}: the file names no broker to connect them");
    screen.refuse(words, "bus: {nats: nats://127.0.0.1:4222} at the top of the file")
}

fn refuse_for_pump(screen: Screen, option: &str) -> CommandExit {
    let words = format!("{option} is about listeners, and the pump's role runs none");
    screen.refuse(words, "--role listeners, or leave it out")
}

fn report_keys(screen: Screen, place: &Place, keyless: &KeyFilesFault) -> CommandExit {
    let exit = report_no_keys(screen, keyless);
    let command = format!("{} --role pump --nats-config", place.command("permissions"));
    screen.say(format!("  the keys of all listeners are made by {command}"));
    exit
}

/// The address of the organism's own broker, which its pump writes to a file.
fn read_address(screen: Screen, place: &Place, file: &Path) -> Result<String, CommandExit> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) => {
            let words = format!("the organism's own broker is not known: {}: {error}", quote_path(file));
            let fix = format!("{} --role pump on this machine first", place.run_command());
            Err(screen.fail_with(CommandExit::Unavailable, words, fix))
        }
    }
}

/// Reports events on stderr, one per line, after the listener's name.
fn build_reporter(screen: Screen) -> HostReporter {
    Arc::new(move |listener: &Name, happened: &HostEvent| {
        let words = match happened {
            HostEvent::AtBroker(WorkerEvent::Refused { code, words, delivery, .. }) => {
                format!("the pump refused its message: {code}: {words} (delivery {delivery})")
            }
            HostEvent::AtBroker(news) => news.to_string(),
            HostEvent::Fell(words) => words.clone(),
            HostEvent::Unsent(words) => format!("its message was not sent on: {words}"),
        };
        screen.say(format!("{}: {words}", listener.as_str()));
    })
}
