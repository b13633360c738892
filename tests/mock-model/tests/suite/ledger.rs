//! The mock's memory: requests in order, how their answers ended, how many ran at once, and the file.

use std::io::Read as _;

use systole_mock_model::{
    AnswerEnd, MockModel, MockOptions, MockScript, MockStartFault, RequestCounts, SeenRequest,
};

use crate::client::{PATIENCE, asks, begin, mock, openai, send, with};

#[test]
fn what_was_asked_is_reported_in_order_without_the_key() {
    let mock = mock("- {say: a}\n- {say: b}");
    openai(&mock, &asks("one", ""));
    send(&mock, "POST", "/v1beta/models/g:generateContent?key=AIza-secret-9876", &[], "no json");
    openai(&mock, &asks("two", ""));
    openai(&mock, &asks("three", ""));
    let heard = send(&mock, "GET", "/seen", &[], "");
    assert!(!heard.text().contains("secret") && !heard.text().contains("sk-test"), "{heard:?}");
    let seen: Vec<SeenRequest> = serde_json::from_slice(&heard.body).unwrap();
    assert_eq!(seen, mock.seen());
    let facts: Vec<_> = seen.iter().map(|seen| (seen.number, seen.status, seen.scripted, seen.end)).collect();
    assert_eq!(
        facts,
        [
            (1, 200, true, AnswerEnd::Sent),
            (2, 400, false, AnswerEnd::Sent),
            (3, 200, true, AnswerEnd::Sent),
            (4, 503, false, AnswerEnd::Sent)
        ]
    );
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!((seen[0].model.as_deref(), seen[0].key.as_deref()), (Some("m"), Some("1234")));
    assert_eq!(seen[0].body["messages"][0]["content"], "one");
    assert_eq!(
        (seen[1].path.as_str(), seen[1].key.as_deref()),
        ("/v1beta/models/g:generateContent", Some("9876"))
    );
    assert_eq!((seen[1].model.as_deref(), seen[1].body.as_str()), (None, Some("no json")));

    let count: RequestCounts = serde_json::from_slice(&send(&mock, "GET", "/count", &[], "").body).unwrap();
    let wanted =
        RequestCounts { requests: 4, scripted: 2, refused: 2, most_at_once: 1, ..RequestCounts::default() };
    assert_eq!((count, mock.count()), (wanted, wanted));
    assert_eq!(mock.stop().len(), 4);
}

#[test]
fn requests_that_run_at_once_are_counted() {
    let mock = mock("- {hang: true, times: 3}\n- {say: a}");
    let body = asks("hi", "");
    let open: Vec<_> = (0..3)
        .map(|_| begin(&mock, "POST", "/v1/chat/completions", &["authorization: Bearer k"], &body))
        .collect();
    mock.wait(PATIENCE, |seen| seen.len() == 3).unwrap();
    assert_eq!((mock.count().open, mock.count().most_at_once, mock.count().left), (3, 3, 1));
    drop(open);
    mock.wait(PATIENCE, |seen| seen.iter().all(|seen| seen.end == AnswerEnd::Gone)).unwrap();
    openai(&mock, &body);
    let count = mock.count();
    assert_eq!((count.open, count.most_at_once, count.gone, count.left), (0, 3, 3, 0));
}

#[test]
fn a_request_stands_in_the_file_before_the_first_byte_of_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("asked.jsonl");
    std::fs::write(&path, "{\"number\":0}\n").unwrap();
    let mock =
        with("- {say: a}\n- {hang: true}", MockOptions { log: Some(path.clone()), ..MockOptions::default() });
    openai(&mock, &asks("one", ""));
    let mut stream = begin(
        &mock,
        "POST",
        "/v1/chat/completions",
        &["authorization: Bearer sk-1234-5678"],
        &asks("two", ""),
    );
    stream.read_exact(&mut [0]).unwrap();
    // The first byte has arrived and the answer is not over. The line is already there, and the older ones as well.
    let log = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (lines[1]["number"].as_u64(), lines[1]["body"]["messages"][0]["content"].as_str()),
        (Some(1), Some("one"))
    );
    assert_eq!(
        (lines[2]["number"].as_u64(), lines[2]["end"].as_str(), lines[2]["key"].as_str()),
        (Some(2), Some("open"), Some("5678"))
    );
    assert!(log.ends_with('\n') && !log.contains("sk-1234"), "{log}");
}

#[test]
fn a_file_that_takes_nothing_more_refuses_instead_of_answering_uncounted() {
    let full = MockOptions { log: Some("/dev/full".into()), ..MockOptions::default() };
    let mock = with("- {say: a}", full);
    let heard = openai(&mock, &asks("one", ""));
    assert_eq!(heard.status, 500);
    assert!(
        heard.message().contains("/dev/full") && heard.message().contains("could not be noted"),
        "{heard:?}"
    );
}

#[test]
fn what_cannot_start_says_why() {
    let script = || MockScript::parse("- {say: a}").unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap();
    let error = MockModel::start(script(), MockOptions { listen, ..MockOptions::default() }).unwrap_err();
    assert!(
        matches!(error, MockStartFault::Address { .. }) && error.to_string().contains(&listen.to_string()),
        "{error}"
    );
    let log = Some("/nowhere/at/all".into());
    let error = MockModel::start(script(), MockOptions { log, ..MockOptions::default() }).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/at/all: "), "{error}");
}

#[test]
fn an_ordinary_client_and_a_runtime_of_its_own_get_on_with_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mock = runtime.block_on(async { mock("- {say: a, times: 2}") });
    let url = format!("{}/v1/chat/completions", mock.url());
    let agent = ureq::Agent::new_with_defaults();
    // Twice on one persistent connection.
    for _ in 0..2 {
        let request = agent.post(&url).header("authorization", "Bearer k");
        let answer = request.send(asks("hi", "")).unwrap().body_mut().read_to_string().unwrap();
        assert!(answer.contains(r#""content":"a""#), "{answer}");
    }
    runtime.block_on(async { drop(mock) });
}

#[test]
fn a_request_that_is_broken_off_was_never_asked() {
    let mock = mock("- {say: a}");
    {
        use std::io::Write as _;
        let mut stream = std::net::TcpStream::connect(mock.address()).unwrap();
        stream
            .write_all(b"POST /v1/chat/completions HTTP/1.1\r\nhost: m\r\ncontent-length: 99\r\n\r\n{")
            .unwrap();
    }
    openai(&mock, &asks("hi", ""));
    assert_eq!(mock.count().requests, 1);
    assert_eq!(mock.stop().len(), 1);
}
