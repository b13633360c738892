//! Takes a payload apart into plain values: XML to JSON.
//!
//! A judged payload comes in; a JSON value in the form of the JSON Schema goes out. If the model cannot lay the
//! payload out, a finding goes out, never half a value.

use std::cell::RefCell;

use serde_json::{Map, Value};

use crate::build::markup;
use crate::explain;
use crate::finding::PayloadFinding;
use crate::form;
use crate::form::{ANY, ElementInside, EntryMap, EntryValue, JsonForm, JsonRecord, OWN, RecordSlot, is_same};
use crate::json::spelling;
use crate::json::text as json_text;
use crate::judge::check_value;
use crate::judge::content::{self, TakenChild};
use crate::shape::{Declaration, JsonNull, Particle, SchemaShape, SimpleType};
use crate::tree;
use crate::tree::{ElementAttribute, ElementPart, XmlElement};

/// A payload as JSON.
pub(crate) fn unfold_payload(schema: &SchemaShape, payload: &[u8]) -> Result<Value, PayloadFinding> {
    let unread =
        |words: &str| explain::find_first(schema, payload).unwrap_or_else(|| report_unfit(payload, words));
    let root = tree::read_tree(payload).map_err(|fault| unread(&fault.words))?;
    let declaration =
        schema.find_global(&root.name.local).filter(|_| *root.name.namespace == *schema.namespace);
    let declaration = declaration.ok_or_else(|| unread("it is no payload of this schema"))?;
    let unfolding = PayloadUnfolding { schema, hitch: RefCell::new(None) };
    let value = unfolding.unfold_record(&JsonRecord::of_root(schema, declaration.of), &root);
    value.ok_or_else(|| match unfolding.hitch.take() {
        Some(hitch) => hitch.into_finding(payload),
        None if has_choice(&root) => unread("its xsi:type names a type that holds more"),
        None => unread("it does not follow the schema"),
    })
}

/// A global element as JSON.
pub(crate) fn root_record(
    schema: &SchemaShape,
    declaration: &Declaration,
    element: &XmlElement,
) -> Option<Value> {
    let unfolding = PayloadUnfolding { schema, hitch: RefCell::new(None) };
    unfolding.unfold_record(&JsonRecord::of_root(schema, declaration.of), element)
}

/// An element inside a payload as JSON.
pub(crate) fn unfold_element(
    schema: &SchemaShape,
    declaration: &Declaration,
    element: &XmlElement,
) -> Option<Value> {
    PayloadUnfolding { schema, hitch: RefCell::new(None) }.unfold_element(declaration, element)
}

fn report_unfit(payload: &[u8], words: &str) -> PayloadFinding {
    let words = words.to_owned();
    PayloadFinding {
        element: String::new(),
        path: "/".to_owned(),
        offset: 0,
        line: 1,
        column: 1,
        message: format!("the payload has no form as JSON: {words}"),
        expected: "a payload that its schema admits".to_owned(),
        received: crate::build::given::shorten_text(String::from_utf8_lossy(payload).into_owned()),
        schema: String::new(),
        fix: "fix the payload first".to_owned(),
    }
}

/// What the schema admits and JSON cannot say.
struct UnfoldHitch {
    name: String,
    offset: usize,
    message: String,
    expected: &'static str,
    received: String,
    fix: String,
}

impl UnfoldHitch {
    fn into_finding(self, payload: &[u8]) -> PayloadFinding {
        let (line, column) = tree::line_and_column(payload, self.offset);
        PayloadFinding {
            path: format!("/{}", self.name),
            element: self.name,
            offset: self.offset,
            line,
            column,
            message: self.message,
            expected: self.expected.to_owned(),
            received: crate::build::given::shorten_text(self.received),
            schema: String::new(),
            fix: self.fix,
        }
    }
}

/// Whether any element chooses its own type.
pub(crate) fn has_choice(element: &XmlElement) -> bool {
    let is_type = |attribute: &ElementAttribute| attribute.name.is_named(explain::INSTANCE, "type");
    element.attributes.iter().any(is_type) || element.children().any(has_choice)
}

/// Checks that an element has no attributes.
pub(crate) fn check_plain(element: &XmlElement) -> Option<()> {
    list_attributes(element).next().is_none().then_some(())
}

/// The attributes that the schema gives a payload. Any element may also have attributes that address the judge:
/// schema locations, which are ignored, and its type. The content is laid out by the type that the schema gives; a
/// value of a derived type is also a value of that type.
pub(crate) fn list_attributes(element: &XmlElement) -> impl Iterator<Item = &ElementAttribute> {
    let is_spoken = |attribute: &&ElementAttribute| {
        let spoken = ["schemaLocation", "noNamespaceSchemaLocation", "type"];
        let name = &attribute.name;
        *name.namespace == *explain::INSTANCE && spoken.contains(&name.local.as_str())
    };
    element.attributes.iter().filter(move |attribute| !is_spoken(attribute))
}

struct PayloadUnfolding<'s> {
    schema: &'s SchemaShape,
    /// The first thing that JSON cannot say.
    hitch: RefCell<Option<UnfoldHitch>>,
}

impl<'s> PayloadUnfolding<'s> {
    fn unfold_element(&self, declaration: &Declaration, element: &XmlElement) -> Option<Value> {
        match JsonForm::from_declaration(self.schema, declaration) {
            JsonForm::Value(simple) => check_plain(element).and_then(|()| unfold_own(simple, element)),
            JsonForm::Text => check_plain(element).and_then(|()| read_text(element)).map(Value::String),
            JsonForm::Items(particle, _) => {
                check_plain(element)?;
                let whole = JsonRecord::of_root(self.schema, declaration.of);
                let particle = whole.particle().unwrap_or(particle);
                let items = self.unfold_children(&whole.slots(), particle, element)?;
                Some(Value::Array(items.into_iter().map(|(_, value)| value).collect()))
            }
            JsonForm::Record(form) => self.unfold_record(&form, element),
            JsonForm::Markup => markup::render_markup(element).map(Value::String),
            JsonForm::Map(map) => self.unfold_map(declaration, &map, element),
            JsonForm::Choice(_) => {
                check_plain(element)?;
                let whole = JsonRecord::of_root(self.schema, declaration.of);
                let mut chosen = self.unfold_children(&whole.slots(), whole.particle()?, element)?;
                chosen.pop().map(|(_, value)| value)
            }
            JsonForm::Json => check_plain(element).and_then(|()| self.unfold_json(element)),
            JsonForm::Null => check_plain(element).map(|()| Value::Null),
        }
    }

    /// The JSON that an element's text spells.
    fn unfold_json(&self, element: &XmlElement) -> Option<Value> {
        let spelt = read_text(element)?;
        match json_text::parse_text(&spelt) {
            Ok(value) => Some(value),
            Err(slip) => {
                let name = &element.name.local;
                self.report_hitch(UnfoldHitch {
                    name: name.to_string(),
                    offset: element.span.start,
                    message: format!("{name}: {}", slip.message),
                    expected: "one JSON value, as text",
                    received: spelt,
                    fix: slip.fix,
                })
            }
        }
    }

    fn report_hitch<T>(&self, hitch: UnfoldHitch) -> Option<T> {
        self.hitch.borrow_mut().get_or_insert(hitch);
        None
    }

    fn unfold_map(
        &self,
        declaration: &Declaration,
        map: &EntryMap<'_>,
        element: &XmlElement,
    ) -> Option<Value> {
        check_plain(element)?;
        let whole = JsonRecord::of_root(self.schema, declaration.of);
        let mut fields = Map::new();
        for (entry, _) in lay_children(whole.particle()?, element)? {
            let key = entry.find_attribute(&map.key.name)?;
            check_value::check_value(&map.key.simple, key).is_none().then_some(())?;
            (list_attributes(entry).count() == 1).then_some(())?;
            let value = match map.value {
                EntryValue::Value(simple) => unfold_own(simple, entry)?,
                EntryValue::Json => self.unfold_json(entry)?,
                EntryValue::Child(particle, value) => {
                    let content = JsonRecord::of_root(self.schema, map.entry.of);
                    let inside = self.unfold_children(&content.slots(), content.particle()?, entry)?;
                    match inside.into_iter().next() {
                        Some((_, value)) => value,
                        None if particle.min == 0 && value.marks.null != JsonNull::Never => Value::Null,
                        None => return None,
                    }
                }
            };
            if fields.insert(key.to_owned(), value).is_some() {
                return self.report_hitch(UnfoldHitch {
                    name: entry.name.local.to_string(),
                    offset: entry.span.start,
                    message: format!("entry: the key {key} comes twice"),
                    expected: "each key once",
                    received: key.to_owned(),
                    fix: "keep one of them".to_owned(),
                });
            }
        }
        Some(Value::Object(fields))
    }

    fn unfold_record(&self, form: &JsonRecord<'_>, element: &XmlElement) -> Option<Value> {
        let mut fields = Map::new();
        for attribute in form.attributes {
            if let Some(written) = element.find_attribute(&attribute.name) {
                check_value::check_value(&attribute.simple, written).is_none().then_some(())?;
                fields.insert(form.name_key(attribute), spelling::to_json(&attribute.simple, written));
            }
        }
        if fields.len() != list_attributes(element).count() {
            return None;
        }
        for attribute in form.attributes {
            if let Some(default) = &attribute.default {
                let key = form.name_key(attribute);
                fields.entry(key).or_insert_with(|| spelling::to_json(&attribute.simple, default));
            }
        }
        match form.inside {
            // Blanks are text here: an element without content has no layout either.
            ElementInside::Nothing => element.parts.iter().all(is_nothing).then_some(())?,
            ElementInside::Value(simple) => drop(fields.insert(OWN.to_owned(), unfold_own(simple, element)?)),
            ElementInside::Text => drop(fields.insert(OWN.to_owned(), Value::String(read_text(element)?))),
            ElementInside::Named(particle) => {
                let slots = form.slots();
                for (key, value) in self.unfold_children(&slots, particle, element)? {
                    let several = match slots.iter().find(|slot| slot.key == key) {
                        Some(slot) => slot.many,
                        None => form.wildcard() == Some(true),
                    };
                    match fields.get_mut(&key) {
                        Some(Value::Array(list)) if several => list.push(value),
                        _ if several => drop(fields.insert(key, Value::Array(vec![value]))),
                        _ => drop(fields.insert(key, value)),
                    }
                }
                supply_defaults(self.schema, particle, &slots, &mut fields);
            }
            ElementInside::Listed(particle) => {
                let rows = self.unfold_children(&form.slots(), particle, element)?;
                let row = |(key, value)| Value::Object(Map::from_iter([(key, value)]));
                fields.insert(OWN.to_owned(), Value::Array(rows.into_iter().map(row).collect()));
            }
        }
        Some(Value::Object(fields))
    }

    /// The children in order, each under its key.
    fn unfold_children(
        &self,
        slots: &[RecordSlot<'_>],
        particle: &Particle,
        parent: &XmlElement,
    ) -> Option<Vec<(String, Value)>> {
        let one = |(child, declaration): (&XmlElement, Option<&Declaration>)| match declaration {
            Some(declaration) => {
                let slot = slots.iter().find(|slot| is_same(slot.declaration, declaration))?;
                self.unfold_element(declaration, child).map(|value| (slot.key.clone(), value))
            }
            None => markup::render_markup(child).map(|xml| (ANY.to_owned(), Value::String(xml))),
        };
        lay_children(particle, parent)?.into_iter().map(one).collect()
    }
}

/// Adds missing elements that have a default, or whose absence is `null`.
fn supply_defaults(
    schema: &SchemaShape,
    particle: &Particle,
    slots: &[RecordSlot<'_>],
    fields: &mut Map<String, Value>,
) {
    let mut defaults = Vec::new();
    form::collect_supplied(particle, &mut defaults);
    for declaration in defaults {
        let slot = slots.iter().find(|slot| is_same(slot.declaration, declaration));
        if let (Some(slot), Some(value)) = (slot, find_default(schema, declaration)) {
            fields.entry(slot.key.clone()).or_insert(value);
        }
    }
    for slot in slots.iter().filter(|slot| slot.declaration.marks.null == JsonNull::Missing) {
        fields.entry(slot.key.clone()).or_insert(Value::Null);
    }
}

/// The default of an element as JSON.
pub(crate) fn find_default(schema: &SchemaShape, declaration: &Declaration) -> Option<Value> {
    let default = declaration.default.as_deref()?;
    match JsonForm::from_declaration(schema, declaration) {
        JsonForm::Value(simple) => Some(spelling::to_json(simple, default)),
        JsonForm::Text => Some(Value::from(default)),
        JsonForm::Json => json_text::parse_text(default).ok(),
        _ => None,
    }
}

pub(crate) fn is_nothing(part: &ElementPart) -> bool {
    matches!(part, ElementPart::Text(text) if text.is_nothing())
}

/// The text of an element without children.
pub(crate) fn read_text(element: &XmlElement) -> Option<String> {
    element.children().next().is_none().then(|| element.text())
}

fn unfold_own(simple: &SimpleType, element: &XmlElement) -> Option<Value> {
    let written = read_text(element)?;
    check_value::check_value(simple, &written).is_none().then(|| spelling::to_json(simple, &written))
}

/// The children in order, each with its declaration; `None` for one that a wildcard admits.
pub(crate) fn lay_children<'e, 'm>(
    particle: &'m Particle,
    parent: &'e XmlElement,
) -> Option<Vec<(&'e XmlElement, Option<&'m Declaration>)>> {
    let stray = |part: &ElementPart| matches!(part, ElementPart::Text(text) if !text.is_layout());
    if parent.parts.iter().any(stray) {
        return None;
    }
    let siblings: Vec<&XmlElement> = parent.children().collect();
    let laid = content::lay_children(particle, &siblings);
    if laid.stop.is_some() {
        return None;
    }
    let declared = |taken: &TakenChild<'m>| match taken {
        TakenChild::Element(_, declaration) => Some(*declaration),
        TakenChild::Wildcard => None,
    };
    let declared: Vec<Option<&Declaration>> = laid.taken.iter().map(declared).collect();
    Some(siblings.into_iter().zip(declared).collect())
}
