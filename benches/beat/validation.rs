//! The cost of judging a payload next to strict libxml2 alone, and whether it grows only with the size.
//! Also whether memory stays flat over messages with names that were never used before.

use std::fmt::Write as _;

use libxml::parser::{Parser, ParserOptions};
use libxml::schemas::{SchemaParserContext, SchemaValidationContext};
use systole_judge::{CompiledSchemaId, LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::{DocumentLimits, Payload};

use crate::child::resident_mb;
use crate::report::{Table, seconds, sized};

const XSD: &str = r###"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:v" targetNamespace="urn:v" elementFormDefault="qualified">
  <xs:element name="search"><xs:complexType><xs:all>
    <xs:element name="query" type="xs:string"/>
    <xs:element name="limit" minOccurs="0"><xs:simpleType><xs:restriction base="xs:long">
      <xs:minInclusive value="1"/><xs:maxInclusive value="100"/></xs:restriction></xs:simpleType></xs:element>
    <xs:element name="ports" minOccurs="0"><xs:simpleType><xs:list itemType="size"/></xs:simpleType></xs:element>
  </xs:all></xs:complexType></xs:element>
  <xs:simpleType name="size"><xs:union memberTypes="xs:int xs:NCName"/></xs:simpleType>
  <xs:element name="many"><xs:complexType><xs:sequence>
    <xs:element name="b" type="xs:int" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>
  <xs:element name="open"><xs:complexType><xs:sequence>
    <xs:any namespace="##other" processContents="lax" minOccurs="0" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType></xs:element>
</xs:schema>"###;

fn search(query_bytes: usize) -> String {
    let query = "login ".repeat(query_bytes / 6);
    format!(
        r#"<search xmlns="urn:v"><query>{query}</query><limit>50</limit><ports>80 443 auto</ports></search>"#
    )
}

fn many(elements: usize) -> String {
    format!(r#"<many xmlns="urn:v">{}</many>"#, "<b>12345</b>".repeat(elements))
}

fn judge() -> (LibxmlJudge, CompiledSchemaId) {
    let source = SchemaSource { name: "v".to_owned(), xsd: XSD.as_bytes().to_vec() };
    let judge = LibxmlJudge::compile_sources(&[source]).unwrap();
    let id = judge.find_schema("v").unwrap();
    (judge, id)
}

/// Strict libxml2 alone.
struct Alone {
    parser: Parser,
    schema: SchemaValidationContext,
}

impl Alone {
    fn new() -> Alone {
        let mut compiler = SchemaParserContext::from_buffer(XSD);
        let Ok(schema) = SchemaValidationContext::from_parser(&mut compiler) else {
            unreachable!("the schema of the benchmark compiles")
        };
        Alone { parser: Parser::default(), schema }
    }

    fn validate(&mut self, payload: &str) {
        let strict = ParserOptions { recover: false, no_net: true, ..ParserOptions::default() };
        let document = self.parser.parse_string_with_options(payload, strict).unwrap();
        assert!(self.schema.validate_document(&document).is_ok(), "the payload is valid");
    }
}

/// The microseconds of one repetition of some work.
fn micros(turns: usize, mut work: impl FnMut()) -> f64 {
    let (took, ()) = seconds(|| (0..turns).for_each(|_| work()));
    took * 1e6 / turns as f64
}

/// The cost next to the floor, for several shapes.
pub(crate) fn cost(table: &mut Table) {
    let (mut judge, id) = judge();
    let mut alone = Alone::new();
    let shapes = [
        ("512 B", search(400), 20_000),
        ("4 KB of text", search(4_000), 20_000),
        ("64 KB, 5,400 elements", many(5_400), 200),
        ("780 KB, 65,000 elements", many(65_000), 10),
    ];
    for (what, payload, turns) in &shapes {
        let (mut judged, mut admitted) = (Vec::new(), Vec::new());
        for _ in 0..table.runs {
            let floor = micros(*turns, || alone.validate(payload));
            judged.push((
                micros(*turns, || {
                    assert_eq!(judge.judge_payload(id, payload.as_bytes()), SchemaVerdict::Valid)
                }),
                floor,
            ));
            let whole = micros(*turns, || {
                let read = Payload::parse(payload.as_bytes(), &DocumentLimits::default()).unwrap();
                assert_eq!(judge.judge_payload(id, read.bytes()), SchemaVerdict::Valid);
            });
            admitted.push((whole, floor));
        }
        table.add(&format!("validation, {what}"), "µs", "at most 1.2 times libxml2 alone", &judged);
        table.add("  with the gate before it", "µs", "", &admitted);
    }
    doubling(table, &mut judge, id);
    memory(table, &mut judge, id);
}

/// Twice the elements next to twice the time: a figure of 2 is linear.
fn doubling(table: &mut Table, judge: &mut LibxmlJudge, id: CompiledSchemaId) {
    let model = judge.find_model(id).unwrap().clone();
    let (half, whole) = (many(32_500), many(65_000));
    let wrong = |good: &str| good.replace("</many>", "<b>x</b></many>");
    let (half_wrong, whole_wrong) = (wrong(&half), wrong(&whole));
    let (mut valid, mut explained) = (Vec::new(), Vec::new());
    for _ in 0..table.runs {
        let mut took = |payload: &str| {
            micros(10, || assert_eq!(judge.judge_payload(id, payload.as_bytes()), SchemaVerdict::Valid))
        };
        let one = took(&half);
        valid.push((took(&whole) / one, 2.0));
        let took =
            |payload: &str| micros(10, || assert!(model.explain_payload(payload.as_bytes()).is_some()));
        let one = took(&half_wrong);
        explained.push((took(&whole_wrong) / one, 2.0));
    }
    table.add("twice the elements, times the time, judged", "times", "linear: 2", &valid);
    table.add("the same, explained", "times", "linear: 2", &explained);
}

/// Resident memory after all messages next to that after the first ones.
fn memory(table: &mut Table, judge: &mut LibxmlJudge, id: CompiledSchemaId) {
    let messages = sized("JUDGED", 5_000_000);
    let plain = search(100);
    let mut payload = String::new();
    let mut run = |from: usize, to: usize| {
        for n in from..to {
            // Every fifth has its own names: a million in total.
            if n % 5 == 0 {
                payload.clear();
                write!(payload, r#"<open xmlns="urn:v"><n{n}:e{n} xmlns:n{n}="urn:n{n}" a{n}="v"/></open>"#)
                    .unwrap();
                assert_eq!(judge.judge_payload(id, payload.as_bytes()), SchemaVerdict::Valid);
            } else {
                assert_eq!(judge.judge_payload(id, plain.as_bytes()), SchemaVerdict::Valid);
            }
        }
    };
    let first = messages / 50;
    run(0, first);
    let began = resident_mb("self");
    run(first, messages);
    let what = format!("resident after {messages} messages, {} distinct names", messages / 5);
    table.add(&what, "MB", "as after the first of them", &[(resident_mb("self"), began)]);
}
