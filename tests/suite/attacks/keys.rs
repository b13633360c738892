//! Row 26: messages without a receiver, and messages to something that has ended. The key of a refused message.

use crate::siege::{Siege, python, say};

#[test]
fn row_26_messages_without_a_taker_and_for_ended_threads() {
    let siege = Siege::begin();
    let stranger = "<x xmlns=\"urn:nobody\"/>";
    siege.refused(stranger.as_bytes(), "route.not-a-peer");
    siege.foiled(&python(stranger.as_bytes()), "route.not-a-peer");
    let misspelt = "<sya xmlns=\"https://xml-pipeline.org/ns/echo/v1\"/>";
    siege.refused(misspelt.as_bytes(), "payload.no-such-element");
    siege.foiled(&python(misspelt.as_bytes()), "payload.no-such-element");

    let taken = siege.post(say("<text>x</text>").as_bytes());
    siege.outcome(&taken);
    let thread = taken.json["thread"].as_str().unwrap();
    let ended = siege.post_to(&format!("/v1/threads/{thread}/cancel"), &[], b"");
    assert_eq!(ended.status, 200, "{ended:?}");
    let before = siege.last();
    let late =
        siege.post_to(&format!("/v1/messages?thread={thread}"), &[], say("<text>late</text>").as_bytes());
    assert_eq!((late.status, &late.json["code"]), (422, &"thread.ended".into()));
    let records = siege.after(before);
    assert_eq!(records.len(), 1, "{records:?}");
    let entry = &records[0].1;
    assert!(entry.header.thread.is_sys(), "nothing is appended to what has ended: {records:?}");
    assert_eq!(
        (entry.header.kind.as_str(), entry.header.code.unwrap().as_str()),
        ("refusal", "thread.ended")
    );
    let kept = siege.kept(late.json["hash"].as_str().unwrap());
    assert_eq!(kept.as_deref(), Some(say("<text>late</text>").as_bytes()), "what came is there to be read");
    siege.ends_well();
}

#[test]
fn a_refused_message_binds_no_key() {
    let siege = Siege::begin();
    let post = |text: &str| siege.post_to("/v1/messages", &[("Idempotency-Key", "k")], say(text).as_bytes());
    assert_eq!(post("<txt>x</txt>").status, 422);
    let repaired = post("<text>x</text>");
    assert_eq!((repaired.status, &repaired.json["repeated"]), (202, &false.into()));
    siege.ends_well();
}
