//! Steering: a message for running work, from the call that spawned it or from outside.

use super::*;

fn child() -> ThreadId {
    root().make_child("heat").unwrap()
}

/// A child at work on a call to that listener, and turn 2 of its parent due.
fn parent_of(listener: &str) -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), listener)]);
    stage
}

fn word(to: &str) -> JudgedItem {
    for_thread(child().as_str(), PayloadKind::For(name(to)), to)
}

fn shown(stage: &DecideStage, thread: &ThreadId) -> Vec<u64> {
    stage.state.find_thread(thread).unwrap().calls["1"].shown_inbox().collect()
}

#[test]
fn e16_a_word_of_the_parent_is_handled_and_shown_at_the_childs_next_turn() {
    let mut stage = parent_of("agent");
    assert_eq!(
        stage.replies("1", 2, vec![word("agent")]),
        [
            "root 4 message/steer agent -> - 1 t2.0",
            "heat 2 steer/steered agent -> agent 1",
            "root 5 message/answer core -> agent 1/2.0",
            "=> agent 1 t3 a1",
        ],
        "the turn that is out is not disturbed"
    );
    let body = |line: &str| {
        let found = stage.records.iter().find(|record| record_line(record).starts_with(line)).unwrap();
        String::from_utf8_lossy(&found.body).into_owned()
    };
    let core = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
    assert_eq!(body("heat 2"), format!("<steer {core} from=\"agent\"><agent xmlns=\"urn:test\"/></steer>"));
    assert_eq!(body("root 5"), format!("<handled {core}/>"));
    assert!(shown(&stage, &child()).is_empty(), "turn 1 is out already");
    stage.says(&child(), "1", 1, JudgedContent::Items(vec![note()]));
    assert_eq!(shown(&stage, &child()), [2], "turn 2 shows it");
    stage.says(&child(), "1", 2, JudgedContent::Items(vec![note()]));
    assert!(shown(&stage, &child()).is_empty(), "and turn 3 does not again");
}

#[test]
fn e16_a_word_ends_a_wait_and_says_that_a_message_did() {
    let mut stage = parent_of("agent");
    let deep = child().make_child("deep").unwrap();
    stage.says(&child(), "1", 1, JudgedContent::Items(vec![spawn(Some("deep"), "tool")]));
    let wait = format!("<await-threads mode=\"all\"><thread id=\"{deep}\"/></await-threads>");
    let wait = primitive(&wait);
    stage.says(&child(), "1", 2, JudgedContent::Items(vec![wait]));
    assert_eq!(
        stage.replies("1", 2, vec![word("agent")]),
        [
            "root 4 message/steer agent -> - 1 t2.0",
            "heat 5 steer/steered agent -> agent 1",
            "heat 6 message/answer core -> agent 1/2.0",
            "root 5 message/answer core -> agent 1/2.0",
            "=> agent 1 t3 a1",
            "=> agent heat:1 t3 a1",
        ]
    );
    let over = stage.records.iter().find(|record| record_line(record).starts_with("heat 6")).unwrap();
    assert!(String::from_utf8_lossy(&over.body).contains("reason=\"message\" finished=\"0\" open=\"1\""));
    assert_eq!(shown(&stage, &child()), [5], "the word is shown with it");
}

#[test]
fn a_note_steers_a_child_of_any_listener() {
    let mut stage = parent_of("agent");
    let note = for_thread(child().as_str(), PayloadKind::Note, "thought");
    assert_eq!(stage.replies("1", 2, vec![note])[1], "heat 2 steer/steered agent -> agent 1");
}

#[test]
fn an_item_for_a_thread_that_is_no_running_child_creates_nothing() {
    let mut stage = parent_of("tool");
    stage.says(&child(), "1", 1, JudgedContent::Items(vec![final_()]));
    let strange = for_thread("sess-000000000000", PayloadKind::For(name("tool")), "tool");
    let sys = for_thread("sys", PayloadKind::For(name("tool")), "tool");
    let told = stage.replies("1", 2, vec![word("tool"), strange, sys]);
    let answers: Vec<&str> =
        told.iter().filter(|line| line.starts_with("root")).map(String::as_str).collect();
    assert_eq!(
        answers,
        [
            "root 5 refusal/thread.ended core -> agent 1 t2.0",
            "root 6 refusal/thread.unknown core -> agent 1 t2.1",
            "root 7 refusal/thread.unknown core -> agent 1 t2.2",
        ]
    );
    assert_eq!(told.last().unwrap(), "=> agent 1 t3 a1");
}

#[test]
fn what_the_child_could_not_be_shown_or_does_not_take_is_refused() {
    let mut stage = parent_of("tool");
    let told = stage.replies("1", 2, vec![word("tool"), word("other")]);
    assert_eq!(told[0], "root 4 refusal/budget.messages core -> agent 1 t2.0", "a tool has one turn");
    assert_eq!(told[1], "root 5 refusal/route.not-a-peer core -> agent 1 t2.1");

    let mut stage = parent_of("agent");
    for turn in 1..=3 {
        stage.says(&child(), "1", turn, JudgedContent::Items(vec![note()]));
    }
    let told = stage.replies("1", 2, vec![word("agent")]);
    assert_eq!(told[0], "root 4 refusal/budget.messages core -> agent 1 t2.0", "its last turn is out");

    let mut stage = parent_of("guarded");
    let told = stage.replies("1", 2, vec![word("guarded")]);
    assert_eq!(told[0], "root 4 refusal/payload.not-built core -> agent 1 t2.0", "no way round a person");

    let mut stage = parent_of("agent");
    let refused = Err(Refused { refusal: Refusal::new(Code::Invalid, "wrong"), kept: None });
    let bytes = payload("agent").bytes().clone();
    let invalid =
        JudgedItem::ForThread { thread: child().to_string(), payload: bytes, judged: Box::new(refused) };
    let final_ = for_thread(child().as_str(), PayloadKind::Final, "done");
    let told = stage.replies("1", 2, vec![invalid, final_]);
    assert_eq!(told[0], "root 4 refusal/payload.invalid core -> agent 1 t2.0");
    assert_eq!(told[1], "root 5 refusal/route.not-a-peer core -> agent 1 t2.1");
    assert_eq!(stage.state.find_thread(&child()).unwrap().seq, 1, "none of it reached the child");
}

#[test]
fn no_more_words_wait_than_may() {
    let mut stage = parent_of("agent");
    let told = stage.replies("1", 2, (0..64).map(|_| word("agent")).collect());
    assert!(!told.iter().any(|line| line.contains("refusal/")), "{told:?}");
    let told = stage.replies("1", 3, vec![word("agent")]);
    assert!(told[0].contains("refusal/thread.busy"), "{told:?}");
}

#[test]
fn e16_the_operator_steers_a_root_and_a_repeat_meets_the_receipt() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![set_timer("after=\"1h\"", ""), wait("all", &[])]);
    let told = stage.steers("operator", "agent", Some(&root()));
    assert_eq!(
        told,
        [
            "root 5 steer/steered operator -> agent 1",
            "root 6 message/answer core -> agent 1/1.1",
            "=> receipt #5",
            "=> agent 1 t2 a1",
        ]
    );
    assert!(bodies(&stage)[&5].contains("from=\"operator\""), "{}", bodies(&stage)[&5]);
    assert!(bodies(&stage)[&6].contains("reason=\"message\""));
    let again = stage.steers("operator", "agent", Some(&root()));
    assert_eq!(again, ["=> receipt #5 again"]);
}

#[test]
fn only_the_operator_and_the_opener_steer_and_others_hear_of_no_thread() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let told = stage.steers("mallory", "agent", Some(&root()));
    assert_eq!(told.last().unwrap(), "=> refused thread.unknown");
    let nowhere = ThreadId::parse("sess-000000000000").unwrap();
    let unknown = stage.steers("mallory", "agent", Some(&nowhere));
    assert_eq!(unknown.last(), told.last());
    let told = stage.steers("operator", "agent", None);
    assert_eq!(told.last().unwrap(), "=> refused thread.unknown", "a steer opens no thread");
}

#[test]
fn a_root_at_rest_has_nothing_to_steer_and_an_ended_one_neither() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let told = stage.steers("operator", "tool", Some(&root()));
    assert_eq!(told.last().unwrap(), "=> refused budget.messages");
    let told = stage.steers("operator", "agent", Some(&root()));
    assert_eq!(told.last().unwrap(), "=> refused route.not-a-peer");
    stage.replies("1", 1, vec![final_()]);
    let told = stage.steers("operator", "tool", Some(&root()));
    assert_eq!(told.last().unwrap(), "=> refused thread.resting");
    stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: root(),
    }));
    let told = stage.steers("operator", "tool", Some(&root()));
    assert_eq!(told.last().unwrap(), "=> refused thread.ended");
}

#[test]
fn a_word_for_a_call_that_waits_for_a_person_is_shown_after_its_request() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let dangerous =
        Payload::parse(b"<agent xmlns=\"urn:test\" is_dangerous=\"true\"/>", &DocumentLimits::default());
    let core = "<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>";
    let spawn = Payload::parse(core.as_bytes(), &DocumentLimits::default()).unwrap();
    let (initial, spawn) = (Verdict::from_valid(dangerous.unwrap()), Verdict::from_valid(spawn));
    let spawn = Admitted::new_spawn(Some("heat".into()), name("agent"), initial, spawn);
    stage.replies("1", 1, vec![JudgedItem::Admitted(spawn)]);
    stage.replies("1", 2, vec![word("agent")]);
    stage.rules(1, None, systole_core::types::person::PersonDecision::Approve);
    stage.says(&child(), "1", 1, JudgedContent::Items(vec![note()]));
    assert_eq!(shown(&stage, &child()), [3], "turn 1 shows the request alone");
}
