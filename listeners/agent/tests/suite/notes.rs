//! Answers that hold only thoughts and plans: they are notes, which open the next turn and do not count as
//! attempts.

use systole_agent::spec::{self, Dialect};
use systole_kit::reply::ReplyContent;

use crate::stage::{AgentStage, helper, items, system_error};

fn script(answers: &[&str]) -> String {
    let line = |answer: &&str| format!("  - {}\n", serde_json::json!({ "say": answer }));
    format!("helper:\n{}", answers.iter().map(line).collect::<String>())
}

/// The note of a reply that holds nothing else.
fn note(said: &ReplyContent) -> String {
    let [note] = items(said)[..] else { panic!("{said:?} is not one note") };
    assert_eq!(&*note.name().local, "helper");
    String::from_utf8_lossy(note.bytes()).into_owned()
}

const PLAN: &str = "<todo-until condition=\"it is found\"><step done=\"false\">look</step></todo-until>";

#[tokio::test]
async fn b1_an_answer_of_only_the_own_tag_or_a_thought_is_a_note_in_every_dialect() {
    let answers = [
        "<helper><thought>I look first.</thought></helper>",
        "<helper xmlns=\"https://xml-pipeline.org/ns/helper/v1\"><thought>I look first.</thought></helper>",
        "<helper>I look first.</helper>",
        "<thought>I look first.</thought>",
        "\n<thinking>Hm.</thinking>\n<thought>I look first.</thought>\n",
    ];
    for dialect in [Dialect::Xml, Dialect::Native, Dialect::XmlFinal] {
        for answer in answers {
            let mut stage = AgentStage::of(helper(dialect), &script(&[answer, "Done."]));
            let note = note(&stage.ask().await);
            assert!(note.contains("<thought>I look first.</thought>"), "{dialect:?} {answer}: {note}");
            assert!(stage.heard.lock().unwrap().notices.is_empty(), "{dialect:?} {answer}");
            stage.answer(vec![None], Vec::new()).await;
            assert!(stage.shown().contains("Your note is recorded. Go on."), "{}", stage.shown());
            assert_eq!(stage.prompt().2, "", "a note costs no attempt");
        }
        let mut stage = AgentStage::of(helper(dialect), &script(&[PLAN]));
        assert!(note(&stage.ask().await).contains("<todo-until"), "{dialect:?}");
        let mut stage = AgentStage::of(helper(dialect), &script(&["<helper/>"]));
        assert!(note(&stage.ask().await).starts_with("<helper "), "{dialect:?}");
    }
}

#[tokio::test]
async fn b1_an_agent_may_think_the_same_in_all_its_turns() {
    let thought = "<thought>Still thinking.</thought>";
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&[thought; 10]));
    note(&stage.ask().await);
    for turn in 2..=10 {
        let said = stage.answer(vec![None], Vec::new()).await;
        assert!(note(&said).contains("Still thinking."), "turn {turn}");
    }
}

#[tokio::test]
async fn b1_what_stands_beside_a_thought_decides_what_an_answer_is() {
    // Reasoning alone is not a note. Neither is a thought next to an action that cannot be read.
    let rows = [
        ("<thinking>Where?</thinking>", "agent.reasoning-only"),
        ("<thought>I look.</thought>\n<fetch><url>u</url></fetch>", "agent.unknown-action"),
        ("<thought>I lo", "agent.missing-closing-tag"),
    ];
    for (answer, expected) in rows {
        let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&[answer]));
        let said = stage.ask().await;
        let ReplyContent::Again { code, words } = &said else { panic!("{answer}: {said:?}") };
        assert_eq!(code, expected, "{answer}");
        assert!(!words.is_empty(), "{answer}");
    }
    // Prose next to it is kept with it.
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&["So.\n<thought>I look.</thought>"]));
    let kept = note(&stage.ask().await);
    assert!(kept.contains("<thought>I look.</thought><thought>So.</thought>"), "{kept}");
    // With native calls, text with more than thoughts in it is the final.
    let mut stage = AgentStage::of(helper(Dialect::Native), &script(&["So: <thought>I look.</thought>"]));
    assert_eq!(items(&stage.ask().await)[0].text(), "So: <thought>I look.</thought>");
}

#[tokio::test]
async fn b3_a_note_in_the_last_turn_ends_with_a_report_that_says_why() {
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&["<thought>Hm.</thought>"; 2]));
    stage.ask().await;
    let said = stage.wrap_up("turns").await;
    let (_, _, header) = stage.prompt();
    assert!(header.contains("Turn 2 of 2."), "{header}");
    let report = items(&said)[0];
    assert_eq!(report.find_attribute("source").as_deref(), Some("synthetic"));
    let reason = report.find_attribute("reason").unwrap();
    assert!(reason.starts_with("in its last turn (turns): agent.final-turn-no-report: "), "{reason}");
}

#[tokio::test]
async fn e7_a_report_names_the_cause_of_the_last_unusable_answer() {
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&["no", "no idea", "none"]));
    let first = stage.ask().await;
    let second = stage.again(&first).await;
    let third = stage.again(&second).await;
    let reason = items(&third)[0].find_attribute("reason").unwrap();
    assert!(
        reason.starts_with("no usable answer of the model in 3 attempts; the last one: agent.prose-only: "),
        "{reason}"
    );
    // The provider's fault is known from the answers to earlier turns.
    let thoughts = ["<thought>a</thought>", "<thought>b</thought>", "<thought>c</thought>"];
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&thoughts));
    stage.ask().await;
    let cut = || vec![Some(system_error("model.truncated", "the connection was cut after 12 bytes"))];
    for _ in 0..2 {
        stage.answer(cut(), Vec::new()).await;
    }
    let said = stage.answer(cut(), Vec::new()).await;
    let report = items(&said)[0];
    let cause = "model.truncated: the connection was cut after 12 bytes";
    assert!(report.find_attribute("reason").unwrap().ends_with(cause), "{report:?}");
    assert!(report.text().contains(cause), "{}", report.text());
}

#[tokio::test]
async fn e4_a_repaired_action_that_was_refused_is_not_told_as_executed() {
    let answer = "<thinking>x</thinking>\n```xml\n<search><query>a</query></search>\n```";
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&[answer, "no"]));
    stage.ask().await;
    let notices = stage.heard.lock().unwrap().notices.clone();
    let told = notices.iter().map(|(code, words)| system_error(code, words)).collect();
    stage.answer(vec![None, Some(system_error("payload.invalid", "limit is missing"))], told).await;
    let shown = stage.shown();
    assert!(shown.contains("Error: Invalid parameters:\nlimit is missing"), "{shown}");
    assert!(shown.contains("Your action was repaired. Its result says why it was not executed."), "{shown}");
    assert!(!shown.contains("Do not send it again"), "{shown}");
}

#[tokio::test]
async fn e4_a_repair_of_an_action_that_was_left_out_is_not_told() {
    let search = "<search><query>a</query></search>";
    let answer = format!("<thinking>x</thinking>{search}<Search><query>b</query></Search>");
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&[&answer]));
    stage.ask().await;
    let codes: Vec<String> =
        stage.heard.lock().unwrap().notices.iter().map(|(code, _)| code.clone()).collect();
    assert_eq!(codes, ["agent.second-action"]);
}

/// The helper, with searches that a person must approve.
fn careful() -> spec::AgentSpec {
    let mut agent = helper(Dialect::Xml);
    agent.peers[0].needs_approval = true;
    agent
}

#[tokio::test]
async fn e4_a_corrected_name_never_reaches_what_needs_approval() {
    let rows = [
        "<Search><query>a</query></Search>",
        "<serch><query>a</query></serch>",
        "<tool_call><Search><query>a</query></Search></tool_call>",
        "<Message><meta><to>search</to></meta><search><query>a</query></search></Message>",
        "<spawn_thread><initial-payload><search><query>a</query></search></initial-payload></spawn_thread>",
        "<spawn-thread><initial-payload><Search><query>a</query></Search></initial-payload></spawn-thread>",
    ];
    for row in rows {
        let answer = format!("<thinking>x</thinking>\n{row}");
        let mut stage = AgentStage::of(careful(), &script(&[&answer]));
        let said = stage.ask().await;
        let ReplyContent::Again { code, words } = &said else { panic!("{row}: {said:?}") };
        assert_eq!(code, "agent.unknown-action", "{row}");
        assert!(words.contains("needs approval"), "{row}: {words}");
        assert!(stage.heard.lock().unwrap().notices.is_empty(), "{row}");
        // If no approval is needed, the name is corrected.
        let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&[&answer]));
        assert_eq!(items(&stage.ask().await).len(), 2, "{row}");
    }
    // The exact name is accepted, in a wrapper or a fence too.
    for row in [
        "<search><query>a</query></search>",
        "<tool_call><search><query>a</query></search></tool_call>",
        "```\n<search><query>a</query></search>\n```",
    ] {
        let answer = format!("<thinking>x</thinking>\n{row}");
        let mut stage = AgentStage::of(careful(), &script(&[&answer]));
        assert_eq!(items(&stage.ask().await).len(), 2, "{row}");
    }
    // A payload that is marked as dangerous waits for a person, for any recipient.
    let marked = "<thinking>x</thinking><Search is_dangerous=\"true\"><query>a</query></Search>";
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&[marked]));
    assert!(matches!(stage.ask().await, ReplyContent::Again { .. }));
}

#[tokio::test]
async fn e9_a_final_without_a_status_is_complete() {
    let nonce = systole_agent::chain::StoredLink::from_segment("nonce", crate::stage::MARK).hash;
    let nonce = &nonce[..8];
    let final_of = |status: &str| {
        format!("<systole-{nonce}-FINAL format=\"text\"{status}>In auth.rs.</systole-{nonce}-FINAL>")
    };
    let mut stage = AgentStage::of(helper(Dialect::XmlFinal), &script(&[&final_of("")]));
    let said = stage.ask().await;
    assert_eq!((&*items(&said)[0].name().local, items(&said)[0].text().as_str()), ("answer", "In auth.rs."));
    let mut stage = AgentStage::of(helper(Dialect::XmlFinal), &script(&[&final_of(" status=\"done\"")]));
    assert!(matches!(stage.ask().await, ReplyContent::Again { .. }));
}

#[tokio::test]
async fn e12_a_tool_without_documentation_says_what_it_does_with_a_call() {
    let mut agent = helper(Dialect::Native);
    let mut schemas = agent.schemas.to_vec();
    let text = String::from_utf8(schemas[1].text.to_vec()).unwrap();
    let about = "<xs:annotation><xs:documentation>Finds text.</xs:documentation></xs:annotation>";
    assert!(text.contains(about));
    schemas[1].text = text.replace(about, "").into_bytes().into();
    agent.schemas = schemas.into();
    let mut stage = AgentStage::of(agent, &script(&["Done."]));
    stage.ask().await;
    let tools = stage.tools();
    assert!(tools.contains("\"description\":\"Sends <search> to search.\""), "{tools}");
    assert!(!tools.contains("cannot carry"), "{tools}");
}

/// An answer that grows when it is written as XML.
fn large() -> String {
    "<".repeat(300_000)
}

#[tokio::test]
async fn e18_a_large_answer_is_kept_in_documents_and_read_back() {
    let answer = format!("<thinking>{}</thinking><search><query>a</query></search>", large());
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&[&answer]));
    assert_eq!(items(&stage.ask().await).len(), 2);
    let outcome = stage.outcome();
    assert_eq!((outcome.stop.as_str(), outcome.text.as_str()), ("end", ""));
    let heard = stage.heard.lock().unwrap();
    let text: String = outcome.blobs.iter().map(|hash| heard.documents[hash].as_str()).collect();
    assert!(text == answer && outcome.blobs.len() > 1, "{} documents", outcome.blobs.len());
    // Each piece fits into a message, with any escaping.
    let written = |text: &String| text.len() + 3 * text.matches('<').count();
    let longest = heard.put.iter().map(written).max();
    assert!(longest < Some(1 << 20), "{longest:?}");
}

#[tokio::test]
async fn e7_a_final_that_no_message_can_carry_is_an_attempt_and_says_why() {
    for dialect in [Dialect::Native, Dialect::Plain] {
        let mut stage = AgentStage::of(helper(dialect), &script(&[&large()]));
        let said = stage.ask().await;
        let ReplyContent::Again { code, words } = &said else { panic!("{dialect:?}: not again") };
        assert_eq!(code, "agent.tool-payload-invalid", "{dialect:?}");
        assert!(words.contains("Your final has 1200"), "{words}");
    }
}

#[tokio::test]
async fn e18_a_note_is_cut_where_no_message_can_carry_it() {
    let mut stage =
        AgentStage::of(helper(Dialect::Xml), &script(&[&format!("<thought>{}</thought>", large())]));
    let said = stage.ask().await;
    let bytes = items(&said)[0].bytes().len();
    assert!((100_000..1_000_000).contains(&bytes), "{bytes}");
}
