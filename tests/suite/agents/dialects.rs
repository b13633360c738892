//! One conversation in three dialects: the messages on the bus are the same, byte for byte.

use systole_core::types::record::RecordKind;

use super::house::{AgentHouse, AgentPlan, Critic, FORMS};
use super::nonce::BLANK;

/// The text of the final: markup, quotes and another alphabet.
const FINAL: &str = "The moon is there: 1 < 2 & \"é\" 月.";

fn replies(dialect: &str) -> String {
    let native = r#"- {say: I look., call: [{search: {query: "a < b & \"c\"", limit: 7}}]}
- {say: Ask., call: {ask: {".": "Is \"it\" so?"}}}
"#;
    let text = FINAL.replace('"', "\\\"");
    match dialect {
        "native" => format!("{native}- {{say: \"{text}\"}}\n"),
        "xml-final" => format!(
            "{native}- {{say: \"Now I know.\\n<systole-{BLANK}-FINAL format=\\\"text\\\" status=\\\"success\\\">{text}</systole-{BLANK}-FINAL>\", chunk: 500}}\n"
        ),
        _ => format!(
            r#"- {{say: "<thinking>I look.</thinking>\n<search><query>a &lt; b &amp; \"c\"</query><limit>7</limit></search>"}}
- {{say: "<thinking>Ask.</thinking>\n<ask>Is \"it\" so?</ask>"}}
- {{say: "<thinking>Now I know.</thinking><attempt_completion><result>{}</result></attempt_completion>"}}
"#,
            text.replace('&', "&amp;").replace('<', "&lt;")
        ),
    }
}

/// What the agent sent to others, in order: the receiver and the payload.
fn said(house: &AgentHouse) -> Vec<(String, String)> {
    let records = house.records();
    let own = records.iter().filter(|record| {
        record.header.kind == RecordKind::Message
            && record.header.from.as_str() == "helper"
            && record.header.to.is_some()
    });
    own.map(|record| {
        let to = record.header.to.as_ref().unwrap().as_str().to_owned();
        (to, String::from_utf8(record.body.to_vec()).unwrap())
    })
    .collect()
}

#[test]
fn e8_one_conversation_says_the_same_in_three_dialects() {
    for form in FORMS {
        let mut all = Vec::new();
        for dialect in ["native", "xml", "xml-final"] {
            let replies = replies(dialect);
            let (replies, critic) = (replies.as_str(), Critic::says("[{say: It is so.}]"));
            let house =
                AgentHouse::build(&AgentPlan { form, dialect, replies, critic, ..AgentPlan::default() });
            let ran = house.ask("Where is the moon?");
            let words = format!("{form} {dialect}: {ran:?}\n{}", house.told());
            assert_eq!((ran.code, ran.stdout), (Some(0), format!("{FINAL}\n")), "{words}");
            assert_eq!((house.asked().len(), house.mock.count().left), (3, 0), "{words}");
            all.push(said(&house));
            house.judged();
        }
        let to: Vec<&str> = all[0].iter().map(|(to, _)| to.as_str()).collect();
        assert_eq!(to, ["search", "critic", "operator"], "{form}: {all:?}");
        assert_eq!(all[0], all[1], "{form}: native and xml");
        assert_eq!(all[0], all[2], "{form}: native and xml-final");
    }
}
