//! An agent whose answers are cut after their first action, in an organism as people run it: the provider sees its
//! client disconnect, the log says how the answer ended, and uncounted tokens are shown as uncounted.

use systole_mock_model::AnswerEnd;

use super::again::{XML, at_every_turn};
use super::house::{AgentHouse, AgentPlan, Critic, FORMS};

const EARLY: &str = ", stop_early: true";

#[test]
fn e2_an_answer_that_never_ends_is_cut_behind_its_action_at_every_provider() {
    let replies = r#"
- {say: "<thinking>I look.</thinking><search><query>the moon</query></search>", chunk: 4, delay: 1ms, endless: true}
- {say: "<thinking>So.</thinking><attempt_completion><result>The moon is there.</result></attempt_completion>", chunk: 4, delay: 1ms, endless: true}
"#;
    for form in FORMS {
        let house = AgentHouse::build(&AgentPlan {
            form,
            dialect: "xml",
            replies,
            agent: EARLY,
            ..AgentPlan::default()
        });
        let ran = house.ask("Where is the moon?");
        let words = format!("{form}: {ran:?}\n{}", house.told());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "The moon is there.\n"), "{words}");
        let gone =
            |seen: &[systole_mock_model::SeenRequest]| seen.iter().all(|seen| seen.end == AnswerEnd::Gone);
        let seen = house.mock.wait(crate::program::PATIENCE, gone);
        assert_eq!(seen.as_ref().map(Vec::len).ok(), Some(2), "{words}: {seen:?}");
        let outcomes = house.outcomes("helper");
        let texts: Vec<(&str, bool)> =
            outcomes.iter().map(|outcome| (outcome.stop.as_str(), outcome.text.ends_with('>'))).collect();
        assert_eq!(texts, [("cut", true), ("cut", true)], "{words}: {outcomes:?}");
        assert!(
            outcomes.iter().all(|outcome| outcome.tokens_out.is_none() && outcome.money.is_none()),
            "{words}"
        );
        // The model sees as its own answer only what was received.
        let second = seen.unwrap()[1].body.to_string();
        assert!(second.contains("<query>the moon</query></search>\""), "{second}");
        let cost = house.systole(&["cost", "@last"]);
        assert!(cost.code == Some(0) && cost.stdout.contains("2 unpriced"), "{cost:?}");
        house.judged();
    }
}

#[test]
fn e2_a_conversation_with_cut_answers_is_rebuilt_exactly_at_every_turn() {
    let critic = Critic::says("[{say: It is so.}]");
    at_every_turn(&AgentPlan { dialect: "xml", critic, agent: EARLY, ..AgentPlan::default() }, &XML);
}
