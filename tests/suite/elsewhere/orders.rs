//! What a person orders from elsewhere is recorded under the name of the client whose token it is.

use serde_json::Value;

use super::{FarStage, failed};
use crate::organism::say;
use crate::reading::{ALICE, BOB, CAROL, DAN};

/// The body of the record of a thread with that kind and code.
fn recorded(stage: &FarStage, thread: &str, kind: &str, code: &str) -> Value {
    let records = stage.near(&["log", thread, "--json"]).json_lines();
    let found = records.iter().rev().find(|one| one["kind"] == kind && one["code"] == code);
    found.cloned().unwrap_or_else(|| panic!("no {kind} {code} in {records:#?}"))
}

#[test]
fn h11_a_person_decides_from_elsewhere_under_her_own_name() {
    let stage = FarStage::start();
    let waits = stage.stage.waits.clone();
    let near = stage.near(&["approve"]);
    let far = stage.far(CAROL, &["approve"]);
    let words =
        |text: &str| text.lines().filter(|line| !line.contains("expires")).map(str::to_owned).collect();
    let (near, far): (Vec<String>, Vec<String>) = (words(&near.stdout), words(&far.stdout));
    assert_eq!(near, far);
    let refused = stage.far(BOB, &["approve", "a1"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("ingress.forbidden"), "{refused:?}");
    let other = stage.far(CAROL, &["approve", "a1", "--hash", "0123456789abcdef"]);
    assert_eq!(other.code, Some(4), "{other:?}");
    let approved = stage.far(CAROL, &["approve", "a1", "--note", "seen by phone"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    assert!(approved.stdout.contains("hello of alice"), "it is shown before: {approved:?}");
    assert!(approved.stderr.ends_with("approval a1 is approved\n"), "{approved:?}");
    let body = recorded(&stage, &waits, "approval", "approved")["body"].to_string();
    assert!(body.contains("carol") && body.contains("seen by phone"), "{body}");
    let again = stage.far(CAROL, &["reject", "a1", "--note", "no"]);
    assert_eq!(failed(&again).0, Some(4), "{again:?}");
    stage.stage.organism.interrupt();
}

#[test]
fn h11_a_rejection_and_another_payload_come_from_elsewhere_too() {
    let stage = FarStage::start();
    let vaulted = |text: &str| say(text).replace("ns/echo/v1", "ns/vault/v1");
    let file = stage.away.path().join("other.xml");
    std::fs::write(&file, vaulted("another hello")).unwrap();
    let amended = stage.far(DAN, &["amend", "a1", "--file", "other.xml"]);
    assert_eq!(amended.code, Some(0), "{amended:?}");
    let body = recorded(&stage, &stage.stage.waits, "approval", "amended")["body"].to_string();
    assert!(body.contains("dan"), "{body}");
    let sent = stage.far(ALICE, &["send", "--file", "../nothing", "--json"]);
    assert_eq!(failed(&sent).0, Some(2), "{sent:?}");
    let waits = stage.far(ALICE, &["send", "--file", &file.display().to_string()]);
    assert_eq!(waits.code, Some(6), "only a person can go on: {waits:?}");
    assert!(waits.stderr.contains("waits for a person"), "{waits:?}");
    let rejected = stage.far(DAN, &["reject", "a2", "--note", "not today"]);
    assert_eq!(rejected.code, Some(0), "{rejected:?}");
    stage.stage.organism.interrupt();
}

#[test]
fn h11_messages_and_orders_from_elsewhere_carry_the_name() {
    let stage = FarStage::start();
    let rests = stage.stage.rests.clone();
    let said = stage.far(DAN, &["send", "say", "text=from afar", "--to", "echo", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let value = &said.json_lines()[0];
    assert_eq!(
        (value["receipt"]["sender"].as_str(), value["outcome"].as_str()),
        (Some("dan"), Some("answered"))
    );
    assert_eq!(value["record"]["json"]["text"], "from afar", "{value}");
    let goes_on = stage.far(BOB, &["send", "say", "text=more", "--to", "echo", "--thread", &rests]);
    assert_eq!(goes_on.code, Some(0), "{goes_on:?}");
    assert!(goes_on.stdout.contains("text>more<"), "{goes_on:?}");
    // Without the role that reads, the schema is not shown, but a payload can be sent.
    let unknown = stage.far(ALICE, &["send", "say", "text=more", "--to", "echo"]);
    assert_eq!(failed(&unknown).0, Some(4));
    assert!(unknown.stderr.contains("--file FILE"), "{unknown:?}");
    std::fs::write(stage.away.path().join("say.xml"), say("of alice")).unwrap();
    let sent = stage.far(ALICE, &["send", "--file", "say.xml"]);
    assert_eq!((sent.code, sent.stdout.contains("of alice")), (Some(0), true), "{sent:?}");
    let invalid = stage.far(DAN, &["send", "say", "text=a", "colour=red", "--to", "echo"]);
    assert_eq!(failed(&invalid).0, Some(4), "{invalid:?}");
    // Pauses hold, and a word to the work in a thread is taken while it waits.
    let paused = stage.far(DAN, &["pause", "--all", "--note", "lunch"]);
    assert_eq!((paused.code, paused.stderr.contains("everything is paused")), (Some(0), true), "{paused:?}");
    let everything = recorded(&stage, "sys", "steer", "paused")["body"].to_string();
    assert!(everything.contains("dan") && everything.contains("lunch"), "{everything}");
    let asked = stage.far(DAN, &["ask", "What is larger?"]);
    assert_eq!(asked.code, Some(6), "{asked:?}");
    let newest = stage.far(DAN, &["ps", "--json"]).json_lines()[0]["threads"][0]["thread"].clone();
    let newest = newest.as_str().unwrap();
    assert_eq!(recorded(&stage, newest, "message", "request")["from"], "dan");
    let steered = stage.far(DAN, &["steer", newest, "Look again."]);
    assert_eq!(steered.code, Some(0), "{steered:?}");
    let word = recorded(&stage, newest, "steer", "steered");
    assert!(word["body"].as_str().unwrap().contains("Look again."), "{word}");
    assert_eq!(word["from"], "dan");
    let cancelled = stage.far(DAN, &["cancel", newest]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert_eq!(recorded(&stage, newest, "terminal", "thread.cancelled")["to"], "dan");
    assert_eq!(stage.far(DAN, &["resume", "--all"]).code, Some(0));
    let ended = stage.far(DAN, &["end", &rests]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(recorded(&stage, &rests, "terminal", "ended")["to"], "dan");
    // Those who may not are refused.
    for order in [vec!["pause", "--all"], vec!["cancel", &stage.stage.asked], vec!["end", &stage.stage.asked]]
    {
        let refused = stage.far(BOB, &order);
        assert_eq!(failed(&refused).0, Some(4), "{order:?} {refused:?}");
        assert!(refused.stderr.starts_with("refused: "), "{order:?} {refused:?}");
    }
    stage.stage.organism.interrupt();
}
