//! A log that another program restored from before: what is missing is named, work goes on, and what was erased since
//! is erased again.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::broker::tools;
use crate::erase::{
    agent, assert_refused, done, files_with, find_marked, json, the_other_verifiers_agree, write,
};
use crate::log_records::{Author, Folder, batch, read_all, root};
use crate::program::{Running, systole};
use crate::replay::{log_in, stop};
use crate::trail::example;

const FREE_PORT: [&str; 2] = ["--set", "console.listen=127.0.0.1:0"];

/// The program that `tools/prepare test` brings, or else the one on PATH.
#[track_caller]
fn litestream(at: &Path, arguments: &[&str]) {
    let brought = tools().join("litestream/bin/litestream");
    let program = if brought.exists() { brought } else { PathBuf::from("litestream") };
    let ran = Command::new(program).args(arguments).current_dir(at).output();
    let ran = ran.expect("there is no litestream: tools/prepare test brings one");
    assert!(ran.status.success(), "{ran:?}");
}

/// Moves a log away, with everything beside it but the tip and the secret.
fn move_away(at: &Path, log: &str) {
    std::fs::create_dir(at.join("before")).unwrap();
    for ending in ["", "-wal", "-shm"] {
        let file = format!("{log}{ending}");
        let _absent = std::fs::rename(at.join(&file), at.join("before").join(&file));
    }
}

#[test]
fn h7_a_log_restored_by_litestream_names_what_is_missing_and_goes_on_when_told_to() {
    let (_above, hello) = example("hello", &[]);
    let at = hello.as_path();
    let replica = format!("file://{}", at.join("replica").display());
    let running = Running::organism(at);
    let send = |key: &str| systole(at, &["send", "ask", key, "--key", key]);
    let first = done(&send("first")).to_owned();
    litestream(at, &["replicate", "-once", "organism.db", &replica]);
    done(&send("second"));
    litestream(at, &["replicate", "-once", "organism.db", &replica]);
    let kept = read_all(&at.join("organism.db")).len();
    done(&send("third"));
    let all = read_all(&at.join("organism.db"));
    running.signal(Signal::KILL);
    running.end();

    move_away(at, "organism.db");
    litestream(at, &["restore", "-o", "organism.db", &replica]);
    let missing = format!("{}..{}", kept + 1, all.len());
    let way = format!("systole run --accept-loss {missing}, which goes on without these records");
    for order in [&["run"][..], &["ask", "again"]] {
        assert_refused(&systole(at, &[order, &FREE_PORT].concat()), 7, &way);
    }
    assert_eq!(read_all(&at.join("organism.db"))[..], all[..kept], "it is as it was at the second message");

    let running = Running::organism_set(at, &[&FREE_PORT[..], &["--accept-loss", &missing]].concat(), &[]);
    assert_eq!(done(&send("first")), first, "what the replica had is not done again");
    done(&send("third"));
    assert_eq!(running.interrupt().code, Some(130));
    assert!(done(&systole(at, &["verify"])).contains("verdict: sound"));
    let after = read_all(&at.join("organism.db"));
    assert!(after.len() > kept && after[..kept] == all[..kept]);
}

#[test]
fn c9_what_was_erased_since_the_backup_is_erased_again_also_where_it_was_repeated_since() {
    let folder = agent();
    let at = folder.path();
    let log = log_in(at);
    std::fs::create_dir(at.join("kept")).unwrap();
    done(&systole(at, &["backup", "-o", "kept/kept.db"]));
    let first = json(at, &["erase", &find_marked(&log)]);
    let rest: Vec<String> =
        first["repeated_at"].as_array().unwrap().iter().map(ToString::to_string).collect();
    let whole: Vec<&str> = ["erase", "--whole"].into_iter().chain(rest.iter().map(String::as_str)).collect();
    done(&systole(at, &whole));
    assert_eq!(files_with(&log, "strawberry"), [""; 0]);

    // The log goes back to the backup, and says the word once more.
    move_away(at, "hello.db");
    std::fs::remove_file(at.join("hello.db.tip")).unwrap();
    std::fs::copy(at.join("kept/kept.db"), at.join("hello.db")).unwrap();
    let running = Running::organism_set(at, &FREE_PORT, &[]);
    let asked = ["ask", "--to", "assistant", "How many r are in strawberry?"];
    done(&systole(at, &asked));
    stop(running);
    assert_eq!(files_with(&log, "strawberry")[..1], ["hello.db"]);
    let heads: Vec<_> = read_all(&log).iter().map(|record| record.head).collect();
    let dry = json(at, &["erase", "--again", "before/hello.db", "--dry-run"]);
    assert_eq!(read_all(&log).iter().filter(|record| record.parts.has_erased()).count(), 0);

    let again = json(at, &["erase", "--again", "before/hello.db", "--reason", "a backup was restored"]);
    assert_eq!(again["erased"], dry["erased"]);
    let positions = |told: &Value| -> Vec<u64> {
        told["erased"].as_array().unwrap().iter().map(|one| one["position"].as_u64().unwrap()).collect()
    };
    let erased = positions(&again);
    assert!(positions(&first).iter().all(|position| erased.contains(position)), "{again:#}");
    assert!(rest.iter().all(|position| erased.contains(&position.parse().unwrap())), "{again:#}");
    let since = positions(&first).len() + rest.len();
    assert!(erased.len() > since, "the value is also in records that came since: {again:#}");
    let after: Vec<_> = read_all(&log).iter().map(|record| record.head).collect();
    assert_eq!(after[..heads.len()], heads[..]);
    assert!(done(&systole(at, &["verify"])).contains("verdict: sound"));
    the_other_verifiers_agree(&log);

    let ran = systole(at, &["erase", "--again", "before/hello.db"]);
    assert!(done(&ran).contains("nothing is left to erase"), "{ran:?}");
    // Only the places of the new thread that are not marked are left, and they are named.
    let left: Vec<u64> = again["repeated_at"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert!(!left.is_empty() && left.iter().all(|position| !erased.contains(position)), "{again:#}");
}

#[test]
fn c9_a_copy_that_is_of_no_use_to_erase_again_changes_nothing_and_is_explained() {
    let (folder, other) = (agent(), agent());
    let at = folder.path();
    let log = log_in(at);
    done(&systole(at, &["backup", "-o", "kept.db"]));
    done(&systole(other.path(), &["erase", &find_marked(&log_in(other.path()))]));
    std::fs::write(at.join("text.db"), "no log").unwrap();
    let before = std::fs::read(&log).unwrap();
    let erase = |more: &[&str]| systole(at, &[&["erase", "--again"], more].concat());
    assert_refused(&erase(&["kept.db"]), 2, "kept.db: nothing was erased from it");
    assert_refused(&erase(&["none.db"]), 5, "none.db");
    assert_refused(&erase(&["text.db"]), 7, "text.db");
    assert_eq!(erase(&["kept.db", "12"]).code, Some(2), "positions are named by the copy");
    assert_eq!(erase(&["kept.db", "--whole"]).code, Some(2));
    let foreign = log_in(other.path());
    assert_refused(&erase(&[foreign.to_str().unwrap()]), 2, "it is not a copy of this log");
    assert_eq!(std::fs::read(&log).unwrap(), before);
}

#[test]
fn c9_only_the_records_that_both_logs_have_are_erased_again_and_the_others_are_named() {
    let (newer, restored) = (Folder::new(), Folder::new());
    let mut author = Author::default();
    write(&newer, &batch([author.in_parts(&root(1), [false; 3])]));
    std::fs::copy(newer.log(), restored.log()).unwrap();
    write(&newer, &batch([2, 3].map(|n| author.in_parts(&root(n), [false; 3]))));
    let erase = ["erase", "--log", "organism.db"];
    done(&systole(newer.path(), &[&erase[..], &["1", "2", "3"]].concat()));
    write(&restored, &batch([Author::default().in_parts(&root(4), [false; 3])]));

    // The restored log has another record at the second position, and none at the third.
    let log = newer.log();
    let ran =
        systole(restored.path(), &[&erase[..], &["--again", log.to_str().unwrap(), "--dry-run"]].concat());
    assert!(done(&ran).contains("would erase #1: 2 values"), "{ran:?}");
    assert!(ran.stderr.contains("#2: another record than in ") && ran.stderr.contains("#3: erased there"));
}
