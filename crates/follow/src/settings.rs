//! What the file says about a follower, and its secret from the environment. Nothing here is opened or asked.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;

use systole_core::types::ids::Name;
use systole_http::HttpAddress;

use crate::event::EventSet;
use crate::limits::SECRET_BYTES;

/// A follower as its file declares it.
#[derive(Clone, Debug)]
pub struct FollowerSettings {
    /// Its name.
    pub name: Name,
    /// Where it posts.
    pub to: WebhookAddress,
    /// What it posts.
    pub sends: SentForm,
}

/// What a follower posts.
#[derive(Clone, Debug)]
pub enum SentForm {
    /// Events, to a webhook.
    Events(EventSettings),
    /// Spans, as OTLP.
    Traces,
    /// Sums of the index, as OTLP. It has no cursor.
    Metrics,
}

/// The events that a follower posts to a webhook.
#[derive(Clone, Debug)]
pub struct EventSettings {
    /// The form of what is posted.
    pub form: HookForm,
    /// The variable with the secret of the signatures.
    pub secret_env: Option<String>,
    /// The events.
    pub on: EventSet,
    /// How much of each record is sent.
    pub content: EventContent,
}

impl SentForm {
    /// The words for what is sent.
    pub fn list_words(&self) -> Vec<&'static str> {
        match self {
            SentForm::Events(events) => events.on.list_words(),
            SentForm::Traces => vec!["traces"],
            SentForm::Metrics => vec!["metrics"],
        }
    }
}

/// The form of what is posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookForm {
    /// JSON with the headers and the signature of Standard Webhooks.
    Standard,
    /// A text for an incoming webhook of Slack.
    Slack,
}

/// How much of a record an event has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventContent {
    /// Who, where, when and which code, but no payload.
    None,
    /// The payload too, without its sensitive values.
    Whole,
}

/// An address that events are posted to. The path of such an address is often a secret, so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookAddress {
    at: HttpAddress,
    /// Whether the address itself says that it may be on this machine or in its network.
    is_private_meant: bool,
}

impl WebhookAddress {
    /// Reads an address.
    pub fn parse(url: &str) -> Result<WebhookAddress, &'static str> {
        let base = HttpAddress::parse(url)?;
        // The path as it is written: a slash at its end may matter.
        let behind = url.split_once("://").map_or("", |(_, rest)| rest);
        let path = behind.find(['/', '?']).and_then(|start| behind.get(start..)).unwrap_or_default();
        let path = path.split('?').next().filter(|path| !path.is_empty()).unwrap_or("/");
        let host = base.host().to_ascii_lowercase();
        let is_private_meant =
            host.parse::<IpAddr>().is_ok() || host == "localhost" || host.ends_with(".localhost");
        Ok(WebhookAddress { at: base.with_path(path), is_private_meant })
    }

    /// The address of a collector: without a path, it has this one.
    pub fn complete_path(self, path: &str) -> WebhookAddress {
        let own = self.at.path().split('?').next();
        let at = if own == Some("/") { self.at.with_path(path) } else { self.at };
        WebhookAddress { at, ..self }
    }

    /// Where to connect, and what to request.
    pub fn address(&self) -> &HttpAddress {
        &self.at
    }

    /// Whether it may be an address of this machine or of its network.
    pub fn is_private_meant(&self) -> bool {
        self.is_private_meant
    }
}

impl fmt::Display for WebhookAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.at.tls() { "https" } else { "http" }, self.at.to_text())
    }
}

impl fmt::Debug for WebhookAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The secret of a webhook's signatures. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    /// Reads a secret: `whsec_` and base64. The error does not repeat it.
    pub(crate) fn parse(text: &str) -> Result<WebhookSecret, &'static str> {
        let encoded = text.trim().strip_prefix("whsec_").ok_or("it does not begin with whsec_")?;
        let bytes = BASE64_STANDARD_NO_PAD
            .decode(encoded.trim_end_matches('='))
            .map_err(|_| "what follows whsec_ is not base64")?;
        if !SECRET_BYTES.contains(&bytes.len()) {
            return Err("it has fewer than 16 bytes, or more than 64");
        }
        Ok(WebhookSecret(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h15_an_address_keeps_its_path_and_says_whether_it_is_meant_to_be_private() {
        for (url, path, is_private) in [
            ("https://hooks.example/services/T0/x/", "/services/T0/x/", false),
            ("https://hooks.example?sig=a%20b", "/?sig=a%20b", false),
            ("http://127.0.0.1:9/in", "/in", true),
            ("http://[::1]:9", "/", true),
            ("http://LOCALHOST:9", "/", true),
            ("https://localhost.example/x?y=1", "/x?y=1", false),
        ] {
            let read = WebhookAddress::parse(url).unwrap();
            assert_eq!((read.address().path(), read.is_private_meant()), (path, is_private), "{url}");
            assert!(!format!("{read} {read:?}").contains("services"), "the path is shown");
        }
        for wrong in ["", "siem", "ftp://a", "http://", "http://a:b@c/x"] {
            assert!(WebhookAddress::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn h6_a_collector_without_a_path_gets_that_of_traces() {
        for (url, path) in [
            ("http://127.0.0.1:4318", "/v1/traces"),
            ("http://127.0.0.1:4318/", "/v1/traces"),
            ("https://otel.example?key=1", "/v1/traces?key=1"),
            ("https://otel.example/otlp/v1/traces", "/otlp/v1/traces"),
            ("https://otel.example/in/", "/in/"),
        ] {
            let read = WebhookAddress::parse(url).unwrap().complete_path("/v1/traces");
            assert_eq!(read.address().path(), path, "{url}");
        }
    }

    #[test]
    fn h15_a_secret_is_read_and_never_shown() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
        assert_eq!(secret.bytes().len(), 24);
        assert_eq!(format!("{secret:?}"), "WebhookSecret");
        for wrong in ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_?", "whsec_MfKQ9r8G"] {
            assert!(WebhookSecret::parse(wrong).is_err(), "{wrong}");
        }
    }
}
