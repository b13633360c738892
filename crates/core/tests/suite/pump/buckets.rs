//! A flood of refusals: reported one by one while the sender's bucket lasts, then counted.

use super::*;
use systole_core::pump::buckets::{DueReport, RefusalCount};
use systole_core::types::flow::UnmatchedDocument;
use systole_core::types::limits;
use systole_core::types::limits::REFUSALS_AT_ONCE;

fn stray(stage: &mut DecideStage, kept: usize) -> Vec<String> {
    let kept = Some(Arc::from(vec![b'x'; kept]));
    let refused = Refused { refusal: Refusal::new(Code::Malformed, "no XML"), kept };
    stage.happens(EventKind::Stray(UnmatchedDocument {
        listener: name("tool"),
        refused,
        waits: None,
        replies_to: None,
        ticket: None,
    }))
}

fn wrong(stage: &mut DecideStage, client: &str, thread: Option<&ThreadId>) -> Vec<String> {
    let payload = Err(Refused { refusal: Refusal::new(Code::Invalid, "limit: 0"), kept: None });
    let (client, key) = (name(client), Key::parse("wrong").unwrap());
    let asked = DoorMessage {
        ticket: Ticket(1),
        client,
        key,
        thread: thread.cloned().map_or(ThreadChoice::New, ThreadChoice::Known),
        payload,
        claimed: None,
        subject: None,
    };
    stage.happens(EventKind::Asked { asked, bound: None })
}

#[test]
fn after_twenty_refusals_the_next_is_only_counted_but_the_sender_still_gets_the_reason() {
    let mut stage = DecideStage::new();
    for n in 0..REFUSALS_AT_ONCE {
        assert_eq!(wrong(&mut stage, "operator", None)[1], "=> refused payload.invalid", "{n}");
    }
    let records = stage.records.len();
    assert_eq!(wrong(&mut stage, "operator", None), ["=> refused ingress.throttled"]);
    assert_eq!(stage.records.len(), records);
    assert_eq!(wrong(&mut stage, "alice", None)[1], "=> refused payload.invalid", "each has its own bucket");
    assert!(stage.asks("k", "tool", None)[1].starts_with("=> receipt"), "what is in order is taken");
}

#[test]
fn the_refusal_that_is_counted_still_says_how_to_repair_it() {
    let mut stage = DecideStage::new();
    (0..REFUSALS_AT_ONCE).for_each(|_| drop(wrong(&mut stage, "operator", None)));
    let refusal = Refusal::new(Code::Invalid, "limit: 0").fixed_by("1");
    let payload = Err(Refused { refusal, kept: Some(Arc::from(&b"0"[..])) });
    let key = Key::parse("k").unwrap();
    let asked = DoorMessage {
        ticket: Ticket(1),
        client: Name::new_operator(),
        key,
        thread: ThreadChoice::New,
        payload,
        claimed: None,
        subject: None,
    };
    let event = Event {
        at: Millis(1_000_300),
        tick: Millis(1),
        seed: Seed([0; 16]),
        what: EventKind::Asked { asked, bound: None },
    };
    let decision = decide_event(&mut stage.state, event);
    assert!(decision.documents.is_empty() && decision.facts.is_empty(), "nothing of it is kept");
    let [Effect::Refused { refusal, .. }] = &decision.effects[..] else { panic!("{decision:?}") };
    assert!(refusal.message.contains("payload.invalid: limit: 0"), "{refusal:?}");
    assert_eq!((refusal.fix.as_deref(), refusal.hash), (Some("1"), None));
}

#[test]
fn a_listener_that_floods_is_counted_too_and_its_bytes_are_not_kept() {
    let mut stage = DecideStage::new();
    for _ in 0..REFUSALS_AT_ONCE {
        assert_eq!(stray(&mut stage, 10).len(), 1);
    }
    assert_eq!(stray(&mut stage, 10), [""; 0]);
}

#[test]
fn of_what_has_no_place_in_a_call_an_excerpt_is_kept() {
    let mut stage = DecideStage::new();
    let refused = Refused {
        refusal: Refusal::new(Code::StaleLease, "over"),
        kept: Some(Arc::from(vec![b'x'; 100_000])),
    };
    let what = EventKind::Stray(UnmatchedDocument {
        listener: name("tool"),
        refused,
        waits: None,
        replies_to: None,
        ticket: None,
    });
    let decision =
        decide_event(&mut stage.state, Event { at: Millis(1), tick: Millis(1), seed: Seed([0; 16]), what });
    assert_eq!(decision.documents[0].bytes.len(), limits::EXCERPT_BYTES);
}

#[test]
fn a_count_is_told_where_the_refusals_belong_while_that_lives() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    (0..REFUSALS_AT_ONCE + 5).for_each(|_| drop(wrong(&mut stage, "operator", Some(&root()))));
    let due = stage.state.buckets.take_due(Millis(u64::MAX));
    let [telling] = &due[..] else { panic!("{due:?}") };
    assert_eq!((&telling.place, telling.count.count), (&root(), 5));
    let told = stage.happens(EventKind::Noticed(PumpNotice::Throttled(telling.clone())));
    assert_eq!(told, ["root 22 refusal/ingress.throttled core -> operator"]);
    let body = String::from_utf8_lossy(&stage.records.last().unwrap().body).into_owned();
    assert!(body.starts_with("<throttled ") && body.contains("count=\"5\""), "{body}");
    assert!(body.contains(&format!("first=\"{}\"", telling.count.first)), "{body}");

    let count = RefusalCount { count: 1, first: Millis(1), last: Millis(1) };
    let ended = DueReport { sender: name("tool"), place: root(), count };
    stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: root(),
    }));
    assert_eq!(
        stage.happens(EventKind::Noticed(PumpNotice::Throttled(ended))),
        ["sys 1 refusal/listener.throttled core -> tool"]
    );
}
