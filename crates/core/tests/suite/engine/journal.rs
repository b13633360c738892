//! Messages of listeners while they work, in the engine: when they are answered, and how often.

use systole_core::rules::admit;
use systole_core::types::codes::Code;
use systole_core::types::flow::Refused;
use systole_core::types::limits;
use systole_core::types::person::{PersonDecision, PersonRequestId, Ruling};
use systole_core::types::ports::ArrivedDocument;
use systole_wire::DocumentLimits;
use systole_wire::ask::PumpQuestion;
use systole_wire::journal::{EarlierEntries, JournalEntry};

use super::*;
use crate::decide_stage::{asks as recalls, journals, result, started};
use crate::decide_stage::{final_, note};
use crate::pump::unknown::asking;

fn asks(id: u64) -> JudgedContent {
    JudgedContent::Ask { id, question: Ok(PumpQuestion::PutBlob { bytes: Vec::new() }) }
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
    assert_eq!(rig.seen(), ["agent: answer 7 blob"]);
    rig.replies("1 t1 a1", vec![final_()]);
    rig.settle();
    assert_eq!(rig.lines().last().map(String::as_str), Some("root 2 message/final agent -> operator 1 t1.0"));
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
        "agent: answer 64 blob",
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
        rig.says("1 t1 a1", JudgedContent::Journal { id, entry: Err(refused) });
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
    assert!(!rig.is_awake(&crate::decide_stage::root()), "the thread has left memory");
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
    let speech = ArrivedDocument::Bytes(document.into());
    let leases = rig.leases.clone();
    let find = |token: &str| leases.find_lease(token);
    let stray = admit::listener_word(&name("agent"), &speech, &DocumentLimits::default(), find).unwrap_err();
    rig.input(PumpInput::Stray(*stray));
    rig.settle();
    assert_eq!(rig.seen(), ["agent: answer 7 reply.stale-lease"]);
    assert!(rig.lines().pop().unwrap().contains("sys 2 refusal/reply.stale-lease"), "{:?}", rig.lines());
}

/// The entries of the last answer to a journal question, and where the next page begins.
fn recalled(rig: &Rig) -> (Vec<String>, Option<u64>) {
    let answers = rig.answers_given();
    let past = EarlierEntries::from_payload(answers.last().unwrap().payload.as_ref().unwrap()).unwrap();
    let text = |entry: &JournalEntry| match entry {
        JournalEntry::Started(_) => "started".to_owned(),
        JournalEntry::Result(outcome) => outcome.text.chars().take(3).collect(),
    };
    let told = past.entries.iter().map(|it| format!("{} {} {}", it.attempt, it.id, text(&it.entry)));
    (told.collect(), past.next)
}

#[test]
fn after_a_death_of_the_pump_the_next_attempt_finds_what_was_bought() {
    let mut rig = out();
    rig.says("1 t1 a1", journals(8, started()));
    rig.says("1 t1 a1", journals(9, result(8, "so")));
    rig.says("1 t1 a1", journals(10, started()));
    rig.settle();
    let mut rig = rig.killed();
    assert_eq!(rig.seen(), ["agent 1 t1 a2"]);
    assert!(rig.lines().concat().contains("attempt/model.unknown-outcome"), "{:?}", rig.lines());
    let document = rig.documents().pop().unwrap();
    assert!(document.contains("attempt=\"2\"") && document.contains("journal=\"3\""), "{document}");
    rig.says("1 t1 a2", recalls(7, 0));
    rig.settle();
    assert_eq!(rig.seen(), ["agent: answer 7 entries"]);
    assert_eq!(recalled(&rig).0, ["1 8 started", "1 9 so", "1 10 started"]);
}

#[test]
fn records_not_yet_on_disk_when_the_pump_died_were_never_confirmed() {
    let mut rig = out();
    rig.says("1 t1 a1", journals(8, started()));
    rig.hand_over();
    assert!(rig.seen().is_empty());
    let rig = rig.killed();
    assert_eq!(rig.seen(), ["agent 1 t1 a2"]);
    assert!(rig.lines().concat().contains("attempt/listener.lost"), "no model was called: {:?}", rig.lines());
    assert!(!rig.documents().pop().unwrap().contains("journal="));
}

#[test]
fn a_journal_comes_in_pages() {
    let mut rig = out();
    for n in 0..4 {
        rig.says("1 t1 a1", journals(2 * n + 1, started()));
        rig.says("1 t1 a1", journals(2 * n + 2, result(2 * n + 1, &n.to_string().repeat(100 << 10))));
    }
    rig.settle();
    let mut rig = rig.killed();
    let mut from = Some(0);
    let mut pages = Vec::new();
    while let Some(next) = from {
        rig.says("1 t1 a2", recalls(100 + next, next));
        rig.settle();
        let (entries, more) = recalled(&rig);
        pages.push(entries.len());
        from = more;
    }
    assert_eq!(pages, [5, 3], "256 KB, and the rest");
}

#[test]
fn an_unreadable_journal_is_reported_to_the_listener_and_in_sys() {
    for (fails, code) in [(0, "thread.damaged"), (1, "ingress.unavailable")] {
        let mut rig = out();
        rig.says("1 t1 a1", journals(8, started()));
        rig.settle();
        let mut rig = rig.killed();
        rig.seen();
        rig.reader.fails.store(fails, Ordering::Relaxed);
        rig.reader.deaf.store(fails == 0, Ordering::Relaxed);
        rig.says("1 t1 a2", recalls(7, 0));
        rig.settle();
        assert_eq!(rig.seen(), [format!("agent: answer 7 {code}")]);
        assert!(rig.lines().pop().unwrap().starts_with("sys "), "{:?}", rig.lines());
    }
}

#[test]
fn a_call_that_wrote_in_its_journal_was_out_whatever_the_slots_of_its_configuration_say() {
    let mut wide = composition();
    wide.hash = Digest([8; 32]);
    wide.listeners.get_mut(&name("agent")).unwrap().in_flight = 4;
    let mut rig = Rig::new();
    for (ticket, key) in [(1, "a"), (2, "k")] {
        rig.asks(ticket, key, "agent", None);
        rig.settle();
        rig.passes(1);
    }
    // Both began with one slot, and go out together if there are more.
    let mut rig = rig.killed_into(wide.clone(), vec![composition()]);
    let first = ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse("a").unwrap(), 12);
    rig.says_in(&first, "1 t1 a2", journals(8, started()));
    rig.settle();
    let rig = rig.killed_into(wide, vec![composition()]);
    let lines = rig.lines().concat();
    assert!(lines.contains("attempt/model.unknown-outcome"), "{lines}");
}

/// `careful` asks a person; it is out, and has begun a model call.
fn asks_a_person() -> Rig {
    let mut rig = Rig::with(asking());
    rig.asks(1, "k", "careful", None);
    rig.settle();
    rig.says("1 t1 a1", journals(8, started()));
    rig.settle();
    rig.seen();
    rig
}

fn approves(rig: &mut Rig) {
    let (ticket, by, request) = (Ticket(5), Name::new_operator(), PersonRequestId(1));
    rig.input(PumpInput::Ordered(ClientOrder::Ruled(Ruling {
        ticket,
        by,
        request,
        hash: None,
        note: None,
        says: PersonDecision::Approve,
    })));
    rig.settle();
}

#[test]
fn a_call_that_a_person_is_asked_about_waits_through_restarts_and_goes_out_once() {
    let mut rig = asks_a_person().killed_into(asking(), vec![]);
    assert_eq!(rig.seen(), ["watch 1/0.4 t1 a1"], "the call itself is held, its request read from the log");
    rig.says("1/0.4 t1 a1", JudgedContent::Items(Vec::new()));
    rig.settle();
    let mut rig = rig.killed_into(asking(), vec![]);
    assert_eq!(rig.seen(), Vec::<String>::new(), "still held");
    approves(&mut rig);
    assert_eq!(rig.seen(), ["5: done", "careful 1 t1 a2"]);
    rig.says("1 t1 a2", JudgedContent::Items(vec![note()]));
    rig.settle();
    assert!(rig.lines().iter().any(|line| line.starts_with("root") && line.contains("message/note")));
}

#[test]
fn a_request_for_approval_of_an_attempt_expires_by_itself() {
    let mut rig = asks_a_person().killed_into(asking(), vec![]);
    rig.passes(60_001);
    rig.settle();
    let lines = rig.lines();
    assert!(lines.iter().any(|line| line.contains("outcome/approval.expired")), "{lines:?}");
}
