//! `OpenAI`'s wire format: every byte of its answers, and each request that it refuses.

use systole_mock_model::MockOptions;

use crate::client::{asks, mock, openai, send, with};

const HEAD: &str = r#"{"id":"chatcmpl-mock000001","object":"chat.completion.chunk","created":1700000001,"model":"m","service_tier":"default","system_fingerprint":"fp_mock","#;

/// An event of the stream with one choice.
fn event(delta: &str, finish: &str, more: &str) -> String {
    format!(
        "data: {HEAD}\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}]{more}}}\n\n"
    )
}

#[test]
fn a_stream_with_usage_is_written_event_by_event() {
    let mock = mock("- {say: 'Hé, you', chunk: 4, usage: {in: 12, out: 3, cached: 8}}");
    let heard = openai(&mock, &asks("hi", r#","stream":true,"stream_options":{"include_usage":true}"#));
    assert_eq!(heard.status, 200);
    assert_eq!(heard.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!(heard.header("x-request-id"), Some("req_mock000001"));
    let null = r#","usage":null"#;
    let usage = r#""usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":8,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}"#;
    let wanted = [
        event(r#"{"role":"assistant","content":"","refusal":null}"#, "null", null),
        event(r#"{"content":"Hé, "}"#, "null", null),
        event(r#"{"content":"you"}"#, "null", null),
        event("{}", r#""stop""#, null),
        format!("data: {HEAD}\"choices\":[],{usage}}}\n\n"),
        "data: [DONE]\n\n".to_owned(),
    ];
    assert_eq!(heard.text(), wanted.concat());
    assert!(heard.whole);
    // Each event is a separate chunk, as with a slow model.
    let pieces: Vec<String> =
        heard.pieces.iter().map(|piece| String::from_utf8(piece.clone()).unwrap()).collect();
    assert_eq!(pieces, wanted);
}

#[test]
fn a_reply_fits_the_json_schema_of_its_request() {
    let mock = mock("- {say: I like it., fits: '<think>x</think>{}', times: 2}");
    let schema = r##"{"type": "object", "$defs": {"line": {"type": "string", "minLength": 3}},
        "required": ["score", "item", "is_done", "mood", "any"], "properties": {
        "score": {"type": "integer", "minimum": 0, "maximum": 10}, "note": {"type": "string"},
        "item": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/line"}},
        "is_done": {"type": "boolean"}, "mood": {"enum": ["good", "bad"]}, "any": {"anyOf": [{"type": "string"}]}}}"##;
    let format = format!(
        r#","response_format":{{"type":"json_schema","json_schema":{{"name":"final","schema":{schema}}}}}"#
    );
    for (more, wanted) in [
        (
            &*format,
            r#"<think>x</think>{"any":"x","is_done":false,"item":["xxx","xxx"],"mood":"good","score":10}"#,
        ),
        ("", "I like it."),
    ] {
        let heard: serde_json::Value =
            serde_json::from_str(&openai(&mock, &asks("hi", more)).text()).unwrap();
        assert_eq!(heard["choices"][0]["message"]["content"], wanted);
    }
}

#[test]
fn without_asking_for_it_no_event_has_usage() {
    let mock = mock("- {say: a}");
    let heard = openai(&mock, &asks("hi", r#","stream":true"#));
    let wanted = [
        event(r#"{"role":"assistant","content":"","refusal":null}"#, "null", ""),
        event(r#"{"content":"a"}"#, "null", ""),
        event("{}", r#""stop""#, ""),
        "data: [DONE]\n\n".to_owned(),
    ];
    assert_eq!(heard.text(), wanted.concat());
}

#[test]
fn calls_are_streamed_as_fragments_of_their_arguments() {
    let mock =
        mock("- {say: I look., call: [{search: {query: x}}, {fetch: {raw: '{\"u'}, id: twice}], chunk: 8}");
    let heard = openai(&mock, &asks("hi", r#","stream":true"#));
    let calls = |inner: &str| event(&format!(r#"{{"tool_calls":[{inner}]}}"#), "null", "");
    let wanted = [
        event(r#"{"role":"assistant","content":"","refusal":null}"#, "null", ""),
        event(r#"{"content":"I look."}"#, "null", ""),
        calls(
            r#"{"index":0,"id":"call_00000100","type":"function","function":{"name":"search","arguments":""}}"#,
        ),
        calls(r#"{"index":0,"function":{"arguments":"{\"query\""}}"#),
        calls(r#"{"index":0,"function":{"arguments":":\"x\"}"}}"#),
        calls(r#"{"index":1,"id":"twice","type":"function","function":{"name":"fetch","arguments":""}}"#),
        calls(r#"{"index":1,"function":{"arguments":"{\"u"}}"#),
        event("{}", r#""tool_calls""#, ""),
        "data: [DONE]\n\n".to_owned(),
    ];
    assert_eq!(heard.text(), wanted.concat());
}

#[test]
fn thoughts_come_before_the_text_as_reasoning_content() {
    let mock = mock("- {thinking: Hm., say: Yes.}");
    let heard = openai(&mock, &asks("hi", r#","stream":true"#));
    let wanted = [
        event(r#"{"role":"assistant","content":null,"reasoning_content":"","refusal":null}"#, "null", ""),
        event(r#"{"reasoning_content":"Hm."}"#, "null", ""),
        event(r#"{"content":"Yes."}"#, "null", ""),
        event("{}", r#""stop""#, ""),
        "data: [DONE]\n\n".to_owned(),
    ];
    assert_eq!(heard.text(), wanted.concat());
}

#[test]
fn a_whole_answer_is_one_value() {
    let mock = mock(
        "- {say: \"A \\\"b\\\"\\n\", chunk: 2}\n- {call: {search: {query: x}, look: null}, thinking: Hm.}",
    );
    let heard = openai(&mock, &asks("12345", ""));
    assert_eq!(heard.header("content-type"), Some("application/json"));
    let head = r#"{"id":"chatcmpl-mock000001","object":"chat.completion","created":1700000001,"model":"m","service_tier":"default","system_fingerprint":"fp_mock","#;
    let details = r#""prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}"#;
    // `user` and `12345` are nine characters, three tokens; six characters are two.
    let wanted = format!(
        r#"{head}"choices":[{{"index":0,"message":{{"role":"assistant","content":"A \"b\"\n","refusal":null,"annotations":[]}},"logprobs":null,"finish_reason":"stop"}}],"usage":{{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,{details}}}}}"#
    );
    assert_eq!(heard.text(), wanted);

    let heard = openai(&mock, &asks("hi", "")).json();
    let message = &heard["choices"][0]["message"];
    assert_eq!(message["content"], serde_json::Value::Null);
    assert_eq!(message["reasoning_content"], "Hm.");
    assert_eq!(message["tool_calls"][0]["id"], "call_00000200");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"query\":\"x\"}");
    assert_eq!(message["tool_calls"][1]["function"]["name"], "look");
    assert_eq!(message["tool_calls"][1]["function"]["arguments"], "{}");
    assert_eq!(heard["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(heard["usage"]["completion_tokens_details"]["reasoning_tokens"], 1);
}

#[test]
fn the_stop_of_the_script_is_reported_as_the_provider_does() {
    let script =
        "- {say: a, stop: length}\n- {say: a, stop: filter}\n- {say: a, stop: tool}\n- {say: a, stop: none}";
    let mock = mock(script);
    for wanted in [Some("length"), Some("content_filter"), Some("tool_calls"), None] {
        let heard = openai(&mock, &asks("hi", "")).json();
        assert_eq!(heard["choices"][0]["finish_reason"].as_str(), wanted);
    }
}

#[test]
fn a_stream_without_a_stop_ends_well_on_the_wire_and_says_nothing_of_its_end() {
    let mock = mock("- {say: a, stop: none}");
    let heard = openai(&mock, &asks("hi", r#","stream":true"#));
    assert!(heard.whole);
    let wanted = event(r#"{"role":"assistant","content":"","refusal":null}"#, "null", "")
        + &event(r#"{"content":"a"}"#, "null", "");
    assert_eq!(heard.text(), wanted);
}

const USER: &str = r#"{"role":"user","content":"hi"}"#;
const CALL: &str = r#"{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;

fn tool(id: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"x"}}"#)
}

fn messages(inner: &str) -> String {
    format!(r#"{{"model":"m","messages":[{inner}]}}"#)
}

/// Sends requests that must be refused: each with its status, the provider's code, the part, and a part of the
/// message.
fn are_refused(cases: &[(&str, u16, &str, &str, &str)]) {
    let options = MockOptions { models: vec!["m".to_owned()], ..MockOptions::default() };
    let mock = with("- {say: never}", options);
    for (body, status, code, param, words) in cases {
        let heard = openai(&mock, body);
        assert_eq!(heard.status, *status, "{body}: {heard:?}");
        let error = &heard.json()["error"];
        assert!(heard.message().contains(words), "{body}: {error}");
        assert_eq!(error["type"], "invalid_request_error");
        assert_eq!(error["code"].as_str().unwrap_or_default(), *code, "{body}");
        assert_eq!(error["param"].as_str().unwrap_or_default(), *param, "{body}");
    }
    // A request that answers its calls is accepted, so nothing above was refused for another reason.
    let fine = messages(&[USER, CALL, &tool("c1"), USER].join(","));
    let heard = openai(&mock, &fine);
    assert_eq!(heard.status, 200, "{heard:?}");
}

#[test]
fn messages_are_refused_as_the_provider_refuses_them() {
    let none = "did not have response messages: c1";
    let all = |parts: &[&str]| messages(&parts.join(","));
    are_refused(&[
        ("{\"model\":", 400, "", "", "We could not parse the JSON body"),
        ("{}", 400, "", "", "you must provide a model parameter"),
        (r#"{"model":"n","messages":[]}"#, 404, "model_not_found", "", "The model `n` does not exist"),
        (r#"{"model":"m"}"#, 400, "missing_required_parameter", "messages", "'messages'"),
        (&all(&[]), 400, "empty_array", "messages", "Invalid 'messages': empty array"),
        (&all(&[&tool("c1")]), 400, "", "messages.[0].role", "must be a response to a preceeding message"),
        (
            &all(&[USER, CALL, &tool("c1"), &tool("c1")]),
            400,
            "",
            "messages.[3].tool_call_id",
            "'c1' not found",
        ),
        (&all(&[USER, CALL, &tool("c2")]), 400, "", "messages.[2].tool_call_id", "'c2' not found"),
        (&all(&[USER, CALL, USER]), 400, "", "messages.[2].role", none),
        (&all(&[USER, CALL]), 400, "", "messages.[2].role", none),
        (&all(&[r#"{"role":"robot","content":"x"}"#]), 400, "invalid_value", "messages[0].role", "'robot'"),
        (&all(&[r#"{"role":"user"}"#]), 400, "", "messages.[0].content", "expected a string, got null"),
        (
            &all(&[r#"{"role":"assistant","content":"x","tool_calls":[]}"#]),
            400,
            "empty_array",
            "messages[0].tool_calls",
            "empty array",
        ),
    ]);
}

#[test]
fn tools_and_options_are_refused_as_the_provider_refuses_them() {
    let with = |more: &str| format!(r#"{{"model":"m","messages":[{USER}],{more}}}"#);
    let name = "tools[0].function.name";
    let missing = "missing_required_parameter";
    let function = r#""tools":[{"type":"function","function":{"name":"f","parameters":{}}}]"#;
    let other = r#""tool_choice":{"type":"function","function":{"name":"g"}}"#;
    let bad_name = with(r#""tools":[{"type":"function","function":{"name":"a b"}}]"#);
    let no_name = with(r#""tools":[{"type":"function","function":{}}]"#);
    are_refused(&[
        (&with(r#""tools":[]"#), 400, "empty_array", "tools", "Invalid 'tools': empty array"),
        (&with(r#""tool_choice":"auto""#), 400, "", "tool_choice", "only allowed when 'tools' are specified"),
        (&with(r#""parallel_tool_calls":true"#), 400, "", "parallel_tool_calls", "only allowed when 'tools'"),
        (&bad_name, 400, "invalid_value", name, "does not match pattern"),
        (&no_name, 400, missing, name, "Missing"),
        (&with(&[function, other].join(",")), 400, "", "tool_choice", "'g' not found"),
        (
            &with(r#""response_format":{"type":"xml"}"#),
            400,
            "",
            "response_format.type",
            "Invalid value: 'xml'",
        ),
        (
            &with(r#""response_format":{"type":"json_schema"}"#),
            400,
            "",
            "response_format.json_schema",
            "Missing required parameter",
        ),
        (
            &with(r#""response_format":{"type":"json_schema","json_schema":{"name":"a b","schema":{}}}"#),
            400,
            "",
            "response_format.json_schema.name",
            "'a b'",
        ),
        (
            &with(
                r#""response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"array"}}}"#,
            ),
            400,
            "",
            "response_format",
            "got 'type: \"array\"'",
        ),
        (
            &with(r#""stream_options":{"include_usage":true}"#),
            400,
            "",
            "stream_options",
            "only allowed when 'stream'",
        ),
    ]);
}

#[test]
fn a_wrong_path_method_or_key_is_refused_before_anything_is_read() {
    let mock = with(
        "- {say: never}",
        MockOptions { key: Some("sk-right-9876".to_owned()), ..MockOptions::default() },
    );
    let right = ["authorization: Bearer sk-right-9876"];
    let heard = send(&mock, "POST", "/v1/chat/completion", &right, "");
    assert_eq!((heard.status, heard.message().as_str()), (404, "Invalid URL (POST /v1/chat/completion)"));
    let heard = send(&mock, "GET", "/v1/chat/completions", &right, "");
    assert_eq!((heard.status, heard.json()["error"]["code"].as_str()), (405, Some("method_not_supported")));
    let heard = send(&mock, "POST", "/v1/chat/completions", &[], "");
    assert_eq!(heard.status, 401);
    assert!(heard.message().starts_with("You didn't provide an API key."));
    let heard = send(&mock, "POST", "/v1/chat/completions", &["authorization: Bearer sk-wrong-5432"], "");
    assert_eq!((heard.status, heard.json()["error"]["code"].as_str()), (401, Some("invalid_api_key")));
    assert!(heard.message().contains("****5432") && !heard.message().contains("wrong"), "{heard:?}");
    // A key in another provider's header does not count, and the path decides whose refusal it is.
    for other in ["x-api-key: sk-right-9876", "x-goog-api-key: sk-right-9876"] {
        let heard = send(&mock, "POST", "/v1/chat/completions", &[other], "");
        assert_eq!(
            (heard.status, heard.json()["error"]["type"].as_str()),
            (401, Some("invalid_request_error"))
        );
    }
    assert_eq!(mock.count().scripted, 0);
}

#[test]
fn what_is_over_the_window_is_refused_with_the_providers_words() {
    let mock = with("- {say: a}\n- {say: b}", MockOptions { window: Some(10), ..MockOptions::default() });
    // `user` and 36 characters are ten tokens.
    let fits = "x".repeat(36);
    assert_eq!(openai(&mock, &asks(&fits, "")).status, 200);
    let heard = openai(&mock, &asks(&format!("{fits}x"), ""));
    let error = &heard.json()["error"];
    assert_eq!((heard.status, error["code"].as_str()), (400, Some("context_length_exceeded")));
    assert_eq!(
        error["message"],
        "This model's maximum context length is 10 tokens. However, your messages resulted in 11 tokens. Please \
         reduce the length of the messages."
    );
    let heard = openai(&mock, &asks(&fits, r#","max_tokens":1"#));
    assert!(heard.message().contains("you requested 11 tokens (10 in the messages, 1 in the completion)"));
    assert_eq!(heard.status, 400);
}
