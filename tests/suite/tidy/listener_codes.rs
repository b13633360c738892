//! The codes of our own listeners: the tables on the page of each listener have exactly those that the sources write.

use std::collections::BTreeSet;
use std::fs;

use super::sources;

/// A word for a code at the beginning of each part of a text that `before` begins.
fn codes(text: &str, before: char, kind: &str) -> BTreeSet<String> {
    let prefix = format!("{kind}.");
    let parts = text.split(before).skip(1).filter_map(|part| part.strip_prefix(&prefix));
    let word = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
        // A file such as `mcp.xsd` or `code.md` is no code.
        let is_file = ["xsd", "md", "py", "rs"].contains(&&rest[..end]);
        let ends = rest[end..].is_empty() || rest[end..].starts_with(':');
        (end > 0 && ends && !is_file).then(|| format!("{prefix}{}", &rest[..end]))
    };
    parts.filter_map(word).collect()
}

#[test]
fn the_page_of_a_listener_names_its_codes() {
    for kind in ["mcp", "code", "workspace"] {
        let [folder, section] = ["src/", "section"].map(|part| format!("listeners/{kind}/{part}"));
        let mut written = BTreeSet::new();
        for source in sources() {
            if [&folder, &section, "src/", "crates/"].iter().any(|place| source.path.starts_with(place)) {
                written.extend(codes(&source.text, '"', kind));
            }
        }
        let page = fs::read_to_string(format!("docs/reference/{kind}.md")).unwrap();
        // A code has a row of its own, or shares one with others.
        let firsts = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
        let rows: String = firsts.map(|first| format!("`{first}\n")).collect();
        assert!(!written.is_empty(), "{kind}");
        assert_eq!(codes(&rows, '`', kind), written, "docs/reference/{kind}.md on the left");
    }
}

#[test]
fn a_code_is_seen_in_a_literal_and_in_a_message() {
    let text = r#"a("mcp.cut", x); format!("mcp.changed: {y}"); include!("mcp.xsd"); "mcp.{z}""#;
    let found: Vec<String> = codes(text, '"', "mcp").into_iter().collect();
    assert_eq!(found, ["mcp.changed", "mcp.cut"]);
}
