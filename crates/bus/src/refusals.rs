//! The connections that the broker did not let in, as its system account reports them if that is granted. It reports
//! no other refusals: if a client that was let in tries something forbidden, only the server's own log says so.
//!
//! Only the origin of a connection is repeated. What the client showed is not: it may be a secret in the wrong place.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;

use async_nats::Subscriber;
use futures_core::Stream as _;
use serde::Deserialize;

use super::Broker;
use crate::limits;

/// The server's name for such a report.
const KIND: &str = "io.nats.server.advisory.v1.client_disconnect";

/// A connection that was not let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedConnection {
    /// Its origin, if the server reports it.
    pub from: Option<IpAddr>,
}

/// The connections that are not let in, as the server reports them.
pub struct RefusedConnections(Subscriber);

#[derive(Deserialize)]
struct AdvisoryWord {
    r#type: String,
    client: AdvisoryClient,
}

#[derive(Deserialize)]
struct AdvisoryClient {
    #[serde(default)]
    host: String,
}

impl Broker {
    /// Listens for them from now on, if the broker's configuration grants it. A broker that lets everyone in has
    /// nothing to report. If it is not granted, nothing ever comes, and nothing else is affected.
    pub async fn watch_refusals(&self) -> Result<Option<RefusedConnections>, String> {
        if !self.wire.shows_key {
            return Ok(None);
        }
        let ear = self.client().subscribe(self.subjects().name_refused()).await;
        ear.map(|ear| Some(RefusedConnections(ear))).map_err(|error| error.to_string())
    }
}

impl RefusedConnections {
    /// The next one; `None` when the connection is closed for good.
    pub async fn next(&mut self) -> Option<RefusedConnection> {
        loop {
            let message = poll_fn(|cx| Pin::new(&mut self.0).poll_next(cx)).await?;
            if let Some(refusal) = read_refusal(&message.payload) {
                return Some(refusal);
            }
        }
    }
}

fn read_refusal(bytes: &[u8]) -> Option<RefusedConnection> {
    let bytes = Some(bytes).filter(|bytes| bytes.len() <= limits::REFUSAL_BYTES)?;
    let word: AdvisoryWord = serde_json::from_slice(bytes).ok()?;
    (word.r#type == KIND).then(|| RefusedConnection { from: word.client.host.parse().ok() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_where_somebody_came_is_read_and_nothing_else() {
        let word = |kind: &str, host: &str| {
            let word = format!(
                "{{\"type\":{kind:?},\"server\":{{}},\"client\":{{\"host\":{host:?},\"user\":\"sesame\"}}}}"
            );
            read_refusal(word.as_bytes()).map(|refusal| refusal.from.map(|from| from.to_string()))
        };
        assert_eq!(word(KIND, "127.0.0.1"), Some(Some("127.0.0.1".to_owned())));
        assert_eq!(word(KIND, "::1"), Some(Some("::1".to_owned())));
        assert_eq!(word(KIND, "sesame"), Some(None));
        assert_eq!(word("io.nats.server.advisory.v1.client_connect", "127.0.0.1"), None);
        assert_eq!(read_refusal(b"{}"), None);
        assert_eq!(read_refusal(&vec![b' '; limits::REFUSAL_BYTES + 1]), None);
    }
}
