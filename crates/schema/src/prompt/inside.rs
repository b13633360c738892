//! Facts about the direct content of a global element that its author needs: attributes by name, and whether its
//! children are in a namespace.
//!
//! A schema and a name come in, facts go out. It judges nothing.

use crate::shape::{ComplexContent, Declaration, Particle, SchemaShape, Term, TypeShape};

/// Whether the element has an attribute of that name.
pub(crate) fn has_attribute(schema: &SchemaShape, element: &str, attribute: &str) -> bool {
    let Some(declaration) = schema.find_global(element) else { return false };
    match schema.find_type(declaration.of) {
        TypeShape::Complex(complex) => complex.attributes.iter().any(|known| known.name == attribute),
        TypeShape::Simple(_) | TypeShape::Anything => false,
    }
}

/// Whether its first possible child is in a namespace; true for an element without children.
pub(crate) fn is_qualified(schema: &SchemaShape, element: &str) -> bool {
    let Some(declaration) = schema.find_global(element) else { return true };
    let TypeShape::Complex(complex) = schema.find_type(declaration.of) else { return true };
    let ComplexContent::Children(particle) = &complex.content else { return true };
    find_first(particle).is_none_or(|child| !child.namespace.is_empty())
}

fn find_first(particle: &Particle) -> Option<&Declaration> {
    match &particle.term {
        Term::Element(declaration) => Some(declaration),
        Term::Sequence(parts) | Term::All(parts) | Term::Choice(parts) => parts.iter().find_map(find_first),
        Term::Wildcard(_) => None,
    }
}
