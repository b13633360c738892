//! Listeners that work on folders: `code`, which searches source code.
//!
//! Input: the keys of a listener. Output: its folder and what it never shows. `check` makes sure that the folder
//! exists and does not hold what the organism itself is made of: a reader of the organism's log or keys could speak
//! for it.

use std::fs;
use std::path::{Path, PathBuf};

use systole_code::{CodeSpec, check_pattern};

use super::declared::Declared;
use super::diagnostics::Diagnostics;
use super::names::single;
use super::party::Party;
use super::source::PROMPTS;
use super::value::{self, At, Fields};
use systole_core::types::codes::Code;
use systole_core::types::composition::Schema;

/// The name of the vocabulary of code among the built-in schemas.
pub(super) const CODE: &str = "code/";
/// The requests that a listener of code takes.
const REQUESTS: [&str; 3] = ["search", "extract", "query"];
/// Its answers.
const ANSWERS: [&str; 4] = ["search-result", "extract-result", "query-result", "code-error"];
/// Keys that have no meaning beside `code`.
const OTHERS: [&str; 9] = ["run", "nats", "schema", "accepts", "returns", "peers", "env", "pass", "mode"];

/// What a listener of code searches, as declared.
pub(super) struct CodeDeclaration {
    /// The folder, from the folder of the organism's file.
    pub(super) root: At<String>,
    deny: Vec<At<String>>,
}

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

/// Reads `code` and `deny` of a listener. `None` if it is no listener of code.
pub(super) fn code(diagnostics: &mut Diagnostics, own: &Fields<'_>) -> Option<CodeDeclaration> {
    let Some((node, path)) = own.get("code") else {
        if let (Some((_, path)), Some(at)) = (own.get("deny"), own.place_of("deny")) {
            let message = format!("{path}: only a listener of `code` has a deny list");
            diagnostics.report(
                Code::ConfigValue,
                at,
                &message,
                Some("code: ./src beside it, or leave it out"),
            );
        }
        return None;
    };
    let at = node.span;
    for key in OTHERS.into_iter().chain(["framing"]) {
        if let Some((other, other_path)) = own.get(key) {
            let message = format!(
                "{other_path}: a listener of `code` is built in, and takes and returns its own elements"
            );
            let second = (at, "a listener of code");
            diagnostics.report_beside(
                Code::ConfigValue,
                other.span,
                &message,
                Some("one of the two"),
                second,
            );
        }
    }
    let mut deny = Vec::new();
    if let Some((node, path)) = own.get("deny") {
        let found = value::texts(diagnostics, node, &path).unwrap_or_default();
        for pattern in single(diagnostics, found, &path) {
            match check_pattern(&pattern.value) {
                Ok(()) => deny.push(pattern),
                Err(why) => {
                    let message = format!("{path}: `{}` cannot be used: {why}", pattern.value);
                    diagnostics.report(
                        Code::ConfigValue,
                        pattern.at,
                        &message,
                        Some("\"*.pem\", or private/"),
                    );
                }
            }
        }
    }
    let root = value::text(diagnostics, node, &path).unwrap_or(At { at, value: ".".to_owned() });
    Some(CodeDeclaration { root, deny })
}

/// The elements that a listener of code takes and returns.
pub(super) fn elements(code: &CodeDeclaration) -> (Vec<At<String>>, Vec<At<String>>) {
    let named = |all: &[&str]| -> Vec<At<String>> {
        all.iter().map(|local| At { at: code.root.at, value: (*local).to_owned() }).collect()
    };
    (named(&REQUESTS), named(&ANSWERS))
}

/// The listeners of code.
pub(super) fn specs(declared: &Declared, directory: &Path) -> Vec<CodeSpec> {
    let spec = |party: &Party| {
        let code = party.code.as_ref()?;
        let name = party.name.as_ref()?.as_str().to_owned();
        let deny = code.deny.iter().map(|pattern| pattern.value.clone()).collect();
        Some(CodeSpec { name, root: super::plain(&directory.join(&code.root.value)), deny })
    };
    declared.parties.iter().filter_map(spec).collect()
}

/// Reports folders that do not exist, and folders that hold parts of the organism.
pub(super) fn check(diagnostics: &mut Diagnostics, declared: &Declared, named: &OrganismPaths<'_>) {
    for party in &declared.parties {
        let Some(code) = &party.code else { continue };
        let path = format!("{}.code", party.path());
        let (at, written) = (code.root.at, code.root.value.as_str());
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
            let message = format!("{path}: `{written}` holds {what}, which no listener may read");
            let fix = "a folder with the sources alone, as ./src";
            diagnostics.report(Code::ConfigValue, at, &message, Some(fix));
        }
    }
}

/// The files that an organism is made of, each in words.
fn parts(declared: &Declared, named: &OrganismPaths<'_>) -> Vec<(String, PathBuf)> {
    let below = |path: &str| named.directory.join(path);
    let mut parts = vec![
        ("the organism's file".to_owned(), named.file.to_owned()),
        ("the log".to_owned(), below(&declared.log)),
    ];
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
