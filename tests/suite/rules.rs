//! The compiled schemas of an organism: two files of one name.

use std::sync::Arc;

use systole_core::types::composition::{Composition, Schema, SchemaId};
use systole_core::types::flow::Judge as _;
use systole_kit::{DocumentLimits, Payload};
use systole_organism::compiled_schemas::CompiledSchemas;

use crate::decide_stage::composition;

/// A schema with one root element in a namespace.
fn schema(file: &str, namespace: &str, element: &str) -> Schema {
    let text = format!(
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="{namespace}"
             elementFormDefault="qualified"><xs:element name="{element}" type="xs:string"/></xs:schema>"#
    );
    Schema { name: file.to_owned(), text: Arc::from(text.into_bytes()) }
}

#[test]
fn a_schema_whose_file_is_named_like_one_of_the_houses_judges_its_own() {
    let schemas = vec![schema("core.xsd", "urn:house", "a"), schema("core.xsd", "urn:author", "b")];
    let all = Arc::new(Composition { schemas, ..composition() });
    let mut schemas = CompiledSchemas::set_up([&all].into_iter()).unwrap();
    let payload = Payload::parse(b"<b xmlns=\"urn:author\">x</b>", &DocumentLimits::default()).unwrap();
    assert!(schemas.judge_payload(all.hash, SchemaId(1), payload.clone()).is_ok());
    assert!(schemas.judge_payload(all.hash, SchemaId(0), payload).is_err());
}
