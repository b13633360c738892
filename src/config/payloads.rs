//! The section `payloads`: payloads in the compact form, from the tree to the schema that they mean.
//!
//! In comes the node, out comes an XSD, or every mistake with its very place. What a type means is for the
//! kit; how it was written in YAML, and what YAML did to it, is for this room.

use systole_kit::compact::{self, Body, Field, List, Payload, Type, Wrong};
use systole_kit::name::is_ncname;
use systole_kit::schema::nearest;

use super::desk::Desk;
use super::schemas::belongs_to_house;
use super::stretch;
use super::traps;
use super::value::{self, joined};
use super::yaml::{Entry, Node, Span, Value};
use systole_core::types::codes::Code;
use systole_core::types::composition::Listener;
use systole_core::types::ids::Name;

/// Largest schema that the judge takes.
const SCHEMA_BYTES: usize = 1 << 20;

/// The section as it stands in the file.
pub(super) struct Section {
    /// Where it begins.
    pub(super) at: Span,
    entries: Vec<Entry>,
}

/// Takes the section; its payloads are read where the name of the organism is known.
pub(super) fn read(desk: &mut Desk, node: &Node) -> Option<Section> {
    if matches!(node.value, Value::Text { .. } | Value::List(_)) {
        let told = "payloads: a value or a list stands where a map is expected";
        desk.tell(Code::ConfigKind, node.span, told, Some("payloads: {NAME: {FIELD: TYPE}}"));
        return None;
    }
    let entries = value::map(desk, node, node.span, "payloads")?;
    if entries.is_empty() {
        let mend = "a name, and its fields below it; or leave it out";
        desk.tell(Code::ConfigMissing, node.span, "payloads has no payload", Some(mend));
    }
    Some(Section { at: node.span, entries: entries.to_vec() })
}

impl Section {
    /// The schema that the section means; none where it has mistakes, which are told.
    pub(super) fn schema(&self, desk: &mut Desk, organism: Option<&Name>) -> Option<Vec<u8>> {
        let before = desk.mistakes();
        let mut reading = Reading { desk };
        let payloads: Vec<Payload> = self.entries.iter().filter_map(|entry| reading.payload(entry)).collect();
        reading.twice(&self.entries, "payloads");
        let organism = organism?;
        let namespace = Listener::namespace_of(organism);
        if belongs_to_house(&namespace) {
            let told = ["payloads: their namespace would be ", &namespace, ", which belongs to the house"];
            desk.tell(Code::ConfigValue, self.at, &told.concat(), Some("another organism.name"));
        }
        let xsd = compact::xsd(&namespace, &payloads);
        if xsd.len() > SCHEMA_BYTES {
            let told =
                ["payloads: the schema that they mean has ", &xsd.len().to_string(), " bytes, 1 MiB at most"];
            desk.tell(
                Code::ConfigValue,
                self.at,
                &told.concat(),
                Some("fewer payloads, or schemas of their own"),
            );
        }
        (desk.mistakes() == before && !payloads.is_empty()).then_some(xsd)
    }

    /// The names of the payloads, also of those with mistakes; none if a name itself is one.
    pub(super) fn names(&self) -> Option<Vec<&str>> {
        let names = self.entries.iter().map(|entry| entry.key.strip_suffix('?').unwrap_or(&entry.key));
        names.map(|name| is_element_name(name).then_some(name)).collect()
    }

    /// Where a payload stands.
    pub(super) fn place_of(&self, name: &str) -> Span {
        self.entries.iter().find(|entry| entry.key == name).map_or(self.at, |entry| entry.at)
    }
}

/// Where a body stands, which decides what may be said in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// It is a payload: it cannot be left out.
    Alone,
    /// It is a field of a group.
    AsField,
    /// It is what a list repeats.
    AsItem,
}

struct Reading<'d> {
    desk: &'d mut Desk,
}

impl Reading<'_> {
    fn payload(&mut self, entry: &Entry) -> Option<Payload> {
        let path = joined("payloads", &entry.key);
        let (name, optional) = self.name(entry, "payloads")?;
        if optional {
            let told = format!("{path}: a payload cannot be left out");
            self.desk.tell(Code::ConfigValue, entry.at, &told, Some(&name));
        }
        let (body, dangerous) = self.body(&entry.value, entry.at, &path, Stands::Alone)?;
        Some(Payload { name, dangerous, body })
    }

    /// The name of an element, and whether it may be left out.
    fn name(&mut self, entry: &Entry, path: &str) -> Option<(String, bool)> {
        let written = entry.key.as_str();
        let (name, optional) = written.strip_suffix('?').map_or((written, false), |name| (name, true));
        if is_element_name(name) {
            return Some((name.to_owned(), optional));
        }
        let shown = if written.is_empty() { "an empty name" } else { &format!("`{name}`") };
        let told = format!("{path}: {shown} is no name of an element");
        let mended = mended(name);
        let mend = mended.as_deref().unwrap_or("letters, digits, - and _, beginning with a letter");
        self.desk.tell(Code::ConfigValue, entry.at, &told, Some(mend));
        None
    }

    /// What stands below a key, and whether it is marked as dangerous.
    fn body(&mut self, node: &Node, at: Span, path: &str, stands: Stands) -> Option<(Body, bool)> {
        match &node.value {
            Value::Text { text, .. } => {
                self.type_of(node, text, path, stands).map(|of| (Body::Type(of), false))
            }
            Value::Map(entries) => self.group(node, entries, path, stands),
            Value::List(items) => self.list(node, items, path).map(|list| (Body::List(list), false)),
            Value::Nothing => {
                let told = format!("{path} has no type");
                let mend = "a type, as text; {} for an element without content";
                self.desk.tell(Code::ConfigMissing, at, &told, Some(mend));
                None
            }
            Value::Told => None,
        }
    }

    fn type_of(&mut self, node: &Node, text: &str, path: &str, stands: Stands) -> Option<Type> {
        if traps::cut_words(self.desk, node, path) {
            return None;
        }
        let read = match Type::read(text) {
            Ok(read) => read,
            Err(wrong) => {
                self.tell(node, text, path, &wrong);
                return None;
            }
        };
        if let (Some(at), true) = (&read.default_at, stands != Stands::AsField) {
            let what = if stands == Stands::Alone { "a payload" } else { "an item of a list" };
            let words = format!("{what} cannot be left out, so that its default would never hold");
            self.tell(node, text, path, &Wrong { at: at.clone(), words, mend: "leave it out".to_owned() });
        }
        Some(read.of)
    }

    /// Tells of something wrong within a scalar.
    fn tell(&mut self, node: &Node, text: &str, path: &str, wrong: &Wrong) {
        let at = stretch::within(&self.desk.text(), node.span, text, &wrong.at);
        let told = format!("{path}: {}", wrong.words);
        self.desk.tell(Code::ConfigValue, at, &told, Some(&wrong.mend));
    }

    fn group(&mut self, node: &Node, entries: &[Entry], path: &str, stands: Stands) -> Option<(Body, bool)> {
        let before = self.desk.mistakes();
        let (mut about, mut dangerous, mut fields) = (None, false, Vec::new());
        for (place, entry) in entries.iter().enumerate() {
            let previous = place.checked_sub(1).and_then(|place| entries.get(place));
            if traps::cut_by_sign(self.desk, node, previous, entry, path) {
                continue;
            }
            match entry.key.as_str() {
                ".about" if traps::cut_about(self.desk, &entry.value, path) => {}
                ".about" => about = value::text(self.desk, &entry.value, &format!("{path}.about")),
                ".dangerous" => dangerous = self.danger(entry, path, stands),
                key if key.starts_with('.') => self.unknown_mark(entry, path, stands),
                _ => fields.extend(self.field(entry, path)),
            }
        }
        self.twice(entries, path);
        let about = about.map(|about| about.value.split_whitespace().collect::<Vec<_>>().join(" "));
        (self.desk.mistakes() == before).then_some((Body::Group { about, fields }, dangerous))
    }

    fn field(&mut self, entry: &Entry, path: &str) -> Option<Field> {
        let (name, optional) = self.name(entry, path)?;
        let (body, _) = self.body(&entry.value, entry.at, &joined(path, &name), Stands::AsField)?;
        Some(Field { name, optional, body })
    }

    fn danger(&mut self, entry: &Entry, path: &str, stands: Stands) -> bool {
        let dangerous = value::flag(self.desk, &entry.value, &format!("{path}.dangerous")).unwrap_or(false);
        if dangerous && stands != Stands::Alone {
            let told =
                [path, ": a part of a payload is marked as dangerous; a person is asked about whole ones"];
            let mend = "put .dangerous on the payload that this is part of";
            self.desk.tell(Code::ConfigValue, entry.at, &told.concat(), Some(mend));
        }
        dangerous
    }

    fn unknown_mark(&mut self, entry: &Entry, path: &str, stands: Stands) {
        let told = format!("`{}` is no key of {path}", entry.key);
        let known: &[&str] = if stands == Stands::Alone { &[".about", ".dangerous"] } else { &[".about"] };
        let near = nearest(&entry.key, known.iter().copied()).map(str::to_owned);
        let mend = near.unwrap_or_else(|| format!("{}, or a name without the dot", known.join(" or ")));
        self.desk.tell(Code::ConfigUnknownKey, entry.at, &told, Some(&mend));
    }

    /// `query` and `query?` are two keys for YAML and one element.
    fn twice(&mut self, entries: &[Entry], path: &str) {
        for (place, entry) in entries.iter().enumerate() {
            let name = entry.key.trim_end_matches('?');
            let first = entries.iter().take(place).find(|first| first.key.trim_end_matches('?') == name);
            if let Some(first) = first {
                let told = format!("{path}: `{name}` stands here a second time");
                let mend = self.one_of_two(first, entry, name);
                let second = (first.at, "the first one");
                self.desk.tell_seeing(Code::ConfigDuplicate, entry.at, &told, Some(&mend), second);
            }
        }
    }

    /// Of two that differ only in whether they may be left out: what is set takes the place of the other if it says it as
    /// that one does.
    fn one_of_two(&self, first: &Entry, entry: &Entry, name: &str) -> String {
        if !self.desk.is_set(entry.at) {
            return format!("one of the two: `{name}` has to be there, `{name}?` may be left out");
        }
        let place = self.desk.place(entry.at);
        let before: String = place.text.chars().take(place.column.saturating_sub(1)).collect();
        let behind = place.text.get(before.len() + entry.key.len()..).unwrap_or_default();
        [&before, &first.key, behind].concat()
    }

    fn list(&mut self, node: &Node, items: &[Node], path: &str) -> Option<List> {
        let shape = "[T] or [T, MIN..MAX], as [word, 1..10]";
        let (first, count) = match items {
            [] => {
                let told = format!("{path}: a list stands here without a type");
                self.desk.tell(Code::ConfigKind, node.span, &told, Some(shape));
                return None;
            }
            [only] => (only, None),
            [first, second] => (first, Some(second)),
            [first, .., last] => {
                if !traps::cut_by_comma(self.desk, node, first, last, path) {
                    let told = format!("{path}: a list has a type and a range, and nothing else");
                    self.desk.tell(Code::ConfigKind, last.span, &told, Some(shape));
                }
                return None;
            }
        };
        if let Some(second) = count
            && traps::cut_by_comma(self.desk, node, first, second, path)
        {
            return None;
        }
        let item = self.body(first, first.span, &joined(path, "item"), Stands::AsItem).map(|(body, _)| body);
        let (least, most) = count.map_or(Some((0, None)), |count| self.range(count, path))?;
        Some(List { item: Box::new(item?), least, most })
    }

    fn range(&mut self, node: &Node, path: &str) -> Option<(u32, Option<u32>)> {
        let Value::Text { text, .. } = &node.value else {
            let told = format!("{path}: how many items there are is a range");
            self.desk.tell(Code::ConfigKind, node.span, &told, Some("1..10"));
            return None;
        };
        match List::range(text) {
            Ok(range) => Some(range),
            Err(wrong) => {
                self.tell(node, text, path, &wrong);
                None
            }
        }
    }
}

/// A dot would be read as the way to a field inside.
fn is_element_name(name: &str) -> bool {
    is_ncname(name) && !name.contains('.') && name.len() <= 64
}

/// The name that a text becomes once what an element cannot be called by is put right.
fn mended(name: &str) -> Option<String> {
    let legal = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let mended: String = name.trim().chars().take(64).map(legal).collect();
    let mended = mended.trim_matches('-');
    let mended = if mended.starts_with(|c: char| c.is_ascii_digit()) {
        format!("n{mended}")
    } else {
        mended.to_owned()
    };
    is_element_name(&mended).then_some(mended)
}
