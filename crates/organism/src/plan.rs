//! What a run starts with: its plan, the place of its log, and why it does not start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::missing_part::MissingPart;
use super::proving::{ProofPlan, SigningFault};
use systole_bus::managed::BrokerStartFault;
use systole_bus::{BrokerCredentials, BrokerFault};
use systole_carriers::{InheritedVariables, InlineListener};
use systole_config::{LogKept, ScheduleSettings};
use systole_core::rules::reload_payload::{Reload, ReloadNews};
use systole_core::rules::shutdown_payload::RunEnding;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LostRange, StepObserver};
use systole_follow::FollowerPlan;
use systole_log::memory::MemoryLog;
use systole_log::nats::LifeSign;

/// The plan of a run.
pub struct RunPlan {
    /// The organism.
    pub composition: Composition,
    /// The folder of its file, where its programs run.
    pub directory: PathBuf,
    /// The place of its log.
    pub log: LogPlace,
    /// The Rust listeners, by name.
    pub inline: BTreeMap<Name, Arc<dyn InlineListener>>,
    /// Threads that judge payloads.
    pub validators: usize,
    /// The variables that programs see.
    pub surroundings: InheritedVariables,
    /// The observer of steps.
    pub steps: Arc<dyn StepObserver>,
    /// The broker, if listeners are reached over it or it stores the log.
    pub bus: Option<BusAccess>,
    /// If the organism starts its own broker: the log. The broker's folder is next to it.
    pub managed: Option<PathBuf>,
    /// If another pump writes the log: called with that pump's sign. The log is then followed until the other pump is
    /// silent. If `None`, such a log is not opened.
    pub stands_by: Option<StandbyReporter>,
    /// Missing positions, once acknowledged, of a log in a file. The log continues without them.
    pub given_up: Option<LostRange>,
    /// How checkpoints of the log are signed, if they are.
    pub proof: Option<ProofPlan>,
    /// Who gets the events of the log, if it is in a file.
    pub followers: Vec<FollowerPlan>,
    /// What is sent at which times.
    pub schedules: Vec<ScheduleSettings>,
    /// What it knows of reloads.
    pub reload: ReloadAtStart,
}

/// What a start knows of reloads.
#[derive(Clone, Debug, Default)]
pub struct ReloadAtStart {
    /// Whether the file counts, whatever the log says.
    pub takes_file: bool,
    /// How the reload went that the start belongs to.
    pub news: Option<ReloadNews>,
    /// Why the run will end, unless another reload comes.
    pub ending: RunEnding,
}

/// A configuration that counts more than the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigInForce {
    /// The reload that says so.
    pub reload: Reload,
    /// Whether the organism was stopped in order since then.
    pub is_stopped: bool,
    /// Its stored source.
    pub source: Vec<u8>,
}

/// Called with the sign of the pump that writes the log.
pub type StandbyReporter = Box<dyn FnMut(&LifeSign) + Send>;

/// The broker's address and the pump's credentials.
pub struct BusAccess {
    /// Its address.
    pub url: String,
    /// `None` if the broker needs no credentials.
    pub credentials: Option<BrokerCredentials>,
}

/// Why an organism does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartFault {
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// A listener has no program and no Rust value.
    #[error(transparent)]
    Listener(#[from] systole_carriers::NoCarrier),
    /// The broker cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    /// The organism's own broker does not start.
    #[error(transparent)]
    Unstarted(#[from] BrokerStartFault),
    /// Another pump writes the log.
    #[error("the log {stream} at {address} is written by {by}")]
    Led {
        /// The stream.
        stream: String,
        /// The broker's address.
        address: String,
        /// The other pump.
        by: LifeSign,
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
    /// What a schedule sends is not what its listener takes.
    #[error("what the schedule {name} sends is refused: {words}")]
    Schedule {
        /// The schedule.
        name: Name,
        /// The reason.
        words: String,
    },
    /// The log is not the one that was signed, or its checkpoints cannot be read.
    #[error(transparent)]
    Unsigned(#[from] SigningFault),
    /// Something that the file names is missing.
    #[error(transparent)]
    Missing(#[from] MissingPart),
    /// The log says that another configuration counts than that of the file.
    #[error("the log goes on with configuration {}", .0.reload.config)]
    InForce(Box<ConfigInForce>),
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
    Memory(MemoryLog),
    /// In a stream of the broker, with a copy in this file.
    Stream {
        /// The copy.
        copy: PathBuf,
        /// The settings of the stream.
        kept: LogKept,
    },
}

impl LogPlace {
    /// The file on this machine that has the log, if there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            LogPlace::File(file) | LogPlace::Stream { copy: file, .. } => Some(file),
            LogPlace::Memory(_) => None,
        }
    }
}
