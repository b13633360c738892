//! The content of a schema document as plain values: declarations, types, particles and facets.
//!
//! Types are in one table and refer to each other by `TypeId`, because a type may contain itself. It
//! reads, judges and words nothing.

use std::collections::HashMap;
use std::sync::Arc;

use crate::judge::builtin::{Builtin, WhiteSpace};
use crate::judge::pattern::CompiledPattern;

/// A type by its place in the table of the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeId(pub(crate) usize);

/// A schema document, read together with the documents that it imports.
#[derive(Clone, Debug, Default)]
pub(crate) struct SchemaShape {
    pub(crate) namespace: Arc<str>,
    /// The namespaces that the document itself imports, in its order.
    pub(crate) imports: Vec<Arc<str>>,
    /// The documents drawn in by imports of imports, by their place among the offered documents.
    pub(crate) drawn_in: Vec<usize>,
    /// The global elements of all these documents, its own first.
    pub(crate) elements: Vec<Declaration>,
    pub(crate) types: Vec<TypeShape>,
    /// Whether any value is marked as sensitive.
    pub(crate) has_sensitive: bool,
    /// Whether any element is marked as a file.
    pub(crate) has_files: bool,
    /// The place of a global element in `elements`, by namespace and local name.
    places: HashMap<Arc<str>, HashMap<String, usize>>,
}

impl SchemaShape {
    /// A global element of the document's own namespace.
    pub(crate) fn find_global(&self, local: &str) -> Option<&Declaration> {
        self.global_of(&self.namespace, local)
    }

    /// A global element of this namespace or of an imported one.
    pub(crate) fn global_of(&self, namespace: &str, local: &str) -> Option<&Declaration> {
        self.elements.get(*self.places.get(namespace)?.get(local)?)
    }

    /// The global elements of the document's own namespace, in its order.
    pub(crate) fn list_own(&self) -> impl Iterator<Item = &Declaration> {
        self.elements.iter().filter(|element| element.namespace == self.namespace)
    }

    /// The purpose of an element, from its own documentation or that of its type.
    pub(crate) fn find_about<'m>(&'m self, declaration: &'m Declaration) -> Option<&'m str> {
        let of_type = || match self.find_type(declaration.of) {
            TypeShape::Complex(complex) => complex.documentation.as_deref(),
            TypeShape::Simple(_) | TypeShape::Anything => None,
        };
        declaration.documentation.as_deref().or_else(of_type)
    }

    /// Adds a global element; `false` if there is one of this name already.
    pub(crate) fn declare(&mut self, declaration: Declaration) -> bool {
        let places = self.places.entry(Arc::clone(&declaration.namespace)).or_default();
        let is_new = places.insert(declaration.name.clone(), self.elements.len()).is_none();
        self.elements.push(declaration);
        is_new
    }

    /// The type behind an id. Ids come from reading the same schema, so every id is known. An unknown id
    /// would allow anything, which leaves the decision to libxml2.
    pub(crate) fn find_type(&self, id: TypeId) -> &TypeShape {
        self.types.get(id.0).unwrap_or(&TypeShape::Anything)
    }
}

/// An element as declared, global or local.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    /// The namespace that its instances have; empty for none.
    pub(crate) namespace: Arc<str>,
    pub(crate) of: TypeId,
    pub(crate) documentation: Option<String>,
    /// The byte of the document at which the declaration begins.
    pub(crate) offset: usize,
    /// Whether it is annotated as dangerous.
    pub(crate) dangerous: bool,
    pub(crate) marks: Box<ElementMarks>,
    /// The value that a reader supplies if it is missing.
    pub(crate) default: Option<String>,
    /// The declaration as in the schema, shortened to its start tag if it is long.
    pub(crate) fragment: String,
}

impl Declaration {
    /// Its key in JSON.
    pub(crate) fn key(&self) -> &str {
        self.marks.key.as_deref().unwrap_or(&self.name)
    }
}

/// What an element is outside XML: the annotations `systole:tool`, `systole:file`, `systole:together` and those that begin
/// with `systole:json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ElementMarks {
    /// The name of the tool that it stands for.
    pub(crate) tool: Option<String>,
    /// Whether all payloads of one reply that are marked so are put into one change set.
    pub(crate) together: bool,
    /// Whether what is between its tags can be erased from the record.
    pub(crate) sensitive: bool,
    /// Whether it refers to a file.
    pub(crate) file: bool,
    /// Its key in JSON, if that is not its name.
    pub(crate) key: Option<String>,
    pub(crate) null: JsonNull,
    pub(crate) shape: JsonShape,
}

/// What `null` means for an element that may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum JsonNull {
    /// It is an error.
    #[default]
    Never,
    /// A missing element is `null`, and `null` a missing element.
    Missing,
    /// `null` is a missing element; a missing element has no key.
    Accepted,
}

/// The JSON form that an annotation names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum JsonShape {
    /// That of the type.
    #[default]
    Usual,
    /// An object whose keys are those of the entries.
    Map,
    /// That of the one element inside.
    Choice,
    /// The value that the text spells.
    Text,
    /// `null`.
    Null,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeShape {
    Simple(Arc<SimpleType>),
    Complex(ComplexType),
    /// The type of content that a lax wildcard admits unchecked.
    Anything,
}

#[derive(Clone, Debug)]
pub(crate) struct ComplexType {
    /// The purpose of the type: the words for its elements without their own.
    pub(crate) documentation: Option<String>,
    pub(crate) attributes: Vec<AttributeUse>,
    pub(crate) content: ComplexContent,
}

#[derive(Clone, Debug)]
pub(crate) enum ComplexContent {
    Empty,
    /// Text of a simple type, with optional attributes.
    Text(Arc<SimpleType>),
    /// Any text and no elements, with optional attributes.
    Free,
    Children(Particle),
}

#[derive(Clone, Debug)]
pub(crate) struct AttributeUse {
    pub(crate) name: String,
    pub(crate) documentation: Option<String>,
    pub(crate) simple: Arc<SimpleType>,
    pub(crate) required: bool,
    /// Whether its value can be erased from the record.
    pub(crate) sensitive: bool,
    /// The value that a reader supplies if it is missing.
    pub(crate) default: Option<String>,
    pub(crate) fragment: String,
}

/// A term and how often it may occur; no `max` is `unbounded`.
#[derive(Clone, Debug)]
pub(crate) struct Particle {
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    pub(crate) term: Term,
}

#[derive(Clone, Debug)]
pub(crate) enum Term {
    Element(Declaration),
    Sequence(Vec<Particle>),
    Choice(Vec<Particle>),
    All(Vec<Particle>),
    Wildcard(Wildcard),
}

/// `xs:any`, always lax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wildcard {
    Any,
    /// Any namespace except this one, which is that of its own document, and except none.
    Other(Arc<str>),
}

impl Wildcard {
    pub(crate) fn can_take(&self, namespace: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Other(own) => !namespace.is_empty() && *namespace != **own,
        }
    }
}

impl Particle {
    /// Whether it is satisfied by nothing at all.
    pub(crate) fn may_be_absent(&self) -> bool {
        self.min == 0 || self.term.may_be_empty()
    }
}

impl Term {
    pub(crate) fn may_be_empty(&self) -> bool {
        match self {
            Self::Element(_) | Self::Wildcard(_) => false,
            Self::Sequence(parts) | Self::All(parts) => parts.iter().all(Particle::may_be_absent),
            Self::Choice(parts) => parts.iter().any(Particle::may_be_absent),
        }
    }

    /// Every element of this term, in order, at any depth of groups.
    pub(crate) fn collect_elements<'a>(&'a self, found: &mut Vec<&'a Declaration>) {
        match self {
            Self::Element(declaration) => found.push(declaration),
            Self::Wildcard(_) => {}
            Self::Sequence(parts) | Self::Choice(parts) | Self::All(parts) => {
                parts.iter().for_each(|part| part.term.collect_elements(found));
            }
        }
    }
}

/// The base of a simple type.
#[derive(Clone, Debug)]
pub(crate) enum SimpleVariety {
    Atomic(Builtin),
    /// Items separated by blanks, all of this type, which is not a list.
    List(Arc<SimpleType>),
    /// The first member that admits a value reads it. No member is a union.
    Union(Vec<Arc<SimpleType>>),
}

/// A restriction of a built-in type, a list or a union, all derivation steps folded into one.
#[derive(Clone, Debug)]
pub(crate) struct SimpleType {
    pub(crate) variety: SimpleVariety,
    pub(crate) space: WhiteSpace,
    /// One entry per derivation step that has patterns: in each step one pattern must match.
    pub(crate) patterns: Vec<Vec<FacetValue<CompiledPattern>>>,
    pub(crate) values: Vec<FacetValue<String>>,
    pub(crate) length: Option<FacetValue<usize>>,
    pub(crate) min_length: Option<FacetValue<usize>>,
    pub(crate) max_length: Option<FacetValue<usize>>,
    pub(crate) total_digits: Option<FacetValue<usize>>,
    pub(crate) fraction_digits: Option<FacetValue<usize>>,
    pub(crate) least: Option<ValueBound>,
    pub(crate) most: Option<ValueBound>,
}

impl SimpleType {
    pub(crate) fn new_plain(base: Builtin) -> Self {
        Self::from_variety(SimpleVariety::Atomic(base), base.white_space())
    }

    pub(crate) fn new_list(item: Arc<SimpleType>) -> Self {
        Self::from_variety(SimpleVariety::List(item), WhiteSpace::Collapse)
    }

    /// The member that reads a value handles its white space.
    pub(crate) fn new_union(members: Vec<Arc<SimpleType>>) -> Self {
        Self::from_variety(SimpleVariety::Union(members), WhiteSpace::Preserve)
    }

    /// Whether restrictions have added anything to the variety.
    pub(crate) fn has_facets(&self) -> bool {
        let counted = [&self.length, &self.min_length, &self.max_length];
        !self.patterns.is_empty() || !self.values.is_empty() || counted.iter().any(|facet| facet.is_some())
    }

    fn from_variety(variety: SimpleVariety, space: WhiteSpace) -> Self {
        Self {
            variety,
            space,
            patterns: Vec::new(),
            values: Vec::new(),
            length: None,
            min_length: None,
            max_length: None,
            total_digits: None,
            fraction_digits: None,
            least: None,
            most: None,
        }
    }
}

/// A facet's value, with the facet as written in the schema.
#[derive(Clone, Debug)]
pub(crate) struct FacetValue<T> {
    pub(crate) value: T,
    pub(crate) fragment: String,
}

/// A smallest or largest value; `inclusive` says whether the bound itself is allowed.
#[derive(Clone, Debug)]
pub(crate) struct ValueBound {
    pub(crate) value: String,
    pub(crate) inclusive: bool,
    pub(crate) fragment: String,
}
