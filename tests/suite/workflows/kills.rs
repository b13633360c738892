//! The pump is killed again and again while a workflow runs: a loop with parallel goals, goals that give tasks, and goals
//! under supervision. What the model was asked is compared with the log, and every context with that of an undisturbed run.

use std::collections::BTreeSet;

use rustix::process::Signal;
use systole_organism::runfile::draw_hex;
use systole_soak::dice::SeededDice;

use super::house::WorkflowHouse;
use super::supervision::{LEFT, PAUSES, choose, send, watched};
use crate::program::{Events, ask, run_file};

/// Deaths. `SYSTOLE_WORKFLOW_DEATHS=N` makes N in each organism, and `SYSTOLE_WORKFLOW_SEED=S` plays a run again.
const DEATHS: u64 = 100;

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

const SUPERVISED: &str = r"
payloads: {list: [word, 1..40]}
workflows:
  polish:
    by: writer
    supervise: critic
    goals:
      - pick: {do: List the parts., gives: list}
      - part: {each: pick/item, at_once: 4, do: Write this part.}
      - whole: Write the whole.
      - answer: Say what came of it.
";

/// Everything is clean but the whole: it is corrected once, and then taken as it is.
const SUPERVISED_REPLIES: &str = r#"
- {if: "<current-goal id=\"pick\">\nDo not", say: '{"goal": "pick", "scope": "All."}', times: always}
- {if: "<current-goal id=\"part\">\nDo not", say: '{"goal": "part", "scope": "All."}', times: always}
- {if: "<current-goal id=\"whole\">\nDo not", say: '{"goal": "whole", "scope": "All.", "assumption": ["a", "b", "c", "d"]}', times: always}
- {if: "<current-goal id=\"answer\">\nDo not", say: '{"goal": "answer", "scope": "All."}', times: always}
- {if: "<current-goal id=\"pick\">\nYou have", say: '{"goal": "pick", "met": "yes", "scope-left": false}', times: always}
- {if: "<current-goal id=\"part\">\nYou have", say: '{"goal": "part", "met": "yes", "scope-left": false}', times: always}
- {if: "<current-goal id=\"whole\">\nYou have", say: '{"goal": "whole", "met": "partly", "scope-left": true, "concern": ["Dry."]}', times: always}
- {if: "<current-goal id=\"answer\">\nYou have", say: '{"goal": "answer", "met": "yes", "scope-left": false}', times: always}
- {if: 'It was corrected once', say: '{"goal": "whole", "value": "continue", ".": ""}', times: always}
- {if: 'Judge how', say: '{"goal": "whole", "value": "reorient", ".": "Less dry."}', times: always}
- {if: "<correction source=\"supervisor\">\nLess dry.", say: A wetter whole., times: always}
- {if: "<current-goal id=\"pick\">\nList", say: '{"item": ["a", "b", "c", "d"]}', times: always}
- {if: "<current-goal id=\"part\">\nWrite", say: A part., times: always}
- {if: "<current-goal id=\"whole\">\nWrite", say: A whole., times: always}
- {if: "<current-goal id=\"answer\">\nSay", say: All parts are written., times: always}
"#;

/// Requests of one run: the list and four parts with a commitment and an assessment each, all seven of the whole, and
/// the answer.
const SUPERVISED_GOALS: usize = 3 * (1 + 4) + 7 + 3;
const TASKS: &str = r"
payloads: {list: [word, 1..40]}
workflows:
  chronicle:
    by: writer
    goals:
      - pick: {do: List the towers., gives: list}
      - part: {each: pick/item, at_once: 3, do: Write of this tower., tasks: {by: critic, at_most: 2}, by: chief}
      - answer: Say what came of it.
";

const CHIEF: &str =
    "chief: {model: main, dialect: native, on_unknown: retry, in_flight: 64, prompt: {identity: You lead.}}";

const TASK_REPLIES: &str = r#"
- {if: '<current-goal id="pick">', say: '{"item": ["a", "b", "c", "d"]}', times: always}
- {if: '<current-goal id="part">', call: [{task: {role: historian, text: When?}}, {task: {role: poet, text: Praise it.}}], times: always}
- {if: '<task role="historian" parent-goal="part">', say: In 1889., times: always}
- {if: '<task role="poet" parent-goal="part">', say: It stands., times: always}
- {if: 'Tasks: 2 of 2 given', need: [In 1889, It stands], say: It stands since 1889., times: always}
- {if: '<current-goal id="answer">', say: All parts are written., times: always}
"#;

/// Deaths of the pump while tasks are given.
const TASK_DEATHS: u64 = 30;

/// A workflow that is disturbed.
struct Disturbed<'w> {
    agent: &'static str,
    workflow: &'w str,
    replies: &'static str,
    /// Requests of one run that begin a thread: goals and tasks.
    goals: usize,
    /// Prompts of one run.
    prompts: usize,
    deaths: u64,
}

/// Records of a life at least: so many that what was out at its start is over, since a delivery may die with the pump four
/// times and no more.
pub(super) const LEAST: u64 = 28;

fn question(house: &WorkflowHouse, number: u64) {
    let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Write it.</ask>";
    let key = format!("k{number}");
    let receipt = ask(&run_file(house.path()), "POST", "/v1/messages", &[("Idempotency-Key", &key)], body);
    assert_eq!(receipt.status, 202, "{receipt:?}");
}

/// Reads on until the run of the thread has ended, or so many records have come. `None` if the organism has ended.
pub(super) fn reads(events: &mut Events, most: u64) -> Option<(u64, bool)> {
    let mut last = 0;
    for _ in 0..most {
        let (id, kind, data) = events.next()?;
        last = id;
        let is_root = data["thread"].as_str().is_some_and(|thread| thread != "sys" && !thread.contains('.'));
        if is_root && data["call"] == "1" && (data["code"] == "final" || kind == "outcome") {
            assert_eq!(data["code"], "final", "{data}");
            return Some((last, true));
        }
    }
    Some((last, false))
}

/// Two organisms, each killed fifty times, side by side.
#[test]
fn f8_many_kills_inside_a_parallel_loop_repeat_no_request_with_a_known_result() {
    let goals = GOALS;
    let half =
        Disturbed { agent: "", workflow: LOOP, replies: REPLIES, goals, prompts: goals, deaths: DEATHS / 2 };
    let seed = seed();
    std::thread::scope(|scope| {
        scope.spawn(|| disturb_with(&half, seed));
        disturb_with(&half, seed.wrapping_add(1));
    });
}

/// The loop is a child thread of its own, whose threads are one level deeper.
#[test]
fn f8_kills_inside_a_retried_loop_repeat_no_request_with_a_known_result() {
    let workflow = &LOOP.replace("          goals:", "          retry: {attempts: 2}\n          goals:");
    let (replies, goals) = (REPLIES, GOALS);
    disturb(&Disturbed { agent: "", workflow, replies, goals, prompts: goals, deaths: DEATHS / 5 });
}

#[test]
fn f3_kills_while_tasks_are_out_cost_no_request_whose_result_is_known() {
    // The list, four parts with two tasks each, and the answer; each part is asked once more with the results.
    let goals = 1 + 4 * (1 + 2) + 1;
    let (agent, workflow, replies) = (CHIEF, TASKS, TASK_REPLIES);
    disturb(&Disturbed { agent, workflow, replies, goals, prompts: goals + 4, deaths: TASK_DEATHS });
}

/// A run has three times as many requests one after another as one of the loop. So there are fewer kills here, and
/// `SYSTOLE_WORKFLOW_DEATHS=200` makes as many.
#[test]
fn f4_kills_inside_supervision_cost_no_request_whose_result_is_known() {
    let (workflow, replies, goals) = (SUPERVISED, SUPERVISED_REPLIES, SUPERVISED_GOALS);
    disturb(&Disturbed { agent: "", workflow, replies, goals, prompts: goals, deaths: DEATHS / 4 });
}

#[test]
fn f8_kills_while_no_request_is_out_cost_no_request_at_all() {
    let replies = format!("{PAUSES}{LEFT}");
    let undisturbed = WorkflowHouse::build(&watched("critic"), &replies);
    assert_eq!(send(&undisturbed, "k").code, Some(6));
    choose(&undisturbed, "continue", "");
    assert_eq!(send(&undisturbed, "k").code, Some(0));
    let requests = undisturbed.mock.count().requests;
    assert_eq!(requests, 4, "a commitment, an output, its assessment and a verdict");

    let house = WorkflowHouse::build(&watched("critic"), &replies);
    let die = || {
        let organism = house.run();
        organism.signal(Signal::KILL);
        assert_eq!(organism.end().code, None);
    };
    assert_eq!(send(&house, "k").code, Some(6));
    (0..10).for_each(|_| die());
    choose(&house, "continue", "");
    assert_eq!(send(&house, "k").code, Some(0));
    (0..10).for_each(|_| die());
    house.judged();
    assert_eq!(house.mock.count().requests, requests, "not one more");
    assert_eq!(house.started().1, usize::try_from(requests).unwrap());
    assert_eq!(house.goals(), undisturbed.goals());
}

/// The seed of the dice: a fresh one, unless one is given.
pub(super) fn seed() -> u64 {
    match std::env::var("SYSTOLE_WORKFLOW_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => u64::from_str_radix(&draw_hex().unwrap()[..16], 16).unwrap(),
    }
}

fn disturb(plan: &Disturbed<'_>) {
    disturb_with(plan, seed());
}

/// Kills an organism with that workflow so often, and compares everything it asked with an undisturbed run.
fn disturb_with(plan: &Disturbed<'_>, seed: u64) {
    let Disturbed { agent, workflow, replies, goals: goals_of_a_run, prompts: prompts_of_a_run, deaths } =
        *plan;
    let undisturbed = WorkflowHouse::with_agents(agent, workflow, replies);
    let ran = undisturbed.systole(&["ask", "Write it."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "All parts are written.\n"), "{ran:?}");
    let expected = undisturbed.goals();
    assert_eq!(expected.len(), goals_of_a_run);

    let number =
        std::env::var("SYSTOLE_WORKFLOW_DEATHS").ok().map_or(deaths, |number| number.parse().unwrap());
    println!("SYSTOLE_WORKFLOW_SEED={seed} SYSTOLE_WORKFLOW_DEATHS={number}");
    let mut dice = SeededDice::new(seed);
    let house = WorkflowHouse::with_agents(agent, workflow, replies);
    let (mut runs, mut from, mut is_over) = (0, 0, true);
    for _ in 0..number {
        let organism = house.run();
        if is_over {
            runs += 1;
            question(&house, runs);
        }
        let mut events = Events::open(&run_file(house.path()), &format!("?from={from}"), &[]);
        let Some((last, ended)) = reads(&mut events, dice.between(LEAST, 3 * LEAST)) else {
            panic!("it ended by itself: {:?}", organism.end());
        };
        (from, is_over) = (last, ended);
        organism.signal(Signal::KILL);
        assert_eq!(organism.end().code, None);
    }
    let organism = house.run();
    if !is_over {
        let mut events = Events::open(&run_file(house.path()), &format!("?from={from}"), &[]);
        assert!(reads(&mut events, u64::MAX).is_some_and(|(_, is_over)| is_over));
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
    assert_eq!(distinct.len(), runs * prompts_of_a_run, "each turn has one prompt");
    assert_eq!(results, distinct.len(), "no prompt whose result is known is asked again");
    // A pump may die between the word that it asks and the asking.
    assert!(requests <= prompts.len() && requests >= results, "{requests}");
    let goals = house.goals();
    assert_eq!(goals.len(), runs * goals_of_a_run);
    for (at, goal) in expected.iter().enumerate() {
        assert!(goals[at * runs..(at + 1) * runs].iter().all(|same| same == goal), "{goal}");
    }
}
