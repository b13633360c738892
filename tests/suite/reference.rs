//! The pages of the reference that are made from tables in the sources, or compared with them. `SYSTOLE_GOLDEN=1`
//! writes the made pages again; without it a page that differs from its table fails the test.

mod agents;
mod api;
mod code;
mod commands;
mod crates;
mod decisions;
mod figures;
mod harnesses;
mod judge;
mod page;
mod schemas;
mod wire;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use systole_agent::failures::FAILURES;
use systole_config::ConfigKey;
use systole_config::listener_codes::{self, ListenerCode};
use systole_core::types::codes::Code;
use systole_core::types::refusal::Refusal;

use crate::tidy::{Source, sources};

const CAPABILITIES: &str = "docs/capabilities.md";
const CODES: &str = "docs/reference/codes.md";

fn codes_page() -> String {
    let shown = Code::ALL.iter().find(|code| code.as_str() == "listener.down").unwrap();
    let mut page = format!(
        "# Codes\n\n\
         ```text\n\
         $ systole explain {shown}\n\
         {shown}: {}\n\
         …\n  try: {}\n\
         ```\n\n",
        shown.meaning(),
        shown.fix()
    );
    page.push_str(
        "Each code names what went wrong. People, prompts and stored logs depend on these names. This page is\n\
         generated from `crates/core/src/types/codes.rs` and the examples beside it. `systole explain CODE`\n\
         prints the same.\n\n\
         *Again* says whether the same call may be sent again now, once it is fixed: it is `retry_allowed` of\n\
         the `<system-error>`. Codes marked *warning* do not stop anything. The examples are real output.\n",
    );
    let families = Code::ALL.chunk_by(|one, next| one.family() == next.family());
    for codes in families {
        let family = codes.first().map_or("", |code| code.family());
        write!(page, "\n## {family}\n\n| code | what it means | again |\n|---|---|---|\n").unwrap();
        for code in codes {
            let again = match (code.is_warning(), code.retry_allowed()) {
                (true, _) => "warning",
                (_, true) => "yes",
                (_, false) => "no",
            };
            writeln!(page, "| `{code}` | {} | {again} |", code.meaning()).unwrap();
        }
        for code in codes {
            write!(page, "\n### `{code}`\n\n{}\n", wrapped(&format!("Try: {}.", code.fix()))).unwrap();
            if let Some(example) = code.example() {
                write!(page, "\n```text\n{example}\n```\n").unwrap();
            }
        }
    }
    page.push_str(
        "\n## Codes of listeners\n\n\
         Systole's own listeners give these codes to their failures and remarks. A failed call has the code\n\
         `listener.failed`, and its message begins with the name of the listener and the listener's own code.\n\
         `systole find --code CODE` finds these too, and those of your own listeners, which may use any name\n\
         with a dot, such as `search.offline`.\n\n\
         | code | what it means | try |\n|---|---|---|\n",
    );
    for ListenerCode { code, meaning, fix } in listener_codes::list_listener_codes() {
        writeln!(page, "| `{code}` | {} | {} |", cell(&meaning), cell(fix)).unwrap();
    }
    page
}

/// The table of the codes that warn about an organism's file.
pub(crate) fn list_warnings() -> String {
    let warnings = Code::ALL.iter().filter(|code| code.is_warning() && code.family() == "config");
    let rows = warnings.map(|code| format!("| `{code}` | {} | {} |\n", code.meaning(), code.fix()));
    format!("| warning | what it means | try |\n|---|---|---|\n{}", rows.collect::<String>())
}

/// The table of the keys below a path whose other part is wanted. A reload takes over all keys but those that say so.
pub(crate) fn list_keys(keys: &[ConfigKey], below: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    let rows = keys.iter().filter_map(|key| {
        let name = key.path.strip_prefix(below).filter(|name| is_wanted(name))?;
        let restart = if systole_config::needs_restart(key.path) { "; needs a restart" } else { "" };
        Some(format!("| `{name}` | {} | {}{restart} |\n", key.default, key.meaning))
    });
    format!("| key | default | what it says |\n|---|---|---|\n{}", rows.collect::<String>())
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('<', "&lt;").replace('|', "\\|")
}

/// The pages of listeners that list their codes.
const OF_LISTENERS: [&str; 3] = ["code", "mcp", "workspace"];

#[test]
fn the_page_of_a_listener_lists_its_codes() {
    for kind in OF_LISTENERS {
        let mut table = "| code | what it means | try |\n|---|---|---|\n".to_owned();
        let is_own = |one: &ListenerCode| one.code.split('.').next() == Some(kind);
        for ListenerCode { code, meaning, fix } in
            listener_codes::list_listener_codes().into_iter().filter(is_own)
        {
            writeln!(table, "| `{code}` | {} | {} |", cell(&meaning), cell(fix)).unwrap();
        }
        let page = format!("docs/reference/{kind}.md");
        assert_eq!(crate::generated::parts(&page, |_| table.clone()), ["codes"]);
    }
}

/// Codes that only workers of older versions gave, which logs have.
const OLDER: [&str; 1] = ["worker.not-asked"];

/// Every code in the sources of our listeners, and every code of the table of the pump, is one that `explain` knows.
#[test]
fn explain_knows_each_code_that_a_listener_can_give() {
    let known: BTreeSet<String> =
        listener_codes::list_listener_codes().into_iter().map(|one| one.code).collect();
    let families: BTreeSet<&str> = known.iter().filter_map(|code| code.split('.').next()).collect();
    let is_name = |c: char| c.is_ascii_lowercase() || matches!(c, '-' | '.');
    let mut found = BTreeSet::new();
    let mut others = vec![PathBuf::from("listeners/echo-python/echo.py")];
    for folder in ["listeners/sdk/python/systole_sdk", "listeners/sdk/typescript/systole_sdk"] {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        others.extend(files.filter(|path| path.is_file()));
    }
    let others = others
        .iter()
        .map(|path| Source { path: path.display().to_string(), text: fs::read_to_string(path).unwrap() });
    for source in sources().into_iter().chain(others) {
        let path = &source.path;
        let is_listener = path.contains("listeners/") && !path.contains("/tests/");
        if !is_listener && !path.ends_with(".py") && !path.contains("src/cli/listen_as") {
            continue;
        }
        // A code begins a text, and ends with it or with a colon.
        for (at, _) in source.text.match_indices('"') {
            let text = &source.text[at + 1..];
            let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
            let (code, rest) = text.split_at(end);
            let is_code = code.split_once('.').is_some_and(|(family, _)| families.contains(family));
            let is_file = [".xsd", ".rs", ".json", ".py", ".ts"].iter().any(|ending| code.ends_with(ending));
            // What a journal says of a call that did nothing.
            let is_stop = code == "model.failed";
            if is_code && !is_stop && !is_file && !code.ends_with('.') && rest.starts_with(['"', ':']) {
                found.insert(code.to_owned());
            }
        }
    }
    let is_known = |code: &&String| known.contains(*code) || Code::parse(code).is_some();
    let unknown: Vec<&String> = found.iter().filter(|code| !is_known(code)).collect();
    assert!(unknown.is_empty(), "codes that `explain` does not know: {unknown:?}");
    let slugs: BTreeSet<String> = FAILURES.iter().map(|row| format!("agent.{}", row.slug)).collect();
    let unused: Vec<&String> = known
        .iter()
        .filter(|code| !found.contains(*code) && !slugs.contains(*code) && !OLDER.contains(&code.as_str()))
        .collect();
    assert!(unused.is_empty(), "codes that no listener gives: {unused:?}");
    assert!(found.len() > 50, "{found:?}");
}

/// A text in lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut().filter(|line| line.len() + word.len() < 100) {
            Some(line) => line.extend([" ", word]),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[test]
fn the_page_of_codes_is_the_table_of_codes() {
    crate::golden::golden(CODES, codes_page());
}

#[test]
fn a_family_of_codes_stands_together() {
    let mut seen: Vec<&str> = Code::ALL.iter().filter_map(|c| c.as_str().split('.').next()).collect();
    seen.dedup();
    let families = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), families, "a family begins twice in the table");
}

/// A capability may be listed as working only if its test exists.
#[test]
fn what_is_said_to_work_has_its_test() {
    let page = fs::read_to_string(CAPABILITIES).unwrap();
    let rows: Vec<Vec<&str>> = (page.lines())
        .filter(|line| line.starts_with("| ") && !line.starts_with("| id "))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let sources = sources();
    let declared = sources.iter().flat_map(|source| source.text.split("fn ").skip(1));
    let functions: BTreeSet<&str> = declared.filter_map(|rest| Some(rest.split_once('(')?.0)).collect();
    let mut counts = std::collections::BTreeMap::new();
    for row in &rows {
        let [id, _, state, place, test, _] = row[..] else { panic!("not six columns: {row:?}") };
        let (family, number) = id.split_at(1);
        let counted: &mut usize = counts.entry(family).or_default();
        *counted += 1;
        assert_eq!(number, counted.to_string(), "{id} is out of order");
        assert!(["works", "partly", "not yet"].contains(&state), "{id}: {state}");
        assert_eq!(
            state == "not yet",
            test.is_empty() && place.is_empty(),
            "{id}: a state and its test go together"
        );
        for name in test.split(", ").filter(|name| !name.is_empty()) {
            let name = name.trim_matches('`');
            assert!(
                name.starts_with(&format!("{}_", id.to_lowercase())),
                "{id}: {name} is not named after it"
            );
            assert!(functions.contains(name), "{id}: there is no {name}");
        }
    }
    let counts: Vec<(&str, usize)> = counts.into_iter().collect();
    let promised = [("A", 13), ("B", 22), ("C", 15), ("D", 13), ("E", 21), ("F", 10), ("G", 14), ("H", 15)];
    assert_eq!(counts, promised, "a promise was added or dropped");
}

#[test]
fn a9_every_refusal_of_a_payload_or_a_reply_carries_a_fix() {
    let of_bytes = |code: &&Code| matches!(code.family(), "payload" | "reply");
    let codes: Vec<_> = Code::ALL.iter().filter(of_bytes).collect();
    assert!(codes.len() >= 15, "{codes:?}");
    for code in codes {
        let fix = Refusal::new(*code, "x").fix.unwrap_or_else(|| panic!("{code} has no repair"));
        // The table's general fix refers to the `try` line. On that line itself it would be no fix.
        assert!(!fix.is_empty() && !fix.contains("`try`"), "{code}: {fix}");
        let shown = code.example().unwrap_or_else(|| panic!("{code} is not shown"));
        assert!(shown.lines().any(|line| line.starts_with("  try ")), "{shown}");
    }
}
