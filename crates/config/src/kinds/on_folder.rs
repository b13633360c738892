//! What the kinds that work on a folder have in common: the folder, and the patterns of files and commands.

use std::fs;
use std::path::Path;

use systole_workspace::check_pattern;

use super::{KindKeys, KindPart, find_named};
use crate::diagnostics::Diagnostics;
use crate::forms::{AnyText, NameSet, Unread, UnreadValue, read_late};
use crate::section::section;
use crate::tree::Span;
use crate::value::At;

section! {
    pub(crate) FolderKeys {
        deny: optional("[]") <Unread<NameSet>> "with `code` or `workspace`: files of that folder that it neither shows nor edits, in addition to keys and credentials, as lines of a `.gitignore`";
    }
}

/// The ending of the folder beside the log in which workspaces keep what they need to take edits back.
pub(crate) const STATE_FOLDER: &str = ".hands";

/// A key of patterns, which may be absent.
type PatternKey<'k> = (&'k str, &'k Option<At<UnreadValue<NameSet>>>);

/// Reads the folder and its deny list.
pub(super) fn read_folder(
    diagnostics: &mut Diagnostics,
    keys: &KindKeys,
    root: &Option<At<UnreadValue<AnyText>>>,
    at: Span,
) -> KindPart {
    let root = read_late(diagnostics, root).unwrap_or(At { at, value: ".".to_owned() });
    let given = ("deny", &keys.folder.deny);
    let rules = read_rules(diagnostics, keys, given, "\"*.pem\", or private/", check_file_pattern);
    KindPart { folder: Some(root), rules, ..KindPart::default() }
}

/// Why a pattern of files cannot be used.
pub(super) fn check_file_pattern(pattern: &str) -> Result<(), String> {
    check_pattern(pattern).map_err(|fault| fault.to_string())
}

/// Reads patterns as words of a program: pairs of the key and a pattern. Reports those that cannot be used.
pub(super) fn read_rules(
    diagnostics: &mut Diagnostics,
    keys: &KindKeys,
    (key, given): PatternKey<'_>,
    fix: &str,
    check: impl Fn(&str) -> Result<(), String>,
) -> Vec<String> {
    let mut rules = Vec::new();
    for At { at, value } in read_late(diagnostics, given).map(|found| found.value).unwrap_or_default() {
        if let Err(why) = check(&value) {
            let message = format!("{}.{key}: `{value}` cannot be used: {why}", keys.own.path);
            diagnostics.report_value(at, &message, fix);
        }
        rules.extend([key.to_owned(), value]);
    }
    rules
}

/// Reports a deny list of a listener that works on no folder.
pub(super) fn refuse_deny(diagnostics: &mut Diagnostics, keys: &KindKeys) {
    let why = "only a listener of `code` or `workspace` has a deny list";
    refuse_key(diagnostics, keys, ("deny", &keys.folder.deny), why);
}

/// Reports a key that needs a folder.
pub(super) fn refuse_key(
    diagnostics: &mut Diagnostics,
    keys: &KindKeys,
    (key, given): PatternKey<'_>,
    why: &str,
) {
    let Some(given) = given else { return };
    given.value.check_texts(diagnostics);
    refuse_value(diagnostics, keys, key, why);
}

/// The same for a key of any form.
pub(super) fn refuse_value(diagnostics: &mut Diagnostics, keys: &KindKeys, key: &str, why: &str) {
    let Some(at) = keys.own.place_of(key) else { return };
    // What is of another kind cannot have a folder as well.
    let fix = match find_named(keys).is_some_and(|(kind, _)| kind.folder.is_none()) {
        true => "leave it out",
        false => "code: ./src or workspace: ./src beside it, or leave it out",
    };
    diagnostics.report_value(at, &format!("{}.{key}: {why}", keys.own.path), fix);
}

/// The organism's own folder as a path from a folder that contains it. `None` if it is the same folder or elsewhere.
pub(crate) fn own_folder_in(root: &Path, directory: &Path) -> Option<String> {
    let (root, own) = (fs::canonicalize(root).ok()?, fs::canonicalize(directory).ok()?);
    let inner = own.strip_prefix(root).ok()?.to_str()?;
    (!inner.is_empty()).then(|| inner.to_owned())
}
