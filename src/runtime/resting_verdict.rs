//! The verdict on a log that is shown without an organism, as its pages say it.
//!
//! It is made where the log is verified, and carried to the pages.

use std::path::PathBuf;

/// What the pages say of a log at rest.
#[derive(Clone, Debug)]
pub struct RestingVerdict {
    /// The file that is shown.
    pub file: PathBuf,
    /// Whether it is an export.
    pub is_export: bool,
    /// Whether it verifies.
    pub is_sound: bool,
    /// The verdict, and what the file lacks.
    pub words: String,
}
