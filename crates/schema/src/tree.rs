//! Reads XML into a small owned tree whose every part knows its byte offset.
//!
//! Both sides of the model use it: the schema document and the payload to explain. It fetches
//! nothing, expands no declared entity and nests no deeper than `DEPTH`, so recursion over the tree
//! is bounded. Bytes come in; a tree goes out, or the first fault with its offset.

use std::ops::Range;
use std::rc::Rc;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use crate::limits::DEPTH;
use crate::word::{InternedWord, WordTable};

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// Why the bytes are not a tree, and where.
#[derive(Debug)]
pub(crate) struct ParseFault {
    pub(crate) offset: usize,
    pub(crate) words: String,
}

/// A name with its namespace; the empty namespace is no namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeName {
    pub(crate) namespace: Rc<str>,
    pub(crate) local: InternedWord,
}

impl NodeName {
    pub(crate) fn is_named(&self, namespace: &str, local: &str) -> bool {
        &*self.namespace == namespace && *self.local == *local
    }
}

#[derive(Debug)]
pub(crate) struct ElementAttribute {
    pub(crate) name: NodeName,
    /// The name as written, with its prefix.
    pub(crate) key: InternedWord,
    pub(crate) value: String,
}

/// The content of an element, in document order.
#[derive(Debug)]
pub(crate) enum ElementPart {
    Element(XmlElement),
    /// One value, regardless of how many comments, references and CDATA sections split it.
    Text(ElementText),
}

#[derive(Debug)]
pub(crate) struct ElementText {
    pub(crate) value: String,
    pub(crate) offset: usize,
    /// Some of it came in a CDATA section, which is never just layout.
    pub(crate) quoted: bool,
}

impl ElementText {
    /// Nothing at all: even an empty CDATA section counts as something.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.quoted && self.value.is_empty()
    }

    /// Blanks and line breaks between elements.
    pub(crate) fn is_layout(&self) -> bool {
        !self.quoted && self.value.trim_matches([' ', '\t', '\r', '\n']).is_empty()
    }
}

#[derive(Debug)]
pub(crate) struct XmlElement {
    pub(crate) name: NodeName,
    /// The name as written, with its prefix.
    pub(crate) tag: InternedWord,
    pub(crate) attributes: Vec<ElementAttribute>,
    pub(crate) parts: Vec<ElementPart>,
    /// From the `<` of the start tag to the end of the end tag.
    pub(crate) span: Range<usize>,
    /// Where the start tag ends.
    pub(crate) head_end: usize,
    scope: Option<Rc<PrefixBinding>>,
}

impl XmlElement {
    pub(crate) fn children(&self) -> impl Iterator<Item = &XmlElement> {
        self.parts.iter().filter_map(|part| match part {
            ElementPart::Element(element) => Some(element),
            ElementPart::Text(_) => None,
        })
    }

    /// The whole character content of an element without child elements.
    pub(crate) fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                ElementPart::Text(text) => Some(text.value.as_str()),
                ElementPart::Element(_) => None,
            })
            .collect()
    }

    /// The value of an attribute that has no namespace.
    pub(crate) fn find_attribute(&self, local: &str) -> Option<&str> {
        self.attributes.iter().find(|a| a.name.is_named("", local)).map(|a| a.value.as_str())
    }

    /// The namespace that elements without a prefix have inside this one.
    pub(crate) fn default_namespace(&self) -> Rc<str> {
        resolve_prefix(self.scope.as_ref(), "").unwrap_or_else(|| Rc::from(""))
    }

    /// Reads `prefix:local` from an attribute value of this element.
    pub(crate) fn resolve_name(&self, value: &str) -> Option<NodeName> {
        let value = value.trim_matches([' ', '\t', '\r', '\n']);
        let (prefix, local) = value.split_once(':').unwrap_or(("", value));
        let namespace = resolve_prefix(self.scope.as_ref(), prefix)?;
        Some(NodeName { namespace, local: InternedWord::from_text(local) })
    }
}

/// One namespace declaration, linked to the outer ones.
#[derive(Debug)]
struct PrefixBinding {
    prefix: String,
    uri: Rc<str>,
    outer: Option<Rc<PrefixBinding>>,
}

fn resolve_prefix(scope: Option<&Rc<PrefixBinding>>, prefix: &str) -> Option<Rc<str>> {
    if prefix == "xml" {
        return Some(Rc::from(XML_NAMESPACE));
    }
    let mut next = scope;
    while let Some(binding) = next {
        if binding.prefix == prefix {
            // `xmlns:p=""` would undeclare a prefix, which XML 1.0 does not allow.
            return (prefix.is_empty() || !binding.uri.is_empty()).then(|| Rc::clone(&binding.uri));
        }
        next = binding.outer.as_ref();
    }
    prefix.is_empty().then(|| Rc::from(""))
}

/// Reads one document.
pub(crate) fn read_tree(bytes: &[u8]) -> Result<XmlElement, ParseFault> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| ParseFault { offset: e.valid_up_to(), words: "the bytes are not UTF-8".to_owned() })?;
    let mut building = TreeBuilder { open: Vec::new(), root: None, words: WordTable::default() };
    let mut reader = Reader::from_str(text);
    loop {
        let offset = to_position(reader.buffer_position());
        let event = reader.read_event().map_err(|error| ParseFault {
            offset: to_position(reader.error_position()),
            words: error.to_string(),
        })?;
        if matches!(event, Event::Eof) {
            return building.finish(offset);
        }
        building.take_event(event, offset, to_position(reader.buffer_position()))?;
    }
}

/// The reader counts in `u64`; a document in memory always fits in `usize`.
fn to_position(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

struct TreeBuilder {
    open: Vec<XmlElement>,
    root: Option<XmlElement>,
    words: WordTable,
}

impl TreeBuilder {
    fn take_event(&mut self, event: Event<'_>, offset: usize, end: usize) -> Result<(), ParseFault> {
        match event {
            Event::Start(start) => self.open_element(&start, offset..end),
            Event::Empty(start) => {
                self.open_element(&start, offset..end)?;
                self.close_element(end);
                Ok(())
            }
            Event::End(_) => {
                self.close_element(end);
                Ok(())
            }
            Event::Text(text) => self.add_text(&text.xml10_content(), offset, false),
            Event::CData(text) => self.add_text(&text.xml10_content(), offset, true),
            Event::GeneralRef(reference) => {
                let value = resolve_reference(&reference).ok_or_else(|| ParseFault {
                    offset,
                    words: format!("&{}; is not one of the five entities", &*reference),
                })?;
                self.add_text(&value, offset, false)
            }
            Event::DocType(_) => Err(make_fault(offset, "a document type (DOCTYPE) is not allowed")),
            Event::PI(_) => Err(make_fault(offset, "a processing instruction is not allowed")),
            Event::Decl(declaration) => match declaration.encoding() {
                Some(Ok(name)) if !name.eq_ignore_ascii_case("utf-8") => {
                    Err(ParseFault { offset, words: format!("the encoding is {name}, only UTF-8 is read") })
                }
                Some(Err(_)) => Err(make_fault(offset, "the XML declaration cannot be read")),
                _ => Ok(()),
            },
            Event::Comment(_) | Event::Eof => Ok(()),
        }
    }

    fn open_element(&mut self, start: &BytesStart<'_>, head: Range<usize>) -> Result<(), ParseFault> {
        let offset = head.start;
        if self.root.is_some() {
            return Err(make_fault(offset, "there is a second root element"));
        }
        if self.open.len() >= DEPTH {
            return Err(ParseFault { offset, words: format!("elements are nested deeper than {DEPTH}") });
        }
        let mut scope = self.open.last().and_then(|parent| parent.scope.clone());
        let mut raw = Vec::new();
        for attribute in read_attributes(start, offset) {
            let (key, value) = attribute?;
            let declared = if key == "xmlns" { Some("") } else { key.strip_prefix("xmlns:") };
            match declared {
                Some(prefix) => {
                    let uri = Rc::from(value);
                    scope = Some(Rc::new(PrefixBinding { prefix: prefix.to_owned(), uri, outer: scope }));
                }
                None => raw.push((key, value)),
            }
        }
        let unbound =
            |name: &str| ParseFault { offset, words: format!("the prefix of {name} is not declared") };
        let tag = start.name().into_inner();
        let words = &mut self.words;
        let name = make_name(words, scope.as_ref(), tag, true).ok_or_else(|| unbound(tag))?;
        let mut attributes = Vec::with_capacity(raw.len());
        for (key, value) in raw {
            let name = make_name(words, scope.as_ref(), key, false).ok_or_else(|| unbound(key))?;
            let key = if *name.local == *key { name.local.clone() } else { words.intern_word(key) };
            attributes.push(ElementAttribute { name, key, value });
        }
        let tag = if *name.local == *tag { name.local.clone() } else { words.intern_word(tag) };
        let head_end = head.end;
        self.open.push(XmlElement { name, tag, attributes, parts: Vec::new(), span: head, head_end, scope });
        Ok(())
    }

    fn close_element(&mut self, end: usize) {
        let Some(mut element) = self.open.pop() else { return };
        element.span.end = end;
        match self.open.last_mut() {
            Some(parent) => parent.parts.push(ElementPart::Element(element)),
            None => self.root = Some(element),
        }
    }

    fn add_text(&mut self, value: &str, offset: usize, quoted: bool) -> Result<(), ParseFault> {
        let Some(parent) = self.open.last_mut() else {
            let blank = value.trim_matches([' ', '\t', '\r', '\n', '\u{feff}']).is_empty();
            return if blank {
                Ok(())
            } else {
                Err(make_fault(offset, "there is text outside the root element"))
            };
        };
        match parent.parts.last_mut() {
            Some(ElementPart::Text(text)) => {
                text.value.push_str(value);
                text.quoted |= quoted;
            }
            _ => {
                parent.parts.push(ElementPart::Text(ElementText { value: value.to_owned(), offset, quoted }))
            }
        }
        Ok(())
    }

    fn finish(self, offset: usize) -> Result<XmlElement, ParseFault> {
        if let Some(open) = self.open.last() {
            let words = format!("<{}> is never closed", open.name.local.as_str());
            return Err(ParseFault { offset: open.span.start, words });
        }
        self.root.ok_or_else(|| make_fault(offset, "there is no root element"))
    }
}

fn make_fault(offset: usize, words: &str) -> ParseFault {
    ParseFault { offset, words: words.to_owned() }
}

/// Attributes without a prefix have no namespace; elements without a prefix have the default
/// namespace.
fn make_name(
    words: &mut WordTable,
    scope: Option<&Rc<PrefixBinding>>,
    qualified: &str,
    default_applies: bool,
) -> Option<NodeName> {
    let (namespace, local) = match qualified.split_once(':') {
        Some((prefix, local)) => (resolve_prefix(scope, prefix)?, local),
        None if default_applies => (resolve_prefix(scope, "")?, qualified),
        None => (Rc::from(""), qualified),
    };
    Some(NodeName { namespace, local: words.intern_word(local) })
}

/// The attributes of a start tag as written, including namespace declarations, with their values.
fn read_attributes<'s>(
    start: &'s BytesStart<'_>,
    offset: usize,
) -> impl Iterator<Item = Result<(&'s str, String), ParseFault>> {
    let wrong = move |words: String| ParseFault { offset, words };
    start.attributes().map(move |attribute| {
        let attribute = attribute.map_err(|error| wrong(error.to_string()))?;
        let value = attribute.normalized_value(XmlVersion::Explicit1_0);
        let value = value.map_err(|error| wrong(error.to_string()))?.into_owned();
        Ok((attribute.key.into_inner(), value))
    })
}

/// The attributes of an element as written, including namespace declarations, from the text of its start tag.
pub(crate) fn head_attributes(head: &str) -> Vec<(String, String)> {
    let (Ok(Event::Start(start)) | Ok(Event::Empty(start))) = Reader::from_str(head).read_event() else {
        return Vec::new();
    };
    read_attributes(&start, 0).flatten().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The text for a character or predefined entity reference.
fn resolve_reference(reference: &BytesRef<'_>) -> Option<String> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return Some(character.to_string());
    }
    quick_xml::escape::resolve_xml_entity(reference).map(str::to_owned)
}

/// Line and column, both from 1, of a byte offset; a column counts characters.
pub(crate) fn line_and_column(bytes: &[u8], offset: usize) -> (u64, u64) {
    let before = bytes.get(..offset).unwrap_or(bytes);
    let line = before.iter().filter(|b| **b == b'\n').count();
    let last = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at.saturating_add(1));
    let column = String::from_utf8_lossy(before.get(last..).unwrap_or_default()).chars().count();
    (to_count(line), to_count(column))
}

fn to_count(from_zero: usize) -> u64 {
    u64::try_from(from_zero).unwrap_or(u64::MAX).saturating_add(1)
}
