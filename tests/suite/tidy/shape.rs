//! Sizes of files, their first lines, and banned crates.

use std::fs;

use super::rust::code_of;
use super::{hold, sources};

const FILE_LINES: usize = 600;
const MAIN_LINES: usize = 150;

/// Crates that may not be in the lock file, each with its replacement.
const BANNED: [(&str, &str); 7] = [
    ("aws-lc-sys", "ring is the one TLS provider"),
    ("aws-lc-rs", "ring is the one TLS provider"),
    ("openssl-sys", "rustls is the one TLS"),
    ("native-tls", "rustls is the one TLS"),
    ("serde_yaml", "serde-saphyr; serde_yaml is no longer kept"),
    ("serde_yml", "serde-saphyr; serde_yml has advisories"),
    ("icu_provider", "cargo update --package idna_adapter --precise 1.0.0, as decision 0027 says"),
];

#[test]
fn files_end_before_they_are_too_long() {
    let mut breaches = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        let limit = if source.path == "src/main.rs" { MAIN_LINES } else { FILE_LINES };
        if lines > limit {
            breaches.push(format!("{}: {lines} lines, {limit} at most", source.path));
        }
    }
    hold("too long", &breaches);
}

#[test]
fn every_file_says_first_what_it_is() {
    let mut breaches = Vec::new();
    for source in sources() {
        let header: Vec<&str> = source.text.lines().map_while(|line| line.strip_prefix("//!")).collect();
        let words = header.iter().flat_map(|line| line.split_whitespace()).count();
        // A file without a line of code is not written yet.
        let empty = code_of(&source.text).trim().is_empty();
        if words < 5 && !empty {
            breaches.push(format!("{}: {words} words of header", source.path));
        }
    }
    hold("a file does not say what it is", &breaches);
}

#[test]
fn no_banned_crate_is_locked() {
    let lock = fs::read_to_string("Cargo.lock").unwrap();
    let named: Vec<&str> = lock
        .lines()
        .filter_map(|l| l.strip_prefix("name = \""))
        .filter_map(|l| l.strip_suffix('"'))
        .collect();
    assert!(named.contains(&"systole"), "the lock file is read wrongly");
    let found = BANNED.iter().filter(|(krate, _)| named.contains(krate));
    hold("banned", &found.map(|(krate, instead)| format!("{krate}: {instead}")).collect::<Vec<_>>());
}

#[test]
fn the_reference_and_the_docs_name_no_machine() {
    let mut breaches = Vec::new();
    for folder in ["docs", "docs/reference", "docs/internals", "docs/decisions", "config", "."] {
        for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let text = if hidden || path.is_dir() {
                String::new()
            } else {
                fs::read_to_string(&path).unwrap_or_default()
            };
            for home in ["/home/", "/root/", "/work/"] {
                if text.contains(home) {
                    breaches.push(format!("{}: {home}", path.display()));
                }
            }
        }
    }
    hold("a path of one machine", &breaches);
}
