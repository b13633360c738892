//! A person asks a model about a picture or a PDF.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustix::process::Signal;
use serde_json::Value;
use systole_core::types::ids::Digest;
use systole_mock_model::{MockModel, MockOptions, MockScript};
use systole_organism::runfile::RunFile;

use crate::organism::folder;
use crate::program::{Ran, Running, ask, ask_as, send_bytes, systole_with};
use crate::replay::log_in;

/// A picture of one pixel.
const PNG: &[u8] = include_bytes!("../fixtures/pixel.png");
const PDF: &[u8] = b"%PDF-1.7\n%%EOF\n";
const SECRET: [(&str, &str); 3] =
    [("MODEL_KEY", "k-12345678"), ("ALICE", "a-token-of-alice"), ("BOB", "a-token-of-bob-too")];

/// An organism with an agent that sees files and one that does not, and the model of both.
fn house(replies: usize) -> (tempfile::TempDir, MockModel) {
    house_of(&format!("[{}]", vec!["{say: It is blue.}"; replies].join(", ")))
}

fn house_of(script: &str) -> (tempfile::TempDir, MockModel) {
    let mock = MockModel::start(MockScript::parse(script).unwrap(), MockOptions::default()).unwrap();
    let url = mock.url();
    let yaml = format!(
        r#"organism: {{name: hello, entry: seer}}
models:
  eye: {{provider: openai, model: m, url: "{url}", key_env: MODEL_KEY, files: [image, pdf]}}
  blind: {{provider: openai, model: m, url: "{url}", key_env: MODEL_KEY}}
agents:
  seer: {{model: eye, dialect: native, entry: true, prompt: {{identity: You look.}}}}
  reader: {{model: blind, dialect: native, entry: true, prompt: {{identity: You read.}}}}
clients:
  alice: {{token_env: ALICE}}
  bob: {{token_env: BOB}}
log: {{path: ./hello.db}}
console: {{listen: "127.0.0.1:0"}}
"#
    );
    let house = folder(&[("organism.yaml", &yaml)]);
    std::fs::write(house.path().join("plan & sketch.png"), PNG).unwrap();
    std::fs::write(house.path().join("terms.pdf"), PDF).unwrap();
    (house, mock)
}

fn run(folder: &Path, arguments: &[&str]) -> Ran {
    systole_with(folder, arguments, &SECRET)
}

/// The parts of the last message that the model got, with what each shows.
fn list_shown(body: &Value) -> Vec<String> {
    let last = body["messages"].as_array().and_then(|messages| messages.last()).expect("a message");
    let parts = last["content"].as_array().unwrap_or_else(|| panic!("{last}"));
    let data = |part: &Value| {
        let url = part.pointer("/image_url/url").or_else(|| part.pointer("/file/file_data"));
        url.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    parts.iter().map(|part| part["text"].as_str().map_or_else(|| data(part), str::to_owned)).collect()
}

/// How many documents of the log have exactly these bytes.
fn count_kept(folder: &Path, bytes: &[u8]) -> i64 {
    let log = rusqlite::Connection::open(folder.join("hello.db")).unwrap();
    log.query_row("SELECT count(*) FROM document WHERE bytes = ?", [bytes], |row| row.get(0)).unwrap()
}

#[test]
fn e20_a_person_asks_a_model_about_files() {
    let (house, mock) = house(2);
    let question = ["ask", "--file", "plan & sketch.png", "--file", "terms.pdf", "What is <wrong> here?"];
    let here = run(house.path(), &question);
    assert!(here.code == Some(0) && here.stdout.contains("It is blue."), "{here:?}");
    let running = Running::organism_with(house.path(), &SECRET);
    let there = run(house.path(), &question);
    assert!(there.code == Some(0) && there.stdout.contains("It is blue."), "{there:?}");
    running.interrupt();
    let encoded = |of: &str, bytes: &[u8]| format!("data:{of};base64,{}", BASE64_STANDARD.encode(bytes));
    let lines = format!(
        "What is &lt;wrong&gt; here?\n[file 1: plan &amp; sketch.png, image/png, {} bytes]\n[file 2: terms.pdf, application/pdf, {} bytes]",
        PNG.len(),
        PDF.len()
    );
    let seen = mock.stop();
    assert_eq!(seen.len(), 2);
    for request in &seen {
        let shown = list_shown(&request.body);
        assert_eq!(shown[0], format!("<message from=\"operator\">{lines}</message>"));
        let wanted = [
            "[file 1]".to_owned(),
            encoded("image/png", PNG),
            "[file 2]".to_owned(),
            encoded("application/pdf", PDF),
        ];
        assert_eq!(shown[1..], wanted);
    }
    // The log has each file once. A prompt that names one does not repeat it.
    assert_eq!((count_kept(house.path(), PNG), count_kept(house.path(), PDF)), (1, 1));
    let replayed = run(house.path(), &["replay", "--all"]);
    assert!(replayed.stdout.contains("2 same, 0 differ"), "{replayed:?}");
    let verified = run(house.path(), &["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn e20_a_file_that_no_model_can_take_is_refused_with_the_fix() {
    let (house, mock) = house(1);
    let write = |name: &str, bytes: &[u8]| std::fs::write(house.path().join(name), bytes).unwrap();
    write("zip.png", b"PK\x03\x04 and more");
    write("empty.png", b"");
    write("drawing.svg", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    write("large.png", &[PNG, &vec![0; 9 << 20]].concat());
    for (name, words) in [
        ("zip.png", "the first bytes of the file are those of no known type"),
        ("drawing.svg", "the first bytes of the file are those of no known type"),
        ("empty.png", "the file is empty"),
        ("large.png", "larger than 8388608 bytes"),
    ] {
        let ran = run(house.path(), &["ask", "--file", name, "What is it?"]);
        let is_told = ran.stderr.contains(words) && ran.stderr.contains("a PNG, JPEG, GIF or WebP picture");
        assert!(ran.code == Some(4) && is_told, "{name}: {ran:?}");
    }
    let missing = run(house.path(), &["ask", "--file", "none.png", "What is it?"]);
    assert!(missing.code == Some(2) && missing.stderr.contains("none.png"), "{missing:?}");
    let blind = run(house.path(), &["ask", "--to", "reader", "--file", "terms.pdf", "What is it?"]);
    assert!(blind.stderr.contains("reader does not take questions with files"), "{blind:?}");
    assert!(mock.stop().is_empty(), "no model was asked");
}

#[test]
fn e20_a_hash_counts_only_for_the_client_that_sent_the_bytes() {
    let (house, mock) = house(2);
    let running = Running::organism_with(house.path(), &SECRET);
    let open = RunFile::find_running(&log_in(house.path())).unwrap();
    let bearer = |token: &str| format!("Bearer {token}");
    let (alice, bob) = (bearer(SECRET[1].1), bearer(SECRET[2].1));
    let sent = send_bytes(&open, ("POST", "/v1/files"), &[("Authorization", &alice)], PNG);
    assert_eq!(sent.status, 201, "{sent:?}");
    let hash = Digest::hash_bytes(PNG).to_string();
    let wanted = serde_json::json!({"sha256": hash, "type": "image/png", "bytes": PNG.len()});
    assert_eq!(sent.json, wanted);
    let body = |kind: &str, hash: &str, size: usize| {
        format!(
            "<ask-with xmlns=\"https://xml-pipeline.org/ns/talk/v1\"><question>What?</question><file sha256=\"{hash}\" type=\"{kind}\" bytes=\"{size}\"/></ask-with>"
        )
    };
    let asked = |client: &str, body: &str| {
        let headers = [("Authorization", client), ("Systole-Wait", "60")];
        ask_as(&open, "POST", "/v1/messages?to=seer", &headers, body)
    };
    let right = body("image/png", &hash, PNG.len());
    let foreign = asked(&bob, &right);
    assert_eq!(
        (foreign.status, &foreign.json["code"]),
        (422, &Value::from("payload.file-unknown")),
        "{foreign:?}"
    );
    let unknown = asked(&alice, &body("image/png", &"0".repeat(64), 9));
    assert_eq!(unknown.json["code"], "payload.file-unknown", "{unknown:?}");
    let other_type = asked(&alice, &body("image/jpeg", &hash, PNG.len()));
    assert_eq!(other_type.json["code"], "payload.file-type", "{other_type:?}");
    let expected = format!("type=\"image/png\" bytes=\"{}\"", PNG.len());
    assert_eq!(other_type.json["expected"], expected.as_str(), "{other_type:?}");
    let answered = asked(&alice, &right);
    assert_eq!(answered.status, 200, "{answered:?}");
    // What the log has now is still not bob's.
    let foreign = asked(&bob, &right);
    assert_eq!(foreign.json["code"], "payload.file-unknown", "{foreign:?}");
    drop(running);
    assert_eq!(mock.stop().len(), 1);
}

#[test]
fn e20_an_export_has_the_files_and_an_erased_request_takes_them_along() {
    let (house, mock) = house(1);
    let asked = run(house.path(), &["ask", "--file", "terms.pdf", "What does it say?"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    drop(mock);
    let exported = run(house.path(), &["export", "@last", "-o", "t.zip"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let unpacked = house.path().join("u");
    let script =
        format!("import zipfile; zipfile.ZipFile('t.zip').extractall({:?})", unpacked.to_str().unwrap());
    assert_eq!(crate::export::python(house.path(), &["-c", &script]).code, Some(0));
    let documents = std::fs::read_to_string(unpacked.join("documents.jsonl")).unwrap();
    let hash = Digest::hash_bytes(PDF).to_string();
    let line = documents.lines().find(|line| line.contains(&hash)).expect("the export has the file");
    assert!(line.contains("\"file\""), "{line}");
    let verified = crate::export::python(&unpacked, &["verify.py"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    // A verifier misses it.
    let without: String =
        documents.lines().filter(|line| !line.contains(&hash)).map(|line| format!("{line}\n")).collect();
    std::fs::write(unpacked.join("documents.jsonl"), without).unwrap();
    assert_eq!(crate::export::python(&unpacked, &["verify.py"]).code, Some(7));

    let first = run(house.path(), &["log", "@last", "--json", "-n", "0"]).json_lines().remove(0);
    let position = first["position"].to_string();
    let erased = run(house.path(), &["erase", &position, "--whole", "--reason", "asked to"]);
    assert_eq!(erased.code, Some(0), "{erased:?}");
    assert_eq!(count_kept(house.path(), PDF), 0);
    let files = std::fs::read_dir(house.path()).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("hello.db")) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        assert!(!bytes.windows(PDF.len()).any(|part| part == PDF), "{}", file.display());
    }
    assert_eq!(run(house.path(), &["verify"]).code, Some(0));
}

/// The second question of a thread fails, and is asked anew.
#[test]
fn e20_a_request_that_is_sent_anew_brings_its_files_again() {
    let (house, mock) = house_of("[{say: Hello.}, {error: {status: 400}}, {say: It is blue.}]");
    assert_eq!(run(house.path(), &["ask", "hello"]).code, Some(0));
    let failed = run(house.path(), &["ask", "--thread", "@last", "--file", "terms.pdf", "What does it say?"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let running = Running::organism_with(house.path(), &SECRET);
    let anew = run(house.path(), &["retry", "@last", "--yes", "--anew"]);
    assert_eq!(anew.code, Some(0), "{anew:?}");
    let seen = mock.wait(crate::program::PATIENCE, |seen| seen.len() == 3).expect("it is asked again");
    assert!(
        list_shown(&seen[2].body).iter().any(|part| part.starts_with("data:application/pdf")),
        "{:?}",
        seen[2]
    );
    drop(running);
}

/// The bytes and the message are one commit.
#[test]
fn e20_after_a_kill_no_receipt_lacks_its_bytes() {
    let (house, mock) = house(20);
    let (mut kept, mut last) = (Vec::new(), None);
    for round in 0..6_u8 {
        let running = Running::organism_with(house.path(), &SECRET);
        let open = RunFile::find_running(&log_in(house.path())).unwrap();
        let bytes = [PNG, &[round; 1000]].concat();
        let bearer = format!("Bearer {}", open.token.secret());
        let stored = send_bytes(&open, ("POST", "/v1/files"), &[("Authorization", &bearer)], &bytes);
        assert_eq!(stored.status, 201, "{stored:?}");
        let (hash, size) = (Digest::hash_bytes(&bytes), bytes.len());
        let body = format!(
            "<ask-with xmlns=\"https://xml-pipeline.org/ns/talk/v1\"><question>What?</question><file sha256=\"{hash}\" type=\"image/png\" bytes=\"{size}\"/></ask-with>"
        );
        let key = format!("k-{round}");
        let sent = ask(&open, "POST", "/v1/messages?to=seer", &[("Idempotency-Key", &key)], &body);
        assert_eq!(sent.status, 202, "{sent:?}");
        last = Some((key, body));
        running.signal(Signal::KILL);
        running.end();
        kept.push(bytes);
    }
    // The same message again, without its file, is the one that was taken.
    let running = Running::organism_with(house.path(), &SECRET);
    let open = RunFile::find_running(&log_in(house.path())).unwrap();
    let (key, body) = last.unwrap();
    let again = ask(&open, "POST", "/v1/messages?to=seer", &[("Idempotency-Key", &key)], &body);
    assert_eq!((again.status, &again.json["repeated"]), (202, &Value::from(true)), "{again:?}");
    drop(running);
    for bytes in &kept {
        assert_eq!(count_kept(house.path(), bytes), 1);
    }
    drop(mock);
}
