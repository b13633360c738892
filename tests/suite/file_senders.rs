//! Who may refer to a file in a field: a listener only to what its thread has or what it stored itself. And what older
//! logs have in the place of such fields: data, without a file.

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use systole_config as config;
use systole_core::types::ids::Digest;
use systole_core::types::record::RecordKind;
use systole_organism::runfile::RunFile;

use crate::export::python;
use crate::organism::{ask, folder, outcome, start_with};
use crate::program::{Answer, Ran, Running, ask_as, systole_with};
use crate::replay::log_in;

/// A picture of one pixel.
const PNG: &[u8] = include_bytes!("../fixtures/pixel.png");
const PDF: &[u8] = b"%PDF-1.7\n%%EOF\n";
pub(crate) const DRAWN: &[u8] = b"%PDF-1.7\ndrawn by a program\n%%EOF\n";
const SECRET: [(&str, &str); 2] = [("ALICE", "a-token-of-alice"), ("BOB", "a-token-of-bob-too")];

/// A program that answers with the file that it got, with that hash in its place, or with a file that it stores first.
const COPIER: &str = r#"
import sys, re
for line in sys.stdin:
    if not line.startswith("<message"):
        continue
    delivery = re.search('delivery="([^"]*)"', line).group(1)
    note = re.search('<note>([^<]*)</note>', line).group(1).split(" ")
    picture = (re.search('<picture[^>]*>', line) or [None])[0]
    if note[0] == "put":
        print(f'<ask xmlns="urn:systole:listener:v1" id="1" delivery="{delivery}"><put-blob encoding="hex">{note[1]}</put-blob></ask>', flush=True)
        hash = re.search('hash="([0-9a-f]{64})"', sys.stdin.readline()).group(1)
        picture = f'<picture sha256="{hash}" type="application/pdf" bytes="{len(note[1]) // 2}" name="drawn.pdf"/>'
    elif note[0] == "name":
        picture = re.sub('sha256="[^"]*"', f'sha256="{note[1]}"', picture)
    print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}"><copy xmlns="https://xml-pipeline.org/ns/copies/v1">{picture}</copy></reply>', flush=True)
"#;

/// An organism with that program, with more in its file.
pub(crate) fn make_copies_with(more: &str) -> tempfile::TempDir {
    folder(&[("organism.yaml", &format!("{COPIES}{more}")), ("copier.py", COPIER)])
}

fn make_copies() -> tempfile::TempDir {
    make_copies_with("")
}

const COPIES: &str = r#"organism: {name: copies, entry: copier}
payloads:
  keep: {note: line, picture?: file}
  copy: {picture: file}
listeners:
  copier: {run: [python3, copier.py], turns: 1, accepts: [keep], returns: [copy], entry: true}
clients:
  alice: {token_env: ALICE}
  bob: {token_env: BOB}
log: {path: ./hello.db}
console: {listen: "127.0.0.1:0"}
"#;

fn run(folder: &Path, arguments: &[&str]) -> Ran {
    systole_with(folder, arguments, &SECRET)
}

/// The answer to a file with a note.
fn post_file(open: &RunFile, token: &str, bytes: &[u8], note: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers =
        [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("Systole-Wait", "60")];
    let body: Value = json!({"note": note, "picture": {"data": BASE64_STANDARD.encode(bytes)}});
    ask_as(open, "POST", "/v1/messages?to=copier&element=keep", &headers, &body.to_string())
}

/// Bytes in hex digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn e20_a_listener_refers_only_to_files_that_its_thread_has_or_that_it_stored() {
    let site = make_copies();
    let running = Running::organism_with(site.path(), &SECRET);
    let open = RunFile::find_running(&log_in(site.path())).unwrap();
    let (alice, bob, hash) = (SECRET[0].1, SECRET[1].1, Digest::hash_bytes(PNG).to_string());
    let kept = post_file(&open, alice, PNG, "same");
    assert!(kept.status == 200 && kept.json.to_string().contains(&hash), "{kept:?}");
    let own = post_file(&open, bob, PDF, "same");
    assert!(
        own.status == 200 && own.json.to_string().contains(&Digest::hash_bytes(PDF).to_string()),
        "{own:?}"
    );
    let drawn = post_file(&open, bob, PDF, &format!("put {}", to_hex(DRAWN)));
    assert!(
        drawn.status == 200 && drawn.json.to_string().contains(&Digest::hash_bytes(DRAWN).to_string()),
        "{drawn:?}"
    );
    // The program knows the hash of a file of another thread.
    let foreign = post_file(&open, bob, PDF, &format!("name {hash}"));
    let result = &foreign.json["result"];
    assert!(result["code"] == "listener.failed" && !result.to_string().contains(&hash), "{foreign:?}");
    running.interrupt();
    let told = run(site.path(), &["log", "@last"]);
    assert!(told.stdout.contains("payload.file-unknown"), "{told:?}");
    let exported = run(site.path(), &["export", "@last", "-o", "t.zip"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let script = "import zipfile; print(zipfile.ZipFile('t.zip').read('documents.jsonl').decode())";
    let documents = python(site.path(), &["-c", script]).stdout;
    assert!(documents.contains(&to_hex(&PDF[..4])) || documents.contains("%PDF-1.7"), "{documents}");
    assert!(!documents.contains(&to_hex(PNG)), "the export has no file of others: {documents}");
    let replayed = run(site.path(), &["replay", "--all"]);
    assert!(replayed.stdout.contains("4 same, 0 differ"), "{replayed:?}");
    assert_eq!(run(site.path(), &["verify"]).code, Some(0));
}

/// A schema with an element that looks like a reference and has no mark.
const NOTES: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:notes" xmlns="urn:notes" elementFormDefault="qualified">
  <xs:element name="note">
    <xs:complexType>
      <xs:sequence>
        <xs:element name="attachment">
          <xs:complexType>
            <xs:attribute name="sha256" type="xs:string"/>
            <xs:attribute name="type" type="xs:string"/>
            <xs:attribute name="bytes" type="xs:string"/>
          </xs:complexType>
        </xs:element>
      </xs:sequence>
    </xs:complexType>
  </xs:element>
  <xs:element name="noted" type="xs:string"/>
</xs:schema>
"#;

/// A program that takes such notes.
const NOTER: &str = r#"
import sys, re
for line in sys.stdin:
    if line.startswith("<message"):
        delivery = re.search('delivery="([^"]*)"', line).group(1)
        print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}"><noted xmlns="urn:notes">yes</noted></reply>', flush=True)
"#;

/// The folder of an organism that took a note with such an element under a stored configuration of that version.
async fn write_log(version: u32, bytes: &str) -> tempfile::TempDir {
    let yaml = "organism: {name: notes, entry: noter}
listeners:
  noter: {run: [python3, noter.py], schema: notes.xsd, accepts: [note], returns: [noted], entry: true}
log: {path: ./hello.db}
";
    let site = folder(&[("organism.yaml", yaml), ("noter.py", NOTER), ("notes.xsd", NOTES)]);
    let organism = start_with(site.path(), |composition, _| {
        let source = String::from_utf8(composition.source.to_vec()).unwrap();
        let (now, then) = ("systole configuration v8", format!("systole configuration v{version}"));
        assert!(source.starts_with(&format!("24:{now}\n")));
        let source = source.replacen(now, &then, 1);
        *composition = config::read_source(source.as_bytes(), site.path()).unwrap();
    })
    .await;
    let hash = "0123456789abcdef".repeat(4);
    let note = format!(
        r#"<note xmlns="urn:notes"><attachment sha256="{hash}" type="image/png" bytes="{bytes}"/></note>"#
    );
    let receipt = ask(&organism, "k1", &note, None).await.unwrap();
    assert_eq!(outcome(&organism, &receipt).await.header.kind, RecordKind::Message);
    organism.stop(Duration::from_secs(60)).await;
    site
}

/// Every reader finds the log sound.
fn check_sound(at: &Path) {
    let verified = run(at, &["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let exported = run(at, &["export", "@last", "-o", "t.zip"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let verified = run(at, &["verify", "t.zip"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let script = "import zipfile; zipfile.ZipFile('t.zip').extractall('u')";
    assert_eq!(python(at, &["-c", script]).code, Some(0));
    let verified = python(&at.join("u"), &["verify.py"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let replayed = run(at, &["replay", "--all"]);
    assert!(replayed.stdout.contains("1 same, 0 differ"), "{replayed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn e20_a_log_from_before_file_fields_is_sound_without_files() {
    let site = write_log(7, "68").await;
    check_sound(site.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn e20_a_size_that_no_file_has_makes_no_reference_to_any_reader() {
    let site = write_log(8, "99999999999999999999").await;
    check_sound(site.path());
}

#[test]
fn e20_a_marked_element_whose_type_admits_no_file_is_refused() {
    let xsd = |hash: &str, bytes: &str| {
        format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:systole="urn:systole:schema:v1" targetNamespace="urn:notes" xmlns="urn:notes" elementFormDefault="qualified">
  <xs:element name="note">
    <xs:complexType>
      <xs:sequence>
        <xs:element name="photo" systole:file="true">
          <xs:complexType>
            <xs:attribute name="sha256" use="required"><xs:simpleType><xs:restriction base="xs:string">{hash}</xs:restriction></xs:simpleType></xs:attribute>
            <xs:attribute name="type" use="required"><xs:simpleType><xs:restriction base="xs:string"><xs:enumeration value="image/png"/></xs:restriction></xs:simpleType></xs:attribute>
            <xs:attribute name="bytes" use="required"><xs:simpleType><xs:restriction base="xs:long">{bytes}</xs:restriction></xs:simpleType></xs:attribute>
          </xs:complexType>
        </xs:element>
      </xs:sequence>
    </xs:complexType>
  </xs:element>
  <xs:element name="noted" type="xs:string"/>
</xs:schema>
"#
        )
    };
    let yaml = "organism: {name: notes, entry: noter}
listeners:
  noter: {run: [python3, noter.py], schema: notes.xsd, accepts: [note], returns: [noted], entry: true}
log: {path: ./hello.db}
";
    let site = folder(&[("organism.yaml", yaml), ("noter.py", NOTER)]);
    let digits = r#"<xs:pattern value="[0-9a-f]{64}"/>"#;
    let (least, most) = (r#"<xs:minInclusive value="1"/>"#, r#"<xs:maxInclusive value="8388608"/>"#);
    let sizes = [least, most].concat();
    let either = [digits, r#"<xs:pattern value="none"/>"#].concat();
    let larger = [least, r#"<xs:maxInclusive value="8388609"/>"#].concat();
    let empty = [r#"<xs:minInclusive value="0"/>"#, most].concat();
    for (hash, bytes, is_right) in [
        (digits, sizes.as_str(), true),
        (r#"<xs:pattern value="[0-9a-f]{64}|none"/>"#, sizes.as_str(), false),
        (either.as_str(), sizes.as_str(), false),
        ("", sizes.as_str(), false),
        (digits, least, false),
        (digits, most, false),
        (digits, larger.as_str(), false),
        (digits, empty.as_str(), false),
    ] {
        fs::write(site.path().join("notes.xsd"), xsd(hash, bytes)).unwrap();
        let checked = run(site.path(), &["check"]);
        let said = [checked.stdout.as_str(), checked.stderr.as_str()].concat();
        assert_eq!(!said.contains("systole:file is on an element"), is_right, "{hash} {bytes}: {said}");
        assert_eq!(checked.code, Some(if is_right { 0 } else { 3 }), "{hash} {bytes}: {said}");
    }
}
