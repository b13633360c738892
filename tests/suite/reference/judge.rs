//! The rules on the page about the judge of a run, from the sources, with the comment of each rule's function; and those
//! on the page about the simulator.

use std::collections::BTreeSet;
use std::fs;

use crate::tidy::sources;

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

/// The rules that the simulator watches, one on each line: their names, and what they hold.
const WATCHED: &str = include_str!("../../simulator/src/watch/rules.txt");

#[test]
fn the_page_of_the_simulator_lists_its_rules() {
    let rows: Vec<(&str, &str)> = WATCHED.lines().map(|line| line.split_once(" | ").unwrap()).collect();
    let known: BTreeSet<&str> = rows.iter().flat_map(|(names, _)| names.split(", ")).collect();
    let sources = sources();
    let of_simulator = sources.iter().filter(|source| source.path.starts_with("tests/simulator/src/"));
    let text: String = of_simulator.map(|source| source.text.as_str()).collect();
    let calls = ["find(\"", "find_all(\""].iter().flat_map(|call| text.split(call).skip(1));
    let found: BTreeSet<&str> = calls.filter_map(|rest| rest.split('"').next()).collect();
    let unknown: Vec<&&str> = found.iter().filter(|rule| !known.contains(*rule)).collect();
    assert!(found.len() > 15 && unknown.is_empty(), "write {unknown:?} into watch/rules.txt");
    let unused: Vec<&&str> = known.iter().filter(|rule| !text.contains(&format!("\"{rule}\""))).collect();
    assert!(unused.is_empty(), "no source of the simulator names {unused:?}");
    let name = |names: &str| format!("`{}`", names.replace(", ", "`, `"));
    let table: String =
        rows.iter().map(|(names, holds)| format!("| {} | {holds} |\n", name(names))).collect();
    let table = format!("| rule | what it holds |\n|---|---|\n{table}");
    assert_eq!(crate::generated::parts("docs/reference/simulator.md", |_| table.clone()), ["rules"]);
}
