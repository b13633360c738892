//! Reads a schema document into the model's shapes and lists what the profile leaves out.
//!
//! XSD bytes come in; a `Schema`, or every unfit construct with line, column and mend, goes out. It never
//! follows a location: whatever names one is unfit. Complex types are read in
//! `read_content`, simple types in `read_simple`.

use std::collections::HashMap;
use std::sync::Arc;

use super::Unfit;
use super::beyond::{attribute_words, construct_words};
use super::builtin::Builtin;
use super::nearest::nearest;
use super::shape::{Declaration, Schema, Simple, Type, TypeId};
use super::tree::{self, Element, Part};
use crate::namespaces::SCHEMA;

pub(super) const XSD: &str = "http://www.w3.org/2001/XMLSchema";

/// The annotations that the house knows. A misspelt one would be a rule that nobody keeps.
const ANNOTATIONS: [&str; 3] = ["dangerous", "default", "sensitive"];

/// Largest schema document, the same limit as for a message.
const BYTES: usize = 1 << 20;

/// Longest fragment of a schema that is quoted whole.
const QUOTED: usize = 160;

pub(super) fn schema(xsd: &[u8]) -> Result<Schema, Vec<Unfit>> {
    let tree = tree::read(xsd);
    let mut reading = Reading::new(xsd);
    match &tree {
        _ if xsd.len() > BYTES => {
            let mend = "split it over several listeners";
            reading.unfit(0, "document", "the schema is larger than 1 MiB", mend);
        }
        Ok(root) => reading.root(root),
        Err(fault) => {
            reading.unfit(fault.offset, "document", &fault.words, "write plain, well-formed UTF-8 XML");
        }
    }
    let Reading { schema, mut unfit, .. } = reading;
    // A named type that is unfit is met again wherever it is used.
    unfit.sort_by_key(|unfit| (unfit.line, unfit.column));
    unfit.dedup();
    if unfit.is_empty() { Ok(schema) } else { Err(unfit) }
}

/// A global type that is read when it is first needed.
pub(super) struct Named<'t> {
    pub(super) element: &'t Element,
    pub(super) id: TypeId,
    pub(super) simple: Option<Arc<Simple>>,
}

/// A schema being read; `'t` is the life of its tree.
pub(super) struct Reading<'t> {
    xsd: &'t [u8],
    unfit: Vec<Unfit>,
    schema: Schema,
    pub(super) named: HashMap<&'t str, Named<'t>>,
    built_in: Vec<(Builtin, TypeId)>,
}

impl<'t> Reading<'t> {
    fn new(xsd: &'t [u8]) -> Self {
        let schema = Schema::default();
        Self { xsd, unfit: Vec::new(), schema, named: HashMap::new(), built_in: Vec::new() }
    }

    pub(super) fn unfit(&mut self, offset: usize, construct: &str, message: &str, mend: &str) {
        let (line, column) = tree::line_and_column(self.xsd, offset);
        self.unfit.push(Unfit {
            line,
            column,
            construct: construct.to_owned(),
            message: message.to_owned(),
            mend: mend.to_owned(),
        });
    }

    pub(super) fn unfit_at(&mut self, element: &Element, message: &str, mend: &str) {
        self.unfit(element.span.start, &["xs:", &element.name.local].concat(), message, mend);
    }

    /// The element as it stands in the schema, or only its start tag where it is long.
    pub(super) fn fragment(&self, element: &Element) -> String {
        let whole = self.xsd.get(element.span.clone()).unwrap_or_default();
        let head = self.xsd.get(element.span.start..element.head_end).unwrap_or_default();
        let shown = if whole.len() <= QUOTED { whole } else { head };
        String::from_utf8_lossy(shown).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Checks that an element has no attributes but these; those of foreign namespaces say nothing here.
    pub(super) fn only_attributes(&mut self, element: &Element, known: &[&str]) {
        for attribute in &element.attributes {
            let name = attribute.name.local.as_str();
            if *attribute.name.namespace == *SCHEMA && !ANNOTATIONS.contains(&name) {
                let mend = nearest(name, ANNOTATIONS.iter().copied()).unwrap_or("leave it out");
                self.unfit(element.span.start, name, "there is no such annotation", mend);
            }
            if attribute.name.namespace.is_empty() && name != "id" && !known.contains(&name) {
                let (message, mend) = attribute_words(name);
                self.unfit(element.span.start, name, message, mend);
            }
        }
    }

    /// The children that matter: annotations are left out, other vocabularies and stray text are unfit.
    pub(super) fn members(&mut self, element: &'t Element) -> Vec<&'t Element> {
        let mut members = Vec::new();
        for part in &element.parts {
            match part {
                Part::Element(child) if *child.name.namespace != *XSD => {
                    let message = "an element of another vocabulary stands outside xs:appinfo";
                    self.unfit(
                        child.span.start,
                        &child.tag,
                        message,
                        "move it into xs:annotation/xs:appinfo",
                    );
                }
                Part::Element(child) if child.name.local == "annotation" => {}
                Part::Element(child) => members.push(child),
                Part::Text(text) if text.is_layout() => {}
                Part::Text(text) => {
                    self.unfit(text.offset, "text", "text stands outside xs:documentation", "leave it out");
                }
            }
        }
        members
    }

    fn root(&mut self, root: &'t Element) {
        if !root.name.is(XSD, "schema") {
            let message = "the root element is not xs:schema of XML Schema 1.0";
            self.unfit(root.span.start, &root.tag, message, "begin with xs:schema");
            return;
        }
        let known = ["targetNamespace", "elementFormDefault", "attributeFormDefault", "version"];
        self.only_attributes(root, &known);
        match root.attribute("targetNamespace") {
            Some(namespace) if !namespace.is_empty() => self.schema.namespace = namespace.to_owned(),
            _ => self.unfit_at(root, "there is no targetNamespace", "add targetNamespace=\"…\""),
        }
        if root.attribute("elementFormDefault") != Some("qualified") {
            let mend = "add elementFormDefault=\"qualified\"";
            self.unfit_at(root, "elementFormDefault is not \"qualified\"", mend);
        }
        if root.attribute("attributeFormDefault").is_some_and(|form| form != "unqualified") {
            let mend = "leave attributeFormDefault out";
            self.unfit_at(root, "attributes of a namespace are not built yet", mend);
        }
        let members = self.members(root);
        for member in &members {
            match member.name.local.as_str() {
                "element" => {}
                "complexType" | "simpleType" => self.name_type(member),
                other => {
                    let (message, mend) = construct_words(other);
                    self.unfit_at(member, message, mend);
                }
            }
        }
        // Global elements get their places first, so that a type may refer to them, or to itself.
        let globals = self.declare_globals(&members);
        self.read_named();
        self.read_globals(&globals);
        if self.schema.elements.is_empty() {
            self.unfit_at(
                root,
                "no global element is declared",
                "declare the payload as a global xs:element",
            );
        }
    }

    fn name_type(&mut self, element: &'t Element) {
        let Some(name) = element.attribute("name") else {
            self.unfit_at(element, "a global type has no name", "add name=\"…\"");
            return;
        };
        let id = self.reserve();
        if self.named.insert(name, Named { element, id, simple: None }).is_some() {
            self.unfit_at(element, &["the type ", name, " is defined twice"].concat(), "rename one of them");
        }
    }

    fn reserve(&mut self) -> TypeId {
        self.schema.types.push(Type::Anything);
        TypeId(self.schema.types.len().saturating_sub(1))
    }

    fn settle(&mut self, id: TypeId, read: Type) {
        if let Some(slot) = self.schema.types.get_mut(id.0) {
            *slot = read;
        }
    }

    fn read_named(&mut self) {
        let mut named: Vec<_> = self.named.values().map(|named| (named.element, named.id)).collect();
        named.sort_by_key(|(element, _)| element.span.start);
        for (element, id) in named {
            let read = if element.name.local == "simpleType" {
                self.simple_named(element.attribute("name").unwrap_or_default(), 0).map(Type::Simple)
            } else {
                self.only_attributes(element, &["name", "mixed"]);
                self.complex(element).map(Type::Complex)
            };
            if let Some(read) = read {
                self.settle(id, read);
            }
        }
    }

    fn declare_globals(&mut self, members: &[&'t Element]) -> Vec<(&'t Element, TypeId)> {
        let mut declared = Vec::new();
        for global in members.iter().filter(|member| member.name.local == "element") {
            self.only_attributes(global, &["name", "type"]);
            let Some(name) = global.attribute("name") else {
                self.unfit_at(global, "a global element has no name", "add name=\"…\"");
                continue;
            };
            if self.schema.global(name).is_some() {
                self.unfit_at(global, &["the element ", name, " is declared twice"].concat(), "rename one");
            }
            let of = self.reserve();
            if let Some(other) = mark_of_danger(global).filter(|value| !matches!(*value, "true" | "false")) {
                let message = ["systole:dangerous is `", other, "`"].concat();
                self.unfit_at(global, &message, "systole:dangerous=\"true\", or leave it out");
            }
            let declaration = self.declaration(global, name, of);
            self.schema.elements.push(declaration);
            declared.push((*global, of));
        }
        declared
    }

    fn read_globals(&mut self, globals: &[(&'t Element, TypeId)]) {
        for (global, id) in globals {
            if let Some(read) = self.type_of(global) {
                let read = self.schema.of(read).clone();
                self.settle(*id, read);
            }
        }
    }

    pub(super) fn declaration(&self, element: &Element, name: &str, of: TypeId) -> Declaration {
        let (documentation, fragment) = (documentation(element), self.fragment(element));
        let dangerous = mark_of_danger(element) == Some("true");
        let offset = element.span.start;
        Declaration { name: name.to_owned(), of, documentation, offset, dangerous, fragment }
    }

    /// The type of an element: by name, or written inside it.
    pub(super) fn type_of(&mut self, element: &'t Element) -> Option<TypeId> {
        let members = self.members(element);
        match (element.attribute("type"), members.as_slice()) {
            (Some(name), []) => self.type_named(element, name),
            (None, [inner]) if inner.name.local == "simpleType" => {
                self.only_attributes(inner, &[]);
                let read = self.simple(inner, 0)?;
                let id = self.reserve();
                self.settle(id, Type::Simple(read));
                Some(id)
            }
            (None, [inner]) if inner.name.local == "complexType" => {
                self.only_attributes(inner, &["mixed"]);
                let read = self.complex(inner)?;
                let id = self.reserve();
                self.settle(id, Type::Complex(read));
                Some(id)
            }
            (None, []) => {
                let mend = "add type=\"xs:string\" or another type";
                self.unfit_at(element, "an element without a type takes anything", mend);
                None
            }
            (_, [inner, ..]) => {
                let (message, mend) = construct_words(&inner.name.local);
                self.unfit_at(inner, message, mend);
                None
            }
        }
    }

    fn type_named(&mut self, element: &'t Element, written: &str) -> Option<TypeId> {
        let name = element.qualified(written);
        match name {
            Some(name) if *name.namespace == *XSD => {
                let built_in = self.built_in(element, &name.local)?;
                if let Some((_, id)) = self.built_in.iter().find(|(known, _)| *known == built_in) {
                    return Some(*id);
                }
                let id = self.reserve();
                self.settle(id, Type::Simple(Arc::new(Simple::plain(built_in))));
                self.built_in.push((built_in, id));
                Some(id)
            }
            Some(name) if *name.namespace == *self.schema.namespace => {
                let found = self.named.get(name.local.as_str()).map(|named| named.id);
                if found.is_none() {
                    let message = ["the type ", written, " is not defined in this schema"].concat();
                    self.unfit_at(element, &message, "define it, or correct its name");
                }
                found
            }
            Some(_) => {
                let message = ["the type ", written, " is of another namespace: not built yet"].concat();
                self.unfit_at(element, &message, "define the type in this schema");
                None
            }
            None => {
                let message = ["the prefix of ", written, " is not declared"].concat();
                self.unfit_at(element, &message, "declare the prefix on xs:schema");
                None
            }
        }
    }

    pub(super) fn target(&self) -> &str {
        &self.schema.namespace
    }

    /// How many constructs were found unfit so far.
    pub(super) fn faults(&self) -> usize {
        self.unfit.len()
    }

    pub(super) fn is_global_dangerous(&self, name: &str) -> bool {
        self.schema.global(name).is_some_and(|declaration| declaration.dangerous)
    }

    /// The type that a global element will have.
    pub(super) fn promised(&self, name: &str) -> Option<TypeId> {
        self.schema.global(name).map(|declaration| declaration.of)
    }
}

/// What an element says of being dangerous.
pub(super) fn mark_of_danger(element: &Element) -> Option<&str> {
    let found = element.attributes.iter().find(|attribute| attribute.name.is(SCHEMA, "dangerous"))?;
    Some(&found.value)
}

fn documentation(element: &Element) -> Option<String> {
    let annotations = element.children().filter(|child| child.name.is(XSD, "annotation"));
    let texts = annotations.flat_map(Element::children).filter(|child| child.name.is(XSD, "documentation"));
    let words: Vec<String> =
        texts.map(|text| text.text().split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let joined = words.join(" ");
    (!joined.is_empty()).then_some(joined)
}
