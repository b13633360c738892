//! The pages about agents and about scripts, made of the sources or compared with them: the table of failures, the
//! tools of the core, and the keys of scripts.

use std::fs;

use systole_agent::failures::{FAILURES, FailureWeight};
use systole_agent::model::script::Script;

const AGENTS: &str = "docs/reference/agents.md";
const SCRIPT: &str = "docs/reference/script.md";
const HEAD: &str = "| slug | weight | what the model is told |\n|---|---|---|\n";

/// The table of failures as the page has it.
fn failures() -> String {
    let rows = FAILURES.iter().map(|row| {
        let weight = match row.weight {
            FailureWeight::Critical => "critical",
            FailureWeight::High => "high",
            FailureWeight::Normal => "normal",
        };
        format!("| `{}` | {weight} | {} |\n", row.slug, row.told.replace('<', "\\<"))
    });
    format!("{HEAD}{}", rows.collect::<String>())
}

#[test]
fn the_page_of_agents_has_the_table_of_failures() {
    assert_eq!(crate::generated::parts(AGENTS, |_| failures()), ["feedback"]);
}

/// The first cells of the table that begins with that line.
fn cells(page: &str, head: &str) -> Vec<String> {
    let table = page.split_once(head).unwrap_or_else(|| panic!("no {head}")).1;
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn the_page_of_agents_has_every_tool_of_the_core() {
    let page = fs::read_to_string(AGENTS).unwrap();
    let told = fs::read_to_string("listeners/agent/tests/suite/golden/native-tools.txt").unwrap();
    let tools = told.lines().filter_map(|line| line.strip_prefix("  \"name\": \"")?.strip_suffix("\","));
    let core: Vec<&str> = tools.filter(|name| *name != "search").collect();
    assert_eq!(cells(&page, "| tool | arguments | payload |"), core);
}

/// The fields of a struct in the source, under their names in a file and with their comments.
fn fields(source: &str, name: &str) -> Vec<(String, String)> {
    let inside = source.split_once(&format!("struct {name} {{\n")).unwrap().1.split_once("\n}\n").unwrap().0;
    let (mut fields, mut renamed, mut comment) = (Vec::new(), None, Vec::new());
    for line in inside.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("/// ") {
            comment.push(words);
        } else if let Some(rest) = line.strip_prefix("#[serde(rename = \"") {
            renamed = rest.split('"').next();
        } else if let Some((field, _)) = line.split_once(':').filter(|_| !line.starts_with('#')) {
            fields.push((renamed.take().unwrap_or(field).to_owned(), comment.join(" ")));
            comment.clear();
        }
    }
    fields
}

/// A table of keys with their meanings.
fn keys(rows: impl IntoIterator<Item = (String, String)>) -> String {
    let rows = rows.into_iter().map(|(key, meaning)| {
        assert!(!meaning.is_empty(), "{key} has no comment");
        format!("| `{key}` | {} |\n", super::cell(&meaning))
    });
    format!("| key | what it is |\n|---|---|\n{}", rows.collect::<String>())
}

#[test]
fn the_page_of_the_mock_lists_the_keys_of_its_scripts() {
    let rows =
        systole_mock_model::KEYS.iter().map(|(key, meaning)| ((*key).to_owned(), (*meaning).to_owned()));
    let table = keys(rows);
    assert_eq!(crate::generated::parts("docs/reference/mock-model.md", |_| table.clone()), ["keys"]);
}

#[test]
fn the_page_of_scripts_has_every_key_and_its_example_is_one() {
    let source = fs::read_to_string("listeners/agent/src/model/script.rs").unwrap();
    let mut rows = fields(&source, "Written");
    for (key, name) in [("usage", "Used"), ("error", "Failing")] {
        let at = rows.iter().position(|(row, _)| row == key).unwrap() + 1;
        let below = fields(&source, name).into_iter().map(|(field, what)| (format!("{key}.{field}"), what));
        rows.splice(at..at, below);
    }
    assert!(rows.len() >= 14, "{rows:?}");
    let table = keys(rows);
    assert_eq!(crate::generated::parts(SCRIPT, |_| table.clone()), ["keys"]);
    let page = fs::read_to_string(SCRIPT).unwrap();
    let example = page.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0;
    let script = Script::from_text(example).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(script.agents().collect::<Vec<_>>(), ["coordinator", "researcher"]);
}
