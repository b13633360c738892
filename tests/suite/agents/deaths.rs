//! An organism whose agents work in many threads, killed again and again: while a model is asked, while a program
//! works, while a final is being received. Afterwards each request that the mock of the model saw is compared with
//! the log.
//!
//! `SYSTOLE_AGENT_DEATHS=N` makes N for each policy, as `make soak` does, and `SYSTOLE_AGENT_SEED=S` repeats a run.

use std::collections::BTreeMap;

use rustix::process::Signal;
use systole_log::sqlite;
use systole_organism::runfile::draw_hex;
use systole_queries::persons;
use systole_soak::dice::SeededDice;

use super::house::{AgentHouse, AgentPlan};
use super::reckoning::{self, Field};
use super::strait::{Hold, Passing, Strait, Until};
use crate::program::{Events, ask as knock, run_file};

/// Deaths for each policy.
const DEATHS: u64 = 18;
/// Questions that are asked in each life.
const QUESTIONS: u64 = 3;

/// The model's answer in each turn, for every caller. Each turn has its own usage, which identifies the cost of the
/// turn.
const NATIVE: &str = r#"
- {if: "where is the moon?", say: I look., call: {search: {query: one}}, usage: {in: 1000, out: 10}, times: always}
- {if: FOUND one, say: Again., call: {search: {query: two}}, usage: {in: 2000, out: 20}, times: always}
- {if: FOUND two, say: The moon is there., usage: {in: 3000, out: 30}, times: always}
"#;
const XML: &str = r#"
- {if: "where is the moon?", say: "<thinking>I look.</thinking><search><query>one</query></search>", usage: {in: 1000, out: 10}, times: always}
- {if: FOUND one, say: "<thinking>Again.</thinking><search><query>two</query></search>", usage: {in: 2000, out: 20}, times: always}
- {if: FOUND two, say: "<thinking>So.</thinking><attempt_completion><result>The moon is there.</result></attempt_completion>", usage: {in: 3000, out: 30}, times: always}
"#;

/// The three places, with the number of deaths in each.
type Places = BTreeMap<&'static str, u64>;

fn question(number: u64) -> String {
    format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Question {number}: where is the moon?</ask>")
}

fn draw(dice: &mut SeededDice, life: u64) -> (&'static str, Hold) {
    // Nothing of the answer, all of it, and everything between.
    let mut until = || match dice.below(8) {
        0 => Until::Before,
        1 => Until::Permille(1000),
        _ => Until::Permille(usize::try_from(dice.below(1000)).unwrap()),
    };
    let (place, what, until) = match life % 3 {
        0 => ("a call of the model", Passing::Asked(u32::try_from(life / 3 % 2).unwrap() + 1), until()),
        1 => ("a call of the tool", Passing::Tool, until()),
        _ => ("a final", Passing::Asked(3), until()),
    };
    (place, Hold { what, number: dice.between(1, QUESTIONS), until })
}

fn deaths(policy: &str, dialect: &str) {
    let number = std::env::var("SYSTOLE_AGENT_DEATHS").ok().map_or(DEATHS, |number| number.parse().unwrap());
    let seed = match std::env::var("SYSTOLE_AGENT_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => u64::from_str_radix(&draw_hex().unwrap()[..16], 16).unwrap(),
    };
    println!("{policy}: SYSTOLE_AGENT_SEED={seed} SYSTOLE_AGENT_DEATHS={number}");
    let mut dice = SeededDice::new(seed);
    let strait = Strait::new();
    let agent = format!(", on_unknown: {policy}");
    // About one call of the tool in 8,000 is out at six deaths in a row. It would end then, and the model would wait in
    // vain for what the tool has found.
    let env = format!("{{DOOR: \"{}\"}}, retry: {{attempts: 100}}", strait.tool().port());
    let replies = if dialect == "native" { NATIVE } else { XML };
    let plan = AgentPlan { dialect, replies, agent: &agent, env: &env, ..AgentPlan::default() };
    let plan = AgentPlan { model: ", at_once: 64", strait: Some(&strait), ..plan };
    let mut field = Field { house: AgentHouse::build(&plan), asked_by: Vec::new(), questions: 0 };
    let mut places = Places::new();
    for life in 0..number {
        let (place, hold) = draw(&mut dice, life);
        *places.entry(place).or_default() += 1;
        live_and_die(&mut field, &strait, hold, &mut dice);
    }
    comes_to_rest(&field);
    assert_eq!(strait.faults(), [""; 0], "the test itself dropped requests");
    let tally = reckoning::held(&field, policy);
    println!("{policy}, {dialect}: {places:?}, {tally}");
}

/// One life: questions are asked and persons decide, until the hold is reached. Then the organism is killed.
fn live_and_die(field: &mut Field, strait: &Strait, hold: Hold, dice: &mut SeededDice) {
    let house = &field.house;
    let waiting = if field.asked_by.is_empty() { Vec::new() } else { waiting(house) };
    strait.arm(hold);
    let organism = house.run();
    let run = run_file(house.path());
    for number in field.questions..field.questions + QUESTIONS {
        let key = format!("k{number}");
        let receipt = knock(&run, "POST", "/v1/messages", &[("Idempotency-Key", &key)], &question(number));
        assert_eq!(receipt.status, 202, "{receipt:?}");
    }
    field.questions += QUESTIONS;
    for id in waiting {
        decide(house, &id, dice.below(5) > 0);
    }
    strait.held();
    organism.signal(Signal::KILL);
    let dead = organism.end();
    assert_eq!(dead.code, None, "{dead:?}");
    field.asked_by.push(field.house.mock.count().requests);
    strait.free();
}

/// The requests for approval that wait, read while no organism runs.
fn waiting(house: &AgentHouse) -> Vec<String> {
    let log = sqlite::open_reading(&house.path().join("hello.db")).unwrap();
    persons::waiting(&log).unwrap().iter().map(|waiting| waiting.id.to_string()).collect()
}

/// A person's decision.
fn decide(house: &AgentHouse, id: &str, yes: bool) {
    let word = if yes { r#"{"outcome":"approved"}"# } else { r#"{"outcome":"rejected","note":"enough"}"# };
    let json = [("Content-Type", "application/json")];
    let answer = knock(&run_file(house.path()), "POST", &format!("/v1/approvals/{id}"), &json, word);
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// The last life: no process is killed, every request for approval is granted, and every question is answered.
fn comes_to_rest(field: &Field) {
    let waiting = waiting(&field.house);
    let mut boots = 0;
    let organism = field.house.run();
    let mut events = Events::open(&run_file(field.house.path()), "?from=0", &[]);
    let mut open = field.questions;
    while open > 0 {
        let (_, kind, data) = events.next().expect("the organism lives until everything has ended");
        let code = data["code"].as_str().unwrap_or_default();
        boots += usize::from(data["body"].as_str().is_some_and(|body| body.starts_with("<boot ")));
        let is_new = boots > field.asked_by.len();
        // Each request is recorded in its thread, and announced in `sys`.
        if code == "requested" && data["thread"] != "sys" {
            let body = data["body"].as_str().unwrap();
            let id = body.split_once(" id=\"").and_then(|(_, id)| id.split_once('"')).unwrap().0;
            // Most questions of earlier lives were decided in those lives.
            if is_new || waiting.iter().any(|waiting| waiting == id) {
                decide(&field.house, id, true);
            }
        }
        let ends = code == "final" || kind == "outcome" && code != "dead-letter";
        open -= u64::from(ends && data["call"] == "1");
    }
    let ended = organism.interrupt();
    assert_eq!(ended.code, Some(130), "{ended:?}");
}

#[test]
fn e18_many_deaths_and_each_request_has_its_start_where_a_person_says_whether_to_ask_again() {
    deaths("ask", "native");
}

#[test]
fn e18_many_deaths_and_each_request_has_its_start_where_nothing_is_asked_again() {
    deaths("fail", "xml");
}

#[test]
fn e18_many_deaths_and_each_request_has_its_start_where_it_is_asked_again() {
    deaths("retry", "native");
}
