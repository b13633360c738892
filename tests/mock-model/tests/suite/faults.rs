//! Answers that are errors or nonsense, and what the script says when it has nothing.

use crate::client::{anthropic, asks, gemini, mock, ollama, openai};

const CLAUDE: &str = r#"{"model":"c","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
const GEMINI: &str = r#"{"contents":[{"parts":[{"text":"hi"}]}]}"#;

#[test]
fn an_error_has_its_status_its_header_and_the_shape_of_each_provider() {
    let mock = mock(
        "- {error: {status: 429, retry_after: 1500ms, body: Slow down}, times: 4}\n- {error: {status: 529}}\n- {error: {status: 503, retry_after: 'Wed, 21 Oct 2065 07:28:00 GMT'}}",
    );
    let heard = openai(&mock, &asks("hi", r#","stream":true"#));
    assert_eq!((heard.status, heard.header("retry-after")), (429, Some("2")));
    assert_eq!(heard.header("content-type"), Some("application/json"));
    assert_eq!(
        heard.text(),
        r#"{"error":{"message":"Slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#
    );
    let heard = anthropic(&mock, CLAUDE);
    assert_eq!((heard.status, heard.header("retry-after")), (429, Some("2")));
    assert_eq!(
        heard.text(),
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"},"request_id":"req_mock000002"}"#
    );
    let heard = ollama(&mock, &asks("hi", ""));
    assert_eq!((heard.status, heard.text().as_str()), (429, r#"{"error":"Slow down"}"#));
    let heard = gemini(&mock, "generateContent", GEMINI);
    assert_eq!(
        (heard.status, heard.text().as_str()),
        (429, r#"{"error":{"code":429,"message":"Slow down","status":"RESOURCE_EXHAUSTED"}}"#)
    );
    let heard = anthropic(&mock, CLAUDE);
    assert_eq!((heard.status, heard.json()["error"]["type"].as_str()), (529, Some("overloaded_error")));
    let heard = openai(&mock, &asks("hi", ""));
    assert_eq!((heard.status, heard.header("retry-after")), (503, Some("Wed, 21 Oct 2065 07:28:00 GMT")));
}

#[test]
fn an_error_may_be_a_page_or_nothing() {
    let mock = mock(
        "- {error: {status: 502, type: html, body: It broke}}\n- {error: {status: 500, type: none}}\n- html: true",
    );
    let heard = openai(&mock, &asks("hi", ""));
    assert_eq!((heard.status, heard.header("content-type")), (502, Some("text/html")));
    assert!(heard.text().starts_with("<html>") && heard.text().contains("502 Bad Gateway"), "{heard:?}");
    assert!(heard.text().contains("<h1>It broke</h1>"));
    let heard = openai(&mock, &asks("hi", ""));
    assert_eq!((heard.status, heard.body.len(), heard.whole), (500, 0, true));
    assert_eq!(heard.header("content-type"), None);
    let heard = openai(&mock, &asks("hi", r#","stream":true"#));
    assert_eq!((heard.status, heard.header("content-type")), (500, Some("text/html")));
    assert!(heard.text().contains("<h1>500 Internal Server Error</h1>"));
    let ends: Vec<_> = mock.seen().iter().map(|seen| seen.end).collect();
    assert_eq!(ends, [systole_mock_model::AnswerEnd::Sent; 3]);
}

#[test]
fn an_error_may_come_with_200_alone_or_after_some_text() {
    let mock = mock("- {ok_error: true, times: 5}\n- {say: 'So ', ok_error: true, times: 4}");
    let error = r#"{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}"#;
    let heard = openai(&mock, &asks("hi", ""));
    assert_eq!((heard.status, heard.text().as_str()), (200, error));
    let heard = openai(&mock, &asks("hi", r#","stream":true"#));
    assert_eq!((heard.status, heard.text()), (200, format!("data: {error}\n\n")));
    assert_eq!(anthropic(&mock, CLAUDE).json()["type"], "error");
    assert!(ollama(&mock, &asks("hi", r#","stream":false"#)).json()["error"].is_string());
    assert_eq!(gemini(&mock, "generateContent", GEMINI).json()["error"]["status"], "INTERNAL");

    let heard = openai(&mock, &asks("hi", r#","stream":true"#)).text();
    assert!(
        heard.contains(r#"{"content":"So "}"#) && heard.ends_with(&format!("data: {error}\n\n")),
        "{heard}"
    );
    let heard = anthropic(&mock, &CLAUDE.replace("\"max_tokens\"", "\"stream\":true,\"max_tokens\"")).text();
    let last = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"The server had";
    assert!(heard.contains("So ") && heard.contains(last) && !heard.contains("message_stop"), "{heard}");
    let heard = ollama(&mock, &asks("hi", "")).text();
    assert!(
        heard.contains("So ") && heard.lines().last().unwrap().starts_with(r#"{"error":"The server"#),
        "{heard}"
    );
    let heard = gemini(&mock, "streamGenerateContent?alt=sse", GEMINI).text();
    assert!(heard.contains("So ") && heard.ends_with("\"status\":\"INTERNAL\"}}\r\n\r\n"), "{heard}");
}

#[test]
fn garbage_is_neither_text_nor_json() {
    let mock = mock("- garbage: true");
    let heard = openai(&mock, &asks("hi", r#","stream":true"#));
    assert_eq!((heard.status, heard.header("content-type")), (200, Some("text/event-stream; charset=utf-8")));
    assert!(std::str::from_utf8(&heard.body).is_err());
}

#[test]
fn a_good_answer_may_be_called_something_else() {
    let mock = mock("- {say: a, content_type: text/html}");
    let heard = openai(&mock, &asks("hi", ""));
    assert_eq!(heard.header("content-type"), Some("text/html"));
    assert_eq!(heard.json()["choices"][0]["message"]["content"], "a");
}

#[test]
fn a_script_that_has_nothing_says_so_in_the_shape_of_the_provider() {
    let mock = mock("- {if: please, say: a}\n- {if: nobody, need: [z+], say: b}");
    let heard = openai(&mock, &asks("hi", ""));
    assert_eq!(heard.status, 503);
    assert_eq!(
        heard.message(),
        "the script has no reply for this: 2 are left for m, and the last message has none of their `if`"
    );
    assert_eq!(heard.json()["error"]["type"], "server_error");
    assert_eq!(openai(&mock, &asks("please", "")).status, 200);
    let heard = openai(&mock, &asks("nobody", ""));
    assert_eq!(heard.message(), "the script needs z+ (line 2), which is nowhere in the request");
    assert_eq!(openai(&mock, &asks("nobody zz", "")).status, 200);
    let heard = gemini(&mock, "generateContent", GEMINI);
    assert_eq!(heard.json()["error"]["status"], "UNAVAILABLE");
    assert_eq!(heard.message(), "the script has run out: its 2 replies for g are used");
}

#[test]
fn only_the_last_message_counts_for_an_if_and_the_whole_request_for_a_need() {
    let mock = mock("- {if: secret, say: a}\n- {need: ['be brief', '\"max_tokens\":7'], say: b}");
    let talk = |last: &str, more: &str| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"system","content":"be brief"}},{{"role":"user","content":"secret"}},{{"role":"assistant","content":"ok"}},{{"role":"user","content":"{last}"}}]{more}}}"#
        )
    };
    assert_eq!(openai(&mock, &talk("x", "")).status, 503);
    let heard = openai(&mock, &talk("x", r#","max_tokens":7"#)).json();
    assert_eq!(heard["choices"][0]["message"]["content"], "b");
    let heard = openai(&mock, &talk("a secret", "")).json();
    assert_eq!(heard["choices"][0]["message"]["content"], "a");
}

#[test]
fn each_model_has_its_own_list_and_no_other_is_known() {
    let mock = mock("m: [{say: a}]\nc: [{say: b}]\n");
    assert_eq!(anthropic(&mock, CLAUDE).json()["content"][0]["text"], "b");
    assert_eq!(openai(&mock, &asks("hi", "")).status, 200);
    assert_eq!(
        openai(&mock, &asks("hi", "")).message(),
        "the script has run out: its 1 replies for m are used"
    );
    assert_eq!(openai(&mock, &asks("hi", "").replace("\"m\"", "\"x\"")).status, 404);
}
