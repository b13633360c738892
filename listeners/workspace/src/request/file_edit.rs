//! An edit of one file, as a request has it.

use crate::text::hunk::Hunk;

/// An edit of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileEdit {
    pub(crate) path: String,
    /// The hash of the file as its sender knows it.
    pub(crate) sha256: Option<String>,
    pub(crate) action: FileAction,
}

/// What an edit does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileAction {
    Replace { old: String, new: String },
    Create { text: String },
    Write { text: String },
    Insert { line: usize, text: String },
    Hunks { hunks: Vec<Hunk>, moved_to: Option<String> },
    Delete,
}
