//! `prove`: one record in a file that shows that it is in a signed log, on a machine without the log.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use systole_core::types::ids::Digest;

use crate::http;
use crate::log_evidence::{house, number};
use crate::organism::say;
use crate::program::{Ran, Running, ask, run_file, systole};
use crate::proof_witnesses::log_key;

#[track_caller]
fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

/// The exit and the answer of `verify`.
fn verified(at: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let ran = systole(at, &[&["verify"], arguments, &["--json"]].concat());
    (ran.code, ran.json_lines().pop().unwrap_or_default())
}

#[tokio::test]
async fn c2_one_record_is_proved_on_a_machine_without_the_log() {
    let folder = house().await;
    let (at, elsewhere) = (folder.path(), tempfile::tempdir().unwrap());
    let key = log_key(at);
    let (one, away) = (at.join("one.tlog-proof"), elsewhere.path());
    let position = number(at, "SELECT min(pos) FROM line WHERE code = 'request'").to_string();
    let ran = systole(at, &["prove", &position]);
    assert!(ran.code == Some(1) && ran.stderr.contains("try: systole checkpoint"), "{ran:?}");
    done(systole(at, &["checkpoint", "--key", "house.key"]));
    done(systole(at, &["prove", &position, "-o", "one.tlog-proof"]));
    assert_eq!(
        done(systole(at, &["prove", &format!("#{position}")])),
        std::fs::read_to_string(&one).unwrap()
    );
    std::fs::copy(&one, away.join("one.tlog-proof")).unwrap();

    let (code, shown) = verified(away, &["one.tlog-proof", "--key", &key]);
    assert_eq!((code, &shown["verdict"]), (Some(0), &Value::from("proved")), "{shown}");
    assert_eq!(
        (&shown["record"]["from"], &shown["origin"]),
        (&"operator".into(), &"example.org/house".into())
    );
    assert_eq!(shown["body"], "<plan xmlns=\"urn:t\">all</plan>");
    let text = done(systole(away, &["verify", "one.tlog-proof", "--key", &key]));
    assert!(text.contains("from    operator") && text.contains("verdict: proved"), "{text}");
    // Nothing is shown about the signature without a key, or with another one.
    let (code, shown) = verified(away, &["one.tlog-proof"]);
    assert_eq!((code, &shown["verdict"]), (Some(1), &"not proved: no known key signed it".into()));
    let other = done(systole(away, &["keygen", "--origin", "example.org/other"]));
    let (code, shown) = verified(away, &["one.tlog-proof", "--key", other.trim_end()]);
    assert_eq!((code, &shown["verdict"]), (Some(1), &"not proved: no known key signed it".into()), "{shown}");
    let same_name = done(systole(away, &["keygen", "--origin", "example.org/house", "-o", "b.key"]));
    let (code, _) = verified(away, &["one.tlog-proof", "--key", same_name.trim_end()]);
    assert_eq!(code, Some(1));
    // A policy wants a witness that did not cosign.
    let witness = done(systole(away, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]));
    std::fs::write(away.join("strict"), format!("log {key}\nwitness w {witness}quorum w\n")).unwrap();
    let (code, shown) = verified(away, &["one.tlog-proof", "--policy", "strict"]);
    assert_eq!((code, &shown["quorum"]), (Some(1), &Value::from(false)), "{shown}");
    std::fs::write(at.join("strict"), std::fs::read(away.join("strict")).unwrap()).unwrap();
    let ran = systole(at, &["prove", &position, "--policy", "strict"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("satisfies the policy"), "{ran:?}");
}

#[tokio::test]
async fn c2_a_proof_that_was_changed_anywhere_proves_nothing() {
    let folder = house().await;
    let at = folder.path();
    let key = log_key(at);
    done(systole(at, &["checkpoint", "--key", "house.key"]));
    let text = done(systole(at, &["prove", "5"]));
    let lines: Vec<&str> = text.lines().collect();
    for (place, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        // One letter in the middle of each line.
        let at_letter = line.char_indices().nth(line.chars().count() / 2).unwrap().0;
        let letter = line[at_letter..].chars().next().unwrap();
        let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let other = if letter == 'A' { "B" } else { "A" };
        changed[place].replace_range(at_letter..at_letter + letter.len_utf8(), other);
        std::fs::write(at.join("changed"), changed.join("\n") + "\n").unwrap();
        let ran = systole(at, &["verify", "changed", "--key", &key]);
        assert_ne!(ran.code, Some(0), "line {place}: {ran:?}");
        assert!(!ran.stdout.contains("verdict: proved"), "line {place}: {ran:?}");
    }
    // The proof of another record does not fit.
    let other = done(systole(at, &["prove", "6"]));
    let mixed = [lines[..2].join("\n"), other.lines().skip(2).collect::<Vec<_>>().join("\n")].join("\n");
    std::fs::write(at.join("mixed"), mixed + "\n").unwrap();
    let (code, shown) = verified(at, &["mixed", "--key", &key]);
    assert_eq!((code, &shown["verdict"]), (Some(7), &"contradicted".into()), "{shown}");
}

#[tokio::test]
async fn c2_a_body_that_is_too_large_for_a_proof_is_left_out_and_said() {
    let folder = house().await;
    let at = folder.path();
    let key = log_key(at);
    done(systole(at, &["checkpoint", "--key", "house.key"]));
    let large = number(at, "SELECT pos FROM large ORDER BY pos LIMIT 1").to_string();
    let ran = systole(at, &["prove", &large, "-o", "large"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("the body is too large"), "{ran:?}");
    let (code, shown) = verified(at, &["large", "--key", &key]);
    assert_eq!(
        (code, &shown["verdict"], &shown["body"]),
        (Some(0), &"proved".into(), &Value::Null),
        "{shown}"
    );
    assert!(shown["record"]["body_bytes"].as_u64().unwrap() > 64 << 10, "{shown}");
}

#[tokio::test]
async fn c2_a_record_that_cannot_be_proved_is_refused_with_a_fix() {
    let folder = house().await;
    let at = folder.path();
    let key = log_key(at);
    done(systole(at, &["checkpoint", "--key", "house.key"]));
    let refused = |arguments: &[&str], code: i32, words: &str| {
        let ran = systole(at, arguments);
        assert!(ran.code == Some(code) && ran.stderr.contains(words), "{arguments:?}: {words}: {ran:?}");
    };
    refused(&["prove", "99999"], 2, "and no #99999");
    refused(&["prove", "0"], 2, "a whole number from 1");
    refused(&["prove", "first"], 2, "a whole number from 1");
    refused(&["prove", "3", "--log", "absent.db"], 5, "absent.db");
    done(systole(at, &["prove", "3", "-o", "three"]));
    // Not even the log is overwritten.
    for there in ["three", "hello.db", "house.key"] {
        let before = std::fs::read(at.join(there)).unwrap();
        refused(&["prove", "3", "-o", there], 2, "it is there already");
        assert!(std::fs::read(at.join(there)).unwrap() == before, "{there}");
    }
    refused(
        &["verify", "three", "--against", "hello.db"],
        2,
        "--against, --witness, --state and --prompts are for a log",
    );
    refused(&["verify", "three", "--key", "acme"], 2, "--key: ");
    refused(&["verify", "three", "--key", &key, "--policy", "p"], 2, "cannot be used with");
    let text = std::fs::read_to_string(at.join("three")).unwrap();
    std::fs::write(at.join("cut"), &text[..text.len() / 2]).unwrap();
    refused(&["verify", "cut", "--key", &key], 2, "try: the file that systole prove wrote");
    let bare: String = text.split_inclusive('\n').filter(|line| !line.starts_with("extra ")).collect();
    std::fs::write(at.join("bare"), bare).unwrap();
    refused(&["verify", "bare", "--key", &key], 2, "it has no entry");
    // A log that was changed gives no proof.
    crate::log_evidence::edit(at, "UPDATE record SET time = time + 1 WHERE pos = 7");
    refused(&["prove", "3"], 7, "position 7");
}

#[tokio::test]
async fn c2_verify_folds_every_thread_again_if_asked_to() {
    let folder = house().await;
    let at = folder.path();
    let (code, shown) = verified(at, &["--state"]);
    assert_eq!((code, &shown["states"]["wrong"]), (Some(0), &Value::from(Vec::<Value>::new())), "{shown}");
    assert!(shown["states"]["rows"].as_u64().unwrap() > 0, "{shown}");
    assert!(!shown["not_checked"].as_str().unwrap().contains("states"), "{shown}");
    // A state that someone changed; the records still verify.
    crate::log_evidence::edit(
        at,
        "UPDATE fold SET seq = seq - 1 WHERE thread = (SELECT max(thread) FROM fold)",
    );
    let (code, shown) = verified(at, &[]);
    assert!(code == Some(0) && shown["not_checked"].as_str().unwrap().contains("--state"), "{shown}");
    let (code, shown) = verified(at, &["--state"]);
    assert_eq!((code, shown["states"]["wrong"].as_array().unwrap().len()), (Some(7), 1), "{shown}");
    let ran = systole(at, &["verify", "--state"]);
    assert!(ran.code == Some(7) && ran.stderr.contains("stored states do not match"), "{ran:?}");
}

/// Sends this many messages to a running organism.
fn tell(at: &Path, messages: usize) {
    let run = run_file(at);
    for _ in 0..messages {
        let taken = ask(&run, "POST", "/v1/messages", &[], &say("hello"));
        assert_eq!(taken.status, 202, "{taken:?}");
    }
}

#[test]
fn c2_nothing_is_signed_proved_or_exported_of_a_log_that_lost_its_end() {
    let folder = http::house();
    let at = folder.path();
    log_key(at);
    let organism = Running::organism(at);
    tell(at, 1);
    organism.interrupt();
    let sign = ["checkpoint", "--key", "house.key"];
    done(systole(at, &sign));
    done(systole(at, &["prove", "1", "-o", "before.tlog-proof"]));
    done(systole(at, &["export", "@last", "-o", "before.zip"]));
    let notes = std::fs::read(at.join("hello.db.notes")).unwrap();
    let organism = Running::organism(at);
    tell(at, 3);
    organism.signal(Signal::KILL);
    organism.end();
    std::fs::remove_file(at.join("hello.db-wal")).unwrap();
    for command in [&sign[..], &["prove", "1", "-o", "one.tlog-proof"], &["export", "@last", "-o", "N.zip"]] {
        let ran = systole(at, command);
        assert!(ran.code == Some(7) && ran.stdout.is_empty(), "{command:?}: {ran:?}");
        assert!(ran.stderr.contains("--accept-loss "), "{command:?}: {ran:?}");
    }
    assert_eq!(std::fs::read(at.join("hello.db.notes")).unwrap(), notes, "nothing was signed");
    assert!(!at.join("one.tlog-proof").exists() && !at.join("N.zip").exists());
}

/// The page says the same of a log whose tip is ahead of it.
#[test]
fn c2_the_proof_page_shows_that_a_log_lost_its_end() {
    let folder = http::house();
    let at = folder.path();
    let organism = Running::organism(at);
    tell(at, 1);
    let verified = || {
        let accept = [("Accept", "application/json")];
        ask(&run_file(at), "GET", "/proof?verify=now", &accept, "").json["verified"].clone()
    };
    assert_eq!(verified()["verdict"], "sound");
    // Both slots of the tip, with an end that the log does not have.
    let said = [&b"systtip1"[..], &1_000_u64.to_be_bytes(), &[7; 32]].concat();
    let slot = [&said[..], &Digest::hash_bytes(&said).0[..16]].concat();
    let tip = std::fs::File::options().write(true).open(at.join("hello.db.tip")).unwrap();
    [0, 4096].into_iter().for_each(|place| tip.write_all_at(&slot, place).unwrap());
    let lost = verified();
    let verdict = lost["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("damaged: it lost #") && verdict.ends_with("..1000"), "{lost:#}");
    assert!(lost["facts"]["what is wrong"].as_str().unwrap().contains("hello.db.tip"), "{lost:#}");
    drop(organism);
}
