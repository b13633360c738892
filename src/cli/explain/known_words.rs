//! The words that `explain` knows beside codes: keys of the file, elements, commands and the words of the glossary.
//!
//! Each comes from where it is kept anyway: the table of keys, the pages of elements and words, the schemas of our own
//! listeners, and the commands themselves. A name comes in; what it means goes out.

use clap::Command;
use serde_json::{Value, json};
use systole_kit::schema::{SchemaModel, find_nearest};

use super::super::help;
use systole_config::KEYS;

const GLOSSARY: &str = include_str!("../../../docs/glossary.md");
const ELEMENTS: &str = include_str!("../../../docs/reference/elements.md");

/// A word that is no code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KnownWord {
    /// What kind of word it is.
    pub(super) kind: &'static str,
    /// The word itself; of a key its whole path.
    pub(super) name: String,
    /// What it means.
    pub(super) meaning: String,
    /// What else there is to say, each with its label.
    pub(super) more: Vec<(&'static str, String)>,
}

impl KnownWord {
    pub(super) fn as_json(&self) -> Value {
        let more: serde_json::Map<String, Value> =
            self.more.iter().map(|(label, text)| ((*label).to_owned(), json!(text))).collect();
        json!({"word": self.name, "kind": self.kind, "meaning": self.meaning, "more": more})
    }
}

/// Everything that a name may mean.
pub(super) fn find(command: &Command, typed: &str) -> Vec<KnownWord> {
    let name = bare(typed);
    let all = glossary().chain(commands(command)).chain(elements()).chain(of_listeners());
    let mut found: Vec<KnownWord> = all.filter(|word| bare(&word.name) == name).collect();
    found.extend(keys().filter(|key| is_key(&key.name, typed)));
    found
}

/// The word that was meant, if one is near in that way.
pub(super) fn near(command: &Command, typed: &str, is_meant: impl Fn(&str, &str) -> bool) -> Option<String> {
    let all: Vec<KnownWord> =
        glossary().chain(commands(command)).chain(elements()).chain(of_listeners()).collect();
    let keys: Vec<KnownWord> = keys().collect();
    let last = keys.iter().filter_map(|key| key.name.rsplit('.').find(|part| *part != "NAME"));
    let names = all.iter().map(|word| word.name.as_str()).chain(last);
    // A long name may contain the letters of a short word by chance.
    let likely = names.filter(|near| near.starts_with(typed) || near.len() < typed.len().saturating_mul(2));
    let likely = likely.filter(|near| is_meant(typed, near));
    find_nearest(typed, likely).map(str::to_owned)
}

/// A name as it is compared: `<thread-spawned/>` and `systole why` are `thread-spawned` and `why`.
fn bare(name: &str) -> String {
    let name = name.trim_start_matches(['<', '`']).trim_end_matches(['>', '/', '`', ':']);
    name.strip_prefix("systole ").unwrap_or(name).to_lowercase()
}

/// Whether a key is meant: by its whole path, with the names of the file or with NAME, or by its end.
fn is_key(path: &str, typed: &str) -> bool {
    let typed: Vec<&str> = typed.trim_matches('`').trim_end_matches(':').split('.').collect();
    let path: Vec<&str> = path.split('.').collect();
    let is_whole = path.len() == typed.len();
    let end = path.len().checked_sub(typed.len()).and_then(|at| path.get(at..));
    end.is_some_and(|end| {
        end.iter().zip(&typed).all(|(key, typed)| key == typed || is_whole && *key == "NAME")
    })
}

fn keys() -> impl Iterator<Item = KnownWord> {
    KEYS.iter().map(|key| KnownWord {
        kind: "key",
        name: key.path.to_owned(),
        meaning: key.meaning.to_owned(),
        more: vec![("default", key.default.to_owned())],
    })
}

/// The rows of the tables of a page that have this many cells, without their heads.
fn rows(page: &str, cells: usize) -> impl Iterator<Item = Vec<&str>> {
    page.lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("|--"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>())
        .filter(move |row| row.len() == cells)
}

fn glossary() -> impl Iterator<Item = KnownWord> {
    rows(GLOSSARY, 2).skip(1).filter_map(|row| {
        let [name, meaning] = row[..] else { return None };
        let (name, meaning) = (name.to_owned(), meaning.to_owned());
        Some(KnownWord { kind: "word", name, meaning, more: Vec::new() })
    })
}

fn elements() -> impl Iterator<Item = KnownWord> {
    let sections = ELEMENTS.split("\n## ").skip(1);
    sections.flat_map(|section| {
        let namespace = section.lines().next().unwrap_or_default();
        rows(section, 5).filter_map(move |row| {
            let [name, attributes, holds, from, meaning] = row[..] else { return None };
            let name = name.strip_prefix('`')?.split('`').next()?.to_owned();
            let attributes = if attributes.is_empty() { "none" } else { attributes };
            let more =
                [("namespace", namespace), ("attributes", attributes), ("holds", holds), ("from", from)];
            let more = more.map(|(label, text)| (label, text.replace('`', ""))).to_vec();
            Some(KnownWord { kind: "element", name, meaning: meaning.replace('`', ""), more })
        })
    })
}

/// The payloads of our own listeners, by kind.
fn of_listeners() -> impl Iterator<Item = KnownWord> {
    let kinds = systole_config::list_schemas().map(|(kind, (_, text))| (kind, text));
    let mut all: Vec<(&str, &[u8])> = kinds.chain([("workflow", systole_config::WORKFLOW_XSD)]).collect();
    all.sort_by_key(|(kind, _)| *kind);
    let among = all.clone();
    all.into_iter().flat_map(move |(listener, xsd)| {
        let model = SchemaModel::read_among(xsd, &among).ok();
        let told = |model: &SchemaModel, name: &str| KnownWord {
            kind: "element",
            name: name.to_owned(),
            meaning: model.find_documentation(name).unwrap_or_default().to_owned(),
            more: vec![
                ("namespace", model.target_namespace().to_owned()),
                ("listener", format!("{listener}; systole schema example {name} where one takes it")),
            ],
        };
        let words = model.map(|model| model.elements().map(|name| told(&model, name)).collect::<Vec<_>>());
        words.unwrap_or_default()
    })
}

fn commands(root: &Command) -> impl Iterator<Item = KnownWord> {
    let mut found = Vec::new();
    help::list_commands(root).for_each(|command| gather(command, "", &mut found));
    found.into_iter()
}

fn gather(command: &Command, above: &str, found: &mut Vec<KnownWord>) {
    let name = format!("{above}{}", command.get_name());
    let meaning = command.get_about().map(ToString::to_string).unwrap_or_default();
    let more = vec![("more", format!("systole {name} --help"))];
    help::list_commands(command).for_each(|inner| gather(inner, &format!("{name} "), found));
    found.push(KnownWord { kind: "command", name, meaning, more });
}
