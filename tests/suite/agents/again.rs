//! A conversation that is rebuilt from the log equals the original. Much goes wrong in this conversation, and the
//! organism is killed at every turn. The next organism sends the same prompt, byte for byte.

use rustix::process::Signal;

use super::house::{AgentHouse, AgentPlan, Critic};
use crate::program::{PATIENCE, ask as knock, run_file};

const ASK: &str = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Where is the moon?</ask>";

const NATIVE: [&str; 10] = [
    r#"{say: "A part of an answer", cut: true}"#,
    r#"{say: ""}"#,
    r#"{say: I look., call: [{search: {query: one}}, {search: {query: two}}]}"#,
    r#"{call: {serch_it: {query: x}}}"#,
    r#"{call: [{search: {query: three}, id: same}, {search: {query: four}, id: same}]}"#,
    r#"{thinking: Who knows?, say: I ask., call: {ask: {".": Is it so?}}}"#,
    r#"{call: {search: {query: long 200}}}"#,
    r#"{say: "Half", stop: length}"#,
    r#"{call: {search: {limit: 5000}}}"#,
    r#"{say: The moon is there.}"#,
];

const CRITIC: &str = "[{say: It is so.}]";

pub(super) const XML: [&str; 9] = [
    r#"{say: "<thinking>A part", cut: true}"#,
    r#"{say: Only words.}"#,
    r#"{say: "<search><query>one</query></search>"}"#,
    r#"{say: "<thinking>Two at once.</thinking>\n<search><query>two</query></search>\n<search><query>three</query></search>"}"#,
    r#"{say: "<thinking>Wrong.</thinking><search><limit>5000</limit></search>"}"#,
    r#"{say: "<thinking>Plan.</thinking><helper xmlns=\"https://xml-pipeline.org/ns/helper/v1\"><thought>I wonder.</thought></helper>\n<Search><query>four</query></Search>"}"#,
    r#"{say: "<thinking>I ask.</thinking><ask>Is it so?</ask>"}"#,
    r#"{say: "<thinking>Long.</thinking><search><query>long 200</query></search>"}"#,
    r#"{say: "<thinking>So.</thinking><attempt_completion><result>The moon is there.</result></attempt_completion>"}"#,
];

/// Kills the organism at the request with this number, and lets another organism go on.
pub(super) fn rebuilt_at(plan: &AgentPlan<'_>, said: &[&str], at: usize) {
    let (form, dialect) = (plan.form, plan.dialect);
    let mut replies: Vec<String> = said.iter().map(|reply| format!("- {reply}")).collect();
    replies.insert(at, "- {hang: true}".to_owned());
    let replies = replies.join("\n");
    let agent = format!(", on_unknown: retry, turns: 20, attempts: 5{}", plan.agent);
    let house = AgentHouse::build(&AgentPlan { replies: &replies, agent: &agent, ..*plan });
    let organism = house.run();
    let run = run_file(house.path());
    let receipt = knock(&run, "POST", "/v1/messages", &[("Idempotency-Key", "k1")], ASK);
    assert_eq!(receipt.status, 202, "{receipt:?}");
    let mains = |seen: &[systole_mock_model::SeenRequest]| {
        seen.iter().filter(|seen| seen.model.as_deref() == Some("main-model")).count()
    };
    let waited = house.mock.wait(PATIENCE, |seen| mains(seen) > at);
    assert!(waited.is_ok(), "{form} {dialect} {at}: {}", house.told());
    organism.signal(Signal::KILL);
    organism.end();
    let before = house.context("@last");

    let organism = house.run();
    std::fs::write(house.path().join("ask.xml"), ASK).unwrap();
    let ran = house.systole(&["send", "--file", "ask.xml", "--key", "k1"]);
    organism.interrupt();
    let words = format!("{form} {dialect}, killed at request {at}: {ran:?}\n{}", house.told());
    assert!(ran.code == Some(0) && ran.stdout.contains("The moon is there."), "{words}");
    let started = house.started("helper");
    assert_eq!(started.len(), said.len() + 1, "{words}");
    let again = house.context(&format!("@last@{}", next_start(&house, before["seq"].as_u64().unwrap())));
    assert_eq!(before["links"], again["links"], "{words}");
    assert_eq!(started[at].prompt, started[at + 1].prompt, "{words}");
    house.judged();
}

/// The number of the start that follows this one.
fn next_start(house: &AgentHouse, seq: u64) -> u64 {
    let records = house.records();
    let starts = records.iter().filter(|record| {
        let h = &record.header;
        h.from.as_str() == "helper"
            && h.seq > seq
            && h.code.is_some_and(|code| code.as_str() == "model-started")
    });
    starts.map(|record| record.header.seq).next().unwrap()
}

pub(super) fn at_every_turn(plan: &AgentPlan<'_>, said: &[&str]) {
    let turns: Vec<usize> = (1..said.len()).collect();
    std::thread::scope(|scope| {
        for some in turns.chunks(turns.len().div_ceil(2)) {
            scope.spawn(move || some.iter().for_each(|at| rebuilt_at(plan, said, *at)));
        }
    });
}

#[test]
fn e18_a_conversation_with_native_calls_is_rebuilt_exactly_at_every_turn() {
    at_every_turn(&AgentPlan { critic: Critic::says(CRITIC), ..AgentPlan::default() }, &NATIVE);
}

#[test]
fn e18_a_conversation_with_signed_thoughts_is_rebuilt_exactly_at_every_turn() {
    at_every_turn(
        &AgentPlan { form: "anthropic", critic: Critic::says(CRITIC), ..AgentPlan::default() },
        &NATIVE,
    );
}

#[test]
fn e18_a_conversation_in_xml_is_made_again_as_it_was_at_every_turn() {
    at_every_turn(&AgentPlan { dialect: "xml", critic: Critic::says(CRITIC), ..AgentPlan::default() }, &XML);
}
