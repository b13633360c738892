//! The schema of an agent's own notes, which no composer writes: what an agent thought, and what it has still to do.
//!
//! In comes a name, out comes an XSD, the same bytes for the same name. Thoughts stand before lists, since the profile
//! has a wildcard in no choice. What a list is made of is held where notes are read: a schema imports nothing of the core.

use std::sync::Arc;

use crate::words::composition::{Listener, Schema};
use crate::words::ids::Name;

/// What names of such schemas begin with. Like every name that ends in a slash they are no file's.
pub(super) const NOTES: &str = "notes/";

/// Agents of these names would write notes in a namespace of the house.
pub(super) const HOUSE: [&str; 4] = ["envelope", "meta", "talk", "workflow"];

/// The name of an agent's schema.
pub(super) fn name_of(agent: &Name) -> String {
    [NOTES, agent.as_str(), "/"].concat()
}

/// The schema as this version makes it.
pub(super) fn made(agent: &Name) -> Schema {
    let namespace = Listener::namespace_of(agent);
    // A name has no sign that XML would have to escape.
    let xsd = [
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"",
        " targetNamespace=\"",
        &namespace,
        "\" elementFormDefault=\"qualified\">\n  <xs:element name=\"",
        agent.as_str(),
        BODY,
    ];
    Schema { name: name_of(agent), text: Arc::from(xsd.concat().into_bytes()) }
}

const BODY: &str = r###"">
    <xs:annotation><xs:documentation>A note of the agent to itself.</xs:documentation></xs:annotation>
    <xs:complexType>
      <xs:sequence>
        <xs:element name="thought" type="xs:string" minOccurs="0" maxOccurs="unbounded"/>
        <xs:any namespace="##other" processContents="lax" minOccurs="0" maxOccurs="unbounded"/>
      </xs:sequence>
    </xs:complexType>
  </xs:element>
</xs:schema>
"###;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_of_notes_is_one_that_the_profile_has() {
        let name = Name::parse("calc.add").unwrap();
        let model = systole_kit::schema::Model::read(&made(&name).text).unwrap();
        assert_eq!(model.target_namespace(), "https://xml-pipeline.org/ns/calc.add/v1");
        assert_eq!(model.elements().collect::<Vec<_>>(), ["calc.add"]);
        assert_eq!(made(&name).name, "notes/calc.add/");
    }
}
