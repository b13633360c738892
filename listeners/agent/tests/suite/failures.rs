//! Every failure of the table: what the model sees of it, and what the log holds.

use systole_agent::failures::FAILURES;
use systole_agent::spec::{Dialect, Output, OutputFormat};
use systole_kit::reply::ReplyContent;

use crate::stage::{AgentStage, helper, items};

/// Asks an agent whose model gives that answer, and continues. Returns the reply and what the model saw next.
async fn shown(stage: &mut AgentStage) -> (String, String) {
    let said = stage.ask().await;
    let ReplyContent::Again { code, words } = &said else { panic!("{said:?}") };
    let told = format!("{}: {words}", code.as_str());
    stage.again(&said).await;
    (told, stage.shown())
}

fn script(first: &str) -> String {
    format!("helper:\n  - {first}\n  - say: In auth.rs.\n  - say: In auth.rs.\n")
}

#[tokio::test]
async fn e8_an_empty_answer_is_told_and_recorded() {
    let mut stage = AgentStage::of(helper(Dialect::Native), &script("say: ''"));
    let (told, shown) = shown(&mut stage).await;
    assert_eq!(told, "agent.empty-response: Your answer was empty.");
    assert_eq!(
        shown,
        "<turn-failed attempt=\"1\" of=\"3\"><reason slug=\"empty-response\">Error: No valid action.\nYour answer was empty.</reason></turn-failed>"
    );
}

#[tokio::test]
async fn e8_a_cut_answer_is_told_and_nothing_of_it_is_executed() {
    let mut stage = AgentStage::of(helper(Dialect::Native), &script("{say: In au, stop: length}"));
    let (told, shown) = shown(&mut stage).await;
    assert!(told.starts_with("agent.output-truncated: "), "{told}");
    assert!(shown.contains("slug=\"output-truncated\""), "{shown}");
    let mut stage =
        AgentStage::of(helper(Dialect::Native), &script("{call: {search: {query: x}}, stop: length}"));
    let (told, shown) = self::shown(&mut stage).await;
    assert!(told.starts_with("agent.output-truncated: "), "{told}");
    assert!(shown.contains("The part that was cut was not executed"), "{shown}");
}

#[tokio::test]
async fn e8_unknown_tools_and_invalid_arguments_are_reported_in_the_result_of_the_call() {
    let mut stage = AgentStage::of(helper(Dialect::Native), &script("call: {serach: {query: x}}"));
    let (told, shown) = shown(&mut stage).await;
    assert!(told.contains("`serach` is not a tool; did you mean `search`?"), "{told}");
    assert!(shown.starts_with("Error: Unknown tool"), "{shown}");
    let mut stage = AgentStage::of(helper(Dialect::Native), &script("call: {search: {query: x, limit: 0}}"));
    let (told, shown) = self::shown(&mut stage).await;
    assert!(told.starts_with("agent.tool-payload-invalid: "), "{told}");
    assert!(shown.starts_with("Error: Invalid parameters:"), "{shown}");
    assert!(shown.contains("limit: 0 is less than 1"), "{shown}");
}

#[tokio::test]
async fn e9_one_format_is_advertised_and_every_other_is_refused() {
    let json = || {
        let mut agent = helper(Dialect::XmlFinal);
        let schema = serde_json::json!({"type": "object", "required": ["answer"]});
        agent.output = Output { format: OutputFormat::Json, schema: Some(schema.into()) };
        agent
    };
    let nonce = {
        let mut stage = AgentStage::of(json(), &script("say: nothing"));
        stage.ask().await;
        let (_, segments, _) = stage.prompt();
        segments[0].split("<systole-").nth(1).unwrap()[..8].to_owned()
    };
    let slot = |code: &str, name: &str, rest: &str| format!("say: '<systole-{code}-{name} {rest}'");
    let close = format!("</systole-{nonce}-FINAL>");
    let rows = [
        ("final-missing", "say: It is in auth.rs.".to_owned()),
        (
            "nonce-mismatch",
            slot("00000000", "FINAL", r#"format="json" status="success">{}</systole-00000000-FINAL>"#),
        ),
        (
            "slot-mismatch",
            slot(
                &nonce,
                "ANSWER",
                &format!(r#"format="json" status="success">{{}}</systole-{nonce}-ANSWER>"#),
            ),
        ),
        ("format-mismatch", slot(&nonce, "FINAL", &format!(r#"format="text" status="success">{{}}{close}"#))),
        ("status-invalid", slot(&nonce, "FINAL", &format!(r#"format="json" status="done">{{}}{close}"#))),
        ("content-missing", slot(&nonce, "FINAL", &format!(r#"format="json" status="success"> {close}"#))),
        ("json-required", slot(&nonce, "FINAL", &format!(r#"format="json" status="success">answer{close}"#))),
        (
            "json-schema",
            slot(&nonce, "FINAL", &format!(r#"format="json" status="success">{{"a": 1}}{close}"#)),
        ),
        (
            "slot-mismatch",
            slot(
                &nonce,
                "FINAL",
                &format!(r#"format="json" status="success"><search><query>x</query></search>{close}"#),
            ),
        ),
    ];
    for (slug, answer) in rows {
        let mut stage = AgentStage::of(json(), &script(&answer));
        let (told, shown) = shown(&mut stage).await;
        assert!(told.starts_with(&format!("agent.{slug}: ")), "{slug}: {told}");
        assert!(shown.contains(&format!("slug=\"{slug}\"")), "{slug}: {shown}");
    }
    let right =
        slot(&nonce, "FINAL", &format!(r#"format="json" status="success">{{"answer": "auth.rs"}}{close}"#));
    let mut stage = AgentStage::of(json(), &script(&right));
    let said = stage.ask().await;
    assert_eq!(items(&said).last().unwrap().text(), r#"{"answer":"auth.rs"}"#);
}

#[test]
fn e8_the_table_names_each_failure_once() {
    let mut slugs: Vec<&str> = FAILURES.iter().map(|failure| failure.slug).collect();
    slugs.sort_unstable();
    let all = slugs.len();
    slugs.dedup();
    assert_eq!((slugs.len(), all), (38, 38));
}

/// Unusable answers in `xml`, each with its report.
const UNUSABLE: &[(&str, &str, &str)] = &[
    ("empty-response", "''", "Your answer was empty."),
    (
        "reasoning-only",
        "<thinking>Where could it be?</thinking>",
        "Your answer held reasoning and no action.",
    ),
    ("prose-only", "It is in auth.rs.", "Text outside of the tags reaches no one."),
    ("malformed", "<thinking>x</thinking><search><query>a < b &amp; c</query></search>", "Malformed XML"),
    ("unknown-action", "<thinking>x</thinking>\n<fetch><url>u</url></fetch>", "Unknown tool"),
    (
        "action-in-quoted-text",
        "<thinking>x</thinking> I would write:\n```xml\n<search><query>x</query></search>\n```\nand then look.",
        "was not executed",
    ),
];

#[tokio::test]
async fn e8_in_xml_each_unusable_answer_gets_its_reason_and_nothing_is_executed() {
    for (slug, answer, words) in UNUSABLE {
        let first = serde_json::json!({ "say": answer.trim_matches('\'') }).to_string();
        let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&first));
        let (told, shown) = shown(&mut stage).await;
        assert!(told.starts_with(&format!("agent.{slug}: ")), "{slug}: {told}");
        assert!(
            shown.starts_with("<tool_result>Error: ") && !shown.contains("turn-failed"),
            "{slug}: {shown}"
        );
        assert!(shown.contains(words), "{slug}: {shown}");
    }
}

#[tokio::test]
async fn e8_in_xml_what_is_cut_is_never_executed() {
    for answer in
        ["<thinking>x</thinking><search><query>log", "<thinking>x</thinking><search><query>login</query>"]
    {
        let first = serde_json::json!({ "say": answer, "stop": "length" }).to_string();
        let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&first));
        let said = stage.ask().await;
        let ReplyContent::Again { code, .. } = &said else { panic!("{answer}: {said:?}") };
        assert!(["agent.output-truncated", "agent.truncated-structure"].contains(&code.as_str()), "{code}");
    }
}

#[tokio::test]
async fn e2_a_second_action_is_refused_with_feedback_and_the_first_runs() {
    let answer = "<thinking>x</thinking><search><query>a</query></search><search><query>b</query></search>";
    let first = serde_json::json!({ "say": answer }).to_string();
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&first));
    let said = stage.ask().await;
    let sent = items(&said);
    assert_eq!(sent.iter().map(|payload| &*payload.name().local).collect::<Vec<_>>(), ["helper", "search"]);
    assert_eq!(sent[1].text_of("query").as_deref(), Some("a"));
    let notices = stage.heard.lock().unwrap().notices.clone();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].0, "agent.second-action");
    assert!(notices[0].1.contains("Only the first was executed"), "{}", notices[0].1);
}

#[tokio::test]
async fn e8_missing_thinking_is_reported_once_and_the_action_runs() {
    let search = |query: &str| {
        let say = format!("<search><query>{query}</query></search>");
        format!("  - {}\n", serde_json::json!({ "say": say }))
    };
    let answers = format!("helper:\n{}{}", search("a"), search("b"));
    let mut stage = AgentStage::of(helper(Dialect::Xml), &answers);
    assert_eq!(items(&stage.ask().await).len(), 1);
    assert_eq!(stage.heard.lock().unwrap().notices.len(), 1);
    let said = stage.answer(vec![Some(crate::stage::found("nothing"))], Vec::new()).await;
    assert_eq!(items(&said).len(), 1);
    assert_eq!(stage.heard.lock().unwrap().notices.len(), 1, "it is reported once");
}

#[tokio::test]
async fn e8_an_answer_with_the_mark_in_it_does_nothing() {
    let answer = format!("<thinking>x</thinking><search><query>{}</query></search>", crate::stage::MARK);
    let first = serde_json::json!({ "say": answer }).to_string();
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&first));
    let (told, shown) = shown(&mut stage).await;
    assert!(told.starts_with("agent.mark-in-output: "), "{told}");
    assert!(shown.starts_with("<tool_result>Error: No valid action."), "{shown}");
}

#[tokio::test]
async fn e4_what_is_repaired_is_told_and_runs() {
    let answers = [
        ("misspelt-action", "<thinking>x</thinking><Search><query>a</query></Search>"),
        ("wrapped-call", "<thinking>x</thinking><tool_call><search><query>a</query></search></tool_call>"),
        ("missing-closing-tag", "<thinking>x</thinking><search><query>a</query>"),
        ("fenced-action", "<thinking>x</thinking>\n```xml\n<search><query>a</query></search>\n```"),
    ];
    for (slug, answer) in answers {
        let first = serde_json::json!({ "say": answer }).to_string();
        let mut stage = AgentStage::of(helper(Dialect::Xml), &script(&first));
        let said = stage.ask().await;
        assert_eq!(items(&said)[1].text_of("query").as_deref(), Some("a"), "{slug}");
        let notices = stage.heard.lock().unwrap().notices.clone();
        assert_eq!(
            notices.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>(),
            [format!("agent.{slug}")]
        );
        // No message to the model may make it send the same again.
        assert!(notices[0].1.contains("executed. Do not send it again"), "{slug}: {}", notices[0].1);
        assert!(!notices[0].1.contains("not executed"), "{slug}: {}", notices[0].1);
        let told = notices.iter().map(|(code, words)| crate::stage::system_error(code, words)).collect();
        stage.answer(vec![None, Some(crate::stage::found("auth.rs"))], told).await;
        let shown = stage.shown();
        assert!(shown.contains("<tool_result>Note: ") && shown.contains("Do not send it again"), "{shown}");
    }
}

#[tokio::test]
async fn e7_an_agent_whose_model_gives_nothing_usable_ends_with_a_report() {
    let answers = "helper:\n  - say: <thinking>Perhaps auth.rs.</thinking>\n  - say: no\n  - say: no idea\n";
    let mut stage = AgentStage::of(helper(Dialect::Xml), answers);
    let first = stage.ask().await;
    let second = stage.again(&first).await;
    let third = stage.again(&second).await;
    let report = items(&third)[0];
    assert!(report.name().is_named(systole_kit::namespaces::CORE, "final-report"));
    assert_eq!(report.find_attribute("source").as_deref(), Some("synthetic"));
    assert_eq!(report.find_attribute("outcome").as_deref(), Some("partial"));
    assert!(report.text().contains("Perhaps auth.rs."), "{}", report.text());
}

#[tokio::test]
async fn e7_on_the_last_turn_only_a_final_counts_and_without_one_there_is_a_report() {
    let answers = "helper:\n  - say: <thinking>I look.</thinking><search><query>a</query></search>\n  - say: <thinking>On.</thinking><search><query>b</query></search>\n";
    let mut stage = AgentStage::of(helper(Dialect::Xml), answers);
    stage.ask().await;
    let said = stage.wrap_up("budget.messages").await;
    let report = items(&said)[0];
    assert!(report.name().is_named(systole_kit::namespaces::CORE, "final-report"), "{report:?}");
    assert!(report.text().contains("This was the last turn"), "{}", report.text());
    let (_, _, header) = stage.prompt();
    assert!(
        header.contains("This is the last turn (budget.messages): only your final is taken."),
        "{header}"
    );
}

#[tokio::test]
async fn e7_a_model_that_repeats_itself_is_warned_and_then_ended() {
    let answers = format!("helper:\n{}", "  - say: It is in auth.rs.\n".repeat(4));
    let mut agent = helper(Dialect::Xml);
    agent.attempts = 10;
    let mut stage = AgentStage::of(agent, &answers);
    let first = stage.ask().await;
    let second = stage.again(&first).await;
    let ReplyContent::Again { .. } = &second else { panic!("{second:?}") };
    let notices = stage.heard.lock().unwrap().notices.clone();
    assert!(notices.iter().any(|(code, _)| code == "agent.stuck-repeating"), "{notices:?}");
    let third = stage.again(&second).await;
    let fourth = stage.again(&third).await;
    let fifth = stage.again(&fourth).await;
    assert!(items(&fifth)[0].name().is_named(systole_kit::namespaces::CORE, "final-report"));
}

#[tokio::test]
async fn e6_the_five_classes_of_failures_begin_each_in_its_own_words() {
    let searches = "helper:\n  - say: <thinking>x</thinking><search><query>a</query></search>\n  - say: no\n";
    let rows = [
        ("payload.malformed", "Error: Malformed XML at line 2."),
        ("route.not-a-peer", "Error: Unknown tool: search."),
        ("payload.invalid", "Error: Invalid parameters:"),
        ("listener.failed", "Error: Tool execution failed:"),
        ("listener.timeout", "Error: Tool execution failed:"),
    ];
    for (code, first) in rows {
        let mut writer = systole_kit::writer::XmlWriter::new();
        let start = writer.open("system-error").xmlns(systole_kit::namespaces::CORE).attr("code", code);
        let start = start.attr("first-code", "upstream.down").attr("retry_allowed", "true");
        let start = start.attr("element", "search").attr("line", "2");
        start.attr("message", "what happened").content(|inside| {
            inside.open("expected").text("what may stand there");
            inside.open("try").text("<limit>1</limit>");
        });
        let error =
            systole_kit::Payload::parse(&writer.finish(), &systole_kit::DocumentLimits::FROM_PUMP).unwrap();
        let mut stage = AgentStage::of(helper(Dialect::Xml), searches);
        stage.ask().await;
        stage.answer(vec![None, Some(error)], Vec::new()).await;
        let between = if first.contains("execution") { ' ' } else { '\n' };
        let wanted = format!(
            "<tool_result tool_name=\"search\">{first}{between}what happened\nExpected: what may stand there\nTry: &lt;limit&gt;1&lt;/limit&gt;"
        );
        assert!(stage.shown().starts_with(&wanted), "{code}: {}", stage.shown());
    }
    let mut stage = AgentStage::of(helper(Dialect::Xml), &script("say: It is in auth.rs."));
    let (_, shown) = shown(&mut stage).await;
    assert!(shown.starts_with("<tool_result>Error: No valid action."), "{shown}");
}

/// A final that was held back because steps are open may rightly be repeated.
#[tokio::test]
async fn e7_a_final_that_is_said_again_is_not_stuck() {
    let end =
        "<thinking>Done.</thinking><attempt_completion><result>In auth.rs.</result></attempt_completion>";
    let answers = format!("helper:\n{}", format!("  - say: {end}\n").repeat(2));
    let mut stage = AgentStage::of(helper(Dialect::Xml), &answers);
    stage.ask().await;
    let open = systole_kit::Payload::write(systole_kit::namespaces::CORE, "handled", |_| {});
    let said = stage.answer(vec![None, Some(open)], Vec::new()).await;
    assert!(items(&said)[1].name().is_named(systole_kit::namespaces::TALK, "answer"));
    assert!(stage.heard.lock().unwrap().notices.is_empty());
}

#[tokio::test]
async fn e9_a_native_json_final_follows_its_schema_or_gets_the_place_of_the_mistake() {
    let json = || {
        let mut agent = helper(Dialect::Native);
        let schema = serde_json::json!({"type": "object", "required": ["answer"]});
        agent.output = Output { format: OutputFormat::Json, schema: Some(schema.into()) };
        agent
    };
    for (slug, answer) in [("json-required", "In auth.rs."), ("json-schema", "{\"a\": 1}")] {
        let first = serde_json::json!({ "say": answer }).to_string();
        let mut stage = AgentStage::of(json(), &script(&first));
        let (told, shown) = shown(&mut stage).await;
        assert!(told.starts_with(&format!("agent.{slug}: ")), "{slug}: {told}");
        assert!(shown.contains(&format!("slug=\"{slug}\"")), "{slug}: {shown}");
    }
    let right = serde_json::json!({ "say": "{\"answer\": \"auth.rs\"}" }).to_string();
    let mut stage = AgentStage::of(json(), &script(&right));
    let said = stage.ask().await;
    assert_eq!(items(&said)[0].text(), "{\"answer\": \"auth.rs\"}");
}
