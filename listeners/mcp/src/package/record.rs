//! The record in a folder of an installation: what was installed there.

use serde::{Deserialize, Serialize};

use super::changes::compare_packages;
use super::request::InstallRequest;
use crate::schema::{PIN_FORMAT, PinnedPackage};

/// What was installed into a folder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstallRecord {
    format: u32,
    /// The package of the server.
    pub package: String,
    /// The program of the package, if the file names it.
    script: Option<String>,
    /// All packages, by name.
    pub packages: Vec<PinnedPackage>,
}

impl InstallRecord {
    /// The record of an installation with these packages.
    #[must_use]
    pub fn from_request(request: &InstallRequest, packages: &[PinnedPackage]) -> InstallRecord {
        let (package, script) = (request.name.clone(), request.script.clone());
        InstallRecord { format: PIN_FORMAT, package, script, packages: packages.to_vec() }
    }

    /// Reads a record. `None` if it is none, so that nothing usable is installed.
    #[must_use]
    pub fn from_text(text: &[u8]) -> Option<InstallRecord> {
        serde_json::from_slice(text).ok()
    }

    /// How it differs from an installation with these packages, in lines. `None` if it does not.
    #[must_use]
    pub fn find_difference(
        &self,
        request: &InstallRequest,
        packages: &[PinnedPackage],
    ) -> Option<Vec<String>> {
        let wanted = InstallRecord::from_request(request, packages);
        if *self == wanted {
            return None;
        }
        let lines = compare_packages(&wanted.packages, &self.packages);
        let other = || vec!["it is another program of these packages, or in another format".to_owned()];
        Some(if lines.is_empty() { other() } else { lines })
    }

    /// The text of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| format!("{text}\n")).unwrap_or_default()
    }
}
