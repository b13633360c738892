//! Finds types that no document can have, because an instance would never end.
//!
//! The types of a schema that has been read come in; whether each one ends goes out. A type may
//! contain itself if that is optional; a type that must contain itself has no instance at all.

use crate::shape::{ComplexContent, ComplexType, Particle, SchemaShape, Term, TypeId, TypeShape};

/// For each type whether it has an instance that ends.
pub(crate) fn find_ends(schema: &SchemaShape) -> Vec<bool> {
    let mut ends = vec![false; schema.types.len()];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); schema.types.len()];
    for (at, of) in schema.types.iter().enumerate() {
        for wanted in list_required(of) {
            if let Some(waiting) = waiting.get_mut(wanted.0) {
                waiting.push(at);
            }
        }
    }
    // Each type is examined again whenever one of its member types is found to end.
    let mut open: Vec<usize> = (0..schema.types.len()).rev().collect();
    while let Some(at) = open.pop() {
        let does = schema.types.get(at).is_some_and(|of| type_ends(of, &ends));
        if let Some(mark) = ends.get_mut(at).filter(|mark| does && !**mark) {
            *mark = true;
            open.append(waiting.get_mut(at).unwrap_or(&mut Vec::new()));
        }
    }
    ends
}

fn list_required(of: &TypeShape) -> Vec<TypeId> {
    let TypeShape::Complex(ComplexType { content: ComplexContent::Children(particle), .. }) = of else {
        return Vec::new();
    };
    let mut elements = Vec::new();
    particle.term.collect_elements(&mut elements);
    elements.into_iter().map(|element| element.of).collect()
}

fn type_ends(of: &TypeShape, ends: &[bool]) -> bool {
    match of {
        TypeShape::Complex(ComplexType { content: ComplexContent::Children(particle), .. }) => {
            particle_ends(particle, ends)
        }
        TypeShape::Complex(_) | TypeShape::Simple(_) | TypeShape::Anything => true,
    }
}

fn particle_ends(particle: &Particle, ends: &[bool]) -> bool {
    let of = |parts: &[Particle]| parts.iter().all(|part| particle_ends(part, ends));
    particle.min == 0
        || match &particle.term {
            Term::Element(declaration) => ends.get(declaration.of.0).is_some_and(|ends| *ends),
            Term::Wildcard(_) => true,
            Term::Sequence(parts) | Term::All(parts) => of(parts),
            Term::Choice(parts) => parts.is_empty() || parts.iter().any(|part| particle_ends(part, ends)),
        }
}
