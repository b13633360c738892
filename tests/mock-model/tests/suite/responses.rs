//! The wire format of Responses: every event of an answer, and each request that is refused.

use serde_json::{Value, json};

use crate::client::{mock, responses};

fn asks(input: Value, more: Value) -> String {
    let mut body = json!({"model": "m", "input": input});
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    body.to_string()
}

fn hi() -> Value {
    json!([{"role": "user", "content": "hi"}])
}

/// The events of a stream: each is named as its data says, and they are numbered.
fn events(text: &str) -> Vec<Value> {
    let events: Vec<Value> = text
        .split_terminator("\n\n")
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap();
            let value: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(name.strip_prefix("event: "), value["type"].as_str());
            value
        })
        .collect();
    assert!(events.iter().enumerate().all(|(at, event)| event["sequence_number"] == at), "{events:?}");
    events
}

#[test]
fn a_stream_begins_and_ends_each_item() {
    let mock = mock(
        "- {thinking: Hm., say: 'Hé, you', call: {search: {query: x}}, chunk: 4, usage: {in: 12, out: 3, cached: 8}}",
    );
    let heard = responses(&mock, &asks(hi(), json!({"stream": true})));
    assert_eq!(heard.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert!(heard.whole);
    let events = events(&heard.text());
    let kinds: Vec<&str> =
        events.iter().map(|event| event["type"].as_str().unwrap().trim_start_matches("response.")).collect();
    let wanted = [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_text.delta",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "output_item.done",
        "completed",
    ];
    assert_eq!(kinds, wanted);
    let response = &events.last().unwrap()["response"];
    let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
    let items: Vec<&Value> = done.map(|event| &event["item"]).collect();
    assert_eq!(items, response["output"].as_array().unwrap().iter().collect::<Vec<_>>());
    assert_eq!(items[1]["content"][0]["text"], "Hé, you");
    assert_eq!(
        (&items[2]["call_id"], &items[2]["arguments"]),
        (&json!("call_00000100"), &json!(r#"{"query":"x"}"#))
    );
    assert_eq!(
        response["usage"],
        json!({
            "input_tokens": 12, "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 0},
            "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 15,
        })
    );
}

#[test]
fn a_whole_answer_has_its_status() {
    let mock = mock("- {say: a, stop: length}\n- {say: b, stop: filter}\n- {say: c}\n- {ok_error: true}");
    let answer = || responses(&mock, &asks(hi(), json!({}))).json();
    for (text, status, reason) in [
        ("a", "incomplete", json!("max_output_tokens")),
        ("b", "incomplete", json!("content_filter")),
        ("c", "completed", Value::Null),
    ] {
        let found = answer();
        assert_eq!(found["output"][0]["content"][0]["text"], text);
        assert_eq!((&found["status"], &found["incomplete_details"]["reason"]), (&json!(status), &reason));
    }
    assert_eq!(answer()["error"]["type"], "server_error");
}

#[test]
fn what_the_provider_refuses_is_refused() {
    let mock = mock("- {say: x, times: always}");
    let call = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "x"});
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "y", "summary": []});
    let strict =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    for (input, more, words) in [
        (json!([]), json!({}), "must be provided"),
        (json!([output]), json!({}), "No tool call found for function call output with call_id a."),
        (json!([call]), json!({}), "No tool output found for function call a."),
        (json!([call, {"role": "user", "content": "x"}, output]), json!({}), "No tool output found"),
        (json!([reasoning]), json!({}), "could not be verified"),
        (json!([{"role": "tool", "content": "x"}]), json!({}), "Invalid value"),
        (hi(), json!({"tool_choice": "auto"}), "when 'tools' is empty"),
        (
            hi(),
            json!({"tools": [{"type": "function", "name": "f", "parameters": strict}]}),
            "Invalid schema for function 'f': In context=(), 'required' is required to be supplied",
        ),
        (
            hi(),
            json!({"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": true}}}),
            "Invalid schema for response_format 'n'",
        ),
    ] {
        let heard = responses(&mock, &asks(input.clone(), more));
        let said = heard.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(heard.status == 400 && said.contains(words), "{words}: {} {said}", heard.status);
    }
    let whole = json!([call, output, {"role": "developer", "content": "x"}]);
    assert_eq!(responses(&mock, &asks(whole, json!({}))).status, 200);
}
