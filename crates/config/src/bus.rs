//! The broker for listeners on other machines, and the listeners that are reached over it.
//!
//! This module does not connect: the program that runs the organism does. Input: the nodes. Output: an address
//! without credentials, the variable that holds the pump's key, and the listeners without a program.

use super::diagnostic::FilePlace;
use super::diagnostics::Diagnostics;
use super::forms::{VARIABLE, read_late};
use super::key::KeyForm;
use super::listener_keys::ListenerKeys;
use super::names::variable;
use super::secrets::{self, BY_NAME, SECRET};
use super::section::{Form, SectionKeys, form, section};
use super::tree::{Node, Span, Value};
use super::value::{self, At};
use systole_bus::BrokerCredentials;
use systole_core::types::codes::Code;

/// The content of the section `bus`.
pub(super) struct BusDeclaration {
    /// The place of the broker. `None` if the section does not give a valid one.
    pub(super) at: Option<BrokerPlace>,
    /// The variable that holds the seed of the pump's nkey.
    pub(super) key: Option<BusKey>,
}

/// The place of the broker.
pub(super) enum BrokerPlace {
    /// This address.
    Url(String),
    /// No address yet: the organism starts its own broker.
    Managed,
}

/// The environment variable that holds the seed of the pump's nkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusKey {
    /// Its name.
    pub variable: String,
    /// The key of the file that names the variable, as `bus.key_env`.
    pub key: String,
    /// Where the file names it.
    pub place: FilePlace,
}

/// Why the pump has no credentials for the broker. The error never contains the seed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file}:{line}: the variable {variable}, which {key} names, {what}: set it to the seed of the pump's nkey, \
     which begins with SU, or name another"
)]
pub struct BusKeyFault {
    file: String,
    line: usize,
    variable: String,
    key: String,
    what: &'static str,
}

impl BusKey {
    /// The pump's credentials. `read` returns the value of a variable. Line breaks and spaces around the seed are
    /// removed, because they come from the file it was read from.
    pub fn credentials(
        &self,
        read: impl FnOnce(&str) -> Option<String>,
    ) -> Result<BrokerCredentials, BusKeyFault> {
        let seed = read(&self.variable).map(|seed| seed.trim().to_owned()).filter(|seed| !seed.is_empty());
        match seed {
            Some(seed) if secrets::is_seed(&seed) => Ok(BrokerCredentials::from_seed(seed)),
            Some(_) => Err(self.without("holds none")),
            None => Err(self.without("is not set")),
        }
    }

    fn without(&self, what: &'static str) -> BusKeyFault {
        let (file, line) = (self.place.file.clone(), self.place.line);
        BusKeyFault { file, line, variable: self.variable.clone(), key: self.key.clone(), what }
    }
}

/// The credentials from a variable that a command names. `read` returns the value of a variable. The error says what
/// is wrong, but never repeats a seed or anything that may be one.
pub fn named_key(
    variable: &str,
    read: impl FnOnce(&str) -> Option<String>,
) -> Result<BrokerCredentials, &'static str> {
    if secrets::looks_like_key(variable) || secrets::is_seed(variable) {
        return Err("this looks like a key itself, and is not repeated; write the name of a variable");
    }
    let seed = read(variable).map(|seed| seed.trim().to_owned()).filter(|seed| !seed.is_empty());
    match seed {
        Some(seed) if secrets::is_seed(&seed) => Ok(BrokerCredentials::from_seed(seed)),
        Some(_) => Err("the variable of that name holds no seed of an nkey, which begins with SU"),
        None => Err("the variable of that name is not set"),
    }
}

/// The permitted forms.
const FORMS: &str = "nats://HOST:PORT, or tls://HOST:PORT";
/// The value for an organism that starts its own broker.
const MANAGED: &str = "managed";
const EXAMPLE: &str = "nats: nats://127.0.0.1:4222";
/// Keys that describe a program.
const PROGRAM: [&str; 6] = ["run", "env", "pass", "mode", "framing", "sandbox"];

section! {
    /// The section.
    pub(super) BusKeys with own never [
        "key": SECRET, BY_NAME; "seed": SECRET, BY_NAME; "token": SECRET, BY_NAME; "password": SECRET, BY_NAME;
    ] {
        nats: required(EXAMPLE) <BusAddress> "the address of a NATS server, `nats://HOST:PORT`, without credentials, or a list of those of a cluster; or `managed`, and the organism starts one of its own";
        key_env: optional("none") <SeedVariable> "the environment variable that holds the seed of the pump's nkey; the seed itself is in no file";
    }
}

form! {
    /// The broker, if the section names one.
    pub(super) BusBroker -> Option<BusDeclaration> { KeyForm::Map, read_bus, below BusKeys::ROWS }
}
form! {
    /// The addresses of a broker, or the word for the organism's own.
    pub(super) BusAddress -> BrokerPlace { KeyForm::Lines, read_place }
}
form! {
    /// The addresses of a broker.
    pub(super) BrokerAddress -> BrokerPlace { KeyForm::Lines, read_servers }
}
form! {
    /// The name of the variable that holds the seed.
    pub(super) SeedVariable -> BusKey { KeyForm::Name(VARIABLE), key_env }
}

fn read_bus(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Option<BusDeclaration>> {
    spare(diagnostics, node);
    let keys = BusKeys::read(diagnostics, node, path)?;
    let place = keys.nats.map(|nats| nats.value);
    let is_managed = matches!(place, Some(BrokerPlace::Managed));
    if let (true, Some(at)) = (is_managed, keys.own.value_place("key_env")) {
        let message = format!("{path}.key_env: the keys of an organism's own broker are made for it");
        let second = keys.own.value_place("nats").map(|at| (at, "started with the organism"));
        diagnostics.report_value_beside(at, &message, "one of the two", second);
    }
    let key = keys.key_env.filter(|_| !is_managed).map(|key| key.value);
    Some(keys.own.has("nats").then_some(BusDeclaration { at: place, key }))
}

fn read_place(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<BrokerPlace> {
    match &node.value {
        Value::Text { text, .. } if text == MANAGED => Some(BrokerPlace::Managed),
        _ => read_servers(diagnostics, node, path),
    }
}

fn read_servers(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<BrokerPlace> {
    servers(diagnostics, node, path).map(BrokerPlace::Url)
}

/// One address or several. Several are the servers of a cluster, one of which must be running when the organism
/// starts.
fn servers(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<String> {
    let Value::List(all) = &node.value else {
        return value::text(diagnostics, node, path).and_then(|found| url(diagnostics, &found, path));
    };
    if all.is_empty() {
        let message = format!("{path}: the list has no address");
        diagnostics.report_value(node.span, &message, "[nats://HOST:PORT, nats://OTHER:PORT]");
        return None;
    }
    let found = value::texts(diagnostics, node, path)?;
    // All addresses are read, so that each bad one is reported.
    let urls: Vec<Option<String>> = found.iter().map(|one| url(diagnostics, one, path)).collect();
    let urls: Option<Vec<String>> = urls.into_iter().collect();
    urls.map(|urls| urls.join(","))
}

/// Hides values in places where people may write a secret.
pub(super) fn spare(diagnostics: &mut Diagnostics, node: &Node) {
    let Value::Map(entries) = &node.value else { return };
    for entry in entries {
        if let (false, Value::Text { text, .. }) =
            (matches!(entry.key.as_str(), "nats" | "key_env"), &entry.value.value)
        {
            diagnostics.hide(entry.value.span, text);
        }
    }
}

/// The name of the variable that holds the seed.
fn key_env(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<BusKey> {
    let found = value::text(diagnostics, node, path)?;
    if secrets::looks_like_key(&found.value) || secrets::is_seed(&found.value) {
        diagnostics.hide(found.at, &found.value);
        let message = format!("{path}: this looks like a key itself, and is not repeated");
        let fix = "the name of the environment variable that holds it, as BUS_KEY";
        diagnostics.report_value(found.at, &message, fix);
        return None;
    }
    variable(diagnostics, &found.value, found.at, path);
    Some(BusKey { variable: found.value, key: path.to_owned(), place: diagnostics.place(found.at) })
}

/// An address that a NATS client can connect to.
fn url(diagnostics: &mut Diagnostics, found: &value::At<String>, path: &str) -> Option<String> {
    let written = found.value.as_str();
    if written == MANAGED {
        let message = format!(
            "{path}: an organism's own broker keeps its data beside the log, and keeps no log itself"
        );
        diagnostics.report_value(found.at, &message, "the address of a server that runs");
        return None;
    }
    let rest = ["nats://", "tls://"].iter().find_map(|scheme| written.strip_prefix(scheme));
    let Some(rest) = rest else {
        let message = format!("{path}: `{written}` is not the address of a NATS server");
        diagnostics.report_value(found.at, &message, FORMS);
        return None;
    };
    if let Some((credentials, _)) = rest.rsplit_once('@') {
        diagnostics.hide(found.at, credentials);
        let message = format!("{path}: it has a name, password or token, and is not repeated");
        diagnostics.report_value(found.at, &message, "the address alone");
        return None;
    }
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') => (host, port.parse::<u16>().is_ok()),
        _ => (rest, true),
    };
    let is_host = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "/?#,".contains(c));
    if !is_host || !port {
        let message = format!("{path}: `{written}` is not the address of a NATS server");
        diagnostics.report_value(found.at, &message, FORMS);
        return None;
    }
    Some(written.to_owned())
}

/// Reads whether a listener is reached over the broker. Such a listener has no program.
pub(super) fn find_reach(diagnostics: &mut Diagnostics, keys: &ListenerKeys) -> Option<Span> {
    let At { at, value: true } = read_late(diagnostics, &keys.nats)? else { return None };
    let second = Some((at, "reached over NATS"));
    for key in PROGRAM {
        if let Some(other) = keys.own.value_place(key) {
            let path = &keys.own.path;
            let message = format!("{path}.{key}: a listener over NATS has no program in this organism");
            diagnostics.report_value_beside(other, &message, "one of the two", second);
        }
    }
    Some(at)
}

/// Reports a listener that cannot be reached. `over_nats` are the listeners that the file says are reached over NATS:
/// the path of each, and where the file says so.
pub(super) fn check(
    diagnostics: &mut Diagnostics,
    names_broker: bool,
    mut over_nats: impl Iterator<Item = (String, Span)>,
) {
    if names_broker {
        return;
    }
    if let Some((path, at)) = over_nats.next() {
        report_unnamed(diagnostics, &path, at, "it cannot be reached");
    }
}

/// Reports that a broker is needed and none is named.
pub(super) fn report_unnamed(diagnostics: &mut Diagnostics, path: &str, at: Span, what: &str) {
    let message = format!("{path}.nats: the file names no broker, so {what}");
    let fix = format!("bus: {{{EXAMPLE}}} at the top of the file");
    diagnostics.report(Code::ConfigMissing, at, &message, &fix);
}
