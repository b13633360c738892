//! The messages for errors in values for a payload: unknown, missing, of another kind.
//!
//! A finding comes in; a slip is noted with the building. Every slip says what is allowed and what to write instead,
//! in the syntax of the input.

use crate::build::given::{GivenPart, ValueManner};
use crate::build::sketch;
use crate::build::{AbsentPart, GivenFields, PayloadBuilder, ValueRole, field_path};
use crate::explain::wording;
use crate::explain::{self, amend};
use crate::form::{ANY, ElementInside, JsonRecord, OWN, RecordSlot};
use crate::shape::{AttributeUse, Declaration, Particle, SimpleType};

impl<'m> PayloadBuilder<'m> {
    pub(crate) fn describe_expected(&self, declaration: &Declaration, particle: &Particle) -> String {
        let role = explain::PayloadRole { declaration, min: particle.min, max: particle.max };
        wording::describe_expected(self.schema, role)
    }

    pub(crate) fn not_a_record(
        &mut self,
        declaration: &'m Declaration,
        record: &JsonRecord<'m>,
        part: &GivenPart,
        path: &str,
    ) {
        let name = &declaration.name;
        let keys = known_keys(record);
        let message = match self.manner {
            ValueManner::Json => format!("{name}: is {}, an object is needed", part.given.kind()),
            ValueManner::Fields => format!("{name}: is one value, it holds {}", keys.join(", ")),
        };
        let expected = format!("an object with {}", keys.join(", "));
        let is_root = path.matches('/').count() == 1;
        let sketch = match self.manner {
            ValueManner::Json if is_root => sketch::sketch_whole(self.schema, declaration),
            manner => sketch::sketch_single(self.schema, declaration, &field_path(path), manner),
        };
        let fix = sketch.unwrap_or_else(|| format!("give {}", keys.join(", ")));
        self.report_slip(path, part, message, expected, fix);
    }

    /// Reports every unknown key.
    pub(crate) fn report_unknown(
        &mut self,
        declaration: &Declaration,
        record: &JsonRecord<'m>,
        fields: &GivenFields<'_, 'm>,
        path: &str,
    ) {
        let keys = known_keys(record);
        let strangers = fields.entries.iter().filter(|(key, _)| !keys.contains(key));
        let is_listed =
            matches!(record.inside, ElementInside::Listed(_)) && self.manner == ValueManner::Fields;
        let in_list = |key: &str| is_listed && fields.slots.iter().any(|slot| slot.key == key);
        for (key, part) in strangers.filter(|(key, _)| !in_list(key)) {
            let path = format!("{path}/{key}");
            if let Some(extras) = &mut self.extras {
                extras.push(path);
                continue;
            }
            let free: Vec<&str> = keys
                .iter()
                .map(String::as_str)
                .filter(|known| fields.find_parts(known).next().is_none())
                .collect();
            let near = crate::find_nearest(key, free.into_iter());
            let mut message = format!("{key}: is not known in {}", declaration.name);
            let mut fix = format!("leave {key} out");
            if let Some(near) = near {
                message.push_str(&format!(", did you mean {near}"));
                fix = format!("write {near} instead of {key}");
            }
            let expected = match keys.as_slice() {
                [] => format!("{} holds nothing", declaration.name),
                keys => format!("one of {}", keys.join(", ")),
            };
            self.report_slip(&path, part, message, expected, fix);
        }
    }

    pub(crate) fn report_stranger(&mut self, key: &str, part: &GivenPart, known: &[&str], path: &str) {
        let near = crate::find_nearest(key, known.iter().copied());
        let meant = near.map(|near| format!(", did you mean {near}")).unwrap_or_default();
        let fix = near.map_or_else(|| format!("leave {key} out"), |near| format!("write {near}"));
        let message = format!("{key}: is not known here{meant}");
        self.report_slip(path, part, message, format!("one of {}", known.join(", ")), fix);
    }

    /// Names all missing parts at once.
    pub(crate) fn report_missing(
        &mut self,
        declaration: &Declaration,
        part: &GivenPart,
        absent: &[AbsentPart<'m>],
        path: &str,
    ) {
        let mut names: Vec<String> = Vec::new();
        let (mut expected, mut fixes) = (Vec::new(), Vec::new());
        for one in absent {
            let (name, words, fix) = self.describe_absent(one, path);
            names.push(name);
            expected.push(words);
            fixes.extend(fix);
        }
        let are = match absent {
            [] => return,
            [_] => " is missing",
            _ => " are missing",
        };
        let message = format!("{}: {}{are}", declaration.name, names.join(", "));
        let glue = if self.manner == ValueManner::Json { ", " } else { " " };
        let fix = if fixes.is_empty() { "give it".to_owned() } else { format!("add {}", fixes.join(glue)) };
        self.report_slip(path, part, message, expected.join("; "), fix);
    }

    fn describe_absent(&self, absent: &AbsentPart<'m>, path: &str) -> (String, String, Option<String>) {
        let written = |path: &str, key: &str, simple: &SimpleType| {
            let sample = amend::find_sample(simple)?;
            let role = ValueRole { path, name: key, key, expected: String::new(), optional: false };
            Some(self.spell_assignment(simple, &role, &sample))
        };
        match absent {
            AbsentPart::Attribute(attribute, key) => {
                let below = format!("{path}/{}", field_name(attribute, key));
                (key.clone(), wording::name_attribute(attribute), written(&below, key, &attribute.simple))
            }
            AbsentPart::Element(slot) => {
                let expected = self.describe_expected(slot.declaration, slot.particle);
                (slot.key.clone(), expected, self.sketch_slot(slot, path))
            }
            AbsentPart::OneOf(several) => {
                let names: Vec<&str> = several.iter().map(|slot| slot.key.as_str()).collect();
                let fix = several.first().and_then(|slot| self.sketch_slot(slot, path));
                let one_of = format!("one of {}", names.join(", "));
                (one_of.clone(), one_of, fix)
            }
            AbsentPart::Text(expected, simple) => {
                let sample = match simple {
                    Some(simple) => written(path, OWN, simple),
                    None if self.manner == ValueManner::Json => Some("\".\": \"text\"".to_owned()),
                    None => Some(format!("{}=text", field_path(path))),
                };
                ("its text".to_owned(), expected.clone(), sample)
            }
            AbsentPart::Rows => {
                let expected = "a list of objects with one element each, in order".to_owned();
                ("its list".to_owned(), expected, Some("\".\": [{…}, …]".to_owned()))
            }
            AbsentPart::Wildcard => {
                let expected = "an element of another namespace, as XML".to_owned();
                (ANY.to_owned(), expected, Some("an element as XML".to_owned()))
            }
        }
    }

    /// A minimal value for a place, in the syntax of the input.
    fn sketch_slot(&self, slot: &RecordSlot<'m>, path: &str) -> Option<String> {
        let path = format!("{}.{}", field_path(path), slot.key);
        let path = path.trim_start_matches('.');
        sketch::sketch_slot(self.schema, slot, path, self.manner)
    }
}

/// An attribute as a field names it.
fn field_name(attribute: &AttributeUse, key: &str) -> String {
    if key == attribute.name { key.to_owned() } else { format!("@{}", attribute.name) }
}

/// Every key that a record may have.
pub(crate) fn known_keys(record: &JsonRecord<'_>) -> Vec<String> {
    let mut keys: Vec<String> =
        record.attributes.iter().map(|attribute| record.name_key(attribute)).collect();
    match record.inside {
        ElementInside::Nothing => {}
        ElementInside::Value(_) | ElementInside::Text | ElementInside::Listed(_) => keys.push(OWN.to_owned()),
        ElementInside::Named(_) => {
            keys.extend(record.slots().iter().map(|slot| slot.key.clone()));
            if record.wildcard().is_some() {
                keys.push(ANY.to_owned());
            }
        }
    }
    keys
}

pub(crate) fn known_names<'f>(fields: &'f GivenFields<'_, '_>) -> Vec<&'f str> {
    fields.slots.iter().map(|slot| slot.key.as_str()).collect()
}

/// The command-line fields that a record takes, as they are written there.
pub(crate) fn field_names(record: &JsonRecord<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    names.extend(record.slots().iter().map(|slot| slot.declaration.name.clone()));
    names
        .extend(record.attributes.iter().map(|attribute| field_name(attribute, &record.name_key(attribute))));
    if record.has_text() {
        names.push(OWN.to_owned());
    }
    if record.wildcard().is_some() {
        names.push(ANY.to_owned());
    }
    names
}

/// The same as a phrase.
pub(crate) fn fields_of(owner: &Declaration, record: &JsonRecord<'_>) -> String {
    match field_names(record).as_slice() {
        [] => format!("{}: nothing", owner.name),
        names => format!("fields of {}: {}", owner.name, names.join(", ")),
    }
}
