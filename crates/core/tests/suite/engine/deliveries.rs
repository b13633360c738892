//! Deliveries that are out: deadlines, call-backs, slots, and the content of a turn.

use systole_core::types::codes::Code;
use systole_core::types::rate::Rate;
use systole_wire::{DocumentLimits, Payload};

use super::*;
use crate::decide_stage::{call, final_, note};

fn token(delivery: &str) -> LeaseToken {
    LeaseToken(format!("{} {delivery}", root()).into())
}

#[test]
fn an_attempt_past_its_deadline_is_called_back_and_keeps_its_slot_until_it_is_over() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    rig.seen();
    rig.passes(29_999);
    assert!(rig.seen().is_empty());
    rig.passes(1);
    rig.settle();
    assert_eq!(rig.seen(), ["call back 1 t1 a1 TimedOut"]);
    assert_eq!(rig.lines().pop().unwrap(), "root 2 attempt/listener.timeout core -> tool 1 t1");
    rig.passes(5_000);
    assert!(rig.seen().is_empty(), "the slot is not free yet");
    rig.input(PumpInput::Gone { token: token("1 t1 a1"), code: Code::ListenerTimeout, words: String::new() });
    rig.settle();
    assert_eq!(rig.seen(), ["tool 1 t1 a2"]);
}

#[test]
fn a_turn_after_again_shows_its_code_its_feedback_and_the_notices_before_it_in_order() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    let notice = |n: u32| JudgedContent::Notice {
        code: format!("agent.n{n}"),
        words: format!("repaired <{n}> & \"so\""),
    };
    rig.says("1 t1 a1", notice(1));
    rig.says("1 t1 a1", notice(2));
    rig.says(
        "1 t1 a1",
        JudgedContent::Again { code: "agent.prose-only".into(), words: "No <action>.\nTry.".into() },
    );
    rig.settle();
    let document = rig.documents().pop().unwrap();
    assert_eq!(document.matches("retry_allowed=\"true\"").count(), 3, "it may say it again: {document}");
    let payload = systole_wire::envelope::read_delivered(document.as_bytes()).unwrap().payload;
    let answers = systole_wire::answers::Answers::from_payload(&payload).unwrap();
    let told = |payload: &Payload| {
        let word = |name| payload.find_attribute(name).unwrap_or_default();
        (payload.name().local.to_string(), word("code"), word("message"))
    };
    let error = |code: &str, words: &str| ("system-error".to_owned(), code.to_owned(), words.to_owned());
    let [item] = answers.items.as_slice() else { panic!("{document}") };
    assert_eq!((item.ordinal, item.from.as_deref()), (0, Some("core")));
    assert_eq!(told(item.payload.as_ref().unwrap()), error("agent.prose-only", "No <action>.\nTry."));
    let inbox: Vec<_> = answers.inbox.iter().map(told).collect();
    assert_eq!(
        inbox,
        [error("agent.n1", "repaired <1> & \"so\""), error("agent.n2", "repaired <2> & \"so\"")]
    );
}

#[test]
fn row_45_a_clock_that_is_set_ends_no_attempt_and_no_pause() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    rig.seen();
    rig.clock_set_forward(10 * 365 * 86_400_000);
    rig.settle();
    assert!(rig.seen().is_empty(), "the delivery has been out for no time");
    rig.input(PumpInput::Gone { token: token("1 t1 a1"), code: Code::ListenerFailed, words: String::new() });
    rig.settle();
    rig.clock_set_forward(86_400_000);
    rig.settle();
    assert!(rig.seen().is_empty(), "nor has the pause passed");
    rig.passes(1_000);
    assert_eq!(rig.seen(), ["tool 1 t1 a2"]);
}

#[test]
fn a_cancelled_call_is_called_back_and_its_slot_is_kept_until_it_is_over() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.asks(2, "b", "tool", None);
    rig.settle();
    rig.seen();
    rig.cancels(3, &root());
    rig.settle();
    assert_eq!(rig.seen(), ["call back 1 t1 a1 Cancelled", "3: done"]);
    rig.input(PumpInput::Gone { token: token("1 t1 a1"), code: Code::CancelledThread, words: String::new() });
    assert_eq!(rig.seen(), ["tool 1 t1 a1"]);
}

#[test]
fn a_turn_may_show_more_than_is_kept_at_hand() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", (0..40).map(|_| call("tool")).collect());
    rig.settle();
    let text = "x".repeat(900_000);
    let document = format!("<done xmlns=\"urn:test\">{text}</done>");
    let done = Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap();
    for n in 0..40 {
        let answer =
            JudgedItem::Admitted(Admitted::new(PayloadKind::Final, Verdict::from_valid(done.clone())));
        rig.replies(&format!("1/1.{n} t1 a1"), vec![answer]);
        rig.settle();
    }
    assert_eq!(rig.seen().pop().unwrap(), "agent 1 t2 a1");
    assert!(rig.documents().pop().unwrap().len() > 36_000_000);
}

#[test]
fn a_turn_whose_records_were_looked_up_does_not_go_out_once_the_organism_stops() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![note(), call("tool")]);
    rig.settle();
    rig.replies("1/1.1 t1 a1", vec![final_()]);
    rig.settle();
    // After a start nothing is in memory, so the turn's records are read from the log.
    let mut rig = rig.killed_unread();
    rig.write();
    rig.look();
    rig.input(PumpInput::Stop);
    rig.settle();
    assert!(rig.seen().is_empty());
}

#[test]
fn a_record_that_cannot_be_read_is_not_blamed_on_the_addressee() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    let mut rig = rig.killed_unread();
    rig.reader.deaf.store(true, Ordering::Relaxed);
    rig.settle();
    let failed: Vec<String> = rig.lines().into_iter().filter(|l| l.contains("outcome/")).collect();
    assert!(failed.iter().any(|l| l.contains("thread.damaged")), "{failed:?}");
}

#[test]
fn a_log_that_cannot_be_read_for_a_moment_costs_a_pause_and_no_attempt() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    let mut rig = rig.killed_unread();
    rig.reader.fails.store(1, Ordering::Relaxed);
    rig.settle();
    let lines = rig.lines();
    assert!(lines.iter().any(|l| l.starts_with("sys") && l.contains("ingress.unavailable")), "{lines:?}");
    assert!(!lines.iter().any(|l| l.contains("outcome/")), "{lines:?}");
    assert!(rig.seen().is_empty());
    rig.passes(10_000);
    rig.settle();
    assert_eq!(rig.seen(), ["tool 1 t1 a2"], "the attempt that died with the pump was the first");
}

#[test]
fn notices_of_one_turn_are_kept_up_to_a_limit_that_the_listener_learns() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    for n in 0..100 {
        rig.says("1 t1 a1", JudgedContent::Notice { code: "x".into(), words: format!("notice {n}") });
    }
    rig.replies("1 t1 a1", vec![note()]);
    rig.settle();
    let shown = rig.documents().pop().unwrap();
    assert!(shown.contains("notice 63") && !shown.contains("notice 64"));
    assert!(shown.contains("reply.too-many-items"), "and the listener reads why");
    assert_eq!(rig.lines().iter().filter(|l| l.contains("message/inbox")).count(), 65);
}

#[test]
fn what_an_attempt_says_again_because_the_one_before_it_died_is_shown_once() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    let notice = |words: &str| JudgedContent::Notice { code: "x".into(), words: words.into() };
    for words in ["first", "first", "of the first attempt alone"] {
        rig.says("1 t1 a1", notice(words));
    }
    rig.input(PumpInput::Gone { token: token("1 t1 a1"), code: Code::ListenerLost, words: String::new() });
    rig.settle();
    rig.passes(10_000);
    rig.settle();
    for words in ["first", "second", "second"] {
        rig.says("1 t1 a2", notice(words));
    }
    rig.replies("1 t1 a2", vec![note()]);
    rig.settle();
    let told = rig.lines().into_iter().filter(|line| line.contains("message/inbox")).count();
    assert_eq!(told, 5, "an attempt may repeat itself, and what it did not say stays");
    let shown = rig.documents().pop().unwrap();
    let words =
        ["first\"", "of the first attempt alone\"", "second\""].map(|word| shown.matches(word).count());
    assert_eq!(words, [2, 1, 2], "{shown}");
    // The next turn may say it again.
    rig.says("1 t2 a1", notice("first"));
    rig.settle();
    assert_eq!(rig.lines().into_iter().filter(|line| line.contains("message/inbox")).count(), 6);
}

#[test]
fn d12_no_more_deliveries_go_to_a_listener_than_its_rate_and_no_call_is_refused_for_it() {
    let mut page = composition();
    let tool = page.listeners.get_mut("tool").unwrap();
    (tool.rate, tool.in_flight, tool.timeout_ms) = (Rate::parse("2/m"), 8, 3_600_000);
    page.listeners.get_mut("quiet").unwrap().timeout_ms = 3_600_000;
    let mut rig = Rig::with(page);
    rig.seen();
    for ticket in 1..=5 {
        rig.asks(ticket, &format!("k{ticket}"), "tool", None);
    }
    rig.asks(6, "other", "quiet", None);
    rig.settle();
    let mut seen = rig.seen();
    seen.retain(|line| !line.contains("receipt"));
    assert_eq!(
        seen,
        ["quiet 1 t1 a1", "tool 1 t1 a1", "tool 1 t1 a1"],
        "the others wait, and hold no one up"
    );
    for _ in 0..3 {
        rig.passes(29_999);
        rig.settle();
        assert_eq!(rig.seen(), [""; 0]);
        rig.passes(1);
        rig.settle();
        assert_eq!(rig.seen(), ["tool 1 t1 a1"], "one more each half of a minute");
    }
    rig.passes(600_000);
    rig.settle();
    assert!(rig.lines().iter().all(|line| !line.contains("outcome") && !line.contains("refusal")));
}

#[test]
fn a_reply_sent_over_and_over_pushes_no_other_lease_out() {
    let mut rig = Rig::new();
    for (ticket, key) in [(1, "k"), (2, "b")] {
        rig.asks(ticket, key, "tool", None);
        rig.settle();
    }
    rig.replies("1 t1 a1", vec![final_()]);
    let b = ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse("b").unwrap(), 12);
    for _ in 0..5_000 {
        rig.says_in(&b, "1 t1 a1", JudgedContent::Items(vec![final_()]));
    }
    assert!(rig.leases.find_lease(&token("1 t1 a1").0).is_some());
}
