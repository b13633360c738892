//! Documents for an XSD: it is walked as a tree, and values come from its facets and from a list of odd ones.
//!
//! It follows the structure and guesses the values, so libxml2 says which of the documents are valid. It shares no code
//! with our model of schemas.

use quick_xml::Reader;
use quick_xml::escape::escape;
use quick_xml::events::{BytesStart, Event};

use crate::tape::Tape;

/// An element of a schema document.
#[derive(Clone, Debug, Default)]
pub(super) struct XsdElement {
    tag: String,
    attributes: Vec<(String, String)>,
    inside: Vec<XsdElement>,
}

impl XsdElement {
    pub(super) fn read(xsd: &str) -> XsdElement {
        let mut reader = Reader::from_str(xsd);
        let mut open = vec![XsdElement::default()];
        loop {
            match reader.read_event().unwrap() {
                Event::Start(tag) => open.push(XsdElement::of(&tag)),
                Event::Empty(tag) => open.last_mut().unwrap().inside.push(XsdElement::of(&tag)),
                Event::End(_) => {
                    let done = open.pop().unwrap();
                    open.last_mut().unwrap().inside.push(done);
                }
                Event::Eof => return open.pop().unwrap().inside.pop().unwrap(),
                _ => {}
            }
        }
    }

    fn of(tag: &BytesStart<'_>) -> XsdElement {
        let attributes = tag.attributes().map(Result::unwrap).map(|attribute| {
            let value = quick_xml::escape::unescape(&attribute.value).unwrap();
            (attribute.key.as_ref().to_owned(), value.into_owned())
        });
        let tag = tag.name().as_ref().to_owned();
        XsdElement { tag, attributes: attributes.collect(), inside: Vec::new() }
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn child(&self, tag: &str) -> Option<&XsdElement> {
        self.inside.iter().find(|child| child.tag == tag)
    }

    /// A global declaration.
    fn global(&self, name: &str) -> Option<&XsdElement> {
        self.inside.iter().find(|child| child.attribute("name") == Some(name))
    }
}

const TEXTS: [&str; 12] =
    ["", "a", "abc", " a ", "line\nline", "true", "1", "<a & b>", "äöü€😀", "ab-1", "AB-1", "x@y.zz"];
const NUMBERS: [&str; 9] = ["0", "1", "-1", "2.5", "1e300", "INF", "NaN", "+7", "100"];
/// What a part that is spelt as JSON may hold; one of them is none.
const JSON: [&str; 5] = ["{\"a\":[1,null]}", "\"text\"", "12", "true", "{no json"];

/// A document that may be valid: the payload `name`.
pub(super) fn document(schema: &XsdElement, name: &str, tape: &mut Tape) -> String {
    let namespace = schema.attribute("targetNamespace").unwrap();
    let mut out = String::new();
    Sampling { schema, tape }.element(
        schema.global(name).unwrap(),
        &format!(" xmlns=\"{namespace}\""),
        0,
        &mut out,
    );
    out
}

struct Sampling<'x, 't> {
    schema: &'x XsdElement,
    tape: &'t mut Tape,
}

impl<'x> Sampling<'x, '_> {
    fn element(&mut self, declared: &'x XsdElement, xmlns: &str, depth: usize, out: &mut String) {
        let name = declared.attribute("name").unwrap();
        let inline = declared.child("xs:complexType").or(declared.child("xs:simpleType"));
        let by_name = declared.attribute("type").and_then(|name| self.schema.global(name));
        let (mut attributes, mut inside) = (String::new(), String::new());
        match inline.or(by_name) {
            Some(of) if of.tag == "xs:complexType" => {
                let is_json = declared.attribute("systole:json-form") == Some("text");
                self.complex(of, is_json, depth, &mut attributes, &mut inside);
            }
            _ if declared.attribute("systole:json-form") == Some("text") => {
                inside = escape(self.tape.pick::<str>(&JSON)).into_owned();
            }
            Some(of) => inside = self.simple(of),
            None => inside = self.base(declared.attribute("type").unwrap(), &[]),
        }
        out.push_str(&format!("<{name}{xmlns}{attributes}>{inside}</{name}>"));
    }

    fn complex(
        &mut self,
        of: &'x XsdElement,
        is_json: bool,
        depth: usize,
        attributes: &mut String,
        out: &mut String,
    ) {
        if let Some(content) = of.child("xs:simpleContent") {
            let extension = &content.inside[0];
            *attributes = self.key();
            *out = match is_json {
                true => escape(self.tape.pick::<str>(&JSON)).into_owned(),
                false => self.base(extension.attribute("base").unwrap(), &[]),
            };
            return;
        }
        if of.child("xs:attribute").is_some() {
            *attributes = self.key();
        }
        let Some(group) = of.inside.iter().find(|child| child.tag != "xs:attribute") else { return };
        let members: Vec<&XsdElement> = match group.tag.as_str() {
            // A tape that has ended would choose the first for ever.
            "xs:choice" if depth > 8 => group.inside.last().into_iter().filter(|_| depth < 20).collect(),
            "xs:choice" => vec![&group.inside[self.tape.below(group.inside.len())]],
            _ => group.inside.iter().collect(),
        };
        for member in members {
            let count = |name: &str| member.attribute(name).map(|count| count.parse::<usize>().unwrap_or(3));
            let (least, most) = (count("minOccurs").unwrap_or(1), count("maxOccurs").unwrap_or(1));
            let spread = if depth > 6 { 0 } else { most.min(3).saturating_sub(least) };
            for _ in 0..least + self.tape.below(spread + 1) {
                self.element(member, "", depth + 1, out);
            }
        }
    }

    fn key(&mut self) -> String {
        format!(" key=\"{}\"", self.tape.pick::<str>(&["a", "b c", "", "ö&amp;"]))
    }

    fn simple(&mut self, of: &XsdElement) -> String {
        let made = &of.inside[0];
        if made.tag == "xs:union" {
            let named: Vec<&str> =
                made.attribute("memberTypes").unwrap_or_default().split_whitespace().collect();
            let at = self.tape.below(named.len() + made.inside.len());
            return match named.get(at) {
                Some(name) => self.base(name, &[]),
                None => self.simple(&made.inside[at - named.len()]),
            };
        }
        let facets: Vec<&str> = made.inside.iter().filter_map(|facet| facet.attribute("value")).collect();
        let is_listed = made.inside.iter().any(|facet| facet.tag == "xs:enumeration");
        match is_listed {
            true => escape(self.tape.pick::<str>(&facets)).into_owned(),
            false => self.base(made.attribute("base").unwrap(), &facets),
        }
    }

    /// A value for a built-in type or one of the named bases. Facets are tried as values: bounds are on the edge.
    fn base(&mut self, base: &str, facets: &[&str]) -> String {
        let pool: &[&str] =
            match base {
                "bool" | "xs:boolean" => &["true", "false", "true", "1"],
                "integer" | "number" | "xs:long" | "xs:double" => {
                    if !facets.is_empty() && self.tape.one_in(2) { facets } else { &NUMBERS }
                }
                _ => &TEXTS,
            };
        escape(self.tape.pick::<str>(pool)).into_owned()
    }
}
