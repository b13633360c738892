//! `systole verify --prompts`: each prompt is made again from the records, and compared with the journal.

use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;
use systole_core::rules::core_payload;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::Position;

use crate::erased_on_record::append_core_record;
use crate::log_evidence::{edit, rewrite, thread};
use crate::program::{Ran, systole};
use crate::replay::{agent, heads, is, log_in, placed, plays, question};

const FIRST: &str = "SELECT text FROM thread WHERE text LIKE 'sess-%' ORDER BY id";

fn verified(at: &Path) -> (Ran, Value) {
    let ran = systole(at, &["verify", "--prompts", "--json"]);
    let value = ran.json_lines().remove(0);
    (ran, value["prompts"].clone())
}

/// The journal entries of model calls in the first thread.
fn calls(at: &Path) -> Vec<Value> {
    let mut records = heads(at, "hello.db", thread(at, FIRST).as_str());
    records.retain(|record| {
        is(record, "kind", "journal") && record["body"].as_str().unwrap().contains(" prompt=\"")
    });
    records
}

/// Gives a journal entry another prompt, with all hashes.
fn edit_prompt(at: &Path, call: &Value) -> String {
    let body = call["body"].as_str().unwrap();
    let (before, after) = body.split_once(" prompt=\"").unwrap();
    let (hash, after) = after.split_once('"').unwrap();
    // Another document of the log: one that is not there would be damage.
    let log = Connection::open(at.join("hello.db")).unwrap();
    let other: [u8; 32] = log.query_row("SELECT hash FROM config", [], |row| row.get(0)).unwrap();
    log.close().unwrap();
    let other = Digest(other).to_string();
    assert_ne!(other, hash);
    let edited = format!("{before} prompt=\"{other}\"{after}");
    rewrite(at, &thread(at, FIRST), call["seq"].as_u64().unwrap(), &edited);
    other
}

#[test]
fn c2_the_prompts_of_an_intact_log_are_made_again_without_models_and_listeners() {
    let examples = [
        ("agent", "assistant", "How many r are in strawberry?"),
        ("team", "coordinator", "What makes a heart beat?"),
        ("decision", "decide", "Is it ready?"),
    ];
    for (example, listener, words) in examples {
        let folder = placed(example);
        let at = folder.path();
        plays(at, &[(listener, question(words))]);
        drop(std::fs::remove_dir_all(at.join("listeners")));
        drop(std::fs::remove_file(at.join("replies.yaml")));
        let log = log_in(at);
        let verify = ["verify", log.to_str().unwrap(), "--prompts"];
        let ran = systole(at, &[&verify[..], &["--json"]].concat());
        let prompts = ran.json_lines().remove(0)["prompts"].clone();
        assert_eq!(ran.code, Some(0), "{example}: {ran:?}");
        let made = prompts["same"].as_u64().unwrap() + prompts["same_text"].as_u64().unwrap();
        assert!(made > 1, "{example}: {prompts}");
        println!("{example}: {prompts}");
        let none = Value::Array(vec![]);
        assert_eq!((&prompts["different"], &prompts["not_checked"]), (&none, &none));
        let ran = systole(at, &verify);
        let counted = format!("prompts made again, each as the journal says: {made}\n");
        assert!(ran.stdout.contains(&counted), "{ran:?}");
        let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("not checked: the states that the organism folded"), "{ran:?}");
        assert!(!flat.contains("the prompts of models"), "{ran:?}");
    }
}

#[test]
fn c2_a_prompt_that_the_records_do_not_make_is_named() {
    let folder = agent();
    let at = folder.path();
    let whole = std::fs::read(at.join("hello.db")).unwrap();
    let calls = calls(at);
    assert!(calls.len() > 1, "{calls:?}");
    // The journal has another hash.
    let last = calls.last().unwrap();
    let other = edit_prompt(at, last);
    let (ran, prompts) = verified(at);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert_eq!(prompts["different"].as_array().unwrap().len(), 1, "{prompts:#}");
    let different = &prompts["different"][0];
    assert_eq!((&different["seq"], &different["turn"]), (&last["seq"], &last["turn"]), "{prompts:#}");
    assert_eq!(different["recorded"], other.as_str());
    assert!(last["body"].as_str().unwrap().contains(different["made"].as_str().unwrap()), "{prompts:#}");
    let shown = systole(at, &["verify", "--prompts"]);
    let flat = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let place = format!(
        "prompt differs: {}@{}, turn {}, of assistant at #",
        thread(at, FIRST),
        last["seq"],
        last["turn"]
    );
    assert!(flat.contains(&place) && flat.contains(&format!("recorded {other}")), "{shown:?}");
    assert!(flat.contains("verdict: sound"), "every chain fits: {shown:?}");
    assert_eq!(systole(at, &["verify"]).code, Some(0));

    // The question was replaced, with all hashes: the journal still has the prompt with the first one.
    std::fs::write(at.join("hello.db"), &whole).unwrap();
    let root = thread(at, FIRST);
    let asked = heads(at, "hello.db", root.as_str()).remove(0);
    let body = asked["body"].as_str().unwrap().replace("strawberry", "raspberry");
    assert_ne!(body, asked["body"].as_str().unwrap());
    rewrite(at, &root, asked["seq"].as_u64().unwrap(), &body);
    let (ran, prompts) = verified(at);
    assert_eq!(
        (ran.code, prompts["different"][0]["seq"].as_u64()),
        (Some(7), calls[0]["seq"].as_u64()),
        "{prompts:#}"
    );
}

#[test]
fn c2_a_prompt_that_cannot_be_made_again_is_not_checked_and_never_different() {
    let folder = agent();
    let at = folder.path();
    let whole = std::fs::read(at.join("hello.db")).unwrap();
    let reasons = |wanted: &str, number: usize| {
        let (ran, prompts) = verified(at);
        assert_eq!((ran.code, &prompts["different"]), (Some(1), &Value::Array(vec![])), "{ran:?}");
        let found = prompts["not_checked"].as_array().unwrap();
        let found = found.iter().find(|one| one["why"].as_str().unwrap().contains(wanted));
        assert_eq!(found.map(|one| &one["prompts"]), Some(&number.into()), "{prompts:#}");
        let shown = systole(at, &["verify", "--prompts"]);
        let flat = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&format!("prompts not checked ({number}): ")), "{shown:?}");
        assert!(flat.contains(&format!("{number} of the prompts of models")), "{shown:?}");
    };

    // Another version recorded it, and the prompt is another one.
    let calls = calls(at);
    edit_prompt(at, &calls[0]);
    let boots = heads(at, "hello.db", "sys");
    let boot = boots.iter().find(|record| record["body"].as_str().unwrap().starts_with("<boot ")).unwrap();
    let version = format!(" version=\"{}\"", env!("CARGO_PKG_VERSION"));
    let older = boot["body"].as_str().unwrap().replace(&version, " version=\"0.0.9\"");
    rewrite(at, &ThreadId::new_sys(), boot["seq"].as_u64().unwrap(), &older);
    reasons("version 0.0.9 made it", 1);

    // What was asked is erased.
    std::fs::write(at.join("hello.db"), &whole).unwrap();
    let log = Connection::open(at.join("hello.db")).unwrap();
    let asked = "SELECT r.pos, r.salt, r.body FROM record r JOIN thread t ON t.id = r.thread WHERE r.seq = 1
                 AND t.text LIKE 'sess-%'";
    let (pos, salt, body): (i64, Vec<u8>, Vec<u8>) =
        log.query_row(asked, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let seal = Digest::hash_bytes(&[&[3][..], &salt, &body].concat());
    let blank: Vec<u8> =
        b"[erased]".iter().copied().chain(std::iter::repeat(b'*')).take(body.len()).collect();
    log.execute("UPDATE record SET salt = ?2, body = ?3 WHERE pos = ?1", (pos, seal.0, blank)).unwrap();
    log.close().unwrap();
    let erased = core_payload::write_erasure("root", None, &[(Position(pos.cast_unsigned()), vec![0])], &[]);
    append_core_record(&at.join("hello.db"), &erased);
    reasons("is erased", calls.len());

    // The configuration does not fit its hash: the log is damaged, and nothing is said about prompts.
    std::fs::write(at.join("hello.db"), &whole).unwrap();
    edit(at, "DELETE FROM document WHERE hash IN (SELECT hash FROM config)");
    let ran = systole(at, &["verify", "--prompts", "--json"]);
    assert_eq!((ran.code, &ran.json_lines()[0]["prompts"]), (Some(7), &Value::Null), "{ran:?}");
}
