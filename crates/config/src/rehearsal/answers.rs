//! Stand-ins: answers in place of a listener, so that a test needs no real program. Input: the stand-ins of a test
//! file. Output: a list of answers for each listener, which then runs inside the test's process.

use std::collections::BTreeMap;
use std::path::Path;

use systole_kit::schema::find_nearest;

use super::table::STAND_IN;
use crate::diagnostic::FilePlace;
use crate::diagnostics::Diagnostics;
use crate::traps;
use crate::tree::{Node, Value};
use crate::value::{At, count, flag, map, text, texts};
use crate::written_payloads::{Among, WrittenPayload, read_payload};
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;

/// The answers in place of a listener.
#[derive(Clone, Debug, Default)]
pub struct StandIn {
    /// Its answers, in order.
    pub answers: Vec<StandInAnswer>,
    /// Why the listener was not started, if the test has no answers for it.
    pub why: Option<String>,
}

/// An answer in place of a listener.
#[derive(Clone, Debug)]
pub struct StandInAnswer {
    /// Its place in the test file.
    pub place: FilePlace,
    /// The texts that the request must contain, all of them, for this answer to be given.
    pub only_if: Vec<String>,
    /// The payload, or the message of a failure and whether the request may be retried.
    pub says: Result<Vec<u8>, (String, bool)>,
    /// How many times it is given.
    pub times: usize,
}

/// An unresolved stand-in.
pub(super) struct Written {
    listener: At<String>,
    answers: Vec<WrittenAnswer>,
}

struct WrittenAnswer {
    place: FilePlace,
    only_if: Vec<String>,
    says: Result<At<WrittenPayload>, (String, bool)>,
    times: usize,
}

const FIX: &str = "a list of answers, as [{answer: {ELEMENT: TEXT}}]";

/// Reads the section.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str, folder: &Path) -> Vec<Written> {
    let entries = map(diagnostics, node, node.span, path).unwrap_or_default();
    let mut found = Vec::new();
    for entry in entries {
        let path = format!("{path}.{}", entry.key);
        let items = super::list(diagnostics, &entry.value, &path, FIX);
        let answers = items.iter().filter_map(|item| answer(diagnostics, item, &path, folder)).collect();
        found.push(Written { listener: At { at: entry.at, value: entry.key.clone() }, answers });
    }
    found
}

fn answer(diagnostics: &mut Diagnostics, node: &Node, path: &str, folder: &Path) -> Option<WrittenAnswer> {
    let entries = map(diagnostics, node, node.span, path)?;
    let (mut only_if, mut says, mut fails, mut retry, mut times) = (Vec::new(), None, None, false, 1);
    for (at, entry) in entries.iter().enumerate() {
        let path = format!("{path}.{}", entry.key);
        match entry.key.as_str() {
            "if" => only_if = one_or_several(diagnostics, &entry.value, &path),
            "answer" => says = read_payload(diagnostics, &entry.value, &path, folder),
            "fails" => fails = text(diagnostics, &entry.value, &path).map(|found| found.value),
            "retry" => retry = flag(diagnostics, &entry.value, &path).unwrap_or(false),
            "times" => times = count(diagnostics, &entry.value, &path, 1, 1_000_000).unwrap_or(1),
            other => {
                let before = at.checked_sub(1).and_then(|before| entries.get(before));
                if before.is_some_and(|before| traps::cut_step(diagnostics, node, before, entry, &path)) {
                    continue;
                }
                let message = format!("`{path}` is not a key here");
                let fix = find_nearest(other, STAND_IN.iter().copied());
                let fix = fix.map_or_else(|| format!("one of {}", STAND_IN.join(", ")), str::to_owned);
                diagnostics.report(Code::ConfigUnknownKey, entry.at, &message, &fix);
            }
        }
    }
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    if has("answer") == has("fails") && !matches!(node.value, Value::Reported) {
        let message = format!("{path}: an answer has either `answer` or `fails`");
        diagnostics.report(
            Code::ConfigMissing,
            node.span,
            &message,
            "answer: {ELEMENT: TEXT}, or fails: WORDS",
        );
    }
    let says = match (says, fails) {
        (Some(says), None) => Ok(says),
        (None, Some(words)) => Err((words, retry)),
        _ => return None,
    };
    let times = usize::try_from(times).unwrap_or(usize::MAX);
    Some(WrittenAnswer { place: diagnostics.place(node.span), only_if, says, times })
}

/// A text, or a list of texts.
fn one_or_several(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<String> {
    let found = match &node.value {
        Value::List(_) => texts(diagnostics, node, path).unwrap_or_default(),
        _ => text(diagnostics, node, path).into_iter().collect(),
    };
    found.into_iter().map(|one| one.value).collect()
}

/// Looks up the listeners and their answers.
pub(super) fn resolve<'w>(
    diagnostics: &mut Diagnostics,
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
            let message = format!("stand_ins: the organism has no listener `{name}`");
            let fix = find_nearest(name, known());
            let fix = fix.map_or_else(|| known().collect::<Vec<_>>().join(", "), str::to_owned);
            diagnostics.report(Code::ConfigUnknownName, one.listener.at, &message, &fix);
            continue;
        };
        let elements = listener.returns.iter().collect();
        let among = Among { composition, elements, what: "answer" };
        let answers = one.answers.iter().filter_map(|answer| {
            let says = match &answer.says {
                Ok(payload) => Ok(among.document(diagnostics, payload)?),
                Err(failure) => Err(failure.clone()),
            };
            let (place, only_if) = (answer.place.clone(), answer.only_if.clone());
            Some(StandInAnswer { place, only_if, says, times: answer.times })
        });
        // A test's answers replace those of its file.
        found.insert(listener.name.clone(), StandIn { answers: answers.collect(), why: None });
    }
    found
}
