//! E16: the starter of running work steers it between its turns.

use super::cast::{BOSS, PlanHouse, code, plain, say};

const STEER: &str = "https://xml-pipeline.org/ns/core/v1";

fn steer(payload: &str) -> String {
    format!("<steer xmlns=\"{STEER}\" from=\"mallory\">{payload}</steer>")
}

/// Sleeps until something comes, and replies with that.
const ASLEEP: &str = "[[timer('late', after='1h'), wait('all')], everything]";

#[tokio::test]
async fn e16_a_boss_steers_its_child_and_a_person_steers_the_boss() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [helper], turns: 9, entry: true", BOSS),
        ("helper", "turns: 4", BOSS),
    ])
    .await;
    let plan = format!(
        "[[spawn(say('helper', \"{ASLEEP}\"), 'kid')], \
         lambda turn: [to(say('helper', 'the last week only'), thread=turn.thread + '.kid')], \
         lambda turn: [note(turn.line), wait('all')], everything]"
    );
    let (receipt, told) = house.ask("k", "boss", &plan).await;
    let told = told.replace("&lt;", "<").replace("&quot;", "\"");
    assert!(told.contains("reason=\"message\"") && told.contains("from=\"boss\""), "{told}");
    assert!(told.contains("the last week only"), "{told}");
    let records = house.records();
    let handled = records.iter().find(|r| r.header.thread == receipt.thread && plain(r).contains("<handled"));
    assert_eq!(handled.map(code), Some("answer"));

    let receipt = house.send("asleep", &say("boss", ASLEEP), None, None).await.unwrap();
    let thread = receipt.thread.clone();
    house.until("it sleeps", |r| r.header.thread == thread && code(r) == "await").await;
    let word = steer(&say("boss", "stop here"));
    let to = Some(thread.as_str());
    assert_eq!(house.send("none", &word, None, None).await, Err("thread.unknown".to_owned()));
    assert_eq!(house.send("empty", &steer(""), None, to).await, Err("payload.invalid".to_owned()));
    let other = steer(&say("helper", "stop here"));
    assert_eq!(house.send("other", &other, None, to).await, Err("route.not-a-peer".to_owned()));
    let steered = house.send("word", &word, None, to).await.unwrap();
    assert_eq!((steered.thread.clone(), steered.call.as_str()), (thread.clone(), "1"));
    let outcome = house.outcomes(std::slice::from_ref(&steered)).await.remove(0);
    let told = plain(&outcome);
    assert!(told.contains("from=\"operator\"") && told.contains("stop here"), "{told}");
    assert!(!told.contains("mallory") && told.contains("reason=\"message\""), "{told}");
    let again = house.send("word", &word, None, to).await.unwrap();
    assert!(again.repeated && again.seq == steered.seq);
    assert_eq!(house.send("late", &word, None, to).await, Err("thread.resting".to_owned()));
    house.close().await;
}
