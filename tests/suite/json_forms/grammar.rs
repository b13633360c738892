//! A grammar of contents, from which both an XSD and documents that follow it are written.

use std::fmt::Write as _;

use super::dice::Dice;
use super::simples::Simple;

/// A particle.
pub(super) enum P {
    /// An element by name, how often, and its type.
    E(&'static str, (usize, Option<usize>), T),
    Seq((usize, Option<usize>), Vec<P>),
    Choice((usize, Option<usize>), Vec<P>),
    All(Vec<P>),
    /// A wildcard for other namespaces.
    Any((usize, Option<usize>)),
}

/// A type: attributes, each with whether it must be there, and what is inside.
pub(super) struct T {
    pub(super) attributes: Vec<(&'static str, &'static Simple, bool)>,
    pub(super) inside: Inside,
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
    T { attributes: Vec::new(), inside: Inside::Value(simple) }
}

pub(super) fn children(particle: P) -> T {
    T { attributes: Vec::new(), inside: Inside::Children(Box::new(particle)) }
}

fn times((min, max): (usize, Option<usize>)) -> String {
    let max = max.map_or("unbounded".to_owned(), |max| max.to_string());
    format!(r#" minOccurs="{min}" maxOccurs="{max}""#)
}

fn simple_xsd(simple: &Simple) -> String {
    format!("<xs:simpleType>{}</xs:simpleType>", simple.xsd)
}

/// The schema whose one payload is `root` of this type.
pub(super) fn schema(of: &T) -> String {
    let (mut named, mut body) = (String::new(), String::new());
    match &of.inside {
        Inside::Value(simple) if of.attributes.is_empty() => {
            write!(body, "<xs:element name=\"root\">{}</xs:element>", simple_xsd(simple)).unwrap();
        }
        _ => {
            body.push_str("<xs:element name=\"root\" type=\"root\"/>");
            let whole = complex(of, &mut named);
            body += &whole.replacen("<xs:complexType", "<xs:complexType name=\"root\"", 1);
        }
    }
    let head = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:t" targetNamespace="urn:t" elementFormDefault="qualified">"#;
    [head, &body, &named, "</xs:schema>"].concat()
}

/// The name of a simple type, which is put aside.
fn by_name(simple: &Simple, named: &mut String) -> &'static str {
    let start = format!("<xs:simpleType name=\"{}\">", simple.name);
    if !named.contains(&start) {
        *named += &simple_xsd(simple).replacen("<xs:simpleType>", &start, 1);
    }
    simple.name
}

/// A type written out. Values beside attributes need a named type, which is put aside.
fn complex(of: &T, named: &mut String) -> String {
    let mut attributes = String::new();
    for (name, simple, required) in &of.attributes {
        let usage = if *required { "required" } else { "optional" };
        write!(
            attributes,
            r#"<xs:attribute name="{name}" use="{usage}">{}</xs:attribute>"#,
            simple_xsd(simple)
        )
        .unwrap();
    }
    match &of.inside {
        Inside::Empty | Inside::Again => format!("<xs:complexType>{attributes}</xs:complexType>"),
        Inside::Free => format!("<xs:complexType mixed=\"true\">{attributes}</xs:complexType>"),
        Inside::Children(particle) => {
            format!("<xs:complexType>{}{attributes}</xs:complexType>", particle_xsd(particle, named))
        }
        Inside::Value(simple) => {
            let name = by_name(simple, named);
            format!(
                "<xs:complexType><xs:simpleContent><xs:extension base=\"{name}\">{attributes}</xs:extension>\
                 </xs:simpleContent></xs:complexType>"
            )
        }
    }
}

fn particle_xsd(particle: &P, named: &mut String) -> String {
    let mut group = |name: &str, how_often: String, parts: &[P]| {
        let parts: String = parts.iter().map(|part| particle_xsd(part, named)).collect();
        format!("<xs:{name}{how_often}>{parts}</xs:{name}>")
    };
    match particle {
        P::Seq(occurs, parts) => group("sequence", times(*occurs), parts),
        P::Choice(occurs, parts) => group("choice", times(*occurs), parts),
        P::All(parts) => group("all", String::new(), parts),
        P::Any(occurs) => {
            format!(r###"<xs:any namespace="##other" processContents="lax"{}/>"###, times(*occurs))
        }
        P::E(name, occurs, of) => match &of.inside {
            Inside::Again => format!(r#"<xs:element name="{name}" type="root"{}/>"#, times(*occurs)),
            Inside::Value(simple) if of.attributes.is_empty() => {
                let of = by_name(simple, named);
                format!(r#"<xs:element name="{name}" type="{of}"{}/>"#, times(*occurs))
            }
            _ => {
                format!(r#"<xs:element name="{name}"{}>{}</xs:element>"#, times(*occurs), complex(of, named))
            }
        },
    }
}

/// A document that follows the grammar.
pub(super) fn document(root: &T, dice: &mut Dice) -> String {
    let mut out = String::new();
    element(root, "root", " xmlns=\"urn:t\"", root, dice, 0, &mut out);
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
        .replace('\t', "&#9;")
        .replace('\n', "&#10;")
}

fn element(root: &T, name: &str, declared: &str, of: &T, dice: &mut Dice, depth: usize, out: &mut String) {
    let of = if matches!(of.inside, Inside::Again) { root } else { of };
    write!(out, "<{name}{declared}").unwrap();
    for (name, simple, required) in &of.attributes {
        if *required || dice.one_in(2) {
            write!(out, " {name}=\"{}\"", escaped(dice.pick(simple.good))).unwrap();
        }
    }
    out.push('>');
    match &of.inside {
        Inside::Empty | Inside::Again => {}
        Inside::Free => out.push_str(dice.pick(&["", "text", " a  b ", "&lt;&amp;", "<![CDATA[<x/>]]>"])),
        Inside::Value(simple) => out.push_str(&escaped(dice.pick(simple.good))),
        Inside::Children(particle) => written(root, particle, dice, depth, out),
    }
    write!(out, "</{name}>").unwrap();
}

fn written(root: &T, particle: &P, dice: &mut Dice, depth: usize, out: &mut String) {
    let (P::E(_, occurs, _) | P::Seq(occurs, _) | P::Choice(occurs, _) | P::Any(occurs)) = particle else {
        let P::All(parts) = particle else { return };
        let mut order: Vec<&P> = parts.iter().collect();
        dice.shuffle(&mut order);
        return order.into_iter().for_each(|part| written(root, part, dice, depth, out));
    };
    let (min, max) = *occurs;
    // What may contain itself comes to an end.
    let spread = if depth > 3 { 0 } else { max.unwrap_or(min + 3) - min };
    for _ in 0..min + dice.below(spread + 1) {
        match particle {
            P::E(name, _, of) => element(root, name, "", of, dice, depth + 1, out),
            P::Seq(_, parts) => parts.iter().for_each(|part| written(root, part, dice, depth, out)),
            P::Choice(_, parts) => written(root, &parts[dice.below(parts.len())], dice, depth, out),
            P::Any(_) => out.push_str(dice.pick(&[
                "<o xmlns=\"urn:other\"/>",
                "<o xmlns=\"urn:other\" a=\"1\">t<p xmlns=\"urn:p\"/> <q/></o>",
                "<p:o xmlns:p=\"urn:other\" p:b=\"&lt;\" xml:lang=\"en\"><c/></p:o>",
            ])),
            P::All(_) => {}
        }
    }
}
