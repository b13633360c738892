//! The files that a payload refers to, as a log has them.
//!
//! A log and a reference come in; the bytes of the file, or why there are none, go out. Who may see them is decided
//! elsewhere.

use std::sync::Arc;

use systole_core::types::body_parts::ERASED_TEXT;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, LogReader};
use systole_kit::file_reference::FileReference;

/// What a log has of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeptFile {
    /// Its bytes.
    Whole(Arc<[u8]>),
    /// It was erased.
    Erased,
    /// Nothing, or something damaged.
    Missing,
}

/// Reads a file that a payload refers to.
pub fn read_file(reader: &dyn LogReader, file: &FileReference) -> Result<KeptFile, LogFault> {
    let Ok(hash) = Digest::parse(&file.hash) else { return Ok(KeptFile::Missing) };
    Ok(match reader.intact_document(hash)? {
        None => KeptFile::Missing,
        Some(bytes) if *bytes == *ERASED_TEXT.as_bytes() && Digest::hash_bytes(&bytes) != hash => {
            KeptFile::Erased
        }
        Some(bytes) => KeptFile::Whole(bytes),
    })
}
