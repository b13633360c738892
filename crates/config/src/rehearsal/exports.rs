//! An export in a test file, and what is expected of its replay.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::steps::{self, KeyRules, PlacedText};
use super::table::TestCaseKeys;
use crate::diagnostic::FilePlace;
use crate::diagnostics::Diagnostics;
use crate::forms::read_late;
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
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    keys: &TestCaseKeys,
    folder: &Path,
) -> Option<ExpectedReplay> {
    RULES.check(diagnostics, &keys.own);
    let xpath = read_late(diagnostics, &keys.xpath);
    let xpath = steps::expressions(diagnostics, &keys.own, xpath);
    let is_exact = read_late(diagnostics, &keys.expect);
    let named = read_late(diagnostics, &keys.export)?;
    let path = format!("{}.export", keys.own.path);
    let file = folder.join(&named.value);
    // The first byte of a folder cannot be read.
    if let Err(error) = std::fs::File::open(&file).and_then(|mut file| file.read(&mut [0])) {
        let message = format!("{path}: {}: {}", named.value, systole_system::system::describe_error(&error));
        let fix = "a file that `systole export` wrote, as a path from the folder of this file";
        diagnostics.report(Code::ConfigUnreadable, named.at, &message, fix);
    }
    let is_exact = is_exact.map_or(xpath.is_empty(), |is_exact| is_exact.value);
    Some(ExpectedReplay { place: diagnostics.place(named.at), file, is_exact, xpath })
}
