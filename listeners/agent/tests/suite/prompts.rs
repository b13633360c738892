//! Prompts as they are sent: one golden file for each dialect.

use systole_agent::spec::{Dialect, Output, OutputFormat};
use systole_kit::ask::{MessageSpot, ModelWords, ViewEntry, ViewedMessage};

use crate::stage::{AgentStage, found, helper, section};

/// Compares a text with a golden file, or writes the file if asked to.
pub(crate) fn golden(name: &str, text: &str) {
    crate::golden::golden(format!("tests/suite/golden/{name}"), text);
}

fn whole(stage: &AgentStage) -> String {
    let (system, segments, header) = stage.prompt();
    format!("{system}\n\n=== messages\n{}\n\n=== header\n{header}\n", segments.join("\n"))
}

#[tokio::test]
async fn e12_a_prompt_in_the_dialect_xml() {
    let mut agent = helper(Dialect::Xml);
    agent.preamble = Some("Be honest.".to_owned());
    agent.prompt.insert(0, section("rules", &["Be brief.", "Name your sources."], true));
    agent.prompt.push(section("making_code_changes", &["Read before you write."], false));
    let answers = "helper:\n  - say: <thinking>I look.</thinking><search><query>login</query></search>\n  - say: <thinking>Done.</thinking><attempt_completion><result>In auth.rs.</result></attempt_completion>\n";
    let mut stage = AgentStage::of(agent, answers);
    stage.ask().await;
    golden("xml-1.txt", &whole(&stage));
    stage.answer(vec![None, Some(found("auth.rs: fn login() -> Result<(), 'a>"))], Vec::new()).await;
    golden("xml-2.txt", &whole(&stage));
}

#[tokio::test]
async fn e12_a_prompt_in_the_dialect_native() {
    let answers = "helper:\n  - call: {search: {query: login}}\n  - say: In auth.rs.\n";
    let mut stage = AgentStage::of(helper(Dialect::Native), answers);
    stage.ask().await;
    golden("native-1.txt", &whole(&stage));
    stage.answer(vec![Some(found("auth.rs"))], Vec::new()).await;
    golden("native-2.txt", &whole(&stage));
}

#[tokio::test]
async fn e12_a_prompt_in_the_dialects_xml_final_and_plain() {
    let mut agent = helper(Dialect::XmlFinal);
    agent.output = Output { format: OutputFormat::Json, schema: None };
    let mut stage = AgentStage::of(agent, "helper:\n  - say: nothing\n");
    stage.ask().await;
    golden("xml-final-1.txt", &whole(&stage));
    let mut agent = helper(Dialect::Plain);
    agent.peers.clear();
    let mut stage = AgentStage::of(agent, "helper:\n  - say: In auth.rs.\n");
    stage.ask().await;
    golden("plain-1.txt", &whole(&stage));
}

/// A delivery may ask 64 questions, and a cleared view may keep more turns than that.
#[tokio::test]
async fn e12_every_link_of_a_prompt_is_put_down_however_many_turns_are_taken_up() {
    for turns in [1, 24, 25, 60, 200] {
        let answers = "helper:\n  - say: <thinking>Done.</thinking><attempt_completion><result>x</result></attempt_completion>\n";
        let mut stage = AgentStage::of(helper(Dialect::Xml), answers);
        let since = (1..=turns).flat_map(|turn| {
            let text = format!("<thinking>{turn}</thinking><search><query>q{turn}</query></search>");
            let (stop, payload) = ("end".to_owned(), found(&format!("found {turn}")));
            let words = ModelWords { turn, stop, tokens_in: None, tokens_out: None, text };
            let spot = MessageSpot::Answer { turn, ordinal: 1 };
            let message = ViewedMessage {
                seq: u64::from(turn) * 2,
                from: "search".to_owned(),
                to: None,
                spot,
                payload,
            };
            [ViewEntry::Words(words), ViewEntry::Message(message)]
        });
        stage.take_up(turns + 1, since.collect()).await;
        let (_, segments, _) = stage.prompt();
        let told = segments.join("\n");
        assert!((1..=turns).all(|turn| told.contains(&format!(">found {turn}<"))), "{turns} turns");
        assert!(stage.heard.lock().unwrap().documents.len() <= 60, "{turns} turns need too many questions");
    }
}
