//! Paid answers that differ slightly from the form: they are read anyway. A cut stream is still a fault.

use serde_json::{Value, json};
use systole_agent::model::{MessagePart, ModelAnswer, ModelFault, ModelFaultKind, StopReason, TokenUsage};
use systole_agent::spec::Provider::{self, Anthropic, Gemini, Ollama, OpenAi, OpenAiResponses};

use super::bench::{FORMS, ask, call, limits, model, request, text, without_kept};
use super::halves::{ends, stream};
use super::server::{ByteServer, chunk, chunked, head, measured};
use super::streams::content_type;

fn read(form: Provider, bytes: impl Into<Vec<u8>>) -> Result<ModelAnswer, ModelFault> {
    let server = ByteServer::saying(bytes);
    ask(&model(form, &server.url()), limits(), request("hello"))
}

fn owned(events: &[&str]) -> Vec<String> {
    events.iter().map(|event| (*event).to_owned()).collect()
}

fn said(found: Result<ModelAnswer, ModelFault>, what: &str) -> (Vec<MessagePart>, StopReason) {
    let found = found.unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
    (found.parts, found.stop)
}

/// An event that says `x`, and one with the stop reason.
fn two(form: Provider, reason: &str) -> Vec<String> {
    match form {
        OpenAi => vec![
            r#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#.to_owned(),
            format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#),
        ],
        OpenAiResponses => vec![
            r#"{"type":"response.output_text.delta","output_index":0,"delta":"x"}"#.to_owned(),
            r#"{"type":"response.completed","response":{"status":"completed"}}"#.to_owned(),
        ],
        Anthropic => vec![
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}"#.to_owned(),
            format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#),
        ],
        Ollama => vec![
            r#"{"message":{"content":"x"},"done":false}"#.to_owned(),
            format!(r#"{{"message":{{"content":""}},"done":true,"done_reason":"{reason}"}}"#),
        ],
        _ => vec![
            r#"{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}"#.to_owned(),
            format!(r#"{{"candidates":[{{"content":{{"parts":[]}},"finishReason":"{reason}"}}]}}"#),
        ],
    }
}

#[test]
fn a_reason_without_the_sign_of_the_end_is_an_end_when_the_body_ends_in_order() {
    for (form, reason) in [(OpenAi, "stop"), (Anthropic, "end_turn")] {
        let events = two(form, reason);
        let whole = stream(form, &events);
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let closed = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{body}");
        for bytes in [whole.clone(), closed.into_bytes()] {
            assert_eq!(said(read(form, bytes), "no sign"), (vec![text("x")], StopReason::End), "{form:?}");
        }
        // The chunks end without the last one: that is a cut in any case.
        let cut = read(form, &whole[..whole.len() - 5]).expect_err("a cut");
        assert_eq!((cut.kind, cut.partial.as_str()), (ModelFaultKind::Truncated, "x"), "{form:?}: {cut:?}");
    }
}

#[test]
fn the_last_event_needs_no_line_break_and_half_of_one_is_still_a_cut() {
    for form in FORMS {
        let mut events = two(form, if form == Anthropic { "end_turn" } else { "stop" });
        if form == Anthropic {
            events.extend(ends(form).pop());
        }
        let bytes = String::from_utf8(stream(form, &events)).unwrap();
        let (_, body) = bytes.split_once("\r\n\r\n").unwrap();
        // Without the chunk frames, only the events remain.
        let body = body.split_once("\r\n").unwrap().1.trim_end_matches("\r\n0\r\n\r\n").trim_end();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\n\r\n", content_type(form));
        let found = read(form, format!("{head}{body}"));
        if form == Gemini {
            // Without a length, a part may be missing.
            assert_eq!(found.expect_err("a cut").kind, ModelFaultKind::Truncated);
            let measured = measured("200 OK", &["content-type: text/event-stream"], body);
            assert_eq!(said(read(form, measured), "measured"), (vec![text("x")], StopReason::End));
            continue;
        }
        assert_eq!(said(found, "no line break"), (vec![text("x")], StopReason::End), "{form:?}");
        // The last event here holds the stop reason or the end sign. Half of it means nothing.
        let half = if form == OpenAi { body.len() - 12 } else { body.len() - 60 };
        let cut = read(form, format!("{head}{}", &body[..half])).expect_err("half an event");
        assert_eq!((cut.kind, cut.partial.as_str()), (ModelFaultKind::Truncated, "x"), "{form:?}: {cut:?}");
    }
}

#[test]
fn a_reason_counts_in_any_case_and_an_empty_one_with_the_sign_of_the_end() {
    for (form, reasons) in [
        (
            OpenAi,
            [("STOP", StopReason::End), ("Length", StopReason::Length), ("MAX_TOKENS", StopReason::Length)],
        ),
        (
            Anthropic,
            [
                ("END_TURN", StopReason::End),
                ("Max_Tokens", StopReason::Length),
                ("STOP_SEQUENCE", StopReason::End),
            ],
        ),
        (Ollama, [("STOP", StopReason::End), ("Length", StopReason::Length), ("LENGTH", StopReason::Length)]),
        (
            Gemini,
            [
                ("stop", StopReason::End),
                ("max_tokens", StopReason::Length),
                ("Max_Tokens", StopReason::Length),
            ],
        ),
    ] {
        for (reason, stop) in reasons {
            let mut events = two(form, reason);
            events.extend(
                ends(form).into_iter().filter(|event| event == "[DONE]" || event.contains("message_stop")),
            );
            assert_eq!(said(read(form, stream(form, &events)), reason), (vec![text("x")], stop), "{form:?}");
        }
        // Empty, as some servers write it into every event: the end sign shows that the answer is over.
        let mut events = two(form, "");
        assert_eq!(
            read(form, stream(form, &events)).err().map(|fault| fault.kind),
            (form != Ollama).then_some(ModelFaultKind::Truncated),
            "{form:?}: an empty reason alone is no end"
        );
        events.extend(
            ends(form).into_iter().filter(|event| event == "[DONE]" || event.contains("message_stop")),
        );
        if form != Gemini {
            assert_eq!(
                said(read(form, stream(form, &events)), "empty"),
                (vec![text("x")], StopReason::End),
                "{form:?}"
            );
        }
    }
}

/// A good answer with this usage.
fn with_usage(form: Provider, first: &str, second: &str) -> Result<ModelAnswer, ModelFault> {
    let mut events = two(form, "");
    events.truncate(1);
    match form {
        OpenAi => events.push(format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":{first},"completion_tokens":{second}}}}}"#
        )),
        OpenAiResponses => {
            events.push(format!(
                r#"{{"type":"response.completed","response":{{"status":"completed","usage":{{"input_tokens":{first},"output_tokens":{second}}}}}}}"#
            ));
            return read(form, stream(form, &events));
        }
        Anthropic => events.push(format!(
            r#"{{"type":"message_delta","delta":{{}},"usage":{{"input_tokens":{first},"output_tokens":{second}}}}}"#
        )),
        Ollama => {
            events.push(format!(
                r#"{{"message":{{"content":""}},"done":true,"done_reason":"stop","prompt_eval_count":{first},"eval_count":{second}}}"#
            ));
            return read(form, stream(form, &events));
        }
        _ => events.push(format!(
            r#"{{"usageMetadata":{{"promptTokenCount":{first},"candidatesTokenCount":{second}}}}}"#
        )),
    }
    events.extend(ends(form));
    read(form, stream(form, &events))
}

#[test]
fn e13_usage_never_costs_the_answer() {
    for form in FORMS {
        for (first, second, counted) in [
            ("12", "3", (Some(12), Some(3))),
            ("12.0", "2.5", (Some(12), Some(3))),
            (r#""12""#, r#""3""#, (Some(12), Some(3))),
            ("-1", "3", (None, Some(3))),
            ("null", r#""many""#, (None, None)),
            ("[1]", "{}", (None, None)),
            ("1e400", "99999999999999999999", (None, None)),
            // With no prompt and no answer, the token counts are missing.
            ("0", "0", (None, None)),
            ("0", "3", (None, Some(3))),
        ] {
            let found = with_usage(form, first, second);
            let found = found.unwrap_or_else(|fault| panic!("{form:?} {first}: {fault:?}"));
            assert_eq!(found.parts, vec![text("x")], "{form:?}");
            assert_eq!((found.usage.tokens_in, found.usage.tokens_out), counted, "{form:?} {first} {second}");
        }
    }
    for usage in ["7", "\"none\"", "[]", r#"{"prompt_tokens_details":3,"prompt_tokens":5}"#] {
        let mut events = two(OpenAi, "stop");
        events.push(format!(r#"{{"choices":[],"usage":{usage}}}"#));
        let found =
            read(OpenAi, stream(OpenAi, &events)).unwrap_or_else(|fault| panic!("{usage}: {fault:?}"));
        assert_eq!(found.usage.tokens_in, usage.contains('5').then_some(5), "{usage}");
    }
}

#[test]
fn arguments_are_taken_as_text_and_as_an_object() {
    let arguments = r#"{"q": "é", "n":1.0}"#;
    let quoted = json!(arguments).to_string();
    for form in FORMS {
        for written in [arguments, &quoted] {
            let events = match form {
                OpenAi => owned(&[
                    &format!(
                        r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"s","arguments":{written}}}}}]}}}}]}}"#
                    ),
                    r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
                ]),
                OpenAiResponses => owned(&[
                    &format!(
                        r#"{{"type":"response.output_item.done","item":{{"type":"function_call","call_id":"c","name":"s","arguments":{written}}}}}"#
                    ),
                    r#"{"type":"response.completed","response":{"status":"completed"}}"#,
                ]),
                Anthropic => owned(&[
                    &format!(
                        r#"{{"type":"content_block_start","content_block":{{"type":"tool_use","id":"c","name":"s","input":{written}}}}}"#
                    ),
                    r#"{"type":"content_block_stop"}"#,
                    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
                    r#"{"type":"message_stop"}"#,
                ]),
                Ollama => owned(&[&format!(
                    r#"{{"message":{{"tool_calls":[{{"id":"c","function":{{"name":"s","arguments":{written}}}}}]}},"done":true,"done_reason":"stop"}}"#
                )]),
                _ => owned(&[&format!(
                    r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"id":"c","name":"s","args":{written}}}}}]}},"finishReason":"STOP"}}]}}"#
                )]),
            };
            let found = said(read(form, stream(form, &events)), written);
            assert_eq!(found, (vec![call("c", "s", arguments)], StopReason::Tool), "{form:?} {written}");
        }
    }
    let event =
        r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":{"q":1}}}"#;
    let begun = r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"c","name":"s","input":{}}}"#;
    let mut events = owned(&[begun, event]);
    events.extend(ends(Anthropic));
    let found = said(read(Anthropic, stream(Anthropic, &events)), "partial_json");
    assert_eq!(found.0, vec![call("c", "s", r#"{"q":1}"#)]);
}

#[test]
fn events_without_data_are_heartbeats() {
    for form in [OpenAi, OpenAiResponses, Anthropic, Gemini] {
        let reason = if form == Anthropic { "end_turn" } else { "STOP" };
        let body: String =
            two(form, reason).iter().map(|event| format!("data:\n\ndata: {event}\n\ndata: \n\n")).collect();
        let found = said(read(form, chunked(content_type(form), &[body.as_bytes()])), "heartbeats");
        assert_eq!(found, (vec![text("x")], StopReason::End), "{form:?}");
    }
}

#[test]
fn a_stream_under_another_type_of_content_is_read_as_one() {
    for form in FORMS {
        let reason = if form == Anthropic { "end_turn" } else { "stop" };
        let body: String = match form {
            Ollama => two(form, reason).iter().map(|event| format!("{event}\n")).collect(),
            _ => two(form, reason).iter().map(|event| format!("data: {event}\n\n")).collect(),
        };
        for kind in ["text/plain", "application/json", "application/octet-stream", "text/event-stream"] {
            // Blank lines and a comment may come first.
            for before in ["", "\n\n"] {
                let before = if form == Ollama { before.to_owned() } else { format!("{before}: ping\n\n") };
                let found = read(form, chunked(kind, &[before.as_bytes(), body.as_bytes()]));
                assert_eq!(said(found, kind), (vec![text("x")], StopReason::End), "{form:?} {kind}");
            }
        }
    }
}

/// A complete answer of a provider that does not stream.
fn whole(form: Provider) -> Value {
    match form {
        OpenAi => json!({
            "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": "x 🧠", "tool_calls": [
                    {"type": "function", "function": {"name": "s", "arguments": "{\"q\":1}"}},
                    {"type": "function", "function": {"name": "t", "arguments": "{}"}},
                ],
            }}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3},
        }),
        OpenAiResponses => json!({
            "object": "response", "status": "completed", "error": null,
            "output": [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x 🧠"}]},
                {"type": "function_call", "name": "s", "arguments": "{\"q\":1}"},
                {"type": "function_call", "name": "t", "arguments": "{}"},
            ],
            "usage": {"input_tokens": 12, "output_tokens": 3},
        }),
        Anthropic => json!({
            "type": "message", "role": "assistant", "stop_reason": "tool_use",
            "content": [
                {"type": "text", "text": "x 🧠"},
                {"type": "tool_use", "id": "drawn-1", "name": "s", "input": {"q": 1}},
                {"type": "tool_use", "id": "drawn-2", "name": "t", "input": {}},
            ],
            "usage": {"input_tokens": 12, "output_tokens": 3},
        }),
        Ollama => json!({
            "message": {"role": "assistant", "content": "x 🧠", "tool_calls": [
                {"function": {"name": "s", "arguments": {"q": 1}}}, {"function": {"name": "t", "arguments": {}}},
            ]},
            "done": true, "done_reason": "stop", "prompt_eval_count": 12, "eval_count": 3,
        }),
        _ => json!({
            "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
                {"text": "x 🧠"},
                {"functionCall": {"name": "s", "args": {"q": 1}}}, {"functionCall": {"name": "t", "args": {}}},
            ]}}],
            "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 3},
        }),
    }
}

#[test]
fn e13_a_whole_answer_instead_of_a_stream_is_read() {
    for form in FORMS {
        let whole = whole(form);
        let pretty = serde_json::to_string_pretty(&whole).unwrap();
        for body in [whole.to_string(), format!("\n \n{pretty}\n"), format!("\u{feff}{pretty}")] {
            for kind in ["application/json", content_type(form), "text/plain"] {
                if form == Ollama && kind == content_type(form) && body.contains("\n ") {
                    continue; // Lines are its stated type.
                }
                let kind = format!("content-type: {kind}");
                let found = read(form, measured("200 OK", &[&kind], &body));
                let found = found.unwrap_or_else(|fault| panic!("{form:?} {kind}: {fault:?}"));
                let calls = vec![text("x 🧠"), call("drawn-1", "s", "{\"q\":1}"), call("drawn-2", "t", "{}")];
                // Arguments are kept as written, including whitespace.
                let parts = without_kept(found.parts).into_iter().map(|part| match part {
                    MessagePart::Call(one) => {
                        call(&one.id, &one.name, &one.arguments.replace([' ', '\n'], ""))
                    }
                    other => other,
                });
                assert_eq!(
                    (parts.collect::<Vec<_>>(), found.stop),
                    (calls, StopReason::Tool),
                    "{form:?} {kind}"
                );
                let usage = TokenUsage { tokens_in: Some(12), tokens_out: Some(3), ..TokenUsage::default() };
                assert_eq!(found.usage, usage, "{form:?} {kind}");
            }
        }
        // Cut anywhere, it is not an answer.
        let body = whole.to_string();
        for at in [1, body.len() / 2, body.len() - 1] {
            let at = body.floor_char_boundary(at);
            let closed = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{}", &body[..at]);
            let broken = [head("application/json"), chunk(&body.as_bytes()[..at])].concat();
            for bytes in [closed.into_bytes(), broken] {
                let fault = read(form, bytes).expect_err("a cut");
                assert_eq!(
                    (fault.kind, fault.may_be_paid),
                    (ModelFaultKind::Truncated, true),
                    "{form:?} {at}: {fault:?}"
                );
            }
        }
    }
}

#[test]
fn gemini_without_events_is_a_list_that_is_read_as_well() {
    let list: Vec<Value> =
        two(Gemini, "STOP").iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    let bytes = measured("200 OK", &["content-type: application/json"], &json!(list).to_string());
    assert_eq!(said(read(Gemini, bytes), "a list"), (vec![text("x")], StopReason::End));
}
