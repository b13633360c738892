//! The worker as a discoverable service: it reports that it is there, what it takes and returns, and what it has
//! done.
//!
//! The protocol is that of NATS micro services. It is written here because a library's endpoint takes its requests
//! from a subject, and deliveries are pulled. It shows only what the author set, and nothing of any delivery.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use async_nats::Subscriber;
use serde_json::{Value, json};

use super::work::{WorkerState, next_message};
use super::worker::{ServiceDescription, as_token};
use crate::name::QName;

/// The requests of the protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceVerb {
    Ping,
    Info,
    Stats,
}

/// The subjects of the requests.
pub(super) fn list_subjects(house: &WorkerState) -> Vec<(String, ServiceVerb)> {
    let name = as_token(&house.listener);
    let of = |(word, verb): (&str, ServiceVerb)| {
        let all = format!("$SRV.{word}");
        let named = format!("{all}.{name}");
        let one = format!("{named}.{}", house.id);
        [(all, verb), (named, verb), (one, verb)]
    };
    [("PING", ServiceVerb::Ping), ("INFO", ServiceVerb::Info), ("STATS", ServiceVerb::Stats)]
        .into_iter()
        .flat_map(of)
        .collect()
}

/// Answers requests for as long as the connection lasts.
pub(super) async fn answer_requests(
    house: Arc<WorkerState>,
    shown: ServiceDescription,
    verb: ServiceVerb,
    mut ear: Subscriber,
) {
    while let Some(question) = next_message(&mut ear).await {
        let Some(reply) = question.reply else { continue };
        let answer = answer_request(&house, &shown, verb).to_string();
        // If this answer is lost, the client asks again.
        let _sent = house.connection.client.publish(reply, answer.into()).await;
    }
}

fn answer_request(house: &WorkerState, shown: &ServiceDescription, verb: ServiceVerb) -> Value {
    let locals = |all: &[QName]| all.iter().map(|name| &*name.local).collect::<Vec<_>>().join(" ");
    let (word, more) = match verb {
        ServiceVerb::Ping => ("ping", json!({})),
        ServiceVerb::Info => (
            "info",
            json!({"description": shown.description, "endpoints": [build_endpoint(house, json!({"metadata": shown.describe_endpoint()}))]}),
        ),
        ServiceVerb::Stats => (
            "stats",
            json!({"started": shown.started.to_string(), "endpoints": [build_endpoint(house, count_endpoint(house))]}),
        ),
    };
    let metadata = json!({"organism": house.organism, "accepts": locals(&shown.accepts), "returns": locals(&shown.returns)});
    let kind = format!("io.nats.micro.v1.{word}_response");
    let mut answer = json!({
        "type": kind,
        "name": as_token(&house.listener),
        "id": &*house.id,
        "version": shown.version,
        "metadata": metadata,
    });
    if let (Value::Object(answer), Value::Object(more)) = (&mut answer, more) {
        answer.extend(more);
    }
    answer
}

/// The only endpoint: the deliveries, which all workers of the name share.
fn build_endpoint(house: &WorkerState, more: Value) -> Value {
    let mut endpoint = json!({"name": "deliveries", "subject": house.deliveries(), "queue_group": as_token(&house.listener)});
    if let (Value::Object(endpoint), Value::Object(more)) = (&mut endpoint, more) {
        endpoint.extend(more);
    }
    endpoint
}

fn count_endpoint(house: &WorkerState) -> Value {
    let counts = &house.counts;
    let requests = counts.requests.load(Ordering::Relaxed);
    let time = counts.nanoseconds.load(Ordering::Relaxed);
    let last_error = counts.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone();
    json!({
        "num_requests": requests,
        "num_errors": counts.errors.load(Ordering::Relaxed),
        "last_error": last_error,
        "processing_time": time,
        "average_processing_time": time.checked_div(requests).unwrap_or_default(),
    })
}
