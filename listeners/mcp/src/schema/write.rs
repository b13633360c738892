//! Writes shapes as an XSD, indented for people.
//!
//! Shapes come in; text goes out. Its bytes depend only on them.

use systole_kit::namespaces::SCHEMA;
use systole_kit::writer::{StartTag, XmlWriter, make_visible};

use super::shape::{ElementShape, NamedShape, ShapeField, ShapeNode};
use super::write_values::{begin_line, collect_bases, find_plain_base, write_simple_type};

const XSD: &str = "http://www.w3.org/2001/XMLSchema";

/// The root of a schema document, unfinished.
pub(super) fn open_schema<'w>(writer: &'w mut XmlWriter, namespace: &str) -> StartTag<'w, 'static> {
    let start = writer.open("xs:schema").attr("xmlns:xs", XSD).xmlns(namespace);
    let start = start.attr("xmlns:systole", SCHEMA).attr("targetNamespace", namespace);
    start.attr("elementFormDefault", "qualified")
}

/// Writes global declarations.
pub(super) struct XsdWriter<'t> {
    pub(super) types: &'t [NamedShape],
    /// The named types and bases that are in use.
    pub(super) used: Vec<usize>,
    pub(super) bases: Vec<&'static str>,
}

/// A global element.
pub(super) struct GlobalElement<'e> {
    pub(super) name: &'e str,
    pub(super) tool: Option<&'e str>,
    pub(super) is_dangerous: bool,
    pub(super) about: Option<&'e str>,
    pub(super) fields: &'e [ShapeField],
}

/// How an element occurs.
#[derive(Clone, Copy, Default)]
struct OccurrenceMarks<'m> {
    least: Option<u32>,
    most: Option<u32>,
    is_unbounded: bool,
    key: Option<&'m str>,
    null: Option<&'static str>,
    default: Option<&'m str>,
}

impl<'t> XsdWriter<'t> {
    pub(super) fn new(types: &'t [NamedShape]) -> Self {
        Self { types, used: Vec::new(), bases: Vec::new() }
    }

    /// A payload, with an empty line before it.
    pub(super) fn write_global(&mut self, writer: &mut XmlWriter, element: &GlobalElement<'_>) {
        writer.text("\n");
        begin_line(writer, 1);
        let start =
            writer.open("xs:element").attr("name", element.name).attr_if("systole:tool", element.tool);
        let start = start.attr_if("systole:dangerous", element.is_dangerous.then_some("true"));
        start.content(|inside| {
            write_about(inside, element.about, 2);
            begin_line(inside, 2);
            self.write_group(inside, element.fields, 2);
            begin_line(inside, 1);
        });
    }

    /// The named types that are in use, and the types that they use.
    pub(super) fn write_named_types(&mut self, writer: &mut XmlWriter) {
        let mut at = 0;
        while let Some(next) = self.used.get(at).copied() {
            at = at.saturating_add(1);
            let Some(NamedShape { name, node: Some(node) }) = self.types.get(next) else { continue };
            writer.text("\n");
            begin_line(writer, 1);
            self.write_complex(writer, &node.shape, Some(name), 1);
        }
    }

    /// The shape behind a name: a named type if it has parts, or the shape itself.
    fn resolve_shape<'n>(&self, shape: &'n ElementShape) -> (Option<usize>, &'n ElementShape)
    where
        't: 'n,
    {
        let (mut shape, mut named) = (shape, None);
        for _ in 0..self.types.len().saturating_add(1) {
            let ElementShape::Named(at) = shape else { return (named, shape) };
            named = Some(*at);
            shape = match self.types.get(*at).and_then(|named| named.node.as_ref()) {
                Some(node) => &node.shape,
                None => return (None, &ElementShape::Json),
            };
        }
        (None, &ElementShape::Json)
    }

    fn write_element(
        &mut self,
        writer: &mut XmlWriter,
        name: &str,
        node: &ShapeNode,
        marks: OccurrenceMarks<'_>,
        depth: usize,
    ) {
        let (named, shape) = self.resolve_shape(&node.shape);
        let has_parts = matches!(
            shape,
            ElementShape::Object(_)
                | ElementShape::List { .. }
                | ElementShape::Map { .. }
                | ElementShape::Choice(_)
        );
        let named = named.filter(|_| has_parts);
        let type_name = match (named.and_then(|at| self.types.get(at)), shape) {
            (Some(known), _) => Some(known.name.clone()),
            (None, ElementShape::Value(simple)) => find_plain_base(simple).map(str::to_owned),
            (None, ElementShape::Json) => Some("xs:string".to_owned()),
            _ => None,
        };
        if let Some(at) = named.filter(|at| !self.used.contains(at)) {
            self.used.push(at);
        }
        self.note_bases(shape);
        let form = match shape {
            ElementShape::Map { .. } => Some("map"),
            ElementShape::Choice(_) => Some("choice"),
            ElementShape::Json => Some("text"),
            ElementShape::Null => Some("null"),
            _ => None,
        };
        begin_line(writer, depth);
        let start = writer.open("xs:element").attr("name", name).attr_if("type", type_name.as_deref());
        let count = |count: Option<u32>| count.filter(|count| *count != 1).map(|count| count.to_string());
        let most = if marks.is_unbounded { Some("unbounded".to_owned()) } else { count(marks.most) };
        let start =
            start.attr_if("minOccurs", count(marks.least).as_deref()).attr_if("maxOccurs", most.as_deref());
        let start = start.attr_if("systole:json", marks.key).attr_if("systole:json-form", form);
        let start = start.attr_if("systole:json-null", marks.null).attr_if("systole:default", marks.default);
        if type_name.is_some() && node.about.is_none() {
            return start.empty();
        }
        start.content(|inside| {
            write_about(inside, node.about.as_deref(), depth + 1);
            if type_name.is_none() {
                begin_line(inside, depth + 1);
                match shape {
                    ElementShape::Value(simple) => write_simple_type(inside, simple),
                    shape => self.write_complex(inside, shape, None, depth + 1),
                }
            }
            begin_line(inside, depth);
        });
    }

    fn note_bases(&mut self, shape: &ElementShape) {
        if let ElementShape::Value(simple) = shape {
            collect_bases(simple, &mut self.bases);
        }
    }

    /// A type with parts, in the current line.
    fn write_complex(
        &mut self,
        writer: &mut XmlWriter,
        shape: &ElementShape,
        name: Option<&str>,
        depth: usize,
    ) {
        let start = writer.open("xs:complexType").attr_if("name", name);
        match shape {
            ElementShape::Object(fields) if fields.is_empty() => start.empty(),
            ElementShape::Object(fields) => start.content(|inside| {
                begin_line(inside, depth + 1);
                self.write_all(inside, fields, depth + 1);
                begin_line(inside, depth);
            }),
            ElementShape::List { item, least, most } => {
                let marks = count_marks(*least, *most);
                start.content(|inside| {
                    self.write_sequence(inside, depth, |writing, inside| {
                        writing.write_element(inside, "item", item, marks, depth + 2);
                    })
                });
            }
            ElementShape::Map { value, least, most } => {
                let marks = count_marks(*least, *most);
                start.content(|inside| {
                    self.write_sequence(inside, depth, |writing, inside| {
                        writing.write_entry(inside, value, marks, depth + 2);
                    })
                });
            }
            ElementShape::Choice(branches) => start.content(|inside| {
                begin_line(inside, depth + 1);
                inside.open("xs:choice").content(|inside| {
                    for (name, node) in branches {
                        self.write_element(inside, name, node, OccurrenceMarks::default(), depth + 2);
                    }
                    begin_line(inside, depth + 1);
                });
                begin_line(inside, depth);
            }),
            _ => start.empty(),
        }
    }

    fn write_sequence(
        &mut self,
        writer: &mut XmlWriter,
        depth: usize,
        write: impl FnOnce(&mut Self, &mut XmlWriter),
    ) {
        begin_line(writer, depth + 1);
        writer.open("xs:sequence").content(|inside| {
            write(self, inside);
            begin_line(inside, depth + 1);
        });
        begin_line(writer, depth);
    }

    /// The content of an object, as a type without a name.
    fn write_group(&mut self, writer: &mut XmlWriter, fields: &[ShapeField], depth: usize) {
        let start = writer.open("xs:complexType");
        if fields.is_empty() {
            return start.empty();
        }
        start.content(|inside| {
            begin_line(inside, depth + 1);
            self.write_all(inside, fields, depth + 1);
            begin_line(inside, depth);
        });
    }

    fn write_all(&mut self, writer: &mut XmlWriter, fields: &[ShapeField], depth: usize) {
        writer.open("xs:all").content(|inside| {
            for field in fields {
                let may_miss = !field.required || field.node.nullable || field.default.is_some();
                let null = match (field.node.nullable, field.required) {
                    (false, _) => None,
                    (true, true) => Some("true"),
                    (true, false) => Some("accepted"),
                };
                let marks = OccurrenceMarks {
                    least: may_miss.then_some(0),
                    key: (field.key != field.name).then_some(field.key.as_str()),
                    null,
                    default: field.default.as_deref(),
                    ..OccurrenceMarks::default()
                };
                self.write_element(inside, &field.name, &field.node, marks, depth + 1);
            }
            begin_line(inside, depth);
        });
    }

    /// `<entry key="…">` with a text, or with `<value>` inside.
    fn write_entry(
        &mut self,
        writer: &mut XmlWriter,
        value: &ShapeNode,
        marks: OccurrenceMarks<'_>,
        depth: usize,
    ) {
        let (_, shape) = self.resolve_shape(&value.shape);
        self.note_bases(shape);
        let (base, form) = match shape {
            ElementShape::Value(simple) => (find_plain_base(simple), None),
            ElementShape::Json => (Some("xs:string"), Some("text")),
            _ => (None, None),
        };
        let base = base.filter(|_| !value.nullable);
        begin_line(writer, depth);
        let count = |count: Option<u32>| count.filter(|count| *count != 1).map(|count| count.to_string());
        let most = if marks.is_unbounded { Some("unbounded".to_owned()) } else { count(marks.most) };
        let start = writer.open("xs:element").attr("name", "entry");
        let start =
            start.attr_if("minOccurs", count(marks.least).as_deref()).attr_if("maxOccurs", most.as_deref());
        let start = start.attr_if("systole:json-form", form.filter(|_| base.is_some()));
        let key = |inside: &mut XmlWriter, depth| {
            begin_line(inside, depth);
            let start = inside.open("xs:attribute").attr("name", "key").attr("type", "xs:string");
            start.attr("use", "required").empty();
        };
        start.content(|inside| {
            write_about(inside, value.about.as_deref(), depth + 1);
            begin_line(inside, depth + 1);
            inside.open("xs:complexType").content(|inside| {
                if let Some(base) = base {
                    begin_line(inside, depth + 2);
                    inside.open("xs:simpleContent").content(|inside| {
                        begin_line(inside, depth + 3);
                        inside.open("xs:extension").attr("base", base).content(|inside| {
                            key(inside, depth + 4);
                            begin_line(inside, depth + 3);
                        });
                        begin_line(inside, depth + 2);
                    });
                } else {
                    let marks = OccurrenceMarks {
                        least: value.nullable.then_some(0),
                        null: value.nullable.then_some("true"),
                        ..OccurrenceMarks::default()
                    };
                    let bare = ShapeNode { about: None, ..value.clone() };
                    begin_line(inside, depth + 2);
                    inside.open("xs:sequence").content(|inside| {
                        self.write_element(inside, "value", &bare, marks, depth + 3);
                        begin_line(inside, depth + 2);
                    });
                    key(inside, depth + 2);
                }
                begin_line(inside, depth + 1);
            });
            begin_line(inside, depth);
        });
    }
}

fn count_marks(least: u32, most: Option<u32>) -> OccurrenceMarks<'static> {
    OccurrenceMarks { least: Some(least), most, is_unbounded: most.is_none(), ..OccurrenceMarks::default() }
}

/// The words of the server, with every hidden character shown.
fn write_about(writer: &mut XmlWriter, words: Option<&str>, depth: usize) {
    let Some(words) = words.filter(|words| !words.trim().is_empty()) else { return };
    begin_line(writer, depth);
    let shown = make_visible(words);
    writer.open("xs:annotation").content(|note| note.open("xs:documentation").text(&shown));
}
