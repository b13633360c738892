//! The stream of a log, and the store for what is too large for it, for a process that writes: makes it, checks it,
//! appends to it. This file does not know what a message holds.
//!
//! A message is appended with the expected place of the last one of its subject, and is not stored if that differs:
//! only this keeps two pumps apart. If the answer for a message does not come, it is unknown whether the message is
//! stored. This file does not guess: it reports that.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::object_store::{self, ObjectMetadata, ObjectStore};
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{Info, StorageType};
use async_nats::{Client, Subscriber};
use serde_json::json;

use super::source::{LogSource, RECORDS, make_config};
use super::unusable::BrokerFault;
use super::wire::BrokerWire;
use super::{Broker, WriterTerm, bus, source};
use crate::limits::{BUNDLE_BYTES, CHUNK_BYTES, HEADER_BYTES, PATIENCE};
use systole_core::types::ids::{Digest, Name};

/// The result of appending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AppendResult {
    /// It is stored there.
    At(u64),
    /// It is not stored: something else was stored since.
    Stale,
    /// It is not stored, and may be tried again later; the text says why.
    Refused(String),
    /// It is unknown; the text says why.
    Unknown(String),
}

/// The stream of a log.
pub struct LogStream {
    broker: Arc<Broker>,
    source: Arc<LogSource>,
    /// The most bytes that the stream takes in one message.
    largest: usize,
    /// When it was made, which distinguishes it from earlier and later ones.
    made: String,
    apart: ObjectStore,
}

impl LogStream {
    /// Whether there is a stream of that name, made by anyone, and the name.
    pub async fn is_there(broker: &Broker) -> Result<(bool, String), BrokerFault> {
        let stream = broker.subjects.log_stream();
        Ok((source::describe_stream(&broker.wire, &stream).await?.is_some(), stream))
    }

    /// Finds the stream, or makes it.
    pub async fn find_or_make(
        broker: Arc<Broker>,
        organism: &Name,
        replicas: usize,
    ) -> Result<LogStream, BrokerFault> {
        let (wire, subjects) = (&broker.wire, &broker.subjects);
        let wanted = make_config(organism, subjects, replicas);
        let found: Info = bus::find_or_make_stream(wire, organism, &wanted, RECORDS.format).await?;
        bus::judge_config(wire, organism, &wanted, &found.config, &RECORDS)?;
        bus::bring_up(wire, &found.config, &wanted, RECORDS.format).await?;
        let largest = bus::find_largest(&found.config).unwrap_or(usize::MAX);
        let apart = Box::pin(open_bucket(wire, subjects.bucket(), replicas)).await?;
        let source = LogSource::new(broker.wire.clone(), organism, found.config.num_replicas.max(replicas));
        let made = found.created.unix_timestamp_nanos().to_string();
        Ok(LogStream { broker, source: Arc::new(source), largest, made, apart })
    }

    /// The most bytes of a message in it. The server may report another number whenever it is restarted.
    pub fn largest(&self) -> usize {
        self.largest.min(self.client().max_payload()).saturating_sub(HEADER_BYTES).min(BUNDLE_BYTES)
    }

    /// Declares that the log is this pump's from that epoch on, for everything on the same connection.
    pub fn is_led_in(&self, epoch: u64) {
        self.broker.has_term(WriterTerm { log: self.made.clone(), epoch });
    }

    /// Appends a message to a partition whose last message is at that place; 0 if it has none.
    pub async fn append_bundle(&self, partition: u32, bytes: Vec<u8>, expected: u64) -> AppendResult {
        let (wire, subject) = (&self.broker.wire, self.broker.subjects.name_log(partition));
        append_expected(wire, "the log was written", &subject, bytes, Some(expected)).await
    }

    /// Stores what is too large for a message, under its hash.
    pub async fn put_large(&self, hash: Digest, bytes: &[u8]) -> Result<(), String> {
        let name = hash.to_string();
        let put = async {
            if self.apart.info(&name).await.is_ok_and(|found| found.size == bytes.len()) {
                return Ok(());
            }
            let mut bytes = bytes;
            let chunk_size = Some(CHUNK_BYTES.min(self.client().max_payload().saturating_sub(HEADER_BYTES)));
            let named = ObjectMetadata { name: name.clone(), chunk_size, ..ObjectMetadata::default() };
            self.apart.put(named, &mut bytes).await.map(drop).map_err(|error| error.to_string())
        };
        self.wait_in_time("what is large was put apart", bytes.len(), put).await
    }

    /// Removes what is stored apart under that name. The store keeps a mark that it was removed.
    pub async fn remove_large(&self, name: Digest) -> Result<(), String> {
        let name = name.to_string();
        let removed = async { self.apart.delete(&name).await.map_err(|error| error.to_string()) };
        self.wait_in_time("a value was removed", 0, removed).await
    }

    /// Work that takes many messages may take longer: a second more for each MiB.
    async fn wait_in_time<T>(
        &self,
        what: &str,
        bytes: usize,
        work: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let patience = PATIENCE + Duration::from_secs((bytes >> 20) as u64);
        let wire = &self.broker.wire;
        match wire.wait_within(patience, what, Box::pin(work)).await {
            Ok(done) => done.map_err(|error| wire.report_refused(what, &error).to_string()),
            Err(unusable) => Err(unusable.to_string()),
        }
    }

    /// The bytes that all pumps of the organism share; `own` if there are none yet.
    pub async fn read_shared_secret(&self, own: [u8; 32]) -> Result<[u8; 32], BrokerFault> {
        let (wire, subject) = (&self.broker.wire, self.broker.subjects.secret());
        let what = "what delivery tokens are made from was shared";
        match wire.publish_message(what, &subject, own.to_vec(), Some(0)).await? {
            Response::Ok(_) => return Ok(own),
            Response::Err { error }
                if matches!(
                    error.error_code(),
                    ErrorCode::STREAM_WRONG_LAST_SEQUENCE | ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT
                ) => {}
            Response::Err { error } => return Err(wire.report_refused(what, &error.to_string())),
        }
        let bus = self.broker.subjects.bus_stream();
        let found = source::read_message(wire, what, &bus, json!({ "last_by_subj": subject })).await?;
        let bytes = found.and_then(|found| found.bytes.try_into().ok());
        bytes.ok_or_else(|| wire.report_refused(what, "other than 32 bytes are stored there"))
    }

    /// Shows that the owner of the partition is alive.
    pub async fn show_life(&self, partition: u32, sign: Vec<u8>) -> Result<(), String> {
        let subject = self.broker.subjects.name_life(partition);
        self.client().publish(subject, sign.into()).await.map_err(|error| error.to_string())
    }

    /// The signs of life of a partition, from now on.
    pub async fn watch_signs_of_life(&self, partition: u32) -> Result<Subscriber, String> {
        let subject = self.broker.subjects.name_life(partition);
        self.client().subscribe(subject).await.map_err(|error| error.to_string())
    }

    /// Messages sent to a partition, from now on. This does not say whether they were stored.
    pub async fn watch_partition(&self, partition: u32) -> Result<Subscriber, String> {
        let subject = self.broker.subjects.name_log(partition);
        self.client().subscribe(subject).await.map_err(|error| error.to_string())
    }

    fn client(&self) -> &Client {
        self.broker.client()
    }

    /// The reading side alone.
    pub fn source(&self) -> &Arc<LogSource> {
        &self.source
    }
}

/// A writer can also read.
impl Deref for LogStream {
    type Target = LogSource;

    fn deref(&self) -> &LogSource {
        &self.source
    }
}

/// Appends a message to a subject whose last message is at that place, if one is given.
pub(super) async fn append_expected(
    wire: &BrokerWire,
    what: &str,
    subject: &str,
    bytes: Vec<u8>,
    expected: Option<u64>,
) -> AppendResult {
    match wire.publish_message(what, subject, bytes, expected).await {
        Ok(Response::Ok(ack)) => AppendResult::At(ack.sequence),
        Ok(Response::Err { error }) => match error.error_code() {
            ErrorCode::STREAM_WRONG_LAST_SEQUENCE | ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT => {
                AppendResult::Stale
            }
            _ => AppendResult::Refused(wire.report_refused(what, &error.to_string()).to_string()),
        },
        Err(unusable) => AppendResult::Unknown(unusable.to_string()),
    }
}

async fn open_bucket(wire: &BrokerWire, bucket: String, replicas: usize) -> Result<ObjectStore, BrokerFault> {
    let what = format!("the object store {bucket} was looked for");
    let found = async {
        match wire.jetstream.get_object_store(&bucket).await {
            Ok(found) => Ok(found),
            Err(_) => {
                let config = object_store::Config {
                    bucket: bucket.clone(),
                    storage: StorageType::File,
                    num_replicas: replicas,
                    ..object_store::Config::default()
                };
                wire.jetstream.create_object_store(config).await
            }
        }
    };
    wire.wait_for_reply(&what, Box::pin(found))
        .await?
        .map_err(|error| wire.report_refused(&what, &error.to_string()))
}
