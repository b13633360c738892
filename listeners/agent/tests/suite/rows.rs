//! Rows 37 to 40 of the table of hostile inputs, for an agent: an invalid model output has no effect, is reported,
//! and ends visibly. The providers' wire formats are tested in `faults`, `network`, `answers` and `tls`.

use std::sync::{Arc, Mutex};

use systole_agent::model::{
    AnswerFuture, AnswerWatcher, HttpLimits, MessagePart, Model, ModelAnswer, ModelFault, ModelFaultKind,
    ModelRequest, NativeCall, ServedBy, StopReason, TokenUsage,
};
use systole_agent::spec::{Dialect, Provider};
use systole_kit::namespaces;
use systole_kit::reply::ReplyContent;

use crate::bench::{FORMS, KEY, ask, model, request};
use crate::server::{Act, ByteServer, chunk, head};
use crate::stage::{AgentStage, found, helper, items};
use crate::streams::content_type;

/// An event of each form with these words, inserted into JSON unescaped.
fn says(form: Provider, words: &str) -> String {
    match form {
        Provider::OpenAi => format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n"),
        Provider::OpenAiResponses => {
            format!("data: {{\"type\":\"response.output_text.delta\",\"delta\":\"{words}\"}}\n\n")
        }
        Provider::Anthropic => format!(
            "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{words}\"}}}}\n\n"
        ),
        Provider::Ollama => format!("{{\"message\":{{\"content\":\"{words}\"}},\"done\":false}}\n"),
        _ => {
            format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{words}\"}}]}}}}]}}\n\n")
        }
    }
}

#[test]
fn row_37_an_endless_answer_is_cut_at_the_limit_that_everybody_has() {
    let most = HttpLimits::default().answer;
    for form in FORMS {
        // About 200,000 tokens, repeated without an end.
        let piece = says(form, &"word ".repeat(4_000)).repeat(50);
        let server = ByteServer::start(vec![vec![
            Act::Send(head(content_type(form))),
            Act::Drip(chunk(piece.as_bytes())),
        ]]);
        let cut =
            ask(&model(form, &server.url()), HttpLimits::default(), request("hello")).expect_err("no end");
        assert_eq!((cut.kind, cut.may_be_paid), (ModelFaultKind::TooLarge, true), "{form:?}");
        assert_eq!(cut.partial.len(), most, "{form:?}: what came is kept up to the limit");
        assert!(server.end().iter().all(|seen| seen.left), "{form:?}: the connection was closed");
    }
}

#[test]
fn row_38_an_end_inside_of_json_or_of_a_character_is_no_answer() {
    for form in FORMS {
        let whole = says(form, "x \u{e9}");
        let character = whole.find('\u{e9}').expect("it is there") + 1;
        let json = whole.trim_end().len() - 2;
        for at in [character, json] {
            let begun = says(form, "kept ");
            let bytes = [begun.as_bytes(), &whole.as_bytes()[..at]].concat();
            for end in ["", "\r\n0\r\n\r\n"] {
                let sent = match end.is_empty() {
                    true => [head(content_type(form)), chunk(&bytes)].concat(),
                    false => [head(content_type(form)), chunk(&bytes), b"0\r\n\r\n".to_vec()].concat(),
                };
                let server = ByteServer::start(vec![vec![Act::Send(sent)]]);
                let cut = ask(&model(form, &server.url()), HttpLimits::default(), request("hello"))
                    .expect_err("it has no end");
                let kind_and_paid = (cut.kind, cut.may_be_paid);
                assert_eq!(kind_and_paid, (ModelFaultKind::Truncated, true), "{form:?} at {at}: {cut:?}");
                assert_eq!(cut.partial, "kept ", "{form:?} at {at}");
            }
        }
    }
}

/// A model that gives its answers in order.
pub(crate) struct Gives(Mutex<Vec<Result<Vec<MessagePart>, ModelFault>>>);

impl Gives {
    pub(crate) fn stage(dialect: Dialect, gives: Vec<Result<Vec<MessagePart>, ModelFault>>) -> AgentStage {
        AgentStage::with(helper(dialect), Arc::new(Self(Mutex::new(gives))), "Where is login?")
    }
}

impl Model for Gives {
    fn ask(&self, _: ModelRequest, _: AnswerWatcher) -> AnswerFuture {
        let next = self.0.lock().unwrap().remove(0);
        Box::pin(async move {
            let parts = next?;
            let calls = parts.iter().any(|part| matches!(part, MessagePart::Call(_)));
            let stop = if calls { StopReason::Tool } else { StopReason::End };
            Ok(ModelAnswer {
                parts,
                stop,
                usage: TokenUsage::default(),
                by: "main".to_owned(),
                served: ServedBy::default(),
            })
        })
    }
}

fn fault(kind: ModelFaultKind, status: Option<u16>, partial: &str) -> ModelFault {
    let words = "the provider said so".to_owned();
    let partial = partial.to_owned();
    ModelFault { kind, words, status, retry_after_ms: None, partial, may_be_paid: true, used: None }
}

#[tokio::test]
async fn row_37_and_38_a_cut_answer_is_reported_and_its_action_is_never_executed() {
    let whole = "<thinking>x</thinking><search><query>login</query></search>";
    for (kind, code) in
        [(ModelFaultKind::Truncated, "model.truncated"), (ModelFaultKind::TooLarge, "model.too-large")]
    {
        let mut stage = Gives::stage(Dialect::Xml, vec![Err(fault(kind, Some(200), whole))]);
        let said = stage.ask().await;
        let ReplyContent::Again { code: told, .. } = &said else { panic!("{said:?}") };
        assert_eq!(told, code);
        let kept = stage.outcome();
        assert_eq!(kept.stop, code);
        assert!(kept.text.ends_with(whole), "what came is on record: {}", kept.text);
    }
}

fn call(id: &str, name: &str, arguments: &str) -> MessagePart {
    MessagePart::Call(NativeCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    })
}

#[tokio::test]
async fn row_39_invalid_calls_get_a_reason_and_end_in_a_report() {
    let good = r#"{"query": "login"}"#;
    let rows = [
        ("an unknown tool", vec![call("a", "delete", good)], "agent.unknown-action", "Error: Unknown tool"),
        (
            "invalid arguments",
            vec![call("a", "search", r#"{"query": 7}"#)],
            "agent.tool-payload-invalid",
            "Error: Invalid parameters:",
        ),
        (
            "arguments as a string",
            vec![call("a", "search", &serde_json::json!(good).to_string())],
            "agent.tool-payload-invalid",
            "Error: Invalid parameters:",
        ),
        (
            "arguments that are no JSON",
            vec![call("a", "search", "{\"query\": ")],
            "agent.tool-payload-invalid",
            "Error: Invalid parameters:",
        ),
    ];
    for (what, parts, code, words) in rows {
        let mut stage = Gives::stage(Dialect::Native, vec![Ok(parts); 3]);
        let first = stage.ask().await;
        let ReplyContent::Again { code: told, .. } = &first else { panic!("{what}: {first:?}") };
        assert_eq!(told, code, "{what}");
        let second = stage.again(&first).await;
        assert!(stage.shown().starts_with(words), "{what}: {}", stage.shown());
        let last = stage.again(&second).await;
        let report = items(&last)[0];
        assert!(report.name().is_named(namespaces::CORE, "final-report"), "{what}: {last:?}");
        assert_eq!(report.find_attribute("outcome").as_deref(), Some("failure"), "{what}");
    }
}

#[tokio::test]
async fn row_39_of_two_calls_with_one_id_the_first_runs_and_the_second_is_refused() {
    let twice = vec![call("a", "search", r#"{"query": "one"}"#), call("a", "search", r#"{"query": "two"}"#)];
    let mut stage =
        Gives::stage(Dialect::Native, vec![Ok(twice), Ok(vec![MessagePart::Text("done".to_owned())])]);
    let said = stage.ask().await;
    let sent: Vec<_> = items(&said).iter().filter_map(|payload| payload.text_of("query")).collect();
    assert_eq!(sent, ["one"]);
    let notices = stage.heard.lock().unwrap().notices.clone();
    assert!(notices.iter().any(|(_, words)| words.contains("one id")), "{notices:?}");
    assert_eq!(items(&stage.answer(vec![Some(found("x"))], Vec::new()).await)[0].text(), "done");
}

#[tokio::test]
async fn row_40_a_fault_of_a_provider_is_a_visible_failure_with_its_words_and_no_key() {
    for (kind, status, code) in [
        (ModelFaultKind::RateLimited, Some(429), "model.rate-limited"),
        (ModelFaultKind::Unavailable, Some(500), "model.unavailable"),
        (ModelFaultKind::Unavailable, None, "model.unavailable"),
        (ModelFaultKind::Refused, Some(401), "model.refused"),
        (ModelFaultKind::InvalidRequest, Some(400), "model.invalid-request"),
    ] {
        for may_be_paid in [true, false] {
            let fault = ModelFault { may_be_paid, ..fault(kind, status, "") };
            let mut stage = Gives::stage(Dialect::Xml, vec![Err(fault)]);
            let said = stage.ask().await;
            let (told, retry, words, away) = match &said {
                ReplyContent::Failure { code, retry, words, .. } => (code, retry, words, None),
                ReplyContent::Away { outage, code, retry, words } => {
                    (code, retry, words, Some(outage.as_str()))
                }
                _ => panic!("{said:?}"),
            };
            assert_eq!((told.as_str(), *retry), (code, false));
            // What may have been paid is not asked again by waiting for the model. The model is a script, and one
            // without an answer is not away either.
            let is_away = matches!(kind, ModelFaultKind::RateLimited | ModelFaultKind::Unavailable);
            let waits = is_away && !may_be_paid && status.is_some();
            assert_eq!(away, waits.then_some("model.main"), "{said:?}");
            assert!(words.contains("the provider said so") && !words.contains(KEY), "{words}");
            assert_eq!(stage.outcome().stop, code, "it is on record");
        }
    }
}
