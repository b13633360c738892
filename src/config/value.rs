//! Values of the file: from what is written to a number, a duration, a name, or a mistake with its
//! mend. Each reader gives none after having told the desk; none of them stops the others.

use systole_kit::schema::nearest;

use super::desk::Desk;
use super::keys;
use super::yaml::{Entry, Node, Span, Value};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;

/// A value that remembers where it stands.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) at: Span,
    pub(super) value: T,
}

/// The keys of one map, checked against the table.
pub(super) struct Fields<'n> {
    /// The map's path as people know it: `listeners.search`.
    pub(super) path: String,
    /// Where something that is missing in it is told.
    pub(super) at: Span,
    entries: Vec<&'n Entry>,
    /// Keys of the table that are missing because they are misspelled, which was told already.
    misspelled: Vec<String>,
}

impl<'n> Fields<'n> {
    /// The value of a key, with the path of it.
    pub(super) fn get(&self, key: &str) -> Option<(&'n Node, String)> {
        let entry = self.entries.iter().find(|e| e.key == key)?;
        Some((&entry.value, joined(&self.path, key)))
    }

    /// Where a key stands.
    pub(super) fn place_of(&self, key: &str) -> Option<Span> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| entry.at)
    }

    /// As `get`; tells the desk where the key is missing, unless an unknown key was taken for it.
    pub(super) fn need(&self, desk: &mut Desk, key: &str, mend: &str) -> Option<(&'n Node, String)> {
        let found = self.get(key);
        if found.is_none() && !self.misspelled.iter().any(|meant| meant == key) {
            let what = if self.path.is_empty() { "the file" } else { &self.path };
            desk.tell(Code::ConfigMissing, self.at, &format!("{what} has no `{key}`"), Some(mend));
        }
        found
    }
}

pub(super) fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Reads a map whose keys stand in the table under `table`.
pub(super) fn fields<'n>(
    desk: &mut Desk,
    node: &'n Node,
    at: Span,
    table: &str,
    path: &str,
) -> Option<Fields<'n>> {
    if let Value::Text { .. } | Value::List(_) = &node.value {
        let names: Vec<&str> = keys::under(table).filter(|(_, k)| k.built).map(|(name, _)| name).collect();
        let mend = no_blank(node, &names).unwrap_or_else(|| format!("keys below it: {}", names.join(", ")));
        wrong_kind(desk, node, path, "a map", &mend);
        return None;
    }
    let entries = map(desk, node, at, path)?;
    let (mut known, mut misspelled) = (Vec::new(), Vec::new());
    for entry in entries {
        match keys::under(table).find(|(name, _)| *name == entry.key) {
            Some((_, key)) if key.built => known.push(entry),
            Some((_, key)) => {
                let told = format!("`{}` is not built yet: {}", joined(path, &entry.key), key.meaning);
                desk.tell(Code::ConfigNotBuilt, entry.at, &told, Some("leave it out"));
            }
            None => misspelled.extend(unknown_key(desk, entry, entries, table, path)),
        }
    }
    Some(Fields { path: path.to_owned(), at, entries: known, misspelled })
}

/// The mend for `name:hello`, which is one text to YAML.
fn no_blank(node: &Node, names: &[&str]) -> Option<String> {
    let Value::Text { text, plain: true } = &node.value else { return None };
    let (key, value) = text.split_once(':')?;
    let known = names.contains(&key) && !value.is_empty();
    known.then(|| format!("{key}: {value}, with a blank behind the colon"))
}

/// Tells that a key is unknown, and gives the key that it was taken for, if that one is not there.
fn unknown_key(desk: &mut Desk, entry: &Entry, entries: &[Entry], table: &str, path: &str) -> Option<String> {
    if let Some(never) = keys::never_under(table, &entry.key) {
        let told = format!("{}: {}", joined(path, &entry.key), never.why);
        desk.tell(Code::ConfigUnknownKey, entry.at, &told, Some(never.mend));
        return None;
    }
    let place = if path.is_empty() { "at the top of the file" } else { path };
    let told = format!("`{}` is no key {}{place}", entry.key, if path.is_empty() { "" } else { "of " });
    let all: Vec<&str> = keys::under(table).filter(|(_, k)| k.built).map(|(name, _)| name).collect();
    let is_set = |name: &str| entries.iter().any(|other| other.key == name);
    let meant = nearest(&entry.key, keys::under(table).map(|(name, _)| name));
    let mend = match meant {
        Some(name) if is_set(name) && all.contains(&name) => format!("leave it out: `{name}` is already set"),
        Some(name) if all.contains(&name) => name.to_owned(),
        Some(later) => format!("leave it out: `{later}` is not built yet"),
        None => {
            let free: Vec<&str> = all.iter().copied().filter(|name| !is_set(name)).collect();
            if free.is_empty() { "leave it out".to_owned() } else { format!("one of {}", free.join(", ")) }
        }
    };
    desk.tell(Code::ConfigUnknownKey, entry.at, &told, Some(&mend));
    meant.filter(|name| !is_set(name)).map(str::to_owned)
}

/// The entries of a map; a key without a value is an empty one.
pub(super) fn map<'n>(desk: &mut Desk, node: &'n Node, at: Span, path: &str) -> Option<&'n [Entry]> {
    match &node.value {
        Value::Map(entries) => Some(entries),
        Value::Nothing => {
            desk.tell(
                Code::ConfigMissing,
                at,
                &format!("{path} is empty"),
                Some("keys below it, or leave it out"),
            );
            None
        }
        Value::Told => None,
        Value::Text { .. } | Value::List(_) => {
            wrong_kind(desk, node, path, "a map", "names below it, each with what belongs to it");
            None
        }
    }
}

/// The mend for a key that has to be there, and for one that need not.
fn instead<'m>(path: &str, required: &'m str, optional: &'m str) -> &'m str {
    if keys::is_required(path) { required } else { optional }
}

pub(super) fn wrong_kind(desk: &mut Desk, node: &Node, path: &str, wanted: &str, mend: &str) {
    let found = match &node.value {
        Value::Nothing | Value::Told => "nothing",
        Value::Text { .. } => "a single value",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
    };
    let path = if path.is_empty() { "the file" } else { path };
    desk.tell(
        Code::ConfigKind,
        node.span,
        &format!("{path}: {found} stands where {wanted} is expected"),
        Some(mend),
    );
}

/// A text that is not empty.
pub(super) fn text(desk: &mut Desk, node: &Node, path: &str) -> Option<At<String>> {
    match &node.value {
        Value::Text { text, .. } if text.contains('\0') => {
            let told = format!("{path}: a NUL character stands in it");
            desk.tell(Code::ConfigValue, node.span, &told, Some("the value without it"));
            None
        }
        Value::Text { text, .. } if !text.is_empty() => Some(At { at: node.span, value: text.clone() }),
        Value::Text { .. } | Value::Nothing => {
            let told = format!("{path}: the value is empty");
            desk.tell(
                Code::ConfigValue,
                node.span,
                &told,
                Some(instead(path, "a value", "a value, or leave the key out")),
            );
            None
        }
        Value::Told => None,
        Value::List(_) | Value::Map(_) => {
            wrong_kind(desk, node, path, "a single value", "one value, without brackets");
            None
        }
    }
}

/// A list of texts; `mend` shows one where a single value stands instead.
pub(super) fn texts(desk: &mut Desk, node: &Node, path: &str) -> Option<Vec<At<String>>> {
    match &node.value {
        // All items are read, so that each bad one is told.
        Value::List(items) => {
            items.iter().map(|i| text(desk, i, path)).collect::<Vec<_>>().into_iter().collect()
        }
        Value::Text { text, .. } => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let told = format!("{path}: a single value stands where a list is expected");
            desk.tell(Code::ConfigKind, node.span, &told, Some(&format!("[{}]", words.join(", "))));
            None
        }
        Value::Told => None,
        Value::Nothing | Value::Map(_) => {
            let mend = instead(path, "[one, two]", "[one, two], or leave the key out");
            wrong_kind(desk, node, path, "a list", mend);
            None
        }
    }
}

/// `true` or `false`, as YAML 1.2 has them.
pub(super) fn flag(desk: &mut Desk, node: &Node, path: &str) -> Option<bool> {
    let found = text(desk, node, path)?;
    let plain = matches!(&node.value, Value::Text { plain: true, .. });
    let mend = match found.value.to_ascii_lowercase().as_str() {
        "true" if plain && found.value == "true" => return Some(true),
        "false" if plain && found.value == "false" => return Some(false),
        "true" | "yes" | "on" | "y" => "true",
        "false" | "no" | "off" | "n" => "false",
        _ => "true or false",
    };
    let quoted = !plain && found.value == mend;
    let why = if quoted { "` in quotes is a text" } else { "` is neither true nor false" };
    let told = format!("{path}: `{}{why}", found.value);
    desk.tell(Code::ConfigValue, found.at, &told, Some(mend));
    None
}

/// A whole number within bounds.
pub(super) fn count(desk: &mut Desk, node: &Node, path: &str, least: u32, most: u32) -> Option<u32> {
    let found = text(desk, node, path)?;
    let (low, high) = (least.to_string(), most.to_string());
    let digits = found.value.bytes().all(|b| b.is_ascii_digit());
    let number = found.value.parse::<u32>().ok();
    let told = match number {
        Some(n) if digits && (least..=most).contains(&n) => return Some(n),
        Some(n) if digits && n < least => {
            format!("{path}: {} is less than {low}, the smallest allowed", found.value)
        }
        _ if digits => format!("{path}: {} is more than {high}, the largest allowed", found.value),
        _ => format!("{path}: `{}` is no whole number", found.value),
    };
    desk.tell(Code::ConfigValue, found.at, &told, Some(&format!("{low} to {high}")));
    None
}

/// One of a few words.
pub(super) fn word<T: Copy>(desk: &mut Desk, node: &Node, path: &str, choices: &[(&str, T)]) -> Option<T> {
    let found = text(desk, node, path)?;
    if let Some((_, value)) = choices.iter().find(|(word, _)| *word == found.value) {
        return Some(*value);
    }
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let mend = nearest(&found.value, words.iter().copied()).map_or_else(|| words.join(" or "), str::to_owned);
    let told = format!("{path}: `{}` is not {}", found.value, words.join(" or "));
    desk.tell(Code::ConfigValue, found.at, &told, Some(&mend));
    None
}

/// A name somebody may bear.
pub(super) fn name(desk: &mut Desk, text: &str, at: Span, path: &str) -> Option<Name> {
    match Name::parse(text) {
        Ok(name) if name.is_reserved() => {
            let told = format!("{path}: the name `{text}` belongs to the house");
            desk.tell(Code::ConfigValue, at, &told, Some("another name"));
            None
        }
        Ok(name) => Some(name),
        Err(why) => {
            let mend = suggestion(text);
            let mend = mend.as_deref().unwrap_or("small letters, digits and -, a letter first");
            desk.tell(Code::ConfigValue, at, &format!("{path}: {why}"), Some(mend));
            None
        }
    }
}

/// The name that a text becomes once everything a name cannot hold is put right.
fn suggestion(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let mended: String =
        lower.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let mended = mended.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    (Name::parse(&mended).is_ok_and(|n| !n.is_reserved())).then_some(mended)
}
