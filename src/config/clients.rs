//! The section `clients`: who may send messages from outside, with which credential, to which listeners,
//! and in which roles. Input: the node. Output: the declared clients. Names are looked up later, when all
//! of them are known.
//!
//! This module reads no environment: whether a variable is set is checked when the door opens.

use std::collections::BTreeMap;

use systole_kit::schema::nearest;

use super::bus;
use super::compose::one_of;
use super::declared::{Declared, single, variable};
use super::diagnostic::{Diagnostic, Place};
use super::diagnostics::Diagnostics;
use super::value::{self, At, fields};
use super::yaml::{Entry, Node, Span};
use systole_core::types::client::{Client, Role};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;

/// The source of a client's credential.
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
    /// Where the file says that it connects over the broker, if it does.
    nats: Option<Span>,
}

/// Reads the section.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<Declaration> {
    let entries = value::map(diagnostics, node, node.span, path).unwrap_or_default();
    entries.iter().map(|entry| client(diagnostics, entry)).collect()
}

fn client(diagnostics: &mut Diagnostics, entry: &Entry) -> Declaration {
    let path = value::joined("clients", &entry.key);
    let mut declared = Declaration {
        key: At { at: entry.at, value: entry.key.clone() },
        name: value::name(diagnostics, &entry.key, entry.at, "clients"),
        token_env: None,
        may: None,
        roles: Vec::new(),
        nats: None,
    };
    let Some(own) = fields(diagnostics, &entry.value, entry.at, "clients.NAME", &path) else {
        return declared;
    };
    if let Some((node, path)) = own.get("nats")
        && value::flag(diagnostics, node, &path) == Some(true)
    {
        declared.nats = Some(node.span);
    }
    let fix = "token_env: VARIABLE, the environment variable that holds its token; or nats: true, with a key at the broker";
    let token_env = match declared.nats {
        Some(_) => own.get("token_env"),
        None => own.need(diagnostics, "token_env", fix),
    };
    if let Some((node, path)) = token_env
        && let Some(named) = value::text(diagnostics, node, &path)
    {
        variable(diagnostics, &named.value, named.at, &path);
        declared.token_env = Some(named);
    }
    if let Some((node, path)) = own.get("may") {
        let found = value::texts(diagnostics, node, &path).unwrap_or_default();
        declared.may = Some(single(diagnostics, found, &path));
    }
    if let Some((node, path)) = own.get("roles") {
        let found = value::texts(diagnostics, node, &path).unwrap_or_default();
        for named in single(diagnostics, found, &path) {
            declared.roles.extend(role(diagnostics, &named, &path));
        }
    }
    declared
}

fn role(diagnostics: &mut Diagnostics, named: &At<String>, path: &str) -> Option<Role> {
    let found = Role::ALL.iter().find(|role| role.as_str() == named.value);
    if found.is_none() {
        let known = || Role::ALL.iter().map(|role| role.as_str());
        let message = format!("{path}: `{}` is no role", named.value);
        let fix = nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
        diagnostics.report(Code::ConfigValue, named.at, &message, Some(&fix));
    }
    found.copied()
}

/// Looks up the names in the clients, and collects the sources of their credentials.
pub(super) fn resolve(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
) -> (BTreeMap<Name, Client>, Vec<TokenSource>) {
    let (mut clients, mut sources) = (BTreeMap::new(), Vec::<TokenSource>::new());
    for one in &declared.clients {
        if let Some(party) = declared.parties.iter().find(|party| party.key.value == one.key.value) {
            let (whose, what) = match party.agent_config {
                Some(_) => ("` is the name of an agent", "the agent"),
                None => ("` is the name of a listener", "the listener"),
            };
            let message = format!("clients: `{}{whose}", one.key.value);
            let (fix, second) = (Some("another name for one of the two"), (party.key.at, what));
            diagnostics.report_beside(Code::ConfigDuplicate, one.key.at, &message, fix, second);
        }
        let may = one.may.as_ref().map(|may| addressees(diagnostics, &one.key.value, may, declared));
        let Some(name) = &one.name else { continue };
        if let Some(named) = &one.token_env {
            let source = token(diagnostics, name, named, declared, &sources);
            sources.push(source);
        }
        if let Some(at) = one.nats.filter(|_| declared.bus.is_none() && declared.log_kept.is_none()) {
            bus::unnamed(diagnostics, &format!("clients.{}", name.as_str()), at, "it cannot connect");
        }
        let over_nats = one.nats.is_some();
        clients.insert(name.clone(), Client { may, roles: one.roles.clone(), over_nats });
    }
    (clients, sources)
}

/// The source of a client's token. Two clients may not share a token, because the token identifies the
/// client.
fn token(
    diagnostics: &mut Diagnostics,
    client: &Name,
    named: &At<String>,
    declared: &Declared,
    others: &[TokenSource],
) -> TokenSource {
    let lead = format!("clients.{}.token_env: `{}", client.as_str(), named.value);
    if let Some(other) = others.iter().find(|source| source.variable == named.value) {
        let message = format!("{lead}` is that of {} as well", other.client.as_str());
        let (place, fix) = (diagnostics.place(named.at), Some("a token of its own for each client"));
        let message = Diagnostic::new(Code::ConfigDuplicate, place, &message, fix);
        diagnostics.tell_at(named.at.start, message.seeing(other.place.clone(), "the first one"));
    }
    if let Some(party) = declared.parties.iter().find(|party| party.pass.contains(&named.value)) {
        let listener = party.key.value.as_str();
        let message = format!("{lead}` is passed on to {listener}");
        let fix = format!("another variable, or leave it out of listeners.{listener}.pass");
        diagnostics.report(Code::ConfigValue, named.at, &message, Some(&fix));
    }
    TokenSource { client: client.clone(), variable: named.value.clone(), place: diagnostics.place(named.at) }
}

/// The listeners that a client may address. Each must exist and be open to the outside.
fn addressees(
    diagnostics: &mut Diagnostics,
    client: &str,
    may: &[At<String>],
    declared: &Declared,
) -> Vec<Name> {
    let path = format!("clients.{client}.may");
    let mut found = Vec::with_capacity(may.len());
    for named in may {
        let Some(party) = declared.parties.iter().find(|party| party.key.value == named.value) else {
            if declared.parties.is_empty() {
                // A missing listener is reported elsewhere.
                continue;
            }
            let known = || declared.parties.iter().map(|party| party.key.value.as_str());
            let message = format!("{path}: nothing here is called `{}`", named.value);
            let fix = nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
            diagnostics.report(Code::ConfigUnknownName, named.at, &message, Some(&fix));
            continue;
        };
        if !party.entry && declared.entry.as_ref().is_none_or(|entry| entry.value != named.value) {
            let message = format!("{path}: `{}` takes no messages from outside", named.value);
            let fix = format!("entry: true at {}, or leave it out", party.path());
            let second =
                (party.key.at, if party.agent_config.is_some() { "this agent" } else { "this listener" });
            diagnostics.report_beside(Code::ConfigValue, named.at, &message, Some(&fix), second);
        }
        found.extend(party.name.clone());
    }
    found
}
