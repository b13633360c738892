//! Turns a declaration into a composition: looks up names, resolves elements against their schemas, and rejects what
//! would be ambiguous.
//!
//! Input: a declaration and a shelf of schemas. Output: the listeners. Every mistake is reported to the diagnostics.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use systole_kit::QName;
use systole_kit::schema::find_nearest;

use super::broadcast;
use super::client_rights::{self, TokenSource};
use super::diagnostics::Diagnostics;
use super::file_sections::Declared;
use super::kinds::{BuiltInListener, belongs_to_house};
use super::lookup::{Lookup, Resolved, Shipped};
use super::names::one_of;
use super::party::Party;
use super::schemas::{Collected, PAYLOADS, Shelf};
use super::value::At;
use super::workflows;
use super::{programs, tools};
use crate::limits;
use systole_core::types::client::Client;
use systole_core::types::codes::Code;
use systole_core::types::composition::{
    Broadcast, DeliveryRetry, ElementSchema, Listener, OnUnknown, ViewScope,
};
use systole_core::types::ids::Name;

/// The vocabulary of plain talk.
const TALK: &str = "talk/";
/// What an agent takes too, if its model takes files.
const ASK_WITH: &str = "ask-with";

/// The result of the checks.
pub(super) struct Composed {
    pub(super) entry: Option<Name>,
    pub(super) listeners: BTreeMap<Name, Listener>,
    pub(super) collected: Collected,
    /// The built-in elements, used or not.
    pub(super) shipped: Vec<Shipped>,
    pub(super) broadcasts: Vec<Broadcast>,
    pub(super) clients: BTreeMap<Name, Client>,
    pub(super) tokens: Vec<TokenSource>,
    /// The payloads that the goals of workflows return.
    pub(super) links: workflows::Links,
}

/// Resolves and checks. The result is only complete if there are no mistakes.
pub(super) fn compose(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    shelf: &dyn Shelf,
    directory: &Path,
) -> Composed {
    let collected = collect(diagnostics, declared, shelf);
    let mut lookup = Lookup::new(collected, declared, shelf);
    lookup.declared_twice(diagnostics, declared);
    let mut resolved = Vec::with_capacity(declared.parties.len());
    for party in &declared.parties {
        let path = party.path();
        let (takes_talk, gives_talk) = match (&party.agent_config, &party.workflow) {
            (Some(agent_config), _) => (agent_config.takes_talk, agent_config.gives_talk),
            (None, Some(workflow)) => (workflow.takes_talk, workflow.gives_talk),
            (None, None) => (false, false),
        };
        let mut elements = |diagnostics: &mut Diagnostics, of_talk: bool, named: &[At<String>], key: &str| {
            if of_talk {
                return named.iter().filter_map(|one| lookup.of_vocabulary(TALK, one)).collect();
            }
            lookup.elements(diagnostics, party, named, &format!("{path}{key}"))
        };
        let (accepts, returns) = match &party.built_in {
            Some(one) => tools::list_elements(party, one, &mut lookup),
            None => {
                let mut accepted = party.accepts.clone();
                if let (Some(first), Some(agent)) = (party.accepts.first(), &party.agent_config)
                    && takes_talk
                    && agent.sees_files(&declared.keys.models.value)
                {
                    accepted.push(At { at: first.at, value: ASK_WITH.to_owned() });
                }
                let accepts = elements(diagnostics, takes_talk, &accepted, ".accepts");
                (accepts, elements(diagnostics, gives_talk, &party.returns, ".returns"))
            }
        };
        let note = lookup.note(diagnostics, shelf, party);
        resolved.push(Resolved { party, accepts, returns, note });
    }
    let links = workflows::link(diagnostics, declared, &mut lookup, &mut resolved);
    for one in &resolved {
        peers(diagnostics, one, &resolved);
        message(diagnostics, one.party, declared);
    }
    let entry = match &declared.organism.entry {
        Some(named) => entry(diagnostics, named, declared),
        None => only_open(declared),
    };
    let known: Vec<_> = resolved
        .iter()
        .map(|Resolved { party, accepts, .. }| broadcast::Known {
            name: party.name.as_ref(),
            accepts,
            peers: &party.peers,
        })
        .collect();
    let broadcasts = broadcast::resolve(diagnostics, &declared.keys.broadcast.value, &known);
    let mut listeners = BTreeMap::new();
    for one in resolved {
        if let Some(name) = one.party.name.clone() {
            let open = entry.as_ref() == Some(&name);
            listeners.insert(name.clone(), listener(one, name, open, (directory, declared.log())));
        }
    }
    let (clients, tokens) = client_rights::resolve(diagnostics, declared);
    let (collected, shipped) = lookup.into_parts();
    Composed { entry, listeners, collected, shipped, broadcasts, clients, tokens, links }
}

/// The schemas of the file: the one made from `payloads`, the shared ones, then each listener's own.
fn collect(diagnostics: &mut Diagnostics, declared: &Declared, shelf: &dyn Shelf) -> Collected {
    let mut collected = Collected::new(shelf, belongs_to_house);
    if let Some(section) = declared.payloads() {
        let stored = shelf.payloads();
        let made = stored.or_else(|| section.schema(diagnostics, declared.name()).map(Arc::from));
        match made {
            Some(text) => collected.put(PAYLOADS, text, section.at),
            None => collected.miss(PAYLOADS),
        }
    }
    for party in &declared.parties {
        let Some(BuiltInListener { kind, at, part }) = &party.built_in else { continue };
        let (Some(make), Some(At { value: schema, .. })) = (kind.make_schema, &party.schema) else {
            continue;
        };
        match make(part, diagnostics, shelf, At { at: *at, value: &party.key.value }) {
            Some(text) => collected.put(schema, text, *at),
            None => collected.miss(schema),
        }
    }
    let own = declared.parties.iter().filter(|party| party.built_in.is_none());
    for name in declared.keys.schemas.value.iter().chain(own.filter_map(|party| party.schema.as_ref())) {
        collected.add(diagnostics, shelf, name);
    }
    collected.read(diagnostics, shelf);
    if let Some(section) = declared.payloads() {
        collected.place_payloads(|element| diagnostics.place(section.place_of(element)));
    }
    collected
}

/// The root tag of a listener's own notes.
fn own_tag(party: &Party) -> Option<QName> {
    let name = party.name.as_ref()?;
    Some(QName { ns: Listener::namespace_of(name).into(), local: name.as_str().into() })
}

/// Checks the peers of a listener, and that each item of its replies can only mean one thing.
fn peers(diagnostics: &mut Diagnostics, one: &Resolved<'_>, all: &[Resolved<'_>]) {
    let party = one.party;
    let path = party.path();
    let own_tag = own_tag(party);
    for answer in one.returns.iter().filter(|answer| Some(&answer.value.name) == own_tag.as_ref()) {
        let message =
            format!("{path}.returns: `{}` is also the root tag of its own notes", answer.value.name.local);
        diagnostics.report(
            Code::ConfigOverlap,
            answer.at,
            &message,
            "another element, or another name for the listener",
        );
    }
    if let (1, Some(first)) = (party.turns, party.peers.first()) {
        let message = format!("{path}.peers: with `turns: 1` a listener makes no calls");
        diagnostics.report_value(first.at, &message, "turns: 2 or more, or no peers");
    }
    for peer in &party.peers {
        let Some(other) = all.iter().find(|r| r.party.key.value == peer.value) else {
            if party.workflow.is_some() {
                // A workflow has no `peers`; the names in its steps were looked up with the steps.
                continue;
            }
            let message = format!("{path}.peers: nothing here is called `{}`", peer.value);
            let known = || all.iter().map(|r| r.party.key.value.as_str());
            let fix = find_nearest(&peer.value, known()).map_or_else(|| one_of(known()), str::to_owned);
            diagnostics.report(Code::ConfigUnknownName, peer.at, &message, &fix);
            continue;
        };
        for taken in &other.accepts {
            let also = if Some(&taken.value.name) == own_tag.as_ref() {
                "is the root tag of its own notes"
            } else if one.returns.iter().any(|answer| answer.value.name == taken.value.name) {
                "is in its own returns"
            } else {
                continue;
            };
            overlap(diagnostics, &path, peer, taken, also);
        }
    }
}

fn overlap(
    diagnostics: &mut Diagnostics,
    path: &str,
    peer: &At<String>,
    taken: &At<ElementSchema>,
    also: &str,
) {
    let local = &*taken.value.name.local;
    let message = format!("{path}.peers: `{}` accepts `{local}`, which {also}", peer.value);
    let fix = "different elements for an answer, a call and a note";
    diagnostics.report_beside(Code::ConfigOverlap, peer.at, &message, fix, (taken.at, "accepted here"));
}

/// Checks the listeners that get requests for approval and outcomes of timers. Every listener accepts these core
/// payloads, whatever else it accepts, and without a person's approval.
fn message(diagnostics: &mut Diagnostics, party: &Party, declared: &Declared) {
    told_under(
        diagnostics,
        party,
        declared,
        (".approval.tell", &party.delivery.approval.tell.value),
        "be asked about its own work",
    );
    told_under(
        diagnostics,
        party,
        declared,
        (".timers.tell", &party.delivery.timers.tell.value),
        "get word of its own timers",
    );
}

fn told_under(
    diagnostics: &mut Diagnostics,
    party: &Party,
    declared: &Declared,
    (key, names): (&str, &[At<String>]),
    of_itself: &str,
) {
    let path = format!("{}{key}", party.path());
    let known = || declared.parties.iter().map(|p| p.key.value.as_str());
    for named in names {
        if named.value == party.key.value {
            let message = format!("{path}: `{}` would {of_itself}", named.value);
            diagnostics.report_value(named.at, &message, "another listener, or leave it out");
        } else if !known().any(|key| key == named.value) {
            let message = format!("{path}: nothing here is called `{}`", named.value);
            let fix = find_nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
            diagnostics.report(Code::ConfigUnknownName, named.at, &message, &fix);
        }
    }
}

/// The default addressee of messages from outside: the only open workflow, else the only open agent.
fn only_open(declared: &Declared) -> Option<Name> {
    let only = |is_meant: fn(&Party) -> bool| {
        let mut open = declared.parties.iter().filter(|party| party.entry && is_meant(party));
        open.next().filter(|_| open.next().is_none())
    };
    let has_workflows = declared.parties.iter().any(|party| party.entry && party.workflow.is_some());
    let found = if has_workflows {
        only(|party| party.workflow.is_some())
    } else {
        only(|party| party.agent_config.is_some())
    };
    found?.name.clone()
}

fn entry(diagnostics: &mut Diagnostics, named: &At<String>, declared: &Declared) -> Option<Name> {
    let known = || declared.parties.iter().map(|p| p.key.value.as_str());
    if let Some(party) = declared.parties.iter().find(|p| p.key.value == named.value) {
        return party.name.clone();
    }
    if declared.parties.is_empty() {
        // The missing listener is reported elsewhere; the entry may be correct.
        return None;
    }
    let message = format!("organism.entry: nothing here is called `{}`", named.value);
    let fix = find_nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
    diagnostics.report(Code::ConfigUnknownName, named.at, &message, &fix);
    None
}

fn listener(one: Resolved<'_>, name: Name, open: bool, (directory, log): (&Path, &str)) -> Listener {
    let party = one.party;
    let bare = |all: Vec<At<ElementSchema>>| all.into_iter().map(|at| at.value).collect();
    // An invalid name is reported where it is declared or looked up.
    let mut peers: Vec<Name> = party.peers.iter().filter_map(|p| Name::parse(&p.value).ok()).collect();
    let calls_itself = party.built_in.as_ref().is_some_and(|one| one.kind.calls_itself);
    if party.workflow.is_some() || calls_itself {
        // Branches of a workflow are calls to itself.
        peers.push(name.clone());
    } else {
        let takers = party.task_takers.iter().filter_map(|taker| Name::parse(&taker.value).ok());
        let others: Vec<Name> = takers.filter(|taker| !peers.contains(taker)).collect();
        peers.extend(others);
    }
    let keys = &party.delivery;
    let (first_ms, longest_ms) = keys.retry.backoff.value;
    Listener {
        name,
        reach: programs::reach(party, directory, log),
        accepts: bare(one.accepts),
        returns: bare(one.returns),
        note: one.note,
        peers,
        turns: party.turns,
        share_percent: party.share_percent.unwrap_or(limits::SHARE_PERCENT),
        in_flight: party.in_flight,
        rate: keys.rate.as_ref().map(|rate| rate.value),
        timeout_ms: party.timeout_ms,
        idle_ms: keys.idle.as_ref().map(|idle| idle.value),
        retry: DeliveryRetry { attempts: keys.retry.attempts.value, first_ms, longest_ms },
        on_unknown: party.on_unknown.unwrap_or(OnUnknown::Retry),
        approval: keys.approval.rule(),
        timer_tell: keys.timers.tell.value.iter().filter_map(|p| Name::parse(&p.value).ok()).collect(),
        entry: party.entry || open,
        describe: keys.describe.value,
        sees: party
            .agent_config
            .as_ref()
            .map_or(ViewScope::Call, |agent_config| agent_config.keys.sees.value),
    }
}
