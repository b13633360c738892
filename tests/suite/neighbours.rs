//! One client's flood is nobody else's: whoever sends little is served beside whoever sends much.

use std::path::Path;

use rustix::process::Signal;
use systole_core::types::record::{RecordCode, RecordKind};

use crate::log_records::read_all;
use crate::organism::{ECHO_XSD, folder, say};
use crate::program::{Running, ask_as, run_file};

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
    let headers = [("Authorization", &*format!("Bearer {token}")), ("Idempotency-Key", text)];
    let sent = ask_as(&run_file(folder), "POST", "/v1/messages", &headers, &say(text));
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
    let flood: Vec<&String> = answers.iter().filter(|text| text.starts_with("flood")).collect();
    assert_eq!(
        flood,
        (0..FLOOD).map(|n| format!("flood-{n}")).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
}
