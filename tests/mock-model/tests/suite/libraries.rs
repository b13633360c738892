//! The libraries of the providers read the mock: its wire is theirs, whole and streamed.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::client::mock;

#[test]
fn the_libraries_of_the_providers_read_every_answer() {
    let mock = mock(
        "- {thinking: \"Hm… let me look\", say: \"I look, ä 🧠.\", chunk: 3, call: [{search: {query: é}}, {search: {query: x}}], \
         usage: {in: 120, out: 30, cached: 100}, times: always}",
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut python = Command::new("python3");
    python.arg(root.join("tests/models/read_answers.py")).arg(mock.url());
    let tools = ["model-libraries", "mcp-python"].map(|name| root.join("target/tools").join(name));
    if tools[0].is_dir() {
        python.env("PYTHONPATH", std::env::join_paths(tools).unwrap());
    }
    let ran = python.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let lines = String::from_utf8(ran.stdout).unwrap();
    let read: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let calls = json!([["search", {"query": "é"}], ["search", {"query": "x"}]]);
    let forms = ["openai", "openai-responses", "anthropic", "gemini"];
    let wanted =
        |form: &&str| json!({"form": form, "text": "I look, ä 🧠.", "calls": calls, "usage": [120, 30]});
    let wanted: Vec<Value> = forms.iter().flat_map(|form| [wanted(form), wanted(form)]).collect();
    assert_eq!(read, wanted);
    mock.stop();
}
