//! Fields of type `file` in schemas of one's own: sent from the command line, over HTTP and from a form, and passed on by a
//! model.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use systole_core::types::ids::Digest;
use systole_mock_model::{MockModel, MockOptions, MockScript};
use systole_organism::runfile::RunFile;

use crate::organism::folder;
use crate::program::{Answer, Ran, Running, ask_as, send_bytes, systole_with};
use crate::replay::log_in;

/// A picture of one pixel.
pub(crate) const PNG: &[u8] = include_bytes!("../fixtures/pixel.png");
const PDF: &[u8] = b"%PDF-1.7\n%%EOF\n";
pub(crate) const SECRET: [(&str, &str); 3] =
    [("MODEL_KEY", "k-12345678"), ("ALICE", "a-token-of-alice"), ("BOB", "a-token-of-bob-too")];

/// A program that says which file it got, as it is written.
const KEEPER: &str = r#"
import sys, re
for line in sys.stdin:
    if line.startswith("<message"):
        delivery = re.search('delivery="([^"]*)"', line).group(1)
        got = re.search('<picture[^>]*>', line)
        words = got.group(0).replace("<", "").replace(">", "") if got else "nothing"
        print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}"><kept xmlns="https://xml-pipeline.org/ns/site/v1">{words}</kept></reply>', flush=True)
"#;

/// An organism whose agent takes reports with pictures, and its model with that script.
pub(crate) fn site(script: &str) -> (tempfile::TempDir, MockModel) {
    let mock = MockModel::start(MockScript::parse(script).unwrap(), MockOptions::default()).unwrap();
    let url = mock.url();
    let yaml = format!(
        r#"organism: {{name: site, entry: seer}}
payloads:
  report: {{note?: line, photo: "file image/png|image/jpeg ..1KiB -- what it looks like", plan?: file application/pdf}}
  verdict: text
  keep: {{picture: file}}
  kept: text
models:
  eye: {{provider: openai, model: m, url: "{url}", key_env: MODEL_KEY, files: [image, pdf]}}
agents:
  seer: {{model: eye, dialect: native, entry: true, accepts: [report], returns: [verdict], peers: [keeper], prompt: {{identity: You look.}}}}
listeners:
  keeper: {{run: [python3, keeper.py], accepts: [keep], returns: [kept], entry: true}}
clients:
  alice: {{token_env: ALICE}}
  bob: {{token_env: BOB}}
log: {{path: ./hello.db}}
console: {{listen: "127.0.0.1:0"}}
"#
    );
    let site = folder(&[("organism.yaml", &yaml), ("keeper.py", KEEPER)]);
    let write = |name: &str, bytes: &[u8]| std::fs::write(site.path().join(name), bytes).unwrap();
    write("door & wall.png", PNG);
    write("terms.pdf", PDF);
    write("zip.png", b"PK\x03\x04 and more");
    write("empty.png", b"");
    write("drawing.svg", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    write("large.png", &[PNG, &vec![0; 9 << 20]].concat());
    write("wide.png", &[PNG, &[0; 2000]].concat());
    (site, mock)
}

fn run(folder: &Path, arguments: &[&str]) -> Ran {
    systole_with(folder, arguments, &SECRET)
}

/// How many documents of the log have exactly these bytes.
fn count_kept(folder: &Path, bytes: &[u8]) -> i64 {
    let log = rusqlite::Connection::open(folder.join("hello.db")).unwrap();
    log.query_row("SELECT count(*) FROM document WHERE bytes = ?", [bytes], |row| row.get(0)).unwrap()
}

fn reference(name: &str) -> String {
    format!("sha256=\"{}\" type=\"image/png\" bytes=\"{}\"{name}", Digest::hash_bytes(PNG), PNG.len())
}

#[test]
fn e20_a_file_field_is_sent_from_the_command_line_and_passed_on_by_a_model() {
    let script = "[{call: {keep: {picture: {file: 1}}}}, {say: It is blue.}, {call: {keep: {picture: {file: 1}}}}, {say: It is blue.}]";
    let (site, mock) = site(script);
    let report = ["send", "report", "photo=@door & wall.png", "plan=@terms.pdf", "note=Look", "--to", "seer"];
    let here = run(site.path(), &report);
    assert!(here.code == Some(0) && here.stdout.contains("It is blue."), "{here:?}");
    let running = Running::organism_with(site.path(), &SECRET);
    let there = run(site.path(), &report);
    assert!(there.code == Some(0) && there.stdout.contains("It is blue."), "{there:?}");
    running.interrupt();
    let seen = mock.stop();
    assert_eq!(seen.len(), 4);
    // The model sees the element as it may write it, what it shows, and no hash.
    let shown = seen[0].body["messages"].to_string();
    for words in [
        r#"<photo file=\\\"1\\\">[file 1: door &amp; wall.png, image/png, "#,
        r#"<plan file=\\\"2\\\">[file 2: terms.pdf, application/pdf, "#,
        &BASE64_STANDARD.encode(PNG),
    ] {
        assert!(shown.replace("\\\"", "\\\\\\\"").contains(words), "{words}: {shown}");
    }
    assert!(!seen[0].body.to_string().contains(&Digest::hash_bytes(PNG).to_string()));
    let tool = &seen[0].body["tools"][0]["function"];
    assert_eq!(tool["name"], "keep", "{tool}");
    assert!(
        tool["parameters"].to_string().contains("\"file\"") && !tool.to_string().contains("sha256"),
        "{tool}"
    );
    // The peer got the reference.
    let kept = format!("picture {}", reference(" name=\"door & wall.png\""));
    let told = seen[1].body["messages"].as_array().and_then(|all| all.last()).expect("a result");
    assert!(told["content"].as_str().is_some_and(|words| words.contains(&kept)), "{kept}: {told}");
    assert_eq!((count_kept(site.path(), PNG), count_kept(site.path(), PDF)), (1, 1));
    let replayed = run(site.path(), &["replay", "--all"]);
    assert!(replayed.stdout.contains("2 same, 0 differ"), "{replayed:?}");
    assert_eq!(run(site.path(), &["verify"]).code, Some(0));
}

#[test]
fn e20_a_number_that_no_file_has_is_told_to_the_model() {
    let script =
        "[{call: {keep: {picture: {file: 7}}}}, {call: {keep: {picture: {file: 1}}}}, {say: It is blue.}]";
    let (site, mock) = site(script);
    let sent = run(site.path(), &["send", "report", "photo=@door & wall.png", "--to", "seer"]);
    assert!(sent.code == Some(0) && sent.stdout.contains("It is blue."), "{sent:?}");
    let seen = mock.stop();
    let told = seen[1].body["messages"].to_string();
    for words in ["no file has this number", "[file 1: door & wall.png, image/png"] {
        assert!(told.replace("&amp;", "&").contains(words), "{words}: {told}");
    }
    let replayed = run(site.path(), &["replay", "--all"]);
    assert!(replayed.stdout.contains("1 same, 0 differ"), "{replayed:?}");
}

#[test]
fn e20_a_bad_file_of_a_field_is_refused_with_code_place_and_fix() {
    let (site, mock) = site("[]");
    for (field, exit, words) in [
        (
            "photo=@zip.png",
            4,
            ["payload.file-type", "the first bytes of the file are those of no known type"],
        ),
        ("photo=@drawing.svg", 4, ["payload.file-type", "a PNG, JPEG, GIF or WebP picture, or a PDF"]),
        ("photo=@empty.png", 4, ["payload.file-type", "the file is empty"]),
        ("photo=@large.png", 4, ["payload.file-type", "larger than 8388608 bytes"]),
        ("photo=@terms.pdf", 4, ["/report/photo/@type", "image/png"]),
        ("photo=@wide.png", 4, ["/report/photo/@bytes", "1024"]),
        ("photo=plan.png", 4, ["photo", "write photo=@PATH"]),
        ("note=Look", 4, ["photo is missing", "photo=@PATH"]),
        ("photo=@none.png", 2, ["none.png", "the file"]),
    ] {
        let ran = run(site.path(), &["send", "report", field, "--to", "seer"]);
        assert_eq!(ran.code, Some(exit), "{field}: {ran:?}");
        assert!(words.iter().all(|words| ran.stderr.contains(words)), "{field}: {ran:?}");
    }
    assert!(mock.stop().is_empty(), "no model was asked");
}

/// An answer to a report in JSON.
fn post_json(open: &RunFile, token: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers =
        [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("Systole-Wait", "60")];
    ask_as(open, "POST", "/v1/messages?to=seer&element=report", &headers, &body.to_string())
}

#[test]
fn e20_json_holds_the_bytes_of_a_file_or_refers_to_them() {
    let (site, mock) = site("[{say: It is blue.}, {say: It is blue.}]");
    let running = Running::organism_with(site.path(), &SECRET);
    let open = RunFile::find_running(&log_in(site.path())).unwrap();
    let (alice, bob) = (SECRET[1].1, SECRET[2].1);
    let data = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
    let whole = json!({"photo": {"type": "image/png", "data": data(PNG), "name": "door.png"}});
    let answered = post_json(&open, alice, &whole);
    assert_eq!(answered.status, 200, "{answered:?}");
    let hash = Digest::hash_bytes(PNG).to_string();
    let referred = json!({"photo": {"sha256": hash, "type": "image/png", "bytes": PNG.len()}});
    assert_eq!(post_json(&open, alice, &referred).status, 200);
    for (token, body, code, path) in [
        (bob, referred, "payload.file-unknown", Value::Null),
        (alice, json!({"photo": {"data": "%%%"}}), "payload.invalid", json!("/report/photo")),
        (alice, json!({"photo": {"data": ""}}), "payload.invalid", json!("/report/photo")),
        (alice, json!({"photo": {"data": data(b"PK\x03\x04")}}), "payload.file-type", json!("/report/photo")),
        (
            alice,
            json!({"photo": {"type": "image/jpeg", "data": data(PNG)}}),
            "payload.invalid",
            json!("/report/photo"),
        ),
        (alice, json!({"photo": {"data": data(PDF)}}), "payload.invalid", json!("/report/photo/@type")),
    ] {
        let refused = post_json(&open, token, &body);
        assert_eq!((refused.status, &refused.json["code"]), (422, &json!(code)), "{body}: {refused:?}");
        assert_eq!(refused.json.get("path").unwrap_or(&Value::Null), &path, "{body}: {refused:?}");
        assert!(refused.json["try"].is_string(), "{refused:?}");
    }
    drop(running);
    assert_eq!(mock.stop().len(), 2);
}

#[test]
fn e20_xml_that_names_a_file_needs_its_bytes() {
    let (site, mock) = site("[]");
    let running = Running::organism_with(site.path(), &SECRET);
    let open = RunFile::find_running(&log_in(site.path())).unwrap();
    let bearer = format!("Bearer {}", SECRET[1].1);
    let headers = [("Authorization", bearer.as_str())];
    let sent = send_bytes(&open, ("POST", "/v1/files"), &headers, PNG);
    assert_eq!(sent.status, 201, "{sent:?}");
    let report = |photo: &str| {
        let body = format!("<report xmlns=\"https://xml-pipeline.org/ns/site/v1\">{photo}</report>");
        ask_as(&open, "POST", "/v1/messages?to=seer", &headers, &body)
    };
    let right = reference("");
    for (photo, code, element) in [
        (right.replace("image/png", "application/pdf"), "payload.file-type", "report"),
        (right.replace("image/png", "image/jpeg"), "payload.file-type", "photo"),
        (right.replace("bytes=\"", "bytes=\"9999"), "payload.file-type", "report"),
        (
            right.replace(&Digest::hash_bytes(PNG).to_string(), &"0".repeat(64)),
            "payload.file-unknown",
            "photo",
        ),
        (right.replace("sha256=\"", "sha256=\"A"), "payload.invalid", "report"),
    ] {
        let refused = report(&format!("<photo {photo}/>"));
        assert_eq!((refused.status, &refused.json["code"]), (422, &json!(code)), "{photo}: {refused:?}");
        assert_eq!(refused.json["element"], element, "{photo}: {refused:?}");
    }
    // What a person puts in the place of a waiting payload, and a steer, bring no file.
    let steer = format!(
        "<steer xmlns=\"https://xml-pipeline.org/ns/core/v1\"><report xmlns=\"https://xml-pipeline.org/ns/site/v1\"><photo {right}/></report></steer>"
    );
    let refused = ask_as(&open, "POST", "/v1/messages?to=seer", &headers, &steer);
    assert_eq!(refused.json["code"], "payload.file-unknown", "{refused:?}");
    drop(running);
    assert!(mock.stop().is_empty());
}

#[test]
fn e20_an_export_has_the_file_of_a_field_and_an_erased_request_takes_it_along() {
    let (site, mock) = site("[{say: It is blue.}]");
    let sent =
        run(site.path(), &["send", "report", "photo=@door & wall.png", "plan=@terms.pdf", "--to", "seer"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    drop(mock);
    let exported = run(site.path(), &["export", "@last", "-o", "t.zip"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let unpacked = site.path().join("u");
    let script =
        format!("import zipfile; zipfile.ZipFile('t.zip').extractall({:?})", unpacked.to_str().unwrap());
    assert_eq!(crate::export::python(site.path(), &["-c", &script]).code, Some(0));
    assert_eq!(crate::export::python(&unpacked, &["verify.py"]).code, Some(0));
    let documents = std::fs::read_to_string(unpacked.join("documents.jsonl")).unwrap();
    let hash = Digest::hash_bytes(PDF).to_string();
    assert!(documents.contains(&hash), "the export has the file");
    // A verifier misses it.
    let without: String =
        documents.lines().filter(|line| !line.contains(&hash)).map(|line| format!("{line}\n")).collect();
    std::fs::write(unpacked.join("documents.jsonl"), without).unwrap();
    assert_eq!(crate::export::python(&unpacked, &["verify.py"]).code, Some(7));

    let first = run(site.path(), &["log", "@last", "--json", "-n", "0"]).json_lines().remove(0);
    let position = first["position"].to_string();
    let erased = run(site.path(), &["erase", &position, "--whole", "--reason", "asked to"]);
    assert_eq!(erased.code, Some(0), "{erased:?}");
    assert_eq!((count_kept(site.path(), PNG), count_kept(site.path(), PDF)), (0, 0));
    assert_eq!(run(site.path(), &["verify"]).code, Some(0));
}
