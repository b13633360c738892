//! Whole organisms: real programs and the real log, with messages sent as a door sends them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use systole_carriers::InlineListener;
use systole_config as config;
use systole_core::types::composition::Composition;
use systole_core::types::flow::Receipt;
use systole_core::types::ids::{Key, Name};
use systole_core::types::ports::Position;
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_log::sqlite;
use systole_organism::plan::{LogPlace, ReloadAtStart, RunPlan, StartFault};
use systole_organism::pump_loop::LoopEnd;
use systole_organism::running::{ClientMessage, Organism};
use systole_organism::waiting::SenderReply;
use systole_system::failpoint::Failpoint;

use crate::log_records::edit_at;
use crate::log_records::{fixture, fixtures};
use crate::program::PATIENCE;

/// A copy of a fixture: an organism with its log.
pub(crate) fn copy_house(name: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let script = "cp -r \"$0\"/. \"$1\" && chmod -R u=rwX,go= \"$1\"";
    let mut copying = std::process::Command::new("sh");
    let copied = copying.args(["-c", script]).arg(fixtures().join(name)).arg(copy.path()).status();
    assert!(copied.unwrap().success());
    copy
}

/// A folder with an organism's file and the files that it names.
pub(crate) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// Starts the organism of that folder.
pub(crate) async fn start(folder: &Path) -> Organism {
    start_with(folder, |_, _| {}).await
}

/// Starts it after a change: settings that its file cannot express, and its listeners in this process.
pub(crate) async fn start_with(
    folder: &Path,
    change: impl FnOnce(&mut Composition, &mut BTreeMap<Name, Arc<dyn InlineListener>>),
) -> Organism {
    Organism::start(plan(folder, change)).await.unwrap()
}

fn plan(
    folder: &Path,
    change: impl FnOnce(&mut Composition, &mut BTreeMap<Name, Arc<dyn InlineListener>>),
) -> RunPlan {
    let file = config::load(&folder.join("organism.yaml")).unwrap_or_else(|refused| panic!("{refused}"));
    let (mut composition, mut inline) = (file.composition, BTreeMap::new());
    change(&mut composition, &mut inline);
    RunPlan {
        bus: None,
        managed: None,
        stands_by: None,
        given_up: None,
        proof: None,
        followers: Vec::new(),
        schedules: Vec::new(),
        reload: ReloadAtStart::default(),
        composition,
        directory: folder.to_owned(),
        log: LogPlace::File(file.log),
        inline,
        validators: 1,
        surroundings: std::env::vars_os().collect(),
        steps: Arc::new(Failpoint::parse(None).unwrap()),
    }
}

/// Sends a payload as the operator and returns its receipt.
pub(crate) async fn ask(
    organism: &Organism,
    key: &str,
    document: &str,
    thread: Option<&str>,
) -> Result<Receipt, String> {
    let message = ClientMessage {
        client: Name::new_operator(),
        key: Key::parse(key).unwrap(),
        document: document.as_bytes().to_vec(),
        to: None,
        thread: thread.map(str::to_owned),
        subject: None,
    };
    match organism.handle().send_message(message).await.expect("the pump answers") {
        SenderReply::Receipt(receipt, _) => Ok(receipt),
        SenderReply::Refused(refusal) => Err(format!("{}: {}", refusal.code, refusal.message)),
        SenderReply::Done => panic!("a message is not an order"),
    }
}

/// Waits for the outcome of a top call.
pub(crate) async fn outcome(organism: &Organism, receipt: &Receipt) -> Record {
    let mut tail = organism.tail();
    let waits = async {
        loop {
            let records = organism.reader().of_thread(&receipt.thread, 1, 10_000).unwrap();
            let closes = |r: &Record| {
                r.header.call.as_ref() == Some(&receipt.call)
                    && (r.header.code == Some(RecordCode::Role(MessageRole::Final))
                        || r.header.kind == RecordKind::Outcome
                            && r.header.code != Some(RecordCode::DeadLetter))
            };
            if let Some((_, record)) = records.into_iter().find(|(_, r)| closes(r)) {
                return record;
            }
            tail.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, waits).await.expect("an outcome comes in time")
}

/// The whole log, one line for each record, for failure messages.
pub(crate) fn told(organism: &Organism) -> String {
    let records = organism.reader().read_after(Position(0), 10_000).unwrap();
    let line = |(position, r): (Position, Record)| {
        let h = &r.header;
        let call = h.call.as_ref().map_or("-", |c| c.as_str());
        format!(
            "{} {} #{} {} {} {} -> {} call {} {}\n",
            position.0,
            h.thread,
            h.seq,
            h.kind.as_str(),
            h.code.map_or("-", |c| c.as_str()),
            h.from,
            h.to.as_ref().map_or("-", |t| t.as_str()),
            call,
            String::from_utf8_lossy(&r.body)
        )
    };
    records.into_iter().map(line).collect()
}

/// Answers with the text it gets. Before it answers the text `wait`, it waits for the file `go`.
pub(crate) const PATIENT_PY: &str = r#"import os, sys, time, xml.etree.ElementTree as ET
E, S, L = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}"
for line in sys.stdin:
    message = ET.fromstring(line)
    stamp = message.find(f"{E}meta/{S}stamp")
    space = message[1].tag.split("}")[0] + "}"
    text = message[1].findtext(space + "text")
    while text == "wait" and not os.path.exists("go"):
        time.sleep(0.05)
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    ET.SubElement(ET.SubElement(reply, space + "said"), space + "text").text = text
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

pub(crate) const ECHO_XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://xml-pipeline.org/ns/echo/v1" elementFormDefault="qualified">
  <xs:element name="say"><xs:complexType><xs:sequence><xs:element name="text" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
  <xs:element name="said"><xs:complexType><xs:sequence><xs:element name="text" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
</xs:schema>"#;

pub(crate) const ECHO_PY: &str = r#"import sys, xml.etree.ElementTree as ET
E, S, L, N = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}", "{https://xml-pipeline.org/ns/echo/v1}"
for line in sys.stdin:
    message = ET.fromstring(line)
    stamp = message.find(f"{E}meta/{S}stamp")
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    ET.SubElement(ET.SubElement(reply, N + "said"), N + "text").text = message[1].findtext(N + "text")
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

pub(crate) fn echo() -> tempfile::TempDir {
    folder(&[
        (
            "organism.yaml",
            "organism: {name: hello}\nlisteners:\n  echo:\n    run: [python3, echo.py]\n    schema: echo.xsd\n    accepts: [say]\n    returns: [said]\n    entry: true\nlog: {path: ./hello.db}\n",
        ),
        ("echo.xsd", ECHO_XSD),
        ("echo.py", ECHO_PY),
    ])
}

pub(crate) fn say(text: &str) -> String {
    format!("<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\"><text>{text}</text></say>")
}

#[tokio::test]
async fn a_message_goes_all_the_way_and_back() {
    let folder = echo();
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &say("hello"), None).await.unwrap();
    let answer = outcome(&organism, &receipt).await;
    assert!(String::from_utf8_lossy(&answer.body).contains(">hello</"), "{}", told(&organism));
    assert_eq!(answer.header.from.as_str(), "echo");
    assert_eq!(organism.stop(PATIENCE).await, LoopEnd::Drained(0));
}

#[tokio::test]
async fn c11_the_same_key_meets_its_first_receipt_also_after_a_restart() {
    let folder = echo();
    let organism = start(folder.path()).await;
    let first = ask(&organism, "k1", &say("hello"), None).await.unwrap();
    outcome(&organism, &first).await;
    let again = ask(&organism, "k1", &say("hello"), None).await.unwrap();
    assert_eq!((again.id, again.repeated), (first.id, true));
    organism.stop(Duration::from_secs(2)).await;

    let organism = start(folder.path()).await;
    let again = ask(&organism, "k1", &say("hello"), None).await.unwrap();
    assert_eq!((again.id, again.repeated), (first.id, true));
    let conflict = ask(&organism, "k1", &say("other"), None).await.unwrap_err();
    assert!(conflict.starts_with("payload.id-conflict"), "{conflict}");
    let more = ask(&organism, "k2", &say("more"), Some(first.thread.as_str())).await.unwrap();
    assert_eq!(more.call.as_str(), "2", "a resting root goes on with the next message");
    outcome(&organism, &more).await;
    let more = ask(&organism, "k2", &say("more"), Some(first.thread.as_str())).await.unwrap();
    assert!(more.repeated, "{}", told(&organism));
    organism.stop(Duration::from_secs(2)).await;
}

#[tokio::test]
async fn a_wrong_payload_is_refused_with_its_place_and_recorded() {
    let folder = echo();
    let organism = start(folder.path()).await;
    let wrong = "<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\"><txt>hello</txt></say>";
    let refused = ask(&organism, "k1", wrong, None).await.unwrap_err();
    assert!(refused.starts_with("payload.invalid"), "{refused}");
    // It is chance whether the listener joined before.
    let told = told(&organism);
    assert!(
        told.lines().any(|l| l.contains(" sys #") && l.contains(" refusal payload.invalid core -> operator")),
        "{told}"
    );
    organism.stop(Duration::from_secs(2)).await;
}

/// Panics in the thread that takes the first message.
struct Mine;

impl systole_core::types::ports::StepObserver for Mine {
    fn note_step(&self, step: systole_core::types::ports::PumpStep) {
        assert_ne!(step, systole_core::types::ports::PumpStep::Received, "as a fault of ours would");
    }
}

#[tokio::test]
async fn b11_a_validator_that_panics_ends_the_organism_and_no_client_waits() {
    let folder = echo();
    let file = config::load(&folder.path().join("organism.yaml")).unwrap();
    let plan = RunPlan {
        bus: None,
        managed: None,
        stands_by: None,
        given_up: None,
        proof: None,
        followers: Vec::new(),
        schedules: Vec::new(),
        reload: ReloadAtStart::default(),
        composition: file.composition,
        directory: folder.path().to_owned(),
        log: LogPlace::File(file.log),
        inline: BTreeMap::new(),
        validators: 1,
        surroundings: std::env::vars_os().collect(),
        steps: Arc::new(Mine),
    };
    let mut organism = Organism::start(plan).await.unwrap();
    let message = ClientMessage {
        client: Name::new_operator(),
        key: Key::parse("k").unwrap(),
        document: say("hello").into_bytes(),
        to: None,
        thread: None,
        subject: None,
    };
    let asked = tokio::time::timeout(PATIENCE, organism.handle().send_message(message)).await;
    assert!(matches!(asked, Ok(None)), "the organism answers no more");
    assert_eq!(organism.wait_for_break().await, LoopEnd::Broken("validator-0 panicked".to_owned().into()));
    organism.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn c13_an_older_log_is_converted_only_when_everything_else_has_started() {
    let folder = echo();
    let log = folder.path().join("hello.db");
    for format in 1..7 {
        let folder = echo();
        let log = folder.path().join("hello.db");
        std::fs::copy(fixture(format), &log).unwrap();
        let before = std::fs::read(&log).unwrap();
        // Calls are open that began under a configuration which the log does not have.
        let refused = Organism::start(plan(folder.path(), |_, _| {})).await.err();
        assert!(matches!(refused, Some(StartFault::Configuration { .. })), "{format}: {refused:?}");
        assert!(std::fs::read(&log).unwrap() == before, "the log of format {format} was changed");
        assert_eq!(sqlite::read_format(&log), Ok(format));
    }
    drop(sqlite::open_log(&log).unwrap());
    edit_at(&log, "DROP TABLE piece; PRAGMA user_version = 5");
    let organism = start(folder.path()).await;
    let notes = organism.notes().join("\n");
    assert!(notes.contains("was converted from format 5 to format 8"), "{notes}");
    let receipt = ask(&organism, "k1", &say("hello"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    assert_eq!(organism.stop(PATIENCE).await, LoopEnd::Drained(0));
    assert_eq!(sqlite::read_format(&log), Ok(8));
}
