//! `on_unknown: ask`: if the outcome of an attempt is unknown, a person decides whether there is another one.

use std::sync::Arc;

use systole_core::types::person::PersonDecision;

use super::approvals::amendment;
use super::*;

/// `careful` asks a person about attempts with an unknown outcome, and `watch` is notified.
pub(crate) fn asking() -> Composition {
    let mut composition = composition();
    let careful = composition.listeners.get_mut(&name("careful")).unwrap();
    careful.on_unknown = OnUnknown::Ask;
    careful.turns = 3;
    careful.approval = ApprovalRule { always: false, expires_ms: 60_000, tell: vec![name("watch")] };
    composition
}

/// It is out with its first attempt, which was recorded before it was sent.
fn out() -> DecideStage {
    let mut stage = DecideStage::under(asking());
    stage.asks("k", "careful", None);
    sends(&mut stage, 1);
    stage
}

fn sends(stage: &mut DecideStage, turn: u32) {
    let (thread, call) = (root(), CallPath::new_top(1));
    stage.happens(EventKind::Sending { thread, call, turn });
}

/// The attempt is lost; the engine has looked the request up.
pub(crate) fn loses(stage: &mut DecideStage, turn: u32, attempt: u32, code: Code) -> Vec<String> {
    let request = stage.records.iter().find(|r| r.header.thread == root()).cloned().map(Arc::new);
    stage.happens(EventKind::Lost(LostAttempt {
        id: AttemptId { thread: root(), call: CallPath::new_top(1), turn, attempt },
        code,
        words: "last words".to_owned(),
        with_pump: false,
        outage: None,
        request,
        then: None,
    }))
}

/// It waits for a person after it began a model call.
fn held() -> DecideStage {
    let mut stage = out();
    stage.writes(1, journals(8, started()));
    loses(&mut stage, 1, 1, Code::ListenerLost);
    stage
}

#[test]
fn out_lost_is_held_for_a_person_with_what_is_unknown() {
    let mut stage = out();
    stage.writes(1, journals(8, started()));
    assert_eq!(
        loses(&mut stage, 1, 1, Code::ListenerLost),
        [
            "root 4 approval/requested core -> person 1",
            "sys 1 approval/requested core -> person",
            "root 5 message/tell core -> watch 1/0.4",
            "=> a1 expires in 60000",
            "=> watch 1/0.4 t1 a1",
        ]
    );
    let asked = &bodies(&stage)[&4];
    let hash = Digest::hash_bytes(payload("careful").bytes()).to_string();
    for words in [
        "id=\"a1\"",
        &format!("hash=\"{hash}\""),
        "to=\"careful\" element=\"careful\"",
        "unknown=\"attempt 1: model.unknown-outcome: lost after its model call began, which may have been paid",
        "listener.lost: last words",
    ] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!(call.stand(), systole_core::pump::state::CallState::Asking);
}

#[test]
fn out_timed_out_is_held_without_a_journal_too() {
    let mut stage = out();
    assert!(loses(&mut stage, 1, 1, Code::ListenerTimeout)[0].contains("approval/requested"));
    assert!(bodies(&stage)[&3].contains("unknown=\"attempt 1: listener.timeout: last words\""));
}

#[test]
fn a_known_failure_is_retried_without_asking_a_person() {
    let mut stage = out();
    assert!(loses(&mut stage, 1, 1, Code::ListenerFailed)[0].contains("attempt/listener.failed"));
    // The same applies to an attempt whose model call has its result.
    let mut stage = out();
    stage.writes(1, journals(8, started()));
    stage.writes(1, journals(9, result(8, "so")));
    assert!(loses(&mut stage, 1, 1, Code::ListenerFailed)[0].contains("attempt/listener.failed"));
}

#[test]
fn what_cannot_be_shown_to_a_person_closes_the_call() {
    let mut stage = out();
    let told = stage.loses("1", 1, 1, Code::ListenerLost);
    assert_eq!(told[1], "root 4 outcome/listener.lost core -> operator 1");
}

#[test]
fn held_approved_is_one_more_attempt_that_shows_the_same() {
    let mut stage = held();
    let before = stage.state.find_thread(&root()).unwrap().calls["1"].clone();
    assert_eq!(
        stage.rules(1, Some("go on"), PersonDecision::Approve),
        [
            "root 6 approval/approved core -> operator 1",
            "root 7 attempt/model.unknown-outcome core -> careful 1 t1",
            "=> done",
            "=> careful 1 t1 a2",
        ]
    );
    let after = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!((after.ready_seq, after.attempts), (before.ready_seq, 2), "what it shows has not moved");
    assert_eq!(after.journal.past, [3], "and it may ask for what the first wrote");
    // A further lost attempt is asked about again, under its own number, and notifies under its own path.
    let told = loses(&mut stage, 1, 2, Code::ListenerLost);
    assert_eq!(told[0], "root 8 approval/requested core -> person 1");
    assert_eq!(told[2], "root 9 message/tell core -> watch 1/0.8");
    assert!(bodies(&stage)[&8].contains("id=\"a2\""));
}

#[test]
fn held_rejected_closes_the_call_with_a_dead_letter() {
    let mut stage = held();
    assert_eq!(
        stage.rules(1, Some("it was paid"), PersonDecision::Reject)[..3],
        [
            "root 6 approval/rejected core -> operator 1",
            "root 7 outcome/dead-letter core -> careful 1 t1",
            "root 8 outcome/thread.cancelled core -> core 1/0.4",
        ]
    );
    let last = record_line(stage.records.iter().rev().find(|r| r.header.thread == root()).unwrap());
    assert_eq!(last, "root 9 outcome/approval.rejected core -> operator 1");
}

#[test]
fn held_expired_closes_the_call() {
    let mut stage = held();
    stage.passes(60_000);
    let told = stage.expires("1", 1);
    assert_eq!(told[0], "root 6 approval/expired core -> core 1");
    assert_eq!(told[1], "root 7 outcome/dead-letter core -> careful 1 t1");
    let last = bodies(&stage).into_values().last().unwrap();
    assert!(last.contains("no one decided in time whether to try it once more"), "{last}");
}

#[test]
fn held_cannot_be_amended() {
    let mut stage = held();
    let told = stage.rules(1, None, amendment("careful", payload("careful")));
    assert!(told[0].contains("refusal/approval.mismatch"), "{told:?}");
    assert_eq!(told.last().unwrap(), "=> refused approval.mismatch");
    let refusal = String::from_utf8_lossy(&stage.records.last().unwrap().body).into_owned();
    assert!(refusal.contains("cannot be changed"), "{refusal}");
    assert_eq!(
        stage.rules(1, None, PersonDecision::Approve).last().unwrap(),
        "=> careful 1 t1 a2",
        "it still waits"
    );
}

#[test]
fn a_later_turn_is_held_and_goes_on_as_it_was() {
    let mut stage = out();
    stage.replies("1", 1, vec![note()]);
    sends(&mut stage, 2);
    assert!(loses(&mut stage, 2, 1, Code::ListenerLost)[0].contains("approval/requested"));
    let told = stage.rules(1, None, PersonDecision::Approve);
    assert_eq!(told.last().unwrap(), "=> careful 1 t2 a2");
    let told = stage.replies("1", 2, vec![final_()]);
    assert!(told.iter().any(|line| line.contains("message/final careful -> operator 1 t2.0")), "{told:?}");
}

#[test]
fn a_cancel_of_a_held_call_needs_no_person() {
    let mut stage = held();
    let (by, thread) = (Name::new_operator(), root());
    stage.happens(EventKind::Ordered(ClientOrder::Cancel { ticket: Ticket(3), by, thread }));
    let told = stage.rules(1, None, PersonDecision::Approve);
    assert_eq!(told.last().unwrap(), "=> refused approval.decided");
}
