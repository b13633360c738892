//! An organism that is killed while its agent works, and started again: no request is repeated silently, the next
//! attempt gets the same prompt as the one before, and the conversation ends.
//!
//! Four kills for each policy in every run; `SYSTOLE_AGENT_KILLS=N` makes N rounds of them.

use std::io::Write as _;
use std::net::TcpStream;

use rustix::process::Signal;
use systole_core::types::record::RecordKind;

use super::house::{AgentHouse, AgentPlan, KEY};
use crate::program::{PATIENCE, Running, ask as knock, run_file, systole_with};
use crate::roles::ProgramGate;

const ASK: &str = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Where is the moon?</ask>";

/// The moment at which the organism is killed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Moment {
    /// During the first request to the model, before the model has said anything.
    FirstCall,
    /// While the program that the agent called works.
    Tool,
    /// During the second request to the model, with the result of the tool, in the middle of a call.
    SecondCall,
    /// While the model sends its final.
    Final,
}

const MOMENTS: [Moment; 4] = [Moment::FirstCall, Moment::Tool, Moment::SecondCall, Moment::Final];

/// The model's answers. At the moment of the kill the model sends the beginning, and nothing more for an hour.
fn replies(dialect: &str, moment: Moment) -> String {
    let said = match dialect {
        "native" => [
            "say: I look., call: {search: {query: one}}",
            "say: Again., call: {search: {query: two}}",
            "say: The moon is there.",
        ],
        _ => [
            r#"say: "<thinking>I look.</thinking><search><query>one</query></search>""#,
            r#"say: "<thinking>Again.</thinking><search><query>two</query></search>""#,
            r#"say: "<thinking>So.</thinking><attempt_completion><result>The moon is there.</result></attempt_completion>""#,
        ],
    };
    let dies = match moment {
        Moment::FirstCall => Some((0, "{hang: true}".to_owned())),
        Moment::Tool => None,
        Moment::SecondCall => Some((1, format!("{{{}, chunk: 1, delay: 1h}}", said[1]))),
        Moment::Final => Some((2, format!("{{{}, chunk: 2, delay: 1h}}", said[2]))),
    };
    let mut lines = Vec::new();
    for (at, reply) in said.iter().enumerate() {
        lines.extend(dies.iter().filter(|(dying, _)| *dying == at).map(|(_, reply)| format!("- {reply}")));
        lines.push(format!("- {{{reply}}}"));
    }
    lines.join("\n")
}

fn house(dialect: &str, policy: &str, moment: Moment, door: &ProgramGate) -> AgentHouse {
    let (agent, env) = (format!(", on_unknown: {policy}"), format!("{{DOOR: \"{}\"}}", door.port()));
    let replies = replies(dialect, moment);
    AgentHouse::build(&AgentPlan {
        dialect,
        replies: &replies,
        agent: &agent,
        env: &env,
        ..AgentPlan::default()
    })
}

/// Runs the organism up to the moment, and kills it there. From then on the door stays open.
fn dies(house: &AgentHouse, moment: Moment, door: ProgramGate) {
    let organism = house.run();
    let run = run_file(house.path());
    let receipt = knock(&run, "POST", "/v1/messages", &[("Idempotency-Key", "k1")], ASK);
    assert_eq!(receipt.status, 202, "{receipt:?}");
    let (calls, requests) = match moment {
        Moment::FirstCall => (0, 1),
        Moment::Tool => (1, 1),
        Moment::SecondCall => (1, 2),
        Moment::Final => (2, 3),
    };
    let mut callers: Vec<TcpStream> = Vec::new();
    for number in 1..=calls {
        let mut caller = door.comes();
        if moment != Moment::Tool || number < calls {
            caller.write_all(b"go on\n").unwrap();
        }
        callers.push(caller);
    }
    house.mock.wait(PATIENCE, |seen| seen.len() >= requests).unwrap();
    if moment == Moment::Final || moment == Moment::SecondCall {
        // The beginning of the model's answer was received.
        wait_for_start(house, requests);
    }
    organism.signal(Signal::KILL);
    let dead = organism.end();
    assert_eq!(dead.code, None, "{dead:?}");
    door.stays_open();
}

/// The start of each request is on disk before the request goes out.
fn wait_for_start(house: &AgentHouse, requests: usize) {
    assert_eq!(
        house.started("helper").len(),
        requests,
        "a start for each request, before it: {}",
        house.told()
    );
}

fn send(house: &AgentHouse) -> crate::program::Ran {
    let file = house.path().join("ask.xml");
    std::fs::write(&file, ASK).unwrap();
    systole_with(house.path(), &["send", "--file", "ask.xml", "--key", "k1"], &[("MODEL_KEY", KEY)])
}

fn trial(dialect: &str, policy: &str, moment: Moment) {
    let door = ProgramGate::open();
    let house = house(dialect, policy, moment, &door);
    dies(&house, moment, door);
    let before = house.started("helper");
    // `context` prints the prompt of the killed attempt from the log alone.
    let shown = house.context("@last");
    assert_eq!(shown["prompt"].as_str(), Some(before.last().unwrap().prompt.as_str()), "{shown}");

    let organism: Running = house.run();
    let mut ran = send(&house);
    let words =
        |ran: &crate::program::Ran| format!("{dialect} {policy} {moment:?}: {ran:?}\n{}", house.told());
    let paid_twice = moment != Moment::Tool;
    if paid_twice && policy == "ask" {
        assert_eq!(ran.code, Some(6), "{}", words(&ran));
        assert_eq!(
            house.asked().len(),
            before.len(),
            "nothing is asked before a person said so: {}",
            words(&ran)
        );
        let approved = house.systole(&["approve", "a1"]);
        assert_eq!(approved.code, Some(0), "{approved:?}");
        ran = send(&house);
    }
    organism.interrupt();
    let fails = paid_twice && policy == "fail";
    assert_eq!(ran.code, Some(i32::from(fails)), "{}", words(&ran));
    assert_eq!(ran.stdout.contains("The moon is there."), !fails, "{}", words(&ran));
    let (started, asked) = (house.started("helper"), house.asked().len());
    assert!(asked <= started.len(), "{asked} requests of {} starts: {}", started.len(), words(&ran));
    let unknown =
        !house.codes("model.unknown-outcome").is_empty() || house.told().contains("model.unknown-outcome");
    assert_eq!(unknown, paid_twice, "an unknown outcome is reported: {}", words(&ran));
    let expected = 3 + usize::from(paid_twice);
    if fails {
        assert_eq!(asked, before.len(), "{}", words(&ran));
    } else {
        assert_eq!(asked, expected, "{}", words(&ran));
    }
    if paid_twice && !fails {
        // The same turn in another process has the same prompt, byte for byte.
        let at = before.len();
        assert_eq!(started[at].prompt, started[at - 1].prompt, "{}", words(&ran));
    }
    let attempts = house.records().iter().filter(|record| record.header.kind == RecordKind::Attempt).count();
    assert!(attempts > 0, "{}", words(&ran));
    house.judged();
}

fn rounds() -> usize {
    std::env::var("SYSTOLE_AGENT_KILLS").ok().map_or(1, |number| number.parse().unwrap())
}

fn each(policy: &str) {
    for round in 0..rounds() {
        // A trial mostly waits, so two run in parallel.
        std::thread::scope(|scope| {
            for (half, moments) in MOMENTS.chunks(2).enumerate() {
                scope.spawn(move || {
                    for (number, moment) in moments.iter().enumerate() {
                        let dialect = if (round + half + number) % 2 == 0 { "native" } else { "xml" };
                        trial(dialect, policy, *moment);
                    }
                });
            }
        });
    }
}

#[test]
fn e18_after_a_kill_an_agent_asks_a_person_before_it_pays_again() {
    each("ask");
}

#[test]
fn e18_an_agent_whose_organism_is_killed_fails_rather_than_pay_again() {
    each("fail");
}

#[test]
fn e18_an_agent_whose_organism_is_killed_goes_on_with_the_same_prompt() {
    each("retry");
}
