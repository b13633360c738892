//! Anthropic's wire format: every byte of its answers, and each request that it refuses.

use systole_mock_model::MockOptions;

use crate::client::{anthropic, mock, send, with};

const RIGHT: [&str; 2] = ["x-api-key: sk-ant-test-1234", "anthropic-version: 2023-06-01"];

fn event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn start(model: &str, input: u64, cached: u64) -> String {
    let usage = format!(
        r#"{{"input_tokens":{input},"cache_creation_input_tokens":0,"cache_read_input_tokens":{cached},"output_tokens":1,"service_tier":"standard"}}"#
    );
    event(
        "message_start",
        &format!(
            r#"{{"type":"message_start","message":{{"id":"msg_mock000001","type":"message","role":"assistant","model":"{model}","content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage}}}}}"#
        ),
    )
}

fn block(index: u64, block: &str) -> String {
    let data = format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#);
    event("content_block_start", &data)
}

fn delta(index: u64, delta: &str) -> String {
    event(
        "content_block_delta",
        &format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#),
    )
}

fn stop(index: u64) -> String {
    event("content_block_stop", &format!(r#"{{"type":"content_block_stop","index":{index}}}"#))
}

fn end(reason: &str, usage: &str) -> String {
    event(
        "message_delta",
        &format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{usage}}}"#
        ),
    ) + &event("message_stop", r#"{"type":"message_stop"}"#)
}

fn ping() -> String {
    event("ping", r#"{"type":"ping"}"#)
}

fn asks(more: &str) -> String {
    format!(r#"{{"model":"c","max_tokens":100,"messages":[{{"role":"user","content":"hi"}}]{more}}}"#)
}

#[test]
fn a_stream_is_written_event_by_event() {
    let mock = mock("- {say: 'Hé, you', chunk: 4, usage: {in: 12, out: 3, cached: 8}}");
    let heard = anthropic(&mock, &asks(r#","stream":true"#));
    assert_eq!(heard.status, 200);
    assert_eq!(heard.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!(heard.header("request-id"), Some("req_mock000001"));
    let usage =
        r#"{"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":8,"output_tokens":3}"#;
    let wanted = [
        start("c", 4, 8),
        block(0, r#"{"type":"text","text":""}"#),
        ping(),
        delta(0, r#"{"type":"text_delta","text":"Hé, "}"#),
        delta(0, r#"{"type":"text_delta","text":"you"}"#),
        stop(0),
        end("end_turn", usage),
    ];
    assert_eq!(heard.text(), wanted.concat());
    assert!(heard.whole);
}

#[test]
fn thoughts_are_signed_and_calls_come_as_fragments_of_json() {
    let mock = mock(
        "- {thinking: Hm., say: I look., call: [{search: {query: x}}, {fetch: {raw: '{\"u'}, id: twice}], chunk: 8}",
    );
    let heard = anthropic(&mock, &asks(r#","stream":true"#));
    let tool =
        |id: &str, name: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#);
    let json = |index, part: &str| {
        delta(index, &format!(r#"{{"type":"input_json_delta","partial_json":"{part}"}}"#))
    };
    // `hi` and `user` are six characters; `Hm.`, `I look.`, the names and the arguments are 38.
    let usage = r#"{"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":10}"#;
    let text = heard.text();
    let signature = text.split_once(r#""signature":"mock"#).unwrap().1.split('"').next().unwrap();
    let signed = format!(r#"{{"type":"signature_delta","signature":"mock{signature}"}}"#);
    let wanted = [
        start("c", 2, 0),
        block(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        ping(),
        delta(0, r#"{"type":"thinking_delta","thinking":"Hm."}"#),
        delta(0, &signed),
        stop(0),
        block(1, r#"{"type":"text","text":""}"#),
        delta(1, r#"{"type":"text_delta","text":"I look."}"#),
        stop(1),
        block(2, &tool("toolu_00000100", "search")),
        json(2, ""),
        json(2, r#"{\"query\""#),
        json(2, r#":\"x\"}"#),
        stop(2),
        block(3, &tool("twice", "fetch")),
        json(3, ""),
        json(3, r#"{\"u"#),
        stop(3),
        end("tool_use", usage),
    ];
    assert_eq!(text, wanted.concat());
}

#[test]
fn a_whole_answer_is_one_value() {
    let mock = mock("- {thinking: Hm., say: Yes., call: {search: {query: x}}, stop: length}");
    let heard = anthropic(&mock, &asks(""));
    assert_eq!(heard.header("content-type"), Some("application/json"));
    let signature = heard.json()["content"][0]["signature"].as_str().unwrap().to_owned();
    let content = format!(
        r#"[{{"type":"thinking","thinking":"Hm.","signature":"{signature}"}},{{"type":"text","text":"Yes."}},{{"type":"tool_use","id":"toolu_00000100","name":"search","input":{{"query":"x"}}}}]"#
    );
    let wanted = format!(
        r#"{{"id":"msg_mock000001","type":"message","role":"assistant","model":"c","content":{content},"stop_reason":"max_tokens","stop_sequence":null,"usage":{{"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7,"service_tier":"standard"}}}}"#
    );
    assert_eq!(heard.text(), wanted);
}

#[test]
fn a_thought_comes_back_as_it_was_or_is_refused() {
    let mock = mock("- {thinking: Hm., call: {f: {}}}\n- {say: done}");
    let first = anthropic(&mock, &asks("")).json();
    let back = |content: &str| {
        format!(
            r#"{{"model":"c","max_tokens":9,"messages":[{{"role":"user","content":"hi"}},{{"role":"assistant","content":{content}}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_00000100","content":"x"}}]}}]}}"#
        )
    };
    let content = first["content"].to_string();
    let heard = anthropic(&mock, &back(&content.replace("Hm.", "Hm!")));
    assert_eq!(heard.status, 400);
    assert_eq!(heard.message(), "messages.1.content.0: Invalid `signature` in `thinking` block");
    assert_eq!(anthropic(&mock, &back(&content)).status, 200);
}

#[test]
fn every_reason_to_stop_has_its_word() {
    let mock = mock("- {say: a, stop: filter}\n- {say: a, stop: none}\n- {say: a, stop: none}");
    assert_eq!(anthropic(&mock, &asks("")).json()["stop_reason"], "refusal");
    assert_eq!(anthropic(&mock, &asks("")).json()["stop_reason"], serde_json::Value::Null);
    let heard = anthropic(&mock, &asks(r#","stream":true"#));
    assert!(heard.whole && heard.text().ends_with(&stop(0)), "{}", heard.text());
}

const USER: &str = r#"{"role":"user","content":"hi"}"#;
const CALL: &str = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]}"#;
const RESULT: &str = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}"#;

fn messages(parts: &[&str]) -> String {
    format!(r#"{{"model":"c","max_tokens":9,"messages":[{}]}}"#, parts.join(","))
}

/// Sends requests that must be refused: each with its status, the provider's kind, and a part of the
/// message.
fn are_refused(cases: &[(&str, u16, &str, &str)]) {
    let mock = with("- {say: never}", MockOptions { models: vec!["c".to_owned()], ..MockOptions::default() });
    for (body, status, kind, words) in cases {
        let heard = anthropic(&mock, body);
        assert_eq!(heard.status, *status, "{body}: {heard:?}");
        let answer = heard.json();
        assert!(heard.message().contains(words), "{body}: {answer}");
        assert_eq!(answer["type"], "error");
        assert_eq!(answer["error"]["type"], *kind, "{body}");
        assert!(answer["request_id"].as_str().unwrap().starts_with("req_mock"));
    }
    let heard = anthropic(&mock, &messages(&[USER, CALL, RESULT]));
    assert_eq!(heard.status, 200, "{heard:?}");
}

#[test]
fn messages_are_refused_as_the_provider_refuses_them() {
    let bad = "invalid_request_error";
    let unasked = "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1.";
    let unanswered = "messages.1: `tool_use` ids were found without";
    let hollow = "messages.0: all messages must have non-empty content";
    let trailing = r#"{"role":"assistant","content":"so "}"#;
    are_refused(&[
        ("{", 400, bad, "not valid JSON"),
        (r#"{"model":"c","messages":[]}"#, 400, bad, "max_tokens: Field required"),
        (r#"{"max_tokens":1}"#, 400, bad, "model: Field required"),
        (r#"{"model":"d","max_tokens":1,"messages":[]}"#, 404, "not_found_error", "model: d"),
        (r#"{"model":"c","max_tokens":0,"messages":[]}"#, 400, bad, "greater than or equal to 1"),
        (&messages(&[]), 400, bad, "at least one message is required"),
        (&messages(&[CALL]), 400, bad, "first message must use the \"user\" role"),
        (&messages(&[USER, USER]), 400, bad, "roles must alternate"),
        (&messages(&[r#"{"role":"system","content":"x"}"#]), 400, bad, "Unexpected role \"system\""),
        (&messages(&[r#"{"role":"tool","content":"x"}"#]), 400, bad, "messages.0.role"),
        (&messages(&[RESULT]), 400, bad, unasked),
        (&messages(&[USER, CALL]), 400, bad, unanswered),
        (&messages(&[USER, CALL, USER]), 400, bad, unanswered),
        (&messages(&[r#"{"role":"user","content":""}"#]), 400, bad, "text content blocks must be non-empty"),
        (&messages(&[r#"{"role":"user","content":[]}"#]), 400, bad, hollow),
        (&messages(&[USER, trailing]), 400, bad, "trailing whitespace"),
    ]);
}

#[test]
fn tools_and_options_are_refused_as_the_provider_refuses_them() {
    let bad = "invalid_request_error";
    let tools = |tools: &str| asks(&format!(r#","tools":[{tools}]"#));
    let tool = r#"{"name":"f","input_schema":{"type":"object"}}"#;
    let no_object = r#"{"name":"f","input_schema":{"type":"string"}}"#;
    let thinks = r#","thinking":{"type":"enabled","budget_tokens":100}"#;
    are_refused(&[
        (&asks(r#","tool_choice":{"type":"auto"}"#), 400, bad, "while providing tools"),
        (&asks(thinks), 400, bad, "thinking.budget_tokens"),
        (&tools("{}"), 400, bad, "tools.0.custom.name: Field required"),
        (&tools(r#"{"name":"a b"}"#), 400, bad, "String should match pattern"),
        (&tools(r#"{"name":"f"}"#), 400, bad, "tools.0.custom.input_schema: Field required"),
        (&tools(no_object), 400, bad, "'object'"),
        (&tools(&[tool, tool].join(",")), 400, bad, "Tool names must be unique"),
    ]);
}

#[test]
fn a_wrong_path_key_or_version_is_refused() {
    let mock = with(
        "- {say: never}",
        MockOptions { key: Some("sk-ant-right".to_owned()), ..MockOptions::default() },
    );
    for (path, headers, status, kind, words) in [
        ("/v1/message", &RIGHT[..], 404, "not_found_error", "Not found"),
        ("/v1/messages", &RIGHT[1..], 401, "authentication_error", "x-api-key header is required"),
        ("/v1/messages", &RIGHT[..], 401, "authentication_error", "invalid x-api-key"),
        (
            "/v1/messages",
            &["x-api-key: sk-ant-right"][..],
            400,
            "invalid_request_error",
            "anthropic-version: header is required",
        ),
    ] {
        let heard = send(&mock, "POST", path, headers, &asks(""));
        let answer = heard.json();
        assert_eq!((heard.status, heard.message().as_str()), (status, words), "{answer}");
        assert_eq!(answer["error"]["type"], kind);
    }
    assert_eq!(send(&mock, "GET", "/v1/messages", &RIGHT, "").status, 405);
}

#[test]
fn what_is_over_the_window_is_refused_with_the_providers_words() {
    let mock = with("- {say: a}", MockOptions { window: Some(102), ..MockOptions::default() });
    let long = asks("").replace("hi", &"x".repeat(405));
    let heard = anthropic(&mock, &long);
    assert_eq!(
        (heard.status, heard.message().as_str()),
        (400, "prompt is too long: 103 tokens > 102 maximum")
    );
    let heard = anthropic(&mock, &asks("").replace("hi", "12345"));
    assert!(heard.message().contains("exceed context limit: 3 + 100 > 102"), "{heard:?}");
    assert_eq!(anthropic(&mock, &asks("")).status, 200);
}

#[test]
fn schemas_are_refused_as_the_provider_refuses_them() {
    let bad = "invalid_request_error";
    let with = |more: &str| format!(r#"{{"model":"c","max_tokens":9,"messages":[{USER}],{more}}}"#);
    let format = |schema: &str| {
        with(&format!(r#""output_config":{{"format":{{"type":"json_schema","schema":{schema}}}}}"#))
    };
    are_refused(&[
        (&with(r#""output_format":{}"#), 400, bad, "output_format: Extra inputs are not permitted"),
        (&with(r#""output_config":{"format":{"type":"json"}}"#), 400, bad, "Input should be 'json_schema'"),
        (&with(r#""output_config":{"format":{"type":"json_schema"}}"#), 400, bad, "schema: Field required"),
        (&format("true"), 400, bad, "valid dictionary"),
        (&format(r#"{"type":"object"}"#), 400, bad, "'additionalProperties' must be explicitly set to false"),
        (
            &format(r#"{"type":"array","items":{"type":"integer","minimum":1}}"#),
            400,
            bad,
            "For 'integer' type, property 'minimum' is not supported",
        ),
    ]);
}
