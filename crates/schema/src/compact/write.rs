//! Writes the XSD for a block of payloads, indented for people.
//!
//! Its bytes depend only on the namespace and the payloads: no sorting, no randomness, no map order.
//! Payloads come in; a schema document goes out.

use super::{BaseType, DeclaredPayload, ElementBody, GroupField, ValueRange, ValueType};
use systole_wire::namespaces::SCHEMA;
use systole_wire::writer::{StartTag, XmlWriter};

const XSD: &str = "http://www.w3.org/2001/XMLSchema";

/// Named types for bases that XSD has no type for. Each is written only if it is used.
const NAMED: [(&str, &str, &str, Option<&str>); 7] = [
    ("text", "xs:string", "1", None),
    ("line", "xs:string", "1", Some(".*")),
    ("line-or-empty", "xs:string", "0", Some(".*")),
    ("word", "xs:string", "1", Some("\\S*")),
    ("word-or-empty", "xs:string", "0", Some("\\S*")),
    ("uri", "xs:anyURI", "1", None),
    ("bool", "xs:boolean", "", Some("true|false")),
];

/// The schema of these payloads, as an XSD document.
#[must_use]
pub fn write_xsd(namespace: &str, payloads: &[DeclaredPayload]) -> Vec<u8> {
    let mut writer = XmlWriter::with_capacity(1024);
    let start = writer.open("xs:schema").attr("xmlns:xs", XSD).xmlns(namespace);
    let start = start.attr("xmlns:systole", SCHEMA).attr("targetNamespace", namespace);
    start.attr("elementFormDefault", "qualified").content(|inside| {
        let mut used = Vec::new();
        for payload in payloads {
            inside.text("\n");
            break_line(inside, 1);
            let element = WrittenElement {
                name: &payload.name,
                least: 1,
                most: Some(1),
                dangerous: payload.dangerous,
                body: &payload.body,
            };
            element.write_element(inside, 1, &mut used);
        }
        for named in NAMED.iter().filter(|(name, ..)| used.contains(name)) {
            inside.text("\n");
            named_type(inside, named);
        }
        inside.text("\n\n");
    });
    let mut bytes = writer.finish();
    bytes.push(b'\n');
    bytes
}

/// Begins a line at a depth.
fn break_line(writer: &mut XmlWriter, depth: usize) {
    writer.text("\n");
    writer.text(&"  ".repeat(depth));
}

fn named_type(
    writer: &mut XmlWriter,
    (name, base, least, pattern): &(&str, &'static str, &str, Option<&str>),
) {
    break_line(writer, 1);
    writer.open("xs:simpleType").attr("name", name).content(|inside| {
        break_line(inside, 2);
        inside.open("xs:restriction").attr("base", base).content(|facets| {
            if !matches!(*least, "" | "0") {
                write_facet(facets, 3, "xs:minLength", least);
            }
            if let Some(pattern) = pattern {
                write_facet(facets, 3, "xs:pattern", pattern);
            }
            break_line(facets, 2);
        });
        break_line(inside, 1);
    });
}

fn write_facet(writer: &mut XmlWriter, depth: usize, name: &'static str, value: &str) {
    break_line(writer, depth);
    writer.open(name).attr("value", value).empty();
}

/// An element to be written.
struct WrittenElement<'p> {
    name: &'p str,
    least: u32,
    most: Option<u32>,
    dangerous: bool,
    body: &'p ElementBody,
}

impl WrittenElement<'_> {
    fn write_element(&self, writer: &mut XmlWriter, depth: usize, used: &mut Vec<&'static str>) {
        let start = writer.open("xs:element").attr("name", self.name);
        let plain = match self.body {
            ElementBody::Type(of) => plain_type(of),
            ElementBody::Group { .. } | ElementBody::List(_) => None,
        };
        let start = write_occurs(start.attr_if("type", plain), self.least, self.most);
        let value = match self.body {
            ElementBody::Type(of) => Some(of),
            _ => None,
        };
        let start = start.attr_if("systole:default", value.and_then(|of| of.default.as_deref()));
        let mark = |is: bool| is.then_some("true");
        let start = start.attr_if("systole:sensitive", value.and_then(|of| mark(of.sensitive)));
        let start = start.attr_if("systole:dangerous", mark(self.dangerous));
        let is_file = value.is_some_and(|of| matches!(of.base, BaseType::File(_)));
        let start = start.attr_if("systole:file", mark(is_file));
        if let Some(plain) = plain {
            used.extend(NAMED.iter().map(|(name, ..)| *name).filter(|name| *name == plain));
        }
        let about = find_about(self.body);
        if plain.is_some() && about.is_none() {
            return start.empty();
        }
        start.content(|inside| {
            if let Some(about) = about {
                break_line(inside, depth + 1);
                inside.open("xs:annotation").content(|note| note.open("xs:documentation").text(about));
            }
            if plain.is_none() {
                break_line(inside, depth + 1);
                write_content(self.body, inside, depth + 1, used);
            }
            break_line(inside, depth);
        });
    }
}

fn write_occurs<'w, 'n>(start: StartTag<'w, 'n>, least: u32, most: Option<u32>) -> StartTag<'w, 'n> {
    let least = (least != 1).then(|| least.to_string());
    let most = match most {
        Some(1) => None,
        Some(most) => Some(most.to_string()),
        None => Some("unbounded".to_owned()),
    };
    start.attr_if("minOccurs", least.as_deref()).attr_if("maxOccurs", most.as_deref())
}

/// The words for an element. The words of a list's values go on the list, because people see the list.
fn find_about(body: &ElementBody) -> Option<&str> {
    match body {
        ElementBody::Type(of) => of.words.as_deref(),
        ElementBody::Group { about, .. } => about.as_deref(),
        ElementBody::List(list) => match &*list.item {
            ElementBody::Type(of) => of.words.as_deref(),
            _ => None,
        },
    }
}

fn write_content(body: &ElementBody, writer: &mut XmlWriter, depth: usize, used: &mut Vec<&'static str>) {
    match body {
        ElementBody::Type(ValueType { base: BaseType::File(types), range, .. }) => {
            write_file(types, range.most.as_deref().unwrap_or_default(), writer, depth, used);
        }
        ElementBody::Type(of) => write_simple(of, writer, depth, used),
        ElementBody::Group { fields, .. } if fields.is_empty() => writer.open("xs:complexType").empty(),
        ElementBody::Group { fields, .. } => write_complex(writer, depth, "xs:all", |inside| {
            for field in fields {
                break_line(inside, depth + 2);
                element_of(field).write_element(inside, depth + 2, used);
            }
        }),
        ElementBody::List(list) => write_complex(writer, depth, "xs:sequence", |inside| {
            break_line(inside, depth + 2);
            // Its words are already on the list.
            let worded = (*list.item).clone();
            let item = match worded {
                ElementBody::Type(of) => ElementBody::Type(ValueType { words: None, ..of }),
                other => other,
            };
            let item = WrittenElement {
                name: "item",
                least: list.least,
                most: list.most,
                dangerous: false,
                body: &item,
            };
            item.write_element(inside, depth + 2, used);
        }),
    }
}

fn element_of(field: &GroupField) -> WrittenElement<'_> {
    let has_default = matches!(&field.body, ElementBody::Type(ValueType { default: Some(_), .. }));
    let least = u32::from(!field.optional && !has_default);
    WrittenElement { name: &field.name, least, most: Some(1), dangerous: false, body: &field.body }
}

fn write_complex(
    writer: &mut XmlWriter,
    depth: usize,
    group: &'static str,
    write: impl FnOnce(&mut XmlWriter),
) {
    writer.open("xs:complexType").content(|inside| {
        break_line(inside, depth + 1);
        inside.open(group).content(|inside| {
            write(inside);
            break_line(inside, depth + 1);
        });
        break_line(inside, depth);
    });
}

/// The type by name, if nothing restricts it.
fn plain_type(of: &ValueType) -> Option<&'static str> {
    let is_plain = of.pattern.is_none()
        && list_facets(of).is_empty()
        && !matches!(of.base, BaseType::OneOf(_) | BaseType::File(_));
    is_plain.then(|| base_of(of))
}

/// The type that the facets restrict.
fn base_of(of: &ValueType) -> &'static str {
    let may_be_empty = least_characters(&of.range) == Some(0);
    match (&of.base, may_be_empty) {
        (BaseType::Text, false) => "text",
        (BaseType::Text, true) | (BaseType::OneOf(_) | BaseType::File(_), _) => "xs:string",
        (BaseType::Line, false) => "line",
        (BaseType::Line, true) => "line-or-empty",
        (BaseType::Word, false) => "word",
        (BaseType::Word, true) => "word-or-empty",
        (BaseType::Int, _) => "xs:long",
        (BaseType::Number, _) => "xs:decimal",
        (BaseType::Bool, _) => "bool",
        (BaseType::Date, _) => "xs:date",
        (BaseType::DateTime, _) => "xs:dateTime",
        (BaseType::Duration, _) => "xs:duration",
        (BaseType::Uri, _) => "uri",
        (BaseType::Blob, _) => "xs:base64Binary",
    }
}

fn least_characters(range: &ValueRange) -> Option<u32> {
    range.least.as_ref().and_then(|least| least.parse().ok())
}

/// The facets of range and enumeration. The base already says that a text has at least one character.
fn list_facets(of: &ValueType) -> Vec<(&'static str, String)> {
    let mut facets = Vec::new();
    if let BaseType::OneOf(values) = &of.base {
        facets.extend(values.iter().map(|value| ("xs:enumeration", value.clone())));
    } else if of.base.counts_characters() {
        let least = least_characters(&of.range).filter(|least| *least > 1);
        facets.extend(least.map(|least| ("xs:minLength", least.to_string())));
        let most: Option<u32> = of.range.most.as_ref().and_then(|most| most.parse().ok());
        facets.extend(most.map(|most| ("xs:maxLength", most.to_string())));
    } else {
        let end = |end: &Option<String>, sign: char, excluded, included| {
            end.as_ref().map(|end| match end.strip_prefix(sign) {
                Some(end) => (excluded, end.to_owned()),
                None => (included, end.clone()),
            })
        };
        facets.extend(end(&of.range.least, '>', "xs:minExclusive", "xs:minInclusive"));
        facets.extend(end(&of.range.most, '<', "xs:maxExclusive", "xs:maxInclusive"));
    }
    facets
}

/// The name of a facet, and its value.
type Facet<'f> = (&'static str, &'f str);

/// The type of an element that refers to a file. Nothing is in it.
fn write_file(
    types: &[String],
    most: &str,
    writer: &mut XmlWriter,
    depth: usize,
    used: &mut Vec<&'static str>,
) {
    used.push("line");
    let types: Vec<_> = types.iter().map(|of| ("xs:enumeration", of.as_str())).collect();
    let attributes: [(&str, &str, &[Facet<'_>]); 3] = [
        ("sha256", "xs:string", &[("xs:pattern", "[0-9a-f]{64}")]),
        ("type", "xs:string", &types),
        ("bytes", "xs:long", &[("xs:minInclusive", "1"), ("xs:maxInclusive", most)]),
    ];
    writer.open("xs:complexType").content(|inside| {
        for (name, base, facets) in attributes {
            break_line(inside, depth + 1);
            inside.open("xs:attribute").attr("name", name).attr("use", "required").content(|inside| {
                break_line(inside, depth + 2);
                write_restriction(inside, depth + 2, base, facets);
                break_line(inside, depth + 1);
            });
        }
        break_line(inside, depth + 1);
        inside.open("xs:attribute").attr("name", "name").attr("type", "line").empty();
        break_line(inside, depth);
    });
}

fn write_restriction(writer: &mut XmlWriter, depth: usize, base: &str, facets: &[Facet<'_>]) {
    writer.open("xs:simpleType").content(|inside| {
        break_line(inside, depth + 1);
        inside.open("xs:restriction").attr("base", base).content(|inside| {
            for (name, value) in facets {
                write_facet(inside, depth + 2, name, value);
            }
            break_line(inside, depth + 1);
        });
        break_line(inside, depth);
    });
}

fn write_simple(of: &ValueType, writer: &mut XmlWriter, depth: usize, used: &mut Vec<&'static str>) {
    let base = base_of(of);
    used.extend(NAMED.iter().map(|(name, ..)| *name).filter(|name| *name == base));
    let mut facets = list_facets(of);
    facets.extend(of.pattern.iter().map(|pattern| ("xs:pattern", pattern.clone())));
    let facets: Vec<_> = facets.iter().map(|(name, value)| (*name, value.as_str())).collect();
    write_restriction(writer, depth, base, &facets);
}
