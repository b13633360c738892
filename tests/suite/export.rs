//! Exports: that they hold what the log says, that a stranger can verify them without Systole, and that what a hostile
//! hand makes of one is refused.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use systole_core::types::ids::Digest;

use crate::audit_stage::{payload, stop};
use crate::log_evidence::{edit, house, number, rewrite, sensitive_house, thread};
use crate::organism::{ask, outcome, start};
use crate::program::{Ran, Running, systole};

const FIRST: &str = "SELECT text FROM thread WHERE text LIKE 'sess-%' ORDER BY id";

#[track_caller]
pub(crate) fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

/// A key, a policy that trusts it, and the key as text.
pub(crate) fn keyed(at: &Path) -> String {
    let key = done(systole(at, &["keygen", "--origin", "example.org/house"]));
    std::fs::write(at.join("proof.policy"), format!("log {key}quorum none\n")).unwrap();
    key.trim_end().to_owned()
}

/// The verdict of `systole verify`, and its exit.
pub(crate) fn verdict(at: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let ran = systole(at, &[&["verify"], arguments, &["--json"]].concat());
    let value = ran.json_lines().pop().unwrap_or_default();
    (ran.code, value["verdict"].as_str().unwrap_or_default().to_owned())
}

/// The Python of this machine, called by its path.
pub(crate) fn interpreter() -> String {
    let asked = ["-c", "import sys; print(sys.executable)"];
    let ran = Command::new("python3").args(asked).output().unwrap();
    String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
}

/// Runs a program of Python with no other program in its reach.
pub(crate) fn python(at: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(interpreter());
    command.env_clear().env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONIOENCODING", "utf-8");
    let ran = command.args(arguments).current_dir(at).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: ran.status.code(), stdout: text(ran.stdout), stderr: text(ran.stderr) }
}

/// The verdict of the `verify.py` of an unpacked export about a file, and its exit.
pub(crate) fn by_python(at: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let ran = python(at, &[&["u/verify.py"], arguments].concat());
    assert!(!ran.stderr.contains("Traceback"), "{ran:?}");
    let verdict = ran.stdout.lines().find_map(|line| line.strip_prefix("verdict: "));
    (ran.code, verdict.unwrap_or_default().to_owned())
}

pub(crate) fn unpack(at: &Path, export: &str, folder: &str) {
    let ran = python(at, &["-m", "zipfile", "-e", export, folder]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

pub(crate) fn records(at: &Path, folder: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(at.join(folder).join("records.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn is(code: i32, verdict: impl Into<String>) -> (Option<i32>, String) {
    (Some(code), verdict.into())
}

#[tokio::test]
async fn c9_an_export_is_verified_with_nothing_but_python() {
    let folder = house().await;
    let at = folder.path();
    let key = keyed(at);
    let root = thread(at, FIRST);
    let note = done(systole(at, &["checkpoint"]));
    std::fs::write(at.join("kept.note"), note).unwrap();
    let size = number(at, "SELECT max(pos) FROM record");
    let said = done(systole(at, &["export", root.as_str(), "-o", "T.zip", "--key", "proof.key"]));
    assert!(said.contains(&format!("by the checkpoint of example.org/house at #{size}")), "{said}");
    done(systole(at, &["export", root.as_str(), "--html", "-o", "T.html"]));
    for export in ["T.zip", "T.html"] {
        let mode = std::fs::metadata(at.join(export)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{export}: only its owner may read it");
    }
    unpack(at, "T.zip", "u");
    // In its folder, without an argument, it verifies what it came with.
    let ran = python(&at.join("u"), &["verify.py"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("verdict: sound\n") && ran.stdout.contains("not checked: who signed"),
        "{ran:?}"
    );
    let anchored = || is(0, format!("anchored up to #{size}"));
    let key = ["--key", key.as_str()];
    for target in ["T.zip", "u"] {
        assert_eq!(by_python(at, &[&[target], &key[..]].concat()), anchored());
        assert_eq!(by_python(at, &[target, "--policy", "proof.policy"]), anchored());
        assert_eq!(by_python(at, &[target, "--against", "kept.note"]), anchored());
    }
    assert_eq!(verdict(at, &["T.zip"]), is(0, "sound"));
    assert_eq!(verdict(at, &["T.zip", "--policy", "proof.policy"]), anchored());
    assert_eq!(verdict(at, &["T.zip", "--against", "kept.note"]), anchored());
    let ran = systole(at, &["verify", "T.zip", "--policy", "proof.policy"]);
    assert!(ran.stdout.contains("statement.json is signed by example.org/house+"), "{ran:?}");
    assert_eq!(ran.stdout.matches("?  ").count(), 6, "{ran:?}");
    // Keys of others count for nothing.
    let other = done(systole(at, &["keygen", "--origin", "example.org/house", "-o", "other.key"]));
    assert_eq!(by_python(at, &["T.zip", "--key", other.trim_end()]), is(1, "sound"));
    std::fs::write(at.join("other.policy"), format!("log {other}quorum none\n")).unwrap();
    assert_eq!(verdict(at, &["T.zip", "--policy", "other.policy"]), is(1, "sound"));
    let strange = by_python(at, &["T.zip", "--key", "no key"]);
    assert_eq!(strange, is(2, ""));
    assert_eq!(by_python(at, &["absent.zip"]), is(2, ""));
}

#[tokio::test]
async fn c9_an_export_has_the_thread_its_children_and_all_documents_and_no_other_thread() {
    let folder = house().await;
    let at = folder.path();
    let root = thread(at, FIRST);
    done(systole(at, &["export", root.as_str(), "-o", "T.zip"]));
    unpack(at, "T.zip", "u");
    let records = records(at, "u");
    let below = format!("FROM line WHERE thread = '{root}' OR thread LIKE '{root}.%'");
    assert_eq!(records.len() as i64, number(at, &format!("SELECT count(*) {below}")));
    assert!(records.iter().any(|record| record["thread"] == format!("{root}.heat")));
    for record in &records {
        let position = record["position"].as_i64().unwrap();
        let body = format!(
            "SELECT count(*) FROM line WHERE pos = {position} AND length(body) = {}",
            record["length"]
        );
        assert_eq!(number(at, &body), 1);
        assert_eq!(record["parts"].as_array().unwrap().len(), 1);
    }
    let documents = std::fs::read_to_string(at.join("u/documents.jsonl")).unwrap();
    assert!(documents.contains("\"what\":\"configuration\"") && documents.contains("\"what\":\"refused\""));
    assert!(documents.contains("xs:schema"), "a configuration has its schemas");
    // Both views can be read by a program of others, and show the same.
    let script = "import xml.etree.ElementTree as E, html.parser as H, sys\n\
                  x = E.parse('u/thread.xml'); n = '{https://xml-pipeline.org/ns/export/v1}'\n\
                  print(len(list(x.iter(n + 'record'))))\n\
                  class P(H.HTMLParser):\n    seen = 0\n    def handle_starttag(s, t, a):\n        s.seen += t == 'details'\n\
                  p = P(); p.feed(open('u/index.html', encoding='utf-8').read()); print(p.seen)";
    let ran = python(at, &["-c", script]);
    let counts = format!("{}\n{}\n", records.len(), records.len() + documents.lines().count());
    assert_eq!(ran.stdout, counts, "{ran:?}");
    // A child alone: who spawned it cannot be compared, and that is said.
    let child = format!("{root}.heat");
    done(systole(at, &["export", &child, "-o", "C.zip"]));
    let ran = systole(at, &["verify", "C.zip"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(&format!("not checked: who spawned {child}")), "{ran:?}");
    assert_eq!(by_python(at, &["C.zip"]), is(0, "sound"));
}

#[tokio::test]
async fn c9_an_export_of_a_running_organism_verifies_and_has_the_same_bytes_each_time() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    let running = Running::organism_set(at, &["--set", "console.listen=127.0.0.1:0"], &[]);
    done(systole(at, &["checkpoint"]));
    let root = thread(at, FIRST);
    for name in ["a.zip", "b.zip"] {
        done(systole(at, &["export", root.as_str(), "-o", name]));
    }
    drop(running);
    assert_eq!(std::fs::read(at.join("a.zip")).unwrap(), std::fs::read(at.join("b.zip")).unwrap());
    let (code, words) = verdict(at, &["a.zip", "--policy", "proof.policy"]);
    assert!(code == Some(0) && words.starts_with("anchored up to #"), "{words}");
}

#[tokio::test]
async fn c9_text_of_a_payload_stays_text_in_the_page() {
    let folder = house().await;
    let at = folder.path();
    let organism = start(at).await;
    let hostile = "&lt;/pre&gt;&lt;script src='https://example.org/x'&gt;alert(1)&lt;/script&gt;\u{202e}&lt;img src=x&gt;";
    let receipt = ask(&organism, "hostile", &payload("search", hostile), None).await.unwrap();
    outcome(&organism, &receipt).await;
    stop(organism).await;
    done(systole(at, &["export", "@last", "--html", "-o", "page.html"]));
    let page = std::fs::read_to_string(at.join("page.html")).unwrap();
    assert!(page.contains("alert(1)") && page.contains("\\u{202e}"), "{page}");
    for wrong in ["<script", "<img", "src=\"", "href=\"http", "\u{202e}", "@import", "url("] {
        assert!(!page.contains(wrong), "{wrong} in\n{page}");
    }
    assert!(page.contains("Content-Security-Policy\" content=\"default-src 'none'"));
}

#[tokio::test]
async fn c9_what_cannot_be_exported_is_refused_and_leaves_no_file() {
    let folder = house().await;
    let at = folder.path();
    let root = thread(at, FIRST);
    keyed(at);
    let said = |ran: Ran, code: i32, words: &str| {
        let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ran.code == Some(code) && flat.contains(words), "{ran:?}");
    };
    done(systole(at, &["export", root.as_str(), "-o", "T.zip"]));
    let whole = std::fs::read(at.join("T.zip")).unwrap();
    said(
        systole(at, &["export", root.as_str(), "-o", "T.zip"]),
        2,
        "try: another path, or move it out of the way",
    );
    assert_eq!(std::fs::read(at.join("T.zip")).unwrap(), whole, "it was not touched");
    said(systole(at, &["export", "sess-ffff", "-o", "N.zip"]), 2, "try: systole ps");
    said(systole(at, &["export", "@last", "-o", "none/N.zip"]), 5, "there is no such folder");
    said(systole(at, &["export", "@last", "-o", "N.zip", "--key", "absent.key"]), 2, "absent.key");
    std::fs::write(at.join("wrong.policy"), "no such line\n").unwrap();
    said(
        systole(at, &["export", "@last", "-o", "N.zip", "--policy", "wrong.policy"]),
        3,
        "wrong.policy: line 1",
    );
    done(systole(at, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]));
    said(systole(at, &["export", "@last", "-o", "N.zip", "--key", "w.key"]), 2, "the key of a witness");
    // A log that is damaged where the thread is, and one that its own checkpoint contradicts.
    done(systole(at, &["checkpoint"]));
    let log = std::fs::read(at.join("hello.db")).unwrap();
    edit(at, "UPDATE record SET time = time + 1 WHERE pos = 9");
    said(systole(at, &["export", root.as_str(), "-o", "N.zip"]), 7, "damaged at position 9");
    std::fs::write(at.join("hello.db"), &log).unwrap();
    rewrite(at, &root, 2, "<other/>");
    said(
        systole(at, &["export", root.as_str(), "-o", "N.zip"]),
        7,
        "the log is not the one that the checkpoint of",
    );
    assert!(!at.join("N.zip").exists());
    // Without the proof it can be taken along, and shows only that its records fit together.
    done(systole(at, &["export", root.as_str(), "-o", "N.zip", "--no-proof"]));
    assert_eq!(verdict(at, &["N.zip"]), is(0, "sound"));
    assert_eq!(verdict(at, &["N.zip", "--policy", "proof.policy"]), is(1, "sound"));
}

/// Erases the first sensitive value of a log by hand: its hash stays in place of its salt.
pub(crate) fn erase(at: &Path) -> (i64, String) {
    let log = rusqlite::Connection::open(at.join("hello.db")).unwrap();
    let sql = "SELECT p.pos, p.at, p.length, p.seal, r.body FROM part p JOIN record r ON r.pos = p.pos \
               WHERE length(r.body) > 0 ORDER BY p.pos LIMIT 1";
    let (pos, start, length, salt, mut body): (i64, u32, u32, Vec<u8>, Vec<u8>) = log
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .unwrap();
    let (start, length) = (start as usize, length as usize);
    let value = body[start..start + length].to_vec();
    let hash = Digest::hash_bytes(&[&[3], &salt[..], &value[..]].concat());
    body[start..start + length].fill(b'*');
    assert!(length < 8, "a short value, in whose place there is no word");
    log.execute("UPDATE part SET seal = ?1 WHERE pos = ?2 AND number = 1", (hash.0, pos)).unwrap();
    log.execute("UPDATE record SET body = ?1 WHERE pos = ?2", (body, pos)).unwrap();
    (pos, String::from_utf8(value).unwrap())
}

#[tokio::test]
async fn c9_an_export_has_sensitive_values_as_parts_and_verifies_without_an_erased_one() {
    let folder = sensitive_house().await;
    let at = folder.path();
    let key = keyed(at);
    let root = thread(at, FIRST);
    done(systole(at, &["checkpoint"]));
    let size = number(at, "SELECT max(pos) FROM record");
    done(systole(at, &["export", root.as_str(), "-o", "before.zip"]));
    unpack(at, "before.zip", "u");
    let with_parts = |folder: &str, pos: i64| {
        records(at, folder).into_iter().find(|record| record["position"] == pos).unwrap()["parts"].clone()
    };
    let whole = std::fs::read(at.join("hello.db")).unwrap();
    let (pos, value) = erase(at);
    let ran = systole(at, &["export", root.as_str(), "-o", "none.zip"]);
    assert_eq!(ran.code, Some(7), "no record says that it was erased: {ran:?}");
    std::fs::write(at.join("hello.db"), whole).unwrap();
    done(systole(at, &["erase", &pos.to_string()]));
    let parts = with_parts("u", pos);
    assert_eq!(
        (parts.as_array().unwrap().len(), parts[1]["text"].as_str()),
        (2, Some(value.as_str())),
        "{parts}"
    );
    assert!(!parts[0]["text"].as_str().unwrap().contains(&value), "{parts}");
    done(systole(at, &["export", root.as_str(), "-o", "after.zip"]));
    unpack(at, "after.zip", "v");
    let left = with_parts("v", pos);
    assert_eq!(left[1], serde_json::json!({"c": parts[1]["c"]}), "only the hash is left");
    assert_eq!(left[0], parts[0]);
    // Both fit the checkpoint that was signed while the value was there.
    let anchored = || is(0, format!("anchored up to #{size}"));
    for export in ["before.zip", "after.zip"] {
        assert_eq!(by_python(at, &[export, "--key", &key]), anchored(), "{export}");
        assert_eq!(verdict(at, &[export, "--policy", "proof.policy"]), anchored(), "{export}");
    }
    let ran = systole(at, &["verify", "after.zip"]);
    assert!(ran.stdout.contains(" parts of bodies were left out; their hashes fit"), "{ran:?}");
    let log = Command::new("python3")
        .args(["tests/verifier/systole_log.py"])
        .arg(at.join("hello.db"))
        .output()
        .unwrap();
    let log: Value = serde_json::from_slice(&log.stdout).unwrap();
    assert_eq!(log["ok"], true, "{log}");
}

/// The commands of the page, word for word.
#[tokio::test]
async fn c9_openssl_alone_verifies_the_checkpoint_of_an_export() {
    let folder = house().await;
    let at = folder.path();
    let key = keyed(at);
    done(systole(at, &["checkpoint"]));
    done(systole(at, &["export", "@last", "-o", "case-7.zip"]));
    let page = std::fs::read_to_string("docs/reference/export.md").unwrap();
    let commands = page.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
    let run = |key: &str| {
        let ran =
            Command::new("sh").args(["-ec", commands]).env("KEY", key).current_dir(at).output().unwrap();
        (ran.status.success(), String::from_utf8(ran.stdout).unwrap())
    };
    let (is_right, said) = run(&key);
    assert!(is_right && said.contains("Signature Verified Successfully"), "{said}");
    let other = done(systole(at, &["keygen", "--origin", "example.org/house", "-o", "other.key"]));
    assert!(!run(other.trim_end()).0, "another key of the same name");
}

/// Makes hostile files from an export.
const HOSTILE: &str = r#"
import io, json, sys, zipfile
source = zipfile.ZipFile("T.zip")
files = {name: source.read(name) for name in source.namelist()}

def plain(name, data, kind=zipfile.ZIP_STORED):
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_version, entry.external_attr, entry.compress_type = 20, 0o100644 << 16, kind
    if name == "verify.py":
        entry.external_attr = 0o100755 << 16
    return entry, data

def write(path, entries):
    with zipfile.ZipFile(path, "w") as out:
        for entry, data in entries:
            out.writestr(entry, data)

def all(changed={}, without=(), more=()):
    kept = [plain(name, changed.get(name, data)) for name, data in files.items() if name not in without]
    return kept + list(more)

write("same.zip", all())
statement = files["statement.json"]
write("wrong-statement.zip", all({"statement.json": statement.replace(b'"payload":"', b'"payload":"AAAA')}))
for name in files:
    write(f"without-{name}.zip", all(without=[name]))
    if name != "statement.json":
        write(f"changed-{name}.zip", all({name: files[name][:-2] + b" " + files[name][-2:]}))
bomb = [plain(name, data) for name, data in files.items() if name != "records.jsonl"]
write("bomb.zip", bomb + [plain("records.jsonl", b"0" * 50_000_000, zipfile.ZIP_DEFLATED)])
write("path.zip", all(more=[plain("../../escaped.txt", b"x")]))
write("absolute.zip", all(more=[plain("/tmp/escaped.txt", b"x")]))
write("twice.zip", all(more=[plain("records.jsonl", b"")]))
write("empty.zip", [])
whole = open("T.zip", "rb").read()
open("before.zip", "wb").write(b"PK\3\4 and something before" + whole)
open("after.zip", "wb").write(whole + b"after")
open("cut.zip", "wb").write(whole[:len(whole) // 2])
open("comment.zip", "wb").write(whole[:-2] + b"\3\0abc")
long = json.dumps({"position": "x" * 70_000_000}).encode() + b"\n"
write("long.zip", all({"records.jsonl": long}))
deep = b'{"position":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
write("deep.zip", all({"records.jsonl": deep}))
"#;

#[tokio::test]
async fn c9_a_hostile_export_is_refused_by_both_verifiers_and_writes_nothing() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    done(systole(at, &["checkpoint"]));
    done(systole(at, &["export", "@last", "-o", "T.zip", "--policy", "proof.policy"]));
    unpack(at, "T.zip", "u");
    let ran = python(at, &["-c", HOSTILE]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let names = || {
        let names =
            std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let before = names();
    let mut seen = 0;
    for name in before.iter().filter(|name| name.ends_with(".zip") && *name != "T.zip") {
        // The bytes that Python writes are those of ours.
        let expected = if name == "same.zip" { is(0, "sound") } else { is(7, "damaged") };
        assert_eq!(by_python(at, &[name]), expected, "{name}");
        // The empty zip file has no entry at its beginning, and is taken for a log.
        if name != "empty.zip" {
            assert_eq!(verdict(at, &[name]), expected, "{name}");
        }
        seen += 1;
    }
    assert!(seen > 20, "{before:?}");
    assert_eq!(names(), before, "nothing was unpacked");
}
