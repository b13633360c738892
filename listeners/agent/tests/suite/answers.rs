//! Answers of each form over real sockets: read completely, for any split of their bytes, and never from a part of
//! them.

use serde_json::json;
use systole_agent::model::{
    AnswerPiece, MessagePart, Model, ModelFault, ModelFaultKind, ServedBy, StopReason, TokenUsage,
};
use systole_agent::spec::Provider;

use super::bench::{FORMS, adapter, ask, call, kept, limits, model, request, run, text, unwatched, watcher};
use super::server::{Act, ByteServer, chunk, chunked, head, measured};
use super::streams::{answer, body, content_type, needed};

#[test]
fn e13_every_form_is_read_to_the_byte_and_the_token() {
    for form in FORMS {
        let server = ByteServer::saying(chunked(content_type(form), &[body(form).as_bytes()]));
        let (watcher, pieces) = watcher();
        let adapter = adapter(&model(form, &server.url()), limits());
        let found = run(adapter.ask(request("hello"), watcher));
        assert_eq!(found, Ok(answer(form)), "{form:?}");
        let pieces = pieces.lock().unwrap();
        let said = |is_text: bool| -> String {
            let words = pieces.iter().filter_map(|piece| match piece {
                AnswerPiece::Text(text) => is_text.then_some(text.as_str()),
                AnswerPiece::Reasoning(text) => (!is_text).then_some(text.as_str()),
                AnswerPiece::Call { .. } | AnswerPiece::Begun => None,
            });
            words.collect()
        };
        let calls = answer(form).parts.into_iter().enumerate().filter_map(|(number, part)| match part {
            MessagePart::Call(call) => Some((number, call)),
            _ => None,
        });
        for (number, call) in calls {
            let arguments = pieces.iter().filter_map(|piece| match piece {
                AnswerPiece::Call { number: of, name, arguments } => {
                    (*of == number && *name == call.name).then_some(arguments.as_str())
                }
                _ => None,
            });
            assert_eq!(arguments.collect::<String>(), call.arguments, "{form:?}: {pieces:?}");
        }
        assert_eq!(
            (said(true).as_str(), said(false).as_str()),
            (" Gr\u{fc}\u{df}e\r\n\u{1f9e0} ", "Hm\u{2026}")
        );
    }
}

#[test]
fn e13_any_split_of_the_bytes_gives_the_same_answer() {
    for form in FORMS {
        let bytes = body(form).as_bytes();
        let splits = (0..=bytes.len()).map(|at| {
            let (begin, end) = bytes.split_at(at);
            let [begin, end] = [chunk(begin), [chunk(end), b"0\r\n\r\n".to_vec()].concat()];
            vec![Act::Send([head(content_type(form)), begin].concat()), Act::Send(end)]
        });
        let server = ByteServer::start(splits.collect());
        let adapter = adapter(&model(form, &server.url()), limits());
        run(async {
            for at in 0..=bytes.len() {
                let found = adapter.ask(request("hello"), unwatched()).await;
                assert_eq!(found, Ok(answer(form)), "{form:?} at {at}");
            }
        });
    }
}

#[test]
fn e10_a_part_of_an_answer_is_a_fault_and_never_an_answer() {
    for form in FORMS {
        let whole = chunked(content_type(form), &[body(form).as_bytes()]);
        let before = whole.len() - body(form).len() - b"\r\n0\r\n\r\n".len();
        let needed = needed(form).map_or(whole.len(), |needed| before + needed);
        let cuts = (0..=whole.len()).map(|at| vec![Act::Send(whole[..at].to_vec())]);
        let server = ByteServer::start(cuts.collect());
        let adapter = adapter(&model(form, &server.url()), limits());
        run(async {
            for at in 0..=whole.len() {
                match adapter.ask(request("hello"), unwatched()).await {
                    Ok(found) => assert_eq!((at >= needed, found), (true, answer(form)), "{form:?} at {at}"),
                    Err(fault) => {
                        assert!(at < needed, "{form:?} at {at} of {needed}: {fault:?}");
                        assert_eq!(fault.kind, ModelFaultKind::Truncated, "{form:?} at {at}: {fault:?}");
                        assert!(fault.may_be_paid, "{form:?} at {at}: {fault:?}");
                        let text = " Gr\u{fc}\u{df}e\r\n\u{1f9e0} ";
                        let begins = text.starts_with(&fault.partial) || fault.partial.starts_with(text);
                        assert!(begins, "{form:?} at {at}: {fault:?}");
                    }
                }
            }
        });
    }
}

/// An answer of several events, framed as in `form`.
fn events(form: Provider, events: &[&str]) -> String {
    let frame = |event: &&str| match form {
        Provider::Ollama => format!("{event}\n"),
        _ => format!("data: {event}\n\n"),
    };
    events.iter().map(frame).collect()
}

fn answered(form: Provider, said: &[&str]) -> Result<systole_agent::model::ModelAnswer, ModelFault> {
    let server = ByteServer::saying(chunked(content_type(form), &[events(form, said).as_bytes()]));
    ask(&model(form, &server.url()), limits(), request("hello"))
}

#[test]
fn e10_every_reason_to_stop_is_told_apart() {
    use Provider::{Anthropic, Gemini, Ollama, OpenAi};
    let openai = |reason: &str| {
        let end =
            format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}},"finish_reason":"{reason}"}}]}}"#);
        answered(OpenAi, &[&end, "[DONE]"])
    };
    let anthropic = |reason: &str| {
        let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
        answered(Anthropic, &[&end, r#"{"type":"message_stop"}"#])
    };
    let ollama = |reason: &str| {
        let end = format!(r#"{{"message":{{"content":"x"}},"done":true,"done_reason":"{reason}"}}"#);
        answered(Ollama, &[&end])
    };
    let gemini = |reason: &str| {
        let end = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"x"}}]}},"finishReason":"{reason}"}}]}}"#
        );
        answered(Gemini, &[&end])
    };
    for (found, stop) in [
        (openai("stop"), StopReason::End),
        (openai("length"), StopReason::Length),
        (openai("tool_calls"), StopReason::Tool),
        (anthropic("end_turn"), StopReason::End),
        (anthropic("stop_sequence"), StopReason::End),
        (anthropic("max_tokens"), StopReason::Length),
        (ollama("stop"), StopReason::End),
        (ollama("length"), StopReason::Length),
        (gemini("STOP"), StopReason::End),
        (gemini("MAX_TOKENS"), StopReason::Length),
    ] {
        assert_eq!(found.map(|answer| (answer.stop, answer.usage)), Ok((stop, TokenUsage::default())));
    }
    for (found, kind, words) in [
        (openai("content_filter"), ModelFaultKind::Refused, "let the model answer (content_filter)"),
        (anthropic("refusal"), ModelFaultKind::Refused, "let the model answer (refusal)"),
        (gemini("SAFETY"), ModelFaultKind::Refused, "let the model answer (SAFETY)"),
        (gemini("PROHIBITED_CONTENT"), ModelFaultKind::Refused, "(PROHIBITED_CONTENT)"),
        (
            anthropic("model_context_window_exceeded"),
            ModelFaultKind::WindowFull,
            "the window is full (model_context_window_exceeded)",
        ),
    ] {
        let fault = found.expect_err("it is no answer");
        assert!(fault.kind == kind && fault.is_known() && fault.words.ends_with(words), "{fault:?}");
    }
    for (found, reason) in [
        (openai("insufficient_system_resource"), "insufficient_system_resource"),
        (anthropic("pause_turn"), "pause_turn"),
        (ollama("load"), "load"),
        (gemini("MALFORMED_FUNCTION_CALL"), "MALFORMED_FUNCTION_CALL"),
    ] {
        let fault = found.expect_err("an unknown reason is no end");
        assert_eq!((fault.kind, fault.may_be_paid), (ModelFaultKind::Truncated, true), "{fault:?}");
        assert!(fault.words.ends_with(reason), "{fault:?}");
    }
}

#[test]
fn e10_an_end_without_a_reason_is_no_end() {
    for (form, said) in [
        (Provider::OpenAi, vec![r#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#, "[DONE]"]),
        (Provider::OpenAi, vec![r#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#]),
        (
            Provider::Anthropic,
            vec![
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#,
                r#"{"type":"message_stop"}"#,
            ],
        ),
        (Provider::Ollama, vec![r#"{"message":{"content":"x"},"done":true}"#]),
        (Provider::Ollama, vec![r#"{"message":{"content":"x"},"done":false,"done_reason":"stop"}"#]),
        (Provider::Gemini, vec![r#"{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}"#]),
    ] {
        let fault = answered(form, &said).expect_err("no end was said");
        assert_eq!(
            (fault.kind, fault.partial.as_str()),
            (ModelFaultKind::Truncated, "x"),
            "{form:?}: {fault:?}"
        );
    }
}

#[test]
fn e10_without_a_length_a_reason_counts_only_where_it_comes_last() {
    let openai = r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
    let gemini = r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}"#;
    for (form, said, closed_is_whole) in [
        (Provider::OpenAi, vec![openai, "[DONE]"], true),
        (Provider::OpenAi, vec![openai], true),
        (Provider::Gemini, vec![gemini], false),
    ] {
        let body = events(form, &said);
        let ends = [
            (
                format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{body}").into_bytes(),
                closed_is_whole,
            ),
            (measured("200 OK", &["content-type: text/event-stream"], &body), true),
            // The last event is not closed, and the length shows that the body is complete.
            (measured("200 OK", &["content-type: text/event-stream"], body.trim_end()), true),
        ];
        for (bytes, whole) in ends {
            let server = ByteServer::saying(bytes);
            let found = ask(&model(form, &server.url()), limits(), request("hello"));
            assert_eq!(found.is_ok(), whole, "{form:?} {said:?}: {found:?}");
        }
    }
}

#[test]
fn e13_a_refusal_keeps_its_words_and_what_it_used() {
    let found = answered(
        Provider::OpenAi,
        &[
            r#"{"choices":[{"index":0,"delta":{"refusal":"I can't"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#,
            "[DONE]",
        ],
    );
    let fault = found.expect_err("a refusal");
    assert_eq!((fault.kind, fault.partial.as_str()), (ModelFaultKind::Refused, "I can't"));
    assert_eq!(
        fault.used,
        Some(TokenUsage { tokens_in: Some(9), tokens_out: Some(3), ..TokenUsage::default() })
    );
}

#[test]
fn what_a_provider_says_of_itself_is_kept() {
    let openai = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-5-2026","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"completion_tokens_details":{"reasoning_tokens":20}}}"#;
    let anthropic = r#"{"type":"message","model":"claude-x-2026","stop_reason":"end_turn","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":10,"cache_creation_input_tokens":30,"cache_read_input_tokens":60,"output_tokens":30}}"#;
    let gemini = r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"modelVersion":"gemini-3","responseId":"r1","usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":10,"thoughtsTokenCount":20,"cachedContentTokenCount":60}}"#;
    let ollama = r#"{"model":"qwen3:4b","message":{"content":"x"},"done":true,"done_reason":"stop","prompt_eval_count":100,"eval_count":30}"#;
    let word = |word: &str| Some(word.to_owned());
    for (form, body, header, usage, served) in [
        (
            Provider::OpenAi,
            openai,
            "x-request-id: req_1",
            (Some(60), Some(30), Some(20)),
            ["gpt-5-2026", "fp_1", "req_1"],
        ),
        (
            Provider::OpenAi,
            openai,
            "x-other: 1",
            (Some(60), Some(30), Some(20)),
            ["gpt-5-2026", "fp_1", "chatcmpl-1"],
        ),
        (
            Provider::Anthropic,
            anthropic,
            "request-id: req_2",
            (Some(60), Some(30), None),
            ["claude-x-2026", "", "req_2"],
        ),
        (Provider::Gemini, gemini, "x-other: 1", (Some(60), None, Some(20)), ["gemini-3", "", "r1"]),
        (Provider::Ollama, ollama, "x-other: 1", (None, None, None), ["qwen3:4b", "", ""]),
    ] {
        let bytes = measured("200 OK", &["content-type: application/json", header], body);
        let server = ByteServer::saying(bytes);
        let found = ask(&model(form, &server.url()), limits(), request("hello")).expect("an answer");
        let TokenUsage { tokens_in, tokens_out, cached, cache_write, reasoning } = found.usage;
        assert_eq!((tokens_in, tokens_out), (Some(100), Some(30)), "{form:?}");
        assert_eq!((cached, cache_write, reasoning), usage, "{form:?}");
        let [model, fingerprint, id] = served.map(|said| word(said).filter(|said| !said.is_empty()));
        assert_eq!(found.served, ServedBy { model, fingerprint, request: id }, "{form:?}");
    }
    // What is too long or of another kind costs no answer, and no line of the log.
    let odd = openai.replace("gpt-5-2026", &"g\\n\u{e9}".repeat(200)).replace("\"fp_1\"", "7");
    let found = answered(Provider::OpenAi, &[&odd, "[DONE]"]).expect("an answer");
    let ServedBy { model, fingerprint, .. } = found.served;
    assert_eq!((model, fingerprint), (Some("g".repeat(128)), None));
}

#[test]
fn a_refusal_says_why_if_the_provider_does() {
    let details = r#""stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"It could do harm."}"#;
    let begin = r#"{"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}"#;
    let end = format!(r#"{{"type":"message_delta","delta":{{{details}}},"usage":{{"output_tokens":4}}}}"#);
    let streamed = answered(Provider::Anthropic, &[begin, &end, r#"{"type":"message_stop"}"#]);
    let whole = format!(
        r#"{{"type":"message","content":[],{details},"usage":{{"input_tokens":25,"output_tokens":4}}}}"#
    );
    let server = ByteServer::saying(measured("200 OK", &["content-type: application/json"], &whole));
    let whole = ask(&model(Provider::Anthropic, &server.url()), limits(), request("hello"));
    for found in [streamed, whole] {
        let fault = found.expect_err("a refusal");
        assert!(fault.words.ends_with("(refusal, cyber, It could do harm.)"), "{fault:?}");
        assert_eq!(
            fault.used,
            Some(TokenUsage { tokens_in: Some(25), tokens_out: Some(4), ..TokenUsage::default() })
        );
    }
}

#[test]
fn e13_calls_keep_their_arguments_whatever_a_server_makes_of_their_numbers() {
    // Each call complete and under the same number; the name repeated; a call without a number that continues.
    let found = answered(
        Provider::OpenAi,
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"not json"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"y","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"y","arguments":"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"z","arguments":"1"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"2"}}]}}]}"#,
            r#"{"choices":[{"delta":{"content":"after"},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
    );
    let calls = vec![call("a", "x", "not json"), call("b", "y", "{}"), call("c", "z", "12"), text("after")];
    assert_eq!(found.map(|answer| (answer.parts, answer.stop)), Ok((calls, StopReason::Tool)));
}

#[test]
fn e13_what_gemini_signs_is_a_part_of_its_own() {
    let found = answered(
        Provider::Gemini,
        &[
            r#"{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b","thoughtSignature":"S1"},{"text":"c"}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"S2"},{"executableCode":{"code":"1"}}]},"finishReason":"STOP"}]}"#,
        ],
    );
    let parts: Vec<MessagePart> = vec![
        text("a"),
        text("b"),
        kept("gemini", json!({"at": "text", "thoughtSignature": "S1"})),
        text("c"),
        kept("gemini", json!({"part": {"text": "", "thoughtSignature": "S2"}})),
        kept("gemini", json!({"part": {"executableCode": {"code": "1"}}})),
    ];
    assert_eq!(found.map(|answer| answer.parts), Ok(parts));
}
