//! The stream of what the broker says about workers that gave no sign of life. The broker says it only once, so this
//! stream keeps it for a pump that did not listen then. It holds no delivery, and an organism works without it: a
//! broker that forbids it, or has another stream for its advisories, is used all the same.

use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use serde::Deserialize;

use super::bus;
use super::subjects::BrokerSubjects;
use super::unusable::BrokerFault;
use super::wire::BrokerWire;
use crate::limits;
use systole_core::types::ids::Name;
use systole_core::types::time::Millis;

/// The number of the stream's format.
const FORMAT: u32 = 1;

/// What the broker says about one delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkerSilence {
    /// Its place in the stream of deliveries.
    pub place: u64,
    /// The time of the broker when it said so.
    pub said: Millis,
}

impl WorkerSilence {
    /// Reads the broker's advisory.
    pub fn parse(advisory: &[u8]) -> Option<WorkerSilence> {
        #[derive(Deserialize)]
        struct SilenceAdvisory {
            stream_seq: u64,
            timestamp: String,
        }
        let SilenceAdvisory { stream_seq: place, timestamp } = serde_json::from_slice(advisory).ok()?;
        Some(WorkerSilence { place, said: Millis::parse(&timestamp)? })
    }
}

fn make_stream_config(organism: &Name, subjects: &BrokerSubjects, copies: usize) -> Config {
    Config {
        name: subjects.silence_stream(),
        subjects: vec![subjects.silences()],
        description: Some(format!("workers that died, of the organism {}", organism.as_str())),
        storage: StorageType::File,
        retention: RetentionPolicy::Limits,
        discard: DiscardPolicy::Old,
        max_age: limits::SILENCE_AGE,
        max_messages_per_subject: limits::SILENCE_WORDS,
        num_replicas: copies,
        ..Config::default()
    }
}

/// Finds the stream, or makes it.
pub(super) async fn find_or_make(
    wire: &BrokerWire,
    organism: &Name,
    subjects: &BrokerSubjects,
    copies: usize,
) -> Result<(), BrokerFault> {
    let wanted = make_stream_config(organism, subjects, copies);
    let found = bus::find_or_make_stream(wire, organism, &wanted, FORMAT).await?;
    bus::is_ours(wire, organism, &found.config, FORMAT)?;
    bus::bring_up(wire, &found.config, &wanted, FORMAT).await
}
