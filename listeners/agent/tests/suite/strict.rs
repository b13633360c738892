//! Schemas that hold an answer to the letter, and fields that a provider refuses: the request goes out again without them.

use std::sync::Arc;

use serde_json::{Value, json};
use systole_agent::model::{EstimatedRequest, HttpLimits, Model, ModelRequest, Models, SystemRandom, Tool};
use systole_agent::spec::{self, Dialect, ModelServer, ModelThinking, Provider};
use systole_kit::journal::JournalEntry;

use super::bench::{adapter, call, limits, model, request, run, search_tool, unwatched};
use super::models::{Books, Diary};
use super::requests::sent;
use super::rows::Gives;
use super::server::{Act, ByteServer, chunked, measured};
use super::stage::{AgentStage, helper, items};
use super::streams::{body, content_type};

/// A request with a tool and a final.
fn build_request() -> ModelRequest {
    let schema = json!({
        "type": "object", "required": ["n"],
        "properties": {"n": {"type": "integer", "maximum": 9}, "why": {"type": "string", "maxLength": 3}},
    });
    ModelRequest { schema: Some(Arc::new(schema)), tools: vec![search_tool()], ..request("hello") }
}

fn build_own(provider: Provider) -> spec::ModelSpec {
    let server = (provider == Provider::OpenAi).then_some(ModelServer::OpenAi);
    spec::ModelSpec { server, ..model(provider, "") }
}

#[test]
fn e19_openai_is_held_to_the_letter_in_both_of_its_forms() {
    let query = json!({
        "type": "object", "properties": {"query": {"type": ["string", "null"]}}, "required": ["query"],
        "additionalProperties": false,
    });
    let last = json!({
        "type": "object", "required": ["n", "why"], "additionalProperties": false,
        "properties": {"n": {"type": "integer", "maximum": 9}, "why": {"type": ["string", "null"]}},
    });
    let chat = sent(&build_own(Provider::OpenAi), "", build_request()).json();
    let schema = json!({"name": "final", "schema": last, "strict": true});
    assert_eq!(chat["response_format"], json!({"type": "json_schema", "json_schema": schema}));
    let tool = json!({"name": "search", "description": "Finds text.", "strict": true, "parameters": query});
    assert_eq!(chat["tools"], json!([{"type": "function", "function": tool}]));
    let responses = sent(&build_own(Provider::OpenAiResponses), "", build_request()).json();
    let format = json!({"type": "json_schema", "name": "final", "schema": last, "strict": true});
    assert_eq!(responses["text"], json!({ "format": format }));
    let mut tool = tool;
    tool["type"] = json!("function");
    assert_eq!(responses["tools"], json!([tool]));
    let other = sent(&model(Provider::OpenAi, ""), "", build_request()).json();
    assert!(!other.to_string().contains("strict"), "another server: {other}");
}

#[test]
fn e19_what_no_strict_schema_can_say_goes_without_it() {
    let tool = |parameters: Value| Tool { parameters, ..search_tool() };
    let open = json!({"type": "object", "properties": {"a": {"type": "object"}}});
    let request = ModelRequest {
        schema: Some(Arc::new(open.clone())),
        tools: vec![tool(open.clone()), search_tool()],
        ..request("hello")
    };
    let chat = sent(&build_own(Provider::OpenAi), "", request.clone()).json();
    assert_eq!(chat["response_format"]["json_schema"], json!({"name": "final", "schema": open}));
    assert_eq!(chat["tools"][0]["function"]["parameters"], open);
    assert_eq!(chat.pointer("/tools/0/function/strict"), None);
    assert_eq!(chat["tools"][1]["function"]["strict"], true);
    let responses = sent(&build_own(Provider::OpenAiResponses), "", request.clone()).json();
    assert_eq!(
        (&responses["tools"][0]["strict"], &responses["tools"][1]["strict"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(responses["text"]["format"]["strict"], false);
    let anthropic = sent(&build_own(Provider::Anthropic), "", request).json();
    assert_eq!(
        anthropic["tools"][0],
        json!({"name": "search", "description": "Finds text.", "input_schema": open})
    );
}

#[test]
fn e19_anthropic_takes_twenty_strict_tools() {
    let limited = json!({
        "type": "object", "required": ["query"],
        "properties": {"query": {"type": "string", "minLength": 2, "description": "the words"}, "n": {"type": "integer"}},
    });
    let tools = (0..25).map(|number| Tool {
        name: format!("search{number}"),
        parameters: limited.clone(),
        ..search_tool()
    });
    let request = ModelRequest { tools: tools.collect(), ..build_request() };
    let body = sent(&build_own(Provider::Anthropic), "", request).json();
    let strict = body["tools"].as_array().unwrap().iter().filter(|tool| tool["strict"] == true);
    assert_eq!(strict.count(), 20);
    let narrow = json!({
        "type": "object", "required": ["query"], "additionalProperties": false,
        "properties": {
            "query": {"type": "string", "description": "the words (minLength: 2)"}, "n": {"type": "integer"},
        },
    });
    assert_eq!(body["tools"][0]["input_schema"], narrow);
    assert_eq!((&body["tools"][24]["input_schema"], body["tools"][24].get("strict")), (&limited, None));
    assert!(body["output_config"]["format"].is_object(), "{body}");
}

fn refusal(words: &str) -> Vec<u8> {
    let body = json!({"error": {"message": words, "type": "invalid_request_error", "code": 400}});
    measured("400 Bad Request", &["content-type: application/json"], &body.to_string())
}

/// The bodies of the requests to a model whose provider first gives these refusals, and then answers twice.
fn refuse(model: &spec::ModelSpec, refusals: &[&str], request: &ModelRequest) -> Vec<Value> {
    let form = model.provider;
    let good = chunked(content_type(form), &[body(form).as_bytes()]);
    let answers = refusals.iter().map(|words| refusal(words)).chain([good.clone(), good]);
    let server = ByteServer::start(answers.map(|bytes| vec![Act::Send(bytes)]).collect());
    let model = spec::ModelSpec { url: Some(server.url()), ..model.clone() };
    let entries = vec![(model.clone(), Arc::new(adapter(&model, limits())) as Arc<dyn Model>)];
    let models = Models::new(entries, Box::new(SystemRandom), &HttpLimits::default()).expect("models");
    let ask = EstimatedRequest { request: request.clone(), tokens_in: 10, is_single: true };
    run(async {
        let diary = Diary::new();
        for _ in 0..2 {
            let found = models.ask_model("main", &ask, &mut Books::new(&diary), unwatched()).await;
            assert!(found.is_ok(), "{form:?}: {found:?}");
        }
    });
    server.end().iter().map(|seen| seen.json()).collect()
}

#[test]
fn e19_a_field_that_a_provider_refuses_is_left_out_until_the_next_start() {
    let thinks = |provider| spec::ModelSpec { thinking: Some(ModelThinking::High), ..build_own(provider) };
    for (model, words, field) in [
        (
            thinks(Provider::OpenAi),
            "Unsupported value: 'reasoning_effort' does not support 'high' with this model.",
            "/reasoning_effort",
        ),
        (
            thinks(Provider::OpenAiResponses),
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            "/reasoning",
        ),
        (
            build_own(Provider::OpenAiResponses),
            "Encrypted content is not supported with this model.",
            "/include",
        ),
        (
            thinks(Provider::Anthropic),
            "output_config.effort: This model does not support the effort parameter.",
            "/output_config/effort",
        ),
        (thinks(Provider::Anthropic), "adaptive thinking is not supported on this model", "/thinking"),
        (
            build_own(Provider::Anthropic),
            "system.0.cache_control: Extra inputs are not permitted",
            "/system/0/cache_control",
        ),
        (thinks(Provider::Ollama), "\"some-model\" does not support thinking", "/think"),
        (
            thinks(Provider::Gemini),
            "Thinking level is not supported for this model.",
            "/generationConfig/thinkingConfig",
        ),
        (
            thinks(Provider::OpenAi),
            "Invalid schema for function 'search': In context=(), 'x' is not permitted.",
            "/tools/0/function/strict",
        ),
        (
            build_own(Provider::Anthropic),
            "The compiled grammar is too large, reduce the number of strict tools.",
            "/tools/0/strict",
        ),
        (
            build_own(Provider::OpenAi),
            "Invalid schema for response_format 'final': schema is not strict.",
            "/response_format",
        ),
    ] {
        let bodies = refuse(&model, &[words], &build_request());
        let has: Vec<bool> = bodies.iter().map(|body| body.pointer(field).is_some()).collect();
        assert_eq!(has, [true, false, false], "{words}");
    }
    // Each field is refused once, and the rest stays.
    let words = [
        "'reasoning_effort' is unknown",
        "tools[0].function.strict is unknown",
        "response_format is unknown",
    ];
    let bodies = refuse(&thinks(Provider::OpenAi), &words, &build_request());
    let last = bodies.last().expect("an answer");
    assert_eq!(bodies.len(), 5);
    assert_eq!(last["tools"][0]["function"]["parameters"], search_tool().parameters);
    assert_eq!((last.get("reasoning_effort"), last.get("response_format")), (None, None));
}

/// What was recorded of a turn of a native agent at such a server.
async fn record(model: spec::ModelSpec) -> Option<String> {
    let form = model.provider;
    let server = ByteServer::saying(chunked(content_type(form), &[body(form).as_bytes()]));
    let model = spec::ModelSpec { url: Some(server.url()), ..model };
    let entries = vec![(model.clone(), Arc::new(adapter(&model, limits())) as Arc<dyn Model>)];
    let models = Models::new(entries, Box::new(SystemRandom), &HttpLimits::default()).expect("models");
    let mut stage = AgentStage::asking(helper(Dialect::Native), Arc::new(models), "Where is login?");
    stage.ask().await;
    let heard = stage.heard.lock().unwrap();
    let started = heard.journal.iter().find_map(|entry| match entry {
        JournalEntry::Started(started) => Some(started.guided.clone()),
        JournalEntry::Result(_) => None,
    });
    started.expect("the model was asked")
}

#[tokio::test]
async fn e19_the_record_says_that_tools_are_strict() {
    for (model, guided) in [
        (build_own(Provider::OpenAi), Some("strict")),
        (build_own(Provider::OpenAiResponses), Some("strict")),
        (build_own(Provider::Anthropic), Some("strict")),
        (model(Provider::OpenAi, ""), None),
        (build_own(Provider::Gemini), None),
    ] {
        let form = model.provider;
        assert_eq!(record(model).await.as_deref(), guided, "{form:?}");
    }
}

#[tokio::test]
async fn e19_null_in_a_call_and_in_a_final_means_missing() {
    let called = vec![call("a", "search", r#"{"query": "x", "limit": null}"#)];
    let mut stage = Gives::stage(Dialect::Native, vec![Ok(called)]);
    let said = stage.ask().await;
    let payload = String::from_utf8_lossy(items(&said).last().expect("a call").bytes()).into_owned();
    assert!(payload.contains("<query>x</query>") && !payload.contains("limit"), "{payload}");
    for dialect in [Dialect::Native, Dialect::Plain] {
        let agent = spec::AgentSpec {
            output: spec::Output { format: spec::OutputFormat::Json, schema: build_request().schema },
            ..helper(dialect)
        };
        let final_text = |text: &str| {
            let script = format!("helper:\n  - say: '{text}'\n");
            AgentStage::of(agent.clone(), &script)
        };
        for (text, given) in [
            (r#"{"n": 3, "why": null}"#, r#"{"n":3}"#),
            (r#"{"n": 3, "why": "x"}"#, r#"{"n": 3, "why": "x"}"#),
        ] {
            let said = final_text(text).ask().await;
            assert_eq!(
                items(&said).last().map(|answer| answer.text()),
                Some(given.to_owned()),
                "{dialect:?}"
            );
        }
    }
}
