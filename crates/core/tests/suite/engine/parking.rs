//! Inputs that wait for a read of the log: the order in which they continue, what happens if the
//! read fails, and that nothing leaves memory until then.

use super::*;
use crate::decide_stage::{final_, note, spawn};

/// A root that rests and is only in the log.
fn asleep() -> Rig {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![final_()]);
    rig.idles();
    assert!(!rig.is_awake(&root()), "a thread at rest leaves memory");
    rig.seen();
    rig
}

#[test]
fn what_waits_for_a_thread_goes_on_in_its_order() {
    let mut rig = asleep();
    rig.asks(2, "b", "tool", Some(&root()));
    rig.asks(3, "c", "other", Some(&root()));
    rig.cancels(4, &root());
    rig.settle();
    assert_eq!(rig.seen(), ["2: receipt #3 at 4", "3: receipt #4 at 5", "4: done"]);
}

#[test]
fn an_order_waits_behind_what_its_thread_waits_for() {
    let mut rig = asleep();
    rig.asks(2, "b", "tool", Some(&root()));
    rig.asks(3, "c", "other", Some(&root()));
    rig.look();
    let first = rig.answers.pop_front().unwrap();
    rig.input(PumpInput::Found(first));
    assert!(rig.is_awake(&root()), "the second message still waits");
    rig.cancels(4, &root());
    rig.settle();
    assert_eq!(rig.seen(), ["2: receipt #3 at 4", "3: receipt #4 at 5", "4: done"]);
}

#[test]
fn an_order_between_messages_keeps_its_place() {
    let mut rig = asleep();
    rig.asks(2, "b", "tool", Some(&root()));
    rig.cancels(3, &root());
    rig.asks(4, "c", "other", Some(&root()));
    rig.settle();
    let seen = rig.seen();
    let answers: Vec<&str> = seen.iter().map(|line| &line[..2]).filter(|line| line.ends_with(':')).collect();
    assert_eq!(answers, ["2:", "3:", "4:"], "{seen:?}");
}

#[test]
fn a_look_that_fails_fails_only_what_it_was_for() {
    let mut rig = asleep();
    rig.asks(2, "b", "tool", Some(&root()));
    rig.asks(3, "c", "tool", Some(&root()));
    rig.reader.fails.store(1, Ordering::Relaxed);
    rig.settle();
    assert_eq!(rig.seen(), ["2: refused ingress.unavailable", "3: receipt #3 at 5", "tool 2 t1 a1"]);
    assert!(rig.lines().contains(&"sys 2 refusal/ingress.unavailable core -> operator".to_owned()));
}

#[test]
fn an_answer_never_serves_another_question_than_its_own() {
    let mut rig = asleep();
    rig.asks(2, "b", "tool", Some(&root()));
    rig.asks(3, "c", "tool", Some(&root()));
    rig.reader.fails.store(1, Ordering::Relaxed);
    rig.look();
    let failed = rig.answers.pop_front().unwrap();
    rig.input(PumpInput::Found(failed));
    // Its key is bound; the read for the message before it does not show that.
    rig.asks(4, "k", "tool", Some(&root()));
    rig.settle();
    assert_eq!(rig.engine.find_stop(), None);
    assert!(rig.seen().contains(&"4: receipt #1 again".to_owned()));
}

#[test]
fn a_reply_for_a_thread_at_work_waits_for_no_look() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.asks(2, "b", "agent", Some(&root()));
    rig.replies("1 t1 a1", vec![note()]);
    rig.reader.fails.store(1, Ordering::Relaxed);
    rig.seen();
    rig.settle();
    assert!(rig.seen().contains(&"agent 1 t2 a1".to_owned()), "{:?}", rig.lines());
}

#[test]
fn signs_of_life_of_a_call_that_is_over_are_looked_up_nowhere() {
    let mut rig = asleep();
    rig.says("1 t1 a1", JudgedContent::Progress { part: None, words: "still here".into() });
    rig.says("1 t1 a1", JudgedContent::Notice { code: "x".into(), words: "still here".into() });
    assert!(rig.lookup().is_none() && rig.engine.is_quiet());
}

/// A root that rests, and its cancelled child with the delivery out.
fn abandoned() -> (Rig, ThreadId) {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![spawn(Some("heat"), "tool")]);
    rig.settle();
    rig.replies("1 t2 a1", vec![final_()]);
    rig.settle();
    rig.replies("1 t3 a1", vec![final_()]);
    rig.settle();
    (rig, root().make_child("heat").unwrap())
}

#[test]
fn a_late_reply_is_recorded_in_the_nearest_living_ancestor_whatever_sleeps() {
    let late = |asleep: bool| {
        let (mut rig, heat) = abandoned();
        if asleep {
            rig.idles();
            assert!(!rig.is_awake(&heat) && !rig.is_awake(&root()));
        }
        rig.says_in(&heat, "1 t1 a1", JudgedContent::Items(vec![final_()]));
        rig.settle();
        rig.lines().pop().unwrap()
    };
    assert_eq!(late(false), "root 7 refusal/reply.stale-lease core -> tool");
    assert_eq!(late(true), late(false));
}

#[test]
fn a_thread_stays_awake_while_something_waits_for_its_tree() {
    let (mut rig, heat) = abandoned();
    rig.asks(2, "b", "tool", Some(&heat));
    rig.look();
    rig.engine.checkpoint_soon();
    rig.write();
    assert!(rig.is_awake(&heat) && rig.is_awake(&root()));
    rig.read();
    rig.write();
    rig.idles();
    assert!(!rig.is_awake(&heat) && !rig.is_awake(&root()));
}

#[test]
fn a_message_for_a_thread_that_never_was_is_refused_in_sys() {
    let mut rig = asleep();
    rig.asks(2, "b", "tool", Some(&root().make_child("ghost").unwrap()));
    rig.settle();
    assert_eq!(rig.lines().pop().unwrap(), "sys 2 refusal/thread.unknown core -> operator");
}

#[test]
fn a_repeated_word_meets_its_receipt_however_many_came_between_it_and_the_writer() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.seen();
    for n in 0..60 {
        rig.steers(2, &format!("s{n}"));
    }
    rig.steers(3, "s0");
    rig.settle();
    assert_eq!(rig.engine.find_stop(), None);
    assert_eq!(rig.seen().last().unwrap(), "3: receipt #2 again");
}
