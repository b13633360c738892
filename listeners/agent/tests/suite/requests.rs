//! The outgoing requests, byte for byte if it matters: the same conversation in each form, parameters, and no trace
//! of tools if there are none.

use serde_json::{Value, json};
use systole_agent::model::{
    CallHistory, MessageAuthor, MessagePart, ModelAdapter, ModelFaultKind, ModelRequest, RequestToolChoice,
};
use systole_agent::spec::{self, ModelThinking, Provider};

use super::bench::{FORMS, KEY, ask, call, kept, limits, model, request, said, search_tool, text};
use super::server::{ByteServer, Seen, chunked};
use super::streams::{body, content_type};

/// One request as a server saw it.
pub(crate) fn sent(model: &spec::ModelSpec, path: &str, request: ModelRequest) -> Seen {
    let form = model.provider;
    let server = ByteServer::saying(chunked(content_type(form), &[body(form).as_bytes()]));
    let model = spec::ModelSpec { url: Some(format!("{}{path}", server.url())), ..model.clone() };
    ask(&model, limits(), request).expect("a whole answer");
    let mut seen = server.end();
    assert_eq!(seen.len(), 1);
    seen.remove(0)
}

/// Two turns with every possible part, and reasoning of every provider.
fn conversation() -> ModelRequest {
    let result = |id: &str, name: &str, text: &str, is_error| MessagePart::Result {
        id: id.to_owned(),
        name: name.to_owned(),
        text: text.to_owned(),
        is_error,
    };
    ModelRequest {
        enough: None,
        course: CallHistory::default(),
        header: None,
        messages: vec![
            said(MessageAuthor::User, vec![text("find it")]),
            said(MessageAuthor::User, vec![text(""), text("please")]),
            said(
                MessageAuthor::Assistant,
                vec![
                    kept("anthropic", json!({"type": "thinking", "thinking": "T", "signature": "S+/="})),
                    kept("openai", json!({"reasoning_content": "R"})),
                    kept("ollama", json!({"thinking": "O"})),
                    kept("gemini", json!({"thought": "never sent"})),
                    text(" I look. "),
                    kept("gemini", json!({"at": "text", "thoughtSignature": "G1"})),
                    kept("gemini", json!({"at": "call", "thoughtSignature": "G2"})),
                    call("drawn-1", "search", "{\"query\": \"x\"}"),
                    call("b:2", "look", "no json"),
                ],
            ),
            said(
                MessageAuthor::User,
                vec![
                    text("go on"),
                    result("drawn-1", "search", "found", false),
                    result("b:2", "look", "Error: no", true),
                ],
            ),
            said(
                MessageAuthor::Assistant,
                vec![kept("openai", json!({"reasoning_content": "left out"})), text("so")],
            ),
            said(MessageAuthor::User, vec![text("and now?")]),
        ],
        tools: vec![search_tool()],
        choice: Some(RequestToolChoice::Tool("search".to_owned())),
        ..request("")
    }
}

#[test]
fn e13_openai_is_asked_in_its_form() {
    let seen = sent(&model(Provider::OpenAi, ""), "/v1/", conversation());
    assert!(seen.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", seen.head);
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("accept"), Some("text/event-stream"));
    let function = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        seen.json(),
        json!({
            "model": "some-model", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 500,
            "messages": [
                {"role": "system", "content": "You are brief."},
                {"role": "user", "content": "find it"},
                {"role": "user", "content": "please"},
                {"role": "assistant", "content": " I look. ", "reasoning_content": "R", "tool_calls": [
                    function("drawn-1", "search", "{\"query\": \"x\"}"), function("b:2", "look", "no json")]},
                {"role": "tool", "tool_call_id": "drawn-1", "content": "found"},
                {"role": "tool", "tool_call_id": "b:2", "content": "Error: no"},
                {"role": "user", "content": "go on"},
                {"role": "assistant", "content": "so"},
                {"role": "user", "content": "and now?"},
            ],
            "tools": [{"type": "function", "function": {"name": "search", "description": "Finds text.",
                "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}}}],
            "tool_choice": {"type": "function", "function": {"name": "search"}},
        })
    );
}

#[test]
fn e13_anthropic_is_asked_in_its_form() {
    let seen = sent(&model(Provider::Anthropic, ""), "/v1", conversation());
    assert!(seen.head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{}", seen.head);
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.header("authorization"), None);
    let cache = json!({"type": "ephemeral"});
    assert_eq!(
        seen.json(),
        json!({
            "model": "some-model", "stream": true, "max_tokens": 500,
            "system": [{"type": "text", "text": "You are brief.", "cache_control": cache}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "find it"}, {"type": "text", "text": "please"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "T", "signature": "S+/="},
                    {"type": "text", "text": " I look. "},
                    {"type": "tool_use", "id": "drawn-1", "name": "search", "input": {"query": "x"}},
                    {"type": "tool_use", "id": "b_2", "name": "look", "input": {"invalid_arguments": "no json"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "drawn-1", "content": "found"},
                    {"type": "tool_result", "tool_use_id": "b_2", "content": "Error: no", "is_error": true},
                    {"type": "text", "text": "go on", "cache_control": cache},
                ]},
                {"role": "assistant", "content": [{"type": "text", "text": "so"}]},
                {"role": "user", "content": [{"type": "text", "text": "and now?", "cache_control": cache}]},
            ],
            "tools": [{"name": "search", "description": "Finds text.", "strict": true,
                "input_schema": {"type": "object", "properties": {"query": {"type": "string"}},
                    "additionalProperties": false}}],
            "tool_choice": {"type": "tool", "name": "search"},
        })
    );
}

#[test]
fn e13_ollama_is_asked_in_its_form() {
    let asked = ModelRequest { choice: Some(RequestToolChoice::Auto), ..conversation() };
    let seen = sent(&model(Provider::Ollama, ""), "", asked.clone());
    assert!(seen.head.starts_with("POST /api/chat HTTP/1.1\r\n"), "{}", seen.head);
    let function = |id: &str, name: &str, arguments: Value| json!({"id": id, "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        seen.json(),
        json!({
            "model": "some-model", "stream": true, "options": {"num_ctx": 32_000, "num_predict": 500},
            "messages": [
                {"role": "system", "content": "You are brief."},
                {"role": "user", "content": "find it"},
                {"role": "user", "content": "please"},
                {"role": "assistant", "content": " I look. ", "thinking": "O", "tool_calls": [
                    function("drawn-1", "search", json!({"query": "x"})),
                    function("b:2", "look", json!({"invalid_arguments": "no json"}))]},
                {"role": "tool", "tool_name": "search", "tool_call_id": "drawn-1", "content": "found"},
                {"role": "tool", "tool_name": "look", "tool_call_id": "b:2", "content": "Error: no"},
                {"role": "user", "content": "go on"},
                {"role": "assistant", "content": "so"},
                {"role": "user", "content": "and now?"},
            ],
            "tools": [{"type": "function", "function": {"name": "search", "description": "Finds text.",
                "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}}}],
        })
    );
    let none = sent(
        &model(Provider::Ollama, ""),
        "/api",
        ModelRequest { choice: Some(RequestToolChoice::None), ..asked },
    );
    assert_eq!(none.json().get("tools"), None);
    assert!(none.head.starts_with("POST /api/chat HTTP/1.1\r\n"), "{}", none.head);
}

#[test]
fn e13_tool_choices_that_ollama_lacks_are_refused_before_the_request() {
    let server = ByteServer::saying("");
    for choice in [RequestToolChoice::Required, RequestToolChoice::Tool("search".to_owned())] {
        let asked = ModelRequest { choice: Some(choice), ..conversation() };
        let fault =
            ask(&model(Provider::Ollama, &server.url()), limits(), asked).expect_err("not to be said");
        assert_eq!((fault.kind, fault.may_be_paid), (ModelFaultKind::InvalidRequest, false));
        assert!(fault.words.contains("set tool_choice to auto or leave it out"), "{fault:?}");
    }
    assert_eq!(server.end().len(), 0);
}

#[test]
fn e13_gemini_is_asked_in_its_form() {
    let seen = sent(&model(Provider::Gemini, ""), "", conversation());
    let path = "POST /v1beta/models/some-model:streamGenerateContent?alt=sse HTTP/1.1\r\n";
    assert!(seen.head.starts_with(path), "{}", seen.head);
    assert_eq!(seen.header("x-goog-api-key"), Some(KEY));
    assert_eq!(
        seen.json(),
        json!({
            "systemInstruction": {"parts": [{"text": "You are brief."}]},
            "generationConfig": {"maxOutputTokens": 500},
            "contents": [
                {"role": "user", "parts": [{"text": "find it"}, {"text": "please"}]},
                {"role": "model", "parts": [
                    {"text": " I look. ", "thoughtSignature": "G1"},
                    {"functionCall": {"name": "search", "args": {"query": "x"}}, "thoughtSignature": "G2"},
                    {"functionCall": {"name": "look", "args": {"invalid_arguments": "no json"}, "id": "b:2"}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "search", "response": {"result": "found"}}},
                    {"functionResponse": {"name": "look", "response": {"error": "Error: no"}, "id": "b:2"}},
                    {"text": "go on"},
                ]},
                {"role": "model", "parts": [{"text": "so"}]},
                {"role": "user", "parts": [{"text": "and now?"}]},
            ],
            "tools": [{"functionDeclarations": [{"name": "search", "description": "Finds text.",
                "parametersJsonSchema": {"type": "object", "properties": {"query": {"type": "string"}}}}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["search"]}},
        })
    );
    let tuned = spec::ModelSpec { model: "tunedModels/a b".to_owned(), ..model(Provider::Gemini, "") };
    let seen = sent(&tuned, "/v1", request("hello"));
    assert!(
        seen.head.starts_with("POST /v1/tunedModels/a%20b:streamGenerateContent?alt=sse "),
        "{}",
        seen.head
    );
}

#[test]
fn e13_reasoning_goes_back_as_it_came() {
    for form in FORMS {
        let answer = super::streams::answer(form);
        let mut asked = request("hello");
        asked.messages.push(said(MessageAuthor::Assistant, answer.parts));
        let results = [("search", "drawn-1"), ("look", "x7")].map(|(name, id)| MessagePart::Result {
            id: id.to_owned(),
            name: name.to_owned(),
            text: "done".to_owned(),
            is_error: false,
        });
        asked.messages.push(said(MessageAuthor::User, results.to_vec()));
        let body = sent(&model(form, ""), "", asked).json().to_string();
        let expected: &[&str] = match form {
            Provider::OpenAi => &["\"reasoning_content\":\"Hm\u{2026}\""],
            Provider::OpenAiResponses => &["\"encrypted_content\":\"gAAAAAbegunAndEnded+/=\""],
            Provider::Anthropic => {
                &["{\"signature\":\"EqQB+/=\",\"thinking\":\"Hm\u{2026}\",\"type\":\"thinking\"},\
                 {\"data\":\"Emw=\",\"type\":\"redacted_thinking\"}"]
            }
            Provider::Ollama => &["\"thinking\":\"Hm\u{2026}\""],
            _ => &["\"name\":\"search\"},\"thoughtSignature\":\"EqQB+/=\"}"],
        };
        for expected in expected {
            assert!(body.contains(expected), "{form:?}: {expected} in {body}");
        }
    }
}

#[test]
fn e17_without_tools_neither_tools_nor_a_choice_is_sent() {
    for form in FORMS {
        for choice in [
            None,
            Some(RequestToolChoice::Auto),
            Some(RequestToolChoice::None),
            Some(RequestToolChoice::Required),
        ] {
            let seen = sent(&model(form, ""), "", ModelRequest { choice, ..request("hello") });
            let text = String::from_utf8(seen.body).unwrap().to_ascii_lowercase();
            assert!(!text.contains("tool") && !text.contains("function"), "{form:?}: {text}");
        }
    }
}

#[test]
fn e13_parameters_are_laid_over_what_is_sent() {
    let params = |value: Value| value.as_object().cloned().unwrap();
    let with = |form, given| spec::ModelSpec { params: params(given), ..model(form, "") };
    let openai = with(
        Provider::OpenAi,
        json!({"temperature": 0, "stream_options": {"x": 1}, "max_completion_tokens": 7}),
    );
    let asked = ModelRequest { params: params(json!({"temperature": 1, "seed": 5})), ..request("hello") };
    let body = sent(&openai, "", asked).json();
    assert_eq!((&body["temperature"], &body["seed"]), (&json!(1), &json!(5)));
    assert_eq!(body["stream_options"], json!({"include_usage": true, "x": 1}));
    assert_eq!((body.get("max_tokens"), &body["max_completion_tokens"]), (None, &json!(7)));
    let ollama =
        with(Provider::Ollama, json!({"options": {"num_ctx": 8_000, "num_predict": null, "top_k": 3}}));
    assert_eq!(sent(&ollama, "", request("hello")).json()["options"], json!({"num_ctx": 8_000, "top_k": 3}));
    let smaller = spec::ModelSpec { max_output: 100, ..model(Provider::Gemini, "") };
    assert_eq!(
        sent(&smaller, "", request("hello")).json()["generationConfig"]["maxOutputTokens"],
        json!(100)
    );
}

#[test]
fn e13_what_the_conversation_is_made_of_is_no_parameter() {
    for (form, reserved) in [
        (Provider::OpenAi, "messages"),
        (Provider::OpenAiResponses, "input"),
        (Provider::Anthropic, "tools"),
        (Provider::Ollama, "stream"),
        (Provider::Gemini, "contents"),
    ] {
        let given = serde_json::Map::from_iter([(reserved.to_owned(), json!(1))]);
        let model = spec::ModelSpec { params: given.clone(), ..model(form, "http://127.0.0.1:9") };
        let words = match ModelAdapter::new(&model, None, limits(), None) {
            Ok(_) => panic!("{reserved} was taken"),
            Err(unusable) => unusable.to_string(),
        };
        assert!(words.starts_with(&format!("models.main.params has {reserved}, ")), "{words}");
        let plain = spec::ModelSpec { params: serde_json::Map::new(), ..model };
        let fault =
            ask(&plain, limits(), ModelRequest { params: given, ..request("x") }).expect_err("not sent");
        assert_eq!((fault.kind, fault.may_be_paid), (ModelFaultKind::InvalidRequest, false));
    }
}

/// A conversation that ends with results, and perhaps words behind them.
fn with_results(words: &[&str]) -> ModelRequest {
    let result = |id: &str, text: &str| MessagePart::Result {
        id: id.to_owned(),
        name: "search".to_owned(),
        text: text.to_owned(),
        is_error: false,
    };
    let calls = vec![call("a", "search", "{}"), call("b", "search", "{}")];
    let mut results = vec![result("a", "one"), result("b", "two")];
    results.extend(words.iter().map(|words| text(words)));
    let messages = vec![
        said(MessageAuthor::User, vec![text("find it")]),
        said(MessageAuthor::Assistant, calls),
        said(MessageAuthor::User, results),
    ];
    ModelRequest { messages, header: Some("the header".to_owned()), ..request("x") }
}

/// The last messages of a request in a provider's form.
fn last_messages(form: Provider, request: ModelRequest) -> Vec<Value> {
    let body = sent(&model(form, ""), "", request).json();
    let name = super::bench::name_messages(form);
    let messages = body[name].as_array().unwrap();
    messages[messages.len().saturating_sub(2)..].to_vec()
}

#[test]
fn c10_the_header_has_its_place_behind_results_in_every_form() {
    let cache = json!({"type": "ephemeral"});
    let blocks = json!([
        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
        {"type": "tool_result", "tool_use_id": "b", "content": [
            {"type": "text", "text": "two", "cache_control": cache},
            {"type": "text", "text": "the header"},
        ]},
    ]);
    assert_eq!(last_messages(Provider::Anthropic, with_results(&[]))[1]["content"], blocks);
    let parts = &last_messages(Provider::Gemini, with_results(&[]))[1]["parts"];
    let responses = [&parts[0], &parts[1]].map(|part| part["functionResponse"]["response"].clone());
    assert_eq!(responses, [json!({"result": "one"}), json!({"result": "two", "system": "the header"})]);
    for form in [Provider::OpenAi, Provider::Ollama] {
        let last = last_messages(form, with_results(&[]));
        let roles = [&last[0], &last[1]].map(|message| message["role"].clone());
        assert_eq!((roles, &last[1]["content"]), ([json!("tool"), json!("user")], &json!("the header")));
    }
}

#[test]
fn c10_the_header_ends_the_last_text_of_the_user_in_every_form() {
    for form in FORMS {
        for request in [
            with_results(&["a steer"]),
            ModelRequest { header: Some("the header".to_owned()), ..request("hi") },
        ] {
            let last = last_messages(form, request).pop().unwrap();
            let said = last["content"].as_array().or_else(|| last["parts"].as_array());
            match said {
                Some(blocks) => {
                    assert_eq!(blocks.last().unwrap()["text"], "the header", "{form:?}: {last}");
                    assert!(
                        blocks.len() > 1 && blocks[blocks.len() - 2]["text"].is_string(),
                        "{form:?}: {last}"
                    );
                    let mark = &blocks[blocks.len() - 2]["cache_control"];
                    assert_eq!(mark.is_object(), form == Provider::Anthropic, "{form:?}: {last}");
                }
                None => {
                    let text = last["content"].as_str().unwrap();
                    assert!(["a steer\nthe header", "hi\nthe header"].contains(&text), "{form:?}: {last}");
                }
            }
        }
    }
}

#[test]
fn c10_an_empty_last_result_holds_the_header_alone() {
    let mut request = with_results(&[]);
    let parts = &mut request.messages[2].parts;
    if let Some(MessagePart::Result { text, .. }) = parts.last_mut() {
        " ".clone_into(text);
    }
    let content = &last_messages(Provider::Anthropic, request)[1]["content"];
    let cache = json!({"type": "ephemeral"});
    assert_eq!(content[1]["content"], json!([{"type": "text", "text": "the header"}]));
    assert_eq!(content[0]["cache_control"], cache, "the mark is on the block before");
}

#[test]
fn without_a_cache_anthropic_is_sent_no_marks() {
    let asked = |is_cached| {
        let model = spec::ModelSpec { is_cached, ..model(Provider::Anthropic, "") };
        sent(&model, "", conversation()).json()
    };
    let marks = |body: &Value| body.to_string().matches("cache_control").count();
    assert_eq!((marks(&asked(true)), marks(&asked(false))), (3, 0));
}

#[test]
fn a_budget_of_reasoning_leaves_half_of_a_smaller_answer() {
    for (tokens, max_output, thinking) in [
        (2_000, 16_000, json!({"type": "enabled", "budget_tokens": 2_000})),
        (8_000, 4_000, json!({"type": "enabled", "budget_tokens": 2_000})),
        (8_000, 2_048, json!({"type": "enabled", "budget_tokens": 1_024})),
        (8_000, 2_047, json!({"type": "disabled"})),
    ] {
        let thinks = Some(ModelThinking::Tokens(tokens));
        let model = spec::ModelSpec { thinking: thinks, max_output, ..model(Provider::Anthropic, "") };
        let body = sent(&model, "", ModelRequest { max_output, ..request("hello") }).json();
        assert_eq!(body["thinking"], thinking, "{tokens} of {max_output}");
    }
}

#[test]
fn reasoning_is_asked_for_in_the_field_of_each_provider() {
    use ModelThinking::{High, Max, Off, Tokens};
    let body = |provider, thinking: Option<ModelThinking>| {
        let mut model = model(provider, "");
        model.thinking = thinking;
        sent(&model, "", request("hello")).json()
    };
    for (provider, thinking, fields) in [
        (Provider::OpenAi, Off, json!({"chat_template_kwargs": {"enable_thinking": false}})),
        (
            Provider::OpenAi,
            High,
            json!({"chat_template_kwargs": {"enable_thinking": true, "reasoning_effort": "high"}}),
        ),
        (
            Provider::OpenAi,
            Tokens(300),
            json!({"chat_template_kwargs": {"enable_thinking": true, "thinking_budget": 300}}),
        ),
        (Provider::Anthropic, Off, json!({"thinking": {"type": "disabled"}})),
        (
            Provider::Anthropic,
            Max,
            json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
        ),
        // A fallback may have a smaller answer than the budget of its own section, and half of it too few tokens.
        (Provider::Anthropic, Tokens(8_000), json!({"thinking": {"type": "disabled"}})),
        (
            Provider::Gemini,
            Off,
            json!({"generationConfig": {"maxOutputTokens": 500, "thinkingConfig": {"thinkingBudget": 0}}}),
        ),
        (
            Provider::Gemini,
            High,
            json!({"generationConfig": {"maxOutputTokens": 500, "thinkingConfig": {"thinkingLevel": "high"}}}),
        ),
        (Provider::Ollama, Off, json!({"think": false})),
        (Provider::Ollama, High, json!({"think": "high"})),
    ] {
        let mut wanted = body(provider, None);
        for (name, value) in fields.as_object().expect("fields") {
            wanted[name] = value.clone();
        }
        assert_eq!(body(provider, Some(thinking)), wanted, "{provider:?} {thinking:?}");
    }
}
