//! A document as a tree that can be changed anywhere and written out. It knows no schema.

use std::fmt::Write as _;

#[derive(Clone, Debug)]
pub(super) struct XmlNode {
    pub(super) name: String,
    pub(super) namespace: String,
    /// Whether its namespace is declared by a prefix.
    pub(super) prefixed: bool,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) parts: Vec<XmlPart>,
}

#[derive(Clone, Debug)]
pub(super) enum XmlPart {
    Element(XmlNode),
    Text(String),
    /// XML that is written unchanged.
    Raw(String),
}

impl XmlNode {
    pub(super) fn new(name: &str, namespace: &str, prefixed: bool) -> XmlNode {
        let (name, namespace) = (name.to_owned(), namespace.to_owned());
        XmlNode { name, namespace, prefixed, attributes: Vec::new(), parts: Vec::new() }
    }

    pub(super) fn written(&self) -> String {
        let mut out = String::new();
        self.write("", &mut out);
        out
    }

    fn write(&self, default: &str, out: &mut String) {
        let prefix = if self.prefixed && !self.namespace.is_empty() { "p:" } else { "" };
        write!(out, "<{prefix}{}", self.name).unwrap();
        let namespace = escaped(&self.namespace);
        let default = match prefix {
            "" if self.namespace == default => default,
            "" => {
                write!(out, " xmlns=\"{namespace}\"").unwrap();
                &self.namespace
            }
            _ => {
                write!(out, " xmlns:p=\"{namespace}\"").unwrap();
                default
            }
        };
        for (name, value) in &self.attributes {
            write!(out, " {name}=\"{}\"", escaped(value)).unwrap();
        }
        out.push('>');
        for part in &self.parts {
            match part {
                XmlPart::Element(node) => node.write(default, out),
                XmlPart::Text(text) => out.push_str(&escaped(text)),
                XmlPart::Raw(xml) => out.push_str(xml),
            }
        }
        write!(out, "</{prefix}{}>", self.name).unwrap();
    }

    /// Adds an attribute, if there is none of this name.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        if self.attributes.iter().all(|(known, _)| known != name) {
            self.attributes.push((name.to_owned(), value.to_owned()));
        }
    }

    /// The number of elements, including itself.
    pub(super) fn count(&self) -> usize {
        1 + self.children().map(XmlNode::count).sum::<usize>()
    }

    fn children(&self) -> impl Iterator<Item = &XmlNode> {
        self.parts.iter().filter_map(|part| match part {
            XmlPart::Element(node) => Some(node),
            _ => None,
        })
    }

    /// The element of this number, in the order of the document.
    pub(super) fn nth(&mut self, at: usize) -> &mut XmlNode {
        let mut left = at;
        self.found(&mut left).expect("a number below the count")
    }

    fn found(&mut self, left: &mut usize) -> Option<&mut XmlNode> {
        if *left == 0 {
            return Some(self);
        }
        *left -= 1;
        self.parts.iter_mut().find_map(|part| match part {
            XmlPart::Element(node) => node.found(left),
            _ => None,
        })
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
        .replace('\t', "&#9;")
        .replace('\n', "&#10;")
}
