//! Answers that a server holds to a grammar. The server is the engine of another author: it compiles the grammar of each
//! request and draws an answer from it, rich in characters that mean something in XML. The organism is the real program.

use serde_json::Value;
use systole_core::types::record::Record;

use crate::followers::Receiver;
use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Running, ask, run_file};

const DRAW: &str = include_str!("../grammar/draw.py");

/// Elements of every kind of content.
const SCHEMA: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:yard" xmlns:y="urn:yard" elementFormDefault="qualified">
  <xs:element name="write_note"><xs:complexType><xs:simpleContent><xs:extension base="xs:string">
    <xs:attribute name="path" type="xs:string" use="required"/>
  </xs:extension></xs:simpleContent></xs:complexType></xs:element>
  <xs:element name="order"><xs:complexType><xs:sequence>
    <xs:element name="sku"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="[A-Z]{2}-[0-9]{1,4}"/></xs:restriction></xs:simpleType></xs:element>
    <xs:element name="count"><xs:simpleType><xs:restriction base="xs:long"><xs:minInclusive value="-7"/><xs:maxInclusive value="1234"/></xs:restriction></xs:simpleType></xs:element>
    <xs:element name="price" minOccurs="0"><xs:simpleType><xs:restriction base="xs:decimal"><xs:minExclusive value="0.5"/><xs:maxInclusive value="99.95"/><xs:fractionDigits value="2"/></xs:restriction></xs:simpleType></xs:element>
    <xs:element name="line" minOccurs="1" maxOccurs="3"><xs:complexType><xs:sequence>
      <xs:element name="text"><xs:simpleType><xs:restriction base="xs:string"><xs:minLength value="2"/><xs:maxLength value="12"/></xs:restriction></xs:simpleType></xs:element>
      <xs:choice><xs:element name="day" type="xs:date"/><xs:element name="soon" type="xs:boolean"/></xs:choice>
    </xs:sequence><xs:attribute name="kind" use="required"><xs:simpleType><xs:restriction base="xs:string"><xs:enumeration value="a &amp; b"/><xs:enumeration value="&lt;c&gt;"/></xs:restriction></xs:simpleType></xs:attribute></xs:complexType></xs:element>
    <xs:element name="marks"><xs:simpleType><xs:restriction><xs:simpleType><xs:list itemType="xs:int"/></xs:simpleType><xs:minLength value="1"/><xs:maxLength value="4"/></xs:restriction></xs:simpleType></xs:element>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="tell"><xs:complexType><xs:sequence>
    <xs:element name="what"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="\s*\S[\s\S]*"/></xs:restriction></xs:simpleType></xs:element>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="done" type="xs:string"/>
</xs:schema>"#;

const WORKER: &str = r#"
import re, sys
for line in sys.stdin:
    if line.startswith("<message"):
        delivery = re.search('delivery="([^"]*)"', line).group(1)
        print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}"><done xmlns="urn:yard">done</done></reply>', flush=True)
"#;

/// The keys of an agent that calls workers in the dialect of grammars.
pub(crate) const CALLS: &str = "dialect: xml, peers: [worker, other, third], core_tools: []";

/// An organism whose agent asks the server at this port, with these keys of its model and of its own.
pub(crate) fn house(port: u16, model: &str, keys: &str) -> tempfile::TempDir {
    let text = format!(
        r#"organism: {{name: hello, entry: drafter}}
log: {{path: hello.db}}
console: {{listen: "127.0.0.1:0"}}
models:
  main: {{provider: openai, model: drawn, url: "http://127.0.0.1:{port}/v1", {model}}}
agents:
  drafter: {{model: main, {keys}, prompt: {{identity: You draw.}}}}
listeners:
  worker: {{run: [python3, worker.py], schema: yard.xsd, accepts: [write_note, order], returns: [done]}}
  other: {{run: [python3, worker.py], schema: yard.xsd, accepts: [tell], returns: [done]}}
  third: {{run: [python3, worker.py], schema: yard.xsd, accepts: [tell], returns: [done]}}
"#
    );
    folder(&[("organism.yaml", &text), ("yard.xsd", SCHEMA), ("worker.py", WORKER)])
}

/// What the server drew, and what the organism recorded, for so many requests.
struct Drawn {
    answers: Vec<Value>,
    records: Vec<Record>,
    _house: tempfile::TempDir,
}

fn draw_answers(asks: usize, server: &str, keys: &str) -> Drawn {
    let beside = tempfile::tempdir().unwrap();
    let drawer = Receiver::start_program(beside.path(), (DRAW, "llguidance"), &["--serve", "7"]);
    let model = format!("server: {server}, stream: false");
    let house = house(drawer.port, &model, &format!("{CALLS}, {keys}"));
    let run = Running::organism(house.path());
    for _ in 0..asks {
        let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Draw.</ask>";
        let answered = ask(&run_file(house.path()), "POST", "/v1/messages", &[("Systole-Wait", "120")], body);
        assert!(answered.status == 200, "{answered:?}");
    }
    run.interrupt();
    let records = read_all(&house.path().join("hello.db"));
    Drawn { answers: drawer.rest(), records, _house: house }
}

/// Everything that a record of the log refuses or complains about in what the model wrote.
pub(crate) fn list_complaints(records: &[Record]) -> Vec<String> {
    let body = |record: &Record| String::from_utf8_lossy(&record.body).into_owned();
    let is_complaint = |text: &String| text.contains("code=\"payload.") || text.contains("code=\"agent.");
    let all = records.iter().map(body).filter(is_complaint);
    all.filter(|text| !text.contains("code=\"agent.verbatim-text\"")).collect()
}

fn assert_all_act(drawn: &Drawn, field: &str, asks: usize) {
    assert_eq!(list_complaints(&drawn.records), Vec::<String>::new());
    assert!(drawn.answers.len() >= asks, "{}", drawn.answers.len());
    assert!(drawn.answers.iter().all(|one| one["field"] == field), "{:?}", drawn.answers.first());
    let all: String = drawn.answers.iter().filter_map(|one| one["answer"].as_str()).collect();
    for element in
        ["<write_note ", "<order>", "<tell to=\"other\">", "<tell to=\"third\">", "<attempt_completion>"]
    {
        assert!(all.contains(element), "no {element} was drawn: {all}");
    }
}

#[test]
fn e19_every_drawn_answer_acts_with_one_action_in_a_turn() {
    let drawn = draw_answers(60, "llama.cpp", "turns: 4");
    assert_all_act(&drawn, "grammar", 60);
}

#[test]
fn e19_every_drawn_answer_acts_with_several_actions_in_a_turn() {
    for (server, field) in [("vllm", "structured_outputs"), ("sglang", "ebnf")] {
        let drawn = draw_answers(30, server, "turns: 4, actions: many, thinking: free");
        assert_all_act(&drawn, field, 30);
    }
}
