//! `keygen`, `checkpoint` and `verify`: what a log shows by itself, and what checkpoints and copies that were kept
//! elsewhere show about it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::log_evidence::{drop_thread, edit, house, number, rewrite, thread};
use crate::organism::{ask, outcome, start};
use crate::program::{Ran, Running, systole};

const FIRST: &str = "SELECT text FROM thread WHERE text LIKE 'sess-%' ORDER BY id";

fn json(at: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let ran = systole(at, &[arguments, &["--json"]].concat());
    assert!(!ran.stdout.is_empty(), "{ran:?}");
    (ran.code, ran.json_lines().remove(0))
}

/// The exit and the verdict.
fn verdict(at: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let (code, value) = json(at, &[&["verify"], arguments].concat());
    (code, value["verdict"].as_str().unwrap().to_owned())
}

fn is(code: i32, verdict: impl Into<String>) -> (Option<i32>, String) {
    (Some(code), verdict.into())
}

#[track_caller]
fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

/// A key, and a policy that trusts it.
fn keyed(at: &Path) {
    let key = done(systole(at, &["keygen", "--origin", "example.org/house"]));
    std::fs::write(at.join("proof.policy"), format!("log {key}quorum none\n")).unwrap();
}

/// Signs a checkpoint, and keeps it as a file.
fn checkpoint(at: &Path, kept: &str) {
    let note = done(systole(at, &["checkpoint"]));
    std::fs::write(at.join(kept), note).unwrap();
}

/// Another message and its answer.
async fn grow(at: &Path, key: &str) {
    let organism = start(at).await;
    let payload = crate::audit_stage::payload("search", key);
    let receipt = ask(&organism, key, &payload, None).await.unwrap();
    outcome(&organism, &receipt).await;
    crate::audit_stage::stop(organism).await;
}

fn records(at: &Path) -> i64 {
    number(at, "SELECT max(pos) FROM record")
}

#[tokio::test]
async fn c2_verify_names_the_first_record_that_was_edited_removed_inserted_or_moved() {
    let folder = house().await;
    let at = folder.path();
    assert_eq!(verdict(at, &[]), is(0, "sound"));
    let whole = std::fs::read(at.join("hello.db")).unwrap();
    let changes = [
        ("UPDATE record SET body = CAST(CAST(body AS TEXT) || ' ' AS BLOB) WHERE pos = 9", 9),
        ("UPDATE record SET time = time + 1 WHERE pos = 7", 7),
        ("UPDATE record SET salt = x'00112233445566778899aabbccddeeff' WHERE pos = 5", 5),
        ("DELETE FROM record WHERE pos = 6", 6),
        // Removed, and the rest numbered anew.
        ("DELETE FROM record WHERE pos = 9; UPDATE record SET pos = -pos WHERE pos > 9;
          UPDATE record SET pos = -pos - 1 WHERE pos < 0", 9),
        (
            "UPDATE record SET pos = -pos WHERE pos > 7; UPDATE record SET pos = 1 - pos WHERE pos < 0;
             INSERT INTO record SELECT 8, thread, 1000, id, kind, sender, addressee, call, turn, NULL, cause, NULL,
             origin, time, config, code, salt, head, body FROM record WHERE pos = 7",
            8,
        ),
        (
            "UPDATE record SET pos = -1 WHERE pos = 8; UPDATE record SET pos = 8 WHERE pos = 9;
             UPDATE record SET pos = 9 WHERE pos = -1",
            8,
        ),
    ];
    for (change, position) in changes {
        edit(at, change);
        assert_eq!(verdict(at, &[]), is(7, format!("damaged at #{position}")), "{change}");
        std::fs::write(at.join("hello.db"), &whole).unwrap();
    }
    let ran = systole(at, &["verify"]);
    let questions = ran.stdout.matches("?  ").count();
    assert_eq!((ran.code, questions), (Some(0), 6), "{ran:?}");
    assert!(ran.stdout.contains("verdict: sound") && ran.stdout.contains("no information"), "{ran:?}");
    assert!(ran.stdout.contains("not checked: "), "what was not looked at is said too");
}

#[tokio::test]
async fn c2_a_history_that_was_written_anew_is_contradicted_by_a_checkpoint_and_by_a_copy() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    checkpoint(at, "first.note");
    let first = records(at);
    grow(at, "k3").await;
    checkpoint(at, "second.note");
    let second = records(at);
    std::fs::copy(at.join("hello.db"), at.join("copy.db")).unwrap();
    let trusted = ["--policy", "proof.policy"];
    assert_eq!(verdict(at, &[]), is(0, "sound"), "without a policy, notes beside the log count for nothing");
    assert_eq!(verdict(at, &trusted), is(0, format!("anchored up to #{second}")));
    assert_eq!(verdict(at, &["--against", "first.note"]), is(0, format!("anchored up to #{first}")));
    assert_eq!(verdict(at, &["--against", "copy.db"]), is(0, "sound"));

    // Someone with the file writes a thread anew, up to its last head, and removes the notes.
    let root = thread(at, FIRST);
    rewrite(at, &root, 2, "<other/>");
    std::fs::remove_file(at.join("hello.db.notes")).unwrap();
    assert_eq!(verdict(at, &[]), is(0, "sound"), "by itself it verifies");
    let place = number(at, &format!("SELECT pos FROM line WHERE thread = '{root}' AND seq = 2"));
    let by = |name: &str, first: i64, last: i64| {
        is(7, format!("contradicted between #{first} and #{last} by {name}"))
    };
    assert_eq!(verdict(at, &["--against", "first.note"]), by("first.note:1 of example.org/house", 1, first));
    assert_eq!(
        verdict(at, &["--against", "second.note", "--policy", "proof.policy"]),
        by("second.note:1 of example.org/house", 1, second)
    );
    assert_eq!(verdict(at, &["--against", "copy.db"]), is(7, format!("contradicted at #{place} by copy.db")));
    // A later change is narrowed down by the checkpoint before it.
    std::fs::copy(at.join("copy.db"), at.join("hello.db")).unwrap();
    let last = thread(at, &format!("SELECT thread FROM line WHERE pos > {first} AND thread LIKE 'sess-%'"));
    rewrite(at, &last, 2, "<other/>");
    assert_eq!(
        verdict(at, &["--against", "second.note", "--against", "first.note"]),
        by("second.note:1 of example.org/house", first + 1, second)
    );
    // A whole thread that is gone leaves no gap.
    std::fs::copy(at.join("copy.db"), at.join("hello.db")).unwrap();
    drop_thread(at, last.as_str());
    assert_eq!(verdict(at, &[]), is(0, "sound"));
    let fewer = records(at) + 1;
    assert_eq!(
        verdict(at, &["--against", "second.note", "--against", "first.note"]),
        is(7, format!("contradicted at #{fewer} by second.note:1 of example.org/house"))
    );
}

#[tokio::test]
async fn c2_a_policy_that_is_not_satisfied_is_said() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    let trusted = ["--policy", "proof.policy"];
    assert_eq!(verdict(at, &trusted), is(1, "sound"), "there is no checkpoint yet");
    checkpoint(at, "kept.note");
    let all = records(at);
    assert_eq!(verdict(at, &trusted), is(0, format!("anchored up to #{all}")));
    // A witness that has not cosigned.
    let witness = done(systole(at, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]));
    let policy = std::fs::read_to_string(at.join("proof.policy")).unwrap();
    let strict = policy.replace("quorum none", &format!("witness w {}\nquorum w", witness.trim_end()));
    std::fs::write(at.join("strict.policy"), strict).unwrap();
    let ran = systole(at, &["verify", "--policy", "strict.policy"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("cosigned by 0 of 1 witnesses: too few"), "{ran:?}");
    assert!(ran.stderr.contains("no checkpoint satisfies the policy"), "{ran:?}");
    // Another key of the same name, and a signature that was changed.
    let other = done(systole(at, &["keygen", "--origin", "example.org/house", "-o", "other.key"]));
    std::fs::write(at.join("other.policy"), format!("log {other}quorum none\n")).unwrap();
    assert_eq!(verdict(at, &["--policy", "other.policy"]), is(1, "sound"));
    let note = std::fs::read_to_string(at.join("kept.note")).unwrap();
    let forged = note.replace(&format!("\n{all}\n"), &format!("\n{}\n", all - 1));
    std::fs::write(at.join("forged.note"), forged).unwrap();
    let ran = systole(at, &["verify", "--policy", "proof.policy", "--against", "forged.note"]);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("the signature of example.org/house is wrong"), "{ran:?}");
    assert_eq!(ran.code, Some(1), "it was given, and could not be compared: {ran:?}");
    assert!(ran.stderr.contains("forged.note:1 was not compared"), "{ran:?}");
    // A witness that is named and not wanted.
    std::fs::write(at.join("idle.policy"), policy.replace("quorum", &format!("witness w {witness}quorum")))
        .unwrap();
    assert_eq!(verdict(at, &["--policy", "idle.policy"]), is(0, format!("anchored up to #{all}")));
    // A stranger adds a line in the name of a witness to a note that contradicts: it still contradicts.
    let root = thread(at, FIRST);
    rewrite(at, &root, 2, "<other/>");
    let (name, rest) = witness.trim_end().split_once('+').unwrap();
    let id = rest.split('+').next().unwrap();
    let bytes = [&u32::from_str_radix(id, 16).unwrap().to_be_bytes()[..], &[7; 72]].concat();
    let line = format!("\u{2014} {name} {}\n", base64(&bytes));
    std::fs::write(at.join("kept.note"), note + &line).unwrap();
    std::fs::remove_file(at.join("hello.db.notes")).unwrap();
    let (code, words) = verdict(at, &["--policy", "strict.policy", "--against", "kept.note"]);
    assert!(code == Some(7) && words.starts_with("contradicted between #1 and "), "{words}");
}

/// Bytes in base64.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let place = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit > three.len() { '=' } else { char::from(DIGITS[place as usize]) });
        }
    }
    text
}

#[tokio::test]
async fn c2_a_child_that_is_gone_is_damage_although_every_chain_fits() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    let child = thread(at, "SELECT text FROM thread WHERE text LIKE 'sess-%.heat'");
    drop_thread(at, child.as_str());
    let (code, words) = verdict(at, &[]);
    assert!(code == Some(7) && words.starts_with("damaged at #"), "{words}");
    let ran = systole(at, &["verify"]);
    assert!(ran.stdout.replace("\n ", "").contains("the child that it spawned has no record"), "{ran:?}");
    let ran = systole(at, &["checkpoint"]);
    assert!(ran.code == Some(7) && ran.stdout.is_empty(), "and nothing is signed: {ran:?}");
}

#[tokio::test]
async fn c2_a_file_of_notes_that_has_something_else_is_not_overwritten() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    checkpoint(at, "kept.note");
    let file = at.join("hello.db.notes");
    let note = std::fs::read_to_string(&file).unwrap();
    let refused = |words: &str| {
        let before = std::fs::read(&file).unwrap();
        let ran = systole(at, &["checkpoint"]);
        assert!(ran.code == Some(5) && ran.stdout.is_empty() && ran.stderr.contains(words), "{ran:?}");
        assert_eq!(std::fs::read(&file).unwrap(), before);
    };
    std::fs::write(&file, format!("{note}\n{note}")).unwrap();
    checkpoint(at, "kept.note");
    let (code, value) = json(at, &["verify", "--policy", "proof.policy"]);
    assert_eq!((code, value["checkpoints"].as_array().unwrap().len()), (Some(0), 3), "empty lines: {value}");
    std::fs::write(&file, format!("{note}A remark.\n")).unwrap();
    refused("line 6 begins something that is no checkpoint");
    std::fs::write(&file, "text ".repeat(200_000)).unwrap();
    refused("line 1 begins something that is no checkpoint");
    std::fs::rename(&file, at.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", &file).unwrap();
    refused("hello.db.notes");
    // A link to the log leads to the notes of the log.
    std::fs::remove_file(&file).unwrap();
    checkpoint(at, "kept.note");
    std::os::unix::fs::symlink("hello.db", at.join("link.db")).unwrap();
    let all = records(at);
    assert_eq!(
        verdict(at, &["link.db", "--policy", "proof.policy"]),
        is(0, format!("anchored up to #{all}"))
    );
}

#[tokio::test]
async fn c2_a_checkpoint_signs_nothing_that_is_damaged_or_was_put_back() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    std::fs::copy(at.join("hello.db"), at.join("backup.db")).unwrap();
    checkpoint(at, "kept.note");
    grow(at, "k3").await;
    checkpoint(at, "later.note");
    let signed = std::fs::read(at.join("hello.db.notes")).unwrap();
    // An older file, which then went on in another way.
    std::fs::copy(at.join("backup.db"), at.join("hello.db")).unwrap();
    std::fs::remove_file(at.join("hello.db.tip")).unwrap();
    grow(at, "k4").await;
    grow(at, "k5").await;
    let ran = systole(at, &["checkpoint"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), ""), "{ran:?}");
    assert!(ran.stderr.contains("and the log does not begin with them"), "{ran:?}");
    edit(at, "UPDATE record SET time = time + 1 WHERE pos = 7");
    let ran = systole(at, &["checkpoint"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), ""), "{ran:?}");
    assert!(ran.stderr.contains("position 7"), "{ran:?}");
    assert_eq!(std::fs::read(at.join("hello.db.notes")).unwrap(), signed, "nothing was added");
}

#[tokio::test]
async fn c2_checkpoints_are_signed_and_verified_while_an_organism_runs() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    let running = Running::organism(at);
    checkpoint(at, "kept.note");
    let (code, value) = json(at, &["verify", "--policy", "proof.policy"]);
    assert_eq!(code, Some(0), "{value}");
    assert!(value["verdict"].as_str().unwrap().starts_with("anchored up to #"), "{value}");
    drop(running);
}

#[tokio::test]
async fn c2_half_a_checkpoint_at_the_end_of_the_file_is_named_and_goes_with_the_next() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    checkpoint(at, "kept.note");
    let file = at.join("hello.db.notes");
    let one = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, [one.as_str(), one.get(..one.len() - 20).unwrap()].concat()).unwrap();
    let (_, value) = json(at, &["verify", "--policy", "proof.policy"]);
    let unread = value["unread"][0].as_str().unwrap();
    assert!(unread.starts_with(&format!("{}:6: ", file.display())), "{value}");
    let ran = systole(at, &["checkpoint"]);
    assert!(ran.stderr.contains("hello.db.notes:6 is not read"), "{ran:?}");
    std::fs::write(&file, [one.as_str(), one.get(..one.len() - 20).unwrap()].concat()).unwrap();
    assert_eq!(value["verdict"], format!("anchored up to #{}", records(at)));
    checkpoint(at, "kept.note");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), [one.as_str(), one.as_str()].concat());
}

#[tokio::test]
async fn c2_what_cannot_be_used_is_refused_with_its_place_and_a_fix() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    checkpoint(at, "kept.note");
    let secret = std::fs::read_to_string(at.join("proof.key")).unwrap();
    let refused = |arguments: &[&str], code: i32, words: &[&str]| {
        let ran = systole(at, arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        for words in words {
            assert!(ran.stderr.contains(words), "{arguments:?}: no {words:?} in {}", ran.stderr);
        }
        assert!(ran.stderr.contains("  try: "), "{ran:?}");
        assert!(!ran.stderr.contains(secret.trim_end()), "{ran:?}");
    };
    refused(&["keygen", "--origin", "example.org/house"], 2, &["proof.key"]);
    assert_eq!(std::fs::read_to_string(at.join("proof.key")).unwrap(), secret, "a key is never overwritten");
    assert_eq!(at.join("proof.key").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    refused(&["keygen", "--origin", "two words", "-o", "x.key"], 2, &["two words", "contains a space"]);
    assert!(!at.join("x.key").exists());
    refused(&["checkpoint", "--key", "absent.key"], 2, &["absent.key"]);
    std::fs::set_permissions(at.join("kept.note"), PermissionsExt::from_mode(0o600)).unwrap();
    refused(&["checkpoint", "--key", "kept.note"], 2, &["kept.note", "PRIVATE+KEY+NAME"]);
    done(systole(at, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]));
    refused(&["checkpoint", "--key", "w.key"], 2, &["the key of a witness"]);
    std::fs::set_permissions(at.join("proof.key"), PermissionsExt::from_mode(0o640)).unwrap();
    refused(&["checkpoint"], 2, &["other users may read this signing key (mode 0640)", "chmod 600"]);

    refused(&["verify", "absent.db"], 5, &["absent.db"]);
    refused(&["verify", "--against", "absent.note"], 2, &["absent.note"]);
    refused(&["verify", "--against", "organism.yaml"], 2, &["organism.yaml:1: "]);
    refused(&["verify", "--against", "hello.db"], 2, &["is the log itself"]);
    std::fs::write(at.join("empty.note"), "").unwrap();
    refused(&["verify", "--against", "empty.note"], 2, &["empty.note is empty"]);
    refused(&["verify", "--policy", "absent"], 2, &["absent"]);
    refused(&["verify", "--policy", "proof.key"], 3, &["line 1", "a secret key"]);
    std::fs::write(at.join("wrong.policy"), "log not-a-key\nquorum none\n").unwrap();
    refused(&["verify", "--policy", "wrong.policy"], 3, &["wrong.policy: line 1"]);
    std::fs::write(at.join("wrong.policy"), "quorum absent-w\n").unwrap();
    refused(&["verify", "--policy", "wrong.policy"], 3, &["wrong.policy: line 1", "absent-w"]);
    std::fs::copy(at.join("hello.db"), at.join("broken.db")).unwrap();
    let broken = rusqlite::Connection::open(at.join("broken.db")).unwrap();
    broken.execute("UPDATE record SET time = time + 1 WHERE pos = 3", []).unwrap();
    drop(broken);
    refused(&["verify", "--against", "broken.db"], 7, &["broken.db is not intact itself", "position 3"]);
}
