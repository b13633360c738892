//! Payloads in the compact form: the schema that a block means, where elements are looked up, what is stored,
//! and the error for a wrong block.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use systole_config::{self as config, FileMistakes};
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, ElementSchema, SchemaId};
use systole_core::types::flow::Judge as _;
use systole_core::types::ids::{Digest, Name};
use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::schema::SchemaModel;
use systole_kit::{DocumentLimits, Payload, QName};
use systole_organism::compiled_schemas::CompiledSchemas;

const GOLDEN: &str = "tests/suite/golden/payloads";
const ACME: &str = "https://xml-pipeline.org/ns/acme/v1";
const TALK: &str = "https://xml-pipeline.org/ns/talk/v1";

fn golden() -> Composition {
    config::load(&Path::new(GOLDEN).join("organism.yaml")).unwrap_or_else(|told| panic!("{told}")).composition
}

/// Compares with a file, or writes it.
fn held(name: &str, found: &[u8]) {
    crate::golden::golden(Path::new(GOLDEN).join(name), found);
}

/// A source around a file and named schemas, without a disk.
fn source_of(format: &str, text: &str, schemas: &[(&str, &[u8])]) -> Vec<u8> {
    let house = [("core.xsd", config::CORE_XSD), ("envelope.xsd", config::ENVELOPE_XSD)];
    let mut fields: Vec<&[u8]> = vec![format.as_bytes(), text.as_bytes()];
    fields.extend(house.iter().chain(schemas).flat_map(|(name, xsd)| [name.as_bytes(), *xsd]));
    let mut source = Vec::new();
    for field in fields {
        source.extend_from_slice(format!("{}:", field.len()).as_bytes());
        source.extend_from_slice(field);
        source.push(b'\n');
    }
    source
}

fn read(text: &str) -> Result<Composition, FileMistakes> {
    config::read_source(&source_of("systole configuration v6", text, &[]), Path::new("/"))
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn element(ns: &str, local: &str, schema: usize) -> ElementSchema {
    ElementSchema { name: QName::new(ns, local), schema: SchemaId(schema) }
}

#[test]
fn a13_the_same_block_gives_the_same_xsd() {
    let composition = golden();
    let payloads = &composition.schemas[2];
    assert_eq!(payloads.name, "payloads/");
    held("payloads.xsd", &payloads.text);
    assert_eq!(golden().hash, composition.hash);
    // On every machine the bytes have this hash; if it changed, every schema would change.
    let text = "organism: {name: acme}\npayloads: {find: {query: text}}\nlisteners: {a: {run: [x], accepts: [find]}}\n";
    let schema = &read(text).unwrap().schemas[2];
    assert_eq!(
        Digest::hash_bytes(&schema.text).to_string(),
        "bb1a65d4c10c4cfd165a8666ed60affdea54ec91a37bf39d3dd39ce422aa5e16",
        "{}",
        String::from_utf8_lossy(&schema.text)
    );
}

#[test]
fn a13_every_payload_of_the_golden_block_is_judged_as_it_says() {
    let composition = golden();
    let xsd = &composition.schemas[2].text;
    let model = SchemaModel::from_xsd(xsd).unwrap();
    let mut judge = judge(xsd);
    let prompts: Vec<String> = model.elements().map(|name| model.write_prompt(name).unwrap()).collect();
    held("prompts.txt", prompts.join("\n").as_bytes());
    assert!(model.is_dangerous("delete-tree") && !model.is_dangerous("search"));
    let rows = fs::read_to_string(Path::new(GOLDEN).join("judged.txt")).unwrap();
    assert!(rows.lines().count() >= 40);
    for row in rows.lines() {
        let (verdict, document) = row.split_once(' ').unwrap();
        let whole = document.replacen('>', &format!(" xmlns=\"{ACME}\">"), 1);
        let is_valid = judge(whole.as_bytes());
        assert_eq!(is_valid, verdict == "yes", "{row}");
        assert_eq!(model.explain_payload(whole.as_bytes()).is_none(), is_valid, "the model on {row}");
    }
}

/// The verdict of libxml2 on documents under a schema.
fn judge(xsd: &[u8]) -> impl FnMut(&[u8]) -> bool {
    let source = SchemaSource { name: "payloads".to_owned(), xsd: xsd.to_vec() };
    let mut judge = LibxmlJudge::compile_sources(&[source]).unwrap_or_else(|refused| panic!("{refused}"));
    let id = judge.find_schema("payloads").unwrap();
    move |document| matches!(judge.judge_payload(id, document), SchemaVerdict::Valid)
}

#[test]
fn elements_are_looked_up_in_ones_own_schema_then_in_payloads_then_in_shared_schemas_then_in_the_house() {
    let composition = golden();
    let names: Vec<&str> = composition.schemas.iter().map(|schema| schema.name.as_str()).collect();
    assert_eq!(names, ["core.xsd", "envelope.xsd", "payloads/", "search.xsd", "talk/"]);
    assert_eq!(&*composition.schemas[4].text, config::TALK_XSD);
    let [finder, other] = ["finder", "other"].map(|who| composition.find_listener(&name(who)).unwrap());
    let search = "https://xml-pipeline.org/ns/search/v1";
    assert_eq!(finder.accepts, [element(ACME, "search", 2), element(TALK, "ask", 4)]);
    assert_eq!(finder.returns, [element(ACME, "thought", 2), element(search, "find", 3)]);
    assert_eq!(other.accepts, [element(search, "found", 3), element(ACME, "numbers", 2)]);
    // The file's own element takes precedence over the one of Systole.
    let own = "organism: {name: acme}\npayloads: {ask: int}\nlisteners: {a: {run: [x], accepts: [ask]}}\n";
    let own = read(own).unwrap();
    assert_eq!(own.find_listener(&name("a")).unwrap().accepts, [element(ACME, "ask", 2)]);
    assert_eq!(own.schemas.len(), 3, "an unused vocabulary is no part of the configuration");
}

#[test]
fn each_element_is_judged_by_the_schema_that_declares_it() {
    let composition = Arc::new(golden());
    let mut schemas = CompiledSchemas::set_up([&composition].into_iter()).unwrap();
    let finder = composition.find_listener(&name("finder")).unwrap();
    let mut judged = |document: &str| {
        let payload = Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap();
        let schema = finder.find_accepted(payload.name()).or_else(|| finder.find_returned(payload.name()));
        schemas
            .judge_payload(composition.hash, schema.unwrap(), payload)
            .map_err(|refused| refused.refusal.message)
    };
    assert!(judged(&format!("<ask xmlns='{TALK}'>How?</ask>")).is_ok());
    assert_eq!(
        judged(&format!("<ask xmlns='{TALK}'/>")).unwrap_err(),
        "ask: is empty, at least 1 character is needed"
    );
    assert!(judged(&format!("<thought xmlns='{ACME}'>Hm</thought>")).is_ok());
    assert!(judged("<find xmlns='https://xml-pipeline.org/ns/search/v1'><query>x</query></find>").is_ok());
    let wrong = format!("<search xmlns='{ACME}'><limit>0</limit><query>x</query><lines/></search>");
    assert_eq!(judged(&wrong).unwrap_err(), "limit: 0 is less than 1, the smallest allowed");
}

#[test]
fn the_root_tag_of_notes_may_stand_in_any_schema_of_the_file() {
    let text = "organism: {name: thinker}\npayloads: {thinker: {thought: text}, plan: text, silent: text}
listeners:
  thinker: {run: [x], accepts: [plan], turns: 3}
  silent: {run: [x], accepts: [plan], turns: 3}\n";
    let composition = read(text).unwrap();
    assert_eq!(composition.find_listener(&name("thinker")).unwrap().note, Some(SchemaId(2)));
    assert_eq!(composition.find_listener(&name("silent")).unwrap().note, None);
}

/// A call that began under a program from before calls waited ends as it would have ended there.
#[test]
fn b21_a_stored_configuration_from_before_waits_for_no_one() {
    let text = fs::read_to_string(Path::new(GOLDEN).join("organism.yaml")).unwrap();
    let composition = golden();
    let stored: Vec<(&str, &[u8])> =
        composition.schemas[2..].iter().map(|schema| (schema.name.as_str(), &*schema.text)).collect();
    let waits_ms = |format: &str, more: &str| {
        let source = source_of(format, &format!("{text}{more}"), &stored);
        config::read_source(&source, Path::new(GOLDEN)).unwrap().outage_ms
    };
    let week = "\nlimits: {outage: 7d}\n";
    assert_eq!(waits_ms("systole configuration v4", ""), 0);
    assert_eq!(waits_ms("systole configuration v4", week), 7 * 86_400_000);
    assert_eq!(waits_ms("systole configuration v5", ""), 3 * 86_400_000);
    assert_eq!(waits_ms("systole configuration v5", "\nlimits: {outage: 0s}\n"), 0);
    for (bad, words) in [("366d", "366d is more than 365d"), ("-1s", "`-1s`"), ("soon", "`soon`")] {
        let told = read(&format!("{text}\nlimits: {{outage: {bad}}}\n")).unwrap_err().to_string();
        assert!(told.contains(words) && told.contains("limits.outage"), "{told}");
    }
}

/// A call that began under a program from before requests were limited goes on under the rules of its time.
#[test]
fn b15_a_stored_configuration_from_before_limits_no_requests() {
    let composition = golden();
    let stored: Vec<(&str, &[u8])> =
        composition.schemas[2..].iter().map(|schema| (schema.name.as_str(), &*schema.text)).collect();
    let text = fs::read_to_string(Path::new(GOLDEN).join("organism.yaml")).unwrap();
    let budgets = |format: &str, more: &str| {
        let source = source_of(format, &format!("{text}\n{more}"), &stored);
        config::read_source(&source, Path::new(GOLDEN)).unwrap().budgets.unwrap()
    };
    assert_eq!(budgets("systole configuration v5", "").requests, None);
    let own = "budgets: {requests: 7, depth: 64}\n";
    for (format, keeps_finals) in [("systole configuration v7", false), ("systole configuration v8", true)] {
        assert_eq!(budgets(format, "").requests, Some(300));
        let budgets = budgets(format, own);
        assert_eq!((budgets.requests, budgets.depth), (Some(7), 64), "{format}");
        assert_eq!(budgets.keeps_finals, keeps_finals, "{format}");
    }
}

/// A log is opened with the configurations of its time, by any binary.
#[test]
fn a_stored_configuration_is_read_with_the_schemas_that_were_stored() {
    let composition = golden();
    let stored: Vec<(&str, &[u8])> =
        composition.schemas[2..].iter().map(|schema| (schema.name.as_str(), &*schema.text)).collect();
    let text = fs::read_to_string(Path::new(GOLDEN).join("organism.yaml")).unwrap();
    let written = source_of("systole configuration v8", &text, &stored);
    assert_eq!(written, &*composition.source, "the source is what the reference says");
    let again = config::read_source(&composition.source, Path::new(GOLDEN)).unwrap();
    assert_eq!(
        (again.hash, format!("{:?}", again.schemas)),
        (composition.hash, format!("{:?}", composition.schemas))
    );
    assert_eq!(again.find_listener(&name("finder")).unwrap().accepts[1], element(TALK, "ask", 4));
    // An older binary made another schema from the same block, and had another talk schema.
    let older =
        |xsd: &[u8]| String::from_utf8_lossy(xsd).replace("<xs:minLength value=\"1\"/>", "").into_bytes();
    let (payloads, talk) = (older(stored[0].1), older(stored[2].1));
    assert_ne!(payloads, stored[0].1);
    let other = [(stored[0].0, payloads.as_slice()), stored[1], (stored[2].0, talk.as_slice())];
    let other = source_of("systole configuration v5", &text, &other);
    let again = config::read_source(&other, Path::new("/")).unwrap();
    assert_eq!((&*again.schemas[2].text, &*again.schemas[4].text), (&payloads[..], &talk[..]));
    assert_eq!(again.hash, Digest::hash_bytes(&other), "reading it back makes the same configuration");
}

/// Only Systole defines elements in its own namespaces, in any version. A log is always judged by the schemas
/// that it was written with, even if they would be refused today.
#[test]
fn a_schema_with_a_namespace_of_the_house_is_refused_in_a_file_and_read_back_from_a_source() {
    let house = [
        "core/v1",
        "meta/v1",
        "envelope/v1",
        "workflow/v1",
        "talk/v1",
        "talk/v2",
        "talk",
        "sys/v1",
        "operator/v1",
    ];
    let own = ["talker/v1", "hello/v1", "core-things/v1", "sys.x/v1"];
    let xsd = |namespace: &str| {
        let (root, end) = (
            "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" elementFormDefault=\"qualified\" targetNamespace=\"",
            "\"><xs:element name=\"ask\" type=\"xs:string\"/></xs:schema>",
        );
        [root, namespace, end].concat()
    };
    let listener = "{run: [a], accepts: [ask], entry: true";
    let b = name("b");
    for (name, is_house) in house.iter().map(|n| (n, true)).chain(own.iter().map(|n| (n, false))) {
        let namespace = format!("https://xml-pipeline.org/ns/{name}");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.xsd"), xsd(&namespace)).unwrap();
        for named in [
            format!("schemas: [a.xsd]\nlisteners: {{b: {listener}}}}}\n"),
            format!("listeners: {{b: {listener}, schema: a.xsd}}}}\n"),
        ] {
            let text = format!("organism: {{name: hello}}\n{named}");
            let path = folder.path().join("organism.yaml");
            fs::write(&path, &text).unwrap();
            match config::load(&path) {
                Err(refused) => {
                    let first = &refused.0[0];
                    assert!(is_house, "{refused}");
                    assert_eq!((first.code, refused.0.len()), (Code::ConfigSchema, 1), "{refused}");
                    assert_eq!(first.message, format!("a.xsd: the namespace {namespace} belongs to Systole"));
                    assert_eq!(first.fix.as_deref(), Some("a targetNamespace of your own"));
                }
                Ok(_) => assert!(!is_house, "{name} is taken"),
            }
            let xsd = xsd(&namespace);
            let source = source_of("systole configuration v5", &text, &[("a.xsd", xsd.as_bytes())]);
            let stored = config::read_source(&source, Path::new("/")).unwrap_or_else(|told| panic!("{told}"));
            assert_eq!(stored.find_listener(&b).unwrap().accepts[0], element(&namespace, "ask", 2));
        }
    }
}

/// Sources from before the file had payloads, byte for byte, and the hashes in logs.
#[test]
fn c13_a_configuration_from_before_there_were_payloads_is_read_as_before() {
    let text = "organism: {name: hello}\nlisteners:\n  b: {run: [x], schema: b.xsd, accepts: [find], returns: [found]}
  a: {run: [x], schema: a.xsd, accepts: [search]}\n  c: {run: [x], schema: b.xsd, accepts: [search]}\n";
    let search = fs::read("tests/suite/golden/config/schemas/search.xsd").unwrap();
    let again = fs::read("tests/suite/golden/config/schemas/again.xsd").unwrap();
    let schemas = [("b.xsd", search.as_slice()), ("a.xsd", again.as_slice())];
    for (number, has_budgets, hours) in [(1, false, 1), (2, true, 1), (3, true, 7 * 24), (4, true, 7 * 24)] {
        let format = &format!("systole configuration v{number}");
        let source = source_of(format, text, &schemas);
        let old = config::read_source(&source, Path::new("/")).unwrap();
        assert_eq!(old.budgets.is_some(), has_budgets);
        let names: Vec<&str> = old.schemas.iter().map(|schema| schema.name.as_str()).collect();
        assert_eq!(
            names,
            ["core.xsd", "envelope.xsd", "b.xsd", "a.xsd"],
            "in the order in which they are named"
        );
        assert_eq!(
            (&*old.source, old.hash),
            (source.as_slice(), Digest::hash_bytes(&source)),
            "records name this hash"
        );
        let waits = old.find_listener(&name("a")).unwrap().approval.expires_ms;
        assert_eq!(waits, hours * 3_600_000, "a request for approval expires as it did then");
        let at = |who: &str| old.find_listener(&name(who)).unwrap().accepts[0].schema;
        assert_eq!((at("a"), at("b"), at("c")), (SchemaId(3), SchemaId(2), SchemaId(2)));
    }
}

#[test]
fn a13_every_mistake_of_a_block_names_its_place_and_its_fix() {
    let mut files: Vec<PathBuf> =
        fs::read_dir("tests/suite/golden/config").unwrap().map(|entry| entry.unwrap().path()).collect();
    let is_of_payloads = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("payload-") && name.ends_with(".yaml")
    };
    files.retain(is_of_payloads);
    let told: Vec<_> = files.iter().flat_map(|path| config::load(path).unwrap_err().0).collect();
    assert!(told.len() >= 80, "{}", told.len());
    for mistake in told {
        assert!(
            mistake.fix.is_some() || mistake.message.ends_with("a single value is expected"),
            "{mistake}"
        );
        assert!(mistake.place.line > 0 && mistake.place.text.contains(&mistake.place.span), "{mistake}");
    }
}

/// The fenced blocks of a page, with the text after each opening fence.
fn fenced(page: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(kind) => {
                inside = true;
                found.push((kind.to_owned(), String::new()));
            }
            None if inside => found.last_mut().unwrap().1.extend([line, "\n"]),
            None => {}
        }
    }
    found
}

#[test]
fn the_page_about_payloads_says_what_is_so() {
    let page = fs::read_to_string("docs/reference/payloads.md").unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page-of-payloads");
    fs::create_dir_all(&folder).unwrap();
    let (mut xsd, mut told, mut count) = (None, String::new(), [0; 3]);
    for (kind, block) in fenced(&page) {
        let file =
            format!("organism: {{name: acme}}\nlisteners: {{a: {{run: [x], accepts: [ask]}}}}\n\n{block}");
        match kind.as_str() {
            "yaml" => {
                let path = folder.join("right.yaml");
                fs::write(&path, &file).unwrap();
                let loaded = config::load(&path).unwrap_or_else(|told| panic!("{told}"));
                xsd = Some(loaded.composition.schemas[2].text.clone());
                count[0] += 1;
            }
            "xml" => {
                assert!(judge(xsd.as_ref().unwrap())(block.as_bytes()), "{block}");
                count[1] += 1;
            }
            "yaml wrong" => {
                let path = folder.join("organism.yaml");
                // The page shows only the block, as if a line came before it.
                fs::write(&path, &file).unwrap();
                let whole = config::load(&path).unwrap_err().to_string();
                told = whole.replace(&path.display().to_string(), "organism.yaml");
            }
            _ if block.starts_with("error[config.") => {
                assert!(told.contains(&block), "the page:\n{block}\nis told:\n{told}");
                count[2] += 1;
            }
            _ => {}
        }
    }
    assert_eq!(count, [3, 2, 2]);
}

/// A value that fits its type, in YAML, with the type in front.
fn type_text() -> impl Strategy<Value = String> {
    let sized = (prop_oneof!["text", "line", "word"], 0..9_u8, 0..30_u8, any::<[bool; 2]>());
    let sized = sized.prop_map(|(base, least, more, [low, high])| {
        let least_shown = if low { least.to_string() } else { String::new() };
        match (low, high) {
            (false, false) => base,
            (_, true) => format!("{base} {least_shown}..{}", u32::from(least) + u32::from(more) + 1),
            (true, false) => format!("{base} {least}.."),
        }
    });
    let int = (any::<i64>(), any::<i64>())
        .prop_map(|(one, two)| format!("int {}..{} = {}", one.min(two), one.max(two), one));
    let number = (-9_999..9_999_i32, 0..9_999_i32, 0..99_u8)
        .prop_map(|(least, more, cents)| format!("number {least}.{cents:02}..{}", least + more + 1));
    let listed = proptest::collection::btree_set("[a-zA-Z0-9][a-zA-Z0-9_<&>.-]{0,5}", 2..6)
        .prop_map(|values| values.into_iter().collect::<Vec<_>>().join(" | "));
    let regex = prop_oneof![
        Just("word ~ [A-Z]{2}-\\d{6} = AB-123456"),
        Just("line ~ [^@ ]+@[^@ ]+"),
        Just("int ~ [1-9]\\d*"),
        Just("text ~ (a|b)c+ = acc"),
        Just("date ~ 20\\d\\d-.*"),
    ];
    let plain = prop_oneof![
        Just("bool"),
        Just("bool = true"),
        Just("date"),
        Just("date = 2026-01-31"),
        Just("datetime"),
        Just("duration = P1D"),
        Just("uri"),
        Just("uri = https://example.org/?a=b&c=d"),
        Just("blob"),
        Just("int"),
        Just("number = 1.5"),
        Just("text = one & two"),
    ];
    prop_oneof![sized, int, number, listed, regex.prop_map(str::to_owned), plain.prop_map(str::to_owned)]
}

/// A field's value in YAML; a type as a quoted scalar.
fn body() -> impl Strategy<Value = String> {
    let words = proptest::option::of("[!-~é漢][ -~é漢]{0,20}");
    let leaf = (any::<bool>(), type_text(), words).prop_map(|(sensitive, of, words)| {
        let sign = if sensitive { "sensitive " } else { "" };
        let words = words.map(|words| format!(" -- {words}")).unwrap_or_default();
        serde_json::to_string(&format!("{sign}{of}{words}")).unwrap()
    });
    leaf.prop_recursive(4, 40, 6, |inner| {
        let fields = proptest::collection::btree_map(
            "[a-zA-Z_][a-zA-Z0-9_-]{0,5}",
            (any::<bool>(), inner.clone()),
            0..6,
        );
        let group = (proptest::option::of("[!-~é]{1,9}"), fields).prop_map(|(about, fields)| {
            let about = about.map(|about| format!("\".about\": {}", serde_json::to_string(&about).unwrap()));
            let field = |(name, (optional, body)): (String, (bool, String))| {
                format!("\"{name}{}\": {body}", if optional { "?" } else { "" })
            };
            let all: Vec<String> = about.into_iter().chain(fields.into_iter().map(field)).collect();
            format!("{{{}}}", all.join(", "))
        });
        // The default of an item would never apply.
        let item = inner
            .prop_filter("an item has no default", |item| !item.starts_with('"') || !item.contains(" = "));
        let list =
            (item, 0..4_u8, 0..4_u8, any::<[bool; 2]>()).prop_map(|(item, least, more, [counted, open])| {
                match (counted, open) {
                    (false, _) => format!("[{item}]"),
                    (true, true) => format!("[{item}, {least}..]"),
                    (true, false) => format!("[{item}, {least}..{}]", least + more + 1),
                }
            });
        prop_oneof![group, list]
    })
}

proptest! {
    /// Every block that the loader accepts, libxml2 accepts too, and the example of each payload is valid.
    #[test]
    fn a13_any_block_means_a_schema_that_admits_its_own_examples(bodies in proptest::collection::vec(body(), 1..4)) {
        let mut text = "organism: {name: acme}\nlisteners: {a: {run: [x], accepts: [p0]}}\npayloads:\n".to_owned();
        for (number, body) in bodies.iter().enumerate() {
            // A payload is always present, so it has no default.
            let body = if body.starts_with('"') { format!("{{value: {body}}}") } else { body.clone() };
            text.push_str(&format!("  p{number}: {body}\n"));
        }
        let composition = read(&text).map_err(|told| TestCaseError::fail(format!("{text}{told}")))?;
        let xsd = composition.schemas[2].text.clone();
        prop_assert_eq!(&xsd, &read(&text).unwrap().schemas[2].text);
        let model = SchemaModel::from_xsd(&xsd).unwrap();
        let mut judge = judge(&xsd);
        for number in 0..bodies.len() {
            let example = model.build_example(&format!("p{number}"));
            let example = example.ok_or_else(|| TestCaseError::fail(format!("no example in {text}")))?;
            prop_assert!(judge(&example), "{}\n{}", String::from_utf8_lossy(&example), String::from_utf8_lossy(&xsd));
            prop_assert_eq!(model.explain_payload(&example), None);
        }
    }
}
