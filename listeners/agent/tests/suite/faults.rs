//! Every fault in every form: its kind, its message, its status, the partial answer, and whether it may be
//! charged.

use serde_json::json;
use systole_agent::model::{ModelFault, ModelFaultKind};
use systole_agent::spec::Provider::{self, Anthropic, Gemini, Ollama, OpenAi, OpenAiResponses};

use super::bench::{FORMS, ask, limits, model, request};
use super::server::{Act, ByteServer, chunk, chunked, head, measured};
use super::streams::content_type;

/// The expected fault.
struct Row {
    form: Provider,
    what: &'static str,
    bytes: Vec<u8>,
    kind: ModelFaultKind,
    status: Option<u16>,
    words: &'static [&'static str],
    partial: &'static str,
    paid: bool,
}

fn found(form: Provider, bytes: &[u8]) -> ModelFault {
    let server = ByteServer::start(vec![vec![Act::Send(bytes.to_vec())]]);
    ask(&model(form, &server.url()), limits(), request("hello")).expect_err("a fault")
}

fn hold(rows: Vec<Row>) {
    for row in rows {
        let Row { form, what, bytes, kind, status, words, partial, paid } = row;
        let fault = found(form, &bytes);
        let said = (fault.kind, fault.status, fault.partial.as_str(), fault.may_be_paid);
        assert_eq!(said, (kind, status, partial, paid), "{form:?}, {what}: {fault:?}");
        for words in words {
            assert!(fault.words.contains(words), "{form:?}, {what}: {words:?} in {:?}", fault.words);
        }
        assert!(
            !fault.words.ends_with('.') && fault.words.len() < 700,
            "{form:?}, {what}: {:?}",
            fault.words
        );
    }
}

/// An error in each provider's form.
fn error(form: Provider, kind: &str, message: &str) -> String {
    match form {
        OpenAi | OpenAiResponses => {
            format!(r#"{{"error":{{"message":"{message}","type":"{kind}","param":null,"code":null}}}}"#)
        }
        Anthropic => format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#),
        Ollama => format!(r#"{{"error":"{message}"}}"#),
        _ => format!(r#"{{"error":{{"message":"{message}","status":"{kind}"}}}}"#),
    }
}

/// The beginning of an answer that says `x`.
fn begun(form: Provider) -> String {
    match form {
        OpenAi => "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n".to_owned(),
        OpenAiResponses => {
            "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"x\"}\n\n"
                .to_owned()
        }
        Anthropic => {
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\
                      \"text\":\"x\"}}\n\n"
                .to_owned()
        }
        Ollama => "{\"message\":{\"content\":\"x\"},\"done\":false}\n".to_owned(),
        _ => "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]}}]}\n\n".to_owned(),
    }
}

fn event(form: Provider, text: &str) -> String {
    if form == Ollama { format!("{text}\n") } else { format!("data: {text}\n\n") }
}

#[test]
fn e13_every_status_is_a_fault_that_says_what_to_do() {
    let mut rows = Vec::new();
    for form in FORMS {
        for (status, kind, words) in [
            ("400 Bad Request", ModelFaultKind::InvalidRequest, &["answered 400", "it broke"][..]),
            (
                "401 Unauthorized",
                ModelFaultKind::InvalidRequest,
                &["answered 401", "look at the key in SOME_KEY, which models.main.key_env names"],
            ),
            (
                "402 Payment Required",
                ModelFaultKind::Refused,
                &["402", "look at the account at the provider"],
            ),
            ("403 Forbidden", ModelFaultKind::InvalidRequest, &["403", "the key in SOME_KEY"]),
            (
                "404 Not Found",
                ModelFaultKind::InvalidRequest,
                &["404", "look at models.main.model, which is some-model, and models.main.url"],
            ),
            ("413 Too Large", ModelFaultKind::InvalidRequest, &["413"]),
            ("429 Too Many Requests", ModelFaultKind::RateLimited, &["answered 429", "it broke"]),
            ("500 Oh", ModelFaultKind::Unavailable, &["answered 500", "it broke"]),
            ("503 Busy", ModelFaultKind::Unavailable, &["503"]),
            ("529 Overloaded", ModelFaultKind::Unavailable, &["529"]),
            (
                "302 Found",
                ModelFaultKind::InvalidRequest,
                &["302", "redirects are not followed", "models.main.url"],
            ),
        ] {
            let body = error(form, "some_kind", "it broke");
            let headers = ["content-type: application/json", "location: http://127.0.0.1:9/"];
            let bytes = measured(status, &headers, &body);
            let number = status.split(' ').next().and_then(|number| number.parse().ok());
            rows.push(Row {
                form,
                what: status,
                bytes,
                kind,
                status: number,
                words,
                partial: "",
                paid: false,
            });
        }
        let page = "<html><head><title>Bad gateway</title></head><body><p>nginx</p></body></html>";
        rows.push(Row {
            form,
            what: "a page as an error",
            bytes: measured("502 Bad Gateway", &["content-type: text/html"], page),
            kind: ModelFaultKind::Unavailable,
            status: Some(502),
            words: &["answered 502: Bad gateway nginx"],
            partial: "",
            paid: false,
        });
        rows.push(Row {
            form,
            what: "a gateway that gave up",
            bytes: measured("504 Gateway Timeout", &[], ""),
            kind: ModelFaultKind::Unavailable,
            status: Some(504),
            words: &["answered 504: without a word"],
            partial: "",
            paid: true,
        });
    }
    hold(rows);
}

#[test]
fn e11_every_provider_says_in_its_words_that_a_request_is_too_long() {
    let openai = |message: &str| json!({ "error": { "message": message } });
    let llama = json!({"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 14429, "n_ctx": 8192}});
    let vllm = json!({"object": "error", "message": "The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure that `max_model_len` is no smaller.", "type": "BadRequestError", "param": null, "code": 400});
    let gemini = json!({"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}});
    let rows = [
        (OpenAi, "llama.cpp", "400 No", llama.clone()),
        (OpenAi, "llama.cpp, in a stream", "200 OK", llama),
        (OpenAi, "vllm", "400 No", vllm),
        (
            OpenAi,
            "sglang",
            "400 No",
            openai("The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
        ),
        (
            OpenAi,
            "vllm, behind a proxy",
            "500 No",
            json!({"detail": "The decoder prompt (length 66501) is longer than the maximum model length of 65536."}),
        ),
        (
            OpenAi,
            "xai",
            "400 No",
            openai("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        ),
        (OpenAi, "bedrock", "400 No", openai("Input is too long for requested model.")),
        (
            OpenAi,
            "mistral",
            "400 No",
            openai("Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
        ),
        (Ollama, "ollama", "400 No", json!({"error": "the input length exceeds the context length"})),
        (Gemini, "gemini", "400 No", gemini),
        (
            Anthropic,
            "anthropic",
            "400 No",
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length or `max_tokens` and try again"}}),
        ),
    ];
    for (form, what, status, body) in rows {
        let server =
            ByteServer::saying(measured(status, &["content-type: application/json"], &body.to_string()));
        let fault = ask(&model(form, &server.url()), limits(), request("hello")).expect_err("too long");
        assert_eq!(fault.kind, ModelFaultKind::WindowFull, "{what}: {fault:?}");
        assert!(!fault.may_be_paid && fault.status.is_some(), "{what}: {fault:?}");
    }
}

#[test]
fn e13_names_of_errors_count_more_than_their_status() {
    let json = |status: &str, body: &str| measured(status, &["content-type: application/json"], body);
    let quota = r#"{"error":{"message":"You exceeded your quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let window = r#"{"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    let policy = r#"{"error":{"message":"flagged","code":"content_policy_violation"}}"#;
    let long =
        error(Anthropic, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
    let key = r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#;
    let row = |form, what, bytes, kind, status, words| Row {
        form,
        what,
        bytes,
        kind,
        status,
        words,
        partial: "",
        paid: false,
    };
    hold(vec![
        row(
            OpenAi,
            "quota",
            json("429 No", quota),
            ModelFaultKind::Refused,
            Some(429),
            &["insufficient_quota", "look at the account"],
        ),
        row(
            OpenAi,
            "window",
            json("400 No", window),
            ModelFaultKind::WindowFull,
            Some(400),
            &["8192", "lower models.main.window or models.main.max_output"],
        ),
        row(
            OpenAi,
            "policy",
            json("400 No", policy),
            ModelFaultKind::Refused,
            Some(400),
            &["content_policy_violation", "flagged"],
        ),
        row(
            Anthropic,
            "window",
            json("400 No", &long),
            ModelFaultKind::WindowFull,
            Some(400),
            &["lower models.main.window"],
        ),
        row(
            Gemini,
            "key",
            json("400 No", key),
            ModelFaultKind::InvalidRequest,
            Some(400),
            &["the key in SOME_KEY"],
        ),
    ]);
}

#[test]
fn e13_a_good_status_with_a_bad_body_is_a_fault() {
    let mut rows = Vec::new();
    for form in FORMS {
        let row = |what, bytes, words, paid| Row {
            form,
            what,
            bytes,
            kind: ModelFaultKind::Unavailable,
            status: Some(200),
            words,
            partial: "",
            paid,
        };
        let html = "<!doctype html><title>Log in</title>";
        rows.push(row(
            "a page",
            measured("200 OK", &["content-type: text/html"], html),
            &["answered 200 with a page: Log in", "models.main.url"],
            false,
        ));
        rows.push(row(
            "an error",
            measured("200 OK", &["content-type: application/json"], &error(form, "server_error", "it broke")),
            &["answered 200", "it broke"],
            false,
        ));
        rows.push(row(
            "another form",
            measured("200 OK", &["content-type: application/json"], "{\"choices\":[]}"),
            &["200 with application/json that holds no answer", "{\"choices\":[]}"],
            true,
        ));
        rows.push(row(
            "packed",
            measured(
                "200 OK",
                &[&format!("content-type: {}", content_type(form)), "content-encoding: gzip"],
                "\x1f",
            ),
            &["200 with an answer packed as gzip, which was not asked for"],
            true,
        ));
        rows.push(row(
            "another type",
            measured("200 OK", &["content-type: text/plain"], "hello"),
            &["text/plain", "hello"],
            true,
        ));
    }
    hold(rows);
}

#[test]
fn e10_a_good_status_without_an_answer_is_a_fault() {
    let mut rows = Vec::new();
    for form in FORMS {
        let row = |what, bytes, words, paid| Row {
            form,
            what,
            bytes,
            kind: ModelFaultKind::Unavailable,
            status: Some(200),
            words,
            partial: "",
            paid,
        };
        rows.push(row(
            "garbage",
            chunked(content_type(form), &[event(form, "}{ what").as_bytes()]),
            &["cannot be read", "}{ what"],
            true,
        ));
        rows.push(Row {
            kind: ModelFaultKind::Truncated,
            ..row("nothing", chunked(content_type(form), &[]), &["answered 200 and nothing else"], false)
        });
        rows.push(Row {
            kind: ModelFaultKind::Truncated,
            ..row("nothing, cut", head(content_type(form)), &["broke off"], true)
        });
        rows.push(Row {
            status: None,
            ..row(
                "no HTTP",
                b"SSH-2.0-OpenSSH\r\n\r\n".to_vec(),
                &["did not answer as HTTP does", "models.main.url"],
                true,
            )
        });
        rows.push(Row {
            kind: ModelFaultKind::Truncated,
            status: None,
            ..row("no word", Vec::new(), &["broke off before it answered"], true)
        });
    }
    hold(rows);
}

#[test]
fn e10_an_error_in_the_stream_is_a_fault_with_what_came_before() {
    let mut rows = Vec::new();
    for form in FORMS {
        let (busy, words): (_, &[&str]) = match form {
            OpenAi | OpenAiResponses => ("server_error", &["answered 200 (server_error): it broke"]),
            Anthropic => ("overloaded_error", &["answered 200 (overloaded_error): it broke"]),
            Ollama => ("", &["answered 200: it broke"]),
            _ => ("UNAVAILABLE", &["answered 200 (UNAVAILABLE): it broke"]),
        };
        let said = event(form, &error(form, busy, "it broke"));
        let stream = |pieces: &[&str]| {
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
            chunked(content_type(form), &pieces)
        };
        let row = |what, bytes, partial, paid| Row {
            form,
            what,
            bytes,
            kind: ModelFaultKind::Unavailable,
            status: Some(200),
            words,
            partial,
            paid,
        };
        rows.push(row("first", stream(&[&said]), "", false));
        rows.push(row("later", stream(&[&begun(form), &said]), "x", true));
        let cut = [head(content_type(form)), chunk(begun(form).as_bytes())].concat();
        rows.push(Row {
            kind: ModelFaultKind::Truncated,
            words: &["broke off before the end"],
            ..row("cut", cut, "x", true)
        });
        // Within a character, in a body that is complete by its length.
        let bytes = [begun(form).as_bytes(), b"{\"\xc3"].concat();
        rows.push(Row {
            kind: ModelFaultKind::Truncated,
            words: &["not UTF-8"],
            ..row("half a character", chunked(content_type(form), &[&bytes]), "x", true)
        });
        let half = if form == Ollama { "{\"mess" } else { "data: {\"mess" };
        rows.push(Row {
            kind: ModelFaultKind::Truncated,
            words: &["cannot be read"],
            ..row("half an event", stream(&[&begun(form), half]), "x", true)
        });
    }
    hold(rows);
}

#[test]
fn an_error_in_the_stream_says_what_was_used_before() {
    for form in FORMS {
        let busy = if matches!(form, OpenAi | OpenAiResponses) { "server_error" } else { "overloaded_error" };
        let said = event(form, &error(form, busy, "it broke"));
        let reported = match form {
            Anthropic => event(
                form,
                r#"{"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}"#,
            ),
            OpenAi => event(form, r#"{"choices":[],"usage":{"prompt_tokens":25}}"#),
            Gemini => event(form, r#"{"usageMetadata":{"promptTokenCount":25}}"#),
            _ => String::new(),
        };
        // Ollama and Responses count at the end alone.
        let is_counted = !matches!(form, Ollama | OpenAiResponses);
        let read = is_counted.then_some(25);
        let words = begun(form).repeat(32);
        for (pieces, used) in [
            ([reported.clone(), said.clone()].concat(), is_counted.then_some(u64::from(form == Anthropic))),
            ([reported, words, said].concat(), Some(10)),
        ] {
            let fault = found(form, &chunked(content_type(form), &[pieces.as_bytes()]));
            assert!(fault.kind == ModelFaultKind::Unavailable && fault.is_known(), "{form:?}: {fault:?}");
            let said = fault.used.map(|used| (used.tokens_in, used.tokens_out));
            assert_eq!(said, used.map(|written| (read, Some(written))), "{form:?}: {fault:?}");
        }
    }
}

#[test]
fn e13_gemini_says_inside_what_others_say_with_a_status() {
    let mut rows = Vec::new();
    let limited = r#"{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"3s"}]}}"#;
    let bytes = chunked(content_type(Gemini), &[event(Gemini, limited).as_bytes()]);
    assert_eq!(found(Gemini, &bytes).retry_after_ms, Some(3_000));
    rows.push(Row {
        form: Gemini,
        what: "limited",
        bytes,
        kind: ModelFaultKind::RateLimited,
        status: Some(429),
        words: &["answered 200, and inside it said 429"],
        partial: "",
        paid: false,
    });
    for (what, usage, paid) in
        [("blocked", "", false), ("blocked, counted", r#","usageMetadata":{"promptTokenCount":7}"#, true)]
    {
        let blocked = format!(r#"{{"promptFeedback":{{"blockReason":"SAFETY"}}{usage}}}"#);
        rows.push(Row {
            form: Gemini,
            what,
            bytes: chunked(content_type(Gemini), &[event(Gemini, &blocked).as_bytes()]),
            kind: ModelFaultKind::Refused,
            status: Some(200),
            words: &["would not answer this prompt (SAFETY)"],
            partial: "",
            paid,
        });
    }
    hold(rows);
}

#[test]
fn e13_retry_after_is_read_in_seconds_and_as_a_date() {
    for form in FORMS {
        for (headers, ms) in [
            (&["retry-after: 2"][..], Some(2_000)),
            (
                &["date: Fri, 20 Nov 2026 07:00:00 GMT", "retry-after: Fri, 20 Nov 2026 07:00:45 GMT"],
                Some(45_000),
            ),
            (&[], None),
        ] {
            for status in ["429 Too Many Requests", "503 Busy"] {
                let fault = found(form, &measured(status, headers, "{}"));
                assert_eq!(fault.retry_after_ms, ms, "{form:?} {headers:?}");
            }
        }
    }
}

#[test]
fn e13_the_body_of_an_error_is_read_up_to_a_limit() {
    for form in FORMS {
        let server = ByteServer::start(vec![vec![
            Act::Send(b"HTTP/1.1 500 Oh\r\ncontent-type: text/plain\r\n\r\n".to_vec()),
            Act::Drip(b"again and ".repeat(1_000)),
        ]]);
        let fault = ask(&model(form, &server.url()), limits(), request("hello")).expect_err("a fault");
        assert!(
            fault.words.contains("answered 500: again and again and") && fault.words.len() < 500,
            "{fault:?}"
        );
        assert!(server.end().iter().all(|seen| seen.left), "the connection was closed");
    }
}
