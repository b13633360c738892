//! What a run starts with: its plan, the place of its log, and why it does not start.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::config::LogKept;
use crate::edges::delivery::{Answering, Surroundings};
use crate::edges::log::memory::Memory;
use crate::edges::log::nats::Sign;
use crate::edges::managed::Unstarted;
use crate::edges::nats::{Credentials, Unusable};
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{GivenUp, LogFault, Steps};

/// The plan of a run.
pub struct Plan {
    /// The organism.
    pub composition: Composition,
    /// The folder of its file, where its programs run.
    pub directory: PathBuf,
    /// The place of its log.
    pub log: LogPlace,
    /// The Rust listeners, by name.
    pub inline: BTreeMap<Name, Arc<dyn Answering>>,
    /// Threads that judge payloads.
    pub validators: usize,
    /// The variables that programs see.
    pub surroundings: Surroundings,
    /// The observer of steps.
    pub steps: Arc<dyn Steps>,
    /// The broker, if listeners are reached over it or it stores the log.
    pub bus: Option<Bus>,
    /// If the organism starts its own broker: the log. The broker's folder is next to it.
    pub managed: Option<PathBuf>,
    /// If another pump writes the log: called with that pump's sign. The log is then followed until the other pump is
    /// silent. If `None`, such a log is not opened.
    pub stands_by: Option<StandsBy>,
    /// Missing positions, once acknowledged, of a log in a file. The log continues without them.
    pub given_up: Option<GivenUp>,
}

/// Called with the sign of the pump that writes the log.
pub type StandsBy = Box<dyn FnMut(&Sign) + Send>;

/// The broker's address and the pump's credentials.
pub struct Bus {
    /// Its address.
    pub url: String,
    /// `None` if the broker needs no credentials.
    pub credentials: Option<Credentials>,
}

/// Why an organism does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartFault {
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// A listener has no program and no Rust value.
    #[error(transparent)]
    Listener(#[from] crate::edges::delivery::NoWay),
    /// The broker cannot be used.
    #[error(transparent)]
    Broker(#[from] Unusable),
    /// The organism's own broker does not start.
    #[error(transparent)]
    Unstarted(#[from] Unstarted),
    /// Another pump writes the log.
    #[error("the log {stream} at {address} is written by {by}")]
    Led {
        /// The stream.
        stream: String,
        /// The broker's address.
        address: String,
        /// The other pump.
        by: Sign,
    },
    /// The configuration of a call that is still open cannot be read back.
    #[error("call of thread {thread} began with configuration {config}, which cannot be read: {words}")]
    Configuration {
        /// The thread.
        thread: ThreadId,
        /// The hash of the configuration.
        config: Digest,
        /// The reason.
        words: String,
    },
    /// The operating system returned an error.
    #[error("the organism lacks what it needs to run: {0}")]
    Machine(String),
}

/// The place of a log.
#[derive(Clone)]
pub enum LogPlace {
    /// In this file.
    File(PathBuf),
    /// In memory: gone with the process. For tests and for programs that want no file.
    Memory(Memory),
    /// In a stream of the broker, with a copy in this file.
    Stream {
        /// The copy.
        copy: PathBuf,
        /// The settings of the stream.
        kept: LogKept,
    },
}
