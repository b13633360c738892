//! Takes a payload apart into plain values: XML to JSON.
//!
//! A judged payload comes in; a JSON value in the form of the JSON Schema goes out. If the model cannot lay the
//! payload out, a finding goes out, never half a value.

use serde_json::{Map, Value};

use crate::build::markup;
use crate::explain;
use crate::finding::PayloadFinding;
use crate::form;
use crate::form::{ANY, Form, Inside, OWN, Record, Slot, is_same};
use crate::json::spelling;
use crate::judge::check_value;
use crate::judge::content::{self, Taken};
use crate::shape::{Declaration, Particle, Schema, Simple};
use crate::tree;
use crate::tree::{Attribute, Element, Part};

/// A payload as JSON.
pub(crate) fn payload(schema: &Schema, payload: &[u8]) -> Result<Value, PayloadFinding> {
    let unread = |words: &str| explain::first(schema, payload).unwrap_or_else(|| unfit(payload, words));
    let root = tree::read(payload).map_err(|fault| unread(&fault.words))?;
    let declaration = schema.global(&root.name.local).filter(|_| *root.name.namespace == *schema.namespace);
    let declaration = declaration.ok_or_else(|| unread("it is no payload of this schema"))?;
    let why = if chooses(&root) {
        "its xsi:type names a type that holds more"
    } else {
        "it does not follow the schema"
    };
    root_record(schema, declaration, &root).ok_or_else(|| unread(why))
}

/// A global element as JSON.
pub(crate) fn root_record(schema: &Schema, declaration: &Declaration, element: &Element) -> Option<Value> {
    record(schema, &Record::of_root(schema, declaration.of), element)
}

fn unfit(payload: &[u8], words: &str) -> PayloadFinding {
    let words = words.to_owned();
    PayloadFinding {
        element: String::new(),
        path: "/".to_owned(),
        offset: 0,
        line: 1,
        column: 1,
        message: format!("the payload has no form as JSON: {words}"),
        expected: "a payload that its schema admits".to_owned(),
        received: crate::build::given::shortened(String::from_utf8_lossy(payload).into_owned()),
        schema: String::new(),
        fix: "fix the payload first".to_owned(),
    }
}

/// An element inside a payload as JSON.
pub(crate) fn element(schema: &Schema, declaration: &Declaration, element: &Element) -> Option<Value> {
    match Form::of(schema, declaration.of) {
        Form::Value(simple) => plain(element).and_then(|()| own(simple, element)),
        Form::Text => plain(element).and_then(|()| text(element)).map(Value::String),
        Form::Items(particle, _) => {
            plain(element)?;
            let whole = Record::of_root(schema, declaration.of);
            let items = children(schema, &whole.slots(), whole.particle().unwrap_or(particle), element)?;
            Some(Value::Array(items.into_iter().map(|(_, value)| value).collect()))
        }
        Form::Record(form) => record(schema, &form, element),
        Form::Markup => markup::text(element).map(Value::String),
    }
}

/// Whether any element chooses its own type.
fn chooses(element: &Element) -> bool {
    let is_type = |attribute: &Attribute| attribute.name.is(explain::INSTANCE, "type");
    element.attributes.iter().any(is_type) || element.children().any(chooses)
}

/// Checks that an element has no attributes.
fn plain(element: &Element) -> Option<()> {
    attributes(element).next().is_none().then_some(())
}

/// The attributes that the schema gives a payload. Any element may also have attributes that address the judge:
/// schema locations, which are ignored, and its type. The content is laid out by the type that the schema gives; a
/// value of a derived type is also a value of that type.
fn attributes(element: &Element) -> impl Iterator<Item = &Attribute> {
    let is_spoken = |attribute: &&Attribute| {
        let spoken = ["schemaLocation", "noNamespaceSchemaLocation", "type"];
        let name = &attribute.name;
        *name.namespace == *explain::INSTANCE && spoken.contains(&name.local.as_str())
    };
    element.attributes.iter().filter(move |attribute| !is_spoken(attribute))
}

fn record(schema: &Schema, form: &Record<'_>, element: &Element) -> Option<Value> {
    let mut fields = Map::new();
    for attribute in form.attributes {
        if let Some(written) = element.attribute(&attribute.name) {
            check_value::check(&attribute.simple, written).is_none().then_some(())?;
            fields.insert(form.key(attribute), spelling::json(&attribute.simple, written));
        }
    }
    if fields.len() != attributes(element).count() {
        return None;
    }
    for attribute in form.attributes {
        if let Some(default) = &attribute.default {
            let key = form.key(attribute);
            fields.entry(key).or_insert_with(|| spelling::json(&attribute.simple, default));
        }
    }
    match form.inside {
        // Blanks are text here: an element without content has no layout either.
        Inside::Nothing => element.parts.iter().all(is_nothing).then_some(())?,
        Inside::Value(simple) => drop(fields.insert(OWN.to_owned(), own(simple, element)?)),
        Inside::Text => drop(fields.insert(OWN.to_owned(), Value::String(text(element)?))),
        Inside::Named(particle) => {
            let slots = form.slots();
            for (key, value) in children(schema, &slots, particle, element)? {
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
            supply(schema, particle, &slots, &mut fields);
        }
        Inside::Listed(particle) => {
            let rows = children(schema, &form.slots(), particle, element)?;
            let row = |(key, value)| Value::Object(Map::from_iter([(key, value)]));
            fields.insert(OWN.to_owned(), Value::Array(rows.into_iter().map(row).collect()));
        }
    }
    Some(Value::Object(fields))
}

/// Adds missing elements that have a default.
fn supply(schema: &Schema, particle: &Particle, slots: &[Slot<'_>], fields: &mut Map<String, Value>) {
    let mut defaults = Vec::new();
    form::supplied(particle, &mut defaults);
    for declaration in defaults {
        let slot = slots.iter().find(|slot| is_same(slot.declaration, declaration));
        if let (Some(slot), Some(value)) = (slot, default(schema, declaration)) {
            fields.entry(slot.key.clone()).or_insert(value);
        }
    }
}

/// The default of an element as JSON.
pub(crate) fn default(schema: &Schema, declaration: &Declaration) -> Option<Value> {
    let default = declaration.default.as_deref()?;
    match Form::of(schema, declaration.of) {
        Form::Value(simple) => Some(spelling::json(simple, default)),
        Form::Text => Some(Value::from(default)),
        Form::Items(..) | Form::Record(_) | Form::Markup => None,
    }
}

fn is_nothing(part: &Part) -> bool {
    matches!(part, Part::Text(text) if text.is_nothing())
}

/// The text of an element without children.
fn text(element: &Element) -> Option<String> {
    element.children().next().is_none().then(|| element.text())
}

fn own(simple: &Simple, element: &Element) -> Option<Value> {
    let written = text(element)?;
    check_value::check(simple, &written).is_none().then(|| spelling::json(simple, &written))
}

/// The children in order, each under its key.
fn children(
    schema: &Schema,
    slots: &[Slot<'_>],
    particle: &Particle,
    parent: &Element,
) -> Option<Vec<(String, Value)>> {
    let stray = |part: &Part| matches!(part, Part::Text(text) if !text.is_layout());
    if parent.parts.iter().any(stray) {
        return None;
    }
    let siblings: Vec<&Element> = parent.children().collect();
    let laid = content::lay(particle, &siblings);
    if laid.stop.is_some() {
        return None;
    }
    let one = |(child, taken): (&&Element, &Taken<'_>)| match taken {
        Taken::Element(_, declaration) => {
            let slot = slots.iter().find(|slot| is_same(slot.declaration, declaration))?;
            element(schema, declaration, child).map(|value| (slot.key.clone(), value))
        }
        Taken::Wildcard => markup::text(child).map(|xml| (ANY.to_owned(), Value::String(xml))),
    };
    siblings.iter().zip(&laid.taken).map(one).collect()
}
