//! Named threads between fake ports: what is in memory and what only the log has, and keys of older logs.

use systole_core::types::thread_choice::ThreadName;

use super::*;
use crate::decide_stage::DecideStage;

impl Rig {
    /// The operator's message to its thread of that name.
    fn asks_named(&mut self, ticket: u64, name_of: &str, key: &str) {
        let thread = ThreadName::parse(name_of).unwrap();
        let payload = payload("tool");
        let asked = DoorMessage {
            ticket: Ticket(ticket),
            client: Name::new_operator(),
            key: thread.bind_key(&Key::parse(key).unwrap()).unwrap(),
            thread: ThreadChoice::Named(thread),
            payload: Ok(Admitted::new(PayloadKind::For(name("tool")), Verdict::from_valid(payload))),
            claimed: None,
            subject: None,
        };
        self.input(PumpInput::Asked(asked));
    }

    /// The threads of all records that are not about the organism itself, in their order.
    fn threads(&self) -> Vec<ThreadId> {
        let all = self.records().into_iter().map(|record| record.header.thread);
        all.filter(|thread| !thread.is_sys()).collect()
    }
}

#[test]
fn b18_messages_to_a_name_at_once_open_one_thread() {
    let mut rig = Rig::new();
    // None has been read from the log or written when the last one comes.
    for (ticket, key) in [(1, "a"), (2, "b"), (3, "a"), (4, "c")] {
        rig.asks_named(ticket, "ticket-17", key);
    }
    rig.settle();
    let threads = rig.threads();
    assert_eq!(threads.len(), 3, "the third message repeats the first");
    assert!(threads.iter().all(|thread| *thread == threads[0]), "{threads:?}");
}

#[test]
fn b18_a_named_thread_is_found_in_the_log_after_a_kill() {
    let mut rig = Rig::new();
    rig.asks_named(1, "ticket-17", "a");
    rig.settle();
    let thread = rig.threads()[0].clone();
    rig.says_in(&thread, "1 t1 a1", JudgedContent::Items(vec![crate::decide_stage::final_()]));
    rig.settle();
    let mut rig = rig.killed();
    rig.seen();
    rig.asks_named(3, "ticket-17", "a");
    rig.settle();
    assert!(rig.seen().contains(&"3: receipt #1 again".to_owned()));
    rig.asks_named(4, "ticket-17", "b");
    rig.settle();
    let threads = rig.threads();
    assert!(threads.iter().all(|thread| *thread == threads[0]), "{threads:?}");
}

/// A log as versions wrote it that knew no names, with these keys.
fn older_log(keys: &[&str]) -> MemoryLog {
    let mut stage = DecideStage::new();
    keys.iter().for_each(|key| drop(stage.asks(key, "tool", None)));
    let records = stage.records.iter().cloned().map(Arc::new).collect();
    let log = MemoryLog::new();
    let stored = log.clone().commit_batch(&LogBatch { records, ..LogBatch::default() });
    assert!(matches!(stored, Commit::Committed(_)));
    log
}

#[test]
fn b18_a_key_that_begins_with_an_at_sign_has_its_receipt_only_in_a_log_that_knows_it() {
    let log = older_log(&["@ticket-17/a", "@ticket-17"]);
    let mut rig = Rig::over(log, composition(), vec![], Arc::default());
    rig.settle();
    rig.seen();
    for (ticket, key) in [(1, "@ticket-17/a"), (2, "@ticket-17"), (3, "@ticket-17/b"), (4, "@other")] {
        rig.asks(ticket, key, "tool", None);
        rig.settle();
    }
    let heard = rig.seen();
    let heard = |ticket: u64| {
        let begins = format!("{ticket}: ");
        heard.iter().find(|line| line.starts_with(&begins)).cloned().unwrap_or_default()
    };
    assert_eq!(heard(1), "1: receipt #1 again");
    assert_eq!(heard(2), "2: receipt #1 again");
    assert_eq!(heard(3), "3: refused payload.invalid");
    assert_eq!(heard(4), "4: refused payload.invalid");
    let before: std::collections::BTreeSet<ThreadId> = rig.threads().into_iter().collect();
    assert_eq!(before.len(), 2);
    rig.asks_named(5, "ticket-17", "a");
    rig.settle();
    let now: std::collections::BTreeSet<ThreadId> = rig.threads().into_iter().collect();
    assert_eq!(now.len(), 3, "the keys of the older log name no thread");
}
