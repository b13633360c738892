//! Receipts for listeners' messages: none before the message is on disk, exactly one for each ticket, and for a
//! repeated reply the same receipt, without a second effect.

use systole_core::rules::admit;
use systole_core::types::composition::GatherRule;
use systole_core::types::flow::UnmatchedDocument;
use systole_core::types::ports::ArrivedDocument;
use systole_log::memory::CommitFailure;

use super::viewing::{clear, patient, talking};
use super::*;
use crate::decide_stage::asks;
use crate::decide_stage::{call, final_, note, refused, set_timer, spawn, to_each};

impl Rig {
    /// A listener sends this under that delivery and waits for its receipt.
    pub(super) fn says_for(&mut self, ticket: u64, delivery: &str, said: JudgedContent) {
        let lease =
            self.leases.find_lease(&format!("{} {delivery}", root())).expect("that delivery went out");
        let ticket = Some(Ticket(ticket));
        self.input(PumpInput::Judged(JudgedDocument { lease, said, claimed: None, ticket }));
    }

    /// A listener sends these bytes and waits for its receipt. A connection to a lease is an empty reply.
    pub(super) fn sends(&mut self, ticket: u64, listener: &str, document: &str) {
        let (speech, leases) = (ArrivedDocument::Bytes(document.into()), self.leases.clone());
        let find = |token: &str| leases.find_lease(token);
        let ticket = Some(Ticket(ticket));
        self.input(match admit::listener_word(&name(listener), &speech, &DocumentLimits::default(), find) {
            Ok((lease, _)) => PumpInput::Judged(JudgedDocument {
                lease,
                said: JudgedContent::Items(vec![]),
                claimed: None,
                ticket,
            }),
            Err(stray) => PumpInput::Stray(UnmatchedDocument { ticket, ..*stray }),
        });
    }

    /// The receipts since the last call, by ticket.
    pub(super) fn receipts(&self) -> Vec<String> {
        let is_receipt = |line: &String| line.split_once(": ").is_some_and(|(n, _)| n.parse::<u64>().is_ok());
        self.seen().into_iter().filter(is_receipt).collect()
    }
}

/// A root whose one call is out with that listener.
fn out_with(listener: &str) -> Rig {
    let mut rig = Rig::new();
    rig.asks(1, "k", listener, None);
    rig.settle();
    rig.seen();
    rig
}

fn reply_in(thread: &ThreadId, delivery: &str) -> String {
    format!("<reply xmlns=\"urn:systole:listener:v1\" delivery=\"{thread} {delivery}\"/>")
}

fn reply(delivery: &str) -> String {
    reply_in(&root(), delivery)
}

fn done() -> JudgedContent {
    JudgedContent::Items(vec![final_()])
}

#[test]
fn a_receipt_waits_until_the_reply_is_on_disk() {
    let mut rig = out_with("tool");
    rig.says_for(9, "1 t1 a1", done());
    rig.hand_over();
    assert!(rig.seen().is_empty(), "the writer has not answered");
    rig.write();
    assert_eq!(rig.seen(), ["9: done"]);
    assert_eq!(rig.lines()[1..], ["root 2 message/final tool -> operator 1 t1.0"]);
}

#[test]
fn every_sort_of_word_that_is_taken_has_one_receipt() {
    let failure = |retry| JudgedContent::new_failure("x", retry, "no");
    let words = [
        JudgedContent::Items(vec![]),
        JudgedContent::Items(vec![refused(), call("tool"), note()]),
        JudgedContent::Items((0..65).map(|_| note()).collect()),
        failure(true),
        failure(false),
        JudgedContent::Again { code: "x".into(), words: "no".into() },
        JudgedContent::Notice { code: "x".into(), words: "repaired".into() },
        JudgedContent::Progress { part: None, words: "still here".into() },
        asks(7, 0),
    ];
    for said in words {
        let what = format!("{said:?}");
        let mut rig = out_with("agent");
        rig.says_for(9, "1 t1 a1", said);
        assert!(rig.receipts().is_empty(), "before the disk: {what}");
        rig.settle();
        assert_eq!(rig.receipts(), ["9: done"], "{what}");
    }
}

#[test]
fn a_reply_for_an_attempt_that_is_over_is_refused_recorded_and_told() {
    let mut rig = out_with("tool");
    rig.passes(30_000);
    rig.settle();
    rig.seen();
    for ticket in [9, 10] {
        rig.says_for(ticket, "1 t1 a1", done());
        assert!(rig.receipts().is_empty());
        rig.settle();
        assert_eq!(rig.receipts(), [format!("{ticket}: refused reply.stale-lease")]);
        assert_eq!(
            rig.lines().pop().unwrap(),
            format!("root {} refusal/reply.stale-lease core -> tool", ticket - 6)
        );
    }
}

#[test]
fn a_document_that_belongs_to_no_delivery_is_refused_and_told() {
    let mut rig = out_with("tool");
    let strays = [
        ("tool", "<reply".to_owned(), "payload.malformed"),
        ("tool", reply("1 t9 a1"), "reply.stale-lease"),
        ("other", reply("1 t1 a1"), "reply.stale-lease"),
    ];
    for (listener, document, code) in strays {
        rig.sends(9, listener, &document);
        assert!(rig.receipts().is_empty());
        rig.settle();
        assert_eq!(rig.receipts(), [format!("9: refused {code}")]);
        assert!(rig.lines().pop().unwrap().contains(&format!("refusal/{code} core -> {listener}")));
    }
}

#[test]
fn a_reply_that_comes_again_has_its_receipt_again_and_changes_nothing() {
    let mut rig = out_with("agent");
    rig.says_for(9, "1 t1 a1", JudgedContent::Items(vec![call("tool")]));
    rig.hand_over();
    // Its receipt may not overtake the records of the first; other items do not matter.
    rig.says_for(10, "1 t1 a1", JudgedContent::Items(vec![call("other"), clear(0)]));
    rig.says_for(11, "1 t1 a1", JudgedContent::new_failure("x", true, "no"));
    assert!(rig.seen().is_empty() && rig.lookup().is_none());
    rig.write();
    assert_eq!(rig.seen(), ["9: done", "tool 1/1.0 t1 a1", "10: done", "11: done"]);
    let lines = rig.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    // A reply over pipes needs no receipt: a second reply is a recorded fault.
    rig.replies("1 t1 a1", vec![call("tool")]);
    rig.settle();
    assert!(rig.lines().pop().unwrap().contains("refusal/reply.stale-lease core -> agent"));
}

#[test]
fn a_reply_comes_again_to_a_thread_that_sleeps_or_has_ended_and_nothing_is_read() {
    for cancelled in [false, true] {
        let mut rig = out_with("tool");
        rig.says_for(9, "1 t1 a1", done());
        rig.settle();
        if cancelled {
            rig.cancels(2, &root());
        }
        rig.idles();
        assert!(!rig.is_awake(&root()));
        let before = rig.records().len();
        rig.seen();
        rig.says_for(10, "1 t1 a1", done());
        assert!(rig.lookup().is_none());
        rig.settle();
        assert_eq!((rig.seen(), rig.records().len()), (vec!["10: done".to_owned()], before));
    }
}

#[test]
fn a_reply_comes_again_when_its_lease_is_forgotten() {
    let mut rig = out_with("tool");
    rig.says_for(9, "1 t1 a1", done());
    rig.settle();
    let before = rig.records().len();
    for n in 0..4_097 {
        rig.leases.retire_lease(&LeaseToken(format!("{n}").into()));
    }
    assert!(rig.leases.find_lease(&format!("{} 1 t1 a1", root())).is_none());
    rig.seen();
    rig.sends(10, "tool", &reply("1 t1 a1"));
    assert!(rig.seen().is_empty(), "it waits for the disk all the same");
    rig.settle();
    assert_eq!((rig.receipts(), rig.records().len()), (vec!["10: done".to_owned()], before));
    rig.sends(11, "other", &reply("1 t1 a1"));
    rig.settle();
    assert_eq!(rig.receipts(), ["11: refused reply.stale-lease"], "it belongs to another listener");
}

#[test]
fn a_reply_in_a_cancelled_thread_is_refused_once_also_when_the_log_cannot_be_read() {
    let mut rig = out_with("tool");
    rig.cancels(2, &root());
    rig.idles();
    assert!(!rig.is_awake(&root()));
    rig.seen();
    rig.reader.fails.store(1, Ordering::Relaxed);
    rig.says_for(9, "1 t1 a1", done());
    rig.settle();
    assert_eq!(rig.receipts(), ["9: refused ingress.unavailable"]);
    rig.says_for(10, "1 t1 a1", done());
    assert!(rig.receipts().is_empty(), "it waits for the log");
    rig.settle();
    assert_eq!(rig.receipts(), ["10: refused reply.stale-lease"]);
}

#[test]
fn replies_that_wait_for_their_view_have_their_receipts_after_it() {
    let mut rig = talking();
    rig.says_for(9, "1 t2 a1", JudgedContent::Items(vec![clear(0)]));
    rig.says_for(10, "1 t2 a1", JudgedContent::Items(vec![clear(0)]));
    rig.says_for(11, "1 t2 a1", JudgedContent::Items(vec![note()]));
    rig.write();
    assert!(rig.receipts().is_empty());
    rig.settle();
    assert_eq!(rig.receipts(), ["9: done", "10: done", "11: done"]);
    let lines = rig.lines();
    assert_eq!(lines.iter().filter(|line| line.contains("message/clear")).count(), 1, "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains("stale-lease")), "{lines:?}");
}

#[test]
fn a_view_that_cannot_be_read_leaves_no_receipt_out() {
    let mut rig = talking();
    rig.reader.fails.store(1, Ordering::Relaxed);
    rig.says_for(9, "1 t2 a1", JudgedContent::Items(vec![clear(0)]));
    rig.settle();
    assert_eq!(rig.receipts(), ["9: done"], "the item is refused, the reply is taken");
}

#[test]
fn an_unknown_commit_leaves_one_receipt_whether_it_was_stored_or_not() {
    for ending in [CommitFailure::UnknownStored, CommitFailure::UnknownAbsent] {
        let mut rig = out_with("tool");
        rig.log.next_commits([ending]);
        rig.says_for(9, "1 t1 a1", done());
        rig.settle();
        assert_eq!(rig.seen(), ["9: done"]);
        assert_eq!(rig.lines().len(), 2);
    }
}

#[test]
fn without_room_a_listener_is_told_to_come_again_and_has_its_receipt_then() {
    let mut rig = out_with("tool");
    rig.says_for(9, "1 t1 a1", done());
    rig.hand_over();
    rig.input(PumpInput::Written(WriteReport::Stalled("no space".into())));
    assert_eq!(rig.seen(), ["9: refused ingress.unavailable"]);
    rig.says_for(10, "1 t1 a1", done());
    assert!(rig.seen().is_empty(), "nothing is on disk yet");
    rig.settle();
    assert_eq!(rig.seen(), ["10: done"]);
    assert_eq!(rig.lines().len(), 2, "one effect");
}

#[test]
fn replies_land_while_the_organism_stops_and_are_turned_away_after_its_last_word() {
    let mut rig = Rig::new();
    for (ticket, listener) in [(1, "tool"), (2, "other")] {
        rig.asks(ticket, if ticket == 1 { "k" } else { "b" }, listener, None);
    }
    rig.settle();
    rig.seen();
    rig.input(PumpInput::Stop);
    rig.says_for(9, "1 t1 a1", done());
    rig.settle();
    assert_eq!(rig.seen(), ["9: done"]);
    rig.input(PumpInput::Farewell);
    rig.says_for(10, "1 t1 a1", done());
    rig.sends(11, "tool", "<reply");
    rig.settle();
    assert_eq!(rig.seen(), ["10: refused ingress.unavailable", "11: refused ingress.unavailable"]);
    assert_eq!(rig.lines().pop().unwrap(), "sys 2 message/told core -> -");
}

#[test]
fn requests_that_wait_for_the_log_are_refused_at_the_farewell() {
    let mut rig = talking();
    rig.says_for(9, "1 t2 a1", JudgedContent::Items(vec![clear(0)]));
    rig.says_for(10, "1 t2 a1", JudgedContent::Items(vec![clear(0)]));
    rig.asks(11, "b", "tool", None);
    rig.input(PumpInput::Stop);
    rig.input(PumpInput::Farewell);
    let turned_away = |n: u64| format!("{n}: refused ingress.unavailable");
    let mut receipts = rig.receipts();
    receipts.sort_unstable();
    assert_eq!(receipts, [turned_away(10), turned_away(11), turned_away(9)]);
    rig.settle();
    assert!(rig.receipts().is_empty(), "once");
    assert!(rig.lines().iter().all(|line| !line.contains("message/clear")), "{:?}", rig.lines());
}

#[test]
fn a_notice_that_is_not_kept_is_refused() {
    let notice = || JudgedContent::Notice { code: "x".into(), words: "repaired".into() };
    let mut rig = out_with("agent");
    for ticket in 0..66 {
        rig.says_for(ticket, "1 t1 a1", notice());
    }
    rig.settle();
    let receipts = rig.receipts();
    assert!(receipts[..64].iter().all(|line| line.ends_with(": done")), "{receipts:?}");
    assert_eq!(receipts[64..], ["64: refused reply.too-many-items", "65: refused reply.too-many-items"]);
    rig.says_for(70, "1 t1 a1", done());
    rig.settle();
    let before = rig.records().len();
    for asleep in [false, true] {
        if asleep {
            rig.idles();
            assert!(!rig.is_awake(&root()));
        }
        rig.receipts();
        rig.says_for(71, "1 t1 a1", notice());
        rig.settle();
        assert_eq!(rig.receipts(), ["71: refused reply.stale-lease"]);
    }
    assert_eq!(rig.records().len(), before, "it leaves no trace, as without a receipt");
}

/// A reply, or an event between two replies.
enum Act {
    Asks(&'static str),
    Says(&'static str, &'static str, Box<JudgedContent>),
    Passes(u64),
}

/// A listener and a delivery to it.
type Delivered = (&'static str, &'static str);

/// Replies of every kind that the log can show.
fn script() -> Vec<Act> {
    use Act::{Asks, Passes, Says};
    let items = |items| Box::new(JudgedContent::Items(items));
    let fails = |retry| Box::new(JudgedContent::new_failure("x", retry, "no"));
    let again = Box::new(JudgedContent::Again { code: "x".into(), words: "no".into() });
    vec![
        Asks("agent"),
        Says("agent", "1 t1 a1", items(vec![call("tool"), note()])),
        Says("tool", "1/1.0 t1 a1", items(vec![final_()])),
        Says("agent", "1 t2 a1", again),
        Says("agent", "1 t3 a1", fails(true)),
        Passes(1_000),
        Says("agent", "1 t3 a2", items(vec![refused()])),
        Says("agent", "1 t4 a1", items(vec![final_()])),
        Asks("quiet"),
        Says("quiet", "2 t1 a1", items(vec![])),
        Asks("tool"),
        Says("tool", "3 t1 a1", fails(false)),
        Asks("agent"),
        Says("agent", "4 t1 a1", items(vec![to_each(GatherRule::All, &["tool", "other"])])),
        Says("tool", "4/1.0:0 t1 a1", items(vec![final_()])),
        Says("other", "4/1.0:1 t1 a1", items(vec![final_()])),
        Says("agent", "4 t2 a1", items(vec![set_timer("after=\"1h\"", "look")])),
        Says("agent", "4 t3 a1", items(vec![spawn(Some("heat"), "tool")])),
        Says("agent", "4 t4 a1", items(vec![final_()])),
    ]
}

/// Plays the first acts. Returns the replies, and the delivery that is out after them.
fn played(acts: usize) -> (Rig, Vec<Delivered>, Option<Delivered>) {
    let mut rig = Rig::new();
    let (mut made, mut opened) = (Vec::new(), false);
    let mut script = script().into_iter();
    for (ticket, act) in (100..).zip(script.by_ref().take(acts)) {
        match act {
            Act::Asks(to) => {
                let (thread, key) = (root(), if opened { format!("k{ticket}") } else { "k".to_owned() });
                rig.asks(ticket, &key, to, opened.then_some(&thread));
                opened = true;
            }
            Act::Says(who, delivery, said) => {
                rig.says_for(ticket, delivery, *said);
                made.push((who, delivery));
            }
            Act::Passes(ms) => rig.passes(ms),
        }
        rig.settle();
    }
    let due = match script.next() {
        Some(Act::Says(who, delivery, _)) => Some((who, delivery)),
        _ => None,
    };
    (rig, made, due)
}

#[test]
fn after_a_kill_at_any_moment_every_reply_on_record_has_its_receipt_and_no_other() {
    for acts in 1..=script().len() {
        for idle in [false, true] {
            let (mut rig, made, due) = played(acts);
            if idle {
                rig.idles();
            }
            let mut rig = rig.killed();
            let before = rig.records().len();
            rig.receipts();
            for (who, delivery) in &made {
                rig.sends(9, who, &reply(delivery));
                rig.settle();
                assert_eq!(rig.receipts(), ["9: done"], "{who} {delivery} after {acts} acts");
                rig.sends(10, "watch", &reply(delivery));
                rig.settle();
                assert_eq!(rig.receipts().len(), 1);
            }
            let own = |r: &Record| r.header.to != Some(name("watch"));
            let recorded = rig.records()[before..].iter().filter(|r| own(r)).count();
            assert_eq!(recorded, 0, "nothing follows from what comes again, after {acts} acts");
            if let Some((who, delivery)) = due {
                rig.sends(11, who, &reply(delivery));
                rig.settle();
                assert_eq!(rig.receipts(), ["11: refused reply.stale-lease"], "{delivery} after {acts} acts");
            }
        }
    }
}

#[test]
fn wherever_the_log_ends_a_reply_has_its_receipt_only_where_it_is_in_it() {
    let all = script().len();
    let whole = played(all).0.records();
    let end = |acts| played(acts).0.records().len();
    let replies: Vec<_> =
        (1..all).filter_map(|acts| Some((played(acts).2?, end(acts)..end(acts + 1)))).collect();
    assert_eq!(replies.len(), 14);
    for cut in 0..=whole.len() {
        let log = MemoryLog::new();
        let records = whole[..cut].iter().cloned().map(Arc::new).collect();
        let stored = log.clone().commit_batch(&LogBatch { records, ..LogBatch::default() });
        assert_eq!(stored, Commit::Committed(Position(cut as u64)));
        let mut rig = Rig::over(log, composition(), vec![], Arc::new(FakePorts::default()));
        rig.settle();
        rig.seen();
        for ((who, delivery), written) in &replies {
            // The start may have sent out the same attempt that followed in the longer log.
            if rig.leases.find_lease(&format!("{} {delivery}", root())).is_some() {
                continue;
            }
            rig.sends(9, who, &reply(delivery));
            rig.settle();
            let receipts = rig.receipts();
            // One commit is never cut in two; a log that is cut still gives one answer.
            let [receipt] = receipts.as_slice() else { panic!("{receipts:?}") };
            if cut >= written.end {
                assert_eq!(receipt, "9: done", "{who} {delivery} at {cut}, written {written:?}");
            } else if cut <= written.start {
                assert_ne!(receipt, "9: done", "{who} {delivery} at {cut}, written {written:?}");
            }
        }
    }
}

#[test]
fn which_attempt_was_answered_is_found_however_long_ago_it_went_out() {
    let other = ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse("b").unwrap(), 12);
    for talk in [1, 70] {
        let mut rig = Rig::with(patient());
        rig.asks(1, "k", "tool", None);
        rig.settle();
        rig.passes(30_000);
        let token = LeaseToken(format!("{} 1 t1 a1", root()).into());
        rig.input(PumpInput::Gone {
            token,
            code: systole_core::types::codes::Code::ListenerTimeout,
            words: String::new(),
        });
        rig.settle();
        rig.passes(1_000);
        rig.asks(2, "b", "agent", None);
        rig.settle();
        for turn in 1..=talk {
            rig.says_in(
                &other,
                &format!("1 t{turn} a1"),
                JudgedContent::Items((0..64).map(|_| note()).collect()),
            );
            rig.settle();
        }
        rig.says_for(3, "1 t1 a2", done());
        rig.settle();
        let mut rig = rig.killed_into(patient(), vec![]);
        rig.receipts();
        rig.sends(9, "tool", &reply("1 t1 a2"));
        rig.sends(10, "tool", &reply("1 t1 a1"));
        rig.settle();
        assert_eq!(rig.receipts(), ["9: done", "10: refused reply.stale-lease"], "after {talk} turns");
        let first = reply_in(&other, "1 t1 a1");
        rig.sends(11, "agent", &first);
        rig.settle();
        // A reply that is older than a start reads is refused rather than guessed.
        let expected = if talk == 1 { "11: done" } else { "11: refused reply.stale-lease" };
        assert_eq!(rig.receipts(), [expected]);
    }
}
