//! Gemini's wire format: every byte of its answers, and each request that it refuses.

use systole_mock_model::MockOptions;

use crate::client::{gemini, mock, send, with};

const ASKS: &str = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;

fn part(parts: &str, reason: &str, usage: &str) -> String {
    let finish = if reason.is_empty() { String::new() } else { format!(r#""finishReason":"{reason}","#) };
    format!(
        r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}},{finish}"index":0}}],"usageMetadata":{usage},"modelVersion":"g","responseId":"mock000001"}}"#
    )
}

const OPEN: &str = r#"{"promptTokenCount":12,"cachedContentTokenCount":8,"totalTokenCount":12,"promptTokensDetails":[{"modality":"TEXT","tokenCount":12}]}"#;
const OVER: &str = r#"{"promptTokenCount":12,"cachedContentTokenCount":8,"candidatesTokenCount":2,"totalTokenCount":15,"thoughtsTokenCount":1,"promptTokensDetails":[{"modality":"TEXT","tokenCount":12}]}"#;
const SCRIPT: &str = "- {thinking: Hm., say: 'Hé, you', call: {search: {query: x}}, chunk: 4, usage: {in: 12, out: 3, cached: 8}}";

fn parts() -> [String; 5] {
    [
        part(r#"{"text":"Hm.","thought":true}"#, "", OPEN),
        part(r#"{"text":"Hé, "}"#, "", OPEN),
        part(r#"{"text":"you"}"#, "", OPEN),
        part(r#"{"functionCall":{"name":"search","args":{"query":"x"}}}"#, "", OPEN),
        part(r#"{"text":""}"#, "STOP", OVER),
    ]
}

#[test]
fn a_stream_of_events_has_a_part_in_each() {
    let mock = mock(SCRIPT);
    let heard = gemini(&mock, "streamGenerateContent?alt=sse", ASKS);
    assert_eq!(heard.status, 200);
    assert_eq!(heard.header("content-type"), Some("text/event-stream"));
    let wanted: Vec<String> = parts().iter().map(|part| format!("data: {part}\r\n\r\n")).collect();
    assert_eq!(heard.text(), wanted.concat());
    assert!(heard.whole);
}

#[test]
fn without_events_the_stream_is_an_array_that_grows() {
    let mock = mock(SCRIPT);
    let heard = gemini(&mock, "streamGenerateContent", ASKS);
    assert_eq!(heard.header("content-type"), Some("application/json; charset=UTF-8"));
    assert_eq!(heard.text(), format!("[{}]", parts().join(",\r\n")));
    assert_eq!(heard.json().as_array().unwrap().len(), 5);
    // Its refusal is an array too.
    assert_eq!(gemini(&mock, "streamGenerateContent", "{}").json()[0]["error"]["code"], 400);
}

#[test]
fn a_whole_answer_is_one_value() {
    let mock = mock(
        "- {say: 'Hé', stop: length, usage: {in: 3, out: 1}}\n- {call: [{f: {raw: nonsense}, id: i1}, {g: {}, id: i1}]}\n- {say: a, stop: filter}\n- {say: a, stop: none}",
    );
    let heard = gemini(&mock, "generateContent", ASKS);
    let usage = r#"{"promptTokenCount":3,"candidatesTokenCount":1,"totalTokenCount":4,"promptTokensDetails":[{"modality":"TEXT","tokenCount":3}]}"#;
    assert_eq!(heard.text(), part(r#"{"text":"Hé"}"#, "MAX_TOKENS", usage) + "\n");
    let candidate = || gemini(&mock, "generateContent", ASKS).json()["candidates"][0].clone();
    let calls = candidate();
    let calls = &calls["content"]["parts"];
    assert_eq!(
        (calls[0]["functionCall"]["args"].as_str(), calls[0]["functionCall"]["id"].as_str()),
        (Some("nonsense"), Some("i1"))
    );
    assert_eq!(calls[1]["functionCall"]["id"], "i1");
    assert_eq!(candidate()["finishReason"], "SAFETY");
    assert_eq!(candidate().get("finishReason"), None);
}

#[test]
fn requests_are_refused_as_the_provider_refuses_them() {
    let options = MockOptions { models: vec!["g".to_owned()], window: Some(10), ..MockOptions::default() };
    let mock = with("- {say: never}", options);
    let user = r#"{"role":"user","parts":[{"text":"hi"}]}"#;
    let call = r#"{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}"#;
    let answer = r#"{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":1}}}]}"#;
    let contents = |inner: &str| format!(r#"{{"contents":[{inner}]}}"#);
    let config =
        |more: &str, inner: &str| format!(r#"{{{more}"contents":[{user}],"generationConfig":{{{inner}}}}}"#);
    for (body, words) in [
        ("{".to_owned(), "Invalid JSON payload received"),
        (contents(""), "contents is not specified"),
        (
            config("", r#""responseJsonSchema":{}"#),
            "only supported with a response mime type of application/json",
        ),
        (
            config("", r#""responseMimeType":"application/json","responseJsonSchema":[]"#),
            "Invalid value at 'generation_config.responseJsonSchema'",
        ),
        (
            config(
                r#""tools":[{"functionDeclarations":[{"name":"f"}]}],"#,
                r#""responseMimeType":"application/json""#,
            ),
            "Function calling with a response mime type: 'application/json' is unsupported",
        ),
        (contents(r#"{"role":"assistant","parts":[{"text":"x"}]}"#), "Please use a valid role: user, model."),
        (contents(r#"{"role":"user","parts":[]}"#), "contents[0].parts: contents.parts must not be empty"),
        (contents(answer), "function response turn comes immediately after a function call turn"),
        (
            contents(&format!("{user},{call},{user}")),
            "number of function response parts is equal to the number",
        ),
        (contents(&format!("{user},{call}")), "number of function response parts is equal to the number"),
        (contents(call), "function call turn comes immediately after a user turn"),
        (
            ASKS.replace(
                r#""contents""#,
                r#""tools":[{"functionDeclarations":[{"name":"a b"}]}],"contents""#,
            ),
            "Invalid function name",
        ),
        (
            ASKS.replace(r#""contents""#, r#""toolConfig":{"functionCallingConfig":{}},"contents""#),
            "without function_declarations",
        ),
        (
            ASKS.replace("hi", &"x".repeat(37)),
            "The input token count (11) exceeds the maximum number of tokens allowed (10).",
        ),
    ] {
        let heard = gemini(&mock, "generateContent", &body);
        let error = &heard.json()["error"];
        assert_eq!(
            (heard.status, error["code"].as_u64(), error["status"].as_str()),
            (400, Some(400), Some("INVALID_ARGUMENT")),
            "{body}: {error}"
        );
        assert!(heard.message().contains(words), "{body}: {error}");
    }
    let heard = gemini(&mock, "generateContent", &contents(&format!("{user},{call},{answer}")));
    assert_eq!(heard.status, 200, "{heard:?}");
}

#[test]
fn a_wrong_path_model_or_key_is_refused() {
    let options = MockOptions {
        key: Some("AIza-right".to_owned()),
        models: vec!["g".to_owned()],
        ..MockOptions::default()
    };
    let mock = with("- {say: a, times: 2}", options);
    let path = "/v1beta/models/g:generateContent";
    let right = ["x-goog-api-key: AIza-right"];
    for (method, path, headers, status, word, words) in [
        ("POST", "/v1beta/models/g:generate", &right[..], 404, "NOT_FOUND", "was not found on this server"),
        ("GET", path, &right[..], 404, "NOT_FOUND", "was not found on this server"),
        (
            "POST",
            "/v1beta/models/h:generateContent",
            &right[..],
            404,
            "NOT_FOUND",
            "models/h is not found for API version v1beta",
        ),
        ("POST", path, &[][..], 401, "UNAUTHENTICATED", "unregistered callers"),
        ("POST", path, &["x-goog-api-key: AIza-wrong"][..], 401, "UNAUTHENTICATED", "API key not valid"),
    ] {
        let heard = send(&mock, method, path, headers, ASKS);
        let error = &heard.json()["error"];
        assert_eq!((heard.status, error["status"].as_str()), (status, Some(word)), "{error}");
        assert!(heard.message().contains(words), "{error}");
    }
    assert_eq!(send(&mock, "POST", path, &right, ASKS).status, 200);
    assert_eq!(send(&mock, "POST", &format!("{path}?key=AIza-right"), &[], ASKS).status, 200);
}
