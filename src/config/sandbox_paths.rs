//! Checks the folders of sandboxes: that they are there, and that they contain nothing that must stay outside.
//!
//! A sandbox cannot allow a folder except for one file in it. So no folder may contain the log and the files beside it,
//! which hold the operator's credential, the organism's file, or its schemas. Symlinks are resolved. This module looks
//! at paths and opens nothing. The helper checks the same again at each start, because folders change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::declared::Declared;
use super::diagnostics::Diagnostics;
use super::mcp;
use super::party::Party;
use super::programs;
use super::value::At;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Listener, ListenerProgram, ProgramSandbox, Reach, Schema};
use systole_core::types::ids::Name;

/// The endings of the files and folders beside a log. The run file holds the operator's credential, and the folder
/// `.nats` the keys of the organism's own broker.
const BESIDE: [&str; 10] =
    ["", "-wal", "-shm", ".tip", ".lock", ".run", ".nats", ".stands-by", ".notes", programs::HANDS_FOLDER];

/// What must stay outside of sandboxes.
pub(super) struct OutsidePaths {
    /// No sandbox may contain it.
    files: Vec<(PathBuf, String)>,
    /// The files of each listener's program: no sandbox may write them, and only its own may read its folder.
    programs: Vec<(String, PathBuf)>,
}

/// Checks every sandbox of the file. Returns what must stay outside of all of them.
pub(super) fn check(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    schemas: &[Schema],
    file: &Path,
    directory: &Path,
) -> OutsidePaths {
    let outside = outside(declared, schemas, file, directory);
    for party in &declared.parties {
        let Some(sandbox) = &party.sandbox else { continue };
        let path = format!("{}.sandbox", party.path());
        for (key, paths, writes) in [("read", &sandbox.read, false), ("write", &sandbox.write, true)] {
            for named in paths {
                let place = PlaceToCheck { party, path: &format!("{path}.{key}"), named, writes };
                place.check(diagnostics, &outside, directory);
            }
        }
    }
    outside
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
        sandbox.keep_out = self.files.iter().map(|(path, _)| path.clone()).collect();
        sandbox.protect = self.programs.iter().map(|(_, path)| path.clone()).collect();
    }
}

fn outside(declared: &Declared, schemas: &[Schema], file: &Path, directory: &Path) -> OutsidePaths {
    let log = directory.join(&declared.log);
    let mut files: Vec<(PathBuf, String)> = BESIDE
        .iter()
        .map(|ending| {
            let mut path = log.clone().into_os_string();
            path.push(ending);
            (PathBuf::from(path), if ending.is_empty() { "the log" } else { "a file of the log" }.to_owned())
        })
        .collect();
    files.push((
        std::path::absolute(file).unwrap_or_else(|_| file.to_owned()),
        "the organism's file".to_owned(),
    ));
    let key = declared.proof.as_ref().and_then(|proof| proof.key.as_ref());
    files.extend(key.map(|key| (directory.join(&key.value), "the signing key".to_owned())));
    // Built-in schemas and the one made from payloads are in no folder.
    let schemas = schemas.iter().skip(2).filter(|schema| !schema.name.ends_with('/'));
    let of_disk = schemas.map(|schema| (directory.join(&schema.name), format!("the schema {}", schema.name)));
    files.extend(of_disk.filter(|(path, _)| path.is_file()));
    let of = |party: &Party| -> Vec<(String, PathBuf)> {
        let pin = party.mcp.is_some().then(|| mcp::pin_file(&party.key.value));
        let paths =
            party.run.iter().chain(&pin).map(|word| directory.join(word)).filter(|path| path.is_file());
        let installed = party.install_folder().map(|folder| directory.join(folder));
        paths.chain(installed).map(|path| (party.key.value.clone(), path)).collect()
    };
    OutsidePaths { files, programs: declared.parties.iter().flat_map(of).collect() }
}

/// A path of a sandbox, and where the file names it.
struct PlaceToCheck<'p> {
    party: &'p Party,
    path: &'p str,
    named: &'p At<String>,
    writes: bool,
}

impl PlaceToCheck<'_> {
    fn check(&self, diagnostics: &mut Diagnostics, outside: &OutsidePaths, directory: &Path) {
        let named = &self.named.value;
        let place = match fs::canonicalize(directory.join(named)) {
            Ok(place) if self.writes && !place.is_dir() => {
                return self.report(diagnostics, "is not a folder", "the path of a folder");
            }
            Ok(place) => place,
            Err(_) => {
                let fix = format!("mkdir {named}, or another path");
                return self.report(diagnostics, "is not there", &fix);
            }
        };
        let holds = |other: &Path| {
            let other = resolved(other);
            other.starts_with(&place) || (self.writes && place.starts_with(&other))
        };
        let fix = "a folder of its own, as ./out";
        if let Some((_, what)) = outside.files.iter().find(|(path, _)| holds(path)) {
            return self.report(diagnostics, &format!("contains {what}"), fix);
        }
        let is_foreign = |owner: &String| self.writes || *owner != self.party.key.value;
        if let Some((owner, _)) =
            outside.programs.iter().find(|(owner, path)| is_foreign(owner) && holds(path))
        {
            self.report(diagnostics, &format!("contains the program of {owner}"), fix);
        }
    }

    fn report(&self, diagnostics: &mut Diagnostics, what: &str, fix: &str) {
        let message = format!("{}: `{}` {what}", self.path, self.named.value);
        diagnostics.report(Code::ConfigSandbox, self.named.at, &message, Some(fix));
    }
}

/// The path without symlinks, also of a file that does not exist yet.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(whole) = fs::canonicalize(path) {
        return whole;
    }
    match (path.parent().map(fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
