//! Rows 26 to 29: messages without a receiver, messages to something that has ended, and keys that
//! are used again.

use serde_json::Value;

use crate::siege::{Siege, python, say};

fn keyed(siege: &Siege, key: &str, path: &str, document: &str) -> (u16, Value) {
    let answer = siege.post_to(path, &[("Idempotency-Key", key)], document.as_bytes());
    (answer.status, answer.json)
}

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
fn rows_27_and_28_the_same_key_again() {
    let siege = Siege::begin();
    let (status, first) = keyed(&siege, "k1", "/v1/messages", &say("<text>one</text>"));
    assert_eq!(status, 202);
    let before = siege.last();
    for _ in 0..3 {
        let (status, again) = keyed(&siege, "k1", "/v1/messages", &say("<text>one</text>"));
        assert_eq!((status, &again["id"], &again["repeated"]), (202, &first["id"], &true.into()));
    }
    let requests = siege.after(before).iter().filter(|(_, r)| r.header.key.is_some()).count();
    assert_eq!(requests, 0, "no effect");
    let (status, other) = keyed(&siege, "k1", "/v1/messages", &say("<text>two</text>"));
    assert_eq!((status, &other["code"]), (409, &"payload.id-conflict".into()));
    let refusal =
        siege.after(before).into_iter().rfind(|(_, r)| r.header.kind.as_str() == "refusal").unwrap().1;
    let told = String::from_utf8(refusal.body.to_vec()).unwrap();
    for document in [say("<text>one</text>"), say("<text>two</text>")] {
        let hash = systole_core::types::ids::Digest::of(document.as_bytes()).to_string();
        assert!(told.contains(&hash), "both hashes are logged: {told}");
    }
    // A refused message binds no key.
    let (status, _) = keyed(&siege, "k2", "/v1/messages", &say("<txt>x</txt>"));
    assert_eq!(status, 422);
    let (status, repaired) = keyed(&siege, "k2", "/v1/messages", &say("<text>x</text>"));
    assert_eq!((status, &repaired["repeated"]), (202, &false.into()));
    siege.ends_well();
}

#[tokio::test]
async fn row_29_a_key_that_another_client_used_is_still_free() {
    use systole::runtime::running::ClientMessage;
    use systole::runtime::waiting::SenderReply;
    use systole_core::types::ids::{Key, Name};

    let folder = crate::organism::echo();
    let organism = crate::organism::start(folder.path()).await;
    let sent = async |client: &str, text: &str| {
        let message = ClientMessage {
            client: Name::parse(client).unwrap_or_else(|_| Name::operator()),
            key: Key::parse("k1").unwrap(),
            document: crate::organism::say(text).into_bytes(),
            to: None,
            thread: None,
        };
        match organism.front().ask(message).await.unwrap() {
            SenderReply::Receipt(receipt, _) => receipt,
            other => panic!("{other:?}"),
        }
    };
    let burned = sent("mallory", "burned").await;
    let own = sent("operator", "own").await;
    assert!(!own.repeated && own.thread != burned.thread, "{own:?}");
    let answer = crate::organism::outcome(&organism, &own).await;
    assert!(String::from_utf8_lossy(&answer.body).contains("own"));
    organism.stop(std::time::Duration::from_secs(2)).await;
}
