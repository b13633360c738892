//! XML that the schema does not know: an element that a wildcard admits, as standalone text.
//!
//! A tree comes in and is written so that it means the same anywhere: each namespace is declared at its first use.
//! Values, names and order are kept; comments and prefixes are not.

use crate::tree::{ElementAttribute, ElementPart, XmlElement};
use systole_wire::writer::{StartTag, XmlName, XmlWriter};

const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// An element as text; `None` if it has a name that cannot be written.
pub(crate) fn render_markup(element: &XmlElement) -> Option<String> {
    let mut writer = XmlWriter::new();
    write_element(&mut writer, element, "")?;
    String::from_utf8(writer.finish()).ok()
}

/// Writes an element; `around` is the default namespace at its place.
pub(crate) fn write_element(writer: &mut XmlWriter, element: &XmlElement, around: &str) -> Option<()> {
    let namespace = &*element.name.namespace;
    let mut start = writer.open(XmlName::new(&element.name.local)?);
    if namespace != around {
        start = start.xmlns(namespace);
    }
    let mut declared: Vec<&str> = Vec::new();
    for attribute in &element.attributes {
        start = write_attribute(start, attribute, &mut declared)?;
    }
    if element.parts.is_empty() {
        start.empty();
        return Some(());
    }
    let mut whole = Some(());
    start.content(|inside| {
        for part in &element.parts {
            match part {
                ElementPart::Text(text) => inside.text(&text.value),
                ElementPart::Element(child) => whole = whole.and(write_element(inside, child, namespace)),
            }
        }
    });
    whole
}

/// An attribute; an attribute in a namespace gets its own prefix.
fn write_attribute<'w, 'n, 'e>(
    start: StartTag<'w, 'n>,
    attribute: &'e ElementAttribute,
    declared: &mut Vec<&'e str>,
) -> Option<StartTag<'w, 'n>> {
    let (namespace, local) = (&*attribute.name.namespace, &attribute.name.local);
    if namespace.is_empty() {
        return Some(start.attr(XmlName::new(local)?, &attribute.value));
    }
    if namespace == XML {
        return Some(start.attr(XmlName::new(&format!("xml:{local}"))?, &attribute.value));
    }
    let known = declared.iter().position(|known| *known == namespace);
    let number = known.unwrap_or(declared.len());
    let prefix = format!("a{number}");
    let mut start = start;
    if known.is_none() {
        declared.push(namespace);
        start = start.prefix(XmlName::new(&prefix)?, namespace);
    }
    Some(start.attr(XmlName::new(&format!("{prefix}:{local}"))?, &attribute.value))
}
