//! What a person sees at a gate that shows the output of a step which changed files: each line that changed, whatever the
//! step says of it.

use std::fs;

use serde_json::Value;

use crate::organism::folder;
use crate::program::{Running, page, run_file, systole, systole_with};

const ORGANISM: &str = "organism: {name: office}
listeners:
  hands: {workspace: ./work}
models: {main: {provider: script, file: replies.yaml}}
agents:
  coder: {model: main, peers: [hands], actions: many, prompt: {identity: You edit.}}
workflows:
  gated:
    by: coder
    goals:
      - edit: Change the greeting.
      - plan: Only think.
      - gate: {ask: Keep it?, choices: [keep, drop], shows: [edit, plan]}
      - answer: Say it.
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

const REPLIES: &str = r#"coder:
  - {asked: '<current-goal id="edit">', if: Change the greeting, say: '<str_replace path="a.txt"><old_str>two</old_str><new_str>2 &lt;b id=hostile>bold&lt;/b></new_str></str_replace>'}
  - {asked: '<current-goal id="edit">', say: '<attempt_completion><result>I changed nothing of note.</result></attempt_completion>', times: always}
  - {say: '<attempt_completion><result>All is well.</result></attempt_completion>', times: always}
"#;

#[test]
fn g4_a_gate_shows_what_its_step_changed_and_not_only_what_it_said() {
    let folder = folder(&[
        ("organism.yaml", ORGANISM),
        ("replies.yaml", REPLIES),
        ("work/a.txt", "one\ntwo\nthree\n"),
    ]);
    let asked = systole(folder.path(), &["ask", "Greet them."]);
    assert_eq!(asked.code, Some(6), "{asked:?}");
    let changed = fs::read_to_string(folder.path().join("work/a.txt")).unwrap();
    assert!(changed.contains("2 <b id=hostile>"), "{changed}: {asked:?}");

    let list = systole_with(folder.path(), &["approve"], &[("COLUMNS", "200")]).stdout;
    for wanted in [
        "I changed nothing of note.",
        "changed by hands (done), record ",
        "│ -two\n",
        "│ +2 <b id=hostile>bold</b>\n",
    ] {
        assert!(list.contains(wanted), "{wanted}: {list}");
    }
    assert_eq!(list.matches("changed by").count(), 1, "a step without a change shows none: {list}");

    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let told = page(&run, "GET", "/v1/approvals", "application/json", &[]).json;
    let changes = &told["approvals"][0]["shows"][0]["changes"];
    assert_eq!(
        (&changes[0]["workspace"], &changes[0]["outcome"]),
        (&"hands".into(), &"done".into()),
        "{told}"
    );
    assert!(changes[0]["payload"].as_str().unwrap().starts_with("<apply "), "{told}");
    assert_eq!(told["approvals"][0]["shows"][1]["changes"], Value::Array(Vec::new()));
    let shown = page(&run, "GET", "/approvals", "text/html", &[]).body;
    assert!(shown.contains("│ -two\n") && shown.contains("+2 &#60;b id=hostile&#62;"), "{shown}");
    assert!(!shown.contains("<b id=hostile"), "it stays text");
    organism.interrupt();
}
