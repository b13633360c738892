//! The stream of a log, for readers: the messages of a partition by their place. It makes nothing and
//! changes nothing, so a party that may only read can use all of it. This file does not know what a message holds.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, RawMessage, RetentionPolicy, StorageType};
use serde::Deserialize;
use serde_json::{Value, json};

use super::credentials::BrokerCredentials;
use super::subjects::BrokerSubjects;
use super::unusable::BrokerFault;
use super::wire::{BrokerWire, LogCaller};
use super::{bus, fitness};
use systole_core::types::ids::Name;

/// The stream of a log.
pub(super) const RECORDS: bus::HeldMessages = bus::HeldMessages {
    format: 3,
    retention: "messages leave it when they were read",
    share: "of a partition",
    deleting: |found| !found.deny_delete || !found.deny_purge,
    deleted: "messages can be deleted from it",
    fix: "only if its records may be lost: better give it back the settings it was made with",
};

/// A message of the stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredMessage {
    /// Its place in the stream.
    pub sequence: u64,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// How far a stream goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamExtent {
    /// The place of the last message; 0 if there is none.
    pub last: u64,
    /// Whether every place up to there has a message of the only partition, so that places count the messages.
    pub is_dense: bool,
}

/// The stream of a log, and what is too large for it.
pub struct LogSource {
    pub(super) wire: Arc<BrokerWire>,
    pub(super) subjects: BrokerSubjects,
    organism: Name,
    pub(super) stream: String,
    /// The stream of what is too large for a message.
    pub(super) apart: String,
    copies: usize,
}

impl LogSource {
    /// Finds the stream of that organism, and makes none. The key does not say whether the caller is the pump or an
    /// auditor. If the broker rejects the caller as one of them, the other is tried. If that is forbidden too, the
    /// error is that of the first.
    pub async fn find_log(
        organism: &Name,
        url: &str,
        credentials: Option<&BrokerCredentials>,
        first: LogCaller,
        patience: Duration,
    ) -> Result<LogSource, BrokerFault> {
        let found = LogSource::find_as(organism, url, credentials, first, patience).await;
        match found {
            Err(why @ (BrokerFault::Forbidden { .. } | BrokerFault::NoJetStream { .. })) => {
                match LogSource::find_as(organism, url, credentials, first.other(), patience).await {
                    Err(BrokerFault::Forbidden { .. }) => Err(why),
                    found => found,
                }
            }
            found => found,
        }
    }

    async fn find_as(
        organism: &Name,
        url: &str,
        credentials: Option<&BrokerCredentials>,
        caller: LogCaller,
        patience: Duration,
    ) -> Result<LogSource, BrokerFault> {
        let wire = BrokerWire::lay_wire(organism, caller, url, credentials, patience).await?;
        fitness::check_version(&wire)?;
        let subjects = BrokerSubjects::new(organism);
        let stream = subjects.log_stream();
        let Some(info) = describe_stream(&wire, &stream).await? else {
            return Err(BrokerFault::Absent { address: wire.address.clone(), stream });
        };
        let copies = info.config.num_replicas;
        bus::judge_config(
            &wire,
            organism,
            &make_config(organism, &subjects, copies),
            &info.config,
            &RECORDS,
        )?;
        Ok(LogSource::new(Arc::new(wire), organism, copies))
    }

    /// The stream of that organism, which is known to exist with this many copies.
    pub(super) fn new(wire: Arc<BrokerWire>, organism: &Name, copies: usize) -> LogSource {
        let subjects = BrokerSubjects::new(organism);
        let (stream, apart) = (subjects.log_stream(), subjects.apart_stream());
        LogSource { wire, subjects, organism: organism.clone(), stream, apart, copies }
    }

    /// Whether a read may return older data than what was stored: one of several copies may lag behind, and answer
    /// before it knows that it is no longer the leader.
    pub fn may_lag(&self) -> bool {
        self.copies > 1
    }

    /// The address of the broker, for messages.
    pub fn address(&self) -> &str {
        &self.wire.address
    }

    /// The name of the stream, for messages.
    pub fn name(&self) -> &str {
        &self.stream
    }

    /// The organism of the log.
    pub fn organism(&self) -> &Name {
        &self.organism
    }

    /// How far it goes just now.
    pub async fn read_reach(&self) -> Result<StreamExtent, BrokerFault> {
        let Some(Info { state, .. }) = describe_stream(&self.wire, &self.stream).await? else {
            return Err(BrokerFault::Absent {
                address: self.wire.address.clone(),
                stream: self.stream.clone(),
            });
        };
        let is_dense = state.messages == state.last_sequence && state.subjects_count <= 1;
        Ok(StreamExtent { last: state.last_sequence, is_dense })
    }

    /// The last message of a partition.
    pub async fn read_last(&self, partition: u32) -> Result<Option<StoredMessage>, BrokerFault> {
        let asked = json!({ "last_by_subj": self.subjects.name_log(partition) });
        read_message(&self.wire, "the last message of the log was read", &self.stream, asked).await
    }

    /// The first message of a partition from that place in the stream on.
    pub async fn read_from(
        &self,
        partition: u32,
        sequence: u64,
    ) -> Result<Option<StoredMessage>, BrokerFault> {
        self.read_first(&self.stream, self.subjects.name_log(partition), sequence).await
    }

    /// The first message of a subject from that place in its stream on.
    pub(super) async fn read_first(
        &self,
        stream: &str,
        subject: String,
        sequence: u64,
    ) -> Result<Option<StoredMessage>, BrokerFault> {
        let asked = json!({ "seq": sequence, "next_by_subj": subject });
        read_message(&self.wire, "a message of the log was read", stream, asked).await
    }
}

/// The stream as this version makes it.
pub(super) fn make_config(organism: &Name, subjects: &BrokerSubjects, replicas: usize) -> Config {
    Config {
        name: subjects.log_stream(),
        subjects: vec![subjects.logs()],
        description: Some(format!("the log of the organism {}", organism.as_str())),
        storage: StorageType::File,
        retention: RetentionPolicy::Limits,
        // A full stream refuses new messages.
        discard: DiscardPolicy::New,
        num_replicas: replicas,
        deny_delete: true,
        deny_purge: true,
        ..Config::default()
    }
}

/// A stream's description; `None` if there is no such stream.
pub(super) async fn describe_stream(wire: &BrokerWire, stream: &str) -> Result<Option<Info>, BrokerFault> {
    let what = format!("the stream {stream} was looked for");
    match wire.ask_api::<Info>(&what, &format!("STREAM.INFO.{stream}"), &json!({})).await? {
        Response::Ok(info) => Ok(Some(info)),
        Response::Err { error } if error.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(None),
        Response::Err { error } => Err(wire.report_refused(&what, &error.to_string())),
    }
}

/// One message of a stream, as its leader has it.
pub(super) async fn read_message(
    wire: &BrokerWire,
    what: &str,
    stream: &str,
    asked: Value,
) -> Result<Option<StoredMessage>, BrokerFault> {
    #[derive(Deserialize)]
    struct FoundMessage {
        message: RawMessage,
    }
    match wire.ask_api::<FoundMessage>(what, &format!("STREAM.MSG.GET.{stream}"), &asked).await? {
        Response::Ok(found) => {
            let message = StreamMessage::try_from(found.message);
            let message = message.map_err(|error| wire.report_refused(what, &error.to_string()))?;
            Ok(Some(StoredMessage { sequence: message.sequence, bytes: message.payload.to_vec() }))
        }
        Response::Err { error }
            if matches!(error.error_code(), ErrorCode::NO_MESSAGE_FOUND | ErrorCode::STREAM_NOT_FOUND) =>
        {
            Ok(None)
        }
        Response::Err { error } => Err(wire.report_refused(what, &error.to_string())),
    }
}
