//! Classifies items: the first case that fits, by the name of the root element among the sender's permitted elements.
//! The case also gives the schema that judges the item. An addressee that does not exist, is hidden, or is not a peer
//! gets the same error, byte for byte.

use std::collections::BTreeSet;

use systole_schema::find_nearest;
use systole_wire::{QName, namespaces};

use crate::types::codes::Code;
use crate::types::composition::{Composition, GatherRule, Listener, SchemaId};
use crate::types::flow::PayloadKind;
use crate::types::ids::Name;
use crate::types::refusal::Refusal;

/// The case of an item from `sender`, and the schema that judges it. `to` is the addressee that it names, if any. The
/// payloads that the pump answers are not among the cases: the door knows them from a table.
pub fn of_item(
    composition: &Composition,
    sender: &Listener,
    element: &QName,
    to: Option<&str>,
) -> Result<(PayloadKind, SchemaId), Refusal> {
    if *element.ns == *namespaces::CORE || *element.ns == *namespaces::META {
        return of_core(sender, element);
    }
    if to.is_none() {
        if element.is_named(&sender.own_namespace(), sender.name.as_str()) {
            return sender.note.map(|schema| (PayloadKind::Note, schema)).ok_or_else(|| no_notes(element));
        }
        if let Some(schema) = sender.find_returned(element) {
            return Ok((PayloadKind::Final, schema));
        }
    }
    let peers = sender.peers.iter().filter_map(|name| composition.find_listener(name));
    let (to, schema) = choose_addressee(peers.collect(), element, to, "your peers take")?;
    Ok((PayloadKind::For(to), schema))
}

/// The addressee of a thread's initial payload: a peer of `sender`, chosen by `to` if it is given.
pub fn of_initial(
    composition: &Composition,
    sender: &Listener,
    element: &QName,
    to: Option<&str>,
) -> Result<(Name, SchemaId), Refusal> {
    match of_item(composition, sender, element, to) {
        Ok((PayloadKind::For(to), schema)) => Ok((to, schema)),
        Ok(_) => Err(initial_without_peer(element)),
        Err(refusal) if refusal.code == Code::Ambiguous => {
            let peers = sender.peers.iter().filter_map(|name| composition.find_listener(name));
            let first = peers.clone().find(|peer| peer.find_accepted(element).is_some());
            let named = first.map(|peer| format!("name one of them: <initial-payload to=\"{}\">", peer.name));
            Err(named.into_iter().fold(refusal, Refusal::fixed_by))
        }
        Err(refusal) => Err(refusal),
    }
}

/// The refusal of an initial payload that is not for a peer.
pub fn initial_without_peer(element: &QName) -> Refusal {
    let words = "the initial payload of a thread must be one that a peer accepts";
    Refusal::new(Code::NotAPeer, words).of_element(&*element.local)
}

/// Adds to the refusal of an item without a taker what its sender may send: its own answers and the elements that its
/// peers accept. The text does not depend on the addressee in the item, and names only peers.
pub fn with_allowed_elements(
    mut refusal: Refusal,
    composition: &Composition,
    sender: &Listener,
    element: &QName,
) -> Refusal {
    if !matches!(refusal.code, Code::NotAPeer | Code::NoSuchElement) || sender.returns.is_empty() {
        return refusal;
    }
    let peers: Vec<&Listener> =
        sender.peers.iter().filter_map(|name| composition.find_listener(name)).collect();
    let answers: Vec<String> = sender.returns.iter().map(|answer| answer.name.to_string()).collect();
    let mut expected = format!("your answers are: {}", answers.join(", "));
    if let Some(others) = refusal.expected.take().filter(|_| !peers.is_empty()) {
        expected.extend(["; ", &*others]);
    }
    refusal.expected = Some(expected);
    if sender.find_returned(element).is_some() {
        return refusal.fixed_by("leave the addressee out: your answer goes to your caller");
    }
    let known = || sender.returns.iter().chain(peers.iter().flat_map(|peer| &peer.accepts)).map(|e| &e.name);
    if let Some(fix) = nearest_of(element, &known().collect::<Vec<_>>()) {
        refusal.fix = Some(fix);
    }
    refusal
}

/// The fix for an element whose name is close to an accepted one. It prefers the accepted name in the element's own
/// namespace.
fn nearest_of(element: &QName, known: &[&QName]) -> Option<String> {
    let near = find_nearest(&element.local, known.iter().map(|name| &*name.local))?;
    let mut meant = known.iter().filter(|name| *name.local == *near);
    let meant = meant.clone().find(|name| name.ns == element.ns).or_else(|| meant.next())?;
    Some(format!("write <{} xmlns=\"{}\">", meant.local, meant.ns))
}

/// For an item without a namespace, or in the namespace of the reply around it: adds the namespace that its name has
/// among the sender's permitted elements. If several namespaces match, the refusal stays unchanged, because the
/// intended one is unknown.
pub fn in_a_known_namespace(mut refusal: Refusal, composition: &Composition, sender: &Listener) -> Refusal {
    // Among the reader's errors about an item, only namespace errors name a path.
    let (Code::NoNamespace | Code::Invalid, Some(path)) = (refusal.code, refusal.path.as_deref()) else {
        return refusal;
    };
    let local = path.trim_start_matches('/');
    let peers = sender.peers.iter().filter_map(|name| composition.find_listener(name));
    let known = sender.returns.iter().chain(peers.flat_map(|peer| &peer.accepts)).map(|taken| &taken.name);
    let named: BTreeSet<&str> = known.filter(|name| *name.local == *local).map(|name| &*name.ns).collect();
    if let (1, Some(ns)) = (named.len(), named.first()) {
        refusal.fix = Some(format!("write <{local} xmlns=\"{ns}\">"));
    }
    refusal
}

/// The sender's peers that accept an item without an addressee, if the file broadcasts the element and there is more
/// than one such peer.
pub fn find_takers<'c>(
    composition: &'c Composition,
    sender: &Listener,
    element: &QName,
) -> Option<(GatherRule, Vec<&'c Listener>)> {
    let broadcast = composition.broadcasts.iter().find(|broadcast| broadcast.element == *element)?;
    let peers = broadcast.takers.iter().filter(|taker| sender.peers.contains(taker));
    let takers: Vec<&Listener> = peers.filter_map(|taker| composition.find_listener(taker)).collect();
    (takers.len() > 1).then_some((broadcast.gather, takers))
}

fn of_core(sender: &Listener, element: &QName) -> Result<(PayloadKind, SchemaId), Refusal> {
    let is_core = *element.ns == *namespaces::CORE;
    match &*element.local {
        "final-report" if is_core && sender.turns > 1 => Ok((PayloadKind::Final, SchemaId::CORE)),
        local => {
            let words = format!("{local} is a payload that only the core sends");
            Err(Refusal::new(Code::ForbiddenNamespace, words)
                .of_element(local)
                .with_expected("spawn-thread, or a payload of your own or of a peer")
                .fixed_by(format!("leave {local} out")))
        }
    }
}

/// The addressee of a message from this client. If the message names none and the entry accepts the element, this is
/// the entry. Listeners that are open only to other clients do not exist for this client.
pub fn of_message(
    composition: &Composition,
    client: &Name,
    element: &QName,
    to: Option<&str>,
) -> Result<(Name, SchemaId), Refusal> {
    let open = composition.listeners.values();
    // A schedule is part of the organism's file, and no door lets anyone in under its name.
    let is_open = |l: &&Listener| {
        *client == Name::new_schedule() || l.entry && composition.may_address(client, &l.name)
    };
    let open: Vec<&Listener> = open.filter(is_open).collect();
    let entry = open.iter().find(|l| to.is_none() && composition.entry.as_ref() == Some(&l.name));
    if let Some((entry, schema)) = entry.and_then(|l| Some((*l, l.find_accepted(element)?))) {
        return Ok((entry.name.clone(), schema));
    }
    choose_addressee(open, element, to, "open to you are")
}

/// The schema that judges an amendment for a listener.
pub fn of_amendment(composition: &Composition, to: &Name, element: &QName) -> Result<SchemaId, Refusal> {
    let listener = composition.find_listener(to).into_iter().collect();
    choose_addressee(listener, element, None, "it takes").map(|(_, schema)| schema)
}

fn no_notes(element: &QName) -> Refusal {
    Refusal::new(Code::NoSuchElement, "no schema declares the root tag of your notes")
        .of_element(&*element.local)
        .fixed_by("a final, or a call to a peer; for notes, a schema of your own that declares the tag")
}

fn choose_addressee(
    reachable: Vec<&Listener>,
    element: &QName,
    to: Option<&str>,
    who: &str,
) -> Result<(Name, SchemaId), Refusal> {
    let named = |l: &&&Listener| to.is_none_or(|to| l.name.as_str() == to);
    let takers: Vec<(&Listener, SchemaId)> =
        reachable.iter().filter(named).filter_map(|l| Some((*l, l.find_accepted(element)?))).collect();
    match takers.as_slice() {
        [(one, schema)] => Ok((one.name.clone(), *schema)),
        [] => Err(refuse_untaken(&reachable, element, who)),
        [(first, _), ..] => {
            let names: Vec<&str> = takers.iter().map(|(l, _)| l.name.as_str()).collect();
            let words = format!("more than one of them takes this element: {}", names.join(", "));
            Err(Refusal::new(Code::Ambiguous, words)
                .of_element(&*element.local)
                .fixed_by(format!("wrap it in an envelope with <to>{}</to>", first.name.as_str())))
        }
    }
}

fn refuse_untaken(reachable: &[&Listener], element: &QName, who: &str) -> Refusal {
    // What a listener sends itself is of no interest to others.
    let shown = || reachable.iter().flat_map(|l| l.accepts.iter().filter(|one| l.shows_outside(one)));
    let mut known: Vec<String> = shown().map(|e| e.name.to_string()).collect();
    known.sort();
    known.dedup();
    let expected = if known.is_empty() {
        "nothing: you may address no listener".into()
    } else {
        format!("{who}: {}", known.join(", "))
    };
    let received = element.to_string();
    let mut taken = reachable.iter().flat_map(|l| l.accepts.iter()).map(|e| &e.name);
    // If a reachable listener accepts the element, it was only addressed to the wrong listener and is not misspelt.
    let misspelt = taken.clone().any(|q| q.ns == element.ns) && !taken.any(|q| q == element);
    let (code, words) = if misspelt {
        (Code::NoSuchElement, "no element of this name is taken there in this namespace")
    } else {
        (Code::NotAPeer, "you may not address this listener, or it does not take this element")
    };
    let refusal =
        Refusal::new(code, words).of_element(&*element.local).with_expected(expected).with_received(received);
    // An element that is accepted somewhere went to the wrong listener. Its name needs no fix.
    let taken: Vec<&QName> = reachable.iter().flat_map(|l| l.accepts.iter()).map(|e| &e.name).collect();
    if taken.contains(&element) {
        return refusal;
    }
    let shown: Vec<&QName> = shown().map(|one| &one.name).collect();
    match nearest_of(element, &shown) {
        Some(fix) => refusal.fixed_by(fix),
        None => refusal,
    }
}
