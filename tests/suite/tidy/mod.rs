//! The house rules, checked against the sources as text: imports, sizes, headers, names, the table of
//! codes, banned crates. These tests run nothing of the program.

mod circles;
pub(crate) mod imports;
mod language;
mod ledger;
mod links;
mod listener_codes;
mod modules;
mod names;
mod numbers;
mod pages;
mod release;
mod rust;
mod shape;
mod verbs;

use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path from the root of the repository, with `/` between the parts, and its text.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Every Rust file of the project.
pub(crate) fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for root in ["src", "crates", "listeners", "tests", "benches"] {
        collect(Path::new(root), &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 20, "only {} sources found: the walk is broken", found.len());
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()).collect::<Vec<PathBuf>>() {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target" && name != "node_modules") {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push(Source { path: path.to_str().unwrap().replace('\\', "/"), text });
        }
    }
}

/// Fails with all breaches at once.
fn hold(rule: &str, breaches: &[String]) {
    assert!(breaches.is_empty(), "{rule}:\n  {}", breaches.join("\n  "));
}
