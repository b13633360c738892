//! The marks of followers: how far each of them has sent the log. A mark is one message in the stream of deliveries,
//! beside fences and the shared secret. This file does not know what a mark says.
//!
//! It is replaced only if it is still the one that was read, so of two pumps one notices that it is not alone.

use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::PurgeResponse;
use serde_json::json;

use super::log::AppendResult;
use super::source::{StoredMessage, read_message};
use super::unusable::BrokerFault;
use super::{Broker, log};
use systole_core::types::ids::Name;

impl Broker {
    /// The mark of a follower; `None` if it has none.
    pub async fn read_mark(&self, follower: &Name) -> Result<Option<StoredMessage>, BrokerFault> {
        let subject = self.subjects.name_mark(follower);
        let what = "the cursor of a follower was read";
        read_message(&self.wire, what, &self.subjects.bus_stream(), json!({ "last_by_subj": subject })).await
    }

    /// Replaces the mark of a follower: the one at that place, or none if it is 0; whichever it is if no place is given.
    pub async fn put_mark(&self, follower: &Name, mark: Vec<u8>, at: Option<u64>) -> AppendResult {
        let (wire, subject) = (&self.wire, self.subjects.name_mark(follower));
        let what = "the cursor of a follower was written";
        let put = log::append_expected(wire, what, &subject, mark, at).await;
        if let AppendResult::At(_) = put {
            let older = json!({ "filter": subject, "keep": 1 });
            let api = format!("STREAM.PURGE.{}", self.subjects.bus_stream());
            let cleared = wire.ask_api::<PurgeResponse>("older cursors were removed", &api, &older).await;
            let why = match cleared {
                Ok(Response::Ok(_)) => return put,
                Ok(Response::Err { error }) => error.to_string(),
                Err(fault) => fault.to_string(),
            };
            // The next one removes them too.
            tracing::debug!(why, "older cursors of a follower stay for now");
        }
        put
    }
}
