//! Payloads that need a person: held with their request in the same commit, on every path, and their
//! four outcomes, each bound to the request's id and to the hash of the bytes.

use super::*;
use systole_core::pump::fold::apply_record;
use systole_core::types::person::{PersonDecision, PersonRequestId, Ruling};
use systole_core::types::record::RecordKind;

/// A payload that marks itself as dangerous.
pub(crate) fn dangerous(local: &str) -> Payload {
    let document = format!("<{local} xmlns=\"urn:test\" is_dangerous=\"true\"/>");
    Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap()
}

/// An amendment, as the door judged it.
type Judged = Box<Result<Admitted, Refused>>;

impl DecideStage {
    pub(crate) fn rules(&mut self, id: u64, note: Option<&str>, says: PersonDecision<Judged>) -> Vec<String> {
        self.rules_on(id, None, note, says)
    }

    fn rules_on(
        &mut self,
        id: u64,
        hash: Option<Digest>,
        note: Option<&str>,
        says: PersonDecision<Judged>,
    ) -> Vec<String> {
        self.happens(EventKind::Ordered(ClientOrder::Ruled(Ruling {
            ticket: Ticket(5),
            by: Name::new_operator(),
            request: PersonRequestId(id),
            hash,
            note: note.map(str::to_owned),
            says,
        })))
    }

    pub(crate) fn expires(&mut self, path: &str, id: u64) -> Vec<String> {
        let place = CallPath::parse(path).unwrap();
        self.happens(EventKind::Expired { thread: root(), place, request: PersonRequestId(id) })
    }
}

/// The replacement for a payload to that listener.
pub(crate) fn amendment(to: &str, payload: Payload) -> PersonDecision<Judged> {
    PersonDecision::Amend(Box::new(Ok(Admitted::new(
        PayloadKind::For(name(to)),
        Verdict::from_valid(payload),
    ))))
}

/// An agent whose first item waits for a person.
fn held() -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![call("guarded"), call("tool")]);
    stage
}

fn body(stage: &DecideStage, seq: u64) -> String {
    bodies(stage)[&seq].clone()
}

#[test]
fn held_a_call_its_request_is_recorded_with_it_counted_in_sys_and_told() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![call("guarded"), call("tool")]),
        [
            "root 2 message/call agent -> guarded 1 t1.0",
            "root 3 approval/requested core -> person 1/1.0",
            "sys 1 approval/requested core -> person",
            "root 4 message/tell core -> watch 1/1.0/0.0",
            "root 5 message/call agent -> tool 1 t1.1",
            "=> a1 expires in 60000",
            "=> watch 1/1.0/0.0 t1 a1",
            "=> tool 1/1.1 t1 a1",
        ]
    );
    let hash = Digest::hash_bytes(payload("guarded").bytes());
    let told = body(&stage, 3);
    for wanted in [
        r#"id="a1""#.to_owned(),
        format!(r#"hash="{hash}""#),
        r#"to="guarded""#.to_owned(),
        r#"call="1/1.0""#.to_owned(),
    ] {
        assert!(told.contains(&wanted), "{told}");
    }
    assert_eq!(told, body(&stage, 4), "the notified listener reads the same");
}

#[test]
fn held_approved_it_goes_out_as_it_was() {
    let mut stage = held();
    assert_eq!(
        stage.rules(1, None, PersonDecision::Approve),
        ["root 6 approval/approved core -> operator 1/1.0", "=> done", "=> guarded 1/1.0 t1 a1"]
    );
    assert!(body(&stage, 6).contains(r#"outcome="approved" by="operator" hash=""#), "{}", body(&stage, 6));
    assert_eq!(
        stage.replies("1/1.0", 1, vec![final_()]),
        [
            "root 7 outcome/thread.cancelled core -> core 1/1.0/0.0",
            "root 8 message/final guarded -> agent 1/1.0 t1.0",
            "=> call back 1/1.0/0.0",
        ],
        "no one waits for a party that was told"
    );
}

#[test]
fn held_amended_the_other_bytes_go_out_under_the_callers_name() {
    let mut stage = held();
    let other =
        Payload::parse(b"<guarded xmlns=\"urn:test\"> </guarded>", &DocumentLimits::default()).unwrap();
    let told = stage.rules(1, Some("milder"), amendment("guarded", other.clone()));
    assert_eq!(
        told,
        [
            "root 6 approval/amendment operator -> guarded 1/1.0",
            "root 7 approval/amended core -> operator 1/1.0",
            "=> done",
            "=> guarded 1/1.0 t1 a1",
        ]
    );
    let decided = body(&stage, 7);
    let hash = Digest::hash_bytes(other.bytes()).to_string();
    assert!(decided.contains(&hash) && decided.contains(r#"note="milder""#), "{decided}");
    let thread = stage.state.find_thread(&root()).unwrap();
    let path = CallPath::parse("1/1.0").unwrap();
    let lease = stage.lease(&root(), "1/1.0", 1, 1);
    let found = |seq| stage.records.iter().find(|r| r.header.seq == seq).cloned().map(Arc::new);
    let sent = delivered(&thread.calls[&path], lease, found);
    assert_eq!(sent.payload.bytes(), other.bytes());
    assert_eq!((sent.from.as_str(), sent.stamp.sha256.as_deref()), ("agent", Some(hash.as_str())));
}

#[test]
fn held_an_amendment_that_is_refused_or_for_another_leaves_it_waiting() {
    let mut stage = held();
    assert_eq!(
        stage.rules(1, None, amendment("tool", payload("tool"))),
        ["root 6 refusal/route.not-a-peer core -> operator", "=> refused route.not-a-peer"]
    );
    let wrong = Refused { refusal: Refusal::new(Code::Invalid, "wrong"), kept: None };
    assert_eq!(
        stage.rules(1, None, PersonDecision::Amend(Box::new(Err(wrong)))),
        ["root 7 refusal/payload.invalid core -> operator", "=> refused payload.invalid"]
    );
    assert_eq!(stage.rules(1, None, PersonDecision::Approve)[1..], ["=> done", "=> guarded 1/1.0 t1 a1"]);
}

#[test]
fn held_rejected_its_caller_reads_the_note() {
    let mut stage = held();
    assert_eq!(
        stage.rules(1, Some("not on a Friday"), PersonDecision::Reject),
        [
            "root 6 approval/rejected core -> operator 1/1.0",
            "root 7 outcome/thread.cancelled core -> core 1/1.0/0.0",
            "root 8 outcome/approval.rejected core -> agent 1/1.0",
            "=> call back 1/1.0/0.0",
            "=> done",
        ]
    );
    assert!(body(&stage, 8).contains("operator rejected it: not on a Friday"), "{}", body(&stage, 8));
    assert_eq!(stage.replies("1/1.1", 1, vec![final_()])[1], "=> agent 1 t2 a1");
}

#[test]
fn held_expired_its_caller_is_told() {
    let mut stage = held();
    stage.replies("1/1.1", 1, vec![final_()]);
    assert_eq!(
        stage.expires("1/1.0", 1),
        [
            "root 7 approval/expired core -> core 1/1.0",
            "root 8 outcome/thread.cancelled core -> core 1/1.0/0.0",
            "root 9 outcome/approval.expired core -> agent 1/1.0",
            "=> call back 1/1.0/0.0",
            "=> agent 1 t2 a1",
        ]
    );
    assert_eq!(stage.expires("1/1.0", 1), [""; 0], "and once only");
}

#[test]
fn a_request_that_was_decided_in_time_does_not_expire() {
    let mut stage = held();
    stage.rules(1, None, PersonDecision::Approve);
    assert_eq!(stage.expires("1/1.0", 1), [""; 0]);
}

#[test]
fn a_second_answer_meets_decided_other_bytes_mismatch_and_no_request_unknown() {
    let mut stage = held();
    assert_eq!(
        stage.rules_on(1, Some(Digest::hash_bytes(b"other bytes")), None, PersonDecision::Approve),
        ["root 6 refusal/approval.mismatch core -> operator", "=> refused approval.mismatch"]
    );
    let seen = Some(Digest::hash_bytes(payload("guarded").bytes()));
    assert_eq!(stage.rules_on(1, seen, None, PersonDecision::Approve)[1], "=> done");
    for late in [PersonDecision::Approve, PersonDecision::Reject, amendment("guarded", payload("guarded"))] {
        assert_eq!(stage.rules(1, None, late)[1], "=> refused approval.decided");
    }
    for never in [0, 2, u64::MAX] {
        assert_eq!(stage.rules(never, None, PersonDecision::Approve)[1], "=> refused approval.unknown");
    }
}

#[test]
fn held_cancelled_with_its_caller_it_never_goes_out() {
    let mut stage = held();
    stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: root(),
    }));
    assert_eq!(stage.rules(1, None, PersonDecision::Approve)[1], "=> refused approval.decided");
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let heat = root().make_child("heat").unwrap();
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![call("guarded")]));
    stage.replies("1", 2, vec![final_()]);
    let told = stage.replies("1", 3, vec![final_()]);
    assert!(told.contains(&"heat 5 terminal/thread.cancelled core -> core".to_owned()), "{told:?}");
    assert_eq!(stage.rules(1, None, PersonDecision::Approve)[1], "=> refused approval.decided");
}

#[test]
fn held_from_outside_it_has_its_receipt_and_holds_what_is_queued_behind_it() {
    let mut stage = DecideStage::new();
    assert_eq!(
        stage.asks("k", "guarded", None),
        [
            "root 1 message/request operator -> guarded 1",
            "root 2 approval/requested core -> person 1",
            "sys 1 approval/requested core -> person",
            "root 3 message/tell core -> watch 1/0.0",
            "=> a1 expires in 60000",
            "=> receipt #1",
            "=> watch 1/0.0 t1 a1",
        ]
    );
    assert_eq!(stage.asks("k", "guarded", None), ["=> receipt #1 again"], "a repeat asks no person again");
    assert_eq!(stage.asks("k2", "tool", Some(&root()))[1..], ["=> receipt #4"]);
    let told = stage.rules(1, Some("no"), PersonDecision::Reject);
    assert_eq!(told[2], "root 7 outcome/approval.rejected core -> operator 1");
    assert_eq!(told[5], "=> tool 2 t1 a1", "the next in the queue goes out: {told:?}");
}

#[test]
fn held_behind_an_open_call_it_may_be_decided_before_its_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.asks("k2", "guarded", Some(&root()));
    stage.asks("k3", "guarded", Some(&root()));
    let before = stage.state.find_thread(&root()).unwrap().calls["1"].clone();
    stage.rules(2, Some("no"), PersonDecision::Reject);
    assert_eq!(stage.state.find_thread(&root()).unwrap().calls["1"], before, "the open call is not touched");
    assert_eq!(stage.rules(1, None, PersonDecision::Approve)[1..], ["=> done"], "it is not its turn yet");
    assert_eq!(stage.replies("1", 1, vec![final_()])[1..], ["=> guarded 2 t1 a1"]);
}

#[test]
fn held_the_initial_payload_of_a_child_and_how_it_ends() {
    for (says, outcome) in [(PersonDecision::Reject, "rejected"), (PersonDecision::Approve, "")] {
        let mut stage = DecideStage::new();
        stage.asks("k", "agent", None);
        let told = stage.replies("1", 1, vec![spawn(Some("heat"), "guarded")]);
        assert_eq!(
            told[..5],
            [
                "root 2 message/spawn agent -> - 1 t1.0",
                "heat 1 message/begin agent -> guarded 1",
                "root 3 message/answer core -> agent 1/1.0",
                "heat 2 approval/requested core -> person 1",
                "sys 1 approval/requested core -> person",
            ]
        );
        let told = stage.rules(1, None, says);
        if outcome.is_empty() {
            assert_eq!(told[2], "=> guarded heat:1 t1 a1");
        } else {
            assert!(told.contains(&"root 4 message/inbox core -> agent 1".to_owned()), "{told:?}");
            assert!(body(&stage, 4).contains(&format!("outcome=\"{outcome}\"")), "{}", body(&stage, 4));
        }
    }
}

#[test]
fn a_payload_that_calls_itself_dangerous_waits_whatever_the_rule_and_one_that_does_not_only_by_rule() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let says = |to: &str, payload| {
        JudgedItem::Admitted(Admitted::new(PayloadKind::For(name(to)), Verdict::from_valid(payload)))
    };
    let harmless =
        Payload::parse(b"<guarded xmlns=\"urn:test\" is_dangerous=\"false\"/>", &DocumentLimits::default());
    let marked = Verdict::from_valid(payload("other")).of_dangerous_element(true);
    let items = vec![
        says("tool", dangerous("tool")),
        says("guarded", harmless.unwrap()),
        JudgedItem::Admitted(Admitted::new(PayloadKind::For(name("other")), marked)),
    ];
    stage.replies("1", 1, items);
    let asked: Vec<&str> = stage
        .records
        .iter()
        .filter(|r| r.header.kind == RecordKind::Approval && !r.header.thread.is_sys())
        .filter_map(|r| r.header.call.as_ref().map(CallPath::as_str))
        .collect();
    assert_eq!(asked, ["1/1.0", "1/1.1", "1/1.2"]);
}

#[test]
fn ids_are_counted_over_the_whole_log_and_survive_a_restart() {
    let mut stage = held();
    stage.rules(1, None, PersonDecision::Approve);
    let mut again = PumpState { book: stage.state.book.clone(), ..PumpState::default() };
    stage.records.iter().for_each(|record| apply_record(&mut again, record));
    assert_eq!(again.threads, stage.state.threads);
    stage.state = again;
    stage.asks("another", "guarded", None);
    let last = stage.records.iter().rev().find(|r| r.header.thread.is_sys()).unwrap();
    assert!(String::from_utf8_lossy(&last.body).contains(r#"id="a2""#));
}
