//! Posts an event to a receiver, signed as Standard Webhooks says, and judges the answer. The whole exchange is bounded
//! in time and bytes, because the receiver may be slow or hostile. Nothing is tried again here, no redirect is followed.

use std::pin::Pin;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use sha2::Sha256;
use tokio::time::{Instant, timeout_at};

use systole_core::types::ports::Clock as _;
use systole_http::{BodyPart, HttpAnswer, HttpClient, ProxySettings, load_web_roots, retry_after_ms};
use systole_system::clock::WallClock;

use crate::carrier::{EventCarrier, EventOutcome, FollowedEvent};
use crate::limits::{ANSWER_BYTES, ANSWER_TIME, SECOND_MS, WORDS};
use crate::settings::{WebhookAddress, WebhookSecret};

/// Posts events to one address.
pub(crate) struct WebhookSender {
    to: WebhookAddress,
    secret: Option<WebhookSecret>,
    client: HttpClient,
}

impl WebhookSender {
    /// A sender that goes through these proxies. The error is in words.
    pub(crate) fn new(
        to: WebhookAddress,
        secret: Option<WebhookSecret>,
        proxies: &ProxySettings,
    ) -> Result<WebhookSender, String> {
        let via = proxies.choose_proxy(to.address())?;
        let client = HttpClient::new(load_web_roots(), via).map_err(|fault| fault.to_string())?;
        let client = if to.is_private_meant() { client } else { client.with_public_only() };
        Ok(WebhookSender { to, secret, client })
    }

    /// The headers of an event. An event that is sent again has the same id, and a new time and signature.
    fn write_headers(&self, event: &FollowedEvent) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("systole/", env!("CARGO_PKG_VERSION"))));
        if let Some(secret) = &self.secret {
            let at = (WallClock.now().0 / SECOND_MS).to_string();
            let signature = sign_event(secret, &event.id, &at, &event.body);
            for (name, value) in
                [("webhook-id", &event.id), ("webhook-timestamp", &at), ("webhook-signature", &signature)]
            {
                // Hex, digits and base64 are all fit for a header.
                if let Ok(value) = HeaderValue::from_str(value) {
                    headers.insert(HeaderName::from_static(name), value);
                }
            }
        }
        headers
    }

    async fn post_event(&self, event: &FollowedEvent) -> EventOutcome {
        let until = Instant::now() + ANSWER_TIME;
        let to = self.to.address();
        let sent =
            self.client.post(to, self.write_headers(event), event.body.clone(), ANSWER_TIME, ANSWER_TIME);
        let answered = async {
            let mut answer = sent.await.map_err(|fault| fault.describe(to))?;
            let words = read_words(&mut answer, until).await;
            Ok((answer, words))
        };
        match timeout_at(until, answered).await {
            Err(_) => EventOutcome::new_failure("no answer within 15 s".to_owned()),
            Ok(Err(words)) => EventOutcome::new_failure(words),
            Ok(Ok((answer, words))) => judge_answer(&answer, &words),
        }
    }
}

impl EventCarrier for WebhookSender {
    fn send_event<'a>(
        &'a self,
        event: &'a FollowedEvent,
    ) -> Pin<Box<dyn Future<Output = EventOutcome> + Send + 'a>> {
        Box::pin(self.post_event(event))
    }
}

/// The signature of an event: `v1,` and the base64 of the HMAC over its id, its time and its body.
fn sign_event(secret: &WebhookSecret, id: &str, at: &str, body: &[u8]) -> String {
    #[expect(clippy::expect_used, reason = "an HMAC takes a key of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).expect("a key of any length");
    mac.update(format!("{id}.{at}.").as_bytes());
    mac.update(body);
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}

fn judge_answer(answer: &HttpAnswer, words: &str) -> EventOutcome {
    let words = match words {
        "" => answer.status.to_string(),
        words => format!("{}: {words}", answer.status),
    };
    match StatusCode::from_u16(answer.status) {
        Ok(status) if status.is_success() => EventOutcome::Taken,
        Ok(StatusCode::GONE) => EventOutcome::Gone(words),
        Ok(StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY) => {
            EventOutcome::Refused(words)
        }
        Ok(status) if status.is_redirection() => {
            EventOutcome::new_failure(format!("{words}: no redirect is followed"))
        }
        _ => EventOutcome::Failed { words, after_ms: retry_after_ms(&answer.headers) },
    }
}

/// The beginning of an answer, in one line for a person.
async fn read_words(answer: &mut HttpAnswer, until: Instant) -> String {
    let mut body = Vec::new();
    while let BodyPart::Bytes(bytes) = answer.next(until).await {
        body.extend_from_slice(&bytes);
        if body.len() > ANSWER_BYTES {
            break;
        }
    }
    let text = String::from_utf8_lossy(&body);
    let words = text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").chars().take(WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the tests of the libraries of Standard Webhooks.
    #[test]
    fn h15_a_signature_is_that_of_the_specification() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = br#"{"test": 2432232314}"#;
        let signature = sign_event(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
