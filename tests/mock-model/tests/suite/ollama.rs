//! Ollama's wire format: every byte of its answers, and each request that it refuses.

use systole_mock_model::MockOptions;

use crate::client::{mock, ollama, send, with};

const HEAD: &str = r#"{"model":"m","created_at":"2024-01-01T00:00:00.000000Z","#;
const ENDED: &str = r#""total_duration":4000000,"load_duration":1000000,"#;

fn line(message: &str) -> String {
    format!("{HEAD}\"message\":{message},\"done\":false}}\n")
}

fn end(message: &str, reason: &str, input: u64, output: u64) -> String {
    format!(
        "{HEAD}\"message\":{message},\"done\":true,\"done_reason\":\"{reason}\",{ENDED}\"prompt_eval_count\":{input},\
         \"prompt_eval_duration\":1000000,\"eval_count\":{output},\"eval_duration\":2000000}}"
    )
}

fn asks(more: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}]{more}}}"#)
}

#[test]
fn a_stream_is_a_line_of_json_for_each_piece() {
    let mock = mock(
        "- {thinking: Hm., say: 'Hé, you', call: {search: {query: x}}, chunk: 4, usage: {in: 12, out: 3}}",
    );
    // It streams by default.
    let heard = ollama(&mock, &asks(""));
    assert_eq!(heard.status, 200);
    assert_eq!(heard.header("content-type"), Some("application/x-ndjson"));
    let call = r#"{"id":"call_00000100","function":{"index":0,"name":"search","arguments":{"query":"x"}}}"#;
    let wanted = [
        line(r#"{"role":"assistant","content":"","thinking":"Hm."}"#),
        line(r#"{"role":"assistant","content":"Hé, "}"#),
        line(r#"{"role":"assistant","content":"you"}"#),
        line(&format!(r#"{{"role":"assistant","content":"","tool_calls":[{call}]}}"#)),
        end(r#"{"role":"assistant","content":""}"#, "stop", 12, 3) + "\n",
    ];
    assert_eq!(heard.text(), wanted.concat());
    assert!(heard.whole);
}

#[test]
fn a_whole_answer_is_one_value() {
    let mock = mock(
        "- {say: 'Hé', stop: length}\n- {thinking: Hm., call: {f: {raw: nonsense}, g: {}}}\n- {say: a, stop: none}",
    );
    let heard = ollama(&mock, &asks(r#","stream":false"#));
    assert_eq!(heard.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(heard.text(), end(r#"{"role":"assistant","content":"Hé"}"#, "length", 2, 1));
    let message = ollama(&mock, &asks(r#","stream":false"#)).json()["message"].clone();
    assert_eq!((message["content"].as_str(), message["thinking"].as_str()), (Some(""), Some("Hm.")));
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "nonsense");
    assert_eq!(message["tool_calls"][1]["function"]["index"], 1);
    let open = ollama(&mock, &asks(r#","stream":false"#)).json();
    assert_eq!((open["done"].as_bool(), open.get("done_reason")), (Some(false), None));
}

#[test]
fn requests_are_refused_as_the_provider_refuses_them() {
    let options = MockOptions { models: vec!["m".to_owned()], window: Some(10), ..MockOptions::default() };
    let mock = with("- {say: never}", options);
    let long = asks("").replace("hi", &"x".repeat(37));
    let call = asks("").replace(
        r#"{"role":"user","content":"hi"}"#,
        r#"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#,
    );
    for (body, status, words) in [
        ("", 400, "missing request body"),
        ("{", 400, "EOF"),
        ("{}", 400, "model is required"),
        (r#"{"model":"n"}"#, 404, "model 'n' not found"),
        (&asks("").replace("user", "robot"), 400, "invalid role: robot"),
        (&call, 400, "cannot unmarshal string"),
        (&asks(r#","format":"xml""#), 400, "invalid format: \"xml\""),
        (&asks(r#","format":[]"#), 400, "invalid format: []"),
        (&long, 400, "the input length exceeds the context length"),
    ] {
        let heard = ollama(&mock, body);
        assert_eq!(heard.status, status, "{body}: {heard:?}");
        assert!(heard.message().contains(words), "{body}: {heard:?}");
        assert_eq!(heard.json().as_object().unwrap().len(), 1);
    }
    let heard = send(&mock, "POST", "/api/chats", &[], "{}");
    assert_eq!((heard.status, heard.text().as_str()), (404, "404 page not found"));
    assert_eq!(heard.header("content-type"), Some("text/plain"));
    assert_eq!(send(&mock, "GET", "/api/chat", &[], "").status, 405);
    assert_eq!(ollama(&mock, &asks("")).status, 200);
}
