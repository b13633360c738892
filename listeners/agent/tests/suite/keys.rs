//! A key is sent and never shown: not in messages, not in a partial answer, not in the output of `Debug`.

use systole_agent::model::{KeyFault, ModelAdapter, ModelFault, ModelKey};
use systole_agent::spec::{self, Provider};

use super::bench::{FORMS, KEY, ask, limits, model, request};
use super::server::{ByteServer, chunked, measured};
use super::streams::content_type;

#[test]
fn e13_a_key_that_is_said_back_stands_nowhere() {
    let page = format!("<h1>{KEY}</h1>");
    let json = |text: &str| format!(r#"{{"error":{{"message":"{text}","type":"{text}","code":"{text}"}}}}"#);
    let long = format!("{} {KEY}", "x".repeat(8 * 1024 - 10));
    for form in FORMS {
        let mut answers = Vec::new();
        for status in ["200 OK", "302 Found", "400 No", "401 No", "404 No", "429 No", "500 No"] {
            for text in [page.as_str(), KEY, &json(KEY), &json(&format!("wrong: {KEY}.")), &long] {
                for kind in ["text/html", "application/json", "text/plain", content_type(form)] {
                    answers.push(measured(status, &[&format!("content-type: {kind}")], text));
                }
            }
        }
        let said = match form {
            Provider::OpenAi => {
                format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{KEY}\"}}}}]}}\n\n")
            }
            Provider::OpenAiResponses => {
                format!("data: {{\"type\":\"response.output_text.delta\",\"delta\":\"{KEY}\"}}\n\n")
            }
            Provider::Anthropic => format!(
                "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{KEY}\"}}}}\n\n"
            ),
            Provider::Ollama => format!("{{\"message\":{{\"content\":\"{KEY}\"}}}}\n"),
            _ => format!(
                "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{KEY}\"}}]}}}}]}}\n\n"
            ),
        };
        answers.push(chunked(content_type(form), &[said.as_bytes()]));
        answers.push(chunked(content_type(form), &[format!("data: }}{KEY}\n\n").as_bytes()]));
        let count = answers.len();
        let server = ByteServer::start(
            answers.into_iter().map(|bytes| vec![super::server::Act::Send(bytes)]).collect(),
        );
        for at in 0..count {
            let fault: ModelFault =
                ask(&model(form, &server.url()), limits(), request("hello")).expect_err("a fault");
            for shown in [format!("{fault:?}"), fault.to_string(), fault.partial.clone()] {
                assert!(!shown.contains("sk-test"), "{form:?} {at}: {shown}");
            }
        }
        let seen = server.end();
        assert!(seen.iter().all(|seen| seen.head.contains(KEY)), "it was sent: {form:?}");
    }
}

#[test]
fn e13_a_missing_key_names_its_variable_and_where_that_is_named() {
    let model = model(Provider::OpenAi, "http://127.0.0.1:9");
    for (given, missing) in
        [(None, true), (Some(" \n"), true), (Some("a\u{e9}b"), false), (Some("a b"), false)]
    {
        let fault = match ModelKey::from_lookup(&model, |variable| {
            assert_eq!(variable, "SOME_KEY");
            given.map(str::to_owned)
        }) {
            Ok(_) => panic!("no key: {given:?}"),
            Err(fault) => fault,
        };
        assert_eq!(matches!(fault, KeyFault::Missing { .. }), missing);
        let words = fault.to_string();
        assert!(words.starts_with("the variable SOME_KEY, which models.main.key_env names, "), "{words}");
    }
    let keyless = spec::ModelSpec { key_env: None, ..model };
    assert!(matches!(ModelKey::from_lookup(&keyless, |_| panic!("nothing is read")), Ok(None)));
}

#[test]
fn e13_without_a_key_the_words_say_where_one_is_named() {
    for form in FORMS {
        let server = ByteServer::saying(measured("401 No", &[], "{\"error\":\"who are you\"}"));
        let model = spec::ModelSpec { key_env: None, ..model(form, &server.url()) };
        let adapter = ModelAdapter::new(&model, None, limits(), None).expect("a model without a key");
        let asking = systole_agent::model::Model::ask(&adapter, request("hello"), super::bench::unwatched());
        let fault = super::bench::run(asking).expect_err("a fault");
        assert!(
            fault.words.contains("no key was sent: name the variable that holds it in models.main.key_env")
        );
    }
}

#[test]
fn e13_an_address_that_is_none_is_reported_with_its_key_in_the_file() {
    for (url, words) in [
        (
            "api.example.com/v1",
            "models.main.url is api.example.com/v1, and it has no scheme: write it as https://host/path",
        ),
        ("ftp://example.com", "its scheme is neither http nor https"),
        ("http://me:pass@example.com", "a name or a password"),
    ] {
        match ModelAdapter::new(&model(Provider::Anthropic, url), None, limits(), None) {
            Ok(_) => panic!("{url} was taken"),
            Err(unusable) => {
                let said = unusable.to_string();
                assert!(said.contains(words) && !said.contains("pass@"), "{said}");
            }
        }
    }
}
