//! The configuration of the kit's nats-server: what `systole permissions --nats-config` writes for an organism with this
//! listener, without JetStream, whose part the kit plays, and with a password in place of the pump's key.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use systole_core::types::composition::{Composition, Reach};
use systole_core::types::ids::Name;
use systole_organism::permissions::{self, BrokerParty, ServerSettings};
use systole_system::keyfiles;

/// What was written.
pub(super) struct WrittenRights {
    /// The whole configuration.
    pub configuration: String,
    /// The password of the kit.
    pub password: String,
    /// The file with the key of the worker.
    pub key: PathBuf,
}

/// Makes keys in a folder, and the configuration.
pub(super) fn write_rights(
    composition: &Composition,
    listener: &Name,
    keys: &Path,
) -> Result<WrittenRights, String> {
    let mut composition = composition.clone();
    for one in composition.listeners.values_mut().filter(|one| one.name == *listener) {
        one.reach = Reach::Nats;
    }
    let parties = permissions::list_parties(&composition, false);
    let names: Vec<&str> = parties.iter().map(|party| party.key.as_str()).collect();
    let found = keyfiles::find_or_make_keys(keys, &names).map_err(|fault| format!("the keys: {fault:?}"))?;
    let with_keys: Vec<(&BrokerParty, String)> = parties.iter().zip(found.public).collect();
    let settings = ServerSettings {
        organism: &composition.organism,
        listen: SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, 1)),
        store: "",
        keeps_log: false,
        monitor: None,
    };
    let text = permissions::write_configuration(&settings, &with_keys);
    let own = parties.iter().find(|party| party.listener.as_ref() == Some(listener));
    let key = own.map(|party| keyfiles::to_path(keys, &party.key)).ok_or("the listener has no key")?;
    let pump = with_keys.first().map(|(_, key)| key.as_str()).unwrap_or_default();
    let password = crate::rules::hash_hex(std::fs::read(&key).unwrap_or_default().as_slice());
    let configuration = change_configuration(&text, pump, &password).ok_or("the rights have another form")?;
    Ok(WrittenRights { configuration, password, key })
}

/// Takes JetStream out, lets the kit in with a password and every right, and chooses a free port.
fn change_configuration(text: &str, pump: &str, password: &str) -> Option<String> {
    let text = text.replace("listen: \"127.0.0.1:1\"", "listen: \"127.0.0.1:-1\"");
    let (before, after) = text.split_once("jetstream {")?;
    let (_, after) = after.split_once("\n}\n")?;
    let text = format!("{before}{after}").replace("    jetstream: enabled\n", "");
    let (before, after) = text.split_once(&format!("{{ nkey: {pump}, permissions: {{"))?;
    let (_, after) = after.split_once("\n      } }\n")?;
    Some(format!("{before}{{ user: kit, password: \"{password}\" }}\n{after}"))
}
