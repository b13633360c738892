//! Every failure of the table: what the model is shown of it, and what the log holds.

use systole_agent::failures::FAILURES;
use systole_agent::spec::{Dialect, Format, Output};
use systole_kit::reply::Said;

use crate::stage::{Stage, helper, items};

/// Asks an agent whose model answers that, and goes on with what came of it; what its reply was, and what the model
/// was shown next.
async fn shown(stage: &mut Stage) -> (String, String) {
    let said = stage.ask().await;
    let Said::Again { code, words } = &said else { panic!("{said:?}") };
    let told = [code.as_str(), ": ", words].concat();
    stage.again(&said).await;
    (told, stage.shown())
}

fn script(first: &str) -> String {
    ["helper:\n  - ", first, "\n  - say: In auth.rs.\n  - say: In auth.rs.\n"].concat()
}

#[tokio::test]
async fn e8_an_empty_answer_is_told_and_recorded() {
    let mut stage = Stage::of(helper(Dialect::Native), &script("say: ''"));
    let (told, shown) = shown(&mut stage).await;
    assert_eq!(told, "agent.empty-response: Your answer was empty.");
    assert_eq!(
        shown,
        "<turn-failed attempt=\"1\" of=\"3\"><reason slug=\"empty-response\">Error: No valid action.\nYour answer was empty.</reason></turn-failed>"
    );
}

#[tokio::test]
async fn e8_a_cut_answer_is_told_and_nothing_of_it_is_executed() {
    let mut stage = Stage::of(helper(Dialect::Native), &script("{say: In au, stop: length}"));
    let (told, shown) = shown(&mut stage).await;
    assert!(told.starts_with("agent.output-truncated: "), "{told}");
    assert!(shown.contains("slug=\"output-truncated\""), "{shown}");
    let mut stage = Stage::of(helper(Dialect::Native), &script("{call: {search: {query: x}}, stop: length}"));
    let (told, shown) = self::shown(&mut stage).await;
    assert!(told.starts_with("agent.output-truncated: "), "{told}");
    assert!(shown.contains("Nothing in it was executed"), "{shown}");
}

#[tokio::test]
async fn e8_an_unknown_tool_and_arguments_that_do_not_fit_are_told_in_the_result_of_their_call() {
    let mut stage = Stage::of(helper(Dialect::Native), &script("call: {serach: {query: x}}"));
    let (told, shown) = shown(&mut stage).await;
    assert!(told.contains("`serach` is no tool; did you mean `search`?"), "{told}");
    assert!(shown.starts_with("Error: Unknown tool"), "{shown}");
    let mut stage = Stage::of(helper(Dialect::Native), &script("call: {search: {query: x, limit: 0}}"));
    let (told, shown) = self::shown(&mut stage).await;
    assert!(told.starts_with("agent.tool-payload-invalid: "), "{told}");
    assert!(shown.starts_with("Error: Invalid parameters:"), "{shown}");
    assert!(shown.contains("limit: 0 is less than 1"), "{shown}");
}

#[tokio::test]
async fn e8_a_final_in_another_format_is_refused_with_the_one_that_is_taken() {
    let json = || {
        let mut agent = helper(Dialect::XmlFinal);
        let schema = serde_json::json!({"type": "object", "required": ["answer"]});
        agent.output = Output { format: Format::Json, schema: Some(schema.into()) };
        agent
    };
    let nonce = {
        let mut stage = Stage::of(json(), &script("say: nothing"));
        stage.ask().await;
        let (_, _, header) = stage.prompt();
        header.split("<systole-").nth(1).unwrap()[..8].to_owned()
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
        let mut stage = Stage::of(json(), &script(&answer));
        let (told, shown) = shown(&mut stage).await;
        assert!(told.starts_with(&format!("agent.{slug}: ")), "{slug}: {told}");
        assert!(shown.contains(&format!("slug=\"{slug}\"")), "{slug}: {shown}");
    }
    let right =
        slot(&nonce, "FINAL", &format!(r#"format="json" status="success">{{"answer": "auth.rs"}}{close}"#));
    let mut stage = Stage::of(json(), &script(&right));
    let said = stage.ask().await;
    assert_eq!(items(&said).last().unwrap().text(), r#"{"answer":"auth.rs"}"#);
}

#[test]
fn e8_the_table_names_each_failure_once() {
    let mut slugs: Vec<&str> = FAILURES.iter().map(|failure| failure.slug).collect();
    slugs.sort_unstable();
    let all = slugs.len();
    slugs.dedup();
    assert_eq!((slugs.len(), all), (28, 28));
}
