//! Gives the values of a form to the builder of payloads, and the builder's errors back to the fields.
//!
//! A form comes in, a payload goes out, or every mistake with the posted name of its field. It walks the form, not
//! the schema.

use std::collections::{BTreeMap, HashMap};

use super::{FieldShape, FormField, FormInput, FormMistake, PageForm};
use crate::build;
use crate::build::given::{GivenPart, GivenValue, ValueManner, ValueSlip};
use crate::form::{ANY, OWN};
use crate::shape::{Declaration, SchemaShape};

pub(super) fn give_payload(
    schema: &SchemaShape,
    declaration: &Declaration,
    form: &PageForm,
) -> Result<Vec<u8>, Vec<FormMistake>> {
    if !form.mistakes.is_empty() {
        return Err(form.mistakes.clone());
    }
    let (giving, root) = collect_given(form);
    build::build_payload(schema, declaration, &root, ValueManner::Fields, None, None)
        .map_err(|slips| slips.into_iter().map(|slip| giving.to_mistake(slip)).collect())
}

/// The posted name for a path of the payload.
pub(super) fn find_place(form: &PageForm, path: &str) -> Option<String> {
    collect_given(form).0.find_name(path)
}

fn collect_given(form: &PageForm) -> (FormGiving, GivenPart) {
    let path = format!("/{}", form.element);
    let mut giving = FormGiving { names: BTreeMap::new() };
    let mut entries = Vec::new();
    form.fields.iter().for_each(|field| giving.give_field(field, true, &path, &mut entries));
    giving.names.entry(path.clone()).or_insert(path);
    (giving, make_part(GivenValue::Record(entries)))
}

fn make_part(given: GivenValue) -> GivenPart {
    GivenPart { given, offset: 0 }
}

type FormEntries = Vec<(String, GivenPart)>;

struct FormGiving {
    /// The posted names by the paths of errors: there a number counts only the parts that are sent, and the first
    /// has none.
    names: BTreeMap<String, String>,
}

impl FormGiving {
    /// Adds the values of a field; `is_needed` says whether the part around it is sent.
    fn give_field(&mut self, field: &FormField, is_needed: bool, path: &str, entries: &mut FormEntries) {
        match &field.input {
            FormInput::OneOf(alternatives) => {
                let chosen = alternatives.iter().find(|one| one.value == field.value);
                let is_needed = chosen.is_some() || is_needed;
                for one in alternatives {
                    let is_chosen = chosen.is_some_and(|chosen| chosen.value == one.value);
                    let is_meant = chosen.is_none() && one.fields.iter().any(FormField::has_values);
                    if is_chosen || is_meant {
                        one.fields.iter().for_each(|inner| self.give_field(inner, is_needed, path, entries));
                    }
                }
                self.names.entry(path.to_owned()).or_insert_with(|| field.name.clone());
            }
            FormInput::Several { places, .. } if field.shape == FieldShape::Layout => {
                let mut counts: HashMap<&str, usize> = HashMap::new();
                places.iter().for_each(|place| self.give_row(place, path, &mut counts, entries));
            }
            FormInput::Several { places, .. } => {
                let mut parts = Vec::new();
                let needed = places.iter().filter(|place| is_needed && place.is_required).count();
                let filled = places.iter().filter(|place| place.has_values()).count();
                let mut short = needed.saturating_sub(filled);
                for place in places {
                    let at = parts.len().saturating_add(1);
                    // A blank group is sent only if there are too few others: it may be valid without values.
                    let is_blank = is_group(place) && !place.has_values();
                    let is_needed = !is_blank || short > 0;
                    short = short.saturating_sub(usize::from(is_blank));
                    parts.extend(self.give_one(
                        place,
                        is_needed && is_group(place),
                        &spell_step(path, field, at),
                    ));
                }
                self.names.entry(spell_step(path, field, 1)).or_insert_with(|| field.name.clone());
                if field.key == ANY {
                    entries.extend(parts.into_iter().map(|part| (ANY.to_owned(), part)));
                } else if !parts.is_empty() {
                    entries.push((field.key.clone(), make_part(GivenValue::List(parts))));
                }
            }
            _ => {
                if let Some(one) = self.give_one(field, is_needed, &spell_step(path, field, 1)) {
                    let is_child = field.shape != FieldShape::Value;
                    let given = if is_child { make_part(GivenValue::List(vec![one])) } else { one };
                    entries.push((field.key.clone(), given));
                }
            }
        }
    }

    /// A row: the element that it chose, or the one that has values.
    fn give_row<'f>(
        &mut self,
        place: &'f FormField,
        path: &str,
        counts: &mut HashMap<&'f str, usize>,
        entries: &mut FormEntries,
    ) {
        let FormInput::OneOf(alternatives) = &place.input else { return };
        let is_free = place.value.is_empty();
        for field in alternatives
            .iter()
            .filter(|one| one.value == place.value || is_free)
            .flat_map(|one| &one.fields)
            .filter(|field| !is_free || field.has_values())
        {
            let count = counts.entry(&field.term).or_default();
            let number = count.saturating_add(1);
            if let Some(one) = self.give_one(field, true, &spell_step(path, field, number)) {
                *count = number;
                let given = if field.key == ANY { one } else { make_part(GivenValue::List(vec![one])) };
                entries.push((field.key.clone(), given));
            }
        }
    }

    /// One part, if it is sent.
    fn give_one(&mut self, field: &FormField, is_needed: bool, path: &str) -> Option<GivenPart> {
        self.names.entry(path.to_owned()).or_insert_with(|| field.name.clone());
        let is_kept = field.presence == "yes";
        let FormInput::Group(fields) = &field.input else {
            let is_text = !matches!(field.input, FormInput::Xml);
            let is_sent =
                !field.value.is_empty() || (is_text && (is_kept || (field.is_required && is_needed)));
            let text = field.value.clone();
            let is_whole = field.shape == FieldShape::Whole;
            return is_sent
                .then(|| make_part(if is_whole { GivenValue::Xml(text) } else { GivenValue::Text(text) }));
        };
        let is_out = field.presence == "no" && !field.is_required;
        let is_sent = is_kept || (is_needed && field.is_required) || field.has_values();
        if is_out || !is_sent {
            return None;
        }
        let mut entries = Vec::new();
        fields.iter().for_each(|inner| self.give_field(inner, true, path, &mut entries));
        if field.shape != FieldShape::Items {
            return Some(make_part(GivenValue::Record(entries)));
        }
        let items = entries.into_iter().flat_map(|(_, part)| match part.given {
            GivenValue::List(parts) => parts,
            _ => Vec::new(),
        });
        Some(make_part(GivenValue::List(items.collect())))
    }

    fn to_mistake(&self, slip: ValueSlip) -> FormMistake {
        let name = self.find_name(&slip.path).unwrap_or_default();
        FormMistake { name, message: slip.message, expected: slip.expected }
    }

    /// The posted name at a path, or at the nearest path around it.
    fn find_name(&self, path: &str) -> Option<String> {
        let path = path.replace("[1]", "");
        let mut path = path.as_str();
        loop {
            if let Some(name) = self.names.get(path) {
                return Some(name.clone());
            }
            path = path.rsplit_once('/')?.0;
        }
    }
}

fn is_group(place: &FormField) -> bool {
    matches!(place.input, FormInput::Group(_))
}

/// The path of the part with that number among the sent parts of its name.
fn spell_step(path: &str, field: &FormField, number: usize) -> String {
    if field.shape == FieldShape::Value {
        let name = field.name.rsplit('/').next().unwrap_or_default();
        return if name == OWN { path.to_owned() } else { format!("{path}/{name}") };
    }
    let number = if number > 1 { format!("[{number}]") } else { String::new() };
    format!("{path}/{}{number}", field.term)
}
