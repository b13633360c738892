//! The last answer on a connection that ends by our word: a status and a body that says why, written below the HTTP
//! parser, which reads no request any more.
//!
//! Then it waits a moment for the client to close the connection. To close it earlier, with data unread, would reset
//! it, and the client would lose the answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use systole_core::types::codes::Code;
use systole_core::types::refusal::Refusal;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::limits::{DROPPED_BYTES, LINGER};
use systole_api::request_refusals::describe_unfit_request;
use systole_api::types::ApiRefusal;

/// The answer of the parser to a request that it cannot read has one of these beginnings, and no body.
const OF_PARSER: [(&[u8], &str, &str); 3] = [
    (
        b"HTTP/1.1 400 ",
        "400 Bad Request",
        "the request cannot be read as HTTP/1.1: its request line, a header, or the length of its body",
    ),
    (b"HTTP/1.1 414 ", "414 URI Too Long", "the address of the request is too long"),
    (
        b"HTTP/1.1 431 ",
        "431 Request Header Fields Too Large",
        "the headers of the request are too many, or too long",
    ),
];
/// The header by which such an answer differs from ours.
const NO_BODY: &[u8] = b"content-length: 0\r\n";

/// How far the last answer is.
enum FarewellStage {
    /// So many bytes are sent.
    Sends(usize),
    /// All is sent, and the end of our side is next.
    Ends,
    /// The client closes its side.
    Waits,
    Over,
}

/// A last answer.
pub(crate) struct Farewell {
    bytes: Vec<u8>,
    stage: FarewellStage,
    /// Until when the client may close its side; `None` if it is not waited for.
    until: Option<Pin<Box<Sleep>>>,
}

impl Farewell {
    fn new(status: &str, more: &str, refusal: &Refusal) -> Farewell {
        // A refusal is plain data, which always has a JSON form.
        let body = serde_json::to_string(&ApiRefusal::from(refusal)).unwrap_or_default();
        let length = body.len();
        let bytes = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             connection: close\r\n{more}\r\n{body}"
        );
        Farewell {
            bytes: bytes.into_bytes(),
            stage: FarewellStage::Sends(0),
            until: Some(Box::pin(sleep(LINGER))),
        }
    }

    /// For the oldest connection, when too many others show no token either.
    pub(crate) fn build_crowded() -> Farewell {
        let words = "too many connections are open that have shown no token yet";
        let refusal = Refusal::new(Code::IngressUnavailable, words)
            .fixed_by("connect again and send the whole request at once, with the same key");
        Farewell::new("503 Service Unavailable", "retry-after: 1\r\n", &refusal)
    }

    /// For a connection that has sent no whole head in time.
    pub(crate) fn build_late() -> Farewell {
        let refusal = Refusal::new(Code::IngressUnavailable, "no whole request with a token came in time")
            .fixed_by("connect again and send the whole request at once, with the same key");
        Farewell::new("408 Request Timeout", "", &refusal)
    }

    /// For a connection of a client on which nothing is asked: it is closed without a word.
    pub(crate) fn build_silent() -> Farewell {
        Farewell { bytes: Vec::new(), stage: FarewellStage::Ends, until: Some(Box::pin(sleep(LINGER))) }
    }

    /// For a line of a head that ends in LF alone.
    pub(crate) fn build_bare_line_feed() -> Farewell {
        let words = "a line of the request ends in LF alone; in HTTP/1.1 it ends in CRLF";
        Farewell::new("400 Bad Request", "", &describe_unfit_request(words))
    }

    /// The same as an answer of the parser, with a body. `None` if it is another answer.
    pub(crate) fn build_in_place_of(bytes: &[u8]) -> Option<Farewell> {
        let (_, status, words) = OF_PARSER.into_iter().find(|(begins, ..)| bytes.starts_with(begins))?;
        let is_empty = bytes.windows(NO_BODY.len()).any(|part| part == NO_BODY);
        is_empty.then(|| Farewell::new(status, "", &describe_unfit_request(words)))
    }

    /// The same, closed at once.
    pub(crate) fn without_waiting(self) -> Farewell {
        Farewell { until: None, ..self }
    }

    /// Goes on with it; ready when the connection can be closed.
    pub(crate) fn write_on(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let is_ready = match &mut self.stage {
                FarewellStage::Sends(sent) => {
                    let rest = self.bytes.get(*sent..).unwrap_or_default();
                    match Pin::new(&mut *stream).poll_write(cx, rest) {
                        Poll::Ready(Ok(more)) if 0 < more && more < rest.len() => {
                            *sent += more;
                            continue;
                        }
                        // An error says that the client has left.
                        written => written.is_ready().then_some(FarewellStage::Ends),
                    }
                }
                FarewellStage::Ends => {
                    Pin::new(&mut *stream).poll_shutdown(cx).is_ready().then_some(FarewellStage::Waits)
                }
                FarewellStage::Waits => drop_rest(stream, cx).is_ready().then_some(FarewellStage::Over),
                FarewellStage::Over => return Poll::Ready(()),
            };
            match is_ready {
                Some(next) => self.stage = next,
                None => {
                    // A client that reads nothing is not waited for longer either.
                    let is_late = self.until.as_mut().is_none_or(|until| until.as_mut().poll(cx).is_ready());
                    return if is_late { Poll::Ready(()) } else { Poll::Pending };
                }
            }
        }
    }
}

/// Drops what a client still sends, until it closes its side.
fn drop_rest(stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
    let mut dropped = [0; DROPPED_BYTES];
    loop {
        let mut buffer = ReadBuf::new(&mut dropped);
        match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
            Poll::Ready(_) => return Poll::Ready(()),
            Poll::Pending => return Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Farewell;

    #[tokio::test]
    async fn only_an_answer_of_the_parser_is_replaced() {
        let parsers = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        assert!(Farewell::build_in_place_of(parsers.as_bytes()).is_some());
        for other in [
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 120\r\n\r\n{",
            "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 400 \r\ncontent-length: 0\r\n",
        ] {
            assert!(Farewell::build_in_place_of(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[tokio::test]
    async fn a_last_answer_is_one_whole_response() {
        for (farewell, status) in [
            (Farewell::build_crowded(), "503 "),
            (Farewell::build_late(), "408 "),
            (Farewell::build_bare_line_feed(), "400 "),
        ] {
            let text = String::from_utf8(farewell.bytes).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
            assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{text}");
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert!(body["message"].is_string() && body["try"].is_string(), "{text}");
        }
    }
}
