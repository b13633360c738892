//! What listeners say while they work, in the heart: when they are answered, and how often.

use systole::pump::heart::Input;
use systole::rules::admit;
use systole::words::codes::Code;
use systole::words::flow::{Refused, Said};
use systole::words::limits;
use systole::words::ports::{Leases as _, Speech};
use systole::words::refusal::Refusal;
use systole_kit::Limits;
use systole_kit::ask::Question;

use super::Rig;
use crate::pump::{final_, name};

fn asks(id: u64) -> Said {
    Said::Ask { id, question: Ok(Question::PutBlob { text: String::new() }) }
}

/// The agent is out with its first turn.
fn out() -> Rig {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.seen();
    rig
}

#[test]
fn an_answer_goes_out_only_when_what_it_says_is_on_disk() {
    let mut rig = out();
    rig.says("1 t1 a1", asks(7));
    rig.hand_over();
    assert!(rig.seen().is_empty(), "the writer has not said that it is stored");
    rig.write();
    assert_eq!(rig.seen(), ["agent: answer 7 payload.not-built"]);
    rig.replies("1 t1 a1", vec![final_()]);
    rig.settle();
    assert_eq!(rig.lines().last().map(String::as_str), Some("root 3 message/final agent -> operator 1 t1.0"));
}

#[test]
fn a_delivery_may_ask_so_often_and_every_question_is_answered() {
    let mut rig = out();
    for id in 1..=limits::ASKS as u64 + 2 {
        rig.says("1 t1 a1", asks(id));
        rig.settle();
    }
    let seen = rig.seen();
    let last = seen.iter().rev().take(3).rev().map(String::as_str).collect::<Vec<_>>();
    let expected = [
        "agent: answer 64 payload.not-built",
        "agent: answer 65 reply.too-many-items",
        "agent: answer 66 reply.too-many-items",
    ];
    assert_eq!(last, expected);
    assert_eq!(seen.len(), limits::ASKS + 2);
}

#[test]
fn refused_words_are_recorded_one_by_one_until_there_are_too_many() {
    let mut rig = out();
    for id in 1..=40 {
        let refused = Refused { refusal: Refusal::new(Code::Invalid, "wrong"), kept: None };
        rig.says("1 t1 a1", Said::Journal { id, entry: Err(refused) });
    }
    rig.settle();
    assert_eq!(rig.seen().len(), 40, "each is answered");
    let refused = rig.lines().iter().filter(|line| line.contains("refusal/payload.invalid")).count();
    assert_eq!(refused, 20, "and the first of them are in the thread");
}

#[test]
fn a_word_for_a_delivery_that_is_over_is_refused_visibly_and_answered() {
    let mut rig = out();
    rig.replies("1 t1 a1", vec![final_()]);
    rig.idles();
    assert!(!rig.is_awake(&crate::pump::root()), "the thread has left memory");
    rig.seen();
    rig.says("1 t1 a1", asks(7));
    rig.settle();
    assert_eq!(rig.seen(), ["agent: answer 7 reply.stale-lease"]);
    let line = rig.lines().pop().unwrap();
    assert_eq!(line, "root 3 refusal/reply.stale-lease core -> agent");
}

#[test]
fn a_word_under_a_name_that_never_was_one_is_refused_in_sys_and_answered() {
    let mut rig = out();
    let document = "<ask xmlns='urn:systole:listener:v1' id='7' delivery='nobody'><journal/></ask>";
    let speech = Speech::Bytes(document.into());
    let leases = rig.leases.clone();
    let find = |token: &str| leases.find(token);
    let stray = admit::listener_word(&name("agent"), &speech, &Limits::default(), find).unwrap_err();
    rig.input(Input::Stray(*stray));
    rig.settle();
    assert_eq!(rig.seen(), ["agent: answer 7 reply.stale-lease"]);
    assert!(rig.lines().pop().unwrap().contains("sys 2 refusal/reply.stale-lease"), "{:?}", rig.lines());
}
