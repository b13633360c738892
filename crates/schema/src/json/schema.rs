//! A global element as JSON Schema, draft 2020-12: the form that `unfold` gives its payloads.
//!
//! A schema and a name come in. Out goes a JSON Schema that admits the form of every valid payload, and the list of
//! rules that it does not express, each with its place. Those rules are checked when the payload has been built. It
//! never says less than the XSD if it could say it, and never more. The top is an object with properties and nothing
//! else, since APIs that take a JSON Schema for tool parameters refuse any other form. At the top, rules that bind
//! the properties are therefore in words.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::form::{
    ANY, ElementInside, EntryMap, EntryValue, JsonForm, JsonRecord, OWN, RecordSlot, count_least, count_most,
    find_lone, is_of, is_same,
};
use crate::json::bonds::{BondRules, SlotKeys};
use crate::json::spelling;
use crate::json::unfold;
use crate::json::value::{self, DrawnValue};
use crate::shape::{Declaration, JsonNull, Particle, SchemaShape, SimpleType, Term, TypeId, TypeShape};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The rule of a value that a payload holds as JSON text.
const SPELT: &str = "which JSON it holds";

/// The rule that every JSON Schema leaves open.
pub const ILLEGAL: &str = "text: characters that XML cannot carry, as U+0000";

/// A JSON Schema, and the rules that it leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonSchema {
    /// The schema.
    pub schema: Value,
    /// Rules of the XSD that it does not express, each as `/search/query: words`.
    pub open: Vec<String>,
}

pub(crate) fn draw_schema(schema: &SchemaShape, root: &Declaration) -> JsonSchema {
    let mut drawing = JsonDrawing {
        schema,
        open: Vec::new(),
        uses: BTreeMap::new(),
        turning: BTreeSet::new(),
        named: Vec::new(),
        parts: Map::new(),
    };
    drawing.count_uses(root.of, &mut Vec::new());
    let record = JsonRecord::of_root(schema, root.of);
    let mut drawn = Map::new();
    drawn.insert("$schema".to_owned(), Value::from(DRAFT));
    drawn.insert("title".to_owned(), Value::from(root.name.as_str()));
    let (object, bonds) = drawing.draw_top(&record, &format!("/{}", root.name));
    drawn.extend(describe_root(schema, root));
    if !bonds.is_empty() {
        let about = schema.find_about(root).map(|words| format!("{words} ")).unwrap_or_default();
        let words = format!("{about}Of the properties: {}", bonds.join("; "));
        drawn.insert("description".to_owned(), Value::from(words));
    }
    drawn.extend(object);
    let JsonDrawing { parts, mut open, .. } = drawing;
    if !parts.is_empty() {
        drawn.insert("$defs".to_owned(), Value::Object(parts));
    }
    open.push(ILLEGAL.to_owned());
    JsonSchema { schema: Value::Object(drawn), open }
}

fn describe_root(schema: &SchemaShape, declaration: &Declaration) -> Option<(String, Value)> {
    let words = schema.find_about(declaration)?;
    Some(("description".to_owned(), Value::from(words)))
}

struct JsonDrawing<'m> {
    schema: &'m SchemaShape,
    open: Vec<String>,
    /// How often each type with children is used.
    uses: BTreeMap<usize, usize>,
    /// Types that contain themselves.
    turning: BTreeSet<usize>,
    /// Types that are used more than once, with their names among the parts.
    named: Vec<(TypeId, String)>,
    parts: Map<String, Value>,
}

impl<'m> JsonDrawing<'m> {
    /// Counts the uses of a type; for the types inside it only the first time.
    fn count_uses(&mut self, id: TypeId, around: &mut Vec<usize>) {
        if around.contains(&id.0) {
            self.turning.insert(id.0);
        }
        let uses = self.uses.entry(id.0).or_insert(0);
        *uses = uses.saturating_add(1);
        if *uses > 1 {
            return;
        }
        if let TypeShape::Complex(_) = self.schema.find_type(id) {
            let record = JsonRecord::of_root(self.schema, id);
            around.push(id.0);
            record.slots().iter().for_each(|slot| self.count_uses(slot.declaration.of, around));
            around.pop();
        }
    }

    fn note_open(&mut self, path: &str, open: Vec<String>) {
        for words in open {
            let line = format!("{path}: {words}");
            if !self.open.contains(&line) {
                self.open.push(line);
            }
        }
    }

    fn draw_simple(&mut self, simple: &SimpleType, path: &str) -> Value {
        let DrawnValue { schema, open } = value::draw_simple(simple);
        self.note_open(path, open);
        schema
    }

    /// The schema of one element.
    fn draw_element(&mut self, declaration: &'m Declaration, path: &str) -> Value {
        let path = &format!("{path}/{}", declaration.name);
        let drawn = match JsonForm::from_declaration(self.schema, declaration) {
            JsonForm::Value(simple) => self.draw_simple(simple, path),
            JsonForm::Text => json!({ "type": "string" }),
            JsonForm::Markup => self.draw_markup(path),
            JsonForm::Items(..) if !self.turning.contains(&declaration.of.0) => {
                Value::Object(self.draw_inner(declaration, path))
            }
            JsonForm::Json => {
                self.note_open(path, vec![SPELT.to_owned()]);
                json!({})
            }
            JsonForm::Null => json!({ "type": "null" }),
            JsonForm::Items(..) | JsonForm::Record(_) | JsonForm::Map(_) | JsonForm::Choice(_) => {
                self.named_or_inline(declaration, path)
            }
        };
        let mut drawn = match drawn {
            Value::Object(fields) => fields,
            other => return other,
        };
        drawn.extend(describe_root(self.schema, declaration));
        drawn.extend(
            unfold::find_default(self.schema, declaration).map(|value| ("default".to_owned(), value)),
        );
        Value::Object(drawn)
    }

    fn draw_markup(&mut self, path: &str) -> Value {
        let words =
            "whether it is one well-formed element of an allowed namespace, and valid if that is known";
        self.note_open(path, vec![words.to_owned()]);
        json!({ "type": "string", "description": "one element as XML, with its xmlns" })
    }

    /// The form of a type with children, without its name.
    fn draw_inner(&mut self, declaration: &'m Declaration, path: &str) -> Map<String, Value> {
        let drawn = match JsonForm::from_declaration(self.schema, declaration) {
            JsonForm::Items(particle, item) => {
                let inner = self.draw_element(item, path);
                make_array(inner, particle.min, particle.max)
            }
            JsonForm::Map(map) => self.draw_map(&map, path),
            JsonForm::Choice(parts) => {
                let mut each = Vec::new();
                for part in parts {
                    if let Term::Element(branch) = &part.term {
                        each.push(self.draw_element(branch, path));
                    }
                }
                json!({ "anyOf": each })
            }
            JsonForm::Record(record) => return self.draw_record(&record, path),
            _ => json!({}),
        };
        match drawn {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// An object with any keys.
    fn draw_map(&mut self, map: &EntryMap<'m>, path: &str) -> Value {
        let path = &format!("{path}/{}", map.entry.name);
        let value = match map.value {
            EntryValue::Value(simple) => self.draw_simple(simple, path),
            EntryValue::Json => {
                self.note_open(path, vec![SPELT.to_owned()]);
                json!({})
            }
            EntryValue::Child(_, value) => {
                let drawn = self.draw_element(value, path);
                if value.marks.null == JsonNull::Never { drawn } else { or_null(drawn) }
            }
        };
        let mut fields = Map::from_iter([("type".to_owned(), Value::from("object"))]);
        fields.insert("additionalProperties".to_owned(), value);
        let keys = self.draw_simple(&map.key.simple, &format!("{path}/@{}", map.key.name));
        if keys != json!({ "type": "string" }) {
            fields.insert("propertyNames".to_owned(), keys);
        }
        for (name, count) in [("minProperties", Some(map.particle.min)), ("maxProperties", map.particle.max)]
        {
            if let Some(count) = count.filter(|count| *count > 0) {
                fields.insert(name.to_owned(), Value::from(count));
            }
        }
        Value::Object(fields)
    }

    /// An inline form, or a reference to it if its type is used more than once or inside itself.
    fn named_or_inline(&mut self, declaration: &'m Declaration, path: &str) -> Value {
        if self.uses.get(&declaration.of.0).is_none_or(|uses| *uses < 2) {
            return Value::Object(self.draw_inner(declaration, path));
        }
        let known = self.named.iter().find(|(id, _)| *id == declaration.of).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let taken = |name: &String| self.named.iter().any(|(_, known)| known == name);
            let numbered = (2..).map(|n: u32| format!("{}-{n}", declaration.name));
            let mut names = std::iter::once(declaration.name.clone()).chain(numbered);
            let name = names.find(|name| !taken(name)).unwrap_or_default();
            self.named.push((declaration.of, name.clone()));
            let drawn = self.draw_inner(declaration, &format!("…/{}", declaration.name));
            self.parts.insert(name.clone(), Value::Object(drawn));
            name
        });
        json!({ "$ref": (format!("#/$defs/{name}")) })
    }

    fn draw_record(&mut self, record: &JsonRecord<'m>, path: &str) -> Map<String, Value> {
        let (properties, rules) = self.draw_parts(record, path);
        make_object(properties, rules)
    }

    /// The record of a payload, and the words for the rules between its parts, which are left open.
    fn draw_top(&mut self, record: &JsonRecord<'m>, path: &str) -> (Map<String, Value>, Vec<String>) {
        let (properties, mut rules) = self.draw_parts(record, path);
        let words = rules.words();
        self.note_open(path, words.clone());
        rules.bonds.clear();
        (make_object(properties, rules), words)
    }

    fn draw_parts(&mut self, record: &JsonRecord<'m>, path: &str) -> (Map<String, Value>, BondRules) {
        let (mut properties, mut rules) = (Map::new(), BondRules::default());
        for attribute in record.attributes {
            let key = record.name_key(attribute);
            let mut drawn = self.draw_simple(&attribute.simple, &format!("{path}/@{}", attribute.name));
            if let Value::Object(fields) = &mut drawn {
                let about = attribute.documentation.as_deref();
                fields.extend(about.map(|words| ("description".to_owned(), Value::from(words))));
                let default =
                    attribute.default.as_ref().map(|default| spelling::to_json(&attribute.simple, default));
                fields.extend(default.map(|default| ("default".to_owned(), default)));
            }
            properties.insert(key.clone(), drawn);
            if attribute.required {
                rules.required.push(key);
            }
        }
        match record.inside {
            ElementInside::Nothing => {}
            ElementInside::Value(simple) => self.draw_own(&mut properties, &mut rules, Some(simple), path),
            ElementInside::Text => self.draw_own(&mut properties, &mut rules, None, path),
            ElementInside::Named(particle) => {
                for slot in record.slots() {
                    let drawn = self.draw_slot(particle, &slot, path);
                    properties.insert(slot.key, drawn);
                }
                if let Some(several) = record.wildcard() {
                    let drawn = self.draw_markup(&format!("{path}/{ANY}"));
                    let wild = |term: &Term| matches!(term, Term::Wildcard(_));
                    let drawn =
                        if several { make_array(drawn, count_least(particle, &wild), None) } else { drawn };
                    properties.insert(ANY.to_owned(), drawn);
                }
                SlotKeys(&record.slots()).add_needed(particle, &mut rules);
                let nulls = record.slots().into_iter().filter(|slot| is_null_when_missing(slot));
                rules.required.extend(nulls.map(|slot| slot.key));
            }
            ElementInside::Listed(particle) => {
                let rows = self.draw_rows(record, particle, path);
                properties.insert(OWN.to_owned(), rows);
                rules.required.push(OWN.to_owned());
            }
        }
        (properties, rules)
    }

    fn draw_own(
        &mut self,
        properties: &mut Map<String, Value>,
        rules: &mut BondRules,
        simple: Option<&'m SimpleType>,
        path: &str,
    ) {
        let mut drawn = match simple {
            Some(simple) => self.draw_simple(simple, path),
            None => json!({ "type": "string" }),
        };
        if let Value::Object(fields) = &mut drawn {
            fields.insert("description".to_owned(), Value::from("the text of the element itself"));
        }
        properties.insert(OWN.to_owned(), drawn);
        rules.required.push(OWN.to_owned());
    }

    /// The schema for the value of a child element's key.
    fn draw_slot(&mut self, content: &'m Particle, slot: &RecordSlot<'m>, path: &str) -> Value {
        let drawn = self.draw_element(slot.declaration, path);
        if !slot.many {
            let is_nullable = slot.declaration.marks.null != JsonNull::Never;
            return if is_nullable { or_null(drawn) } else { drawn };
        }
        let Some(group) = find_repeated(content, slot.declaration) else {
            return make_array(drawn, slot.particle.min, slot.particle.max);
        };
        let words = format!("which numbers of {} a group that repeats allows", slot.key);
        self.note_open(path, vec![words]);
        let is_it = |term: &Term| is_of(term, slot.declaration);
        make_array(drawn, count_least(group, &is_it), count_most(group, &is_it))
    }

    /// Children whose order matters: a list of objects with one key each.
    fn draw_rows(&mut self, record: &JsonRecord<'m>, particle: &'m Particle, path: &str) -> Value {
        let mut kinds = Vec::new();
        let mut row = |key: &str, drawn: Value| {
            let properties = Map::from_iter([(key.to_owned(), drawn)]);
            kinds.push(json!({
                "type": "object", "properties": properties, "required": [key], "additionalProperties": false
            }));
        };
        for slot in record.slots() {
            row(&slot.key, self.draw_element(slot.declaration, path));
        }
        if record.wildcard().is_some() {
            row(ANY, self.draw_markup(&format!("{path}/{ANY}")));
        }
        self.note_open(path, vec![describe_order(record)]);
        let any = |_: &Term| true;
        let mut drawn =
            make_array(json!({ "anyOf": kinds }), count_least(particle, &any), count_most(particle, &any));
        if let Value::Object(fields) = &mut drawn {
            let words = "the children in their order, each an object with one key";
            fields.insert("description".to_owned(), Value::from(words));
        }
        drawn
    }
}

/// The rule of children whose order matters.
pub(crate) fn describe_order(record: &JsonRecord<'_>) -> String {
    let names: Vec<String> = record.slots().into_iter().map(|slot| slot.key).collect();
    format!("the order and number of {}", names.join(", "))
}

fn is_null_when_missing(slot: &RecordSlot<'_>) -> bool {
    slot.declaration.marks.null == JsonNull::Missing
}

/// The same, or `null`; the words stay outside, where readers look for them.
fn or_null(drawn: Value) -> Value {
    let mut inner = drawn;
    let mut outer = Map::new();
    if let Value::Object(fields) = &mut inner {
        outer.extend(fields.remove("description").map(|words| ("description".to_owned(), words)));
    }
    outer.insert("anyOf".to_owned(), json!([inner, { "type": "null" }]));
    Value::Object(outer)
}

fn make_object(properties: Map<String, Value>, rules: BondRules) -> Map<String, Value> {
    let mut drawn = Map::new();
    drawn.insert("type".to_owned(), Value::from("object"));
    drawn.insert("properties".to_owned(), Value::Object(properties));
    drawn.extend(rules.into_fields());
    drawn.insert("additionalProperties".to_owned(), Value::from(false));
    drawn
}

fn make_array(items: Value, least: u32, most: Option<u32>) -> Value {
    let mut list = Map::from_iter([("type".to_owned(), Value::from("array")), ("items".to_owned(), items)]);
    if least > 0 {
        list.insert("minItems".to_owned(), Value::from(least));
    }
    if let Some(most) = most {
        list.insert("maxItems".to_owned(), Value::from(most));
    }
    Value::Object(list)
}

/// The repeating group around this only name.
pub(crate) fn find_repeated<'m>(particle: &'m Particle, meant: &Declaration) -> Option<&'m Particle> {
    match &particle.term {
        Term::Element(_) | Term::Wildcard(_) => None,
        _ if particle.max != Some(1) => {
            Some(particle).filter(|group| find_lone(group).is_some_and(|only| is_same(only, meant)))
        }
        Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts) => {
            parts.iter().find_map(|part| find_repeated(part, meant))
        }
    }
}
