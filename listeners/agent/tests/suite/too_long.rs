//! Requests that their provider finds too long, although they fit by our own estimate: results are left out, the
//! largest first, until a final fits. The provider is the mock, which counts tokens by itself, or a server of exact
//! bytes.

use std::sync::Arc;

use serde_json::json;
use systole_agent::model::{HttpLimits, Model, Models, SystemRandom};
use systole_agent::spec::{AgentSpec, Dialect, ModelSpec, Provider};
use systole_kit::ask::{MessageSpot, ModelWords, ViewEntry, ViewedMessage};
use systole_kit::journal::{EarlierEntry, JournalEntry};
use systole_kit::reply::ReplyContent;
use systole_mock_model::{MockModel, MockOptions, MockScript};

use super::bench::{FORMS, adapter, has_version, limits, model};
use super::server::{Act, ByteServer, measured};
use super::stage::{AgentStage, found, helper, items};

/// Six searches at once.
const SEARCHES: &str = "- {call: [{search: {query: a}}, {search: {query: b}}, {search: {query: c}}, \
     {search: {query: d}}, {search: {query: e}}, {search: {query: f}}]}\n";

fn start_mock(script: &str, window: u64) -> MockModel {
    let script = MockScript::parse(script).unwrap_or_else(|bad| panic!("{bad:?}"));
    MockModel::start(script, MockOptions { window: Some(window), ..MockOptions::default() }).expect("a mock")
}

fn build_stage_at(form: Provider, url: &str, question: &str) -> AgentStage {
    let spec = ModelSpec { max_output: 500, ..model(form, url) };
    let asked = Arc::new(adapter(&spec, limits())) as Arc<dyn Model>;
    let models = Models::new(vec![(spec, asked)], Box::new(SystemRandom), &HttpLimits::default());
    let agent = AgentSpec { core_tools: Vec::new(), ..helper(Dialect::Native) };
    AgentStage::asking(agent, Arc::new(models.unwrap()), question)
}

fn build_stage(form: Provider, mock: &MockModel) -> AgentStage {
    let path = if has_version(form) { "/v1" } else { "" };
    build_stage_at(form, &format!("{}{path}", mock.url()), "Where is login?")
}

/// What the searches found: each is shorter than the one before.
fn list_found(count: usize) -> Vec<String> {
    (0..count).map(|at| "word ".repeat(800 - at * 20)).collect()
}

/// The first turn as its view shows it: the words of the model, and what its searches found.
fn list_view(stage: &AgentStage, all: &[String]) -> Vec<ViewEntry> {
    let outcome = stage.outcome();
    let (stop, tokens_in, tokens_out) = (outcome.stop, outcome.tokens_in, outcome.tokens_out);
    let words = ModelWords { turn: 1, stop, tokens_in, tokens_out, text: outcome.text };
    let answer = |(ordinal, text): (u32, &String)| {
        let spot = MessageSpot::Answer { turn: 1, ordinal };
        let (seq, from, payload) = (u64::from(ordinal) + 2, "search".to_owned(), found(text));
        ViewEntry::Message(ViewedMessage { seq, from, to: None, spot, payload })
    };
    [ViewEntry::Words(words)].into_iter().chain((0..).zip(all).map(answer)).collect()
}

/// Asks, and answers each search with a long text.
async fn take_turns(stage: &mut AgentStage) -> (ReplyContent, Vec<ViewEntry>) {
    let said = stage.ask().await;
    let all = list_found(items(&said).len());
    let view = list_view(stage, &all);
    stage.heard.lock().unwrap().since.clone_from(&view);
    let ended = stage.answer(all.iter().map(|text| Some(found(text))).collect(), Vec::new()).await;
    (ended, view)
}

/// Why each request of the second turn ended.
fn list_stops(stage: &AgentStage) -> Vec<String> {
    let heard = stage.heard.lock().unwrap();
    let stops = heard.journal.iter().filter_map(|entry| match entry {
        JournalEntry::Result(outcome) => Some(outcome.stop.clone()),
        JournalEntry::Started(_) => None,
    });
    stops.skip(1).collect()
}

#[tokio::test]
async fn e11_a_request_that_its_provider_finds_too_long_goes_without_its_largest_results() {
    for form in FORMS {
        let mock = start_mock(&format!("{SEARCHES}- {{say: All.}}"), 4_000);
        let mut stage = build_stage(form, &mock);
        let (ended, _) = take_turns(&mut stage).await;
        assert_eq!(&*items(&ended).last().unwrap().name().local, "answer", "{form:?}: {ended:?}");
        let stops = list_stops(&stage);
        let (last, before) = stops.split_last().unwrap();
        assert!(last.starts_with("end"), "{form:?}: {stops:?}");
        assert!((1..4).contains(&before.len()), "{form:?}: {stops:?}");
        assert!(before.iter().all(|stop| stop == "model.window-full"), "{form:?}: {stops:?}");
        assert_eq!(mock.count().requests, stops.len() as u64 + 1, "{form:?}");
        let (_, segments, header) = stage.prompt();
        assert!(header.contains("only your final is taken now"), "{form:?}: {header}");
        let shown = segments.join("\n");
        let first = "[result of search: 4,0";
        assert!(shown.contains(first) && shown.contains("not shown; recall 2..2]"), "{form:?}: {shown}");
        assert!(!shown.contains("recall 7..7"), "{form:?}: the smallest is left: {shown}");
    }
}

#[tokio::test]
async fn e11_an_attempt_after_a_crash_asks_what_the_lost_one_asked() {
    let form = Provider::OpenAi;
    let mock = start_mock(&format!("{SEARCHES}- {{say: All., times: always}}"), 4_000);
    let mut stage = build_stage(form, &mock);
    let (_, view) = take_turns(&mut stage).await;
    let journal = stage.heard.lock().unwrap().journal.split_off(2);
    // Each beginning of the journal in which a request has no result.
    let starts: Vec<usize> =
        (0..journal.len()).filter(|at| matches!(journal[*at], JournalEntry::Started(_))).collect();
    assert!(starts.len() > 1, "{journal:?}");
    let count = mock.count().requests;
    for (number, at) in starts.iter().enumerate() {
        let mut after = build_stage(form, &mock);
        let entry = |(id, entry): (u64, &JournalEntry)| EarlierEntry { attempt: 1, id, entry: entry.clone() };
        after.heard.lock().unwrap().past = (1..).zip(&journal[..=*at]).map(entry).collect();
        after.take_up(2, view.clone()).await;
        let asked = after.heard.lock().unwrap().journal.clone();
        let (JournalEntry::Started(own), JournalEntry::Started(then)) = (&asked[0], &journal[*at]) else {
            panic!("{asked:?}")
        };
        assert_eq!(asked.len() / 2, starts.len() - number, "it goes on where the lost one was: {asked:?}");
        assert_eq!(own.prompt, then.prompt, "with the same words");
    }
    let more: u64 = (1..=starts.len() as u64).sum();
    assert_eq!(mock.count().requests, count + more);
}

#[tokio::test]
async fn e11_a_request_without_results_fails_if_its_provider_finds_it_too_long() {
    for form in FORMS {
        let mock = start_mock("- {say: All.}", 500);
        let path = if has_version(form) { "/v1" } else { "" };
        let mut stage = build_stage_at(form, &format!("{}{path}", mock.url()), &"word ".repeat(1_000));
        let ReplyContent::Failure { code, words, .. } = stage.ask().await else { panic!("it fails") };
        assert_eq!(code, "model.window-full", "{form:?}: {words}");
        for fix in ["lower models.main.window", "shorten the request", "a larger window"] {
            assert!(words.contains(fix), "{form:?}: {words}");
        }
        assert_eq!(mock.count().requests, 1, "{form:?}");
    }
}

#[tokio::test]
async fn e11_the_requests_of_a_turn_that_is_too_long_are_few() {
    let mock = start_mock(&format!("{SEARCHES}- {{say: All.}}"), 4_000);
    let mut stage = build_stage(Provider::OpenAi, &mock);
    let said = stage.ask().await;
    let view = list_view(&stage, &list_found(items(&said).len()));
    // The question alone is too long.
    let mut stage = build_stage_at(Provider::OpenAi, &format!("{}/v1", mock.url()), &"word ".repeat(4_000));
    let ReplyContent::Failure { code, .. } = stage.take_up(2, view).await else { panic!("it fails") };
    assert_eq!(code, "model.window-full");
    let more = mock.count().requests - 1;
    assert!((2..=4).contains(&more), "{more} requests");
}

#[tokio::test]
async fn e11_an_answer_that_the_window_cuts_is_asked_for_again_without_results() {
    let message = |stop: &str, content: serde_json::Value| {
        let body = json!({
            "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": stop,
            "usage": {"input_tokens": 900, "output_tokens": 20}
        });
        vec![Act::Send(measured("200 OK", &["content-type: application/json"], &body.to_string()))]
    };
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "search", "input": {"query": id}});
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let server = ByteServer::start(vec![
        message("tool_use", json!([call("a"), call("b")])),
        message("model_context_window_exceeded", text("I begin")),
        message("end_turn", text("All.")),
    ]);
    let mut stage = build_stage_at(Provider::Anthropic, &server.url(), "Where is login?");
    let (ended, _) = take_turns(&mut stage).await;
    assert_eq!(&*items(&ended)[0].name().local, "answer", "{ended:?}");
    assert_eq!(list_stops(&stage), ["model.window-full", "end"]);
    assert!(stage.prompt().1.join("\n").contains("not shown; recall 2..2]"));
    // Without a result that can be left out, the next turn says so to the model.
    let server = ByteServer::start(vec![message("model_context_window_exceeded", text("I begin"))]);
    let mut stage = build_stage_at(Provider::Anthropic, &server.url(), "Where is login?");
    let said = stage.ask().await;
    let ReplyContent::Again { code, words } = said else { panic!("{said:?}") };
    assert_eq!(code, "model.window-full");
    assert!(words.ends_with("the window is full (model_context_window_exceeded)"), "{words}");
}
