//! The schema of the own notes of an agent or a workflow, which no composer writes: what an agent thought and what it has
//! still to do, what a workflow started and what it decided.
//!
//! In comes a name, out comes an XSD, the same bytes for the same name. Thoughts stand before lists, since the profile
//! has a wildcard in no choice. What a list is made of is held where notes are read: a schema imports nothing of the core.

use std::sync::Arc;

use systole_core::types::composition::{Listener, Schema};
use systole_core::types::ids::Name;

/// What names of such schemas begin with. Like every name that ends in a slash they are no file's.
pub(super) const NOTES: &str = "notes/";

/// Agents of these names would write notes in a namespace of the house.
pub(super) const HOUSE: [&str; 4] = ["envelope", "meta", "talk", "workflow"];

/// The name of an agent's schema.
pub(super) fn name_of(agent: &Name) -> String {
    format!("{NOTES}{}/", agent.as_str())
}

/// The schema as this version makes it.
pub(super) fn made(agent: &Name) -> Schema {
    let namespace = Listener::namespace_of(agent);
    with_body(agent, &namespace, BODY)
}

/// The schema of a workflow's notes.
pub(super) fn made_for_workflow(workflow: &Name) -> Schema {
    with_body(workflow, &Listener::namespace_of(workflow), WORKFLOW_BODY)
}

fn with_body(owner: &Name, namespace: &str, body: &str) -> Schema {
    // A name has no sign that XML would have to escape.
    let xsd = [
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"",
        " targetNamespace=\"",
        namespace,
        "\" elementFormDefault=\"qualified\">\n  <xs:element name=\"",
        owner.as_str(),
        body,
    ];
    Schema { name: name_of(owner), text: Arc::from(xsd.concat().into_bytes()) }
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

const WORKFLOW_BODY: &str = r###"">
    <xs:annotation><xs:documentation>A note of the workflow to itself.</xs:documentation></xs:annotation>
    <xs:complexType>
     <xs:sequence>
      <xs:choice minOccurs="0" maxOccurs="unbounded">
        <xs:element name="start">
          <xs:complexType>
            <xs:attribute name="ordinal" type="xs:string"/>
            <xs:attribute name="key" type="xs:string"/>
            <xs:attribute name="try" type="xs:string"/>
          </xs:complexType>
        </xs:element>
        <xs:element name="decided">
          <xs:complexType>
            <xs:attribute name="key" type="xs:string"/>
            <xs:attribute name="question" type="xs:string"/>
            <xs:attribute name="answer" type="xs:string"/>
          </xs:complexType>
        </xs:element>
      </xs:choice>
      <!-- Why supervisors are asked. -->
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
        let model = systole_kit::schema::Model::read(&made_for_workflow(&name).text).unwrap();
        let note = b"<calc.add xmlns=\"https://xml-pipeline.org/ns/calc.add/v1\"><decided key=\"a\"/><start try=\"1\"/><reconcile xmlns=\"https://xml-pipeline.org/ns/workflow/v1\" goal=\"a\"/></calc.add>";
        assert_eq!(model.explain(note), None);
    }
}
