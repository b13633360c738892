//! A client that hides nothing: it writes a request as bytes and keeps every byte of the answer. It notes whether
//! the connection was closed before the answer was over.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use systole_mock_model::{MockModel, MockOptions, MockScript};

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// The body without its chunk frames.
    pub(crate) body: Vec<u8>,
    /// The pieces in which the server sent it.
    pub(crate) pieces: Vec<Vec<u8>>,
    /// Whether the body was complete.
    pub(crate) whole: bool,
}

impl Heard {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// A header of the answer.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The message of a refusal, in any form.
    pub(crate) fn message(&self) -> String {
        let json = self.json();
        let error = &json["error"];
        error["message"].as_str().or(error.as_str()).unwrap_or_default().to_owned()
    }
}

/// A mock with this script.
pub(crate) fn mock(script: &str) -> MockModel {
    with(script, MockOptions::default())
}

/// A mock with this script and options.
pub(crate) fn with(script: &str, options: MockOptions) -> MockModel {
    MockModel::start(MockScript::parse(script).unwrap(), options).unwrap()
}

/// Sends a request and leaves the connection open.
pub(crate) fn begin(mock: &MockModel, method: &str, path: &str, headers: &[&str], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(mock.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n{lines}");
    stream.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).unwrap();
    stream
}

/// Sends a request and reads until the connection is closed.
pub(crate) fn send(mock: &MockModel, method: &str, path: &str, headers: &[&str], body: &str) -> Heard {
    hear(begin(mock, method, path, headers, body))
}

/// Reads until the connection is closed.
pub(crate) fn hear(mut stream: TcpStream) -> Heard {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    heard(&bytes)
}

/// An answer, from all bytes of its connection.
pub(crate) fn heard(bytes: &[u8]) -> Heard {
    let at = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
    let rest = &bytes[at + 4..];
    let status = head[9..12].parse().unwrap();
    let mut heard = Heard { status, head, body: Vec::new(), pieces: Vec::new(), whole: false };
    if let Some(length) = heard.header("content-length") {
        heard.whole = length.parse::<usize>().unwrap() == rest.len();
        heard.body = rest.to_vec();
    } else {
        heard.pieces = chunks(rest, &mut heard.whole);
        heard.body = heard.pieces.concat();
    }
    heard
}

fn chunks(mut rest: &[u8], whole: &mut bool) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    while let Some(at) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..at]).unwrap(), 16).unwrap();
        if size == 0 {
            *whole = true;
            break;
        }
        pieces.push(rest[at + 2..at + 2 + size].to_vec());
        rest = &rest[at + 2 + size + 2..];
    }
    pieces
}

/// A request in `OpenAI`'s wire format.
pub(crate) fn openai(mock: &MockModel, body: &str) -> Heard {
    send(mock, "POST", "/v1/chat/completions", &["authorization: Bearer sk-test-1234"], body)
}

/// A request in the wire format of `OpenAI`'s Responses.
pub(crate) fn responses(mock: &MockModel, body: &str) -> Heard {
    send(mock, "POST", "/v1/responses", &["authorization: Bearer sk-test-1234"], body)
}

/// A request in Anthropic's wire format.
pub(crate) fn anthropic(mock: &MockModel, body: &str) -> Heard {
    let headers = ["x-api-key: sk-ant-test-1234", "anthropic-version: 2023-06-01"];
    send(mock, "POST", "/v1/messages", &headers, body)
}

/// A request in Ollama's wire format.
pub(crate) fn ollama(mock: &MockModel, body: &str) -> Heard {
    send(mock, "POST", "/api/chat", &[], body)
}

/// A request in Gemini's wire format.
pub(crate) fn gemini(mock: &MockModel, method: &str, body: &str) -> Heard {
    let path = format!("/v1beta/models/g:{method}");
    send(mock, "POST", &path, &["x-goog-api-key: AIza-test-1234"], body)
}

/// The smallest request to `OpenAI`, with this text, and `more` after the messages.
pub(crate) fn asks(words: &str, more: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{words}"}}]{more}}}"#)
}
