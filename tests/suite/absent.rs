//! Listeners that are away for a while: one whose program cannot be started, and one that the file does not name any
//! more. Calls to them wait, and go on by themselves when they are back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::organism::folder;
use crate::program::{PATIENCE, Running, ask_as, run_file, systole};

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
    // On a slow machine it may be tried in vain before the program is back.
    let tried = attempts(at);
    assert!(tried.chunks(2).all(|pair| pair == ["attempt/waits", "attempt/goes-on"]), "{tried:?}");
}

/// A file whose `slow` takes what it is sent and never answers, and a file without it.
fn silent() -> (String, tempfile::TempDir) {
    let silent = FILE.replace(
        "  tool:",
        "  slow: {run: [sh, slow.sh], accepts: [ask], returns: [answer], entry: true}\n  tool:",
    );
    let folder = folder(&[
        ("organism.yaml", &silent),
        ("tool.sh", TOOL),
        ("slow.sh", "while read -r line; do :; done\n"),
    ]);
    fs::set_permissions(folder.path().join("tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    (silent, folder)
}

#[test]
fn b21_a_listener_that_left_the_file_is_waited_for_until_a_file_names_it() {
    let (silent, folder) = silent();
    let at = folder.path();
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

/// The calls end, and nothing else does. The organism may run or not.
#[test]
fn b21_calls_that_wait_for_a_listener_are_cancelled_and_their_threads_go_on() {
    let (_, folder) = silent();
    let at = folder.path();
    let running = Running::organism(at);
    let threads = [sends(at, "slow"), sends(at, "slow"), sends(at, "slow")];
    until(at, "message/request", 3);
    running.signal(Signal::KILL);
    running.end();
    let nothing = systole(at, &["cancel", "--to", "slow"]);
    let words = "no call to slow waits for someone who is away; nothing is cancelled";
    assert!(nothing.code == Some(1) && nothing.stderr.contains(words), "{nothing:?}");
    fs::write(at.join("organism.yaml"), FILE).unwrap();
    let running = Running::organism(at);
    until(at, "attempt/waits", 3);
    let one = systole(at, &["cancel", &threads[0]]);
    assert_eq!(one.code, Some(0), "{one:?}");
    let both = systole(at, &["cancel", "--to", "slow"]);
    assert_eq!((both.code, &*both.stderr), (Some(0), "2 calls to slow are cancelled; their threads go on\n"));
    let again = systole(at, &["cancel", "--to", "slow", "--json"]);
    assert_eq!((again.code, &*again.stdout), (Some(1), "{\"to\":\"slow\",\"cancelled\":0}\n"));
    let told = flat(&systole(at, &["why", &threads[1]]).stdout);
    assert!(told.contains("cancelled by operator: slow is not part of the running organism"), "{told}");
    let on = systole(at, &["ask", "Go on.", "--to", "tool", "--thread", &threads[1]]);
    assert_eq!((on.code, &*on.stdout), (Some(0), "done\n"), "{on:?}");
    running.interrupt();
    for thread in &threads[1..] {
        let replay = systole(at, &["replay", thread]);
        assert_eq!(replay.code, Some(0), "{replay:?}");
    }
}

/// The file changes what a listener takes while a call to it is open.
#[test]
fn b21_an_element_that_a_listener_no_longer_takes_is_waited_for() {
    let (silent, folder) = silent();
    let at = folder.path();
    let running = Running::organism(at);
    let thread = sends(at, "slow");
    until(at, "message/request", 1);
    running.signal(Signal::KILL);
    running.end();
    fs::write(
        at.join("organism.yaml"),
        silent.replace("slow.sh], accepts: [ask]", "slow.sh], accepts: [answer]"),
    )
    .unwrap();
    let running = Running::organism(at);
    until(at, "attempt/waits", 1);
    let told = flat(&systole(at, &["why", &thread]).stdout);
    assert!(told.contains("waiting (outage): slow does not take what it was sent: 1 call"), "{told}");
    running.interrupt();
    // Another start changes nothing.
    let running = Running::organism(at);
    until(at, "message/told", 5);
    running.interrupt();
    // No organism has to run.
    let cancelled = systole(at, &["cancel", "--to", "slow"]);
    let words = "1 call to slow is cancelled; its thread goes on\n";
    assert_eq!((cancelled.code, &*cancelled.stderr), (Some(0), words), "{cancelled:?}");
    assert_eq!(attempts(at), ["attempt/listener.lost", "attempt/waits"]);
    let replay = systole(at, &["replay", &thread]);
    assert_eq!(replay.code, Some(0), "{replay:?}");
}

/// A client without a role, and one that operates.
#[test]
fn b21_a_client_cancels_only_calls_of_its_own() {
    let tokens = [("ANN_TOKEN", "ann-token-0123456789"), ("BOB_TOKEN", "bob-token-0123456789")];
    let file = format!(
        "{FILE}clients:\n  ann: {{token_env: ANN_TOKEN, may: [tool]}}\n  bob: {{token_env: BOB_TOKEN, roles: [operate]}}\n"
    );
    let folder = folder(&[("organism.yaml", &file)]);
    let at = folder.path();
    let running = Running::organism_with(at, &tokens);
    let run = run_file(at);
    let posts = |token: &str, path: &str, body: &str| {
        let bearer = format!("Bearer {token}");
        ask_as(&run, "POST", path, &[("Authorization", &bearer)], body)
    };
    let hi = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Hi</ask>";
    for token in [tokens[0].1, run.token.secret()] {
        assert_eq!(posts(token, "/v1/messages", hi).status, 202);
    }
    until(at, "attempt/waits", 2);
    for ((_, token), to, cancelled) in
        [(tokens[0], "tool", 1), (tokens[0], "tool", 0), (tokens[1], "other", 0), (tokens[1], "tool", 1)]
    {
        let answer = posts(token, &format!("/v1/listeners/{to}/cancel"), "");
        assert_eq!((answer.status, &answer.json["cancelled"]), (200, &cancelled.into()), "{answer:?}");
    }
    assert_eq!(posts(tokens[1].1, "/v1/listeners/no%20name/cancel", "").status, 400);
    running.interrupt();
    let all = systole(at, &["log", "--json"]).kinds();
    assert_eq!(all.iter().filter(|kind| *kind == "outcome/thread.cancelled").count(), 2, "{all:?}");
}

/// The time of a step is over while its call waits.
#[test]
fn b21_a_step_whose_time_is_over_says_who_was_away() {
    let file = FILE.replace("entry: tool}", "entry: plan}").replace(
        "log:",
        "workflows:\n  plan:\n    accepts: [ask]\n    returns: [answer]\n    goals:\n      - fetch: {call: ask, to: tool, with: {.: {text: Go.}}, timeout: 4s}\nlog:",
    );
    let folder = folder(&[("organism.yaml", &file)]);
    let running = Running::organism(folder.path());
    let asked = systole(folder.path(), &["ask", "Hi"]);
    let words = "it took longer than 4s (it waits: the program of tool cannot be started)";
    assert!(asked.code == Some(1) && flat(&asked.stderr).contains(words), "{asked:?}");
    // The workflow learns why the call of its child thread ended. The first call may have been tried more than once.
    let all = systole(folder.path(), &["log", "--json"]).kinds();
    let waited = all.iter().filter(|kind| *kind == "attempt/waits").count();
    let thread = sends(folder.path(), "plan");
    until(folder.path(), "attempt/waits", waited + 1);
    let cancelled = systole(folder.path(), &["cancel", "--to", "tool"]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    // It is handed the news before it fails.
    until(folder.path(), "outcome/listener.failed", 2);
    let told = flat(&systole(folder.path(), &["why", &thread]).stdout);
    assert!(told.contains("cancelled by operator: the program of tool cannot be started"), "{told}");
    running.interrupt();
    let log = systole_checker::log::LogSnapshot::open_file(&folder.path().join("hello.db")).unwrap();
    let report = systole_checker::check_under(&log, &[], &systole_checker::RunSettings::default());
    assert!(report.is_clean(), "{report}");
}
