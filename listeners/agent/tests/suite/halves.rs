//! Characters that a provider cuts into two UTF-16 halves: joined across the events of one text, and U+FFFD if the
//! other half never comes.

use systole_agent::model::{AnswerPiece, MessagePart, Model, ModelAnswer, ModelFault};
use systole_agent::spec::Provider::{self, Anthropic, Gemini, Ollama, OpenAi, OpenAiResponses};

use super::bench::{FORMS, adapter, ask, call, limits, model, request, run, text, watcher};
use super::server::{ByteServer, chunked};
use super::streams::content_type;

/// A stream of several events, framed as in `form`.
pub(crate) fn stream(form: Provider, events: &[String]) -> Vec<u8> {
    let frame = |event: &String| match form {
        Ollama => format!("{event}\n"),
        _ => format!("data: {event}\n\n"),
    };
    let body: String = events.iter().map(frame).collect();
    chunked(content_type(form), &[body.as_bytes()])
}

/// An event with this text. `said` is the inside of a JSON string.
fn says(form: Provider, said: &str) -> String {
    match form {
        OpenAi => format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{said}"}}}}]}}"#),
        OpenAiResponses => {
            format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":"{said}"}}"#)
        }
        Anthropic => format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{said}"}}}}"#
        ),
        Ollama => format!(r#"{{"message":{{"content":"{said}"}},"done":false}}"#),
        _ => format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{said}"}}]}}}}]}}"#),
    }
}

/// An event that shows reasoning.
fn thinks(form: Provider, said: &str) -> String {
    match form {
        OpenAi => format!(r#"{{"choices":[{{"delta":{{"reasoning_content":"{said}"}}}}]}}"#),
        OpenAiResponses => {
            format!(r#"{{"type":"response.reasoning_summary_text.delta","output_index":7,"delta":"{said}"}}"#)
        }
        Anthropic => format!(
            r#"{{"type":"content_block_delta","delta":{{"type":"thinking_delta","thinking":"{said}"}}}}"#
        ),
        Ollama => format!(r#"{{"message":{{"thinking":"{said}"}},"done":false}}"#),
        _ => format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{said}","thought":true}}]}}}}]}}"#),
    }
}

/// The events that end an answer normally.
pub(crate) fn ends(form: Provider) -> Vec<String> {
    let events: &[&str] = match form {
        OpenAi => &[r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, "[DONE]"],
        OpenAiResponses => &[r#"{"type":"response.completed","response":{"status":"completed"}}"#],
        Anthropic => {
            &[r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#, r#"{"type":"message_stop"}"#]
        }
        Ollama => &[r#"{"message":{"content":""},"done":true,"done_reason":"stop"}"#],
        _ => &[r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}"#],
    };
    events.iter().map(|event| (*event).to_owned()).collect()
}

fn answered(form: Provider, mut events: Vec<String>) -> Result<ModelAnswer, ModelFault> {
    events.extend(ends(form));
    let server = ByteServer::saying(stream(form, &events));
    ask(&model(form, &server.url()), limits(), request("hello"))
}

#[test]
fn e13_halves_of_a_character_are_joined_over_events_and_shown_whole() {
    for form in FORMS {
        let mut events: Vec<String> = ["a\\ud83d", "", "\\ude00b\\ud83d\\ude00", "\\uD83E", "\\uDDE0"]
            .map(|said| says(form, said))
            .into();
        events.extend(ends(form));
        let server = ByteServer::saying(stream(form, &events));
        let (watcher, pieces) = watcher();
        let found = run(adapter(&model(form, &server.url()), limits()).ask(request("hello"), watcher));
        let found = found.unwrap_or_else(|fault| panic!("{form:?}: {fault:?}"));
        assert_eq!(found.parts, vec![text("a\u{1f600}b\u{1f600}\u{1f9e0}")], "{form:?}");
        let shown: String = pieces
            .lock()
            .unwrap()
            .iter()
            .map(|piece| match piece {
                AnswerPiece::Text(text) | AnswerPiece::Reasoning(text) => text.clone(),
                AnswerPiece::Call { arguments, .. } => arguments.clone(),
                AnswerPiece::Begun => String::new(),
            })
            .collect();
        assert_eq!(shown, "a\u{1f600}b\u{1f600}\u{1f9e0}", "{form:?}");
    }
}

#[test]
fn a_half_whose_other_half_never_comes_is_the_replacement_character() {
    for form in FORMS {
        for (said, read) in [
            (&["a\\ud83d", "b"][..], "a\u{fffd}b"),
            (&["a\\ud83db"], "a\u{fffd}b"),
            (&["a\\ude00b"], "a\u{fffd}b"),
            (&["a", "\\ude00b"], "a\u{fffd}b"),
            (&["a\\ud83d", "\\ud83d", "\\ude00"], "a\u{fffd}\u{1f600}"),
            (&["\\ud83d"], "\u{fffd}"),
            // Escaped backslashes are text that only looks like a half.
            (&["a\\\\ud83d"], "a\\ud83d"),
        ] {
            let found = answered(form, said.iter().map(|said| says(form, said)).collect());
            let found = found.unwrap_or_else(|fault| panic!("{form:?} {said:?}: {fault:?}"));
            assert_eq!(found.parts, vec![text(read)], "{form:?} {said:?}");
        }
    }
}

#[test]
fn reasoning_is_joined_as_text_is_and_a_half_does_not_go_over_to_another_part() {
    for form in FORMS {
        let mut events = Vec::new();
        if form == Anthropic {
            events.push(
                r#"{"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}"#
                    .to_owned(),
            );
        }
        events.extend(["\\ud83d", "\\ude00 \\ud83d"].map(|said| thinks(form, said)));
        if form == Anthropic {
            events.push(r#"{"type":"content_block_stop"}"#.to_owned());
        }
        if form == OpenAiResponses {
            // The item that ends has it all, and a provider that cuts characters cuts them there too.
            let said = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"\ud83d\ude00 \ud83d"}]}"#;
            events.push(format!(r#"{{"type":"response.output_item.done","output_index":7,"item":{said}}}"#));
        }
        events.push(says(form, "\\ude00!"));
        let found = answered(form, events).unwrap_or_else(|fault| panic!("{form:?}: {fault:?}"));
        let [MessagePart::Reasoning(kept), said] = found.parts.as_slice() else {
            panic!("{form:?}: {found:?}")
        };
        let kept = kept.to_string();
        assert!(kept.contains("\"\u{1f600} \u{fffd}\""), "{form:?}: {kept}");
        assert_eq!(*said, text("\u{fffd}!"), "{form:?}");
    }
}

#[test]
fn halves_in_the_arguments_of_a_call_are_joined_and_lone_ones_leave_them_readable() {
    let openai = |index: u32, arguments: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"id":"c{index}","function":{{"name":"search","arguments":"{arguments}"}}}}]}}}}]}}"#
        )
    };
    // Two calls with alternating fragments, each cut within a character.
    let found = answered(
        OpenAi,
        vec![
            openai(0, r#"{\"q\":\"\ud83d"#),
            openai(1, r#"{\"q\":\"\ud83e"#),
            openai(0, r#"\ude00\"}"#),
            openai(1, r#"\udde0\"}"#),
        ],
    );
    let calls =
        vec![call("c0", "search", "{\"q\":\"\u{1f600}\"}"), call("c1", "search", "{\"q\":\"\u{1f9e0}\"}")];
    assert_eq!(found.map(|answer| answer.parts), Ok(calls));
    // An escape inside the arguments, in one piece and not split.
    let found = answered(OpenAi, vec![openai(0, r#"{\"q\":\"\\ud83d\\ude00 \\ud83d\"}"#)]);
    let lone = |id: &str| vec![call(id, "search", r#"{"q":"\ud83d\ude00 \ufffd"}"#)];
    assert_eq!(found.map(|answer| answer.parts), Ok(lone("c0")));

    let anthropic = |arguments: &str| {
        format!(
            r#"{{"type":"content_block_delta","delta":{{"type":"input_json_delta","partial_json":"{arguments}"}}}}"#
        )
    };
    let begun = r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"c","name":"search","input":{}}}"#;
    let found = answered(
        Anthropic,
        vec![begun.to_owned(), anthropic(r#"{\"q\":\"\ud83d"#), anthropic(r#"\ude00\"}"#)],
    );
    assert_eq!(found.map(|answer| answer.parts), Ok(vec![call("c", "search", "{\"q\":\"\u{1f600}\"}")]));

    // Arguments that are objects contain their halves.
    for (form, event) in [
        (
            Ollama,
            r#"{"message":{"tool_calls":[{"id":"c","function":{"name":"search","arguments":{"q":"\ud83d\ude00 \ud83d"}}}]},"done":false}"#,
        ),
        (
            Gemini,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c","name":"search","args":{"q":"\ud83d\ude00 \ud83d"}}}]}}]}"#,
        ),
    ] {
        let found = answered(form, vec![event.to_owned()]);
        assert_eq!(found.map(|answer| answer.parts), Ok(lone("c")), "{form:?}");
    }
}

#[test]
fn a_half_in_a_block_that_is_only_kept_does_not_end_the_answer() {
    for (form, event) in [
        (Gemini, r#"{"candidates":[{"content":{"parts":[{"executableCode":{"code":"\ud83d"}}]}}]}"#),
        (
            Gemini,
            r#"{"candidates":[{"content":{"parts":[{"text":"\ud83d","thought":true,"thoughtSignature":"S"}]}}]}"#,
        ),
        (Anthropic, r#"{"type":"content_block_start","content_block":{"type":"other","x":"\ud83d"}}"#),
        (
            OpenAiResponses,
            r#"{"type":"response.output_item.done","output_index":7,"item":{"type":"other","x":"\ud83d"}}"#,
        ),
    ] {
        let found = answered(form, vec![event.to_owned(), says(form, "x")]);
        let found = found.unwrap_or_else(|fault| panic!("{form:?}: {fault:?}"));
        assert!(found.parts[0] != text("x") && found.parts[1] == text("x"), "{form:?}: {found:?}");
    }
}
