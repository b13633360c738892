//! Where the values marked `systole:sensitive` are in a payload.
//!
//! A judged payload comes in, ranges of its bytes go out: what is between the tags of a marked element, and between
//! the quotes of a marked attribute. The walk goes through what the schema declares, and visits every part once.

use std::ops::Range;

use systole_wire::attributes::AttributeWalk;

use crate::shape::{AttributeUse, ComplexContent, Declaration, SchemaShape, TypeShape};
use crate::tree::{self, XmlElement};

/// The ranges, in document order. A schema without marks costs nothing.
pub(crate) fn find_places(schema: &SchemaShape, payload: &[u8]) -> Vec<Range<usize>> {
    if !schema.has_sensitive {
        return Vec::new();
    }
    let mut walk = SensitiveWalk { schema, payload, found: Vec::new() };
    if let Ok(root) = tree::read_tree(payload)
        && let Some(declaration) = schema.global_of(&root.name.namespace, &root.name.local)
    {
        walk.visit_element(declaration, &root);
    }
    walk.found
}

struct SensitiveWalk<'w> {
    schema: &'w SchemaShape,
    payload: &'w [u8],
    found: Vec<Range<usize>>,
}

impl SensitiveWalk<'_> {
    /// The recursion is bounded: the tree is never deeper than its reader allows.
    fn visit_element(&mut self, declaration: &Declaration, element: &XmlElement) {
        let complex = match self.schema.find_type(declaration.of) {
            TypeShape::Complex(complex) => Some(complex),
            TypeShape::Simple(_) | TypeShape::Anything => None,
        };
        if let Some(complex) = complex {
            self.visit_attributes(&complex.attributes, element);
        }
        if declaration.marks.sensitive {
            self.found.extend(self.find_content(element));
            return;
        }
        let mut declared = Vec::new();
        if let Some(ComplexContent::Children(particle)) = complex.map(|complex| &complex.content) {
            particle.term.collect_elements(&mut declared);
        }
        for child in element.children() {
            let name = &child.name;
            let mut here =
                declared.iter().filter(|one| *one.name == *name.local && *one.namespace == *name.namespace);
            // Two of one name have one type, but each its own marks.
            let of = here.clone().find(|one| one.marks.sensitive).or_else(|| here.next()).copied();
            // Only a wildcard admits an element that is not declared here.
            if let Some(of) = of.or_else(|| self.schema.global_of(&name.namespace, &name.local)) {
                self.visit_element(of, child);
            }
        }
    }

    /// What is between the tags; `None` if that is nothing.
    fn find_content(&self, element: &XmlElement) -> Option<Range<usize>> {
        let behind = self.payload.get(element.head_end..element.span.end)?;
        let end = element.head_end + behind.windows(2).rposition(|two| two == b"</")?;
        (end > element.head_end).then_some(element.head_end..end)
    }

    fn visit_attributes(&mut self, declared: &[AttributeUse], element: &XmlElement) {
        if !declared.iter().any(|attribute| attribute.sensitive) {
            return;
        }
        let Some(head) = self.payload.get(element.span.start..element.head_end) else { return };
        let Ok(head) = std::str::from_utf8(head) else { return };
        let inside = head.trim_end_matches('>').trim_end_matches('/');
        let Some(at) = inside.find([' ', '\t', '\r', '\n']) else { return };
        let start = element.span.start + at;
        for attribute in AttributeWalk::new(inside.get(at..).unwrap_or_default(), start).flatten() {
            let is_marked = declared.iter().any(|one| one.sensitive && one.name == attribute.name);
            // The text between the quotes is a piece of the payload itself.
            let place = (attribute.raw.as_ptr() as usize).checked_sub(self.payload.as_ptr() as usize);
            if let Some(place) = place.filter(|_| is_marked && !attribute.raw.is_empty()) {
                self.found.push(place..place + attribute.raw.len());
            }
        }
    }
}
