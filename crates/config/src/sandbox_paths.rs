//! Checks the folders of sandboxes: that they are there, and that they contain nothing that must stay outside.
//!
//! A sandbox cannot allow a folder except for one file in it. So no folder may contain the log and the files beside it,
//! which hold the operator's credential, the organism's file, or its schemas; and none that a program may write may
//! contain anything that the organism is made of. Symlinks are resolved. This module looks at paths and opens nothing.
//! The helper checks the same again at each start, because folders change.

use std::collections::BTreeMap;
use std::fs;

use super::diagnostic::Diagnostic;
use super::diagnostics::Diagnostics;
use super::file_sections::Declared;
use super::hidden_sdk;
use super::organism_parts::{OrganismPart, OrganismPlace, PartReaders, parts};
use super::party::Party;
use super::shared_folders;
use super::value::At;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Listener, ListenerProgram, ProgramSandbox, Reach};
use systole_core::types::ids::Name;

/// What must stay outside of sandboxes.
pub(super) struct OutsidePaths(Vec<OrganismPart>);

/// Checks every sandbox of the file. Returns what must stay outside of all of them, and warnings.
pub(super) fn check(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    organism: OrganismPlace<'_>,
) -> (OutsidePaths, Vec<(usize, Diagnostic)>) {
    let outside = parts(declared, organism);
    let mut warnings = Vec::new();
    for party in &declared.parties {
        let Some(sandbox) = &party.sandbox else { continue };
        warnings.extend(hidden_sdk::warning(diagnostics, party, organism.directory));
        let path = format!("{}.sandbox", party.path());
        for (key, paths, writes) in [("read", &sandbox.read, false), ("write", &sandbox.write, true)] {
            for named in paths {
                let place = PlaceToCheck { party, path: &format!("{path}.{key}"), named, writes };
                warnings.extend(place.check(diagnostics, &outside, organism));
            }
        }
    }
    (OutsidePaths(outside), warnings)
}

impl OutsidePaths {
    /// Tells every sandbox what must stay outside of it.
    pub(super) fn keep_from_all(&self, listeners: &mut BTreeMap<Name, Listener>) {
        for listener in listeners.values_mut() {
            if let Reach::Process(ListenerProgram { sandbox: Some(sandbox), .. }) = &mut listener.reach {
                self.keep_from(sandbox);
            }
        }
    }

    /// Tells one sandbox.
    pub(super) fn keep_from(&self, sandbox: &mut ProgramSandbox) {
        let (closed, others): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|part| part.readers == PartReaders::None);
        let paths = |parts: Vec<&OrganismPart>| parts.into_iter().map(|part| part.path.clone()).collect();
        (sandbox.keep_out, sandbox.protect) = (paths(closed), paths(others));
    }
}

/// A path of a sandbox, and where the file names it.
struct PlaceToCheck<'p> {
    party: &'p Party,
    path: &'p str,
    named: &'p At<String>,
    writes: bool,
}

impl PlaceToCheck<'_> {
    /// Reports what is wrong with it, or returns a warning.
    fn check(
        &self,
        diagnostics: &mut Diagnostics,
        outside: &[OrganismPart],
        organism: OrganismPlace<'_>,
    ) -> Option<(usize, Diagnostic)> {
        let named = &self.named.value;
        let place = match fs::canonicalize(organism.directory.join(named)) {
            Ok(place) if self.writes && !place.is_dir() => {
                return self.report(diagnostics, "is not a folder", "the path of a folder");
            }
            Ok(place) => place,
            Err(_) if named.starts_with('~') => {
                return self.report(diagnostics, "is not there", "the whole path; `~` has no meaning here");
            }
            Err(_) => {
                let fix = format!("mkdir {named}, or another path");
                return self.report(diagnostics, "is not there", &fix);
            }
        };
        let is_closed = |part: &&OrganismPart| match &part.readers {
            PartReaders::None => true,
            PartReaders::Owner(owner) => self.writes || *owner != self.party.key.value,
            PartReaders::All => self.writes,
        };
        let found = outside.iter().filter(is_closed).find(|part| part.is_in(&place, self.writes));
        match found {
            Some(OrganismPart { what, .. }) => {
                self.report(diagnostics, &format!("contains {what}"), "a folder of its own, as ./out")
            }
            None if self.writes => {
                let places = (place.as_path(), organism.directory);
                shared_folders::warning(diagnostics, (self.path, self.named), places)
            }
            None => None,
        }
    }

    fn report(&self, diagnostics: &mut Diagnostics, what: &str, fix: &str) -> Option<(usize, Diagnostic)> {
        let message = format!("{}: `{}` {what}", self.path, self.named.value);
        diagnostics.report(Code::ConfigSandbox, self.named.at, &message, fix);
        None
    }
}
