//! Another writer of the partition: its signs of life, and what to do while it writes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::bundle::WriterNode;
use systole_core::types::ids::Digest;

/// A sign of life.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LifeSign {
    pub(super) node: String,
    pub(super) epoch: u64,
    /// The process.
    pub process: u32,
    /// The machine it runs on.
    pub host: String,
}

impl fmt::Display for LifeSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text comes from another process.
        write!(f, "process {} on {}", self.process, self.host.escape_debug())
    }
}

impl LifeSign {
    pub(super) fn new(node: WriterNode, epoch: u64) -> LifeSign {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        LifeSign { node: to_hex(node), epoch, process: std::process::id(), host }
    }
}

/// What to do if another pump writes the log.
pub enum TakeOverMode {
    /// Report that and stop.
    AtOnce,
    /// Follow the log, and take over when the writer is silent. The closure gets each sign of life of another writer.
    StandBy(Box<dyn FnMut(&LifeSign) + Send>),
}

pub(super) fn to_hex(node: WriterNode) -> String {
    let mut wide = [0; 32];
    for (byte, of) in wide.iter_mut().zip(node.0) {
        *byte = of;
    }
    Digest(wide).to_string().chars().take(32).collect()
}
