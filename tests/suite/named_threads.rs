//! Threads with a name, and single requests that are stopped, in a whole organism: over HTTP, by commands, through a
//! kill and in a replay.

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Answer, Running, ask, ask_as, run_file, systole};

/// Answers at once, and what says `wait` only when there is a file `go`.
const WORKER: &str = r#"
import os, sys, threading, time
import xml.etree.ElementTree as ET
T, L, S, E = "{https://xml-pipeline.org/ns/talk/v1}", "{urn:systole:listener:v1}", "{urn:systole:stamp:v1}", "{https://xml-pipeline.org/ns/envelope/v1}"
lock = threading.Lock()
def work(message):
    stamp = message.find(f"{E}meta/{S}stamp")
    while message[1].text == "wait" and not os.path.exists("go"):
        time.sleep(0.02)
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    ET.SubElement(reply, T + "answer").text = "heard " + (message[1].text or "")
    with lock:
        print(ET.tostring(reply, encoding="unicode"), flush=True)
for line in sys.stdin:
    if line.startswith("<message"):
        threading.Thread(target=work, args=(ET.fromstring(line),), daemon=True).start()
"#;

const FILE: &str = "organism: {name: hello}
listeners:
  helper: {run: [python3, worker.py], accepts: [ask], returns: [answer], entry: true, in_flight: 8}
clients:
  alice: {token_env: ALICE_TOKEN}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

const ALICE: &str = "alice-token-0123456789";

fn house() -> tempfile::TempDir {
    folder(&[("organism.yaml", FILE), ("worker.py", WORKER)])
}

fn start(folder: &Path) -> Running {
    Running::organism_with(folder, &[("ALICE_TOKEN", ALICE)])
}

fn question(words: &str) -> String {
    format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{words}</ask>")
}

/// The operator's message.
fn post(folder: &Path, query: &str, key: &str, words: &str) -> Answer {
    ask(
        &run_file(folder),
        "POST",
        &format!("/v1/messages{query}"),
        &[("Idempotency-Key", key)],
        &question(words),
    )
}

fn field(answer: &Answer, name: &str) -> String {
    answer.json[name].as_str().unwrap_or_else(|| panic!("no {name} in {answer:?}")).to_owned()
}

fn names(folder: &Path, query: &str) -> Vec<Value> {
    let listed = ask(&run_file(folder), "GET", &format!("/v1/threads?{query}"), &[], "").json;
    listed["threads"].as_array().unwrap().iter().map(|thread| thread["name"].clone()).collect()
}

#[test]
fn b18_a_name_is_one_thread_for_all_who_send_at_once_and_after_a_kill() {
    let folder = house();
    let organism = start(folder.path());
    let sent: Vec<String> = std::thread::scope(|scope| {
        let send = |n: usize| post(folder.path(), "?thread=@ticket-17", &format!("k{n}"), "now");
        let all: Vec<_> = (0..12).map(|n| scope.spawn(move || send(n))).collect();
        all.into_iter().map(|one| field(&one.join().unwrap(), "thread")).collect()
    });
    assert!(sent.iter().all(|thread| *thread == sent[0]), "{sent:?}");
    organism.signal(Signal::KILL);
    organism.end();

    let organism = start(folder.path());
    let again = post(folder.path(), "?thread=@ticket-17", "k3", "now");
    assert_eq!((field(&again, "thread"), &again.json["repeated"]), (sent[0].clone(), &Value::Bool(true)));
    assert_eq!(field(&again, "key"), "k3");
    assert!(again.json["position"].as_u64().unwrap() > 0, "{again:?}");
    // In an envelope, and under another client's name.
    let envelope = format!(
        "<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta><from>operator</from><thread>@ticket-17</thread></meta>{}</message>",
        question("now")
    );
    let same = ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &envelope);
    assert_eq!(field(&same, "thread"), sent[0], "{same:?}");
    let bearer = format!("Bearer {ALICE}");
    let other = ask_as(
        &run_file(folder.path()),
        "POST",
        "/v1/messages?thread=@ticket-17",
        &[("Authorization", &bearer)],
        &question("now"),
    );
    assert_eq!(other.status, 202);
    assert_ne!(field(&other, "thread"), sent[0]);
    post(folder.path(), "?thread=@tick", "k", "now");
    post(folder.path(), "", "k", "now");
    assert_eq!(names(folder.path(), "name=ticket-"), ["ticket-17", "ticket-17"]);
    assert_eq!(names(folder.path(), "name=@tick&client=operator"), ["tick", "ticket-17"]);
    organism.interrupt();

    // Commands take the name of a thread of the operator.
    let ran = systole(folder.path(), &["send", "ask", "now", "--thread", "@ticket-17"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let ran = systole(folder.path(), &["log", "@ticket-17", "--json", "-n", "0"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let first: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["thread"].as_str(), Some(sent[0].as_str()));
    let ran = systole(folder.path(), &["ps", "--name", "ticket-", "--client", "operator"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("@ticket-17, operator → helper"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("@tick,"), "{}", ran.stdout);
    let ran = systole(folder.path(), &["tree", "@ticket-18"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("operator has no thread with the name @ticket-18"), "{}", ran.stderr);
    let ran = systole(folder.path(), &["replay", "@ticket-17"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(systole(folder.path(), &["verify"]).code, Some(0));
}

#[test]
fn b18_names_and_keys_of_another_form_are_refused_and_an_ended_name_takes_nothing() {
    let folder = house();
    let organism = start(folder.path());
    let longest = "n".repeat(63);
    for (query, key, code) in [
        ("?thread=@", "k", "thread.unknown"),
        ("?thread=@last", "k", "thread.unknown"),
        ("?thread=@last.step", "k", "thread.unknown"),
        ("?thread=@a%2Fb", "k", "thread.unknown"),
        ("?thread=@a@b", "k", "thread.unknown"),
        ("?thread=@a%20b", "k", "thread.unknown"),
        (&format!("?thread=@{longest}"), "k", "thread.unknown"),
        ("?thread=@a", "k/1", "payload.invalid"),
        ("?thread=@a", &longest, "payload.invalid"),
        ("", "@a/k", "payload.invalid"),
        ("?to=helper", "@k", "payload.invalid"),
    ] {
        let refused = post(folder.path(), query, key, "now");
        assert_eq!(
            (refused.status, field(&refused, "code").as_str()),
            (422, code),
            "{query} {key}: {refused:?}"
        );
        assert!(refused.json["try"].is_string() || refused.json["message"].is_string(), "{refused:?}");
    }
    let opened = post(folder.path(), "?thread=@a", "k", "now");
    let id = field(&opened, "thread");
    let known = post(folder.path(), &format!("?thread={id}"), "@a/k2", "now");
    assert_eq!(field(&known, "code"), "payload.invalid", "a name is no part of a key");
    let ran = systole(folder.path(), &["cancel", "@a"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let late = post(folder.path(), "?thread=@a", "k2", "now");
    assert_eq!(field(&late, "code"), "thread.ended");
    let again = post(folder.path(), "?thread=@a", "k", "now");
    assert_eq!((field(&again, "thread"), &again.json["repeated"]), (id, &Value::Bool(true)));
    organism.interrupt();
}

#[test]
fn b10_one_request_is_stopped_and_the_thread_goes_on() {
    let folder = house();
    let organism = start(folder.path());
    let thread = field(&post(folder.path(), "?thread=@talk", "k1", "wait"), "thread");
    for (key, words) in [("k2", "second"), ("k3", "third")] {
        post(folder.path(), "?thread=@talk", key, words);
    }
    let stop = |query: &str| {
        ask(&run_file(folder.path()), "POST", &format!("/v1/threads/{thread}/cancel{query}"), &[], "")
    };
    let queued = stop("?call=2");
    assert_eq!((queued.status, &queued.json["call"]), (200, &Value::from(2)), "{queued:?}");
    assert_eq!((stop("?call=2").status, stop("?call=9").status, stop("?call=x").status), (422, 422, 400));
    let ran = systole(folder.path(), &["cancel", "@talk", "--call", "1"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("call 1 of ") || ran.stdout.contains("call 1 of "), "{}", ran.stderr);
    let outcome = |key: &str| {
        let headers = [("Idempotency-Key", key), ("Systole-Wait", "240")];
        let words = ["wait", "second", "third"][usize::from(key.as_bytes()[1] - b'1')];
        let path = "/v1/messages?thread=@talk";
        ask(&run_file(folder.path()), "POST", path, &headers, &question(words)).json["result"]["outcome"]
            .clone()
    };
    assert_eq!([outcome("k1"), outcome("k2"), outcome("k3")], ["failed", "failed", "answered"]);
    organism.interrupt();
    let cancelled: Vec<String> = read_all(&folder.path().join("hello.db"))
        .iter()
        .filter(|record| record.header.code.is_some_and(|code| code.as_str() == "thread.cancelled"))
        .map(|record| String::from_utf8_lossy(&record.body).into_owned())
        .collect();
    assert_eq!(cancelled.len(), 2);
    assert!(cancelled.iter().all(|body| body.contains("cancelled by operator")), "{cancelled:?}");
    let ran = systole(folder.path(), &["replay", "@talk"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}
