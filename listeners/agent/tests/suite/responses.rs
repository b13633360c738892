//! OpenAI's Responses: items are kept whole and go back as they came, and every way in which a response ends.

use std::sync::Arc;

use serde_json::{Value, json};
use systole_agent::model::{
    MessageAuthor, MessagePart, ModelAnswer, ModelFault, ModelFaultKind, ModelRequest, RequestToolChoice,
    StopReason, TokenUsage,
};
use systole_agent::spec::{self, Dialect, ModelThinking, Provider::OpenAiResponses};

use super::bench::{KEY, adapter, ask, call, kept, limits, model, request, said, search_tool, text};
use super::requests::sent;
use super::server::{Act, ByteServer, chunked, measured};
use super::stage::{AgentStage, found, helper, items};
use super::streams::answer;

fn result(id: &str, text: &str) -> MessagePart {
    MessagePart::Result {
        id: id.to_owned(),
        name: "search".to_owned(),
        text: text.to_owned(),
        is_error: false,
    }
}

/// A conversation with an answer of this provider, one of another, and a header behind results.
fn conversation() -> ModelRequest {
    let other = vec![
        kept("anthropic", json!({"type": "thinking", "thinking": "T", "signature": "S"})),
        text("So."),
        call("b", "search", ""),
    ];
    ModelRequest {
        messages: vec![
            said(MessageAuthor::User, vec![text("find it")]),
            said(MessageAuthor::Assistant, answer(OpenAiResponses).parts),
            said(MessageAuthor::User, vec![text("go on"), result("a", "found"), result("x7", "Error: no")]),
            said(MessageAuthor::Assistant, other),
            said(MessageAuthor::User, vec![result("b", "two")]),
        ],
        header: Some("the header".to_owned()),
        tools: vec![search_tool()],
        choice: Some(RequestToolChoice::Tool("search".to_owned())),
        ..request("")
    }
}

#[test]
fn items_go_back_as_they_came_and_the_header_is_a_message_of_the_developer() {
    let seen = sent(&model(OpenAiResponses, ""), "/v1/", conversation());
    assert!(seen.head.starts_with("POST /v1/responses HTTP/1.1\r\n"), "{}", seen.head);
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let item = |id: &str, call_id: &str, name: &str, arguments: &str| {
        json!({
            "id": id, "type": "function_call", "status": "completed", "call_id": call_id, "name": name,
            "arguments": arguments,
        })
    };
    assert_eq!(
        seen.json(),
        json!({
            "model": "some-model", "stream": true, "store": false, "max_output_tokens": 500,
            "include": ["reasoning.encrypted_content"],
            "instructions": "You are brief.",
            "input": [
                {"role": "user", "content": "find it"},
                {"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAAAAbegunAndEnded+/=",
                    "summary": [{"type": "summary_text", "text": "Hm\u{2026}"}]},
                {"id": "msg_1", "type": "message", "status": "completed", "phase": "commentary", "role": "assistant",
                    "content": [{"type": "output_text", "annotations": [], "logprobs": [],
                        "text": " Gr\u{fc}\u{df}e\r\n\u{1f9e0} "}]},
                item("fc_1", "a", "search", "{\"query\": \"\u{e9}\"}"),
                item("fc_2", "x7", "look", "{}"),
                {"type": "function_call_output", "call_id": "a", "output": "found"},
                {"type": "function_call_output", "call_id": "x7", "output": "Error: no"},
                {"role": "user", "content": "go on"},
                {"role": "assistant", "content": "So."},
                {"type": "function_call", "call_id": "b", "name": "search", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "b", "output": "two"},
                {"role": "developer", "content": "the header"},
            ],
            "tools": [{"type": "function", "name": "search", "description": "Finds text.", "strict": true,
                "parameters": {"type": "object", "properties": {"query": {"type": ["string", "null"]}},
                    "required": ["query"], "additionalProperties": false}}],
            "tool_choice": {"type": "function", "name": "search"},
        })
    );
}

#[test]
fn reasoning_is_asked_for_as_an_effort_and_comes_back_encrypted() {
    for (thinking, effort, includes) in [
        (None, None, true),
        (Some(ModelThinking::Off), Some("none"), false),
        (Some(ModelThinking::Low), Some("low"), true),
        (Some(ModelThinking::High), Some("high"), true),
        (Some(ModelThinking::Max), Some("max"), true),
    ] {
        let asked = spec::ModelSpec { thinking, ..model(OpenAiResponses, "") };
        let body = sent(&asked, "", request("hello")).json();
        assert_eq!(body.pointer("/reasoning/effort").and_then(Value::as_str), effort, "{body}");
        assert_eq!(body.get("include").is_some(), includes, "{body}");
    }
}

#[test]
fn reasoning_that_led_to_nothing_and_a_message_without_words_stay_out() {
    let mut asked = request("hello");
    let lone = kept("openai-responses", json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}));
    asked.messages.push(said(MessageAuthor::Assistant, vec![lone]));
    asked.messages.push(said(MessageAuthor::User, vec![text("again")]));
    let body = sent(&model(OpenAiResponses, ""), "", asked).json();
    let roles: Vec<&Value> = body["input"].as_array().unwrap().iter().map(|item| &item["role"]).collect();
    assert_eq!(roles, ["user", "user"], "{body}");
    let empty = done(json!({"type": "message", "id": "m", "content": [{"type": "output_text", "text": ""}]}));
    assert_eq!(
        read_answer(&[empty, end_response("completed", &json!({}))]).map(|answer| answer.parts),
        Ok(Vec::new())
    );
}

#[tokio::test]
async fn an_agent_sends_the_items_of_a_turn_back_with_the_results_of_its_calls() {
    let reasoning = json!({
        "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA+/=",
    });
    let call = json!({
        "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "search", "arguments": "{\"query\":\"x\"}",
        "status": "completed",
    });
    let turns = [[done(reasoning.clone()), done(call.clone())].to_vec(), vec![says("line 7")]];
    let answers = turns.map(|mut events| {
        events.push(end_response("completed", &json!({})));
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        vec![Act::Send(chunked("text/event-stream", &[body.as_bytes()]))]
    });
    let server = ByteServer::start(answers.to_vec());
    let asked = adapter(&model(OpenAiResponses, &server.url()), limits());
    let mut stage = AgentStage::with(helper(Dialect::Native), Arc::new(asked), "Where is login?");
    stage.ask().await;
    let said = stage.answer(vec![Some(found("in line 7"))], Vec::new()).await;
    assert_eq!(items(&said).last().map(|answer| answer.text()), Some("line 7".to_owned()));
    let second = server.end().remove(1).json();
    let input = second["input"].as_array().unwrap();
    assert_eq!(input[1..3], [reasoning, call], "{second}");
    assert_eq!((&input[3]["type"], &input[3]["call_id"]), (&json!("function_call_output"), &json!("c1")));
}

fn read_answer(events: &[Value]) -> Result<ModelAnswer, ModelFault> {
    let body: String =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"])).collect();
    let server = ByteServer::saying(chunked("text/event-stream", &[body.as_bytes()]));
    ask(&model(OpenAiResponses, &server.url()), limits(), request("hello"))
}

fn done(item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": 0, "item": item})
}

/// The event that ends a response with that status and those fields.
fn end_response(status: &str, more: &Value) -> Value {
    let mut response = json!({
        "id": "resp_1", "object": "response", "status": status, "error": null, "incomplete_details": null,
        "usage": {"input_tokens": 9, "output_tokens": 3},
    });
    for (key, value) in more.as_object().unwrap() {
        response[key] = value.clone();
    }
    json!({"type": format!("response.{status}"), "response": response})
}

fn says(words: &str) -> Value {
    done(json!({"type": "message", "id": "msg_1", "role": "assistant",
        "content": [{"type": "output_text", "text": words}]}))
}

#[test]
fn every_end_of_a_response_is_told_apart() {
    let incomplete =
        |reason: &str| end_response("incomplete", &json!({"incomplete_details": {"reason": reason}}));
    for (events, stop) in [
        ([says("x"), end_response("completed", &json!({}))], StopReason::End),
        ([says("x"), incomplete("max_output_tokens")], StopReason::Length),
    ] {
        let found = read_answer(&events).expect("an answer");
        assert_eq!((found.stop, found.usage.tokens_in), (stop, Some(9)));
        assert_eq!(found.parts[0], text("x"));
    }
    let used = Some(TokenUsage { tokens_in: Some(9), tokens_out: Some(3), ..TokenUsage::default() });
    let refusal = json!({"type": "refusal", "refusal": "I can't"});
    let refused = done(json!({"type": "message", "id": "m", "content": [refusal]}));
    let piece = json!({"type": "response.refusal.delta", "output_index": 0, "delta": "I can't"});
    for (events, partial) in [
        (vec![says("x"), incomplete("content_filter")], "x"),
        (vec![refused.clone(), end_response("completed", &json!({}))], "I can't"),
        (vec![piece, refused, end_response("completed", &json!({}))], "I can't"),
    ] {
        let fault = read_answer(&events).expect_err("a refusal");
        assert_eq!((fault.kind, fault.partial.as_str()), (ModelFaultKind::Refused, partial), "{fault:?}");
        assert_eq!(fault.used, used, "{fault:?}");
    }
    for reason in ["steered", "max_messages"] {
        let fault = read_answer(&[says("x"), incomplete(reason)]).expect_err("an unknown end");
        assert_eq!((fault.kind, fault.may_be_paid), (ModelFaultKind::Truncated, true), "{fault:?}");
        assert!(fault.words.ends_with(reason), "{fault:?}");
    }
}

#[test]
fn a_response_that_failed_and_an_event_that_says_error_are_known_faults() {
    let failed =
        |code: &str| end_response("failed", &json!({"error": {"code": code, "message": "it broke"}}));
    let error = |code: &str| json!({"type": "error", "code": code, "message": "it broke", "param": null, "sequence_number": 3});
    for (code, kind) in [
        ("server_error", ModelFaultKind::Unavailable),
        ("rate_limit_exceeded", ModelFaultKind::RateLimited),
        ("invalid_prompt", ModelFaultKind::Refused),
        ("bio_policy", ModelFaultKind::Refused),
        ("context_length_exceeded", ModelFaultKind::WindowFull),
    ] {
        for end in [failed(code), error(code)] {
            for events in [vec![end.clone()], vec![says("x"), end]] {
                let fault = read_answer(&events).expect_err("an error");
                assert!(fault.kind == kind && fault.is_known(), "{code}: {fault:?}");
                assert!(fault.words.contains(&format!("answered 200 ({code}): it broke")), "{fault:?}");
            }
        }
    }
    // The usage of a response that failed is known.
    let fault = read_answer(&[says("x"), failed("server_error")]).expect_err("an error");
    assert_eq!(fault.used.and_then(|used| used.tokens_in), Some(9));
    let whole =
        json!({"object": "response", "status": "failed", "error": {"code": "server_error", "message": "no"}});
    let server =
        ByteServer::saying(measured("200 OK", &["content-type: application/json"], &whole.to_string()));
    let fault =
        ask(&model(OpenAiResponses, &server.url()), limits(), request("hello")).expect_err("an error");
    assert!(fault.kind == ModelFaultKind::Unavailable && fault.words.contains("no"), "{fault:?}");
}

#[test]
fn items_of_an_unknown_kind_are_kept_in_their_place_and_go_back() {
    let item = json!({"type": "program", "id": "p_1", "call_id": "c", "code": "1", "fingerprint": "f"});
    let found = read_answer(&[done(item.clone()), says("x"), end_response("completed", &json!({}))]);
    let parts = found.expect("an answer").parts;
    assert_eq!(parts[..2], [kept("openai-responses", item.clone()), text("x")]);
    let mut asked = request("hello");
    asked.messages.push(said(MessageAuthor::Assistant, parts));
    asked.messages.push(said(MessageAuthor::User, vec![text("and?")]));
    let body = sent(&model(OpenAiResponses, ""), "", asked).json();
    assert_eq!(body["input"][1], item);
    assert_eq!(body["input"][2]["id"], "msg_1");
}

#[test]
fn a_server_that_sends_the_response_alone_is_read_from_it() {
    let output = json!([
        {"type": "message", "content": [{"type": "output_text", "text": "one"}, {"type": "output_text", "text": "two"}]},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "search", "arguments": "{}"},
    ]);
    let found = read_answer(&[end_response("completed", &json!({ "output": output }))]).expect("an answer");
    assert_eq!(found.stop, StopReason::Tool);
    let parts = super::bench::without_kept(found.parts);
    assert_eq!(parts, [text("one"), text("two"), call("a", "search", "{}")]);
}
