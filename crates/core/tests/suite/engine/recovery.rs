//! Restart over the log: a delivery that may have been out counts as lost, and nothing else does.

use systole_core::types::codes::Code;
use systole_core::types::composition::OnUnknown;

use super::*;
use crate::decide_stage::{call, note};

fn root_of(key: &str) -> ThreadId {
    ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse(key).unwrap(), 12)
}

/// The same organism under another hash.
fn changed(change: impl FnOnce(&mut Composition)) -> Composition {
    let mut other = composition();
    other.hash = Digest([8; 32]);
    change(&mut other);
    other
}

fn careful(composition: &mut Composition) -> &mut systole_core::types::composition::Listener {
    composition.listeners.get_mut("careful").unwrap()
}

/// Attempts and dead letters since the start, by the first letters of their threads.
fn counted(rig: &Rig) -> Vec<(ThreadId, String)> {
    let own = rig
        .records()
        .into_iter()
        .filter(|r| r.header.kind != systole_core::types::record::RecordKind::Message);
    own.map(|r| (r.header.thread.clone(), r.header.code.map_or("-", |c| c.as_str()).to_owned())).collect()
}

#[test]
fn what_was_out_counts_as_lost_and_goes_out_again() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    let rig = rig.killed();
    assert_eq!(rig.seen(), ["tool 1 t1 a2"]);
    assert_eq!(counted(&rig), [(root(), "listener.lost".to_owned())]);
}

#[test]
fn what_only_waited_for_a_slot_gets_a_new_number_that_counts_against_nothing() {
    let mut rig = Rig::new();
    for (ticket, key) in [(1, "k"), (2, "a")] {
        rig.asks(ticket, key, "tool", None);
        rig.settle();
        rig.passes(1);
    }
    let mut rig = rig.killed();
    assert_eq!(counted(&rig), [(root(), "listener.lost".to_owned())], "no record before it is handed out");
    let waited = |rig: &Rig| rig.engine.state().find_thread(&root_of("a")).unwrap().calls["1"].clone();
    rig.replies("1 t1 a2", vec![crate::decide_stage::final_()]);
    rig.settle();
    assert_eq!(rig.seen().pop().unwrap(), "tool 1 t1 a2", "it could have been, and has a number of its own");
    assert_eq!((waited(&rig).own_attempt(), waited(&rig).deaths_on_record), (1, 0));
}

/// The token of each delivery so far, over all lives.
fn handed_out(rig: &Rig) -> Vec<String> {
    let token = |document: &String| {
        let (_, rest) = document.split_once(" delivery=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    rig.documents().iter().map(token).collect()
}

/// Calls that became ready in the same millisecond: the log does not say which of them went out.
#[test]
fn a_delivery_is_never_handed_out_twice_under_one_number() {
    for keys in [["k", "b"], ["b", "k"]] {
        let mut rig = Rig::new();
        for (ticket, key) in (1..).zip(keys) {
            rig.asks(ticket, key, "tool", None);
            rig.settle();
        }
        let mut rig = rig.killed();
        for _ in keys {
            let token = handed_out(&rig).pop().unwrap();
            let (thread, delivery) = token.split_once(' ').unwrap();
            let thread = ThreadId::parse(thread).unwrap();
            rig.says_in(&thread, delivery, JudgedContent::Items(vec![crate::decide_stage::final_()]));
            rig.settle();
        }
        let handed = handed_out(&rig);
        let numbers: std::collections::HashSet<_> = handed.iter().collect();
        assert_eq!((handed.len(), numbers.len()), (3, 3), "one that was lost, and both: {handed:?}");
    }
}

#[test]
fn what_waited_for_its_pause_was_not_out() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    rig.passes(1);
    rig.asks(2, "b", "tool", None);
    rig.settle();
    let gone = rig.leases.find_lease(&format!("{} 1 t1 a1", root())).unwrap().token.clone();
    rig.input(PumpInput::Gone { token: gone, code: Code::ListenerFailed, words: "exited 1".into() });
    rig.settle();
    assert_eq!(rig.seen().pop().unwrap(), "tool 1 t1 a1", "the second has the slot, the first its pause");
    let rig = rig.killed();
    let lost = (root_of("b"), "listener.lost".to_owned());
    assert_eq!(counted(&rig), [(root(), "listener.failed".to_owned()), lost]);
}

#[test]
fn a_delivery_that_kills_the_pump_is_counted_though_others_became_ready_at_the_same_moment() {
    let mut rig = Rig::new();
    let keys = ["k", "a", "b", "c", "d", "e"];
    for (ticket, key) in (1u64..).zip(keys) {
        rig.asks(ticket, key, "tool", None);
    }
    rig.settle();
    // The message that was delivered kills the pump; no other message does.
    let poison = rig.outside.documents.lock().unwrap().last().unwrap().clone();
    let poison = keys.iter().find(|k| poison.contains(root_of(k).as_str())).unwrap();
    for _ in 0..24 {
        let out = rig.documents().pop().unwrap();
        if out.contains(root_of(poison).as_str()) {
            rig = rig.killed();
        } else {
            let whose = keys.iter().find(|k| out.contains(root_of(k).as_str())).unwrap();
            let thread = root_of(whose);
            let calls = &rig.engine.state().find_thread(&thread).unwrap().calls;
            let Some(call) = calls.get("1") else { break };
            let delivery = format!("1 t1 a{}", call.attempts.max(1));
            rig.says_in(&thread, &delivery, JudgedContent::Items(vec![crate::decide_stage::final_()]));
            rig.settle();
        }
    }
    let dead: Vec<ThreadId> =
        counted(&rig).into_iter().filter(|(_, what)| what == "dead-letter").map(|(id, _)| id).collect();
    assert_eq!(dead, [root_of(poison)]);
}

#[test]
fn an_attempt_is_recorded_for_the_slot_it_takes_and_for_no_other() {
    let mut rig = Rig::new();
    for (ticket, key) in [(1, "k"), (2, "b"), (3, "c")] {
        rig.asks(ticket, key, "careful", None);
    }
    rig.settle();
    assert_eq!(counted(&rig).len(), 1, "one slot, one attempt");
    let mut rig = rig.killed();
    rig.settle();
    let dead = counted(&rig).iter().filter(|(_, what)| what == "dead-letter").count();
    assert_eq!(dead, 1, "the others were never sent, and are not failed");
    assert_eq!(rig.seen().len(), 1, "the next has the slot");
}

#[test]
fn a_call_cancelled_while_its_attempt_is_recorded_gives_its_slot_back() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "careful", None);
    rig.asks(2, "b", "careful", None);
    rig.read();
    rig.hand_over();
    let batch = rig.writing.pop_front().unwrap();
    let written = rig.commit(&batch);
    rig.input(PumpInput::Written(written));
    rig.cancels(3, &root());
    rig.cancels(4, &root_of("b"));
    rig.settle();
    rig.asks(5, "c", "careful", None);
    rig.settle();
    assert_eq!(rig.seen().pop().unwrap(), "careful 1 t1 a1");
}

#[test]
fn an_unknown_outcome_follows_the_configuration_its_call_began_with() {
    let two = changed(|c| careful(c).in_flight = 2);
    let mut rig = Rig::with(two.clone());
    for (ticket, key) in [(1, "k"), (2, "b")] {
        rig.asks(ticket, key, "careful", None);
    }
    rig.settle();
    assert_eq!(rig.seen().iter().filter(|l| l.starts_with("careful")).count(), 2);
    let mut now = composition();
    careful(&mut now).on_unknown = OnUnknown::Retry;
    let mut rig = rig.killed_into(now, vec![two]);
    rig.settle();
    assert_eq!(rig.seen(), Vec::<String>::new(), "neither is repeated in silence");
    let dead = counted(&rig).iter().filter(|(_, what)| what == "dead-letter").count();
    assert_eq!(dead, 2);
}

#[test]
fn an_attempt_that_waited_for_its_pause_is_made_after_it() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "careful", None);
    rig.settle();
    let token = rig.leases.find_lease(&format!("{} 1 t1 a1", root())).unwrap().token.clone();
    rig.input(PumpInput::Gone { token, code: Code::ListenerFailed, words: "exited 1".into() });
    rig.settle();
    let mut rig = rig.killed();
    assert!(rig.seen().is_empty());
    rig.passes(1_000);
    rig.settle();
    assert_eq!(rig.seen(), ["careful 1 t1 a2"]);
}

#[test]
fn a_conversation_goes_on_from_rows_as_from_records() {
    let play = |idle: bool| {
        let mut rig = Rig::new();
        rig.asks(1, "k", "agent", None);
        rig.settle();
        rig.replies("1 t1 a1", vec![call("tool"), note()]);
        rig.settle();
        rig.replies("1/1.0 t1 a1", vec![crate::decide_stage::final_()]);
        if idle {
            rig.idles();
        }
        rig.settle();
        let rig = rig.killed();
        (rig.seen(), rig.documents().pop().unwrap(), rig.engine.state().threads[&root()].clone())
    };
    let (seen, document, thread) = play(false);
    assert_eq!(seen, ["agent 1 t2 a2"]);
    assert!(document.contains("<done"), "{document}");
    let (again, from_rows, same) = play(true);
    assert_eq!((seen, document), (again, from_rows));
    assert_eq!((thread.calls, thread.head), (same.calls, same.head));
}
