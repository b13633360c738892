//! A payload is valid under its XSD exactly if its JSON form is valid under the JSON Schema, for every construct of
//! the profile: libxml2 checks the XML, an independent validator the JSON. If the JSON Schema accepts what the XSD
//! does not, its list of open rules must say so. XML to JSON to XML gives the same value.
//!
//! Documents are broken in both forms: in JSON, and as XML, which is then converted; what cannot be converted must be
//! rejected.
//!
//! `SYSTOLE_CASES` sets how many valid and how many broken documents are made of each construct, in each of the
//! forms.

mod dice;
mod grammar;
mod mutate;
mod mutate_xml;
mod pages;
mod simples;
mod tries;
mod xml;

use serde_json::Value;
use systole_judge::{CompiledSchemaId, LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::schema::{JsonSchema, SchemaModel, ValueSlip};

use dice::Dice;
use grammar::{Inside, MANY, MAYBE, ONCE, P, T, children, foreign, value};
use simples::{BUILT, BYTE, CODE, LIMIT, MODE, NAMES, RESTRICTIONS, STRING, Simple};
use xml::XmlNode;

fn cases() -> usize {
    std::env::var("SYSTOLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

/// A schema with everything that reads, judges and validates by it.
struct FormBench {
    model: SchemaModel,
    judge: LibxmlJudge,
    id: CompiledSchemaId,
    drawn: JsonSchema,
    validator: jsonschema::Validator,
}

impl FormBench {
    fn of(xsds: &[String]) -> FormBench {
        let names = ["t", "o"];
        let among: Vec<(&str, &[u8])> = names.into_iter().zip(xsds.iter().map(String::as_bytes)).collect();
        let model = SchemaModel::read_among(xsds[0].as_bytes(), &among)
            .unwrap_or_else(|unfit| panic!("{unfit:?}\n{xsds:#?}"));
        let source =
            |(name, xsd): &(&str, &[u8])| SchemaSource { name: (*name).to_owned(), xsd: xsd.to_vec() };
        let sources: Vec<SchemaSource> = among.iter().map(source).collect();
        let judge =
            LibxmlJudge::compile_sources(&sources).unwrap_or_else(|refused| panic!("{refused}\n{xsds:#?}"));
        let id = judge.find_schema("t").unwrap();
        let drawn = model.json_schema("root").unwrap();
        // Used for the parameters of a tool, it must be an object with properties and nothing else.
        let top: Vec<&str> = drawn.schema.as_object().unwrap().keys().map(String::as_str).collect();
        let known = [
            "$defs",
            "$schema",
            "additionalProperties",
            "description",
            "properties",
            "required",
            "title",
            "type",
        ];
        assert!(top.iter().all(|key| known.contains(key)) && drawn.schema["type"] == "object", "{top:?}");
        let validator = jsonschema::draft202012::new(&drawn.schema)
            .unwrap_or_else(|error| panic!("{error}\n{:#}", drawn.schema));
        FormBench { model, judge, id, drawn, validator }
    }

    fn judged(&mut self, payload: &[u8]) -> bool {
        self.judge.judge_payload(self.id, payload) == SchemaVerdict::Valid
    }

    /// Whether an open rule mentions the place of a slip.
    fn is_left_open(&self, slip: &ValueSlip) -> bool {
        let numberless = |path: &str| {
            path.split('[')
                .map(|part| part.split_once(']').map_or(part, |(_, rest)| rest))
                .collect::<String>()
        };
        let (path, message) = (numberless(&slip.path), slip.message.as_str());
        self.drawn.open.iter().any(|line| {
            let (place, words) = line.split_once(": ").unwrap();
            let ends = place
                .strip_prefix('…')
                .is_some_and(|end| path.ends_with(end) || path.contains(&format!("{end}/")));
            let spread = ["the order and number", "exactly one of ", "at most one of ", "if any of "];
            let listed = spread.iter().any(|words_of| words.starts_with(words_of)) && path.starts_with(place);
            let control = place == "text" && message.contains("a character that XML cannot carry");
            path == place || ends || listed || control
        })
    }
}

/// The results for the documents of one construct.
#[derive(Default, Debug)]
struct Tally {
    valid: usize,
    broken: usize,
    left_open: usize,
    /// Documents that were broken as XML, and those that stayed valid after a mutation.
    broken_documents: usize,
    mutated_and_valid: usize,
}

fn held(name: &str, root: &T, pool: &[Value]) -> Tally {
    let xsds = grammar::schemas(root);
    let mut bench = FormBench::of(&xsds);
    let mut dice = Dice::of(name.bytes().fold(7_u64, |seed, b| seed.wrapping_mul(31) ^ u64::from(b)));
    let mut tally = Tally::default();
    let (mut documents, mut forms) = (Vec::new(), Vec::new());
    for _ in 0..cases() {
        let document = grammar::document(root, &mut dice);
        let xml = document.written();
        assert!(bench.judged(xml.as_bytes()), "{name}: the grammar strays: {xml}\n{xsds:#?}");
        forms.push(there_and_back(name, &mut bench, &xml));
        documents.push(document);
        tally.valid += 1;
    }
    break_forms(name, &mut bench, &forms, pool, &mut dice, &mut tally);
    break_documents(name, &mut bench, &documents, pool, &mut dice, &mut tally);
    tally
}

/// A valid document as JSON. Its schema accepts it, and it converts back to the same document.
fn there_and_back(name: &str, bench: &mut FormBench, document: &str) -> Value {
    let form =
        bench.model.to_json(document.as_bytes()).unwrap_or_else(|f| panic!("{name}: {document}\n{f:?}"));
    let errors: Vec<String> = bench.validator.iter_errors(&form).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{name}: {document}\n{form}\n{errors:?}\n{:#}", bench.drawn.schema);
    let back = bench.model.from_json_text("root", form.to_string().as_bytes()).unwrap();
    let back = back.unwrap_or_else(|slips| panic!("{name}: {document}\n{form}\n{slips:?}"));
    assert!(bench.judged(&back), "{name}: {document}\n{form}\n{}", String::from_utf8_lossy(&back));
    assert_eq!(bench.model.to_json(&back).as_ref(), Ok(&form), "{name}: {document}");
    assert_eq!(bench.model.from_json("root", &form), Some(Ok(back)), "{name}: {form}");
    form
}

/// Breaks JSON, builds payloads of it and judges them.
fn break_forms(
    name: &str,
    bench: &mut FormBench,
    forms: &[Value],
    pool: &[Value],
    dice: &mut Dice,
    tally: &mut Tally,
) {
    // A construct that no mutation breaks is skipped after many tries.
    for _ in 0..cases() * 20 {
        if tally.broken == cases() {
            break;
        }
        let mut form = forms[dice.below(forms.len())].clone();
        mutate::once(&mut form, pool, dice);
        let built = bench.model.from_json_text("root", form.to_string().as_bytes()).unwrap();
        let admitted = bench.validator.is_valid(&form);
        match built {
            Ok(bytes) if bench.judged(&bytes) => {
                let errors: Vec<String> = bench.validator.iter_errors(&form).map(|e| e.to_string()).collect();
                // An optional part that is `null` is left out.
                let admitted = admitted || bench.validator.is_valid(&without_nulls(&form));
                assert!(admitted, "{name}: valid, and refused as JSON: {form}\n{errors:?}");
            }
            Ok(bytes) => {
                // Only the judge knows which letters beyond ASCII a name may have.
                let known = bench.drawn.open.iter().any(|line| line.contains("letters beyond ASCII a name"));
                assert!(known, "{name}: {form}\nlibxml2 refuses {}", String::from_utf8_lossy(&bytes));
            }
            Err(slips) => {
                tally.broken += 1;
                if admitted {
                    tally.left_open += 1;
                    let excused = slips.iter().all(|slip| bench.is_left_open(slip));
                    let open = &bench.drawn.open;
                    assert!(excused, "{name}: {form}\n{slips:?}\n{open:?}\n{:#}", bench.drawn.schema);
                }
            }
        }
    }
}

/// A value without the keys of its objects that are `null`.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect()
        }
        other => other.clone(),
    }
}

/// Breaks documents, judges them and converts them.
fn break_documents(
    name: &str,
    bench: &mut FormBench,
    documents: &[XmlNode],
    pool: &[Value],
    dice: &mut Dice,
    tally: &mut Tally,
) {
    let values: Vec<&str> = pool.iter().filter_map(Value::as_str).filter(|text| *text != "\u{1}").collect();
    for _ in 0..cases() * 20 {
        if tally.broken_documents == cases() {
            break;
        }
        let mut document = documents[dice.below(documents.len())].clone();
        mutate_xml::once(&mut document, &values, dice);
        let xml = document.written();
        if bench.judged(xml.as_bytes()) {
            tally.mutated_and_valid += 1;
            there_and_back(name, bench, &xml);
            continue;
        }
        tally.broken_documents += 1;
        if let Ok(form) = bench.model.to_json(xml.as_bytes()) {
            // Only the judge knows whether a type that the document names itself is allowed there.
            let admitted = bench.validator.is_valid(&form) && !xml.contains("xsi:type");
            assert!(!admitted, "{name}: libxml2 refuses {xml}\nits form is admitted: {form}");
        }
    }
}

/// Replacement values: those of the type, and some of other types.
fn pool(simples: &[&Simple]) -> Vec<Value> {
    let mut texts: Vec<&str> =
        simples.iter().flat_map(|simple| simple.good.iter().chain(simple.bad)).copied().collect();
    texts.extend(["", "5", "-1", "1.5", "true", "x y", "2026-02-30", "99999999999999999999"]);
    let mut pool = Vec::new();
    for text in texts {
        pool.push(Value::from(text));
        pool.extend(serde_json::from_str::<Value>(text).ok());
        pool.push(
            text.split_whitespace()
                .map(|word| serde_json::from_str(word).unwrap_or(Value::from(word)))
                .collect(),
        );
    }
    pool.push(serde_json::json!({}));
    pool
}

/// A type as the text of an element, as an attribute, and as text next to an attribute.
fn around(simple: &'static Simple) -> T {
    let beside = T { attributes: vec![("alpha", simple, false)], ..value(simple) };
    let all = vec![P::E("alpha", (1, Some(3)), value(simple)), P::E("beta", MAYBE, beside)];
    T { attributes: vec![("one", simple, false)], ..children(P::Seq(ONCE, all)) }
}

fn every_simple(simples: &[&'static Simple]) {
    for simple in simples {
        let name = simple.name;
        let mut pool = pool(&[simple]);
        pool.push(Value::from("\u{1}"));
        let tally = held(name, &around(simple), &pool);
        println!("{name}: {tally:?}");
        assert!(tally.valid == cases() && tally.broken == cases(), "{name}: {tally:?}");
        assert_eq!(tally.broken_documents, cases(), "{name}: {tally:?}");
        let alone = held(name, &value(simple), &pool);
        assert!(alone.broken > cases() / 2, "{name}: {alone:?}");
    }
}

#[test]
fn a8_text_and_spelt_types_are_valid_as_xml_exactly_where_they_are_as_json() {
    every_simple(&RESTRICTIONS[..RESTRICTIONS.len() / 2]);
}

#[test]
fn a8_numbers_and_times_are_valid_as_xml_exactly_where_they_are_as_json() {
    every_simple(&RESTRICTIONS[RESTRICTIONS.len() / 2..]);
}

#[test]
fn a8_lists_and_unions_are_valid_as_xml_exactly_where_they_are_as_json() {
    every_simple(BUILT);
}

fn e(name: &'static str, occurs: (usize, Option<usize>)) -> P {
    let simple = match name {
        "alpha" => &LIMIT,
        "beta" => &MODE,
        "gamma" => &STRING,
        _ => &CODE,
    };
    P::E(name, occurs, value(simple))
}

fn contents() -> Vec<(&'static str, P)> {
    let (a, b, c, d) = ("alpha", "beta", "gamma", "delta");
    let pair = || vec![e(a, ONCE), e(b, ONCE)];
    vec![
        ("sequence", P::Seq(ONCE, vec![e(a, ONCE), e(b, MAYBE), e(c, MANY), e(d, (2, Some(3)))])),
        ("nothing", P::Seq(ONCE, vec![])),
        ("all", P::All(vec![e(a, ONCE), e(b, MAYBE), e(c, ONCE), e(d, MAYBE)])),
        ("choice", P::Choice(ONCE, vec![e(a, ONCE), e(b, ONCE), e(c, ONCE)])),
        ("choice of counts", P::Choice(ONCE, vec![e(a, (2, Some(2))), e(b, MAYBE), e(c, MANY)])),
        ("optional choice", P::Seq(ONCE, vec![P::Choice(MAYBE, pair()), e(c, ONCE)])),
        (
            "choice of groups",
            P::Choice(ONCE, vec![P::Seq(ONCE, pair()), P::Seq(MAYBE, vec![e(c, ONCE), e(d, MAYBE)])]),
        ),
        ("optional group", P::Seq(ONCE, vec![P::Seq(MAYBE, vec![e(a, ONCE), e(b, MAYBE)]), e(c, MAYBE)])),
        (
            "group in a group",
            P::Seq(
                ONCE,
                vec![P::Seq(MAYBE, vec![e(a, MAYBE), P::Choice(ONCE, vec![e(b, ONCE), e(c, ONCE)])])],
            ),
        ),
        ("repeated choice", P::Choice(MANY, vec![e(a, ONCE), e(b, ONCE)])),
        ("counted choice", P::Choice((2, Some(4)), vec![e(a, ONCE), e(b, ONCE)])),
        ("repeated sequence", P::Seq((1, None), vec![e(a, ONCE), e(b, MAYBE)])),
        ("a name twice", P::Seq(ONCE, vec![e(a, ONCE), e(b, ONCE), e(a, ONCE)])),
        (
            "repeated pair of one name",
            P::Seq(ONCE, vec![P::Seq((1, None), vec![e(a, ONCE), e(a, ONCE)]), e(b, MAYBE)]),
        ),
        ("wildcard", P::Seq(ONCE, vec![e(a, ONCE), P::Any(ONCE)])),
        ("optional wildcard", P::Seq(ONCE, vec![e(a, ONCE), P::Any(MAYBE), e(b, ONCE)])),
        ("wildcards", P::Seq(ONCE, vec![P::Any(MANY), e(a, MAYBE)])),
    ]
}

#[test]
fn a8_contents_are_valid_as_xml_exactly_where_they_are_as_json() {
    for (name, content) in contents() {
        let tally = held(name, &children(content), &pool(&[&LIMIT, &MODE, &CODE]));
        println!("{name}: {tally:?}");
        assert!(tally.valid == cases() && tally.broken == cases(), "{name}: {tally:?}");
        assert_eq!(tally.broken_documents, cases(), "{name}: {tally:?}");
        // Rules that connect the properties of a payload are only in the list of open rules.
        let is_bound = name.contains("choice") || name.contains("group");
        assert!(is_bound || !is_exact(name) || tally.left_open == 0, "{name}: {tally:?}");
    }
}

#[test]
fn a8_contents_inside_of_a_payload_are_valid_as_xml_exactly_where_they_are_as_json() {
    for (name, content) in contents() {
        let inside = children(P::Seq(ONCE, vec![P::E("one", ONCE, children(content))]));
        let tally = held(name, &inside, &pool(&[&LIMIT, &MODE, &CODE]));
        println!("{name}: {tally:?}");
        assert!(tally.valid == cases() && tally.broken == cases(), "{name}: {tally:?}");
        assert!(!is_exact(name) || tally.left_open == 0, "{name}: {tally:?}");
    }
}

/// Whether JSON Schema can express all of it.
fn is_exact(name: &str) -> bool {
    let ordered = ["repeated choice", "counted choice", "repeated sequence", "a name twice"].contains(&name);
    !name.contains("wildcard") && !ordered && name != "repeated pair of one name"
}

fn shapes() -> Vec<(&'static str, T)> {
    let bare = |inside| T { attributes: Vec::new(), inside, foreign: false };
    let lang = |inside| T {
        attributes: vec![("alpha", &NAMES, false), ("one", &BYTE, true)],
        inside,
        foreign: false,
    };
    let list = |of| P::E("beta", MAYBE, children(P::Seq(ONCE, vec![P::E("item", (1, Some(3)), of)])));
    let pair = || P::Seq(ONCE, vec![e("alpha", ONCE), e("gamma", MAYBE)]);
    let tree = P::Seq(ONCE, vec![e("alpha", ONCE), P::E("beta", (0, Some(2)), bare(Inside::Again))]);
    vec![
        ("free text", bare(Inside::Free)),
        ("free text beside attributes", lang(Inside::Free)),
        ("empty beside attributes", lang(Inside::Empty)),
        ("text beside attributes", lang(Inside::Value(&STRING))),
        ("an attribute of an element's name", lang(children(pair()).inside)),
        ("list of values", children(P::Seq(ONCE, vec![list(value(&LIMIT)), e("alpha", ONCE)]))),
        ("list of groups", children(P::All(vec![list(children(pair())), e("alpha", MAYBE)]))),
        ("list alone", children(P::Seq(ONCE, vec![P::E("item", MANY, value(&LIMIT))]))),
        ("nesting", children(P::Seq(ONCE, vec![P::E("delta", (1, Some(2)), lang(children(pair()).inside))]))),
        (
            "empty and free children",
            children(P::All(vec![
                P::E("alpha", MAYBE, bare(Inside::Empty)),
                P::E("beta", ONCE, bare(Inside::Free)),
            ])),
        ),
        ("recursion", children(tree)),
    ]
}

#[test]
fn a8_shapes_of_types_are_valid_as_xml_exactly_where_they_are_as_json() {
    for (name, of) in shapes() {
        let tally = held(name, &of, &pool(&[&LIMIT, &MODE, &NAMES]));
        println!("{name}: {tally:?}");
        assert!(tally.valid == cases() && tally.broken > cases() / 2, "{name}: {tally:?}");
        assert_eq!(tally.broken_documents, cases(), "{name}: {tally:?}");
    }
}

fn imports() -> Vec<(&'static str, T)> {
    let bare = |inside| T { attributes: Vec::new(), inside, foreign: false };
    let pair = || children(P::Seq(ONCE, vec![e("alpha", ONCE), e("gamma", MAYBE)]));
    let lang = |of: T| T { attributes: vec![("alpha", &NAMES, false), ("one", &BYTE, true)], ..of };
    let list = |of| children(P::Seq(ONCE, vec![P::E("item", (1, Some(3)), of)]));
    let of = |parts| children(P::Seq(ONCE, parts));
    let again = || bare(Inside::Again);
    vec![
        ("a reference", of(vec![P::Ref("delta", (1, Some(2)), lang(pair())), e("beta", MAYBE)])),
        ("a value by reference", of(vec![P::Ref("delta", MANY, value(&LIMIT)), e("beta", ONCE)])),
        (
            "a foreign type",
            of(vec![P::E("beta", ONCE, foreign(lang(pair()))), P::E("delta", MAYBE, foreign(value(&MODE)))]),
        ),
        ("a foreign list", of(vec![P::E("beta", MAYBE, foreign(list(pair()))), e("alpha", ONCE)])),
        (
            "no namespace",
            of(vec![P::Bare("beta", MAYBE, lang(pair())), P::Bare("delta", ONCE, value(&CODE))]),
        ),
        (
            "there and back",
            of(vec![
                P::Ref("delta", MAYBE, of(vec![P::Ref("beta", ONCE, pair()), e("gamma", ONCE)])),
                e("gamma", ONCE),
            ]),
        ),
        (
            "around through both",
            of(vec![
                e("alpha", ONCE),
                P::Ref("beta", MAYBE, of(vec![e("beta", ONCE), P::E("gamma", MAYBE, again())])),
            ]),
        ),
        (
            "choices of both",
            of(vec![
                e("gamma", ONCE),
                P::Choice(
                    MAYBE,
                    vec![
                        P::Ref("beta", ONCE, value(&LIMIT)),
                        e("alpha", ONCE),
                        P::Bare("delta", ONCE, pair()),
                    ],
                ),
            ]),
        ),
        ("rounds of both", children(P::Choice(MANY, vec![P::Ref("beta", ONCE, pair()), e("alpha", ONCE)]))),
        (
            "all of both",
            children(P::All(vec![
                P::Ref("beta", ONCE, pair()),
                P::Bare("gamma", MAYBE, value(&CODE)),
                e("alpha", ONCE),
            ])),
        ),
    ]
}

#[test]
fn a8_payloads_of_two_namespaces_are_valid_as_xml_exactly_where_they_are_as_json() {
    for (name, of) in imports() {
        let tally = held(name, &of, &pool(&[&LIMIT, &MODE, &CODE]));
        println!("{name}: {tally:?}");
        assert!(tally.valid == cases() && tally.broken == cases(), "{name}: {tally:?}");
        assert_eq!(tally.broken_documents, cases(), "{name}: {tally:?}");
    }
}
