//! What a log lacks has to be on record: a body or a document that is gone without an `<erased>` record is damage for
//! every command that verifies, and for the verifiers that share no code with it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use systole_core::rules::core_payload;
use systole_core::types::body_parts::PartSeal;
use systole_core::types::ids::{MessageId, ThreadId};
use systole_core::types::ports::{Commit, LogBatch, LogFault, LogReader as _, LogWriter as _, Position};
use systole_core::types::record::{Header, Record, RecordKind};
use systole_export::verdict::GatheredLog;
use systole_log::sqlite;
use systole_organism::prompt_view::READING;

use crate::approving::waits;
use crate::export::{by_python, done, is, keyed, unpack, verdict};
use crate::http::HOUSE;
use crate::log_records::read_all;
use crate::organism::{ECHO_XSD, folder, say};
use crate::program::systole;
use crate::replay::{agent, log_in, placed, plays, question};
use crate::second_verifier::Judge;
use crate::second_verifier_exports::pack;

/// A payload that waits for a person.
const GRANT: &str =
    "<grant xmlns=\"urn:vault\" who=\"mallory\" role=\"ADMIN\"><why>a new colleague</why></grant>";

/// Takes the whole body out of a record, as `erase` does it, and writes nothing about it.
fn blank_body(log: &Path, position: u64) {
    let record =
        sqlite::open_reading(log).unwrap().read_after(Position(position - 1), 1).unwrap().remove(0).1;
    let (parts, body) = record.parts.remove_parts([0], &record.body);
    let PartSeal::Erased(hash) = parts.rest else { panic!("part 0 is there") };
    let connection = Connection::open(log).unwrap();
    let set = "UPDATE record SET salt = ?2, body = ?3 WHERE pos = ?1";
    connection.execute(set, (position.cast_signed(), hash.0, &body[..])).unwrap();
    connection.execute("DELETE FROM large WHERE pos = ?1", [position.cast_signed()]).unwrap();
}

/// A copy of a closed log. Each has a folder of its own, so that no program has an earlier one open.
fn copy_anew(log: &Path) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("changed.db");
    std::fs::copy(log, &copy).unwrap();
    (folder, copy)
}

/// Where the product and Python find damage.
fn damage_positions(judge: &mut Judge, log: &Path) -> [Option<u64>; 2] {
    let product = match GatheredLog::verify_log(log, &BTreeSet::new(), &[], READING) {
        Ok(_) => None,
        Err(LogFault::Damaged { position, .. }) => Some(position.0),
        Err(fault) => panic!("{fault}"),
    };
    let python = judge.judge(log);
    [product, (python["ok"] == false).then(|| python["position"].as_u64().unwrap())]
}

/// Adds a record of the core to the log's own thread.
pub(crate) fn append_core_record(log: &Path, body: &[u8]) {
    let end = read_all(log).into_iter().rfind(|record| record.header.thread.is_sys()).unwrap();
    let id = MessageId::new(end.header.time.0, &[7; 10]);
    let header =
        Header::new_notice(ThreadId::new_sys(), end.header.seq + 1, id, end.header.time, end.header.config);
    let record = header.seal_record(body.into(), [5; 16], end.head);
    let mut opened = sqlite::open_log(log).unwrap();
    let batch = LogBatch { records: vec![record.into()], ..LogBatch::default() };
    assert!(matches!(opened.writer.commit_batch(&batch), Commit::Committed(_)));
}

/// Packs the files of `T.zip` again as `changed.zip`, with a statement that fits. `change` gives the text of each file,
/// or leaves it out.
fn repack(at: &Path, change: &dyn Fn(&str, String) -> Option<String>) {
    let _gone = std::fs::remove_dir_all(at.join("w"));
    unpack(at, "T.zip", "w");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(at.join("w")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let text = std::fs::read_to_string(at.join("w").join(&name)).unwrap();
        files.extend(change(&name, text).map(|text| (name.clone(), text.into_bytes())));
    }
    pack(&at.join("changed.zip"), &files, false);
}

/// The positions of the records for which something holds.
fn positions(log: &Path, holds: impl Fn(&Record) -> bool) -> Vec<u64> {
    (1..).zip(read_all(log)).filter(|(_, record)| holds(record)).map(|(at, _)| at).collect()
}

#[test]
fn c9_a_body_or_document_that_is_gone_without_a_record_is_damage_for_every_verifier() {
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    let team = placed("team");
    plays(team.path(), &[("coordinator", question("What makes a heart beat?"))]);
    let vault = waits(&[GRANT]);
    done(systole(vault.path(), &["approve", "a1"]));
    for folder in [&team, &vault] {
        let log = log_in(folder.path());
        assert_eq!(damage_positions(judge, &log), [None, None]);
        for position in 1..=read_all(&log).len() as u64 {
            let (_folder, changed) = copy_anew(&log);
            blank_body(&changed, position);
            assert_eq!(damage_positions(judge, &changed), [Some(position); 2], "the body of #{position}");
        }
        let count = "SELECT count(*) FROM document";
        let documents: i64 = Connection::open(&log).unwrap().query_row(count, [], |row| row.get(0)).unwrap();
        for change in ["DELETE FROM document", "UPDATE document SET bytes = x''"] {
            for offset in 0..documents {
                let (_folder, changed) = copy_anew(&log);
                let connection = Connection::open(&changed).unwrap();
                connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
                let one = format!("{change} WHERE id = (SELECT id FROM document LIMIT 1 OFFSET {offset})");
                connection.execute(&one, []).unwrap();
                drop(connection);
                let found = damage_positions(judge, &changed);
                assert!(found.iter().all(Option::is_some), "{one}: {found:?}");
            }
        }
    }
    // A person's approval, as every command sees it.
    let at = vault.path();
    keyed(at);
    done(systole(at, &["checkpoint"]));
    let log = log_in(at);
    let approved = positions(&log, |record| record.header.kind == RecordKind::Approval).pop().unwrap();
    blank_body(&log, approved);
    let damaged = is(7, format!("damaged at #{approved}"));
    for more in [&[][..], &["--policy", "proof.policy"], &["--state"]] {
        assert_eq!(verdict(at, more), damaged, "{more:?}");
    }
    for command in [&["doctor"][..], &["checkpoint"]] {
        let ran = systole(at, command);
        let flat =
            [ran.stdout.as_str(), &ran.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, Some(7), "{command:?}: {ran:?}");
        assert!(flat.contains("the state of its thread is made from it"), "{command:?}: {ran:?}");
        assert!(flat.contains(&format!("position {approved}")), "{command:?}: {ran:?}");
    }
}

#[test]
fn c9_an_erased_record_explains_only_earlier_bodies_from_which_no_state_is_made() {
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    let folder = waits(&[GRANT]);
    let at = folder.path();
    done(systole(at, &["approve", "a1"]));
    let log = log_in(at);
    let request = positions(&log, |record| *record.body == *GRANT.as_bytes())[0];
    let approved = positions(&log, |record| record.header.kind == RecordKind::Approval).pop().unwrap();
    let names =
        |position, part| core_payload::write_erasure("root", None, &[(Position(position), vec![part])], &[]);
    let forked = core_payload::erased_before_fork(&[], &[]);
    let last = read_all(&log).len() as u64;
    let later = last + 2;
    for (gone, said, found) in [
        (request, vec![names(request, 0)], None),
        (request, vec![names(request, 1)], Some(request)),
        (request, vec![names(request + 1, 0)], Some(request)),
        (approved, vec![names(approved, 0)], Some(approved)),
        // A record cannot name a later one, and that of a fork replaces the ones before it.
        (later, vec![names(later, 0), names(1, 1)], Some(later)),
        (request, vec![names(request, 0), forked.clone()], Some(request)),
        (request, vec![forked.clone(), names(request, 0)], None),
    ] {
        let (_folder, changed) = copy_anew(&log);
        said.iter().for_each(|body| append_core_record(&changed, body));
        blank_body(&changed, gone);
        assert_eq!(damage_positions(judge, &changed), [found; 2], "#{gone} and {said:?}");
    }
}

#[test]
fn c5_a_fork_names_what_it_lacks_at_its_own_positions() {
    let folder = agent();
    let at = folder.path();
    // The fork has the second thread alone, so its positions are others.
    done(systole(at, &["ask", "And now?"]));
    let log = log_in(at);
    let is_result = |record: &Record| {
        record.header.kind == RecordKind::Journal
            && String::from_utf8_lossy(&record.body).contains("model-result")
    };
    let second = positions(&log, is_result).pop().unwrap();
    let thread = read_all(&log)[usize::try_from(second).unwrap() - 1].header.thread.to_string();
    done(systole(at, &["erase", "--whole", &second.to_string()]));
    done(systole(at, &["ask", "--thread", &thread, "And then?"]));
    let forked = systole(at, &["fork", &format!("{thread}@1"), "-o", "fork.db"]);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    for command in ["verify", "doctor"] {
        let ran = systole(at, &[command, "--log", "fork.db"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let fork = at.join("fork.db");
    let lacks = positions(&fork, |record| record.parts.has_erased());
    assert!(lacks.len() == 1 && lacks[0] != second, "{lacks:?} {second}");
    // Another body at the position that the copied record named would not pass.
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    assert_eq!(damage_positions(judge, &fork), [None, None]);
    // What no record of the log explains is not explained by a fork.
    let first = positions(&log, |record| record.header.thread.to_string() == thread)[0];
    blank_body(&log, first);
    let ran = systole(at, &["fork", &format!("{thread}@1"), "-o", "other.db"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(!at.join("other.db").exists());
}

#[test]
fn c9_an_export_carries_the_records_of_erasures_and_any_other_hole_is_unexplained() {
    let folder = agent();
    let at = folder.path();
    let key = keyed(at);
    let log = log_in(at);
    let gone = positions(&log, |record| record.header.kind == RecordKind::Journal).pop().unwrap();
    done(systole(at, &["erase", "--whole", &gone.to_string(), "--reason", "asked for"]));
    done(systole(at, &["checkpoint"]));
    let size = read_all(&log).len();
    done(systole(at, &["export", "@last", "-o", "T.zip"]));
    unpack(at, "T.zip", "u");
    let said = std::fs::read_to_string(at.join("u/erased.jsonl")).unwrap();
    assert!(said.lines().count() == 1 && said.contains("asked for"), "{said}");
    let anchored = || is(0, format!("anchored up to #{size}"));
    assert_eq!(verdict(at, &["T.zip", "--key", &key]), anchored());
    for target in ["T.zip", "u"] {
        assert_eq!(by_python(at, &[target, "--key", &key]), anchored(), "{target}");
    }
    // The record is proved like any other.
    let files = |change: &dyn Fn(&str, String) -> Option<String>| repack(at, change);
    files(&|name, text| {
        Some(if name == "erased.jsonl" { text.replace("asked for", "asked fur") } else { text })
    });
    for (code, _) in [verdict(at, &["changed.zip"]), by_python(at, &["changed.zip"])] {
        assert_eq!(code, Some(7));
    }
    // Without it, the hole has no reason.
    files(&|name, text| {
        (name != "erased.jsonl" && name != "proof.json" && name != "checkpoint.txt").then_some(text)
    });
    for (code, words) in [verdict(at, &["changed.zip"]), by_python(at, &["changed.zip"])] {
        assert_eq!((code, words.as_str()), (Some(1), "sound"));
    }
    let ran = systole(at, &["verify", "changed.zip"]);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("unexplained: it is said to be erased"), "{ran:?}");
    // A prompt that is not there has no reason either.
    done(systole(at, &["export", "@last", "--no-proof", "-o", "P.zip"]));
    std::fs::remove_file(at.join("T.zip")).unwrap();
    std::fs::rename(at.join("P.zip"), at.join("T.zip")).unwrap();
    files(&|name, text| {
        let is_kept = |line: &&str| !line.contains("\"what\":\"prompt\"");
        let kept = || text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
        Some(if name == "documents.jsonl" { kept() } else { text.clone() })
    });
    for (code, words) in [verdict(at, &["changed.zip"]), by_python(at, &["changed.zip"])] {
        assert!(code == Some(7) && words.starts_with("damaged at #"), "{code:?} {words}");
    }
}

/// A listener that answers with an element that it may not send. The bytes of such an answer are a document. It repeats
/// a message that begins with `echo`, so that the document is the body of the message too.
const PARROT: &str = r#"
import re, sys
for line in sys.stdin:
    if line.startswith("<message"):
        delivery = re.search('delivery="([^"]*)"', line).group(1)
        said = re.search("<say .*</say>", line).group(0)
        if "<text>echo" not in said:
            said = '<wrong xmlns="https://xml-pipeline.org/ns/echo/v1">no answer of mine</wrong>'
        print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}">{said}</reply>', flush=True)
"#;

/// More than a body in the row of its record may have.
fn large(words: &str) -> String {
    say(&format!("{words} {}", "far away ".repeat(12_000)))
}

/// A log in which the parrot answered these messages, each in a thread of its own.
fn parrot(messages: &[String]) -> tempfile::TempDir {
    let folder = folder(&[("organism.yaml", HOUSE), ("echo.xsd", ECHO_XSD), ("echo.py", PARROT)]);
    for message in messages {
        std::fs::write(folder.path().join("say.xml"), message).unwrap();
        let sent = systole(folder.path(), &["send", "--file", "say.xml"]);
        assert!(sent.code == Some(1) && sent.stderr.contains("route.not-a-peer"), "{sent:?}");
    }
    folder
}

/// Runs SQL on a log, also where a row refers to another one.
fn change_log(log: &Path, sql: &str) {
    let connection = Connection::open(log).unwrap();
    connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}")).unwrap();
}

/// The position of the newest refusal, and the SQL that selects the document with the refused bytes.
fn refused_bytes(log: &Path) -> (u64, String) {
    let refusal = positions(log, |record| record.header.kind == RecordKind::Refusal).pop().unwrap();
    let body = read_all(log).remove(usize::try_from(refusal).unwrap() - 1).body;
    let text = String::from_utf8(body.to_vec()).unwrap();
    let hash = text.split_once(" hash=\"").unwrap().1[..64].to_owned();
    (refusal, format!("hash = x'{hash}'"))
}

/// What is refused with its words, by a command that verifies.
#[track_caller]
fn is_damaged(at: &Path, command: &[&str], words: &str) {
    let ran = systole(at, command);
    let flat = [ran.stdout.as_str(), &ran.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ran.code == Some(7) && flat.contains(words), "{command:?}: {words}: {ran:?}");
}

#[test]
fn c9_refused_bytes_without_a_record_are_missed_although_a_large_body_was_erased() {
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    let folder = parrot(&[large("first")]);
    let at = folder.path();
    let key = keyed(at);
    let log = log_in(at);
    done(systole(at, &["erase", "--whole", "@last@1"]));
    done(systole(at, &["checkpoint"]));
    let size = read_all(&log).len();
    assert_eq!(verdict(at, &["--key", &key]), is(0, format!("anchored up to #{size}")));
    assert_eq!(damage_positions(judge, &log), [None, None]);
    let (refusal, document) = refused_bytes(&log);
    change_log(&log, &format!("UPDATE document SET bytes = x'' WHERE {document}"));
    assert_eq!(damage_positions(judge, &log), [Some(refusal); 2]);
    assert_eq!(verdict(at, &["--key", &key]), is(7, format!("damaged at #{refusal}")));
    for command in [&["doctor"][..], &["checkpoint"], &["export", "@last", "-o", "N.zip"]] {
        is_damaged(at, command, "it names the refused bytes");
    }
}

#[test]
fn c9_a_large_body_that_is_refused_bytes_too_is_erased_on_record() {
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    let folder = parrot(&[large("echo")]);
    let at = folder.path();
    let log = log_in(at);
    let (_, document) = refused_bytes(&log);
    let told = systole(at, &["erase", "--whole", "@last@1", "--json"]);
    let told = told.json_lines().remove(0);
    let named = told["documents"][0].as_str().unwrap_or_default().to_owned();
    assert!(document.contains(&named) && named.len() == 64, "{told:#}");
    assert_eq!(damage_positions(judge, &log), [None, None]);
    for command in [&["verify"][..], &["doctor"], &["export", "@last", "-o", "T.zip"]] {
        done(systole(at, command));
    }
    unpack(at, "T.zip", "u");
    assert_eq!(verdict(at, &["T.zip"]), is(0, "sound"));
    assert_eq!(by_python(at, &["T.zip"]), is(0, "sound"));
    // So is a fork, in which the same body is missing.
    let sent = systole(at, &["send", "--file", "say.xml", "--thread", "@last"]);
    assert_eq!(sent.code, Some(1), "{sent:?}");
    done(systole(at, &["fork", "@last@1", "-o", "fork.db"]));
    for command in ["verify", "doctor"] {
        done(systole(at, &[command, "--log", "fork.db"]));
    }
    assert_eq!(damage_positions(judge, &at.join("fork.db")), [None, None]);
}

/// Older versions left the row of a large body without bytes and did not name it. Such a log still passes, and each
/// erased body excuses one row.
#[test]
fn c9_a_large_body_that_an_older_version_erased_excuses_one_document() {
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    let folder = parrot(&[large("echo")]);
    let at = folder.path();
    let log = log_in(at);
    let (_, first) = refused_bytes(&log);
    let position = positions(&log, |record| record.body.len() > 100_000)[0];
    std::fs::write(at.join("say.xml"), say("another")).unwrap();
    assert_eq!(systole(at, &["send", "--file", "say.xml", "--thread", "@last"]).code, Some(1));
    let (refusal, second) = refused_bytes(&log);
    assert_ne!(first, second);
    let core = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
    let older = format!("<erased {core} by=\"root\"><record position=\"{position}\" parts=\"0\"/></erased>");
    append_core_record(&log, older.as_bytes());
    blank_body(&log, position);
    change_log(&log, &format!("UPDATE document SET bytes = x'' WHERE {first}"));
    assert_eq!(damage_positions(judge, &log), [None, None]);
    for command in [&["verify"][..], &["export", "@last", "-o", "T.zip"]] {
        done(systole(at, command));
    }
    unpack(at, "T.zip", "u");
    assert_eq!(verdict(at, &["T.zip"]), is(0, "sound"));
    assert_eq!(by_python(at, &["T.zip"]), is(0, "sound"));
    change_log(&log, &format!("UPDATE document SET bytes = x'' WHERE {second}"));
    assert_eq!(damage_positions(judge, &log), [Some(refusal); 2]);
    for command in [&["verify"][..], &["doctor"], &["export", "@last", "-o", "N.zip"]] {
        is_damaged(at, command, "it names the refused bytes");
    }
}

#[test]
fn c9_the_links_before_an_erased_link_of_a_prompt_cannot_be_removed() {
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    let folder = agent();
    let at = folder.path();
    let log = log_in(at);
    done(systole(at, &["erase", "--whole", "@last@1"]));
    let told = read_all(&log).pop().unwrap();
    let told = String::from_utf8_lossy(&told.body).into_owned();
    assert!(told.contains("<document hash=") && told.contains(" before=\""), "{told}");
    assert_eq!(damage_positions(judge, &log), [None, None]);
    // Exports and forks have the links before it.
    const BASE: &str = "systole prompt base v1";
    done(systole(at, &["export", "@last", "-o", "T.zip"]));
    unpack(at, "T.zip", "u");
    assert_eq!(verdict(at, &["T.zip"]), is(0, "sound"));
    assert_eq!(by_python(at, &["T.zip"]), is(0, "sound"));
    repack(at, &|name, text| {
        let kept = || text.lines().filter(|line| !line.contains(BASE)).map(|line| format!("{line}\n"));
        Some(if name == "documents.jsonl" { kept().collect() } else { text.clone() })
    });
    for (code, words) in [verdict(at, &["changed.zip"]), by_python(at, &["changed.zip"])] {
        assert!(code == Some(7) && words.starts_with("damaged at #"), "{code:?} {words}");
    }
    let is_base = format!("instr(bytes, CAST('{BASE}' AS BLOB)) = 1");
    let without_base = |log: &Path| {
        let count = format!("SELECT count(*) FROM document WHERE {is_base}");
        let found: i64 = Connection::open(log).unwrap().query_row(&count, [], |row| row.get(0)).unwrap();
        assert_eq!(found, 1, "{}", log.display());
        change_log(log, &format!("DELETE FROM document WHERE {is_base}"));
    };
    let (_folder, changed) = copy_anew(&log);
    without_base(&changed);
    let damaged = damage_positions(judge, &changed);
    assert!(damaged.iter().all(Option::is_some), "{damaged:?}");
    is_damaged(at, &["verify", "--log", changed.to_str().unwrap()], "it names the prompt");
    // The fork ends before the second question, whose prompts have the base again.
    done(systole(at, &["ask", "--thread", "@last", "And now?"]));
    done(systole(at, &["fork", "@last@1", "-o", "fork.db"]));
    done(systole(at, &["verify", "--log", "fork.db"]));
    without_base(&at.join("fork.db"));
    is_damaged(at, &["verify", "--log", "fork.db"], "it names the prompt");
}
