//! The final of `xml-final` in its slot: what is refused and why, and which forms of a final are taken.

use systole_agent::chain::StoredLink;
use systole_agent::spec::{AgentSpec, Dialect, Output, OutputFormat};
use systole_kit::reply::ReplyContent;

use crate::slugs::{Says, Speaks, calls, text};
use crate::stage::{AgentStage, MARK, helper};

const FORMATS: [(OutputFormat, &str); 3] =
    [(OutputFormat::Json, "json"), (OutputFormat::Markdown, "markdown"), (OutputFormat::Text, "text")];

fn with_format(dialect: Dialect, format: OutputFormat) -> AgentSpec {
    AgentSpec { output: Output { format, schema: None }, ..helper(dialect) }
}

/// A text with the code of this stage's slots.
fn coded(words: &str) -> String {
    words.replace("NONCE", &StoredLink::from_segment("nonce", MARK).hash[..8])
}

fn slot(format: &str, content: &str) -> String {
    coded(&format!(
        "<systole-NONCE-FINAL format=\"{format}\" status=\"success\">{content}</systole-NONCE-FINAL>"
    ))
}

async fn said_by(agent: AgentSpec, says: &[Says]) -> (AgentStage, ReplyContent) {
    let mut stage = Speaks::stage(agent, says);
    let said = stage.ask().await;
    (stage, said)
}

/// The final that the agent gives for that answer.
async fn final_of(agent: AgentSpec, says: &str) -> String {
    let (_, said) = said_by(agent, &[text(says)]).await;
    let ReplyContent::Items(items) = &said else { panic!("{says}: {said:?}") };
    String::from_utf8_lossy(items.last().unwrap().payload.as_ref().unwrap().bytes()).into_owned()
}

/// The code of the refusal of that answer, and its words.
async fn refusal_of(agent: AgentSpec, says: &str) -> (String, String) {
    match said_by(agent, &[text(says)]).await.1 {
        ReplyContent::Again { code, words } => (code, words),
        said => panic!("{says}: {said:?}"),
    }
}

#[tokio::test]
async fn e9_a_wrong_end_tag_an_open_slot_and_a_second_final_are_refused_and_were_taken_before() {
    let open = slot("text", "Done.").split_once("</").unwrap().0.to_owned();
    let mistakes = [
        (format!("{open}</systole-00000000-FINAL>"), "slot-mismatch", "You wrote </systole-00000000-FINAL>."),
        (format!("{open}\n"), "missing-closing-tag", "Expected: <systole-"),
        (slot("text", "Done.").repeat(2), "second-final", "Expected: <systole-"),
    ];
    for (says, slug, part) in &mistakes {
        let (code, words) = refusal_of(helper(Dialect::XmlFinal), says).await;
        assert_eq!(code, format!("agent.{slug}"), "{says}: {words}");
        assert!(words.contains(part), "{says}: {words}");
        let earlier = AgentSpec { reads_as_before: true, ..helper(Dialect::XmlFinal) };
        let taken = final_of(earlier, says).await;
        assert!(taken.contains("Done."), "{taken}");
    }
    let thought = format!("<think>I write {}.</think>\n{}", slot("text", "One."), slot("text", "Two."));
    assert!(final_of(helper(Dialect::XmlFinal), &thought).await.contains("Two."));
}

#[tokio::test]
async fn e9_a_second_final_in_text_is_recorded_and_the_first_is_taken() {
    let completion =
        |words: &str| format!("<attempt_completion><result>{words}</result></attempt_completion>");
    let says = format!("<thinking>x</thinking>{}{}", completion("One."), completion("Two."));
    let (stage, said) = said_by(helper(Dialect::Xml), &[text(&says)]).await;
    let ReplyContent::Items(items) = &said else { panic!("{said:?}") };
    let last = String::from_utf8_lossy(items.last().unwrap().payload.as_ref().unwrap().bytes()).into_owned();
    assert!(last.contains("One."), "{last}");
    let notices = stage.heard.lock().unwrap().notices.clone();
    assert!(notices.iter().any(|(code, _)| code == "agent.second-final"), "{notices:?}");
}

#[tokio::test]
async fn e9_a_tag_without_its_format_is_told_what_it_has() {
    let tags = [
        ("status=\"success\"", "format-missing", "You wrote <systole-NONCE-FINAL status=\"success\">."),
        ("format=\"html\"", "format-unknown", "You wrote format=\"html\"."),
        ("format=\"json\"", "format-mismatch", "You wrote format=\"json\"."),
    ];
    for (tag, slug, part) in tags {
        let says = coded(&format!("<systole-NONCE-FINAL {tag}>Done.</systole-NONCE-FINAL>"));
        let (code, words) = refusal_of(helper(Dialect::XmlFinal), &says).await;
        assert_eq!(code, format!("agent.{slug}"), "{words}");
        assert!(words.contains(&coded(part)), "{words}");
    }
}

#[tokio::test]
async fn e9_a_tool_as_an_element_is_a_native_call_unless_it_is_quoted() {
    let element = "I look.\n<search><query>a</query></search>\n";
    for (dialect, says) in [
        (Dialect::Native, element.to_owned()),
        (Dialect::XmlFinal, element.to_owned()),
        (Dialect::XmlFinal, format!("{element}{}", slot("text", "Found."))),
        (Dialect::XmlFinal, slot("text", element.trim_start_matches("I look.\n"))),
    ] {
        let (_, words) = refusal_of(helper(dialect), &says).await;
        assert!(words.contains("search is a native call: call the tool `search`"), "{dialect:?}: {words}");
    }
    let quoted = format!("Write this:\n```xml\n{}```\nas it is.", element.trim_start_matches("I look.\n"));
    for (dialect, says) in [(Dialect::Native, quoted.clone()), (Dialect::XmlFinal, slot("text", &quoted))] {
        assert!(final_of(helper(dialect), &says).await.contains("as it is."), "{dialect:?}");
    }
    let mut beside = calls(&[("search", r#"{"query": "b"}"#)]);
    beside.parts.insert(0, text(element).parts.remove(0));
    let (stage, said) = said_by(helper(Dialect::Native), &[beside]).await;
    assert!(matches!(said, ReplyContent::Items(_)), "{said:?}");
    let notices = stage.heard.lock().unwrap().notices.clone();
    assert!(notices.iter().any(|(_, words)| words.contains("search is a native call")), "{notices:?}");
}

#[tokio::test]
async fn e9_one_fence_around_json_is_taken_and_recorded() {
    let fenced = "```json\n{\"a\": 1}\n```";
    for (dialect, says) in [(Dialect::XmlFinal, slot("json", fenced)), (Dialect::Native, fenced.to_owned())] {
        let agent = with_format(dialect, OutputFormat::Json);
        let (stage, said) = said_by(agent.clone(), &[text(&says)]).await;
        assert!(matches!(said, ReplyContent::Items(_)), "{dialect:?}: {said:?}");
        let notices = stage.heard.lock().unwrap().notices.clone();
        assert!(notices.iter().any(|(code, _)| code == "agent.fenced-action"), "{notices:?}");
        let earlier = AgentSpec { reads_as_before: true, ..agent.clone() };
        assert_eq!(refusal_of(earlier, &says).await.0, "agent.json-required");
        let twice = says.replace("```json", "```\n```json").replace("}\n```", "}\n```\n```");
        assert_eq!(refusal_of(agent, &twice).await.0, "agent.json-required", "{twice}");
    }
}

#[tokio::test]
async fn e9_the_older_form_is_unwrapped_in_every_format() {
    for (format, name) in FORMATS {
        let agent = || with_format(Dialect::XmlFinal, format);
        let content = if name == "json" { "{\"a\": 7}" } else { "\"Seven.\"" };
        let older = |format: &str, content: &str| {
            format!("{{\"status\": \"success\", \"format\": \"{format}\", \"content\": {content}}}")
        };
        for says in [older(name, content), format!("```json\n{}\n```", older(name, content))] {
            let taken = final_of(agent(), &slot(name, &says)).await;
            assert!(taken.contains("7}") || taken.contains(">Seven.<"), "{name}: {taken}");
            assert!(!taken.contains("status"), "{name}: {taken}");
        }
        let other = if name == "json" { "text" } else { "json" };
        let (code, words) = refusal_of(agent(), &slot(name, &older(other, content))).await;
        assert_eq!(code, "agent.format-mismatch", "{name}: {words}");
        assert!(words.contains(&format!("\"format\": \"{other}\"")), "{name}: {words}");
        let partial = older(name, content).replace("success", "partial");
        assert_eq!(refusal_of(agent(), &slot(name, &partial)).await.0, "agent.status-invalid", "{name}");
    }
}

#[tokio::test]
async fn e8_a_native_call_that_failed_is_told_once() {
    let wrong = ("search", r#"{"limit": 0}"#);
    let says = [
        (calls(&[wrong]), "0 is less than 1"),
        (calls(&[("serach", "{}")]), "did you mean `search`"),
        (calls(&[("search", r#"{"query": "a"}"#), wrong]), "0 is less than 1"),
    ];
    for (says, part) in says {
        let (mut stage, said) = said_by(helper(Dialect::Native), &[says, text("Done.")]).await;
        crate::slugs::goes_on(&mut stage, &said).await;
        let shown = stage.shown();
        assert_eq!(shown.matches(part).count(), 1, "{shown}");
    }
}

#[tokio::test]
async fn e8_an_unknown_element_behind_thinking_is_an_unknown_tool_and_was_prose_before() {
    let says = "<thinking>x</thinking><fetch><url>u</url></fetch>";
    let (mut stage, said) = said_by(helper(Dialect::Xml), &[text(says), text("Done.")]).await;
    crate::slugs::goes_on(&mut stage, &said).await;
    assert!(stage.shown().contains("Error: Unknown tool: fetch."), "{}", stage.shown());
    let earlier = AgentSpec { reads_as_before: true, ..helper(Dialect::Xml) };
    assert_eq!(refusal_of(earlier, says).await.0, "agent.prose-only");
}
