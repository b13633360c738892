//! The order to the helper, and the arguments that make the program the helper.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::policy::{SandboxLevel, SandboxPolicy};

/// The argument that makes the program the helper. No help page lists it, because people do not need it.
pub const WORD: &str = "-sandbox-exec";

/// The argument that makes the helper the proxy of a sandbox.
pub(super) const PROXY: &str = "proxy";

/// What the helper is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EntryOrder {
    pub(crate) level: SandboxLevel,
    /// The process that starts the helper. The program ends with it.
    pub(crate) starter: i32,
    pub(crate) policy: SandboxPolicy,
    /// The executable, as it was found.
    pub(crate) executable: PathBuf,
    /// The program's working directory.
    pub(crate) folder: PathBuf,
    /// Where its HOME and its temporary files are.
    pub(crate) private: PathBuf,
}
