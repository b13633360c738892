//! The folders that listeners search and change.
//!
//! Input: a declaration. Output: a report of a folder that does not exist or that
//! holds what the organism itself is made of: a reader of the organism's log or keys could speak for it.

use std::fs;
use std::path::{Path, PathBuf};

use super::declared::Declared;
use super::diagnostics::Diagnostics;
use super::hands_kind::HandsKind;
use super::programs::HANDS_FOLDER;
use super::source::PROMPTS;
use systole_core::types::codes::Code;
use systole_core::types::composition::Schema;

/// The files that an organism is made of.
pub(super) struct OrganismPaths<'p> {
    /// Its own file.
    pub(super) file: &'p Path,
    /// The folder of that file.
    pub(super) directory: &'p Path,
    /// Its schemas. Built-in ones have names that end in a slash.
    pub(super) schemas: &'p [Schema],
    /// Its texts for prompts.
    pub(super) prompts: &'p [Schema],
}

/// Reports folders that do not exist, and folders that hold parts of the organism.
pub(super) fn check(diagnostics: &mut Diagnostics, declared: &Declared, named: &OrganismPaths<'_>) {
    for party in &declared.parties {
        let Some(hands) = &party.hands else { continue };
        let path = format!("{}.{}", party.path(), hands.kind.key());
        let (at, written) = (hands.root.at, hands.root.value.as_str());
        let root = match fs::canonicalize(named.directory.join(written)) {
            Ok(root) if root.is_dir() => root,
            Ok(_) => {
                let message = format!("{path}: `{written}` is not a folder");
                diagnostics.report(Code::ConfigValue, at, &message, Some("the folder that holds it"));
                continue;
            }
            Err(error) => {
                let message = format!("{path}: `{written}`: {}", crate::edges::system::told(&error));
                diagnostics.report(
                    Code::ConfigValue,
                    at,
                    &message,
                    Some("a folder, as ./src, from this file's folder"),
                );
                continue;
            }
        };
        let mut parts = parts(declared, named).into_iter();
        if let Some((what, _)) = parts.find(|(_, part)| resolved(part).starts_with(&root)) {
            let message =
                format!("{path}: `{written}` holds {what}, which no listener may {}", does(hands.kind));
            let fix = "a folder with the sources alone, as ./src";
            diagnostics.report(Code::ConfigValue, at, &message, Some(fix));
        }
    }
}

fn does(kind: HandsKind) -> &'static str {
    match kind {
        HandsKind::Code => "read",
        HandsKind::Workspace => "change",
    }
}

/// The files that an organism is made of, each in words.
fn parts(declared: &Declared, named: &OrganismPaths<'_>) -> Vec<(String, PathBuf)> {
    let below = |path: &str| named.directory.join(path);
    let mut parts = vec![
        ("the organism's file".to_owned(), named.file.to_owned()),
        ("the log".to_owned(), below(&declared.log)),
        ("what is kept beside the log".to_owned(), below(&format!("{}{HANDS_FOLDER}", declared.log))),
    ];
    let key = declared.proof.as_ref().and_then(|proof| proof.key.as_ref());
    parts.extend(key.map(|key| ("the signing key".to_owned(), below(&key.value))));
    // Built-in schemas are in no folder.
    let schemas = named.schemas.iter().skip(2).filter(|schema| !schema.name.ends_with('/'));
    parts.extend(schemas.map(|schema| (format!("the schema {}", schema.name), below(&schema.name))));
    let prompts = named.prompts.iter().filter_map(|prompt| prompt.name.strip_prefix(PROMPTS));
    parts.extend(prompts.map(|prompt| (format!("the prompt {prompt}"), below(prompt))));
    let scripts = declared.models.iter().filter_map(|model| model.model.file.as_ref());
    parts.extend(scripts.map(|file| (format!("the script {}", file.display()), named.directory.join(file))));
    for party in &declared.parties {
        // A word of a command line that is a file belongs to the program.
        let files = party.run.iter().map(|word| (word, below(word))).filter(|(_, path)| path.is_file());
        parts.extend(files.map(|(word, path)| (format!("the program {word}"), path)));
        let installed = party.install_folder();
        parts.extend(installed.map(|folder| (format!("the installed server {folder}"), below(&folder))));
    }
    parts
}

/// A path without links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(whole) = fs::canonicalize(path) {
        return whole;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if folder != path => resolved(folder).join(name),
        _ => path.to_owned(),
    }
}
