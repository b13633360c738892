//! An agent that goes in circles with two listeners at once gets a warning, and ends with a usable report. An agent
//! that finds something new in each turn goes on, even if it also repeats the same question.

use super::house::{AgentHouse, AgentPlan, Critic};

/// Each turn is a search and a question to the other agent. The searches repeat after `searches`, the questions after
/// three.
fn turns(dialect: &str, number: usize, searches: usize) -> String {
    let turn = |turn: usize| {
        let (search, ask) = (turn % searches, turn % 3);
        match dialect {
            "native" => format!(
                r#"- {{say: Round {turn}., call: [{{search: {{query: s{search}}}}}, {{ask: {{".": "Is it {ask}?"}}}}]}}"#
            ),
            _ => format!(
                r#"- {{say: "<thinking>Round {turn}.</thinking><search><query>s{search}</query></search><ask>Is it {ask}?</ask>"}}"#
            ),
        }
    };
    (1..=number).map(|number| turn(number) + "\n").collect()
}

fn house(dialect: &str, replies: &str) -> AgentHouse {
    let critic = Critic::says("[{say: It is so., times: always}]");
    let agent = ", turns: 12, actions: many";
    let agent = if dialect == "native" { ", turns: 12" } else { agent };
    AgentHouse::build(&AgentPlan { dialect, replies, critic, agent, ..AgentPlan::default() })
}

#[test]
fn e7_an_agent_in_a_loop_with_two_listeners_is_warned_and_ends_with_a_report() {
    for dialect in ["native", "xml"] {
        let house = house(dialect, &turns(dialect, 13, 3));
        let ran = house.ask("Where is the moon?");
        let words = format!("{dialect}: {ran:?}\n{}", house.told());
        // Three rounds are new and six bring nothing new. In three rounds both calls are refused. In the last turn
        // only a final counts.
        assert_eq!(house.codes("loop.ping-pong").len(), 6, "{words}");
        let asked = house.asked();
        assert_eq!(asked.len(), 13, "{words}");
        let shown = asked[10].body.to_string();
        assert!(shown.contains("6 rounds with search brought no new payload"), "{shown}");
        assert!(shown.contains("6 rounds with critic brought no new payload"), "{shown}");
        assert!(!asked[8].body.to_string().contains("rounds with search"), "{words}");
        assert_eq!(
            house.mock.seen().len() - asked.len(),
            9,
            "the other agent's model is asked no more: {words}"
        );
        // The result is usable: who ended the conversation, why, and what the model last thought.
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{words}");
        let report = house
            .records()
            .into_iter()
            .rev()
            .find(|record| String::from_utf8_lossy(&record.body).contains("<final-report"));
        let report = String::from_utf8(report.expect("there is a report").body.to_vec()).unwrap();
        for part in [r#"source="synthetic""#, r#"outcome="partial""#, "Its last thought: Round 12."] {
            assert!(report.contains(part), "{part}: {report}");
        }
        assert!(ran.stderr.contains("in its last turn (budget.messages)"), "{words}");
        assert!(ran.stderr.contains("Round 12."), "{words}");
        house.judged();
    }
}

#[test]
fn e7_an_agent_that_finds_something_new_in_each_turn_is_not_held_up() {
    for dialect in ["native", "xml"] {
        let done = match dialect {
            "native" => "- {say: The moon is there.}\n",
            _ => {
                "- {say: \"<thinking>So.</thinking><attempt_completion><result>The moon is there.</result></attempt_completion>\"}\n"
            }
        };
        let house = house(dialect, &[turns(dialect, 11, 100).as_str(), done].concat());
        let ran = house.ask("Where is the moon?");
        let words = format!("{dialect}: {ran:?}\n{}", house.told());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "The moon is there.\n"), "{words}");
        assert!(house.codes("loop.ping-pong").is_empty(), "{words}");
        house.judged();
    }
}
