//! The flood of one client is that client's own: who sends little is served beside who sends much.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::process::Signal;
use systole_core::types::record::{RecordCode, RecordKind};

use crate::log_records::read_all;
use crate::organism::{ECHO_XSD, folder, say};
use crate::program::{Answer, Running, ask_as, run_file, systole_with};

const ANN: &str = "ann-token-0123456789";
const BEN: &str = "ben-token-0123456789";
const TOKENS: [(&str, &str); 2] = [("ANN_TOKEN", ANN), ("BEN_TOKEN", BEN)];

const FILE: &str = "organism: {name: hello}
listeners:
  echo: {run: [python3, echo.py], schema: echo.xsd, accepts: [say], returns: [said], entry: true}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
clients:
  ann: {token_env: ANN_TOKEN}
  ben: {token_env: BEN_TOKEN}
";

/// Answers with the text it gets. Before it answers the text `wait`, it waits for the file `go`.
const ECHO: &str = r#"import os, sys, time, xml.etree.ElementTree as ET
E, S, L, N = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}", "{https://xml-pipeline.org/ns/echo/v1}"
for line in sys.stdin:
    message = ET.fromstring(line)
    stamp = message.find(f"{E}meta/{S}stamp")
    text = message[1].findtext(N + "text")
    while text == "wait" and not os.path.exists("go"):
        time.sleep(0.05)
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    ET.SubElement(ET.SubElement(reply, N + "said"), N + "text").text = text
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

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
    let folder = folder(&[("organism.yaml", &file), ("echo.xsd", ECHO_XSD), ("echo.py", ECHO)]);
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
    let folder = folder(&[("organism.yaml", &file), ("echo.xsd", ECHO_XSD), ("echo.py", ECHO)]);
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
fn d12_who_sends_little_is_served_beside_who_floods_a_listener_also_after_a_kill() {
    let folder = folder(&[("organism.yaml", FILE), ("echo.xsd", ECHO_XSD), ("echo.py", ECHO)]);
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
