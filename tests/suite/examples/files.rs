//! The messages about organism files: the first diagnostic with each code in the goldens, with the file name
//! that a user would have.

use std::fs;
use std::path::Path;

use systole_config::{self as config, Diagnostic};
use systole_core::types::codes::Code;
use systole_show::columns::wrapped;

use super::ExampleBook;

/// A code, and the golden file that shows it best.
const SHOWN: [(Code, &str); 27] = [
    (Code::ConfigUnreadable, "config/schema-missing"),
    (Code::ConfigSyntax, "config/unclosed"),
    (Code::ConfigUnknownKey, "config/unknown-key"),
    (Code::ConfigMissing, "config/missing-keys"),
    (Code::ConfigKind, "config/list-for-map"),
    (Code::ConfigValue, "config/durations"),
    (Code::ConfigDuplicate, "config/duplicate-keys"),
    (Code::ConfigUnknownName, "config/unknown-peer"),
    (Code::ConfigUnknownElement, "config/unknown-element"),
    (Code::ConfigSchema, "config/schema-unfit"),
    (Code::ConfigOverlap, "config/overlap"),
    (Code::ConfigUnreached, "warnings/unreached"),
    (Code::ConfigUnusedElement, "warnings/unused-element"),
    (Code::ConfigUnreadAnswer, "warnings/told-only"),
    (Code::ConfigSeveralTakers, "warnings/several-takers"),
    (Code::ConfigShadowed, "warnings/shadowed"),
    (Code::ConfigCircle, "warnings/circle"),
    (Code::ConfigPrompt, "warnings/prompt"),
    (Code::ConfigScript, "warnings/script"),
    (Code::ConfigUnpriced, "warnings/unpriced"),
    (Code::ConfigForcedTool, "warnings/forced-tool"),
    (Code::ConfigSmallBudget, "warnings/small-budget"),
    (Code::ConfigSkippedGoal, "warnings/workflow"),
    (Code::ConfigSandbox, "config/sandbox"),
    (Code::ConfigSharedFolder, "warnings/shared-folder"),
    (Code::ConfigHiddenSdk, "warnings/hidden-sdk"),
    (Code::ConfigUnpinned, "config/mcp-unpinned"),
];

pub(super) fn show(book: &mut ExampleBook) {
    for (code, name) in SHOWN {
        let path = format!("tests/suite/golden/{name}.yaml");
        let told = match config::load(Path::new(&path)) {
            Ok(file) => file.warnings,
            Err(refused) => refused.0,
        };
        let first = told.into_iter().find(|one| one.code == code).unwrap_or_else(|| panic!("{code}: {path}"));
        let first = called(first, &path);
        book.write(code, "systole check", &first.to_string());
    }
    let refused = crate::sandbox::organism::refused_without_landlock();
    let refused: Vec<String> = refused.lines().flat_map(|line| wrapped("", 4, line)).collect();
    book.write(Code::ConfigNoSandbox, "systole run on a kernel without Landlock", &refused.join("\n"));
    let folder = tempfile::tempdir().unwrap();
    fs::copy("tests/suite/golden/config/schemas/search.xsd", folder.path().join("a.xsd")).unwrap();
    let path = folder.path().join("organism.yaml");
    let text = "organism: {name: hello}\nlisteners: {a: {run: [a], schema: a.xsd, accepts: [find]}}\n";
    fs::write(&path, text).unwrap();
    let source = config::load(&path).unwrap().composition.source;
    let cut = config::read_source(&source[..source.len() - 9], Path::new("/")).unwrap_err();
    book.write(Code::ConfigSource, "a stored configuration that was cut off", &cut.0[0].to_string());
}

/// The diagnostic with the file names that a user would have.
fn called(mut one: Diagnostic, path: &str) -> Diagnostic {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let short = |file: &str| {
        let inside = file.strip_prefix(folder).unwrap_or(file).trim_start_matches('/');
        if file == path { "organism.yaml" } else { inside }.to_owned()
    };
    one.place.file = short(&one.place.file);
    if let Some(second) = &mut one.second {
        second.place.file = short(&second.place.file);
    }
    one
}
