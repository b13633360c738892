//! Attempts that end without a reply: the next one, or a dead letter.

use super::*;

#[test]
fn out_lost_with_attempts_left_is_ready_again_after_a_pause_that_is_recorded() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(
        stage.loses("1", 1, 1, Code::ListenerLost),
        ["root 2 attempt/listener.lost core -> tool 1 t1", "=> tool 1 t1 a2"]
    );
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!(call.not_before, stage.now.add_ms(1_000));
    stage.loses("1", 1, 2, Code::ListenerTimeout);
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!((call.attempts, call.not_before), (3, stage.now.add_ms(2_000)), "the pause doubles");
}

#[test]
fn out_lost_with_none_left_is_closed_as_failed_with_a_dead_letter() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![call("tool")]);
    stage.loses("1/1.0", 1, 1, Code::ListenerLost);
    stage.loses("1/1.0", 1, 2, Code::ListenerLost);
    assert_eq!(
        stage.loses("1/1.0", 1, 3, Code::ListenerLost),
        [
            "root 5 outcome/dead-letter core -> tool 1/1.0 t1",
            "root 6 outcome/listener.lost core -> agent 1/1.0",
            "=> agent 1 t2 a1",
        ]
    );
    assert!(bodies(&stage)[&6].contains("last words"), "the caller reads the program's last words");
}

#[test]
fn out_failed_with_retry_is_ready_again_and_failed_without_is_closed() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let fails = |retry| JudgedContent::new_failure("upstream-down", retry, "503");
    assert_eq!(stage.says(&root(), "1", 1, fails(true))[1], "=> tool 1 t1 a2");
    assert_eq!(
        stage.says(&root(), "1", 1, fails(false)),
        ["root 3 outcome/dead-letter core -> tool 1 t1", "root 4 outcome/listener.failed core -> operator 1"]
    );
    let outcome = &bodies(&stage)[&4];
    assert!(outcome.contains("code=\"listener.failed\" first-code=\"upstream-down\""), "{outcome}");
}

#[test]
fn a_listener_that_passes_a_failure_on_names_the_first_code() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let (code, first_code) = ("step-failed".to_owned(), Some("model.unavailable".to_owned()));
    let failure = JudgedContent::Failure { code, first_code, retry: false, words: "no answer".to_owned() };
    stage.says(&root(), "1", 1, failure);
    let outcome = &bodies(&stage)[&3];
    assert!(outcome.contains("first-code=\"model.unavailable\""), "{outcome}");
    assert!(outcome.contains("message=\"tool: step-failed: no answer\""), "{outcome}");
}

#[test]
fn out_lost_with_on_unknown_fail_is_never_repeated() {
    let mut stage = DecideStage::new();
    stage.asks("k", "careful", None);
    let sending = EventKind::Sending { thread: root(), call: CallPath::new_top(1), turn: 1 };
    assert_eq!(stage.happens(sending), ["root 2 attempt/- core -> careful 1 t1", "=> careful 1 t1 a1"]);
    assert_eq!(
        stage.loses("1", 1, 1, Code::ListenerLost),
        [
            "root 3 outcome/dead-letter core -> careful 1 t1",
            "root 4 outcome/listener.lost core -> operator 1"
        ]
    );
}

#[test]
fn a_known_failure_is_repeated_also_where_an_unknown_outcome_is_not() {
    let mut stage = DecideStage::new();
    stage.asks("k", "careful", None);
    stage.happens(EventKind::Sending { thread: root(), call: CallPath::new_top(1), turn: 1 });
    assert_eq!(stage.loses("1", 1, 1, Code::ListenerFailed)[1], "=> careful 1 t1 a2");
}

#[test]
fn of_two_racing_ends_the_first_recorded_wins() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    stage.loses("1", 1, 1, Code::ListenerTimeout);
    assert_eq!(
        stage.loses("1", 1, 1, Code::ListenerLost),
        Vec::<String>::new(),
        "that attempt was over already"
    );
    let lease = stage.lease(&root(), "1", 1, 1);
    let late = EventKind::Replied(JudgedDocument {
        lease,
        said: JudgedContent::Items(vec![final_()]),
        claimed: None,
        ticket: None,
    });
    assert_eq!(stage.happens(late), ["root 3 refusal/reply.stale-lease core -> tool"]);
    let lease = stage.lease(&root(), "1", 1, 1);
    let said = JudgedContent::Failure {
        code: "listener.cancelled".into(),
        first_code: None,
        retry: false,
        words: "it was called back".into(),
    };
    let let_go = EventKind::Replied(JudgedDocument { lease, said, claimed: None, ticket: None });
    assert_eq!(stage.happens(let_go), Vec::<String>::new(), "work that was called back is let go");
    assert_eq!(stage.replies("1", 1, vec![final_()]), ["root 4 message/final tool -> operator 1 t1.0"]);
}

#[test]
fn a_delivery_that_keeps_dying_with_the_pump_is_a_dead_letter_after_five_attempts_on_record() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    // The first has no record: it may never have been handed out.
    for attempt in 1..=5 {
        assert_eq!(dies_with_pump(&mut stage, attempt)[1], format!("=> tool 1 t1 a{}", attempt + 1));
    }
    assert!(dies_with_pump(&mut stage, 6)[0].contains("dead-letter"));
}

/// The pump died while that attempt at the root's first turn was out.
fn dies_with_pump(stage: &mut DecideStage, attempt: u32) -> Vec<String> {
    stage.happens(EventKind::Lost(LostAttempt {
        id: AttemptId { thread: root(), call: CallPath::new_top(1), turn: 1, attempt },
        code: Code::ListenerLost,
        words: "the pump stopped".into(),
        with_pump: true,
        outage: None,
        request: None,
        then: None,
    }))
}

#[test]
fn deaths_of_the_pump_leave_a_listener_its_own_attempts_and_the_other_way_round() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    for attempt in 1..=4 {
        dies_with_pump(&mut stage, attempt);
    }
    // Three attempts of its own, after four that were not the listener's fault.
    assert_eq!(stage.loses("1", 1, 5, Code::ListenerFailed)[1], "=> tool 1 t1 a6");
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!(call.not_before, stage.now.add_ms(1_000), "nor do they make the pause longer");
    let fails = || JudgedContent::new_failure("upstream-down", true, "503");
    assert_eq!(stage.says(&root(), "1", 1, fails())[1], "=> tool 1 t1 a7");
    let row = stage.state.find_thread(&root()).unwrap().to_row();
    assert_eq!(systole_core::pump::state::Thread::from_row(&row).unwrap().calls["1"].lost_with_pump, 4);
    assert!(stage.says(&root(), "1", 1, fails())[0].contains("dead-letter"), "the third of its own");

    // Two failures of its own, and the pump may still die four times.
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    stage.loses("1", 1, 1, Code::ListenerFailed);
    stage.loses("1", 1, 2, Code::ListenerFailed);
    for attempt in 3..=6 {
        assert_eq!(dies_with_pump(&mut stage, attempt)[1], format!("=> tool 1 t1 a{}", attempt + 1));
    }
    assert!(dies_with_pump(&mut stage, 7)[0].contains("dead-letter"));
}

#[test]
fn a_listener_that_is_gone_from_the_organism_fails_its_calls() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(
        stage.loses("1", 1, 1, Code::Unavailable)[1],
        "root 3 outcome/route.unavailable core -> operator 1"
    );
}

#[test]
fn attempts_start_anew_with_the_next_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.loses("1", 1, 1, Code::ListenerLost);
    assert_eq!(stage.replies("1", 1, vec![note()])[1], "=> agent 1 t2 a1");
}
