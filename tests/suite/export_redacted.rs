//! Redacted exports: that nothing of what was left out can be read or tested, and that the rest verifies.

use std::path::Path;

use serde_json::Value;
use systole_core::types::ids::Digest;
use systole_organism::runfile::RunFile;

use crate::export::{by_python, done, is, keyed, records, unpack, verdict};
use crate::log_evidence::{number, thread};
use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Events, Running, ask, systole};
use crate::replay::{FIRST, ends, named, plays, question, stop};

pub(crate) const SECRET: &str = "strawberry";

/// The agent of the examples, in whose log a sensitive word is in a payload, in prompts, in a refusal, in the question
/// and in the answer.
pub(crate) fn talkative() -> tempfile::TempDir {
    let folder = named("agent");
    let at = folder.path();
    let change = |file: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(at.join(file)).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(at.join(file), text.replace(from, to)).unwrap();
    };
    change("organism.yaml", "word: word,", "word: sensitive word,");
    let wrong =
        "  - if: strawberry\n    say: |\n      <count><word>strawberry</word><letter>rr</letter></count>\n";
    let first = "  - asked: How many r are in strawberry?\n    if: How many r\n";
    change("replies.yaml", first, &format!("{wrong}  - if: rr\n"));
    plays(at, &[("assistant", question("How many r are in strawberry?"))]);
    folder
}

/// The forms of a text that a file could have it in, in small letters.
fn forms(secret: &[u8]) -> Vec<String> {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut forms =
        vec![String::from_utf8(secret.to_vec()).unwrap(), hex, Digest::hash_bytes(secret).to_string()];
    for (before, length) in [(0, 12), (1, 10), (2, 10)] {
        let text = systole_proof::statement::encode_payload(&[&[b'x'; 2][..before], secret].concat());
        forms.push(text[if before == 0 { 0 } else { 4 }..][..length].to_owned());
    }
    forms.into_iter().map(|form| form.to_lowercase()).collect()
}

/// No file of the folder has the secret in any form.
#[track_caller]
fn nowhere(folder: &Path, secrets: &[String]) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap().to_lowercase();
        for secret in secrets {
            assert!(!text.contains(secret), "{secret} is in {}", path.display());
        }
    }
}

/// Hashes of everything that the log keeps and that has the secret.
fn hashes(at: &Path) -> Vec<String> {
    let log = rusqlite::Connection::open(at.join("hello.db")).unwrap();
    let sql = "SELECT body FROM record UNION SELECT bytes FROM document";
    let mut statement = log.prepare(sql).unwrap();
    let all = statement.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap().map(Result::unwrap);
    let has = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains(SECRET);
    all.filter(has).map(|bytes| Digest::hash_bytes(&bytes).to_string()).collect()
}

fn kinds_of_holes(at: &Path, folder: &str) -> Vec<String> {
    let text = std::fs::read_to_string(at.join(folder).join("holes.jsonl")).unwrap();
    let why = |line: &str| serde_json::from_str::<Value>(line).unwrap()["why"].as_str().unwrap().to_owned();
    let mut kinds: Vec<String> = text.lines().map(why).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

#[test]
fn c9_a_redacted_export_has_no_byte_of_a_sensitive_value_and_verifies() {
    let folder = talkative();
    let at = folder.path();
    let key = keyed(at);
    done(systole(at, &["checkpoint"]));
    let size = number(at, "SELECT max(pos) FROM record");
    assert_eq!(number(at, "SELECT count(*) FROM part"), 1, "the word of the call that was accepted");
    let hashes = hashes(at);
    assert!(hashes.len() > 5, "{hashes:?}");
    let secrets = [forms(SECRET.as_bytes()), hashes].concat();

    done(systole(at, &["export", "@last", "-o", "W.zip"]));
    unpack(at, "W.zip", "w");
    let whole = std::fs::read_to_string(at.join("w/records.jsonl")).unwrap();
    assert!(whole.contains(SECRET), "the control");

    let said = done(systole(at, &["export", "@last", "--redact", "sensitive", "-o", "T.zip"]));
    assert!(said.contains("parts of bodies are left out"), "{said}");
    unpack(at, "T.zip", "u");
    nowhere(&at.join("u"), &secrets);
    assert_eq!(std::fs::read_to_string(at.join("u/documents.jsonl")).unwrap(), "");
    let kinds = kinds_of_holes(at, "u");
    for kind in ["error", "journal", "repeat", "sensitive"] {
        assert!(kinds.iter().any(|one| one == kind), "{kind}: {kinds:?}");
    }
    // What says nothing about it is there: the answer of the tool, and the call without its word.
    let records = records(at, "u");
    let kept = |part: usize, text: &str| {
        records
            .iter()
            .any(|record| record["parts"][part]["text"].as_str().is_some_and(|it| it.contains(text)))
    };
    assert!(kept(0, ">3</") && kept(0, "<word></word><letter>r</letter>"), "{records:#?}");

    // Both verifiers say what the records are worth, and list the holes.
    let anchored = || is(0, format!("anchored up to #{size}"));
    for target in ["T.zip", "u"] {
        assert_eq!(by_python(at, &[target, "--key", &key]), anchored());
        assert_eq!(by_python(at, &[target]), is(0, "sound"));
    }
    assert_eq!(verdict(at, &["T.zip"]), is(0, "sound"));
    assert_eq!(verdict(at, &["T.zip", "--policy", "proof.policy"]), anchored());
    let ran = systole(at, &["verify", "T.zip"]);
    let python = crate::export::python(at, &["u/verify.py"]);
    for shown in [&ran.stdout, &python.stdout] {
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains("part 1, 10 bytes from byte ") && flat.contains(": a sensitive value"),
            "{shown}"
        );
        assert!(flat.contains(": a journal entry"), "{shown}");
        assert!(flat.contains("the export was made without them"), "{shown}");
    }
    let value = systole(at, &["verify", "T.zip", "--json"]).json_lines().remove(0);
    let holes = std::fs::read_to_string(at.join("u/holes.jsonl")).unwrap();
    assert_eq!(value["holes"].as_array().unwrap().len(), holes.lines().count());

    // The page alone, too.
    done(systole(at, &["export", "@last", "--redact", "sensitive", "--html", "-o", "page.html"]));
    std::fs::create_dir(at.join("p")).unwrap();
    std::fs::rename(at.join("page.html"), at.join("p/page.html")).unwrap();
    nowhere(&at.join("p"), &secrets);
    let page = std::fs::read_to_string(at.join("p/page.html")).unwrap();
    assert!(page.contains("Left out: ") && page.contains("&lt;word&gt;[left out]&lt;/word&gt;"), "{page}");
}

#[test]
fn c9_an_expression_leaves_out_whole_bodies_and_what_repeats_them() {
    let folder = named("agent");
    let at = folder.path();
    plays(at, &[("assistant", question("How many r are in strawberry?"))]);
    let secrets = [forms(SECRET.as_bytes()), hashes(at)].concat();
    done(systole(at, &["export", "@last", "--redact", "//word", "-o", "T.zip"]));
    unpack(at, "T.zip", "u");
    nowhere(&at.join("u"), &secrets);
    let kinds = kinds_of_holes(at, "u");
    assert!(
        ["journal", "repeat", "selected"].iter().all(|kind| kinds.iter().any(|one| one == kind)),
        "{kinds:?}"
    );
    assert_eq!(by_python(at, &["T.zip"]), is(0, "sound"));
    assert_eq!(verdict(at, &["T.zip"]), is(0, "sound"));

    // An expression without a match is probably a mistake, so the command prints a note.
    let ran = systole(at, &["export", "@last", "--redact", "//wort", "--redact", "sensitive", "-o", "N.zip"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("note: --redact //wort selects no record"), "{ran:?}");
    assert!(ran.stderr.contains("note: no record has a value that its schema marks as sensitive"), "{ran:?}");
    for (wrong, code) in [("//word[", 2), ("", 2)] {
        let ran = systole(at, &["export", "@last", "--redact", wrong, "-o", "X.zip"]);
        assert!(ran.code == Some(code) && ran.stderr.contains("--redact"), "{ran:?}");
    }
    assert!(!at.join("X.zip").exists());
}

#[test]
fn c9_a_key_that_repeats_the_value_cannot_be_exported_redacted() {
    let folder = talkative();
    let at = folder.path();
    let running = Running::organism_set(at, &["--set", "console.listen=127.0.0.1:0"], &[]);
    let run = RunFile::find_running(&at.join("hello.db")).unwrap();
    let mut events = Events::open(&run, "", &[]);
    let headers = [("Idempotency-Key", "about-strawberry")];
    let asked = question("What does the tool count?");
    let sent = ask(&run, "POST", "/v1/messages?to=assistant", &headers, &asked);
    assert_eq!(sent.status, 202, "{sent:?}");
    while !ends(&events.next().expect("the call is closed").2, &sent.json) {}
    stop(running);
    let first = thread(at, FIRST);
    let both = ["export", first.as_str(), "@last", "--redact", "sensitive", "-o", "T.zip"];
    let ran = systole(at, &both);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("the key of record 1 of thread sess-"), "{ran:?}");
    assert!(!at.join("T.zip").exists());
    done(systole(at, &["export", first.as_str(), "--redact", "sensitive", "-o", "T.zip"]));
}

/// A request for approval has the hash of its payload, without a salt: it stays only if the payload does.
#[test]
fn c9_the_hash_of_a_body_that_is_left_out_is_left_out_too() {
    let folder = named("agent");
    let at = folder.path();
    let file = at.join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let held = text.replace("    accepts: [count]\n", "    accepts: [count]\n    approval: {when: always}\n");
    assert_ne!(held, text);
    std::fs::write(file, held).unwrap();
    let running = Running::organism_set(at, &["--set", "console.listen=127.0.0.1:0"], &[]);
    let run = RunFile::find_running(&at.join("hello.db")).unwrap();
    let mut events = Events::open(&run, "", &[]);
    let asked = question("How many r are in strawberry?");
    let sent = ask(&run, "POST", "/v1/messages?to=assistant", &[("Idempotency-Key", "k")], &asked);
    assert_eq!(sent.status, 202, "{sent:?}");
    let is_held = |record: &Value| record["code"] == "requested" && record["thread"] != "sys";
    while !is_held(&events.next().expect("it is held").2) {}
    done(systole(at, &["approve", "a1"]));
    while !ends(&events.next().expect("the call is closed").2, &sent.json) {}
    stop(running);
    let hashes = hashes(at);
    for (expression, name, is_kept) in [("/count", "c", false), ("//thought", "t", true)] {
        let export = format!("{name}.zip");
        done(systole(at, &["export", "@last", "--redact", expression, "-o", &export]));
        unpack(at, &export, name);
        assert_eq!(verdict(at, &[&export]), is(0, "sound"));
        let text = std::fs::read_to_string(at.join(name).join("records.jsonl")).unwrap();
        assert_eq!(text.contains("<approval-requested "), is_kept, "{text}");
        assert_eq!(text.contains("<approval-decided "), is_kept, "{text}");
        assert_eq!(hashes.iter().any(|hash| text.contains(hash)), is_kept, "{text}");
        assert_eq!(kinds_of_holes(at, name).iter().any(|kind| kind == "hash"), !is_kept);
    }
}

/// An organism whose clerk takes a sensitive name and a sensitive number.
const CLERK: [(&str, &str); 2] = [
    (
        "organism.yaml",
        "organism: {name: hello, entry: clerk}
payloads: {tell: {name: sensitive text, pin: sensitive int}, done: {word: text}}
listeners:
  clerk: {run: [python3, clerk.py], accepts: [tell], returns: [done]}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
",
    ),
    (
        "clerk.py",
        r#"
import re, sys
for line in sys.stdin:
    if line.startswith("<message"):
        delivery = re.search('delivery="([^"]*)"', line).group(1)
        space = re.search('<tell xmlns="([^"]*)"', line).group(1)
        print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}"><done xmlns="{space}"><word>ok</word></done></reply>', flush=True)
"#,
    ),
];

/// A thread in which the clerk was told a name and a number, which were then erased, and after that another name.
fn told_twice(erase: &[&str], next_name: impl Fn(&Path) -> String) -> tempfile::TempDir {
    let folder = folder(&CLERK);
    let at = folder.path();
    done(systole(at, &["send", "tell", "name=Ann", "pin=777"]));
    done(systole(at, &[&["erase", "@last@1"], erase].concat()));
    let name = format!("name={}", next_name(at));
    done(systole(at, &["send", "tell", "--thread", "@last", &name, "pin=2"]));
    folder
}

/// The parts that a record of an erasure names are numbers, and no words of a person.
#[test]
fn c9_a_number_that_is_left_out_is_not_looked_for_among_the_parts_of_an_erasure() {
    let folder = told_twice(&[], |_| "Bob".to_owned());
    let at = folder.path();
    done(systole(at, &["export", "@last", "--redact", "sensitive", "-o", "T.zip"]));
    unpack(at, "T.zip", "u");
    let said = std::fs::read_to_string(at.join("u/erased.jsonl")).unwrap();
    assert!(said.contains("parts=\\\"1 2\\\""), "{said}");
    assert_eq!(verdict(at, &["T.zip"]), is(0, "sound"));
    assert_eq!(by_python(at, &["T.zip"]), is(0, "sound"));
}

#[test]
fn c9_the_words_of_an_erasure_that_repeat_what_is_left_out_are_named() {
    let refused = |folder: &Path, words: &str| {
        let ran = systole(folder, &["export", "@last", "--redact", "sensitive", "-o", "T.zip"]);
        assert!(ran.code == Some(1) && ran.stderr.contains(words), "{words}: {ran:?}");
        assert!(!folder.join("T.zip").exists());
    };
    let by_reason = told_twice(&["--reason", "asked for by Bob"], |_| "Bob".to_owned());
    refused(by_reason.path(), "the reason of the erasure at #");
    let user = |at: &Path| {
        let records = read_all(&at.join("hello.db"));
        let told = records.iter().map(|record| String::from_utf8_lossy(&record.body).into_owned());
        let told = told.into_iter().find(|body| body.starts_with("<erased ")).unwrap();
        told.split_once(" by=\"").unwrap().1.split('"').next().unwrap().to_owned()
    };
    let by_user = told_twice(&[], user);
    refused(by_user.path(), "the name of the user who made the erasure at #");
}
