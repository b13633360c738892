//! A file of this machine that goes out with a message: its bytes, and what a reference says of it.

use std::io::Read as _;
use std::path::Path;

use systole_kit::file_reference::replace_forbidden;
use systole_kit::schema::TakenFile;

use systole_core::rules::sent_files;
use systole_core::types::ids::Digest;
use systole_core::types::limits::FILE_BYTES;
use systole_core::types::refusal::Refusal;

/// A file that was read.
#[derive(Clone, Debug)]
pub struct LocalFile {
    /// Its name, without what XML cannot carry.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl LocalFile {
    /// Reads it. One byte more than any organism accepts is enough for the refusal as too large.
    pub fn read(path: &Path) -> std::io::Result<LocalFile> {
        let mut bytes = Vec::new();
        let most = FILE_BYTES as u64 + 1;
        std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(LocalFile { name: replace_forbidden(&name), bytes })
    }

    /// What a reference says of it, or why no model takes it.
    pub fn describe_reference(&self) -> Result<TakenFile, Refusal> {
        let media_type = sent_files::find_type(&self.bytes)?.to_owned();
        let (hash, name) = (Digest::hash_bytes(&self.bytes).to_string(), Some(self.name.clone()));
        Ok(TakenFile { hash, media_type, bytes: self.bytes.len(), name })
    }
}
