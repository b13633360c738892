//! The configurations under which an organism ran, from the records of `sys`: each start is recorded under the
//! configuration that it started.
//!
//! A log comes in; the hashes go out, with the positions and times of their use.

use serde_json::{Value, json};

use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::time::Millis;

/// A configuration that was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsedConfiguration {
    /// Its hash.
    pub hash: Digest,
    /// The first record of `sys` under it.
    pub first: (Position, Millis),
    /// The last one.
    pub last: (Position, Millis),
}

/// Every configuration, the one used last first.
pub fn used(reader: &dyn LogReader) -> Result<Vec<UsedConfiguration>, LogFault> {
    let mut found = Vec::<UsedConfiguration>::new();
    for placed in reader.records_of(&ThreadId::new_sys(), 1) {
        let (position, record) = placed?;
        let (hash, place) = (record.header.config, (position, record.header.time));
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

impl UsedConfiguration {
    /// The configuration for programs.
    pub fn as_json(&self) -> Value {
        let place =
            |(position, time): (Position, Millis)| json!({"position": position.0, "time": time.to_string()});
        json!({"hash": self.hash.to_string(), "first": place(self.first), "last": place(self.last)})
    }
}
