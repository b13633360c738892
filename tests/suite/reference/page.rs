//! Reads the page of elements, and any document, for the tests that compare them. It knows no element of Systole.
//! The input is text; the output is rows and trees.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use quick_xml::events::{BytesStart, Event};

pub(super) const PAGE: &str = "docs/reference/elements.md";

/// The cells of every row below a heading, up to the next one.
pub(super) fn table(heading: &str) -> Vec<Vec<String>> {
    let page = fs::read_to_string(PAGE).unwrap();
    let below = page.split_once(&format!("\n{heading}\n")).map(|(_, below)| below);
    let below = below.unwrap_or_else(|| panic!("{PAGE} has no {heading}"));
    let section = below.split("\n#").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    assert!(!rows.is_empty(), "{heading} has no rows");
    rows
}

/// The elements below a heading: their attributes, and whether each is required.
pub(super) fn attributes(heading: &str) -> BTreeMap<String, BTreeMap<String, bool>> {
    let rows = table(heading).into_iter().filter(|row| row.len() == 5);
    rows.map(|row| (unquoted(&row[0]).to_owned(), row[1].split("; ").filter_map(attribute).collect()))
        .collect()
}

fn attribute(written: &str) -> Option<(String, bool)> {
    let (name, _) = written.split_once(": ")?;
    Some((unquoted(name.trim_end_matches('?')).to_owned(), !name.ends_with('?')))
}

pub(super) fn unquoted(cell: &str) -> &str {
    cell.trim_matches('`')
}

/// An element of a document.
#[derive(Debug, Default)]
pub(super) struct SchemaNode {
    /// Its namespace, if that is the default one.
    pub(super) ns: String,
    pub(super) name: String,
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) children: Vec<SchemaNode>,
    /// Its own text, with single blanks.
    pub(super) text: String,
}

impl SchemaNode {
    pub(super) fn read(document: &str) -> Self {
        let mut reader = quick_xml::Reader::from_str(document);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().unwrap() {
                Event::Start(tag) => open.push(Self::of(&tag, open.last())),
                Event::Empty(tag) => {
                    let node = Self::of(&tag, open.last());
                    open.last_mut().unwrap().children.push(node);
                }
                Event::End(_) => {
                    let node = open.pop().unwrap();
                    open.last_mut().unwrap().children.push(node);
                }
                Event::Text(text) => {
                    let node = open.last_mut().unwrap();
                    let text = text.xml10_content();
                    let words = node.text.split_whitespace().chain(text.split_whitespace());
                    node.text = words.collect::<Vec<_>>().join(" ");
                }
                Event::Eof => break,
                _ => {}
            }
        }
        open.pop().unwrap().children.pop().expect("a document has an element")
    }

    fn of(tag: &BytesStart<'_>, parent: Option<&Self>) -> Self {
        let mut node = Self { name: tag.local_name().as_ref().to_owned(), ..Self::default() };
        for attribute in tag.attributes() {
            let attribute = attribute.unwrap();
            node.attributes.insert(attribute.key.as_ref().to_owned(), attribute.value.to_string());
        }
        let declared = node.attributes.remove("xmlns");
        if tag.name().prefix().is_none() {
            node.ns = declared.unwrap_or_else(|| parent.map(|it| it.ns.clone()).unwrap_or_default());
        }
        node
    }

    /// Its children with that name.
    pub(super) fn all<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n SchemaNode> {
        self.children.iter().filter(move |child| child.name == name)
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// Every element of a namespace here, by its path within that namespace, with its attributes.
    pub(super) fn within(&self, ns: &str, path: &str, found: &mut Vec<(String, BTreeSet<String>)>) {
        let mut own = String::new();
        if self.ns == ns {
            let slash = if path.is_empty() { "" } else { "/" };
            own = [path, slash, &self.name].concat();
            if let Some(kind) = self.attribute("kind") {
                own = format!("{own} kind=\"{kind}\"");
            }
            found.push((own.clone(), self.attributes.keys().cloned().collect()));
        }
        self.children.iter().for_each(|child| child.within(ns, &own, found));
    }
}
