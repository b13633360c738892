//! The start tag of a piece of markup, and the direct content of its root element.
//!
//! It never resolves a name and never judges: it leaves unreadable markup to the gate, which reports it. Markup
//! comes in; the ranges of its parts go out.

use std::borrow::Cow;
use std::ops::Range;

use quick_xml::events::Event;
use quick_xml::reader::Reader;

use super::names::is_blank;
use super::tag;
use crate::attributes::AttributeWalk;

/// A start tag.
#[derive(Debug, Clone)]
pub(super) struct ElementHead<'r> {
    /// Its name, as a range of the markup.
    pub(super) name: Range<usize>,
    /// The name as written.
    pub(super) written: &'r str,
    /// Its prefix, empty if there is none.
    pub(super) prefix: &'r str,
    /// Its local name.
    pub(super) local: &'r str,
    /// Its attributes: name, value as written, and the range of the whole attribute with the whitespace before
    /// it.
    pub(super) attributes: Vec<(&'r str, &'r str, Range<usize>)>,
    /// Where the tag ends.
    pub(super) end: usize,
    /// Whether it has no end tag.
    pub(super) empty: bool,
}

impl<'r> ElementHead<'r> {
    /// Reads the start tag at the beginning of the markup.
    pub(super) fn read(raw: &'r str) -> Option<Self> {
        let bytes = raw.as_bytes();
        let length = bytes.iter().skip(1).take_while(|byte| tag::can_continue_name(**byte)).count();
        let name = 1..1 + length;
        let written = raw.get(name.clone())?;
        let (prefix, local) = written.split_once(':').unwrap_or(("", written));
        let end = end_of_tag(bytes)?;
        let empty = raw.get(..end)?.ends_with("/>");
        let tail = end - 1 - usize::from(empty);
        let mut attributes = Vec::new();
        let mut passed = name.end;
        for attribute in AttributeWalk::new(raw.get(name.end..tail)?, name.end) {
            let attribute = attribute.ok()?;
            // The value ends with its quote, the last one before the next attribute or the end of the tag.
            let value = attribute.raw.as_ptr() as usize - raw.as_ptr() as usize;
            let stop = value + attribute.raw.len() + 1;
            attributes.push((attribute.name, attribute.raw, passed..stop));
            passed = stop;
        }
        Some(Self { name, written, prefix, local, attributes, end, empty })
    }

    /// The value of an attribute, as a parser reads it.
    pub(super) fn read_attribute(&self, name: &str) -> Option<Cow<'r, str>> {
        let (_, raw, _) = self.attributes.iter().find(|(other, ..)| *other == name)?;
        Some(crate::characters::unescape_value(raw))
    }

    /// The namespace that the tag declares for its own prefix.
    pub(super) fn read_namespace(&self) -> Option<Cow<'r, str>> {
        self.read_attribute(&name_declaration(self.prefix))
    }
}

/// The attribute that declares a prefix.
pub(super) fn name_declaration(prefix: &str) -> Cow<'static, str> {
    if prefix.is_empty() { Cow::Borrowed("xmlns") } else { Cow::Owned(format!("xmlns:{prefix}")) }
}

/// Where the first tag ends. A `>` between quotes is part of a value.
fn end_of_tag(bytes: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), close) if open == *close => quote = None,
            _ => {}
        }
    }
    None
}

/// A part of an element's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContentPart {
    /// An element, from its `<` to its last `>`.
    Element(Range<usize>),
    /// Text that is more than whitespace.
    Text(Range<usize>),
}

/// The direct content of the root element, in order. `None` if the markup cannot be read.
pub(super) fn split_parts(raw: &str) -> Option<Vec<ContentPart>> {
    let mut reader = Reader::from_str(raw);
    reader.config_mut().enable_all_checks(true);
    reader.config_mut().allow_dangling_amp = false;
    let (mut parts, mut depth, mut from, mut text) = (Vec::new(), 0_usize, 0, None);
    loop {
        let before = usize::try_from(reader.buffer_position()).ok()?;
        let event = reader.read_event().ok()?;
        let after = usize::try_from(reader.buffer_position()).ok()?;
        let is_text = match &event {
            Event::Text(_) => !is_blank(raw.get(before..after)?),
            Event::CData(_) | Event::GeneralRef(_) => true,
            _ => false,
        };
        if depth == 1 && is_text {
            text = Some(text.map_or(before..after, |range: Range<usize>| range.start..after));
            continue;
        }
        if depth == 1 && matches!(event, Event::Start(_) | Event::Empty(_) | Event::End(_)) {
            parts.extend(text.take().map(ContentPart::Text));
        }
        match event {
            Event::Start(_) => {
                if depth == 1 {
                    from = before;
                }
                depth += 1;
            }
            Event::Empty(_) if depth == 1 => parts.push(ContentPart::Element(before..after)),
            Event::End(_) => {
                depth = depth.checked_sub(1)?;
                if depth == 1 {
                    parts.push(ContentPart::Element(from..after));
                }
            }
            Event::Eof => return (depth == 0).then_some(parts),
            _ => {}
        }
    }
}

/// Where the content of an element begins and ends in its markup. `None` if it has no content.
pub(super) fn find_content(raw: &str) -> Option<Range<usize>> {
    let head = ElementHead::read(raw)?;
    let end = raw.rfind("</")?;
    (!head.empty && head.end <= end).then_some(head.end..end)
}

/// Whether the markup holds an element without a prefix below its root.
pub(super) fn has_bare_elements(raw: &str) -> bool {
    let mut reader = Reader::from_str(raw);
    let mut is_root = true;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                if !is_root && !tag.name().as_ref().contains(':') {
                    return true;
                }
                is_root = false;
            }
            Ok(Event::Eof) | Err(_) => return false,
            Ok(_) => {}
        }
    }
}
