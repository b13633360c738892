//! The window of a model: what is counted, which results are left out so that a final fits, and when a view is
//! cleared.

use std::sync::Arc;

use systole_agent::model::script::{Script, ScriptedModel};
use systole_agent::model::{HttpLimits, Models, SystemRandom};
use systole_agent::spec::{ActionLimit, AgentSpec, Dialect, ModelSpec, WhenFull};
use systole_kit::ask::{MessageSpot, ModelWords, ViewEntry, ViewedMessage};
use systole_kit::reply::ReplyContent;
use systole_kit::{Payload, namespaces};

use crate::stage::{AgentStage, found, helper, items, limits};

fn stage(agent: AgentSpec, window: u64, answers: &str) -> AgentStage {
    let script = Arc::new(Script::from_text(&format!("helper:\n{answers}")).unwrap());
    let model = Arc::new(Arc::new(ScriptedModel::new(script, "main", &agent.name)));
    let limits = ModelSpec { window, ..limits() };
    let models = Models::new(vec![(limits, model)], Box::new(SystemRandom), &HttpLimits::default());
    AgentStage::asking(agent, Arc::new(models.unwrap()), "Where is login?")
}

/// The answer of a model that searches so often at once.
fn searches(dialect: Dialect, count: usize, more: &str) -> String {
    match dialect {
        Dialect::Xml => {
            let all: String = (0..count).map(|n| format!("<search><query>{n}</query></search>")).collect();
            format!("  - {{say: \"<thinking>So.</thinking>{all}\"{more}}}\n")
        }
        _ => {
            let all: Vec<String> = (0..count).map(|n| format!("{{search: {{query: '{n}'}}}}")).collect();
            format!("  - {{call: [{}]{more}}}\n", all.join(", "))
        }
    }
}

fn final_in(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Xml => {
            "say: <thinking>So.</thinking><attempt_completion><result>All.</result></attempt_completion>"
        }
        _ => "say: All.",
    }
}

/// The last turn as its view shows it: the words of the model, and an answer for each item but its note.
fn list_view(stage: &AgentStage, said: &ReplyContent, text: &str) -> Vec<ViewEntry> {
    let outcome = stage.outcome();
    let (stop, tokens_in, tokens_out) = (outcome.stop, outcome.tokens_in, outcome.tokens_out);
    let words = ModelWords { turn: 1, stop, tokens_in, tokens_out, text: outcome.text };
    let answer = |(ordinal, payload): (u32, Option<Payload>)| {
        let (seq, from, payload) = (u64::from(ordinal) + 2, "search".to_owned(), payload?);
        let spot = MessageSpot::Answer { turn: 1, ordinal };
        Some(ViewEntry::Message(ViewedMessage { seq, from, to: None, spot, payload }))
    };
    let answers = (0..).zip(list_answers(said, text)).filter_map(answer);
    [ViewEntry::Words(words)].into_iter().chain(answers).collect()
}

fn list_answers(said: &ReplyContent, text: &str) -> Vec<Option<Payload>> {
    let is_search = |item: &&Payload| &*item.name().local == "search";
    items(said).iter().map(|item| Some(found(text)).filter(|_| is_search(item))).collect()
}

#[tokio::test]
async fn e11_the_largest_results_are_left_out_until_a_final_fits() {
    for dialect in [Dialect::Native, Dialect::Xml] {
        let agent = AgentSpec { actions: ActionLimit::Many, ..helper(dialect) };
        let answers = searches(dialect, 12, "")
            + &format!("  - {{if: only your final is taken, {}}}\n", final_in(dialect));
        let mut stage = stage(agent, 16_000, &answers);
        let said = stage.ask().await;
        let text = "word ".repeat(800);
        stage.heard.lock().unwrap().since = list_view(&stage, &said, &text);
        let ended = stage.answer(list_answers(&said, &text), Vec::new()).await;
        let names: Vec<&str> = items(&ended).iter().map(|item| &*item.name().local).collect();
        assert_eq!(names.last(), Some(&"answer"), "{dialect:?}: {ended:?}");
        let (_, segments, header) = stage.prompt();
        assert!(header.contains("only your final is taken"), "{header}");
        let shown = segments.join("\n");
        let first = items(&said).iter().position(|item| &*item.name().local == "search").unwrap() + 2;
        let bytes = found(&text).bytes().len();
        let line = format!(
            "[result of search: {},{:03} characters, not shown; recall {first}..{first}]",
            bytes / 1000,
            bytes % 1000
        );
        assert!(shown.contains(&line), "{dialect:?}: {line}: {}", shown.get(..3_000).unwrap_or(&shown));
        let hidden = shown.matches("not shown; recall").count();
        assert!((1..4).contains(&hidden), "{dialect:?}: {hidden} are left out");
        assert_eq!(shown.matches(text.trim_end()).count(), 12 - hidden, "{dialect:?}: the others are shown");
    }
}

/// How much of the window the header says is used.
fn read_used(stage: &AgentStage) -> u64 {
    let (_, _, header) = stage.prompt();
    let (_, rest) = header.split_once("about ").unwrap_or_else(|| panic!("{header}"));
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn e11_the_window_is_counted_by_what_the_provider_reported_last() {
    let dialect = Dialect::Native;
    let answers = searches(dialect, 1, ", usage: {in: 3500, out: 9}") + "  - say: All.\n";
    let mut one = stage(helper(dialect), 6_000, &answers);
    let said = one.ask().await;
    let mut two = stage(helper(dialect), 6_000, "  - say: All.\n");
    let since = list_view(&one, &said, "in login.rs");
    one.answer(list_answers(&said, "in login.rs"), Vec::new()).await;
    assert!((3_500..3_900).contains(&read_used(&one)), "{}", read_used(&one));
    two.take_up(2, since).await;
    assert_eq!(one.prompt(), two.prompt(), "after a restart as before it");
}

#[tokio::test]
async fn a_report_that_is_far_too_low_does_not_overfill_the_window() {
    let dialect = Dialect::Native;
    // As from a provider that leaves out what it took from its cache.
    let answers =
        searches(dialect, 12, ", usage: {in: 7, out: 9}") + "  - {if: only your final is taken, say: All.}\n";
    let mut stage = stage(helper(dialect), 8_000, &answers);
    let said = stage.ask().await;
    let text = "word ".repeat(800);
    stage.heard.lock().unwrap().since = list_view(&stage, &said, &text);
    let ended = stage.answer(list_answers(&said, &text), Vec::new()).await;
    assert_eq!(&*items(&ended)[0].name().local, "answer", "{ended:?}");
    assert!(stage.prompt().1.join("\n").contains("not shown; recall"));
}

fn build_cleared() -> Payload {
    let mut writer = systole_kit::writer::XmlWriter::new();
    let start = writer.open("context-cleared").xmlns(namespaces::CORE).attr("kept_messages", "4");
    start.attr("from_seq", "2").attr("to_seq", "9").attr("digest", &"0".repeat(64)).empty();
    Payload::parse(&writer.finish(), &systole_kit::DocumentLimits::FROM_PUMP).unwrap()
}

#[tokio::test]
async fn e11_an_agent_that_clears_does_so_at_four_fifths_of_its_window() {
    for (when_full, is_cleared) in [(WhenFull::Clear, true), (WhenFull::Final, false)] {
        let dialect = Dialect::Native;
        let agent = AgentSpec { when_full, ..helper(dialect) };
        let answers = searches(dialect, 2, "") + "  - say: All.\n";
        let mut stage = stage(agent, 5_000, &answers);
        let said = stage.ask().await;
        let text = "word ".repeat(800);
        stage.heard.lock().unwrap().since = list_view(&stage, &said, &text);
        let asked = stage.heard.lock().unwrap().journal.len();
        let then = stage.answer(list_answers(&said, &text), Vec::new()).await;
        let first = items(&then)[0];
        let is_clear = first.name().is_named(namespaces::CORE, "clear-context");
        assert_eq!(is_clear, is_cleared, "{when_full:?}: {then:?}");
        if !is_cleared {
            continue;
        }
        assert_eq!(first.find_attribute("keep").as_deref(), Some("4"));
        assert_eq!(stage.heard.lock().unwrap().journal.len(), asked, "no model is asked");
        // What is left fits.
        let spot = MessageSpot::Answer { turn: 2, ordinal: 0 };
        let (from, payload) = ("pump".to_owned(), build_cleared());
        let answer = ViewEntry::Message(ViewedMessage { seq: 10, from, to: None, spot, payload });
        stage.heard.lock().unwrap().since = vec![answer.clone()];
        let then = stage.answer(vec![Some(build_cleared())], Vec::new()).await;
        assert_eq!(&*items(&then)[0].name().local, "answer", "{then:?}");
        // If it still does not fit, it is not cleared again at once.
        let mut full = self::stage(
            AgentSpec { when_full, ..helper(dialect) },
            5_000,
            &(searches(dialect, 2, "") + "  - {if: only your final is taken, say: All.}\n"),
        );
        let said = full.ask().await;
        let mut since = list_view(&full, &said, &text);
        since.push(answer);
        let then = full.take_up(3, since).await;
        assert_eq!(&*items(&then)[0].name().local, "answer", "{then:?}");
    }
}
