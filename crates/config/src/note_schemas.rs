//! The schema for the notes of an agent or a workflow, which the author does not write. An agent notes its thoughts
//! and its open steps. A workflow notes what it started and decided.
//!
//! Input: a name. Output: an XSD, always the same bytes for the same name. Thoughts come before lists, because the
//! profile allows no wildcard in a choice. The form of a list is checked where notes are read, because this schema
//! does not import the core's.

use std::sync::Arc;

use systole_core::types::composition::{Listener, Schema};
use systole_core::types::ids::Name;

/// The name prefix of these schemas. Like every name that ends in a slash, they are not names of files.
pub(super) const NOTES: &str = "notes/";

/// Agents with these names would write notes in a reserved namespace.
pub(super) const HOUSE: [&str; 5] = ["code", "envelope", "meta", "talk", "workflow"];

/// The name of an agent's schema.
pub(super) fn name_of(agent: &Name) -> String {
    format!("{NOTES}{}/", agent.as_str())
}

/// The schema in the form of this version.
pub(super) fn make_schema(agent: &Name) -> Schema {
    let namespace = Listener::namespace_of(agent);
    with_body(agent, &namespace, BODY)
}

/// The schema of a workflow's notes.
pub(super) fn made_for_workflow(workflow: &Name) -> Schema {
    with_body(workflow, &Listener::namespace_of(workflow), WORKFLOW_BODY)
}

fn with_body(owner: &Name, namespace: &str, body: &str) -> Schema {
    // A name contains no characters that XML must escape.
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
        let model = systole_kit::schema::SchemaModel::from_xsd(&make_schema(&name).text).unwrap();
        assert_eq!(model.target_namespace(), "https://xml-pipeline.org/ns/calc.add/v1");
        assert_eq!(model.elements().collect::<Vec<_>>(), ["calc.add"]);
        assert_eq!(make_schema(&name).name, "notes/calc.add/");
        let model = systole_kit::schema::SchemaModel::from_xsd(&made_for_workflow(&name).text).unwrap();
        let note = b"<calc.add xmlns=\"https://xml-pipeline.org/ns/calc.add/v1\"><decided key=\"a\"/><start try=\"1\"/><reconcile xmlns=\"https://xml-pipeline.org/ns/workflow/v1\" goal=\"a\"/></calc.add>";
        assert_eq!(model.explain_payload(note), None);
    }
}
