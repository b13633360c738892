//! Answers that a server holds to a grammar: the field of each server, the record of it, and that every answer that the
//! grammar allows acts. The engine that draws these answers is another author's.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use systole_agent::model::{
    AnswerFuture, AnswerWatcher, HttpLimits, MessagePart, Model, ModelAnswer, ModelRequest, Models, ServedBy,
    StopReason, SystemRandom, TokenUsage,
};
use systole_agent::spec::{self, ActionLimit, Dialect, ModelServer, Provider, ThinkingRule};
use systole_kit::journal::JournalEntry;
use systole_kit::reply::ReplyContent;

use super::bench::{adapter, limits, model};
use super::server::{Act, ByteServer, chunked};
use super::stage::{AgentStage, helper, items};

/// What a model says that a server of OpenAI's form holds to nothing.
const FREE: &str = r#"{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant",
    "content": "<thinking>So.</thinking>\n<attempt_completion><result>Done.</result></attempt_completion>"}}]}"#;

/// A turn of that agent at such a server: the body of the request, what was recorded, and the documents.
async fn ask_server(
    agent: spec::AgentSpec,
    server: Option<ModelServer>,
) -> (Value, Option<String>, AgentStage) {
    let mock = ByteServer::saying(chunked("application/json", &[FREE.as_bytes()]));
    let model = spec::ModelSpec { server, stream: false, ..model(Provider::OpenAi, &mock.url()) };
    let adapter = adapter(&model, limits());
    let models = vec![(model, Arc::new(adapter) as Arc<dyn Model>)];
    let models = Models::new(models, Box::new(SystemRandom), &HttpLimits::default()).expect("models");
    let mut stage = AgentStage::asking(agent, Arc::new(models), "Where is login?");
    stage.ask().await;
    let guided = stage.heard.lock().unwrap().journal.iter().find_map(|entry| match entry {
        JournalEntry::Started(started) => Some(started.guided.clone()),
        JournalEntry::Result(_) => None,
    });
    (mock.end().remove(0).json(), guided.expect("the model was asked"), stage)
}

#[tokio::test]
async fn e19_each_server_gets_the_grammar_in_its_field_and_the_record_names_it() {
    for (server, pointer) in [
        (ModelServer::LlamaCpp, "/grammar"),
        (ModelServer::Vllm, "/structured_outputs/grammar"),
        (ModelServer::Sglang, "/ebnf"),
    ] {
        let (body, guided, stage) = ask_server(helper(Dialect::Xml), Some(server)).await;
        let sent =
            body.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{server:?}: {body}"));
        assert!(sent.starts_with("root ::= "), "{server:?}: {sent}");
        assert_eq!(sent.contains("</think>"), server == ModelServer::LlamaCpp, "{server:?}: {sent}");
        let hash: String = Sha256::digest(sent).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(guided, Some(format!("grammar:{hash}")), "{server:?}");
        assert_eq!(stage.heard.lock().unwrap().documents.get(&hash).map(String::as_str), Some(sent));
        assert_eq!(body.get("tools"), None);
    }
}

#[tokio::test]
async fn e19_where_no_server_is_named_and_in_other_dialects_no_grammar_is_sent() {
    let of = |dialect, server| ask_server(helper(dialect), server);
    for (dialect, server) in [
        (Dialect::Xml, None),
        (Dialect::Xml, Some(ModelServer::OpenAi)),
        (Dialect::Native, Some(ModelServer::LlamaCpp)),
        (Dialect::XmlFinal, Some(ModelServer::Vllm)),
        (Dialect::Plain, Some(ModelServer::Sglang)),
    ] {
        let (body, guided, _) = of(dialect, server).await;
        let fields = ["grammar", "structured_outputs", "ebnf"].map(|field| body.get(field).is_some());
        assert_eq!((fields, guided), ([false; 3], None), "{dialect:?} {server:?}: {body}");
    }
}

#[tokio::test]
async fn e19_a_schema_that_holds_the_answer_is_named_too() {
    let schema = Some(Arc::new(
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    ));
    let output = spec::Output { format: spec::OutputFormat::Json, schema };
    let alone = |dialect| spec::AgentSpec { peers: Vec::new(), output: output.clone(), ..helper(dialect) };
    for dialect in [Dialect::Plain, Dialect::Native] {
        let (body, guided, _) = ask_server(alone(dialect), Some(ModelServer::LlamaCpp)).await;
        assert_eq!(
            (body.get("response_format").is_some(), guided.as_deref()),
            (true, Some("schema")),
            "{body}"
        );
    }
    // Beside tools that may be called, only a server that takes both gets it.
    for (server, is_held) in
        [(None, false), (Some(ModelServer::LlamaCpp), false), (Some(ModelServer::OpenAi), true)]
    {
        let agent = spec::AgentSpec { output: output.clone(), ..helper(Dialect::Native) };
        let (body, guided, _) = ask_server(agent, server).await;
        assert_eq!(
            (body.get("response_format").is_some(), guided.is_some()),
            (is_held, is_held),
            "{server:?}: {body}"
        );
    }
}

/// What llama.cpp answers if it cannot read a grammar.
const UNREAD: &str =
    r#"{"error": {"code": 400, "message": "Failed to parse grammar", "type": "invalid_request_error"}}"#;

#[tokio::test]
async fn e19_a_server_that_refuses_the_field_is_asked_without_it_until_the_next_start() {
    let refusal = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{UNREAD}",
        UNREAD.len()
    );
    let good = chunked("application/json", &[FREE.as_bytes()]);
    let mock = ByteServer::start(vec![vec![Act::Send(refusal.into_bytes())], vec![Act::Send(good)]]);
    let server = Some(ModelServer::LlamaCpp);
    let model = spec::ModelSpec { server, stream: false, ..model(Provider::OpenAi, &mock.url()) };
    let asked = Arc::new(adapter(&model, limits())) as Arc<dyn Model>;
    let models =
        Models::new(vec![(model, asked)], Box::new(SystemRandom), &HttpLimits::default()).expect("models");
    let models = Arc::new(models);
    let mut recorded = Vec::new();
    for _ in 0..2 {
        let mut stage = AgentStage::asking(helper(Dialect::Xml), Arc::clone(&models), "Where is login?");
        let said = stage.ask().await;
        assert_eq!(&*items(&said).last().expect("a final").name().local, "answer", "{said:?}");
        recorded.extend(stage.heard.lock().unwrap().journal.drain(..).map(|entry| match entry {
            JournalEntry::Started(started) => started.guided.map_or("free", |_| "held").to_owned(),
            JournalEntry::Result(outcome) => outcome.stop,
        }));
    }
    assert_eq!(recorded, ["held", "model.field-refused", "free", "end", "free", "end"]);
    let has_grammar: Vec<bool> = mock.end().iter().map(|seen| seen.json().get("grammar").is_some()).collect();
    assert_eq!(has_grammar, [true, false, false]);
}

/// The grammars of a request: of the answer alone, and behind reasoning.
type KeptGrammars = Arc<std::sync::Mutex<Option<(String, String)>>>;

/// A model that always gives that answer, and keeps the grammar that it was asked with.
struct Says(String, KeptGrammars);

impl Model for Says {
    fn ask(&self, request: ModelRequest, _: AnswerWatcher) -> AnswerFuture {
        let grammar =
            request.grammar.map(|grammar| (grammar.alone.clone(), grammar.behind_reasoning.clone()));
        *self.1.lock().unwrap() = grammar;
        let parts = vec![MessagePart::Text(self.0.clone())];
        let (usage, by) = (TokenUsage::default(), "main".to_owned());
        Box::pin(async move {
            Ok(ModelAnswer { parts, stop: StopReason::End, usage, by, served: ServedBy::default() })
        })
    }
}

/// A stage with an agent whose model gives that answer, and the grammars that it is asked with.
fn stage(agent: &spec::AgentSpec, says: &str) -> (AgentStage, KeptGrammars) {
    let kept = Arc::default();
    let server = Some(ModelServer::LlamaCpp);
    let model = spec::ModelSpec { server, ..model(Provider::OpenAi, "http://127.0.0.1:1/v1") };
    let says: Arc<dyn Model> = Arc::new(Says(says.to_owned(), Arc::clone(&kept)));
    let models =
        Models::new(vec![(model, says)], Box::new(SystemRandom), &HttpLimits::default()).expect("models");
    (AgentStage::asking(agent.clone(), Arc::new(models), "Where is login?"), kept)
}

/// Answers that the engine draws from a grammar; `None` on a machine for which it is not pinned.
fn draw(grammar: &str, count: usize) -> Option<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tools = root.join("target/tools/llguidance");
    let mut python = Command::new("python3");
    python.arg(root.join("tests/grammar/draw.py")).args([&count.to_string(), "7"]);
    if tools.is_dir() {
        python.env("PYTHONPATH", tools);
    } else if cfg!(not(target_arch = "x86_64")) {
        return None;
    }
    let mut child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 starts");
    child.stdin.take().expect("it is piped").write_all(grammar.as_bytes()).expect("it reads");
    let ran = child.wait_with_output().expect("it ends");
    assert!(ran.status.success(), "the grammar does not compile:\n{grammar}");
    let lines = String::from_utf8(ran.stdout).expect("it prints JSON");
    Some(lines.lines().map(|line| serde_json::from_str(line).expect("a text")).collect())
}

/// An agent of every kind of turn.
fn agents() -> [spec::AgentSpec; 3] {
    let one = helper(Dialect::Xml);
    let many = spec::AgentSpec { actions: ActionLimit::Many, thinking: ThinkingRule::Free, ..one.clone() };
    let alone = spec::AgentSpec { peers: Vec::new(), ..one.clone() };
    [one, many, alone]
}

/// `SYSTOLE_CASES` sets how many answers are drawn in all.
#[tokio::test]
async fn e19_every_answer_that_the_grammar_allows_acts() {
    let cases: usize = std::env::var("SYSTOLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(720);
    for agent in agents() {
        for is_last in [false, true] {
            let (mut asked, kept) = stage(&agent, "<search><query>x</query></search>");
            asked.ask().await;
            if is_last {
                asked.wrap_up("turns").await;
            }
            let (alone, behind_reasoning) = kept.lock().unwrap().clone().expect("a grammar");
            for grammar in [&alone, &behind_reasoning] {
                for answer in draw(grammar, cases.div_ceil(12)).unwrap_or_default() {
                    assert_acts(&agent, &answer, is_last).await;
                }
            }
        }
    }
}

/// An answer is read to the letter, or as text without escaping; nothing in it is refused.
async fn assert_acts(agent: &spec::AgentSpec, answer: &str, is_last: bool) {
    let (mut stage, _) = stage(agent, answer);
    let mut said = stage.ask().await;
    if is_last {
        stage.heard.lock().unwrap().notices.clear();
        said = stage.wrap_up("turns").await;
    }
    let notices = std::mem::take(&mut stage.heard.lock().unwrap().notices);
    let other: Vec<_> = notices.iter().filter(|(code, _)| code != "agent.verbatim-text").collect();
    assert!(other.is_empty(), "{other:?} of {answer:?}");
    let ReplyContent::Items(_) = &said else { panic!("{said:?} of {answer:?}") };
    let acts = items(&said).len();
    assert!(acts > 0, "{answer:?}");
    let is_final = |payload: &&systole_kit::Payload| &*payload.name().local == "answer";
    assert!(!is_last || items(&said).iter().any(is_final), "{said:?} of {answer:?}");
}
