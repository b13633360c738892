//! Exports as tests: an exported thread is replayed without its log, under the organism beside it.

use std::path::Path;

use serde_json::Value;

use crate::export::{done, keyed, unpack};
use crate::log_evidence::{house, thread};
use crate::program::{Ran, systole};
use crate::replay::{FIRST, agent, log_in, played, question, without_listeners};

/// The agent of the examples with an export of its only thread, without its log and its listeners.
pub(crate) fn exported() -> tempfile::TempDir {
    let folder = agent();
    let at = folder.path();
    done(systole(at, &["export", "@last", "-o", "case.test.zip"]));
    done(systole(at, &["export", "@last", "--redact", "sensitive", "-o", "redacted.zip"]));
    without_listeners(at);
    for file in ["hello.db", "hello.db.secret", "hello.db.tip"] {
        std::fs::remove_file(at.join(file)).unwrap();
    }
    folder
}

pub(crate) fn change(at: &Path, from: &str, to: &str) {
    let file = at.join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(file, text.replace(from, to)).unwrap();
}

#[track_caller]
pub(crate) fn says(ran: &Ran, code: i32, words: &str) {
    let flat = [ran.stdout.as_str(), &ran.stderr].concat();
    let flat = flat.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ran.code == Some(code) && flat.contains(words), "{words}: {ran:?}");
}

#[test]
fn c6_an_exported_thread_is_a_test_of_the_organism_beside_it() {
    let folder = exported();
    let at = folder.path();
    std::fs::remove_file(at.join("agent.test.yaml")).unwrap();
    // In a folder it is found by its name, and a path that is named may have any.
    says(&systole(at, &["test"]), 0, "ok case.test.zip: sess-");
    std::fs::create_dir(at.join("cases")).unwrap();
    std::fs::copy(at.join("case.test.zip"), at.join("cases/7.zip")).unwrap();
    says(&systole(at, &["test", "cases/7.zip", "case.test.zip"]), 0, "under organism.yaml");
    says(&systole(at, &["replay", "cases/7.zip"]), 0, "records, equal");
    let value: Value = systole(at, &["test", "case.test.zip", "--json"]).json_lines().remove(0);
    assert_eq!((&value["passed"], &value["failure"]), (&true.into(), &Value::Null), "{value:#}");

    // The prompt changes: the first record that differs is named. As it was recorded it is still equal.
    change(at, "in one sentence", "in two sentences");
    says(&systole(at, &["test"]), 1, "first difference: sess-");
    says(&systole(at, &["test"]), 1, "+ You answer questions in two sentences.");
    says(&systole(at, &["replay", "case.test.zip"]), 0, "records, equal");
    says(&systole(at, &["replay", "case.test.zip", "--config", "organism.yaml"]), 1, "differs");
    let value: Value = systole(at, &["test", "--json"]).json_lines().remove(0);
    assert_eq!((&value["passed"], &value["failure"]["verdict"]), (&false.into(), &"differs".into()));
    assert_eq!(value["failure"]["differences"][0]["part"], "prompt", "{value:#}");

    // A narrower schema refuses what the tool said then.
    change(at, "in two sentences", "in one sentence");
    change(at, "times: int 0..", "times: int 0..2");
    says(&systole(at, &["test"]), 1, "refused by the new schema");
    // A file that is refused itself.
    change(at, "times: int 0..2", "times: nothing");
    says(&systole(at, &["test"]), 3, "organism.yaml:");
    // Without a file it is replayed as it was configured.
    std::fs::remove_file(at.join("organism.yaml")).unwrap();
    says(&systole(at, &["test"]), 0, "as it was configured");
}

#[test]
fn c6_what_cannot_be_replayed_is_not_called_different() {
    let folder = exported();
    let at = folder.path();
    says(
        &systole(at, &["replay", "redacted.zip"]),
        5,
        "cannot replay redacted.zip: the export is redacted: what record",
    );
    says(&systole(at, &["test", "redacted.zip"]), 5, "1 cannot be replayed, 0 passed");
    says(&systole(at, &["test", "redacted.zip", "case.test.zip"]), 5, "1 cannot be replayed, 1 passed");
    let value: Value = systole(at, &["test", "redacted.zip", "--json"]).json_lines().remove(0);
    assert_eq!((&value["passed"], &value["failure"]["verdict"]), (&false.into(), &"cannot-replay".into()));
    // A changed export is damaged, whatever else would come of it.
    let mut bytes = std::fs::read(at.join("case.test.zip")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(at.join("changed.zip"), &bytes).unwrap();
    says(&systole(at, &["replay", "changed.zip"]), 7, "verdict: damaged");
    says(&systole(at, &["test", "changed.zip", "case.test.zip"]), 7, "1 damaged, 1 passed");
    std::fs::write(at.join("empty.zip"), "").unwrap();
    says(&systole(at, &["replay", "empty.zip"]), 7, "verdict: damaged");
    for arguments in [&["replay", "case.test.zip", "--config", "absent.yaml"][..], &["test", "organism.yaml"]]
    {
        let ran = systole(at, arguments);
        assert!(matches!(ran.code, Some(2 | 3)), "{ran:?}");
    }
    // The configuration is missing, which a sender may say.
    unpack(at, "case.test.zip", "u");
    let documents = std::fs::read_to_string(at.join("u/documents.jsonl")).unwrap();
    assert!(documents.contains("\"what\":\"configuration\""), "the control");
}

#[tokio::test]
async fn c6_a_child_without_its_parent_cannot_be_replayed() {
    let folder = house().await;
    let at = folder.path();
    keyed(at);
    let child = format!("{}.heat", thread(at, FIRST));
    done(systole(at, &["export", &child, "-o", "C.zip"]));
    says(&systole(at, &["replay", "C.zip"]), 5, "the export has only children");
    says(&systole(at, &["test", "C.zip"]), 5, "the export has only children");
}

#[test]
fn c6_exports_of_teams_and_workflows_replay_equal_on_another_machine() {
    let order = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config/beat/order.xml"));
    for (example, message) in [
        ("beat", ("clerk", order.unwrap())),
        ("team", ("coordinator", question("What makes a heart beat?"))),
        ("decision", ("decide", question("Is it ready?"))),
    ] {
        let folder = played(example, &[message]);
        let at = folder.path();
        let log = log_in(at);
        done(systole(at, &["export", "@last", "-o", "T.zip", "--log", log.to_str().unwrap()]));
        let other = tempfile::tempdir().unwrap();
        std::fs::copy(at.join("T.zip"), other.path().join("T.zip")).unwrap();
        says(&systole(other.path(), &["replay", "T.zip"]), 0, "records, equal");
        says(&systole(other.path(), &["test", "T.zip"]), 0, "1 passed");
    }
}
