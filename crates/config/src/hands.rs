//! Listeners that work on a folder and are part of this program: `code`, which searches it, and `workspace`, which edits
//! files and runs commands in it.
//!
//! Input: the keys of a listener. Output: its folder and its rules. `folders` checks the folder.

use systole_code::check_pattern;
use systole_workspace::check_shell_pattern;

use super::diagnostics::Diagnostics;
use super::forms::{NameSet, UnreadValue, read_late};
use super::hands_kind::{HandsDeclaration, HandsKind};
use super::listener_keys::ListenerKeys;
use super::party::Party;
use super::value::At;
use systole_core::types::composition::OnUnknown;

/// Keys that have no meaning beside the folder.
const OTHERS: [&str; 8] = ["run", "nats", "schema", "accepts", "returns", "peers", "mode", "framing"];
/// Keys that need the folder, and which listeners have them.
const OWN: [(&str, &str); 3] = [
    ("deny", "only a listener of `code` or `workspace` has a deny list"),
    ("ask", "only a listener of `workspace` has files that need a person"),
    ("shell", "only a listener of `workspace` runs commands"),
];
/// Deliveries at once.
const IN_FLIGHT: usize = 16;
/// Turns of a call to a workspace: the request, and what came of it, with room for both again.
const TURNS: u32 = 4;
/// How long an attempt of a workspace may take. Its commands get nine tenths of it.
const TIMEOUT_MS: u64 = 600_000;

/// Reads the keys of a listener that works on a folder. False if it is none.
pub(super) fn read(diagnostics: &mut Diagnostics, keys: &ListenerKeys, party: &mut Party) -> bool {
    let own = &keys.own;
    let mut kinds = HandsKind::ALL.into_iter().filter_map(|kind| Some((kind, own.value_place(kind.key())?)));
    let Some((kind, at)) = kinds.next() else {
        reject_keys(diagnostics, keys, 0);
        return false;
    };
    if let Some((other, other_at)) = kinds.next() {
        let message =
            format!("{}.{}: a listener either searches a folder or changes it", own.path, other.key());
        diagnostics.report_value_beside(other_at, &message, "two listeners", (at, "it searches this one"));
    }
    // The commands of a workspace have variables.
    let variables: &[&str] = if kind == HandsKind::Code { &["env", "pass"] } else { &[] };
    for key in OTHERS.iter().chain(variables) {
        if let Some(other) = own.value_place(key) {
            let message = format!(
                "{}.{key}: a listener of `{}` is built in, and takes and returns its own elements",
                own.path,
                kind.key()
            );
            diagnostics.report_value_beside(other, &message, "one of the two", (at, "a built-in listener"));
        }
    }
    let root = match kind {
        HandsKind::Code => read_late(diagnostics, &keys.code),
        HandsKind::Workspace => read_late(diagnostics, &keys.workspace),
    };
    let root = root.unwrap_or(At { at, value: ".".to_owned() });
    let of_files = |pattern: &str| check_pattern(pattern).map_err(|fault| fault.to_string());
    let path = |key: &str| format!("{}.{key}", own.path);
    let deny = check_patterns(diagnostics, &keys.deny, &path("deny"), "\"*.pem\", or private/", of_files);
    let (mut ask, mut shell) = (Vec::new(), Vec::new());
    match kind {
        HandsKind::Code => reject_keys(diagnostics, keys, 1),
        HandsKind::Workspace => {
            ask = check_patterns(diagnostics, &keys.ask, &path("ask"), "\"*.lock\", or deploy/", of_files);
            let of_words = |pattern: &str| check_shell_pattern(pattern).map_err(|fault| fault.to_string());
            shell = check_patterns(diagnostics, &keys.shell, &path("shell"), "cargo test *", of_words);
            party.turns = TURNS;
            party.timeout_ms = TIMEOUT_MS;
            party.on_unknown = Some(OnUnknown::Fail);
        }
    }
    party.in_flight = IN_FLIGHT;
    party.hands = Some(HandsDeclaration { kind, root, deny, ask, shell });
    true
}

/// Reports keys that this listener does not have, from this one of `OWN` on.
fn reject_keys(diagnostics: &mut Diagnostics, keys: &ListenerKeys, first: usize) {
    let values = [&keys.deny, &keys.ask, &keys.shell];
    for ((key, message), value) in OWN.iter().zip(values).skip(first) {
        let (Some(value), Some(at)) = (value, keys.own.place_of(key)) else { continue };
        value.value.check_texts(diagnostics);
        let message = format!("{}.{key}: {message}", keys.own.path);
        let fix = "code: ./src or workspace: ./src beside it, or leave it out";
        diagnostics.report_value(at, &message, fix);
    }
}

fn check_patterns(
    diagnostics: &mut Diagnostics,
    given: &Option<At<UnreadValue<NameSet>>>,
    path: &str,
    fix: &str,
    check: impl Fn(&str) -> Result<(), String>,
) -> Vec<At<String>> {
    let mut found = read_late(diagnostics, given).map(|found| found.value).unwrap_or_default();
    found.retain(|pattern| {
        let checked = check(&pattern.value);
        if let Err(why) = &checked {
            let message = format!("{path}: `{}` cannot be used: {why}", pattern.value);
            diagnostics.report_value(pattern.at, &message, fix);
        }
        checked.is_ok()
    });
    found
}
