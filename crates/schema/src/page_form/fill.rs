//! Takes the values of a form from a payload, so that a person can change them.
//!
//! A payload comes in; values go out by which the form gives the same payload. Values keep their spelling. What the
//! form cannot give back is a mistake, never a loss.

use super::FormMistake;
use super::draw::WHOLE;
use super::values::{FormValues, make_mistake, too_large};
use crate::build::markup;
use crate::explain;
use crate::form::{ANY, ElementInside, JsonForm, JsonRecord, OWN};
use crate::json::unfold;
use crate::limits;
use crate::shape::{Declaration, Particle, SchemaShape, Term};
use crate::tree::{self, XmlElement};

pub(super) fn fill_values(schema: &SchemaShape, payload: &[u8]) -> Result<FormValues, FormMistake> {
    let unfit = |words: &str| {
        let found = explain::find_first(schema, payload);
        let expected = "a payload that its schema admits".to_owned();
        make_mistake(&found.map_or_else(|| words.to_owned(), |finding| finding.message), expected)
    };
    let root = tree::read_tree(payload).map_err(|fault| unfit(&fault.words))?;
    let declaration =
        schema.find_global(&root.name.local).filter(|_| *root.name.namespace == *schema.namespace);
    let declaration = declaration.ok_or_else(|| unfit("it is no payload of this schema"))?;
    if unfold::has_choice(&root) {
        let expected = "a payload without xsi:type".to_owned();
        return Err(make_mistake("the payload chooses a type with xsi:type: change it as XML", expected));
    }
    let mut filling =
        FormFilling { schema, values: FormValues::default(), is_large: false, has_return: false };
    let record = JsonRecord::of_root(schema, declaration.of);
    let done = filling.fill_record(&record, &root, &format!("/{}", declaration.name), 0);
    if filling.has_return {
        let expected = "a payload without carriage returns".to_owned();
        let words = "a value has a carriage return, which a form cannot keep: change it as XML";
        return Err(make_mistake(words, expected));
    }
    if filling.is_large || filling.values.len() > limits::FORM_FIELDS {
        return Err(too_large());
    }
    done.map(|()| filling.values).ok_or_else(|| unfit("it does not follow the schema"))
}

struct FormFilling<'s> {
    schema: &'s SchemaShape,
    values: FormValues,
    is_large: bool,
    /// Whether a value has a carriage return, which forms of browsers turn into a line feed.
    has_return: bool,
}

impl<'s> FormFilling<'s> {
    fn put_value(&mut self, name: &str, value: &str) {
        if value.is_empty() {
            self.values.put(&format!("{name}/+"), "yes");
        }
        self.has_return |= value.contains('\r');
        self.values.put(name, value);
    }

    fn fill_record(
        &mut self,
        record: &JsonRecord<'s>,
        element: &XmlElement,
        path: &str,
        depth: usize,
    ) -> Option<()> {
        let mut known = 0_usize;
        for attribute in record.attributes {
            if let Some(written) = element.find_attribute(&attribute.name) {
                known = known.saturating_add(1);
                self.put_value(&format!("{path}/@{}", attribute.name), written);
            }
        }
        if unfold::list_attributes(element).count() != known {
            return None;
        }
        match record.inside {
            ElementInside::Nothing => element.parts.iter().all(unfold::is_nothing).then_some(()),
            ElementInside::Value(_) | ElementInside::Text => {
                self.put_value(&format!("{path}/{OWN}"), &unfold::read_text(element)?);
                Some(())
            }
            ElementInside::Named(particle) => self.fill_elements(record, particle, element, path, depth),
            ElementInside::Listed(particle) => {
                for (at, (child, declaration)) in
                    unfold::lay_children(particle, element)?.into_iter().enumerate()
                {
                    let row = format!("{path}/{OWN}[{}]", self.take_number(at));
                    let term = declaration.map_or(ANY, |declaration| declaration.name.as_str());
                    self.values.put(&row, term);
                    self.fill_part(declaration, child, &format!("{row}/{term}"), depth)?;
                }
                Some(())
            }
        }
    }

    fn fill_elements(
        &mut self,
        record: &JsonRecord<'s>,
        particle: &'s Particle,
        element: &XmlElement,
        path: &str,
        depth: usize,
    ) -> Option<()> {
        let slots = record.slots();
        let several = record.wildcard() == Some(true);
        let laid = unfold::lay_children(particle, element)?;
        let mut counts: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
        for (child, declaration) in &laid {
            let term = declaration.map_or(ANY, |declaration| declaration.name.as_str());
            let is_many = match declaration {
                Some(declaration) => {
                    slots.iter().find(|slot| crate::form::is_same(slot.declaration, declaration))?.many
                }
                None => several,
            };
            let before = counts.entry(term).or_default();
            let name = match is_many {
                true => format!("{path}/{term}[{}]", self.take_number(*before)),
                false => format!("{path}/{term}"),
            };
            *before = before.saturating_add(1);
            self.fill_part(*declaration, child, &name, depth)?;
        }
        let declared: Vec<&Declaration> = laid.iter().filter_map(|(_, declaration)| *declaration).collect();
        let has_any = laid.iter().any(|(_, declaration)| declaration.is_none());
        self.fill_choices(particle, "", path, &declared, has_any);
        Some(())
    }

    /// The number of a place, from 1.
    fn take_number(&mut self, before: usize) -> usize {
        self.is_large |= before >= limits::FORM_ENTRIES;
        before.saturating_add(1)
    }

    fn fill_part(
        &mut self,
        declaration: Option<&'s Declaration>,
        element: &XmlElement,
        name: &str,
        depth: usize,
    ) -> Option<()> {
        let Some(declaration) = declaration else {
            self.values.put(name, &markup::render_markup(element)?);
            return Some(());
        };
        let inner = depth.saturating_add(1);
        match JsonForm::of_type(self.schema, declaration.of) {
            JsonForm::Value(_) | JsonForm::Text => {
                unfold::check_plain(element)?;
                self.put_value(name, &unfold::read_text(element)?);
                return Some(());
            }
            JsonForm::Record(_) | JsonForm::Items(..) if inner <= limits::FORM_FILLED_DEPTH => {}
            _ => {
                self.values.put(&format!("{name}/{WHOLE}"), &markup::render_markup(element)?);
                return Some(());
            }
        }
        let before = self.values.len();
        let record = JsonRecord::of_root(self.schema, declaration.of);
        self.fill_record(&record, element, name, inner)?;
        if self.values.len() == before {
            self.values.put(&format!("{name}/+"), "yes");
        }
        Some(())
    }

    /// Notes which alternative of each choice the children chose.
    fn fill_choices(
        &mut self,
        particle: &Particle,
        route: &str,
        path: &str,
        declared: &[&Declaration],
        has_any: bool,
    ) {
        let parts = match &particle.term {
            Term::Element(_) | Term::Wildcard(_) => return,
            _ if particle.max != Some(1) => return,
            Term::Sequence(parts) | Term::All(parts) => parts,
            Term::Choice(parts) => {
                let chosen = parts.iter().position(|part| has_declared(part, declared, has_any));
                if let Some(chosen) = chosen {
                    let number = chosen.saturating_add(1).to_string();
                    self.values.put(&format!("{path}/?{route}"), &number);
                }
                parts
            }
        };
        for (at, part) in parts.iter().enumerate() {
            self.fill_choices(part, &format!("{route}.{at}"), path, declared, has_any);
        }
    }
}

/// Whether any of these elements, or one that a wildcard admitted, belongs to a particle.
fn has_declared(particle: &Particle, declared: &[&Declaration], has_any: bool) -> bool {
    match &particle.term {
        Term::Element(own) => declared.iter().any(|one| crate::form::is_same(one, own)),
        Term::Wildcard(_) => has_any,
        Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts) => {
            parts.iter().any(|part| has_declared(part, declared, has_any))
        }
    }
}
