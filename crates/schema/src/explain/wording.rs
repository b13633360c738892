//! Descriptions of what is allowed, and the payload's own text as findings quote it.
//!
//! A declaration comes in and its description goes out; an element comes in and its bytes, or a copy
//! with another start tag, go out. It does not decide what is wrong.

use quick_xml::events::{BytesStart, Event};
use quick_xml::writer::Writer;

use crate::explain::{PayloadRole, describe};
use crate::limits;
use crate::shape::{
    AttributeUse, ComplexContent, Declaration, Particle, SchemaShape, Term, TypeShape, Wildcard,
};
use crate::tree::{self, XmlElement};

/// `limit: whole number, 1 to 100, may be left out`.
pub(crate) fn describe_expected(schema: &SchemaShape, role: PayloadRole<'_>) -> String {
    let of = of_type(schema, schema.find_type(role.declaration.of));
    let mut words = format!("{}: {of}", name_declaration(schema, role.declaration));
    if let Some(times) = describe_times(role.min, role.max) {
        words.push_str(", ");
        words.push_str(&times);
    }
    words
}

/// An element's name, with its namespace if that is not the schema's own.
fn name_declaration(schema: &SchemaShape, declaration: &Declaration) -> String {
    match &*declaration.namespace {
        namespace if *namespace == *schema.namespace => declaration.name.clone(),
        "" => format!("{} without a namespace", declaration.name),
        other => format!("{} of {other}", declaration.name),
    }
}

pub(crate) fn name_attribute(attribute: &AttributeUse) -> String {
    let optional = if attribute.required { "" } else { ", may be left out" };
    format!("{}=\"…\": {}{optional}", attribute.name, describe::describe_simple(&attribute.simple))
}

pub(crate) fn of_type(schema: &SchemaShape, of: &TypeShape) -> String {
    match of {
        TypeShape::Simple(simple) => describe::describe_simple(simple),
        TypeShape::Complex(complex) => match &complex.content {
            ComplexContent::Empty => "no content".to_owned(),
            ComplexContent::Free => "text".to_owned(),
            ComplexContent::Text(simple) => describe::describe_simple(simple),
            ComplexContent::Children(particle) => shorten_words(describe_children(schema, particle)),
        },
        TypeShape::Anything => "any element".to_owned(),
    }
}

/// `elements in any order: query, limit (may be left out)`.
pub(crate) fn describe_children(schema: &SchemaShape, particle: &Particle) -> String {
    let (lead, parts, glue) = match &particle.term {
        Term::All(parts) => ("elements in any order: ", parts, ", "),
        Term::Sequence(parts) if parts.len() > 1 => ("elements in this order: ", parts, ", "),
        Term::Sequence(parts) => ("elements: ", parts, ", "),
        Term::Choice(parts) => ("one element of: ", parts, " | "),
        Term::Element(_) | Term::Wildcard(_) => return describe_one(schema, particle),
    };
    let parts: Vec<String> = parts.iter().map(|part| describe_one(schema, part)).collect();
    let group = describe_times(particle.min, particle.max).map(|times| format!(" ({times})"));
    [lead, &parts.join(glue), &group.unwrap_or_default()].concat()
}

fn describe_one(schema: &SchemaShape, particle: &Particle) -> String {
    let inner = match &particle.term {
        Term::Element(declaration) => name_declaration(schema, declaration),
        Term::Wildcard(Wildcard::Any) => "any element".to_owned(),
        Term::Wildcard(Wildcard::Other(_)) => "an element of another namespace".to_owned(),
        group => {
            let alone = Particle { min: 1, max: Some(1), term: group.clone() };
            format!("[{}]", describe_children(schema, &alone))
        }
    };
    match describe_times(particle.min, particle.max) {
        Some(times) => format!("{inner} ({times})"),
        None => inner,
    }
}

/// How often something may occur; exactly once needs no words.
pub(crate) fn describe_times(min: u32, max: Option<u32>) -> Option<String> {
    let (least, most) = (min.to_string(), max.unwrap_or_default().to_string());
    match (min, max) {
        (1, Some(1)) => None,
        (0, Some(1)) => Some("may be left out".to_owned()),
        (0, None) => Some("any number of times".to_owned()),
        (1, None) => Some("once or more".to_owned()),
        (_, None) => Some(format!("at least {least} times")),
        (0, Some(_)) => Some(format!("at most {most} times")),
        (_, Some(max)) if max == min => Some(format!("exactly {least} times")),
        (_, Some(_)) => Some(format!("{least} to {most} times")),
    }
}

fn shorten_words(mut words: String) -> String {
    if words.len() > limits::SHOWN {
        let end = (0..=limits::SHOWN).rev().find(|at| words.is_char_boundary(*at)).unwrap_or_default();
        words.truncate(end);
        words.push('…');
    }
    words
}

/// Whether a fix may write this much.
pub(crate) fn is_short(text: &str) -> bool {
    text.len() <= limits::SHOWN
}

/// The payload as its sender wrote it.
pub(crate) struct PayloadSource<'p> {
    payload: &'p [u8],
}

impl<'p> PayloadSource<'p> {
    pub(crate) fn new(payload: &'p [u8]) -> Self {
        Self { payload }
    }

    pub(crate) fn find_place(&self, offset: usize) -> (u64, u64) {
        tree::line_and_column(self.payload, offset)
    }

    /// A piece of the payload. The tree was read from these bytes, so it is always UTF-8.
    fn cut_slice(&self, from: usize, to: usize) -> &'p str {
        self.payload.get(from..to).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    pub(crate) fn cut_whole(&self, element: &XmlElement) -> &'p str {
        self.cut_slice(element.span.start, element.span.end)
    }

    fn cut_head(&self, element: &XmlElement) -> &'p str {
        self.cut_slice(element.span.start, element.head_end)
    }

    /// Whether a fix may repeat the element.
    pub(crate) fn is_short(&self, element: &XmlElement) -> bool {
        element.span.len() <= limits::SHOWN
    }

    /// The element as written, shortened if it is long.
    pub(crate) fn show_element(&self, element: &XmlElement) -> String {
        shorten_words(self.cut_whole(element).to_owned())
    }

    /// Where the end tag begins; an empty-element tag has none.
    pub(crate) fn end_tag(&self, element: &XmlElement) -> Option<usize> {
        if element.head_end == element.span.end {
            return None;
        }
        let inside = self.cut_slice(element.head_end, element.span.end);
        Some(element.head_end.saturating_add(inside.rfind("</")?))
    }

    /// The attributes of a start tag as written, including namespace declarations.
    pub(crate) fn head_attributes(&self, element: &XmlElement) -> Vec<(String, String)> {
        tree::head_attributes(self.cut_head(element))
    }

    /// A copy of a short element with its attributes edited.
    pub(crate) fn with_head(
        &self,
        element: &XmlElement,
        edit: impl FnOnce(&mut Vec<(String, String)>),
    ) -> Option<String> {
        if !self.is_short(element) {
            return None;
        }
        let mut attributes = self.head_attributes(element);
        edit(&mut attributes);
        self.rebuild_element(element, &element.tag, &attributes, "")
    }

    /// A copy of a short element under another name.
    pub(crate) fn rename_element(&self, element: &XmlElement, tag: &str) -> Option<String> {
        self.is_short(element)
            .then(|| self.rebuild_element(element, tag, &self.head_attributes(element), ""))?
    }

    /// A copy of a short element with more content at its end.
    pub(crate) fn with_last(&self, element: &XmlElement, last: &str) -> Option<String> {
        self.is_short(element)
            .then(|| self.rebuild_element(element, &element.tag, &self.head_attributes(element), last))?
    }

    /// Rewrites the start and end tag and keeps the content byte for byte.
    fn rebuild_element(
        &self,
        element: &XmlElement,
        tag: &str,
        attributes: &[(String, String)],
        last: &str,
    ) -> Option<String> {
        let mut start = BytesStart::new(tag);
        attributes.iter().for_each(|(key, value)| start.push_attribute((key.as_str(), value.as_str())));
        let content = self.end_tag(element).map_or("", |end| self.cut_slice(element.head_end, end));
        let mut writer = Writer::new(Vec::new());
        if content.is_empty() && last.is_empty() {
            writer.write_event(Event::Empty(start)).ok()?;
        } else {
            let end = start.to_end().into_owned();
            writer.write_event(Event::Start(start.borrow())).ok()?;
            writer.get_mut().extend_from_slice(content.as_bytes());
            writer.get_mut().extend_from_slice(last.as_bytes());
            writer.write_event(Event::End(end)).ok()?;
        }
        String::from_utf8(writer.into_inner()).ok()
    }

    /// The byte offset of an attribute in the start tag of an element.
    pub(crate) fn attribute_offset(&self, element: &XmlElement, written: &str) -> usize {
        let mut quote = None;
        let mut name_start = None;
        for (at, byte) in self.cut_head(element).bytes().enumerate() {
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b' ' | b'\t' | b'\r' | b'\n') => name_start = None,
                (None, b'=') => {
                    let from = element.span.start.saturating_add(name_start.unwrap_or(at));
                    let key = self.cut_slice(from, element.span.start.saturating_add(at));
                    if key == written {
                        return from;
                    }
                }
                (None, _) => name_start = name_start.or(Some(at)),
            }
        }
        element.span.start
    }
}
