//! The folders that listeners search and change.
//!
//! Input: a declaration. Output: a report of a folder that does not exist or that
//! holds what the organism itself is made of: a reader of the organism's log or keys could speak for it. Only a folder
//! around the organism's own may be searched, and then the organism's own is left out.

use std::fs;

use super::diagnostic::Diagnostic;
use super::diagnostics::Diagnostics;
use super::file_sections::Declared;
use super::kinds::{BuiltInListener, FolderUse, own_folder_in};
use super::organism_parts::{OrganismPart, OrganismPlace, parts};
use super::shared_folders;

/// Reports folders that do not exist, and folders that hold parts of the organism. Returns warnings.
pub(super) fn check(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    organism: OrganismPlace<'_>,
) -> Vec<(usize, Diagnostic)> {
    let mut warnings = Vec::new();
    for party in &declared.parties {
        let Some(BuiltInListener { kind, part, .. }) = &party.built_in else { continue };
        let Some(named) = &part.folder else { continue };
        let path = format!("{}.{}", party.path(), kind.key);
        let (at, written) = (named.at, named.value.as_str());
        let root = match fs::canonicalize(organism.directory.join(written)) {
            Ok(root) if root.is_dir() => root,
            Ok(_) => {
                let message = format!("{path}: `{written}` is not a folder");
                diagnostics.report_value(at, &message, "the folder that holds it");
                continue;
            }
            Err(error) => {
                let message =
                    format!("{path}: `{written}`: {}", systole_system::system::describe_error(&error));
                diagnostics.report_value(at, &message, "a folder, as ./src, from this file's folder");
                continue;
            }
        };
        let writes = kind.folder == Some(FolderUse::Changes);
        // A reader of a folder around the organism's own is kept out of that one.
        let own = fs::canonicalize(organism.directory).unwrap_or_default();
        let hides = !writes && own_folder_in(&root, organism.directory).is_some();
        let is_held = |part: &OrganismPart| part.is_in(&root, writes) && !(hides && part.is_in(&own, false));
        let held = parts(declared, organism).into_iter().find(is_held);
        if let Some(part) = held {
            let (what, does) = (part.what, if writes { "change" } else { "read" });
            let message = format!("{path}: `{written}` holds {what}, which no listener may {does}");
            let fix = "a folder with the sources alone, as ./src";
            diagnostics.report_value(at, &message, fix);
        } else if writes {
            let places = (root.as_path(), organism.directory);
            warnings.extend(shared_folders::warning(diagnostics, (&path, named), places));
        }
    }
    warnings
}
