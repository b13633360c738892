//! Network faults: no server, no answer, no end. Timeouts here are short and real.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use systole_agent::model::{HttpLimits, Model, ModelFault, ModelFaultKind};
use systole_agent::spec::Provider;
use tokio::sync::Notify;

use super::bench::{FORMS, adapter, ask, limits, model, request, run};
use super::server::{Act, ByteServer, chunk, head, measured};
use super::streams::{body, content_type};

const SHORT: Duration = Duration::from_millis(60);

fn fault(provider: Provider, url: &str, limits: HttpLimits) -> ModelFault {
    ask(&model(provider, url), limits, request("hello")).expect_err("a fault")
}

#[test]
fn e13_an_unreachable_address_is_named_in_the_error() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|taken| taken.local_addr()).expect("a port");
    for form in FORMS {
        let refused = fault(form, &format!("http://{free}"), limits());
        assert_eq!(
            (refused.kind, refused.status, refused.may_be_paid),
            (ModelFaultKind::Unavailable, None, false)
        );
        for words in [&format!("at {free} cannot be reached: "), "refused", "look at models.main.url"] {
            assert!(refused.words.contains(words), "{words:?} in {refused:?}");
        }
    }
    let unknown = fault(Provider::OpenAi, "http://absent.invalid", limits());
    assert_eq!((unknown.kind, unknown.may_be_paid), (ModelFaultKind::Unavailable, false));
    assert!(
        unknown.words.contains("absent.invalid:80 cannot be reached: no address is known"),
        "{unknown:?}"
    );
}

#[test]
fn e13_a_server_without_tls_is_reported() {
    let server = ByteServer::saying(measured("200 OK", &[], ""));
    let found =
        fault(Provider::OpenAi, &format!("https://{}", server.at), HttpLimits { connect: SHORT, ..limits() });
    assert_eq!((found.kind, found.status, found.may_be_paid), (ModelFaultKind::Unavailable, None, false));
    assert!(found.words.contains("cannot be reached: no"), "{found:?}");
}

#[test]
fn e13_who_accepts_and_says_nothing_is_waited_for_so_long() {
    for form in FORMS {
        let server = ByteServer::start(vec![vec![Act::Hang]]);
        let found = fault(form, &server.url(), HttpLimits { first: SHORT, ..limits() });
        assert_eq!(
            (found.kind, found.status, found.may_be_paid),
            (ModelFaultKind::Unavailable, None, true),
            "{found:?}"
        );
        assert!(found.words.ends_with("has not begun to answer within 60 ms"), "{found:?}");
        assert!(server.end().iter().all(|seen| seen.left), "the connection was closed");
    }
}

#[test]
fn e13_heartbeats_are_no_answer() {
    for form in FORMS {
        let (comment, empty): (&[u8], &[u8]) = match form {
            Provider::Ollama => (b"\n", b"{\"message\":{\"content\":\"\"},\"done\":false}\n"),
            Provider::OpenAi => (b": ping\n\n", b"data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n"),
            Provider::OpenAiResponses => (
                b": ping\n\n",
                b"data: {\"type\":\"response.in_progress\",\"response\":{\"status\":\"in_progress\"}}\n\n",
            ),
            Provider::Anthropic => (b"event: ping\ndata: {\"type\": \"ping\"}\n\n", b": x\n\n"),
            _ => (b": ping\n\n", b"data: {\"usageMetadata\":{\"promptTokenCount\":1}}\n\n"),
        };
        let begun = begun(form);
        for beat in [comment, empty] {
            let first =
                ByteServer::start(vec![vec![Act::Send(head(content_type(form))), Act::Drip(chunk(beat))]]);
            let found = fault(form, &first.url(), HttpLimits { first: SHORT, ..limits() });
            assert_eq!(
                (found.kind, found.may_be_paid),
                (ModelFaultKind::Unavailable, true),
                "{form:?}: {found:?}"
            );
            let later = ByteServer::start(vec![vec![
                Act::Send([head(content_type(form)), chunk(begun.as_bytes())].concat()),
                Act::Drip(chunk(beat)),
            ]]);
            let found = fault(form, &later.url(), HttpLimits { idle: SHORT, ..limits() });
            assert_eq!(
                (found.kind, found.partial.as_str()),
                (ModelFaultKind::Truncated, "x"),
                "{form:?}: {found:?}"
            );
            assert!(found.words.ends_with("said nothing more for 60 ms"), "{found:?}");
            let flooded = ByteServer::start(vec![vec![
                Act::Send([head(content_type(form)), chunk(begun.as_bytes())].concat()),
                Act::Flood(chunk(&beat.repeat(500))),
            ]]);
            let found = fault(form, &flooded.url(), HttpLimits { idle: SHORT, ..limits() });
            assert_eq!(
                (found.kind, found.partial.as_str()),
                (ModelFaultKind::Truncated, "x"),
                "{form:?}: {found:?}"
            );
            for server in [first, later, flooded] {
                assert!(server.end().iter().all(|seen| seen.left), "the connection was closed");
            }
        }
    }
}

fn begun(form: Provider) -> String {
    match form {
        Provider::OpenAi => "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n",
        Provider::OpenAiResponses => {
            "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"x\"}\n\n"
        }
        Provider::Anthropic => {
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n"
        }
        Provider::Ollama => "{\"message\":{\"content\":\"x\"},\"done\":false}\n",
        _ => "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]}}]}\n\n",
    }
    .to_owned()
}

#[test]
fn e10_an_endless_answer_is_cut_at_the_limit_and_kept() {
    for form in FORMS {
        let words = "\u{e9}\u{1f9e0}x ".repeat(100);
        let piece = begun(form).replace("\"x\"", &format!("\"{words}\""));
        let server = ByteServer::start(vec![vec![
            Act::Send(head(content_type(form))),
            Act::Drip(chunk(piece.repeat(50).as_bytes())),
        ]]);
        let found = fault(form, &server.url(), HttpLimits { answer: 100_001, ..limits() });
        assert_eq!((found.kind, found.may_be_paid), (ModelFaultKind::TooLarge, true), "{form:?}");
        assert!(found.words.contains("more than 100001 bytes"), "{}", found.words);
        let kept = found.partial.len();
        assert!((99_998..=100_001).contains(&kept), "{form:?}: {kept}");
        assert!(words.repeat(100_000).starts_with(&found.partial), "{form:?}");
        assert!(server.end().iter().all(|seen| seen.left), "the connection was closed");
    }
}

#[test]
fn e10_a_line_without_an_end_is_cut_at_the_limit() {
    for form in FORMS {
        let server = ByteServer::start(vec![vec![
            Act::Send([head(content_type(form)), chunk(begun(form).as_bytes())].concat()),
            Act::Drip(chunk("y".repeat(50_000).as_bytes())),
        ]]);
        let found = fault(form, &server.url(), HttpLimits { line: 200_000, ..limits() });
        assert_eq!((found.kind, found.partial.as_str()), (ModelFaultKind::TooLarge, "x"), "{form:?}");
        assert!(found.words.contains("a line of more than 200000 bytes"), "{}", found.words);
        assert!(server.end().iter().all(|seen| seen.left), "the connection was closed");
    }
}

#[test]
fn e13_a_caller_that_stops_waiting_ends_the_request() {
    for form in FORMS {
        let heard = Arc::new(Notify::new());
        let begin = [head(content_type(form)), chunk(begun(form).as_bytes())].concat();
        // Before the head of the answer, and in the middle of its body.
        for acts in [vec![Act::Tell(Arc::clone(&heard)), Act::Hang], vec![Act::Send(begin), Act::Hang]] {
            let server = ByteServer::start(vec![acts]);
            let adapter = adapter(&model(form, &server.url()), limits());
            let begins = Arc::clone(&heard);
            let asking = adapter.ask(request("hello"), Box::new(move |_| begins.notify_one()));
            run(async {
                tokio::select! {
                    found = asking => panic!("it hangs: {found:?}"),
                    () = heard.notified() => {}
                }
            });
            let seen = server.end();
            assert!(seen.len() == 1 && seen[0].left, "{form:?}: {seen:?}");
        }
    }
}

#[test]
fn e13_what_comes_behind_the_end_is_not_waited_for() {
    for form in [Provider::OpenAi, Provider::OpenAiResponses, Provider::Anthropic, Provider::Ollama] {
        let bytes = [head(content_type(form)), chunk(body(form).as_bytes())].concat();
        let server = ByteServer::start(vec![vec![Act::Send(bytes), Act::Hang]]);
        let found = ask(&model(form, &server.url()), limits(), request("hello"));
        assert_eq!(found, Ok(super::streams::answer(form)));
    }
}
