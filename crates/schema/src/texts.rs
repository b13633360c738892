//! Which elements of a payload hold only text, so that a model can write their content without escaping.
//!
//! A schema comes in, a small graph of element names goes out. It judges no payload and knows no namespaces.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::shape::{ComplexContent, Declaration, SchemaShape, Term, TypeShape};
use crate::tree::{self, XmlElement};

/// Which elements of a payload hold only text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextElements {
    /// The root element is first.
    nodes: Vec<TextNode>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TextNode {
    kind: TextKind,
    /// The elements that it allows, by local name, with their namespaces.
    children: BTreeMap<String, (Arc<str>, usize)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TextKind {
    /// Text, and no child elements.
    Text,
    /// Another payload: any element.
    Payload,
    #[default]
    Other,
}

impl TextElements {
    /// An element that holds only text.
    #[must_use]
    pub fn new_text() -> Self {
        Self { nodes: vec![TextNode { kind: TextKind::Text, children: BTreeMap::new() }] }
    }

    /// An element that holds another payload.
    #[must_use]
    pub fn new_payload() -> Self {
        Self { nodes: vec![TextNode { kind: TextKind::Payload, children: BTreeMap::new() }] }
    }

    /// An element whose child elements have these names, and hold only text.
    #[must_use]
    pub fn of_children(names: &[&str]) -> Self {
        let children = names.iter().map(|name| ((*name).to_owned(), (Arc::from(""), 1))).collect();
        let text = TextNode { kind: TextKind::Text, children: BTreeMap::new() };
        Self { nodes: vec![TextNode { kind: TextKind::Other, children }, text] }
    }

    /// An element that holds one kind of child element.
    #[must_use]
    pub fn with_child(name: &str, child: Self) -> Self {
        let root = TextNode {
            kind: TextKind::Other,
            children: BTreeMap::from([(name.to_owned(), (Arc::from(""), 1))]),
        };
        let moved = child.nodes.into_iter().map(|mut node| {
            node.children.values_mut().for_each(|(_, at)| *at += 1);
            node
        });
        Self { nodes: std::iter::once(root).chain(moved).collect() }
    }

    /// The root element.
    #[must_use]
    pub fn root(&self) -> usize {
        0
    }

    /// Whether an element holds only text.
    #[must_use]
    pub fn is_text(&self, at: usize) -> bool {
        self.nodes.get(at).is_some_and(|node| node.kind == TextKind::Text)
    }

    /// Whether an element holds a payload.
    #[must_use]
    pub fn is_payload(&self, at: usize) -> bool {
        self.nodes.get(at).is_some_and(|node| node.kind == TextKind::Payload)
    }

    /// The child element of that local name.
    #[must_use]
    pub fn find_child(&self, at: usize, local: &str) -> Option<usize> {
        Some(self.nodes.get(at)?.children.get(local)?.1)
    }

    /// Whether an element allows a child element of that local name.
    #[must_use]
    pub fn is_allowed(&self, at: usize, local: &str) -> bool {
        self.find_child(at, local).is_some()
    }
}

/// Whether every element of a payload is declared at its place, so that none came in by a wildcard.
pub(crate) fn declares_all(schema: &SchemaShape, payload: &[u8]) -> bool {
    let Ok(root) = tree::read_tree(payload) else { return false };
    let is_own = *root.name.namespace == *schema.namespace;
    is_own && from_schema(schema, &root.name.local).is_some_and(|texts| texts.has_declared(0, &root))
}

impl TextElements {
    /// The recursion is bounded: the tree is never deeper than its reader allows.
    fn has_declared(&self, at: usize, element: &XmlElement) -> bool {
        element.children().all(|child| {
            let known = self.nodes.get(at).and_then(|node| node.children.get(&*child.name.local));
            known.is_some_and(|(ns, inside)| {
                **ns == *child.name.namespace && self.has_declared(*inside, child)
            })
        })
    }
}

/// The elements inside a global element.
pub(crate) fn from_schema(schema: &SchemaShape, element: &str) -> Option<TextElements> {
    let root = schema.find_global(element)?.of.0;
    let (mut numbers, mut waiting) = (BTreeMap::from([(root, 0)]), vec![root]);
    let mut nodes = BTreeMap::new();
    while let Some(id) = waiting.pop() {
        let (kind, declared) = make_node(schema, id);
        let mut children = BTreeMap::new();
        for child in declared {
            let next = numbers.len();
            let number = *numbers.entry(child.of.0).or_insert_with(|| {
                waiting.push(child.of.0);
                next
            });
            children.insert(child.name.clone(), (child.namespace.clone(), number));
        }
        nodes.insert(numbers.get(&id).copied()?, TextNode { kind, children });
    }
    Some(TextElements { nodes: nodes.into_values().collect() })
}

fn make_node(schema: &SchemaShape, id: usize) -> (TextKind, Vec<&Declaration>) {
    let mut found = Vec::new();
    let kind = match schema.find_type(crate::shape::TypeId(id)) {
        TypeShape::Simple(_) => TextKind::Text,
        TypeShape::Anything => TextKind::Other,
        TypeShape::Complex(complex) => match &complex.content {
            ComplexContent::Text(_) | ComplexContent::Free => TextKind::Text,
            ComplexContent::Empty => TextKind::Other,
            ComplexContent::Children(particle) => {
                collect_elements(&particle.term, &mut found);
                TextKind::Other
            }
        },
    };
    (kind, found)
}

/// The elements of a term. Two with one name and different types are both left out.
fn collect_elements<'m>(term: &'m Term, found: &mut Vec<&'m Declaration>) {
    let mut all = Vec::new();
    term.collect_elements(&mut all);
    let is_clear = |one: &&Declaration| all.iter().all(|other| other.name != one.name || other.of == one.of);
    found.extend(all.iter().copied().filter(|one| is_clear(one)));
}
