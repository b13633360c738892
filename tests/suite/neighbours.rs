//! The flood of one client is that client's own: who sends little is served beside who sends much.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::process::Signal;
use systole_core::types::record::{RecordCode, RecordKind};

use crate::log_records::read_all;
use crate::organism::{ECHO_XSD, PATIENT_PY, folder, say};
use crate::program::{Answer, Running, ask_as, run_file, systole, systole_with};

pub(crate) const ANN: &str = "ann-token-0123456789";
pub(crate) const BEN: &str = "ben-token-0123456789";
pub(crate) const TOKENS: [(&str, &str); 2] = [("ANN_TOKEN", ANN), ("BEN_TOKEN", BEN)];

pub(crate) const FILE: &str = "organism: {name: hello}
listeners:
  echo: {run: [python3, echo.py], schema: echo.xsd, accepts: [say], returns: [said], entry: true}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
clients:
  ann: {token_env: ANN_TOKEN}
  ben: {token_env: BEN_TOKEN}
";

/// How much one client sends.
const FLOOD: usize = 60;

fn send(folder: &Path, token: &str, text: &str) {
    let sent = post(folder, token, text);
    assert_eq!(sent.status, 202, "{sent:?}");
}

/// The texts of the answers, in order of the log.
fn answers(folder: &Path) -> Vec<String> {
    let is_answer = RecordCode::parse("final");
    let finals = read_all(&folder.join("hello.db"))
        .into_iter()
        .filter(|record| record.header.kind == RecordKind::Message && record.header.code == is_answer);
    let text = |body: &[u8]| {
        let body = String::from_utf8_lossy(body).into_owned();
        body.split("text>").nth(1).and_then(|rest| rest.split('<').next()).unwrap_or_default().to_owned()
    };
    finals.map(|record| text(&record.body)).collect()
}

fn post(folder: &Path, token: &str, key: &str) -> Answer {
    let headers = [("Authorization", &*format!("Bearer {token}")), ("Idempotency-Key", key)];
    ask_as(&run_file(folder), "POST", "/v1/messages", &headers, &say(key))
}

/// An hour's rate, so that no slow machine lets one more through.
#[test]
fn d12_a_client_that_sends_more_than_its_rate_is_told_when_to_come_again_and_no_other_is() {
    let file = FILE.replace("ANN_TOKEN}", "ANN_TOKEN, rate: 3/h}");
    let folder = folder(&[("organism.yaml", &file), ("echo.xsd", ECHO_XSD), ("echo.py", PATIENT_PY)]);
    let at = folder.path();
    let mut organism = Running::organism_with(at, &TOKENS);
    for number in 0..3 {
        assert_eq!(post(at, ANN, &format!("k{number}")).status, 202);
    }
    let refused = post(at, ANN, "k3");
    assert_eq!((refused.status, &refused.json["code"]), (429, &"ingress.rate".into()), "{refused:?}");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=1_200).contains(&wait), "a third of an hour at most: {refused:?}");
    assert_eq!(post(at, ANN, "k1").status, 202, "what was taken gets its receipt again");
    assert_eq!(post(at, BEN, "k3").status, 202, "and who has no rate sends on");
    (0..4).for_each(|_| drop(organism.shows("echo -> ")));
    organism.interrupt();
    let records = read_all(&at.join("hello.db"));
    let code = RecordCode::parse("ingress.rate");
    let told: Vec<_> = records.iter().filter(|record| record.header.code == code).collect();
    assert_eq!(told.len(), 1, "it is on record");
    // What was let through is let through in a replay, however fast that is.
    let replayed = systole_with(at, &["replay"], &TOKENS);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
}

#[test]
fn d12_a_listener_gets_no_more_than_its_rate_and_the_rest_waits_for_it() {
    let file = FILE.replace("entry: true}", "entry: true, rate: 2/h}");
    let folder = folder(&[("organism.yaml", &file), ("echo.xsd", ECHO_XSD), ("echo.py", PATIENT_PY)]);
    let at = folder.path();
    let mut organism = Running::organism_with(at, &TOKENS);
    (0..5).for_each(|number| assert_eq!(post(at, BEN, &format!("k{number}")).status, 202));
    (0..2).for_each(|_| drop(organism.shows("echo -> ")));
    organism.interrupt();
    assert_eq!(answers(at), ["k0", "k1"]);
    std::fs::write(at.join("organism.yaml"), FILE).unwrap();
    let mut organism = Running::organism_with(at, &TOKENS);
    (0..3).for_each(|_| drop(organism.shows("echo -> ")));
    organism.interrupt();
    assert_eq!(answers(at), ["k0", "k1", "k2", "k3", "k4"]);
}

#[test]
fn d12_a_client_that_fills_the_queue_of_a_listener_is_told_and_no_other_is() {
    let file = FILE.replace("clients:", "limits: {queue: 8}\nclients:");
    let folder = folder(&[("organism.yaml", &file), ("echo.xsd", ECHO_XSD), ("echo.py", PATIENT_PY)]);
    let at = folder.path();
    let mut organism = Running::organism_with(at, &TOKENS);
    send(at, ANN, "wait");
    let why = |thread: &serde_json::Value| {
        let told = systole(at, &["why", thread.as_str().unwrap()]).stdout;
        told.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let doctor = || systole(at, &["doctor"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let sends = |key: &str| {
        let sent = post(at, ANN, key);
        assert_eq!(sent.status, 202, "{sent:?}");
        sent.json["thread"].clone()
    };
    let threads: Vec<_> = (1..=5).map(|number| sends(&format!("k{number}"))).collect();
    let is_warned = |told: &str| told.contains(" calls of ann wait there; with 8 (limits.queue)");
    assert!(!is_warned(&why(&threads[0])) && !is_warned(&doctor()));
    (6..=8).for_each(|number| drop(sends(&format!("k{number}"))));
    let refused = post(at, ANN, "k9");
    assert_eq!((refused.status, &refused.json["code"]), (429, &"ingress.queue".into()), "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("10"), "{refused:?}");
    let words = "as many calls of ann wait for echo as limits.queue allows: 8";
    assert_eq!(refused.json["message"], words);
    sends("k3");
    let beside = post(at, BEN, "k9");
    assert_eq!(beside.status, 202, "{beside:?}");
    let told = why(&beside.json["thread"]);
    assert!(told.contains("number 1 behind 1 out") && !is_warned(&told), "{told}");
    let told = why(&threads[0]);
    assert!(told.contains("number 2 behind 1 out"), "{told}");
    assert!(told.contains("at once; 8 calls of ann wait there; with 8 (limits.queue)"), "{told}");
    assert!(doctor().contains("echo: 8 calls of ann wait there; with 8 (limits.queue)"), "{}", doctor());
    std::fs::write(at.join("go"), "").unwrap();
    (0..10).for_each(|_| drop(organism.shows("echo -> ")));
    send(at, ANN, "k9");
    organism.shows("echo -> ");
    organism.interrupt();
    let replayed = systole_with(at, &["replay"], &TOKENS);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
}

#[test]
fn d12_who_sends_little_is_served_beside_who_floods_a_listener_also_after_a_kill() {
    let folder = folder(&[("organism.yaml", FILE), ("echo.xsd", ECHO_XSD), ("echo.py", PATIENT_PY)]);
    let at = folder.path();
    let organism = Running::organism_with(at, &TOKENS);
    send(at, ANN, "wait");
    for number in 0..FLOOD {
        send(at, ANN, &format!("flood-{number}"));
    }
    for number in 0..3 {
        send(at, BEN, &format!("little-{number}"));
    }
    organism.signal(Signal::KILL);
    assert_eq!(organism.end().code, None);
    assert_eq!(answers(at), [""; 0]);

    let mut organism = Running::organism_with(at, &TOKENS);
    send(at, BEN, "little-3");
    std::fs::write(at.join("go"), "").unwrap();
    // What came last of the flood is answered last.
    (0..FLOOD + 5).for_each(|_| drop(organism.shows("echo -> ")));
    organism.interrupt();
    let answers = answers(at);
    let places: Vec<usize> =
        (0..4).map(|n| answers.iter().position(|text| *text == format!("little-{n}")).unwrap()).collect();
    assert!(places.is_sorted() && places[3] <= 9, "one of each in turn: {answers:?}");
    let distinct: BTreeSet<&String> = answers.iter().collect();
    assert_eq!((answers.len(), distinct.len()), (FLOOD + 5, FLOOD + 5), "each once");
}
