//! Threads whose record ends before they do are replayed as far as they are recorded.

use std::sync::Arc;

use rusqlite::Connection;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{
    Commit, LogBatch, LogReader as _, LogWriter as _, Position, StoredDocument,
};
use systole_core::types::record::RecordKind;
use systole_log::sqlite;
use systole_organism::runfile::RunFile;

use crate::program::{Events, Running, ask, systole};
use crate::promises::cast::{BOSS, Part, cast, say};
use crate::replay::{agent, is, log_in, stop};

/// As a backup or an export of a running organism may have it.
#[test]
fn c4_every_beginning_of_a_thread_replays_equal() {
    let folder = agent();
    let log = log_in(folder.path());
    let reader = sqlite::open_reading(&log).unwrap();
    let all = reader.read_after(Position(0), 1_000).unwrap();
    let hashes = Connection::open(&log).unwrap();
    let mut hashes = hashes.prepare("SELECT hash FROM document").unwrap();
    let hashes = hashes.query_map([], |row| Ok(Digest(row.get(0)?))).unwrap();
    let documents: Vec<StoredDocument> = hashes
        .map(|hash| hash.unwrap())
        .map(|hash| StoredDocument { hash, bytes: reader.read_document(hash).unwrap().unwrap() })
        .collect();
    let first = all.iter().position(|(_, record)| !record.header.thread.is_sys()).unwrap();
    // Each entry of a journal begins a commit, and a log ends with a whole one.
    let is_end = |end: &usize| all.get(*end).is_none_or(|(_, next)| next.header.kind == RecordKind::Journal);
    let ends: Vec<usize> = (first + 1..=all.len()).filter(is_end).collect();
    assert!(ends.len() >= 5, "{ends:?}");
    for end in ends {
        let beginning = folder.path().join(format!("until-{end}.db"));
        let mut opened = sqlite::open_log(&beginning).unwrap();
        let records = all[..end].iter().map(|(_, record)| Arc::new(record.clone())).collect();
        let batch = LogBatch { records, documents: documents.clone(), ..LogBatch::default() };
        assert!(matches!(opened.writer.commit_batch(&batch), Commit::Committed(_)));
        drop(opened);
        let ran = systole(folder.path(), &["replay", "--log", beginning.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "up to {end}: {ran:?}");
    }
}

/// Works for longer than the timer of its caller runs, also while the organism stops.
const SLOW: &str = "\nfor turn in turns(): time.sleep(2.5); reply(turn.delivery, said('late'))\n";
const TIMED: [Part<'_>; 2] = [("boss", "entry: true, turns: 9, peers: [slow]", BOSS), ("slow", "", SLOW)];

/// An organism that stops takes replies and fires no timer. So a log may end with a record that is later than a timer
/// that did not fire.
#[test]
fn c4_a_timer_that_was_due_while_the_organism_stopped_does_not_fire_in_a_replay() {
    let folder = cast(&TIMED);
    let running = Running::organism_set(folder.path(), &[], &[]);
    let run = RunFile::find_running(&log_in(folder.path())).unwrap();
    let mut events = Events::open(&run, "?from=0", &[]);
    let plan = say("boss", "[[timer('over', after='1s'), say('slow', 'go')]]");
    let sent = ask(&run, "POST", "/v1/messages?to=boss", &[("Idempotency-Key", "one")], &plan);
    assert_eq!(sent.status, 202, "{sent:?}");
    while !events
        .next()
        .is_some_and(|(_, _, record)| is(&record, "code", "call") && is(&record, "to", "slow"))
    {}
    stop(running);
    let records = systole(folder.path(), &["log", "-n", "0", "--json"]).json_lines();
    assert!(records.iter().any(|record| is(record, "from", "slow")), "its reply was taken");
    assert!(!records.iter().any(|record| is(record, "code", "fired")), "the timer did not fire");
    let ran = systole(folder.path(), &["replay", "--all"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Spawns a child, and goes on thinking for longer than the timer of that child runs.
const THINKER: &str = r#"
for turn in turns():
    if turn.number == 1: reply(turn.delivery, spawn(say('napper', 'good night')))
    else:
        until('set'); thinks(turn, 'a first thought')
        time.sleep(4); thinks(turn, 'a second thought', first=201)
        reply(turn.delivery, cancel(re.search('assigned_id="([^"]+)"', turn.line).group(1)))
"#;
/// Waits in its thread for a timer.
const NAPPER: &str = "\nfor turn in turns(): reply(turn.delivery, timer('over', after='3s'), wait('all'))\n";
const NAP: [Part<'_>; 2] =
    [("thinker", "entry: true, turns: 9, peers: [napper]", THINKER), ("napper", "turns: 9", NAPPER)];

/// Nothing shows that such a timer fired, although more is recorded after the moment at which it was due.
#[test]
fn c4_a_timer_whose_thread_ended_before_it_was_looked_at_does_not_fire_in_a_replay() {
    let folder = cast(&NAP);
    let running = Running::organism_set(folder.path(), &[], &[]);
    let run = RunFile::find_running(&log_in(folder.path())).unwrap();
    let mut events = Events::open(&run, "?from=0", &[]);
    let sent = ask(&run, "POST", "/v1/messages", &[("Idempotency-Key", "one")], &say("thinker", "go"));
    assert_eq!(sent.status, 202, "{sent:?}");
    while !events.next().is_some_and(|(_, _, record)| is(&record, "code", "set")) {}
    std::fs::write(folder.path().join("set"), "").unwrap();
    while !events.next().is_some_and(|(_, _, record)| is(&record, "code", "model-result")) {}
    // It takes what is still said, and fires no timer.
    stop(running);
    let records = systole(folder.path(), &["log", "-n", "0", "--json"]).json_lines();
    assert!(!records.iter().any(|record| is(record, "code", "fired")), "the timer did not fire");
    let seconds =
        records.iter().filter(|record| record["body"].as_str().is_some_and(|b| b.contains("a second")));
    assert!(seconds.count() > 0, "more was said after it was due");
    let ran = systole(folder.path(), &["replay", "--all"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
