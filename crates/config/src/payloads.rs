//! The section `payloads`: from payloads in the compact form to their schema.
//!
//! Input: the node. Output: an XSD, or all mistakes with their exact places. The kit knows the types; this module
//! knows how they are written in YAML, and what YAML did to them.

use systole_kit::compact::{
    self, DeclaredPayload, ElementBody, GroupField, ItemList, TypeTextError, ValueType,
};
use systole_kit::name::is_ncname;
use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::key::{KeyForm, KeyRow};
use super::kinds::belongs_to_house;
use super::section::form;
use super::stretch;
use super::traps;
use super::tree::{Entry, Node, Span, Value};
use super::value::{self, join_path};
use crate::limits;
use systole_core::types::codes::Code;
use systole_core::types::composition::Listener;
use systole_core::types::ids::Name;

/// The section of the file.
pub(super) struct Section {
    /// Its start.
    pub(super) at: Span,
    entries: Vec<Entry>,
}

form! {
    /// The section as it is. Its payloads are read when the organism's name is known.
    pub(super) PayloadMap -> Section {
        KeyForm::Names(""), read_section, below &[KeyRow::any_name(
            "required", "one payload: a map of its fields, a type, or a list", KeyForm::Compact, &[],
        )]
    }
}

fn read_section(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Section> {
    if matches!(node.value, Value::Text { .. } | Value::List(_)) {
        let message = "payloads: a value or a list is used where a map is expected";
        diagnostics.report(Code::ConfigKind, node.span, message, "payloads: {NAME: {FIELD: TYPE}}");
        return None;
    }
    let entries = value::map(diagnostics, node, node.span, path)?;
    if entries.is_empty() {
        let fix = "a name, and its fields below it; or leave it out";
        diagnostics.report(Code::ConfigMissing, node.span, "payloads has no payload", fix);
    }
    Some(Section { at: node.span, entries: entries.to_vec() })
}

impl Section {
    /// The schema of the section. `None` if it has mistakes, which are reported.
    pub(super) fn schema(&self, diagnostics: &mut Diagnostics, organism: Option<&Name>) -> Option<Vec<u8>> {
        let before = diagnostics.mistakes();
        let mut reading = Reading { diagnostics };
        let payloads: Vec<DeclaredPayload> =
            self.entries.iter().filter_map(|entry| reading.payload(entry)).collect();
        reading.twice(&self.entries, "payloads");
        let organism = organism?;
        let namespace = Listener::namespace_of(organism);
        if belongs_to_house(&namespace) {
            let message = format!("payloads: their namespace would be {namespace}, which belongs to Systole");
            diagnostics.report_value(self.at, &message, "another organism.name");
        }
        let xsd = compact::write_xsd(&namespace, &payloads);
        if xsd.len() > limits::SCHEMA_BYTES {
            let message = format!("payloads: their schema has {} bytes, 1 MiB at most", xsd.len());
            diagnostics.report_value(self.at, &message, "fewer payloads, or schemas of their own");
        }
        (diagnostics.mistakes() == before && !payloads.is_empty()).then_some(xsd)
    }

    /// The names of the payloads, including those with mistakes. `None` if a name is invalid.
    pub(super) fn names(&self) -> Option<Vec<&str>> {
        let names = self.entries.iter().map(|entry| entry.key.strip_suffix('?').unwrap_or(&entry.key));
        names.map(|name| is_element_name(name).then_some(name)).collect()
    }

    /// The place of a payload.
    pub(super) fn place_of(&self, name: &str) -> Span {
        self.entries.iter().find(|entry| entry.key == name).map_or(self.at, |entry| entry.at)
    }
}

/// The role of a body, which decides what is permitted in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// A payload: it cannot be optional.
    Alone,
    /// A field of a group.
    AsField,
    /// The repeated item of a list.
    AsItem,
}

struct Reading<'d> {
    diagnostics: &'d mut Diagnostics,
}

impl Reading<'_> {
    fn payload(&mut self, entry: &Entry) -> Option<DeclaredPayload> {
        let path = join_path("payloads", &entry.key);
        let (name, optional) = self.name(entry, "payloads")?;
        if optional {
            let message = format!("{path}: a payload cannot be left out");
            self.diagnostics.report_value(entry.at, &message, &name);
        }
        let (body, dangerous) = self.body(&entry.value, entry.at, &path, Stands::Alone)?;
        Some(DeclaredPayload { name, dangerous, body })
    }

    /// The name of an element, and whether it is optional.
    fn name(&mut self, entry: &Entry, path: &str) -> Option<(String, bool)> {
        let written = entry.key.as_str();
        let (name, optional) = written.strip_suffix('?').map_or((written, false), |name| (name, true));
        if is_element_name(name) {
            return Some((name.to_owned(), optional));
        }
        let shown = if written.is_empty() { "an empty name" } else { &format!("`{name}`") };
        let message = format!("{path}: {shown} is not the name of an element");
        let repaired = repair_name(name);
        let fix = repaired.as_deref().unwrap_or("letters, digits, - and _, beginning with a letter");
        self.diagnostics.report_value(entry.at, &message, fix);
        None
    }

    /// The body below a key, and whether it is marked as dangerous.
    fn body(&mut self, node: &Node, at: Span, path: &str, stands: Stands) -> Option<(ElementBody, bool)> {
        match &node.value {
            Value::Text { text, .. } => {
                self.type_of(node, text, path, stands).map(|of| (ElementBody::Type(of), false))
            }
            Value::Map(entries) => self.group(node, entries, path, stands),
            Value::List(items) => self.list(node, items, path).map(|list| (ElementBody::List(list), false)),
            Value::Nothing => {
                let message = format!("{path} has no type");
                let fix = "a type, as text; {} for an element without content";
                self.diagnostics.report(Code::ConfigMissing, at, &message, fix);
                None
            }
            Value::Reported => None,
        }
    }

    fn type_of(&mut self, node: &Node, text: &str, path: &str, stands: Stands) -> Option<ValueType> {
        if traps::cut_words(self.diagnostics, node, path) {
            return None;
        }
        let read = match ValueType::from_text(text) {
            Ok(read) => read,
            Err(wrong) => {
                self.report(node, text, path, &wrong);
                return None;
            }
        };
        if let (Some(at), true) = (&read.default_at, stands != Stands::AsField) {
            let what = if stands == Stands::Alone { "a payload" } else { "an item of a list" };
            let words = format!("{what} cannot be left out, so its default would never apply");
            self.report(
                node,
                text,
                path,
                &TypeTextError { at: at.clone(), words, fix: "leave it out".to_owned() },
            );
        }
        Some(read.of)
    }

    /// Reports a mistake inside a scalar.
    fn report(&mut self, node: &Node, text: &str, path: &str, wrong: &TypeTextError) {
        let at = stretch::within(&self.diagnostics.text(), node.span, text, &wrong.at);
        let message = format!("{path}: {}", wrong.words);
        self.diagnostics.report_value(at, &message, &wrong.fix);
    }

    fn group(
        &mut self,
        node: &Node,
        entries: &[Entry],
        path: &str,
        stands: Stands,
    ) -> Option<(ElementBody, bool)> {
        let before = self.diagnostics.mistakes();
        let (mut about, mut dangerous, mut fields) = (None, false, Vec::new());
        for (place, entry) in entries.iter().enumerate() {
            let previous = place.checked_sub(1).and_then(|place| entries.get(place));
            if traps::cut_by_sign(self.diagnostics, node, previous, entry, path) {
                continue;
            }
            match entry.key.as_str() {
                ".about" if traps::cut_about(self.diagnostics, &entry.value, path) => {}
                ".about" => about = value::text(self.diagnostics, &entry.value, &format!("{path}.about")),
                ".dangerous" => dangerous = self.danger(entry, path, stands),
                key if key.starts_with('.') => self.unknown_mark(entry, path, stands),
                _ => fields.extend(self.field(entry, path)),
            }
        }
        self.twice(entries, path);
        let about = about.map(|about| about.value.split_whitespace().collect::<Vec<_>>().join(" "));
        (self.diagnostics.mistakes() == before).then_some((ElementBody::Group { about, fields }, dangerous))
    }

    fn field(&mut self, entry: &Entry, path: &str) -> Option<GroupField> {
        let (name, optional) = self.name(entry, path)?;
        let (body, _) = self.body(&entry.value, entry.at, &join_path(path, &name), Stands::AsField)?;
        Some(GroupField { name, optional, body })
    }

    fn danger(&mut self, entry: &Entry, path: &str, stands: Stands) -> bool {
        let dangerous =
            value::flag(self.diagnostics, &entry.value, &format!("{path}.dangerous")).unwrap_or(false);
        if dangerous && stands != Stands::Alone {
            let message = format!(
                "{path}: a part of a payload is marked as dangerous; a person approves whole payloads"
            );
            let fix = "put .dangerous on the payload that this is part of";
            self.diagnostics.report_value(entry.at, &message, fix);
        }
        dangerous
    }

    fn unknown_mark(&mut self, entry: &Entry, path: &str, stands: Stands) {
        let message = format!("`{}` is not a key of {path}", entry.key);
        let known: &[&str] = if stands == Stands::Alone { &[".about", ".dangerous"] } else { &[".about"] };
        let near = find_nearest(&entry.key, known.iter().copied()).map(str::to_owned);
        let fix = near.unwrap_or_else(|| format!("{}, or a name without the dot", known.join(" or ")));
        self.diagnostics.report(Code::ConfigUnknownKey, entry.at, &message, &fix);
    }

    /// Reports a repeated element. `query` and `query?` are two keys in YAML but one element.
    fn twice(&mut self, entries: &[Entry], path: &str) {
        for (place, entry) in entries.iter().enumerate() {
            let name = entry.key.trim_end_matches('?');
            let first = entries.iter().take(place).find(|first| first.key.trim_end_matches('?') == name);
            if let Some(first) = first {
                let message = format!("{path}: `{name}` appears here a second time");
                let fix = self.one_of_two(first, entry, name);
                let second = (first.at, "the first one");
                self.diagnostics.report_beside(Code::ConfigDuplicate, entry.at, &message, &fix, second);
            }
        }
    }

    /// The fix for two keys that differ only in `?`. For a setting, it is the setting with the other key's spelling,
    /// which replaces that key.
    fn one_of_two(&self, first: &Entry, entry: &Entry, name: &str) -> String {
        if !self.diagnostics.is_set(entry.at) {
            return format!("one of the two: `{name}` is required, `{name}?` is optional");
        }
        let place = self.diagnostics.place(entry.at);
        let before: String = place.text.chars().take(place.column.saturating_sub(1)).collect();
        let behind = place.text.get(before.len() + entry.key.len()..).unwrap_or_default();
        format!("{before}{}{behind}", first.key)
    }

    fn list(&mut self, node: &Node, items: &[Node], path: &str) -> Option<ItemList> {
        let shape = "[T] or [T, MIN..MAX], as [word, 1..10]";
        let (first, count) = match items {
            [] => {
                let message = format!("{path}: the list has no type");
                self.diagnostics.report(Code::ConfigKind, node.span, &message, shape);
                return None;
            }
            [only] => (only, None),
            [first, second] => (first, Some(second)),
            [first, .., last] => {
                if !traps::cut_by_comma(self.diagnostics, node, first, last, path) {
                    let message = format!("{path}: a list has a type and a range, and nothing else");
                    self.diagnostics.report(Code::ConfigKind, last.span, &message, shape);
                }
                return None;
            }
        };
        if let Some(second) = count
            && traps::cut_by_comma(self.diagnostics, node, first, second, path)
        {
            return None;
        }
        let item =
            self.body(first, first.span, &join_path(path, "item"), Stands::AsItem).map(|(body, _)| body);
        let (least, most) = count.map_or(Some((0, None)), |count| self.range(count, path))?;
        Some(ItemList { item: Box::new(item?), least, most })
    }

    fn range(&mut self, node: &Node, path: &str) -> Option<(u32, Option<u32>)> {
        let Value::Text { text, .. } = &node.value else {
            let message = format!("{path}: the number of items must be a range");
            self.diagnostics.report(Code::ConfigKind, node.span, &message, "1..10");
            return None;
        };
        match ItemList::parse_range(text) {
            Ok(range) => Some(range),
            Err(wrong) => {
                self.report(node, text, path, &wrong);
                None
            }
        }
    }
}

/// A dot would be read as the path to an inner field.
fn is_element_name(name: &str) -> bool {
    is_ncname(name) && !name.contains('.') && name.len() <= 64
}

/// The text with everything corrected that an element name cannot contain.
fn repair_name(name: &str) -> Option<String> {
    let legal = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let repaired: String = name.trim().chars().take(64).map(legal).collect();
    let repaired = repaired.trim_matches('-');
    let repaired = if repaired.starts_with(|c: char| c.is_ascii_digit()) {
        format!("n{repaired}")
    } else {
        repaired.to_owned()
    };
    is_element_name(&repaired).then_some(repaired)
}
