//! Reads values of the file: a number, a duration, a name, or a mistake with its fix. Each reader
//! returns `None` after reporting a mistake, and the other readers continue.

use std::ops::Deref;

use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::key::{KeyRow, NeverKey};
use super::traps;
use super::tree::{Entry, Node, Span, Value};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) at: Span,
    pub(super) value: T,
}

/// The keys that a map of the file sets, and where.
#[derive(Clone, Debug, Default)]
pub(super) struct SetKeys {
    /// The map's path for people: `listeners.search`.
    pub(super) path: String,
    /// The place for reports about something missing in it.
    pub(super) at: Span,
    /// Each key, its own place and that of its value.
    places: Vec<(String, Span, Span)>,
    /// Keys that are missing because they are misspelled, which was already reported.
    misspelled: Vec<String>,
}

impl SetKeys {
    fn find(&self, key: &str) -> Option<&(String, Span, Span)> {
        self.places.iter().find(|(name, ..)| name == key)
    }

    /// Whether the map has this key, with whatever value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// The place of a key.
    pub(super) fn place_of(&self, key: &str) -> Option<Span> {
        self.find(key).map(|(_, at, _)| *at)
    }

    /// The place of the value of a key.
    pub(super) fn value_place(&self, key: &str) -> Option<Span> {
        self.find(key).map(|(.., at)| *at)
    }

    /// Reports a missing key, unless it was misspelled.
    pub(super) fn report_missing(&self, diagnostics: &mut Diagnostics, key: &str, fix: &str) {
        if !self.has(key) && !self.misspelled.iter().any(|meant| meant == key) {
            let what = if self.path.is_empty() { "the file" } else { &self.path };
            diagnostics.report(Code::ConfigMissing, self.at, &format!("{what} has no `{key}`"), fix);
        }
    }
}

/// The entries of one map, checked against the keys that it may have.
pub(super) struct Fields<'n> {
    pub(super) set: SetKeys,
    entries: Vec<&'n Entry>,
}

impl Deref for Fields<'_> {
    type Target = SetKeys;

    fn deref(&self) -> &SetKeys {
        &self.set
    }
}

impl<'n> Fields<'n> {
    /// The value of a key, with its path.
    pub(super) fn get(&self, key: &str) -> Option<(&'n Node, String)> {
        let entry = self.entries.iter().find(|e| e.key == key)?;
        Some((&entry.value, join_path(&self.path, key)))
    }
}

/// The keys that a map may have.
pub(super) struct KnownKeys {
    rows: Vec<&'static str>,
    never: Vec<NeverKey>,
}

impl KnownKeys {
    /// The keys that a section declares.
    pub(super) fn from_rows(rows: &'static [KeyRow], never: &[NeverKey]) -> KnownKeys {
        let mut known = KnownKeys { rows: Vec::new(), never: never.to_vec() };
        known.add(rows);
        known
    }

    fn add(&mut self, rows: &'static [KeyRow]) {
        for row in rows {
            if row.name.is_empty() {
                self.add(row.below);
            } else {
                self.rows.push(row.name);
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.rows.iter().copied()
    }
}

pub(super) fn join_path(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Reads a map of these keys. `at` is the place for reports about something missing in it.
pub(super) fn read_fields<'n>(
    diagnostics: &mut Diagnostics,
    node: &'n Node,
    at: Span,
    known: &KnownKeys,
    path: &str,
) -> Option<Fields<'n>> {
    if let Value::Text { .. } | Value::List(_) = &node.value {
        let names = known.names().collect::<Vec<_>>();
        let fix = no_blank(node, &names).unwrap_or_else(|| format!("keys below it: {}", names.join(", ")));
        wrong_kind(diagnostics, node, path, "a map", &fix);
        return None;
    }
    let entries = map(diagnostics, node, at, path)?;
    let (mut usable, mut misspelled) = (Vec::new(), Vec::new());
    for (number, entry) in entries.iter().enumerate() {
        match known.rows.iter().find(|name| **name == entry.key) {
            Some(_) => usable.push(entry),
            None if is_cut_off(diagnostics, node, number, known, path) => {}
            None => misspelled.extend(report_unknown(diagnostics, entry, entries, known, path)),
        }
    }
    let places = usable.iter().map(|entry| (entry.key.clone(), entry.at, entry.value.span)).collect();
    let set = SetKeys { path: path.to_owned(), at, places, misspelled };
    Some(Fields { set, entries: usable })
}

/// Reports a key that is really text, cut off by a comma in braces. What is like a known key is a misspelled one.
fn is_cut_off(
    diagnostics: &mut Diagnostics,
    map: &Node,
    number: usize,
    known: &KnownKeys,
    path: &str,
) -> bool {
    let Value::Map(entries) = &map.value else { return false };
    let before = number.checked_sub(1);
    let Some((previous, entry)) = before.and_then(|before| entries.get(before).zip(entries.get(number)))
    else {
        return false;
    };
    find_nearest(&entry.key, known.names()).is_none()
        && traps::cut_step(diagnostics, map, previous, entry, path)
}

/// The fix for `name:hello`, which YAML reads as one text.
fn no_blank(node: &Node, names: &[&str]) -> Option<String> {
    let Value::Text { text, plain: true } = &node.value else { return None };
    let (key, value) = text.split_once(':')?;
    let known = names.contains(&key) && !value.is_empty();
    known.then(|| format!("{key}: {value}, with a blank behind the colon"))
}

/// Reports an unknown key. Returns the key that was probably meant, if that one is missing.
fn report_unknown(
    diagnostics: &mut Diagnostics,
    entry: &Entry,
    entries: &[Entry],
    known: &KnownKeys,
    path: &str,
) -> Option<String> {
    if let Some(never) = known.never.iter().find(|never| never.name == entry.key) {
        let message = format!("{}: {}", join_path(path, &entry.key), never.why);
        diagnostics.report(Code::ConfigUnknownKey, entry.at, &message, never.fix);
        return None;
    }
    let place = if path.is_empty() { "at the top of the file" } else { path };
    let message = format!("`{}` is not a key {}{place}", entry.key, if path.is_empty() { "" } else { "of " });
    let all: Vec<&str> = known.names().collect();
    let is_set = |name: &str| entries.iter().any(|other| other.key == name);
    let meant = find_nearest(&entry.key, known.names());
    let fix = match meant {
        Some(name) if is_set(name) => format!("leave it out: `{name}` is already set"),
        Some(name) => name.to_owned(),
        None => {
            let free: Vec<&str> = all.iter().copied().filter(|name| !is_set(name)).collect();
            if free.is_empty() { "leave it out".to_owned() } else { format!("one of {}", free.join(", ")) }
        }
    };
    diagnostics.report(Code::ConfigUnknownKey, entry.at, &message, &fix);
    meant.filter(|name| !is_set(name)).map(str::to_owned)
}

/// The entries of a map. A key without a value is an empty map.
pub(super) fn map<'n>(
    diagnostics: &mut Diagnostics,
    node: &'n Node,
    at: Span,
    path: &str,
) -> Option<&'n [Entry]> {
    match &node.value {
        Value::Map(entries) => Some(entries),
        Value::Nothing => {
            diagnostics.report(
                Code::ConfigMissing,
                at,
                &format!("{path} is empty"),
                "keys below it, or leave it out",
            );
            None
        }
        Value::Reported => None,
        Value::Text { .. } | Value::List(_) => {
            wrong_kind(diagnostics, node, path, "a map", "names below it, each with its keys");
            None
        }
    }
}

/// The fix for a required key, or for an optional one.
fn instead<'m>(diagnostics: &Diagnostics, path: &str, required: &'m str, optional: &'m str) -> &'m str {
    if diagnostics.is_required(path) { required } else { optional }
}

pub(super) fn wrong_kind(diagnostics: &mut Diagnostics, node: &Node, path: &str, wanted: &str, fix: &str) {
    let found = match &node.value {
        Value::Nothing | Value::Reported => "nothing",
        Value::Text { .. } => "a single value",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
    };
    let path = if path.is_empty() { "the file" } else { path };
    diagnostics.report(
        Code::ConfigKind,
        node.span,
        &format!("{path}: {found} is used where {wanted} is expected"),
        fix,
    );
}

/// A text that is not empty.
pub(super) fn text(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<At<String>> {
    match &node.value {
        Value::Text { text, .. } if text.contains('\0') => {
            let message = format!("{path}: it has a NUL character");
            diagnostics.report_value(node.span, &message, "the value without it");
            None
        }
        Value::Text { text, .. } if !text.is_empty() => Some(At { at: node.span, value: text.clone() }),
        Value::Text { .. } | Value::Nothing => {
            let message = format!("{path}: the value is empty");
            let fix = instead(diagnostics, path, "a value", "a value, or leave the key out");
            diagnostics.report_value(node.span, &message, fix);
            None
        }
        Value::Reported => None,
        Value::List(_) | Value::Map(_) => {
            wrong_kind(diagnostics, node, path, "a single value", "one value, without brackets");
            None
        }
    }
}

/// A list of texts. `fix` shows an example if there is a single value instead.
pub(super) fn texts(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<At<String>>> {
    match &node.value {
        // All items are read, so that each bad one is reported.
        Value::List(items) => {
            items.iter().map(|i| text(diagnostics, i, path)).collect::<Vec<_>>().into_iter().collect()
        }
        Value::Text { text, .. } => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let message = format!("{path}: a single value is used where a list is expected");
            diagnostics.report(Code::ConfigKind, node.span, &message, &format!("[{}]", words.join(", ")));
            None
        }
        Value::Reported => None,
        Value::Nothing | Value::Map(_) => {
            let fix = instead(diagnostics, path, "[one, two]", "[one, two], or leave the key out");
            wrong_kind(diagnostics, node, path, "a list", fix);
            None
        }
    }
}

/// `true` or `false`, as in YAML 1.2.
pub(super) fn flag(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<bool> {
    let found = text(diagnostics, node, path)?;
    let plain = matches!(&node.value, Value::Text { plain: true, .. });
    let fix = match found.value.to_ascii_lowercase().as_str() {
        "true" if plain && found.value == "true" => return Some(true),
        "false" if plain && found.value == "false" => return Some(false),
        "true" | "yes" | "on" | "y" => "true",
        "false" | "no" | "off" | "n" => "false",
        _ => "true or false",
    };
    let quoted = !plain && found.value == fix;
    let why = if quoted { "` in quotes is a text" } else { "` is neither true nor false" };
    let message = format!("{path}: `{}{why}", found.value);
    diagnostics.report_value(found.at, &message, fix);
    None
}

/// A whole number within bounds.
pub(super) fn count(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
    least: u32,
    most: u32,
) -> Option<u32> {
    let found = text(diagnostics, node, path)?;
    let (low, high) = (least.to_string(), most.to_string());
    let digits = found.value.bytes().all(|b| b.is_ascii_digit());
    let number = found.value.parse::<u32>().ok();
    let message = match number {
        Some(n) if digits && (least..=most).contains(&n) => return Some(n),
        Some(n) if digits && n < least => {
            format!("{path}: {} is less than {low}, the smallest allowed", found.value)
        }
        _ if digits => format!("{path}: {} is more than {high}, the largest allowed", found.value),
        _ => format!("{path}: `{}` is not a whole number", found.value),
    };
    diagnostics.report_value(found.at, &message, &format!("{low} to {high}"));
    None
}

/// One of a few words.
pub(super) fn word<T: Copy>(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
    choices: &[(&str, T)],
) -> Option<T> {
    let found = text(diagnostics, node, path)?;
    if let Some((_, value)) = choices.iter().find(|(word, _)| *word == found.value) {
        return Some(*value);
    }
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let fix =
        find_nearest(&found.value, words.iter().copied()).map_or_else(|| words.join(" or "), str::to_owned);
    let message = format!("{path}: `{}` is not {}", found.value, words.join(" or "));
    diagnostics.report_value(found.at, &message, &fix);
    None
}

/// A name that is not reserved.
pub(super) fn name(diagnostics: &mut Diagnostics, text: &str, at: Span, path: &str) -> Option<Name> {
    match Name::parse(text) {
        Ok(name) if name.is_reserved() => {
            let message = format!("{path}: the name `{text}` belongs to Systole");
            diagnostics.report_value(at, &message, "another name");
            None
        }
        Ok(name) => Some(name),
        Err(why) => {
            let fix = suggestion(text);
            let fix = fix.as_deref().unwrap_or("small letters, digits and -, a letter first");
            diagnostics.report_value(at, &format!("{path}: {why}"), fix);
            None
        }
    }
}

/// The text with everything corrected that a name cannot contain.
fn suggestion(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let repaired: String =
        lower.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let repaired = repaired.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    (Name::parse(&repaired).is_ok_and(|n| !n.is_reserved())).then_some(repaired)
}
