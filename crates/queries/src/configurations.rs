//! The configurations under which an organism ran, from the records of `sys`: each start is recorded under the
//! configuration that it started. And those under which calls are open.
//!
//! A log or its state comes in; the hashes go out, with the positions and times of their use, or with threads.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::json_text;
use super::log_state::LogState;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::time::Millis;

/// A configuration that was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct UsedConfiguration {
    /// Its hash.
    #[serde(serialize_with = "json_text::write_text")]
    pub hash: Digest,
    /// The first record of `sys` under it.
    pub first: ConfigurationUse,
    /// The last one.
    pub last: ConfigurationUse,
}

/// A record under a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ConfigurationUse {
    /// Its position.
    pub position: Position,
    /// Its time.
    #[serde(serialize_with = "json_text::write_text")]
    pub time: Millis,
}

/// Every configuration, the one used last first.
pub fn list_used(reader: &dyn LogReader) -> Result<Vec<UsedConfiguration>, LogFault> {
    let mut found = Vec::<UsedConfiguration>::new();
    for placed in reader.records_of(&ThreadId::new_sys(), 1) {
        let (position, record) = placed?;
        let (hash, place) = (record.header.config, ConfigurationUse { position, time: record.header.time });
        match found.iter().position(|one| one.hash == hash) {
            Some(at) => {
                let mut one = found.remove(at);
                one.last = place;
                found.push(one);
            }
            None => found.push(UsedConfiguration { hash, first: place, last: place }),
        }
    }
    found.reverse();
    Ok(found)
}

/// The threads with open calls, by the configuration under which these calls began.
pub fn list_open(state: &LogState) -> BTreeMap<Digest, Vec<ThreadId>> {
    let mut open = BTreeMap::<Digest, Vec<ThreadId>>::new();
    for thread in state.working() {
        let configs: BTreeSet<Digest> = thread.calls.values().map(|call| call.config).collect();
        configs.into_iter().for_each(|config| open.entry(config).or_default().push(thread.id.clone()));
    }
    open
}
