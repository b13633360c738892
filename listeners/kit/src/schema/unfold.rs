//! Takes a payload apart into plain values: XML to JSON.
//!
//! A payload that was judged comes in, a JSON value goes out whose form the JSON Schema describes. What the model cannot
//! lay out goes back as a finding, never as half a value.

use serde_json::{Map, Value};

use super::content::{self, Taken};
use super::form::{ANY, Form, Inside, OWN, Record};
use super::shape::{Declaration, Particle, Schema, Simple};
use super::tree::{Element, Part};
use super::{Finding, explain, markup, spelling, tree};

/// A payload as JSON.
pub(super) fn payload(schema: &Schema, payload: &[u8]) -> Result<Value, Finding> {
    let unread = |words: &str| explain::first(schema, payload).unwrap_or_else(|| unfit(payload, words));
    let root = tree::read(payload).map_err(|fault| unread(&fault.words))?;
    let declaration = schema.global(&root.name.local).filter(|_| *root.name.namespace == *schema.namespace);
    let declaration = declaration.ok_or_else(|| unread("it is no payload of this schema"))?;
    root_record(schema, declaration, &root).ok_or_else(|| unread("it does not follow the schema"))
}

/// A global element as JSON.
pub(super) fn root_record(schema: &Schema, declaration: &Declaration, element: &Element) -> Option<Value> {
    record(schema, &Record::of_root(schema, declaration.of), element)
}

fn unfit(payload: &[u8], words: &str) -> Finding {
    let words = words.to_owned();
    Finding {
        element: String::new(),
        path: "/".to_owned(),
        offset: 0,
        line: 1,
        column: 1,
        message: ["the payload has no form as JSON: ", &words].concat(),
        expected: "a payload that its schema admits".to_owned(),
        received: super::given::shortened(String::from_utf8_lossy(payload).into_owned()),
        schema: String::new(),
        fix: "mend the payload first".to_owned(),
    }
}

/// An element inside a payload as JSON.
pub(super) fn element(schema: &Schema, declaration: &Declaration, element: &Element) -> Option<Value> {
    match Form::of(schema, declaration.of) {
        Form::Value(simple) => plain(element).and_then(|()| own(simple, element)),
        Form::Text => plain(element).and_then(|()| text(element)).map(Value::String),
        Form::Items(particle, _) => {
            plain(element)?;
            let items = children(schema, particle_around(schema, declaration).unwrap_or(particle), element)?;
            Some(Value::Array(items.into_iter().map(|(_, value)| value).collect()))
        }
        Form::Record(form) => record(schema, &form, element),
        Form::Markup => markup::text(element).map(Value::String),
    }
}

/// The content of a type that holds children.
fn particle_around<'m>(schema: &'m Schema, declaration: &Declaration) -> Option<&'m Particle> {
    Record::of_root(schema, declaration.of).particle()
}

/// Holds an element to having no attributes.
fn plain(element: &Element) -> Option<()> {
    element.attributes.is_empty().then_some(())
}

fn record(schema: &Schema, form: &Record<'_>, element: &Element) -> Option<Value> {
    let mut fields = Map::new();
    for attribute in form.attributes {
        if let Some(written) = element.attribute(&attribute.name) {
            fields.insert(form.key(attribute), spelling::json(&attribute.simple, written));
        }
    }
    if fields.len() != element.attributes.len() {
        return None;
    }
    match form.inside {
        Inside::Nothing => text(element).filter(|text| text.trim().is_empty()).map(drop)?,
        Inside::Value(simple) => drop(fields.insert(OWN.to_owned(), own(simple, element)?)),
        Inside::Text => drop(fields.insert(OWN.to_owned(), Value::String(text(element)?))),
        Inside::Named(particle) => {
            let slots = form.slots();
            for (key, value) in children(schema, particle, element)? {
                let several = match slots.iter().find(|slot| slot.declaration.name == key) {
                    Some(slot) => slot.many,
                    None => form.wildcard() == Some(true),
                };
                match fields.get_mut(&key) {
                    Some(Value::Array(list)) if several => list.push(value),
                    _ if several => drop(fields.insert(key, Value::Array(vec![value]))),
                    _ => drop(fields.insert(key, value)),
                }
            }
        }
        Inside::Listed(particle) => {
            let rows = children(schema, particle, element)?;
            let row = |(key, value)| Value::Object(Map::from_iter([(key, value)]));
            fields.insert(OWN.to_owned(), Value::Array(rows.into_iter().map(row).collect()));
        }
    }
    Some(Value::Object(fields))
}

/// The text of an element without children.
fn text(element: &Element) -> Option<String> {
    element.children().next().is_none().then(|| element.text())
}

fn own(simple: &Simple, element: &Element) -> Option<Value> {
    let written = text(element)?;
    let value = spelling::json(simple, &written);
    // What is no value of the type has no form; a value outside its facets has one.
    simple.base.spells(&simple.space.normalize(&written)).then_some(value)
}

/// The children in order, each under its key.
fn children(schema: &Schema, particle: &Particle, parent: &Element) -> Option<Vec<(String, Value)>> {
    let stray = |part: &Part| matches!(part, Part::Text(text) if !text.is_layout());
    if parent.parts.iter().any(stray) {
        return None;
    }
    let siblings: Vec<&Element> = parent.children().collect();
    let laid = content::lay(particle, &schema.namespace, &siblings);
    if laid.stop.is_some() {
        return None;
    }
    let one = |(child, taken): (&&Element, &Taken<'_>)| match taken {
        Taken::Element(_, declaration) => {
            element(schema, declaration, child).map(|value| (declaration.name.clone(), value))
        }
        Taken::Wildcard => markup::text(child).map(|xml| (ANY.to_owned(), Value::String(xml))),
    };
    siblings.iter().zip(&laid.taken).map(one).collect()
}
