//! The files that an organism is made of. No program may change one, and most may not even be read.
//!
//! Input: a declaration. Output: paths, each in words. This module opens nothing.

use std::fs;
use std::path::{Path, PathBuf};

use super::file_sections::Declared;
use super::kinds::STATE_FOLDER;
use super::party::Party;
use systole_core::types::composition::Schema;

/// The endings of the files and folders beside a log. The run file holds the operator's credential, and the folder
/// `.nats` the keys of the organism's own broker.
const BESIDE: [&str; 17] = [
    "",
    "-wal",
    "-shm",
    ".tip",
    ".lock",
    ".secret",
    ".run",
    ".nats",
    ".stands-by",
    ".notes",
    ".find",
    ".index",
    ".index-wal",
    ".index-shm",
    ".follow",
    ".sessions",
    STATE_FOLDER,
];

/// Where an organism is.
#[derive(Clone, Copy)]
pub(super) struct OrganismPlace<'p> {
    /// Its file.
    pub(super) file: &'p Path,
    /// The folder of that file.
    pub(super) directory: &'p Path,
    /// Its schemas. Built-in ones have names that end in a slash.
    pub(super) schemas: &'p [Schema],
}

/// A file or folder that an organism is made of.
pub(super) struct OrganismPart {
    pub(super) path: PathBuf,
    /// In words.
    pub(super) what: String,
    pub(super) readers: PartReaders,
}

/// Which programs may read a part, if their sandbox names it. None may write it.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum PartReaders {
    None,
    /// That of this listener.
    Owner(String),
    All,
}

impl OrganismPart {
    /// Whether a folder contains this part, or a writable folder is inside of it. `place` has no symlinks.
    pub(super) fn is_in(&self, place: &Path, writes: bool) -> bool {
        let own = resolve_path(&self.path);
        own.starts_with(place) || (writes && place.starts_with(&own))
    }
}

/// All parts of an organism.
pub(super) fn parts(declared: &Declared, place: OrganismPlace<'_>) -> Vec<OrganismPart> {
    let below = |path: &str| place.directory.join(path);
    let closed = |what: String, path: PathBuf| OrganismPart { path, what, readers: PartReaders::None };
    let open = |what: String, path: PathBuf| OrganismPart { path, what, readers: PartReaders::All };
    let of_log = |ending: &&str| {
        let what = if ending.is_empty() { "the log" } else { "a file of the log" };
        closed(what.to_owned(), below(&format!("{}{ending}", declared.log())))
    };
    let mut parts: Vec<OrganismPart> = BESIDE.iter().map(of_log).collect();
    let file = std::path::absolute(place.file).unwrap_or_else(|_| place.file.to_owned());
    parts.push(closed("the organism's file".to_owned(), file));
    let key = declared.keys.proof.as_ref().and_then(|proof| proof.value.key.as_ref());
    parts.extend(key.map(|key| closed("the signing key".to_owned(), below(&key.value))));
    let policy = declared.keys.proof.as_ref().and_then(|proof| proof.value.policy.as_ref());
    parts.extend(policy.map(|policy| open("the policy of the proof".to_owned(), below(&policy.value))));
    let folders = declared.keys.proof.iter().flat_map(|proof| proof.value.folders());
    parts.extend(folders.map(|folder| open("a folder of checkpoints".to_owned(), below(folder))));
    // Built-in schemas and the one made from payloads are in no folder.
    let schemas = place.schemas.iter().skip(2).filter(|schema| !schema.name.ends_with('/'));
    let of_disk = schemas.map(|schema| closed(format!("the schema {}", schema.name), below(&schema.name)));
    parts.extend(of_disk.filter(|part| part.path.is_file()));
    let scripts = declared.keys.models.value.iter().filter_map(|model| model.script.as_ref());
    parts.extend(scripts.map(|file| open(format!("the script {}", file.value), below(&file.value))));
    for agent in declared.parties.iter().filter_map(|party| party.agent_config.as_ref()) {
        let prompts = agent.keys.prompt.value.iter().filter_map(|section| section.file.as_ref());
        parts.extend(prompts.map(|file| open(format!("the prompt {}", file.value), below(&file.value))));
        let schema = agent.keys.output.schema.as_ref();
        parts.extend(schema.map(|file| open(format!("the schema {}", file.value), below(&file.value))));
    }
    parts.extend(declared.parties.iter().flat_map(|party| of_program(party, place.directory)));
    parts
}

/// The files of a listener's program.
fn of_program(party: &Party, directory: &Path) -> Vec<OrganismPart> {
    let name = party.key.value.as_str();
    let part = |what: String, path: &str, readers| OrganismPart { path: directory.join(path), what, readers };
    let own = |what: String, path: &str| part(what, path, PartReaders::Owner(name.to_owned()));
    // A word of a command line that is a file belongs to the program.
    let words = party.run.iter().filter(|word| directory.join(word).is_file());
    let mut parts: Vec<OrganismPart> =
        words.map(|word| own(format!("the program {word} of {name}"), word)).collect();
    let files = party.built_in.iter().flat_map(|one| &one.part.files);
    parts.extend(files.map(|(what, path)| own(what.clone(), path)));
    parts
}

/// A path without symlinks, as far as it exists.
fn resolve_path(path: &Path) -> PathBuf {
    if let Ok(whole) = fs::canonicalize(path) {
        return whole;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if folder != path => resolve_path(folder).join(name),
        _ => path.to_owned(),
    }
}
