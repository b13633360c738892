//! The pages as a whole: each is in the table of contents once, each begins with an example, and every link between them
//! leads to a file and a heading.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::hold;
use super::pages::pages;

const CONTENTS: &str = "docs/SUMMARY.md";

/// Pages that begin with prose, with the reason.
const PROSE: [&str; 6] = [
    "docs/ARCHITECTURE.md",  // a map
    "docs/how-to-change.md", // its first table is the overview
    "docs/capabilities.md",  // a table of promises
    "docs/faq.md",           // each question is a heading
    "docs/glossary.md",      // a list of words
    "docs/limits.md",        // a list
];

/// A page: its path from the root of the repository, and its text without code blocks.
struct Page {
    path: String,
    whole: String,
    prose: String,
}

fn read() -> Vec<Page> {
    let read = |path: &Path| {
        let whole = fs::read_to_string(path).unwrap();
        let mut is_code = false;
        let mut prose = String::new();
        for line in whole.lines() {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            prose.extend([if is_code || is_fence { "" } else { line }, "\n"]);
        }
        Page { path: normal(path.to_str().unwrap()), whole, prose }
    };
    pages().iter().map(|path| read(path)).collect()
}

/// A path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The targets of a text's links, without those in code.
fn links(text: &str) -> Vec<&str> {
    let outside_code = |at: usize| {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        // A code span may be in the words of a link, but not around it.
        let open = text[line..at].matches('`').count() % 2 == 1;
        !open
    };
    let inline = text.match_indices("](").filter(|(at, _)| outside_code(*at)).map(|(at, _)| {
        let rest = &text[at + 2..];
        &rest[..rest.find([')', '\n']).unwrap_or(rest.len())]
    });
    // `[name]: target`, at the beginning of a line
    let named = text.lines().filter_map(|line| {
        let (name, target) = line.strip_prefix('[')?.split_once("]: ")?;
        (!name.contains(']')).then_some(target)
    });
    inline.chain(named).collect()
}

/// The anchors of a page, as GitHub and mdbook make them from its headings.
fn anchors(prose: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for heading in prose.lines().filter(|line| line.starts_with('#')) {
        let words = heading.trim_start_matches('#').trim();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let anchor = anchor.to_lowercase();
        let mut name = anchor.clone();
        for number in 1.. {
            if found.insert(name) {
                break;
            }
            name = format!("{anchor}-{number}");
        }
    }
    found
}

/// Where a link of this page leads: the path from the root, and the heading.
fn target(page: &Page, link: &str) -> Option<(String, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if file.is_empty() { page.path.clone() } else { normal(&format!("{folder}/{file}")) };
    Some((path, heading.map(str::to_owned)))
}

#[test]
fn h8_every_link_of_a_page_leads_to_a_file_and_a_heading() {
    let pages = read();
    let (mut breaches, mut seen) = (Vec::new(), 0);
    for page in &pages {
        for link in links(&page.prose) {
            let Some((path, heading)) = target(page, link) else { continue };
            seen += 1;
            if !Path::new(&path).exists() {
                breaches.push(format!("{}: {link} leads to no file", page.path));
            }
            let Some(heading) = heading else { continue };
            let to = pages.iter().find(|other| other.path == path);
            if !to.is_some_and(|to| anchors(&to.prose).contains(&heading)) {
                breaches.push(format!("{}: {link} leads to no heading", page.path));
            }
        }
    }
    assert!(seen > 300, "only {seen} links were found");
    hold("broken links", &breaches);
}

#[test]
fn h8_every_page_is_in_the_table_of_contents_once() {
    let pages = read();
    let contents = pages.iter().find(|page| page.path == CONTENTS).unwrap();
    let mut listed: Vec<String> =
        links(&contents.prose).iter().filter_map(|link| Some(target(contents, link)?.0)).collect();
    listed.sort();
    let mut expected: Vec<String> = pages.iter().map(|page| page.path.clone()).collect();
    // The README is the first page of the site; pages of other folders belong to what is beside them.
    expected.retain(|path| {
        path != CONTENTS
            && (path.starts_with("docs/") || ["CHANGELOG.md", "CONTRIBUTING.md"].contains(&path.as_str()))
    });
    expected.sort();
    let missing =
        expected.iter().filter(|path| !listed.contains(path)).map(|path| format!("{path}: missing"));
    let twice = listed.windows(2).filter(|two| two[0] == two[1]).map(|two| format!("{}: twice", two[0]));
    let unknown =
        listed.iter().filter(|path| !expected.contains(path)).map(|path| format!("{path}: no page"));
    hold(CONTENTS, &missing.chain(twice).chain(unknown).collect::<Vec<_>>());
}

/// A command, a file or a session comes first, so that a reader who knows the kind of thing need not read on.
#[test]
fn h8_a_page_begins_with_an_example() {
    let mut breaches = Vec::new();
    for page in read() {
        let is_read_in_order = page.path.starts_with("docs/decisions/0") || page.path == CONTENTS;
        if !page.path.starts_with("docs/") || is_read_in_order || PROSE.contains(&page.path.as_str()) {
            continue;
        }
        let is_text = |line: &&str| !line.is_empty() && !line.starts_with("<!-- generated: ");
        let first = page.whole.lines().skip(1).find(is_text).unwrap_or_default();
        if !page.whole.starts_with("# ") || !first.starts_with("```") {
            breaches.push(format!("{}: {first}", page.path));
        }
    }
    hold("no example below the title", &breaches);
}

#[test]
fn links_in_code_are_none_and_anchors_are_counted() {
    assert_eq!(links("a [b](c.md#d) `[e](f)` ![g](h.svg)\n[i]: j.md\n"), ["c.md#d", "h.svg", "j.md"]);
    let made = anchors("# A\n## `ps [-n COUNT] [--children]`\n## A\n");
    assert_eq!(made, ["a", "a-1", "ps--n-count---children"].map(str::to_owned).into());
}
