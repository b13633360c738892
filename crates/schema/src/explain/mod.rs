//! Walks a payload beside the model and stops at the first error, in document order.
//!
//! Payload bytes come in; a `PayloadFinding` goes out, or nothing. Nothing means that all is well, or that the judge
//! knows a rule that the model does not. The walk is as deep as the document, at most 64, and visits every part
//! once. `misfit` diagnoses children that fit nowhere, `value` diagnoses values.

pub(crate) mod amend;
pub(crate) mod attributes;
pub(crate) mod describe;
pub(crate) mod edits;
pub(crate) mod misfit;
pub(crate) mod wording;

use crate::build::example;
use crate::explain::wording::PayloadSource;
use crate::finding::PayloadFinding;
use crate::judge::check_value;
use crate::judge::content::{self, TakenChild};
use crate::judge::value::WrongValue;
use crate::shape::{ComplexContent, ComplexType, Declaration, Particle, SchemaShape, SimpleType, TypeShape};
use crate::tree::{self, ElementPart, ElementText, XmlElement};

pub(crate) const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The first finding. Malformed bytes give none: the gate refuses them with its own message.
pub(crate) fn find_first(schema: &SchemaShape, payload: &[u8]) -> Option<PayloadFinding> {
    let root = tree::read_tree(payload).ok()?;
    let walk = PayloadWalk { schema, source: PayloadSource::new(payload), root: &root };
    let alone = [&root];
    let spot = PayloadSpot { up: None, element: &root, siblings: &alone };
    match schema.find_global(&root.name.local).filter(|_| *root.name.namespace == *schema.namespace) {
        Some(declaration) => walk.check_element(&spot, PayloadRole { declaration, min: 1, max: Some(1) }),
        None => Some(misfit::unknown_root(&walk, &spot)),
    }
}

/// The first finding of a payload that the judge refused. Only the judge checks a type that the document itself
/// chose; if nothing else is wrong, that choice is.
pub(crate) fn of_refused(schema: &SchemaShape, payload: &[u8]) -> Option<PayloadFinding> {
    find_first(schema, payload).or_else(|| {
        let root = tree::read_tree(payload).ok()?;
        let walk = PayloadWalk { schema, source: PayloadSource::new(payload), root: &root };
        walk.chosen_type(&PayloadSpot { up: None, element: &root, siblings: &[&root] })
    })
}

/// An element with its siblings, linked to its ancestors.
#[derive(Clone, Copy)]
pub(crate) struct PayloadSpot<'w> {
    pub(crate) up: Option<&'w PayloadSpot<'w>>,
    pub(crate) element: &'w XmlElement,
    pub(crate) siblings: &'w [&'w XmlElement],
}

impl PayloadSpot<'_> {
    /// `/order/line[2]`: numbered only among several of one name.
    pub(crate) fn path(&self) -> String {
        let up = self.up.map(PayloadSpot::path).unwrap_or_default();
        format!("{up}/{}", spell_step(self.element, self.siblings))
    }
}

/// `line[2]`: an element as the last step of its path; fixes name it the same way. Prefixes do not count: the
/// number is among all siblings of the same local name.
pub(crate) fn spell_step(element: &XmlElement, siblings: &[&XmlElement]) -> String {
    let name = &element.name.local;
    let same = |other: &&&XmlElement| other.name.local == element.name.local;
    if siblings.iter().filter(same).count() < 2 {
        return name.as_str().to_owned();
    }
    let before = siblings.iter().filter(same).take_while(|other| !std::ptr::eq(**other, element));
    format!("{name}[{}]", before.count().saturating_add(1))
}

/// The declaration that an element was matched to.
#[derive(Clone, Copy)]
pub(crate) struct PayloadRole<'m> {
    pub(crate) declaration: &'m Declaration,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
}

/// The content of a finding; the walk adds place and path.
pub(crate) struct FindingWords {
    pub(crate) message: String,
    pub(crate) expected: String,
    pub(crate) received: String,
    pub(crate) schema: String,
    pub(crate) fix: String,
}

pub(crate) struct PayloadWalk<'w> {
    pub(crate) schema: &'w SchemaShape,
    pub(crate) source: PayloadSource<'w>,
    root: &'w XmlElement,
}

impl PayloadWalk<'_> {
    pub(crate) fn make_finding(&self, path: String, offset: usize, said: FindingWords) -> PayloadFinding {
        let (line, column) = self.source.find_place(offset);
        let FindingWords { message, expected, received, schema, fix } = said;
        let element = self.root.name.local.as_str().to_owned();
        PayloadFinding { element, path, offset, line, column, message, expected, received, schema, fix }
    }

    pub(crate) fn check_element(
        &self,
        spot: &PayloadSpot<'_>,
        role: PayloadRole<'_>,
    ) -> Option<PayloadFinding> {
        if spot.element.attributes.iter().any(|a| a.name.is_named(INSTANCE, "type")) {
            // The document chose another type: only the judge checks that.
            return None;
        }
        match self.schema.find_type(role.declaration.of) {
            TypeShape::Simple(simple) => {
                self.check_attributes(spot, role, &[]).or_else(|| self.check_text(spot, role, simple))
            }
            TypeShape::Complex(complex) => self
                .check_attributes(spot, role, &complex.attributes)
                .or_else(|| self.check_content(spot, role, complex)),
            TypeShape::Anything => self.check_lax(spot),
        }
    }

    /// Below a lax wildcard the walk examines only elements that the schema, or one that it imports, declares.
    fn check_lax(&self, spot: &PayloadSpot<'_>) -> Option<PayloadFinding> {
        let element = spot.element;
        match self.schema.global_of(&element.name.namespace, &element.name.local) {
            Some(declaration) => self.check_element(spot, PayloadRole { declaration, min: 0, max: None }),
            None => {
                let siblings: Vec<&XmlElement> = element.children().collect();
                siblings.iter().find_map(|child| {
                    self.check_lax(&PayloadSpot { up: Some(spot), element: child, siblings: &siblings })
                })
            }
        }
    }

    fn check_content(
        &self,
        spot: &PayloadSpot<'_>,
        role: PayloadRole<'_>,
        complex: &ComplexType,
    ) -> Option<PayloadFinding> {
        match &complex.content {
            ComplexContent::Empty => self.check_empty(spot, role),
            ComplexContent::Free => self.no_children(spot, role),
            ComplexContent::Text(simple) => self.check_text(spot, role, simple),
            ComplexContent::Children(particle) => self.check_children(spot, role, particle),
        }
    }

    fn check_empty(&self, spot: &PayloadSpot<'_>, role: PayloadRole<'_>) -> Option<PayloadFinding> {
        let part = spot.element.parts.iter().find(|part| match part {
            // Blanks are text here: an element without content has no layout either.
            ElementPart::Text(text) => !text.is_nothing(),
            ElementPart::Element(_) => true,
        })?;
        Some(match part {
            ElementPart::Text(text) => self.stray_text(spot, role, text, "nothing is"),
            ElementPart::Element(child) => misfit::child_of_empty(self, spot, role, child),
        })
    }

    fn no_children(&self, spot: &PayloadSpot<'_>, role: PayloadRole<'_>) -> Option<PayloadFinding> {
        let child = spot.element.children().next()?;
        Some(misfit::child_in_text(self, spot, role, child))
    }

    fn check_text(
        &self,
        spot: &PayloadSpot<'_>,
        role: PayloadRole<'_>,
        simple: &SimpleType,
    ) -> Option<PayloadFinding> {
        if let Some(child) = spot.element.children().next() {
            return Some(misfit::child_in_value(self, spot, role, child, simple));
        }
        let wrong = check_value::check_value(simple, &spot.element.text())?;
        let WrongValue { words, fragment, instead } = wrong;
        let element = spot.element;
        let name = &element.name.local;
        let optional = role.min == 0;
        let written = instead.as_ref().and_then(|value| {
            example::build_plain(&element.tag, &self.source.head_attributes(element), value)
        });
        let cut = instead.filter(|value| element.text().starts_with(value));
        let mut fix = match (written.filter(|written| wording::is_short(written)), cut) {
            (Some(written), _) => written,
            (None, Some(cut)) => {
                format!("cut the text of {name} to {} characters", cut.chars().count())
            }
            (None, None) => format!("write {} in <{name}>", describe::describe_simple(simple)),
        };
        if optional {
            fix.push_str(&format!(", or leave {name} out"));
        }
        let said = FindingWords {
            message: format!("{name}: {words}"),
            expected: wording::describe_expected(self.schema, role),
            received: self.source.show_element(element),
            schema: fragment.unwrap_or_else(|| role.declaration.fragment.clone()),
            fix,
        };
        Some(self.make_finding(spot.path(), element.span.start, said))
    }

    fn check_children(
        &self,
        spot: &PayloadSpot<'_>,
        role: PayloadRole<'_>,
        particle: &Particle,
    ) -> Option<PayloadFinding> {
        let siblings: Vec<&XmlElement> = spot.element.children().collect();
        let laid = content::lay_children(particle, &siblings);
        let mut taken = laid.taken.iter();
        for part in &spot.element.parts {
            let child = match part {
                ElementPart::Text(text) if text.is_layout() => continue,
                ElementPart::Text(text) => {
                    return Some(self.stray_text(spot, role, text, "only elements are"));
                }
                ElementPart::Element(child) => child,
            };
            let at = PayloadSpot { up: Some(spot), element: child, siblings: &siblings };
            let found = match taken.next() {
                Some(TakenChild::Element(particle, declaration)) => {
                    let role = PayloadRole { declaration, min: particle.min, max: particle.max };
                    self.check_element(&at, role)
                }
                Some(TakenChild::Wildcard) => self.check_lax(&at),
                None => break,
            };
            if found.is_some() {
                return found;
            }
        }
        let stop = laid.stop?;
        Some(misfit::explain_stop(self, spot, role, particle, &siblings, &laid.taken, &stop))
    }

    fn stray_text(
        &self,
        spot: &PayloadSpot<'_>,
        role: PayloadRole<'_>,
        text: &ElementText,
        allowed: &str,
    ) -> PayloadFinding {
        let name = &spot.element.name.local;
        let blank = text.value.trim().is_empty();
        let (what, received) = match (blank, text.quoted) {
            (true, true) => {
                let written = if text.value.is_empty() { "<![CDATA[]]>" } else { "<![CDATA[ ]]>" };
                (format!("the text {written} stands"), written.to_owned())
            }
            // In this case nothing may be between the tags, not even layout.
            (true, false) => ("blanks stand".to_owned(), self.source.show_element(spot.element)),
            (false, _) => {
                let words = describe::quote_value(text.value.trim());
                (format!("the text {words} stands"), words)
            }
        };
        let said = FindingWords {
            message: format!("{name}: {what} where {allowed} allowed"),
            expected: wording::describe_expected(self.schema, role),
            received,
            schema: role.declaration.fragment.clone(),
            fix: match role_holds_elements(self.schema, role) {
                true => format!("leave the text out, or put it into an element of <{name}>"),
                false if blank => {
                    format!("leave the text out: nothing belongs between the tags of <{name}>")
                }
                false => "leave the text out".to_owned(),
            },
        };
        // Layout before the text is part of the same value; the finding points at the first word.
        let words = text.value.trim_start().len();
        let layout = if blank { 0 } else { text.value.len().saturating_sub(words) };
        self.make_finding(spot.path(), text.offset.saturating_add(layout), said)
    }
}

fn role_holds_elements(schema: &SchemaShape, role: PayloadRole<'_>) -> bool {
    matches!(
        schema.find_type(role.declaration.of),
        TypeShape::Complex(ComplexType { content: ComplexContent::Children(_), .. })
    )
}
