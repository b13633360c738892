//! `systole listener try`: a single listener, with good and bad programs. The output must match what an organism
//! would say.

use std::path::Path;

use serde_json::Value;

use crate::organism::folder;
use crate::program::{Ran, systole, systole_with_stdin};

const ASK: &str = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Who?</ask>";
const ANSWER: &str = "<answer xmlns=\\\"https://xml-pipeline.org/ns/talk/v1\\\">I</answer>";

/// Tries a shell script that starts once for the request.
fn once(script: &str) -> Ran {
    let folder = folder(&[("ask.xml", ASK)]);
    let script = script.replace("ANSWER", ANSWER);
    let arguments = ["listener", "try", "--once", "--file", "ask.xml", "--"];
    systole(folder.path(), &[&arguments[..], &["sh", "-c", &script]].concat())
}

/// Tries a Python program that stays running.
fn stays(script: &str, more: &[&str]) -> Ran {
    let folder = folder(&[("ask.xml", ASK), ("program.py", script)]);
    let arguments = ["listener", "try", "--file", "ask.xml"];
    systole(folder.path(), &[&arguments[..], more, &["--", "python3", "program.py"]].concat())
}

fn says(ran: &Ran, code: i32, wanted: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for wanted in wanted {
        assert!(ran.stderr.contains(wanted), "wanted {wanted:?}: {ran:?}");
    }
}

#[test]
fn g6_a_listener_of_the_file_is_tried_without_an_organism() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/first-listeners");
    let files = ["organism.yaml", "answer.sh", "answer.py"];
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        std::fs::copy(root.join(file), folder.path().join(file)).unwrap();
    }
    for listener in ["answer", "answer-py"] {
        let ran = systole_with_stdin(folder.path(), &["listener", "try", listener], ASK);
        says(&ran, 0, &["item 0    the answer", "took ", "program   exited 0"]);
        assert!(ran.stdout.contains(">You asked: Who?<"), "{ran:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), files.len(), "no log, no other file");
    let misspelt = systole_with_stdin(folder.path(), &["listener", "try", "answr"], ASK);
    says(&misspelt, 2, &["is called answr", "try: answer; a program is named by its path, as ./answr"]);
}

#[test]
fn g6_every_item_has_its_verdict_and_a_refusal_is_reported_whole() {
    let ran = once("echo \"ANSWER\"; echo 'one word aside' >&2");
    says(&ran, 0, &["stderr    one word aside", "item 0    the answer"]);
    let ran = once("echo \"ANSWER<answer xmlns='urn:other'>x</answer>\"");
    says(&ran, 1, &["reply.final-not-alone", "item 1    refused", "refused: route.not-a-peer"]);
    // The intended name is its own answer, in the namespace of that answer.
    let fix = [
        "expected your answers are:",
        "try      write <answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">",
    ];
    says(&ran, 1, &fix);
    says(&once("echo \"ANSWER\" | sed s/answer/anser/g"), 1, &fix);
    let invalid = "<answer xmlns='https://xml-pipeline.org/ns/talk/v1'><b/></answer>";
    let ran = once(&format!("echo \"{invalid}\""));
    says(&ran, 1, &["refused: payload.invalid", "at       /answer,", "try      <answer xmlns="]);
    let ran = once("echo 'no element at all'");
    says(&ran, 1, &["stderr    no element at all", "refused: listener.silent", "expected one of: answer"]);
    let ran = once("echo '<answer>'");
    says(&ran, 1, &["refused: payload.malformed"]);
}

#[test]
fn g6_a_program_that_dies_hangs_or_prints_nonsense_is_reported_as_such() {
    says(&once("echo oops >&2; exit 3"), 1, &["no reply  listener.failed: exited 3 after", "stderr    oops"]);
    says(&once("kill -9 $$"), 1, &["no reply  listener.lost: killed by signal 9 (KILL)"]);
    says(&stays("import sys; sys.exit(4)", &[]), 1, &["no reply  listener.lost: exited 4 after"]);
    let nonsense = "import sys\nfor line in sys.stdin: print('<reply xmlns=\"urn:systole:listener:v1\" delivery=\"x\"/>')\n";
    let ran = stays(nonsense, &["--timeout", "300ms"]);
    says(&ran, 1, &["refused: reply.stale-lease", "no reply  listener.timeout"]);
    let hangs = "import sys\nfor line in sys.stdin: pass\n";
    says(&stays(hangs, &["--timeout", "300ms"]), 1, &["no reply  listener.timeout: "]);
    let folder = folder(&[]);
    let arguments = ["listener", "try", "./nowhere"];
    let missing = systole_with_stdin(folder.path(), &arguments, ASK);
    says(&missing, 1, &["no reply  listener.down: cannot start ./nowhere"]);
}

const FORGETS: &str = r#"import sys, time, re
line = sys.stdin.readline()
token = re.search('delivery="([^"]+)"', line).group(1)
say = lambda text: print(text, flush=True)
L = 'xmlns="urn:systole:listener:v1" delivery="%s"' % token
say('<progress %s>thinking</progress>' % L)
say('<ask id="1" %s><view/></ask>' % L)
assert 'route.unavailable' in sys.stdin.readline()
say('<journal id="2" %s kind="model-started" model="m" prompt="%s"/>' % (L, 'a' * 64))
assert '<answer' in sys.stdin.readline()
say('<notice %s code="agent.second-action">only one</notice>' % L)
say('<reply %s><answer xmlns="https://xml-pipeline.org/ns/talk/v1">I</answer></reply>' % L)
say('<reply %s/>' % L)
while True: time.sleep(60)
"#;

#[test]
fn output_beside_the_reply_is_shown_and_a_program_that_does_not_end_is_reported() {
    let ran = stays(FORGETS, &[]);
    let told = [
        "progress  thinking",
        "ask       a question",
        "journal   an entry",
        "notice    agent.second-action: only one",
        "item 0    the answer",
        "late      1 document came after the reply",
        "it did not end when its stdin did, as a program must",
    ];
    says(&ran, 1, &told);
}

#[test]
fn a_call_to_a_peer_is_told_and_not_made() {
    let beat = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/beat");
    let order = std::fs::read_to_string(beat.join("order.xml")).unwrap();
    let ran = systole_with_stdin(&beat, &["listener", "try", "clerk", "--json"], &order);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&json["well"], &json["late"]), (&Value::Bool(false), &Value::from(0)));
    let cases: Vec<&str> =
        json["end"]["reply"].as_array().unwrap().iter().map(|item| item["case"].as_str().unwrap()).collect();
    // It asks the stock for an empty order, which is how the shop shows a refusal.
    assert_eq!(cases, ["pump", "pump", "refused"], "{json}");
    assert!(!beat.join("beat.db").exists(), "a trial keeps no log");
}

#[test]
fn a_request_that_the_listener_would_never_see_is_refused_first() {
    let folder = folder(&[]);
    let arguments = ["listener", "try", "--once", "--", "sh", "-c", "touch was-started"];
    let ran = systole_with_stdin(folder.path(), &arguments, &ASK.replace("Who?", "<b/>"));
    says(&ran, 4, &["refused: payload.invalid", "b: is not allowed", "at       /ask,"]);
    let ran = systole_with_stdin(folder.path(), &arguments, "who?");
    says(&ran, 4, &["refused: payload.malformed"]);
    assert!(!folder.path().join("was-started").exists());
    let other = "<other xmlns='urn:other'/>";
    let ran = systole_with_stdin(folder.path(), &["listener", "try", "./x"], other);
    says(&ran, 2, &["nothing says what the program may answer to <other>", "try: --schema FILE.xsd"]);
    // The elements of talk need no schema in the organism.
    let answer = format!("echo \"{}\"", ANSWER.replace("\\\"", "'"));
    let arguments = ["listener", "try", "--once", "--", "sh", "-c", &answer];
    says(&systole_with_stdin(folder.path(), &arguments, ASK), 0, &["item 0    the answer"]);
    let ran = systole_with_stdin(folder.path(), &["listener", "try", "--schema", "no.xsd", "./x"], ASK);
    says(&ran, 2, &["no.xsd, the schema: there is no such file\n  try: "]);
}

/// A reply that is correct for a program with `mode: once` is not a reply of a program that stays running.
#[test]
fn a_bare_answer_of_a_staying_program_is_reported_with_both_fixes() {
    let bare = "import sys\nsys.stdin.readline()\nprint('<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">I</answer>', flush=True)\n";
    let reply = "  or: <reply xmlns=\"urn:systole:listener:v1\" delivery=\"…\"><answer \
                 xmlns=\"https://xml-pipeline.org/ns/talk/v1\">I</answer></reply>, with the delivery of the request's <stamp>\n";
    let once = "  try: `mode: once` at listeners.tried, or --once for a program\n";
    let ran = stays(bare, &[]);
    says(&ran, 1, &["no reply  listener.lost", "bare      a payload was printed as it is;", once, reply]);
    let folder = folder(&[("ask.xml", ASK), ("program.py", bare)]);
    let repaired = ["listener", "try", "--once", "--file", "ask.xml", "--", "python3", "program.py"];
    says(&systole(folder.path(), &repaired), 0, &["item 0    the answer"]);
    // A reply over several lines is recognized by its name; a text that is not a payload is not.
    let several = bare.replace(">I<", ">\\nI\\n<");
    let ran = stays(&several, &[]);
    says(&ran, 1, &["bare      a payload was printed as it is;", ">…</reply>"]);
    let text = stays("import sys\nsys.stdin.readline()\nprint('<b> hello', flush=True)\n", &[]);
    says(&text, 1, &["no reply  listener.lost", "<b> hello"]);
    assert!(!text.stderr.contains("bare  "), "{text:?}");
    let arguments = ["listener", "try", "--json", "--file", "ask.xml", "--", "python3", "program.py"];
    let ran = systole(folder.path(), &arguments);
    let told: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert!(told["try"][0].as_str().unwrap().contains("--once"), "{told}");
}

#[test]
fn a_call_to_a_listener_that_a_person_must_approve_says_so() {
    let core = "https://xml-pipeline.org/ns/core/v1";
    let spawn =
        format!("<spawn-thread xmlns=\"{core}\"><initial-payload>{ASK}</initial-payload></spawn-thread>");
    for (item, words) in [(ASK, "a call to guarded"), (&spawn, "for the pump, which answers it")] {
        let file = format!(
            "organism: {{name: shop}}
listeners:
  asker:
    run: [printf, '%s', '{item}']
    mode: once
    accepts: [ask]
    returns: [answer]
    peers: [guarded]
    turns: 2
    entry: true
  guarded: {{run: ['true'], mode: once, accepts: [ask], returns: [answer], approval: {{when: always}}}}
"
        );
        let folder = folder(&[("organism.yaml", &file)]);
        let ran = systole_with_stdin(folder.path(), &["listener", "try", "asker"], ASK);
        says(&ran, 0, &[&format!("item 0    {words}; a person would have to approve it")]);
    }
}
