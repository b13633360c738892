//! What differs between two configurations, key by key, and which keys an organism takes over only when it is stopped
//! and started.
//!
//! Two stored sources come in; the paths that differ go out, and the files with schemas or prompt text that do.

use std::collections::BTreeSet;

use super::diagnostics::{Diagnostics, Given};
use super::source::{self, PROMPTS, Stored};
use super::tree::{Node, Value};
use super::{keys, settings, yaml};

/// Keys that count only from the next start on, each with everything below it.
const RESTART_KEYS: [&str; 4] = ["organism.name", "log", "bus", "console.listen"];

/// A key or a file that differs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConfigChange {
    /// Its path in the organism's file, or the name of the file.
    pub what: String,
    /// Whether the organism has to be stopped and started for it.
    pub needs_restart: bool,
}

/// Whether an organism has to be stopped and started if the key at that path changes.
pub fn needs_restart(path: &str) -> bool {
    RESTART_KEYS.iter().any(|key| is_at_or_below(path, key))
}

fn is_at_or_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// What differs between two stored sources, in the order of the paths. The error is in words.
pub fn list_changes(before: &[u8], after: &[u8]) -> Result<Vec<ConfigChange>, String> {
    let (before, after) = (source::read(before)?, source::read(after)?);
    let mut paths = BTreeSet::new();
    compare("", Some(&read_tree(&before)?), Some(&read_tree(&after)?), &mut paths);
    let mut changes: BTreeSet<ConfigChange> =
        paths.into_iter().map(|what| ConfigChange { needs_restart: needs_restart(&what), what }).collect();
    let files: BTreeSet<&str> = before.list_files().chain(after.list_files()).collect();
    let differing = files.into_iter().filter(|name| before.find_text(name) != after.find_text(name));
    changes.extend(differing.map(|name| {
        let what = name.strip_prefix(PROMPTS).unwrap_or(name).to_owned();
        ConfigChange { what, needs_restart: false }
    }));
    Ok(changes.into_iter().collect())
}

/// The tree of a stored file, with its settings.
fn read_tree(stored: &Stored) -> Result<Node, String> {
    let mut diagnostics = Diagnostics::new(
        "stored configuration",
        &stored.file,
        &stored.settings,
        Given::Any,
        keys::is_required,
    );
    let stretch = diagnostics.file();
    let root = yaml::read(&mut diagnostics, stretch);
    let root = root.map(|mut root| {
        settings::apply(&mut diagnostics, &mut root);
        root
    });
    root.ok_or_else(|| diagnostics.into_mistakes().to_string())
}

/// Adds the paths below `path` that differ.
fn compare(path: &str, before: Option<&Node>, after: Option<&Node>, paths: &mut BTreeSet<String>) {
    let entries = |node: Option<&'_ Node>| match node.map(|node| &node.value) {
        Some(Value::Map(entries)) => entries.iter().map(|entry| entry.key.clone()).collect(),
        _ => BTreeSet::new(),
    };
    let (left, right): (BTreeSet<String>, BTreeSet<String>) = (entries(before), entries(after));
    // A section that is new may have keys of both kinds.
    let has_both = RESTART_KEYS.iter().any(|key| *key != path && is_at_or_below(key, path));
    if (left.is_empty() || right.is_empty()) && !has_both {
        if !is_equal(before, after) {
            paths.insert(path.to_owned());
        }
        return;
    }
    for key in &left | &right {
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let child = |node: Option<&'_ Node>| node.and_then(|node| node.child(&key).cloned());
        compare(&below, child(before).as_ref(), child(after).as_ref(), paths);
    }
}

/// Whether two values are the same, wherever they are written.
fn is_equal(one: Option<&Node>, other: Option<&Node>) -> bool {
    match (one.map(|node| &node.value), other.map(|node| &node.value)) {
        (None, None) => true,
        (Some(Value::Nothing), Some(Value::Nothing)) => true,
        (Some(Value::Text { text, plain }), Some(Value::Text { text: others, plain: as_plain })) => {
            (text, plain) == (others, as_plain)
        }
        (Some(Value::List(list)), Some(Value::List(others))) => {
            list.len() == others.len()
                && list.iter().zip(others).all(|(one, other)| is_equal(Some(one), Some(other)))
        }
        (Some(Value::Map(entries)), Some(Value::Map(others))) => {
            entries.len() == others.len()
                && entries.iter().all(|entry| {
                    let other = others.iter().find(|other| other.key == entry.key);
                    other.is_some_and(|other| is_equal(Some(&entry.value), Some(&other.value)))
                })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::composition::Schema;

    fn write_stored(file: &str, settings: &[&str], texts: &[(&str, &str)]) -> Vec<u8> {
        let schema =
            |(name, text): &(&str, &str)| Schema { name: (*name).to_owned(), text: text.as_bytes().into() };
        let house = [("core.xsd", "c"), ("envelope.xsd", "e")];
        let texts: Vec<Schema> = house.iter().chain(texts).map(schema).collect();
        let settings: Vec<String> = settings.iter().map(|set| (*set).to_owned()).collect();
        source::write(file, &settings, &[&texts])
    }

    #[test]
    fn d9_each_key_and_file_that_differs_is_named_with_what_it_needs() {
        let file = "organism: {name: hello}\nlisteners:\n  echo: {run: [python3, a.py], entry: true}\nlog: {path: ./a.db}\n";
        let before = write_stored(file, &[], &[("echo.xsd", "<a/>"), ("prompt:who.txt", "You")]);
        let changed = |text: &str, settings: &[&str], texts: &[(&str, &str)]| {
            let changes = list_changes(&before, &write_stored(text, settings, texts)).unwrap();
            let show =
                |one: &ConfigChange| format!("{}{}", one.what, if one.needs_restart { "!" } else { "" });
            changes.iter().map(show).collect::<Vec<_>>().join(" ")
        };
        let same = [("echo.xsd", "<a/>"), ("prompt:who.txt", "You")];
        assert_eq!(changed(file, &[], &same), "");
        assert_eq!(changed(&format!("# another comment\n{file}"), &[], &same), "");
        assert_eq!(changed(&file.replace("a.py", "b.py"), &[], &same), "listeners.echo.run");
        assert_eq!(changed(&file.replace("a.db", "b.db"), &[], &same), "log.path!");
        assert_eq!(changed(&file.replace("name: hello", "name: other"), &[], &same), "organism.name!");
        assert_eq!(
            changed(&format!("{file}console: {{listen: 127.0.0.1:80, metrics: open}}\n"), &[], &same),
            "console.listen! console.metrics"
        );
        assert_eq!(changed(&format!("{file}clients: {{ann: {{token_env: T}}}}\n"), &[], &same), "clients");
        assert_eq!(changed(file, &["limits.message=1KiB"], &same), "limits");
        assert_eq!(changed(file, &[], &[("echo.xsd", "<b/>"), ("prompt:who.txt", "We")]), "echo.xsd who.txt");
        assert_eq!(changed(file, &[], &[]), "echo.xsd who.txt");
        assert!(list_changes(b"1:x\n", &before).is_err());
    }
}
