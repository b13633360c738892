//! Stand-ins: answers in place of a listener, so that a test needs no real program. What a test file says comes in; for
//! each listener a list of answers goes out, and the listener itself is reached in the process of the test.

use std::collections::BTreeMap;
use std::path::Path;

use systole_kit::schema::nearest;

use super::payload::{self, Among};
use super::table::STAND_IN;
use crate::config::desk::Desk;
use crate::config::diagnostic::Place;
use crate::config::value::{At, count, flag, map, text};
use crate::config::yaml::{Node, Value};
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;

/// What answers in place of a listener.
#[derive(Clone, Debug, Default)]
pub struct StandIn {
    /// Its answers, in order.
    pub answers: Vec<StandInAnswer>,
    /// Why the listener was not started, if the test gives no answers in place of it.
    pub why: Option<String>,
}

/// An answer in place of a listener.
#[derive(Clone, Debug)]
pub struct StandInAnswer {
    /// Where it is written.
    pub place: Place,
    /// It is given only if the request holds this text.
    pub only_if: Option<String>,
    /// The payload, or the words of a failure and whether the request may be tried again.
    pub says: Result<Vec<u8>, (String, bool)>,
    /// How often it is given.
    pub times: usize,
}

/// A stand-in as it is written.
pub(super) struct Written {
    listener: At<String>,
    answers: Vec<WrittenAnswer>,
}

struct WrittenAnswer {
    place: Place,
    only_if: Option<String>,
    says: Result<At<payload::Written>, (String, bool)>,
    times: usize,
}

const MEND: &str = "a list of answers, as [{answer: {ELEMENT: TEXT}}]";

/// Reads the section.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str, folder: &Path) -> Vec<Written> {
    let entries = map(desk, node, node.span, path).unwrap_or_default();
    let mut found = Vec::new();
    for entry in entries {
        let path = format!("{path}.{}", entry.key);
        let items = super::list(desk, &entry.value, &path, MEND);
        let answers = items.iter().filter_map(|item| answer(desk, item, &path, folder)).collect();
        found.push(Written { listener: At { at: entry.at, value: entry.key.clone() }, answers });
    }
    found
}

fn answer(desk: &mut Desk, node: &Node, path: &str, folder: &Path) -> Option<WrittenAnswer> {
    let entries = map(desk, node, node.span, path)?;
    let (mut only_if, mut says, mut fails, mut retry, mut times) = (None, None, None, false, 1);
    for entry in entries {
        let path = format!("{path}.{}", entry.key);
        match entry.key.as_str() {
            "if" => only_if = text(desk, &entry.value, &path).map(|found| found.value),
            "answer" => says = payload::read(desk, &entry.value, &path, folder),
            "fails" => fails = text(desk, &entry.value, &path).map(|found| found.value),
            "retry" => retry = flag(desk, &entry.value, &path).unwrap_or(false),
            "times" => times = count(desk, &entry.value, &path, 1, 1_000_000).unwrap_or(1),
            other => {
                let told = format!("`{path}` is no key here");
                let mend = nearest(other, STAND_IN.iter().copied());
                let mend = mend.map_or_else(|| format!("one of {}", STAND_IN.join(", ")), str::to_owned);
                desk.tell(Code::ConfigUnknownKey, entry.at, &told, Some(&mend));
            }
        }
    }
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    if has("answer") == has("fails") && !matches!(node.value, Value::Told) {
        let told = format!("{path}: an answer has either `answer` or `fails`");
        desk.tell(Code::ConfigMissing, node.span, &told, Some("answer: {ELEMENT: TEXT}, or fails: WORDS"));
    }
    let says = match (says, fails) {
        (Some(says), None) => Ok(says),
        (None, Some(words)) => Err((words, retry)),
        _ => return None,
    };
    let times = usize::try_from(times).unwrap_or(usize::MAX);
    Some(WrittenAnswer { place: desk.place(node.span), only_if, says, times })
}

/// Looks up the listeners and what they answer.
pub(super) fn resolve<'w>(
    desk: &mut Desk,
    composition: &Composition,
    written: impl Iterator<Item = &'w Written>,
) -> BTreeMap<Name, StandIn> {
    let mut found = BTreeMap::new();
    for one in written {
        let known = || composition.listeners.keys().map(Name::as_str);
        let listener =
            composition.listeners.values().find(|listener| listener.name.as_str() == one.listener.value);
        let Some(listener) = listener else {
            let name = &one.listener.value;
            let told = format!("stand_ins: the organism has no listener `{name}`");
            let mend = nearest(name, known());
            let mend = mend.map_or_else(|| known().collect::<Vec<_>>().join(", "), str::to_owned);
            desk.tell(Code::ConfigUnknownName, one.listener.at, &told, Some(&mend));
            continue;
        };
        let elements = listener.returns.iter().collect();
        let among = Among { composition, elements, what: "answer" };
        let answers = one.answers.iter().filter_map(|answer| {
            let says = match &answer.says {
                Ok(payload) => Ok(among.document(desk, payload)?),
                Err(failure) => Err(failure.clone()),
            };
            let (place, only_if) = (answer.place.clone(), answer.only_if.clone());
            Some(StandInAnswer { place, only_if, says, times: answer.times })
        });
        // What a test says takes the place of what its file says.
        found.insert(listener.name.clone(), StandIn { answers: answers.collect(), why: None });
    }
    found
}
