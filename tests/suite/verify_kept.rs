//! What `verify` makes of keys, witnesses and times: whose word an answer is, a log that was rolled back with its own
//! checkpoints, long times without a checkpoint, and another key for the same log.

use std::path::Path;

use serde_json::Value;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{Commit, LogBatch, LogWriter as _, StoredDocument};
use systole_core::types::time::Millis;
use systole_log::sqlite;

use crate::export::done;
use crate::log_evidence::{house, number};
use crate::log_records::{Author, Folder, batch, root};
use crate::program::{Ran, Running, systole};
use crate::proof_witnesses::{answering, log_key, ours, with_proof};

fn json(at: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let ran = systole(at, &[&["verify"], arguments, &["--json"]].concat());
    (ran.code, ran.json_lines().pop().unwrap_or_default())
}

#[track_caller]
fn refused(ran: &Ran, code: i32, words: &str) {
    assert_eq!(ran.code, Some(code), "{words}: {ran:?}");
    assert!(ran.stderr.contains(words) && ran.stderr.contains("  try: "), "{words}: {ran:?}");
}

/// Copies the log with all that is beside it.
fn copy_log(at: &Path, from: &str, to: &str) {
    for end in ["", ".notes", ".tip", ".secret"] {
        std::fs::copy(at.join(format!("{from}{end}")), at.join(format!("{to}{end}"))).unwrap();
    }
}

#[tokio::test]
async fn c2_a_log_rolled_back_with_its_checkpoints_is_found_by_what_a_witness_holds() {
    let folder = house().await;
    let at = folder.path();
    let log = log_key(at);
    let key = done(systole(at, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]));
    std::fs::write(at.join("house.policy"), format!("log {log}\nwitness w {key}quorum w\n")).unwrap();
    let (witness, address, _) = ours(at, &log);
    with_proof(at, &format!(", to: [\"{address}\"], policy: house.policy"));
    let records = || number(at, "SELECT max(pos) FROM record");
    assert_eq!(Running::organism(at).interrupt().code, Some(130));
    let first = records();
    copy_log(at, "hello.db", "old");
    assert_eq!(Running::organism(at).interrupt().code, Some(130));
    let second = records();
    assert!(second > first);

    // What the witness saw is no longer the word of the supplier alone; what only the log's key shows is.
    let trusted = ["--policy", "house.policy", "--witness", &address];
    let graded = |arguments: &[&str]| {
        let (code, value) = json(at, arguments);
        let standing = |at: usize| value["answers"][at]["standing"].as_str().unwrap().to_owned();
        (code, value["verdict"].as_str().unwrap().to_owned(), standing(0), standing(3))
    };
    let is = |verdict: String, standing: &str| (Some(0), verdict, standing.to_owned(), standing.to_owned());
    let recheckable = "independently re-checkable";
    assert_eq!(graded(&trusted), is(format!("witnessed by 1 of 1 up to #{second}"), recheckable));
    let anchored = format!("anchored up to #{second}");
    assert_eq!(graded(&["--key", &log]), is(anchored.clone(), "supplier assertion"));
    std::fs::copy(at.join("hello.db.notes"), at.join("kept.notes")).unwrap();
    assert_eq!(graded(&["--key", &log, "--against", "kept.notes"]), is(anchored, recheckable));

    copy_log(at, "old", "hello.db");
    assert_eq!(records(), first);
    let (code, before) = json(at, &["--policy", "house.policy"]);
    assert_eq!((code, &before["verdict"]), (Some(0), &format!("witnessed by 1 of 1 up to #{first}").into()));
    let by = format!("contradicted at #{} by {address} of example.org/house", first + 1);
    for more in [&trusted[..], &["--witness", &address], &["--key", &log, "--witness", &address]] {
        let (code, value) = json(at, more);
        assert_eq!((code, &value["verdict"]), (Some(7), &by.clone().into()), "{more:?}");
    }

    // Words for everything that keeps it from being compared.
    let verify = |more: &[&str]| systole(at, &[&["verify"], more].concat());
    let other = done(systole(at, &["keygen", "--origin", "example.org/other", "-o", "other.key"]));
    refused(
        &verify(&["--key", other.trim_end(), "--witness", &address]),
        1,
        "holds no checkpoint of example.org/other",
    );
    refused(&verify(&["--key", &log, "--witness", "ftp://x"]), 2, "--witness ftp://x: ");
    std::fs::remove_file(at.join("hello.db.notes")).unwrap();
    refused(&verify(&["--witness", &address]), 2, "the log's name is not known");
    let junk = answering(Some(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\njunk".to_vec()));
    refused(&verify(&["--key", &log, "--witness", &junk]), 5, "its answer is refused");
    witness.interrupt();
    refused(&verify(&["--key", &log, "--witness", &address]), 5, "no answer: ");
}

/// Anyone can answer at an address. Only a cosignature of a known witness makes its answer more than the word of the
/// supplier.
#[tokio::test]
async fn c2_an_answer_that_no_known_witness_cosigned_is_the_word_of_the_supplier() {
    let folder = house().await;
    let at = folder.path();
    let key = log_key(at);
    let note = done(systole(at, &["checkpoint", "--key", "house.key"]));
    let size = number(at, "SELECT max(pos) FROM record");
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", note.len());
    let address = answering(Some([head.as_bytes(), note.as_bytes()].concat()));
    let (code, value) = json(at, &["--witness", &address]);
    assert_eq!((code, &value["verdict"]), (Some(0), &"sound".into()), "no key is known: {value}");
    std::fs::remove_file(at.join("hello.db.notes")).unwrap();
    let (code, value) = json(at, &["--key", &key, "--witness", &address]);
    assert_eq!((code, &value["verdict"]), (Some(0), &format!("anchored up to #{size}").into()), "{value}");
    for question in [0, 2, 3] {
        assert_eq!(value["answers"][question]["standing"], "supplier assertion", "{value}");
    }
    let told = [&value["checkpoints"][0]["words"], &value["answers"][0]["words"]];
    for words in told.map(|words| words.as_str().unwrap()) {
        assert!(words.contains("no cosignature proves that"), "{words}");
        assert!(words.contains("the witness's own"), "{words}");
    }
    // A policy that knows the witness wants its cosignature.
    let witness = done(systole(at, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]));
    std::fs::write(at.join("house.policy"), format!("log {key}\nwitness w {witness}quorum w\n")).unwrap();
    let (code, value) = json(at, &["--policy", "house.policy", "--witness", &address]);
    assert_eq!((code, &value["answers"][0]["standing"]), (Some(1), &"supplier assertion".into()), "{value}");
}

#[test]
fn c2_verify_lists_the_times_without_a_checkpoint() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let at = folder.path();
    let key = done(systole(at, &["keygen", "--origin", "example.org/a"]));
    let mut write = |hours: &[u64]| {
        let mut opened = sqlite::open_log(&folder.log()).unwrap();
        let note = |hour: &u64| {
            author.record(&root(1), b"<n xmlns='urn:t'/>", |header| header.time = Millis(hour * 3_600_000))
        };
        let documents =
            vec![StoredDocument { hash: Digest::hash_bytes(b"config"), bytes: b"config"[..].into() }];
        let batch = LogBatch { documents, ..batch(hours.iter().map(note)) };
        assert!(matches!(opened.writer.commit_batch(&batch), Commit::Committed(_)));
    };
    for hours in [&[0, 1][..], &[2, 7], &[8, 9]] {
        write(hours);
        done(systole(at, &["checkpoint", "--log", "organism.db", "--key", "proof.key"]));
    }
    write(&[10, 20]);
    let verify = ["verify", "organism.db", "--key", key.trim_end()];
    let listed = done(systole(at, &verify));
    let flat = listed.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "2 times of more than two hours without a checkpoint \
                from 1970-01-01T02:00:00.000Z to 1970-01-01T07:00:00.000Z: #3 to #4 \
                from 1970-01-01T10:00:00.000Z to 1970-01-01T20:00:00.000Z: #7 to #8";
    assert!(flat.contains(said), "{listed}");
    let gaps = systole(at, &[&verify[..], &["--json"]].concat()).json_lines().remove(0)["gaps"].clone();
    assert_eq!((gaps.as_array().unwrap().len(), &gaps[1]["first"]), (2, &7.into()), "{gaps}");
    assert!(
        !done(systole(at, &["verify", "organism.db"])).contains("without a checkpoint"),
        "no key is known"
    );
}

#[tokio::test]
async fn c2_a_log_gets_another_key_under_the_same_name() {
    let folder = house().await;
    let at = folder.path();
    let old = log_key(at);
    std::fs::write(at.join("house.policy"), format!("log {old}\nquorum none\n")).unwrap();
    with_proof(at, ", policy: house.policy");
    assert_eq!(Running::organism(at).interrupt().code, Some(130));
    let first = number(at, "SELECT max(pos) FROM record");
    std::fs::rename(at.join("house.key"), at.join("old.key")).unwrap();
    let new = log_key(at);
    assert_ne!(old, new);
    std::fs::write(at.join("house.policy"), format!("log {old}\nlog {new}\nquorum none\n")).unwrap();
    assert_eq!(Running::organism(at).interrupt().code, Some(130));
    let second = number(at, "SELECT max(pos) FROM record");
    for (more, size) in
        [(["--policy", "house.policy"], second), (["--key", &old], first), (["--key", &new], second)]
    {
        let (code, value) = json(at, &more);
        assert_eq!(
            (code, &value["verdict"]),
            (Some(0), &format!("anchored up to #{size}").into()),
            "{more:?}"
        );
    }
}
