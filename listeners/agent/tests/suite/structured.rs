//! The JSON Schema of a final: in the prompt, and in the provider's own field if that cannot interfere with calls.

use std::sync::Arc;

use serde_json::{Value, json};
use systole_agent::model::{MessageAuthor, ModelRequest, RequestToolChoice, StopReason};
use systole_agent::spec::{self, Dialect, Output, OutputFormat, Provider, ToolChoice};
use systole_kit::Payload;
use systole_mock_model::{MockModel, MockOptions, MockScript};

use super::bench::{FORMS, KEY, adapter, ask, call, limits, model, request, said, search_tool};
use super::goals::{pass, pursuer, request as goal};
use super::server::{ByteServer, chunked};
use super::stage::{AgentStage, helper, items};
use super::streams::{body, content_type};

fn schema() -> Arc<Value> {
    Arc::new(
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 1}}}),
    )
}

fn asking(tools: bool, choice: Option<RequestToolChoice>) -> ModelRequest {
    let tools = if tools { vec![search_tool()] } else { Vec::new() };
    ModelRequest { schema: Some(schema()), tools, choice, ..request("hello") }
}

/// Each provider's field for the schema.
fn field(form: Provider, body: &Value) -> Option<&Value> {
    body.pointer(match form {
        Provider::OpenAi => "/response_format/json_schema/schema",
        Provider::OpenAiResponses => "/text/format/schema",
        Provider::Anthropic => "/output_config/format/schema",
        Provider::Ollama => "/format",
        _ => "/generationConfig/responseJsonSchema",
    })
}

/// The body of the request.
fn sent(form: Provider, request: ModelRequest) -> Value {
    let server = ByteServer::saying(chunked(content_type(form), &[body(form).as_bytes()]));
    ask(&model(form, &server.url()), limits(), request).expect("a whole answer");
    server.end().remove(0).json()
}

#[test]
fn e19_each_provider_has_the_schema_in_its_own_field() {
    for form in FORMS {
        let body = sent(form, asking(false, None));
        let mut wanted = (*schema()).clone();
        if form == Provider::OpenAiResponses {
            wanted["additionalProperties"] = json!(false);
        }
        if form == Provider::Anthropic {
            wanted = json!({
                "type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}},
                "additionalProperties": false,
            });
        }
        assert_eq!(field(form, &body), Some(&wanted), "{form:?}: {body}");
        match form {
            Provider::OpenAi => {
                assert_eq!(body["response_format"]["type"], "json_schema");
                assert_eq!(body["response_format"]["json_schema"]["name"], "final");
            }
            Provider::Anthropic => assert_eq!(body["output_config"]["format"]["type"], "json_schema"),
            Provider::Gemini => {
                assert_eq!(body["generationConfig"]["responseMimeType"], "application/json");
            }
            _ => {}
        }
        let none = sent(form, request("hello"));
        assert_eq!(field(form, &none), None, "{form:?}: {none}");
    }
}

#[test]
fn beside_tools_that_may_be_called_only_some_providers_get_a_schema() {
    for form in FORMS {
        for choice in [None, Some(RequestToolChoice::Auto)] {
            let body = sent(form, asking(true, choice.clone()));
            // These take both, at every address.
            assert_eq!(
                field(form, &body).is_some(),
                matches!(form, Provider::Anthropic | Provider::OpenAiResponses),
                "{form:?} {choice:?}: {body}"
            );
            assert!(body.get("tools").is_some(), "{form:?}: {body}");
        }
        let body = sent(form, asking(true, Some(RequestToolChoice::None)));
        assert!(field(form, &body).is_some(), "{form:?}: {body}");
    }
    // Gemini accepts no schema together with tools, and no earlier calls without them.
    let mut later = asking(true, Some(RequestToolChoice::None));
    later.messages.push(said(MessageAuthor::Assistant, vec![call("c", "search", "{}")]));
    let body = sent(Provider::Gemini, later);
    assert_eq!((field(Provider::Gemini, &body), body.get("tools").is_some()), (None, true), "{body}");
    assert_eq!(sent(Provider::Gemini, asking(true, Some(RequestToolChoice::None))).get("tools"), None);
}

#[test]
fn e19_what_is_sent_is_what_the_providers_take() {
    for form in FORMS {
        let script =
            MockScript::parse("- {say: '{\"n\": 1}', times: always}").unwrap_or_else(|bad| panic!("{bad:?}"));
        let options = MockOptions { key: Some(KEY.to_owned()), ..MockOptions::default() };
        let mock = MockModel::start(script, options).expect("a mock");
        let path = if super::bench::has_version(form) { "/v1" } else { "" };
        let model = model(form, &format!("{}{path}", mock.url()));
        for (tools, choice) in [
            (false, None),
            (true, None),
            (true, (form != Provider::Ollama).then_some(RequestToolChoice::None)),
        ] {
            let found = ask(&model, limits(), asking(tools, choice));
            assert_eq!(found.map(|answer| answer.stop), Ok(StopReason::End), "{form:?}");
        }
    }
}

/// The request body for an agent whose final is JSON with a schema.
async fn agent_sends(dialect: Dialect, tool_choice: Option<ToolChoice>) -> Value {
    let output = Output { format: OutputFormat::Json, schema: Some(schema()) };
    body_of(spec::AgentSpec { output, tool_choice, ..helper(dialect) }, None).await
}

/// The request body for that agent, for a question or for that goal.
async fn body_of(agent: spec::AgentSpec, goal: Option<Payload>) -> Value {
    let server = ByteServer::saying(chunked(
        content_type(Provider::OpenAi),
        &[b"data: {\"choices\":[{\"delta\":{\"content\":\"{}\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"],
    ));
    let asked = adapter(&model(Provider::OpenAi, &server.url()), limits());
    let mut stage = AgentStage::with(agent, Arc::new(asked), "Where?");
    if let Some(goal) = goal {
        stage = stage.with_request(goal);
    }
    stage.ask().await;
    server.end().remove(0).json()
}

#[tokio::test]
async fn an_agent_shows_the_schema_in_its_prompt_and_only_native_sends_it_in_the_field() {
    let line = format!("The JSON of your final must follow this JSON Schema: {}", schema());
    for (dialect, tool_choice, in_field) in [
        (Dialect::Native, None, false),
        (Dialect::Native, Some(ToolChoice::None), true),
        (Dialect::XmlFinal, None, false),
        (Dialect::XmlFinal, Some(ToolChoice::None), false),
    ] {
        let body = agent_sends(dialect, tool_choice).await;
        let prompt = body["messages"][0]["content"].as_str().unwrap_or_default();
        assert!(prompt.contains(&line), "{dialect:?}: {prompt}");
        assert_eq!(field(Provider::OpenAi, &body).is_some(), in_field, "{dialect:?}: {body}");
    }
}

fn alone(dialect: Dialect) -> spec::AgentSpec {
    spec::AgentSpec { peers: Vec::new(), ..pursuer(dialect) }
}

#[tokio::test]
async fn f2_the_schema_of_a_goal_goes_into_the_providers_field_unless_a_word_may_be_the_answer() {
    for (dialect, asked, in_field) in [
        (Dialect::Native, goal(Some("review"), "x"), true),
        (Dialect::Native, pass(1, Some("review")), true),
        (Dialect::Native, pass(2, Some("review")), false),
        (Dialect::Native, goal(None, "x"), false),
        (Dialect::Native, goal(Some("plan"), "x"), false),
        (Dialect::XmlFinal, goal(Some("review"), "x"), false),
        (Dialect::Plain, goal(Some("review"), "x"), true),
        (Dialect::Plain, pass(2, Some("review")), false),
    ] {
        let body = body_of(alone(dialect), Some(asked)).await;
        let schema = field(Provider::OpenAi, &body).map(|schema| schema["title"].clone());
        assert_eq!(schema, in_field.then(|| json!("review")), "{dialect:?}: {body}");
    }
}

#[tokio::test]
async fn f2_every_provider_takes_the_schema_of_a_goal() {
    for form in FORMS {
        let script = MockScript::parse(r#"- {say: '{"score": 3, "findings": "x"}', times: always}"#)
            .unwrap_or_else(|bad| panic!("{bad:?}"));
        let options = MockOptions { key: Some(KEY.to_owned()), ..MockOptions::default() };
        let mock = MockModel::start(script, options).expect("a mock");
        let path = if super::bench::has_version(form) { "/v1" } else { "" };
        let asked = adapter(&model(form, &format!("{}{path}", mock.url())), limits());
        let stage = AgentStage::with(alone(Dialect::Native), Arc::new(asked), "");
        let said = stage.with_request(goal(Some("review"), "x")).ask().await;
        assert_eq!(items(&said).last().map(|payload| payload.text_of("score")), Some(Some("3".to_owned())));
    }
}
