//! Makes a smallest valid instance of an element: its required parts and nothing else.
//!
//! A declaration comes in; XML goes out, written by the writer of the XML library. There is no
//! instance if a type requires itself without end, or if no value is known for a pattern.

use std::sync::Arc;

use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use quick_xml::writer::Writer;

use crate::explain::amend;
use crate::limits::{DEPTH, EXAMPLE_BYTES, EXAMPLE_TRIES};
use crate::shape::{
    AttributeUse, ComplexContent, ComplexType, Declaration, Particle, SchemaShape, SimpleType, Term,
    TypeShape,
};

pub(crate) fn build_smallest(schema: &SchemaShape, element: &str) -> Option<Vec<u8>> {
    let declaration = schema.find_global(element)?;
    let mut writing = ExampleWriter::new(schema, ExampleSurroundings { prefix: "", bound: "", default: "" });
    writing.write_element(declaration, 0)?;
    Some(writing.writer.into_inner())
}

/// A smallest instance of any declaration, with its namespace declared on it.
pub(crate) fn build_alone(schema: &SchemaShape, declaration: &Declaration) -> Option<Vec<u8>> {
    let mut writing = ExampleWriter::new(schema, ExampleSurroundings { prefix: "", bound: "", default: "" });
    writing.write_element(declaration, 1)?;
    Some(writing.writer.into_inner())
}

/// The declarations in scope at the place of an element.
#[derive(Clone, Copy)]
pub(crate) struct ExampleSurroundings<'s> {
    /// The prefix of the parent element, with its colon, or empty.
    pub(crate) prefix: &'s str,
    /// The namespace of that prefix.
    pub(crate) bound: &'s str,
    /// The namespace of elements without a prefix.
    pub(crate) default: &'s str,
}

/// An element for use inside a document.
pub(crate) fn build_inner(
    schema: &SchemaShape,
    declaration: &Declaration,
    at: ExampleSurroundings<'_>,
) -> Option<String> {
    let mut writing = ExampleWriter::new(schema, at);
    writing.write_element(declaration, 1)?;
    String::from_utf8(writing.writer.into_inner()).ok()
}

/// An element with only attributes and text.
pub(crate) fn build_plain(tag: &str, attributes: &[(String, String)], text: &str) -> Option<String> {
    let mut writer = Writer::new(Vec::new());
    let mut start = BytesStart::new(tag);
    attributes.iter().for_each(|(key, value)| start.push_attribute((key.as_str(), value.as_str())));
    writer.write_event(Event::Start(start)).ok()?;
    writer.write_event(Event::Text(BytesText::new(text))).ok()?;
    writer.write_event(Event::End(BytesEnd::new(tag))).ok()?;
    String::from_utf8(writer.into_inner()).ok()
}

struct ExampleWriter<'m> {
    schema: &'m SchemaShape,
    at: ExampleSurroundings<'m>,
    /// The default namespace inside the current element.
    default: Arc<str>,
    writer: Writer<Vec<u8>>,
    tries: usize,
}

impl<'m> ExampleWriter<'m> {
    fn new(schema: &'m SchemaShape, at: ExampleSurroundings<'m>) -> Self {
        Self { schema, at, default: Arc::from(at.default), writer: Writer::new(Vec::new()), tries: 0 }
    }

    fn write_element(&mut self, declaration: &Declaration, depth: usize) -> Option<()> {
        self.tries = self.tries.saturating_add(1);
        if depth >= DEPTH || self.tries > EXAMPLE_TRIES || self.writer.get_ref().len() > EXAMPLE_BYTES {
            return None;
        }
        let outer = Arc::clone(&self.default);
        let prefixed = !self.at.prefix.is_empty() && *declaration.namespace == *self.at.bound;
        let prefix = if prefixed { self.at.prefix } else { "" };
        let tag = format!("{prefix}{}", declaration.name);
        let mut start = BytesStart::new(tag.as_str());
        if !prefixed && declaration.namespace != outer {
            start.push_attribute(("xmlns", &*declaration.namespace));
            self.default = Arc::clone(&declaration.namespace);
        }
        let written = self.write_by_type(declaration, start, &tag, depth);
        self.default = outer;
        written
    }

    fn write_by_type(
        &mut self,
        declaration: &Declaration,
        mut start: BytesStart<'_>,
        tag: &str,
        depth: usize,
    ) -> Option<()> {
        match self.schema.find_type(declaration.of) {
            TypeShape::Simple(simple) => self.wrap_content(start, tag, |w| w.write_text(simple)),
            TypeShape::Complex(complex) => {
                push_required(&mut start, &complex.attributes)?;
                self.wrap_content(start, tag, |w| w.write_content(complex, depth))
            }
            TypeShape::Anything => self.wrap_content(start, tag, |_| Some(())),
        }
    }

    fn wrap_content(
        &mut self,
        start: BytesStart<'_>,
        tag: &str,
        content: impl FnOnce(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.writer.write_event(Event::Start(start)).ok()?;
        content(self)?;
        self.writer.write_event(Event::End(BytesEnd::new(tag))).ok()
    }

    fn write_text(&mut self, simple: &SimpleType) -> Option<()> {
        let text = amend::find_sample(simple)?;
        self.writer.write_event(Event::Text(BytesText::new(&text))).ok()
    }

    fn write_content(&mut self, complex: &ComplexType, depth: usize) -> Option<()> {
        match &complex.content {
            ComplexContent::Empty => Some(()),
            ComplexContent::Free => self.writer.write_event(Event::Text(BytesText::new("text"))).ok(),
            ComplexContent::Text(simple) => self.write_text(simple),
            ComplexContent::Children(particle) => self.write_particle(particle, depth),
        }
    }

    fn write_particle(&mut self, particle: &Particle, depth: usize) -> Option<()> {
        (0..particle.min).try_for_each(|_| self.write_term(&particle.term, depth))
    }

    fn write_term(&mut self, term: &Term, depth: usize) -> Option<()> {
        match term {
            Term::Element(declaration) => self.write_element(declaration, depth.saturating_add(1)),
            Term::Sequence(parts) | Term::All(parts) => {
                parts.iter().try_for_each(|p| self.write_particle(p, depth))
            }
            Term::Choice(_) if term.may_be_empty() => Some(()),
            Term::Choice(parts) => self.first_that_ends(parts, depth),
            Term::Wildcard(_) => {
                // Any element of an undeclared namespace fits a lax wildcard.
                let mut start = BytesStart::new("any");
                start.push_attribute(("xmlns", "urn:example:any"));
                self.writer.write_event(Event::Empty(start)).ok()
            }
        }
    }

    /// The first alternative that ends; an alternative may lead back into itself.
    fn first_that_ends(&mut self, parts: &[Particle], depth: usize) -> Option<()> {
        let written = self.writer.get_ref().len();
        parts.iter().find_map(|part| {
            let done = self.write_particle(part, depth);
            if done.is_none() {
                self.writer.get_mut().truncate(written);
            }
            done
        })
    }
}

fn push_required(start: &mut BytesStart<'_>, attributes: &[AttributeUse]) -> Option<()> {
    for attribute in attributes.iter().filter(|attribute| attribute.required) {
        let sample = amend::find_sample(&attribute.simple)?;
        start.push_attribute((attribute.name.as_str(), sample.as_str()));
    }
    Some(())
}
