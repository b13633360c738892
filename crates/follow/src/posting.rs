//! Posts to a receiver once, and judges the status of the answer. The whole exchange is bounded in time and bytes,
//! because the receiver may be slow or hostile. Nothing is tried again here, no redirect is followed.

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue, USER_AGENT};
use tokio::time::{Instant, timeout_at};

use systole_http::{BodyPart, HttpAnswer, HttpClient, ProxySettings, load_web_roots, retry_after_ms};

use crate::carrier::EventOutcome;
use crate::limits::{ANSWER_BYTES, ANSWER_TIME, WORDS};
use crate::settings::WebhookAddress;

/// Posts to one address.
pub(crate) struct EventPoster {
    to: WebhookAddress,
    client: HttpClient,
}

impl EventPoster {
    /// A poster that goes through these proxies. The error is in words.
    pub(crate) fn new(to: WebhookAddress, proxies: &ProxySettings) -> Result<EventPoster, String> {
        let via = proxies.choose_proxy(to.address())?;
        let client = HttpClient::new(load_web_roots(), via).map_err(|fault| fault.to_string())?;
        let client = if to.is_private_meant() { client } else { client.with_public_only() };
        Ok(EventPoster { to, client })
    }

    /// Posts once. An answer that takes the body is returned, as far as it is read; any other one is judged.
    pub(crate) async fn post(&self, mut headers: HeaderMap, body: Vec<u8>) -> Result<Vec<u8>, EventOutcome> {
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("systole/", env!("CARGO_PKG_VERSION"))));
        let until = Instant::now() + ANSWER_TIME;
        let to = self.to.address();
        let sent = self.client.post(to, headers, body, ANSWER_TIME, ANSWER_TIME);
        let answered = async {
            let mut answer = sent.await.map_err(|fault| fault.describe(to))?;
            let bytes = read_start(&mut answer, until).await;
            Ok((answer, bytes))
        };
        match timeout_at(until, answered).await {
            Err(_) => Err(EventOutcome::new_failure("no answer within 15 s".to_owned())),
            Ok(Err(words)) => Err(EventOutcome::new_failure(words)),
            Ok(Ok((answer, bytes))) => judge_answer(&answer, bytes),
        }
    }
}

fn judge_answer(answer: &HttpAnswer, bytes: Vec<u8>) -> Result<Vec<u8>, EventOutcome> {
    let words = match &*write_words(&bytes) {
        "" => answer.status.to_string(),
        words => format!("{}: {words}", answer.status),
    };
    Err(match StatusCode::from_u16(answer.status) {
        Ok(status) if status.is_success() => return Ok(bytes),
        Ok(StatusCode::GONE) => EventOutcome::Gone(words),
        Ok(StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY) => {
            EventOutcome::Refused(words)
        }
        Ok(status) if status.is_redirection() => {
            EventOutcome::new_failure(format!("{words}: no redirect is followed"))
        }
        _ => EventOutcome::Failed { words, after_ms: retry_after_ms(&answer.headers) },
    })
}

/// The beginning of an answer.
async fn read_start(answer: &mut HttpAnswer, until: Instant) -> Vec<u8> {
    let mut body = Vec::new();
    while let BodyPart::Bytes(bytes) = answer.next(until).await {
        body.extend_from_slice(&bytes);
        if body.len() > ANSWER_BYTES {
            break;
        }
    }
    body
}

/// The beginning of an answer, in one line for a person.
pub(crate) fn write_words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let words = text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").chars().take(WORDS).collect()
}
