//! A log that another program deletes or replaces while it is open: nothing is acknowledged any more, and nothing is
//! written over what is there now.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};
use systole_core::types::ports::{Commit, LogFault, LogReader as _, LogWriter as _, LostRange, Position};
use systole_log::sqlite::{self, OpenSqliteLog};

use crate::http::house;
use crate::log_records::{Author, Folder, batch, edit_at, root};
use crate::organism::say;
use crate::program::{Running, ask, run_file, systole};

fn file(folder: &Folder, ending: &str) -> PathBuf {
    folder.path().join(format!("organism.db{ending}"))
}

/// Commits this many records, one by one.
fn write(opened: &mut OpenSqliteLog, author: &mut Author, records: u64) {
    for n in 0..records {
        let committed = opened.writer.commit_batch(&batch([author.note(&root(n % 2), 900)]));
        assert!(matches!(committed, Commit::Committed(_)), "{committed:?}");
    }
}

/// The words with which a commit is refused, and with which every later look answers.
fn refused(opened: &mut OpenSqliteLog, author: &mut Author) -> String {
    let committed = opened.writer.commit_batch(&batch([author.note(&root(1), 900)]));
    let Commit::Conflict(words) = committed else { panic!("{committed:?}") };
    assert_eq!(opened.writer.take_displacement(), Some(words.clone()));
    words
}

/// A log of nine records that are acknowledged, and a backup of the first five.
fn with_backup() -> (Folder, OpenSqliteLog, Author, PathBuf) {
    let folder = Folder::new();
    let (mut opened, mut author) = (sqlite::open_log(&folder.log()).unwrap(), Author::default());
    write(&mut opened, &mut author, 5);
    let backup = folder.path().join("backup.db");
    assert_eq!(sqlite::back_up(&folder.log(), &backup).unwrap().name_draft(), Ok(true));
    write(&mut opened, &mut author, 4);
    (folder, opened, author, backup)
}

#[test]
fn c15_nothing_is_acknowledged_once_the_log_is_gone() {
    let (folder, mut opened, mut author, _) = with_backup();
    let aside = folder.path().join("aside.db");
    fs::rename(folder.log(), &aside).unwrap();
    let words = refused(&mut opened, &mut author);
    assert!(words.contains("organism.db is gone"), "{words}");
    drop(opened);
    fs::rename(&aside, folder.log()).unwrap();
    // The batch that was refused may be there, and all that was acknowledged is.
    let opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(opened.reader.read_last().unwrap() >= Position(9));
    drop(opened);
    assert!(sqlite::verify_all(&folder.log()).is_ok());
}

#[test]
fn c15_a_backup_in_the_place_of_an_open_log_is_noticed_and_left_as_it_is() {
    let copied_over: fn(&Path, &Path) = |from, to| fs::write(to, fs::read(from).unwrap()).unwrap();
    // As `cp` alone makes it, while the log is open: it has the number of this opening, and fewer records.
    let (folder, mut opened, mut author, _) = with_backup();
    edit_at(&folder.log(), "PRAGMA wal_checkpoint(TRUNCATE)");
    let bare = fs::read(folder.log()).unwrap();
    write(&mut opened, &mut author, 1);
    edit_at(&folder.log(), "PRAGMA wal_checkpoint(TRUNCATE)");
    write(&mut opened, &mut author, 1);
    fs::write(folder.log(), &bare).unwrap();
    assert!(refused(&mut opened, &mut author).contains("was replaced"));
    drop(opened);
    assert!(fs::read(folder.log()).unwrap() == bare);
    let renamed: fn(&Path, &Path) = |from, to| fs::rename(from, to).unwrap();
    for replace in [copied_over, renamed] {
        let (folder, mut opened, mut author, backup) = with_backup();
        let bytes = fs::read(&backup).unwrap();
        replace(&backup, &folder.log());
        let words = refused(&mut opened, &mut author);
        assert!(words.contains("was replaced while it was in use"), "{words}");
        drop(opened);
        assert_eq!(fs::read(folder.log()).unwrap(), bytes, "the backup");
        assert!(file(&folder, "-wal.lost-1").exists() && !file(&folder, "-wal").exists());
        match sqlite::open_log(&folder.log()).err() {
            Some(LogFault::Lost { gone, .. }) => {
                assert_eq!(gone, LostRange { first: Position(6), last: Position(9) });
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn c15_a_backup_is_noticed_although_another_program_read_the_log_when_it_was_opened() {
    let (folder, mut opened, mut author, _) = with_backup();
    let backup = folder.path().join("closed.db");
    drop(opened);
    assert_eq!(sqlite::back_up(&folder.log(), &backup).unwrap().name_draft(), Ok(true));
    // Its transaction keeps the mark of the next opening from the file.
    let reader = rusqlite::Connection::open(folder.log()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM record").unwrap();
    opened = sqlite::open_log(&folder.log()).unwrap();
    write(&mut opened, &mut author, 1);
    fs::write(folder.log(), fs::read(&backup).unwrap()).unwrap();
    let words = refused(&mut opened, &mut author);
    assert!(words.contains("was replaced while it was in use"), "{words}");
}

#[test]
fn c15_a_log_that_cannot_be_read_for_a_while_is_not_displaced() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let sends =
        |key: &str| ask(&run, "POST", "/v1/messages", &[("Idempotency-Key", key)], &say("hello")).status;
    assert_eq!(sends("k1"), 202);
    // No file can be opened any more, and the log looks as if it had changed.
    let pid = Pid::from_raw(i32::try_from(organism.pid()).unwrap());
    let few = Rlimit { current: Some(1), ..getrlimit(Resource::Nofile) };
    let before = prlimit(pid, Resource::Nofile, few).unwrap();
    let log = fs::File::options().append(true).open(folder.path().join("hello.db")).unwrap();
    log.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(Command::new("sleep").arg("3").status().unwrap().success());
    prlimit(pid, Resource::Nofile, before).unwrap();
    assert_eq!(sends("k2"), 202);
    assert!(!folder.path().join("hello.db-wal.lost-1").exists());
    organism.signal(Signal::TERM);
    assert_eq!(organism.end().code, Some(0));
    assert_eq!(systole(folder.path(), &["verify"]).code, Some(0));
}

#[test]
fn c15_a_log_that_is_gone_is_no_log_that_never_was() {
    let folder = house();
    assert_eq!(systole(folder.path(), &["doctor"]).code, Some(0), "nothing has run here yet");
    let organism = Running::organism(folder.path());
    organism.signal(Signal::TERM);
    assert_eq!(organism.end().code, Some(0));
    fs::remove_file(folder.path().join("hello.db")).unwrap();
    for command in ["run", "doctor", "verify", "ps"] {
        let ran = systole(folder.path(), &[command]);
        assert!(ran.code == Some(7) && !ran.stdout.contains("nothing has run"), "{command}: {ran:?}");
    }
}

#[test]
fn c15_a_log_without_its_write_ahead_log_is_completed() {
    let (folder, mut opened, mut author, _) = with_backup();
    fs::remove_file(file(&folder, "-wal")).unwrap();
    let words = refused(&mut opened, &mut author);
    assert!(words.contains("organism.db-wal was deleted"), "{words}");
    drop(opened);
    let opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(
        opened.reader.read_last().unwrap() >= Position(9) && opened.notes.is_empty(),
        "{:?}",
        opened.notes
    );
}

#[test]
fn c15_checkpoints_and_readers_do_not_displace_a_log() {
    let (folder, mut opened, mut author, _) = with_backup();
    edit_at(&folder.log(), "PRAGMA wal_checkpoint(TRUNCATE)");
    write(&mut opened, &mut author, 1);
    assert!(sqlite::verify_all(&folder.log()).is_ok());
    fs::hard_link(folder.log(), folder.path().join("link.db")).unwrap();
    write(&mut opened, &mut author, 1);
    assert_eq!(opened.writer.take_displacement(), None);
}

/// A reader keeps a checkpoint from copying all, so that the pages in the file are of several moments.
#[test]
fn c15_a_checkpoint_that_a_reader_cuts_short_does_not_displace_a_log() {
    let (folder, mut opened, mut author, _) = with_backup();
    let mut is_mixed = false;
    for round in 0..60 {
        let reader = rusqlite::Connection::open(folder.log()).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM record").unwrap();
        // Of many threads, so that pages of indexes are split.
        for n in 0..12 {
            let note = author.note(&root((round * 12 + n) * 7_919 % 1_000), 900);
            let committed = opened.writer.commit_batch(&batch([note]));
            assert!(matches!(committed, Commit::Committed(_)), "{committed:?}");
        }
        let other = rusqlite::Connection::open(folder.log()).unwrap();
        let (all, copied): (i64, i64) = other
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(1)?, row.get(2)?)))
            .unwrap();
        assert!(0 < copied && copied < all, "{copied} of {all}");
        let alone = format!("file:{}?immutable=1", folder.log().display());
        let alone = rusqlite::Connection::open(alone).unwrap();
        let read = alone.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
        is_mixed |= read.is_err() || read.is_ok_and(|said| said != "ok");
        write(&mut opened, &mut author, 1);
        assert_eq!(opened.writer.take_displacement(), None);
        write(&mut opened, &mut author, 1);
    }
    assert!(is_mixed, "the file alone was never as a checkpoint leaves it halfway");
    drop(opened);
    assert!(!file(&folder, "-wal.lost-1").exists());
    assert!(sqlite::verify_all(&folder.log()).is_ok());
}

#[test]
fn c15_a_second_writer_ends_the_first_and_nothing_is_damaged() {
    for writes in [0, 2] {
        let (folder, mut first, mut author, _) = with_backup();
        fs::remove_file(file(&folder, ".lock")).unwrap();
        let (mut second, mut its_author) = (sqlite::open_log(&folder.log()).unwrap(), author.clone());
        write(&mut second, &mut its_author, writes);
        let words = refused(&mut first, &mut author);
        assert!(words.contains("another process writes"), "{words}");
        drop(first);
        assert!(file(&folder, "-wal").exists());
        if writes > 0 {
            write(&mut second, &mut its_author, 1);
        }
        drop(second);
        assert!(sqlite::verify_all(&folder.log()).is_ok());
    }
}

#[test]
fn c15_an_organism_without_its_log_takes_nothing_more_and_ends_with_5() {
    let folder = house();
    let path = folder.path();
    let mut organism = Running::organism(path);
    let run = run_file(path);
    let taken = ask(&run, "POST", "/v1/messages", &[("Idempotency-Key", "k1")], &say("hello"));
    assert_eq!(taken.status, 202, "{taken:?}");
    for ending in ["", "-wal", "-shm", ".tip"] {
        fs::remove_file(path.join(format!("hello.db{ending}"))).unwrap();
    }
    organism.says("hello.db is gone");
    let ran = organism.end();
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("restore a backup"), "{ran:?}");
    // A log that a second organism writes is sound, and so is that end.
    let first = Running::organism(path);
    fs::remove_file(path.join("hello.db.lock")).unwrap();
    let second = Running::organism(path);
    let ran = first.end();
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("another process writes"), "{ran:?}");
    assert_eq!(run_file(path).pid, second.pid(), "the run file is that of the second one");
    assert_eq!(second.interrupt().code, Some(130));
    assert_eq!(systole(path, &["verify"]).code, Some(0));
}
