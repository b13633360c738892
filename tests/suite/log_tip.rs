//! The end of a log: the tip next to the log shows at open that the write-ahead log is damaged or missing. Nothing is
//! changed then, and a person decides whether the log goes on without the missing records.

use std::path::{Path, PathBuf};

use rustix::process::Signal;
use systole_core::types::ports::{Commit, LogFault, LogReader as _, LogWriter as _, LostRange, Position};
use systole_log::sqlite::{self, OpenSqliteLog};

use crate::http::house;
use crate::log_records::{Author, Folder, batch, root};
use crate::organism::say;
use crate::program::{Running, ask, run_file, systole};

fn file(folder: &Folder, ending: &str) -> PathBuf {
    folder.path().join(format!("organism.db{ending}"))
}

fn span(first: u64, last: u64) -> LostRange {
    LostRange { first: Position(first), last: Position(last) }
}

/// Opens a log that goes on without these positions.
fn open_without(log: &Path, given_up: LostRange) -> Result<OpenSqliteLog, LogFault> {
    sqlite::hold_log(log, Some(given_up))?.open_held()
}

/// Commits this many batches of three records each.
fn write(opened: &mut OpenSqliteLog, author: &mut Author, batches: u64) {
    for n in 0..batches {
        let records = (0..3).map(|i| author.note(&root(n % 2 + i), 900));
        assert!(matches!(opened.writer.commit_batch(&batch(records)), Commit::Committed(_)));
    }
}

/// The files of a log as they are if its process dies now.
fn crashed(from: &Folder) -> Folder {
    let folder = Folder::new();
    for ending in ["", "-wal", ".tip", ".secret"] {
        std::fs::copy(file(from, ending), file(&folder, ending)).unwrap();
    }
    folder
}

/// A log of 60 records whose process was killed, with most records in the write-ahead log.
fn killed() -> Folder {
    let folder = Folder::new();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    write(&mut opened, &mut Author::default(), 20);
    crashed(&folder)
}

/// Opens a log that must be refused, and compares every byte of its folder before and after.
fn lost(folder: &Folder) -> (LostRange, String) {
    let before = folder.hashes();
    let fault = sqlite::open_log(&folder.log()).err().expect("the log is refused");
    let without_lock = |all: Vec<(String, _)>| -> Vec<_> {
        all.into_iter().filter(|(name, _)| !name.ends_with(".lock")).collect()
    };
    assert_eq!(without_lock(folder.hashes()), without_lock(before), "{fault}");
    match fault {
        LogFault::Lost { gone, why, .. } => (gone, why),
        other => panic!("{other}"),
    }
}

#[test]
fn c15_a_log_whose_process_died_opens_with_all_that_was_acknowledged() {
    let folder = killed();
    let opened = sqlite::open_log(&folder.log()).unwrap();
    assert_eq!(opened.reader.read_last(), Ok(Position(60)));
    assert_eq!(opened.notes, Vec::<String>::new());
}

#[test]
fn c15_a_flipped_bit_anywhere_in_the_write_ahead_log_is_noticed() {
    let whole = killed();
    let bytes = std::fs::read(file(&whole, "-wal")).unwrap();
    let header = 0..32 * 8;
    let frames = (32 * 8..bytes.len() * 8).step_by(bytes.len() * 8 / 150);
    for bit in header.chain(frames) {
        let mut rotten = bytes.clone();
        rotten[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(file(&whole, "-wal"), rotten).unwrap();
        let (gone, why) = lost(&whole);
        assert!(gone.first <= gone.last && gone.last == Position(60), "bit {bit}: {gone}");
        let named = if bit < 32 * 8 { "the header of" } else { "acknowledged records are missing" };
        assert!(why.contains(named) && why.contains("-wal"), "bit {bit}: {why}");
        if bit < 32 * 8 {
            assert!(matches!(sqlite::open_reading(&whole.log()), Err(LogFault::Lost { .. })), "bit {bit}");
            assert!(matches!(sqlite::verify_all(&whole.log()), Err(LogFault::Lost { .. })), "bit {bit}");
        }
    }
}

#[test]
fn c15_a_write_ahead_log_that_is_gone_or_cut_is_noticed() {
    let whole = killed();
    let wal = std::fs::read(file(&whole, "-wal")).unwrap();
    for length in [0, 16, 32, 100, wal.len() / 2, wal.len() - 1] {
        std::fs::write(file(&whole, "-wal"), &wal[..length]).unwrap();
        let (gone, _) = lost(&whole);
        assert_eq!(gone.last, Position(60), "cut to {length}: {gone}");
        let condition = sqlite::read_condition(&whole.log()).unwrap();
        assert!(
            matches!(condition.lost, Some(LogFault::Lost { gone: found, .. }) if found == gone),
            "{length}"
        );
    }
    std::fs::remove_file(file(&whole, "-wal")).unwrap();
    let (gone, why) = lost(&whole);
    assert_eq!(gone.last, Position(60));
    assert!(why.contains("there is no ") && why.contains(".tip says 60"), "{why}");
    // The whole log is gone.
    std::fs::remove_file(whole.log()).unwrap();
    let (gone, why) = lost(&whole);
    assert_eq!(gone, span(1, 60));
    assert!(why.contains("there is no such file"), "{why}");
}

#[test]
fn c15_a_tip_may_be_behind_and_is_never_ahead() {
    let folder = Folder::new();
    let (mut opened, mut author) = (sqlite::open_log(&folder.log()).unwrap(), Author::default());
    let mut tips = Vec::new();
    for _ in 0..4 {
        write(&mut opened, &mut author, 1);
        tips.push(std::fs::read(file(&folder, ".tip")).unwrap());
    }
    // A batch without records does not move the end.
    assert_eq!(opened.writer.commit_batch(&batch([])), Commit::Committed(Position(12)));
    assert_eq!(std::fs::read(file(&folder, ".tip")).unwrap(), tips[3]);
    for tip in &tips {
        let left = crashed(&folder);
        std::fs::write(file(&left, ".tip"), tip).unwrap();
        let opened = sqlite::open_log(&left.log()).unwrap();
        assert_eq!((opened.reader.read_last(), opened.notes.len()), (Ok(Position(12)), 0));
        drop(opened);
        // Now it is with the log: a log that is older than the tip is refused.
        std::fs::copy(file(&folder, ""), left.log()).unwrap();
        assert_eq!(lost(&left).0.last, Position(12));
    }
}

#[test]
fn c15_another_record_at_the_position_of_the_tip_is_noticed() {
    let (folder, other) = (Folder::new(), Folder::new());
    write(&mut sqlite::open_log(&folder.log()).unwrap(), &mut Author::default(), 5);
    let mut author = Author::default();
    author.note(&root(7), 1);
    write(&mut sqlite::open_log(&other.log()).unwrap(), &mut author, 6);
    std::fs::copy(other.log(), folder.log()).unwrap();
    let (gone, why) = lost(&folder);
    assert_eq!(gone, span(15, 15));
    assert!(
        why.contains("not the one that was acknowledged") && why.contains("ends at position 18"),
        "{why}"
    );
}

#[test]
fn c15_a_log_without_a_tip_is_told_of_and_has_a_new_secret() {
    for damage in ["remove", "empty", "one slot"] {
        let folder = Folder::new();
        write(&mut sqlite::open_log(&folder.log()).unwrap(), &mut Author::default(), 5);
        let secret = std::fs::read(file(&folder, ".secret")).unwrap();
        let tip = file(&folder, ".tip");
        let whole = std::fs::read(&tip).unwrap();
        match damage {
            "remove" => std::fs::remove_file(&tip).unwrap(),
            "empty" => std::fs::write(&tip, b"").unwrap(),
            _ => std::fs::write(&tip, [&[0; 64], &whole[64..]].concat()).unwrap(),
        }
        let condition = sqlite::read_condition(&folder.log()).unwrap();
        assert!(condition.tip.is_some() && condition.lost.is_none(), "{damage}: {condition:?}");
        let opened = sqlite::open_log(&folder.log()).unwrap();
        assert!(opened.notes.len() == 1 && opened.notes[0].contains(".tip"), "{damage}: {:?}", opened.notes);
        drop(opened);
        let is_new = std::fs::read(file(&folder, ".secret")).unwrap() != secret;
        assert_eq!(is_new, damage != "one slot", "{damage}");
        assert_eq!(
            sqlite::open_log(&folder.log()).unwrap().notes,
            Vec::<String>::new(),
            "{damage}: it was made"
        );
        assert_eq!(sqlite::read_condition(&folder.log()).unwrap().tip, None);
    }
}

#[test]
fn c15_exactly_what_is_missing_can_be_given_up() {
    let folder = killed();
    let wal = std::fs::read(file(&folder, "-wal")).unwrap();
    let mut rotten = wal.clone();
    rotten[wal.len() / 2] ^= 1;
    std::fs::write(file(&folder, "-wal"), &rotten).unwrap();
    let (gone, _) = lost(&folder);
    assert!(gone.first > Position(1) && gone.last == Position(60), "{gone}");
    for wrong in [span(1, 60), span(gone.first.0, 59), span(gone.first.0 + 1, 60)] {
        let fault = open_without(&folder.log(), wrong).err();
        assert!(matches!(fault, Some(LogFault::Lost { gone: told, .. }) if told == gone), "{fault:?}");
    }
    let secret = std::fs::read(file(&folder, ".secret")).unwrap();
    drop(open_without(&folder.log(), gone).unwrap());
    // Nothing was recorded yet, so the tip still names the missing records.
    assert_eq!(lost(&folder).0, gone);
    let mut opened = open_without(&folder.log(), gone).unwrap();
    assert_ne!(std::fs::read(file(&folder, ".secret")).unwrap(), secret);
    assert_eq!(std::fs::read(file(&folder, "-wal.lost-1")).unwrap(), rotten, "what was in it is kept");
    let note = Author::default().note(&root(9), 10);
    assert_eq!(opened.writer.commit_batch(&batch([note])), Commit::Committed(gone.first));
    drop(opened);
    let opened = sqlite::open_log(&folder.log()).unwrap();
    assert_eq!((opened.reader.read_last(), opened.notes.len()), (Ok(gone.first), 0));
    drop(opened);
    let pointless = open_without(&folder.log(), gone).err();
    assert!(matches!(pointless, Some(LogFault::NothingLost { .. })), "{pointless:?}");
}

#[test]
fn c15_a_write_ahead_log_with_a_corrupt_header_is_set_aside() {
    let folder = killed();
    let mut rotten = std::fs::read(file(&folder, "-wal")).unwrap();
    rotten[6] ^= 8;
    std::fs::write(file(&folder, "-wal"), &rotten).unwrap();
    let (gone, _) = lost(&folder);
    let opened = open_without(&folder.log(), gone).unwrap();
    assert_eq!(opened.reader.read_last(), Ok(Position(gone.first.0 - 1)));
    assert_eq!(std::fs::read(file(&folder, "-wal.lost-1")).unwrap(), rotten);
}

#[test]
fn c15_an_older_log_gets_its_tip_when_it_is_converted() {
    let folder = Folder::new();
    std::fs::copy(crate::log_records::fixture(2), folder.log()).unwrap();
    std::fs::write(file(&folder, ".secret"), [7; 32]).unwrap();
    assert_eq!(sqlite::read_condition(&folder.log()).unwrap().tip, None);
    let opened = sqlite::open_log(&folder.log()).unwrap();
    assert_eq!((opened.notes.len(), opened.secret.0), (1, [7; 32]));
    assert!(opened.notes[0].contains("converted from format 2 to format 8"), "{:?}", opened.notes);
    assert!(file(&folder, ".tip").exists());
}

#[test]
fn c15_how_a_log_was_left_is_reported() {
    let folder = Folder::new();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    write(&mut opened, &mut Author::default(), 2);
    let unclosed = |folder: &Folder| sqlite::read_condition(&folder.log()).unwrap().unclosed;
    assert_eq!(unclosed(&folder), None, "it is open");
    let left = crashed(&folder);
    assert!(unclosed(&left).unwrap().contains("was killed"));
    // Only the database file, as a hasty backup has it.
    let copy = Folder::new();
    std::fs::copy(folder.log(), copy.log()).unwrap();
    assert!(unclosed(&copy).unwrap().contains("looks like a copy"));
    let doctor = systole(copy.path(), &["doctor", "--log", "organism.db"]);
    let verified = systole(copy.path(), &["verify", "--log", "organism.db"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(
        flat(&verified.stdout).contains("not checked: whether the last records are there"),
        "{verified:?}"
    );
    let said = flat(&doctor.stdout);
    assert!(said.contains("looks like a copy") && said.contains("there is no "), "{said}");
    drop(opened);
    assert_eq!(unclosed(&folder), None, "it was closed");
}

/// A house with an organism that accepted this many messages and was killed.
fn killed_house(messages: usize) -> tempfile::TempDir {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    for n in 0..messages {
        let key = format!("k{n}");
        let taken = ask(&run, "POST", "/v1/messages", &[("Idempotency-Key", &key)], &say("hello"));
        assert_eq!(taken.status, 202, "{taken:?}");
    }
    organism.signal(Signal::KILL);
    organism.end();
    folder
}

/// A text without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The positions that a refusal names for `--accept-loss`.
fn named(stderr: &str) -> String {
    let (_, after) = stderr.split_once("--accept-loss ").unwrap_or_else(|| panic!("{stderr}"));
    after.split([',', ' ']).next().unwrap().to_owned()
}

#[test]
fn c15_run_refuses_a_log_that_lost_its_end_and_goes_on_when_told_to() {
    let folder = killed_house(5);
    let path = folder.path();
    let unclosed = systole(path, &["doctor"]);
    assert!(unclosed.code == Some(0) && unclosed.stdout.contains("was not closed cleanly"), "{unclosed:?}");
    std::fs::remove_file(path.join("hello.db-wal")).unwrap();
    let refused = systole(path, &["run"]);
    assert_eq!(refused.code, Some(7), "{refused:?}");
    let gone = named(&refused.stderr);
    let doctor = systole(path, &["doctor"]);
    assert!(
        doctor.code == Some(7) && flat(&doctor.stdout).contains(&format!("--accept-loss {gone}")),
        "{doctor:?}"
    );
    let verified = systole(path, &["verify"]);
    assert_eq!(verified.code, Some(7), "{verified:?}");
    assert!(verified.stdout.contains(&format!("verdict: damaged: it lost #{gone}")), "{verified:?}");
    assert_eq!(named(&verified.stderr), gone, "{verified:?}");
    let looking = systole(path, &["ps"]);
    assert!(looking.code == Some(0) && looking.stderr.contains("missing"), "{looking:?}");
    let wrong = systole(path, &["run", "--accept-loss", "1..2000"]);
    assert_eq!((wrong.code, named(&wrong.stderr)), (Some(7), gone.clone()));
    for typed in ["3", "0..2", "5..4", "a..b"] {
        assert_eq!(systole(path, &["run", "--accept-loss", typed]).code, Some(2), "{typed}");
    }
    let organism = Running::organism_set(path, &["--accept-loss", &gone], &[]);
    let taken = ask(&run_file(path), "POST", "/v1/messages", &[], &say("again"));
    assert_eq!(taken.status, 202, "{taken:?}");
    assert_eq!(organism.interrupt().code, Some(130));
    let (first, last) = gone.split_once("..").unwrap();
    let reader = sqlite::open_reading(&path.join("hello.db")).unwrap();
    let words = format!(
        "<loss-accepted xmlns=\"https://xml-pipeline.org/ns/core/v1\" first=\"{first}\" last=\"{last}\"/>"
    );
    let told = |body: &[u8]| String::from_utf8_lossy(body).contains(&words);
    let found = reader.read_after(Position(0), 1_000).unwrap();
    let found = found.iter().find(|(_, record)| told(&record.body)).expect("sys says what was given up");
    assert!(found.1.header.thread.is_sys() && found.0 == Position(first.parse().unwrap()), "{found:?}");
    assert!(sqlite::verify_all(&path.join("hello.db")).is_ok());
    // The log is complete now, and there is nothing to give up.
    assert_eq!(Running::organism(path).interrupt().code, Some(130));
    let pointless = systole(path, &["run", "--accept-loss", &gone]);
    assert!(pointless.code == Some(2) && pointless.stderr.contains("lacks no position"), "{pointless:?}");
}

#[test]
fn c15_a_corrupt_header_of_the_write_ahead_log_is_damage_and_no_matter_of_rights() {
    let folder = killed_house(2);
    let wal = folder.path().join("hello.db-wal");
    let mut bytes = std::fs::read(&wal).unwrap();
    bytes[17] ^= 1;
    std::fs::write(&wal, bytes).unwrap();
    for command in ["run", "doctor", "ps", "verify"] {
        let ran = systole(folder.path(), &[command]);
        let said = flat(&[ran.stdout, ran.stderr].concat());
        assert_eq!(ran.code, Some(7), "{command}: {said}");
        assert!(said.contains("the header of") && said.contains("--accept-loss"), "{command}: {said}");
        assert!(!said.contains("locking protocol"), "{command}: {said}");
    }
}

#[test]
fn c15_a_restored_backup_is_refused_until_what_came_later_is_given_up() {
    let folder = house();
    let path: &Path = folder.path();
    let log = path.join("hello.db");
    Running::organism(path).interrupt();
    let backup = std::fs::read(&log).unwrap();
    Running::organism(path).interrupt();
    std::fs::write(&log, backup).unwrap();
    let secret = std::fs::read(path.join("hello.db.secret")).unwrap();
    let refused = systole(path, &["run"]);
    assert_eq!(refused.code, Some(7), "{refused:?}");
    let gone = named(&refused.stderr);
    assert_eq!(Running::organism_set(path, &["--accept-loss", &gone], &[]).interrupt().code, Some(130));
    assert_ne!(std::fs::read(path.join("hello.db.secret")).unwrap(), secret);
    // The same without a tip, as after a move to another folder.
    std::fs::remove_file(path.join("hello.db.tip")).unwrap();
    let ran = Running::organism(path).interrupt();
    assert!(ran.stderr.contains("note: ") && ran.stderr.contains("hello.db.tip was not there"), "{ran:?}");
}
