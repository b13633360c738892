//! The rules by themselves: which case an item is, what a refusal says, what is kept of refused bytes.

use std::sync::Arc;

use systole::organism::bench::Bench;
use systole::rules::admit;
use systole::rules::classify::{Case, of_item};
use systole::words::codes::Code;
use systole::words::composition::{Composition, Schema, SchemaId};
use systole::words::flow::{Judge, Refused, Verdict};
use systole::words::ids::Digest;
use systole::words::limits;
use systole::words::refusal::Refusal;
use systole_kit::{Limits, Payload, QName};

use crate::pump::{composition, name};

fn case(element: &str, to: Option<&str>) -> Result<Case, Refusal> {
    let all = composition();
    let agent = all.listener(&name("agent")).unwrap().clone();
    of_item(&all, &agent, &QName::new("urn:test", element), to)
}

#[test]
fn an_item_is_the_first_case_that_fits() {
    let all = composition();
    let agent = all.listener(&name("agent")).unwrap();
    let own = QName::new(&agent.own_namespace(), "agent");
    assert_eq!(of_item(&all, agent, &own, None), Ok(Case::Note));
    assert_eq!(case("done", None), Ok(Case::Final(SchemaId(1))));
    assert_eq!(case("tool", None), Ok(Case::Call(name("tool"), SchemaId(1))));
    assert_eq!(case("agent", None), Ok(Case::Call(name("agent"), SchemaId(1))), "a peer of its own");
}

#[test]
fn a12_unknown_hidden_and_non_peer_addressees_get_the_same_words() {
    let unknown = case("tool", Some("ghost")).unwrap_err();
    assert_eq!(unknown.code, Code::NotAPeer);
    for to in ["quiet", "other", "core", "agent"] {
        assert_eq!(case("tool", Some(to)).unwrap_err(), unknown, "{to}");
    }
    let hidden = case("quiet", None).unwrap_err();
    let misspelt = case("tol", None).unwrap_err();
    assert_eq!((hidden.code, misspelt.code), (Code::NoSuchElement, Code::NoSuchElement));
    assert_eq!((hidden.message, hidden.expected), (misspelt.message, misspelt.expected));
}

/// Admits nothing.
struct Stern;

impl Judge for Stern {
    fn judge(&mut self, _: Digest, _: SchemaId, payload: Payload) -> Result<Verdict, Refused> {
        let refusal = Refusal::new(Code::Invalid, "no");
        Err(Refused { refusal, kept: Some(payload.bytes().clone()) })
    }
}

#[test]
fn of_a_refused_message_from_outside_an_excerpt_is_kept() {
    let text = "x".repeat(100_000);
    let document = ["<tool xmlns=\"urn:test\">", &text, "</tool>"].concat();
    let message = admit::message(
        &composition(),
        &name("operator"),
        document.as_bytes(),
        Some("tool"),
        None,
        &mut Stern,
    );
    let kept = message.payload.unwrap_err().kept.unwrap();
    assert_eq!(kept.len(), limits::EXCERPT_BYTES);
    assert!(document.as_bytes().starts_with(&kept));
}

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
    let mut bench = Bench::set_up([&all].into_iter()).unwrap();
    let payload = Payload::read(b"<b xmlns=\"urn:author\">x</b>", &Limits::default()).unwrap();
    assert!(bench.judge(all.hash, SchemaId(1), payload.clone()).is_ok());
    assert!(bench.judge(all.hash, SchemaId(0), payload).is_err());
}
