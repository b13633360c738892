//! How providers are reached: an answer in one piece, timeouts of the file, extra headers, a query, a proxy.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use systole_agent::model::{
    HttpLimits, Model, ModelAccess, ModelAdapter, ModelAnswer, ModelFault, ModelFaultKind, RootCertStore,
    StopReason,
};
use systole_agent::spec::{self, ModelTimeouts, Provider};
use systole_mock_model::{MockModel, MockOptions, MockScript};

use super::bench::{FORMS, KEY, ask, limits, model, request, run, text, unwatched};
use super::server::{Act, ByteServer, chunk, chunked, head, measured};
use super::streams::{answer, body, content_type};
use super::tls;

#[test]
fn an_answer_in_one_piece_is_asked_for_and_read_in_every_form() {
    for form in FORMS {
        let script =
            "- {say: Hello there., thinking: Hm, call: {search: {query: x}}, usage: {in: 12, out: 3}}";
        let script = MockScript::parse(script).unwrap_or_else(|bad| panic!("{bad:?}"));
        let options = MockOptions { key: Some(KEY.to_owned()), ..MockOptions::default() };
        let mock = MockModel::start(script, options).expect("a mock");
        let path = if super::bench::has_version(form) { "/v1" } else { "" };
        let model = spec::ModelSpec { stream: false, ..model(form, &format!("{}{path}", mock.url())) };
        let mut asked = request("hello");
        asked.tools = vec![super::bench::search_tool()];
        let found = ask(&model, limits(), asked).unwrap_or_else(|fault| panic!("{form:?}: {fault:?}"));
        assert_eq!(found.stop, StopReason::Tool, "{form:?}");
        assert!(found.parts.contains(&text("Hello there.")), "{form:?}: {found:?}");
        assert_eq!((found.usage.tokens_in, found.usage.tokens_out), (Some(12), Some(3)), "{form:?}");
        let seen = mock.stop().remove(0);
        match form {
            Provider::Gemini => assert!(seen.path.ends_with(":generateContent"), "{}", seen.path),
            _ => assert_eq!(seen.body["stream"], false, "{form:?}"),
        }
        assert_eq!(seen.body.get("stream_options"), None);
    }
}

#[test]
fn a_model_is_waited_for_as_long_as_its_file_says() {
    for form in FORMS {
        let server = ByteServer::start(vec![vec![Act::Hang]]);
        let timeout = ModelTimeouts { first_ms: Some(60), between_ms: None };
        let found =
            ask(&spec::ModelSpec { timeout, ..model(form, &server.url()) }, limits(), request("hello"));
        let fault = found.expect_err("nothing comes");
        assert!(fault.words.ends_with("has not begun to answer within 60 ms"), "{form:?}: {fault:?}");
        let begin = body(form).find("Gr\u{fc}").expect("it says something");
        let begin = body(form)[begin..].find('\n').map(|end| &body(form)[..begin + end + 3]).expect("a line");
        let server = ByteServer::start(vec![vec![
            Act::Send([head(content_type(form)), chunk(begin.as_bytes())].concat()),
            Act::Hang,
        ]]);
        let timeout = ModelTimeouts { first_ms: None, between_ms: Some(60) };
        let found =
            ask(&spec::ModelSpec { timeout, ..model(form, &server.url()) }, limits(), request("hello"));
        let fault = found.expect_err("nothing more comes");
        assert_eq!(fault.kind, ModelFaultKind::Truncated, "{form:?}: {fault:?}");
        assert!(fault.words.ends_with("said nothing more for 60 ms"), "{form:?}: {fault:?}");
    }
}

/// Asks with an environment.
fn with(
    model: &spec::ModelSpec,
    environment: &[(&str, &str)],
    roots: Option<RootCertStore>,
) -> Result<Result<ModelAnswer, ModelFault>, String> {
    let read =
        |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let access = ModelAccess::from_lookup(model, read).map_err(|unusable| unusable.to_string())?;
    let adapter =
        ModelAdapter::new(model, access, limits(), roots).map_err(|unusable| unusable.to_string())?;
    Ok(run(adapter.ask(request("hello"), unwatched())))
}

const SECRET: &str = "team-secret-4711";

#[test]
fn further_headers_are_sent_and_their_values_are_shown_nowhere() {
    for form in FORMS {
        let echo = format!(r#"{{"error":{{"message":"bad header {SECRET}","type":"{SECRET}"}}}}"#);
        let server = ByteServer::saying(measured("400 No", &["content-type: application/json"], &echo));
        let headers_env =
            vec![("X-Team".to_owned(), "TEAM".to_owned()), ("x-region".to_owned(), "REGION".to_owned())];
        let model = spec::ModelSpec { headers_env, ..model(form, &server.url()) };
        let environment = [("TEAM", SECRET), ("REGION", "eu west\n"), ("SOME_KEY", KEY)];
        let fault = with(&model, &environment, None).expect("an adapter").expect_err("it is refused");
        assert!(!format!("{fault:?}").contains(SECRET), "{form:?}: {fault:?}");
        assert!(fault.words.contains("bad header [key]"), "{form:?}: {fault:?}");
        let seen = server.end().remove(0);
        assert_eq!(
            (seen.header("x-team"), seen.header("x-region")),
            (Some(SECRET), Some("eu west")),
            "{form:?}"
        );
    }
    let headers_env = vec![("X-Team".to_owned(), "TEAM".to_owned())];
    let model =
        spec::ModelSpec { headers_env, key_env: None, ..model(Provider::OpenAi, "http://127.0.0.1:9") };
    let place = "the variable TEAM, which models.main.headers_env.X-Team names, ";
    for (value, why) in
        [(&[][..], "is not set"), (&[("TEAM", " ")], "is not set"), (&[("TEAM", "se\u{1}cret")], "holds a")]
    {
        let words = with(&model, value, None).expect_err("no value");
        assert!(words.starts_with(&format!("{place}{why}")) && !words.contains("cret"), "{words}");
    }
}

#[test]
fn a_query_of_the_address_is_in_every_request() {
    for (form, base, line) in [
        (
            Provider::OpenAi,
            "/openai/deployments/d?api-version=2",
            "/openai/deployments/d/chat/completions?api-version=2",
        ),
        (Provider::OpenAiResponses, "?a=1", "/v1/responses?a=1"),
        (Provider::Anthropic, "/?a=1", "/v1/messages?a=1"),
        (Provider::Ollama, "/api?a=1", "/api/chat?a=1"),
        (Provider::Gemini, "?a=1", "/v1beta/models/some-model:streamGenerateContent?alt=sse&a=1"),
    ] {
        let server = ByteServer::saying(chunked(content_type(form), &[body(form).as_bytes()]));
        let found = ask(&model(form, &format!("{}{base}", server.url())), limits(), request("hello"));
        assert_eq!(found, Ok(answer(form)));
        let head = server.end().remove(0).head;
        assert!(head.starts_with(&format!("POST {line} HTTP/1.1\r\n")), "{head}");
    }
}

/// A proxy for one request, which knows one host, `model.test`, at any address. Returns the head that it received.
fn proxy(upstream: SocketAddr, answer: Option<&'static str>) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = listener.local_addr().expect("an address");
    let thread = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).expect("a head");
            bytes.push(byte[0]);
        }
        let head = String::from_utf8(bytes).expect("ASCII");
        if let Some(answer) = answer {
            client.write_all(answer.as_bytes()).expect("it is read");
            return head;
        }
        let mut server = TcpStream::connect(upstream).expect("the other side");
        if head.starts_with("CONNECT model.test:") {
            client.write_all(b"HTTP/1.1 200 Connection established\r\nvia: x\r\n\r\n").expect("it is read");
        } else {
            // The forwarded head has only the path; the rest is unchanged.
            let host = format!("POST http://model.test:{}/", upstream.port());
            let rest = head.strip_prefix(&host).expect("the whole address");
            server.write_all(format!("POST /{rest}").as_bytes()).expect("it is read");
        }
        let mut back = (server.try_clone().expect("one more"), client.try_clone().expect("one more"));
        let down = std::thread::spawn(move || {
            // If either side ends, the other is closed. It is no fault if that one is already gone.
            let _copied = std::io::copy(&mut back.0, &mut back.1);
            let _gone = back.1.shutdown(std::net::Shutdown::Both);
        });
        let _copied = std::io::copy(&mut client, &mut server);
        let _gone = server.shutdown(std::net::Shutdown::Both);
        down.join().expect("it copies");
        head
    });
    (at, thread)
}

#[test]
fn e13_requests_go_through_the_proxy_that_the_environment_names() {
    for form in FORMS {
        let server = ByteServer::saying(chunked(content_type(form), &[body(form).as_bytes()]));
        let (at, thread) = proxy(server.at, None);
        let url = format!("http://model.test:{}", server.at.port());
        let named = format!("http://me:proxy-pass@{at}");
        let found = with(&model(form, &url), &[("HTTP_PROXY", &named), ("SOME_KEY", KEY)], None);
        assert_eq!(found, Ok(Ok(answer(form))), "{form:?}");
        let head = thread.join().expect("the proxy stands").to_ascii_lowercase();
        assert!(head.contains("\r\nproxy-authorization: basic bwu6chjvehktcgfzcw==\r\n"), "{head}");
        assert!(head.contains(&format!("\r\nhost: model.test:{}\r\n", server.at.port())), "{head}");
    }
}

#[test]
fn tls_goes_through_the_proxy_untouched() {
    let (upstream, certificate, serving) = tls::serve("model.test");
    let (at, thread) = proxy(upstream, None);
    let url = format!("https://model.test:{}", upstream.port());
    let environment = [("https_proxy", at.to_string()), ("SOME_KEY", KEY.to_owned())];
    let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
    let found = with(&model(Provider::Anthropic, &url), &environment, tls::trusting(certificate));
    assert_eq!(found, Ok(Ok(answer(Provider::Anthropic))));
    assert!(serving.join().expect("the server stands"));
    let head = thread.join().expect("the proxy stands");
    assert!(head.starts_with(&format!("CONNECT model.test:{} HTTP/1.1\r\n", upstream.port())), "{head}");
    assert!(!head.contains(KEY), "the proxy sees no key: {head}");
}

#[test]
fn a_proxy_that_refuses_the_tunnel_is_reported_with_its_variable() {
    let (free, _) =
        TcpListener::bind("127.0.0.1:0").map(|taken| (taken.local_addr(), taken)).expect("a port");
    let free = free.expect("an address");
    for (answer, why) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
            "it answered 407: it wants a name and a password",
        ),
        ("HTTP/1.1 503 No\r\n\r\n", "it answered 503"),
        ("SSH-2.0\r\n\r\n", "it did not answer as HTTP does"),
        ("HTTP/1.1 200", "it closed the connection"),
    ] {
        let (at, thread) = proxy(free, Some(answer));
        let named = format!("http://me:proxy-pass@{at}");
        let environment = [("HTTPS_PROXY", named.as_str()), ("SOME_KEY", KEY)];
        let found = with(&model(Provider::OpenAi, "https://model.test"), &environment, None);
        let fault = found.expect("an adapter").expect_err("no way");
        let words =
            format!("cannot be reached: no way through the proxy at {at}, which HTTPS_PROXY names: {why}");
        assert!(fault.words.contains(&words) && !fault.words.contains("proxy-pass"), "{fault:?}");
        assert_eq!((fault.kind, fault.may_be_paid), (ModelFaultKind::Unavailable, false));
        thread.join().expect("the proxy stands");
    }
    let words = with(
        &model(Provider::OpenAi, "https://model.test"),
        &[("HTTPS_PROXY", "socks5://me:proxy-pass@p:1"), ("SOME_KEY", KEY)],
        None,
    );
    let words = words.expect_err("no such proxy");
    assert!(words.starts_with("HTTPS_PROXY names a proxy") && !words.contains("proxy-pass"), "{words}");
}

#[test]
fn this_machine_and_exceptions_are_reached_without_the_proxy() {
    // Nothing listens there, so a request through it would fail.
    let nowhere = [("HTTP_PROXY", "http://127.0.0.1:9"), ("SOME_KEY", KEY)];
    let server =
        ByteServer::saying(chunked(content_type(Provider::OpenAi), &[body(Provider::OpenAi).as_bytes()]));
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}", server.at.port());
        assert_eq!(
            with(&model(Provider::OpenAi, &url), &nowhere, None),
            Ok(Ok(answer(Provider::OpenAi))),
            "{host}"
        );
    }
    let excepted = [nowhere[0], nowhere[1], ("NO_PROXY", "other.example, .test")];
    let found = with(&model(Provider::OpenAi, "http://model.test"), &excepted, None);
    let fault = found.expect("an adapter").expect_err("the name has no address");
    assert!(!fault.words.contains("proxy"), "{fault:?}");
}

#[test]
fn waits_of_the_file_replace_the_house_s() {
    let server =
        ByteServer::saying(chunked(content_type(Provider::OpenAi), &[body(Provider::OpenAi).as_bytes()]));
    let timeout = ModelTimeouts { first_ms: Some(20_000), between_ms: Some(20_000) };
    let short = std::time::Duration::ZERO;
    let model = spec::ModelSpec { timeout, ..model(Provider::OpenAi, &server.url()) };
    let found = ask(&model, HttpLimits { first: short, idle: short, ..limits() }, request("hello"));
    assert_eq!(found, Ok(answer(Provider::OpenAi)));
}
