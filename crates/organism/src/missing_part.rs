//! What a run lacks on this machine or in the environment of its process.

/// Something that a file names is missing on this machine or in the environment of this process.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{words}")]
pub struct MissingPart {
    /// What, in words.
    pub words: String,
    /// How to fix it, unless the words say it.
    pub fix: Option<String>,
}
