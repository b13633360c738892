//! The broker that an organism starts itself: its keys, its configuration from the rights of each party, and the server
//! with them. What lets the pump in goes to the pump, and each listener's key lies in a file for whoever is that listener.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::permissions::{self, Party};
use super::running::StartFault;
use crate::edges::delivery::Surroundings;
use crate::edges::keyfiles::{self, Keyless};
use crate::edges::managed::{Folder, Known, Managed, Server, Unstarted};
use crate::edges::nats::{Broker, Credentials, PATIENCE};
use crate::edges::system::Hindered;
use crate::edges::tally::Tell;
use systole_core::pump::heart::Input;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;

/// What a listener or a client shows at the broker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entrance {
    /// Who.
    pub who: Name,
    /// Whether it is a client.
    pub is_client: bool,
    /// The file of its key.
    pub key: PathBuf,
    /// What its inboxes begin with.
    pub inbox: String,
}

/// A broker that was started here, for whoever wants to reach it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reachable {
    /// Where it listens.
    pub address: String,
    /// The file in which that stands.
    pub address_file: PathBuf,
    /// Who may come, beside the pump.
    pub entrances: Vec<Entrance>,
}

/// A broker that was started here, with the pump's connection to it.
pub(super) struct Own {
    server: Managed,
    broker: Arc<Broker>,
    reachable: Reachable,
}

impl Own {
    /// What the carriers use.
    pub(super) fn broker(&self) -> Arc<Broker> {
        self.broker.clone()
    }

    /// How it is reached.
    pub(super) fn reachable(&self) -> &Reachable {
        &self.reachable
    }

    /// Has everything told that was only counted so far.
    pub(super) async fn settle(&self) {
        self.server.settle().await;
    }

    /// Ends it, once nobody uses it.
    pub(super) async fn stop(self) {
        drop(self.broker);
        self.server.stop().await;
    }
}

/// Starts it in the folder beside that log, where somebody is reached or comes in over it, and goes there as the pump. Only who has
/// the log comes here, and so is the only one who may end a server that was left.
pub(super) async fn start(
    log: Option<PathBuf>,
    composition: &Composition,
    surroundings: &Surroundings,
    pump: &mpsc::Sender<Input>,
) -> Result<Option<Own>, StartFault> {
    let Some(log) = log.filter(|_| composition.uses_broker()) else { return Ok(None) };
    let folder = Folder::beside(&log);
    // What is not there hinders before anything is written or ended.
    let server = Server::on(surroundings.get(OsStr::new("PATH")).map(OsString::as_os_str)).await?;
    let room = folder.clone();
    let listen = match tokio::task::spawn_blocking(move || Managed::make_room(&room)).await {
        Ok(room) => room?,
        Err(panic) => return Err(StartFault::Machine(panic.to_string())),
    };
    // The log lies in a file beside its folder.
    let parties = permissions::parties(composition, false);
    let (known, credentials) = configured(composition, &folder, listen, &parties)?;
    let server = Managed::start(server, &folder, known, telling(pump)).await?;
    let reachable = reachable(&folder, listen, &parties);
    let connected =
        Broker::connect(&composition.organism, &reachable.address, Some(&credentials), PATIENCE).await;
    match connected {
        Ok(broker) => Ok(Some(Own { server, broker: Arc::new(broker), reachable })),
        Err(unusable) => {
            server.stop().await;
            Err(unusable.into())
        }
    }
}

/// How the pump is told. Whoever keeps the broker does not keep the pump.
pub(super) fn telling(pump: &mpsc::Sender<Input>) -> Tell {
    let pump = pump.downgrade();
    Arc::new(move |code, words| {
        let told = |pump: mpsc::Sender<Input>| pump.try_send(Input::Broker { code, words }).is_ok();
        pump.upgrade().is_some_and(told)
    })
}

fn reachable(folder: &Folder, listen: SocketAddr, parties: &[Party]) -> Reachable {
    let named = parties.iter().filter_map(|party| match (&party.listener, &party.client) {
        (Some(name), _) => Some((name.clone(), false, party)),
        (None, Some(name)) => Some((name.clone(), true, party)),
        (None, None) => None,
    });
    let entrances = named.map(|(who, is_client, party)| {
        let key = keyfiles::path(&folder.keys(), &party.key);
        Entrance { who, is_client, key, inbox: party.inbox.clone() }
    });
    let address = format!("nats://{listen}");
    Reachable { address, address_file: folder.address_file(), entrances: entrances.collect() }
}

/// Makes keys where there are none, and writes the configuration.
fn configured(
    composition: &Composition,
    folder: &Folder,
    listen: SocketAddr,
    parties: &[Party],
) -> Result<(Vec<Known>, Credentials), Unstarted> {
    let store = folder.store();
    let shown = store.display().to_string();
    let Some(store) = store.to_str().filter(|store| !store.contains(char::is_control)) else {
        let words = format!("{shown}: no configuration can carry this path");
        return Err(Unstarted::Hindered(Hindered { words, mend: "the log in a folder of plain UTF-8" }));
    };
    let names: Vec<&str> = parties.iter().map(|party| party.key.as_str()).collect();
    let found = keyfiles::found_or_made(&folder.keys(), &names).map_err(keyless)?;
    let with_keys: Vec<(&Party, String)> = parties.iter().zip(found.public).collect();
    let server = permissions::Server { organism: &composition.organism, listen, store };
    folder.configure(&permissions::written(&server, &with_keys))?;
    let known = with_keys.into_iter().map(|(party, key)| {
        let (shown, account) = (party.shown.clone(), party.account.clone());
        Known { shown, account, key }
    });
    let known = known.collect();
    let pump = parties.first().map_or("_pump", |party| party.key.as_str());
    let seed = keyfiles::seed(&keyfiles::path(&folder.keys(), pump)).map_err(keyless)?;
    Ok((known, Credentials::Nkey(seed)))
}

fn keyless(keyless: Keyless) -> Unstarted {
    match keyless {
        Keyless::Hindered(hindered) => Unstarted::Hindered(hindered),
        Keyless::NoSeed(path) => {
            let shown = path.display().to_string();
            let words =
                format!("{shown}: what stands in it is no seed of a user's nkey, which begins with SU");
            Unstarted::Hindered(Hindered { words, mend: "move that file away: a new key is made then" })
        }
        Keyless::Unmade(words) => Unstarted::Unstartable(format!("a new key: {words}")),
    }
}
