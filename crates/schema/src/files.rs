//! Elements that refer to a file: those that a schema marks with `systole:file`.
//!
//! A payload comes in, the places of such elements go out. A schema comes in, the same one with numbers instead of
//! references goes out. It reads no file.

use std::ops::Range;
use std::sync::Arc;

use crate::judge::builtin::Builtin;
use crate::shape::{
    AttributeUse, ComplexContent, ComplexType, Declaration, Particle, SchemaShape, SimpleType, Term, TypeId,
    TypeShape, ValueBound,
};
use crate::tree::{self, XmlElement};

/// An element that refers to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileElement {
    /// Its local name.
    pub name: String,
    /// Its bytes in the payload.
    pub span: Range<usize>,
    /// The attribute `file`, as written.
    pub number: Option<String>,
}

/// The attribute that has the number of a file.
pub(crate) const NUMBER: &str = "file";

/// The key of its bytes in JSON.
pub(crate) const DATA: &str = "data";

/// The elements in document order. A schema without files costs nothing.
pub(crate) fn find_elements(schema: &SchemaShape, payload: &[u8]) -> Vec<FileElement> {
    let mut found = Vec::new();
    if schema.has_files
        && let Ok(root) = tree::read_tree(payload)
        && let Some(declaration) = schema.global_of(&root.name.namespace, &root.name.local)
    {
        visit_element(schema, declaration, &root, &mut found);
    }
    found
}

/// The recursion is bounded: the tree is never deeper than its reader allows.
fn visit_element(
    schema: &SchemaShape,
    declaration: &Declaration,
    element: &XmlElement,
    found: &mut Vec<FileElement>,
) {
    if declaration.marks.file {
        let number = element.attributes.iter().find(|one| one.name.is_named("", NUMBER));
        found.push(FileElement {
            name: element.name.local.as_str().to_owned(),
            span: element.span.clone(),
            number: number.map(|one| one.value.to_string()),
        });
        return;
    }
    let mut declared = Vec::new();
    if let TypeShape::Complex(ComplexType { content: ComplexContent::Children(particle), .. }) =
        schema.find_type(declaration.of)
    {
        particle.term.collect_elements(&mut declared);
    }
    for child in element.children() {
        let name = &child.name;
        let of = declared.iter().find(|one| *one.name == *name.local && *one.namespace == *name.namespace);
        // Only a wildcard admits an element that is not declared here.
        if let Some(of) = of.copied().or_else(|| schema.global_of(&name.namespace, &name.local)) {
            visit_element(schema, of, child, found);
        }
    }
}

/// The schema whose files are numbers, with that content beside.
pub(crate) fn number_files(schema: &SchemaShape, content: ComplexContent) -> SchemaShape {
    let least = ValueBound { value: "1".to_owned(), inclusive: true, fragment: String::new() };
    let simple = SimpleType { least: Some(least), ..SimpleType::new_plain(Builtin::Long) };
    let number = describe_attribute(NUMBER, "the number of a file that you were shown", simple, true);
    replace_files(schema, vec![number], content)
}

/// The schema for those who send the files themselves, in JSON.
pub(crate) fn carry_files(schema: &SchemaShape) -> SchemaShape {
    let text = || SimpleType::new_plain(Builtin::String);
    let attributes = vec![
        describe_attribute(DATA, "the bytes of the file, in base64", text(), true),
        describe_attribute("type", "its media type; without it the first bytes say it", text(), false),
        describe_attribute("name", "its name", text(), false),
    ];
    replace_files(schema, attributes, ComplexContent::Empty)
}

fn describe_attribute(name: &str, words: &str, simple: SimpleType, required: bool) -> AttributeUse {
    AttributeUse {
        name: name.to_owned(),
        documentation: Some(words.to_owned()),
        simple: Arc::new(simple),
        required,
        sensitive: false,
        default: None,
        fragment: format!("{name}=\"1\""),
    }
}

/// The schema with these attributes and that content in each element that refers to a file.
fn replace_files(
    schema: &SchemaShape,
    attributes: Vec<AttributeUse>,
    content: ComplexContent,
) -> SchemaShape {
    let mut replaced = schema.clone();
    if !schema.has_files {
        return replaced;
    }
    let other = TypeId(replaced.types.len());
    let written = attributes.iter().filter(|one| one.required).map(|one| format!(" {}", one.fragment));
    let written: String = written.collect();
    let change = |declaration: &mut Declaration| {
        if declaration.marks.file {
            declaration.of = other;
            declaration.fragment = format!("<{}{written}/>", declaration.name);
        }
    };
    replaced.elements.iter_mut().for_each(change);
    for of in &mut replaced.types {
        if let TypeShape::Complex(ComplexType { content: ComplexContent::Children(particle), .. }) = of {
            change_elements(particle, &change);
        }
    }
    replaced.types.push(TypeShape::Complex(ComplexType { documentation: None, attributes, content }));
    replaced
}

fn change_elements(particle: &mut Particle, change: &impl Fn(&mut Declaration)) {
    match &mut particle.term {
        Term::Element(declaration) => change(declaration),
        Term::Wildcard(_) => {}
        Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts) => {
            parts.iter_mut().for_each(|part| change_elements(part, change));
        }
    }
}
