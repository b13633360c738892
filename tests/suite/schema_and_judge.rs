//! Our model of the schema profile against libxml2: whatever the one has words for the other refuses,
//! and what the words say to write is admitted.

use std::path::{Path, PathBuf};

use systole::edges::schemas::{Judge, SchemaId, Source, Verdict};
use systole_kit::schema::{Finding, Model};

/// Some of these import one another.
const SCHEMAS: [&str; 11] =
    ["address", "file", "kinds", "note", "order", "parcel", "person", "search", "shape", "tree", "wrap"];

/// The kit's golden table: the judge must agree with every row of it.
fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/kit/tests/suite/golden")
}

struct Pair {
    model: Model,
    judge: Judge,
    id: SchemaId,
}

impl Pair {
    fn named(name: &str) -> Self {
        let source = |name: &str| {
            let path = golden().join("schemas").join(name).with_extension("xsd");
            Source { name: name.to_owned(), xsd: std::fs::read(&path).expect("the schema is there") }
        };
        let judge = Judge::compile(&SCHEMAS.map(source)).expect("all are in the profile");
        let id = judge.schema(name).expect("it was compiled under this name");
        Self { model: judge.model(id).expect("each has its model").clone(), judge, id }
    }

    fn judged(&mut self, payload: &str) -> Verdict {
        self.judge.judge(self.id, payload.as_bytes())
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
            assert!(pair.model.explain(payload.as_bytes()).is_some(), "no words: {payload}");
            let verdict = pair.judged(&payload);
            assert!(matches!(verdict, Verdict::Invalid { .. }), "{verdict:?}: {payload}");
        }
    }
}

#[test]
fn libxml2_admits_every_example() {
    for name in SCHEMAS {
        let mut pair = Pair::named(name);
        let elements: Vec<String> = pair.model.elements().map(str::to_owned).collect();
        for element in elements {
            let example = pair.model.example(&element).expect("every element here has an example");
            let example = String::from_utf8(example).expect("an example is UTF-8");
            assert_eq!(pair.judged(&example), Verdict::Valid, "{name}: {example}");
            assert_eq!(pair.model.explain(example.as_bytes()), None, "{name}: {example}");
        }
    }
}

/// Does what the words of a finding say, as an agent would that reads nothing else.
fn apply(payload: &str, finding: &Finding) -> Option<String> {
    let (fix, received) = (finding.fix.as_str(), finding.received.as_str());
    // What was received stands at the place of the finding, or begins before it.
    let from =
        payload.match_indices(received).map(|(at, _)| at).take_while(|at| *at <= finding.offset).last()?;
    let put = |new: &str| [&payload[..from], new, &payload[from + received.len()..]].concat();
    if fix.starts_with('<') {
        let element = fix.rfind('>').map(|end| &fix[..=end])?;
        return Some(put(element.split_once(" instead of ").map_or(element, |(new, _)| new)));
    }
    if let Some(add) = fix.strip_prefix("add ") {
        let (element, _) = add.split_once(" before ")?;
        return Some([&payload[..finding.offset], element, &payload[finding.offset..]].concat());
    }
    (fix.starts_with("leave ") && !fix.contains(" or ")).then(|| put(""))
}

#[test]
fn doing_what_the_words_say_gets_a_payload_admitted() {
    let (mut mended, mut by_hand) = (0, Vec::new());
    for name in SCHEMAS {
        let mut pair = Pair::named(name);
        for payload in wrong_payloads(name) {
            let mut text = payload.clone();
            // Each finding names the first fault only; a payload with several takes as many rounds.
            for _ in 0..3 {
                let Some(finding) = pair.model.explain(text.as_bytes()) else { break };
                let Some(next) = apply(&text, &finding) else { break };
                text = next;
            }
            if pair.judged(&text) == Verdict::Valid {
                mended += 1;
            } else {
                let fix = pair.model.explain(text.as_bytes()).map(|finding| finding.fix);
                by_hand.push(format!("{name}: {text}\n    {}", fix.unwrap_or_default()));
            }
        }
    }
    let words_alone = ["move ", "put the text", "write ", "leave "];
    let stuck: Vec<_> = by_hand
        .iter()
        .filter(|row| !words_alone.iter().any(|w| row.contains(&format!("\n    {w}"))))
        .collect();
    assert!(stuck.is_empty(), "{stuck:#?}");
    assert!(mended >= 90, "only {mended} were mended by their words; left: {by_hand:#?}");
}
