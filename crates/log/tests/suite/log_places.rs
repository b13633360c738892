//! The entries of records in the file's own tables, written in runs: what is refused and what is read must not depend
//! on whether a record has its entries yet.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::{Commit, LogBatch, LogFault, LogReader, LogWriter, Position, ReadBack};
use systole_core::types::record::Record;
use systole_log::sqlite::{self, SqliteReader};

use crate::log_records::{Author, Folder, batch, edit_at, key, placed_at, root, salt_of};
use crate::seeded_dice::SeededDice;

/// More records than wait for a run.
const MANY: u64 = 5_000;

fn number(log: &Path, sql: &str) -> i64 {
    Connection::open(log).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The files of a log as they would be if the machine died now.
fn crashed(folder: &Folder) -> (Folder, PathBuf) {
    let copy = Folder::new();
    for ending in ["", "-wal", ".tip", ".secret"] {
        let name = format!("organism.db{ending}");
        std::fs::copy(folder.path().join(&name), copy.path().join(&name)).unwrap();
    }
    let log = copy.log();
    (copy, log)
}

/// An author whose records are items with keys, so that each rule of the log holds for each of them.
fn item(author: &mut Author, thread: &ThreadId, call: u32, turn: u32, ordinal: u32) -> Record {
    author.record(thread, b"<a/>", |header| {
        header.call = Some(CallPath::new_top(call));
        (header.turn, header.ordinal) = (Some(turn), Some(ordinal));
        header.key = Some(key(&format!("{call}-{turn}-{ordinal}")));
    })
}

/// Records that break one rule each, and nothing else.
fn breaches(author: &Author, thread: &ThreadId) -> [(Record, &'static str); 3] {
    let fresh = |change: &dyn Fn(&mut systole_core::types::record::Header)| {
        author.clone().record(thread, b"", |header| change(header))
    };
    [
        (
            fresh(&|header| {
                header.call = Some(CallPath::new_top(1));
                (header.turn, header.ordinal) = (Some(1), Some(0));
            }),
            "item 0 of turn 1 of call 1 is already recorded",
        ),
        (fresh(&|header| header.key = Some(key("1-1-0"))), "key 1-1-0 of researcher is already recorded"),
        (fresh(&|header| header.seq = 1), "record 1 does not follow record "),
    ]
}

fn refused(writer: &mut impl LogWriter, author: &Author, when: &str) {
    for (record, why) in breaches(author, &root(1)) {
        match writer.commit_batch(&batch([record])) {
            Commit::Conflict(words) => assert!(words.contains(why), "{when}: {words}"),
            other => panic!("{when}: {why}: {other:?}"),
        }
    }
}

/// A record that is only alike: another thread, call, turn or ordinal.
fn taken(writer: &mut impl LogWriter, author: &mut Author, when: &str) {
    for (thread, call, turn, ordinal) in [(99, 1, 1, 0), (1, 2, 1, 0), (1, 1, 2, 0)] {
        let alike = item(author, &root(thread), call, turn, ordinal);
        assert!(
            matches!(writer.commit_batch(&batch([alike])), Commit::Committed(_)),
            "{when}: {thread} {call} {turn}"
        );
    }
}

fn placed(log: &Path) -> i64 {
    number(log, "SELECT pos FROM placed")
}

#[test]
fn c13_what_is_recorded_is_refused_a_second_time_wherever_its_entry_is() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let first = item(&mut author, &root(1), 1, 1, 0);
    assert_eq!(opened.writer.commit_batch(&batch([first])), Commit::Committed(Position(1)));
    refused(&mut opened.writer, &author, "before its run");
    {
        let (_copy, log) = crashed(&folder);
        let mut opened = sqlite::open_log(&log).unwrap();
        assert_eq!(placed(&log), 0, "it has no entry");
        refused(&mut opened.writer, &author, "after a crash before its run");
    }
    let many = (0..MANY).map(|n| author.note(&root(2 + n % 50), 20)).collect::<Vec<_>>();
    assert!(matches!(opened.writer.commit_batch(&batch(many)), Commit::Committed(_)));
    assert_eq!(placed(&folder.log()), 5_001, "all have their entries");
    refused(&mut opened.writer, &author, "after its run");
    taken(&mut opened.writer, &mut author, "after its run");
    let more = item(&mut author, &root(1), 1, 1, 1);
    assert!(matches!(opened.writer.commit_batch(&batch([more])), Commit::Committed(_)));
    refused(&mut opened.writer, &author, "with a later record that has no entry");
    {
        let (_copy, log) = crashed(&folder);
        let mut opened = sqlite::open_log(&log).unwrap();
        refused(&mut opened.writer, &author, "after a crash after its run");
        let next = item(&mut author.clone(), &root(1), 1, 1, 2);
        assert_eq!(opened.writer.commit_batch(&batch([next])), Commit::Committed(Position(5_006)));
    }
    // A batch that may be stored or not makes the writer forget everything.
    let next = batch([item(&mut author, &root(1), 1, 1, 2)]);
    assert!(matches!(opened.writer.read_back(&next), ReadBack::Absent));
    assert_eq!(opened.writer.commit_batch(&next), Commit::Committed(Position(5_006)));
    refused(&mut opened.writer, &author, "after reading back");
    drop(opened);
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert_eq!(placed(&folder.log()), 5_006, "closing wrote all entries");
    refused(&mut opened.writer, &author, "after a normal end");
    drop(opened);
    assert_eq!(sqlite::verify_all(&folder.log()).unwrap().records, 5_006);
}

/// Compares what a reader finds of some threads with what was written.
fn compare(reader: &SqliteReader, wrote: &[Record], dice: &mut SeededDice, when: &str) {
    for _ in 0..6 {
        let thread = root(1 + dice.below(40));
        let its: Vec<_> =
            wrote.iter().enumerate().filter(|(_, record)| record.header.thread == thread).collect();
        let seq = 1 + dice.below(its.len() as u64 + 1);
        let limit = 1 + usize::try_from(dice.below(200)).unwrap();
        let wanted: Vec<_> = its
            .iter()
            .filter(|(_, record)| record.header.seq >= seq)
            .take(limit)
            .map(|(at, record)| (Position(*at as u64 + 1), Record::clone(record)))
            .collect();
        assert_eq!(reader.of_thread(&thread, seq, limit).unwrap(), wanted, "{when}: {thread} from {seq}");
        let Some((at, record)) = its.get(usize::try_from(seq - 1).unwrap()) else { continue };
        let keyed = reader.by_key(&thread, &record.header.from, record.header.key.as_ref().unwrap());
        assert_eq!(keyed.unwrap().map(|(position, _)| position.0), Some(*at as u64 + 1), "{when}");
        let from = dice.below(wrote.len() as u64);
        let after = reader.read_after(Position(from), limit).unwrap();
        assert!(
            after
                .iter()
                .map(|(_, record)| record)
                .eq(wrote.iter().skip(usize::try_from(from).unwrap()).take(limit))
        );
    }
}

#[test]
fn a_thread_is_read_whole_wherever_its_entries_are() {
    let (folder, mut author, dice) = (Folder::new(), Author::default(), &mut SeededDice::new(21));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let beside = sqlite::open_reading(&folder.log()).unwrap();
    let mut wrote = Vec::new();
    for round in 0..120 {
        // Threads of very different lengths, and a few that are silent for long.
        let records = (0..1 + dice.below(250)).map(|n| {
            let (one, other) = (1 + dice.below(40), 1 + dice.below(40));
            let turn = u32::try_from(round).unwrap();
            item(&mut author, &root(one.min(other)), 1, turn, u32::try_from(n).unwrap())
        });
        let records: Vec<_> = records.collect();
        wrote.extend(records.iter().cloned());
        let checkpoint = (dice.below(8) == 0).then_some(Position(wrote.len() as u64));
        let rows = LogBatch { checkpoint, ..batch(records) };
        assert_eq!(opened.writer.commit_batch(&rows), Commit::Committed(Position(wrote.len() as u64)));
        compare(&opened.reader, &wrote, dice, "in the process");
        compare(&beside, &wrote, dice, "beside the process");
        if round % 10 == 9 {
            let (_copy, log) = crashed(&folder);
            compare(&sqlite::open_reading(&log).unwrap(), &wrote, dice, "after a crash");
            assert_eq!(sqlite::verify_all(&log).unwrap().records, wrote.len() as u64);
            compare(&sqlite::open_log(&log).unwrap().reader, &wrote, dice, "by the next organism");
        }
    }
    assert!(wrote.len() > 12_000, "several runs");
    drop(opened);
    compare(&beside, &wrote, dice, "after the end");
    assert_eq!(placed(&folder.log()), i64::try_from(wrote.len()).unwrap());
    assert_eq!(number(&folder.log(), "SELECT count(*) FROM item"), i64::try_from(wrote.len()).unwrap());
}

#[test]
fn more_threads_than_are_remembered_are_written_on_before_and_after_a_run() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    for round in 0..2 {
        for part in 0..10 {
            let records: Vec<_> = (0..3_500).map(|n| author.note(&root(1 + part * 3_500 + n), 8)).collect();
            assert!(
                matches!(opened.writer.commit_batch(&batch(records)), Commit::Committed(_)),
                "{round} {part}"
            );
        }
    }
    // What is dropped after its run is not written.
    let many: Vec<_> = (0..MANY).map(|n| author.clone().note(&root(50_000 + n), 8)).collect();
    assert!(opened.writer.prepare_batch(&batch(many)).is_ok());
    opened.writer.drop_prepared();
    let next = author.note(&root(7), 8);
    assert_eq!(opened.writer.commit_batch(&batch([next])), Commit::Committed(Position(70_001)));
    drop(opened);
    assert_eq!(sqlite::verify_all(&folder.log()).unwrap().records, 70_001);
}

#[test]
fn readers_see_whole_threads_while_runs_are_written() {
    let folder = Folder::new();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let (reader, ended) = (opened.reader.clone(), std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|scope| {
        for n in 1..=6_u64 {
            let (reader, ended) = (reader.clone(), &ended);
            scope.spawn(move || {
                let mut seen = 0;
                while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                    let all = reader.of_thread(&root(n), 1, 100_000).unwrap();
                    assert!(all.iter().zip(1..).all(|((_, record), seq)| record.header.seq == seq));
                    assert!(all.len() >= seen, "{} after {seen}", all.len());
                    seen = all.len();
                    let from = seen.saturating_sub(3) as u64;
                    reader.read_after(Position(from * 6), 50).unwrap();
                }
            });
        }
        let mut author = Author::default();
        for _ in 0..60 {
            let records: Vec<_> = (0..300).map(|n| author.note(&root(1 + n % 6), 8)).collect();
            assert!(matches!(opened.writer.commit_batch(&batch(records)), Commit::Committed(_)));
        }
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// A closed log of 300 records, its entries complete.
fn closed() -> (Folder, Vec<Record>) {
    let (folder, mut author) = (Folder::new(), Author::default());
    let wrote: Vec<_> =
        (0..300).map(|n| item(&mut author, &root(1 + n % 7), 1, 1, u32::try_from(n).unwrap())).collect();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(matches!(opened.writer.commit_batch(&batch(wrote.clone())), Commit::Committed(_)));
    drop(opened);
    (folder, wrote)
}

#[test]
fn a_log_that_does_not_know_how_far_its_entries_go_is_read_whole_and_healed() {
    for sql in [
        "UPDATE placed SET pos = pos + 64",
        "UPDATE placed SET sum = sum - 1",
        "DELETE FROM placed; DELETE FROM place",
    ] {
        let (folder, wrote) = closed();
        edit_at(&folder.log(), sql);
        let dice = &mut SeededDice::new(3);
        compare(&sqlite::open_reading(&folder.log()).unwrap(), &wrote, dice, sql);
        let words = sqlite::verify_all(&folder.log()).unwrap_err().to_string();
        assert!(words.contains("the table placed does not fit its checksum"), "{sql}: {words}");
        let opened = sqlite::open_log(&folder.log()).unwrap();
        assert!(opened.notes[0].contains("all entries were made again"), "{sql}: {:?}", opened.notes);
        compare(&opened.reader, &wrote, dice, sql);
        drop(opened);
        assert_eq!(sqlite::verify_all(&folder.log()).unwrap().records, 300, "{sql}");
        assert_eq!(sqlite::open_log(&folder.log()).unwrap().notes, [""; 0], "once is enough");
    }
}

#[test]
fn a_log_that_was_cut_back_behind_its_entries_gets_them_again() {
    let (folder, mut wrote) = closed();
    edit_at(&folder.log(), "DELETE FROM record WHERE pos > 200");
    // With its tip it would be refused.
    std::fs::remove_file(folder.path().join("organism.db.tip")).unwrap();
    wrote.truncate(200);
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(
        opened.notes.iter().any(|note| note.contains("all entries were made again")),
        "{:?}",
        opened.notes
    );
    let mut author = Author::default();
    wrote.extend((0..50).map(|n| item(&mut author, &root(30), 1, 1, n)));
    assert!(matches!(
        opened.writer.commit_batch(&batch(wrote[200..].to_vec())),
        Commit::Committed(Position(250))
    ));
    compare(&opened.reader, &wrote, &mut SeededDice::new(4), "cut and written on");
}

#[test]
fn a_log_as_claimed_shows_what_comes_after_lost_records() {
    let folder = Folder::new();
    let mut author = Author::default();
    let wrote: Vec<Record> = (0..300).map(|_| author.note(&root(1), 10)).collect();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(matches!(opened.writer.commit_batch(&batch(wrote)), Commit::Committed(Position(300))));
    drop(opened);
    // One in the middle of a page, the last of one, and a page of them.
    edit_at(&folder.log(), "DELETE FROM record WHERE pos IN (10, 64) OR pos BETWEEN 129 AND 260");
    let claimed = sqlite::open_reading(&folder.log()).unwrap().as_claimed();
    let left: Vec<u64> = (1..=300).filter(|n| ![10, 64].contains(n) && !(129..=260).contains(n)).collect();
    let (log, thread): (&dyn LogReader, ThreadId) = (&claimed, root(1));
    let shown = log.records_of(&thread, 1);
    assert_eq!(shown.map(|placed| placed.unwrap().0.0).collect::<Vec<u64>>(), left);
    assert_eq!(claimed.of_thread(&root(1), 60, 10).unwrap().len(), 10);
}

#[test]
fn an_entry_that_is_gone_or_wrong_is_found() {
    for (sql, why) in [
        ("DELETE FROM place WHERE pos = 7", "the table place does not have each record once"),
        ("UPDATE place SET pos = 8 WHERE pos = 1", "the table place does not have each record once"),
        ("INSERT INTO place VALUES (1, 1000, 1)", "the table place does not have each record once"),
        ("DELETE FROM item WHERE ordinal = 7", "the table item does not have each item once"),
        ("UPDATE item SET turn = 9 WHERE ordinal = 7", "the table item does not have each item once"),
    ] {
        let (folder, _) = closed();
        edit_at(&folder.log(), sql);
        match sqlite::verify_all(&folder.log()) {
            Err(LogFault::Damaged { why: found, .. }) => assert!(found.contains(why), "{sql}: {found}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
    // An entry that leads to a record of another thread is no way to that record.
    let (folder, _) = closed();
    edit_at(&folder.log(), "UPDATE place SET pos = 2 WHERE pos = 1");
    let read = sqlite::open_reading(&folder.log()).unwrap().of_thread(&root(1), 1, 9);
    assert!(matches!(read, Err(LogFault::Damaged { position: Position(2), .. })), "{read:?}");
}

#[test]
fn an_item_that_another_program_repeats_is_found_before_anything_is_written() {
    let (folder, _) = closed();
    // Its chain fits: only the table of items shows that it is there twice.
    let log = sqlite::open_reading(&folder.log()).unwrap();
    let mut author = Author::default();
    let wrote: Vec<_> =
        (0..300_u32).map(|n| item(&mut author, &root(1 + u64::from(n % 7)), 1, 1, n)).collect();
    assert_eq!(log.read_after(Position(299), 1).unwrap()[0].1, wrote[299]);
    let again = author.record(&root(1), b"<a/>", |header| {
        header.call = Some(CallPath::new_top(1));
        (header.turn, header.ordinal) = (Some(1), Some(7));
    });
    let connection = Connection::open(folder.log()).unwrap();
    let sql = "INSERT INTO record SELECT 301, thread, ?1, ?2, kind, sender, addressee, call, turn, ordinal, cause, \
               NULL, origin, ?3, config, code, ?4, ?5, body FROM record WHERE ordinal = 7";
    let (seq, time) = (again.header.seq.cast_signed(), again.header.time.0.cast_signed());
    connection
        .execute(sql, rusqlite::params![seq, again.header.id.0, time, salt_of(&again), again.head.0])
        .unwrap();
    connection.close().unwrap();
    assert_eq!(log.read_after(Position(300), 1).unwrap()[0].1, again, "it is a good record");
    let faults = [sqlite::verify_all(&folder.log()).map(drop), sqlite::open_log(&folder.log()).map(drop)];
    for fault in faults {
        let Err(LogFault::Damaged { position, why, .. }) = fault else { panic!("{fault:?}") };
        assert_eq!((position, why.as_str()), (Position(301), "its item is recorded before it"));
    }
    // Nothing but the record can be wrong, so making the entries again does not hide it.
    edit_at(&folder.log(), "DELETE FROM placed");
    assert!(matches!(sqlite::open_log(&folder.log()), Err(LogFault::Damaged { .. })));
}

#[test]
fn a_log_with_holes_is_read_as_it_is_claimed() {
    let (folder, wrote) = closed();
    edit_at(&folder.log(), "DELETE FROM record WHERE pos = 8");
    let reader = sqlite::open_reading(&folder.log()).unwrap();
    let claimed = reader.as_claimed().of_thread(&root(1), 1, 9).unwrap();
    assert_eq!(
        claimed.iter().map(|(position, _)| position.0).collect::<Vec<_>>(),
        [1, 15, 22, 29, 36, 43, 50, 57, 64]
    );
    assert_eq!(reader.of_thread(&root(1), 1, 1).unwrap()[0].1, wrote[0], "what comes before it is proved");
    let read = reader.of_thread(&root(1), 1, 9);
    assert!(matches!(read, Err(LogFault::Damaged { position: Position(8), .. })), "{read:?}");
}

#[test]
fn a_lost_entry_hides_no_key_and_keeps_no_log_from_opening() {
    let (folder, wrote) = closed();
    let last = wrote.iter().rev().find(|record| record.header.thread == root(1)).unwrap();
    edit_at(&folder.log(), &format!("DELETE FROM place WHERE seq = {} AND thread = 1", last.header.seq));
    let reader = sqlite::open_reading(&folder.log()).unwrap();
    let found = reader.by_key(&root(1), &last.header.from, last.header.key.as_ref().unwrap()).unwrap();
    assert_eq!(found.map(|(_, record)| record).as_ref(), Some(last));
    // The record before is found without its entry.
    edit_at(&folder.log(), "DELETE FROM place WHERE pos = 8");
    assert_eq!(reader.read_after(Position(14), 1).unwrap()[0].1, wrote[14]);
    let words = sqlite::verify_all(&folder.log()).unwrap_err().to_string();
    assert!(words.contains("empty the table placed while no organism runs"), "{words}");
    edit_at(&folder.log(), "DELETE FROM placed");
    drop(sqlite::open_log(&folder.log()).unwrap());
    assert_eq!(sqlite::verify_all(&folder.log()).unwrap().records, 300, "and that helps");
    // A file that came without its tip may have been copied while it was written.
    edit_at(&folder.log(), "DELETE FROM place WHERE pos = 8");
    std::fs::remove_file(folder.path().join("organism.db.tip")).unwrap();
    drop(sqlite::open_log(&folder.log()).unwrap());
    assert_eq!(sqlite::verify_all(&folder.log()).unwrap().records, 300, "its entries were made again");
}

#[test]
fn a_log_cannot_say_that_all_records_of_all_times_have_their_entries() {
    let (folder, wrote) = closed();
    edit_at(&folder.log(), &format!("DELETE FROM place WHERE pos > 200; {}", placed_at(i64::MAX)));
    compare(&sqlite::open_reading(&folder.log()).unwrap(), &wrote, &mut SeededDice::new(5), "as it came");
    assert!(sqlite::verify_all(&folder.log()).is_err());
    drop(sqlite::open_log(&folder.log()).unwrap());
    assert_eq!(sqlite::verify_all(&folder.log()).unwrap().records, 300);
}

#[test]
fn a_second_first_record_of_a_thread_is_found() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let wrote: Vec<_> = (0..300).map(|n| author.note(&root(n % 7), 20)).collect();
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(matches!(opened.writer.commit_batch(&batch(wrote)), Commit::Committed(_)));
    drop(opened);
    // Its hashes fit: only the place of the first one shows that there are two.
    edit_at(
        &folder.log(),
        "INSERT INTO record SELECT 301, thread, seq, id, kind, sender, addressee, call, turn, ordinal, cause, key, \
         origin, time, config, code, salt, head, body FROM record WHERE pos = 1",
    );
    let end = sqlite::open_reading(&folder.log()).unwrap().read_after(Position(300), 9);
    assert!(matches!(end, Err(LogFault::Damaged { position: Position(301), .. })), "{end:?}");
    let whole = sqlite::verify_all(&folder.log());
    assert!(matches!(whole, Err(LogFault::Damaged { position: Position(301), .. })), "{whole:?}");
    assert!(sqlite::open_log(&folder.log()).is_err());
}
