//! A mock of all providers by other authors answers agents: their calls and finals are read as it writes them, whole and
//! streamed, and what it refuses or breaks off is asked again.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::browser::node;
use crate::organism::folder;
use crate::program::{PATIENCE, Running, lines, systole};

/// A provider as the file names it, and where the mock speaks for it.
const PROVIDERS: [(&str, &str); 5] = [
    ("openai", "/v1"),
    ("openai-responses", "/v1"),
    ("anthropic", ""),
    ("ollama", ""),
    ("gemini", "/v1beta"),
];
/// How the first request of an agent is answered.
const MANNERS: [&str; 3] = ["well", "busy", "cut"];
const WEATHER: &str = r#"import re, sys
for line in sys.stdin:
    if line.startswith("<message"):
        delivery = re.search(' delivery="([^"]*)"', line)[1]
        print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}"><degrees xmlns="https://xml-pipeline.org/ns/shop/v1"><value>22</value></degrees></reply>', flush=True)
"#;

/// The agents, by how they are asked: the name says how the mock answers.
fn list_agents() -> Vec<(String, &'static str, &'static str, bool, &'static str)> {
    let mut all = Vec::new();
    for (provider, path) in PROVIDERS {
        for streams in [true, false] {
            for manner in MANNERS {
                let way = if streams { "streamed" } else { "whole" };
                all.push((format!("{provider}-{way}-{manner}"), provider, path, streams, manner));
            }
        }
    }
    all
}

/// What the mock answers. It knows an agent by the name of its model.
fn list_answers() -> Vec<Value> {
    let call = json!({"toolCalls": [{"name": "weather", "arguments": {"city": "Rome"}}]});
    let busy = json!({"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429});
    let mut all = Vec::new();
    for (name, .., manner) in list_agents() {
        let first = json!({"model": name, "hasToolResult": false, "sequenceIndex": 0});
        match manner {
            "busy" => all.push(json!({"match": first, "response": busy})),
            "cut" => all.push(json!({"match": first, "response": call, "truncateAfterChunks": 2})),
            _ => {}
        }
        all.push(json!({"match": {"model": name, "hasToolResult": false}, "response": call}));
        let found = json!({"model": name, "hasToolResult": true, "toolResultContains": "22"});
        all.push(json!({"match": found, "response": {"content": "Rome has 22 degrees."}}));
    }
    all
}

fn write_file(port: u16) -> String {
    let (mut models, mut agents) = (String::new(), String::new());
    for (name, provider, path, streams, _) in list_agents() {
        models += &format!(
            "  {name}: {{provider: {provider}, model: {name}, url: \"http://127.0.0.1:{port}{path}\", key_env: KEY, stream: {streams}, retry: {{backoff: 10ms..20ms}}}}\n"
        );
        agents += &format!(
            "  {name}: {{model: {name}, dialect: native, peers: [weather], prompt: {{identity: You help.}}}}\n"
        );
    }
    format!(
        "organism: {{name: shop}}\npayloads: {{weather: {{city: text}}, degrees: {{value: number}}}}\nmodels:\n{models}agents:\n{agents}listeners:\n  weather: {{run: [python3, weather.py], accepts: [weather], returns: [degrees]}}\nconsole: {{listen: \"127.0.0.1:0\"}}\n"
    )
}

/// The mock, gone when it is dropped.
struct Aimock {
    child: Child,
    port: u16,
}

impl Aimock {
    fn start(at: &Path) -> Aimock {
        std::fs::write(at.join("answers.json"), json!({"fixtures": list_answers()}).to_string()).unwrap();
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools/aimock-npm");
        let mut mock = Command::new(node());
        mock.arg(program.join("node_modules/@copilotkit/aimock/dist/cli.js"));
        mock.args(["--port", "0", "--fixtures", "answers.json", "--log-level", "info"]).current_dir(at);
        let mut child = mock.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let said = lines(child.stdout.take().unwrap());
        let port = loop {
            let line = said.recv_timeout(PATIENCE).expect("the mock says where it listens");
            if let Some((_, port)) = line.trim().rsplit_once("listening on http://127.0.0.1:") {
                break port.parse().unwrap();
            }
        };
        Aimock { child, port }
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn e13_a_mock_of_other_authors_answers_an_agent_of_each_provider() {
    let beside = tempfile::tempdir().unwrap();
    let mock = Aimock::start(beside.path());
    let folder = folder(&[("organism.yaml", &write_file(mock.port)), ("weather.py", WEATHER)]);
    let organism = Running::organism_with(folder.path(), &[("KEY", "a-key-for-the-mock")]);
    for (name, ..) in list_agents() {
        let answer = systole(folder.path(), &["ask", "--to", &name, "Which city is warm?"]);
        assert_eq!(
            (answer.code, answer.stdout.trim()),
            (Some(0), "Rome has 22 degrees."),
            "{name}: {answer:?}"
        );
    }
    organism.interrupt();
}
