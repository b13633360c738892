//! The elements that a client may send from outside, each with a name that no other has.
//!
//! A listener that a client may not address has none, and no influence on the name of another.

use std::collections::BTreeSet;

use systole_core::rules::introspection::model_of;
use systole_core::types::composition::{Composition, ElementSchema, Listener, SchemaId};
use systole_core::types::ids::Name;
use systole_kit::schema::SchemaModel;

use crate::limits;

/// An element that a client may send.
pub struct SendableElement<'c> {
    /// Its name, in letters that hosts and models take.
    pub name: String,
    /// Who takes it.
    pub listener: &'c Listener,
    /// The element.
    pub taken: &'c ElementSchema,
}

/// The elements of a client.
pub fn list_open<'c>(organism: &'c Composition, client: &Name) -> Vec<SendableElement<'c>> {
    let is_open = |one: &&Listener| one.entry && organism.may_address(client, &one.name);
    let open = organism.listeners.values().filter(is_open);
    let all: Vec<_> = open
        .flat_map(|one| {
            let is_offered = |taken: &&ElementSchema| one.shows_outside(taken) && !taken.brings_files();
            one.accepts.iter().filter(is_offered).map(move |taken| (one, taken))
        })
        .collect();
    let mut taken_names = BTreeSet::new();
    let mut open_elements = Vec::with_capacity(all.len());
    for (listener, taken) in &all {
        let is_shared = all.iter().filter(|(_, other)| other.name.local == taken.name.local).count() > 1;
        let wanted = match is_shared {
            true => format!("{}-{}", listener.name.as_str(), taken.name.local),
            false => taken.name.local.to_string(),
        };
        open_elements.push(SendableElement {
            name: find_free_name(&wanted, &mut taken_names),
            listener,
            taken,
        });
    }
    open_elements
}

/// A name in the letters that hosts and models take, and that no other tool has.
fn find_free_name(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    // There is room for the number behind it.
    let plain: String = wanted.chars().map(plain).take(limits::ELEMENT_NAME_BYTES - 8).collect();
    let mut name = plain.clone();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{plain}-{number}");
    }
    name
}

/// The model of a schema of the organism.
pub fn find_model(organism: &Composition, schema: SchemaId) -> Option<SchemaModel> {
    model_of(organism, &organism.schemas.get(schema.0)?.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_short_and_different() {
        let mut taken = BTreeSet::new();
        let names = ["größe", "gr__e", "a.b", &"x".repeat(90), &"x".repeat(91)]
            .map(|name| find_free_name(name, &mut taken));
        assert_eq!(names[..3], ["gr__e", "gr__e-2", "a_b"]);
        assert_eq!(names[3].len(), 56);
        assert_eq!(names[4], format!("{}-2", names[3]));
    }
}
