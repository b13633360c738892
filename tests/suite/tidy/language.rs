//! Retired words: what a person reads is plain modern English.

use std::fs;
use std::path::PathBuf;

use super::pages::pages;
use super::{Source, hold, sources};

/// Words that no page, comment, name or message has. Sentences with them have to be read twice.
const RETIRED: [&str; 7] = ["whoever", "whomever", "thereof", "mend", "mends", "mended", "mending"];
/// Words that no comment and no sentence of a page has. Test data may.
const NOT_IN_PROSE: [&str; 2] = ["nobody", "somebody"];

/// The endings of schemas, scripts and config files.
const ENDINGS: [&str; 4] = ["py", "sh", "xsd", "yaml"];

/// The words of a text, in small letters. Names are taken apart: `is_mended` has two.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_ascii_alphabetic()).map(str::to_ascii_lowercase)
}

/// The retired words of a text, each with its line. `prose` returns what is a sentence in a line.
fn retired(text: &str, mut prose: impl FnMut(&str) -> String) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in (1..).zip(text.lines()) {
        let sentence = prose(line);
        let anywhere = words(line).filter(|word| RETIRED.contains(&word.as_str()));
        let here = words(&sentence).filter(|word| NOT_IN_PROSE.contains(&word.as_str()));
        found.extend(anywhere.chain(here).map(|word| (at, word)));
    }
    found
}

/// The comment of a line of Rust.
fn comment(line: &str) -> String {
    line.split_once("//").map_or(String::new(), |(_, comment)| outside_code(comment))
}

/// The comments and the documentation of a schema, a script or a config file, line by line.
fn of_schema_or_script() -> impl FnMut(&str) -> String {
    let mut end = None;
    move |line| {
        if let Some(sign) = end {
            let (remark, is_over) = line.split_once(sign).map_or((line, false), |(remark, _)| (remark, true));
            end = end.filter(|_| !is_over);
            return outside_code(remark);
        }
        for (sign, closes) in [("<!--", "-->"), ("documentation>", "</"), ("\"\"\"", "\"\"\"")] {
            if let Some((_, remark)) = line.split_once(sign) {
                end = Some(closes).filter(|closes| !remark.contains(closes));
                return outside_code(remark);
            }
        }
        line.split_once('#').map_or(String::new(), |(_, remark)| outside_code(remark))
    }
}

/// The built-in schemas, and the schemas, scripts and config files of the examples.
fn schemas_and_examples() -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("schemas"), PathBuf::from("config")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
                let text = fs::read_to_string(&path).unwrap();
                found.push(Source { path: path.display().to_string(), text });
            }
        }
    }
    assert!(found.len() > 50, "only {} schemas and examples found", found.len());
    found
}

/// A line without what is in backticks.
fn outside_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The sentences of a page, line by line: no code blocks, nothing in backticks.
fn of_page() -> impl FnMut(&str) -> String {
    let mut is_code = false;
    move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence { String::new() } else { outside_code(line) }
    }
}

#[test]
fn retired_words_stay_retired() {
    let mut breaches = Vec::new();
    for source in sources().iter().filter(|source| !source.path.ends_with("tidy/language.rs")) {
        let found = retired(&source.text, comment);
        breaches.extend(found.into_iter().map(|(line, word)| format!("{}:{line}: {word}", source.path)));
    }
    for source in schemas_and_examples() {
        let found = retired(&source.text, of_schema_or_script());
        breaches.extend(found.into_iter().map(|(line, word)| format!("{}:{line}: {word}", source.path)));
    }
    for path in pages() {
        let found = retired(&fs::read_to_string(&path).unwrap(), of_page());
        let path = path.display();
        breaches.extend(found.into_iter().map(|(line, word)| format!("{path}:{line}: {word}")));
    }
    hold("a retired word; say it in plain English", &breaches);
}

#[test]
fn a_retired_word_is_seen_in_a_sentence_and_in_a_name() {
    let found =
        retired("/// Whoever asks.\nfn is_mended() {}\nlet nobody = 1; // somebody, `nobody`", comment);
    let found: Vec<_> = found.iter().map(|(line, word)| (*line, word.as_str())).collect();
    assert_eq!(found, [(1, "whoever"), (2, "mended"), (3, "somebody")]);
    assert!(retired("recommended, amended, emend", comment).is_empty());
    let noted =
        "<!-- A\nnobody -->\n<xs:documentation>Somebody.</xs:documentation>\nsay: nobody # mended `nobody`";
    let lines: Vec<usize> = retired(noted, of_schema_or_script()).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4]);
    assert_eq!(retired("```\nnobody\n```\nnobody `nobody`", of_page()).len(), 1);
}
