//! The model code against the mock of the providers, which shares no code with it: conversations with calls and
//! reasoning in every form, exact usage and money, and the number of requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use systole_agent::model::{
    EstimatedRequest, HttpLimits, MessageAuthor, MessagePart, Model, ModelAnswer, ModelFault, ModelFaultKind,
    ModelRequest, Models, NoAnswer, StopReason,
};
use systole_agent::spec::{self, Price, Provider, RequestRetry};
use systole_kit::money::Money;
use systole_mock_model::{MockModel, MockOptions, MockScript};

use super::bench::{
    FORMS, KEY, adapter, limits, model, request, run, said, search_tool, text, unwatched, without_kept,
};
use super::models::{Books, Diary};

fn mock(script: &str, window: Option<u64>) -> MockModel {
    let script = MockScript::parse(script).unwrap_or_else(|bad| panic!("{bad:?}"));
    let options = MockOptions { window, key: Some(KEY.to_owned()), ..MockOptions::default() };
    MockModel::start(script, options).expect("a mock")
}

fn specified(name: &str, form: Provider, mock: &MockModel, fallback: &[&str]) -> spec::ModelSpec {
    let money = |amount| Money::parse(amount).unwrap();
    let cached = Some(money("0.3 USD"));
    let price = Price {
        tokens_in: money("3 USD"),
        tokens_out: money("15 USD"),
        cached,
        cache_write: None,
        per: 1_000_000,
    };
    let path = if super::bench::has_version(form) { "/v1" } else { "" };
    spec::ModelSpec {
        name: name.to_owned(),
        price: Some(price),
        at_once: 2,
        retry: RequestRetry { attempts: 3, first_ms: 1, longest_ms: 4 },
        fallback: fallback.iter().map(|name| (*name).to_owned()).collect(),
        ..model(form, &format!("{}{path}", mock.url()))
    }
}

fn models(all: Vec<spec::ModelSpec>, limits: &HttpLimits) -> Models {
    let all = all.into_iter().map(|model| {
        let asked = Arc::new(adapter(&model, limits.clone())) as Arc<dyn Model>;
        (model, asked)
    });
    Models::new(all.collect(), Box::new(systole_agent::model::SystemRandom), limits).expect("good models")
}

async fn asked(models: &Models, request: ModelRequest, diary: &Diary) -> Result<ModelAnswer, ModelFault> {
    let ask = EstimatedRequest { request, tokens_in: 10, is_single: false };
    match models.ask_model("main", &ask, &mut Books::new(diary), unwatched()).await {
        Ok(answer) => Ok(answer),
        Err(NoAnswer::Fault(fault)) => Err(fault),
        Err(NoAnswer::Halted(halt)) => panic!("{halt}"),
    }
}

fn with_tools(request: ModelRequest) -> ModelRequest {
    ModelRequest { tools: vec![search_tool()], ..request }
}

#[test]
fn e13_a_conversation_with_reasoning_and_calls_is_taken_in_every_form() {
    for form in FORMS {
        let mock = mock(
            "- {thinking: \"Hm… let me look\", say: I look., chunk: 3, call: [{search: {query: é}}, {search: {query: x}}], \
             usage: {in: 120, out: 30, cached: 100}}\n- {say: \"Grüße 🧠\", chunk: 2 bytes}",
            None,
        );
        let models = models(vec![specified("main", form, &mock, &[])], &limits());
        run(async {
            let diary = Diary::new();
            let first = asked(&models, with_tools(request("find it")), &diary).await.expect("an answer");
            assert_eq!(first.stop, StopReason::Tool, "{form:?}: {first:?}");
            let usage = first.usage;
            assert_eq!((usage.tokens_in, usage.tokens_out), (Some(120), Some(30)), "{form:?}");
            let priced = if form == Provider::Ollama { "0.00081 USD" } else { "0.00054 USD" };
            let line = diary.lines().last().cloned().unwrap_or_default();
            assert!(line.ends_with(&format!("120+30 {priced}")), "{form:?}: {line}");
            let results = first.parts.iter().filter_map(|part| match part {
                MessagePart::Call(call) => Some(MessagePart::Result {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    text: "found".to_owned(),
                    is_error: false,
                }),
                _ => None,
            });
            let results: Vec<MessagePart> = results.collect();
            assert_eq!(results.len(), 2, "{form:?}: {first:?}");
            assert!(
                first.parts.iter().any(|part| matches!(part, MessagePart::Reasoning(_))),
                "{form:?}: {first:?}"
            );
            let mut further = with_tools(request("find it"));
            further.messages.push(said(MessageAuthor::Assistant, first.parts.clone()));
            further.messages.push(said(MessageAuthor::User, results));
            further.messages.push(said(MessageAuthor::User, vec![text("and?")]));
            let second = asked(&models, further, &diary).await;
            let second = second.map(|answer| (without_kept(answer.parts), answer.stop));
            assert_eq!(second, Ok((vec![text("Grüße 🧠")], StopReason::End)), "{form:?}");
        });
        let seen = mock.stop();
        assert!(seen.iter().all(|seen| seen.status == 200 && seen.scripted), "{form:?}: {seen:?}");
    }
}

/// The number of characters of all texts in a value.
fn characters(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(values) => values.iter().map(characters).sum(),
        Value::Object(fields) => fields.values().map(characters).sum(),
        _ => 0,
    }
}

#[test]
fn e13_usage_is_that_of_the_mock_to_the_token() {
    for form in FORMS {
        let mock = mock("- {say: Hello there.}", None);
        let models = models(vec![specified("main", form, &mock, &[])], &limits());
        let found = run(async { asked(&models, request("hello"), &Diary::new()).await }).expect("an answer");
        // A quarter of the characters, rounded up: of the request, and of the answer.
        let seen = mock.stop();
        let body = &seen.first().expect("one request").body;
        let texts = ["messages", "contents", "system", "systemInstruction", "instructions", "input"];
        let characters: usize = texts.iter().filter_map(|key| body.get(key)).map(characters).sum();
        let counted = (found.usage.tokens_in, found.usage.tokens_out);
        let expected = u64::try_from(characters.div_ceil(4)).ok();
        assert_eq!(counted, (expected, Some(3)), "{form:?}: {body}");
    }
}

#[test]
fn e18_what_is_repeated_and_what_is_not_is_counted_by_the_mock() {
    // The script, the number of requests, and the outcome.
    let cases: [(&str, usize, Option<ModelFaultKind>); 9] = [
        ("- {error: {status: 429, retry_after: 0s}}\n- {error: {status: 503}}\n- {say: x}", 3, None),
        ("- {error: {status: 500}, times: 9}", 3, Some(ModelFaultKind::Unavailable)),
        ("- {html: true}\n- {say: x}", 2, None),
        ("- {error: {status: 400, body: no}}\n- {say: x}", 1, Some(ModelFaultKind::InvalidRequest)),
        ("- {say: 12345678, cut: true}\n- {say: x}", 1, Some(ModelFaultKind::Truncated)),
        ("- {say: hä, cut: {in: ä}}\n- {say: x}", 1, Some(ModelFaultKind::Truncated)),
        ("- {say: hello, stop: none}\n- {say: x}", 1, Some(ModelFaultKind::Truncated)),
        ("- {garbage: true}\n- {say: x}", 1, None),
        ("- {endless: true}\n- {say: x}", 1, Some(ModelFaultKind::TooLarge)),
    ];
    for form in FORMS {
        for (script, count, end) in cases {
            let mock = mock(script, None);
            let limits = HttpLimits { answer: 50_000, ..limits() };
            let models = models(vec![specified("main", form, &mock, &[])], &limits);
            let found = run(async { asked(&models, request("hello"), &Diary::new()).await });
            let garbage = script.contains("garbage");
            match (&found, end) {
                (Ok(_), None) => assert!(!garbage, "{form:?} {script}: {found:?}"),
                (Err(fault), None) => assert!(garbage && fault.may_be_paid, "{form:?} {script}: {found:?}"),
                (found, Some(kind)) => {
                    let is = found.as_ref().err().map(|fault| fault.kind);
                    assert_eq!(is, Some(kind), "{form:?} {script}: {found:?}");
                }
            }
            assert_eq!(mock.stop().len(), count, "{form:?} {script}: {found:?}");
        }
    }
}

#[test]
fn e13_an_error_with_a_good_status_is_one_in_every_form() {
    for form in FORMS {
        for script in ["- {ok_error: true, times: 9}", "- {say: hello, ok_error: true, times: 9}"] {
            let mock = mock(script, None);
            let models = models(vec![specified("main", form, &mock, &[])], &limits());
            let found = run(async { asked(&models, request("hello"), &Diary::new()).await });
            let fault = found.expect_err("an error");
            assert_eq!(fault.kind, ModelFaultKind::Unavailable, "{form:?} {script}: {fault:?}");
            let said = script.contains("say");
            assert_eq!(fault.partial == "hello", said, "{form:?}: {fault:?}");
            // Anthropic reports its input tokens before any text, so its error comes after tokens.
            let may_be_paid = said || form == Provider::Anthropic;
            assert_eq!(fault.may_be_paid, may_be_paid, "{form:?}: {fault:?}");
            assert!(fault.is_known(), "{form:?}: {fault:?}");
            assert_eq!(mock.stop().len(), 3, "{form:?} {script}: {fault:?}");
        }
    }
}

#[test]
fn e13_a_fallback_provider_answers_and_reads_the_first_providers_messages() {
    let forms: BTreeMap<usize, Provider> = FORMS.into_iter().enumerate().collect();
    for (at, form) in &forms {
        let other = forms[&((at + 1) % forms.len())];
        let first = mock(
            "- {thinking: T, say: I look., call: {search: {query: x}}}\n- {error: {status: 529}, times: 9}",
            None,
        );
        let second = mock("- {say: from the other}", None);
        let main = specified("main", *form, &first, &["spare"]);
        let models = models(vec![main, specified("spare", other, &second, &[])], &limits());
        run(async {
            let diary = Diary::new();
            let begun = asked(&models, with_tools(request("hello")), &diary).await.expect("an answer");
            let mut further = with_tools(request("hello"));
            let id = begun.parts.iter().find_map(|part| match part {
                MessagePart::Call(call) => Some(call.id.clone()),
                _ => None,
            });
            let result = MessagePart::Result {
                id: id.expect("a call"),
                name: "search".to_owned(),
                text: "found".to_owned(),
                is_error: false,
            };
            further.messages.push(said(MessageAuthor::Assistant, begun.parts));
            further.messages.push(said(MessageAuthor::User, vec![result]));
            let found = asked(&models, further, &diary).await.expect("an answer");
            assert_eq!(
                (without_kept(found.parts), found.by.as_str()),
                (vec![text("from the other")], "spare")
            );
        });
        assert_eq!((first.stop().len(), second.stop().len()), (4, 1), "{form:?}");
    }
}

#[test]
fn e13_no_more_requests_reach_a_provider_at_once_than_it_is_said_to_take() {
    for form in FORMS {
        let mock = mock("- {say: hello there, first: 20ms, times: always}", None);
        let models = models(vec![specified("main", form, &mock, &[])], &limits());
        run(async {
            let diary = Diary::new();
            let one = || asked(&models, request("hello"), &diary);
            let (a, b, c, d, e) = tokio::join!(one(), one(), one(), one(), one());
            assert!([a, b, c, d, e].iter().all(Result::is_ok), "{form:?}");
        });
        let count = mock.count();
        assert_eq!((count.requests, count.most_at_once), (5, 2), "{form:?}");
    }
}

#[test]
fn e13_a_too_large_request_a_wrong_key_and_an_unknown_model_are_reported() {
    for form in FORMS {
        let narrow = mock("- {say: x}", Some(20));
        let narrow_model = models(vec![specified("main", form, &narrow, &[])], &limits());
        let long = request(&"word ".repeat(100));
        let fault = run(async { asked(&narrow_model, long, &Diary::new()).await }).expect_err("too long");
        assert_eq!(
            (fault.kind, fault.status),
            (ModelFaultKind::WindowFull, Some(400)),
            "{form:?}: {fault:?}"
        );
        assert!(fault.words.contains("lower models.main.window"), "{form:?}: {fault:?}");

        let script = MockScript::parse("known:\n  - {say: x}").unwrap_or_else(|bad| panic!("{bad:?}"));
        let options = MockOptions { key: Some("another".to_owned()), ..MockOptions::default() };
        let locked = MockModel::start(script.clone(), options).expect("a mock");
        let models_of = |mock: &MockModel| models(vec![specified("main", form, mock, &[])], &limits());
        let fault =
            run(async { asked(&models_of(&locked), request("x"), &Diary::new()).await }).expect_err("no");
        if form != Provider::Ollama {
            assert_eq!(fault.status, Some(401), "{form:?}: {fault:?}");
            assert!(fault.words.contains("the key in SOME_KEY"), "{form:?}: {fault:?}");
        }
        let open = MockModel::start(script, MockOptions::default()).expect("a mock");
        let fault =
            run(async { asked(&models_of(&open), request("x"), &Diary::new()).await }).expect_err("no");
        assert_eq!(fault.status, Some(404), "{form:?}: {fault:?}");
        assert!(fault.words.contains("models.main.model, which is some-model"), "{form:?}: {fault:?}");
    }
}

#[test]
fn e18_a_caller_that_stops_waiting_disconnects_from_the_provider() {
    for form in FORMS {
        let mock = mock("- {say: abc, chunk: 1, delay: 5ms, endless: true}", None);
        let one = adapter(&specified("main", form, &mock, &[]), limits());
        let heard = Arc::new(tokio::sync::Notify::new());
        let hears = Arc::clone(&heard);
        run(async {
            tokio::select! {
                found = one.ask(request("hello"), Box::new(move |_| hears.notify_one())) => panic!("{found:?}"),
                () = heard.notified() => {}
            }
        });
        let gone = |seen: &[systole_mock_model::SeenRequest]| {
            seen.iter().all(|seen| seen.end == systole_mock_model::AnswerEnd::Gone)
        };
        let seen = mock.wait(Duration::from_secs(20), gone);
        assert!(seen.as_ref().is_ok_and(|seen| seen.len() == 1), "{form:?}: {seen:?}");
    }
}
