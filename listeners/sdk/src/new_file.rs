//! A file that is to be written.

use std::path::PathBuf;

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its path, relative to the folder.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
}

impl NewFile {
    /// A file of that path and text.
    pub fn new(path: impl Into<PathBuf>, text: String) -> NewFile {
        NewFile { path: path.into(), text }
    }
}
