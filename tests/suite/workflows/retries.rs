//! A run whose list failed at one item, in the third turn of its agent, is tried again while the pump is killed again and
//! again. What the models were asked is compared with an undisturbed run, and with what the preview said. The person whom
//! the run asked before is asked once.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;
use serde_json::Value;
use systole_core::types::ports::{LogReader, Position};
use systole_core::types::record::{Record, RecordCode, RecordKind, SteerEffect};
use systole_log::sqlite;
use systole_soak::dice::SeededDice;

use super::house::WorkflowHouse;
use super::kills::{LEAST, reads, seed};
use super::supervision::{choose, listed, send};
use crate::program::{Events, Running, ask, run_file};

/// Kills. `SYSTOLE_RETRY_KILLS=N` makes N.
const KILLS: u64 = 20;

/// Items. `SYSTOLE_RETRY_ITEMS=N` makes N.
const ITEMS: u64 = 12;

/// How many items are worked on at once.
const AT_ONCE: usize = 3;

const EACH: &str = r"
payloads: {list: [word, 1..1000]}
workflows:
  polish:
    by: writer
    goals:
      - pick: {do: List the parts., gives: list}
      - gate: {ask: Shall it be written?, choices: [go, stop], shows: [pick]}
      - part: {each: pick/item, at_once: 3, do: Write this part., by: clerk}
      - answer: Say what came of it.
";

/// The agent of an item reads its request twice before it answers: some characters, and then all of them.
const CLERK: &str = "clerk: {model: main, dialect: xml, on_unknown: retry, in_flight: 64, prompt: {identity: You look twice.}}";

/// The turns of an item.
const TURNS: usize = 3;

const REPLIES: &str = r#"
- {if: '<current-goal id="pick">', say: '{"item": [LIST]}', times: always}
- {if: '<current-goal id="answer">', say: All parts are written., times: always}
- {if: '<current-goal id="part">', say: '<recall from_seq="1" to_seq="1" offset="0" length="9"/>', times: always}
- {if: 'next="9"', say: '<recall from_seq="1" to_seq="1" offset="0" length="4000"/>', times: always}
FAILURE
- {if: '<recalled', say: '<attempt_completion><result>A part.</result></attempt_completion>', times: always}
"#;

/// A number that the environment may set.
fn read_number(variable: &str, other: u64) -> u64 {
    std::env::var(variable).map_or(other, |number| number.parse().unwrap())
}

fn house(items: u64, failure: &str) -> WorkflowHouse {
    let is_lost = |n: u64| n == items * 2 / 5;
    let names = (1..=items).map(|n| if is_lost(n) { "\"lost\"".to_owned() } else { format!("\"item{n}\"") });
    let list = names.collect::<Vec<_>>().join(", ");
    WorkflowHouse::with_agents(CLERK, EACH, &REPLIES.replace("LIST", &list).replace("FAILURE", failure))
}

/// What the model was asked for all items but the one that failed, where the same request again is one, without the code
/// that each organism draws for the tags of its own words.
fn asked_of_others(house: &WorkflowHouse) -> BTreeSet<String> {
    let bodies = house.mock.seen().into_iter().map(|seen| seen.body.to_string());
    let others = bodies.filter(|body| !body.contains(r#"]\">\nlost\n"#));
    let without_code = |body: String| {
        let code = body.find("<core-").map(|at| body[at + 6..at + 14].to_owned());
        code.map_or(body.clone(), |code| body.replace(&code, ""))
    };
    others.map(without_code).collect()
}

/// A run that no one disturbs.
fn run_undisturbed(items: u64, prompts: usize) -> WorkflowHouse {
    let undisturbed = house(items, "");
    assert_eq!(send(&undisturbed, "k").code, Some(6));
    choose(&undisturbed, "go", "");
    assert_eq!(send(&undisturbed, "k").code, Some(0));
    assert_eq!(undisturbed.started().0.len(), prompts);
    undisturbed
}

/// Checks what models and persons were asked for everything but the failed item, which are that many prompts.
fn check_asked(house: &WorkflowHouse, undisturbed: &WorkflowHouse, prompts: usize) {
    let asked: BTreeSet<String> = house.bodies("<person-asked ").into_iter().collect();
    assert_eq!(asked.len(), 1, "a person is asked once: {asked:?}");
    assert_eq!(listed(house), [] as [Value; 0]);
    let asked = [asked_of_others(undisturbed), asked_of_others(house)];
    assert_eq!(asked[0].len(), prompts);
    assert!(asked[0] == asked[1], "{:#?}", asked[0].symmetric_difference(&asked[1]).collect::<Vec<_>>());
}

fn count(texts: Vec<String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    texts.into_iter().for_each(|text| *counts.entry(text).or_default() += 1);
    counts
}

/// Gives the order to the running organism, which may be killed at any moment of it.
fn retry(house: &WorkflowHouse, thread: &str) {
    let answer = ask(&run_file(house.path()), "POST", &format!("/v1/threads/{thread}/retry"), &[], "");
    let is_done = answer.status == 200;
    assert!(is_done || answer.json["code"] == "retry.not-failed", "{answer:?}");
}

/// Whether the run has ended behind a position of the log, and where the log ends now.
fn find_end(house: &WorkflowHouse, from: u64) -> (u64, bool) {
    let log = sqlite::open_reading(&house.path().join("hello.db")).unwrap();
    let log: &dyn LogReader = &log;
    let (mut last, mut is_over) = (from, false);
    for placed in log.records_after(Position(from)) {
        let (position, Record { header, .. }) = placed.unwrap();
        last = position.0;
        let is_answer =
            header.kind == RecordKind::Outcome || header.code.is_some_and(|code| code.as_str() == "final");
        is_over |= is_answer
            && header.thread.parent().is_none()
            && header.call.is_some_and(|call| call.as_str() == "1");
    }
    (last, is_over)
}

/// Lets an organism go on for some records and kills it. Returns up to where the log was read, and whether the run has
/// ended. What an earlier life wrote does not count: an organism that is killed again and again before it did something
/// gives its turn up.
fn kill_later(house: &WorkflowHouse, organism: Running, (from, most): (u64, u64)) -> (u64, bool) {
    let (from, is_over) = find_end(house, from);
    let read = if is_over {
        (from, true)
    } else {
        let mut events = Events::open(&run_file(house.path()), &format!("?from={from}"), &[]);
        let Some(read) = reads(&mut events, most) else { panic!("it ended by itself: {:?}", organism.end()) };
        read
    };
    organism.signal(Signal::KILL);
    assert_eq!(organism.end().code, None);
    read
}

#[test]
fn d10_a_failed_item_is_tried_again_under_kills_and_nothing_else_is_paid_twice() {
    let items = read_number("SYSTOLE_RETRY_ITEMS", ITEMS);
    // The list, its items and the answer.
    let goals_of_run = usize::try_from(1 + items + 1).unwrap();
    let prompts_of_run = goals_of_run + usize::try_from(items).unwrap() * (TURNS - 1);
    let undisturbed = run_undisturbed(items, prompts_of_run);
    let expected = count(undisturbed.goals());
    assert_eq!(expected.values().sum::<usize>(), goals_of_run);

    let house = house(items, "- {if: \"\\nlost\\n\", error: {status: 400}, times: 1}");
    let organism = house.run();
    assert_eq!(send(&house, "k").code, Some(6));
    choose(&house, "go", "");
    assert_eq!(send(&house, "k").code, Some(1));
    let failed = house.systole(&["retry", "@last", "--json"]).json_lines()[0].clone();
    let (thread, starts) = (failed["thread"].as_str().unwrap(), failed["starts"].as_array().unwrap());
    assert!((1..=AT_ONCE).contains(&starts.len()), "the item, and what was at work beside it: {failed}");
    assert_eq!(starts.iter().filter(|part| part["cancelled"] == false).count(), 1, "{failed}");
    let mut from = failed["position"].as_u64().unwrap();
    organism.signal(Signal::KILL);
    assert_eq!(organism.end().code, None);

    let kills = read_number("SYSTOLE_RETRY_KILLS", KILLS);
    let seed = seed();
    println!("SYSTOLE_WORKFLOW_SEED={seed} SYSTOLE_RETRY_KILLS={kills} SYSTOLE_RETRY_ITEMS={items}");
    let mut dice = SeededDice::new(seed);
    let mut is_over = false;
    for number in 0..kills {
        let organism = house.run();
        if number == 0 || dice.percent(30) {
            retry(&house, thread);
        }
        if !is_over {
            (from, is_over) = kill_later(&house, organism, (from, dice.between(LEAST / 2, LEAST)));
        } else {
            organism.signal(Signal::KILL);
            assert_eq!(organism.end().code, None);
        }
    }
    let organism = house.run();
    if !is_over {
        let mut events = Events::open(&run_file(house.path()), &format!("?from={from}"), &[]);
        assert!(reads(&mut events, u64::MAX).is_some_and(|(_, is_over)| is_over));
    }
    assert_eq!(organism.interrupt().code, Some(130));

    house.judged();
    let reopened = Some(RecordCode::Steering(SteerEffect::Reopened));
    assert_eq!(house.records().iter().filter(|one| one.header.code == reopened).count(), 1);
    // Each goal is what it is in an undisturbed run, and only what the preview named was begun twice.
    let goals = count(house.goals());
    assert_eq!(goals.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    assert_eq!(goals.values().sum::<usize>(), goals_of_run + starts.len());
    assert_eq!(goals.values().filter(|times| **times == 2).count(), starts.len());
    check_asked(&house, &undisturbed, prompts_of_run - TURNS);
    let (prompts, results) = house.started();
    let distinct: BTreeSet<&String> = prompts.iter().collect();
    // The one that failed had all its prompts. What was cancelled beside it may have ended before it had one.
    let range = prompts_of_run + TURNS..=prompts_of_run + TURNS * starts.len();
    assert!(range.contains(&distinct.len()), "{} prompts, at most so many for each thread", distinct.len());
    let requests = usize::try_from(house.mock.count().requests).unwrap();
    println!(
        "{} starts, {results} results, {requests} requests, {} parts again",
        prompts.len(),
        starts.len()
    );
    // The item failed with a result, and what was cancelled beside it may have had one.
    assert!(range.contains(&results), "{results} results");
    assert!(requests <= prompts.len() && requests >= results, "{requests} requests");
    let verified = house.systole(&["verify", "--state"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let replayed = house.systole(&["replay"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
}
