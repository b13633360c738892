//! Messages from outside: roots, further top calls, repeats, and refusals.

use super::*;
use systole_core::types::flow::Receipt;

#[test]
fn a_request_opens_a_root_and_its_first_top_call() {
    let mut stage = DecideStage::new();
    assert_eq!(
        stage.asks("k", "tool", None),
        ["root 1 message/request operator -> tool 1", "=> receipt #1", "=> tool 1 t1 a1"]
    );
}

#[test]
fn row_27_the_same_key_and_bytes_meet_the_first_receipt() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(stage.asks("k", "tool", None), ["=> receipt #1 again"]);
}

#[test]
fn row_28_the_same_key_with_other_bytes_is_a_conflict_that_names_both_hashes() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(
        stage.asks("k", "other", None),
        ["sys 1 refusal/payload.id-conflict core -> operator", "=> refused payload.id-conflict"]
    );
    let body = String::from_utf8_lossy(&stage.records.last().unwrap().body).into_owned();
    for local in ["tool", "other"] {
        assert!(body.contains(&Digest::hash_bytes(payload(local).bytes()).to_string()), "{body}");
    }
}

#[test]
fn row_29_a_key_of_one_client_means_nothing_for_another() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let payload = Ok(Admitted::new(PayloadKind::For(name("tool")), Verdict::from_valid(payload("tool"))));
    let key = Key::parse("k").unwrap();
    let asked = DoorMessage {
        ticket: Ticket(1),
        client: name("alice"),
        key,
        thread: ThreadChoice::New,
        payload,
        claimed: None,
        subject: None,
    };
    let told = stage.happens(EventKind::Asked { asked, bound: None });
    assert_eq!(told[0], "root 1 message/request alice -> tool 1");
    assert_ne!(stage.records[0].header.thread, stage.records[1].header.thread);
}

#[test]
fn a_longer_root_id_is_drawn_where_twelve_digits_collide() {
    let mut stage = DecideStage::new();
    stage.asks("other-key", "tool", None);
    // Another client's root is at the id that this key's twelve digits give.
    let mut squatter = stage.state.threads.remove(&stage.records[0].header.thread).unwrap();
    squatter.id = root();
    stage.state.threads.insert(root(), squatter);
    stage.asks("k", "tool", None);
    let id = &stage.records.last().unwrap().header.thread;
    assert_eq!(*id, ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse("k").unwrap(), 13));
    assert_eq!(stage.asks("k", "tool", None), ["=> receipt #1 again"]);
}

#[test]
fn b18_a_resting_root_goes_on_with_the_next_message() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    stage.replies("1", 1, vec![final_()]);
    assert_eq!(
        stage.asks("k2", "tool", Some(&root())),
        ["root 3 message/request operator -> tool 2", "=> receipt #3", "=> tool 2 t1 a1"]
    );
}

#[test]
fn held_an_earlier_top_call_is_open_until_it_is_first() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    assert_eq!(
        stage.asks("k2", "other", Some(&root())),
        ["root 2 message/request operator -> other 2", "=> receipt #2"]
    );
    assert_eq!(
        stage.replies("1", 1, vec![final_()]),
        ["root 3 message/final tool -> operator 1 t1.0", "=> other 2 t1 a1"]
    );
}

#[test]
fn a_key_inside_a_thread_meets_its_receipt_from_memory_and_from_the_log() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    stage.asks("k2", "tool", Some(&root()));
    assert_eq!(stage.asks("k2", "tool", Some(&root())), ["=> receipt #2 again"]);
    stage.state.threads.get_mut(&root()).unwrap().recent.clear();
    let payload = Ok(Admitted::new(PayloadKind::For(name("tool")), Verdict::from_valid(payload("tool"))));
    let key = Key::parse("k2").unwrap();
    let asked = DoorMessage {
        ticket: Ticket(1),
        client: Name::new_operator(),
        key,
        thread: ThreadChoice::Known(root()),
        payload,
        claimed: None,
        subject: None,
    };
    let receipt = Receipt {
        thread: root(),
        seq: 2,
        id: stage.records[1].header.id,
        call: CallPath::new_top(2),
        sender: Name::new_operator(),
        repeated: true,
        claimed: None,
    };
    let bound = systole_core::pump::event::BoundKey { receipt, body: Digest::hash_bytes(b"other bytes") };
    let told = stage.happens(EventKind::Asked { asked, bound: Some(bound) });
    assert_eq!(told[1], "=> refused payload.id-conflict", "the log knows the key with other bytes");
}

#[test]
fn sixteen_top_calls_may_wait_and_the_next_is_told_busy() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    for n in 0..16 {
        assert!(stage.asks(&format!("q{n}"), "tool", Some(&root()))[1].starts_with("=> receipt"));
    }
    assert_eq!(stage.asks("q16", "tool", Some(&root()))[1], "=> refused thread.busy");
}

#[test]
fn row_26_unknown_and_ended_threads_take_nothing() {
    let mut stage = DecideStage::new();
    assert_eq!(
        stage.asks("k9", "tool", Some(&root())),
        ["sys 1 refusal/thread.unknown core -> operator", "=> refused thread.unknown"]
    );
    stage.asks("k", "tool", None);
    stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: root(),
    }));
    assert_eq!(
        stage.asks("k2", "tool", Some(&root())),
        ["sys 2 refusal/thread.ended core -> operator", "=> refused thread.ended"]
    );
}

#[test]
fn a_message_for_a_thread_that_never_was_leaves_its_namesakes_alone() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let ghost = root().make_child("ghost").unwrap();
    assert_eq!(stage.asks("k9", "tool", Some(&ghost))[0], "sys 1 refusal/thread.unknown core -> operator");
}

#[test]
fn sys_takes_no_messages() {
    let mut stage = DecideStage::new();
    stage.happens(EventKind::Booted { listeners: vec![name("tool")], program: None });
    assert_eq!(stage.asks("k", "tool", Some(&ThreadId::new_sys()))[1], "=> refused thread.unknown");
}
