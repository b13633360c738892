//! The parts of the benchmark on the page about performance, and the steps of the pump on the page about the soak: the
//! rows of the sources, with the comment of each.

use std::fs;

/// The rows of a table: the comment above each row of a list in the sources, behind the name in that row.
fn parts() -> String {
    let source = fs::read_to_string("benches/beat/main.rs").unwrap();
    let (_, list) = source.split_once("const PARTS: ").unwrap();
    let (mut table, mut comment) = (String::new(), Vec::new());
    for line in list.lines().skip(1).map(str::trim).take_while(|line| *line != "];") {
        if let Some(words) = line.strip_prefix("// ") {
            comment.push(words);
        } else if let Some(name) = line.strip_prefix("(\"").and_then(|row| row.split('"').next()) {
            let cells = comment.join(" ");
            assert_eq!(
                cells.matches(" |").count(),
                2,
                "{name}: what is measured | the floor | the variables"
            );
            table.push_str(&format!("| `{name}` | {} |\n", cells.trim_end()));
            comment.clear();
        }
    }
    assert!(table.lines().count() > 20, "{table}");
    format!("| part | what is measured | the floor | variables |\n|---|---|---|---|\n{table}")
}

#[test]
fn the_page_of_performance_lists_the_parts_of_the_benchmark() {
    assert_eq!(crate::generated::parts("docs/reference/performance.md", |_| parts()), ["parts"]);
}

/// The step between two others that no code of ours passes.
const BELOW: &str = "| K5 | between a write and its sync: below our code, struck with strace |\n";

/// The steps at which a process can be killed, by their names, with the comment of each.
fn steps() -> String {
    let names = fs::read_to_string("crates/system/src/failpoint.rs").unwrap();
    let steps = fs::read_to_string("crates/core/src/types/ports.rs").unwrap();
    let (_, steps) = steps.split_once("pub enum PumpStep {").unwrap();
    let mut table = "| step | when |\n|---|---|\n".to_owned();
    for row in names.split("    (\"").skip(1) {
        let Some((name, variant)) = row.split(')').next().and_then(|row| row.split_once("\", PumpStep::"))
        else {
            continue;
        };
        let (before, _) = steps.split_once(&format!("    {variant},")).unwrap();
        let comment = before.lines().rev().find_map(|line| line.trim().strip_prefix("/// ")).unwrap();
        let when = comment
            .strip_prefix(&format!("{name}: "))
            .unwrap_or(comment)
            .trim_end_matches('.')
            .to_lowercase();
        table.push_str(if name == "K6" { BELOW } else { "" });
        table.push_str(&format!("| {name} | {when} |\n"));
    }
    assert!(table.lines().count() > 15, "{table}");
    table
}

#[test]
fn the_page_of_the_soak_lists_the_steps_of_the_pump() {
    assert_eq!(crate::generated::parts("docs/reference/soak.md", |_| steps()), ["steps"]);
}
