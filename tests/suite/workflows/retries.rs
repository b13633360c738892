//! A run whose list failed at one item is tried again while the pump is killed again and again. What the models were asked
//! is compared with an undisturbed run, and with what the preview said.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;
use systole_core::types::ports::{LogReader, Position};
use systole_core::types::record::{Record, RecordCode, RecordKind, SteerEffect};
use systole_log::sqlite;
use systole_soak::dice::SeededDice;

use super::house::WorkflowHouse;
use super::kills::{LEAST, reads, seed};
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
      - part: {each: pick/item, at_once: 3, do: Write this part.}
      - answer: Say what came of it.
";

const REPLIES: &str = r#"
- {if: '<current-goal id="pick">', say: '{"item": [LIST]}', times: always}
FAILURE
- {if: '<current-goal id="part">', say: A part., times: always}
- {if: '<current-goal id="answer">', say: All parts are written., times: always}
"#;

/// A number that the environment may set.
fn read_number(variable: &str, other: u64) -> u64 {
    std::env::var(variable).map_or(other, |number| number.parse().unwrap())
}

fn house(items: u64, failure: &str) -> WorkflowHouse {
    let is_lost = |n: u64| n == items * 2 / 5;
    let names = (1..=items).map(|n| if is_lost(n) { "\"lost\"".to_owned() } else { format!("\"item{n}\"") });
    let list = names.collect::<Vec<_>>().join(", ");
    WorkflowHouse::build(EACH, &REPLIES.replace("LIST", &list).replace("FAILURE", failure))
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
    let undisturbed = house(items, "");
    assert_eq!(undisturbed.systole(&["ask", "Write it."]).code, Some(0));
    let expected = count(undisturbed.goals());
    assert_eq!(expected.values().sum::<usize>(), goals_of_run);

    let house = house(items, "- {if: \"\\nlost\\n\", error: {status: 400}, times: 1}");
    let organism = house.run();
    assert_eq!(house.systole(&["ask", "Write it."]).code, Some(1));
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
    let (prompts, results) = house.started();
    let distinct: BTreeSet<&String> = prompts.iter().collect();
    // The one that failed had its prompt. What was cancelled beside it may have ended before it had one.
    let range = goals_of_run + 1..=goals_of_run + starts.len();
    assert!(range.contains(&distinct.len()), "{} prompts, at most one for each thread", distinct.len());
    let requests = usize::try_from(house.mock.count().requests).unwrap();
    println!(
        "{} starts, {results} results, {requests} requests, {} parts again",
        prompts.len(),
        starts.len()
    );
    // The item failed with a result, and what was cancelled beside it may have had one.
    assert!((goals_of_run + 1..=goals_of_run + starts.len()).contains(&results), "{results} results");
    assert!(requests <= prompts.len() && requests >= results, "{requests} requests");
    let verified = house.systole(&["verify", "--state"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let replayed = house.systole(&["replay"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
}
