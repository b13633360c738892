//! The configurations of a replay, read from the log or given by the user, with their compiled schemas. Each is read
//! once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use systole_core::types::composition::Composition;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};

use crate::compiled_schemas::CompiledSchemas;
use crate::limits;
use systole_config::{self as config, OrganismFile};

/// Why a thread cannot be replayed. It is no statement about the thread.
#[derive(Debug, thiserror::Error)]
pub enum CannotReplay {
    /// The log cannot be read, or is damaged.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// What a record said is erased.
    #[error("what record {seq} of thread {thread} said is erased")]
    Erased {
        /// The thread.
        thread: ThreadId,
        /// The record.
        seq: u64,
    },
    /// An export lacks what a replay needs.
    #[error("the export {0}")]
    Export(String),
    /// A configuration is missing, or cannot be used.
    #[error("the configuration {config} cannot be used: {words}")]
    Configuration {
        /// Its hash.
        config: Digest,
        /// Why.
        words: String,
    },
    /// A listener whose program is to be replaced has none.
    #[error("{0} is no program that Systole starts, so no other program can be in its place")]
    NoProgram(Name),
    /// The program in place of a listener's does not start.
    #[error("the program in place of {0}: {1}")]
    NotStarted(Name, String),
    /// The model of an agent cannot be called, or not once more.
    #[error(transparent)]
    Live(#[from] LiveFault),
    /// The replay does not end, or breaks.
    #[error("the replay broke off: {0}")]
    BrokeOff(String),
}

/// Why the model of an agent is not called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct LiveFault {
    /// The kind.
    pub kind: LiveFaultKind,
    /// What is wrong, and where.
    pub words: String,
    /// How to fix it.
    pub fix: String,
}

/// Kinds of such faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveFaultKind {
    /// What the user asks for does not fit the configuration.
    Usage,
    /// The configuration or the environment lacks something.
    Settings,
    /// The money does not suffice for the next call, or a call brought no answer.
    Ended,
}

/// A configuration that is ready for a replay.
#[derive(Clone)]
pub(super) struct ReplayPage {
    /// The file, with its agents and workflows.
    pub(super) file: Arc<OrganismFile>,
    /// The composition without time limits for deliveries.
    pub(super) composition: Arc<Composition>,
}

/// The configurations of a replay.
pub struct ReplayConfigurations {
    directory: PathBuf,
    /// The file of the organism as it is now. It also has what a stored configuration leaves out.
    now: Option<Arc<OrganismFile>>,
    /// The configuration that replaces all others.
    instead: Option<ReplayPage>,
    pages: HashMap<Digest, ReplayPage>,
    /// The schemas of all pages.
    pub(super) schemas: CompiledSchemas,
}

impl ReplayConfigurations {
    /// The configurations for the organism of that folder. `now` is its file, if that can be read.
    pub fn new(directory: PathBuf, now: Option<OrganismFile>) -> ReplayConfigurations {
        let (now, pages) = (now.map(Arc::new), HashMap::new());
        ReplayConfigurations { directory, now, instead: None, pages, schemas: CompiledSchemas::empty() }
    }

    /// Replays everything under this configuration.
    ///
    /// # Errors
    /// If its schemas cannot be compiled.
    pub fn replace_all(&mut self, file: OrganismFile) -> Result<(), CannotReplay> {
        let page = self.put_file(Arc::new(file))?;
        self.instead = Some(page);
        Ok(())
    }

    /// Whether one configuration replaces all others.
    pub fn is_replaced(&self) -> bool {
        self.instead.is_some()
    }

    /// Whether the organism's file is this configuration now.
    pub(super) fn is_now(&self, config: Digest) -> bool {
        self.now.as_ref().is_some_and(|now| now.composition.hash == config)
    }

    fn put_file(&mut self, file: Arc<OrganismFile>) -> Result<ReplayPage, CannotReplay> {
        let composition = Arc::new(without_limits(&file.composition));
        self.schemas.add(&composition).map_err(|unfit| CannotReplay::Configuration {
            config: composition.hash,
            words: unfit.to_string(),
        })?;
        let page = ReplayPage { file, composition };
        self.pages.insert(page.composition.hash, page.clone());
        Ok(page)
    }

    /// The configuration with that hash, or the one that replaces all others.
    pub(super) fn open_page(
        &mut self,
        reader: &dyn LogReader,
        config: Digest,
    ) -> Result<ReplayPage, CannotReplay> {
        if let Some(page) = self.instead.as_ref().or_else(|| self.pages.get(&config)) {
            return Ok(page.clone());
        }
        if let Some(now) = self.now.clone().filter(|now| now.composition.hash == config) {
            return self.put_file(now);
        }
        let unusable = |words: String| CannotReplay::Configuration { config, words };
        let source =
            reader.read_document(config)?.ok_or_else(|| unusable("the log does not have it".to_owned()))?;
        if Digest::hash_bytes(&source) != config {
            return Err(unusable("the stored bytes do not match the hash".to_owned()));
        }
        let file = config::read_stored(&source, &self.directory).map_err(|refused| {
            let first = refused.0.first().map(|mistake| mistake.message.clone());
            unusable(first.unwrap_or_else(|| "it is refused".to_owned()))
        })?;
        self.put_file(Arc::new(file))
    }
}

/// The same composition, in which no delivery runs out of time or waits for a slot.
fn without_limits(composition: &Composition) -> Composition {
    let mut composition = composition.clone();
    for listener in composition.listeners.values_mut() {
        listener.timeout_ms = limits::REPLAY_TIMEOUT_MS;
        listener.idle_ms = None;
        listener.in_flight = limits::REPLAY_IN_FLIGHT;
    }
    composition
}
