//! From what is declared to the composition: names are looked up, elements are resolved against their
//! schemas, and what could be told apart by nobody is refused.
//!
//! In comes a declaration and a shelf of schemas, out come the listeners; every mistake goes to the desk.

use std::collections::BTreeMap;
use std::path::Path;

use systole_kit::QName;
use systole_kit::schema::nearest;

use super::broadcast;
use super::clients::{self, TokenSource};
use super::declared::{Declared, Party};
use super::desk::Desk;
use super::diagnostic::Diagnostic;
use super::schemas::{Collected, Outline, Shelf};
use super::value::At;
use crate::words::client::Client;
use crate::words::codes::Code;
use crate::words::composition::{Broadcast, Listener, Program, Reach};
use crate::words::ids::Name;

/// What the checks have made of a declaration.
pub(super) struct Composed {
    pub(super) entry: Option<Name>,
    pub(super) listeners: BTreeMap<Name, Listener>,
    pub(super) collected: Collected,
    pub(super) broadcasts: Vec<Broadcast>,
    pub(super) clients: BTreeMap<Name, Client>,
    pub(super) tokens: Vec<TokenSource>,
}

/// A listener whose elements are resolved, with the places they were named at.
struct Resolved<'d> {
    party: &'d Party,
    accepts: Vec<At<QName>>,
    returns: Vec<At<QName>>,
}

/// Resolves and checks. What comes out is only whole if the desk is still clean.
pub(super) fn compose(desk: &mut Desk, declared: &Declared, shelf: &dyn Shelf, directory: &Path) -> Composed {
    let mut collected = Collected::new(shelf);
    let mut resolved = Vec::with_capacity(declared.parties.len());
    for party in &declared.parties {
        let schema = party.schema.as_ref();
        if let Some(name) = schema {
            collected.add(desk, shelf, name);
        }
        let outline =
            schema.and_then(|name| collected.outline(&name.value).map(|o| (name.value.as_str(), o)));
        let path = ["listeners.", &party.key.value].concat();
        resolved.push(Resolved {
            party,
            accepts: elements(desk, outline, &party.accepts, &[&path, ".accepts"].concat()),
            returns: elements(desk, outline, &party.returns, &[&path, ".returns"].concat()),
        });
    }
    for one in &resolved {
        peers(desk, one, &resolved);
        told(desk, one.party, declared);
    }
    let entry = declared.entry.as_ref().and_then(|named| entry(desk, named, declared));
    let known: Vec<_> = resolved
        .iter()
        .map(|Resolved { party, accepts, .. }| broadcast::Known {
            name: party.name.as_ref(),
            accepts,
            peers: &party.peers,
        })
        .collect();
    let broadcasts = broadcast::resolve(desk, &declared.broadcasts, &known);
    let mut listeners = BTreeMap::new();
    for one in resolved {
        let schema = one.party.schema.as_ref().and_then(|name| collected.outline(&name.value));
        if let (Some(name), Some(outline)) = (one.party.name.clone(), schema) {
            let open = entry.as_ref() == Some(&name);
            listeners.insert(name.clone(), listener(one, name, outline, open, directory));
        }
    }
    let (clients, tokens) = clients::resolve(desk, declared);
    Composed { entry, listeners, collected, broadcasts, clients, tokens }
}

/// Resolves local names of root elements; nothing is told where the schema itself could not be read.
fn elements(
    desk: &mut Desk,
    outline: Option<(&str, &Outline)>,
    named: &[At<String>],
    path: &str,
) -> Vec<At<QName>> {
    let Some((file, outline)) = outline else { return Vec::new() };
    let mut found = Vec::with_capacity(named.len());
    for one in named {
        if let Some(local) = outline.elements.iter().find(|e| e.as_ref() == one.value) {
            found.push(At {
                at: one.at,
                value: QName { ns: outline.namespace.clone(), local: local.clone() },
            });
            continue;
        }
        let told = [path, ": `", &one.value, "` is no root element of ", file].concat();
        let known = || outline.elements.iter().map(AsRef::as_ref);
        let near = nearest(&one.value, known());
        let mend = near.map_or_else(|| one_of(known()), str::to_owned);
        let mut told = Diagnostic::new(Code::ConfigUnknownElement, desk.place(one.at), &told, Some(&mend));
        if let Some(place) = near.and_then(|near| outline.declared(near)) {
            told = told.seeing(place.clone(), "declared here");
        }
        desk.tell_at(one.at.start, told);
    }
    found
}

pub(super) fn one_of<'a>(known: impl Iterator<Item = &'a str>) -> String {
    // A dozen names are enough to recognise one's own mistake.
    let some: Vec<&str> = known.take(12).collect();
    if some.is_empty() {
        "declare a root element in the schema".to_owned()
    } else {
        ["one of ", &some.join(", ")].concat()
    }
}

/// Checks whom a listener may address, and that each item of its replies can only be one thing.
fn peers(desk: &mut Desk, one: &Resolved<'_>, all: &[Resolved<'_>]) {
    let party = one.party;
    let path = ["listeners.", &party.key.value].concat();
    let own_tag = party
        .name
        .as_ref()
        .map(|name| QName { ns: Listener::namespace_of(name).into(), local: name.as_str().into() });
    for answer in one.returns.iter().filter(|answer| Some(&answer.value) == own_tag.as_ref()) {
        let told =
            [&path, ".returns: `", &answer.value.local, "` is also the root tag of its own notes"].concat();
        desk.tell(
            Code::ConfigOverlap,
            answer.at,
            &told,
            Some("another element, or another name for the listener"),
        );
    }
    if let (1, Some(first)) = (party.turns, party.peers.first()) {
        let told = [&path, ".peers: with `turns: 1` a listener makes no calls"].concat();
        desk.tell(Code::ConfigValue, first.at, &told, Some("turns: 2 or more, or no peers"));
    }
    for peer in &party.peers {
        let Some(other) = all.iter().find(|r| r.party.key.value == peer.value) else {
            let told = [&path, ".peers: nothing here is called `", &peer.value, "`"].concat();
            let known = || all.iter().map(|r| r.party.key.value.as_str());
            let mend = nearest(&peer.value, known()).map_or_else(|| one_of(known()), str::to_owned);
            desk.tell(Code::ConfigUnknownName, peer.at, &told, Some(&mend));
            continue;
        };
        for taken in &other.accepts {
            let also = if Some(&taken.value) == own_tag.as_ref() {
                "is the root tag of its own notes"
            } else if one.returns.iter().any(|answer| answer.value == taken.value) {
                "is in its own returns"
            } else {
                continue;
            };
            overlap(desk, &path, peer, taken, also);
        }
    }
}

fn overlap(desk: &mut Desk, path: &str, peer: &At<String>, taken: &At<QName>, also: &str) {
    let local = &*taken.value.local;
    let told = [path, ".peers: `", &peer.value, "` accepts `", local, "`, which ", also].concat();
    let mend = Some("different elements for an answer, a call and a note");
    desk.tell_seeing(Code::ConfigOverlap, peer.at, &told, mend, (taken.at, "accepted here"));
}

/// Checks who is told of requests for approval. Who is told is handed a payload of the core, whatever
/// it accepts otherwise; that it would wait for a person itself is no hindrance, as the core asks.
fn told(desk: &mut Desk, party: &Party, declared: &Declared) {
    let path = ["listeners.", &party.key.value, ".approval.tell"].concat();
    let known = || declared.parties.iter().map(|p| p.key.value.as_str());
    for named in &party.approval.tell {
        if named.value == party.key.value {
            let told = [&path, ": `", &named.value, "` would be asked about its own work"].concat();
            desk.tell(Code::ConfigValue, named.at, &told, Some("another listener, or leave it out"));
        } else if !known().any(|key| key == named.value) {
            let told = [&path, ": nothing here is called `", &named.value, "`"].concat();
            let mend = nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
            desk.tell(Code::ConfigUnknownName, named.at, &told, Some(&mend));
        }
    }
}

fn entry(desk: &mut Desk, named: &At<String>, declared: &Declared) -> Option<Name> {
    let known = || declared.parties.iter().map(|p| p.key.value.as_str());
    if let Some(party) = declared.parties.iter().find(|p| p.key.value == named.value) {
        return party.name.clone();
    }
    let told = ["organism.entry: nothing here is called `", &named.value, "`"].concat();
    let mend = nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
    desk.tell(Code::ConfigUnknownName, named.at, &told, Some(&mend));
    None
}

/// Without a program it can only be a Rust value; where none was to be expected that was told before.
fn reach(party: &Party, directory: &Path) -> Reach {
    if party.run.is_empty() {
        return Reach::Inline;
    }
    Reach::Process(Program {
        run: party.run.clone(),
        directory: directory.to_owned(),
        env: party.env.clone(),
        pass: party.pass.clone(),
        stays: party.stays,
        by_length: party.by_length,
    })
}

fn listener(one: Resolved<'_>, name: Name, outline: &Outline, open: bool, directory: &Path) -> Listener {
    let party = one.party;
    let bare = |all: Vec<At<QName>>| all.into_iter().map(|at| at.value).collect();
    Listener {
        name,
        reach: reach(party, directory),
        accepts: bare(one.accepts),
        returns: bare(one.returns),
        schema: outline.id,
        // A name that does not parse is told where it is declared or looked up.
        peers: party.peers.iter().filter_map(|p| Name::parse(&p.value).ok()).collect(),
        turns: party.turns,
        share_percent: party.share_percent,
        in_flight: party.in_flight,
        timeout_ms: party.timeout_ms,
        idle_ms: party.idle_ms,
        retry: party.retry,
        on_unknown: party.on_unknown,
        approval: party.approval.rule(),
        entry: party.entry || open,
        describe: party.describe,
    }
}
