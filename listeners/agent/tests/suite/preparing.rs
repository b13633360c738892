//! Counts what an agent reads and stores to prepare a turn: only what came after the previous turn, or everything
//! once if it remembers nothing.

use systole_agent::spec::{AgentSpec, Dialect};
use systole_kit::ask::{MessageSpot, ModelWords, ViewEntry, ViewedMessage};
use systole_kit::prompt_link::{self, ParsedLink};

use crate::stage::{AgentStage, found, helper, items};

/// The number of turns.
const TURNS: u32 = 40;

fn said(turn: u32) -> String {
    format!("<thinking>thought {turn}.</thinking><search><query>q{turn}</query></search>")
}

fn agent() -> AgentSpec {
    AgentSpec { turns: TURNS + 10, ..helper(Dialect::Xml) }
}

fn script(turns: impl Iterator<Item = u32>) -> String {
    let lines = turns.map(|turn| format!("  - say: {}\n", said(turn)));
    ["helper:\n".to_owned()].into_iter().chain(lines).collect()
}

/// The requests to the pump since the last check: how many views were read, and what was stored.
fn since(stage: &AgentStage) -> (usize, Vec<String>) {
    let mut heard = stage.heard.lock().unwrap();
    let views = std::mem::take(&mut heard.views).len();
    (views, std::mem::take(&mut heard.put))
}

/// The messages of a segment.
fn messages(link: &str) -> &str {
    match prompt_link::read_link(link) {
        Some(ParsedLink::Segment { messages, .. }) => messages,
        other => panic!("{other:?} is no segment"),
    }
}

/// The segment of a turn is about that turn and no other.
fn tells_only(messages: &str, turn: u32) {
    for other in 1..=TURNS {
        let words = [format!("thought {other}."), format!("<query>q{other}<"), format!(">found {other}<")];
        for word in words {
            assert_eq!(messages.contains(&word), other == turn, "{word} in turn {turn}: {messages}");
        }
    }
}

#[tokio::test]
async fn b2_preparing_a_turn_reads_only_the_records_since_the_last_turn() {
    let mut stage = AgentStage::of(agent(), &script(1..=TURNS + 1));
    stage.ask().await;
    let (views, put) = since(&stage);
    assert_eq!((views, put.len()), (1, 3), "a call begins with its view, a base, the request and the prompt");
    for turn in 1..=TURNS {
        let said = stage.answer(vec![None, Some(found(&format!("found {turn}")))], Vec::new()).await;
        assert_eq!(items(&said).len(), 2);
        let (views, put) = since(&stage);
        // The delivery contained the new data. Nothing else was read, and the new data was stored once.
        assert_eq!((views, put.len()), (0, 2), "turn {}", turn + 1);
        tells_only(messages(&put[0]), turn);
        assert!(matches!(prompt_link::read_link(&put[1]), Some(ParsedLink::Prompt { .. })), "{}", put[1]);
    }
}

#[tokio::test]
async fn b2_a_listener_without_memory_reads_the_whole_view_once_and_continues_from_there() {
    let since_request = (1..=TURNS).flat_map(|turn| {
        let (stop, text) = ("end".to_owned(), said(turn));
        let words = ModelWords { turn, stop, tokens_in: None, tokens_out: None, text };
        let (spot, payload) = (MessageSpot::Answer { turn, ordinal: 1 }, found(&format!("found {turn}")));
        let (seq, from) = (u64::from(turn) * 2, "search".to_owned());
        [ViewEntry::Words(words), ViewEntry::Message(ViewedMessage { seq, from, to: None, spot, payload })]
    });
    let mut stage = AgentStage::of(agent(), &script(TURNS + 1..=TURNS + 2));
    stage.take_up(TURNS + 1, since_request.collect()).await;
    let views = stage.heard.lock().unwrap().views.clone();
    assert_eq!(views.len(), 1, "one view");
    // The request, and for each turn the model's words and the answer.
    assert_eq!(views[0].len(), 1 + 2 * TURNS as usize, "and the whole of it");
    since(&stage);
    stage.answer(vec![None, Some(found("more"))], Vec::new()).await;
    let (views, put) = since(&stage);
    assert_eq!((views, put.len()), (0, 2), "from then on as ever");
    assert!(messages(&put[0]).contains(">more<") && !messages(&put[0]).contains(">found "), "{}", put[0]);
}
