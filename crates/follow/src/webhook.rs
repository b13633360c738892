//! Posts an event to a receiver, signed as Standard Webhooks says.

use std::pin::Pin;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;

use systole_core::types::ports::Clock as _;
use systole_system::clock::WallClock;

use crate::carrier::{EventCarrier, EventOutcome, FollowedEvent};
use crate::limits::SECOND_MS;
use crate::posting::EventPoster;
use crate::settings::WebhookSecret;

/// Posts events to one address.
pub(crate) struct WebhookSender {
    poster: EventPoster,
    secret: Option<WebhookSecret>,
}

impl WebhookSender {
    pub(crate) fn new(poster: EventPoster, secret: Option<WebhookSecret>) -> WebhookSender {
        WebhookSender { poster, secret }
    }

    /// The headers of an event. An event that is sent again has the same id, and a new time and signature.
    fn write_headers(&self, event: &FollowedEvent) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
        match self.poster.post(self.write_headers(event), event.body.clone()).await {
            Ok(_) => EventOutcome::Taken,
            Err(outcome) => outcome,
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
