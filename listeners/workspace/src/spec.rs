//! What a workspace is made from, and who starts its commands.
//!
//! The caller checks the patterns before; a workspace that is opened with bad ones refuses to open.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

/// What a workspace is made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceSpec {
    /// Its name. An `<apply>` is accepted only from this name.
    pub name: String,
    /// The only folder in which it changes files.
    pub root: PathBuf,
    /// The folder of its journal and its sessions. It must not be below the root.
    pub state: PathBuf,
    /// Files that it neither shows nor changes, as ignore rules, in addition to keys, credentials and `.git`.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Files whose edits need an approval, as ignore rules.
    #[serde(default)]
    pub ask: Vec<String>,
    /// Commands that need no approval.
    #[serde(default)]
    pub shell: Vec<String>,
    /// The folder as agents know it: paths below it count as paths below the root.
    #[serde(default)]
    pub seen_as: Option<String>,
    /// How long a command may run.
    pub time_ms: u64,
}

/// A command that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct CommandOrder<'a> {
    /// The program and its arguments.
    pub words: &'a [String],
    /// The folder in which it runs.
    pub folder: &'a Path,
    /// One more folder that it may write: that of its session.
    pub session: Option<&'a Path>,
}

/// Prepares the process of a command, for example in a sandbox.
///
/// The workspace itself sets stdin, stdout, stderr and the process group of what this returns. The rest is the
/// caller's: the folder, the environment, and what the process may reach.
pub trait CommandStart: Send + Sync {
    /// The process, not started yet.
    ///
    /// # Errors
    /// If no process can be prepared, with the reason.
    fn command(&self, order: &CommandOrder<'_>) -> Result<PreparedCommand, String>;
}

/// A process that is ready to start, and what must be kept until it has ended.
pub struct PreparedCommand {
    /// The process.
    pub command: Command,
    /// What is dropped after its end, such as a folder of its own.
    pub kept: Option<Box<dyn Send>>,
}

/// Why a workspace cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenFault {
    /// The root cannot be opened.
    #[error("the folder {path} cannot be opened: {error}")]
    Root {
        /// Its path.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The journal cannot be opened, is held by another process, or is damaged.
    #[error("the journal in {path} cannot be used: {error}")]
    Journal {
        /// The folder of the state.
        path: PathBuf,
        /// What is wrong.
        error: std::io::Error,
    },
    /// A value of the specification cannot be used.
    #[error("{0}")]
    Spec(String),
}
