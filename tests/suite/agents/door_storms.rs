//! Runs over a door through storms: answers are cut off at random bytes, organisms are killed in mid-answer, and a third of
//! the first attempts are refused. What the client has in the end is what is on record, and nothing was asked twice.

use serde_json::{Value, json};
use systole_core::types::record::{MessageRole, Record, RecordCode};
use systole_organism::runfile::draw_hex;
use systole_soak::dice::SeededDice;

use super::ag_ui::{ALL, WebApp};
use super::chats::{WEB, run_with_web};
use super::house::{AgentHouse, AgentPlan};
use super::relay::Relay;
use crate::program::run_file;

/// How bad the weather is.
struct Storm {
    rounds: u64,
    cuts: u64,
}

/// Answers that are all different, in small pieces. Every third one breaks off and is refused.
fn write_replies(count: u64) -> String {
    let reply = |n: u64| {
        let cut = if n.is_multiple_of(3) { ", cut: true" } else { "" };
        let words =
            format!("Answer {n} comes in many small pieces, and no other answer begins as number {n} does.");
        format!("- {{thinking: {}, say: \"{words}\", chunk: 4, delay: 3ms{cut}}}\n", write_thought(n))
    };
    (0..count).map(reply).collect()
}

fn write_thought(n: u64) -> String {
    format!("I think about number {n} for a while.")
}

/// Whether all thoughts that the client has were thought, and none is there twice.
fn are_thoughts(messages: &[Value], count: u64) -> bool {
    let thoughts = messages.iter().filter(|one| one[0] == "reasoning").map(|one| one[1].as_str().unwrap());
    thoughts.into_iter().all(|one| (0..count).any(|n| write_thought(n).starts_with(one)))
}

fn is_request(record: &Record) -> bool {
    record.header.code == Some(RecordCode::Role(MessageRole::Request)) && record.header.from.as_str() == "web"
}

fn weather(name: &str, Storm { rounds, cuts }: Storm) {
    let seed = match std::env::var("SYSTOLE_AGENT_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => u64::from_str_radix(&draw_hex().unwrap()[..16], 16).unwrap(),
    };
    println!("{name}: SYSTOLE_AGENT_SEED={seed}, {rounds} kills, {cuts} cuts");
    let mut dice = SeededDice::new(seed);
    let replies = rounds * 4 + 8;
    let plan = AgentPlan {
        replies: &write_replies(replies),
        agent: ", on_unknown: retry, turns: 20, attempts: 20",
        rest: ALL,
        ..AgentPlan::default()
    };
    let house = AgentHouse::build(&plan);
    let mut organism = run_with_web(&house);
    let relay = Relay::new(run_file(house.path()).address);
    let mut app = WebApp::start_at(&house, &relay.address.to_string(), WEB);
    let mut left = cuts;
    for round in 0..rounds {
        let now = left / (rounds - round);
        left -= now;
        relay.cut_after((0..now).map(|_| usize::try_from(dice.between(1, 2500)).unwrap()));
        app.send(&json!({"say": format!("Question {round}?"), "run": format!("r{round}")}));
        // The organism dies where the client has heard so many pieces, if there are so many.
        let heard = app.hear_up_to(dice.below(25));
        drop(organism);
        organism = run_with_web(&house);
        relay.lead_to(run_file(house.path()).address);
        let said = heard.unwrap_or_else(|| app.end());
        assert_eq!((&said["thrown"], &said["errors"]), (&Value::Null, &json!([])), "{round}: {said}");
        let mut messages = said["messages"].as_array().unwrap().clone();
        assert!(are_thoughts(&messages, replies), "{round}: {said}");
        messages.retain(|one| one[0] != "reasoning");
        assert_eq!(messages.last().unwrap()[1], said["result"], "{round}: {said}");
        assert_eq!(messages.len() as u64, 2 * (round + 1), "{round}: {said}");
    }
    let has = app.run(&json!({"run": format!("r{}", rounds - 1)}))["messages"].clone();
    let has: Vec<&Value> = has.as_array().unwrap().iter().filter(|one| one[0] != "reasoning").collect();
    let read = app.run(&json!({"show": true}))["messages"].clone();
    assert_eq!(json!(has), read, "the client has what is on record");
    let records = house.records();
    assert_eq!(records.iter().filter(|record| is_request(record)).count() as u64, rounds);
    assert_eq!(house.started("helper").len(), house.asked().len(), "no model was asked beside the log");
    println!("{name}: {} answers were cut", relay.count_cuts());
    organism.interrupt();
}

#[test]
fn g11_what_a_client_has_after_a_storm_is_what_is_on_record() {
    weather("a squall", Storm { rounds: 4, cuts: 14 });
}

#[test]
#[ignore = "minutes; part of make soak"]
fn g11_what_a_client_has_after_thirty_kills_and_a_hundred_cuts_is_what_is_on_record() {
    weather("a storm", Storm { rounds: 30, cuts: 130 });
}
