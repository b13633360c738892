//! The requests of the suite of Open Responses that the door can answer, and what the schema wants of each answer.

use serde_json::{Value, json};

use super::ag_ui_streams::join_chunks;
use super::chat_files::{RED, house_that_sees};
use super::chats::SEARCHES;
use crate::program::{Answer, ask, run_file};

/// The fields of a response that may not be missing, with an example of their type; `null` is what has no value here.
fn check_response(response: &Value) {
    let number = |field: &str| assert!(response[field].is_number(), "{field} of {response}");
    for field in [
        "created_at",
        "completed_at",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "top_logprobs",
        "temperature",
    ] {
        number(field);
    }
    for field in ["id", "model", "service_tier"] {
        assert!(response[field].is_string(), "{field} of {response}");
    }
    for (field, value) in [
        ("object", json!("response")),
        ("status", json!("completed")),
        ("tools", json!([])),
        ("tool_choice", json!("auto")),
        ("truncation", json!("disabled")),
        ("text", json!({"format": {"type": "text"}})),
    ] {
        assert_eq!(response[field], value, "{field} of {response}");
    }
    for field in ["parallel_tool_calls", "store", "background"] {
        assert!(response[field].is_boolean(), "{field} of {response}");
    }
    for field in [
        "incomplete_details",
        "previous_response_id",
        "instructions",
        "error",
        "max_output_tokens",
        "max_tool_calls",
        "safety_identifier",
        "prompt_cache_key",
    ] {
        assert_eq!(response.get(field), Some(&Value::Null), "{field} of {response}");
    }
    for field in ["input_tokens", "output_tokens", "total_tokens"] {
        assert!(response["usage"][field].is_u64(), "{field} of {response}");
    }
    let message = response["output"].as_array().unwrap().last().unwrap();
    assert_eq!((&message["type"], &message["role"]), (&json!("message"), &json!("assistant")), "{response}");
    let text = &message["content"][0];
    assert!(text["text"].is_string() && message["id"].is_string(), "{response}");
    assert_eq!((&text["annotations"], &text["logprobs"]), (&json!([]), &json!([])), "{response}");
}

#[test]
fn g10_each_request_of_open_responses_has_an_answer_with_all_fields_of_its_schema() {
    let replies = [&["{say: Yes.}"; 6][..], &[SEARCHES]].concat();
    let house = house_that_sees(&replies, "doors: {openai: true}");
    let organism = house.run();
    let run = run_file(house.path());
    let say = |role: &str, content: Value| json!({"type": "message", "role": role, "content": content});
    let post = |more: Value| -> Answer {
        let mut body = json!({"model": "helper", "stream": false});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ask(&run, "POST", "/openai/v1/responses", &[("Content-Type", "application/json")], &body.to_string())
    };
    let hello = say("user", json!("Say hello."));
    let image = format!("data:image/png;base64,{RED}");
    let looks =
        json!([{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": image}]);
    let weather = json!([{"type": "function", "name": "get_weather", "parameters": {"type": "object"}}]);
    for (more, ignored) in [
        (json!({"input": [hello]}), None),
        (json!({"input": [say("system", json!("You are a pirate.")), hello]}), None),
        (
            json!({"input": [say("user", json!("I am Alice.")), say("assistant", json!("Hello.")), hello]}),
            None,
        ),
        (json!({"input": [say("user", looks)]}), None),
        // Tools that the caller runs are not there, and the header says so.
        (json!({"input": [hello], "tools": weather}), Some("tools")),
    ] {
        let answer = post(more.clone());
        assert_eq!(
            (answer.status, answer.header("systole-ignored")),
            (200, ignored),
            "{more}: {}",
            answer.body
        );
        check_response(&answer.json);
    }
    let streamed = post(json!({"input": [hello], "stream": true}));
    let body = join_chunks(&streamed.body);
    let sent = body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    let events: Vec<Value> = sent.map(|data| serde_json::from_str(data).unwrap()).collect();
    assert!(events.iter().all(|event| event["sequence_number"].is_u64()), "{events:#?}");
    for kind in ["response.output_text.delta", "response.output_text.done"] {
        let event =
            events.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("{events:#?}"));
        assert_eq!(event["logprobs"], json!([]), "{event}");
        for field in ["output_index", "content_index"] {
            assert!(event[field].is_u64(), "{event}");
        }
        assert!(event["item_id"].is_string(), "{event}");
    }
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    check_response(&last["response"]);
    // One that ends with a request has its end, too.
    let asks = post(json!({"input": [hello]})).json;
    assert_eq!(asks["output"].as_array().unwrap().last().unwrap()["type"], "mcp_approval_request", "{asks}");
    assert!(asks["completed_at"].is_u64(), "{asks}");
    let calls = asks["output"].as_array().unwrap().iter().filter(|item| item["type"] == "mcp_call");
    let open: Vec<&Value> = calls.map(|item| &item["status"]).collect();
    assert_eq!(open, ["incomplete"], "what is not over is in the next response: {asks}");
    organism.interrupt();
}
