//! An export in a test file, and what is expected of its replay.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::steps::{self, KeyRules, PlacedText};
use crate::diagnostic::FilePlace;
use crate::diagnostics::Diagnostics;
use crate::value::{Fields, text, word};
use systole_core::types::codes::Code;

/// An export that is replayed under the organism of the test.
#[derive(Debug)]
pub struct ExpectedReplay {
    /// Its place in the test file.
    pub place: FilePlace,
    /// The export.
    pub file: PathBuf,
    /// Whether every record has to come out equal. Otherwise the replay only has to be valid.
    pub is_exact: bool,
    /// Conditions on the replayed thread.
    pub xpath: Vec<PlacedText>,
}

const RULES: KeyRules = KeyRules {
    what: "test",
    clashes: &[("export", "steps"), ("export", "replies"), ("export", "stand_ins")],
    needs: &[("expect", &["export"]), ("xpath", &["export"])],
};

/// Reads the export of a test, if it has one.
pub(super) fn read(diagnostics: &mut Diagnostics, own: &Fields<'_>, folder: &Path) -> Option<ExpectedReplay> {
    RULES.check(diagnostics, own);
    let xpath = steps::expressions(diagnostics, own);
    let choices = [("exact", true), ("valid", false)];
    let is_exact = own.get("expect").and_then(|(node, path)| word(diagnostics, node, &path, &choices));
    let (node, path) = own.get("export")?;
    let named = text(diagnostics, node, &path)?;
    let file = folder.join(&named.value);
    // The first byte of a folder cannot be read.
    if let Err(error) = std::fs::File::open(&file).and_then(|mut file| file.read(&mut [0])) {
        let message = format!("{path}: {}: {}", named.value, systole_system::system::describe_error(&error));
        let fix = "a file that `systole export` wrote, as a path from the folder of this file";
        diagnostics.report(Code::ConfigUnreadable, named.at, &message, Some(fix));
    }
    let is_exact = is_exact.unwrap_or(xpath.is_empty());
    Some(ExpectedReplay { place: diagnostics.place(named.at), file, is_exact, xpath })
}
