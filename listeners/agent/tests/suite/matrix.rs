//! Every fault of a model in every dialect, through every provider's form, whole and streamed: what becomes of it is in
//! a golden table, and nothing of a bad answer is executed. What was sent is judged by the types of the providers' own
//! libraries.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use systole_agent::model::{Models, SystemRandom};
use systole_agent::spec::{self, Dialect, ModelServer, Provider, RequestRetry};
use systole_kit::Payload;
use systole_kit::reply::ReplyContent;
use systole_mock_model::{MockModel, MockOptions, MockScript};

use super::bench::{KEY, adapter, has_version, limits, model, run};
use super::stage::{AgentStage, found, helper, items};

/// The forms of requests: a provider, and for one of them a server that holds answers to a grammar.
const SHAPES: [(&str, Provider, Option<ModelServer>); 6] = [
    ("openai", Provider::OpenAi, None),
    ("llama.cpp", Provider::OpenAi, Some(ModelServer::LlamaCpp)),
    ("openai-responses", Provider::OpenAiResponses, None),
    ("anthropic", Provider::Anthropic, None),
    ("ollama", Provider::Ollama, None),
    ("gemini", Provider::Gemini, None),
];

const DIALECTS: [(&str, Dialect); 4] = [
    ("native", Dialect::Native),
    ("xml-final", Dialect::XmlFinal),
    ("xml", Dialect::Xml),
    ("plain", Dialect::Plain),
];

/// The faults of a provider, in every dialect.
const OF_PROVIDER: [(&str, &str); 17] = [
    ("429 with Retry-After", "{error: {status: 429, retry_after: 0s}}"),
    ("503", "{error: {status: 503}}"),
    ("529", "{error: {status: 529}}"),
    ("a key that is refused", "{error: {status: 401}}"),
    ("a page with 500", "{html: true}"),
    ("a page with 200", "{say: '<html><title>Log in</title></html>', content_type: text/html}"),
    ("garbage", "{garbage: true}"),
    ("cut at the start", "{say: BAD, cut: 1}"),
    ("cut in words", "{say: BAD words, cut: true}"),
    ("no end sign", "{say: BAD words, stop: none}"),
    ("half a character", "{say: BAD ä, cut: {in: ä}}"),
    ("an error before words", "{ok_error: true}"),
    ("an error behind words", "{say: BAD words, ok_error: true}"),
    ("filtered", "{say: BAD words, stop: filter}"),
    ("cut at its length", "{say: BAD words, stop: length}"),
    ("empty", "{say: ''}"),
    ("reasoning alone", "{thinking: Hm., say: ''}"),
];

/// Faults of calls, where tools are called natively.
const OF_CALLS: [(&str, &str); 6] = [
    ("cut in arguments", "{call: {search: {query: BAD words}}, cut: {in: BAD}}"),
    ("arguments that are no JSON", "{call: {search: {raw: '{\"BAD'}}}"),
    ("arguments that the schema refuses", "{call: {search: {limit: 5000, query: BAD}}}"),
    ("one id twice", "{call: [{search: {query: one}, id: same}, {search: {query: BAD}, id: same}]}"),
    ("a tool that there is not", "{call: {serch: {query: BAD}}}"),
    ("a tool as XML", "{say: '<search><query>BAD</query></search>'}"),
];

/// Faults of what is written, where a final or an action is text. `{}` is the code of the slot.
const OF_TEXT: [(&str, Dialect, &str); 15] = [
    ("own markup", Dialect::Native, "<core-5eed0123>BAD</core-5eed0123>"),
    ("own markup", Dialect::Plain, "<core-5eed0123>BAD</core-5eed0123>"),
    ("own markup", Dialect::Xml, "<core-5eed0123>BAD</core-5eed0123>"),
    ("prose alone", Dialect::Xml, "BAD words."),
    ("an unclosed action", Dialect::Xml, "<thinking>x</thinking><search><query>BAD"),
    ("an unknown action", Dialect::Xml, "<thinking>x</thinking><fetch><query>BAD</query></fetch>"),
    (
        "an action in a fence",
        Dialect::Xml,
        "<thinking>x</thinking> So:\n```xml\n<search><query>BAD</query></search>\n```\nand on.",
    ),
    (
        "a second action",
        Dialect::Xml,
        "<thinking>x</thinking><search><query>one</query></search><search><query>BAD</query></search>",
    ),
    ("prose alone", Dialect::XmlFinal, "BAD words."),
    ("an unclosed final", Dialect::XmlFinal, "<systole-{}-FINAL format=\"text\" status=\"success\">BAD"),
    (
        "a mismatched final",
        Dialect::XmlFinal,
        "<systole-{}-FINAL format=\"text\" status=\"success\">BAD</systole-{}-END>",
    ),
    (
        "a second final",
        Dialect::XmlFinal,
        "<systole-{}-FINAL format=\"text\" status=\"success\">BAD</systole-{}-FINAL><systole-{}-FINAL format=\"text\" status=\"success\">BAD</systole-{}-FINAL>",
    ),
    (
        "a foreign slot",
        Dialect::XmlFinal,
        "<systole-00000000-FINAL format=\"text\" status=\"success\">BAD</systole-00000000-FINAL>",
    ),
    (
        "another format",
        Dialect::XmlFinal,
        "<systole-{}-FINAL format=\"json\" status=\"success\">BAD</systole-{}-FINAL>",
    ),
    (
        "an action in the final",
        Dialect::XmlFinal,
        "<systole-{}-FINAL format=\"text\" status=\"success\"><search><query>BAD</query></search></systole-{}-FINAL>",
    ),
];

/// What the model says after a fault.
fn say_well(dialect: Dialect, code: &str) -> Value {
    let words = match dialect {
        Dialect::Xml => {
            "<thinking>x</thinking><attempt_completion><result>GOOD</result></attempt_completion>".to_owned()
        }
        Dialect::XmlFinal => {
            format!("<systole-{code}-FINAL format=\"text\" status=\"success\">GOOD</systole-{code}-FINAL>")
        }
        _ => "GOOD".to_owned(),
    };
    json!({ "say": words })
}

fn agent(dialect: Dialect) -> spec::AgentSpec {
    let agent = helper(dialect);
    let peers = if dialect == Dialect::Plain { Vec::new() } else { agent.peers.clone() };
    spec::AgentSpec { peers, ..agent }
}

/// The code of the slot for a final, which is the same for each first call of this stage.
fn read_slot_code() -> String {
    let script = "helper: [{say: nothing}]";
    let mut stage = AgentStage::of(agent(Dialect::XmlFinal), script);
    run(stage.ask());
    let (_, segments, _) = stage.prompt();
    let code =
        segments.iter().find_map(|segment| segment.split("<systole-").nth(1)?.get(..8).map(str::to_owned));
    code.expect("the prompt shows the slot")
}

/// One fault in a dialect, through a form.
struct Cell<'a> {
    shape: &'a (&'static str, Provider, Option<ModelServer>),
    dialect: Dialect,
    is_streamed: bool,
    /// The bad answer and the good one.
    script: String,
}

/// What became of it, and the bodies that were sent.
fn play(cell: &Cell) -> (String, Vec<Value>) {
    let (_, provider, server) = *cell.shape;
    let script = MockScript::parse(&cell.script).unwrap_or_else(|bad| panic!("{bad}: {}", cell.script));
    let mock = MockModel::start(script, MockOptions { key: Some(KEY.to_owned()), ..MockOptions::default() });
    let mock = mock.expect("a mock");
    let path = if has_version(provider) { "/v1" } else { "" };
    let model = spec::ModelSpec {
        server,
        stream: cell.is_streamed,
        retry: RequestRetry { attempts: 3, first_ms: 1, longest_ms: 4 },
        ..model(provider, &format!("{}{path}", mock.url()))
    };
    let asked = Arc::new(adapter(&model, limits()));
    let models = Models::new(vec![(model, asked)], Box::new(SystemRandom), &limits()).expect("good models");
    let stage = AgentStage::asking(agent(cell.dialect), Arc::new(models), "Where is login?");
    let became = run(follow(stage));
    let seen = mock.stop();
    let bodies: Vec<Value> = seen.into_iter().map(|seen| seen.body).collect();
    (format!("{became}; {} requests", bodies.len()), bodies)
}

/// Goes on like a pump until the call ends.
async fn follow(mut stage: AgentStage) -> String {
    let mut told = Vec::new();
    let mut said = stage.ask().await;
    for _ in 0..6 {
        told.extend(stage.heard.lock().unwrap().notices.iter().map(|(code, _)| code.clone()));
        let sent = match &said {
            ReplyContent::Again { code, .. } => {
                told.push(code.clone());
                said = stage.again(&said).await;
                continue;
            }
            ReplyContent::Failure { code, retry, .. } => {
                told.push(format!("fails with {code}{}", if *retry { ", may be tried again" } else { "" }));
                return told.join(", ");
            }
            ReplyContent::Away { code, .. } => {
                told.push(format!("waits for its provider, {code}"));
                return told.join(", ");
            }
            ReplyContent::Items(_) => items(&said),
        };
        let searches = sent.iter().filter(|sent| &*sent.name().local == "search");
        let searched: Vec<String> =
            searches.map(|sent| String::from_utf8_lossy(sent.bytes()).into_owned()).collect();
        assert!(!searched.iter().any(|words| words.contains("BAD")), "executed: {searched:?}");
        if let Some(answer) = sent.iter().find(|sent| &*sent.name().local == "answer") {
            told.push(format!("answers {}", answer.text()));
            return told.join(", ");
        }
        let answers: Vec<Option<Payload>> =
            sent.iter().map(|sent| (&*sent.name().local == "search").then(|| found("auth.rs"))).collect();
        told.push(format!("acts {}", searched.len()));
        stage.heard.lock().unwrap().notices.clear();
        said = stage.answer(answers, Vec::new()).await;
    }
    told.push("goes on".to_owned());
    told.join(", ")
}

/// Each fault of a dialect: its name, and the bad answer of the model.
fn list_faults(dialect: Dialect, code: &str) -> Vec<(&'static str, String)> {
    let of_provider = OF_PROVIDER.iter().map(|(name, fault)| (*name, (*fault).to_owned()));
    let has_calls = matches!(dialect, Dialect::Native | Dialect::XmlFinal);
    let of_calls = OF_CALLS.iter().filter(|_| has_calls).map(|(name, fault)| (*name, (*fault).to_owned()));
    let of_text = OF_TEXT.iter().filter(|(_, of, _)| *of == dialect);
    let of_text =
        of_text.map(|(name, _, words)| (*name, json!({ "say": words.replace("{}", code) }).to_string()));
    of_provider.chain(of_calls).chain(of_text).collect()
}

/// One row for each fault in a dialect: what becomes of it, and for whom it differs.
fn write_row(cells: &[(String, String)]) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (shape, became) in cells {
        groups.entry(became).or_default().push(shape);
    }
    let mut groups: Vec<(&str, Vec<&str>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, shapes)| std::cmp::Reverse(shapes.len()));
    let mut row = String::new();
    for (at, (became, shapes)) in groups.iter().enumerate() {
        row.push_str(&match at {
            0 => format!("    {became}\n"),
            _ => format!("    {became}: {}\n", shapes.join(", ")),
        });
    }
    row
}

#[test]
fn e13_each_fault_in_each_dialect_through_each_form_ends_as_the_table_says() {
    let code = read_slot_code();
    let (mut table, mut bodies) = (String::new(), Vec::new());
    for (name, dialect) in DIALECTS {
        table.push_str(&format!("{name}\n"));
        for (fault, bad) in list_faults(dialect, &code) {
            let good = say_well(dialect, &code);
            let mut cells = Vec::new();
            for shape in &SHAPES {
                for is_streamed in [true, false] {
                    let script = format!("- {bad}\n- {good}\n");
                    let (became, sent) = play(&Cell { shape, dialect, is_streamed, script });
                    let how = if is_streamed { "" } else { " whole" };
                    cells.push((format!("{}{how}", shape.0), became));
                    bodies.extend(sent.into_iter().map(|body| (shape.0, body)));
                }
            }
            table.push_str(&format!("  {fault}\n{}", write_row(&cells)));
        }
    }
    crate::golden::golden("tests/suite/golden/matrix.txt", table);
    assert_libraries_take(&bodies);
}

/// The libraries of the providers take these requests.
fn assert_libraries_take(bodies: &[(&str, Value)]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut python = Command::new("python3");
    python.arg(root.join("tests/models/judge_bodies.py"));
    let tools = ["model-libraries", "mcp-python"].map(|name| root.join("target/tools").join(name));
    if tools[0].is_dir() {
        python.env("PYTHONPATH", std::env::join_paths(tools).expect("paths without colons"));
    }
    let mut child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 starts");
    let lines: String = bodies
        .iter()
        .map(|(shape, body)| {
            let form = if *shape == "llama.cpp" { "openai" } else { shape };
            format!("{}\n", json!({ "form": form, "body": body }))
        })
        .collect();
    let mut input = child.stdin.take().expect("it is piped");
    std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let ran = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    let typed = bodies.iter().filter(|(shape, _)| *shape != "ollama").count();
    assert!(said.contains(&format!("judged {typed}, refused 0")), "{said}");
}
