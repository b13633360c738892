//! Property tests: our model and libxml2 agree on lists, unions and several namespaces. `SYSTOLE_CASES` sets
//! how many cases are tried; the tape and the generator of contents are those of `schema_agreement`.
//!
//! The model follows every other disagreement that these tests have found, or the schema is refused; the
//! open points are in `docs/reference/schemas.md`.

use std::cell::Cell;
use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::schema::SchemaModel;

use super::schema_agreement::{SIMPLE, agree, kind, kind_xsd, simple_xsd, write_element};
use crate::tape::Tape;

fn runner() -> (u32, TestRunner) {
    let cases = std::env::var("SYSTOLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    (cases, TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() }))
}

fn compiled(sources: &[(&str, &str)]) -> Option<(SchemaModel, LibxmlJudge)> {
    let source =
        |(name, xsd): &(&str, &str)| SchemaSource { name: (*name).to_owned(), xsd: xsd.as_bytes().to_vec() };
    let judge = LibxmlJudge::compile_sources(&sources.iter().map(source).collect::<Vec<_>>()).ok()?;
    let model = judge.find_model(judge.find_schema(sources.first()?.0)?)?.clone();
    Some((model, judge))
}

const BUILT_IN: [&str; 10] =
    ["string", "token", "NCName", "boolean", "int", "integer", "decimal", "double", "date", "hexBinary"];

/// Further kinds of values.
const MORE: [&str; 6] = ["anyURI", "base64Binary", "float", "dateTime", "time", "duration"];

/// Words that some of the types admit.
const WORDS: [&str; 22] = [
    "1",
    "7",
    "01",
    "+7",
    "-1",
    "100",
    "1.50",
    "1.5",
    "1e2",
    "x",
    "auto",
    "fast",
    "deep",
    "true",
    "0",
    "abc",
    "AB-1",
    "2026-01-31",
    "2026-02-30",
    "00ff",
    "NaN",
    "é",
];

fn value(tape: &mut Tape) -> String {
    let blank = |tape: &mut Tape| *["", "", "", "", " ", "  ", "\n"].get(tape.below(7)).unwrap_or(&"");
    let mut text = blank(tape).to_owned();
    for at in 0..[1, 1, 1, 2, 2, 3, 0][tape.below(7)] {
        if at > 0 {
            text += [" ", " ", "  ", "\t"][tape.below(4)];
        }
        text += tape.pick(&WORDS);
    }
    text + blank(tape)
}

/// The content of an `xs:simpleType`, and whether it is a list.
fn variety(tape: &mut Tape, depth: usize) -> String {
    match tape.below(if depth == 0 { 4 } else { 8 }) {
        0 | 1 => format!(r#"<xs:restriction base="xs:{}"/>"#, tape.pick(&BUILT_IN)),
        2 | 3 => {
            let (base, facets, _) = SIMPLE[tape.below(SIMPLE.len())];
            format!(r#"<xs:restriction base="xs:{base}">{facets}</xs:restriction>"#)
        }
        4 => format!("<xs:list>{}</xs:list>", inner(tape, depth - 1)),
        5 => {
            let facets = match tape.below(6) {
                0 => r#"<xs:minLength value="1"/>"#.to_owned(),
                1 => r#"<xs:maxLength value="2"/>"#.to_owned(),
                2 => r#"<xs:length value="2"/>"#.to_owned(),
                3 => r#"<xs:pattern value="[a-z]+( [a-z]+)?"/>"#.to_owned(),
                _ => enumeration(tape),
            };
            let list = format!("<xs:list>{}</xs:list>", inner(tape, depth - 1));
            format!("<xs:restriction><xs:simpleType>{list}</xs:simpleType>{facets}</xs:restriction>")
        }
        6 => union(tape, depth),
        _ => {
            let facets = if tape.one_in(3) {
                r#"<xs:pattern value="[a-z0-9]+"/>"#.to_owned()
            } else {
                enumeration(tape)
            };
            let union = union(tape, depth);
            format!("<xs:restriction><xs:simpleType>{union}</xs:simpleType>{facets}</xs:restriction>")
        }
    }
}

fn inner(tape: &mut Tape, depth: usize) -> String {
    format!("<xs:simpleType>{}</xs:simpleType>", variety(tape, depth))
}

fn union(tape: &mut Tape, depth: usize) -> String {
    let mut union = "<xs:union>".to_owned();
    for _ in 0..=tape.below(3) {
        union += &inner(tape, depth - 1);
    }
    union + "</xs:union>"
}

fn enumeration(tape: &mut Tape) -> String {
    let mut facets = String::new();
    for _ in 0..=tape.below(3) {
        write!(facets, r#"<xs:enumeration value="{}"/>"#, value(tape)).expect("text");
    }
    facets
}

#[test]
fn a3_the_model_and_libxml2_agree_on_lists_and_unions() {
    let (used, valid, invalid) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let (cases, mut runner) = runner();
    let tapes = (prop::collection::vec(any::<u8>(), 0..60), prop::collection::vec(any::<u8>(), 200));
    let result = runner.run(&tapes, |(shape, values)| {
        let simple = variety(&mut Tape { numbers: shape, at: 0 }, 3);
        let xsd = format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t" elementFormDefault="qualified"><xs:element name="a"><xs:simpleType>{simple}</xs:simpleType></xs:element></xs:schema>"#
        );
        let Some((model, mut judge)) = compiled(&[("t", &xsd)]) else { return Ok(()) };
        used.set(used.get() + 1);
        let mut tape = Tape { numbers: values, at: 0 };
        for _ in 0..20 {
            let payload = format!(r#"<a xmlns="urn:t">{}</a>"#, value(&mut tape));
            let counter = if agree(&model, &mut judge, &xsd, &payload)? { &valid } else { &invalid };
            counter.set(counter.get() + 1);
            // The suggested fix is admitted.
            if let Some(fix) = model.explain_payload(payload.as_bytes()).map(|found| found.fix)
                && fix.starts_with('<')
            {
                prop_assert!(agree(&model, &mut judge, &xsd, &fix)?, "{} instead of {}\n{}", fix, payload, xsd);
            }
        }
        if let Some(example) = model.build_example("a") {
            let example = String::from_utf8(example).expect("an example is UTF-8");
            prop_assert!(agree(&model, &mut judge, &xsd, &example)?, "the example is refused: {example}\n{xsd}");
        }
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    println!("{} types, {} valid, {} invalid", used.get(), valid.get(), invalid.get());
    assert!(used.get() * 4 > cases, "many generated types are in the profile");
    assert!(valid.get() > cases && invalid.get() > cases, "both verdicts come often");
}

#[test]
fn a3_an_enumeration_of_a_union_compares_what_two_members_read_as_libxml2_does() {
    let exactly = |base: &str, known: &str| {
        let base = simple(base);
        format!(
            "<xs:restriction>{base}<xs:pattern value=\"{}\"/></xs:restriction>",
            known.replace('+', "\\+")
        )
    };
    let list = |item: &str| format!("<xs:list>{}</xs:list>", simple(item));
    let either = format!(
        "<xs:list><xs:simpleType><xs:union>{}{}</xs:union></xs:simpleType></xs:list>",
        simple("int"),
        simple("string")
    );
    // What the first member reads, and what only the second one reads; some of it is the same value.
    let spellings = [
        ("string", "abc", vec![" abc ", "abc abc", "abd", ""]),
        ("string", "7", vec![" 7 ", "07", "8"]),
        ("token", "a b", vec!["a  b c", "b a"]),
        ("int", "100", vec!["0100", "+100", " 100.0 ", "1e2", "100 100", "101"]),
        ("decimal", "1.0", vec!["1", "1.00", "10e-1", "2"]),
        ("double", "1.0", vec!["1", "1.00", "10e-1", "NaN"]),
        ("boolean", "true", vec!["1", "false", "true true"]),
        ("date", "2025-01-01Z", vec!["2025-01-01T00:00:00Z", "2025-01-01+00:00", "2025-01-01"]),
        ("dateTime", "2025-01-01T00:00:00Z", vec!["2025-01-01Z", "2025-01-01T00:00:00+00:00"]),
        ("duration", "P12M", vec!["P1Y", "P0Y12M", "-P1Y", "P365D", "P12M P12M"]),
        ("duration", "P1DT1.50S", vec!["PT24H1.5S", "PT86401.5S", "P1DT1S", "-P1DT1.5S", "PT1440M1.5S"]),
        ("duration", "PT0S", vec!["-PT0S", "P0Y", "PT0.0S", "-P0M", "PT0.1S"]),
        ("hexBinary", "00ff", vec!["00FF", "00 ff", "00ff 00ff"]),
        ("base64Binary", "AAAA", vec!["AA AA", "aaaa"]),
        ("anyURI", "abc", vec!["abc abc", "abd"]),
    ];
    let (mut valid, mut invalid, mut differs) = (0, 0, String::new());
    for (base, known, written) in &spellings {
        let lists = BUILT_IN.iter().chain(&MORE).map(|item| list(item));
        let alone = BUILT_IN.iter().chain(&MORE).map(|item| format!(r#"<xs:restriction base="xs:{item}"/>"#));
        for second in lists.chain(alone).chain([either.clone()]) {
            let members = [exactly(base, known), second]
                .map(|one| format!("<xs:simpleType>{one}</xs:simpleType>"))
                .concat();
            let union = format!("<xs:simpleType><xs:union>{members}</xs:union></xs:simpleType>");
            let xsd = format!(
                r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t" elementFormDefault="qualified"><xs:element name="a"><xs:simpleType><xs:restriction>{union}<xs:enumeration value="{known}"/></xs:restriction></xs:simpleType></xs:element></xs:schema>"#
            );
            let (model, mut judge) = compiled(&[("t", &xsd)]).expect("it is in the profile");
            for value in written {
                match agree(&model, &mut judge, &xsd, &format!(r#"<a xmlns="urn:t">{value}</a>"#)) {
                    Ok(true) => valid += 1,
                    Ok(false) => invalid += 1,
                    Err(why) => writeln!(differs, "{known:?} and {value:?}: {why}").expect("text"),
                }
            }
        }
    }
    assert!(differs.is_empty(), "{differs}");
    assert!(valid > 50 && invalid > 50, "{valid} valid, {invalid} invalid");
}

/// A built-in type as a member.
fn simple(base: &str) -> String {
    format!(r#"<xs:simpleType><xs:restriction base="xs:{base}"/></xs:simpleType>"#)
}

fn head(namespace: &str, form: &str) -> String {
    format!(
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t" xmlns:u="urn:u" targetNamespace="{namespace}" elementFormDefault="{form}">"#
    )
}

#[test]
fn a3_the_model_and_libxml2_agree_on_several_namespaces() {
    let (used, valid, invalid) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let (cases, mut runner) = runner();
    let tapes = (prop::collection::vec(any::<u8>(), 0..80), prop::collection::vec(any::<u8>(), 300));
    let result = runner.run(&tapes, |(shape, slips)| {
        let mut tape = Tape { numbers: shape, at: 0 };
        let at = tape.below(SIMPLE.len());
        let (lower_back, circle) = (tape.one_in(2), tape.one_in(2));
        let part = kind(&mut tape, 2);
        let back = if circle { r#"<xs:import namespace="urn:t"/>"# } else { "" };
        let again = if circle { r#"<xs:element name="back" type="t:word"/>"# } else { "" };
        let lower = format!(
            r#"{}{back}<xs:element name="part">{}</xs:element>{}{again}</xs:schema>"#,
            head("urn:u", "qualified"),
            kind_xsd(&part),
            simple_xsd(at).replacen("<xs:simpleType>", r#"<xs:simpleType name="word">"#, 1),
        );
        let times = ["", r#" minOccurs="0""#, r#" maxOccurs="2""#][tape.below(3)];
        let wildcard = if times.is_empty() && lower_back {
            r###"<xs:any namespace="##other" processContents="lax" minOccurs="0"/>"###
        } else {
            ""
        };
        let upper = format!(
            r#"{}<xs:import namespace="urn:u"/>{}<xs:element name="root"><xs:complexType><xs:sequence><xs:element ref="u:part"{times}/><xs:element name="own" type="u:word"/><xs:element name="bare" type="t:word" form="unqualified" minOccurs="0"/>{wildcard}</xs:sequence><xs:attribute name="one" type="u:word"/></xs:complexType></xs:element></xs:schema>"#,
            head("urn:t", "qualified"),
            r#"<xs:simpleType name="word"><xs:restriction base="u:word"/></xs:simpleType>"#,
        );
        let Some((model, mut judge)) = compiled(&[("t", &upper), ("u", &lower)]) else { return Ok(()) };
        used.set(used.get() + 1);
        let both = format!("{upper}\n{lower}");
        let mut tape = Tape { numbers: slips, at: 0 };
        for _ in 0..10 {
            let payload = document(&mut tape, &part, at, !wildcard.is_empty());
            let counter = if agree(&model, &mut judge, &both, &payload)? { &valid } else { &invalid };
            counter.set(counter.get() + 1);
        }
        if let Some(example) = model.build_example("root") {
            let example = String::from_utf8(example).expect("an example is UTF-8");
            prop_assert!(agree(&model, &mut judge, &both, &example)?, "the example is refused: {example}\n{both}");
        }
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    println!("{} schemas, {} valid, {} invalid", used.get(), valid.get(), invalid.get());
    assert!(used.get() * 2 > cases, "most generated schemas are in the profile");
    assert!(valid.get() > cases && invalid.get() > cases, "both verdicts come often");
}

/// A document of two namespaces that sometimes deviates, mostly in the namespaces.
fn document(tape: &mut Tape, part: &super::schema_agreement::Kind, at: usize, has_wildcard: bool) -> String {
    let mut out = String::from(r#"<root xmlns="urn:t""#);
    let values = SIMPLE[at].2;
    if tape.one_in(3) {
        write!(out, r#" one="{}""#, values[tape.below(2)]).expect("text");
    }
    out.push('>');
    for _ in 0..[1, 1, 1, 1, 2, 0][tape.below(6)] {
        let namespace = [r#" xmlns="urn:u""#, "", r#" xmlns="""#][[0, 0, 0, 0, 0, 0, 0, 1, 2][tape.below(9)]];
        write_element(tape, "part", part, namespace, &mut out);
    }
    let own = ["", "", "", "", "", r#" xmlns="urn:u""#][tape.below(6)];
    write!(out, "<own{own}>{}</own>", values[tape.below(2)]).expect("text");
    if tape.one_in(2) {
        let bare = [r#" xmlns="""#, r#" xmlns="""#, r#" xmlns="""#, ""][tape.below(4)];
        write!(out, "<bare{bare}>{}</bare>", values[tape.below(2)]).expect("text");
    }
    if has_wildcard && tape.one_in(2) {
        out.push_str(tape.pick(&[
            r#"<o xmlns="urn:other"/>"#,
            r#"<part xmlns="urn:u">x</part>"#,
            r#"<o xmlns="urn:other"><back xmlns="urn:u">x</back></o>"#,
            r#"<o xmlns="urn:other"><root xmlns="urn:t"/></o>"#,
        ]));
    }
    out + "</root>"
}

#[test]
fn a3_every_character_is_in_the_classes_that_libxml2_has() {
    let classes = ["d", "D", "w", "W", "i", "I", "c", "C"];
    let element = |class: &str| {
        format!(
            "<xs:element name=\"{class}\"><xs:simpleType><xs:restriction base=\"xs:string\">\
             <xs:pattern value=\"\\{class}*\"/></xs:restriction></xs:simpleType></xs:element>"
        )
    };
    let body: String = classes.iter().map(|class| element(class)).collect();
    let xsd = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" targetNamespace=\"urn:t\" \
         elementFormDefault=\"qualified\">{body}</xs:schema>"
    );
    let (model, mut judge) = compiled(&[("t", &xsd)]).unwrap();
    let id = judge.find_schema("t").unwrap();
    // Whether both take the text, or both refuse it.
    let mut agreed = |class: &str, text: &str| {
        let escaped: String = text.chars().map(|c| format!("&#{};", u32::from(c))).collect();
        let document = format!("<{class} xmlns=\"urn:t\">{escaped}</{class}>");
        let theirs = judge.judge_payload(id, document.as_bytes()) == SchemaVerdict::Valid;
        (theirs, model.explain_payload(document.as_bytes()).is_none())
    };
    let is_xml = |c: &char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let all: Vec<char> = ('\0'..=char::MAX).filter(is_xml).collect();
    for some in all.chunks(256) {
        let text: String = some.iter().collect();
        for pair in classes.chunks(2) {
            // All inside or all outside, for both: then no character differs.
            if pair.iter().any(|class| agreed(class, &text) == (true, true)) {
                continue;
            }
            for c in some {
                let (theirs, ours) = agreed(pair[0], &c.to_string());
                assert_eq!(theirs, ours, "\\{} and U+{:04X}", pair[0], u32::from(*c));
            }
        }
    }
}
