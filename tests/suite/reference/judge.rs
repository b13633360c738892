//! The rules on the page about the judge of a run: the table of the sources, with the comment of each rule's function.

use std::fs;

/// The documentation comment of a function in a file of the rules.
fn comment(file: &str, function: &str) -> String {
    let text = fs::read_to_string(format!("tests/checker/src/rules/{file}.rs")).unwrap();
    let (before, _) = text.split_once(&format!(" fn {function}(")).unwrap();
    let lines: Vec<&str> = before.lines().rev().skip(1).map_while(|line| line.strip_prefix("/// ")).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" ")
}

fn rules() -> String {
    let source = fs::read_to_string("tests/checker/src/rules/mod.rs").unwrap();
    let (_, table) = source.split_once("const ON_RECORD: &[OnRecord] = &[\n").unwrap();
    let rows = table.lines().map_while(|line| line.trim().strip_prefix("(\"")?.strip_suffix("),"));
    let row = |row: &str| {
        let (name, place) = row.split_once("\", ").unwrap();
        let (file, function) = place.split_once("::").unwrap();
        format!("| `{name}` | {} |\n", comment(file, function))
    };
    let rows: Vec<String> = rows.map(row).collect();
    assert!(rows.len() > 30 && rows.iter().all(|row| row.ends_with(". |\n")), "{rows:#?}");
    format!("| rule | what it holds |\n|---|---|\n{}", rows.concat())
}

#[test]
fn the_page_of_the_judge_lists_its_rules() {
    assert_eq!(crate::generated::parts("docs/reference/checker.md", |_| rules()), ["rules"]);
}
