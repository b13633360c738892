//! Our model of the schema profile, compared with libxml2: every payload for which the model has a
//! message is refused by libxml2, and the fix in the message is admitted.

use std::path::{Path, PathBuf};

use systole_judge::{CompiledSchemaId, LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::schema::{PayloadFinding, SchemaModel};

mod fixes;
pub(crate) mod repairing;

/// Some of these import one another.
const SCHEMAS: [&str; 12] = [
    "address", "file", "kinds", "note", "order", "parcel", "person", "search", "shape", "task", "tree",
    "wrap",
];

/// The kit's golden table: the judge must agree with every row of it.
fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../listeners/kit/tests/suite/golden")
}

struct Pair {
    model: SchemaModel,
    judge: LibxmlJudge,
    id: CompiledSchemaId,
}

impl Pair {
    fn named(name: &str) -> Self {
        let source = |name: &str| {
            let path = golden().join("schemas").join(name).with_extension("xsd");
            SchemaSource { name: name.to_owned(), xsd: std::fs::read(&path).expect("the schema is there") }
        };
        let judge = LibxmlJudge::compile_sources(&SCHEMAS.map(source)).expect("all are in the profile");
        let id = judge.find_schema(name).expect("it was compiled under this name");
        Self { model: judge.find_model(id).expect("each has its model").clone(), judge, id }
    }

    fn judged(&mut self, payload: &str) -> SchemaVerdict {
        self.judge.judge_payload(self.id, payload.as_bytes())
    }
}

fn wrong_payloads(of: &str) -> Vec<String> {
    let table = std::fs::read_to_string(golden().join("payloads.txt")).expect("the table is there");
    let rows = table.lines().filter_map(|line| line.split_once(": ").filter(|(name, _)| *name == of));
    rows.map(|(_, payload)| payload.replace('⏎', "\n")).collect()
}

#[test]
fn libxml2_refuses_every_wrong_payload_that_the_model_has_words_for() {
    for name in SCHEMAS {
        let mut pair = Pair::named(name);
        for payload in wrong_payloads(name) {
            assert!(pair.model.explain_payload(payload.as_bytes()).is_some(), "no words: {payload}");
            let verdict = pair.judged(&payload);
            assert!(matches!(verdict, SchemaVerdict::Invalid { .. }), "{verdict:?}: {payload}");
        }
    }
}

#[test]
fn libxml2_admits_every_example() {
    for name in SCHEMAS {
        let mut pair = Pair::named(name);
        let elements: Vec<String> = pair.model.elements().map(str::to_owned).collect();
        for element in elements {
            let example = pair.model.build_example(&element).expect("every element here has an example");
            let example = String::from_utf8(example).expect("an example is UTF-8");
            assert_eq!(pair.judged(&example), SchemaVerdict::Valid, "{name}: {example}");
            assert_eq!(pair.model.explain_payload(example.as_bytes()), None, "{name}: {example}");
        }
    }
}

/// Follows a finding; none if its text is for people.
fn apply(payload: &str, finding: &PayloadFinding) -> Option<String> {
    repairing::apply(payload, &finding.path, &finding.fix)
}

#[test]
fn a9_doing_what_the_words_say_gets_a_payload_admitted() {
    let (mut repaired, mut by_hand) = (0, Vec::new());
    for name in SCHEMAS {
        let mut pair = Pair::named(name);
        for payload in wrong_payloads(name) {
            let mut text = payload.clone();
            // Each finding names only the first fault; a payload with several takes as many rounds.
            for _ in 0..3 {
                let Some(finding) = pair.model.explain_payload(text.as_bytes()) else { break };
                let Some(next) = apply(&text, &finding) else { break };
                text = next;
            }
            if pair.judged(&text) == SchemaVerdict::Valid {
                repaired += 1;
            } else {
                let fix = pair.model.explain_payload(text.as_bytes()).map(|finding| finding.fix);
                by_hand.push(format!("{name}: {text}\n    {}", fix.unwrap_or_default()));
            }
        }
    }
    // Open choices of the schema are for people: any root, an element of any other namespace, and a word of an
    // enumeration, if none is near.
    let for_people = ["write one of ", "write what is missing into "];
    let stuck: Vec<_> = by_hand
        .iter()
        .filter(|row| !for_people.iter().any(|words| row.contains(&format!("\n    {words}"))))
        .collect();
    assert!(stuck.is_empty(), "{stuck:#?}");
    assert!(
        by_hand.len() <= 12 && repaired >= 200,
        "{repaired} were repaired by their words; left: {by_hand:#?}"
    );
}

#[test]
fn a9_at_most_two_of_the_table_fall_back_to_the_words_of_libxml2() {
    let (mut rows, mut theirs) = (0, Vec::new());
    for name in SCHEMAS {
        let pair = Pair::named(name);
        for payload in wrong_payloads(name) {
            rows += 1;
            if pair.model.explain_payload(payload.as_bytes()).is_none() {
                theirs.push(payload);
            }
        }
        assert!(rows > 0, "{name} has no row");
    }
    assert!(rows >= 60 && theirs.len() <= 2, "{} of {rows}: {theirs:#?}", theirs.len());
}

/// Every order of these.
fn orders(of: &[&'static str]) -> Vec<Vec<&'static str>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let without = |n: usize| [&of[..n], &of[n + 1..]].concat();
    let with = |n: usize| orders(&without(n)).into_iter().map(move |rest| [&[of[n]], &rest[..]].concat());
    (0..of.len()).flat_map(with).collect()
}

#[test]
fn a9_the_right_elements_in_any_order_are_put_right_by_the_words() {
    let line = "<lines><line><sku>a</sku><quantity>1</quantity></line></lines>";
    let cases: [(&str, &str, &[&str]); 4] = [
        ("shape", "draw", &["<circle>1</circle>", "<red>1</red>", "<label>a</label>", "<label>b</label>"]),
        (
            "shape",
            "draw",
            &[
                "<width>1</width>",
                "<height>2</height>",
                "<green>1</green>",
                "<red>1</red>",
                "<label>a</label>",
                "<label>b</label>",
            ],
        ),
        ("order", "order", &["<number>7</number>", line, "<remark>x</remark>"]),
        (
            "person",
            "person",
            &[
                "<code>AB-123456</code>",
                "<born>2026-01-31</born>",
                "<speaks>en</speaks>",
                "<speaks>de</speaks>",
            ],
        ),
    ];
    for (name, root, parts) in cases {
        let mut pair = Pair::named(name);
        for order in orders(parts) {
            let wrong = format!("<{root} xmlns=\"urn:test:{name}\">{}</{root}>", order.concat());
            let mut text = wrong.clone();
            // One move a round; six elements from back to front are fifteen.
            for _ in 0..16 {
                let Some(finding) = pair.model.explain_payload(text.as_bytes()) else { break };
                text = apply(&text, &finding).unwrap_or_else(|| panic!("{}: {text}", finding.fix));
            }
            assert_eq!(pair.judged(&text), SchemaVerdict::Valid, "{wrong}: {text}");
            assert!(parts.iter().all(|part| text.contains(part)), "{wrong}: lost something: {text}");
        }
    }
}
