//! Listeners that are away for a while: one whose program cannot be started, and one that the file does not name any
//! more. Calls to them wait, and go on by themselves when they are back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::organism::folder;
use crate::program::{PATIENCE, Running, systole};

const FILE: &str = r#"organism: {name: hello, entry: tool}
listeners:
  tool: {run: [./tool.sh], mode: once, accepts: [ask], returns: [answer]}
log: {path: ./hello.db}
console: {listen: "127.0.0.1:0"}
"#;
const TOOL: &str = "#!/bin/sh\ncat > /dev/null\necho '<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">done</answer>'\n";

fn until(folder: &Path, kind: &str, count: usize) {
    let end = Instant::now() + PATIENCE;
    let log = || systole(folder, &["log", "--json"]).kinds();
    while log().iter().filter(|one| *one == kind).count() < count {
        assert!(Instant::now() < end, "{kind}: {:?}", log());
    }
}

fn sends(folder: &Path, to: &str) -> String {
    let sent = systole(folder, &["send", "ask", "Hi", "--to", to, "--no-wait", "--json"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.json_lines()[0]["receipt"]["thread"].as_str().unwrap().to_owned()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The kinds of attempt records, and whether the log is sound.
fn attempts(folder: &Path) -> Vec<String> {
    let all = systole(folder, &["log", "--json"]).kinds();
    assert!(!all.contains(&"outcome/dead-letter".to_owned()), "{all:?}");
    let verified = systole(folder, &["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    all.into_iter().filter(|kind| kind.starts_with("attempt/")).collect()
}

#[test]
fn b21_a_program_that_cannot_be_started_is_waited_for() {
    let folder = folder(&[("organism.yaml", FILE), ("tool.sh", TOOL)]);
    let at = folder.path();
    let (here, away) = (at.join("tool.sh"), at.join("away.sh"));
    fs::set_permissions(&here, fs::Permissions::from_mode(0o755)).unwrap();
    let running = Running::organism(at);
    fs::rename(&here, &away).unwrap();
    let thread = sends(at, "tool");
    until(at, "attempt/waits", 1);
    let told = flat(&systole(at, &["why", &thread]).stdout);
    assert!(told.contains("waiting (outage): the program of tool cannot be started: 1 call"), "{told}");
    fs::rename(&away, &here).unwrap();
    until(at, "message/final", 1);
    running.interrupt();
    assert_eq!(attempts(at), ["attempt/waits", "attempt/goes-on"]);
}

#[test]
fn b21_a_listener_that_left_the_file_is_waited_for_until_a_file_names_it() {
    let silent = FILE.replace(
        "  tool:",
        "  slow: {run: [sh, slow.sh], accepts: [ask], returns: [answer], entry: true}\n  tool:",
    );
    let folder = folder(&[
        ("organism.yaml", &silent),
        ("tool.sh", TOOL),
        ("slow.sh", "while read -r line; do :; done\n"),
    ]);
    let at = folder.path();
    fs::set_permissions(at.join("tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let running = Running::organism(at);
    let thread = sends(at, "slow");
    until(at, "message/request", 1);
    running.signal(Signal::KILL);
    running.end();
    fs::write(at.join("organism.yaml"), FILE).unwrap();
    let running = Running::organism(at);
    until(at, "attempt/waits", 1);
    let told = flat(&systole(at, &["why", &thread]).stdout);
    assert!(told.contains("waiting (outage): slow is not part of the running organism: 1 call"), "{told}");
    running.interrupt();
    // Its program answers now.
    let answers = silent.replace("[sh, slow.sh]", "[./tool.sh], mode: once");
    fs::write(at.join("organism.yaml"), answers).unwrap();
    let running = Running::organism(at);
    until(at, "message/final", 1);
    running.interrupt();
    // The program may have had it when the pump was killed.
    assert_eq!(attempts(at), ["attempt/listener.lost", "attempt/waits", "attempt/goes-on"]);
}
