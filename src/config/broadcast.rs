//! The section `broadcast`: elements that go to every peer of the sender that takes them. In comes the
//! node, out comes what it declares; elements are looked up where those of all listeners are known.
//!
//! It never says who may address whom: that stands in `peers`, and holds here as well.

use systole_kit::QName;
use systole_kit::schema::nearest;

use super::compose::one_of;
use super::desk::Desk;
use super::value::{self, At};
use super::yaml::Node;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Broadcast, Element, Gather};
use systole_core::types::ids::Name;

/// One element as it is declared.
pub(super) struct Declaration {
    element: At<String>,
    gather: Gather,
}

/// Reads the section.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> Vec<Declaration> {
    let choices = [("all", Gather::All), ("first", Gather::First)];
    let mut declared = Vec::new();
    for entry in value::map(desk, node, node.span, path).unwrap_or_default() {
        let gather = value::word(desk, &entry.value, &value::joined(path, &entry.key), &choices);
        let element = At { at: entry.at, value: entry.key.clone() };
        declared.push(Declaration { element, gather: gather.unwrap_or(Gather::All) });
    }
    declared
}

/// What the elements are looked up in: a listener, what it takes, and whom it may address.
pub(super) struct Known<'d> {
    pub(super) name: Option<&'d Name>,
    pub(super) accepts: &'d [At<Element>],
    pub(super) peers: &'d [At<String>],
}

impl Known<'_> {
    fn takes(&self, element: &QName) -> bool {
        self.accepts.iter().any(|taken| taken.value.name == *element)
    }
}

/// Looks up the elements, and who takes them, in order of the file. The same name in several namespaces is
/// several elements.
pub(super) fn resolve(desk: &mut Desk, declared: &[Declaration], all: &[Known<'_>]) -> Vec<Broadcast> {
    let accepted = || all.iter().flat_map(|one| one.accepts).map(|taken| &taken.value.name);
    let mut broadcasts = Vec::new();
    for Declaration { element: named, gather } in declared {
        let mut elements: Vec<&QName> = accepted().filter(|one| *one.local == *named.value).collect();
        elements.sort();
        elements.dedup();
        if elements.is_empty() {
            unknown(desk, named, accepted());
            continue;
        }
        let takers_of = |element: &QName| -> Vec<Name> {
            all.iter().filter(|one| one.takes(element)).filter_map(|one| one.name.cloned()).collect()
        };
        let mut several: Vec<(&QName, Vec<Name>)> =
            elements.into_iter().map(|element| (element, takers_of(element))).collect();
        several.retain(|(_, takers)| takers.len() > 1);
        if several.is_empty() {
            let told = format!("broadcast: `{}` is accepted by one listener only", named.value);
            let mend = "a second listener that accepts it, with the same schema, or leave it out";
            let taken =
                all.iter().flat_map(|one| one.accepts).find(|one| *one.value.name.local == *named.value);
            match taken {
                Some(taken) => {
                    let second = (taken.at, "accepted here");
                    desk.tell_seeing(Code::ConfigValue, named.at, &told, Some(mend), second);
                }
                None => desk.tell(Code::ConfigValue, named.at, &told, Some(mend)),
            }
        } else if !several.iter().any(|(_, takers)| all.iter().any(|one| addresses_two(one, takers))) {
            let told = ["broadcast: nobody may send `", &named.value, "` to two of those that accept it"];
            let mend = "two or more of them under `peers` of who sends it, or leave it out";
            desk.tell(Code::ConfigValue, named.at, &told.concat(), Some(mend));
        }
        broadcasts.extend(several.into_iter().map(|(element, takers)| Broadcast {
            element: element.clone(),
            gather: *gather,
            takers,
        }));
    }
    broadcasts
}

fn addresses_two(one: &Known<'_>, takers: &[Name]) -> bool {
    let is_taker = |peer: &&At<String>| takers.iter().any(|taker| taker.as_str() == peer.value);
    one.peers.iter().filter(is_taker).count() > 1
}

fn unknown<'d>(desk: &mut Desk, named: &At<String>, accepted: impl Iterator<Item = &'d QName>) {
    let told = format!("broadcast: `{}` is accepted by no listener", named.value);
    let mut known: Vec<&str> = accepted.map(|element| &*element.local).collect();
    known.sort_unstable();
    known.dedup();
    let nearest = nearest(&named.value, known.iter().copied());
    let mend = nearest.map_or_else(|| one_of(known.iter().copied()), str::to_owned);
    desk.tell(Code::ConfigUnknownElement, named.at, &told, Some(&mend));
}
