//! The section `broadcast`: elements that go to every peer of the sender that accepts them. Input: the
//! node. Output: the declared broadcasts. Elements are looked up when those of all listeners are known.
//!
//! It does not say who may address whom: `peers` says that, also for broadcasts.

use systole_kit::QName;
use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::forms::{WordOf, word_choice};
use super::key::{KeyForm, KeyRow};
use super::names::one_of;
use super::section::{Form, form};
use super::tree::{Entry, Node};
use super::value::{self, At, join_path};
use systole_core::types::codes::Code;
use systole_core::types::composition::{Broadcast, ElementSchema, GatherRule};
use systole_core::types::ids::Name;

/// One declared element.
pub(super) struct BroadcastDeclaration {
    element: At<String>,
    gather: GatherRule,
}

word_choice! { GatherWord: GatherRule { "all" = GatherRule::All, "first" = GatherRule::First } }

form! {
    /// The elements by name.
    pub(super) BroadcastMap -> Vec<BroadcastDeclaration> {
        KeyForm::Names(""), read_broadcasts, below &[KeyRow::any_name(
            "required",
            "whose answers its sender waits for: `all`, or `first`, the first that is not a failure",
            <WordOf<GatherWord>>::FORM,
            &[],
        )]
    }
}

fn read_broadcasts(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
) -> Option<Vec<BroadcastDeclaration>> {
    let entries = value::map(diagnostics, node, node.span, path)?;
    let mut read = |entry: &Entry| {
        let gather = <WordOf<GatherWord>>::read(diagnostics, &entry.value, &join_path(path, &entry.key));
        let element = At { at: entry.at, value: entry.key.clone() };
        BroadcastDeclaration { element, gather: gather.unwrap_or(GatherRule::All) }
    };
    Some(entries.iter().map(&mut read).collect())
}

/// A listener as the look-up sees it: its name, its accepted elements and its peers.
pub(super) struct Known<'d> {
    pub(super) name: Option<&'d Name>,
    pub(super) accepts: &'d [At<ElementSchema>],
    pub(super) peers: &'d [At<String>],
}

impl Known<'_> {
    fn takes(&self, element: &QName) -> bool {
        self.accepts.iter().any(|taken| taken.value.name == *element)
    }
}

/// Looks up the elements and the listeners that accept them, in file order. The same name in several
/// namespaces means several elements.
pub(super) fn resolve(
    diagnostics: &mut Diagnostics,
    declared: &[BroadcastDeclaration],
    all: &[Known<'_>],
) -> Vec<Broadcast> {
    let accepted = || all.iter().flat_map(|one| one.accepts).map(|taken| &taken.value.name);
    let mut broadcasts = Vec::new();
    for BroadcastDeclaration { element: named, gather } in declared {
        let mut elements: Vec<&QName> = accepted().filter(|one| *one.local == *named.value).collect();
        elements.sort();
        elements.dedup();
        if elements.is_empty() {
            report_unknown(diagnostics, named, accepted());
            continue;
        }
        let takers_of = |element: &QName| -> Vec<Name> {
            all.iter().filter(|one| one.takes(element)).filter_map(|one| one.name.cloned()).collect()
        };
        let mut several: Vec<(&QName, Vec<Name>)> =
            elements.into_iter().map(|element| (element, takers_of(element))).collect();
        several.retain(|(_, takers)| takers.len() > 1);
        if several.is_empty() {
            let message = format!("broadcast: `{}` is accepted by one listener only", named.value);
            let fix = "a second listener that accepts it, with the same schema, or leave it out";
            let taken =
                all.iter().flat_map(|one| one.accepts).find(|one| *one.value.name.local == *named.value);
            match taken {
                Some(taken) => {
                    let second = (taken.at, "accepted here");
                    diagnostics.report_value_beside(named.at, &message, fix, second);
                }
                None => diagnostics.report_value(named.at, &message, fix),
            }
        } else if !several.iter().any(|(_, takers)| all.iter().any(|one| addresses_two(one, takers))) {
            let message =
                format!("broadcast: no listener may send `{}` to two of those that accept it", named.value);
            let fix = "two or more of them under `peers` of its sender, or leave it out";
            diagnostics.report_value(named.at, &message, fix);
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

fn report_unknown<'d>(
    diagnostics: &mut Diagnostics,
    named: &At<String>,
    accepted: impl Iterator<Item = &'d QName>,
) {
    let message = format!("broadcast: `{}` is accepted by no listener", named.value);
    let mut known: Vec<&str> = accepted.map(|element| &*element.local).collect();
    known.sort_unstable();
    known.dedup();
    let nearest = find_nearest(&named.value, known.iter().copied());
    let fix = nearest.map_or_else(|| one_of(known.iter().copied()), str::to_owned);
    diagnostics.report(Code::ConfigUnknownElement, named.at, &message, &fix);
}
