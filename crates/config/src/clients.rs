//! The section `clients`: who may send messages from outside, with which credential, to which listeners,
//! and in which roles. Input: the node. Output: the declared clients. Names are looked up later, when all
//! of them are known: see `client_rights`.
//!
//! This module reads no environment: whether a variable is set is checked when the door opens.

use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::names::{one_of, single, variable};
use super::tree::{Entry, Node, Span};
use super::value::{self, At, fields};
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;

/// One client as it is declared.
pub(super) struct ClientDeclaration {
    pub(super) key: At<String>,
    pub(super) name: Option<Name>,
    pub(super) token_env: Option<At<String>>,
    pub(super) may: Option<Vec<At<String>>>,
    pub(super) roles: Vec<Role>,
    /// Where the file says that it connects over the broker, if it does.
    pub(super) nats: Option<Span>,
}

/// Reads the section.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<ClientDeclaration> {
    let entries = value::map(diagnostics, node, node.span, path).unwrap_or_default();
    entries.iter().map(|entry| client(diagnostics, entry)).collect()
}

fn client(diagnostics: &mut Diagnostics, entry: &Entry) -> ClientDeclaration {
    let path = value::joined("clients", &entry.key);
    let mut declared = ClientDeclaration {
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
        let fix = find_nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
        diagnostics.report(Code::ConfigValue, named.at, &message, Some(&fix));
    }
    found.copied()
}
