//! What a provider's cache can keep of an agent's requests: everything but a header, which is for one turn only. So no
//! result of a tool is paid in full twice.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use systole_agent::model::script::{Script, ScriptedModel};
use systole_agent::model::{AnswerFuture, AnswerWatcher, MessagePart, Model, ModelRequest};
use systole_agent::spec::{Dialect, Provider};

use super::bench::{FORMS, model, run};
use super::requests::sent;
use super::stage::{AgentStage, found, helper};

/// Turns of the call.
const TURNS: u32 = 24;

/// A scripted model that keeps the requests.
struct Recorder {
    script: Arc<ScriptedModel>,
    seen: Arc<Mutex<Vec<ModelRequest>>>,
}

impl Model for Recorder {
    fn ask(&self, request: ModelRequest, watcher: AnswerWatcher) -> AnswerFuture {
        self.seen.lock().unwrap().push(request.clone());
        self.script.ask(request, watcher)
    }
}

/// The result of the search of a turn.
fn result(turn: u32) -> String {
    format!("found in line {turn:03}")
}

/// The requests of one call. In each turn the agent searches three times, or once in the dialect `xml`.
async fn requests(dialect: Dialect) -> Vec<ModelRequest> {
    let search = |turn| match dialect {
        Dialect::Xml => format!("  - say: <thinking>So.</thinking><search><query>{turn}</query></search>\n"),
        _ => {
            let three = ["a", "b", "c"].map(|what| format!("{{search: {{query: {what} {turn}}}}}"));
            format!("  - call: [{}]\n", three.join(", "))
        }
    };
    let answers: String = (1..=TURNS).map(search).collect();
    let script = Arc::new(Script::from_text(&format!("helper:\n{answers}")).unwrap());
    let script = Arc::new(ScriptedModel::new(script, "main", "helper"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut agent = helper(dialect);
    agent.turns = TURNS + 10;
    let recorder = Arc::new(Recorder { script, seen: seen.clone() });
    let mut stage = AgentStage::with(agent, recorder, "Where is login?");
    let mut items = super::stage::items(&stage.ask().await).len();
    for turn in 1..TURNS {
        let answers = vec![Some(found(&result(turn))); items];
        items = super::stage::items(&stage.answer(answers, Vec::new()).await).len();
    }
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(seen.len(), usize::try_from(TURNS).unwrap());
    seen
}

/// The messages of a request in a provider's form.
fn messages(form: Provider, request: &ModelRequest) -> Value {
    let mut body = sent(&model(form, ""), "", request.clone()).json();
    let name = super::bench::name_messages(form);
    body.get_mut(name).map(Value::take).unwrap()
}

/// The content blocks of a request to Anthropic, each with its role, and whether it is marked.
fn blocks(request: &ModelRequest) -> Vec<(String, bool)> {
    let mut messages = messages(Provider::Anthropic, request);
    let mut blocks = Vec::new();
    for message in messages.as_array_mut().unwrap() {
        let role = message["role"].to_string();
        for block in message["content"].as_array_mut().unwrap() {
            let is_marked = block.as_object_mut().unwrap().remove("cache_control").is_some();
            blocks.push((format!("{role} {block}"), is_marked));
        }
    }
    blocks
}

#[test]
fn c10_a_mark_covers_all_and_the_next_request_begins_with_it() {
    for dialect in [Dialect::Native, Dialect::Xml] {
        let requests = run(requests(dialect));
        let mut before: Vec<String> = Vec::new();
        for (turn, request) in (1..).zip(&requests) {
            let all = blocks(request);
            let last = all.iter().rposition(|(_, is_marked)| *is_marked).unwrap();
            assert_eq!(
                last + 1,
                all.len(),
                "turn {turn}: an ordinary turn ends with its results, and a mark"
            );
            if turn > 1 {
                assert!(all[last].0.contains(&result(turn - 1)), "turn {turn}: {:?}", all[last]);
                // The provider looks for what it has kept only a few blocks before a mark.
                assert!(all[before.len() - 1].1, "turn {turn}: the end of the last request is marked");
            }
            let marks = all.iter().filter(|(_, is_marked)| *is_marked).count();
            assert!(
                marks <= 2,
                "turn {turn}: {marks} marks, one more is on the system prompt, and four are allowed"
            );
            let mut texts: Vec<String> = all.into_iter().map(|(text, _)| text).collect();
            texts.truncate(last + 1);
            assert_eq!(
                before.as_slice(),
                &texts[..before.len()],
                "turn {turn} begins as turn {} did",
                turn - 1
            );
            before = texts;
        }
    }
}

#[test]
fn c10_no_empty_result_is_marked() {
    let mut request = run(requests(Dialect::Native)).swap_remove(2);
    let parts = request.messages.iter_mut().flat_map(|message| &mut message.parts);
    for part in parts {
        if let MessagePart::Result { text, .. } = part {
            " \n".clone_into(text);
        }
    }
    let marked: Vec<String> =
        blocks(&request).into_iter().filter_map(|(text, is_marked)| is_marked.then_some(text)).collect();
    assert!(!marked.is_empty() && marked.iter().all(|text| !text.contains("tool_result")), "{marked:?}");
}

#[test]
fn c10_in_every_form_the_next_request_begins_with_all_results() {
    let requests = run(requests(Dialect::Native));
    for form in FORMS.into_iter().filter(|form| *form != Provider::Anthropic) {
        let text = |request| messages(form, request).to_string();
        for (turn, two) in (1..).zip(requests.windows(2)).skip(1).step_by(7) {
            let [this, next] = [text(&two[0]), text(&two[1])];
            let same = this.bytes().zip(next.bytes()).take_while(|(this, next)| this == next).count();
            let results = this.rfind(&result(turn - 1)).unwrap();
            assert!(same > results, "{form:?}, turn {turn}: {} of {}", same, this.len());
        }
    }
}
