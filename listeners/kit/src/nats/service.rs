//! The worker as a discoverable service: it reports that it is there, what it takes and returns, and what it has
//! done.
//!
//! The protocol is that of NATS micro services. It is written here because a library's endpoint takes its requests
//! from a subject, and deliveries are pulled. It shows only what the author set, and nothing of any delivery.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use async_nats::Subscriber;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::as_token;
use super::news::WorkerFault;
use super::work::{WorkerState, next_message};
use crate::limits::{self, SHOWN_BYTES};
use crate::name::QName;
use crate::schema::SchemaModel;

/// What a worker shows about itself.
#[derive(Debug, Clone)]
pub(super) struct ServiceDescription {
    pub(super) version: String,
    pub(super) description: String,
    pub(super) accepts: Vec<QName>,
    pub(super) returns: Vec<QName>,
    /// Namespace and hash of each schema.
    schemas: Vec<(String, String)>,
    started: jiff::Timestamp,
}

impl Default for ServiceDescription {
    fn default() -> Self {
        Self {
            version: "0.0.0".to_owned(),
            description: String::new(),
            accepts: Vec::new(),
            returns: Vec::new(),
            schemas: Vec::new(),
            started: jiff::Timestamp::now(),
        }
    }
}

impl ServiceDescription {
    pub(super) fn add_schema(&mut self, xsd: &[u8]) -> Result<(), String> {
        let model = SchemaModel::from_xsd(xsd).map_err(|unfit| {
            let first = unfit.first().map(|unfit| format!("line {}: {}", unfit.line, unfit.message));
            format!("the schema cannot be read: {}", first.unwrap_or_default())
        })?;
        let mut hash = String::with_capacity(64);
        for byte in Sha256::digest(xsd) {
            // Writing into a String cannot fail.
            let _written = write!(hash, "{byte:02x}");
        }
        self.schemas.push((model.target_namespace().to_owned(), hash));
        Ok(())
    }

    /// Checks that what is shown is of limited size and readable for clients.
    pub(super) fn check(&self) -> Result<(), WorkerFault> {
        let over = |what: &str, there: usize, most: usize| {
            Err(WorkerFault::Told(format!("{what}: {there} are more than {most}, the most that are shown")))
        };
        let elements = self.accepts.len() + self.returns.len();
        let mut texts = vec![&*self.description];
        texts.extend(self.schemas.iter().map(|(namespace, _)| &**namespace));
        texts.extend(self.accepts.iter().chain(&self.returns).flat_map(|name| [&*name.ns, &*name.local]));
        let longest = texts.into_iter().map(str::len).max().unwrap_or_default();
        let numbers: Vec<&str> = self.version.split('.').collect();
        if self.schemas.len() > limits::SHOWN_SCHEMAS {
            over("schema", self.schemas.len(), limits::SHOWN_SCHEMAS)
        } else if elements > limits::SHOWN_ELEMENTS {
            over("accepts and returns", elements, limits::SHOWN_ELEMENTS)
        } else if longest > SHOWN_BYTES {
            Err(WorkerFault::Told(format!(
                "what is shown of a worker: a text has {longest} bytes, more than {SHOWN_BYTES}"
            )))
        } else if numbers.len() != 3 || numbers.iter().any(|number| number.parse::<u32>().is_err()) {
            Err(WorkerFault::Told(format!("version: {:?} is not three numbers, as 1.4.0", self.version)))
        } else {
            Ok(())
        }
    }

    fn describe_endpoint(&self) -> Map<String, Value> {
        let names = |all: &[QName]| all.iter().map(QName::to_string).collect::<Vec<_>>().join(" ");
        let mut metadata = Map::new();
        metadata.insert("accepts".to_owned(), names(&self.accepts).into());
        metadata.insert("returns".to_owned(), names(&self.returns).into());
        for (number, (namespace, hash)) in self.schemas.iter().enumerate() {
            let shown = format!("{namespace} sha256:{hash}");
            metadata.insert(format!("schema.{}", (number + 1)), shown.into());
        }
        metadata
    }
}

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
