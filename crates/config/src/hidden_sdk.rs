//! A program on an SDK whose sandbox hides the folder `sdk`. It ends at its first import, so this is a warning.
//!
//! Input: a listener with a sandbox, and the organism's folder. This module reads the files that `run` names.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::diagnostic::Diagnostic;
use super::diagnostics::Diagnostics;
use super::party::Party;
use crate::limits::IMPORT_BYTES;
use systole_core::types::codes::Code;

/// What a program on an SDK imports.
const PACKAGE: &str = "systole_sdk";

/// A warning if the program of a listener imports an SDK that its sandbox does not let it read.
pub(super) fn warning(
    diagnostics: &Diagnostics,
    party: &Party,
    directory: &Path,
) -> Option<(usize, Diagnostic)> {
    let sandbox = party.sandbox.as_ref()?;
    let language = party.run.iter().find_map(|word| find_language(&directory.join(word)))?;
    let folder = fs::canonicalize(directory.join("sdk").join(language)).ok()?;
    let mut open = sandbox.read.iter().chain(&sandbox.write);
    if open.any(|named| fs::canonicalize(directory.join(&named.value)).is_ok_and(|at| folder.starts_with(at)))
    {
        return None;
    }
    let message = format!("{}.sandbox hides ./sdk/{language}, which the program imports", party.path());
    let place = diagnostics.place(party.key.at);
    let fix = Some("sandbox: {read: [./sdk]}");
    Some((party.key.at.start, Diagnostic::new(Code::ConfigHiddenSdk, place, &message, fix)))
}

/// The language of a program that imports the SDK of that language.
fn find_language(file: &Path) -> Option<&'static str> {
    let language = match file.extension()?.to_str()? {
        "py" => "python",
        "js" | "mjs" | "ts" | "mts" => "typescript",
        _ => return None,
    };
    let mut beginning = Vec::new();
    fs::File::open(file).ok()?.take(IMPORT_BYTES).read_to_end(&mut beginning).ok()?;
    String::from_utf8_lossy(&beginning).contains(PACKAGE).then_some(language)
}
