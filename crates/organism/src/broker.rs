//! Starts the organism's own broker: its keys, the configuration from the rights of each party, and the server. The
//! pump gets its own credentials. The key of each listener and client is stored in a file.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::permissions::{self, BrokerParty};
use super::plan::StartFault;
use systole_bus::managed::{BrokerFolder, BrokerStartFault, KnownParty, ManagedBroker, ServerProgram};
use systole_bus::{Broker, BrokerCredentials, PATIENCE};
use systole_carriers::InheritedVariables;
use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::PumpNotice;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_system::keyfiles::{self, KeyFilesFault};
use systole_system::system::FileFault;
use systole_system::tally::BrokerReporter;

/// The credentials of a listener or a client at the broker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokerLogin {
    /// The listener or client.
    pub who: Name,
    /// Whether it is a client.
    pub is_client: bool,
    /// The file with its key.
    pub key: PathBuf,
    /// The prefix of its inboxes.
    pub inbox: String,
}

/// How to reach a broker that was started here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokerAddress {
    /// The address it listens on.
    pub address: String,
    /// The file that holds the address.
    pub address_file: PathBuf,
    /// Who may connect, apart from the pump.
    pub entrances: Vec<BrokerLogin>,
}

/// A broker that was started here, and the pump's connection to it.
pub(super) struct StartedBroker {
    server: ManagedBroker,
    broker: Arc<Broker>,
    reachable: BrokerAddress,
}

impl StartedBroker {
    /// The pump's connection, for the carriers.
    pub(super) fn broker(&self) -> Arc<Broker> {
        self.broker.clone()
    }

    /// How to reach it.
    pub(super) fn address(&self) -> &BrokerAddress {
        &self.reachable
    }

    /// Makes the server report all events that it has only counted so far.
    pub(super) async fn settle_events(&self) {
        self.server.wait_until_settled().await;
    }

    /// Stops the server. Call it when no one uses the broker any more.
    pub(super) async fn stop(self) {
        drop(self.broker);
        self.server.stop_broker().await;
    }
}

/// Starts the broker in the folder next to the log, if any listener or client needs one, and connects as the pump.
/// Only the owner of the log gets here, so only it may end a server that was left behind.
pub(super) async fn start(
    log: Option<PathBuf>,
    composition: &Composition,
    surroundings: &InheritedVariables,
    pump: &mpsc::Sender<PumpInput>,
) -> Result<Option<StartedBroker>, StartFault> {
    let Some(log) = log.filter(|_| composition.uses_broker()) else { return Ok(None) };
    let folder = BrokerFolder::new_beside(&log);
    // A missing server is an error before anything is written or ended.
    let server =
        ServerProgram::find_on(surroundings.get(OsStr::new("PATH")).map(OsString::as_os_str)).await?;
    let room = folder.clone();
    let listen = match tokio::task::spawn_blocking(move || ManagedBroker::make_room(&room)).await {
        Ok(room) => room?,
        Err(panic) => return Err(StartFault::Machine(panic.to_string())),
    };
    // The log is a file next to its folder.
    let parties = permissions::list_parties(composition, false);
    let (known, credentials) = configure(composition, &folder, listen, &parties)?;
    let server = ManagedBroker::start_broker(server, &folder, known, build_reporter(pump)).await?;
    let reachable = find_address(&folder, listen, &parties);
    let connected =
        Broker::connect(&composition.organism, &reachable.address, Some(&credentials), PATIENCE).await;
    match connected {
        Ok(broker) => Ok(Some(StartedBroker { server, broker: Arc::new(broker), reachable })),
        Err(unusable) => {
            server.stop_broker().await;
            Err(unusable.into())
        }
    }
}

/// Reports to the pump. It holds the pump only weakly, so a broker does not keep the pump alive.
pub(super) fn build_reporter(pump: &mpsc::Sender<PumpInput>) -> BrokerReporter {
    let pump = pump.downgrade();
    Arc::new(move |code, words| {
        let told = |pump: mpsc::Sender<PumpInput>| {
            pump.try_send(PumpInput::Noticed(PumpNotice::Broker { code, words })).is_ok()
        };
        pump.upgrade().is_some_and(told)
    })
}

fn find_address(folder: &BrokerFolder, listen: SocketAddr, parties: &[BrokerParty]) -> BrokerAddress {
    let named = parties.iter().filter_map(|party| match (&party.listener, &party.client) {
        (Some(name), _) => Some((name.clone(), false, party)),
        (None, Some(name)) => Some((name.clone(), true, party)),
        (None, None) => None,
    });
    let entrances = named.map(|(who, is_client, party)| {
        let key = keyfiles::to_path(&folder.keys(), &party.key);
        BrokerLogin { who, is_client, key, inbox: party.inbox.clone() }
    });
    let address = format!("nats://{listen}");
    BrokerAddress { address, address_file: folder.address_file(), entrances: entrances.collect() }
}

/// Makes missing keys and writes the configuration.
fn configure(
    composition: &Composition,
    folder: &BrokerFolder,
    listen: SocketAddr,
    parties: &[BrokerParty],
) -> Result<(Vec<KnownParty>, BrokerCredentials), BrokerStartFault> {
    let store = folder.store();
    let shown = store.display().to_string();
    let Some(store) = store.to_str().filter(|store| !store.contains(char::is_control)) else {
        let words = format!("{shown}: a configuration cannot contain this path");
        return Err(BrokerStartFault::Hindered(FileFault {
            words,
            fix: "the log in a folder of plain UTF-8",
        }));
    };
    let names: Vec<&str> = parties.iter().map(|party| party.key.as_str()).collect();
    let found = keyfiles::find_or_make_keys(&folder.keys(), &names).map_err(wrap_key_fault)?;
    let with_keys: Vec<(&BrokerParty, String)> = parties.iter().zip(found.public).collect();
    let server = permissions::ServerSettings {
        organism: &composition.organism,
        listen,
        store,
        keeps_log: false,
        monitor: None,
    };
    folder.write_configuration(&permissions::write_configuration(&server, &with_keys))?;
    let known = with_keys.into_iter().map(|(party, key)| {
        let (shown, account) = (party.shown.clone(), party.account.clone());
        KnownParty { shown, account, key }
    });
    let known = known.collect();
    let pump = parties.first().map_or("_pump", |party| party.key.as_str());
    let seed = keyfiles::read_seed(&keyfiles::to_path(&folder.keys(), pump)).map_err(wrap_key_fault)?;
    Ok((known, BrokerCredentials::from_seed(seed)))
}

fn wrap_key_fault(keyless: KeyFilesFault) -> BrokerStartFault {
    match keyless {
        KeyFilesFault::Hindered(hindered) => BrokerStartFault::Hindered(hindered),
        KeyFilesFault::NoSeed(path) => {
            let shown = path.display().to_string();
            let words = format!("{shown}: it does not hold the seed of a user's nkey, which begins with SU");
            BrokerStartFault::Hindered(FileFault {
                words,
                fix: "move that file away: a new key is made then",
            })
        }
        KeyFilesFault::Unmade(words) => BrokerStartFault::Unstartable(format!("a new key: {words}")),
    }
}
