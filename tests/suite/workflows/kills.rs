//! The pump is killed again and again while a workflow runs a loop with parallel goals. What the model was asked is held to
//! what the log says, and every context to that of a run that nobody disturbed.

use std::collections::BTreeSet;

use rustix::process::Signal;
use systole::cli::soak::dice::Dice;
use systole::organism::runfile::random_hex;

use super::house::House;
use crate::program::{Events, ask, run_file};

/// Deaths; `SYSTOLE_WORKFLOW_DEATHS=N` makes more, and `SYSTOLE_WORKFLOW_SEED=S` plays a run again.
const DEATHS: u64 = 200;

const LOOP: &str = r"
payloads: {list: [word, 1..40], mark: {score: int 0..10, words: text}}
workflows:
  polish:
    by: writer
    goals:
      - pick: {do: List the parts., gives: list}
      - improve:
          repeat: {until: {judge/score: 9..}, at_most: 3}
          goals:
            - part: {each: pick/item, at_once: 4, do: Write this part.}
            - judge: {do: Judge all parts., by: critic, gives: mark}
      - answer: Say what came of it.
";

const REPLIES: &str = r#"
- {if: '<current-goal id="pick">', say: '{"item": ["a", "b", "c", "d", "e", "f", "g", "h"]}', times: always}
- {if: '<current-goal id="part" loop="improve" iteration="1">', say: A first word., times: always}
- {if: '<current-goal id="part" loop="improve" iteration="2">', say: A second word., times: always}
- {if: '<current-goal id="judge" loop="improve" iteration="1">', say: '{"score": 5, "words": "more"}', times: always}
- {if: '<current-goal id="judge" loop="improve" iteration="2">', say: '{"score": 9, "words": "enough"}', times: always}
- {if: '<current-goal id="answer">', say: All parts are written., times: always}
"#;

/// Goals of one run: the list, two passes of eight parts and a judge, and the answer.
const GOALS: usize = 1 + 2 * (8 + 1) + 1;

/// Records of a life at least: so many that what was out at its start is over, since a delivery may die with the pump four
/// times and no more.
const LEAST: u64 = 28;

fn question(house: &House, number: u64) {
    let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Write it.</ask>";
    let key = format!("k{number}");
    let receipt = ask(&run_file(house.path()), "POST", "/v1/messages", &[("Idempotency-Key", &key)], body);
    assert_eq!(receipt.status, 202, "{receipt:?}");
}

/// Reads on until the run of the thread has ended, or so many records have come.
fn reads(events: &mut Events, most: u64) -> (u64, bool) {
    let mut last = 0;
    for _ in 0..most {
        let (id, kind, data) = events.next().expect("the organism lives");
        last = id;
        let is_root = data["thread"].as_str().is_some_and(|thread| thread != "sys" && !thread.contains('.'));
        if is_root && data["call"] == "1" && (data["code"] == "final" || kind == "outcome") {
            assert_eq!(data["code"], "final", "{data}");
            return (last, true);
        }
    }
    (last, false)
}

#[test]
fn f8_two_hundred_kills_inside_a_parallel_loop_cost_no_request_whose_result_is_known() {
    let undisturbed = House::build(LOOP, REPLIES);
    let ran = undisturbed.systole(&["ask", "Write it."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "All parts are written.\n"), "{ran:?}");
    let expected = undisturbed.goals();
    assert_eq!(expected.len(), GOALS);

    let number =
        std::env::var("SYSTOLE_WORKFLOW_DEATHS").ok().map_or(DEATHS, |number| number.parse().unwrap());
    let seed = match std::env::var("SYSTOLE_WORKFLOW_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => u64::from_str_radix(&random_hex().unwrap()[..16], 16).unwrap(),
    };
    println!("SYSTOLE_WORKFLOW_SEED={seed} SYSTOLE_WORKFLOW_DEATHS={number}");
    let mut dice = Dice::new(seed);
    let house = House::build(LOOP, REPLIES);
    let (mut runs, mut from, mut is_over) = (0, 0, true);
    for _ in 0..number {
        let organism = house.run();
        if is_over {
            runs += 1;
            question(&house, runs);
        }
        let mut events = Events::open(&run_file(house.path()), &format!("?from={from}"), &[]);
        let (last, ended) = reads(&mut events, dice.between(LEAST, 3 * LEAST));
        (from, is_over) = (last, ended);
        organism.signal(Signal::KILL);
        assert_eq!(organism.end().code, None);
    }
    let organism = house.run();
    if !is_over {
        let mut events = Events::open(&run_file(house.path()), &format!("?from={from}"), &[]);
        assert!(reads(&mut events, u64::MAX).1);
    }
    assert_eq!(organism.interrupt().code, Some(130));

    house.judged();
    let (prompts, results) = house.started();
    let distinct: BTreeSet<&String> = prompts.iter().collect();
    let requests = usize::try_from(house.mock.count().requests).unwrap();
    let unknown = prompts.len() - results;
    println!(
        "{runs} runs, {} starts, {results} results, {unknown} without a result, {requests} requests",
        prompts.len()
    );
    let runs = usize::try_from(runs).unwrap();
    assert_eq!(distinct.len(), runs * GOALS, "each goal has one prompt");
    assert_eq!(results, distinct.len(), "no prompt whose result is known is asked again");
    // A pump may die between the word that it asks and the asking.
    assert!(requests <= prompts.len() && requests >= results, "{requests}");
    let goals = house.goals();
    assert_eq!(goals.len(), runs * GOALS);
    for (at, goal) in expected.iter().enumerate() {
        assert!(goals[at * runs..(at + 1) * runs].iter().all(|same| same == goal), "{goal}");
    }
}
