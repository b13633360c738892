//! The section `clients`: who may come in from outside, with which credential, to whom, and in which
//! roles. In comes the node, out comes what it declares; names are looked up where all of them are known.
//!
//! It reads no environment: whether a variable is set is said when the door is opened.

use std::collections::BTreeMap;

use systole_kit::schema::nearest;

use super::bus;
use super::compose::one_of;
use super::declared::{Declared, single, variable};
use super::desk::Desk;
use super::diagnostic::{Diagnostic, Place};
use super::value::{self, At, fields};
use super::yaml::{Entry, Node, Span};
use systole_core::types::client::{Client, Role};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;

/// Where a client's credential is to be found.
#[derive(Clone, Debug)]
pub struct TokenSource {
    /// The client.
    pub client: Name,
    /// The environment variable that holds the credential.
    pub variable: String,
    /// Where the file names that variable.
    pub place: Place,
}

/// One client as it is declared.
pub(super) struct Declaration {
    key: At<String>,
    name: Option<Name>,
    token_env: Option<At<String>>,
    may: Option<Vec<At<String>>>,
    roles: Vec<Role>,
    /// Where the file says that it comes over the broker, if it does.
    nats: Option<Span>,
}

/// Reads the section.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> Vec<Declaration> {
    let entries = value::map(desk, node, node.span, path).unwrap_or_default();
    entries.iter().map(|entry| client(desk, entry)).collect()
}

fn client(desk: &mut Desk, entry: &Entry) -> Declaration {
    let path = value::joined("clients", &entry.key);
    let mut declared = Declaration {
        key: At { at: entry.at, value: entry.key.clone() },
        name: value::name(desk, &entry.key, entry.at, "clients"),
        token_env: None,
        may: None,
        roles: Vec::new(),
        nats: None,
    };
    let Some(own) = fields(desk, &entry.value, entry.at, "clients.NAME", &path) else { return declared };
    if let Some((node, path)) = own.get("nats")
        && value::flag(desk, node, &path) == Some(true)
    {
        declared.nats = Some(node.span);
    }
    let mend = "token_env: VARIABLE, the environment variable that holds its token; or nats: true, with a key at the broker";
    let token_env = match declared.nats {
        Some(_) => own.get("token_env"),
        None => own.need(desk, "token_env", mend),
    };
    if let Some((node, path)) = token_env
        && let Some(named) = value::text(desk, node, &path)
    {
        variable(desk, &named.value, named.at, &path);
        declared.token_env = Some(named);
    }
    if let Some((node, path)) = own.get("may") {
        let found = value::texts(desk, node, &path).unwrap_or_default();
        declared.may = Some(single(desk, found, &path));
    }
    if let Some((node, path)) = own.get("roles") {
        let found = value::texts(desk, node, &path).unwrap_or_default();
        for named in single(desk, found, &path) {
            declared.roles.extend(role(desk, &named, &path));
        }
    }
    declared
}

fn role(desk: &mut Desk, named: &At<String>, path: &str) -> Option<Role> {
    let found = Role::ALL.iter().find(|role| role.as_str() == named.value);
    if found.is_none() {
        let known = || Role::ALL.iter().map(|role| role.as_str());
        let told = format!("{path}: `{}` is no role", named.value);
        let mend = nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
        desk.tell(Code::ConfigValue, named.at, &told, Some(&mend));
    }
    found.copied()
}

/// Looks up what the clients name, and says where their credentials are.
pub(super) fn resolve(desk: &mut Desk, declared: &Declared) -> (BTreeMap<Name, Client>, Vec<TokenSource>) {
    let (mut clients, mut sources) = (BTreeMap::new(), Vec::<TokenSource>::new());
    for one in &declared.clients {
        if let Some(party) = declared.parties.iter().find(|party| party.key.value == one.key.value) {
            let (whose, what) = match party.mind {
                Some(_) => ("` is the name of an agent", "the agent"),
                None => ("` is the name of a listener", "the listener"),
            };
            let told = format!("clients: `{}{whose}", one.key.value);
            let (mend, second) = (Some("another name for one of the two"), (party.key.at, what));
            desk.tell_seeing(Code::ConfigDuplicate, one.key.at, &told, mend, second);
        }
        let may = one.may.as_ref().map(|may| addressees(desk, &one.key.value, may, declared));
        let Some(name) = &one.name else { continue };
        if let Some(named) = &one.token_env {
            let source = token(desk, name, named, declared, &sources);
            sources.push(source);
        }
        if let Some(at) = one.nats.filter(|_| declared.bus.is_none() && declared.log_kept.is_none()) {
            bus::unnamed(desk, &format!("clients.{}", name.as_str()), at, "it could come in");
        }
        let over_nats = one.nats.is_some();
        clients.insert(name.clone(), Client { may, roles: one.roles.clone(), over_nats });
    }
    (clients, sources)
}

/// Where a client's token is. Whoever else has it is that client, so nobody else may.
fn token(
    desk: &mut Desk,
    client: &Name,
    named: &At<String>,
    declared: &Declared,
    others: &[TokenSource],
) -> TokenSource {
    let lead = format!("clients.{}.token_env: `{}", client.as_str(), named.value);
    if let Some(other) = others.iter().find(|source| source.variable == named.value) {
        let told = format!("{lead}` is that of {} as well", other.client.as_str());
        let (place, mend) = (desk.place(named.at), Some("a token of its own for each client"));
        let told = Diagnostic::new(Code::ConfigDuplicate, place, &told, mend);
        desk.tell_at(named.at.start, told.seeing(other.place.clone(), "the first one"));
    }
    if let Some(party) = declared.parties.iter().find(|party| party.pass.contains(&named.value)) {
        let listener = party.key.value.as_str();
        let told = format!("{lead}` is passed on to {listener}");
        let mend = format!("another variable, or leave it out of listeners.{listener}.pass");
        desk.tell(Code::ConfigValue, named.at, &told, Some(&mend));
    }
    TokenSource { client: client.clone(), variable: named.value.clone(), place: desk.place(named.at) }
}

/// Those that a client may address: listeners that are open to the outside, each known by its name.
fn addressees(desk: &mut Desk, client: &str, may: &[At<String>], declared: &Declared) -> Vec<Name> {
    let path = format!("clients.{client}.may");
    let mut found = Vec::with_capacity(may.len());
    for named in may {
        let Some(party) = declared.parties.iter().find(|party| party.key.value == named.value) else {
            if declared.parties.is_empty() {
                // That there is no listener is told where there should be one.
                continue;
            }
            let known = || declared.parties.iter().map(|party| party.key.value.as_str());
            let told = format!("{path}: nothing here is called `{}`", named.value);
            let mend = nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
            desk.tell(Code::ConfigUnknownName, named.at, &told, Some(&mend));
            continue;
        };
        if !party.entry && declared.entry.as_ref().is_none_or(|entry| entry.value != named.value) {
            let told = format!("{path}: `{}` takes no messages from outside", named.value);
            let mend = format!("entry: true at {}, or leave it out", party.path());
            let second = (party.key.at, if party.mind.is_some() { "this agent" } else { "this listener" });
            desk.tell_seeing(Code::ConfigValue, named.at, &told, Some(&mend), second);
        }
        found.extend(party.name.clone());
    }
    found
}
