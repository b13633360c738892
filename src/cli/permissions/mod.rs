//! `systole permissions`: the broker rights of each listener, the pump and an auditor, in words or as the whole
//! configuration of a nats-server. It makes missing keys and shows no secret half of a key; it connects to nothing.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::exit::CommandExit;
use super::place::{Place, quote_path};
use super::screen::Screen;
use super::system_faults;
use systole_config::OrganismFile;
use systole_organism::permissions::{self, BrokerParty, BrokerRight, ServerSettings};
use systole_system::keyfiles::{self, KeyFilesFault};

/// The default port of a nats-server.
const PORT: u16 = 4222;

/// Says who may do what at the broker, or writes its configuration.
///
/// For each listener and client with `nats: true`, the pump and an auditor: what it may publish and
/// hear. With `--nats-config` the whole configuration of a nats-server goes to stdout, and each of
/// them gets a key in a file of its own. A key that is there already is kept.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole permissions
  systole permissions --nats-config --keys keys")]
pub(super) struct PermissionsCommand {
    #[command(flatten)]
    place: Place,
    /// As the pump's part alone needs it: every listener has a user
    #[arg(long, value_name = "ROLE")]
    role: Option<PumpAlone>,
    /// Write the configuration of a nats-server that lets in these alone
    #[arg(long)]
    nats_config: bool,
    /// Where the keys are, or are made; `keys` beside the organism's file
    #[arg(long, value_name = "FOLDER", requires = "nats_config")]
    keys: Option<PathBuf>,
    /// Where the server listens; on loopback, at the port of `bus.nats`
    #[arg(long, value_name = "ADDRESS:PORT", requires = "nats_config")]
    listen: Option<SocketAddr>,
    /// Where the server keeps what is out; `nats` beside the organism's file
    #[arg(long, value_name = "FOLDER", requires = "nats_config")]
    store: Option<PathBuf>,
}

/// The part of an organism whose broker is asked about.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum PumpAlone {
    /// That of `systole run --role pump`
    Pump,
}

impl PermissionsCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let mut file = self.place.organism(screen)?;
        if self.role.is_some() {
            file.composition = file.composition.into_hosted();
        }
        let parties = permissions::list_parties(&file.composition, file.log_kept.is_some());
        if parties.is_empty() {
            let organism = file.composition.organism.as_str();
            let fix = "nats: true at a listener, in place of `run`, and bus: {nats: ADDRESS}; or --role pump";
            return Err(screen.refuse(format!("no listener of {organism} is reached over NATS"), fix));
        }
        if self.nats_config {
            self.write_configuration(screen, &file, &parties)?;
        } else if screen.json {
            screen.show_value(&as_json(&file, &parties));
        } else {
            describe_parties(&file, &parties).iter().for_each(|line| screen.show(line));
        }
        Ok(CommandExit::Done)
    }

    /// Writes the configuration, with keys.
    fn write_configuration(
        &self,
        screen: Screen,
        file: &OrganismFile,
        parties: &[BrokerParty],
    ) -> Result<(), CommandExit> {
        let beside = |given: &Option<PathBuf>, name: &str| {
            let folder = given.clone().unwrap_or_else(|| self.place.directory().join(name));
            let whole = std::path::absolute(&folder).unwrap_or(folder);
            whole.components().collect::<PathBuf>()
        };
        let (keys, store) = (beside(&self.keys, "keys"), beside(&self.store, "nats"));
        let store = store.to_str().filter(|store| !store.contains(char::is_control)).ok_or_else(|| {
            let shown = store.display().to_string();
            let words = format!("{shown}: a configuration cannot contain this path");
            screen.refuse(words, "--store with a path of plain UTF-8")
        })?;
        let names: Vec<&str> = parties.iter().map(|party| party.key.as_str()).collect();
        let found =
            keyfiles::find_or_make_keys(&keys, &names).map_err(|keyless| report_no_keys(screen, &keyless))?;
        for path in &found.open {
            let shown = path.display().to_string();
            screen.say(format!("{shown}: others than its owner may read this key; chmod 600 fixes that"));
        }
        let listen = self.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], find_port(file))));
        let (organism, keeps_log) = (&file.composition.organism, file.log_kept.is_some());
        let server = ServerSettings { organism, listen, store, keeps_log, monitor: file.find_monitor() };
        let with_keys: Vec<(&BrokerParty, String)> = parties.iter().zip(found.public).collect();
        let text = permissions::write_configuration(&server, &with_keys);
        if screen.json {
            let keys: serde_json::Map<String, Value> =
                with_keys.iter().map(|(party, key)| (party.key.clone(), json!(key))).collect();
            screen.show_value(&json!({"nats_config": text, "keys": keys}));
        } else {
            screen.show_document(text.as_bytes());
        }
        self.say_what_next(screen, file, &keys, found.made);
        if !listen.ip().is_loopback() {
            screen.say(
                "other machines reach it, and without TLS: anyone who sees its traffic reads every payload",
            );
        }
        Ok(())
    }

    fn say_what_next(&self, screen: Screen, file: &OrganismFile, keys: &Path, made: usize) {
        let folder = quote_path(keys);
        let made = match made {
            0 => "all keys were there already".to_owned(),
            1 => "1 key was made".to_owned(),
            many => format!("{many} keys were made"),
        };
        screen.say(format!("{made}, in {folder}: each opens the broker to anyone who has it"));
        let pump = quote_path(&keys.join("_pump.nk"));
        match &file.bus_key {
            Some(key) => screen.say(
                format!("for the pump: {}=\"$(cat {pump})\" {}", key.variable, self.place.run_command()),
            ),
            None if file.managed => screen.say(
                "the organism starts a broker of its own, with other keys: this one is for `bus: {nats: ADDRESS, key_env: NAME}`",
            ),
            None => {
                let section = if file.log_kept.is_some() { "log" } else { "bus" };
                let named = format!("{section}.key_env, the variable that holds what is in ");
                screen.say(format!("for the pump: {named}{pump}"))
            }
        }
    }
}

pub(super) fn report_no_keys(screen: Screen, keyless: &KeyFilesFault) -> CommandExit {
    match keyless {
        KeyFilesFault::Hindered(hindered) => {
            system_faults::report_fault(screen, CommandExit::Unavailable, hindered)
        }
        KeyFilesFault::NoSeed(path) => {
            let shown = path.display().to_string();
            let words = format!("{shown}: it does not hold the seed of a user's nkey, which begins with SU");
            screen.refuse(words, "another folder for --keys, or move that file away")
        }
        KeyFilesFault::Unmade(words) => screen.fail(CommandExit::Failed, format!("a new key: {words}")),
    }
}

/// The port at which the organism expects its broker.
fn find_port(file: &OrganismFile) -> u16 {
    let first = file.bus.as_deref().and_then(|urls| urls.split(',').next());
    let named = first.and_then(|url| url.rsplit_once(':'));
    named.and_then(|(_, port)| port.parse().ok()).unwrap_or(PORT)
}

fn as_json(file: &OrganismFile, parties: &[BrokerParty]) -> Value {
    let all = |rights: &[BrokerRight]| {
        let one = |right: &BrokerRight| json!({"subject": right.subject, "words": right.words});
        rights.iter().map(one).collect::<Vec<_>>()
    };
    let parties: Vec<Value> = (parties.iter())
        .map(|party| {
            json!({"party": party.shown, "listener": party.listener, "account": party.account,
                   "inbox": party.inbox, "publish": all(&party.publish), "subscribe": all(&party.subscribe)})
        })
        .collect();
    let bus = file.bus.as_deref().or(file.managed.then_some("managed"));
    json!({"organism": file.composition.organism.as_str(), "bus": bus, "parties": parties})
}

/// The same for people. Rights for one purpose are grouped.
fn describe_parties(file: &OrganismFile, parties: &[BrokerParty]) -> Vec<String> {
    let at = match &file.bus {
        Some(bus) => format!(", over {bus}"),
        None if file.managed => ", over a broker of its own".to_owned(),
        None => String::new(),
    };
    let mut lines = vec![format!("{}{at}", file.composition.organism.as_str())];
    for party in parties {
        lines.extend([String::new(), party.shown.clone()]);
        for (what, rights) in [("  may publish", &party.publish), ("  may hear", &party.subscribe)] {
            lines.push(what.to_owned());
            let mut last = "";
            for right in rights {
                if right.words != last {
                    lines.push(format!("    {}", right.words));
                    last = right.words;
                }
                lines.push(format!("      {}", right.subject));
            }
        }
    }
    lines.extend([String::new(), "no one may publish or hear anything else".to_owned()]);
    lines
}
