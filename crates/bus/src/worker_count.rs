//! Counts the workers that answer to the name of a listener at this moment. Each worker shows itself as a NATS micro
//! service. Workers that do not are counted as one, if the broker says that one waits for deliveries or has some. It
//! counts who answers and trusts nothing else that they say.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::Pin;

use async_nats::StatusCode;
use async_nats::jetstream::consumer::Info;
use async_nats::jetstream::response::Response;
use futures_core::Stream as _;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

use super::{Broker, to_token};
use crate::limits;
use systole_core::types::ids::Name;

#[derive(Deserialize)]
struct ServicePong {
    id: String,
}

impl Broker {
    /// How many workers answer to each of the names. If the broker cannot be asked, an error says why.
    pub async fn count_workers(&self, listeners: &[Name]) -> Result<BTreeMap<Name, usize>, String> {
        let client = self.client();
        let inbox = client.new_inbox();
        let until = Instant::now() + limits::WORKERS_ANSWER;
        let broken = |error: &dyn std::fmt::Display| format!("the broker: {error}");
        let asked = async {
            let ear = client.subscribe(format!("{inbox}.*")).await.map_err(|error| broken(&error))?;
            for (number, listener) in listeners.iter().enumerate() {
                let (subject, answer) =
                    (format!("$SRV.PING.{}", to_token(listener)), format!("{inbox}.{number}"));
                let sent = client.publish_with_reply(subject, answer, "".into());
                sent.await.map_err(|error| broken(&error))?;
            }
            Ok::<_, String>(ear)
        };
        let late = |_| "the broker: it takes no question".to_owned();
        let mut ear = timeout_at(until, asked).await.map_err(late)??;
        let mut found = vec![BTreeSet::new(); listeners.len()];
        // A name without workers gets a message that there are no responders, if anything: the others may still
        // answer.
        while let Ok(Some(message)) = timeout_at(until, poll_fn(|cx| Pin::new(&mut ear).poll_next(cx))).await
        {
            let number = message.subject.rsplit('.').next().and_then(|number| number.parse::<usize>().ok());
            let of = number.and_then(|number| found.get_mut(number)).filter(|of| of.len() < limits::WORKERS);
            let is_answer = message.status.is_none_or(|status| status == StatusCode::OK);
            if let (Some(of), true, Ok(pong)) =
                (of, is_answer, serde_json::from_slice::<ServicePong>(&message.payload))
            {
                of.insert(pong.id);
            }
        }
        let mut counted = BTreeMap::new();
        let until = Instant::now() + limits::WORKERS_ANSWER;
        for (listener, shown) in listeners.iter().zip(&found) {
            let is_worked = shown.is_empty() && self.has_silent_worker(listener, until).await;
            counted.insert(listener.clone(), shown.len().max(usize::from(is_worked)));
        }
        Ok(counted)
    }

    /// Whether a worker that does not show itself waits for deliveries of the listener or has one.
    async fn has_silent_worker(&self, listener: &Name, until: Instant) -> bool {
        let asked = format!("CONSUMER.INFO.{}.{}", self.subjects().bus_stream(), to_token(listener));
        let nothing = serde_json::json!({});
        let told = self.jetstream().request::<_, _, Response<Info>>(asked, &nothing);
        match timeout_at(until, told).await {
            Ok(Ok(Response::Ok(info))) => info.num_waiting > 0 || info.num_ack_pending > 0,
            _ => false,
        }
    }
}
