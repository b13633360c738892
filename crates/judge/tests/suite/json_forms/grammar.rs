//! A grammar of contents. It generates both an XSD and documents that follow it. It reads and judges nothing.

use std::fmt::Write as _;

use super::dice::Dice;
use super::simples::Simple;
use super::xml::{XmlNode, XmlPart};

/// The namespaces of the schema and of the imported schema; each imports the other.
pub(super) const SPACES: [&str; 2] = ["urn:t", "urn:o"];

/// A particle.
pub(super) enum P {
    /// An element: its name, how often, and its type.
    E(&'static str, (usize, Option<usize>), T),
    /// The same without a namespace.
    Bare(&'static str, (usize, Option<usize>), T),
    /// A global element of the other schema.
    Ref(&'static str, (usize, Option<usize>), T),
    Seq((usize, Option<usize>), Vec<P>),
    Choice((usize, Option<usize>), Vec<P>),
    All(Vec<P>),
    /// A wildcard for other namespaces.
    Any((usize, Option<usize>)),
}

/// A type: attributes, each with whether it is required, and the content.
pub(super) struct T {
    pub(super) attributes: Vec<(&'static str, &'static Simple, bool)>,
    pub(super) inside: Inside,
    /// Whether the other schema declares it: its local elements have the namespace of that schema.
    pub(super) foreign: bool,
}

pub(super) enum Inside {
    Empty,
    Free,
    Value(&'static Simple),
    Children(Box<P>),
    /// The type of the root again.
    Again,
}

pub(super) const ONCE: (usize, Option<usize>) = (1, Some(1));
pub(super) const MAYBE: (usize, Option<usize>) = (0, Some(1));
pub(super) const MANY: (usize, Option<usize>) = (0, None);

pub(super) fn value(simple: &'static Simple) -> T {
    T { attributes: Vec::new(), inside: Inside::Value(simple), foreign: false }
}

pub(super) fn children(particle: P) -> T {
    T { attributes: Vec::new(), inside: Inside::Children(Box::new(particle)), foreign: false }
}

/// A type that the other schema declares.
pub(super) fn foreign(of: T) -> T {
    T { foreign: true, ..of }
}

fn times((min, max): (usize, Option<usize>)) -> String {
    let max = max.map_or("unbounded".to_owned(), |max| max.to_string());
    format!(r#" minOccurs="{min}" maxOccurs="{max}""#)
}

fn simple_xsd(simple: &Simple) -> String {
    format!("<xs:simpleType>{}</xs:simpleType>", simple.xsd)
}

/// The schema whose only payload is `root` of this type, and the imported schema, if it needs one.
pub(super) fn schemas(of: &T) -> Vec<String> {
    let mut writing = Writing::default();
    let whole = match &of.inside {
        Inside::Value(simple) if of.attributes.is_empty() => {
            format!("<xs:element name=\"root\">{}</xs:element>", simple_xsd(simple))
        }
        _ => {
            let whole =
                writing.complex(of, 0).replacen("<xs:complexType", "<xs:complexType name=\"root\"", 1);
            format!("<xs:element name=\"root\" type=\"t:root\"/>{whole}")
        }
    };
    writing.named[0] += &whole;
    let several = !writing.named[1].is_empty();
    let written = (0..1 + usize::from(several)).map(|at| {
        let (own, other) = (SPACES[at], SPACES[1 - at]);
        let import = if several { format!("<xs:import namespace=\"{other}\"/>") } else { String::new() };
        format!(
            "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns:t=\"{}\" xmlns:o=\"{}\" \
             targetNamespace=\"{own}\" elementFormDefault=\"qualified\">{import}{}</xs:schema>",
            SPACES[0], SPACES[1], writing.named[at]
        )
    });
    written.collect()
}

/// The global declarations of both schemas.
#[derive(Default)]
struct Writing {
    named: [String; 2],
}

impl Writing {
    /// The name of a simple type, which is declared globally.
    fn by_name(&mut self, simple: &Simple, at: usize) -> String {
        let start = format!("<xs:simpleType name=\"{}\">", simple.name);
        if !self.named[at].contains(&start) {
            self.named[at] += &simple_xsd(simple).replacen("<xs:simpleType>", &start, 1);
        }
        [["t:", "o:"][at], simple.name].concat()
    }

    /// A type written out. Values next to attributes need a named type, which is declared globally.
    fn complex(&mut self, of: &T, at: usize) -> String {
        let mut attributes = String::new();
        for (name, simple, required) in &of.attributes {
            let usage = if *required { "required" } else { "optional" };
            let simple = simple_xsd(simple);
            write!(attributes, r#"<xs:attribute name="{name}" use="{usage}">{simple}</xs:attribute>"#)
                .unwrap();
        }
        match &of.inside {
            Inside::Empty | Inside::Again => format!("<xs:complexType>{attributes}</xs:complexType>"),
            Inside::Free => format!("<xs:complexType mixed=\"true\">{attributes}</xs:complexType>"),
            Inside::Children(particle) => {
                format!("<xs:complexType>{}{attributes}</xs:complexType>", self.particle(particle, at))
            }
            Inside::Value(simple) => {
                let name = self.by_name(simple, at);
                format!(
                    "<xs:complexType><xs:simpleContent><xs:extension base=\"{name}\">{attributes}</xs:extension>\
                     </xs:simpleContent></xs:complexType>"
                )
            }
        }
    }

    fn group(&mut self, name: &str, how_often: &str, parts: &[P], at: usize) -> String {
        let parts: String = parts.iter().map(|part| self.particle(part, at)).collect();
        format!("<xs:{name}{how_often}>{parts}</xs:{name}>")
    }

    fn particle(&mut self, particle: &P, at: usize) -> String {
        match particle {
            P::Seq(occurs, parts) => self.group("sequence", &times(*occurs), parts, at),
            P::Choice(occurs, parts) => self.group("choice", &times(*occurs), parts, at),
            P::All(parts) => self.group("all", "", parts, at),
            P::Any(occurs) => {
                format!(r###"<xs:any namespace="##other" processContents="lax"{}/>"###, times(*occurs))
            }
            P::E(name, occurs, of) => self.element(name, &times(*occurs), of, at),
            P::Bare(name, occurs, of) => {
                self.element(name, &format!(" form=\"unqualified\"{}", times(*occurs)), of, at)
            }
            P::Ref(name, occurs, of) => {
                let there = 1 - at;
                let global = self.element(name, "", of, there);
                if !self.named[there].contains(&global) {
                    self.named[there] += &global;
                }
                format!(r#"<xs:element ref="{}{name}"{}/>"#, ["t:", "o:"][there], times(*occurs))
            }
        }
    }

    fn element(&mut self, name: &str, more: &str, of: &T, at: usize) -> String {
        let there = if of.foreign { 1 - at } else { at };
        let by_type = match &of.inside {
            Inside::Again => "t:root".to_owned(),
            Inside::Value(simple) if of.attributes.is_empty() => self.by_name(simple, there),
            _ if of.foreign => {
                let start = format!("<xs:complexType name=\"of-{name}\"");
                let whole = self.complex(of, there).replacen("<xs:complexType", &start, 1);
                if !self.named[there].contains(&whole) {
                    self.named[there] += &whole;
                }
                format!("{}of-{name}", ["t:", "o:"][there])
            }
            _ => return format!("<xs:element name=\"{name}\"{more}>{}</xs:element>", self.complex(of, at)),
        };
        format!(r#"<xs:element name="{name}" type="{by_type}"{more}/>"#)
    }
}

/// A document that follows the grammar.
pub(super) fn document(root: &T, dice: &mut Dice) -> XmlNode {
    Following { root, dice }.element("root", Some(0), root, 0, 0)
}

struct Following<'g> {
    root: &'g T,
    dice: &'g mut Dice,
}

impl Following<'_> {
    /// An element of the namespace of one of the schemas or of none. Schema `at` contains its type.
    fn element(&mut self, name: &str, space: Option<usize>, of: &T, at: usize, depth: usize) -> XmlNode {
        let at = if of.foreign { 1 - at } else { at };
        let (of, at) = if matches!(of.inside, Inside::Again) { (self.root, 0) } else { (of, at) };
        let mut node = XmlNode::new(name, space.map_or("", |space| SPACES[space]), self.dice.one_in(4));
        for (name, simple, required) in &of.attributes {
            if *required || self.dice.one_in(2) {
                node.attributes.push(((*name).to_owned(), self.dice.pick(simple.good).to_owned()));
            }
        }
        match &of.inside {
            Inside::Empty | Inside::Again => {}
            Inside::Free if self.dice.one_in(5) => {
                node.parts.push(XmlPart::Raw("<![CDATA[<x/>]]>".to_owned()))
            }
            Inside::Free => {
                node.parts.push(XmlPart::Text(self.dice.pick(&["", "text", " a  b ", "<&"]).to_owned()))
            }
            Inside::Value(simple) => node.parts.push(XmlPart::Text(self.dice.pick(simple.good).to_owned())),
            Inside::Children(particle) => self.content(particle, at, depth, &mut node.parts),
        }
        node
    }

    fn content(&mut self, particle: &P, at: usize, depth: usize, out: &mut Vec<XmlPart>) {
        let (min, max) = match particle {
            P::E(_, occurs, _) | P::Bare(_, occurs, _) | P::Ref(_, occurs, _) => *occurs,
            P::Seq(occurs, _) | P::Choice(occurs, _) | P::Any(occurs) => *occurs,
            P::All(parts) => {
                let mut order: Vec<&P> = parts.iter().collect();
                self.dice.shuffle(&mut order);
                return order.into_iter().for_each(|part| self.content(part, at, depth, out));
            }
        };
        // Recursive content must end.
        let spread = if depth > 3 { 0 } else { max.unwrap_or(min + 3) - min };
        for _ in 0..min + self.dice.below(spread + 1) {
            match particle {
                P::E(name, _, of) => {
                    out.push(XmlPart::Element(self.element(name, Some(at), of, at, depth + 1)))
                }
                P::Bare(name, _, of) => {
                    out.push(XmlPart::Element(self.element(name, None, of, at, depth + 1)))
                }
                P::Ref(name, _, of) => {
                    let there = 1 - at;
                    out.push(XmlPart::Element(self.element(name, Some(there), of, there, depth + 1)));
                }
                P::Seq(_, parts) => parts.iter().for_each(|part| self.content(part, at, depth, out)),
                P::Choice(_, parts) => {
                    let chosen = self.dice.below(parts.len());
                    self.content(&parts[chosen], at, depth, out);
                }
                P::Any(_) => out.push(XmlPart::Raw(self.dice.pick(STRANGERS).to_owned())),
                P::All(_) => {}
            }
        }
    }
}

/// Elements for a wildcard, of namespaces without a schema.
const STRANGERS: &[&str] = &[
    "<o xmlns=\"urn:other\"/>",
    "<o xmlns=\"urn:other\" a=\"1\">t<p xmlns=\"urn:p\"/> <q/></o>",
    "<p:o xmlns:p=\"urn:other\" p:b=\"&lt;\" xml:lang=\"en\"><c/></p:o>",
];
