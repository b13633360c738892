//! What goes to a listener over the broker: deliveries into its stream, answers and receipts to who waits for them. A
//! message that is over is deleted, whatever a worker acknowledged. It decides nothing and never waits without an end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::Stream;
use async_nats::{HeaderMap, Subject};
use serde::Deserialize;
use systole_kit::told;

use super::ACK_WAIT;
use super::subjects::Subjects;
use crate::edges::delivery::receipts::Decided;
use crate::edges::nats::Broker;
use crate::edges::tasks::{self, Kind};
use crate::words::ports::{Delivery, Token};

/// How long the broker is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a delivery did not go out.
pub(super) struct Unsent(pub(super) String);

pub(super) struct Outbox {
    broker: Broker,
    subjects: Subjects,
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
    pub(super) async fn open(broker: &Broker, subjects: &Subjects, in_flight: usize) -> Result<Outbox, String> {
        let jetstream = broker.jetstream();
        let stream =
            in_time("the stream of deliveries", jetstream.get_stream_no_info(&subjects.stream)).await?;
        in_time("old deliveries", stream.purge_subject(subjects.deliveries.clone())).await?;
        let config = pull::Config {
            durable_name: Some(subjects.consumer.clone()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            // Who works again on what is counted by the pump.
            max_deliver: 1,
            filter_subject: subjects.deliveries.clone(),
            max_ack_pending: i64::try_from(in_flight).unwrap_or(i64::MAX),
            ..pull::Config::default()
        };
        in_time("the consumer", stream.create_consumer(config)).await?;
        Ok(Outbox { broker: broker.clone(), subjects: subjects.clone(), stream, places: HashMap::new() })
    }

    /// Puts a delivery where a worker pulls it.
    pub(super) async fn send(&mut self, delivery: &Delivery) -> Result<(), Unsent> {
        let document = delivery.document();
        let most = self.broker.client().max_payload();
        if document.len() + 1024 > most {
            let (bytes, most) = (document.len().to_string(), most.to_string());
            let words = ["the delivery has ", &bytes, " bytes, and the broker takes ", &most, " with their headers"];
            return Err(Unsent(words.concat()));
        }
        let mut headers = HeaderMap::new();
        headers.insert("Systole-Reply", self.subjects.reply().as_str());
        let jetstream = self.broker.jetstream();
        let stored = async {
            let sent = jetstream.publish_with_headers(self.subjects.deliveries.clone(), headers, document.into());
            sent.await?.await
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
            tracing::debug!(listener = %self.subjects.consumer, %words, "not taken away");
        }
    }

    /// Says that an answer is no longer wanted.
    pub(super) async fn cancel(&mut self, token: &Token) {
        let told = self.broker.client().publish(self.subjects.cancel.clone(), told::cancel(&token.0).into());
        if let Err(words) = in_time("a cancel", told).await {
            tracing::debug!(listener = %self.subjects.consumer, %words, "not told");
        }
        self.over(&token.0).await;
    }

    /// Answers somebody who waits. One who is not there any more asks again.
    pub(super) async fn answer(&self, reply: Subject, document: Vec<u8>) {
        if let Err(words) = in_time("an answer", self.broker.client().publish(reply, document.into())).await {
            tracing::debug!(listener = %self.subjects.consumer, %words, "not told");
        }
    }

    /// Sends a receipt as soon as what came of a word is on disk.
    pub(super) fn receipt(&self, reply: Subject, delivery: Option<String>, decided: Decided) {
        let client = self.broker.client().clone();
        let work = async move {
            // Where the organism ends first nothing is known, and whoever waits asks again.
            let Some(receipt) = decided.receipt(delivery.as_deref()).await else { return };
            if let Err(words) = in_time("a receipt", client.publish(reply, receipt.into())).await {
                tracing::debug!(%words, "not told");
            }
        };
        // It ends with the decision, or with the organism.
        let _nobody_waits = tasks::start(Kind::Receipt, work, async |_| ());
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
