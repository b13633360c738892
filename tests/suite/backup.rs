//! `systole backup`: a verified copy of a log, also while an organism writes it, and the way back from it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;
use rustix::process::Signal;
use systole_core::types::ports::{LogReader as _, Position};
use systole_log::sqlite;

use crate::log_evidence::{edit, house, number};
use crate::program::{Ran, Running, command, systole};
use crate::trail::example;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[track_caller]
fn done(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

/// Every record of a log, as it is.
fn records(log: &Path) -> Vec<(Position, systole_core::types::record::Record)> {
    sqlite::open_reading(log).unwrap().read_after(Position(0), 100_000).unwrap()
}

#[tokio::test]
async fn c2_a_backup_has_every_record_and_verifies_alone() {
    let folder = house().await;
    let at = folder.path();
    done(systole(at, &["keygen", "--origin", "example.org/house"]));
    let note = done(systole(at, &["checkpoint"])).stdout;
    std::fs::create_dir(at.join("kept")).unwrap();
    let made = done(systole(at, &["backup", "-o", "kept/one.db"]));
    assert!(
        made.stdout.starts_with("kept/one.db: ") && made.stdout.contains("verified, with kept/one.db.notes"),
        "{made:?}"
    );
    assert!(made.stderr.contains("then: cp kept/one.db "), "{made:?}");
    assert_eq!(names(&at.join("kept")), ["one.db", "one.db.notes"]);
    let mode = std::fs::metadata(at.join("kept/one.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(records(&at.join("hello.db")), records(&at.join("kept/one.db")));
    std::fs::write(at.join("kept.note"), note).unwrap();
    let verdict = done(systole(at, &["verify", "kept/one.db", "--against", "kept.note"]));
    assert!(verdict.stdout.contains("anchored"), "{verdict:?}");
    assert!(
        done(systole(at, &["doctor", "--log", "kept/one.db"])).stdout.contains(" records in "),
        "nothing is wrong"
    );
    // A folder gives the file the time as its name.
    let json = done(systole(at, &["backup", "hello.db", "-o", "kept", "--json"])).json_lines().remove(0);
    assert_eq!(json["records"], number(at, "SELECT max(pos) FROM record"));
    let name = json["backup"].as_str().unwrap();
    assert!(name.starts_with("kept/hello-20") && name.ends_with("Z.db"), "{name}");
}

#[tokio::test]
async fn c2_a_backup_overwrites_nothing_and_a_damaged_log_gives_none() {
    let folder = house().await;
    let at = folder.path();
    std::fs::write(at.join("there.db"), "kept").unwrap();
    std::fs::write(at.join("other.db.notes"), "kept").unwrap();
    let before = names(at);
    for (to, words) in [
        ("there.db", "there.db: it is there already"),
        ("other.db", "other.db.notes: it is there already"),
        ("hello.db", "hello.db: it is there already"),
        ("hello.db-wal", "belongs to the log"),
        ("hello.db.find", "belongs to the log"),
        ("hello.db.index", "belongs to the log"),
        ("hello.db.follow", "belongs to the log"),
        ("hello.db.sessions", "belongs to the log"),
    ] {
        let ran = systole(at, &["backup", "-o", to]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(words) && ran.stderr.contains("try: "), "{ran:?}");
    }
    let nowhere = systole(at, &["backup", "-o", "none/b.db"]);
    assert_eq!(nowhere.code, Some(5), "{nowhere:?}");
    let none = systole(at, &["backup", "none.db", "-o", "b.db"]);
    assert_eq!(none.code, Some(5), "{none:?}");
    edit(at, "UPDATE record SET time = time + 1 WHERE pos = 5");
    let damaged = systole(at, &["backup", "-o", "b.db"]);
    assert_eq!(damaged.code, Some(7), "{damaged:?}");
    assert!(
        damaged.stderr.contains("at position 5") && damaged.stderr.contains("no backup was made"),
        "{damaged:?}"
    );
    let now: Vec<String> = names(at).into_iter().filter(|name| !name.starts_with("hello.db-")).collect();
    let before: Vec<String> = before.into_iter().filter(|name| !name.starts_with("hello.db-")).collect();
    assert_eq!(now, before, "nothing is left");
    assert_eq!(std::fs::read_to_string(at.join("there.db")).unwrap(), "kept");
}

#[test]
fn c2_a_backup_beside_a_running_organism_is_of_one_moment_and_can_be_run() {
    let (_above, hello) = example("hello", &[]);
    let at = hello.as_path();
    let running = Running::organism(at);
    for n in 0..3 {
        done(systole(at, &["ask", &format!("message {n}")]));
        done(systole(at, &["backup", "-o", &format!("{n}.db")]));
    }
    done(systole(at, &["ask", "after it"]));
    assert_eq!(running.interrupt().code, Some(130));
    let all = records(&at.join("organism.db"));
    for n in 0..3 {
        let copy = records(&at.join(format!("{n}.db")));
        assert!(copy.len() < all.len() && all.starts_with(&copy), "a beginning of the log");
        let text = |record: &(Position, systole_core::types::record::Record)| {
            String::from_utf8_lossy(&record.1.body).contains(&format!("message {n}"))
        };
        assert!(copy.iter().any(text), "what was acknowledged before is in it");
    }
    // Put back beside a tip that knows more, it is refused; as the page says, it runs.
    let restore = |with_tip: bool| {
        for ending in ["", "-wal", "-shm"] {
            let _absent = std::fs::remove_file(at.join(format!("organism.db{ending}")));
        }
        if !with_tip {
            std::fs::remove_file(at.join("organism.db.tip")).unwrap();
        }
        std::fs::copy(at.join("1.db"), at.join("organism.db")).unwrap();
    };
    let secret = || std::fs::read(at.join("organism.db.secret")).unwrap();
    let old_secret = secret();
    restore(true);
    let refused = systole(at, &["ask", "again"]);
    assert_eq!(refused.code, Some(7), "{refused:?}");
    restore(false);
    done(systole(at, &["ask", "again"]));
    assert!(secret() != old_secret, "answers to deliveries of the other history must not fit");
    let restored = records(&at.join("organism.db"));
    assert!(restored.starts_with(&records(&at.join("1.db"))));
    assert!(done(systole(at, &["verify"])).stdout.contains("verdict: sound"));
}

#[test]
fn c2_a_killed_backup_leaves_no_file_with_its_name() {
    let (_above, hello) = example("hello", &[]);
    let at = hello.as_path();
    done(systole(at, &["ask", "hello"]));
    // Held up by another program that has the log locked, it is killed while its draft is there.
    let log = Connection::open(at.join("organism.db")).unwrap();
    log.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM mark WHERE name = 'none'",
    )
    .unwrap();
    let child = command(at, &["backup", "-o", "b.db"]).stdin(Stdio::null()).spawn().unwrap();
    let running = Running::of(child);
    let draft = format!("b.db.unfinished-{}", running.pid());
    let was_there = (0..20_000_000).any(|_| {
        std::thread::yield_now();
        at.join(&draft).exists()
    });
    running.signal(Signal::KILL);
    let ran = running.end();
    assert!(was_there, "{ran:?}");
    assert!(!at.join("b.db").exists(), "{:?}", names(at));
    drop(log);
    done(systole(at, &["backup", "-o", "b.db"]));
}

#[test]
fn c2_a_copy_of_a_log_in_nats_is_no_log_to_back_up() {
    let folder = tempfile::tempdir().unwrap();
    drop(sqlite::open_copy(&folder.path().join("copy.db")).unwrap());
    let ran = systole(folder.path(), &["backup", "copy.db", "-o", "b.db"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(ran.stderr.contains("kept in NATS") && ran.stderr.contains("systole copy --to FILE"), "{ran:?}");
    assert!(!folder.path().join("b.db").exists());
}
