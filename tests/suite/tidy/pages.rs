//! The width of pages: no line of text is wider than 100 columns, and in the README no line at all. Tables and code
//! blocks of other pages may be wider if a row or an output cannot be split.

use std::fs;
use std::path::{Path, PathBuf};

use super::hold;

const COLUMNS: usize = 100;

/// The pages of the project.
pub(super) fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = [".", "config", "crates", "docs", "listeners"].map(PathBuf::from).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && folder != Path::new(".") {
                // The packages of others have pages too.
                folders.extend((!path.ends_with("node_modules")).then_some(path));
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn no_line_of_a_page_is_too_wide() {
    let mut breaches = Vec::new();
    let pages = pages();
    assert!(pages.len() > 50, "{pages:?}");
    for path in pages {
        let text = fs::read_to_string(&path).unwrap();
        let mut is_code = false;
        for (number, line) in text.lines().enumerate() {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            // The site is made of the lines of the table of contents, so an entry is one line.
            let may_be_wide = path == Path::new("docs/SUMMARY.md")
                || path != Path::new("./README.md") && (is_code || line.trim_start().starts_with('|'));
            let columns = line.chars().count();
            if columns > COLUMNS && !may_be_wide {
                breaches.push(format!(
                    "{}:{}: {columns} columns, {COLUMNS} at most",
                    path.display(),
                    number + 1
                ));
            }
        }
    }
    hold("too wide", &breaches);
}
