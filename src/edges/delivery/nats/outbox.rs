//! What goes to a listener over the broker: deliveries into its stream, answers and receipts to who waits for them. A
//! message that is over is deleted, whatever a worker acknowledged. It decides nothing and never waits without an end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::Stream;
use async_nats::{HeaderMap, Subject};
use serde::Deserialize;
use systole_kit::{Payload, told};

use crate::edges::delivery::receipts::{NoReceipt, Receipt};
use crate::edges::nats::{Broker, PATIENCE, token as part};
use crate::edges::tasks::{self, Kind};
use crate::words::codes::Code;
use crate::words::ids::Name;
use crate::words::ports::{Delivery, Token};

/// Why a delivery did not go out.
pub(super) struct Unsent(pub(super) String);

pub(super) struct Outbox {
    broker: Arc<Broker>,
    listener: Name,
    stream: Stream<()>,
    /// Where in the stream the deliveries are that are out.
    places: HashMap<Arc<str>, u64>,
}

#[derive(Deserialize)]
struct Advisory {
    stream_seq: u64,
}

/// The work, unless it takes too long.
async fn in_time<T, E: std::fmt::Display>(
    what: &str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err([what, ": ", &error.to_string()].concat()),
        Err(_) => Err([what, ": the broker did not answer within 5 s"].concat()),
    }
}

impl Outbox {
    /// Makes the listener's consumer, and takes away what an earlier life of the organism left to be done: all of it
    /// is handed over again.
    pub(super) async fn open(
        broker: &Arc<Broker>,
        listener: &Name,
        in_flight: usize,
        silence: Duration,
    ) -> Result<Outbox, String> {
        let (jetstream, subjects) = (broker.jetstream(), broker.subjects());
        let found = jetstream.get_stream_no_info(subjects.bus_stream());
        let stream = in_time("the stream of deliveries", found).await?;
        let deliveries = subjects.delivery(listener);
        in_time("old deliveries", stream.purge().filter(deliveries.clone()).into_future()).await?;
        let config = pull::Config {
            durable_name: Some(part(listener)),
            ack_policy: AckPolicy::Explicit,
            ack_wait: silence,
            // Who works again on what is counted by the pump.
            max_deliver: 1,
            filter_subject: deliveries,
            max_ack_pending: i64::try_from(in_flight).unwrap_or(i64::MAX),
            ..pull::Config::default()
        };
        in_time("the consumer", stream.create_consumer(config)).await?;
        let (broker, listener) = (broker.clone(), listener.clone());
        Ok(Outbox { broker, listener, stream, places: HashMap::new() })
    }

    /// Puts a delivery where a worker pulls it.
    pub(super) async fn send(&mut self, delivery: &Delivery) -> Result<(), Unsent> {
        let document = delivery.document();
        let most = self.broker.largest_message();
        if document.len() + 1024 > most {
            let (bytes, most) = (document.len().to_string(), most.to_string());
            let words =
                ["the delivery has ", &bytes, " bytes, and the broker takes ", &most, " with their headers"];
            return Err(Unsent(words.concat()));
        }
        let mut headers = HeaderMap::new();
        let (jetstream, subjects) = (self.broker.jetstream(), self.broker.subjects());
        // An embedded log has one partition.
        headers.insert("Systole-Reply", subjects.said(&self.listener, "0").as_str());
        let stored = async {
            let subject = subjects.delivery(&self.listener);
            jetstream.publish_with_headers(subject, headers, document.into()).await?.await
        };
        let place = in_time("the broker took no delivery", stored).await.map_err(Unsent)?;
        self.places.insert(delivery.lease.token.0.clone(), place.sequence);
        Ok(())
    }

    /// Takes a delivery away that is over. A worker that has it finds out when it answers.
    pub(super) async fn over(&mut self, token: &str) {
        let Some(place) = self.places.remove(token) else { return };
        // One that was acknowledged is gone already; what is left by a broker that does not answer is taken away when
        // the organism starts again, and answered by nobody until then.
        if let Err(words) = in_time("an old delivery", self.stream.delete_message(place)).await {
            tracing::debug!(listener = %self.listener, %words, "not taken away");
        }
    }

    /// Says that an answer is no longer wanted.
    pub(super) async fn cancel(&mut self, token: &Token) {
        let told = self
            .broker
            .client()
            .publish(self.broker.subjects().cancels(&self.listener), told::cancel(&token.0).into());
        if let Err(words) = in_time("a cancel", told).await {
            tracing::debug!(listener = %self.listener, %words, "not told");
        }
        self.over(&token.0).await;
    }

    /// Answers somebody who waits. One who is not there any more asks again.
    pub(super) async fn answer(&self, reply: Subject, document: Vec<u8>) {
        if let Err(words) = in_time("an answer", self.broker.client().publish(reply, document.into())).await {
            tracing::debug!(listener = %self.listener, %words, "not told");
        }
    }

    /// Sends a receipt as soon as what came of a word is on disk.
    pub(super) fn receipt(&self, reply: Subject, delivery: String, decided: Receipt) {
        let client = self.broker.client().clone();
        let work = async move {
            let refusal = match decided.await {
                Ok(()) => None,
                // No room or no time for it just now is no decision either.
                Err(NoReceipt::Unknown | NoReceipt::Refused(Code::IngressUnavailable, _)) => return,
                Err(NoReceipt::Refused(_, told)) => Payload::trusted(told).ok(),
            };
            let document = told::Receipt { delivery, refusal }.document();
            if let Err(words) = in_time("a receipt", client.publish(reply, document.into())).await {
                tracing::debug!(%words, "not told");
            }
        };
        // It ends with the decision, or with the organism.
        let _nobody_waits = tasks::start(Kind::Report(self.listener.clone()), work, async |_| ());
    }

    /// The delivery whose worker gave no sign of life, as the broker says it; taken away.
    pub(super) async fn silent(&mut self, advisory: &[u8]) -> Option<Arc<str>> {
        let Advisory { stream_seq } = serde_json::from_slice(advisory).ok()?;
        let (token, _) = self.places.iter().find(|(_, place)| **place == stream_seq)?;
        let token = token.clone();
        self.over(&token).await;
        Some(token)
    }
}
