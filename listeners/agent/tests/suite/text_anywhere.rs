//! A7 for prompts: for any text in a question, a result, an error, a name in it, a steer, a plan or a thought, a
//! prompt reads back as the blocks that were put into it, and each text is unchanged except for the mark.

use std::sync::Arc;

use proptest::prelude::*;
use systole_agent::model::{
    AnswerFuture, AnswerWatcher, MessageAuthor, MessagePart, Model, ModelAnswer, ModelRequest, ServedBy,
    StopReason, TokenUsage,
};
use systole_agent::spec::Dialect;
use systole_kit::reply::ReplyContent;
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload, namespaces};

use crate::hijacked::{Guise, Hijacked, Seen, covered};
use crate::reader::{Block, Inside, blocks};
use crate::stage::{AgentStage, MARK, found, helper, items};

/// Text of any characters, with pieces that have a meaning somewhere.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "<",
        ">",
        "&",
        "\"",
        "'",
        "]]>",
        "<![CDATA[",
        "<!--",
        "-->",
        "<?xml",
        "&lt;",
        "&#60;",
        "&amp;lt;",
        "\n\n",
        "\r",
        "\t",
        "</tool_result>",
        "<tool_result>",
        "</message>",
        "<core-",
        "</core-",
        MARK,
        "5EED0123",
        "5eed",
        "0123",
        "[mark]",
        "<turn-failed>",
        "\u{202e}",
        "\u{200b}",
        "\u{feff}",
        "\u{0}",
        "\u{9b}",
        "\u{fffe}",
        "=\"",
    ]);
    let piece = prop_oneof![2 => pieces.prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// The text as a document can carry it: characters that XML forbids become U+FFFD.
fn carried(text: &str) -> String {
    let payload = found(text);
    covered(&payload.text())
}

/// `<system-error>` with these words in every place that holds text.
fn error(words: &str) -> Payload {
    let mut writer = XmlWriter::new();
    let start = writer.open("system-error").xmlns(namespaces::CORE).attr("code", "payload.invalid");
    let start = start.attr("message", words).attr("element", words).attr("line", words).attr("path", words);
    start.content(|inside| {
        inside.open("expected").text(words);
        inside.open("try").text(words);
    });
    Payload::parse(&writer.finish(), &DocumentLimits::FROM_PUMP).unwrap()
}

/// A core payload with attributes, around a payload with attributes.
fn steer(words: &str) -> Payload {
    let mut writer = XmlWriter::new();
    let start = writer.open("steer").xmlns(namespaces::CORE).attr("from", words);
    start.content(|steer| {
        let ask = steer.open("ask").xmlns(namespaces::TALK).attr("label", words);
        ask.content(|ask| ask.open("part").attr("name", words).text(words));
    });
    Payload::parse(&writer.finish(), &DocumentLimits::FROM_PUMP).unwrap()
}

/// A fired timer: a core payload that is only text.
fn fired(words: &str) -> Payload {
    let mut writer = XmlWriter::new();
    writer.open("timer-fired").xmlns(namespaces::CORE).attr("id", words).text(words);
    Payload::parse(&writer.finish(), &DocumentLimits::FROM_PUMP).unwrap()
}

/// The blocks of all user messages in the newest prompt.
fn shown(seen: &Seen) -> Vec<Block> {
    let asked = seen.asked.lock().unwrap();
    let request = asked.last().expect("it was asked");
    let mut all = Vec::new();
    for part in request
        .messages
        .iter()
        .filter(|message| message.role == MessageAuthor::User)
        .flat_map(|message| &message.parts)
    {
        match part {
            MessagePart::Text(text) => {
                all.extend(blocks(text, MARK).unwrap_or_else(|fault| panic!("{fault}\nin {text}")))
            }
            MessagePart::Result { text, .. } => assert!(!text.to_ascii_lowercase().contains(MARK), "{text}"),
            other => panic!("{other:?} from a user"),
        }
    }
    all
}

fn names(blocks: &[Block]) -> Vec<&str> {
    blocks.iter().map(|block| block.name.as_str()).collect()
}

/// One conversation with that text everywhere.
async fn everywhere(words: &str, dialect: Dialect) {
    let is_native = dialect == Dialect::Native;
    let mut spec = helper(dialect);
    (spec.tool_output_max, spec.attempts) = (1 << 20, 9);
    let seen = Seen::default();
    // It never finds its trigger, so it keeps searching.
    let model = Arc::new(Hijacked::new("\u{0}never", Guise::Bare, is_native, &seen));
    let mut stage = AgentStage::with(spec, model, words);
    stage.ask().await;
    let request = shown(&seen);
    assert_eq!(names(&request), ["message"]);
    assert_eq!(request[0].text(), Some(carried(words).as_str()));

    let note = if is_native { None } else { Some(None) };
    let answers = |payload: Payload| note.clone().into_iter().chain([Some(payload)]).collect::<Vec<_>>();
    stage.answer(answers(found(words)), vec![steer(words), fired(words)]).await;
    let turn = shown(&seen);
    let results = if is_native { 0 } else { 1 };
    assert_eq!(names(&turn)[1..], ["tool_result", "core", "core"][1 - results..]);
    if !is_native {
        assert_eq!(turn[1].text(), Some(carried(words).as_str()));
    }
    let (Inside::Blocks(steer), Inside::Blocks(fired)) =
        (&turn[1 + results].inside, &turn[2 + results].inside)
    else {
        panic!("{turn:?} holds no words of the core")
    };
    assert_eq!((names(steer), names(fired)), (vec!["steer"], vec!["timer-fired"]));
    assert_eq!(steer[0].attribute("from"), Some(carried(words).as_str()));
    assert_eq!(fired[0].text(), Some(carried(words).as_str()));

    stage.answer(answers(error(words)), Vec::new()).await;
    let told = shown(&seen);
    assert_eq!(names(&told)[turn.len()..], vec!["tool_result"; results][..]);
    if let Some(block) = told.get(turn.len()) {
        assert!(block.text().is_some_and(|text| text.contains(&carried(words))), "{block:?}");
    }
}

/// A model that always gives that answer.
struct Says(String);

impl Model for Says {
    fn ask(&self, _: ModelRequest, _: AnswerWatcher) -> AnswerFuture {
        let parts = vec![MessagePart::Text(self.0.clone())];
        let answer = ModelAnswer {
            parts,
            stop: StopReason::End,
            usage: TokenUsage::default(),
            by: "main".to_owned(),
            served: ServedBy::default(),
        };
        Box::pin(async move { Ok(answer) })
    }
}

/// One answer of a model with that text in a thought, a plan and prose.
async fn said(words: &str) {
    let escaped = String::from_utf8(found(words).bytes().to_vec()).unwrap();
    let inside =
        escaped.split_once('>').and_then(|(_, rest)| rest.rsplit_once("</")).map_or("", |(it, _)| it);
    let answer = format!(
        "<thought>{inside}</thought>\n<todo-until condition=\"done\"><step done=\"false\">{inside}</step></todo-until>\n<search><query>x</query></search>\n{words}"
    );
    let mut stage = AgentStage::with(helper(Dialect::Xml), Arc::new(Says(answer)), "Where is login?");
    let said = stage.ask().await;
    match &said {
        ReplyContent::Items(_) => {
            for item in items(&said) {
                let read =
                    Payload::parse(item.bytes(), &DocumentLimits::FROM_PUMP).expect("it is well-formed");
                assert!(["helper", "search"].contains(&&*read.name().local), "{read:?}");
            }
            stage.answer(vec![None, Some(found("x"))], Vec::new()).await;
        }
        ReplyContent::Again { .. } => drop(stage.again(&said).await),
        other => panic!("{other:?}"),
    }
    let (_, segments, _) = stage.prompt();
    for line in segments.iter().flat_map(|segment| segment.lines()) {
        let message: serde_json::Value = serde_json::from_str(line).expect("a message is one line of JSON");
        let text = message["parts"][0]["text"].as_str().expect("text");
        match message["role"].as_str() {
            Some("user") => drop(blocks(text, MARK).unwrap_or_else(|fault| panic!("{fault}\nin {text}"))),
            _ => assert!(!text.to_ascii_lowercase().contains(MARK), "{text}"),
        }
    }
}

fn run(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn a7_no_text_injects_markup_into_a_prompt_in_xml(words in text()) {
        run(everywhere(&words, Dialect::Xml));
    }

    #[test]
    fn a7_no_text_injects_markup_into_a_prompt_in_native(words in text()) {
        run(everywhere(&words, Dialect::Native));
    }

    #[test]
    fn a7_nothing_that_a_model_says_injects_markup(words in text()) {
        run(said(&words));
    }
}
