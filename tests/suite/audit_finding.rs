//! Logs made by hand: which thread a person means, which threads are listed, which is first in a queue,
//! and how far damage reaches.

use std::sync::Arc;

use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::{Commit, LogWriter as _, Position};
use systole_core::types::record::{Header, MessageRole, Record, RecordCode, head_zero};
use systole_core::types::time::Millis;
use systole_log::memory::MemoryLog;
use systole_queries::chains;
use systole_queries::finding::{self, NameOwner, NotFound};
use systole_queries::log_state::LogState;
use systole_queries::posts::{DueCallState, DueCalls};
use systole_queries::thread_roll;

use crate::log_records::{bare, batch};

fn find(reader: &MemoryLog, typed: &str) -> Result<ThreadId, NotFound> {
    finding::find(reader, typed, &NameOwner::new_operator())
}

fn id(text: &str) -> ThreadId {
    ThreadId::parse(text).unwrap()
}

/// The next record of a chain.
fn next(thread: &ThreadId, before: Option<&Record>) -> Record {
    let header = Header {
        from: Name::new_operator(),
        time: Millis(0),
        code: Some(RecordCode::Role(MessageRole::Told)),
        ..bare(thread, before.map_or(0, |r| r.header.seq) + 1)
    };
    header.seal_record(Arc::from(&b"<a/>"[..]), [0; 16], before.map_or_else(|| head_zero(thread), |r| r.head))
}

fn log_of(records: Vec<Record>) -> MemoryLog {
    let mut memory = MemoryLog::default();
    let committed = memory.commit_batch(&batch(records));
    assert!(matches!(committed, Commit::Committed(_)), "{committed:?}");
    memory
}

fn log_with(threads: &[&str]) -> MemoryLog {
    log_of(threads.iter().map(|thread| next(&id(thread), None)).collect())
}

#[test]
fn a_root_is_meant_rather_than_its_children() {
    let log = log_with(&[
        "sys",
        "sess-1f0c9a2b77d1",
        "sess-1f0c9a2b77d1.heat",
        "sess-1f0c9a2b77d1.heat.a",
        "sess-2f0c9a2b77d1",
    ]);
    assert_eq!(find(&log, "sess-1"), Ok(id("sess-1f0c9a2b77d1")));
    assert_eq!(find(&log, "1f0c"), Ok(id("sess-1f0c9a2b77d1")));
    assert_eq!(find(&log, "sess-1f0c9a2b77d1.h"), Ok(id("sess-1f0c9a2b77d1.heat")));
    assert_eq!(find(&log, "sess-1f0c9a2b77d1.heat"), Ok(id("sess-1f0c9a2b77d1.heat")));
    assert_eq!(find(&log, "sys"), Ok(ThreadId::new_sys()));
}

#[test]
fn the_last_one_is_a_root_also_when_a_child_came_later() {
    let log = log_with(&["sess-2f0c9a2b77d1", "sess-1f0c9a2b77d1", "sess-2f0c9a2b77d1.late"]);
    assert_eq!(find(&log, "@last"), Ok(id("sess-1f0c9a2b77d1")));
    assert_eq!(find(&log_with(&["sys"]), "@last"), Err(NotFound::Empty));
    let log = log_with(&["sess-1f0c9a2b77d1", "sess-1f0c9a2b77d1.heat", "sess-1f0c9a2b77d1.heat.a"]);
    assert_eq!(find(&log, "@last.heat"), Ok(id("sess-1f0c9a2b77d1.heat")));
    assert_eq!(find(&log, "@last.h"), Ok(id("sess-1f0c9a2b77d1.heat")));
    assert_eq!(find(&log, "@last.cold"), Err(NotFound::None("@last.cold".to_owned())));
    assert_eq!(find(&log_with(&["sys"]), "@last.heat"), Err(NotFound::Empty));
}

#[test]
fn what_may_mean_several_is_refused_with_them() {
    let log = log_with(&["sess-1f0c9a2b77d1", "sess-1f0c9a2b77d1.a", "sess-1f0caaaaaaaa"]);
    let refused = find(&log, "sess-1f0c").unwrap_err();
    let words = refused.to_string();
    assert_eq!(
        words,
        "\"sess-1f0c\" is the beginning of several threads:\n  sess-1f0c9a2b77d1\n  sess-1f0caaaaaaaa"
    );
    let siblings = log_with(&["sess-1f0c9a2b77d1", "sess-1f0c9a2b77d1.ab", "sess-1f0c9a2b77d1.ac"]);
    let words = find(&siblings, "sess-1f0c9a2b77d1.a").unwrap_err().to_string();
    assert!(words.contains("sess-1f0c9a2b77d1.ab\n  sess-1f0c9a2b77d1.ac"), "{words}");
}

#[test]
fn a_root_with_more_children_than_are_looked_at_is_found_whole_and_never_guessed() {
    let mut threads = vec!["sess-1f0c9a2b77d1".to_owned()];
    threads.extend((0..1100).map(|n| format!("sess-1f0c9a2b77d1.c{n}")));
    threads.push("sess-1f0caaaaaaaa".to_owned());
    let log = log_with(&threads.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(find(&log, "sess-1f0c9a2b77d1"), Ok(id("sess-1f0c9a2b77d1")));
    let refused = find(&log, "sess-1f0c").unwrap_err();
    assert!(matches!(refused, NotFound::Ambiguous { more: true, .. }), "{refused}");
}

#[test]
fn a_chain_is_sound_up_to_its_first_bad_record() {
    let thread = id("sess-1f0c9a2b77d1");
    let mut chain: Vec<Record> = Vec::new();
    for _ in 0..5 {
        let record = next(&thread, chain.last());
        chain.push(record);
    }
    assert_eq!(chains::verify(&log_of(chain.clone()), &thread), None);
    chain[3].body = Arc::from(&b"<b/>"[..]);
    let broken = chains::verify(&log_of(chain), &thread).unwrap();
    assert_eq!((broken.sound, broken.position), (3, Some(Position(4))));
}

/// A log whose configurations are unreadable.
fn look(log: &MemoryLog) -> LogState {
    LogState::look(log, &|_| Err("not kept".to_owned()), Some(1)).unwrap()
}

#[test]
fn what_became_due_in_one_millisecond_is_taken_in_the_order_of_the_log() {
    let threads = ["sess-cccccccccccc", "sess-aaaaaaaaaaaa", "sess-bbbbbbbbbbbb"].map(id);
    let request = |thread: &ThreadId| {
        let mut header = next(thread, None).header;
        header.to = Some(Name::parse("search").unwrap());
        header.call = Some(CallPath::new_top(1));
        header.code = Some(RecordCode::Role(MessageRole::Request));
        header.seal_record(Arc::from(&b"<a/>"[..]), [0; 16], head_zero(thread))
    };
    let log = log_of(threads.iter().map(request).collect());
    let posts = DueCalls::at(&look(&log), Millis(0));
    let post = |n: usize| posts.of(&threads[n], &CallPath::new_top(1)).unwrap().clone();
    assert_eq!(post(0), DueCallState::Out { since: Millis(0) });
    assert_eq!(post(1), DueCallState::Queued { place: 1, slots: 1, full: None });
    assert_eq!(post(2), DueCallState::Queued { place: 2, slots: 1, full: None });
}

#[test]
fn the_roll_is_of_roots_unless_children_are_asked_for() {
    let log = log_with(&["sys", "sess-2f0c9a2b77d1", "sess-1f0c9a2b77d1", "sess-2f0c9a2b77d1.heat"]);
    let whole = look(&log);
    let called = |most: usize, children: bool| {
        let roll = thread_roll::call(&log, &whole, Millis(0), most, children).unwrap();
        roll.iter().map(|entry| entry.thread.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(called(20, false), ["sess-1f0c9a2b77d1", "sess-2f0c9a2b77d1"]);
    assert_eq!(called(20, true), ["sess-2f0c9a2b77d1.heat", "sess-1f0c9a2b77d1", "sess-2f0c9a2b77d1"]);
    assert_eq!(called(1, false), ["sess-1f0c9a2b77d1"]);
}
