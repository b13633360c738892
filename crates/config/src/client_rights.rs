//! What each client may do, and where its credential comes from: looks up the names that the section `clients` lists.
//!
//! Input: the declarations of all parties. Output: clients, and the variables that hold their tokens.

use std::collections::BTreeMap;

use systole_kit::schema::find_nearest;

use super::bus;
use super::diagnostic::{Diagnostic, FilePlace};
use super::diagnostics::Diagnostics;
use super::file_sections::Declared;
use super::names::one_of;
use super::value::At;
use systole_core::types::client::Client;
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
    pub place: FilePlace,
}

/// Looks up the names in the clients, and collects the sources of their credentials.
pub(super) fn resolve(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
) -> (BTreeMap<Name, Client>, Vec<TokenSource>) {
    let (mut clients, mut sources) = (BTreeMap::new(), Vec::<TokenSource>::new());
    for one in &declared.keys.clients.value {
        if let Some(party) = declared.parties.iter().find(|party| party.key.value == one.key.value) {
            let (whose, what) = match party.agent_config {
                Some(_) => ("` is the name of an agent", "the agent"),
                None => ("` is the name of a listener", "the listener"),
            };
            let message = format!("clients: `{}{whose}", one.key.value);
            let (fix, second) = ("another name for one of the two", (party.key.at, what));
            diagnostics.report_beside(Code::ConfigDuplicate, one.key.at, &message, fix, second);
        }
        let Some(keys) = &one.keys else { continue };
        let may = keys.may.as_ref().map(|may| addressees(diagnostics, &one.key.value, &may.value, declared));
        let Some(name) = &one.name else { continue };
        if let Some(named) = &keys.token_env {
            let source = token(diagnostics, name, named, declared, &sources);
            sources.push(source);
        }
        let over_nats = keys.nats.at.filter(|_| keys.nats.value);
        if let Some(at) = over_nats.filter(|_| declared.bus().is_none() && declared.log_kept.is_none()) {
            bus::report_unnamed(diagnostics, &format!("clients.{}", name.as_str()), at, "it cannot connect");
        }
        let rate = keys.rate.as_ref().map(|rate| rate.value);
        let (roles, over_nats) = (keys.roles.value.clone(), over_nats.is_some());
        let doors = keys.doors.as_ref().map(|doors| doors.value.clone());
        clients.insert(name.clone(), Client { may, roles, over_nats, doors, rate });
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
        diagnostics.report_value(named.at, &message, &fix);
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
            let fix = find_nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
            diagnostics.report(Code::ConfigUnknownName, named.at, &message, &fix);
            continue;
        };
        if !party.entry && declared.organism.entry.as_ref().is_none_or(|entry| entry.value != named.value) {
            let message = format!("{path}: `{}` takes no messages from outside", named.value);
            let fix = format!("entry: true at {}, or leave it out", party.path());
            let second =
                (party.key.at, if party.agent_config.is_some() { "this agent" } else { "this listener" });
            diagnostics.report_value_beside(named.at, &message, &fix, second);
        }
        found.extend(party.name.clone());
    }
    found
}
