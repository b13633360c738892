//! The broker over which listeners on other machines are reached, and which listeners those are.
//!
//! It never goes there: that is for whoever runs the organism. What the file says comes in; an address without
//! credentials, the variable that holds the pump's key, and who has no program, go out.

use super::declared::{Declared, Party, variable};
use super::desk::Desk;
use super::diagnostic::Place;
use super::secrets;
use super::value::{self, Fields, fields};
use super::yaml::{Node, Span, Value};
use crate::edges::nats::Credentials;
use systole_core::types::codes::Code;

/// What stands under `bus`.
pub(super) struct Declaration {
    /// Where the broker is; none where what stands there says it not.
    pub(super) at: Option<At>,
    /// The variable that holds the seed of the pump's nkey.
    pub(super) key: Option<BusKey>,
}

/// Where the broker is.
pub(super) enum At {
    /// There.
    Url(String),
    /// Nowhere yet: the organism starts one of its own.
    Managed,
}

/// The environment variable that holds the seed of the pump's nkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusKey {
    /// Its name.
    pub variable: String,
    /// The key of the file that names it, as `bus.key_env`.
    pub key: String,
    /// Where the file names it.
    pub place: Place,
}

/// Why the pump cannot show the broker who it is. The seed stands in none of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file}:{line}: the variable {variable}, which {key} names, {what}: set it to the seed of the pump's nkey, \
     which begins with SU, or name another"
)]
pub struct Keyless {
    file: String,
    line: usize,
    variable: String,
    key: String,
    what: &'static str,
}

impl BusKey {
    /// What lets the pump in, which `read` finds under the name of the variable. Line breaks and blanks at its ends are
    /// those of the file it was read from.
    pub fn credentials(&self, read: impl FnOnce(&str) -> Option<String>) -> Result<Credentials, Keyless> {
        let seed = read(&self.variable).map(|seed| seed.trim().to_owned()).filter(|seed| !seed.is_empty());
        match seed {
            Some(seed) if secrets::is_seed(&seed) => Ok(Credentials::Nkey(seed)),
            Some(_) => Err(self.without("holds none")),
            None => Err(self.without("is not set")),
        }
    }

    fn without(&self, what: &'static str) -> Keyless {
        let (file, line) = (self.place.file.clone(), self.place.line);
        Keyless { file, line, variable: self.variable.clone(), key: self.key.clone(), what }
    }
}

/// What lets somebody in whose key a command names, which `read` finds under the name of the variable; in words why not.
/// Neither a seed nor what may be one is repeated.
pub fn named_key(
    variable: &str,
    read: impl FnOnce(&str) -> Option<String>,
) -> Result<Credentials, &'static str> {
    if secrets::looks_like_key(variable) || secrets::is_seed(variable) {
        return Err(
            "what stands there looks like a key itself, and is not repeated: it is the name of a variable",
        );
    }
    let seed = read(variable).map(|seed| seed.trim().to_owned()).filter(|seed| !seed.is_empty());
    match seed {
        Some(seed) if secrets::is_seed(&seed) => Ok(Credentials::Nkey(seed)),
        Some(_) => Err("the variable of that name holds no seed of an nkey, which begins with SU"),
        None => Err("the variable of that name is not set"),
    }
}

/// What may stand there.
const FORMS: &str = "nats://HOST:PORT, or tls://HOST:PORT";
/// What stands in place of an address where the organism starts a broker of its own.
const MANAGED: &str = "managed";
const EXAMPLE: &str = "nats: nats://127.0.0.1:4222";
/// Keys that say something of a program.
const PROGRAM: [&str; 5] = ["run", "env", "pass", "mode", "framing"];

/// Reads the section.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> Option<Declaration> {
    spare(desk, node);
    let section = fields(desk, node, node.span, "bus", path)?;
    // Told where it is wrong, also where no address stands beside it.
    let Some((node, path)) = section.need(desk, "nats", EXAMPLE) else {
        key_beside(desk, &section);
        return None;
    };
    match &node.value {
        Value::Text { text, .. } if text == MANAGED => Some(managed(desk, node.span, &section)),
        _ => Some(broker(desk, (node, &path), &section)),
    }
}

/// A broker of the organism's own makes the keys that it needs.
fn managed(desk: &mut Desk, at: Span, section: &Fields<'_>) -> Declaration {
    key_beside(desk, section);
    if let Some((other, path)) = section.get("key_env") {
        let told = format!("{path}: a broker of the organism's own has keys that are made for it");
        let second = (at, "started with the organism");
        desk.tell_seeing(Code::ConfigValue, other.span, &told, Some("one of the two"), second);
    }
    Declaration { at: Some(At::Managed), key: None }
}

/// Reads the key that stands in the same section as an address.
pub(super) fn key_beside(desk: &mut Desk, section: &Fields<'_>) -> Option<BusKey> {
    section.get("key_env").and_then(|(node, path)| key_env(desk, node, &path))
}

/// Reads an address, and the key that stands beside it in the same section.
pub(super) fn broker(desk: &mut Desk, (node, path): (&Node, &str), section: &Fields<'_>) -> Declaration {
    let key = key_beside(desk, section);
    Declaration { at: servers(desk, node, path).map(At::Url), key }
}

/// One address or several: those of the servers of a cluster, of which one has to run when the organism starts.
fn servers(desk: &mut Desk, node: &Node, path: &str) -> Option<String> {
    let Value::List(all) = &node.value else {
        return value::text(desk, node, path).and_then(|found| url(desk, &found, path));
    };
    if all.is_empty() {
        let told = format!("{path}: no address stands in the list");
        desk.tell(Code::ConfigValue, node.span, &told, Some("[nats://HOST:PORT, nats://OTHER:PORT]"));
        return None;
    }
    let found = value::texts(desk, node, path)?;
    // All are read, so that each bad one is told.
    let urls: Vec<Option<String>> = found.iter().map(|one| url(desk, one, path)).collect();
    let urls: Option<Vec<String>> = urls.into_iter().collect();
    urls.map(|urls| urls.join(","))
}

/// Hides what stands where people expect that a secret may stand.
pub(super) fn spare(desk: &mut Desk, node: &Node) {
    let Value::Map(entries) = &node.value else { return };
    for entry in entries {
        if let (false, Value::Text { text, .. }) =
            (matches!(entry.key.as_str(), "nats" | "key_env"), &entry.value.value)
        {
            desk.hide(entry.value.span, text);
        }
    }
}

/// The name of the variable that holds the seed.
fn key_env(desk: &mut Desk, node: &Node, path: &str) -> Option<BusKey> {
    let found = value::text(desk, node, path)?;
    if secrets::looks_like_key(&found.value) || secrets::is_seed(&found.value) {
        desk.hide(found.at, &found.value);
        let told = format!("{path}: what stands here looks like a key itself, and is not repeated");
        let mend = "the name of the environment variable that holds it, as BUS_KEY";
        desk.tell(Code::ConfigValue, found.at, &told, Some(mend));
        return None;
    }
    variable(desk, &found.value, found.at, path);
    Some(BusKey { variable: found.value, key: path.to_owned(), place: desk.place(found.at) })
}

/// An address that a client of NATS can go to.
fn url(desk: &mut Desk, found: &value::At<String>, path: &str) -> Option<String> {
    let written = found.value.as_str();
    if written == MANAGED {
        let told = format!("{path}: a broker of the organism's own lies beside the log, and keeps none");
        desk.tell(Code::ConfigValue, found.at, &told, Some("the address of a server that runs"));
        return None;
    }
    let rest = ["nats://", "tls://"].iter().find_map(|scheme| written.strip_prefix(scheme));
    let Some(rest) = rest else {
        let told = format!("{path}: `{written}` is no address of a NATS server");
        desk.tell(Code::ConfigValue, found.at, &told, Some(FORMS));
        return None;
    };
    if let Some((credentials, _)) = rest.rsplit_once('@') {
        desk.hide(found.at, credentials);
        let told = format!("{path}: a name, password or token stands in it, and is not repeated");
        desk.tell(Code::ConfigValue, found.at, &told, Some("the address alone"));
        return None;
    }
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') => (host, port.parse::<u16>().is_ok()),
        _ => (rest, true),
    };
    let is_host = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "/?#,".contains(c));
    if !is_host || !port {
        let told = format!("{path}: `{written}` is no address of a NATS server");
        desk.tell(Code::ConfigValue, found.at, &told, Some(FORMS));
        return None;
    }
    Some(written.to_owned())
}

/// Reads whether a listener is reached over the broker; then it has no program.
pub(super) fn reached(desk: &mut Desk, own: &Fields<'_>) -> Option<Span> {
    let (node, path) = own.get("nats")?;
    if !value::flag(desk, node, &path)? {
        return None;
    }
    for key in PROGRAM {
        if let Some((other, other_path)) = own.get(key) {
            let told = format!("{other_path}: a listener over NATS is no program of this organism");
            let second = (node.span, "reached over NATS");
            desk.tell_seeing(Code::ConfigValue, other.span, &told, Some("one of the two"), second);
        }
    }
    Some(node.span)
}

/// Tells of listeners that nobody can reach.
pub(super) fn check(desk: &mut Desk, declared: &Declared) {
    if declared.bus.is_some() || declared.log_kept.is_some() {
        return;
    }
    let reached = |party: &&Party| party.nats.is_some();
    if let Some((party, at)) =
        declared.parties.iter().find(reached).and_then(|party| Some((party, party.nats?)))
    {
        unnamed(desk, &party.path(), at, "it could be reached");
    }
}

/// Tells that somebody needs a broker, and none is named.
pub(super) fn unnamed(desk: &mut Desk, path: &str, at: Span, what: &str) {
    let told = format!("{path}.nats: no broker is named over which {what}");
    let mend = format!("bus: {{{EXAMPLE}}} at the top of the file");
    desk.tell(Code::ConfigMissing, at, &told, Some(&mend));
}
