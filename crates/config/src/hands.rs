//! Listeners that work on a folder and are part of this program: `code`, which searches it, and `workspace`, which edits
//! files and runs commands in it.
//!
//! Input: the keys of a listener. Output: its folder and its rules. `folders` checks the folder.

use systole_code::check_pattern;
use systole_workspace::check_shell_pattern;

use super::diagnostics::Diagnostics;
use super::hands_kind::{HandsDeclaration, HandsKind};
use super::names::single;
use super::party::Party;
use super::value::{self, At, Fields};
use systole_core::types::codes::Code;
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
pub(super) fn read(diagnostics: &mut Diagnostics, own: &Fields<'_>, party: &mut Party) -> bool {
    let kinds = HandsKind::ALL.into_iter().filter_map(|kind| Some((kind, own.get(kind.key())?)));
    let mut kinds = kinds.collect::<Vec<_>>().into_iter();
    let Some((kind, (node, path))) = kinds.next() else {
        for (key, message) in OWN {
            not_here(diagnostics, own, key, message);
        }
        return false;
    };
    if let Some((_, (other, other_path))) = kinds.next() {
        let message = format!("{other_path}: a listener either searches a folder or changes it");
        let second = (node.span, "it searches this one");
        diagnostics.report_beside(Code::ConfigValue, other.span, &message, Some("two listeners"), second);
    }
    // The commands of a workspace have variables.
    let variables: &[&str] = if kind == HandsKind::Code { &["env", "pass"] } else { &[] };
    for key in OTHERS.into_iter().chain(variables.iter().copied()) {
        if let Some((other, other_path)) = own.get(key) {
            let message = format!(
                "{other_path}: a listener of `{}` is built in, and takes and returns its own elements",
                kind.key()
            );
            let (fix, second) = (Some("one of the two"), (node.span, "a built-in listener"));
            diagnostics.report_beside(Code::ConfigValue, other.span, &message, fix, second);
        }
    }
    let root = value::text(diagnostics, node, &path).unwrap_or(At { at: node.span, value: ".".to_owned() });
    let of_files = |pattern: &str| check_pattern(pattern).map_err(|fault| fault.to_string());
    let deny = patterns(diagnostics, own, "deny", "\"*.pem\", or private/", of_files);
    let (mut ask, mut shell) = (Vec::new(), Vec::new());
    match kind {
        HandsKind::Code => {
            for (key, message) in OWN.into_iter().skip(1) {
                not_here(diagnostics, own, key, message);
            }
        }
        HandsKind::Workspace => {
            ask = patterns(diagnostics, own, "ask", "\"*.lock\", or deploy/", of_files);
            let of_words = |pattern: &str| check_shell_pattern(pattern).map_err(|fault| fault.to_string());
            shell = patterns(diagnostics, own, "shell", "cargo test *", of_words);
            party.turns = TURNS;
            party.timeout_ms = TIMEOUT_MS;
            party.on_unknown = Some(OnUnknown::Fail);
        }
    }
    party.in_flight = IN_FLIGHT;
    party.hands = Some(HandsDeclaration { kind, root, deny, ask, shell });
    true
}

/// A key that this listener does not have.
fn not_here(diagnostics: &mut Diagnostics, own: &Fields<'_>, key: &str, message: &str) {
    let (Some((node, path)), Some(at)) = (own.get(key), own.place_of(key)) else { return };
    // A value of the wrong kind is reported as well.
    let _read = value::texts(diagnostics, node, &path);
    let message = format!("{path}: {message}");
    let fix = "code: ./src or workspace: ./src beside it, or leave it out";
    diagnostics.report(Code::ConfigValue, at, &message, Some(fix));
}

fn patterns(
    diagnostics: &mut Diagnostics,
    own: &Fields<'_>,
    key: &str,
    fix: &str,
    check: impl Fn(&str) -> Result<(), String>,
) -> Vec<At<String>> {
    let Some((node, path)) = own.get(key) else { return Vec::new() };
    let found = value::texts(diagnostics, node, &path).unwrap_or_default();
    let mut usable = Vec::new();
    for pattern in single(diagnostics, found, &path) {
        match check(&pattern.value) {
            Ok(()) => usable.push(pattern),
            Err(why) => {
                let message = format!("{path}: `{}` cannot be used: {why}", pattern.value);
                diagnostics.report(Code::ConfigValue, pattern.at, &message, Some(fix));
            }
        }
    }
    usable
}
