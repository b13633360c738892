//! Answers of a model that are neither an action nor a final, or that had to be repaired, in a whole organism:
//! thoughts alone become notes, the model sees what ran, and the report says who is at fault when a tool or a
//! provider fails.

use super::house::{AgentHouse, AgentPlan};

const DONE: &str = r#"- {say: "<thinking>So.</thinking><attempt_completion><result>The moon is there.</result></attempt_completion>"}
"#;

fn house(dialect: &str, agent: &str, replies: &str) -> AgentHouse {
    AgentHouse::build(&AgentPlan { dialect, agent, replies, ..AgentPlan::default() })
}

/// The requests to the program `search` in the log.
fn searches(house: &AgentHouse) -> usize {
    let is_search = |to: &systole_core::types::ids::Name| to.as_str() == "search";
    let records = house.records();
    records.iter().filter(|record| record.header.to.as_ref().is_some_and(is_search)).count()
}

#[test]
fn b1_thoughts_alone_are_notes_that_open_the_next_turn_in_every_dialect() {
    let thoughts = r#"
- {say: "<helper><thought>First I look.</thought></helper>"}
- {need: [Your note is recorded], say: "<thought>Then I ask.</thought>"}
"#;
    let native = "- {say: The moon is there.}\n";
    let slot = r#"- {say: "<systole-0n0n0n0n-FINAL format=\"text\" status=\"success\">The moon is there.</systole-0n0n0n0n-FINAL>", chunk: 500}
"#;
    for (dialect, agent, done) in
        [("xml", "", DONE), ("native", "", native), ("xml-final", ", output: {format: text}", slot)]
    {
        let house = house(dialect, agent, &[thoughts, done].concat());
        let ran = house.ask("Where is the moon?");
        let words = format!("{dialect}: {ran:?}\n{}", house.told());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "The moon is there.\n"), "{words}");
        assert_eq!(house.asked().len(), 3, "{words}");
        assert!(house.codes("agent.").is_empty(), "{words}");
        // In `xml` the last answer also has thinking, which is one more note.
        assert_eq!(house.codes("note").len(), 2 + usize::from(dialect == "xml"), "{words}");
        house.judged();
    }
}

#[test]
fn b3_an_agent_that_only_thinks_ends_at_its_turns_and_the_report_says_why() {
    let thought = "- {say: \"<thought>Still thinking.</thought>\"}\n";
    let house = house("xml", ", turns: 5", &thought.repeat(6));
    let ran = house.ask("Where is the moon?");
    let words = format!("{ran:?}\n{}", house.told());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{words}");
    assert_eq!(house.asked().len(), 6, "five turns and the last one: {words}");
    assert_eq!(house.codes("note").len(), 5, "{words}");
    for part in ["in its last turn (", "Its last thought: Still thinking."] {
        assert!(ran.stderr.contains(part), "{part}: {words}");
    }
    let last = house.asked()[5].body.to_string();
    assert!(last.contains("Turn 6 of 6.") && !last.contains("6 of 5"), "{last}");
    house.judged();
}

#[test]
fn e4_an_action_in_a_fence_runs_once_and_is_reported_as_executed() {
    let fence = r#"
- {say: "<thinking>I look.</thinking>\n```xml\n<search><query>the moon</query></search>\n```"}
- {need: [FOUND the moon, 'the action was executed. Do not send it again'], say: "<thinking>So.</thinking><attempt_completion><result>The moon is there.</result></attempt_completion>"}
"#;
    let house = house("xml", "", fence);
    let ran = house.ask("Where is the moon?");
    let words = format!("{ran:?}\n{}", house.told());
    assert_eq!(ran.code, Some(0), "{words}");
    assert_eq!(searches(&house), 1, "{words}");
    let second = house.asked()[1].body.to_string();
    assert!(!second.contains("not executed"), "{second}");
    house.judged();
}

#[test]
fn a_tool_that_answers_with_something_invalid_is_blamed_and_not_its_caller() {
    let broken = r#"
- {say: "<thinking>I look.</thinking><search><query>broken</query></search>"}
- {need: ['Error: Tool execution failed: search answered with something invalid'], say: "<thinking>So.</thinking><attempt_completion><result>The tool is broken.</result></attempt_completion>"}
"#;
    let house = house("xml", "", broken);
    let ran = house.ask("Where is the moon?");
    let words = format!("{ran:?}\n{}", house.told());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "The tool is broken.\n"), "{words}");
    let second = house.asked()[1].body.to_string();
    assert!(!second.contains("of your answer") && !second.contains("Invalid parameters"), "{second}");
    // The author of the tool finds the details in the log.
    assert_eq!(house.codes("payload.invalid").len(), 1, "{words}");
    assert_eq!(house.codes("listener.failed").len(), 1, "{words}");
    house.judged();
}

#[test]
fn e7_a_provider_that_cuts_every_answer_is_named_in_the_report() {
    let cut = "- {say: A part of, cut: true}\n";
    let house = house("native", "", &cut.repeat(3));
    let ran = house.ask("Where is the moon?");
    let words = format!("{ran:?}\n{}", house.told());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{words}");
    assert!(
        ran.stderr.contains("no usable answer of the model in 3 attempts; the last one: model.truncated: "),
        "{words}"
    );
    house.judged();
}

#[test]
fn e18_a_large_answer_is_bought_once_and_read_back_by_the_next_process() {
    let large = "<".repeat(200_000);
    let first = format!("<thinking>{large}</thinking><search><query>the moon</query></search>");
    let replies = format!("- {}\n{DONE}{DONE}", serde_json::json!({ "say": first }));
    let model = ", window: 4000000";
    let house = AgentHouse::build(&AgentPlan {
        dialect: "xml",
        replies: &replies,
        model,
        agent: ", turns: 4",
        ..AgentPlan::default()
    });
    let ran = house.ask("Where is the moon?");
    let words = format!("{ran:?}\n{:?}", house.codes(""));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "The moon is there.\n"), "{words}");
    assert_eq!(house.asked().len(), 2, "{words}");
    assert!(house.codes("payload.too-large").is_empty(), "{words}");
    assert!(house.outcomes("helper")[0].blobs.len() > 1, "{words}");
    // The text of the earlier call is part of the next prompt.
    let ran = house.systole(&["ask", "--thread", "@last", "And now?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let last = house.asked()[2].body.to_string();
    assert!(last.contains(&large), "{} bytes were asked", last.len());
    house.judged();
}
