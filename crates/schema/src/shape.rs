//! What a schema document says, as plain values: declarations, types, particles and facets.
//!
//! Types lie in one table and refer to each other by `TypeId`, because a type may contain itself. Nothing
//! here reads, judges or words anything.

use std::collections::HashMap;
use std::sync::Arc;

use crate::judge::builtin::{Builtin, WhiteSpace};
use crate::judge::pattern::Pattern;

/// A type by its place in the table of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(pub(crate) usize);

/// A schema document, read together with the documents that it imports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    pub(crate) namespace: Arc<str>,
    /// The namespaces that the document itself imports, in its order.
    pub(crate) imports: Vec<Arc<str>>,
    /// The documents drawn in by imports of imports, by their place among those that were offered.
    pub(crate) drawn_in: Vec<usize>,
    /// The global elements of all these documents, its own first.
    pub(crate) elements: Vec<Declaration>,
    pub(crate) types: Vec<Type>,
    /// Where a global element stands in `elements`, by namespace and local name.
    places: HashMap<Arc<str>, HashMap<String, usize>>,
}

impl Schema {
    /// A global element of the document's own namespace.
    pub(crate) fn global(&self, local: &str) -> Option<&Declaration> {
        self.global_of(&self.namespace, local)
    }

    /// A global element of this namespace or of an imported one.
    pub(crate) fn global_of(&self, namespace: &str, local: &str) -> Option<&Declaration> {
        self.elements.get(*self.places.get(namespace)?.get(local)?)
    }

    /// The global elements of the document's own namespace, in its order.
    pub(crate) fn own(&self) -> impl Iterator<Item = &Declaration> {
        self.elements.iter().filter(|element| element.namespace == self.namespace)
    }

    /// What an element is for, in its own words or in those of its type.
    pub(crate) fn about<'m>(&'m self, declaration: &'m Declaration) -> Option<&'m str> {
        let of_type = || match self.of(declaration.of) {
            Type::Complex(complex) => complex.documentation.as_deref(),
            Type::Simple(_) | Type::Anything => None,
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

    /// The type behind an id. Ids come from reading the same schema, so none is ever unknown; were one,
    /// it would allow anything, which is the side on which libxml2 decides alone.
    pub(crate) fn of(&self, id: TypeId) -> &Type {
        self.types.get(id.0).unwrap_or(&Type::Anything)
    }
}

/// An element as declared, global or local.
#[derive(Clone, Debug)]
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
    /// What a reader supplies where it was left out.
    pub(crate) default: Option<String>,
    /// The declaration as it stands in the schema, shortened to its start tag where it is long.
    pub(crate) fragment: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Type {
    Simple(Arc<Simple>),
    Complex(Complex),
    /// The type of what a lax wildcard lets in without knowing it.
    Anything,
}

#[derive(Clone, Debug)]
pub(crate) struct Complex {
    /// What the type is for: the words of its elements that have none of their own.
    pub(crate) documentation: Option<String>,
    pub(crate) attributes: Vec<AttributeUse>,
    pub(crate) content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Empty,
    /// Text of a simple type, beside attributes.
    Text(Arc<Simple>),
    /// Any text and no elements, beside attributes.
    Free,
    Children(Particle),
}

#[derive(Clone, Debug)]
pub(crate) struct AttributeUse {
    pub(crate) name: String,
    pub(crate) documentation: Option<String>,
    pub(crate) simple: Arc<Simple>,
    pub(crate) required: bool,
    /// What a reader supplies where it was left out.
    pub(crate) default: Option<String>,
    pub(crate) fragment: String,
}

/// A term and how often it may come; no `max` is `unbounded`.
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
    /// Any namespace but this one, which is that of the document it stands in, and but none.
    Other(Arc<str>),
}

impl Wildcard {
    pub(crate) fn takes(&self, namespace: &str) -> bool {
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

    /// Every particle of this term that holds an element, in order, however deep in groups it stands.
    pub(crate) fn elements<'a>(&'a self, found: &mut Vec<&'a Declaration>) {
        match self {
            Self::Element(declaration) => found.push(declaration),
            Self::Wildcard(_) => {}
            Self::Sequence(parts) | Self::Choice(parts) | Self::All(parts) => {
                parts.iter().for_each(|part| part.term.elements(found));
            }
        }
    }
}

/// What a simple type is built from.
#[derive(Clone, Debug)]
pub(crate) enum Variety {
    Atomic(Builtin),
    /// Items parted by blanks, all of this type, which is no list.
    List(Arc<Simple>),
    /// The first of these that admits a value reads it. None of them is a union.
    Union(Vec<Arc<Simple>>),
}

/// A restriction of a built-in type, a list or a union, all derivation steps folded into one.
#[derive(Clone, Debug)]
pub(crate) struct Simple {
    pub(crate) variety: Variety,
    pub(crate) space: WhiteSpace,
    /// One entry per derivation step that has patterns: of each step one must match.
    pub(crate) patterns: Vec<Vec<Faceted<Pattern>>>,
    pub(crate) values: Vec<Faceted<String>>,
    pub(crate) length: Option<Faceted<usize>>,
    pub(crate) min_length: Option<Faceted<usize>>,
    pub(crate) max_length: Option<Faceted<usize>>,
    pub(crate) total_digits: Option<Faceted<usize>>,
    pub(crate) fraction_digits: Option<Faceted<usize>>,
    pub(crate) least: Option<Bound>,
    pub(crate) most: Option<Bound>,
}

impl Simple {
    pub(crate) fn plain(base: Builtin) -> Self {
        Self::of(Variety::Atomic(base), base.white_space())
    }

    pub(crate) fn list(item: Arc<Simple>) -> Self {
        Self::of(Variety::List(item), WhiteSpace::Collapse)
    }

    /// White space is left to the member that reads a value.
    pub(crate) fn union(members: Vec<Arc<Simple>>) -> Self {
        Self::of(Variety::Union(members), WhiteSpace::Preserve)
    }

    /// Whether restrictions have added anything to the variety.
    pub(crate) fn has_facets(&self) -> bool {
        let counted = [&self.length, &self.min_length, &self.max_length];
        !self.patterns.is_empty() || !self.values.is_empty() || counted.iter().any(|facet| facet.is_some())
    }

    fn of(variety: Variety, space: WhiteSpace) -> Self {
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

/// A facet's value beside the facet as it stands in the schema.
#[derive(Clone, Debug)]
pub(crate) struct Faceted<T> {
    pub(crate) value: T,
    pub(crate) fragment: String,
}

/// A smallest or largest value; `inclusive` says whether it is itself allowed.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) value: String,
    pub(crate) inclusive: bool,
    pub(crate) fragment: String,
}
