//! Texts that a listener has stored before a record names them, in the engine: when they are on disk, and who
//! sees them.

use std::collections::BTreeSet;

use systole_wire::ask::{PumpQuestion, StoredBlob};
use systole_wire::journal::{JournalEntry, ModelStarted};

use super::*;
use crate::decide_stage::{call, final_};
use crate::decide_stage::{journals, result};

const PROMPT: &str = "You are <terse>.\r\nSay so & nothing else.\u{1f600}";

fn puts(id: u64, text: &str) -> JudgedContent {
    JudgedContent::Ask { id, question: Ok(PumpQuestion::PutBlob { bytes: text.into() }) }
}

fn reads(id: u64, text: &str) -> JudgedContent {
    let hash = Digest::hash_bytes(text.as_bytes()).to_string();
    JudgedContent::Ask { id, question: Ok(PumpQuestion::Blob { hash, from: 0 }) }
}

fn starts(id: u64, text: &str) -> JudgedContent {
    let prompt = Digest::hash_bytes(text.as_bytes()).to_string();
    let (reserve_tokens, reserve_money) = (None, None);
    journals(
        id,
        JournalEntry::Started(ModelStarted {
            model: "m".into(),
            prompt,
            guided: None,
            reserve_tokens,
            reserve_money,
            wait_ms: None,
        }),
    )
}

fn kept(rig: &Rig, text: &str) -> Option<String> {
    let bytes = rig.log.read_document(Digest::hash_bytes(text.as_bytes())).unwrap()?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

/// The agent is out with its first turn.
fn out() -> Rig {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.seen();
    rig
}

#[test]
fn a_text_is_on_disk_before_its_hash_is_told_and_lies_once() {
    let mut rig = out();
    let records = rig.records().len();
    rig.says("1 t1 a1", puts(1, PROMPT));
    rig.hand_over();
    assert!(rig.seen().is_empty() && kept(&rig, PROMPT).is_none(), "the writer has not stored it");
    rig.write();
    assert_eq!(rig.seen(), ["agent: answer 1 blob"]);
    assert_eq!(kept(&rig, PROMPT).as_deref(), Some(PROMPT), "byte for byte");
    rig.says("1 t1 a1", puts(2, PROMPT));
    rig.says("1 t1 a1", puts(3, ""));
    rig.settle();
    let told: Vec<StoredBlob> = rig
        .answers_given()
        .iter()
        .map(|it| StoredBlob::from_payload(it.payload.as_ref().unwrap()).unwrap())
        .collect();
    let put = |text: &str| StoredBlob {
        hash: Digest::hash_bytes(text.as_bytes()).to_string(),
        total: text.len() as u64,
    };
    assert_eq!(told, [put(PROMPT), put(PROMPT), put("")]);
    assert_eq!(rig.records().len(), records, "nothing is recorded of it");
}

#[test]
fn a_stored_blob_is_never_shown_even_after_the_journal_names_it() {
    let mut rig = out();
    rig.says("1 t1 a1", puts(1, PROMPT));
    rig.says("1 t1 a1", reads(2, PROMPT));
    rig.says("1 t1 a1", starts(3, PROMPT));
    rig.says("1 t1 a1", journals(4, result(3, "so")));
    rig.replies("1 t1 a1", vec![call("tool")]);
    rig.settle();
    // The callee requests what its caller stored; the caller requests what the journal of its last turn
    // names.
    rig.says("1/1.0 t1 a1", reads(1, PROMPT));
    rig.replies("1/1.0 t1 a1", vec![final_()]);
    rig.settle();
    rig.says("1 t2 a1", reads(1, PROMPT));
    rig.says("1 t2 a1", reads(2, "was never put"));
    rig.settle();
    let seen = rig.seen();
    let refused = seen.iter().filter(|line| line.contains("answer") && line.contains("payload.invalid"));
    assert_eq!(refused.count(), 4, "{seen:?}");
    let words: BTreeSet<String> = rig
        .answers_given()
        .iter()
        .filter_map(|answer| answer.refusal())
        .map(|(code, words)| [code, words].join(" "))
        .collect();
    assert_eq!(words.len(), 1, "a kept text and an unknown one get the same answer: {words:?}");
}

#[test]
fn a_text_for_a_delivery_that_is_over_is_not_kept() {
    let mut rig = out();
    rig.replies("1 t1 a1", vec![final_()]);
    rig.settle();
    rig.seen();
    rig.says("1 t1 a1", puts(1, PROMPT));
    rig.settle();
    assert_eq!(rig.seen(), ["agent: answer 1 reply.stale-lease"]);
    assert_eq!(kept(&rig, PROMPT), None);
}

#[test]
fn a_death_before_or_after_a_text_is_kept_costs_nothing() {
    for stored in [false, true] {
        let mut rig = out();
        rig.says("1 t1 a1", puts(1, PROMPT));
        rig.hand_over();
        if stored {
            rig.write();
        }
        let mut rig = rig.killed();
        assert_eq!(kept(&rig, PROMPT).is_some(), stored);
        // No model was called: no record says so, and the next attempt begins as the first did.
        assert_eq!(rig.seen(), ["agent 1 t1 a2"]);
        assert!(rig.lines().concat().contains("attempt/listener.lost"), "{:?}", rig.lines());
        rig.says("1 t1 a2", puts(1, PROMPT));
        rig.says("1 t1 a2", starts(2, PROMPT));
        rig.settle();
        assert_eq!(rig.seen(), ["agent: answer 1 blob", "agent: answer 2"], "stored before: {stored}");
        assert_eq!(kept(&rig, PROMPT).as_deref(), Some(PROMPT));
        // If the start was stored, so was the prompt that it names.
        let rig = rig.killed();
        assert!(rig.lines().concat().contains("attempt/model.unknown-outcome"), "{:?}", rig.lines());
        assert_eq!(kept(&rig, PROMPT).as_deref(), Some(PROMPT));
    }
}
