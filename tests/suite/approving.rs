//! G4: exactly what a person approves runs. The tests use the real program, with payloads that hide
//! something.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::organism::folder;
use crate::program::{Ran, Running, ask, run_file, systole, systole_with};

const FILE: &str = "organism: {name: hello}
listeners:
  vault: {run: [python3, vault.py], schema: vault.xsd, accepts: [grant, create_file, pay], returns: [done],
    entry: true, approval: {when: always}}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

const SCHEMA: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:vault" elementFormDefault="qualified">
  <xs:element name="grant"><xs:complexType>
    <xs:sequence><xs:element name="why" type="xs:string"/></xs:sequence>
    <xs:attribute name="who" type="xs:string"/><xs:attribute name="role" type="xs:string"/>
  </xs:complexType></xs:element>
  <xs:element name="create_file"><xs:complexType><xs:simpleContent><xs:extension base="xs:string">
    <xs:attribute name="path" type="xs:string"/>
  </xs:extension></xs:simpleContent></xs:complexType></xs:element>
  <xs:element name="pay"><xs:complexType><xs:sequence>
    <xs:element name="note" type="xs:string"/><xs:element name="amount" type="xs:int"/>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="done" type="xs:string"/>
</xs:schema>"#;

const VAULT: &str = r#"
import sys, re
for line in sys.stdin:
    if line.startswith("<message"):
        delivery = re.search('delivery="([^"]*)"', line).group(1)
        print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}"><done xmlns="urn:vault">done</done></reply>', flush=True)
"#;

const GRANT: &str = r#"<grant xmlns="urn:vault" who="mallory" role="ADMIN"><why>a new colleague needs to read a page</why></grant>"#;
const CREATE: &str = r#"<create_file xmlns="urn:vault" path="/etc/passwd">root::0:0:
</create_file>"#;

fn pay() -> String {
    let note = "for the usual things, as agreed. ".repeat(120);
    format!(r#"<pay xmlns="urn:vault"><note>{note}</note><amount>999999</amount></pay>"#)
}

/// An organism in which these payloads wait, as a1, a2 …
pub(crate) fn waits(payloads: &[&str]) -> tempfile::TempDir {
    let folder = folder(&[("organism.yaml", FILE), ("vault.xsd", SCHEMA), ("vault.py", VAULT)]);
    for payload in payloads {
        std::fs::write(folder.path().join("sent.xml"), payload).unwrap();
        let sent = systole(folder.path(), &["send", "--file", "sent.xml"]);
        assert_eq!(sent.code, Some(6), "{sent:?}");
    }
    folder
}

fn line<'a>(ran: &'a Ran, wanted: &str) -> &'a str {
    ran.stdout.lines().find(|line| line.contains(wanted)).unwrap_or_else(|| panic!("no {wanted} in {ran:?}"))
}

#[test]
fn g4_attributes_are_shown_wherever_a_payload_is() {
    let folder = waits(&[GRANT, CREATE]);
    let at = folder.path();
    let listed = systole(at, &["approve"]);
    assert!(line(&listed, "<grant ").ends_with(r#"│ <grant xmlns="urn:vault" who="mallory" role="ADMIN">"#));
    assert!(
        listed.stdout.contains(r#"│ <create_file xmlns="urn:vault" path="/etc/passwd">root::0:0:"#),
        "{listed:?}"
    );
    assert!(
        line(&listed, "sent by operator").starts_with("    sent by operator at ")
            && !listed.stdout.contains("asked by"),
        "{listed:?}"
    );
    assert!(listed.stdout.contains("    107 bytes, hash "), "{listed:?}");

    let log = systole(at, &["log"]);
    let flat = log.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("<grant> who=mallory role=ADMIN why=\"a new colleague needs to read a page\""),
        "{flat}"
    );
    assert!(flat.contains("<create_file> path=/etc/passwd root::0:0:"), "{flat}");
    let thread = line(&listed, "sent by operator").split_once(" in ").unwrap().1.to_owned();
    let why = systole(at, &["why", &thread]);
    assert!(line(&why, "payload:").contains("who=mallory role=ADMIN"), "{why:?}");
    let tree = systole(at, &["tree", &thread]);
    assert!(tree.stdout.contains("who=mallory role=ADMIN"), "{tree:?}");
    let approved = systole(at, &["approve", "a1"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    assert!(
        approved.stdout.contains(r#"who="mallory" role="ADMIN""#),
        "what is approved is shown: {approved:?}"
    );
}

#[test]
fn g4_a_long_first_field_hides_nothing_and_its_id_alone_approves_nothing() {
    let folder = waits(&[&pay()]);
    let at = folder.path();
    let listed = systole(at, &["approve"]);
    assert!(line(&listed, "<amount>").ends_with("│   <amount>999999</amount>"), "{listed:?}");
    let log = systole(at, &["log"]);
    let flat = log.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(" more) amount=999999"), "it says how much is cut: {flat}");
    let tree = systole(at, &["tree", "@last"]);
    assert!(tree.stdout.contains(" more) amount=999999"), "{tree:?}");

    for more in [&[][..], &["--json"]] {
        // A pipe gets long lines whole, and they still count.
        let blind = systole_with(at, &[&["approve", "a1"], more].concat(), &[("COLUMNS", "")]);
        assert_eq!(blind.code, Some(2), "{blind:?}");
        assert!(blind.stderr.contains("cannot be approved by its id alone"), "{blind:?}");
    }
    let hash = line(&listed, " bytes, hash ").split_once("hash ").unwrap().1.to_owned();
    let blind = systole(at, &["approve", "a1"]);
    assert!(blind.stderr.contains(&format!("systole approve a1 --hash {}", &hash[..12])), "{blind:?}");
    let wrong = systole(at, &["approve", "a1", "--hash", "00000000"]);
    assert!(wrong.code == Some(4) && wrong.stderr.contains("approval.mismatch"), "{wrong:?}");
    let short = systole(at, &["approve", "a1", "--hash", &hash[..4]]);
    assert_eq!(short.code, Some(2), "{short:?}");
    let approved = systole(at, &["approve", "a1", "--hash", &hash[..12]]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
}

#[test]
fn g4_hidden_characters_are_shown_and_named() {
    let body = "<grant xmlns='urn:vault' who='\u{430}dmin' role='re\u{202e}redaer'><why>a\u{200b}b\u{a0}c</why></grant>";
    let folder = waits(&[body]);
    let listed = systole(folder.path(), &["approve"]);
    assert!(line(&listed, "<grant ").contains(r#"who="\u{430}dmin" role="re\u{202e}redaer""#), "{listed:?}");
    assert!(line(&listed, "<why>").contains(r"a\u{200b}b\u{a0}c"), "{listed:?}");
    for told in [
        r"\u{430} is a Cyrillic letter",
        r"\u{202e} is a character that changes",
        r"\u{a0} is an unusual space",
    ] {
        assert!(line(&listed, told).contains("look closely"), "{listed:?}");
    }
    let json = systole(folder.path(), &["approve", "--json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["approvals"][0]["payload"], body, "programs get it as it is");
    assert_eq!(json["approvals"][0]["request"]["by"], "operator");
    for one in [&json["approvals"][0], &json["approvals"][0]["request"]] {
        assert!(one["json"].is_object() && one["text"].is_string(), "in JSON and as text: {one}");
    }
}

#[test]
fn g4_several_are_approved_at_once_and_each_is_reported() {
    let folder = waits(&[GRANT, CREATE, GRANT]);
    let at = folder.path();
    let organism = Running::organism(at);
    let usage = systole(at, &["approve", "a1", "a2", "--hash", &"0".repeat(64)]);
    assert_eq!(usage.code, Some(2), "{usage:?}");
    let ran = systole(at, &["approve", "a1", "a9", "a2"]);
    assert_eq!(ran.code, Some(4), "one of them was not there: {ran:?}");
    for told in [
        "approval a1 is approved",
        "approval a9 is not decided",
        "approval.unknown",
        "approval a2 is approved",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {ran:?}");
    }
    organism.interrupt();
    let ran = systole(at, &["approve", "a3", "a1", "--json"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let values: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (values[0]["outcome"].as_str(), values[1]["code"].as_str()),
        (Some("approved"), Some("approval.decided"))
    );
}

/// Runs its arguments on a terminal of 24 lines, and answers each question there.
const AT_A_TERMINAL: &str = r#"
import fcntl, os, pty, struct, sys, termios
answers, said = sys.argv[1].split(","), b""
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
while True:
    try: data = os.read(fd, 4096)
    except OSError: break
    if not data: break
    sys.stdout.buffer.write(data)
    said += data
    while answers and (b"q stops\r\n" in said or b"any other answer does not\r\n" in said):
        end = min(at + len(mark) for mark in (b"q stops\r\n", b"any other answer does not\r\n") for at in [said.find(mark)] if at >= 0)
        said = said[end:]
        os.write(fd, answers.pop(0).encode() + b"\n")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

fn at_a_terminal(folder: &Path, answers: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let ran = Command::new("python3")
        .args(["-c", AT_A_TERMINAL, answers, env!("CARGO_BIN_EXE_systole")])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (ran.status.code(), String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
fn g4_on_a_terminal_a_long_payload_is_read_page_by_page_before_it_is_approved() {
    let folder = waits(&[&pay(), GRANT]);
    let at = folder.path();
    for answers in ["q", ",q", ",,n"] {
        let (code, said) = at_a_terminal(at, answers, &["approve", "a1"]);
        assert!(code == Some(2) && said.contains("nothing is approved"), "{answers}: {said}");
    }
    let (code, said) = at_a_terminal(at, ",,y", &["approve", "a1"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("<amount>999999</amount>") && said.contains("approval a1 is approved"), "{said}");
    let (code, said) = at_a_terminal(at, "", &["approve", "a2"]);
    assert_eq!(code, Some(0), "what fits is approved without a question: {said}");
    assert!(!said.contains("any other answer does not"), "{said}");
}

#[test]
fn g4_over_http_what_waits_is_listed_whole() {
    let folder = waits(&[GRANT, &pay()]);
    let organism = Running::organism(folder.path());
    let answer = ask(&run_file(folder.path()), "GET", "/v1/approvals", &[], "");
    assert_eq!(answer.status, 200, "{answer:?}");
    let all = answer.json["approvals"].as_array().unwrap();
    assert_eq!((all[0]["id"].as_str(), all[0]["payload"].as_str()), (Some("a1"), Some(GRANT)));
    assert_eq!(all[1]["payload"].as_str(), Some(&*pay()));
    for field in ["hash", "thread", "call", "caller", "listener", "element", "asked", "expires"] {
        assert!(all[0][field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {answer:?}");
    }
    assert_eq!(all[0]["may"], serde_json::json!(["operator"]));
    assert_eq!(all[0]["request"]["payload"].as_str(), Some(GRANT));
    organism.interrupt();
}
