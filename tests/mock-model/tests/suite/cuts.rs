//! Answers that break off, hang, come slowly or never end, and clients that leave.

use std::io::Read as _;

use systole_mock_model::{AnswerEnd, MockModel};

use crate::client::{PATIENCE, anthropic, asks, begin, gemini, hear, heard, mock, ollama, openai};

fn streams(words: &str) -> String {
    asks(words, r#","stream":true"#)
}

fn ends(mock: &MockModel) -> Vec<AnswerEnd> {
    mock.seen().iter().map(|seen| seen.end).collect()
}

#[test]
fn a_cut_stream_has_all_its_text_and_no_end() {
    let mock = mock("- {say: Hello you, cut: true, times: 5}");
    let heard = openai(&mock, &streams("hi"));
    assert_eq!((heard.status, heard.whole), (200, false));
    assert!(
        heard.text().contains("Hello you") && heard.text().contains(r#""finish_reason":null"#),
        "{heard:?}"
    );
    assert!(!heard.text().contains("stop") && !heard.text().contains("[DONE]"), "{heard:?}");

    let heard = anthropic(
        &mock,
        r#"{"model":"c","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#,
    );
    assert!(!heard.whole && heard.text().contains("Hello you") && !heard.text().contains("message_delta"));
    let heard = ollama(&mock, &asks("hi", ""));
    assert!(!heard.whole && heard.text().contains("Hello you") && !heard.text().contains(r#""done":true"#));
    let body = r#"{"contents":[{"parts":[{"text":"hi"}]}]}"#;
    let heard = gemini(&mock, "streamGenerateContent?alt=sse", body);
    assert!(!heard.whole && heard.text().contains("Hello you") && !heard.text().contains("finishReason"));
    // A whole answer breaks off after its text, in the middle of its JSON.
    let heard = openai(&mock, &asks("hi", ""));
    assert!(!heard.whole && heard.text().ends_with(r#""content":"Hello you"#), "{heard:?}");
    mock.wait(PATIENCE, |seen| seen.iter().all(|seen| seen.end == AnswerEnd::Cut)).unwrap();
}

#[test]
fn a_cut_is_made_after_its_bytes_also_inside_of_a_character_and_of_json() {
    let script = "- {say: 'Héé', times: 1}\n- {say: 'Héé', cut: {in: é}}\n- {say: 'Héé', cut: 120}\n- {cut: 0}\n- {call: {f: {a: 1}}, cut: {in: '{\\\"a'}}";
    let mock = mock(script);
    let whole = openai(&mock, &streams("hi"));
    let heard = openai(&mock, &streams("hi"));
    let at = whole.body.iter().position(|byte| *byte == 0xc3).unwrap();
    assert_eq!(heard.body.last(), Some(&0xc3), "the first byte of two");
    let same =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("000002", "000001").replace("0002", "0001");
    assert_eq!(same(&heard.body[..at]), same(&whole.body[..at]));
    assert!(std::str::from_utf8(&heard.body).is_err() && !heard.whole);

    let heard = openai(&mock, &streams("hi"));
    assert_eq!((heard.body.len(), heard.whole), (120, false));
    let heard = openai(&mock, &streams("hi"));
    assert_eq!((heard.status, heard.body.len(), heard.whole), (200, 0, false));
    let heard = openai(&mock, &streams("hi"));
    assert!(heard.text().ends_with(r#""arguments":"{"#), "{heard:?}");
    assert!(!heard.whole);
}

#[test]
fn bytes_before_a_cut_arrive_however_many_there_are() {
    let mock = mock("- {fill: 5000000, chunk: 50000, cut: 16000000}");
    let mut stream =
        begin(&mock, "POST", "/v1/chat/completions", &["authorization: Bearer k"], &streams("hi"));
    // The mock has more than the machine buffers for a client that does not read, so the cut has to wait.
    let mut bytes = vec![0];
    stream.read_exact(&mut bytes).unwrap();
    mock.wait(PATIENCE, |seen| seen[0].end == AnswerEnd::Open).unwrap();
    stream.read_to_end(&mut bytes).unwrap();
    let heard = heard(&bytes);
    assert_eq!((heard.body.len(), heard.whole), (16_000_000, false));
    assert_eq!(mock.stop()[0].end, AnswerEnd::Cut);
}

#[test]
fn what_hangs_sends_its_head_and_nothing_until_the_client_leaves() {
    let mock = mock("- {hang: true}");
    let mut stream =
        begin(&mock, "POST", "/v1/chat/completions", &["authorization: Bearer k"], &streams("hi"));
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut one = [0];
        stream.read_exact(&mut one).unwrap();
        head.push(one[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 200 OK\r\n"));
    stream.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
    assert!(stream.read(&mut [0]).is_err(), "nothing comes, and it is not closed");
    assert_eq!(ends(&mock), [AnswerEnd::Open]);
    drop(stream);
    mock.wait(PATIENCE, |seen| seen[0].end == AnswerEnd::Gone).unwrap();
    assert_eq!(mock.count().gone, 1);
}

#[test]
fn an_endless_answer_ends_with_its_client() {
    let mock = mock("- {say: 'Go: ', endless: true, times: 2}");
    for body in [streams("hi"), asks("hi", "")] {
        let mut stream = begin(&mock, "POST", "/v1/chat/completions", &["authorization: Bearer k"], &body);
        let mut heard = vec![0; 300_000];
        stream.read_exact(&mut heard).unwrap();
        let heard = String::from_utf8(heard).unwrap();
        assert!(heard.contains("Go: lub dub lub ") && heard.contains("dub lub"));
    }
    mock.wait(PATIENCE, |seen| seen.len() == 2 && seen.iter().all(|seen| seen.end == AnswerEnd::Gone))
        .unwrap();
}

#[test]
fn a_filled_answer_has_exactly_its_tokens() {
    let mock = mock("- {fill: 200000, chunk: 4000, times: 2}");
    let heard = openai(&mock, &asks("hi", "")).json();
    let text = heard["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(text.len(), 800_000);
    assert_eq!(heard["usage"]["completion_tokens"], 200_000);
    assert!(text.starts_with("lub dub ") && text.ends_with("dub "));
    let heard = openai(&mock, &streams("hi"));
    assert_eq!(heard.pieces.len(), 1 + 200 + 2);
    assert!(heard.whole);
}

#[test]
fn pieces_of_bytes_go_through_characters_and_events() {
    let mock = mock("- {say: éé, chunk: 3 bytes}\n- {say: éé, drip: 100000/s}\n- {say: éé}");
    let pieces = openai(&mock, &streams("hi"));
    assert!(pieces.pieces.iter().any(|piece| std::str::from_utf8(piece).is_err()));
    assert!(pieces.pieces.iter().rev().skip(1).all(|piece| piece.len() <= 3));
    let drops = openai(&mock, &streams("hi"));
    assert!(drops.pieces.iter().all(|piece| piece.len() == 1));
    let whole = openai(&mock, &streams("hi"));
    // Except for the number of the request, in the id and in the time, the bytes are the same.
    let same = |text: String| (1..=3).fold(text, |text, n| text.replace(&format!("00000{n}"), "00000N"));
    assert_eq!(same(pieces.text()), same(whole.text()));
    assert_eq!(same(drops.text()), same(whole.text()));
}

#[test]
fn pauses_are_kept() {
    let mock = mock("- {say: abc, chunk: 1, first: 40ms, delay: 20ms}");
    let before = tokio::time::Instant::now();
    let heard =
        hear(begin(&mock, "POST", "/v1/chat/completions", &["authorization: Bearer k"], &streams("hi")));
    let took = before.elapsed();
    // Six events: the first after 40 ms, each other 20 ms later.
    assert_eq!(heard.pieces.len(), 6);
    assert!(took.as_millis() >= 140, "{took:?}");
}

#[test]
fn stopping_closes_what_is_open_and_blames_no_client() {
    let mock = mock("- {hang: true}");
    let stream = begin(&mock, "POST", "/v1/chat/completions", &["authorization: Bearer k"], &streams("hi"));
    mock.wait(PATIENCE, |seen| seen.len() == 1).unwrap();
    let seen = mock.stop();
    assert_eq!(seen[0].end, AnswerEnd::Stopped);
    let mut rest = Vec::new();
    // The connection is closed, one way or another.
    let _reset = { stream }.read_to_end(&mut rest);
}

#[test]
fn what_is_held_comes_when_it_is_let_go_and_not_before() {
    let mock = mock("- {say: Hello you there, chunk: 6, hold: you, times: 2}");
    let mut stream =
        begin(&mock, "POST", "/v1/chat/completions", &["authorization: Bearer k"], &streams("hi"));
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains("Hello ") {
        let mut some = [0; 1024];
        let read = stream.read(&mut some).unwrap();
        assert!(read > 0, "it breaks off: {}", String::from_utf8_lossy(&bytes));
        bytes.extend(&some[..read]);
    }
    assert_eq!(ends(&mock), [AnswerEnd::Open]);
    assert!(!String::from_utf8_lossy(&bytes).contains("you"), "it is held");
    assert_eq!(hear(begin(&mock, "POST", "/release", &[], "")).status, 200);
    stream.read_to_end(&mut bytes).unwrap();
    let heard = heard(&bytes);
    assert!(heard.whole && heard.text().contains("you th") && heard.text().contains("[DONE]"), "{heard:?}");
    // From then on nothing is held.
    assert!(openai(&mock, &streams("hi")).whole);
}
