//! An agent that sees its thread, in an organism as people run it: it sees what others said to one another, in order
//! and with sender and receiver, and the same again after a kill.

use rustix::process::Signal;

use super::again::at_every_turn;
use super::house::{AgentHouse, AgentPlan, Critic};
use crate::program::{PATIENCE, ask as knock, run_file};

const ASK: &str = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Where is the moon?</ask>";

/// The critic looks for itself before it answers.
const DOUBTS: &str = r#"
- {say: "<thinking>Let me see.</thinking><search><query>the sun</query></search>"}
- {say: "<thinking>So.</thinking><attempt_completion><result>It is so.</result></attempt_completion>"}
"#;

const SAID: [&str; 4] = [
    r#"{say: "<thinking>I look.</thinking><search><query>the moon</query></search>"}"#,
    r#"{say: "<thinking>I doubt.</thinking><ask>Is it so?</ask>"}"#,
    r#"{say: "<thinking>Once more.</thinking><search><query>the sea</query></search>"}"#,
    r#"{say: "<thinking>So.</thinking><attempt_completion><result>The moon is there.</result></attempt_completion>"}"#,
];

fn replies() -> String {
    SAID.map(|reply| format!("- {reply}")).join("\n")
}

/// The messages that a model got in its conversation, in order.
fn told(seen: &systole_mock_model::SeenRequest) -> Vec<String> {
    let messages = seen.body["messages"].as_array().unwrap().iter();
    let said = messages.filter(|message| message["role"] != "system");
    said.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

fn of<'s>(
    seen: &'s [systole_mock_model::SeenRequest],
    model: &str,
) -> Vec<&'s systole_mock_model::SeenRequest> {
    seen.iter().filter(|seen| seen.model.as_deref() == Some(model)).collect()
}

#[test]
fn b2_an_agent_that_sees_its_thread_is_shown_the_messages_inside_its_calls() {
    let replies = replies();
    let (agent, acts) = (", sees: thread", "dialect: xml, peers: [search]");
    let house = AgentHouse::build(&AgentPlan {
        dialect: "xml",
        replies: &replies,
        critic: Critic { acts, ..Critic::says(DOUBTS) },
        agent,
        ..AgentPlan::default()
    });
    let ran = house.ask("Where is the moon?");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "The moon is there.\n"),
        "{ran:?}\n{}",
        house.told()
    );
    let seen = house.mock.seen();
    let last = told(of(&seen, "main-model")[2]);
    let answer = last.iter().find(|text| text.contains("It is so.")).unwrap_or_else(|| panic!("{last:#?}"));
    let (inside, result) =
        answer.split_once("\n\n<tool_result").expect("the answer stands behind what was inside");
    assert!(result.contains("It is so."), "{answer}");
    let lines: Vec<&str> = inside.split("\n\n").collect();
    assert_eq!(lines.len(), 4, "its thoughts, its question and the answer, its last thoughts: {inside}");
    assert!(
        lines[0].starts_with("<message from=\"critic\" to=\"critic\">") && lines[0].contains("Let me see."),
        "{inside}"
    );
    assert!(
        lines[1].starts_with("<message from=\"critic\" to=\"search\">") && lines[1].contains("the sun"),
        "{inside}"
    );
    assert_eq!(lines[2], "<message from=\"search\" to=\"critic\">FOUND the sun</message>");
    assert!(lines[3].contains("So."), "{inside}");
    // The critic sees only its own call.
    let critic = told(of(&seen, "second-model")[1]).join("\n");
    assert!(!critic.contains("the moon") && !critic.contains("<message from=\"helper\" to"), "{critic}");
    house.judged();
}

#[test]
fn b2_an_agent_that_is_asked_in_a_thread_it_sees_is_shown_what_came_before() {
    let replies = replies();
    let critic = Critic { acts: "dialect: xml, peers: [search], sees: thread", ..Critic::says(DOUBTS) };
    let house =
        AgentHouse::build(&AgentPlan { dialect: "xml", replies: &replies, critic, ..AgentPlan::default() });
    let ran = house.ask("Where is the moon?");
    assert_eq!(ran.code, Some(0), "{ran:?}\n{}", house.told());
    let seen = house.mock.seen();
    let first = told(of(&seen, "second-model")[0]);
    let heads: Vec<&str> = first.iter().map(|text| text.split('>').next().unwrap_or_default()).collect();
    assert_eq!(
        heads[..6],
        [
            "<message from=\"operator\" to=\"helper\"",
            "<message from=\"helper\" to=\"helper\"",
            "<message from=\"helper\" to=\"search\"",
            "<message from=\"search\" to=\"helper\"",
            "<message from=\"helper\" to=\"helper\"",
            "<message from=\"helper\"",
        ],
        "{first:#?}"
    );
    assert!(first[0].contains("Where is the moon?") && first[3].contains("FOUND the moon"), "{first:#?}");
    assert!(first[5].contains("Is it so?"), "{first:#?}");
    let helper = told(of(&seen, "main-model")[2]).join("\n");
    assert!(!helper.contains("the sun"), "who asked sees its call alone: {helper}");
    house.judged();
}

#[test]
fn b2_an_agent_that_sees_its_thread_is_shown_the_same_after_a_kill_at_every_turn() {
    let agent = ", sees: thread";
    let critic = Critic { acts: "dialect: xml, peers: [search], sees: thread", ..Critic::says(DOUBTS) };
    at_every_turn(&AgentPlan { dialect: "xml", critic, agent, ..AgentPlan::default() }, &SAID);
}

#[test]
fn b2_an_agent_killed_inside_a_call_sees_the_same_thread_again() {
    let replies = replies();
    let mut lines: Vec<&str> = DOUBTS.trim().lines().collect();
    lines.insert(1, "- {hang: true}");
    let critic = lines.join("\n");
    let acts = "dialect: xml, peers: [search], sees: thread, on_unknown: retry";
    let critic = Critic { acts, ..Critic::says(&critic) };
    let house =
        AgentHouse::build(&AgentPlan { dialect: "xml", replies: &replies, critic, ..AgentPlan::default() });
    let organism = house.run();
    let receipt = knock(&run_file(house.path()), "POST", "/v1/messages", &[("Idempotency-Key", "k1")], ASK);
    assert_eq!(receipt.status, 202, "{receipt:?}");
    let waited = house.mock.wait(PATIENCE, |seen| of(seen, "second-model").len() == 2);
    assert!(waited.is_ok(), "{}", house.told());
    organism.signal(Signal::KILL);
    organism.end();
    let organism = house.run();
    std::fs::write(house.path().join("ask.xml"), ASK).unwrap();
    let ran = house.systole(&["send", "--file", "ask.xml", "--key", "k1"]);
    organism.interrupt();
    assert!(ran.code == Some(0) && ran.stdout.contains("The moon is there."), "{ran:?}\n{}", house.told());
    let started = house.started("critic");
    assert_eq!(started.len(), 3, "{}", house.told());
    assert_eq!(started[1].prompt, started[2].prompt, "what it remembered and what it was shown again");
    house.judged();
}
