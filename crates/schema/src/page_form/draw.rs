//! Draws the form of an element: walks the schema and puts each value into its field.
//!
//! A declaration and values come in, a form goes out. A blank form ends: parts too deep, inside themselves too often
//! or behind too many fields are offered as XML. Values that have no field are reported, never dropped.

use std::collections::BTreeSet;

use super::{
    FieldShape, FormAlternative, FormField, FormInput, FormMistake, FormValues, PageForm, input, values,
};
use crate::explain::{describe, wording};
use crate::form::{
    ANY, ElementInside, JsonForm, JsonRecord, OWN, RecordSlot, count_least, count_most, find_lone, is_of,
    is_same,
};
use crate::limits;
use crate::shape::{Declaration, Particle, SchemaShape, SimpleType, Term, TypeId};

/// The key of the field that holds a whole element as XML.
pub(super) const WHOLE: &str = ".xml";

pub(super) fn draw_form(schema: &SchemaShape, declaration: &Declaration, values: &FormValues) -> PageForm {
    let open = vec![declaration.of];
    let known = BTreeSet::new();
    let mut drawing = FormDrawing {
        schema,
        values,
        drawn: 0,
        is_cut: false,
        open,
        known,
        mistakes: Vec::new(),
        is_certain: true,
    };
    let record = JsonRecord::of_root(schema, declaration.of);
    let path = format!("/{}", declaration.name);
    let fields = drawing.draw_record(declaration, &record, &path);
    let mut mistakes = std::mem::take(&mut drawing.mistakes);
    if drawing.is_cut {
        mistakes.push(values::too_large());
    }
    let strangers = values.iter().filter(|(name, _)| !drawing.known.contains(*name));
    mistakes.extend(strangers.take(20).map(|(name, value)| FormMistake {
        name: path.clone(),
        message: format!("the form has no field {name}, its value is {value:?}"),
        expected: "the fields that are shown".to_owned(),
    }));
    let about = schema.find_about(declaration).unwrap_or_default().to_owned();
    PageForm { element: declaration.name.clone(), about, fields, mistakes }
}

struct FormDrawing<'s> {
    schema: &'s SchemaShape,
    values: &'s FormValues,
    drawn: usize,
    is_cut: bool,
    /// The types of the elements around the current place.
    open: Vec<TypeId>,
    /// The posted names that the form has.
    known: BTreeSet<String>,
    mistakes: Vec<FormMistake>,
    /// Whether every payload has the current part, so that it can begin with values.
    is_certain: bool,
}

/// A place at which a part is drawn.
#[derive(Clone, Copy)]
struct FieldPlace<'p> {
    /// Its posted name.
    name: &'p str,
    /// Whether the part around it cannot be without it.
    is_required: bool,
    /// How often it may occur, if that is no range of a list.
    times: (u32, Option<u32>),
}

/// The record whose content is drawn.
struct FieldSurroundings<'r, 's> {
    record: &'r JsonRecord<'s>,
    slots: Vec<RecordSlot<'s>>,
    path: &'r str,
}

impl<'s> FormDrawing<'s> {
    fn draw_record(&mut self, owner: &'s Declaration, record: &JsonRecord<'s>, path: &str) -> Vec<FormField> {
        let mut fields = Vec::new();
        for attribute in record.attributes {
            let name = format!("{path}/@{}", attribute.name);
            let mut field = self.draw_field(&name, &attribute.name, attribute.documentation.as_deref());
            field.is_required = attribute.required;
            field.limits = describe_limits(describe::describe_simple(&attribute.simple), attribute.required);
            field.hint = input::attribute_hint(attribute);
            field.input = input::choose_input(&attribute.simple);
            fields.push(FormField { key: record.name_key(attribute), ..field });
        }
        let around = FieldSurroundings { record, slots: record.slots(), path };
        match record.inside {
            ElementInside::Nothing => {}
            ElementInside::Value(simple) => fields.push(self.draw_own(owner, Some(simple), path)),
            ElementInside::Text => fields.push(self.draw_own(owner, None, path)),
            ElementInside::Named(particle) => self.draw_particle(particle, "", true, &around, &mut fields),
            ElementInside::Listed(particle) => fields.push(self.draw_rows(particle, &around)),
        }
        fields
    }

    /// A field with the value posted for it.
    fn draw_field(&mut self, name: &str, term: &str, about: Option<&str>) -> FormField {
        self.drawn = self.drawn.saturating_add(1);
        let about = about.unwrap_or_default();
        let is_label = !about.is_empty() && about.chars().count() <= limits::QUOTED_VALUE;
        let (label, about) = if is_label { (about, "") } else { (term, about) };
        let presence = format!("{name}/+");
        let field = FormField {
            name: name.to_owned(),
            label: label.to_owned(),
            term: term.to_owned(),
            about: about.to_owned(),
            is_required: false,
            limits: String::new(),
            hint: String::new(),
            value: self.values.get(name).to_owned(),
            presence: self.values.get(&presence).to_owned(),
            input: FormInput::Text,
            accept: Vec::new(),
            shape: FieldShape::Value,
            key: OWN.to_owned(),
        };
        if !["", "yes", "no"].contains(&field.presence.as_str()) {
            self.mistakes.push(FormMistake {
                name: name.to_owned(),
                message: format!("{:?} does not say whether {term} is sent", field.presence),
                expected: "yes, no or nothing".to_owned(),
            });
        }
        self.known.extend([name.to_owned(), presence]);
        field
    }

    fn draw_own(&mut self, owner: &Declaration, simple: Option<&SimpleType>, path: &str) -> FormField {
        let mut field = self.draw_field(&format!("{path}/{OWN}"), &owner.name, None);
        field.is_required = true;
        self.filled_by(&mut field, simple, owner);
        field
    }

    fn filled_by(&self, field: &mut FormField, simple: Option<&SimpleType>, declaration: &Declaration) {
        let default = declaration.default.as_deref();
        match simple {
            Some(simple) => {
                field.limits = describe_limits(describe::describe_simple(simple), field.is_required);
                field.hint = input::make_hint(simple, default);
                field.input = input::choose_input(simple);
            }
            None => field.limits = describe_limits("text".to_owned(), field.is_required),
        }
    }

    fn draw_xml(&mut self, place: FieldPlace<'_>, declaration: Option<&Declaration>) -> FormField {
        let about = declaration.and_then(|declaration| self.schema.find_about(declaration));
        let (term, key) = match declaration {
            Some(declaration) => (declaration.name.as_str(), declaration.key()),
            None => ("any element", ANY),
        };
        let mut field = self.draw_field(place.name, term, about);
        let words = match declaration {
            Some(declaration) => format!("the element {} as XML", declaration.name),
            None => "an element of another namespace as XML".to_owned(),
        };
        field.limits = describe_limits(words, place.is_required);
        field.is_required = place.is_required;
        field.input = FormInput::Xml;
        field.shape = if declaration.is_some() { FieldShape::Whole } else { FieldShape::Value };
        FormField { key: key.to_owned(), ..field }
    }

    /// One child element.
    fn draw_child(&mut self, declaration: &'s Declaration, place: FieldPlace<'_>) -> FormField {
        let (mut field, record) = match JsonForm::of_type(self.schema, declaration.of) {
            JsonForm::Value(simple) => return self.draw_leaf(declaration, Some(simple), place),
            JsonForm::Text => return self.draw_leaf(declaration, None, place),
            JsonForm::Record(record) if !self.is_too_deep(declaration, place.name) => {
                (self.draw_group(declaration, place), record)
            }
            JsonForm::Items(..) if !self.is_too_deep(declaration, place.name) => {
                let group = FormField { shape: FieldShape::Items, ..self.draw_group(declaration, place) };
                (group, JsonRecord::of_root(self.schema, declaration.of))
            }
            _ => {
                let name = format!("{}/{WHOLE}", place.name);
                return self.draw_xml(FieldPlace { name: &name, ..place }, Some(declaration));
            }
        };
        self.open.push(declaration.of);
        let is_certain = self.is_certain;
        self.is_certain &= place.is_required;
        let inside = self.draw_record(declaration, &record, place.name);
        self.is_certain = is_certain;
        self.open.pop();
        field.input = FormInput::Group(inside);
        if declaration.marks.file {
            let media = record.attributes.iter().find(|attribute| attribute.name == "type");
            let values = media.map(|media| &media.simple.values).into_iter().flatten();
            field.accept = values.map(|one| one.value.clone()).collect();
        }
        field
    }

    fn draw_leaf(
        &mut self,
        declaration: &'s Declaration,
        simple: Option<&SimpleType>,
        place: FieldPlace<'_>,
    ) -> FormField {
        let about = self.schema.find_about(declaration);
        let mut field = self.draw_field(place.name, &declaration.name, about);
        field.is_required = place.is_required;
        self.filled_by(&mut field, simple, declaration);
        FormField { shape: FieldShape::Child, key: declaration.key().to_owned(), ..field }
    }

    fn draw_group(&mut self, declaration: &'s Declaration, place: FieldPlace<'_>) -> FormField {
        let field = self.draw_field(place.name, &declaration.name, self.schema.find_about(declaration));
        let limits = wording::describe_times(place.times.0, place.times.1).unwrap_or_default();
        let key = declaration.key().to_owned();
        // A group has no value, only fields.
        self.known.remove(place.name);
        FormField {
            is_required: place.is_required,
            limits,
            shape: FieldShape::Child,
            value: String::new(),
            key,
            ..field
        }
    }

    /// Whether an element is offered as XML: it has such a value, or it has no values and the form must end.
    fn is_too_deep(&mut self, declaration: &Declaration, name: &str) -> bool {
        if !self.values.get(&format!("{name}/{WHOLE}")).is_empty() {
            return true;
        }
        if self.values.has_inside(name) {
            self.is_cut |= self.drawn > limits::FORM_FIELDS || self.open.len() > limits::FORM_DEPTH;
            return self.is_cut;
        }
        let again = self.open.iter().filter(|of| **of == declaration.of).count();
        again >= limits::FORM_REPEATS
            || self.open.len() > limits::FORM_SHOWN_DEPTH
            || self.drawn > limits::FORM_OFFERED
    }

    /// The fields for a particle. Within an optional group nothing is certain, so groups ask whether they are sent.
    fn draw_particle(
        &mut self,
        particle: &'s Particle,
        route: &str,
        is_certain: bool,
        around: &FieldSurroundings<'_, 's>,
        fields: &mut Vec<FormField>,
    ) {
        let is_required = is_certain && particle.min > 0;
        match &particle.term {
            Term::Element(declaration) => fields.extend(self.draw_slot(declaration, is_required, around)),
            Term::Wildcard(_) => fields.push(self.draw_wildcards(particle, is_required, around)),
            _ if particle.max != Some(1) => {
                let found = find_lone(particle);
                fields.extend(found.and_then(|declaration| self.draw_slot(declaration, is_required, around)));
            }
            Term::Sequence(parts) | Term::All(parts) => {
                let mut inner = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    self.draw_particle(part, &format!("{route}.{at}"), is_required, around, &mut inner);
                }
                fields.extend(inner);
            }
            Term::Choice(parts) => {
                let is_required = is_required && !particle.term.may_be_empty();
                fields.push(self.draw_choice(parts, route, is_required, around));
            }
        }
    }

    fn draw_choice(
        &mut self,
        parts: &'s [Particle],
        route: &str,
        is_required: bool,
        around: &FieldSurroundings<'_, 's>,
    ) -> FormField {
        let mut alternatives = Vec::new();
        let is_certain = std::mem::replace(&mut self.is_certain, false);
        let mut field = self.draw_field(&format!("{}/?{route}", around.path), "", None);
        for (at, part) in parts.iter().enumerate() {
            let mut fields = Vec::new();
            self.draw_particle(part, &format!("{route}.{at}"), true, around, &mut fields);
            let mut names = Vec::new();
            part.term.collect_elements(&mut names);
            let names: Vec<&str> = names.iter().take(4).map(|one| one.name.as_str()).collect();
            let label = if names.is_empty() { "any element".to_owned() } else { names.join(", ") };
            alternatives.push(FormAlternative { value: at.saturating_add(1).to_string(), label, fields });
        }
        self.is_certain = is_certain;
        self.check_choice(&field, &alternatives);
        field.label = "One of".to_owned();
        field.is_required = is_required;
        field.limits = if is_required { String::new() } else { "may be left out".to_owned() };
        field.input = FormInput::OneOf(alternatives);
        FormField { shape: FieldShape::Layout, ..field }
    }

    /// Reports a choice of an alternative that the form does not have.
    fn check_choice(&mut self, field: &FormField, alternatives: &[FormAlternative]) {
        if field.value.is_empty() || alternatives.iter().any(|one| one.value == field.value) {
            return;
        }
        let names: Vec<&str> = alternatives.iter().map(|one| one.value.as_str()).collect();
        self.mistakes.push(FormMistake {
            name: field.name.clone(),
            message: format!("{:?} is not an alternative", field.value),
            expected: format!("one of {}", names.join(", ")),
        });
    }

    /// The field, or the places, of all elements of one name.
    fn draw_slot(
        &mut self,
        declaration: &Declaration,
        is_required: bool,
        around: &FieldSurroundings<'_, 's>,
    ) -> Option<FormField> {
        let slot = around.slots.iter().find(|slot| is_same(slot.declaration, declaration))?.clone();
        let name = format!("{}/{}", around.path, slot.declaration.name);
        let content = around.record.particle()?;
        let is_it = |term: &Term| is_of(term, declaration);
        // A particle of an optional group is needed only with the group, so its own count is the least.
        let (fewest, largest) =
            (count_least(content, &is_it).max(slot.particle.min), count_most(content, &is_it));
        if largest == Some(0) {
            return None;
        }
        if !slot.many {
            let times = (u32::from(is_required), Some(1));
            return Some(self.draw_child(slot.declaration, FieldPlace { name: &name, is_required, times }));
        }
        let about = self.schema.find_about(slot.declaration);
        let fewest = if is_required { fewest } else { 0 };
        let mut field = self.draw_field(&name, &slot.declaration.name, about);
        let draw = |drawing: &mut Self, name: &str, is_required: bool| {
            drawing.draw_child(slot.declaration, FieldPlace { name, is_required, times: (1, Some(1)) })
        };
        self.draw_several(&mut field, (fewest, largest), draw);
        Some(FormField { key: slot.key.clone(), shape: FieldShape::Child, ..field })
    }

    fn draw_wildcards(
        &mut self,
        particle: &Particle,
        is_required: bool,
        around: &FieldSurroundings<'_, 's>,
    ) -> FormField {
        let name = format!("{}/{ANY}", around.path);
        if particle.max == Some(1) {
            return self.draw_xml(FieldPlace { name: &name, is_required, times: (1, Some(1)) }, None);
        }
        let mut field = self.draw_field(&name, "any element", None);
        let fewest = if is_required { particle.min } else { 0 };
        let draw = |drawing: &mut Self, name: &str, is_required: bool| {
            drawing.draw_xml(FieldPlace { name, is_required, times: (1, Some(1)) }, None)
        };
        self.draw_several(&mut field, (fewest, particle.max), draw);
        FormField { key: ANY.to_owned(), ..field }
    }

    fn draw_several(
        &mut self,
        field: &mut FormField,
        (fewest, largest): (u32, Option<u32>),
        draw: impl Fn(&mut Self, &str, bool) -> FormField,
    ) {
        let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let most = largest.map_or(limits::FORM_ENTRIES, count).min(limits::FORM_ENTRIES);
        let filled = self.values.count_filled(&field.name);
        let shown = self.values.count_places(&field.name, count(fewest)).min(most).max(filled);
        self.known.remove(&field.name);
        let mut places = Vec::new();
        for at in 1..=shown {
            if self.drawn > limits::FORM_FIELDS {
                self.is_cut = true;
                break;
            }
            let name = format!("{}[{at}]", field.name);
            places.push(draw(self, &name, at <= count(fewest)));
        }
        field.is_required = fewest > 0;
        field.limits = wording::describe_times(fewest, largest).unwrap_or_default();
        field.value = String::new();
        field.input = FormInput::Several { places, may_add: shown < most };
    }

    /// Children whose order matters: rows, each with the choice of its element.
    fn draw_rows(&mut self, particle: &'s Particle, around: &FieldSurroundings<'_, 's>) -> FormField {
        let name = format!("{}/{OWN}", around.path);
        let mut field = self.draw_field(&name, "content", None);
        let mut needed = Vec::new();
        first_rows(particle, &mut needed);
        let fewest = u32::try_from(needed.len()).unwrap_or(u32::MAX);
        let is_blank = self.is_certain && self.values.is_blank(&name);
        let draw = |drawing: &mut Self, name: &str, is_required: bool| {
            let at = name.rsplit_once('[').and_then(|(_, digits)| digits.trim_end_matches(']').parse().ok());
            let preset = at.and_then(|at: usize| needed.get(at.saturating_sub(1))).filter(|_| is_blank);
            drawing.draw_row(name, preset.copied(), is_required, around)
        };
        let total = count_most(particle, &|_| true);
        self.draw_several(&mut field, (fewest, total), draw);
        field.label = "Content, in order".to_owned();
        FormField { shape: FieldShape::Layout, ..field }
    }

    fn draw_row(
        &mut self,
        name: &str,
        preset: Option<&Declaration>,
        is_required: bool,
        around: &FieldSurroundings<'_, 's>,
    ) -> FormField {
        let mut field = self.draw_field(name, "", None);
        if let Some(preset) = preset.filter(|_| field.value.is_empty()) {
            preset.name.clone_into(&mut field.value);
        }
        let mut alternatives = Vec::new();
        let is_certain = std::mem::replace(&mut self.is_certain, false);
        let times = (1, Some(1));
        for slot in &around.slots {
            let inner = format!("{name}/{}", slot.declaration.name);
            let part =
                self.draw_child(slot.declaration, FieldPlace { name: &inner, is_required: true, times });
            let value = slot.declaration.name.clone();
            alternatives.push(FormAlternative { label: value.clone(), value, fields: vec![part] });
        }
        if around.record.wildcard().is_some() {
            let inner = format!("{name}/{ANY}");
            let part = self.draw_xml(FieldPlace { name: &inner, is_required: true, times }, None);
            let label = "any element".to_owned();
            alternatives.push(FormAlternative { value: ANY.to_owned(), label, fields: vec![part] });
        }
        self.is_certain = is_certain;
        self.check_choice(&field, &alternatives);
        field.label = "Element".to_owned();
        field.is_required = is_required;
        field.input = FormInput::OneOf(alternatives);
        FormField { shape: FieldShape::Layout, ..field }
    }
}

fn describe_limits(words: String, is_required: bool) -> String {
    if is_required { words } else { format!("{words}, may be left out") }
}

/// The elements that a content needs at least, in order.
fn first_rows<'s>(particle: &'s Particle, rows: &mut Vec<&'s Declaration>) {
    for _ in 0..particle.min {
        let before = rows.len();
        match &particle.term {
            Term::Element(declaration) => rows.push(declaration),
            Term::Wildcard(_) => {}
            Term::Sequence(parts) | Term::All(parts) => parts.iter().for_each(|part| first_rows(part, rows)),
            Term::Choice(_) if particle.term.may_be_empty() => {}
            Term::Choice(parts) => parts.iter().take(1).for_each(|part| first_rows(part, rows)),
        }
        if rows.len() == before || rows.len() > 20 {
            rows.truncate(20);
            return;
        }
    }
}
